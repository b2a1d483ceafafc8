"""What carries a figure, told by its motion: how its momentum changes says what acts on it from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brachiate import dynamics, manifold, validation
from brachiate.dynamics import Totals
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_MOMENT = 1e-4  # [s] over which rates are taken: errors are of its square
_BORNE = 1e-3  # of its weight: what is carried by less flies, and only errors of the motion are left


def members(model: Model, figure: str) -> Array:
    """Whether each body is part of a figure: 0 or 1 (nb,)."""
    bodies = [name for name, link in model.links.items() if link.joint.nv]
    return np.array([int(name.startswith(figure + "/")) for name in bodies], np.int64)


def pressed_at(force: Array, moment: Array, height: float, least: float = 0.0) -> Array:
    """The point at a height about which a force has no horizontal moment (3,) [m]; NaN if it does not press.

    Args:
        force: (3,) [N].
        moment: About the world's origin (3,) [N·m].
        height: Of the point [m].
        least: By how much it must press [N].
    """
    if not force[2] > least:
        return np.full(3, np.nan)
    x = (-moment[1] + height * force[0]) / force[2]
    y = (moment[0] + height * force[1]) / force[2]
    return np.array([x, y, height])


def carried(before: Totals, after: Totals, seconds: float, gravity: Array) -> tuple[Array, Array]:
    """What acted beside gravity while momentum changed: the mean force [N], and moment about the world's origin [N·m]."""
    weight = before.mass * gravity
    spin = [t.angular_momentum + np.cross(t.center, t.momentum) for t in (before, after)]
    force = (after.momentum - before.momentum) / seconds - weight
    return force, (spin[1] - spin[0]) / seconds - np.cross((before.center + after.center) / 2, weight)


def zero_moment_point(before: Totals, after: Totals, seconds: float, gravity: Array, height: float) -> Array:
    """Where a ground at a height had to press for momentum to change as it did (3,) [m]; NaN in the air."""
    if not seconds > 0:
        return np.full(3, np.nan)
    force, moment = carried(before, after, seconds, gravity)
    return pressed_at(force, moment, height, _BORNE * before.mass * float(np.linalg.norm(gravity)))


def zmp(world: World, figure: str, height: float | None) -> Array:
    """See :meth:`World.zmp`."""
    world.figure(figure)
    level = world.contacts.reaction(figure).height if height is None else validation.number(height, "height")
    data, flags = Data(world.model, world.gravity), members(world.model, figure)

    def totals(state: tuple[Array, Array]) -> Totals:
        data.assign(q=state[0], v=state[1])
        return dynamics.totals(data, flags)

    before, after, seconds = _around(world, data)
    return zero_moment_point(totals(before), totals(after), seconds, world.gravity, level)


def _around(world: World, data: Data) -> tuple[tuple[Array, Array], tuple[Array, Array], float]:
    """States a little before and after, and the time between them [s]. The world stays as it is."""
    touches = world.surfaces.touches
    if touches is not None:
        found = touches.at_this_moment(world.time)
        return (world.q.copy(), world.v.copy()), (found.q, found.v), found.seconds
    rate = np.asarray(world.forward_dynamics())
    # What is left out of both, such as half of rate times the square of the time, is the same in both, and cancels.
    states = [(manifold.integrated(data, world.q, world.v, s), world.v + s * rate) for s in (-_MOMENT / 2, _MOMENT / 2)]
    return states[0], states[1], _MOMENT
