"""The book: what is known of the reference ahead, frame by frame, and where feet stand and are going. Plan and contacts share it."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.centroidal.problem import Rows2
from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows6, Rows33, kernel, opener

# Places of Footing.gain.
FOOTING_GAINS = (
    "STEER",
    "LATE",
    "EARLY",
    "RISE",
    "SETTLE",
    "FOOT_WEIGHT",
    "FOOT_TURN_WEIGHT",
    "ROLL_WEIGHT",
    "FLAT_WEIGHT",
    "FREEZE",
    "BLIND",
    "HOME",
    "REACH",
)
STEER, LATE, EARLY, RISE, SETTLE, FOOT_WEIGHT, FOOT_TURN_WEIGHT, ROLL_WEIGHT, FLAT_WEIGHT, FREEZE, BLIND, HOME, REACH = range(13)

NEVER = 1e3  # [s]
CORNERS = 8  # of a sole, at most
BEARING = 16  # points by which a sole bears, at most
LYING = 8  # points by which all bear that are no soles, at most


class Ahead(NamedTuple):
    """What is known of the reference. Sizes: f frames, m soles, l legs, s stances of a leg.

    Corners of a sole that bear are bits of a number.
    """

    frames: Ints  # (1,) how many are known
    step: Floats  # (1,) [s] from one to the next
    gradient: Floats  # (2,) of the ground
    way: Floats  # (2,) along which steps go, if there are any
    leg: Ints  # (m,) whose a sole is
    leads: Ints  # (m,) whether it is the one that is led through the air
    corners: Ints  # (m,) how many it has
    q: Floats  # (f nq,) configurations of the figure
    v: Floats  # (f nv,)
    a: Floats  # (f nv,)
    bears: Ints  # (f m,) which corners bear
    soon: Ints  # (f m,) which may, as they will
    on: Ints  # (f l,) whether a leg stands
    stance: Ints  # (f l,) which stance it is in; the halves of a swing belong to those before and after
    coming: Ints  # (f l,) the one it is in, or comes to next
    until: Floats  # (f l,) [s] until a leg that does not stand lands
    share: Floats  # (f l,) how much of the body it carries
    most: Floats  # (f l,) [N] force upward that its motors can bring; may be empty, as the next two: then there is no limit
    spot: Rows2  # (f l, 2) [m] the middle of what of it bears
    motor: Rows6  # (f l 8, 6) moments of unit forces there, axes and limits of its motors: see Outlook
    spans: IntRows2  # (l s, 2) first frame and the one after the last of every stance
    span_count: Ints  # (l,)
    room: Rows2  # (l s, 2) [m] that a stance may be moved along the way, from and to; -inf and inf where no step ends
    changes: Ints  # (c,) frames in which the body leaves the ground or comes down
    long_flight: Ints  # (f,)
    slack: Floats  # (f,) [m] how much higher the body could be
    centre: Rows3  # (f, 3) [m] of mass
    speed: Rows3  # (f, 3) [m/s]
    acceleration: Rows3  # (f, 3) [m/s²]
    spin: Rows3  # (f, 3) [N·m·s] angular momentum
    turning: Rows3  # (f, 3) [N·m] its rate
    turn: Rows3  # (f, 3) [rad] by which the body as a whole is to be turned from the reference
    inertia: Rows33  # (f, 3, 3) [kg·m²]
    places: Rows3  # (f 8 m, 3) [m] of corners
    moved: Rows3  # (f l, 3) [m] by which feet are to be elsewhere than in the reference
    moved_rate: Rows3  # (f l, 3) [m/s]
    lies: Rows3  # (8 f, 3) [m] where parts without a place of their own are on the ground; may be empty
    lie_count: Ints  # (f,) how many such points there are; may be empty


class Footing(NamedTuple):
    """Where feet stand and where they are going, against where the reference has them. Sizes as above."""

    gain: Floats  # (13,) see above
    stands: Ints  # (l,) whether a leg stands
    stance: Ints  # (l,) which stance it stands or stood in last
    settled: Ints  # (l,) whether it has come down as it should
    offset: Rows3  # (l, 3) [m] of where it stands or stood last
    path: Rows3  # (l, 3) [m] of its path through the air at present
    path_rate: Rows3  # (l, 3) [m/s]
    path_change: Rows3  # (l, 3) [m/s²]
    left: Floats  # (l,) [s] until it lands, as far as is known
    aim: Rows3  # (l, 3) [m] of where it is to land
    shift: Floats  # (3,) [m] of the whole reference, as it follows the feet
    aims: Rows3  # (l s, 3) [m] offsets of stances as planned
    aimed: Ints  # (l s,) whether they are
    bearing: Rows3  # (16 m, 3) [m] where a sole bears
    bearing_count: Ints  # (m,)
    lying: Rows3  # (8, 3) [m] where something bears that is no sole
    lying_count: Ints  # (1,)
    relieved: Ints  # (l,) scratch
    planned: Ints  # (2,) intervals and landings of the plan
    nodes: Floats  # (N + 1,) [s] of its intervals
    free: Ints  # (N + 1,) scratch
    key: IntRows2  # (L, 2) leg and stance of its landings
    centre: Floats  # (3,) [m/s²] the plan's acceleration of the centre of mass
    cmp: Floats  # (3,) [m], [m], [1/s²] along the ground it is s (c - cmp), if s is not 0
    turning: Floats  # (3,) [N·m] the plan's rate of angular momentum
    off: Floats  # (4,) [m] of the pelvis from where it should be, and by how much it is turned [rad]


open_ahead = opener(Ahead)
open_footing = opener(Footing)


@kernel
def set_bits(number):
    """How many bits of a number are set."""
    count = 0
    while number:
        number &= number - 1
        count += 1
    return count
