"""State of capture steps, return steps and early landings: footsteps that are not in the reference."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, kernel, struct_opener

NO_LEG = -1
STEP, LANDING = range(2)  # kinds of steps: lift-off and landing during a stance of the reference; early landing of its next stance


class CaptureStep(NamedTuple):
    """Arrays of a capture or return step, and of feet that have landed early. Sizes: m contact links, l legs."""

    swing_duration: Floats  # (1,) [s]; 0: no steps are made
    clearance: Floats  # (1,) [m] height of the swing foot
    foot_length: Floats  # (1,) [m]
    swing_leg: Ints  # (1,) leg that steps; NO_LEG: none
    kind: Ints  # (1,) STEP or LANDING
    swing_frames: Ints  # (2,) frames of lift-off and landing
    lifted_off: Ints  # (1,) whether the foot has been lifted
    feet_displaced: Ints  # (1,) whether feet are displaced by such steps
    is_capture: Ints  # (1,) 1: capture step; 0: a displaced foot returns
    initial_support: Ints  # (m,) supporting corners at the start, as bits
    previous_offset: Rows3  # (1, 3) [m] foothold offset before the step
    terminal_error: Floats  # (2,) [m] capture point error at the end of the last plan
    held: Ints  # (l,) whether a foot stands that has landed early
    hold_until: Ints  # (l,) frame in which the reference has landed, too
    blend: Rows3  # (l, 3) share of the early landing in the foot trajectory, and its rates [1/s], [1/s²]
    landing_corners: Rows3  # (8 m, 3) [m] corners of the contact links at the foothold, without its offset
    landing_foot_offset: Rows3  # (l, 3) [m] planned displacement of this foothold


open_capture_step = struct_opener(CaptureStep)


@kernel
def is_foot(window, leg):
    """Whether a leg stands on a sole: hands and knees that support the figure are single points, which do not step."""
    found = False
    for n in range(window.leg.shape[0]):
        found |= window.leg[n] == leg and window.swings[n] == 1 and window.corner_count[n] > 1
    return found
