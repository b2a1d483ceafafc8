"""Arrays of a constraint set: connections, locked and coupled coordinates, limits. Capacity is reserved, so structure changes reuse them.

A constraint contributes *rows*, one for each direction it constrains: J v = velocity target, J a + γ = 0. Rows act along two
kinematic *chains* of velocities, from the root of a tree down to each of the two bodies, and are zero elsewhere; all products
of rows are products over common beginnings of chains, which are contiguous.

Contacts are appended after all other constraints, for one step at a time. Their rows take part in J, Y, Z and the Delassus
operator G = J A⁻¹ Jᵀ, but their forces are solved for in :mod:`brachiate.contact`.

Rows of a constraint are stored in blocks of four, interleaved, one vector register each. Unused lanes hold zeros.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brachiate.compiled import ArrayField, Floats, Ints, Rows3, Rows6, Rows33, struct_opener

IntRows6 = Annotated[NDArray[np.int64], ArrayField("int64", (6,))]

# Kinds of constraints (ConstraintArrays.kind). Those from LOCKED_BALL to TWIST_LIMIT are of ball joints, the last two cone limits.
CONNECTION, PRESCRIBED, COUPLING, JOINT_LIMIT, LOCKED_BALL, SWING_LIMIT, TWIST_LIMIT, CONTACT = range(8)
# Joints of connections (ConstraintArrays.form): the common ones have specialized code.
POINT, WELD, HINGE, SLIDER, GENERAL_JOINT = range(5)
# States of rows: linearly independent and in force; redundant with others; rank not decided yet; a limit that is not reached;
# a spring and damper instead of a constraint.
INDEPENDENT, REDUNDANT, UNCLASSIFIED, INACTIVE, COMPLIANT = range(5)
# Entries of ConstraintArrays.functions.
RESIDUALS, MASS_FACTOR, DELASSUS, OPERATION, SINGULARITY = range(5)
# Operations of SINGULARITY: correct accelerations by third-order rows; velocities, or accelerations from rest, by second-order rows.
CORRECT_ACCELERATION, CORRECT_VELOCITY, CORRECT_START_FROM_REST = range(3)
# Entries of ConstraintArrays.count.
CONSTRAINTS, ROWS, Y_SIZE, G_SIZE, PAIRS, INDEPENDENT_ROWS, REDUNDANT_ROWS, WEAK_ROWS = range(8)
CONTACTS, ROWS_WITH_CONTACTS, Y_SIZE_WITH_CONTACTS, G_SIZE_WITH_CONTACTS, PAIRS_WITH_CONTACTS = range(8, 13)


class ConstraintArrays(NamedTuple):
    """Sizes: nc constraints, ne elementary motions, nq coordinates and nv velocities of loop-closing joints, nr rows."""

    count: Ints  # (13,) constraints, rows, entries of Y and of G, pairs of chains that overlap; independent, redundant, weak rows;
    # contacts, then rows, entries of Y and of G, and pairs including those of contacts
    functions: Ints  # (5,) addresses of compiled functions: RESIDUALS, MASS_FACTOR, DELASSUS, OPERATION, SINGULARITY
    max_error: Floats  # (2,) largest residual; largest |J v − velocity target| after an impulse
    time: Floats  # (2,) [s] of the current state, and of the state at which rows were last classified
    dt: Floats  # (1,) [s] time step of the running integration; 0 if there is none
    order: Ints  # (nc,) constraints in use, oldest first: of dependent rows the later ones are redundant; then contacts
    used: Ints  # (nc,) 1 if the slot is in use
    kind: Ints  # (nc,) CONNECTION, ...
    form: Ints  # (nc,) POINT, ...
    first: Ints  # (nc,) body, -1 for the inertial frame
    second: Ints  # (nc,)
    R_first: Rows33  # (nc, 3, 3) of the connection's frame in the first body
    p_first: Rows3  # (nc, 3) [m]
    R_second: Rows33  # (nc, 3, 3)
    p_second: Rows3  # (nc, 3) [m]
    tip_first: Ints  # (nc,) last velocity of the first chain, -1 if it is empty
    tip_second: Ints  # (nc,)
    common: Ints  # (nc,) number of velocities the two chains have in common
    element: Ints  # (nc,) start of its joint's elementary motions
    elements: Ints  # (nc,) their number
    q_at: Ints  # (nc,) start of its joint's coordinates in q
    v_at: Ints  # (nc,) start of its joint's velocities in v
    dofs: Ints  # (nc,) degrees of freedom of its joint
    has_joint_forces: Ints  # (nc,) 1 if its joint has springs, dampers, friction, motors or limits
    row: Ints  # (nc,) its first row
    rows: Ints  # (nc,) number of rows
    y_at: Ints  # (nc,) start of its rows' entries in J, Y, Z
    y_second: Ints  # (nc,) offset of the second chain in a block of four rows
    y_stride: Ints  # (nc,) entries of a block of four rows
    g_width: Ints  # (nc,) length of its rows of G
    owner: Ints  # (nc,) connection whose joint it limits, -1 for other constraints
    v_index: Ints  # (nc,) constrained velocity: of the tree, or of the owner's joint
    driver_v_index: Ints  # (nc,) velocity that drives a coupled one, -1 for none
    q_index: Ints  # (nc,) constrained coordinate: in q of the tree, or of loop-closing joints
    driver_q_index: Ints  # (nc,)
    polynomial: Rows6  # (nc, 6) coefficients: of the time since ``start_time``, or of the driving coordinate
    start_time: Floats  # (nc,) [s]
    end_time: Floats  # (nc,) [s] a prescribed coordinate is constant afterwards
    target: Rows6  # (nc, 6) quaternion of a locked ball joint, or the axis of a cone limit
    side: Ints  # (nc,) 0, or the sign of the forces a limit can exert
    inactive: Ints  # (nc,) 1 for a limit that is not reached
    inactive_previous: Ints  # (nc,) before the last step, to go back to
    bound: Floats  # (nc,) [rad or m] of a limit; polynomial[0] is where it acts, which may be slightly beyond
    bound_previous: Floats  # (nc,) where it acted before the last step
    compliant: Ints  # (nc,) 1 if it is a spring and damper in all constrained directions
    linear_spring: Rows3  # (nc, 3) [N/m, N·s/m] stiffness and damping of translations
    angular_spring: Rows3  # (nc, 3) [N·m/rad, N·m·s/rad] and of rotations
    P_first: Rows3  # (nc, 3) [m] the second frame's point, from the origin of the first body's tree
    P_second: Rows3  # (nc, 3) [m] the same from the origin of the second body's tree
    joint_wrench: Rows6  # (nc, 6) moment and force on the second body of springs, dampers, friction and motors of its joint
    compliant_wrench: Rows6  # (nc, 6) and of its own springs and dampers, if it is compliant
    e_kind: Ints  # (ne,)
    e_axis: Rows3  # (ne, 3)
    e_anchor: Rows3  # (ne, 3)
    e_q: Ints  # (ne,)
    e_v: Ints  # (ne,)
    q: Floats  # (nq,) coordinates of loop-closing joints
    q_part: Floats  # (nq,) the same at the start of the present part of a divided step
    rest: Floats  # (nq,)
    v: Floats  # (nv,)
    tau: Floats  # (nv,) [N·m or N] of their motors
    damping: Floats  # (nv,)
    stiffness: Floats  # (nv,)
    friction: Floats  # (nv,)
    S: Rows6  # (nv, 6) motion of the second frame per unit of velocity, about its point
    N: Rows6  # (nv, 6) rows of the inverse: velocities from relative motion
    T: Rows6  # (nr, 6) constrained direction of a row: moment and force about the second frame's point
    c: Floats  # (nr,) [m or rad] residual
    gamma: Floats  # (nr,) J̇v
    velocity_target: Floats  # (nr,) of J v
    acceleration_target: Floats  # (nr,) of J a
    velocity: Floats  # (nr,) J v
    rhs: Floats  # (nr,)
    force: Floats  # (nr,) λ [N or N·m], or an impulse
    state: Ints  # (nr,) INDEPENDENT, REDUNDANT, ...
    weak_rows: Ints  # (nr,) rows that are nearly dependent: the posture is close to a singular one
    skyline_start: Ints  # (nr,) first row with an entry in this row of G
    g_at: Ints  # (nr,) start of its row of G
    pivot_scale: Floats  # (nr,) pivot it would have if orthogonal to the others, to compare later pivots with
    sine: Floats  # (nr,) of its angle to the rows accepted before it, when last classified; 0 if not accepted
    sine_previous: Floats  # (nr,) the same at the classification before
    sine_margin: Floats  # (nr,) extrapolated change of the sine over the next steps
    remaining: Floats  # (nr,) scratch of the classification: squared norm after orthogonalization
    dense_rows: Floats  # (nr·n,) and its dense rows
    inverse_pivot: Floats  # (nr,) inverse of the factor's diagonal; 0 for rows that are left out
    J: Floats  # (ny,)
    Y: Floats  # (ny,) L⁻ᵀ Jᵀ
    Z: Floats  # (ny,) D L⁻ᵀ Jᵀ
    G: Floats  # (ng,) Delassus operator J A⁻¹ Jᵀ, skyline storage, then its factor
    pair: IntRows6  # (np, 6) constraints i ≥ j, offsets of the chains in their blocks, and the range they share
    z: Floats  # (n,) scratch, velocities of the tree
    v_before: Floats  # (n,) velocities before an impulse
    singular_scratch: Floats  # (nx,) scratch for crossing singular postures


open_constraints = struct_opener(ConstraintArrays)
