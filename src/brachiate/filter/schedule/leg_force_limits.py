"""Strength: what the motors of legs can bring in the postures of a reference, so that plans ask for no more.

A force F at p turns the motor of axis a at o by a · ((p - o) × F) [N·m]. Legs weigh little beside what they carry, so that is nearly all
that it has to hold. How hard a leg can push upward: along the line from p to the centre of mass, as hard as the weakest of its motors
allows, with p where on its soles that is most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.centroidal.problem import MOTORS
from brachiate.compiled import Floats, Ints, Rows3, entry, kernel, opener
from brachiate.filter.schedule.arrays import CORNERS, open_ahead
from brachiate.kinematics import ball_motions, origin_of, poses, sound
from brachiate.model.arrays import NOT_FINITE, OK, open_rooms
from brachiate.spatial import Vec3, motion, put_vec3, rotation, vec3, velocity_at

PARTS = 4  # of the way from one corner to another: there pressure is tried
STEEP = 0.8  # along the ground over upward: no force slopes more


class Motors(NamedTuple):
    """Sizes: nv velocities of the figure, m soles."""

    effort: Floats  # (nv,) [N·m or N]; inf for no limit, 0 for what has no motor
    limb: Ints  # (m,) bodies
    corner: Rows3  # (8 m, 3) [m] along the body's axes
    spot: Rows3  # (8 m, 3) [m] scratch: corners of a leg that bear
    owner: Ints  # (8 m,) scratch: soles


open_motors = opener(Motors)


@kernel
def can_bear(T, W, M, i, p, c):
    """The largest force upward [N] at p that the motors above body i hold, along the line from p to c."""
    d = c - p
    high = max(d.z, 1e-6)
    along = (d.x * d.x + d.y * d.y) ** 0.5 / high
    part = min(1.0, STEEP / max(along, 1e-9)) / high
    d, r, most = Vec3(part * d.x, part * d.y, 1.0), p - origin_of(T, W, i), np.inf
    while T.parent[i] >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            if M.effort[k] > 0.0:
                moment = abs(velocity_at(motion(W.S, k), r) @ d)
                if moment * most > M.effort[k]:
                    most = M.effort[k] / moment
        i = T.parent[i]
    return most


@kernel
def find_spots(T, W, M, S, n, leg):
    """List the corners of a leg that bear in frame n. Returns how many, and the sole that carries them all: the foot, not toes."""
    m, count, holds = S.leg.shape[0], 0, -1
    for s in range(m):
        if S.leg[s] != leg or S.bears[n * m + s] == 0:
            continue
        holds = s if holds < 0 or S.leads[s] else holds
        i = M.limb[s]
        for j in range(S.corners[s]):
            if (S.bears[n * m + s] >> j) & 1:
                put_vec3(M.spot, count, origin_of(T, W, i) + vec3(W.x, i) + rotation(W.R, i) @ vec3(M.corner, CORNERS * s + j))
                M.owner[count] = s
                count += 1
    return count, holds


@kernel
def most_upward(T, W, M, count, holds, c):
    """The largest force upward [N] that a leg can bring by the corners that are listed."""
    most = 0.0
    for a in range(count):
        for b in range(a, count):
            i = M.limb[M.owner[a] if M.owner[a] == M.owner[b] else holds]
            way = vec3(M.spot, b) - vec3(M.spot, a)
            for part in range(PARTS + 1 if b > a else 1):
                most = max(most, can_bear(T, W, M, i, vec3(M.spot, a) + (part / PARTS) * way, c))
    return most


@kernel
def weigh(T, W, M, S, at, count, holds):
    """What forces at the middle of the corners that are listed do to the motors of their leg."""
    for j in range(MOTORS * at, MOTORS * (at + 1)):
        S.motor[j, 5] = np.inf
    p = Vec3(0.0, 0.0, 0.0)
    for a in range(count):
        p = p + (1.0 / count) * vec3(M.spot, a)
    S.spot[at, 0], S.spot[at, 1] = p.x, p.y
    i, j = M.limb[holds], MOTORS * at
    r = p - origin_of(T, W, i)
    while T.parent[i] >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            if 0.0 < M.effort[k] < np.inf and j < MOTORS * (at + 1):
                u = motion(W.S, k)
                S.motor[j, 0], S.motor[j, 1], S.motor[j, 2] = velocity_at(u, r)
                S.motor[j, 3], S.motor[j, 4], S.motor[j, 5] = u.w.x, u.w.y, M.effort[k]
                j += 1
        i = T.parent[i]


@kernel
def gauge_frame(T, W, M, S, n, l, c):
    """What the legs that stand in frame n can bring; the posture is known. The centre of mass is at c."""
    ball_motions(T, W)
    for leg in range(l):
        at = n * l + leg
        S.most[at] = np.inf
        count, holds = find_spots(T, W, M, S, n, leg)
        if count > 0:
            S.most[at] = most_upward(T, W, M, count, holds, c)
            weigh(T, W, M, S, at, count, holds)


@kernel
def repeat(S, l, to, of, by, c, s):
    """Let legs bring in one frame what they do in another, turned about the vertical (cos, sin) and moved."""
    for leg in range(l):
        here, there = to * l + leg, of * l + leg
        x, y = S.spot[there, 0], S.spot[there, 1]
        S.most[here], S.spot[here, 0], S.spot[here, 1] = S.most[there], c * x - s * y + by.x, s * x + c * y + by.y
        for n in range(MOTORS):
            a, b = MOTORS * here + n, MOTORS * there + n
            for i in (0, 3):
                x, y = S.motor[b, i], S.motor[b, i + 1]
                S.motor[a, i], S.motor[a, i + 1] = c * x - s * y, s * x + c * y
            S.motor[a, 2], S.motor[a, 5] = S.motor[b, 2], S.motor[b, 5]


@entry
def gauge(key, ahead, motors):
    """What the legs that stand can bring, in all frames."""
    T, W = open_rooms(key)
    (S,) = open_ahead(ahead)
    (M,) = open_motors(motors)
    nq, f = W.q.shape[0], S.frames[0]
    for n in range(f):
        for i in range(nq):
            W.q[i] = S.q[n * nq + i]
        if not sound(T, W.q, W.v):
            return NOT_FINITE
        poses(T, W)
        gauge_frame(T, W, M, S, n, S.most.shape[0] // f, vec3(S.centre, n))
    return OK
