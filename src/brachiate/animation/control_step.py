"""Control step of [EGC] 5 as compiled code: functions, joint velocities and accelerations, torques, accelerations under them.

One entry does one operation at the state (W.q, W.v), and leaves the state as it was.
"""

from __future__ import annotations

import math

from brachiate.animation.arrays import DAMPED, DENSE, EXACT, ROWS, TRUNCATED, open_control
from brachiate.animation.equations import (
    add_level,
    add_unactuated,
    apply_inverse_inertia,
    clear_levels,
    distribute,
    forward,
    invert_mass_matrix,
    tree_torques,
    update_constraint_rows,
    update_inverse_inertia,
)
from brachiate.animation.levels import solve_levels, solve_within_bounds
from brachiate.compiled import Floats, Key, Matrix, entry, index, kernel, outlined
from brachiate.constraints.arrays import CONSTRAINTS, open_constraints
from brachiate.functions.arrays import Derivatives
from brachiate.functions.evaluate import GRADIENTS, evaluate_functions
from brachiate.functions.polynomials import evaluate_polynomials
from brachiate.kinematics import copy_to, finite
from brachiate.manifold import configuration_difference
from brachiate.model.status import OK, OVERFLOW

# Operations.
VELOCITY, ACCELERATION, TORQUES, STAGE, RECORD = range(5)
# ControlLaw.setting.
GAIN, POSTURE, STIFFNESS, DAMPING, HORIZON, TIME = range(6)
# ControlLaw.option: whether the surroundings hold functions; what is least; how singularities are treated; whether torques are given.
HELD, LEAST_TORQUE, TRUNCATE, GIVEN = range(4)
# ControlLaw.held: by motors (extended coordinates), by the surroundings exactly, or by springs and dampers [EGC] 4.5.
EXTENDED, HARD, SOFT = range(3)
# Damping per squared error: a function whose gradient is shorter than its error is slowed down.
ERROR_DAMPING = 1e-4
COST_WITHOUT_MOTOR = 1e-6
NEWTON_STEPS, NEWTON_TOLERANCE = 8, 1e-12  # of functions of accelerations; relative change of the accelerations
MAX_GAP = 2.0  # [rad/s] of joint velocities from planned ones, besides their size, at which curvature is taken


@entry
def control(key: Key, constraint_key: Key, operation: int, u: Floats, rate: Floats, bias: Floats, G: Matrix, H: Floats):
    """One operation.

    VELOCITY, ACCELERATION: L.x for C.wanted, C.error and C.preferred. TORQUES: motor torques C.torque for the plan at C.setting[TIME].
    STAGE: accelerations C.acceleration under them, or under given torques. RECORD: generalized forces C.force of the functions.
    """
    T, W, P, E, L, C, plan = open_control(key)
    (cons,) = open_constraints(constraint_key)
    F = Derivatives(u, rate, bias, G, H)
    if operation >= TORQUES:
        evaluate_polynomials(plan, C.setting[TIME])
        for s in range(E.signal.shape[0]):
            for c in range(3):
                E.signal[s, c] = plan.value[u.shape[0] + s, c]
    for k in range(C.weight.shape[0]):
        E.acceleration[k] = 0.0
    status = evaluate_functions(T, W, P, E, GRADIENTS, True, F)
    if status == OK:
        status = update_constraint_rows(key, constraint_key, T, W, cons, C)
    if status != OK:
        return status
    copy_to(F.rate, C.rate)
    copy_to(F.bias, C.bias)
    if operation == VELOCITY:
        resolve_velocity(W, P, L, C, F, False)
        return OK if finite(L.x) else OVERFLOW
    if operation == ACCELERATION:
        status = solve_accelerations(key, constraint_key, T, W, P, E, L, C, cons, F)
        return OVERFLOW if status == OK and not finite(L.x) else status
    given = C.option[GIVEN] != 0
    if not given:
        status = control_torques(key, constraint_key, T, W, P, E, L, C, plan, cons, F)
    if status == OK and (operation == STAGE or (operation == RECORD and C.option[HELD] and not given)):
        status = accelerate(key, constraint_key, T, W, L, C, plan, cons, F)
    if status == OK and operation == RECORD:
        status = record_forces(key, constraint_key, T, W, L, C, cons, F, given)
    return OK if status != OK or finite(C.torque) else OVERFLOW


# --- joint velocities and accelerations ---------------------------------------------------------------


@outlined
def add_functions(L, C, F, P, of_position):
    """Levels of the functions, rows G and C.target; with ``of_position``, without functions of velocities."""
    n = C.weight.shape[0]
    for level in range(C.level.shape[0] - 1):
        for a in range(C.level[level], C.level[level + 1]):
            o, r = C.member[a], L.size[ROWS]
            if of_position and P.depends_on[o] > 0:
                continue
            for j in range(n):
                L.row[index(r * n + j)] = F.G[index(o), index(j)]
            L.target[r] = C.target[o]
            L.damping[r] = ERROR_DAMPING * C.error[o] * C.error[o]
            L.size[ROWS] = r + 1
        add_level(L, TRUNCATED if C.option[TRUNCATE] else DAMPED)


@outlined
def resolve_velocity(W, P, L, C, F, planned):
    """L.x ← joint velocities with G x = C.wanted, nearest to C.preferred, within the constraints.

    If ``planned``, functions of velocities are left out, and a body without support keeps the motion of its root.
    """
    n = C.weight.shape[0]
    clear_levels(L, n)
    for k in range(n):
        L.scale[k] = 1.0 / math.sqrt(C.weight[k])
        L.preferred[k] = C.preferred[k]
    for i in range(C.rows[0]):  # the rate that constraints have
        s = 0.0
        for j in range(n):
            L.row[index(i * n + j)] = C.J[index(i * n + j)]
            s += C.J[index(i * n + j)] * W.v[index(j)]
        L.target[i] = s
    L.size[ROWS] = C.rows[0]
    if planned and C.rows[0] == 0:
        for k in range(n):
            if not C.motor[k]:
                r = L.size[ROWS]
                for j in range(n):
                    L.row[index(r * n + j)] = 1.0 if j == k else 0.0
                L.target[r] = W.v[k]
                L.size[ROWS] = r + 1
    add_level(L, EXACT)
    for o in range(C.rate.shape[0]):
        s = C.rate[o]  # what time changes by itself
        for j in range(n):
            s -= F.G[index(o), index(j)] * W.v[index(j)]
        C.target[o] = C.wanted[o] - s
    add_functions(L, C, F, P, planned)
    solve_levels(L, False)


@outlined
def resolve_acceleration(key, constraint_key, T, W, P, L, C, cons, F):
    """L.x ← joint accelerations with G x + C.bias = C.wanted, nearest to C.preferred, within constraints and joint limits."""
    n, status = C.weight.shape[0], OK
    clear_levels(L, n)
    for k in range(n):
        L.preferred[k] = C.preferred[k]
        # Coordinates without motors follow from the others: they cost nothing.
        L.scale[k] = 1.0 / math.sqrt(C.weight[k] if C.motor[k] else COST_WITHOUT_MOTOR * C.weight[k])
    if C.option[LEAST_TORQUE]:
        status = update_inverse_inertia(key, constraint_key, cons)
        least_torque_metric(T, W, L, C, cons)
    for i in range(C.rows[0]):
        for j in range(n):
            L.row[index(i * n + j)] = C.J[index(i * n + j)]
        L.target[i] = -C.gamma[i]
    L.size[ROWS] = C.rows[0]
    add_level(L, EXACT)
    add_unactuated(T, W, L, C)
    for o in range(C.rate.shape[0]):
        C.target[o] = C.wanted[o] - C.bias[o]
    add_functions(L, C, F, P, False)
    if C.setting[HORIZON] > 0.0:
        acceleration_bounds(W, L, C)
        solve_within_bounds(L)
    else:
        solve_levels(L, False)
    return status


@outlined
def solve_accelerations(key, constraint_key, T, W, P, E, L, C, cons, F):
    """L.x as of :func:`resolve_acceleration`; functions of accelerations, such as the center of pressure, by Newton's method."""
    status = resolve_acceleration(key, constraint_key, T, W, P, L, C, cons, F)
    nonlinear = False
    for o in range(P.depends_on.shape[0]):
        nonlinear = nonlinear or P.depends_on[o] == 2
    for _ in range(NEWTON_STEPS):
        change = 0.0
        for k in range(C.weight.shape[0]):
            change = max(change, abs(L.x[k] - E.acceleration[k]) / (1.0 + abs(L.x[k])))
        if status != OK or not nonlinear or not change > NEWTON_TOLERANCE:
            return status
        for k in range(C.weight.shape[0]):
            E.acceleration[k] = L.x[k]
        status = evaluate_functions(T, W, P, E, GRADIENTS, True, F)
        copy_to(F.bias, C.bias)
        if status == OK:
            status = resolve_acceleration(key, constraint_key, T, W, P, L, C, cons, F)
    return status


@outlined
def least_torque_metric(T, W, L, C, cons):
    """T = A⁻¹ W^-½: |z| is then the weighted size of the torques by which x differs from the preferred motion."""
    n = C.weight.shape[0]
    invert_mass_matrix(T, W, L, C, cons)
    for i in range(n):
        for j in range(n):
            L.dense[index(i * n + j)] /= math.sqrt(C.weight[j])
    L.size[DENSE] = 1


@outlined
def acceleration_bounds(W, L, C):
    """Accelerations that keep every coordinate within its limits for a time ahead, if they stay constant."""
    t = C.setting[HORIZON]
    for k in range(C.weight.shape[0]):
        L.lower[k], L.upper[k] = -math.inf, math.inf
        if C.coordinate[k] >= 0:
            ahead = W.q[C.coordinate[k]] + t * W.v[k]
            L.lower[k] = 2.0 * (C.limit_low[k] - ahead) / (t * t)
            L.upper[k] = max(L.lower[k], 2.0 * (C.limit_high[k] - ahead) / (t * t))


# --- control law --------------------------------------------------------------------------------------


@outlined
def control_torques(key, constraint_key, T, W, P, E, L, C, plan, cons, F):
    """Steps b to d of [EGC] 5: torques of motors C.torque for the plan."""
    status = plan_accelerations(T, W, P, E, L, C, plan, F)
    if status == OK:
        status = solve_accelerations(key, constraint_key, T, W, P, E, L, C, cons, F)
    if status != OK:
        return status
    for k in range(C.weight.shape[0]):
        C.acceleration[k] = L.x[k]
    tree_torques(T, W, C.acceleration, C.torque)
    if cons.count[CONSTRAINTS] > 0:
        distribute(L, C, C.torque)
    if not C.option[HELD]:
        return OK
    status = function_forces(key, constraint_key, T, W, L, C, cons, F, C.torque)
    for o in range(C.held.shape[0]):  # what the surroundings hold, motors do not
        if C.held[o]:
            for k in range(C.weight.shape[0]):
                C.torque[k] -= F.G[o, k] * C.force[o]
    return status


@outlined
def plan_accelerations(T, W, P, E, L, C, plan, F):
    """C.wanted and C.preferred: joint velocities φ̇ of the plan with feedback, then accelerations; what functions leave free follows φ̇.

    φ̇ is bounded near singularities. There the body's own velocities could run away through their curvature vᵀHv, so that is taken at
    velocities not too far from φ̇.
    """
    n, m, gain = C.weight.shape[0], C.rate.shape[0], C.setting[GAIN]
    for o in range(m):
        C.error[o] = plan.value[o, 0] - F.u[o]
        C.wanted[o] = plan.value[o, 1] + gain * C.error[o]
    if C.setting[POSTURE] > 0.0:
        configuration_difference(T, W.q, C.rest, C.preferred)
    for k in range(n):
        C.preferred[k] = C.setting[POSTURE] * C.preferred[k] if C.setting[POSTURE] > 0.0 else 0.0
    resolve_velocity(W, P, L, C, F, True)
    for o in range(m):
        if P.depends_on[o] == 2:
            C.wanted[o] = plan.value[o, 0]
        if P.depends_on[o] == 0:
            C.wanted[o] = plan.value[o, 2] + 2.0 * gain * (plan.value[o, 1] - C.rate[o]) + gain * gain * C.error[o]
    gap2 = planned2 = 0.0
    for k in range(n):
        C.preferred[k] = W.v[k] - L.x[k]
        gap2 += C.preferred[k] * C.preferred[k]
        planned2 += L.x[k] * L.x[k]
    status, largest = OK, MAX_GAP + math.sqrt(planned2)
    if gap2 > largest * largest:
        copy_to(W.v, C.velocity)
        share = largest / math.sqrt(gap2)
        for k in range(n):
            W.v[k] = L.x[k] + share * C.preferred[k]
        status = evaluate_functions(T, W, P, E, GRADIENTS, True, F)
        copy_to(C.velocity, W.v)
        for o in range(m):
            C.wanted[o] += C.bias[o] - F.bias[o]
        if status == OK:
            status = evaluate_functions(T, W, P, E, GRADIENTS, True, F)
    for k in range(n):
        C.preferred[k] *= -gain
    return status


@outlined
def accelerate(key, constraint_key, T, W, L, C, plan, cons, F):
    """Step e of [EGC] 5: C.acceleration under motor torques and what the surroundings hold."""
    n, hard = C.weight.shape[0], False
    copy_to(C.torque, C.total)
    for o in range(C.held.shape[0]):
        hard = hard or C.held[o] == HARD
        if C.held[o] == SOFT:
            force = C.setting[STIFFNESS] * (plan.value[o, 0] - F.u[o]) - C.setting[DAMPING] * C.rate[o]
            for k in range(n):
                C.total[k] += F.G[o, k] * force
    status = forward(key, constraint_key, T, W, C, cons, C.total)
    if status != OK or not hard:
        return status
    for o in range(C.held.shape[0]):
        C.target[o] = -C.bias[o]
        for k in range(n):
            C.target[o] -= F.G[o, k] * C.acceleration[k]
    status = solve_forces(key, constraint_key, T, W, L, C, cons, F, HARD)
    for o in range(C.held.shape[0]):
        if C.held[o] == HARD:
            for k in range(n):
                C.acceleration[k] += C.response[o * n + k] * C.force[o]
    return status


@outlined
def solve_forces(key, constraint_key, T, W, L, C, cons, F, held):
    """C.force ← generalized forces that give the functions the accelerations C.target; C.response per unit of each.

    Of all functions, or of those held in one way. Of functions that depend on each other the least forces, zero of those that constraints
    of the world determine.
    """
    n, m = C.weight.shape[0], C.rate.shape[0]
    status = update_inverse_inertia(key, constraint_key, cons)
    for o in range(m):
        for k in range(n):
            C.saved[k] = F.G[o, k]
        apply_inverse_inertia(T, W, cons, C.saved, cons.count[CONSTRAINTS] > 0)
        for k in range(n):
            C.response[o * n + k] = C.saved[k]
    clear_levels(L, m)
    for o in range(m):
        L.scale[o], L.preferred[o] = 1.0, 0.0
        if held == EXTENDED or C.held[o] == held:
            r = L.size[ROWS]
            for p in range(m):
                s = 0.0
                if held == EXTENDED or C.held[p] == held:
                    for k in range(n):
                        s += F.G[index(o), index(k)] * C.response[index(p * n + k)]
                L.row[index(r * m + p)] = s
            L.target[r] = C.target[o]
            L.size[ROWS] = r + 1
    add_level(L, EXACT)
    solve_levels(L, False)
    for o in range(m):
        C.force[o] = L.x[o]
    return status


@kernel
def function_forces(key, constraint_key, T, W, L, C, cons, F, torque):
    """C.force ← torques projected by the dynamically consistent inverse of G; G_uᵀ τ if G is square."""
    n = C.weight.shape[0]
    copy_to(torque, C.saved)
    status = update_inverse_inertia(key, constraint_key, cons)
    apply_inverse_inertia(T, W, cons, C.saved, cons.count[CONSTRAINTS] > 0)
    for o in range(C.rate.shape[0]):
        s = 0.0
        for k in range(n):
            s += F.G[index(o), index(k)] * C.saved[index(k)]
        C.target[o] = s
    return solve_forces(key, constraint_key, T, W, L, C, cons, F, EXTENDED) if status == OK else status


@outlined
def record_forces(key, constraint_key, T, W, L, C, cons, F, given):
    """C.force of torques of motors and surroundings together."""
    if given or not C.option[HELD]:
        copy_to(C.torque, C.total)
    else:
        tree_torques(T, W, C.acceleration, C.total)
        if cons.count[CONSTRAINTS] > 0:
            distribute(L, C, C.total)
    return function_forces(key, constraint_key, T, W, L, C, cons, F, C.total)
