"""Dynamics of trees: inverse, mass matrix, forward, momentum and energy, for one :class:`~brachiate.Data`.

These functions are for those who bring their own loop; :class:`~brachiate.World` offers the same by name.
Arguments are copied into the data; results are views of it, overwritten by the next call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors
from brachiate.compiled import entry
from brachiate.doors import Array
from brachiate.dynamics import forward, inverse, mass
from brachiate.dynamics.mass import composite_inertias
from brachiate.dynamics.momentum import center_of_mass, centroidal_matrix, kinetic_energy, momentum_about, potential_energy
from brachiate.errors import ArgumentError
from brachiate.kinematics import body_inertias, finite, poses, sound, velocities
from brachiate.model.data import Data
from brachiate.model.rooms import NOT_FINITE, OK, open_rooms


@entry
def _inverse_dynamics(key):
    return inverse.inverse_dynamics(key)


@entry
def _bias(key):
    return inverse.bias(key)


@entry
def _mass_matrix(key):
    return mass.mass_matrix_packed(key)


@entry
def _forward_dynamics(key):
    return forward.forward_dynamics(key)


def inverse_dynamics(data: Data, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Torques that the accelerations a take at the state (q, v): (nv,) [N·m or N], external forces included."""
    data.assign(q=q, v=v, a=a)
    data.check(_inverse_dynamics(data.key))
    return data.tau


def bias(data: Data, q: ArrayLike, v: ArrayLike) -> Array:
    """Torques at zero acceleration: (nv,) [N·m or N]."""
    data.assign(q=q, v=v)
    data.check(_bias(data.key))
    return data.work.bias


def forward_dynamics(data: Data, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Accelerations that torques make at the state (q, v): (nv,) [rad/s² or m/s²]."""
    data.assign(q=q, v=v, tau=tau)
    data.check(_forward_dynamics(data.key))
    return data.a


def mass_matrix(data: Data, q: ArrayLike) -> Array:
    """The mass matrix A(q): a new (nv, nv) array [kg·m², kg·m or kg]."""
    data.assign(q=q)
    _need_rows(data)
    tree = data.model.tree
    data.check(_mass_matrix(data.key))
    matrix = np.zeros((data.model.nv, data.model.nv))
    for k, (start, depth) in enumerate(zip(tree.row, tree.depth, strict=False)):
        row = slice(start, start + depth + 1)
        matrix[k, tree.above[row]] = matrix[tree.above[row], k] = data.work.L[row]
    return matrix


@entry
def _solve_mass(key, x):
    T, W = open_rooms(key)
    if not (sound(T, W) and finite(x)):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    status = mass.factored(T, W)
    mass.solve(T, W, x)
    return status


def solve_mass(data: Data, q: ArrayLike, x: ArrayLike) -> Array:
    """A(q)⁻¹ x by the sparse factor A = LᵀDL: a new (nv,)."""
    data.assign(q=q)
    _need_rows(data)
    y = doors.numbers(x, (data.model.nv,), "x")
    data.check(_solve_mass(data.key, y))
    return y


def _need_rows(data: Data) -> None:
    if len(data.model.tree.above) == 0 and data.model.nv:
        size = data.model.nv**2 * 8e-6
        raise ArgumentError(
            f"The mass matrix of {data.model.nv} coordinates would fill {size:.0f} MB. Use forward_dynamics, which needs none."
        )


class Totals(NamedTuple):
    """Mass, momentum and energy of a set of bodies."""

    mass: float  # [kg]
    center: Array  # (3,) [m]
    velocity: Array  # (3,) [m/s] of the centre
    momentum: Array  # (3,) [kg·m/s]
    angular_momentum: Array  # (3,) [kg·m²/s] about the centre of mass
    kinetic: float  # [J]
    potential: float  # [J]

    @property
    def energy(self) -> float:
        """Kinetic and potential energy together [J]."""
        return self.kinetic + self.potential


@entry
def _totals(key, members, out):
    T, W = open_rooms(key)
    if not sound(T, W):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    velocities(T, W)
    m, c = center_of_mass(T, W, members)
    h = momentum_about(T, W, members, c)
    out[0] = m
    out[1], out[2], out[3] = c
    out[4], out[5], out[6] = h.f
    out[7], out[8], out[9] = h.n
    out[10] = kinetic_energy(T, W, members)
    out[11] = potential_energy(T, W, members)
    return OK


def totals(data: Data, members: Array | None = None) -> Totals:
    """Mass, centre, momentum about it and energy at the data's state; of all bodies, or of those flagged (nb,)."""
    out = np.zeros(12)
    data.check(_totals(data.key, _everyone(data) if members is None else members, out))
    velocity = out[4:7] / out[0] if out[0] > 0 else np.zeros(3)
    return Totals(float(out[0]), out[1:4], velocity, out[4:7], out[7:10], float(out[10]), float(out[11]))


@entry
def _centroidal(key, members, matrix):
    T, W = open_rooms(key)
    if not sound(T, W):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    composite_inertias(T, W)
    _, c = center_of_mass(T, W, members)
    centroidal_matrix(T, W, members, c, matrix)
    return OK


def centroidal_momentum_matrix(data: Data, members: Array | None = None) -> Array:
    """The matrix whose product with v is momentum, and angular momentum about the centre of mass: a new (6, nv)."""
    matrix = np.zeros((6, data.model.nv))
    data.check(_centroidal(data.key, _everyone(data) if members is None else members, matrix))
    return matrix


def _everyone(data: Data) -> Array:
    return np.ones(len(data.model.tree.parent), np.int64)
