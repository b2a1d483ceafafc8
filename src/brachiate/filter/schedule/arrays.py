"""Arrays shared by planner and controller: the reference window with its contact schedule, and the state of the feet."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.centroidal.problem import Rows2
from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows6, Rows33, kernel, struct_opener

# Places of FootState.gain.
FOOT_GAINS = (
    "SWING_RETARGET_TIME",
    "LATE_LANDING_SPEED",
    "EARLY_LANDING_TIME",
    "FLIGHT_HEIGHT_TOLERANCE",
    "REFERENCE_SHIFT_TIME",
    "SWING_FOOT_WEIGHT",
    "SWING_FOOT_ORIENTATION_WEIGHT",
    "FOOT_ROLL_WEIGHT",
    "FLAT_FOOT_WEIGHT",
    "LANDING_FREEZE_TIME",
    "EXTRAPOLATION_TIME",
    "FOOTHOLD_DECAY",
    "STEP_REACH",
)
SWING_RETARGET_TIME, LATE_LANDING_SPEED, EARLY_LANDING_TIME, FLIGHT_HEIGHT_TOLERANCE, REFERENCE_SHIFT_TIME = range(5)
SWING_FOOT_WEIGHT, SWING_FOOT_ORIENTATION_WEIGHT, FOOT_ROLL_WEIGHT, FLAT_FOOT_WEIGHT = range(5, 9)
LANDING_FREEZE_TIME, EXTRAPOLATION_TIME, FOOTHOLD_DECAY, STEP_REACH = range(9, 13)

NEVER = 1e3  # [s] time to landing of a foot without a known landing
MAX_CORNERS = 8  # of a contact link
MAX_CONTACT_POINTS = 16  # of a contact link
MAX_UNANCHORED_POINTS = 8  # of all parts without a foothold together


class ReferenceWindow(NamedTuple):
    """Known frames of the reference with their contact schedule. Sizes: f frames, m contact links, l legs, s stances of a leg.

    A contact mask has bit j set while corner j of the link is in contact.
    """

    frame_count: Ints  # (1,) known frames
    dt: Floats  # (1,) [s] frame interval
    terrain_gradient: Floats  # (2,) slope of the terrain along x and y
    stair_direction: Floats  # (2,) unit vector along the stairs; zero without stairs
    leg: Ints  # (m,) leg of each contact link
    swings: Ints  # (m,) whether the link follows a swing-foot trajectory (a foot does, its toes do not)
    corner_count: Ints  # (m,)
    q: Floats  # (f nq,) configurations of the figure
    v: Floats  # (f nv,)
    a: Floats  # (f nv,)
    contact_mask: Ints  # (f m,) corners in contact
    upcoming_mask: Ints  # (f m,) corners that will be in contact soon: they may be used if they touch
    in_contact: Ints  # (f l,) stance phase of a leg
    stance_index: Ints  # (f l,) stance of the frame; the halves of a swing belong to the stances before and after
    next_stance_index: Ints  # (f l,) present stance, or the next one during a swing
    time_to_landing: Floats  # (f l,) [s] of a swing foot
    load_share: Floats  # (f l,) share of the body weight
    max_vertical_force: Floats  # (f l,) [N] by the torque limits; empty without limits, as the next two
    motor_point: Rows2  # (f l, 2) [m] mean of the corners in contact
    motor_rows: Rows6  # (f l 8, 6) moments of unit forces at motor_point, joint axes, torque limits: as PlanProblem.motor_rows
    stance_frames: IntRows2  # (l s, 2) first frame of every stance, and the frame after its last
    stance_count: Ints  # (l,)
    foothold_range: Rows2  # (l s, 2) [m] allowed shift of a stance along the stairs; -inf, inf without a tread edge
    flight_boundaries: Ints  # (c,) frames of liftoff into flight and of touchdown from it
    long_flight: Ints  # (f,) whether the frame is in a long flight phase
    height_slack: Floats  # (f,) [m] possible rise of the body until a stance leg is straight
    com: Rows3  # (f, 3) [m]
    com_velocity: Rows3  # (f, 3) [m/s]
    com_acceleration: Rows3  # (f, 3) [m/s²]
    angular_momentum: Rows3  # (f, 3) [N·m·s] about the CoM
    angular_momentum_rate: Rows3  # (f, 3) [N·m]
    orientation_offset: Rows3  # (f, 3) [rad] planned rotation of the whole body from the reference
    locked_inertia: Rows33  # (f, 3, 3) [kg·m²] about the CoM
    corner_positions: Rows3  # (f 8 m, 3) [m]
    foot_offset: Rows3  # (f l, 3) [m] planned displacement of the feet from the reference
    foot_offset_rate: Rows3  # (f l, 3) [m/s]
    unanchored_points: Rows3  # (8 f, 3) [m] ground contacts of parts without a foothold; may be empty
    unanchored_count: Ints  # (f,) number of these points; may be empty


class FootState(NamedTuple):
    """State of the feet: stance or swing, footholds and swing targets as offsets from the reference. Sizes as above."""

    gain: Floats  # (13,) see FOOT_GAINS
    in_contact: Ints  # (l,) stance phase of a leg
    stance_index: Ints  # (l,) present or last stance
    landed: Ints  # (l,) whether touchdown is complete: an edge of the sole, or what the schedule has, is in contact
    foothold_offset: Rows3  # (l, 3) [m] of the present or last foothold
    swing_offset: Rows3  # (l, 3) [m] of the swing trajectory at present
    swing_velocity: Rows3  # (l, 3) [m/s] rate of swing_offset
    swing_acceleration: Rows3  # (l, 3) [m/s²] and of that
    time_to_landing: Floats  # (l,) [s] as far as it is known
    landing_offset: Rows3  # (l, 3) [m] target of the swing
    reference_shift: Floats  # (3,) [m] of the whole reference, which follows the feet
    planned_offset: Rows3  # (l s, 3) [m] of the footholds of the plan
    is_planned: Ints  # (l s,) whether the plan has the stance
    contact_points: Rows3  # (16 m, 3) [m] of a contact link
    contact_count: Ints  # (m,)
    unanchored_points: Rows3  # (8, 3) [m] contact points of other links
    unanchored_count: Ints  # (1,)
    supported: Ints  # (l,) scratch
    plan_size: Ints  # (2,) intervals and landings of the plan
    node_times: Floats  # (N + 1,) [s] of the plan's intervals
    node_is_free: Ints  # (N + 1,) scratch
    landing_stance: IntRows2  # (L, 2) leg and stance of the plan's landings
    com_acceleration: Floats  # (3,) [m/s²] of the plan
    cmp: Floats  # (3,) [m], [m], [1/s²] centroidal moment pivot and ω²: horizontal acceleration is ω² (c - cmp) if ω² is not 0
    angular_momentum_rate: Floats  # (3,) [N·m] of the plan
    root_error: Floats  # (4,) [m], [m], [m], [rad] of the root from the shifted reference


open_window = struct_opener(ReferenceWindow)
open_feet = struct_opener(FootState)


@kernel
def count_bits(number):
    """Number of set bits of an integer."""
    count = 0
    while number:
        number &= number - 1
        count += 1
    return count
