"""Stance and swing state of the feet: owner of the arrays that plan, swing trajectories and contacts share."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.compiled import ArrayHandle, array_fields
from brachiate.filter.schedule.arrays import FOOT_GAINS, MAX_CONTACT_POINTS, MAX_UNANCHORED_POINTS, FootState, ReferenceWindow
from brachiate.filter.settings import FilterSettings

PER_LEG = (
    "in_contact",
    "stance_index",
    "landed",
    "foothold_offset",
    "swing_offset",
    "swing_velocity",
    "swing_acceleration",
    "time_to_landing",
    "landing_offset",
    "supported",
)


class FootStates:
    """Owner of the arrays :class:`~brachiate.filter.schedule.arrays.FootState` of all legs.

    Args:
        window: Reference window with its contact schedule.
        settings: Of the filter, scaled to the figure.
        landing_freeze_time: [s] before landing from which on the foothold is not replanned.
        intervals: Largest number of plan intervals.
        landings: Largest number of landings in a plan.
        extrapolation_time: [s] by which plans extend beyond the window; 0 if the motion ends there.
    """

    def __init__(
        self,
        window: ReferenceWindow,
        settings: FilterSettings,
        landing_freeze_time: float,
        intervals: int,
        landings: int,
        extrapolation_time: float = 0.0,
    ) -> None:
        links, legs, stances = len(window.leg), len(window.stance_count), len(window.stance_frames)
        length = dict.fromkeys(PER_LEG, legs) | dict.fromkeys(("planned_offset", "is_planned"), stances)
        length |= {"contact_points": MAX_CONTACT_POINTS * links, "contact_count": links}
        length |= {"unanchored_points": MAX_UNANCHORED_POINTS, "unanchored_count": 1}
        length |= {"gain": len(FOOT_GAINS), "plan_size": 2, "node_times": intervals + 1, "node_is_free": intervals + 1}
        length |= {"landing_stance": landings, "root_error": 4}
        fields = array_fields(FootState)
        self.arrays = FootState(**{name: np.zeros((length.get(name, 3), *kind.row), kind.dtype) for name, kind in fields.items()})
        gains = {
            "SWING_RETARGET_TIME": settings.swing_retarget_time,
            "LATE_LANDING_SPEED": settings.late_landing_speed,
            "EARLY_LANDING_TIME": settings.early_landing_time,
            "FLIGHT_HEIGHT_TOLERANCE": settings.flight_height_tolerance,
            "REFERENCE_SHIFT_TIME": settings.reference_shift_time,
            "SWING_FOOT_WEIGHT": settings.swing_foot_weight,
            "SWING_FOOT_ORIENTATION_WEIGHT": settings.swing_foot_orientation_weight,
            "FOOT_ROLL_WEIGHT": settings.foot_roll_weight,
            "FLAT_FOOT_WEIGHT": settings.flat_foot_weight,
            "LANDING_FREEZE_TIME": landing_freeze_time,
            "EXTRAPOLATION_TIME": extrapolation_time,
            "FOOTHOLD_DECAY": settings.foothold_decay,
            "STEP_REACH": settings.plan.step_reach,
        }
        self.arrays.gain[:] = [gains[name] for name in FOOT_GAINS]
        self.handle = ArrayHandle(self.arrays)

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self.handle.key

    @property
    def stance_pattern(self) -> tuple[int, ...]:
        """Stance number and contact of every leg: a change calls for a new plan."""
        return (*self.arrays.stance_index.tolist(), *self.arrays.in_contact.tolist())
