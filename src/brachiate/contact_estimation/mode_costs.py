"""Costs of the contact modes of feet over a motion, for one height of the floor, and the sequence of least cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.contact_costs import kinematic_cost
from brachiate.contact_estimation.cost_constants import FREE_COST
from brachiate.contact_estimation.foot_modes import FootModes
from brachiate.contact_estimation.mode_sequence import ModeSequence, cheapest_sequence
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import part_motion
from brachiate.contact_estimation.raised_footholds import RaisedFoothold
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

RAISED_COST = 2.0  # of a foot above the ground in contact: it explains a residual of half of the weight
RAISED_INTERVAL_COST = 10.0  # of each foothold above the ground
MAX_GROUND_HEIGHT, UNREACHED_COST = 0.15, 20.0  # [m] of a part above the ground, from which it is not in contact, whatever must carry


class Ends(NamedTuple):
    """Motion of the heels and fronts of all feet, of the lowest part of each: (e, f)."""

    height: Array  # [m]
    tangential_speed: Array  # [m/s]
    normal_velocity: Array  # [m/s]


def end_motion(dynamics: MotionDynamics, terrain: Terrain, modes: FootModes) -> Ends:
    """Motion of the lowest part of every end of the feet."""
    motion = np.zeros((3, len(modes.foot), len(dynamics)))
    for e, parts in enumerate(modes.ends):
        of_parts = np.array([part_motion(dynamics, terrain, part) for part in parts])  # (p, 3, f)
        lowest = of_parts[:, 0].argmin(axis=0)
        motion[:, e] = of_parts[lowest, :, np.arange(len(dynamics))].T
    return Ends(*motion)


class ModeCosts(NamedTuple):
    """Costs of the combinations of modes of all feet.

    Args:
        modes: Combinations of modes.
        weight: Of the costs of every frame (f,).
        ends: Motion of heels and fronts, heights above the base [m].
        scale: Uncertainty of their height in contact [m].
        residual: Cost of the root residual (f, m).
        floor: Height of the floor above the base [m].
        offsets: Of heels and fronts in contact from the floor (e,) [m].
        raised: Footholds above the floor.
    """

    modes: FootModes
    weight: Array
    ends: Ends
    scale: float
    residual: Array
    floor: float
    offsets: Array
    raised: tuple[RaisedFoothold, ...] = ()

    def of_ends(self) -> Array:
        """Cost of contact of every end, on the ground or a raised foothold: (e, f)."""
        height = self.ends.height - self.floor - self.offsets[:, None]
        along, normal = self.ends.tangential_speed, self.ends.normal_velocity
        cost = kinematic_cost(height, along, normal, self.scale) + np.where(height > MAX_GROUND_HEIGHT, UNREACHED_COST, 0.0)
        for foothold in self.raised:
            span = slice(foothold.start, foothold.end)
            duration = float(self.weight[span].sum())
            for e, level in zip(np.flatnonzero(self.modes.foot == foothold.foot), foothold.ends, strict=True):
                away = np.abs(self.ends.height[e, span] - level)
                raised = kinematic_cost(away, along[e, span], normal[e, span], self.scale)
                if not foothold.known:
                    raised += FREE_COST + 0.5 * RAISED_COST + 0.5 * RAISED_INTERVAL_COST / duration
                cost[e, span] = np.minimum(cost[e, span], raised)
        return cost

    def total(self) -> Array:
        """Cost of every combination in every frame: (f, m)."""
        kinematic = self.of_ends().T @ self.modes.contact.T if len(self.modes.foot) else 0.0
        return kinematic + self.residual

    def sequence(self) -> ModeSequence:
        """Modes of least cost."""
        return cheapest_sequence(self.weight[:, None] * self.total(), self.modes.switch)
