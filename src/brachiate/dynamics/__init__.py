"""Dynamics of kinematic trees: inverse and forward dynamics, mass matrix, momentum and energy, on a :class:`~brachiate.Data`.

This is the interface by arrays; :class:`~brachiate.World` offers the same by names. Arguments are copied into the data; results
are views of it, overwritten by the next call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import Floats, Ints, Key, Matrix, entry
from brachiate.dynamics import forward, inverse, mass
from brachiate.dynamics.mass import accumulate_composites
from brachiate.dynamics.momentum import center_of_mass, centroidal_matrix, kinetic_energy, momentum_about, potential_energy
from brachiate.errors import ArgumentError
from brachiate.kinematics import body_inertias, body_velocities, copy_to, finite, forward_kinematics, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW
from brachiate.validation import Array

# Arguments are checked before they are copied: a call that raises has changed nothing.


@entry
def _inverse_dynamics(key: Key, q: Floats, v: Floats, a: Floats):
    T, W = open_model(key)
    if not (valid_state(T, q, v) and finite(a)):
        return NOT_FINITE
    copy_to(q, W.q)
    copy_to(v, W.v)
    copy_to(a, W.a)
    return inverse.inverse_dynamics(key)


@entry
def _bias(key: Key, q: Floats, v: Floats):
    T, W = open_model(key)
    if not valid_state(T, q, v):
        return NOT_FINITE
    copy_to(q, W.q)
    copy_to(v, W.v)
    return inverse.bias(key)


@entry
def _forward_dynamics(key: Key, q: Floats, v: Floats, tau: Floats):
    T, W = open_model(key)
    if not (valid_state(T, q, v) and finite(tau)):
        return NOT_FINITE
    copy_to(q, W.q)
    copy_to(v, W.v)
    copy_to(tau, W.tau)
    return forward.forward_dynamics(key)


@entry
def _mass_matrix(key: Key, q: Floats, out: Matrix):
    T, W = open_model(key)
    if not valid_state(T, q, q):
        return NOT_FINITE
    copy_to(q, W.q)
    status = mass.compute_mass_matrix(key)
    mass.unpack(T, W, out)
    return status


def inverse_dynamics(data: Data, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Joint torques for the accelerations a at the state (q, v): (nv,) [N·m or N], external forces included."""
    q, v, a = data.checked("q", q), data.checked("v", v), data.checked("a", a)
    status = _inverse_dynamics(data.key, q, v, a)
    if status:
        data.raise_status(status, q=q, v=v, a=a)
    return data.tau


def bias(data: Data, q: ArrayLike, v: ArrayLike) -> Array:
    """Torques at zero acceleration: (nv,) [N·m or N]."""
    q, v = data.checked("q", q), data.checked("v", v)
    status = _bias(data.key, q, v)
    if status:
        data.raise_status(status, q=q, v=v)
    return data.work.bias


def forward_dynamics(data: Data, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Accelerations under the torques tau at the state (q, v): (nv,) [rad/s² or m/s²]."""
    q, v, tau = data.checked("q", q), data.checked("v", v), data.checked("tau", tau)
    status = _forward_dynamics(data.key, q, v, tau)
    if status:
        data.raise_status(status, q=q, v=v, tau=tau)
    return data.a


def mass_matrix(data: Data, q: ArrayLike) -> Array:
    """The mass matrix A(q): a new (nv, nv) array [kg·m², kg·m or kg]."""
    q = data.checked("q", q)
    _need_rows(data)
    matrix = np.zeros((data.model.nv, data.model.nv))
    status = _mass_matrix(data.key, q, matrix)
    if status:
        data.raise_status(status, q=q)
    return matrix


@entry
def _solve_mass(key: Key, q: Floats, x: Floats):
    T, W = open_model(key)
    if not valid_state(T, q, x):
        return NOT_FINITE
    copy_to(q, W.q)
    forward_kinematics(T, W)
    body_inertias(T, W)
    status = mass.factor_mass_matrix(T, W)
    mass.solve(T, W, x)
    return status


def solve_mass(data: Data, q: ArrayLike, x: ArrayLike) -> Array:
    """A(q)⁻¹ x by the sparse factor A = LᵀDL: a new (nv,)."""
    q, y = data.checked("q", q), validation.numbers(x, (data.model.nv,), "x")
    _need_rows(data)
    status = _solve_mass(data.key, q, y)
    if status:
        data.raise_status(status, q=q)
    return y


def _need_rows(data: Data) -> None:
    if len(data.model.tree.above) == 0 and data.model.nv:
        size = data.model.nv**2 * 8e-6
        raise ArgumentError(
            f"The mass matrix of {data.model.nv} coordinates would fill {size:.0f} MB. Use forward_dynamics, which does not need it."
        )


class Totals(NamedTuple):
    """Mass, momentum and energy of a set of bodies."""

    mass: float  # [kg]
    center: Array  # (3,) [m]
    velocity: Array  # (3,) [m/s] of the center of mass
    momentum: Array  # (3,) [kg·m/s]
    angular_momentum: Array  # (3,) [kg·m²/s] about the center of mass
    kinetic: float  # [J]
    potential: float  # [J]

    @property
    def energy(self) -> float:
        """Kinetic and potential energy together [J]."""
        return self.kinetic + self.potential


@entry
def _totals(key: Key, members: Ints, out: Floats):
    T, W = open_model(key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    body_inertias(T, W)
    body_velocities(T, W)
    m, c = center_of_mass(T, W, members)
    h = momentum_about(T, W, members, c)
    out[0] = m
    out[1], out[2], out[3] = c
    out[4], out[5], out[6] = h.f
    out[7], out[8], out[9] = h.n
    out[10] = kinetic_energy(T, W, members)
    out[11] = potential_energy(T, W, members)
    return OK if finite(out) else OVERFLOW


def totals(data: Data, members: Array | None = None) -> Totals:
    """Mass, center of mass, momentum about it and energy at the data's state; of all bodies, or of those flagged (nb,)."""
    out = np.zeros(12)
    status = _totals(data.key, _members(data, members), out)
    if status:
        data.raise_status(status)
    velocity = out[4:7] / out[0] if out[0] > 0 else np.zeros(3)
    return Totals(float(out[0]), out[1:4], velocity, out[4:7], out[7:10], float(out[10]), float(out[11]))


@entry
def _centroidal(key: Key, members: Ints, matrix: Matrix):
    T, W = open_model(key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    body_inertias(T, W)
    for i in range(T.parent.shape[0]):
        for c in range(10):
            W.composite[i, c] = W.inertia[i, c] if members[i] else 0.0
    accumulate_composites(T, W)
    _, center = center_of_mass(T, W, members)
    centroidal_matrix(T, W, center, matrix)
    return OK


def centroidal_momentum_matrix(data: Data, members: Array | None = None) -> Array:
    """The matrix whose product with v is momentum, and angular momentum about the center of mass: a new (6, nv)."""
    matrix = np.zeros((6, data.model.nv))
    status = _centroidal(data.key, _members(data, members), matrix)
    if status:
        data.raise_status(status)
    return matrix


def _members(data: Data, members: ArrayLike | None) -> Array:
    """Member flags of all bodies; by default all are set."""
    nb = len(data.model.tree.parent)
    if members is None:
        return np.ones(nb, np.int64)
    flags = validation.numbers(members, (nb,), "members")
    return (flags != 0).astype(np.int64)
