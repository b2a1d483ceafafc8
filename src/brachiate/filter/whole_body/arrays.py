"""Arrays of the whole-body controller: gains, limits, task targets, contact links, and the results of a control step."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows33, struct_opener

# Indices into Control.gain.
GAINS = (
    "JOINT_STIFFNESS",
    "JOINT_DAMPING",
    "FOOT_STIFFNESS",
    "FOOT_DAMPING",
    "STANCE_DAMPING",
    "COM_WEIGHT",
    "ANGULAR_MOMENTUM_WEIGHT",
    "FRICTION_SHARE",
    "SUPPORT_INSET",
    "CONTACT_DISTANCE",
    "PENETRATION_HORIZON",
    "LIMIT_HORIZON",
    "TIME_STEP",
    "DETECTION_MARGIN",
    "TOUCHDOWN_TIME",
    "TOUCHDOWN_SPEED",
    "TOUCHDOWN_WEIGHT",
    "STANCE_WEIGHT",
)
(
    JOINT_STIFFNESS,
    JOINT_DAMPING,
    FOOT_STIFFNESS,
    FOOT_DAMPING,
    STANCE_DAMPING,
    COM_WEIGHT,
    ANGULAR_MOMENTUM_WEIGHT,
    FRICTION_SHARE,
    SUPPORT_INSET,
    CONTACT_DISTANCE,
    PENETRATION_HORIZON,
    LIMIT_HORIZON,
    TIME_STEP,
    DETECTION_MARGIN,
    TOUCHDOWN_TIME,
    TOUCHDOWN_SPEED,
    TOUCHDOWN_WEIGHT,
    STANCE_WEIGHT,
) = range(18)

# Contact modes of a corner; CONTACT_EARLY: it keeps clear of the ground, but supports if it touches (landing after a long flight).
CONTACT_FORBIDDEN, CONTACT_EARLY, CONTACT_ALLOWED, CONTACT_REQUIRED = range(4)
GRIP_OPEN, GRIP_REACHING, GRIP_CLOSED = range(3)  # modes of a grip


class Control(NamedTuple):
    """Arrays of the whole-body controller.

    Sizes: nv velocities, nb bodies, m contact links of up to 8 corners, g grips, p tracked links,
    R function rows, L rows of closed loops, K rays.
    """

    gain: Floats  # (18,) see GAINS
    members: Ints  # (nb,) 1 for bodies of the figure
    unactuated: Ints  # (nv,) 1 for coordinates without actuator
    joint_weight: Floats  # (nv,) weights of the joint accelerations
    effort: Floats  # (nv,) [N·m or N] torque limits; inf: no limit
    speed_limit: Floats  # (nv,) [rad/s or m/s]; inf: no limit
    lower: Floats  # (nv,) [rad or m] joint limits; -inf and inf: no limit
    upper: Floats  # (nv,)
    limited_q_at: Ints  # (nv,) index in q of a coordinate with limits; -1: it has none
    com_acceleration: Floats  # (3,) [m/s²] desired
    angular_momentum_rate: Floats  # (3,) [N·m] desired, about the CoM
    contact_body: Ints  # (m,) bodies of the contact links
    task_point: Rows3  # (m, 3) [m] point of the swing foot task, body axes
    position_weight: Floats  # (m,) weight of the swing foot's position; 0: no task
    orientation_weight: Floats  # (m,) weight of its orientation; 0: no task
    sole_level: Floats  # (m,) 0: orientation of the reference; 1: sole level; between
    position_offset: Rows3  # (m, 3) [m] offset of its trajectory from the reference
    velocity_offset: Rows3  # (m, 3) [m/s] rate of the offset
    acceleration_offset: Rows3  # (m, 3) [m/s²] rate of the velocity offset
    corner: Rows3  # (8 m, 3) [m] corners of the soles, body axes
    contact_mode: Ints  # (8 m,) CONTACT_FORBIDDEN ...; -1 behind the last corner
    contact_link_of: Ints  # (nb,) contact link of a body; -1: none
    grip_mode: Ints  # (g,) GRIP_OPEN, GRIP_REACHING or GRIP_CLOSED: connected to its hold
    grip_body: Ints  # (g,)
    grip_point: Rows3  # (g, 3) [m] body axes
    grip_frames: IntRows2  # (g, 2) first frame, and the one after the last
    grip_weight: Floats  # (1,) weight of the position of a reaching grip
    tracked_body: Ints  # (p,) bodies of the tracked links
    tracked_point: Rows3  # (p, 3) [m] body axes
    tracked_weight: Floats  # (p,)
    tracked_offset: Floats  # (3,) [m] shift of the whole reference
    function_count: Ints  # (2,) rows of functions of the motion in this step, and the first of these in the QP
    function_gradient: Floats  # (R nv,) row by row
    function_rhs: Floats  # (R,) desired second rates less the bias
    function_weight: Floats  # (R,) 0: no row
    com_shift: Floats  # (2,) height of the CoM above the pelvis relative to the reference, while functions act [m], and its rate [m/s]
    orientation_shift: Floats  # (3,) rotation of the figure as a whole relative to its pelvis, while functions act [rad]
    loop_count: Ints  # (1,) rows of closed loops in this step
    loop_gradient: Floats  # (L nv,) row by row
    loop_rhs: Floats  # (L,)
    q_at: Ints  # (nq of the figure,) indices of its configuration in the world's; the floating base comes first
    v_at: Ints  # (nv of the figure,) indices of its velocity
    # results
    a: Floats  # (nv,) accelerations of the solution
    desired: Floats  # (nv,) joint-space PD accelerations
    mass: Floats  # (1,) [kg]
    com: Floats  # (6,) CoM [m] and its velocity [m/s]
    angular_momentum: Floats  # (3,) [N·m·s] about the CoM
    locked_inertia: Rows33  # (1, 3, 3) [kg·m²] about the CoM
    orientation_error: Floats  # (3,) [rad] rotation of the figure as a whole from the reference
    achieved: Floats  # (6,) CoM acceleration [m/s²] and angular momentum rate [N·m] of the solution
    reference_com: Floats  # (6,) CoM of the reference [m] and its velocity [m/s]
    reference_angular_momentum: Floats  # (3,) [N·m·s]
    supporting_corners: Ints  # (m,) number of corners in contact with force
    touching_corners: Ints  # (m,) number of corners within the contact distance
    clearance: Floats  # (m,) [m] gap of the lowest corner; 1 if nothing is near
    ray_patch: Ints  # (K,) contact patch of a ray; -1: ray of a grip, -2: of a closed loop, these come last
    ray_point: Rows3  # (K, 3) [m] point of application, world
    ray_direction: Rows3  # (K, 3)
    # scratch
    lower_torque_row: Ints  # (nv,) row of the lower torque bound plus 1, 0: none; warm start while it is active
    upper_torque_row: Ints  # (nv,) the same for the upper bound
    M: Floats  # (nv nv,) mass matrix
    bias: Floats  # (nv,) h: Coriolis, gravity and passive forces
    ray_force: Floats  # (K nv,) generalized force of every ray, Jᵀ u
    error: Floats  # (nv,) q_ref ⊖ q


open_control = struct_opener(Control)
