"""What a plan is made from, and what comes of it, as arrays."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brachiate.centroidal.settings import PlanSettings
from brachiate.compiled import Field, Floats, Ints, Rows3, Rows33, kernel

FLIGHT, STANDS, HELD = range(3)

PATCHES, POINTS, FEET = 4, 8, 4  # at most: patches of an interval, points of a patch, feet that can step elsewhere
MOTORS = 8  # of a leg, at most
MOST = 3.5  # [g] acceleration upward, if nothing else is said

Rows2 = Annotated[NDArray[np.float64], Field("float64", (2,))]
Rows4 = Annotated[NDArray[np.float64], Field("float64", (FEET,))]
IntRows4 = Annotated[NDArray[np.int64], Field("int64", (PATCHES,))]
RowsOfPatches = Annotated[NDArray[np.float64], Field("float64", (PATCHES, POINTS, 3))]
RowsOfMotors = Annotated[NDArray[np.float64], Field("float64", (MOTORS, 6))]


class Outlook(NamedTuple):
    """What is known of the motion ahead. Sizes: N intervals between N + 1 nodes, L landings; all in world axes, z up.

    A foot keeps its *offset*, how far along the ground it stands from where it would in the reference, until its next landing. That one
    *takes over* at an interval: the start of one in the middle of its swing is good (0 if that has passed), its touchdown at the latest.
    Points of a foot's patches are where they are in the reference, without any offset.
    """

    h: Floats  # (N,) [s] lengths of intervals
    centre: Rows3  # (N + 1, 3) [m] of mass, in the reference, at nodes
    velocity: Rows3  # (N + 1, 3) [m/s] its rate
    acceleration: Rows3  # (N, 3) [m/s²] of it, in the middle of intervals
    turning: Rows3  # (N, 3) [N·m] rate of angular momentum about it, in the middle of intervals
    inertia: Rows33  # (N, 3, 3) [kg·m²] of the body about it, in the middle of intervals
    how: Ints  # (N,) FLIGHT, STANDS on its patches, or is HELD by what can bring any force
    patch: RowsOfPatches  # (N, 4, 8, 3) [m] points of what bears, where they are in the reference
    points: IntRows4  # (N, 4) how many points a patch has; 0: no patch
    foot: IntRows4  # (N, 4) whose patch it is; -1: it is where it is
    friction: Floats  # (N,) coefficient
    most: Floats  # (N,) [m/s²] acceleration upward at most
    motors: Ints  # (N,) how many motors of the only leg that stands have limits; 0: none, or more legs stand
    motor: RowsOfMotors  # (N, 8, 6) [m] moments of unit forces along x, y, z at motor_at; its axis along x, y; [N·m] its limit
    motor_at: Rows2  # (N, 2) [m] a point under that leg, in the reference
    motor_foot: Ints  # (N,) whose leg it is; -1: it is where it is
    slack: Floats  # (N + 1,) [m] how far above the reference the centre of mass may be; inf: no limit
    weight: Rows4  # (N + 1, 4) how much of each foot's offset the reference of the centre of mass takes on
    landing_foot: Ints  # (L,) which foot lands; -1: no landing
    landing_from: Ints  # (L,) interval at which its new offset takes over; N or later: beyond what is planned
    landing_touch: Ints  # (L,) interval at whose start it touches down
    landing_time: Floats  # (L,) [s] until then
    landing_lasts: Floats  # (L,) [s] for which it stands there
    landing_heading: Rows2  # (L, 2) [m] offset that the foot is heading for: that of the last plan
    landing_way: Rows2  # (L, 2) a direction along the ground in which there is only so much room
    landing_least: Floats  # (L,) [m] the offset along it at least; -inf: no limit
    landing_most: Floats  # (L,) [m] and at most; inf: no limit
    reach_direction: Rows2  # (L, 2) direction from the body to the landing foot, in which the leg stretches
    reach_slack: Floats  # (L,) [m] how much farther it can; inf: no limit


class Course(NamedTuple):
    """What is planned. Sizes as of the outlook."""

    centre: Rows3  # (N + 1, 3) [m]
    velocity: Rows3  # (N + 1, 3) [m/s]
    turn: Rows3  # (N + 1, 3) [rad] orientation from that of the reference
    spin: Rows3  # (N + 1, 3) [rad/s]
    up: Floats  # (N,) [m/s²] z̈
    s: Floats  # (N,) [1/s²] c̈ = s (c - cmp); 0 where nothing of the kind holds
    cmp: Rows2  # (N, 2) [m]
    along: Rows2  # (N, 2) [m/s²] c̈ at the start of an interval
    pressure: Rows3  # (N, 3) [m] centre of pressure; under the centre of mass where there is none
    alpha: Rows3  # (N, 3) [rad/s²]
    turning: Rows3  # (N, 3) [N·m]
    landing: Rows2  # (L, 2) [m] offsets of landings
    time: Floats  # (N + 1,) [s] of nodes, kept for the next plan
    how: Ints  # (N,) kept for the next plan
    count: Ints  # (1,) intervals of this plan; 0: there is none yet
    fault: Ints  # (2,) what is wrong with the outlook, and where
    tries: Ints  # (3,) sweeps of the vertical and of the horizontal plan, and how often what bears was laid out
    present: Floats  # (12 + 8,) c, ċ, θ, ω (3 each) and offsets of feet (4, 2) now
    held: Rows2  # (4, 2) scratch: offsets as they are assumed where what bears is laid out
    taken: Ints  # (4,) scratch: which landing of each foot takes over, -1: none
    x: Floats  # (36,) scratch: points of what bears
    y: Floats  # (36,)
    owner: Ints  # (36,) scratch: whose they are
    normal: Rows2  # (36, 2) scratch: sides of what bears, outward
    side: Floats  # (36,) [m] scratch: how far out they are
    ends: IntRows4  # (36, 4) scratch: whose the two ends of a side are


class Weights(NamedTuple):
    """Settings as compiled code has them (1,), and the body."""

    mass: Floats
    gravity: Floats
    feet: Ints
    centre: Floats
    velocity: Floats
    turn: Floats
    spin: Floats
    pressure: Floats
    spin_change: Floats
    offset: Floats
    capture: Floats
    end_turn: Floats
    ahead: Floats
    height: Floats
    climb: Floats
    push: Floats
    unit: Floats
    margin: Floats
    friction_share: Floats
    twist: Floats
    reach: Floats
    freeze: Floats
    least_push: Floats
    least_height: Floats
    inside: Floats
    slip: Floats
    lever: Floats
    bound: Floats
    stretch: Floats
    strain: Floats


def empty_outlook(N: int, landings: int) -> Outlook:
    """Return an outlook with room for N intervals."""

    def real(*shape: int) -> NDArray[np.float64]:
        return np.zeros(shape)

    def integer(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    per_interval = (
        real(N, 3),
        real(N, 3),
        real(N, 3, 3),
        integer(N),
        real(N, PATCHES, POINTS, 3),
        integer(N, PATCHES),
        integer(N, PATCHES),
    )
    motors = (integer(N), real(N, MOTORS, 6), real(N, 2), integer(N))
    limits = (real(N), real(N), *motors, real(N + 1), real(N + 1, FEET))
    steps = (integer(landings), integer(landings), integer(landings), real(landings), real(landings), real(landings, 2))
    rooms = (real(landings, 2), real(landings), real(landings), real(landings, 2), real(landings))
    return Outlook(real(N), real(N + 1, 3), real(N + 1, 3), *per_interval, *limits, *steps, *rooms)


def empty_course(N: int, landings: int) -> Course:
    """Return a course with room for N intervals."""
    rows3 = [np.zeros((n, 3)) for n in (N + 1, N + 1, N + 1, N + 1)]
    intervals = [np.zeros(N), np.zeros(N), np.zeros((N, 2)), np.zeros((N, 2)), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((N, 3))]
    kept = [np.zeros((landings, 2)), np.zeros(N + 1), *(np.zeros(n, np.int64) for n in (N, 1, 2, 3)), np.zeros(12 + 2 * FEET)]
    scratch = [np.zeros((FEET, 2)), np.zeros(FEET, np.int64), np.zeros(36), np.zeros(36), np.zeros(36, np.int64)]
    return Course(*[*rows3, *intervals, *kept, *scratch, np.zeros((36, 2)), np.zeros(36), np.zeros((36, 4), np.int64)])


def weights(settings: PlanSettings, mass: float, gravity: float, feet: int) -> Weights:
    """Return settings as compiled code has them."""
    return Weights(
        np.array([mass]), np.array([gravity]), np.array([feet]), *(np.array([getattr(settings, n)]) for n in Weights._fields[3:])
    )


NO_FAULT, BAD_LENGTH, BAD_REFERENCE, BAD_INERTIA, BAD_PATCH, NOTHING_BEARS, BAD_LIMIT, BAD_LANDING, TWO_LANDINGS, BAD_MOTOR = range(10)


@kernel
def finite3(a, k):
    """Whether the three numbers of a row are finite."""
    return np.isfinite(a[k, 0] + a[k, 1] + a[k, 2])


@kernel
def patches_fault(W, O, k):
    """What is wrong with what bears in an interval."""
    total = 0
    for j in range(PATCHES):
        n = O.points[k, j]
        if n < 0 or n > POINTS or O.foot[k, j] < -1 or O.foot[k, j] >= W.feet[0]:
            return BAD_PATCH
        for i in range(n):
            if not np.isfinite(O.patch[k, j, i, 0] + O.patch[k, j, i, 1] + O.patch[k, j, i, 2]):
                return BAD_PATCH
        total += n
    if O.how[k] == STANDS and total == 0:
        return NOTHING_BEARS
    return NO_FAULT


@kernel
def sound_motors(W, O, k):
    """Whether all is well with the motors of an interval."""
    if O.motors[k] == 0:
        return True
    if O.motors[k] < 0 or O.motors[k] > MOTORS or O.motor_foot[k] < -1 or O.motor_foot[k] >= W.feet[0]:
        return False
    total = O.motor_at[k, 0] + O.motor_at[k, 1]
    for n in range(O.motors[k]):
        if not O.motor[k, n, 5] > 0.0:
            return False
        for i in range(6):
            total += O.motor[k, n, i]
    return np.isfinite(total)


@kernel
def sound_inertia(I, k):
    """Whether a matrix is positive definite, as that of a body is."""
    a, b, c, d, e, f = I[k, 0, 0], I[k, 1, 1], I[k, 2, 2], I[k, 0, 1], I[k, 0, 2], I[k, 1, 2]
    alike = abs(d - I[k, 1, 0]) + abs(e - I[k, 2, 0]) + abs(f - I[k, 2, 1]) <= 1e-6 * (a + b + c)
    return alike and a > 0.0 and a * b - d * d > 0.0 and a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e) > 0.0


@kernel
def fault(W, O, P, N):
    """What is wrong with an outlook; where is left in P.fault."""
    for k in range(N + 1):
        P.fault[1] = k
        if not (finite3(O.centre, k) and finite3(O.velocity, k)):
            return BAD_REFERENCE
        if np.isnan(O.slack[k]) or not np.isfinite(O.weight[k, 0] + O.weight[k, 1] + O.weight[k, 2] + O.weight[k, 3]):
            return BAD_LIMIT
    for k in range(N):
        P.fault[1] = k
        if not 0.0 < O.h[k] < 1e3:
            return BAD_LENGTH
        if not (finite3(O.acceleration, k) and finite3(O.turning, k)):
            return BAD_REFERENCE
        if not sound_inertia(O.inertia, k):
            return BAD_INERTIA
        wrong = patches_fault(W, O, k)
        if wrong != NO_FAULT:
            return wrong
        if O.how[k] < FLIGHT or O.how[k] > HELD:
            return BAD_PATCH
        if not sound_motors(W, O, k):
            return BAD_MOTOR
        if not (0.0 <= O.friction[k] < 1e3 and W.least_push[0] * W.gravity[0] < O.most[k] < 1e6):
            return BAD_LIMIT
    return landings_fault(W, O, P)


@kernel
def landings_fault(W, O, P):
    """What is wrong with the landings."""
    for n in range(O.landing_foot.shape[0]):
        P.fault[1] = n
        if O.landing_foot[n] >= 0:
            sound = np.isfinite(O.landing_heading[n, 0] + O.landing_heading[n, 1] + O.reach_direction[n, 0] + O.reach_direction[n, 1])
            sound = sound and O.landing_lasts[n] >= 0.0 and not (np.isnan(O.landing_time[n]) or np.isnan(O.reach_slack[n]))
            if not sound or O.landing_foot[n] >= W.feet[0]:
                return BAD_LANDING
            if not (O.landing_least[n] <= O.landing_most[n] and np.isfinite(O.landing_way[n, 0] + O.landing_way[n, 1])):
                return BAD_LANDING
            if O.landing_from[n] < 0 or O.landing_touch[n] < O.landing_from[n]:
                return BAD_LANDING
            for m in range(n):
                if O.landing_foot[m] == O.landing_foot[n] and O.landing_from[m] == O.landing_from[n]:
                    return TWO_LANDINGS
    return NO_FAULT
