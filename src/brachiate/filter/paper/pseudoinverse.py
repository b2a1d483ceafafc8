"""Optimizer of the published filter [DF] VII-C 2 by pseudoinverses, within the trial and error over contact states.

Unknowns are x = (θ̈, τ_C, τ_J) with W x = u, eq. 34-38. The paper takes the weighted least-squares solution, and moves it within the null
space of W towards the desired accelerations by a singularity-robust inverse, eq. 43-45. Put together, with S the weights of eq. 43 and N of
eq. 45, both steps are one: as y = V_G* (...) lies in the null space and W# u in its orthogonal complement, x minimizes

    ½ Σ Nᵢ (θ̈ᵢ - θ̈ᵢᵈ)² + ½ k Σ Sⱼ xⱼ²   subject to   W x = u.

Actuated rows of W define τ_J. Substituted into the sum they leave θ̈ and τ_C, constrained by the unactuated rows and the contact rows.
θ̈ is eliminated first: its cost matrix Q is the same for all contact states that are tried. The Schur complement is small:

    (D - T Q⁻¹ Tᵀ) s = r - T Q⁻¹ c,    θ̈ = Q⁻¹ (c - Tᵀ s),    s = (τ_C, multipliers of unactuated rows, multipliers of contact rows).
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.contact.arrays import NUM_CONTACTS, NUM_ROWS
from brachiate.contact.published.checks import first_failure
from brachiate.contact.published.directions import assemble_directions, row_velocity
from brachiate.contact.published.trial import NUM_HELD
from brachiate.contact.published.trial_and_error import change_state, initialize_states
from brachiate.filter.paper.arrays import COMPLIANCE, COST_A, COST_F, COST_T, NUM_SOLVES, SR_DAMPING, TILT_ABOUT_EDGES, TIME_STEP, WIDTH
from brachiate.filter.paper.contact_pairs import lowest_speed, store_motion
from brachiate.linalg.lu import lu_factor, lu_factor_pivoted, lu_solve_pivoted, lu_solve_transposed


@kernel
def factor_costs(sol):
    """Factor Q, the cost of accelerations and their torques; sol.unconstrained_a ← the optimum without constraints."""
    n, width, k = sol.b.shape[0], sol.count[WIDTH], sol.gain[SR_DAMPING]
    torque = k * sol.gain[COST_T]
    for i in range(width * width):
        sol.Q[index(i)] = 0.0
    for i in range(width):
        sol.Q[index(i * width + i)] = sol.weight[i] + k * sol.gain[COST_A] if i < n else 1.0
        sol.unconstrained_a[i] = sol.weight[i] * sol.desired[i] if i < n else 0.0
    for j in range(n):
        if sol.actuated[j] > 0.0:
            for i in range(n):
                s = torque * sol.A[index(j * width + i)]
                sol.unconstrained_a[index(i)] -= s * sol.b[j]
                for c in range(width):
                    sol.Q[index(i * width + c)] += s * sol.A[index(j * width + c)]
    lu_factor(sol.Q, width, width)
    lu_solve_transposed(sol.Q, width, width, sol.unconstrained_a)


@kernel
def store_held_force(problem, trial, sol, d):
    """sol.held_force ← generalized force of a unit of held force d, a row of Ĥ_C [DF] eq. 28."""
    width, o = sol.count[WIDTH], problem.row_start[trial.pair[d]]
    for k in range(width):
        sol.held_force[index(d * width + k)] = 0.0
    for c in range(problem.row_start[trial.pair[d] + 1] - o):
        s = trial.column[d, c]
        for k in range(width):
            sol.held_force[index(d * width + k)] += s * sol.H[index((o + c) * width + k)]


@kernel
def store_force_row(sol, d, s):
    """Row s of T ← coupling of held force d and accelerations by the cost of torques."""
    width, torque = sol.count[WIDTH], sol.gain[SR_DAMPING] * sol.gain[COST_T]
    for k in range(width):
        sol.constraint_rows[index(s * width + k)] = 0.0
    for j in range(sol.b.shape[0]):
        if sol.actuated[j] > 0.0:
            x = torque * sol.held_force[index(d * width + j)]
            if x != 0.0:
                for k in range(width):
                    sol.constraint_rows[index(s * width + k)] -= x * sol.A[index(j * width + k)]


@kernel
def store_contact_row(problem, trial, sol, d, s):
    """Row s of T ← held direction d, a row of H_C."""
    width, o = sol.count[WIDTH], problem.row_start[trial.pair[d]]
    for k in range(width):
        sol.constraint_rows[index(s * width + k)] = 0.0
    for c in range(problem.row_start[trial.pair[d] + 1] - o):
        x = trial.row[d, c]
        for k in range(width):
            sol.constraint_rows[index(s * width + k)] += x * sol.H[index((o + c) * width + k)]


@kernel
def store_constraints(problem, trial, sol):
    """Rows of T and right-hand sides r; returns the number of unknowns, and it rounded up to a multiple of four."""
    n, width, held, p = sol.b.shape[0], sol.count[WIDTH], trial.count[NUM_HELD], sol.unactuated.shape[0]
    torque = sol.gain[SR_DAMPING] * sol.gain[COST_T]
    for d in range(held):
        store_held_force(problem, trial, sol, d)
        store_force_row(sol, d, d)
        x = 0.0
        for j in range(n):
            x += torque * sol.actuated[j] * sol.held_force[index(d * width + j)] * sol.b[j]
        sol.unknowns[d] = x
        s = held + p + d
        store_contact_row(problem, trial, sol, d, s)
        sol.unknowns[s] = row_velocity(problem, trial, d, sol.stabilization) - row_velocity(
            problem, trial, d, sol.drift
        )  # H_C θ̈ = -Ḣ_C θ̇, and stabilization
    for i in range(p):
        for k in range(width):
            sol.constraint_rows[index((held + i) * width + k)] = sol.A[index(sol.unactuated[i] * width + k)]
        sol.unknowns[held + i] = -sol.b[sol.unactuated[i]]
    full = 2 * held + p
    return full, (full + 3) // 4 * 4


@kernel
def store_schur_complement(trial, sol, full, stride):
    """sol.M ← D - T Q⁻¹ Tᵀ, sol.unknowns ← r - T Q⁻¹ c."""
    width, held, p = sol.count[WIDTH], trial.count[NUM_HELD], sol.unactuated.shape[0]
    for s in range(full):
        for k in range(width):
            sol.scratch[index(k)] = sol.constraint_rows[index(s * width + k)]
        lu_solve_transposed(sol.Q, width, width, sol.scratch)
        for k in range(width):
            sol.response[index(k * stride + s)] = sol.scratch[index(k)]
    for r in range(stride):
        for s in range(stride):
            sol.M[index(r * stride + s)] = 0.0
        if r >= full:
            sol.M[index(r * stride + r)], sol.unknowns[r] = 1.0, 0.0
            continue
        for k in range(width):
            x = sol.constraint_rows[index(r * width + k)]
            sol.unknowns[r] -= x * sol.unconstrained_a[index(k)]
            if x != 0.0:
                for s in range(full):
                    sol.M[index(r * stride + s)] -= x * sol.response[index(k * stride + s)]
        if r >= held + p:
            sol.M[index(r * stride + r)] *= 1.0 + sol.gain[COMPLIANCE]
    add_force_block(sol, held, stride)


@kernel
def add_force_block(sol, held, stride):
    """Add D: cost of the forces themselves and of the torques against them, and their effect on unactuated rows."""
    n, width, k = sol.b.shape[0], sol.count[WIDTH], sol.gain[SR_DAMPING]
    for d in range(held):
        for e in range(d + 1):
            x = k * sol.gain[COST_F] if d == e else 0.0
            for j in range(n):
                x += k * sol.gain[COST_T] * sol.actuated[j] * sol.held_force[index(d * width + j)] * sol.held_force[index(e * width + j)]
            sol.M[index(d * stride + e)] += x
            if d != e:
                sol.M[index(e * stride + d)] += x
        for i in range(sol.unactuated.shape[0]):
            x = sol.held_force[index(d * width + sol.unactuated[i])]
            sol.M[index(d * stride + held + i)] -= x
            sol.M[index((held + i) * stride + d)] -= x


@outlined
def solve_held(problem, trial, sol):
    """sol.a and problem.w ← solution for the held directions [DF] eq. 43-45."""
    n, held = sol.b.shape[0], trial.count[NUM_HELD]
    full, stride = store_constraints(problem, trial, sol)
    store_schur_complement(trial, sol, full, stride)
    lu_factor_pivoted(sol.M, stride, stride, sol.order)
    lu_solve_pivoted(sol.M, stride, stride, sol.order, sol.unknowns)
    for k in range(n):
        s = sol.unconstrained_a[k]
        for i in range(full):
            s -= sol.response[index(k * stride + i)] * sol.unknowns[index(i)]
        sol.a[k] = s
    for r in range(problem.count[NUM_ROWS]):
        problem.w[r] = 0.0
    for d in range(held):
        o = problem.row_start[trial.pair[d]]
        for c in range(problem.row_start[trial.pair[d] + 1] - o):
            problem.w[o + c] += trial.column[d, c] * sol.unknowns[d]


@kernel
def optimize(problem, trial, sol):
    """Try contact states until all contact forces are admissible [DF] VII-A, by Table II as in a simulation.

    The responses u = u0 + G w of published.trial_and_error are not used: here forces and accelerations are optimized together. Forces
    alone would leave accelerations only as many degrees of freedom as there are unactuated rows, fewer than two feet constrain.
    """
    factor_costs(sol)
    store_motion(problem, trial, sol)
    initialize_states(problem, trial, False, sol.count[TILT_ABOUT_EDGES])
    for i in range(problem.count[NUM_CONTACTS]):
        trial.tried[i] = 1 << trial.state[i]
    sol.count[NUM_SOLVES] = 0
    while True:
        assemble_directions(problem, trial)
        solve_held(problem, trial, sol)
        sol.count[NUM_SOLVES] += 1
        i, check = first_failure(problem, trial)
        if check == 0:
            break
        change_state(problem, trial, i, check, sol.count[TILT_ABOUT_EDGES])
    store_torques(problem, sol)
    store_sinking(problem, sol)


@kernel
def store_torques(problem, sol):
    """τ = A θ̈ + b - Hᵀ w in all rows; zero in unactuated rows up to sol.residual."""
    n, width, largest, residual = sol.b.shape[0], sol.count[WIDTH], 0.0, 0.0
    for k in range(n):
        t, term_max = sol.b[k], abs(sol.b[k])
        for j in range(n):
            term = sol.A[index(k * width + j)] * sol.a[index(j)]
            t, term_max = t + term, max(term_max, abs(term))
        for r in range(problem.count[NUM_ROWS]):
            t -= sol.H[index(r * width + k)] * problem.w[index(r)]
        sol.tau[k] = t
        if sol.actuated[k] == 0.0:
            largest, residual = max(largest, term_max), max(residual, abs(t))
    sol.residual[0] = residual / largest if largest > 0.0 else 0.0


@kernel
def store_sinking(problem, sol):
    """sol.sinking ← speed of corners into the ground after the step: a check that the paper does not have; nothing depends on it."""
    width, dt = sol.count[WIDTH], sol.gain[TIME_STEP]
    for r in range(problem.count[NUM_ROWS]):
        s = sol.drift[r]
        for k in range(sol.b.shape[0]):
            s += sol.H[index(r * width + k)] * sol.a[index(k)]
        problem.u[r] = sol.relative_velocity[r] + dt * s
    for i in range(problem.count[NUM_CONTACTS]):
        sol.sinking[i] = max(-lowest_speed(problem, i, problem.u), 0.0)
