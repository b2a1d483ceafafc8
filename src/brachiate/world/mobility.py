"""Mobility report of a world: degrees of freedom, actuation, passive motions, redundant constraints and singular postures [CKC] 2."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brachiate.constraints.coordinates import Coordinates
from brachiate.constraints.second_order import CURVATURE_TOLERANCE, SecondOrder
from brachiate.constraints.torque_distribution import distribute_torques
from brachiate.world.connections import Connection
from brachiate.world.coordinates import actuated_indices, chosen_coordinates, posture_rows, select_names
from brachiate.world.links import degrees_of_freedom
from brachiate.world.motion_directions import Direction, direction, readable_basis

if TYPE_CHECKING:
    from brachiate.world.world import World

_WIDTH = 110


class NearSingularDirection(NamedTuple):
    """Motion that the constraints hardly oppose: in the nearby singular posture it is free."""

    sigma: float  #: singular value of the constraint rows, relative to the largest
    direction: Direction


class SingularRow(NamedTuple):
    """Row that is redundant to first order in this posture only: it constrains to second order.

    If it is shaky (infinitesimally mobile), motion in any of the directions would violate it: the world has that many degrees of freedom
    less than counted. Otherwise this is a bifurcation: several branches of motion meet here, each with fewer degrees of freedom.
    """

    row: str
    shaky: bool
    directions: tuple[Direction, ...]


@dataclass(frozen=True, eq=False)
class Mobility:
    """Mobility and actuation of a world in its present posture. ``print`` it.

    Attributes:
        dof: Degrees of freedom N_F [CKC] eq. 14.
        variables: Joint variables N_J: those of the tree and of the connections [SVC].
        rows: Names of the constraint rows. Joint limits are unilateral and not among them.
        generalized: Coordinates that describe every motion; the choice is kept while it is well conditioned.
        dependent: Coordinates that follow from them.
        actuated: Coordinates with motors.
        actuation_rank: Number of degrees of freedom that motors can drive.
        passive: Motions that no motor can drive, ``dof - actuation_rank`` of them.
        redundant: Redundant rows: for each, the rows it depends on with their factors. Empty if it constrains what cannot
            move anyway.
        near_singular: Motions that are hardly constrained, the least constrained one last.
        singular: Rows that constrain to second order only.
    """

    dof: int
    variables: int
    rows: tuple[str, ...]
    generalized: tuple[str, ...]
    dependent: tuple[str, ...]
    actuated: tuple[str, ...]
    actuation_rank: int
    passive: tuple[Direction, ...]
    redundant: Mapping[str, Mapping[str, float]]
    near_singular: tuple[NearSingularDirection, ...]
    singular: tuple[SingularRow, ...]

    def __str__(self) -> str:
        """Return the report as text."""
        of = f" of {self.variables} joint variables, {len(self.rows)} constraint rows" if self.rows else ""
        lines = [f"{degrees_of_freedom(self.dof)}{of}"]
        if self.dependent:
            lines += [*wrapped("generalized", self.generalized), *wrapped("dependent", self.dependent)]
        if self.actuated:
            lines.append(f"motors: {len(self.actuated)} drive {self.actuation_rank} of {self.dof} degrees of freedom")
            lines += [f"passive: {motion}" for motion in self.passive]
        else:
            lines.append("motors: none")
        immobile = tuple(row for row, others in self.redundant.items() if not others)
        lines += wrapped("redundant, as nothing moves there", immobile)
        for row, others in self.redundant.items():
            lines += wrapped(f"redundant: {row} depends on", tuple(others))
        lines += [f"near singular: σ {near.sigma:.2g}, {near.direction}" for near in self.near_singular]
        for row, shaky, directions in self.singular:
            kind = "shaky, violated by any of these motions" if shaky else "bifurcation, not all of these motions are free"
            lines += [f"singular: {row} constrains to second order; {kind}", *(f"  {motion}" for motion in directions)]
        return "\n".join(lines)


def wrapped(title: str, names: tuple[str, ...]) -> list[str]:
    """Lines of a titled list of names; none if there are no names."""
    return textwrap.wrap(f"{title}: {', '.join(names)}", _WIDTH, subsequent_indent="  ", break_long_words=False) if names else []


def mobility(world: World, actuated: str | Iterable[str] | None = None) -> Mobility:
    """See :meth:`World.mobility`."""
    model, motors = world.model, actuated_indices(world.model, actuated)
    row_indices, J = posture_rows(world)
    chosen = chosen_coordinates(world, J, world.mass_matrix())
    rows, names = select_names(world.row_names(), row_indices), model.coordinates
    distribution = distribute_torques(chosen, np.zeros(model.nv), motors)
    redundant = {
        rows[i]: {rows[k]: factor for k, factor in sorted(others.items(), key=lambda pair: -abs(pair[1]))}
        for i, others in chosen.depends.items()
    }
    return Mobility(
        dof=chosen.mobility,
        variables=model.nv + sum(c.joint.nv for c in world.constraints if isinstance(c, Connection)),
        rows=rows,
        generalized=select_names(names, chosen.generalized),
        dependent=select_names(names, chosen.dependent),
        actuated=select_names(names, motors),
        actuation_rank=distribution.rank,
        passive=readable_basis(names, chosen.measure, distribution.passive, world),
        redundant=redundant,
        near_singular=tuple(
            NearSingularDirection(near.sigma, direction(names, chosen.measure, near.direction, world)) for near in chosen.near_singular
        ),
        singular=_singular_rows(world, chosen, row_indices) if chosen.depends else (),
    )


def _singular_rows(world: World, chosen: Coordinates, row_indices: list[int]) -> tuple[SingularRow, ...]:
    """Redundant rows that constrain to second order, with the motions that are free to first order but restricted by them."""
    redundant = [row_indices[i] for i in chosen.depends]
    independent = [row for row in row_indices if row not in redundant]
    second, names = SecondOrder(world.constraint_set, redundant, independent), world.row_names()
    free = np.linalg.qr(chosen.W)[0]
    found = []
    for row, form in zip(second.rows, second.forms(free) if second.curved() else (), strict=False):
        curvatures, axes = np.linalg.eigh(form)
        curved = np.abs(curvatures) > CURVATURE_TOLERANCE
        if curved.any():
            directions = (direction(world.model.coordinates, chosen.measure, free @ x, world) for x in axes[:, curved].T)
            shaky = bool((curvatures[curved] > 0).all() or (curvatures[curved] < 0).all())
            found.append(SingularRow(names[row], shaky, tuple(directions)))
    return tuple(found)
