"""Senses: a reference as it comes in, frame by frame, made ready without knowing what comes next.

Every coordinate is followed by a filter of the third order, which has no lag where accelerations are steady, and knows velocities and
accelerations as well. Corners of soles that are low and slow bear. Where the floor is, and how feet are tilted that lie on it, is learned
on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Rows3, entry, kernel, opener
from brachiate.filter.schedule.arrays import CORNERS, NEVER, open_ahead
from brachiate.filter.schedule.centroidal_trajectory import centre_of, momentum_of, put_locked
from brachiate.filter.schedule.leg_force_limits import gauge_frame, open_motors
from brachiate.kinematics import body_inertias, finite, origin_of, poses, sound, velocities
from brachiate.manifold import difference, integrate, normalize
from brachiate.model.arrays import NOT_FINITE, OK, open_rooms
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import Vec3, motion, norm, put_vec3, quaternion_at, rotation, rotation_of, unrotate, vec3, velocity_at

FASTEST, FASTER = 0.45, 0.1  # [m/s] what is slower than this bears; and more, the faster the body is
LOW, HIGH = 0.02, 0.03  # [m] above the floor: what is lower bears, until it is higher than that
AT, ABRUPT = 0.008, 2.0  # [m] so low is on the floor; so many times as fast may be what comes down there
HYSTERESIS = 1.1  # times as fast as what comes to stand goes what leaves
RESTS = 0.2  # [m/s] what is slower shows where the floor is
FLOOR, TILT = 0.5, 0.2  # [s] in which that is learned, and how feet at rest are tilted
MOST_TILT = 0.05  # [m] by which corners of a foot at rest are above the floor
COMES = 0.08  # [m] a foot that goes down may come to stand from so low on
LEFT = 0.08  # [s] after it has left
SHIFT = 0.04  # [s] in which the body's weight shifts from one leg to the other
QUICK = 0.1  # [s] by which speeds count as angles, where frames are compared
LANDS, LEAVES, STAYS = 0.024, 0.016, 0.06  # [s] for which a leg has seemed to stand, to have left, or to have left again, until it has
STILL = 0.15  # [m/s] what is slower is where it stands
SURE = 0.15  # [s] after which it is known where a leg stands
FADES = 0.06  # [s] in which a foot that has left goes on where the reference has it
LIFTED, TURNED = 20.0, 200.0  # [m/s²] of the root, [rad/s²] of joints: accelerations that people have
JUMP = 1.0  # [m or rad] from where a frame is expected: farther, and it jumps


class Senses(NamedTuple):
    """Sizes: nq, nv of the figure, m soles, l legs."""

    gain: Floats  # (3,) parts of an error by which places, speeds and accelerations change in a step
    q: Floats  # (nq,) where the reference is
    v: Floats  # (nv,)
    a: Floats  # (nv,)
    raw: Floats  # (nq,) the frame that has come
    e: Floats  # (nv,) scratch
    next: Floats  # (nq,) scratch
    limb: Ints  # (m,) bodies of soles
    corner: Rows3  # (8 m, 3) [m]
    down: Ints  # (8 m,) whether a corner bears
    rest: Floats  # (8 m,) [m] by which it is above the floor when the foot is at rest
    hip: Ints  # (m,) body whose joint the leg hangs on, -1 if the sole does not lead
    leg_length: Floats  # (m,) [m]
    place: Rows3  # (8 m, 3) [m] where corners stand, or stood last
    weight: Floats  # (8 m,) [s] for which that was seen
    since: Floats  # (l,) [s] since a leg has left or come
    load: Floats  # (l,) how much it carries
    changed: Ints  # (l,) whether it has come to stand, or has left, in this frame
    doubt: Ints  # (l,) frames for which it has seemed to stand or to have left, other than it is taken to
    seen: Ints  # (f m,) which corners have seemed to bear
    lowest: Floats  # (m,) [m] of a sole's corners above the floor
    falls: Floats  # (m,) [m/s] upward, of that
    floor: Floats  # (1,) [m] where the reference's floor is
    ground: Floats  # (1,) [m] and where the ground is
    last_speed: Floats  # (3,) of the centre of mass
    last_spin: Floats  # (3,)
    members: Ints  # (nb,)
    known: Ints  # (1,) frames that have come in; what is known beyond is recalled
    first: Ints  # (1,) the first of them that is sound: filters have to begin
    span_known: Ints  # (l,) stances of those
    kept: Floats  # (3 l,) scratch
    feature: Floats  # (f nf,) by which frames are recognized
    feature_size: Ints  # (1,) nf
    jumps: Ints  # (1,) the coordinate that jumps in a frame, which is not taken then; -1 for none


open_senses = opener(Senses)


@kernel
def track(T, X, dt, first):
    """Follow the frame that has come. Returns the coordinate that jumps, or -1."""
    n = X.v.shape[0]
    if first:
        for i in range(X.q.shape[0]):
            X.q[i] = X.raw[i]
        for k in range(n):
            X.v[k] = X.a[k] = 0.0
        return -1
    for k in range(n):
        X.e[k] = X.v[k] + 0.5 * dt * X.a[k]
    integrate(T, X.q, X.e, dt, X.next)
    difference(T, X.next, X.raw, X.e)
    for k in range(n):
        if not abs(X.e[k]) < JUMP:
            return k
    integrate(T, X.next, X.e, X.gain[0], X.q)
    for k in range(n):
        X.v[k] += dt * X.a[k] + X.gain[1] / dt * X.e[k]
        most = LIFTED if k < 3 else TURNED
        X.a[k] = min(max(X.a[k] + X.gain[2] / (dt * dt) * X.e[k], -most), most)
    return -1


@kernel
def put_feature(T, X, f):
    """What a frame is recognized by: joints and speeds, how the root is tilted, its height; not where it is, nor which way it faces."""
    n = X.feature_size[0]
    at = f * n
    for e in range(T.kind.shape[0]):
        j = T.q_at[e]
        if T.kind[e] < BALL:
            X.feature[at] = X.q[j]
            at += 1
            continue
        if T.kind[e] == FLOAT:
            up = unrotate(rotation_of(quaternion_at(X.q, j + 3)), Vec3(0.0, 0.0, 1.0))
            X.feature[at], X.feature[at + 1], X.feature[at + 2], X.feature[at + 3] = up.x, up.y, up.z, X.q[j + 2]
        else:
            r = quaternion_at(X.q, j)
            s = 2.0 if r.w >= 0.0 else -2.0  # so that small ones are angles
            X.feature[at], X.feature[at + 1], X.feature[at + 2], X.feature[at + 3] = s * r.w, s * r.x, s * r.y, s * r.z
        at += 4
    for k in range(X.v.shape[0]):
        X.feature[at + k] = QUICK * X.v[k]


@kernel
def corner_of(T, W, X, c):
    """Where a corner is, and how fast it moves."""
    i = X.limb[c // CORNERS]
    r = vec3(W.x, i) + rotation(W.R, i) @ vec3(X.corner, c)
    return origin_of(T, W, i) + r, velocity_at(motion(W.V, i), r)


@kernel
def find_floor(T, W, S, X, dt, first):
    """Learn where the floor is, from the lowest corner of what is at rest."""
    low, slow = 1e300, False
    for n in range(S.leg.shape[0]):
        for j in range(S.corners[n]):
            p, v = corner_of(T, W, X, CORNERS * n + j)
            if p.z < low:
                low, slow = p.z, norm(v) < RESTS
    if first:
        X.floor[0] = low
    elif slow and abs(low - X.floor[0]) < HIGH:
        X.floor[0] += dt / FLOOR * (low - X.floor[0])


@kernel
def feel(T, W, S, X, f, dt, speed):
    """Which corners bear in frame f, and which may soon."""
    m, l = S.leg.shape[0], X.since.shape[0]
    for leg in range(l):
        S.on[f * l + leg] = 0
    fastest = FASTEST + FASTER * speed
    for n in range(m):
        leg, bears, lowest, falls = S.leg[n], 0, 1e300, 0.0
        standing = f > 0 and S.on[(f - 1) * l + leg] == 1
        for j in range(S.corners[n]):
            c = CORNERS * n + j
            p, v = corner_of(T, W, X, c)
            above, fast = p.z - X.floor[0], norm(v)
            if standing and fast < STILL and abs(above) < MOST_TILT:
                X.rest[c] += dt / TILT * (above - X.rest[c])
            high = above - X.rest[c]
            # What comes down to the floor itself may still be fast; what leaves it, not
            limit = ABRUPT * fastest if high < AT and (not standing or X.since[leg] < SURE) else fastest
            if X.down[c]:
                X.down[c] = 1 if high < HIGH and fast < HYSTERESIS * limit else 0
            else:
                X.down[c] = 1 if high < LOW and fast < limit and v.z < RESTS else 0
            if X.down[c]:
                bears |= 1 << j
            if high < lowest:
                lowest, falls = high, v.z
            put_vec3(S.places, CORNERS * (f * m + n) + j, Vec3(p.x, p.y, X.ground[0]))
        S.bears[f * m + n] = S.soon[f * m + n] = bears
        X.lowest[n], X.falls[n] = lowest, falls
        if bears:
            S.on[f * l + leg] = 1
    for leg in range(l):
        settle(S, X, f, leg, dt)


@kernel
def settle(S, X, f, leg, dt):
    """Let a leg stand, or leave, only after it has seemed so for a moment: feet that skim the floor do not stand on it."""
    m, l = S.leg.shape[0], X.since.shape[0]
    seems, was = S.on[f * l + leg], S.on[(f - 1) * l + leg] if f > 0 else S.on[leg]
    X.doubt[leg] = 0 if seems == was else X.doubt[leg] + 1
    # What has come down just now does not leave at once: captured feet jump as they land
    patience = LANDS if seems else LEAVES if X.since[leg] > SURE else STAYS
    now = seems if X.doubt[leg] * dt > patience else was
    S.on[f * l + leg] = now
    for n in range(m):
        if S.leg[n] == leg:
            X.seen[f * m + n] = S.bears[f * m + n]
            if now and not seems:
                S.bears[f * m + n] = S.soon[f * m + n] = S.bears[(f - 1) * m + n]
            elif not now:
                S.bears[f * m + n] = S.soon[f * m + n] = 0
                if seems or (X.lowest[n] < COMES and X.falls[n] < 0.0 and X.since[leg] > LEFT):
                    S.soon[f * m + n] = (1 << S.corners[n]) - 1


@kernel
def look_back(S, X, f, leg, on):
    """What a leg has done since it first seemed so. Returns the frame when that was."""
    m, l = S.leg.shape[0], X.since.shape[0]
    first = max(f - max(X.doubt[leg] - 1, 0), 0)
    for i in range(first, f):
        S.on[i * l + leg] = on
        for n in range(m):
            if S.leg[n] == leg:
                S.bears[i * m + n] = S.soon[i * m + n] = X.seen[i * m + n] if on else 0
    X.doubt[leg] = 0
    return first


@kernel
def count_stances(S, X, f, dt, look):
    """Which stance legs are in; what is known of earlier frames by now."""
    m, l = S.leg.shape[0], X.since.shape[0]
    many, total = S.spans.shape[0] // l, 0.0
    for leg in range(l):
        at = f * l + leg
        on, was, first = S.on[at], S.on[at - l] if f > 0 else -1, f
        n = S.span_count[leg]
        X.changed[leg] = 1 if on != was else 0
        if on != was:
            if f > 0:
                first = look_back(S, X, f, leg, on)
            X.since[leg] = (f - first) * dt if f > 0 else NEVER
            if on or f == 0:
                n = min(n, many - 1)  # feet that tremble have no more stances than there is room for
                S.spans[leg * many + n, 0], S.spans[leg * many + n, 1] = first if on else -1, f + on
                n += 1
                S.span_count[leg] = n
            if not on and n > 0:  # what was recalled may have gone on standing
                S.spans[leg * many + n - 1, 1] = first
            if on and f > 0:  # it has been in the air until now: when it lands is known by now
                for i in range(first - 1, -1, -1):
                    if S.on[i * l + leg]:
                        break
                    S.until[i * l + leg] = (first - i) * dt
        X.since[leg] += dt
        if on:
            S.spans[leg * many + n - 1, 1] = f + 1
        for i in range(first, f + 1):
            S.stance[i * l + leg], S.coming[i * l + leg] = n - 1, n - 1 if on else n
        for i in range(first, f):
            S.until[i * l + leg] = 0.0 if on else NEVER
        S.until[at] = 0.0 if on else max(S.until[at], dt) if f < S.frames[0] else NEVER  # as recalled
        X.load[leg] += (1.0 if f == 0 else min(1.0, dt / SHIFT)) * (on - X.load[leg])
        total += X.load[leg] + 1e-3
    for leg in range(l):
        S.share[f * l + leg] = (X.load[leg] + 1e-3) / total
    for n in range(m):
        now = S.bears[f * m + n]
        for i in range(max(f - look, 0), f):
            if S.bears[i * m + n]:
                S.soon[i * m + n] |= now


@kernel
def anchor(T, W, S, X, f, leg, dt):
    """Where a leg stands: at one place, the mean of where it is while it is still. S.moved ← from where it is to there."""
    m, l = S.leg.shape[0], X.since.shape[0]
    at = f * l + leg
    moved = vec3(S.moved, at - l) if f > 0 else Vec3(0.0, 0.0, 0.0)
    if not S.on[at]:
        if f >= S.frames[0]:  # else as recalled
            put_vec3(S.moved, at, (1.0 - dt / FADES) * moved)
            put_vec3(S.moved_rate, at, (-1.0 / FADES) * moved)
        return
    lands, count, away = X.changed[leg] == 1, 0, Vec3(0.0, 0.0, 0.0)
    for n in range(m):
        if S.leg[n] != leg:
            continue
        for j in range(S.corners[n]):
            c = CORNERS * n + j
            p, v = corner_of(T, W, X, c)
            here = Vec3(p.x, p.y, X.ground[0])
            if lands:
                put_vec3(X.place, c, here + moved)
                X.weight[c] = 0.0
            if norm(v) < STILL:
                X.weight[c] += dt
                put_vec3(X.place, c, vec3(X.place, c) + (dt / X.weight[c]) * (here - vec3(X.place, c)))
            if (S.bears[f * m + n] >> j) & 1:
                away, count = away + vec3(X.place, c) - here, count + 1
    put_vec3(S.moved, at, (1.0 / max(count, 1)) * away)
    put_vec3(S.moved_rate, at, Vec3(0.0, 0.0, 0.0))


@kernel
def mend(S, X, f, leg, dt):
    """Now that it is known where a leg stands, have it come down there: frames of the last stance, and of the swing before it."""
    m, l = S.leg.shape[0], X.since.shape[0]
    many, n = S.spans.shape[0] // l, S.span_count[leg]
    if n < 1 or S.spans[leg * many + n - 1, 0] < 0:
        return
    start, end = S.spans[leg * many + n - 1, 0], S.spans[leg * many + n - 1, 1]
    for i in range(start, end):
        count, away = 0, Vec3(0.0, 0.0, 0.0)
        for s in range(m):
            if S.leg[s] == leg:
                for j in range(S.corners[s]):
                    if (S.bears[i * m + s] >> j) & 1:
                        away = away + vec3(X.place, CORNERS * s + j) - vec3(S.places, CORNERS * (i * m + s) + j)
                        count += 1
        put_vec3(S.moved, i * l + leg, (1.0 / max(count, 1)) * away)
    left = max(S.spans[leg * many + n - 2, 1], 1) if n > 1 else 1
    first, last = vec3(S.moved, (left - 1) * l + leg), vec3(S.moved, start * l + leg)
    for i in range(left, start):
        x = (i - left + 1) / (start - left + 1)
        part, rate = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * (1.0 - x) ** 2 / ((start - left + 1) * dt)
        put_vec3(S.moved, i * l + leg, (1.0 - part) * first + part * last)
        put_vec3(S.moved_rate, i * l + leg, rate * (last - first))


@kernel
def stretch(T, W, S, X, f):
    """How much higher the body could be before a leg that stands is straight."""
    l = X.since.shape[0]
    S.slack[f] = np.inf
    for n in range(S.leg.shape[0]):
        if X.hip[n] >= 0 and S.on[f * l + S.leg[n]]:
            h, i = X.hip[n], X.limb[n]
            down = origin_of(T, W, h) + vec3(W.x, h) - origin_of(T, W, i) - vec3(W.x, i)
            room = X.leg_length[n] ** 2 - down.x * down.x - down.y * down.y
            S.slack[f] = min(S.slack[f], max((max(room, 0.0)) ** 0.5 - down.z, 0.0))


@entry
def sense(key, ahead, senses, motors, look):
    """Take in a frame; it is the last one that is known then."""
    T, W = open_rooms(key)
    (S,) = open_ahead(ahead)
    (X,) = open_senses(senses)
    (M,) = open_motors(motors)
    f, dt = X.known[0], S.step[0]
    nq, nv = X.q.shape[0], X.v.shape[0]
    first = f == 0
    normalize(T, X.raw)
    X.jumps[0] = track(T, X, dt, first)
    if X.jumps[0] >= 0:
        return OK
    for leg in range(X.since.shape[0]):
        S.span_count[leg] = X.span_known[leg]
    for i in range(nq):
        W.q[i] = X.q[i]
    for k in range(nv):
        W.v[k] = X.v[k]
    if not (sound(T, W.q, W.v) and finite(X.a)):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    velocities(T, W)
    find_floor(T, W, S, X, dt, first)
    lower = X.ground[0] - X.floor[0]
    m, c = centre_of(T, W, X.members)
    p, L = momentum_of(T, W, X.members, c)
    speed = (1.0 / m) * p
    put_vec3(S.centre, f, Vec3(c.x, c.y, c.z + lower))
    put_vec3(S.speed, f, speed)
    put_vec3(S.spin, f, L)
    put_locked(T, W, X.members, c, S.inertia, f)
    put_vec3(S.turn, f, Vec3(0.0, 0.0, 0.0))
    for i, (now, spins) in enumerate(((speed.x, L.x), (speed.y, L.y), (speed.z, L.z))):
        S.acceleration[f, i] = 0.0 if first else (now - X.last_speed[i]) / dt
        S.turning[f, i] = 0.0 if first else (spins - X.last_spin[i]) / dt
        X.last_speed[i], X.last_spin[i] = now, spins
    feel(T, W, S, X, f, dt, norm(speed))
    count_stances(S, X, f, dt, look)
    stretch(T, W, S, X, f)
    l = X.since.shape[0]
    if S.most.shape[0] > 0:
        gauge_frame(T, W, M, S, f, l, c)
    for leg in range(l):
        anchor(T, W, S, X, f, leg, dt)
        age, on = X.since[leg], S.on[f * l + leg]
        if (on and age - dt < SURE <= age) or (not on and X.changed[leg]):
            mend(S, X, f, leg, dt)
    S.long_flight[f] = 0
    for i in range(nq):
        S.q[f * nq + i] = X.q[i]
    S.q[f * nq + 2] += lower
    for k in range(nv):
        S.v[f * nv + k], S.a[f * nv + k] = X.v[k], X.a[k]
    put_feature(T, X, f)
    for leg in range(X.since.shape[0]):
        X.span_known[leg] = S.span_count[leg]
    X.known[0] = f + 1
    S.frames[0] = max(S.frames[0], f + 1)
    return OK
