"""Forward dynamics body by body, O(N), by articulated bodies [RBDA] 7.3.

World axes, but each body's quantities about its own position: moving them to the parent is a translation only, and the
numbers do not grow along a chain of a thousand links. A joint of several velocities is eliminated one velocity at a
time, which is Gaussian elimination and needs no small matrix inverse.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import kernel, operators
from brachiate.dynamics.inverse import base_acceleration, external_forces, passive_forces
from brachiate.kinematics import velocities
from brachiate.model.rooms import OK, SINGULAR
from brachiate.spatial import (
    Force,
    Motion,
    Rotation,
    Sym3,
    Vec3,
    cross,
    force,
    force_cross,
    inertia_about,
    motion,
    moved_force,
    moved_motion,
    put6,
    rotated,
    rotation,
    transpose,
    vec3,
)


@operators
class Articulated(NamedTuple):
    """A symmetric 6×6 inertia [[I, H], [Hᵀ, M]]: what a body is like when joints behind it give way."""

    I: Sym3  # noqa: E741
    H: Rotation  # any 3×3 matrix by its columns
    M: Sym3

    def __matmul__(a, b: Motion) -> Force:
        return Force(a.I @ b.w + a.H @ b.v, Vec3(a.H.x @ b.w, a.H.y @ b.w, a.H.z @ b.w) + a.M @ b.v)

    def __add__(a, b: Articulated) -> Articulated:
        return Articulated(a.I + b.I, Rotation(a.H.x + b.H.x, a.H.y + b.H.y, a.H.z + b.H.z), a.M + b.M)


@kernel
def rigid(b):
    """A rigid body as an articulated one."""
    h = b.h
    H = Rotation(Vec3(0.0, h.z, -h.y), Vec3(-h.z, 0.0, h.x), Vec3(h.y, -h.x, 0.0))
    return Articulated(b.I, H, Sym3(b.m, 0.0, 0.0, b.m, 0.0, b.m))


@kernel
def square(v):
    """v vᵀ."""
    return Sym3(v.x * v.x, v.x * v.y, v.x * v.z, v.y * v.y, v.y * v.z, v.z * v.z)


@kernel
def scaled(s, a):
    """s A of a symmetric matrix."""
    return Sym3(s * a.xx, s * a.xy, s * a.xz, s * a.yy, s * a.yz, s * a.zz)


@kernel
def released(a, U, r):
    """The inertia that is left when one velocity gives way: A − r U Uᵀ."""
    n, f = U.n, U.f
    H = Rotation(a.H.x - (r * f.x) * n, a.H.y - (r * f.y) * n, a.H.z - (r * f.z) * n)
    return Articulated(a.I + scaled(-r, square(n)), H, a.M + scaled(-r, square(f)))


@kernel
def moved_inertia(a, r):
    """The inertia about an origin from which the present one is displaced by r."""
    M = a.M
    H = Rotation(
        a.H.x + cross(r, Vec3(M.xx, M.xy, M.xz)),
        a.H.y + cross(r, Vec3(M.xy, M.yy, M.yz)),
        a.H.z + cross(r, Vec3(M.xz, M.yz, M.zz)),
    )
    old, new = transpose(a.H), transpose(H)
    # I + Qᵀ + Q' with Q = r× Hᵀ before and Q' after the move
    Qx, Qy, Qz = cross(r, old.x), cross(r, old.y), cross(r, old.z)
    Nx, Ny, Nz = cross(r, new.x), cross(r, new.y), cross(r, new.z)
    I = Sym3(Qx.x + Nx.x, Qx.y + Ny.x, Qx.z + Nz.x, Qy.y + Ny.y, Qy.z + Nz.y, Qz.z + Nz.z)
    return Articulated(a.I + I, H, M)


@kernel
def load(A, i):
    """Row i of an (n, 21) array."""
    a = A[i]
    return Articulated(
        Sym3(a[0], a[1], a[2], a[3], a[4], a[5]),
        Rotation(Vec3(a[6], a[7], a[8]), Vec3(a[9], a[10], a[11]), Vec3(a[12], a[13], a[14])),
        Sym3(a[15], a[16], a[17], a[18], a[19], a[20]),
    )


@kernel
def put(A, i, b):
    """Store in row i of an (n, 21) array."""
    a = A[i]
    a[0], a[1], a[2], a[3], a[4], a[5] = b.I
    (a[6], a[7], a[8]), (a[9], a[10], a[11]), (a[12], a[13], a[14]) = b.H
    a[15], a[16], a[17], a[18], a[19], a[20] = b.M


@kernel
def accelerate_by_bodies(T, W, implicit):
    """Accelerations W.a for the torques W.tau at poses already known; ``implicit`` as in forward.accelerate."""
    nb = T.parent.shape[0]
    velocities(T, W)
    _start(T, W)
    for k in range(W.bias.shape[0]):
        W.bias[k] = 0.0
    passive_forces(T, W, W.bias)
    status = OK
    for i in range(nb - 1, -1, -1):
        x = vec3(W.x, i)
        A, P = load(W.IA, i), force(W.PA, i)
        for k in range(T.dof[i + 1] - 1, T.dof[i] - 1, -1):
            S = moved_motion(motion(W.S, k), x)
            U = A @ S
            d = S @ U + T.armature[k] + implicit * W.y[k]
            if not d > 0.0:
                status = SINGULAR
                W.status[1] = k
            r = 1.0 / d
            u = W.tau[k] - W.bias[k] - S @ P
            put6(W.U, k, U)
            W.D[k], W.u[k] = r, u
            A = released(A, U, r)
            P = P + (r * u) * U
        p = T.parent[i]
        if p >= 0:
            back = x - vec3(W.x, p)
            P = P + A @ moved_motion(motion(W.C, i), x)
            put(W.IA, p, load(W.IA, p) + moved_inertia(A, back))
            put6(W.PA, p, force(W.PA, p) + moved_force(P, -back))
    for i in range(nb):
        p, x = T.parent[i], vec3(W.x, i)
        A = moved_motion(motion(W.A, p), x - vec3(W.x, p)) if p >= 0 else base_acceleration(W)
        A = A + moved_motion(motion(W.C, i), x)
        for k in range(T.dof[i], T.dof[i + 1]):
            W.a[k] = W.D[k] * (W.u[k] - A @ force(W.U, k))
            A = A + W.a[k] * moved_motion(motion(W.S, k), x)
        put6(W.A, i, A)
    return status


@kernel
def _start(T, W):
    """Inertia and bias force of every body alone, about its own position."""
    for i in range(T.parent.shape[0]):
        put6(W.F, i, Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)))
    external_forces(T, W)
    for i in range(T.parent.shape[0]):
        x, R, b = vec3(W.x, i), rotation(W.R, i), T.inertia
        about = rotated(R, Sym3(b[i, 4], b[i, 5], b[i, 6], b[i, 7], b[i, 8], b[i, 9]))
        I = inertia_about(b[i, 0], R @ Vec3(b[i, 1], b[i, 2], b[i, 3]), about)
        V = moved_motion(motion(W.V, i), x)
        put(W.IA, i, rigid(I))
        put6(W.PA, i, force_cross(V, I @ V) + moved_force(force(W.F, i), x))
