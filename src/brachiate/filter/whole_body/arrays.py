"""Control: all that is wished of a body in one step, and what comes of it, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows33, opener

CROWDED = 13  # status: more contacts than there is room for

# Places of Control.gain.
GAINS = (
    "JOINT_STIFFNESS",
    "JOINT_DAMPING",
    "LIMB_STIFFNESS",
    "LIMB_DAMPING",
    "STANCE_DAMPING",
    "CENTRE_WEIGHT",
    "SPIN_WEIGHT",
    "CONE",
    "INSET",
    "NEAR",
    "AHEAD",
    "LIMIT_AHEAD",
    "STEP",
    "MARGIN",
    "CLOSING",
    "TOUCHDOWN",
    "CLOSING_WEIGHT",
    "STANCE_WEIGHT",
)
(
    JOINT_STIFFNESS,
    JOINT_DAMPING,
    LIMB_STIFFNESS,
    LIMB_DAMPING,
    STANCE_DAMPING,
    CENTRE_WEIGHT,
    SPIN_WEIGHT,
    CONE,
    INSET,
    NEAR,
    AHEAD,
    LIMIT_AHEAD,
    STEP,
    MARGIN,
    CLOSING,
    TOUCHDOWN,
    CLOSING_WEIGHT,
    STANCE_WEIGHT,
) = range(18)

FREE, LATER, MAY, SHOULD = range(4)  # what a corner of a sole does about the ground; LATER: it keeps off, but bears if it touches
LOOSE, REACHES, HOLDS = range(3)  # what a point does about that which it is to hold


class Control(NamedTuple):
    """Sizes: nv velocities, m limbs, of k corners each, g grips, p points that are kept, K rays, na areas."""

    gain: Floats  # (18,) see above
    members: Ints  # (nb,) bodies of the figure
    passive: Ints  # (nv,) 1 if there is no motor
    weight: Floats  # (nv,) of the reference's acceleration
    effort: Floats  # (nv,) [N·m or N] of motors at most; inf for no limit
    speed: Floats  # (nv,) [rad/s or m/s] of motors at most; inf for no limit
    lower: Floats  # (nv,) limits of coordinates [rad or m]; -inf and inf for none
    upper: Floats  # (nv,)
    number: Ints  # (nv,) place in q of those
    centre: Floats  # (3,) [m/s²] wished acceleration of the centre of mass
    spin: Floats  # (3,) [N·m] wished rate of angular momentum about it
    limb: Ints  # (m,) bodies that stand at times
    point: Rows3  # (m, 3) [m] of theirs that is led, body axes
    lead: Floats  # (m,) weight of its path, 0 if it is not led
    turn: Floats  # (m,) and of its orientation
    offset: Rows3  # (m, 3) [m] of its path from the reference's
    drift: Rows3  # (m, 3) [m/s] rate of that
    swerve: Rows3  # (m, 3) [m/s²] more acceleration than the reference's
    corner: Rows3  # (8 m, 3) [m] of its sole, body axes
    may: Ints  # (8 m,) FREE, LATER, MAY or SHOULD; -1 behind the last one
    limb_of: Ints  # (nb,) which limb a body is, -1 for none
    grip: Ints  # (g,) LOOSE, REACHES for its place, or HOLDS: it is connected there
    grip_body: Ints  # (g,) whose
    grip_point: Rows3  # (g, 3) [m] that holds, body axes
    grip_span: IntRows2  # (g, 2) first frame in which it should, and the one after the last
    grip_lead: Floats  # (1,) weight of its path while it reaches
    kept: Ints  # (p,) bodies of points whose place and orientation are kept as well
    kept_point: Rows3  # (p, 3) [m] body axes
    kept_weight: Floats  # (p,)
    kept_offset: Floats  # (3,) [m] of the whole reference
    q_at: Ints  # (nq of the figure,) where its configuration is in the world's; the root's comes first
    v_at: Ints  # (nv of the figure,) and its velocity
    # what comes out
    a: Floats  # (nv,) accelerations
    wanted: Floats  # (nv,) those wished
    mass: Floats  # (1,) [kg]
    com: Floats  # (6,) centre of mass [m], its velocity [m/s]
    momentum: Floats  # (3,) [N·m·s] angular, about the centre of mass
    locked: Rows33  # (1, 3, 3) [kg·m²] inertia about the centre of mass of the body as one piece
    lean: Floats  # (3,) [rad] how far it is turned from the reference as a whole
    got: Floats  # (6,) acceleration of the centre of mass [m/s²] and rate of angular momentum [N·m] of the solution
    aimed: Floats  # (6,) centre of mass and velocity of the reference
    aimed_spin: Floats  # (3,) and its angular momentum
    stands: Ints  # (m,) how many corners of a limb bear
    touched: Ints  # (m,) how many corners of a limb are on something
    height: Floats  # (m,) [m] gap of its lowest corner, 1 if it is not near anything
    ray_area: Ints  # (K,) which area a ray is of, -1 of none: it is of a grip, and those come last
    at: Rows3  # (K, 3) [m] where it acts, world
    along: Rows3  # (K, 3) its direction
    # scratch
    least: Ints  # (nv,) row of the bound of a motor's torque from below, from 1 on; 0 if there is none
    most: Ints  # (nv,) and from above; both are kept from step to step while they act
    A: Floats  # (nv nv,) mass matrix
    b: Floats  # (nv,) bias
    F: Floats  # (K nv,) generalized force of every ray
    e: Floats  # (nv,) scratch


open_control = opener(Control)
