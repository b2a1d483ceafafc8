"""Hand-made reference window of two feet with a known contact schedule, and the arrays of a controller for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.compiled import array_fields
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER, ReferenceWindow
from brachiate.filter.schedule.contact_schedule import make_window
from brachiate.filter.settings import FilterSettings
from brachiate.filter.whole_body.arrays import GAINS, Control

DT = 0.01  # [s] frame interval
FRAMES = 98
HEIGHT = 0.981  # [m] of the CoM: with g = 9.81 the pendulum frequency ω is √10 1/s
CORNERS = np.array([(-0.1, -0.05, 0.0), (-0.1, 0.05, 0.0), (0.15, -0.05, 0.0), (0.15, 0.05, 0.0)])  # [m] of a sole: heel, then toes
SIDES = (0.1, -0.1)  # [m] y of the left and right foot
ALL_CORNERS = 0b1111
LEFT, RIGHT = 0, 1


def foot_corners(leg: int, x: float) -> np.ndarray:
    """(4, 3) [m] of a foot whose center line is at x."""
    return CORNERS + np.array((x, SIDES[leg], 0.0))


def two_foot_window(stances: Sequence[Sequence[tuple[int, int, float]]]) -> ReferenceWindow:
    """Window with the given stances of the left and right foot: first frame, the one after the last, and x of the foothold [m]."""
    f, contact, mask = FRAMES, np.zeros((FRAMES, 2), np.int64), np.zeros((FRAMES, 2), np.int64)
    index, following, time = np.zeros((f, 2), np.int64), np.zeros((f, 2), np.int64), np.full((f, 2), NEVER)
    corners = np.zeros((f, 2, MAX_CORNERS, 3))
    most = max(len(each) for each in stances)
    frames = np.tile((-1, 0), (2, most, 1))
    for leg, each in enumerate(stances):
        for n, (start, end, x) in enumerate(each):
            before = each[n - 1][1] if n else 0
            contact[start:end, leg], mask[start:end, leg] = 1, ALL_CORNERS
            index[(before + start) // 2 :, leg] = following[before:, leg] = n
            time[before:start, leg] = (start - np.arange(before, start)) * DT
            time[start:end, leg] = 0.0
            corners[before:, leg, :4] = foot_corners(leg, x)
            frames[leg, n] = start, end
    supported = contact.any(axis=1)
    arrays = {
        "frame_count": [f],
        "dt": [DT],
        "terrain_gradient": [0.0, 0.0],
        "stair_direction": [1.0, 0.0],
        "leg": [LEFT, RIGHT],
        "swings": [1, 1],
        "corner_count": [4, 4],
        "contact_mask": mask,
        "upcoming_mask": mask.copy(),
        "in_contact": contact,
        "stance_index": index,
        "next_stance_index": following,
        "time_to_landing": time,
        "load_share": contact / np.maximum(contact.sum(axis=1, keepdims=True), 1),
        "stance_frames": frames,
        "stance_count": [len(each) for each in stances],
        "foothold_range": np.tile((-np.inf, np.inf), (2 * most, 1)),
        "flight_boundaries": 1 + np.flatnonzero(np.diff(supported.astype(int))),
        "long_flight": np.zeros(f),
        "height_slack": np.full(f, np.inf),
        "com": np.tile((0.0, 0.0, HEIGHT), (f, 1)),
        "locked_inertia": np.tile(np.eye(3), (f, 1, 1)),
        "corner_positions": corners,
        "foot_offset": np.zeros((f, 2, 3)),
        "foot_offset_rate": np.zeros((f, 2, 3)),
    }
    arrays |= {name: np.zeros((f, 3)) for name in ("com_velocity", "com_acceleration", "angular_momentum_rate", "orientation_offset")}
    return make_window(arrays)


def feet_of(window: ReferenceWindow, extrapolation_time: float = 0.0) -> FootStates:
    return FootStates(window, FilterSettings(), 0.05, intervals=20, landings=6, extrapolation_time=extrapolation_time)


def make_control(bodies: int = 2) -> Control:
    """Arrays of a controller with two contact links, on bodies 0 and 1, and no grips."""
    length = dict.fromkeys(("grip_mode", "grip_body", "grip_point", "grip_frames", "tracked_body", "tracked_point", "tracked_weight"), 0)
    length |= {"corner": 2 * MAX_CORNERS, "contact_mode": 2 * MAX_CORNERS, "gain": len(GAINS), "com": 6, "contact_link_of": bodies}
    length |= dict.fromkeys(("contact_body", "supporting_corners", "position_offset", "velocity_offset", "acceleration_offset"), 2)
    length |= dict.fromkeys(("position_weight", "orientation_weight"), 2)
    fields = array_fields(Control)
    ctl = Control(**{name: np.zeros((length.get(name, 3), *kind.row), kind.dtype) for name, kind in fields.items()})
    ctl.contact_body[:], ctl.mass[0] = (0, 1), 60.0
    for n in range(2):
        ctl.corner[MAX_CORNERS * n : MAX_CORNERS * n + 4] = CORNERS
    return ctl
