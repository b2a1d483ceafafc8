"""Inverse dynamics of closed chains with torque distribution over the motors [CKC] 3.1, and the unit vector method [CKC] 3.2."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics, validation
from brachiate.constraints.coordinates import unit_vector_accelerations
from brachiate.constraints.torque_distribution import distribute_torques
from brachiate.deprecation import renamed_attribute
from brachiate.errors import ArgumentError
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.coordinates import (
    ConstraintRows,
    NamedCoordinates,
    actuated_indices,
    constraint_rows,
    coordinates_at,
    select_names,
)
from brachiate.world.mobility import wrapped
from brachiate.world.motion_directions import MAX_NAMES, Direction, readable_basis
from brachiate.world.named_values import NamedValues, coordinate_indices, coordinate_values

if TYPE_CHECKING:
    from brachiate.world.world import World

OBJECTIVES = ("least-norm", "least-effort")
_CONSISTENT = 1e-6  # relative constraint violation of an acceleration that is accepted without a warning


@dataclass(frozen=True, eq=False)
class TorqueSharing:
    """Quality of a torque distribution over the motors.

    Attributes:
        realized: Whether the motors realize the acceleration.
        residual: Generalized force that the motors leave, by generalized coordinate [N·m or N]. The least possible.
        rank: Number of degrees of freedom that the motors can drive.
        dof: Degrees of freedom.
        unique: Whether the torques are the only solution.
        saturated: Coordinates whose motors are at their effort limits.
        passive: Motions that no motor can drive.
    """

    realized: bool
    residual: Mapping[str, float]
    rank: int
    dof: int
    unique: bool
    saturated: tuple[str, ...]
    passive: tuple[Direction, ...]

    realised = renamed_attribute("realised", "realized")

    def __str__(self) -> str:
        """Return it as text."""
        lines = [f"{'realized' if self.realized else 'not realized'}: motors drive {self.rank} of {self.dof} degrees of freedom"]
        lines[0] += "" if self.unique else ", not unique"
        if not self.realized:
            worst = sorted(self.residual, key=lambda name: -abs(self.residual[name]))[:MAX_NAMES]
            lines.append("residual: " + ", ".join(f"{name} {self.residual[name]:.3g}" for name in worst))
        lines += wrapped("saturated", self.saturated)
        lines += [f"passive: {motion}" for motion in self.passive]
        return "\n".join(lines)


class Torques(NamedValues):
    """Torques by name (nv,) [N·m or N], with the quality of their distribution over the motors."""

    sharing: TorqueSharing | None  #: torque distribution; None for an open tree with a torque at every coordinate
    inconsistency: float  #: relative distance of the given acceleration from the nearest one that satisfies the constraints

    def __new__(cls, values: ArrayLike, model: Model) -> Torques:
        """Copy the values; the model has their names."""
        return cast(Torques, super().__new__(cls, values, model))

    def __array_finalize__(self, other: Any) -> None:
        super().__array_finalize__(other)
        self.sharing = getattr(other, "sharing", None)
        self.inconsistency = getattr(other, "inconsistency", 0.0)


def inverse_dynamics(
    world: World,
    acceleration: ArrayLike | Mapping[str, Any],
    actuated: str | Iterable[str] | None,
    objective: str,
    weights: ArrayLike | Mapping[str, Any] | None,
    limits: bool,
) -> Torques:
    """See :meth:`World.inverse_dynamics`."""
    model = world.model
    a = coordinate_values(model, acceleration, "acceleration")
    open_tree = not world.constraints and actuated is None and weights is None and not limits
    if open_tree and validation.one_of(objective, OBJECTIVES, "objective") == "least-norm":
        return Torques(_tree_torques(world, a), model)
    motors = actuated_indices(model, actuated)
    cost = _motor_weights(model, motors, objective, weights)
    rows = constraint_rows(world)
    c = coordinates_at(world, rows, motors)
    a, distance = _nearest_consistent(world, c, a, rows)
    force, effort = _tree_torques(world, a) - rows.loop_torques, model.effort[motors] if limits else None
    distribution = distribute_torques(c.chosen, force, motors, effort=effort, weights=cost)
    torques = Torques(distribution.torque, model)
    torques.inconsistency = distance
    torques.sharing = TorqueSharing(
        realized=distribution.realized,
        residual=dict(zip(c.generalized, map(float, distribution.residual), strict=True)),
        rank=distribution.rank,
        dof=c.mobility,
        unique=distribution.unique,
        saturated=select_names(model.coordinates, distribution.saturated),
        passive=readable_basis(model.coordinates, c.chosen.measure, distribution.passive),
    )
    if distance > _CONSISTENT:
        warnings.warn(
            f"This acceleration violates the constraints: the nearest consistent one differs by {distance:.2g} of its size, and torques "
            "are for that one. Accelerations of forward_dynamics are consistent; world.coordinates() lists the generalized coordinates, "
            "whose accelerations may be chosen freely.",
            stacklevel=4,
        )
    return torques


def unit_vector_dynamics(world: World, torque: Array) -> NamedValues:
    """Forward dynamics of closed chains by the unit vector method [CKC] 3.2, for comparison."""
    rows = constraint_rows(world)
    c = coordinates_at(world, rows, np.zeros(0, int))
    a = unit_vector_accelerations(lambda a: _tree_torques(world, a) - rows.loop_torques, c.chosen, rows.gamma, torque)
    return NamedValues(a, world.model)


def _motor_weights(model: Model, motors: Array, objective: str, weights: ArrayLike | Mapping[str, Any] | None) -> Array:
    """Cost of a squared torque for each motor."""
    cost = np.ones(model.nv)
    if validation.one_of(objective, OBJECTIVES, "objective") == "least-effort":
        unlimited = [model.coordinates[i] for i in motors if not 0 < model.effort[i] < np.inf]
        if unlimited:
            names = repr(unlimited[0]) if len(unlimited) == 1 else f"{unlimited[0]!r} (and {len(unlimited) - 1} more)"
            raise ArgumentError(f'objective="least-effort" divides torques by effort limits, and {names} has none. Use weights=.')
        cost[motors] = model.effort[motors] ** -2
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            at = coordinate_indices(model, name)
            cost[at] *= validation.number(value, f"weights[{name!r}]", above=0.0)
    elif weights is not None:
        cost *= validation.broadcast(weights, (model.nv,), "weights", f"one number, {model.nv} of them, or values by name")
    return cost[motors]


def _tree_torques(world: World, a: Array) -> Array:
    """Recursive Newton-Euler inverse dynamics of the tree: a new array (nv,)."""
    data = world.data
    own = data.tau.copy()
    try:
        return dynamics.inverse_dynamics(data, data.q, data.v, a).copy()
    finally:
        data.tau[:] = own  # the kernel writes its result where the world's own torques are


def _nearest_consistent(world: World, c: NamedCoordinates, a: Array, rows: ConstraintRows) -> tuple[Array, float]:
    """Acceleration nearest to a in the mass metric that satisfies every constraint row, and its relative distance.

    The distance is relative to the size of a and of the acceleration of the unconstrained tree, so that round-off at rest is not
    divided by zero.
    """
    if not len(rows.J):
        return a, 0.0
    w = c.drift()
    consistent = w + c.W @ np.linalg.solve(c.inertia(), c.W.T @ (c.A @ (a - w)))
    force = _tree_torques(world, np.zeros(len(a))) - rows.loop_torques
    size = np.sqrt(a @ c.A @ a + force @ world.solve_mass(force))
    distance = np.sqrt((consistent - a) @ c.A @ (consistent - a))
    return consistent, float(distance / size) if distance else 0.0
