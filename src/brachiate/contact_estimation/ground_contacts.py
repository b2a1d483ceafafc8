"""Ground contacts of a motion: the sequence of contact modes of the feet that explains heights, speeds and required forces best as a whole.

Every combination of modes of the feet (none, heel, front, flat) has a cost in every frame: of height and speed of what is in contact, and
of the root residual that remains with these contacts. So there is no flight in which nothing falls, and no stance that must pull.
Switching costs, too, and the sequence of least cost over the whole motion is taken. The height of the floor is that of the cheapest
sequence; the offsets of heels and fronts from it are estimated with it, as captured feet differ by centimeters on one floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.contact_costs import frame_weights, kinematic_cost, residual_costs
from brachiate.contact_estimation.cost_constants import SUPPORT_SWITCH
from brachiate.contact_estimation.floor import CONTACT_HEIGHT, STATIONARY_SPEED
from brachiate.contact_estimation.foot_modes import FootModes, foot_modes
from brachiate.contact_estimation.mode_costs import Ends, ModeCosts, end_motion
from brachiate.contact_estimation.mode_sequence import ModeSequence, cheapest_sequence
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import part_motion
from brachiate.contact_estimation.raised_footholds import RaisedFoothold, find_raised_footholds, with_known_levels
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactInterval
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

HEIGHTS_PER_SCALE = 2.5  # contact height, relative to the uncertainty of heights in contact
MIN_HEIGHT_SCALE = 0.01  # [m] of this uncertainty, and of that of other parts
MAX_OFFSET = 0.04  # [m] of a heel or front in contact from the floor
MIN_OFFSET_FRAMES = 5  # from which an offset is estimated
PENETRATION_SCALE, MAX_PENETRATION_COST = 0.02, 8.0  # [m] of feet below the floor; the floor is elsewhere
PASSES, HEIGHT_TOLERANCE = 2, 0.001  # of floor and offsets; [m] changes that make no difference
RAISED_HEIGHT = 0.03  # [m] of a part of the front above the lowest one: it has lifted off
MAX_STEP_TILT = 0.05  # [m] of a part of a foot above the level of the step on which it rests
UNCERTAIN_COST, UNCERTAIN_DURATION = 1.0, 0.1  # of a contact, more or less than without it, and [s] for which it is reported as uncertain


class GroundContacts(NamedTuple):
    """Contacts of the feet with ground and steps, those of other parts with the ground, and the costs that they are found by.

    Args:
        terrain: The ground.
        costs: Costs of the modes of the feet.
        found: Their sequence.
        others: Other parts in contact with the ground: flags (f, p).
        base: Height of the ground above which heights are measured in the costs [m].
    """

    terrain: Terrain
    costs: ModeCosts
    found: ModeSequence
    others: Array
    base: float

    def with_residual(self, residual: Array) -> GroundContacts:
        """Contacts for other costs of the root residual (f, m)."""
        costs, found = _with_known_levels(self.costs._replace(residual=residual))
        return self._replace(costs=costs, found=found)

    def intervals(self, dynamics: MotionDynamics) -> list[ContactInterval]:
        """Contact intervals: ground contacts, and those of feet above the ground."""
        names, times = dynamics.contact_points.parts, dynamics.times
        active = self._active_parts(dynamics)
        raised = list(self._raised_contacts(dynamics, active))
        contacts = [
            ContactInterval(names[p], float(times[start]), float(times[end]))
            for p in range(len(names))
            for start, end in sustained_intervals(times, active[:, p])
        ]
        return [*contacts, *raised]

    def _active_parts(self, dynamics: MotionDynamics) -> Array:
        """Parts in contact (f, p): of an end with several parts those that are about as low as the lowest one."""
        active, modes = self.others.copy(), self.costs.modes
        for parts, on in zip(modes.ends, modes.contact[self.found.mode].T, strict=True):
            height = np.stack([part_motion(dynamics, self.terrain, part)[0] for part in parts])
            low = height - height.min(axis=0) < RAISED_HEIGHT
            for part, is_low in zip(parts, low, strict=True):
                active[:, part] |= on & is_low
        return active

    def _raised_contacts(self, dynamics: MotionDynamics, active: Array) -> Iterator[ContactInterval]:
        """Contacts on raised footholds: of the parts near its level, for as long as the foot rests there. Removed from the others."""
        modes, names, times = self.costs.modes, dynamics.contact_points.parts, dynamics.times
        for foothold in self.costs.raised:
            span = slice(foothold.start, foothold.end)
            parts = [part for parts in modes.feet[foothold.foot].ends for part in parts]
            active[span, parts] = False
            if not _carries(self.costs, self.found, foothold):
                continue
            for part in parts:
                height = part_motion(dynamics, self.terrain, part)[0][span] + self.costs.floor
                for start, end in sustained_intervals(times[span], height - foothold.level < MAX_STEP_TILT):
                    first, last = float(times[span][start]), float(times[span][end])
                    yield ContactInterval(names[part], first, last, "support", float(foothold.level / self.terrain.normal[2]) + self.base)

    def uncertain(self, times: Array) -> Iterator[str]:
        """Feet and times at which contact and no contact explain the motion about as well."""
        cost, modes = self.costs.total(), self.costs.modes
        for k, foot in enumerate(modes.feet):
            stands = modes.in_contact(k)
            margin = np.abs(cost[:, stands].min(axis=1) - cost[:, ~stands].min(axis=1))
            spans = sustained_intervals(times, margin < UNCERTAIN_COST, UNCERTAIN_DURATION)
            if spans:
                yield (
                    f"{foot.name} "
                    + ", ".join(f"{times[a]:.2f}-{times[b]:.2f}" for a, b in spans[:4])
                    + (", ..." if len(spans) > 4 else "")
                )


def find_ground_contacts(
    dynamics: MotionDynamics, terrain: Terrain, levels: Sequence[float], contact_height: float, steps: bool
) -> GroundContacts:
    """Ground contacts of all parts, and contacts of feet with steps.

    Args:
        dynamics: Dynamics of the motion.
        terrain: The ground, of known height.
        levels: Possible heights of the floor, of which the one that explains the motion best is taken; none if the terrain is given.
        contact_height: Height of feet above the floor in contact, at most [m].
        steps: Whether feet may stand above the ground.
    """
    modes, weight = foot_modes(dynamics), frame_weights(dynamics.times)
    ends = end_motion(dynamics, terrain, modes)
    scale = max(contact_height / HEIGHTS_PER_SCALE, MIN_HEIGHT_SCALE)
    base, up = terrain.height or 0.0, terrain.normal[2]
    others = _other_contacts(dynamics, terrain, modes, weight, base)
    costs = ModeCosts(modes, weight, ends, scale, residual_costs(dynamics, modes, others), 0.0, np.zeros(len(ends.height)))
    if len(levels) > 1:
        lifts = [(each - base) * up for each in levels]
        totals = [_at_floor(costs, lift, dynamics.times, steps).sequence().cost + _penetration(ends, weight, lift) for lift in lifts]
        best = int(np.argmin(totals))
        if not np.array_equal(others, found := _other_contacts(dynamics, terrain, modes, weight, levels[best])):
            others = found
            costs = costs._replace(residual=residual_costs(dynamics, modes, found))
        costs = costs._replace(floor=lifts[best])
    costs = _at_floor(costs, costs.floor, dynamics.times, steps)
    result = costs.sequence()
    for _ in range(PASSES if levels else 0):
        before = np.append(costs.offsets, costs.floor)
        floor, offsets = _fit_floor(costs, result)
        if np.abs(np.append(offsets, floor) - before).max() < HEIGHT_TOLERANCE:
            break
        costs = _at_floor(costs._replace(offsets=offsets), floor, dynamics.times, steps)
        result = costs.sequence()
    costs, result = _with_known_levels(costs)
    return GroundContacts(replace(terrain, height=float(base + costs.floor / up)), costs, result, others, base)


def _at_floor(costs: ModeCosts, floor: float, times: Array, steps: bool) -> ModeCosts:
    """Costs for a height of the floor above the base [m], with footholds above it if ``steps``."""
    raised: list[RaisedFoothold] = []
    for k in range(len(costs.modes.feet) if steps else 0):
        ends = np.flatnonzero(costs.modes.foot == k)
        height, along, normal = (each[ends] for each in costs.ends)
        raised += find_raised_footholds(height, np.hypot(along, normal), k, floor, times)
    return costs._replace(floor=floor, raised=tuple(raised))


def _with_known_levels(costs: ModeCosts) -> tuple[ModeCosts, ModeSequence]:
    """Costs in which levels of footholds that carry are surfaces like the floor, and the sequence of least cost."""
    costs = costs._replace(raised=tuple(foothold._replace(known=False) for foothold in costs.raised))
    found = costs.sequence()
    if not costs.raised:
        return costs, found
    carries = [_carries(costs, found, foothold) for foothold in costs.raised]
    costs = costs._replace(raised=with_known_levels(costs.raised, carries))
    return costs, costs.sequence()


def _carries(costs: ModeCosts, found: ModeSequence, foothold: RaisedFoothold) -> bool:
    """Whether a foot is in contact on a raised foothold."""
    modes = costs.modes.contact[found.mode[foothold.start : foothold.end]]
    return bool(modes[:, costs.modes.foot == foothold.foot].any())


def _penetration(ends: Ends, weight: Array, level: float) -> float:
    """Cost of feet below a floor, which all modes have in common."""
    if not len(ends.height):
        return 0.0
    depth = np.maximum(level - CONTACT_HEIGHT - ends.height.min(axis=0), 0.0)
    return float((weight * np.minimum(0.5 * (depth / PENETRATION_SCALE) ** 2, MAX_PENETRATION_COST)).sum())


def _other_contacts(dynamics: MotionDynamics, terrain: Terrain, modes: FootModes, weight: Array, level: float) -> Array:
    """Ground contacts of parts that are not of feet, by height and speed: flags (f, p)."""
    switch, on = SUPPORT_SWITCH * (1.0 - np.eye(2)), np.zeros((len(dynamics), len(dynamics.contact_points.parts)), bool)
    lift = (level - (terrain.height or 0.0)) * terrain.normal[2]
    for p in set(range(on.shape[1])) - modes.parts:
        height, tangential_speed, normal_velocity = part_motion(dynamics, terrain, p)
        cost = weight * kinematic_cost(height - lift, tangential_speed, normal_velocity, MIN_HEIGHT_SCALE)
        if (cost < 0.0).any():
            on[:, p] = cheapest_sequence(np.stack((np.zeros_like(cost), cost), axis=1), switch).mode == 1
    return on


def _fit_floor(costs: ModeCosts, found: ModeSequence) -> tuple[float, Array]:
    """Height of the floor above the base [m], and offset of every end from it: (e,) [m]; medians while in contact and at rest."""
    ends, modes, floor = costs.ends, costs.modes, costs.floor
    offsets = np.zeros(len(modes.foot))
    at_rest = np.hypot(ends.tangential_speed, ends.normal_velocity) < STATIONARY_SPEED
    on = modes.contact[found.mode].T & at_rest
    for foothold in costs.raised:
        on[modes.foot == foothold.foot, foothold.start : foothold.end] = False
    samples = [height[flags] for height, flags in zip(ends.height, on, strict=True)]
    heights = [sample for sample in samples if len(sample) >= MIN_OFFSET_FRAMES]
    if heights:
        floor = float(np.clip(np.median(np.concatenate(heights)), floor - MAX_OFFSET, floor + MAX_OFFSET))
    for e, sample in enumerate(samples):
        if len(sample) >= MIN_OFFSET_FRAMES:
            offsets[e] = np.clip(np.median(sample) - floor, -MAX_OFFSET, MAX_OFFSET)
    return floor, offsets
