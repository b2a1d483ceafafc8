"""What carries a motion: in every frame those forces, of all that its contacts can bring, that leave least to be wished for.

A motion says which force and moment W must act on a body from outside. Where it touches it has *spots*, points that push within their
cone of friction or hold in any direction. What they leave undone nobody does, and the body would go astray as one piece, with an
acceleration x: it shall be small in the measure ½ xᵀMx of its inertia. Every spot resists it like a stiff damper, within its cone P:

    M x + Σ Bᵢ fᵢ = W,    fᵢ = P(kᵢ Bᵢᵀ x + f⁰ᵢ).

This x is where a convex function of six numbers is least, so there is one, and Newton's method finds it. Spots are so stiff that M x is
what cannot be brought; how stiff each is against the others (``sure``) says how they share what many of them could bring. Where two feet
could push against each other, least forces would not, but legs are struts, and do: each spot tends to f⁰, which leans from its load
towards the centre of mass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, Rows6, entry, kernel, opener
from brachiate.dynamics.inverse import gather, move_body, passive_forces
from brachiate.kinematics import (
    accelerations,
    body_inertias,
    finite,
    joint_motion,
    poses,
    sound,
    velocities,
)
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, Tree, Work
from brachiate.spatial import (
    Force,
    Inertia,
    Sym3,
    Vec3,
    cross,
    force,
    inertia,
    motion,
    norm,
    point_inertia,
    put6,
    put_vec3,
    rotation,
    vec3,
    velocity_at,
)

NOTHING, STANDS, HOLDS = range(3)

LEAN = 0.5  # of the slope from a spot to the centre of mass: half of what a strut has
STIFF = 1e6  # of spots, as a multiple of the mass: what they share is left undone to its inverse
SOFTER = (1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)  # of that, in turn, where the frame before does not lead to this one
STEPS, HALVINGS = 60, 30
CLOSE = 1e-9  # of the force that is wanted: what may be left of the balance
ENOUGH = 1e-4  # of the decrease that the slope promises


class Frames(NamedTuple):
    """Frames of a motion, spots of its figure, and what carries it. Sizes: f frames, s spots, nb bodies."""

    q: Floats  # (f nq,) configurations
    v: Floats  # (f nv,) velocities
    a: Floats  # (f nv,) accelerations
    body: Ints  # (s,) whose spot it is
    at: Rows3  # (s, 3) [m] centre, body axes
    radius: Floats  # (s,) [m]
    normal: Floats  # (3,) out of the ground
    friction: Floats  # (1,)
    place: Rows3  # (f s, 3) [m] the point of each spot that is lowest
    speed: Rows3  # (f s, 3) [m/s] its velocity
    joint: Rows3  # (f nb, 3) [m] where bodies are
    jolt: Rows3  # (f nb, 3) [m/s²] their accelerations
    how: Ints  # (f s,) NOTHING, STANDS or HOLDS
    sure: Floats  # (f s,) how surely it bears, up to 1
    force: Rows3  # (f s, 3) [N]
    tau: Floats  # (f nv,) [N·m or N] of joints; at the root what is left to it, along its axes
    centre: Rows3  # (f, 3) [m] of mass
    needed: Rows6  # (f, 6) force [N], moment about the centre of mass [N·m] that must come from outside
    left: Rows6  # (f, 6) what of it no contact can bring
    pushed: Ints  # (e,) bodies that others push by known forces
    push: Rows6  # (f e, 6) force [N], moment about the world's origin [N·m]
    span: Ints  # (2,) which frames to carry: from the first up to the second
    missed: Ints  # (1,) frames for which Newton's method has not come to an end
    live: Ints  # (s,) scratch: spots that bear
    arm: Rows3  # (s, 3) scratch: from the centre of mass
    lean: Rows3  # (s, 3) [N] scratch: what a spot brings along the ground if nothing else matters
    x: Floats  # (6,) scratch: acceleration astray, along and about world axes
    g: Floats  # (6,) scratch: slope
    d: Floats  # (6,) scratch: step
    M: Floats  # (36,) scratch: inertia of the body as one piece
    H: Floats  # (36,) scratch: curvature


open_frames = opener(Tree, Work, Frames)


@kernel
def take(K, W, n):
    """Bring a frame into the workspace."""
    nq, nv = W.q.shape[0], W.v.shape[0]
    for i in range(nq):
        W.q[i] = K.q[n * nq + i]
    for i in range(nv):
        W.v[i] = K.v[n * nv + i]
        W.a[i] = K.a[n * nv + i]


@kernel
def lowest(K, T, W, s):
    """From the tree's origin: the point of a spot that goes farthest into the ground."""
    i = K.body[s]
    return vec3(W.x, i) + rotation(W.R, i) @ vec3(K.at, s) - K.radius[s] * Vec3(K.normal[0], K.normal[1], K.normal[2])


@entry
def watch(key):
    """Where spots and bodies are in every frame, and how they move."""
    T, W, K = open_frames(key)
    bodies, spots = T.parent.shape[0], K.body.shape[0]
    for n in range(K.centre.shape[0]):
        take(K, W, n)
        if not (sound(T, W.q, W.v) and finite(W.a)):
            return NOT_FINITE
        poses(T, W)
        velocities(T, W)
        accelerations(T, W)
        for i in range(bodies):
            r, V, A = vec3(W.x, i), motion(W.V, i), motion(W.A, i)
            put_vec3(K.joint, n * bodies + i, vec3(W.origin, T.root[i]) + r)
            put_vec3(K.jolt, n * bodies + i, velocity_at(A, r) + cross(V.w, velocity_at(V, r)))
        for s in range(spots):
            r, i = lowest(K, T, W, s), K.body[s]
            put_vec3(K.place, n * spots + s, vec3(W.origin, T.root[i]) + r)
            put_vec3(K.speed, n * spots + s, velocity_at(motion(W.V, i), r))
    return OK


@kernel
def put_inertia_matrix(M, I, c):
    """M of a body as one piece, about its centre of mass c."""
    S = I.I + point_inertia(-I.m, c)
    for k in range(36):
        M[k] = 0.0
    M[0] = M[7] = M[14] = I.m
    M[21], M[28], M[35] = S.xx, S.yy, S.zz
    M[22] = M[27] = S.xy
    M[23] = M[33] = S.xz
    M[29] = M[34] = S.yz


@kernel
def within(K, how, z):
    """The force a spot brings, nearest to z within its cone, and the region of the cone it is in: 0 none, 1 inside, 2 on it."""
    if how == HOLDS:
        return z, 1
    n, mu = Vec3(K.normal[0], K.normal[1], K.normal[2]), K.friction[0]
    up = z @ n
    along = z - up * n
    t = norm(along)
    if t <= mu * up:
        return z, 1
    if mu * t <= -up:
        return Vec3(0.0, 0.0, 0.0), 0
    size = (mu * t + up) / (1.0 + mu * mu)
    return size * n + (mu * size / t) * along, 2


@kernel
def pulled(K, s, stiff, base, x):
    """What a spot would bring if it had no cone."""
    u = Vec3(x[0], x[1], x[2]) + cross(Vec3(x[3], x[4], x[5]), vec3(K.arm, s))
    return stiff * K.sure[base + s] * u + vec3(K.lean, s)


@kernel
def astray(K, stiff, base, count, W, x):
    """The function that is to be least."""
    total = 0.0
    for r in range(6):
        row = 0.0
        for c in range(6):
            row += K.M[6 * r + c] * x[c]
        total += x[r] * (0.5 * row - W[r])
    for j in range(count):
        s = K.live[j]
        f, _ = within(K, K.how[base + s], pulled(K, s, stiff, base, x))
        total += 0.5 * (f @ f) / (stiff * K.sure[base + s])
    return total


@kernel
def add_outer(H, size, a, b):
    """H += size (a, b)(a, b)ᵀ."""
    row = (a.x, a.y, a.z, b.x, b.y, b.z)
    for r in range(6):
        for c in range(r + 1):
            H[6 * r + c] += size * row[r] * row[c]


@kernel
def add_sum(H, k, kd, kdd):
    """H += the curvature of spots that give way alike in all directions, by the sums of their stiffness k, k d and k d dᵀ."""
    for r in range(3):
        H[7 * r] += k
    H[19], H[20] = H[19] - kd.z, H[20] + kd.y
    H[24], H[26] = H[24] + kd.z, H[26] - kd.x
    H[30], H[31] = H[30] - kd.y, H[31] + kd.x
    H[21] += kdd.yy + kdd.zz
    H[28] += kdd.xx + kdd.zz
    H[35] += kdd.xx + kdd.yy
    H[27] -= kdd.xy
    H[33] -= kdd.xz
    H[34] -= kdd.yz


@kernel
def slope(K, stiff, base, count, W):
    """Slope g and curvature H (its lower half) of that function at x. Returns the size of the slope."""
    n, mu = Vec3(K.normal[0], K.normal[1], K.normal[2]), K.friction[0]
    total, moment = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    sum_k, sum_kd, sum_kdd = 0.0, Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(36):
        K.H[k] = K.M[k]
    for j in range(count):
        s = K.live[j]
        arm, k = vec3(K.arm, s), stiff * K.sure[base + s]
        z = pulled(K, s, stiff, base, K.x)
        f, where = within(K, K.how[base + s], z)
        total, moment = total + f, moment + cross(arm, f)
        if where == 1:
            kd = k * arm
            sum_k, sum_kd = sum_k + k, sum_kd + kd
            sum_kdd = sum_kdd + Sym3(kd.x * arm.x, kd.x * arm.y, kd.x * arm.z, kd.y * arm.y, kd.y * arm.z, kd.z * arm.z)
        elif where == 2:
            up = z @ n
            along = z - up * n
            t = norm(along)
            e = (1.0 / t) * along
            ray, side = n + mu * e, cross(n, e)
            add_outer(K.H, k / (1.0 + mu * mu), ray, cross(arm, ray))
            add_outer(K.H, k * mu * (mu * t + up) / ((1.0 + mu * mu) * t), side, cross(arm, side))
    add_sum(K.H, sum_k, sum_kd, sum_kdd)
    size = 0.0
    for r in range(6):
        g = -W[r]
        for c in range(6):
            g += K.M[6 * r + c] * K.x[c]
        K.g[r] = g
    K.g[0], K.g[1], K.g[2] = K.g[0] + total.x, K.g[1] + total.y, K.g[2] + total.z
    K.g[3], K.g[4], K.g[5] = K.g[3] + moment.x, K.g[4] + moment.y, K.g[5] + moment.z
    for r in range(6):
        size += K.g[r] * K.g[r]
    return math.sqrt(size)


@kernel
def newton_step(K):
    """d = -H⁻¹ g by Cholesky's factor, in place."""
    H, d = K.H, K.d
    for r in range(6):
        for c in range(r + 1):
            x = H[6 * r + c]
            for k in range(c):
                x -= H[6 * r + k] * H[6 * c + k]
            if r == c:
                H[7 * r] = math.sqrt(max(x, 1e-300))
            else:
                H[6 * r + c] = x / H[7 * c]
    for r in range(6):
        x = -K.g[r]
        for k in range(r):
            x -= H[6 * r + k] * d[k]
        d[r] = x / H[7 * r]
    for r in range(5, -1, -1):
        x = d[r]
        for k in range(r + 1, 6):
            x -= H[6 * k + r] * d[k]
        d[r] = x / H[7 * r]


@kernel
def descend(K, stiff, base, count, W, scale):
    """Newton's method from x, as far down each step as it goes. Says whether the slope has become nothing."""
    for _ in range(STEPS):
        size = slope(K, stiff, base, count, W)
        if size <= CLOSE * scale:
            return True
        newton_step(K)
        here = astray(K, stiff, base, count, W, K.x)
        promised = 0.0
        for r in range(6):
            promised += K.g[r] * K.d[r]
        part = 1.0
        for _ in range(HALVINGS):
            for r in range(6):
                K.x[r] += part * K.d[r]
            if astray(K, stiff, base, count, W, K.x) <= here + ENOUGH * part * promised + 1e-15 * abs(here):
                break
            for r in range(6):
                K.x[r] -= part * K.d[r]
            part *= 0.5
    return slope(K, stiff, base, count, W) <= 1e3 * CLOSE * scale


@kernel
def share(K, W, base, count, mass):
    """Find x: from that of the frame before, else from softer spots."""
    scale = mass + norm(Vec3(W[0], W[1], W[2]))
    if descend(K, STIFF * mass, base, count, W, scale):
        return True
    for r in range(6):
        K.x[r] = 0.0
    found = False
    for part in SOFTER:
        found = descend(K, part * STIFF * mass, base, count, W, scale)
    return found


@kernel
def known_forces(K, W, n, origin):
    """Take what others push off the forces of bodies. Returns what it adds up to."""
    total = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    count = K.pushed.shape[0]
    for e in range(count):
        k, i = n * count + e, K.pushed[e]
        f = Vec3(K.push[k, 0], K.push[k, 1], K.push[k, 2])
        F = Force(Vec3(K.push[k, 3], K.push[k, 4], K.push[k, 5]) - cross(origin, f), f)
        put6(W.F, i, force(W.F, i) - F)
        total = total + F
    return total


@kernel
def forces_wanted(K, T, W, n):
    """Forces of bodies for the motion of a frame, less the known ones, and W of it. Leaves M. Returns mass and centre."""
    poses(T, W)
    body_inertias(T, W)
    total, one = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)), Inertia(0.0, Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, joint_motion(T, W, i, W.a))
        total, one = total + force(W.F, i), one + inertia(W.inertia, i)
    origin, c = vec3(W.origin, 0), (1.0 / one.m) * one.h
    total = total - known_forces(K, W, n, origin)
    put_inertia_matrix(K.M, one, c)
    put_vec3(K.centre, n, origin + c)
    K.needed[n, 0], K.needed[n, 1], K.needed[n, 2] = total.f
    K.needed[n, 3], K.needed[n, 4], K.needed[n, 5] = total.n - cross(c, total.f)
    return one.m, c


@kernel
def find_live(K, T, W, base, c):
    """List the spots that bear, and where from the centre of mass. Returns how many."""
    count = 0
    for s in range(K.body.shape[0]):
        put_vec3(K.force, base + s, Vec3(0.0, 0.0, 0.0))
        if K.how[base + s] != NOTHING and K.sure[base + s] > 0.0:
            K.live[count] = s
            put_vec3(K.arm, s, lowest(K, T, W, s) - c)
            put_vec3(K.lean, s, Vec3(0.0, 0.0, 0.0))
            count += 1
    return count


@kernel
def lean_over(K, base, count, mass):
    """Let forces lean towards the centre of mass, as those of legs do, by the loads that were found."""
    n = Vec3(K.normal[0], K.normal[1], K.normal[2])
    for j in range(count):
        s = K.live[j]
        if K.how[base + s] == STANDS:
            f, _ = within(K, STANDS, pulled(K, s, STIFF * mass, base, K.x))
            arm, load = vec3(K.arm, s), f @ n
            height = -(arm @ n)
            along = (-1.0) * arm - height * n
            most = 0.5 * K.friction[0]
            slope = norm(along) * LEAN / max(height, 1e-3)
            put_vec3(K.lean, s, (load * LEAN / max(height, 1e-3) * min(1.0, most / max(slope, 1e-9))) * along)


@kernel
def torques(T, W, a, tau):
    """Torques of joints for the forces that bodies take."""
    gather(T, W, tau)
    for k in range(tau.shape[0]):
        tau[k] += T.armature[k] * a[k]
    passive_forces(T, W, tau)


@entry
def carry(key):
    """Forces of spots, torques of joints and what is left to the root, in the frames of the span. Returns a status."""
    T, W, K = open_frames(key)
    spots, nv = K.body.shape[0], W.v.shape[0]
    K.missed[0] = 0
    for r in range(6):
        K.x[r] = 0.0
    for n in range(max(K.span[0], 0), min(K.span[1], K.centre.shape[0])):
        take(K, W, n)
        if not (sound(T, W.q, W.v) and finite(W.a)):
            return NOT_FINITE
        mass, c = forces_wanted(K, T, W, n)
        base = n * spots
        count = find_live(K, T, W, base, c)
        found = share(K, K.needed[n], base, count, mass)
        if count > 1:
            lean_over(K, base, count, mass)
            found = share(K, K.needed[n], base, count, mass)
        K.missed[0] += int(not found)
        for j in range(count):
            s = K.live[j]
            f, _ = within(K, K.how[base + s], pulled(K, s, STIFF * mass, base, K.x))
            put_vec3(K.force, base + s, f)
            put6(W.F, K.body[s], force(W.F, K.body[s]) - Force(cross(vec3(K.arm, s) + c, f), f))
        for r in range(6):
            left = 0.0
            for k in range(6):
                left += K.M[6 * r + k] * K.x[k]
            K.left[n, r] = left
        torques(T, W, W.a, W.tau)
        for k in range(nv):
            K.tau[n * nv + k] = W.tau[k]
    return OK if finite(K.tau) else OVERFLOW
