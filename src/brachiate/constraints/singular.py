"""Crossing singular postures: where rows of J lose their direction, the next derivative of the constraint says how it goes on.

A row that is about to be lost, freed of what the regular rows say, is uᵀJ ≈ 0. There uᵀ(J a + γ) = 0 says nothing about a,
but its rate of change does: with uᵀJ ≈ 0 the unknown jerk drops out and

    uᵀ(J̇ + ∂γ/∂v) a = −uᵀ D_q γ[v].

γ is quadratic in v, so ∂γ/∂v by differences is exact; derivatives along the motion are taken over four places.

In a posture that is singular from the start, velocities are free that the next moment would break the constraint: v has
to obey uᵀγ(v) = 0 as well. It is bent onto that by Newton's method, with the least motion in the mass metric. Where no such
v exists but zero (a *shaky* posture), the iteration halves what is too much each time, down to nothing. From rest, the
acceleration is the way it goes, and is bent in the same manner: the nearest that is allowed, as Gauss has it.
"""

from __future__ import annotations

import math

from brachiate.compiled import call_at, far, kernel
from brachiate.constraints.arrays import LOOK, ROWS, SET_OUT, TURN_ON, WEAK, open_bonds
from brachiate.constraints.rows import fill, gammas
from brachiate.constraints.solve import solve_rows, spread, times
from brachiate.dynamics.factor import down, up
from brachiate.kinematics import ball_motions, poses
from brachiate.manifold import integrate
from brachiate.model.arrays import OK, open_rooms

TRAVEL = 1e-3  # [rad or m] how far along the motion differences are taken; their error is its fourth power
PLACES = (1.0, -1.0, 2.0, -2.0)
BENDS = 40  # at most so many steps of Newton's method
GONE = 1e-9  # a third-order row this small relative to the speed says nothing: the constraint is redundant here


@kernel
def combination(T, W, B, k, u):
    """u: row k less what the regular rows say of it, so that uᵀJ is across all of them in the mass metric."""
    for j in range(W.v.shape[0]):
        B.z[j] = 0.0
    for r in range(B.count[ROWS]):
        B.rhs[r] = 1.0 if r == k else 0.0
    spread(T, B, B.Y, B.rhs, B.z)
    down(T, W, B.z)
    times(T, B, B.J, B.z, B.rhs)
    for r in range(B.count[ROWS]):
        B.rhs[r] = -B.rhs[r]
    solve_rows(B, B.rhs)
    for r in range(B.count[ROWS]):
        u[r] = B.rhs[r]
    u[k] = 1.0


@kernel
def dot(x, y, n):
    """Sum of the products of the first n numbers."""
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


@far
def cross(key, held, x, what):
    """TURN_ON: correct W.a, which the regular rows have made, so that it also follows the third-order rows of the weak ones.

    BEND: correct W.v so that uᵀγ = 0 of every weak row. SET_OUT: the same for W.a, which is where it goes from rest.
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    rows, nv, nq, weak = B.count[ROWS], W.v.shape[0], W.q.shape[0], B.count[WEAK]
    # Scratch: q and v of the state, its acceleration, combinations u, third-order rows t, what they do y, their right sides.
    at = 0
    q0, at = B.cross[at : at + nq], at + nq
    v0, at = B.cross[at : at + nv], at + nv
    a0, at = B.cross[at : at + nv], at + nv
    U, at = B.cross[at : at + weak * rows], at + weak * rows
    t, at = B.cross[at : at + weak * nv], at + weak * nv
    y, at = B.cross[at : at + weak * nv], at + weak * nv
    s, at = B.cross[at : at + weak], at + weak
    M = B.cross[at : at + weak * weak]
    if what == SET_OUT:
        for j in range(nv):
            B.v_before[j], W.v[j] = W.v[j], W.a[j]
    speed = 0.0
    for j in range(nv):
        v0[j], a0[j] = W.v[j], W.a[j]
        speed = max(speed, abs(W.v[j]))
    for j in range(nq):
        q0[j] = W.q[j]
    if speed == 0.0:
        return OK  # at rest nothing moves along: the regular rows are all there is
    for i in range(weak):
        combination(T, W, B, B.weak[i], U[i * rows : (i + 1) * rows])
        s[i] = 0.0
        for j in range(nv):
            t[i * nv + j] = 0.0
    if what != TURN_ON:
        bend(T, W, B, v0, speed, U, t, y, s, M, rows, weak)
        for j in range(nv if what == SET_OUT else 0):
            W.a[j], W.v[j] = W.v[j], B.v_before[j]
        return OK
    along_velocities(T, W, B, v0, speed, U, t, rows, weak)
    along_motion(key, held, T, W, B, q0, v0, TRAVEL / speed, U, t, s, rows, weak)
    for j in range(nv):
        W.a[j] = a0[j]
    respond_to(T, W, B, t, y, rows, weak)
    for i in range(weak):
        s[i] -= dot(t[i * nv : (i + 1) * nv], W.a, nv)
    correct(W.a, t, y, s, M, weak, speed)
    return OK


@kernel
def bend(T, W, B, v0, speed, U, t, y, s, M, rows, weak):
    """v ← the nearest velocity with uᵀγ(v) = 0, by Newton's method."""
    nv = v0.shape[0]
    for _ in range(BENDS):
        for j in range(nv):
            v0[j] = W.v[j]
        gammas(T, W, B)
        most = 0.0
        for i in range(weak):
            s[i] = -dot(U[i * rows : (i + 1) * rows], B.gamma, rows)
            most = max(most, abs(s[i]))
            for j in range(nv):
                t[i * nv + j] = 0.0
        if not most > 1e-13 * speed * speed:
            return
        along_velocities(T, W, B, v0, speed, U, t, rows, weak)
        respond_to(T, W, B, t, y, rows, weak)
        correct(W.v, t, y, s, M, weak, speed)


@kernel
def along_velocities(T, W, B, v0, speed, U, t, rows, weak):
    """t += uᵀ ∂γ/∂v, velocity by velocity."""
    for j in range(v0.shape[0]):
        for side in range(2):
            sign = 1.0 - 2.0 * side
            W.v[j] = v0[j] + sign * speed
            gammas(T, W, B)
            for i in range(weak):
                t[i * v0.shape[0] + j] += sign * dot(U[i * rows : (i + 1) * rows], B.gamma, rows) / (2.0 * speed)
        W.v[j] = v0[j]


@kernel
def along_motion(key, held, T, W, B, q0, v0, e, U, t, s, rows, weak):
    """t += uᵀJ̇ and s −= uᵀ D_q γ[v], by differences over four places along the motion; comes back to where it was."""
    nv = v0.shape[0]
    for n in range(5):
        place = PLACES[n] if n < 4 else 0.0
        for j in range(q0.shape[0]):
            W.q[j] = q0[j]
        integrate(T, W.q, v0, place * e, W.q)
        poses(T, W)
        ball_motions(T, W)
        call_at(B.far[LOOK], key, held, 0.0, 0)
        gammas(T, W, B)
        fill(T, W, B)
        if n == 4:
            return
        weight = (8.0 if n < 2 else -0.5) * place / (12.0 * e)
        for i in range(weak):
            u = U[i * rows : (i + 1) * rows]
            s[i] -= weight * dot(u, B.gamma, rows)
            for j in range(nv):
                B.z[j] = 0.0
            spread(T, B, B.J, u, B.z)
            for j in range(nv):
                t[i * nv + j] += weight * B.z[j]


@kernel
def respond_to(T, W, B, t, y, rows, weak):
    """y = A⁻¹ tᵀ, less what would disturb the regular rows."""
    nv = W.v.shape[0]
    for i in range(weak):
        v = y[i * nv : (i + 1) * nv]
        for j in range(nv):
            v[j] = t[i * nv + j]
        up(T, W, v)
        times(T, B, B.Z, v, B.rhs)
        for r in range(rows):
            B.rhs[r] = -B.rhs[r]
        solve_rows(B, B.rhs)
        spread(T, B, B.Y, B.rhs, v)
        down(T, W, v)


@kernel
def correct(a, t, y, s, M, weak, speed):
    """a += y μ with (tᵀy) μ = s: symmetric elimination, rows that say nothing left out."""
    nv = a.shape[0]
    for i in range(weak):
        for j in range(i + 1):
            M[i * weak + j] = M[j * weak + i] = dot(t[i * nv : (i + 1) * nv], y[j * nv : (j + 1) * nv], nv)
    for i in range(weak):
        size = dot(t[i * nv : (i + 1) * nv], t[i * nv : (i + 1) * nv], nv)
        pivot = M[i * weak + i]
        small = not math.sqrt(size) > GONE * speed or not pivot > 1e-12 * dot(y[i * nv : (i + 1) * nv], t[i * nv : (i + 1) * nv], nv)
        inverse = 0.0 if small else 1.0 / pivot
        for j in range(i + 1, weak):
            f = M[j * weak + i] * inverse
            if f != 0.0:
                for k in range(i, weak):
                    M[j * weak + k] -= f * M[i * weak + k]
                s[j] -= f * s[i]
        M[i * weak + i] = inverse  # kept as its inverse
    for i in range(weak - 1, -1, -1):
        for k in range(i + 1, weak):
            s[i] -= M[i * weak + k] * s[k]
        s[i] *= M[i * weak + i]
        for j in range(nv):
            a[j] += s[i] * y[i * nv + j]
