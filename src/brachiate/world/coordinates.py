"""Generalized coordinates of a world with closed chains, by name [CKC] 2: constraint rows, their choice, and which are actuated."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics, validation
from brachiate.constraints.arrays import INDEPENDENT, REDUNDANT, UNCLASSIFIED
from brachiate.constraints.coordinates import Coordinates, choose_coordinates
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.named_values import coordinate_indices

if TYPE_CHECKING:
    from brachiate.world.world import World


@dataclass(frozen=True, eq=False)
class NamedCoordinates:
    """Generalized coordinates of a world at one state, with names [CKC] 2; n velocities, m rows, N_F degrees of freedom.

    Arrays are read-only.

    Attributes:
        names: (n,) names of all velocities.
        rows: (m,) names of the constraint rows.
        chosen: The choice of coordinates by index.
        motors: (N_A,) indices of the actuated velocities.
        J: (m, n) constraint Jacobian: J v is the prescribed rate of prescribed coordinates, and zero elsewhere.
        gamma: (m,) J̇v minus the prescribed acceleration: J a + γ = 0.
        A: (n, n) mass matrix of the tree.
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    chosen: Coordinates
    motors: Array
    J: Array
    gamma: Array
    A: Array

    @property
    def generalized(self) -> tuple[str, ...]:
        """Names of the generalized coordinates, in order: columns of W, S and H."""
        return select_names(self.names, self.chosen.generalized)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the dependent coordinates, in order: rows of H."""
        return select_names(self.names, self.chosen.dependent)

    @property
    def actuated(self) -> tuple[str, ...]:
        """Names of the actuated coordinates, in order: rows of S."""
        return select_names(self.names, self.motors)

    @property
    def mobility(self) -> int:
        """Degrees of freedom N_F [CKC] eq. 14."""
        return self.chosen.mobility

    @property
    def W(self) -> Array:
        """Velocities from generalized velocities: (n, N_F) [CKC] eq. 4."""
        return self.chosen.W

    @property
    def H(self) -> Array:
        """Dependent velocities from generalized ones: (rank, N_F) [CKC] eq. 17."""
        return self.chosen.H

    @property
    def S(self) -> Array:
        """Actuated velocities from generalized ones: (N_A, N_F) [CKC] fig. 6."""
        return self.chosen.S(self.motors)

    def inertia(self, A: ArrayLike | None = None) -> Array:
        """Mass matrix in generalized coordinates, WᵀAW: (N_F, N_F); ``A`` is the mass matrix of the tree, by default at this state."""
        return self.chosen.inertia(self.A if A is None else A)

    def drift(self, gamma: ArrayLike | None = None) -> Array:
        """Accelerations (n,) at zero generalized accelerations [CKC] eq. 22; γ by default that of this state."""
        return self.chosen.drift(self.gamma if gamma is None else gamma)


def select_names(names: Sequence[str], indices: Iterable[int]) -> tuple[str, ...]:
    """Names at some indices."""
    return tuple(names[i] for i in indices)


class ConstraintRows(NamedTuple):
    """Bilateral constraint rows and joint torques of connections at the present state."""

    names: tuple[str, ...]  # (m,)
    J: Array  # (m, n)
    gamma: Array  # (m,)
    loop_torques: Array  # (n,) torques of springs, dampers, friction and motors in the joints of connections


def constraint_rows(world: World) -> ConstraintRows:
    """Constraint rows of the present state with their bias γ, and the torques that act in the joints of connections."""
    data, constraint_set, n = world.data, world.constraint_set, world.model.nv
    if not world.constraints:
        return ConstraintRows((), np.zeros((0, n)), np.zeros(0), np.zeros(n))
    constraint_set.arrays.time[0] = world.time
    constraint_set.accelerations()
    rows, loop_torques = _bilateral_rows(world), np.zeros(n)
    if any(isinstance(constraint, Connection) for constraint in world.constraints):
        bias = data.work.bias.copy()  # of the tree and of the connections
        loop_torques = dynamics.bias(data, data.q, data.v) - bias
    names = select_names(world.row_names(), rows)
    return ConstraintRows(names, constraint_set.jacobian()[rows], constraint_set.arrays.gamma[rows], loop_torques)


def posture_rows(world: World) -> tuple[list[int], Array]:
    """Indices in the constraint set and Jacobian of the bilateral rows in the present posture, velocities disregarded."""
    if not world.constraints:
        return [], np.zeros((0, world.model.nv))
    world.constraint_set.arrays.time[0] = world.time
    world.constraint_set.evaluate_rows()
    rows = _bilateral_rows(world)
    return rows, world.constraint_set.jacobian()[rows]


def _bilateral_rows(world: World) -> list[int]:
    """Indices of the bilateral rows: not those of joint limits, which are unilateral, nor of compliant connections."""
    slices = [world.constraint_set.row_slice(constraint.index) for constraint in world.constraints]
    rows = [row for own in slices for row in range(own.start, own.stop)]
    return sorted(row for row in rows if world.constraint_set.arrays.state[row] in (INDEPENDENT, REDUNDANT, UNCLASSIFIED))


def chosen_coordinates(world: World, J: Array, A: Array) -> Coordinates:
    """Generalized coordinates; the last choice is kept while the structure is the same and it is well conditioned."""
    for i in np.flatnonzero(np.diag(A) <= 0):
        raise StateError(f"{world.model.coordinates[i]!r} moves no mass. Give its links mass, or its joint armature.")
    structure = (world.model, *world.constraints)
    last = world.coordinate_choice
    chosen = choose_coordinates(J, np.diag(A), last[1] if last is not None and last[0] == structure else None)
    world.coordinate_choice = structure, chosen
    return chosen


def named_coordinates(world: World, actuated: str | Iterable[str] | None = None) -> NamedCoordinates:
    """See :meth:`World.coordinates`."""
    motors = actuated_indices(world.model, actuated)
    return coordinates_at(world, constraint_rows(world), motors)


def coordinates_at(world: World, rows: ConstraintRows, motors: Array) -> NamedCoordinates:
    """Generalized coordinates for the constraint rows of the present state."""
    A = world.mass_matrix()
    chosen = chosen_coordinates(world, rows.J, A)
    arrays = (validation.frozen(x) for x in (motors, rows.J, rows.gamma, A))
    return NamedCoordinates(world.model.coordinates, rows.names, chosen, *arrays)


def is_unique(world: World, rows: slice) -> bool:
    """Whether the forces of these rows follow from motion and torques: no null vector of Jᵀ involves them."""
    bilateral, J = posture_rows(world)
    depends = chosen_coordinates(world, J, world.mass_matrix()).depends
    return not any(rows.start <= bilateral[row] < rows.stop for i, others in depends.items() for row in (i, *others))


def actuated_indices(model: Model, actuated: str | Iterable[str] | None) -> Array:
    """Indices of actuated velocities: those with motors (all, or those that patterns match), and those named in full."""
    with_motor = model.effort > 0
    if actuated is None:
        return np.flatnonzero(with_motor)
    flags = np.zeros(model.nv, bool)
    for pattern in [actuated] if isinstance(actuated, str) or not np.iterable(actuated) else actuated:
        if not isinstance(pattern, str):
            raise ArgumentError(
                f"actuated: expected names of joints or coordinates, such as 'man/*', got {validation.short_repr(pattern)}."
            )
        if pattern in model.joints or pattern in model.coordinate_index:
            flags[coordinate_indices(model, pattern)] = True
            continue
        found = np.zeros(model.nv, bool)
        for name in (*model.joints, *model.coordinates):
            if fnmatch.fnmatchcase(name, pattern):
                found[coordinate_indices(model, name)] = True
        if not found.any():
            raise UnknownName("joint or coordinate (or pattern of them)", pattern, [*model.joints], "this world")
        if not (found & with_motor).any():
            raise ArgumentError(f"actuated: nothing that {pattern!r} matches has a motor. Name joints in full to actuate them anyway.")
        flags |= found & with_motor
    return np.flatnonzero(flags)
