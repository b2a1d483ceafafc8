"""The optimizer [DF] VII-C 2, and the trial and error over contact states that it is part of.

Unknowns are x = (θ̈, τ_C, τ_J) with W x = u, eq. 34-38. The paper takes the weighted least-squares solution, and moves it within the null
space of W towards the desired accelerations by a singularity-robust inverse, eq. 43-45. Put together, with S the weights of eq. 43 and N of
eq. 45, both steps are one: as y = V_G* (...) lies in the null space and W# u across it, x is what makes

    ½ Σ Nᵢ (θ̈ᵢ - θ̈ᵢᵈ)² + ½ k Σ Sⱼ xⱼ²   least while   W x = u.

Rows of W with a motor only say what τ_J is. Put into the sum they leave θ̈ and τ_C, with the rows without motors and the contact rows as
demands. θ̈ is eliminated first: what it costs, Q, is the same for all states that are tried. What is left is small:

    (D - T Q⁻¹ Tᵀ) s = r - T Q⁻¹ c,    θ̈ = Q⁻¹ (c - Tᵀ s),    s = (τ_C, pulls of rows without motors, pulls of contact rows).
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.contact.arrays import PAIRS, ROWS
from brachiate.contact.published.checks import first_failure
from brachiate.contact.published.directions import along_row, hold_directions
from brachiate.contact.published.trial import HELD
from brachiate.contact.published.trial_and_error import begin, change
from brachiate.filter.paper.arrays import COST_A, COST_F, COST_T, EDGES, GIVE, ROBUST, SOLVES, STEP, WIDTH
from brachiate.filter.paper.contact_pairs import lowest_speed, put_motion
from brachiate.linalg.lu import factor, factor_pivoted, solve_pivoted, solve_transposed


@kernel
def put_costs(F):
    """Factor Q, what accelerations cost with their torques, and F.bare ← the cheapest if nothing is demanded."""
    n, width, k = F.b.shape[0], F.count[WIDTH], F.gain[ROBUST]
    torque = k * F.gain[COST_T]
    for i in range(width * width):
        F.Q[index(i)] = 0.0
    for i in range(width):
        F.Q[index(i * width + i)] = F.weight[i] + k * F.gain[COST_A] if i < n else 1.0
        F.bare[i] = F.weight[i] * F.wanted[i] if i < n else 0.0
    for j in range(n):
        if F.motor[j] > 0.0:
            for i in range(n):
                s = torque * F.A[index(j * width + i)]
                F.bare[index(i)] -= s * F.b[j]
                for c in range(width):
                    F.Q[index(i * width + c)] += s * F.A[index(j * width + c)]
    factor(F.Q, width, width)
    solve_transposed(F.Q, width, width, F.bare)


@kernel
def put_force(P, X, F, d):
    """F.force ← generalized force of a unit of held force d, a row of Ĥ_C [DF] eq. 28."""
    width, o = F.count[WIDTH], P.at[X.pair[d]]
    for k in range(width):
        F.force[index(d * width + k)] = 0.0
    for c in range(P.at[X.pair[d] + 1] - o):
        s = X.column[d, c]
        for k in range(width):
            F.force[index(d * width + k)] += s * F.H[index((o + c) * width + k)]


@kernel
def put_along_force(F, d, s):
    """Row s of T ← what held force d saves in torques, as a demand on accelerations."""
    width, torque = F.count[WIDTH], F.gain[ROBUST] * F.gain[COST_T]
    for k in range(width):
        F.along[index(s * width + k)] = 0.0
    for j in range(F.b.shape[0]):
        if F.motor[j] > 0.0:
            x = torque * F.force[index(d * width + j)]
            if x != 0.0:
                for k in range(width):
                    F.along[index(s * width + k)] -= x * F.A[index(j * width + k)]


@kernel
def put_along_row(P, X, F, d, s):
    """Row s of T ← held direction d, a row of H_C."""
    width, o = F.count[WIDTH], P.at[X.pair[d]]
    for k in range(width):
        F.along[index(s * width + k)] = 0.0
    for c in range(P.at[X.pair[d] + 1] - o):
        x = X.row[d, c]
        for k in range(width):
            F.along[index(s * width + k)] += x * F.H[index((o + c) * width + k)]


@kernel
def put_demands(P, X, F):
    """Rows of T and the right sides r; returns how many unknowns there are, and that in whole fours."""
    n, width, held, p = F.b.shape[0], F.count[WIDTH], X.count[HELD], F.free.shape[0]
    torque = F.gain[ROBUST] * F.gain[COST_T]
    for d in range(held):
        put_force(P, X, F, d)
        put_along_force(F, d, d)
        x = 0.0
        for j in range(n):
            x += torque * F.motor[j] * F.force[index(d * width + j)] * F.b[j]
        F.x[d] = x
        s = held + p + d
        put_along_row(P, X, F, d, s)
        F.x[s] = along_row(P, X, d, F.pull) - along_row(P, X, d, F.drift)  # H_C θ̈ = -Ḣ_C θ̇, and our pull
    for i in range(p):
        for k in range(width):
            F.along[index((held + i) * width + k)] = F.A[index(F.free[i] * width + k)]
        F.x[held + i] = -F.b[F.free[i]]
    full = 2 * held + p
    return full, (full + 3) // 4 * 4


@kernel
def put_matrix(X, F, full, stride):
    """F.M ← D - T Q⁻¹ Tᵀ, F.x ← r - T Q⁻¹ c."""
    width, held, p = F.count[WIDTH], X.count[HELD], F.free.shape[0]
    for s in range(full):
        for k in range(width):
            F.y[index(k)] = F.along[index(s * width + k)]
        solve_transposed(F.Q, width, width, F.y)
        for k in range(width):
            F.answer[index(k * stride + s)] = F.y[index(k)]
    for r in range(stride):
        for s in range(stride):
            F.M[index(r * stride + s)] = 0.0
        if r >= full:
            F.M[index(r * stride + r)], F.x[r] = 1.0, 0.0
            continue
        for k in range(width):
            x = F.along[index(r * width + k)]
            F.x[r] -= x * F.bare[index(k)]
            if x != 0.0:
                for s in range(full):
                    F.M[index(r * stride + s)] -= x * F.answer[index(k * stride + s)]
        if r >= held + p:
            F.M[index(r * stride + r)] *= 1.0 + F.gain[GIVE]
    put_forces(F, held, stride)


@kernel
def put_forces(F, held, stride):
    """Add D: what forces cost themselves and by the torques against them, and what they do to rows without motors."""
    n, width, k = F.b.shape[0], F.count[WIDTH], F.gain[ROBUST]
    for d in range(held):
        for e in range(d + 1):
            x = k * F.gain[COST_F] if d == e else 0.0
            for j in range(n):
                x += k * F.gain[COST_T] * F.motor[j] * F.force[index(d * width + j)] * F.force[index(e * width + j)]
            F.M[index(d * stride + e)] += x
            if d != e:
                F.M[index(e * stride + d)] += x
        for i in range(F.free.shape[0]):
            x = F.force[index(d * width + F.free[i])]
            F.M[index(d * stride + held + i)] -= x
            F.M[index((held + i) * stride + d)] -= x


@outlined
def find_solution(P, X, F):
    """F.a and P.w, the solution for directions that are held [DF] eq. 43-45."""
    n, held = F.b.shape[0], X.count[HELD]
    full, stride = put_demands(P, X, F)
    put_matrix(X, F, full, stride)
    factor_pivoted(F.M, stride, stride, F.order)
    solve_pivoted(F.M, stride, stride, F.order, F.x)
    for k in range(n):
        s = F.bare[k]
        for i in range(full):
            s -= F.answer[index(k * stride + i)] * F.x[index(i)]
        F.a[k] = s
    for r in range(P.count[ROWS]):
        P.w[r] = 0.0
    for d in range(held):
        o = P.at[X.pair[d]]
        for c in range(P.at[X.pair[d] + 1] - o):
            P.w[o + c] += X.column[d, c] * F.x[d]


@kernel
def optimize(P, X, F):
    """Try states until all contact forces are possible [DF] VII-A, by Table II as a simulation does.

    Not with the answers u = u0 + G w of published.trial_and_error: here forces and accelerations are chosen together. Forces alone
    leave accelerations only as many ways to go as there are rows without motors, fewer than two feet hold.
    """
    put_costs(F)
    put_motion(P, X, F)
    begin(P, X, False, F.count[EDGES])
    for i in range(P.count[PAIRS]):
        X.tried[i] = 1 << X.state[i]
    F.count[SOLVES] = 0
    while True:
        hold_directions(P, X)
        find_solution(P, X, F)
        F.count[SOLVES] += 1
        i, check = first_failure(P, X)
        if check == 0:
            break
        change(P, X, i, check, F.count[EDGES])
    put_torques(P, F)
    look_at_motion(P, F)


@kernel
def put_torques(P, F):
    """τ = A θ̈ + b - Hᵀ w in all rows. Where there is no motor it has come out as zero: F.residual says how exactly."""
    n, width, large, off = F.b.shape[0], F.count[WIDTH], 0.0, 0.0
    for k in range(n):
        t, most = F.b[k], abs(F.b[k])
        for j in range(n):
            term = F.A[index(k * width + j)] * F.a[index(j)]
            t, most = t + term, max(most, abs(term))
        for r in range(P.count[ROWS]):
            t -= F.H[index(r * width + k)] * P.w[index(r)]
        F.tau[k] = t
        if F.motor[k] == 0.0:
            large, off = max(large, most), max(off, abs(t))
    F.residual[0] = off / large if large > 0.0 else 0.0


@kernel
def look_at_motion(P, F):
    """The check that the paper does not have: how fast corners go into the ground after the step. Nothing is done about it."""
    width, dt = F.count[WIDTH], F.gain[STEP]
    for r in range(P.count[ROWS]):
        s = F.drift[r]
        for k in range(F.b.shape[0]):
            s += F.H[index(r * width + k)] * F.a[index(k)]
        P.u[r] = F.speed[r] + dt * s
    for i in range(P.count[PAIRS]):
        F.sinking[i] = max(-lowest_speed(P, i, P.u), 0.0)
