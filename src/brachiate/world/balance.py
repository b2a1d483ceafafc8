"""Zero-moment point and external wrench of a figure, from the rate of change of its momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brachiate import dynamics, manifold, validation
from brachiate.dynamics import Totals
from brachiate.figures import ranges
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_DIFFERENCE_TIME = 1e-4  # [s] interval of the central difference of momentum; errors are of second order
MIN_SUPPORT = 1e-3  # vertical force over weight below which a figure counts as flying


def figure_bodies(model: Model, figure: str) -> Array:
    """Flags (nb,), 0 or 1: whether each body belongs to a figure."""
    bodies = [name for name, link in model.links.items() if link.joint.nv]
    return np.array([int(name.startswith(figure + "/")) for name in bodies], np.int64)


def center_of_pressure_at(force: Array, moment: Array, height: float | Array, min_force: float = 0.0) -> Array:
    """Point in the plane z = height about which a wrench has no horizontal moment (..., 3) [m]; NaN without vertical force.

    Args:
        force: (..., 3) [N].
        moment: About the world's origin (..., 3) [N·m].
        height: Height of the plane (...) [m].
        min_force: Vertical force that must be exceeded [N].
    """
    loaded = force[..., 2] > min_force
    vertical = np.where(loaded, force[..., 2], np.nan)
    x = (-moment[..., 1] + height * force[..., 0]) / vertical
    y = (moment[..., 0] + height * force[..., 1]) / vertical
    return np.stack((x, y, np.where(loaded, height, np.nan)), axis=-1)


def external_wrench(before: Totals, after: Totals, seconds: float, gravity: Array) -> tuple[Array, Array]:
    """Mean external force [N] and moment about the world's origin [N·m] without gravity, from the change of momentum."""
    weight = before.mass * gravity
    about_origin = [t.angular_momentum + np.cross(t.center, t.momentum) for t in (before, after)]
    force = (after.momentum - before.momentum) / seconds - weight
    return force, (about_origin[1] - about_origin[0]) / seconds - np.cross((before.center + after.center) / 2, weight)


def zero_moment_point(before: Totals, after: Totals, seconds: float, gravity: Array, height: float) -> Array:
    """ZMP in the plane z = height (3,) [m], from the change of momentum over some seconds; NaN in the air."""
    if not seconds > 0:
        return np.full(3, np.nan)
    force, moment = external_wrench(before, after, seconds, gravity)
    return center_of_pressure_at(force, moment, height, MIN_SUPPORT * before.mass * float(np.linalg.norm(gravity)))


def zmp(world: World, figure: str, height: float | None) -> Array:
    """See :meth:`World.zmp`."""
    world.figure(figure)
    level = (
        world.contacts.reaction(figure).height
        if height is None
        else validation.number(height, "height", minimum=-ranges.MAX_POSITION, maximum=ranges.MAX_POSITION)
    )
    data, flags = Data(world.model, world.gravity), figure_bodies(world.model, figure)

    def totals(state: tuple[Array, Array]) -> Totals:
        data.assign(q=state[0], v=state[1])
        return dynamics.totals(data, flags)

    before, after, seconds = _neighboring_states(world, data)
    return zero_moment_point(totals(before), totals(after), seconds, world.gravity, level)


def _neighboring_states(world: World, data: Data) -> tuple[tuple[Array, Array], tuple[Array, Array], float]:
    """States (q, v) shortly before and after the present one, and the time between them [s]. The world is unchanged."""
    contact_state = world.contact_settings.contact_state
    if contact_state is not None:
        after = contact_state.evaluate_instant(world.time)
        return (world.q.copy(), world.v.copy()), (after.q, after.v), after.seconds
    acceleration = np.asarray(world.forward_dynamics())
    h = _DIFFERENCE_TIME
    # Terms of second order, such as half the acceleration times the squared time, are the same in both states and cancel.
    states = [(manifold.integrate(data, world.q, world.v, s), world.v + s * acceleration) for s in (-h / 2, h / 2)]
    return states[0], states[1], h
