"""Recall: what came after the moment in the past that was most like the present one, as what may come now.

People walk, run and dance in cycles. Nothing of it has to be said to the filter: it looks for the moment itself, turns and moves what came
after it to where the body is, and plans with that as if it were known. Every plan looks anew.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import entry, index, kernel
from brachiate.filter.online.contact_estimator import count_stances, open_senses
from brachiate.filter.schedule.arrays import CORNERS, NEVER, open_ahead
from brachiate.filter.schedule.leg_force_limits import repeat
from brachiate.spatial import Vec3, conjugate, put_vec3, quaternion_at, vec3

ALIKE = 0.09  # root mean square of what differs: more, and nothing is recalled
PAST = 0.5  # [s] ago at least


@kernel
def most_alike(X, k, since):
    """The frame before ``since`` that is most like frame k, -1 if none is alike."""
    n, best, found = X.feature_size[0], ALIKE * ALIKE * X.feature_size[0], -1
    for p in range(max(X.first[0], 0), since):
        d = 0.0
        for i in range(n):
            x = X.feature[index(p * n + i)] - X.feature[index(k * n + i)]
            d += x * x
        if d < best:
            best, found = d, p
    return found


@kernel
def turned(c, s, x):
    """A vector turned about the vertical."""
    return Vec3(c * x.x - s * x.y, s * x.x + c * x.y, x.z)


@kernel
def imagine(S, X, p, k, i):
    """Frame k + i as frame p + i was, turned and moved from where the body was at p to where it is at k."""
    m, nq, here, there = S.leg.shape[0], X.q.shape[0], k + i, p + i
    l = X.since.shape[0]
    turn = quaternion_at(S.q, k * nq + 3) @ conjugate(quaternion_at(S.q, p * nq + 3))
    half = np.arctan2(turn.z, turn.w)
    c, s = np.cos(2.0 * half), np.sin(2.0 * half)
    was = Vec3(S.q[p * nq], S.q[p * nq + 1], 0.0)
    now = Vec3(S.q[k * nq], S.q[k * nq + 1], 0.0)
    put_vec3(S.centre, here, now + turned(c, s, vec3(S.centre, there) - was))
    put_vec3(S.speed, here, turned(c, s, vec3(S.speed, there)))
    put_vec3(S.acceleration, here, turned(c, s, vec3(S.acceleration, there)))
    put_vec3(S.spin, here, turned(c, s, vec3(S.spin, there)))
    put_vec3(S.turning, here, turned(c, s, vec3(S.turning, there)))
    put_vec3(S.turn, here, Vec3(0.0, 0.0, 0.0))
    S.slack[here], S.long_flight[here] = S.slack[there], S.long_flight[there]
    a, b, d = S.inertia[there, 0, 0], S.inertia[there, 0, 1], S.inertia[there, 1, 1]
    across = turned(c, s, Vec3(S.inertia[there, 0, 2], S.inertia[there, 1, 2], 0.0))
    S.inertia[here, 0, 0] = c * c * a - 2.0 * c * s * b + s * s * d
    S.inertia[here, 1, 1] = s * s * a + 2.0 * c * s * b + c * c * d
    S.inertia[here, 0, 1] = S.inertia[here, 1, 0] = c * s * (a - d) + (c * c - s * s) * b
    S.inertia[here, 0, 2] = S.inertia[here, 2, 0] = across.x
    S.inertia[here, 1, 2] = S.inertia[here, 2, 1] = across.y
    S.inertia[here, 2, 2] = S.inertia[there, 2, 2]
    for n in range(m):
        S.bears[here * m + n], S.soon[here * m + n] = S.bears[there * m + n], S.soon[there * m + n]
        for j in range(S.corners[n]):
            to, of = CORNERS * (here * m + n) + j, CORNERS * (there * m + n) + j
            put_vec3(S.places, to, now + turned(c, s, vec3(S.places, of) - was))
    if S.most.shape[0] > 0:
        repeat(S, l, here, there, now - turned(c, s, was), c, s)
    for leg in range(l):
        S.on[here * l + leg] = S.on[there * l + leg]
        put_vec3(S.moved, here * l + leg, turned(c, s, vec3(S.moved, there * l + leg)))
        put_vec3(S.moved_rate, here * l + leg, turned(c, s, vec3(S.moved_rate, there * l + leg)))


@entry
def recall(ahead, senses, most, look):
    """Go on from the last frame that is known with what came after one like it: so many frames at most. Returns that one, or -1."""
    (S,) = open_ahead(ahead)
    (X,) = open_senses(senses)
    k, dt, l = X.known[0] - 1, S.step[0], X.since.shape[0]
    S.frames[0] = k + 1
    for leg in range(l):
        S.span_count[leg] = X.span_known[leg]
        if not S.on[k * l + leg]:
            S.until[k * l + leg] = NEVER
    p = most_alike(X, k, k - int(PAST / dt))
    if p < 0:
        return p
    for leg in range(l):
        X.kept[leg], X.kept[l + leg], X.kept[2 * l + leg] = X.since[leg], X.load[leg], X.doubt[leg]
        X.doubt[leg] = 0
    for i in range(1, min(most, k - p, S.slack.shape[0] - k - 1) + 1):
        imagine(S, X, p, k, i)
        count_stances(S, X, k + i, dt, look)
        S.frames[0] = k + i + 1
    for leg in range(l):
        X.since[leg], X.load[leg], X.doubt[leg] = X.kept[leg], X.kept[l + leg], int(X.kept[2 * l + leg])
    return p
