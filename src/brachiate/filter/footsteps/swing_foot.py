"""Footwork: where feet stand and where they are going, against where the reference has them.

A foot that lands elsewhere than in the reference has an *offset* along the ground, which it keeps until its next landing. Plan and contacts
share this book: what has landed, early or late, stands, whatever the reference says.
"""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.filter.schedule.arrays import (
    BEARING,
    CORNERS,
    EARLY,
    FLAT_WEIGHT,
    FOOT_TURN_WEIGHT,
    FOOT_WEIGHT,
    LATE,
    LYING,
    NEVER,
    RISE,
    ROLL_WEIGHT,
    SETTLE,
    STEER,
    set_bits,
)
from brachiate.filter.whole_body.arrays import CLOSING, FREE, LATER, MAY, SHOULD
from brachiate.filter.whole_body.qp import RAYS
from brachiate.kinematics import origin_of
from brachiate.spatial import Vec3, put_vec3, rotation, vec3, vec3_at

EDGE = 2  # corners of an edge
STEPS = 6.0  # in which a foot's path takes on a new aim, at least: in four its curve would grow without end
SOON = 0.06  # [s] before it is expected to, a foot may come to stand
LIFT = 0.3  # [m] feet follow the centre of mass in a long flight by this much at most


@kernel
def on_ground(S, along):
    """An offset along the ground, and up or down with it."""
    return Vec3(along.x, along.y, along.x * S.gradient[0] + along.y * S.gradient[1])


@kernel
def place_of(T, W, K, n, j):
    """Where corner j of sole n is."""
    i = K.limb[n]
    return origin_of(T, W, i) + vec3(W.x, i) + rotation(W.R, i) @ vec3(K.corner, CORNERS * n + j)


@kernel
def begin(T, W, K, S, G, k):
    """Let feet stand as frame k has them; the body is there."""
    m, l = S.leg.shape[0], G.stands.shape[0]
    for leg in range(l):
        on = S.on[k * l + leg]
        G.stands[leg] = G.settled[leg] = on
        G.stance[leg] = S.coming[k * l + leg] if on else S.coming[k * l + leg] - 1
    if S.lie_count.shape[0] > 0:
        G.lying_count[0] = S.lie_count[k]
        for j in range(G.lying_count[0]):
            put_vec3(G.lying, j, vec3(S.lies, LYING * k + j))
    for n in range(m):
        bears = S.bears[k * m + n]
        K.stands[n] = set_bits(bears)
        G.bearing_count[n] = 0
        for j in range(S.corners[n]):
            if (bears >> j) & 1:
                put_vec3(G.bearing, BEARING * n + G.bearing_count[n], place_of(T, W, K, n, j))
                G.bearing_count[n] += 1


@kernel
def lead(K, S, G, k):
    """Say of every sole what it is to do in the next step: stand, come down, or go along its path."""
    m, l, dt = S.leg.shape[0], G.stands.shape[0], S.step[0]
    carried, relieved = 0, 0
    for leg in range(l):
        G.relieved[leg] = 0
        carried |= S.on[k * l + leg]
    for n in range(m):  # what stood goes on standing until what should stand instead does
        if K.stands[n] > 0 and S.bears[k * m + n] > 0:
            G.relieved[S.leg[n]] = relieved = 1
    fall = carried == 1 and relieved == 0
    for n in range(m):
        leg, corners = S.leg[n], S.corners[n]
        at = k * l + leg
        bears, on, every = S.bears[k * m + n], S.on[at] == 1, (1 << corners) - 1
        may = bears | S.soon[k * m + n]
        if not on and SOON < S.until[at] < NEVER:  # what seems to come down is not to land yet
            may = 0
        if fall or (on and G.relieved[leg] == 0) or (bears > 0 and G.settled[leg] == 0):
            may = every
        early = 0
        if not on and S.long_flight[k] == 1 and S.until[at] <= G.gain[EARLY]:
            early = S.bears[min(k + int(S.until[at] / dt) + 1, S.frames[0] - 1) * m + n]
            early = early if early > 0 else every
        if not on and S.until[at] <= K.gain[CLOSING]:  # so that it is down in time
            bears |= S.bears[min(k + int(S.until[at] / dt + 0.5), S.frames[0] - 1) * m + n]
        for j in range(corners):
            other = MAY if (may >> j) & 1 else LATER if (early >> j) & 1 else FREE
            K.may[CORNERS * n + j] = SHOULD if (bears >> j) & 1 else other
        K.lead[n] = K.turn[n] = 0.0
        for i in range(3):
            K.offset[n, i] = K.drift[n, i] = K.swerve[n, i] = 0.0
        if S.leads[n] == 0:
            # Toes come down flat: their joint is above the sole, so what touches by an edge would have to slide to lie down
            K.turn[n] = 0.0 if K.stands[n] > EDGE else G.gain[FLAT_WEIGHT] if G.stands[leg] else G.gain[FOOT_TURN_WEIGHT]
            continue
        if G.stands[leg]:
            put_vec3(K.offset, n, on_ground(S, vec3(G.offset, leg) + vec3(S.moved, at)))
            if K.stands[n] <= EDGE:
                K.turn[n] = G.gain[FLAT_WEIGHT] if K.stands[n] < set_bits(bears) else G.gain[ROLL_WEIGHT]
        else:
            swing(K, S, G, k, n, leg)


@kernel
def held_within(x, most):
    """A number, but no farther from 0 than that."""
    return min(max(x, -most), most)


@kernel
def bend(G, leg, left, dt):
    """Let a foot's path go on towards its aim, by the curve of the fifth order that comes to rest there when the foot lands."""
    T = max(left, G.gain[STEER], STEPS * dt)
    place, rate, change = vec3(G.path, leg), vec3(G.path_rate, leg), vec3(G.path_change, leg)
    jerk = (60.0 / T**3) * (vec3(G.aim, leg) - place) - (36.0 / T**2) * rate - (9.0 / T) * change
    put_vec3(G.path, leg, place + dt * rate + (0.5 * dt * dt) * change)
    put_vec3(G.path_rate, leg, rate + dt * change + (0.5 * dt * dt) * jerk)
    put_vec3(G.path_change, leg, change + dt * jerk)


@kernel
def swing(K, S, G, k, n, leg):
    """Lead a foot through the air, along the reference's path moved to where it is to land."""
    l = G.stands.shape[0]
    at = k * l + leg
    G.left[leg] = S.until[at] if S.until[at] < NEVER else max(G.left[leg] - S.step[0], 0.0)  # what was known may be lost for a moment
    bend(G, leg, G.left[leg], S.step[0])
    put_vec3(K.offset, n, on_ground(S, vec3(G.path, leg) + vec3(S.moved, at)))
    put_vec3(K.drift, n, on_ground(S, vec3(G.path_rate, leg) + vec3(S.moved_rate, at)))
    put_vec3(K.swerve, n, on_ground(S, vec3(G.path_change, leg)))
    K.lead[n], K.turn[n] = G.gain[FOOT_WEIGHT], G.gain[FOOT_TURN_WEIGHT]
    standing = 0
    for other in range(l):
        standing |= G.stands[other]
    if S.on[at]:
        K.drift[n, 2] -= G.gain[LATE]
    elif S.long_flight[k] == 1 and standing == 0:
        above = K.com[2] - S.centre[k, 2]
        more = max(abs(above) - G.gain[RISE], 0.0) * (1.0 if above > 0.0 else -1.0)
        K.offset[n, 2] += held_within(more, LIFT)
        K.drift[n, 2] += (K.com[5] - S.speed[k, 2]) if more != 0.0 else 0.0


@kernel
def note_bearing(K, P, Gm, A, G):
    """Where soles bear, and other parts, as was decided."""
    G.lying_count[0] = 0
    for n in range(K.limb.shape[0]):
        G.bearing_count[n] = 0
    for j in range(0, P.count[RAYS], 4):
        if K.ray_area[j] < 0:
            break
        pair = A.pair[K.ray_area[j]]
        body = max(Gm.body[Gm.pair[pair, 0]], Gm.body[Gm.pair[pair, 1]])
        n = K.limb_of[body] if body >= 0 else -1
        if n >= 0 and G.bearing_count[n] < BEARING:
            put_vec3(G.bearing, BEARING * n + G.bearing_count[n], vec3(K.at, j))
            G.bearing_count[n] += 1
        elif n < 0 and G.lying_count[0] < LYING:
            put_vec3(G.lying, G.lying_count[0], vec3(K.at, j))
            G.lying_count[0] += 1


@kernel
def note(T, W, K, S, G, k):
    """Take down what stands, as was decided."""
    m, l, dt, last = S.leg.shape[0], G.stands.shape[0], S.step[0], S.frames[0] - 1
    for leg in range(l):
        at = k * l + leg
        down, bearing, wanted, flat = -1, 0, 0, True
        for n in range(m):
            if S.leg[n] == leg and K.stands[n] > 0:
                down = n if down < 0 else down
                bearing += K.stands[n]
                wanted += set_bits(S.bears[k * m + n])
                flat = flat and K.stands[n] > EDGE
        if down >= 0:
            if not G.stands[leg]:
                G.stance[leg] = max(G.stance[leg], S.coming[at])
            lately = G.stance[leg] == S.coming[at]  # else it should have left: where it lands next is another place
            if not G.stands[leg] or (lately and flat):
                then = min(k + int(S.until[at] / dt), last) if S.until[at] < NEVER else k
                here = Vec3(0.0, 0.0, 0.0)
                for j in range(S.corners[down]):
                    here = here + place_of(T, W, K, down, j) - vec3(S.places, CORNERS * (then * m + down) + j)
                here = (1.0 / S.corners[down]) * here - vec3(S.moved, then * l + leg)
                put_vec3(G.offset, leg, Vec3(here.x, here.y, 0.0))
            put_vec3(G.path, leg, vec3(G.offset, leg))
            G.left[leg] = 0.0
            put_vec3(G.path_rate, leg, Vec3(0.0, 0.0, 0.0))
            put_vec3(G.path_change, leg, Vec3(0.0, 0.0, 0.0))
            put_vec3(G.aim, leg, vec3(G.offset, leg))
            if S.on[at] and bearing >= min(EDGE, max(wanted, 1)):
                G.settled[leg] = 1
        elif not S.on[at]:
            G.settled[leg] = 0
        G.stands[leg] = 1 if down >= 0 else 0
    target = Vec3(0.0, 0.0, 0.0)
    soon = min(k + 1, last)
    for leg in range(l):
        target = target + S.share[soon * l + leg] * vec3(G.offset, leg)
    part = min(1.0, dt / G.gain[SETTLE])
    for i, x in enumerate((target.x, target.y, target.z)):
        G.shift[i] += part * (x - G.shift[i])


@kernel
def follow_plan(K, G):
    """What the plan wishes of the body as a whole, where it is now."""
    for i in range(3):
        K.centre[i], K.spin[i] = G.centre[i], G.turning[i]
    if G.cmp[2] != 0.0:
        K.centre[0] = G.cmp[2] * (K.com[0] - G.cmp[0])
        K.centre[1] = G.cmp[2] * (K.com[1] - G.cmp[1])


@kernel
def where_it_should_be(S, G, k):
    """By how much the reference is moved in frame k, as feet are."""
    l = G.stands.shape[0]
    moved = vec3_at(G.shift, 0)
    for leg in range(l):
        moved = moved + S.share[k * l + leg] * vec3(S.moved, k * l + leg)
    return on_ground(S, moved)
