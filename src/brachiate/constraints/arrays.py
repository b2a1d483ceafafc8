"""The arrays of what holds: connections, locks, couplings. Spare capacity, so that a change of structure moves no wall.

A *bond* is one thing that holds; it brings *rows*, one for each direction it holds in: J v = rate, J a + γ = 0. Rows act
along two *chains* of velocities, from the root of a tree down to each of the two bodies, and nowhere else; all products
of rows are products of common beginnings of chains, which are contiguous.

Contact areas come after all other bonds, for one step at a time. Their rows are *related* to all others (J, Y, Z and G), but what
forces they bring is decided elsewhere (:mod:`brachiate.contact`).

Rows of a bond are kept in fours, side by side: what is done to one is done to all four, in one vector register. Lanes that
no row needs hold zeros.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brachiate.compiled import Field, Floats, Ints, Rows3, Rows6, Rows33, opener

IntRows6 = Annotated[NDArray[np.int64], Field("int64", (6,))]

# What a bond is.
CONNECTION, COORDINATE, COUPLING, LIMIT, BALL_LOCK, SWING, TWIST, TOUCH = range(8)
# What a connection looks like: those that occur most are short cuts of ANY.
POINT, WELD, HINGE, SLIDER, ANY = range(5)
# What a row is: it holds; others that hold say the same already; nobody has looked yet; it is a limit that is not pressed
# against; it is no more than a spring and damper.
REGULAR, REDUNDANT, NEW, ASLEEP, SOFT = range(5)
# Places in Bonds.far.
LOOK, METRIC, RELATE, HOLD, CROSS = range(5)
# What CROSS is asked for: accelerations that turn onto the way on; velocities, or accelerations from rest, bent onto it.
TURN_ON, BEND, SET_OUT = range(3)
# Places in Bonds.count.
USED, ROWS, NUMBERS_Y, NUMBERS_G, PAIRS, HOLDING, DROPPED, WEAK = range(8)
TOUCHES, TOUCH_ROWS, TOUCH_Y, TOUCH_G, TOUCH_PAIRS = range(8, 13)


class Bonds(NamedTuple):
    """Sizes: nh bonds, ne elementary motions, nq numbers and nv velocities of joints that close loops, nr rows."""

    count: Ints  # (13,) bonds in use, rows, numbers of Y, numbers of G, pairs of chains that meet; rows that hold, redundant, weak;
    # contact areas, then rows, numbers of Y and G, and pairs with those of contact areas counted in
    far: Ints  # (5,) addresses of the large pieces of compiled code: LOOK, METRIC, RELATE, HOLD, CROSS
    most: Floats  # (2,) largest residual; largest |J v − rate| after an impulse
    clock: Floats  # (2,) [s] time of the state looked at, and of the one last judged
    step: Floats  # (1,) [s] length of the steps that are being made; 0 if none are
    order: Ints  # (nh,) the bonds in use, the oldest first: of rows that say the same, the later ones are redundant; then contact areas
    alive: Ints  # (nh,)
    kind: Ints  # (nh,) CONNECTION, ...
    form: Ints  # (nh,) POINT, ...
    first: Ints  # (nh,) body, -1 for the inertial frame
    second: Ints  # (nh,)
    R_first: Rows33  # (nh, 3, 3) of the connection's frame in the first body
    p_first: Rows3  # (nh, 3) [m]
    R_second: Rows33  # (nh, 3, 3)
    p_second: Rows3  # (nh, 3) [m]
    tip_first: Ints  # (nh,) last velocity of the first chain, -1 if it is empty
    tip_second: Ints  # (nh,)
    common: Ints  # (nh,) how many velocities the two chains begin with together
    element: Ints  # (nh,) where its joint's elementary motions start
    elements: Ints  # (nh,) how many there are
    q_at: Ints  # (nh,) where its joint's numbers start
    v_at: Ints  # (nh,) where its joint's velocities start
    freedoms: Ints  # (nh,) how many velocities
    acts: Ints  # (nh,) 1 if springs, dampers, friction or motors act in its joint
    row: Ints  # (nh,) where its rows start
    rows: Ints  # (nh,) how many
    y_at: Ints  # (nh,) where the numbers of its rows start in J, Y, Z
    y_second: Ints  # (nh,) where the second chain starts in a four of rows
    y_stride: Ints  # (nh,) how many numbers a four of rows has
    g_width: Ints  # (nh,) how many numbers its rows of G have
    owner: Ints  # (nh,) connection whose joint it limits, -1 if it is not one of those
    coordinate: Ints  # (nh,) velocity held or coupled: of the tree, or of the owner's joint
    other: Ints  # (nh,) velocity it follows, -1 for none
    number: Ints  # (nh,) place in q of the coordinate held or coupled: of the tree, or of joints that close loops
    other_number: Ints  # (nh,)
    course: Rows6  # (nh, 6) polynomial: of the time since ``since``, or of the coordinate it follows
    since: Floats  # (nh,) [s]
    until: Floats  # (nh,) [s] from then on a course stays where it is
    target: Rows6  # (nh, 6) quaternion a ball is held at, or the axis of its cone
    side: Ints  # (nh,) 0, or the sign of the only forces a limit has
    sleeps: Ints  # (nh,) 1 for a limit that nothing presses against
    sleeps_last: Ints  # (nh,) the same before the last step, for who goes back
    bound: Floats  # (nh,) [rad or m] of a limit; course[0] is where it holds, which may be a little beyond
    bound_last: Floats  # (nh,) where it held before the last step
    soft: Ints  # (nh,) 1 if it is a spring and damper in all directions it would hold
    give_move: Rows3  # (nh, 3) [N/m, N·s/m] its stiffness and damping against moving
    give_turn: Rows3  # (nh, 3) [N·m/rad, N·m·s/rad] and against turning
    P_first: Rows3  # (nh, 3) [m] the second frame's point, from the origin of the first body's tree
    P_second: Rows3  # (nh, 3) [m] the same from the origin of the second body's tree
    applied: Rows6  # (nh, 6) moment and force on the second body of what acts in its joint
    yielding: Rows6  # (nh, 6) and of its own springs and dampers, if it is soft
    e_kind: Ints  # (ne,)
    e_axis: Rows3  # (ne, 3)
    e_anchor: Rows3  # (ne, 3)
    e_q: Ints  # (ne,)
    e_v: Ints  # (ne,)
    q: Floats  # (nq,) where the joints that close loops are
    rest: Floats  # (nq,)
    v: Floats  # (nv,)
    tau: Floats  # (nv,) [N·m or N] of their motors
    damping: Floats  # (nv,)
    stiffness: Floats  # (nv,)
    friction: Floats  # (nv,)
    S: Rows6  # (nv, 6) motion of the second frame per unit of velocity, about its point
    N: Rows6  # (nv, 6) rows of the inverse: velocities from relative motion
    T: Rows6  # (nr, 6) direction a row holds: moment and force about the second frame's point
    c: Floats  # (nr,) [m or rad] how far it is open
    gamma: Floats  # (nr,) J̇v
    rate: Floats  # (nr,) what J v is to be
    goal: Floats  # (nr,) what J a is to be
    speed: Floats  # (nr,) J v
    rhs: Floats  # (nr,)
    force: Floats  # (nr,) λ [N or N·m], or an impulse
    state: Ints  # (nr,) REGULAR, REDUNDANT
    weak: Ints  # (nr,) the rows that are nearly lost: the posture is close to a singular one
    meets: Ints  # (nr,) first row that meets this one: where its row of G starts
    g_at: Ints  # (nr,) where its row of G is
    whole: Floats  # (nr,) pivot it would have at right angles to the others: what later pivots are compared with
    sine: Floats  # (nr,) of its angle to those taken before it, when last judged; 0 if it was not taken
    sine_last: Floats  # (nr,) the same at the time before
    reach: Floats  # (nr,) how much it may change in the next steps, going by that
    left: Floats  # (nr,) scratch of the judge
    dense: Floats  # (nr·n,) and his rows
    pivot: Floats  # (nr,) inverse of the factor's diagonal; 0 for rows that are dropped
    J: Floats  # (ny,)
    Y: Floats  # (ny,) L⁻ᵀ Jᵀ
    Z: Floats  # (ny,) D L⁻ᵀ Jᵀ
    G: Floats  # (ng,) J A⁻¹ Jᵀ, skyline, then its factor
    pair: IntRows6  # (np, 6) bonds i ≥ j, offsets of the chains in their fours, and the stretch they share
    z: Floats  # (n,) of the tree
    v_before: Floats  # (n,) velocities before an impulse
    cross: Floats  # (nx,) scratch for crossing singular postures


open_bonds = opener(Bonds)
