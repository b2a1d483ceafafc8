"""What a body as a whole does along a motion: centre of mass, momentum, inertia, in every frame."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, Rows33, entry, kernel, opener
from brachiate.kinematics import body_inertias, finite, origin_of, poses, sound, velocities
from brachiate.model.arrays import NOT_FINITE, OK, Tree, Work
from brachiate.spatial import Vec3, inertia, motion, moved_force, put_vec3


class Whole(NamedTuple):
    """Sizes: f frames, nb bodies."""

    q: Floats  # (f nq,)
    v: Floats  # (f nv,)
    members: Ints  # (nb,) bodies that count
    mass: Floats  # (1,) [kg]
    centre: Rows3  # (f, 3) [m]
    speed: Rows3  # (f, 3) [m/s]
    spin: Rows3  # (f, 3) [N·m·s] angular momentum about the centre of mass
    locked: Rows33  # (f, 3, 3) [kg·m²] inertia about it, of the body as one piece


open_whole = opener(Tree, Work, Whole)


@kernel
def centre_of(T, W, members):
    """Mass and centre of mass in the world."""
    m, c = 0.0, Vec3(0.0, 0.0, 0.0)
    for i in range(T.parent.shape[0]):
        if members[i]:
            I = inertia(W.inertia, i)
            m += I.m
            c = c + I.h + I.m * origin_of(T, W, i)
    return m, (1.0 / m) * c


@kernel
def momentum_of(T, W, members, point):
    """Momentum, and angular momentum about a point."""
    p, L = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for i in range(T.parent.shape[0]):
        if members[i]:
            h = moved_force(inertia(W.inertia, i) @ motion(W.V, i), point - origin_of(T, W, i))
            p, L = p + h.f, L + h.n
    return p, L


@kernel
def put_locked(T, W, members, c, out, n):
    """Row n of out ← inertia about a point, of all members as one piece."""
    xx = yy = zz = xy = xz = yz = 0.0
    for i in range(T.parent.shape[0]):
        if members[i]:
            I = inertia(W.inertia, i)
            d = c - origin_of(T, W, i)
            h, s, m = I.h, I.I, I.m
            hd, dd = h @ d, d @ d
            xx += s.xx - 2.0 * (hd - h.x * d.x) + m * (dd - d.x * d.x)
            yy += s.yy - 2.0 * (hd - h.y * d.y) + m * (dd - d.y * d.y)
            zz += s.zz - 2.0 * (hd - h.z * d.z) + m * (dd - d.z * d.z)
            xy += s.xy + h.x * d.y + h.y * d.x - m * d.x * d.y
            xz += s.xz + h.x * d.z + h.z * d.x - m * d.x * d.z
            yz += s.yz + h.y * d.z + h.z * d.y - m * d.y * d.z
    out[n, 0, 0], out[n, 1, 1], out[n, 2, 2] = xx, yy, zz
    out[n, 0, 1] = out[n, 1, 0] = xy
    out[n, 0, 2] = out[n, 2, 0] = xz
    out[n, 1, 2] = out[n, 2, 1] = yz


@entry
def survey(key):
    """Fill in what follows from q and v in every frame."""
    T, W, K = open_whole(key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    for n in range(K.centre.shape[0]):
        for i in range(nq):
            W.q[i] = K.q[n * nq + i]
        for i in range(nv):
            W.v[i] = K.v[n * nv + i]
        if not (sound(T, W.q, W.v) and finite(W.v)):
            return NOT_FINITE
        poses(T, W)
        body_inertias(T, W)
        velocities(T, W)
        m, c = centre_of(T, W, K.members)
        p, L = momentum_of(T, W, K.members, c)
        K.mass[0] = m
        put_vec3(K.centre, n, c)
        put_vec3(K.speed, n, (1.0 / m) * p)
        put_vec3(K.spin, n, L)
        put_locked(T, W, K.members, c, K.locked, n)
    return OK
