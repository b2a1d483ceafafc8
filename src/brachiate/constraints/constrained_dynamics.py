"""Constrained dynamics: accelerations and constraint forces, impulses, projection of states onto the constraints."""

from __future__ import annotations

from brachiate.compiled import by_address, call_address, inlined, kernel, outlined
from brachiate.constraints.arrays import (
    CONSTRAINTS,
    CORRECT_ACCELERATION,
    CORRECT_START_FROM_REST,
    CORRECT_VELOCITY,
    DELASSUS,
    INACTIVE,
    INDEPENDENT,
    MASS_FACTOR,
    REDUNDANT,
    REDUNDANT_ROWS,
    RESIDUALS,
    ROWS,
    SINGULARITY,
    UNCLASSIFIED,
    WEAK_ROWS,
    open_constraints,
)
from brachiate.constraints.rows import connection_biases, update_gamma
from brachiate.constraints.solve import INFINITE_SCALE, add_transposed_product, multiply_rows, solve_rows
from brachiate.dynamics.factor import backward_sweep, factor, forward_sweep
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE, accumulate_forces, body_motion_and_force, external_forces, passive_forces
from brachiate.kinematics import ball_motion_columns, finite, forward_kinematics, zero_motion
from brachiate.manifold import integrate_configuration
from brachiate.model.arrays import open_model
from brachiate.model.status import LOOP_OPEN, OK, SINGULAR

RESIDUAL_TOLERANCE = 1e-14  # [m or rad] residuals below this are round-off
REDUNDANT_RESIDUAL_TOLERANCE = 1e-11  # [m or rad] residuals of truly redundant rows are well below this
VIOLATION_TOLERANCE = 1e-8  # relative to accelerations [m/s² or rad/s²]; round-off in truly redundant rows is far below
LIMIT_REST_TOLERANCE = 1e-9  # [rad, m, rad/s or m/s] a coordinate this close to a limit, and this slow, rests at it
MAX_RELEASES = 8  # iterations of releasing and activating limits
MAX_POSITION_ITERATIONS = 8  # Newton iterations of the position projection
MAX_WEAK_SINE2 = 1e-6  # squared sine of the angle to other rows below which a row may be weak

# Operations of `run_constraint_operation`.
COMPUTE_ACCELERATION, COMPUTE_ACCELERATION_AND_RANK, COMPUTE_STEP, PROJECT_STATE = range(4)
APPLY_CONNECTION_IMPULSE, EVALUATE_ROWS, PREPARE_STEP, COMPLETE_STEP = range(4, 8)


@by_address
def update_mass_factor(key, constraint_key, implicit, n):
    """Factor of the mass matrix at the current poses, with ``implicit`` times the damping W.y on its diagonal."""
    T, W = open_model(key)
    ball_motion_columns(T, W)
    return factor(T, W, implicit)


@outlined
def update_bias_and_gamma(T, W, cons):
    """Torques W.bias at zero acceleration, springs, dampers and friction included, and γ of every row."""
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, zero_motion())
    external_forces(T, W)
    connection_biases(T, W, cons)
    accumulate_forces(T, W, W.bias)
    passive_forces(T, W, W.bias)


@outlined
def solve_accelerations(T, W, cons, dt):
    """Accelerations a = A⁻¹(τ − b + Jᵀλ) that bring J a to its target, and the forces λ, once A and G are factored [CKC] 3.2."""
    set_acceleration_targets(cons, dt)
    for k in range(W.a.shape[0]):
        W.a[k] = W.tau[k] - W.bias[k]
    backward_sweep(T, W, W.a)
    multiply_rows(T, cons, cons.Z, W.a, cons.rhs)
    for r in range(cons.count[ROWS]):
        cons.force[r] = cons.acceleration_target[r] - cons.rhs[r]
    solve_rows(cons, cons.force)
    add_transposed_product(T, cons, cons.Y, cons.force, W.a)
    forward_sweep(T, W, W.a)


@kernel
def weak_row_threshold(W, cons):
    """Squared sine below which rows count as weak: the motion may carry them through zero within a few steps.

    At rest it is zero: small rows are valid rows.
    """
    fastest = 0.0
    for k in range(W.v.shape[0]):
        fastest = max(fastest, abs(W.v[k]))
    reach = 3.0 * cons.dt[0] * fastest
    return min(MAX_WEAK_SINE2, reach * reach)


@kernel
def set_acceleration_targets(cons, dt):
    """Targets of J a: −γ. With dt > 0, those that close every row at the end of a semi-implicit step of that length.

    c(q ⊕ dt v⁺) = c + dt (J v⁺ − rate) + ½ dt² γ + O(dt³) with v⁺ = v + dt a: remainders of c and J v from the step before are
    removed, so errors do not accumulate.
    """
    if dt == 0.0:
        for r in range(cons.count[ROWS]):
            cons.acceleration_target[r] = -cons.gamma[r]
        return
    for r in range(cons.count[ROWS]):
        cons.acceleration_target[r] = -(0.5 * cons.gamma[r] + (cons.velocity[r] - cons.velocity_target[r] + cons.c[r] / dt) / dt)


@kernel
def mark_weak(cons, r):
    """Mark a redundant row as weak.

    No pivot makes it independent any more: just beside a singular posture it is so nearly dependent that closing its residual, which is
    of second order, within one step would need a large velocity. A residual that grows makes it independent.
    """
    cons.weak_rows[cons.count[WEAK_ROWS]] = r
    cons.count[WEAK_ROWS] += 1
    cons.pivot_scale[r] = INFINITE_SCALE


@outlined
def mark_violated_rows(T, W, cons):
    """Mark redundant rows as weak that these accelerations violate: J a misses its target. Returns whether there are any."""
    size = 1.0
    for k in range(W.a.shape[0]):
        size = max(size, abs(W.a[k]))
    multiply_rows(T, cons, cons.J, W.a, cons.rhs)
    for r in range(cons.count[ROWS]):
        if cons.state[r] == REDUNDANT and abs(cons.rhs[r] - cons.acceleration_target[r]) > VIOLATION_TOLERANCE * size:
            mark_weak(cons, r)
    return cons.count[WEAK_ROWS] > 0


@outlined
def mark_rows_violated_from_rest(T, W, cons):
    """Mark redundant rows as weak that motion from rest along these accelerations would violate: γ(a) is outside the range of J.

    Overwrites γ, right-hand sides and forces.
    """
    largest = 0.0
    for k in range(W.a.shape[0]):
        largest = max(largest, abs(W.a[k]))
    if largest == 0.0:
        return False
    for k in range(W.a.shape[0]):
        cons.v_before[k] = W.v[k]
        W.v[k] = W.a[k] / largest
    update_gamma(T, W, cons)
    for r in range(cons.count[ROWS]):
        cons.rhs[r] = -cons.gamma[r]
    constraint_space_correction(T, W, cons, cons.z)
    multiply_rows(T, cons, cons.J, cons.z, cons.rhs)
    for r in range(cons.count[ROWS]):
        if cons.state[r] == REDUNDANT and abs(cons.rhs[r] + cons.gamma[r]) > VIOLATION_TOLERANCE:
            mark_weak(cons, r)
    for k in range(W.a.shape[0]):
        W.v[k] = cons.v_before[k]
    return cons.count[WEAK_ROWS] > 0


@kernel
def at_rest(W):
    """Whether velocities are so small that terms in their squares are negligible beside accelerations."""
    v = a = 0.0
    for k in range(W.a.shape[0]):
        v, a = max(v, abs(W.v[k])), max(a, abs(W.a[k]))
    return v * v < VIOLATION_TOLERANCE * max(1.0, a)


@kernel
def release_pulling_limits(cons):
    """Deactivate limits whose force pulls: limits are unilateral. Returns whether there were any."""
    found = False
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        if cons.side[i] and cons.state[cons.row[i]] == INDEPENDENT and cons.side[i] * cons.force[cons.row[i]] < 0.0:
            cons.state[cons.row[i]], cons.inactive[i] = INACTIVE, 1
            cons.c[cons.row[i]] += cons.polynomial[i, 0] - cons.bound[i]
            cons.polynomial[i, 0] = cons.bound[i]
            found = True
    return found


@kernel
def any_inactive_limit(cons):
    """Whether any limit is inactive."""
    found = False
    for a in range(cons.count[CONSTRAINTS]):
        found = found or (cons.side[cons.order[a]] != 0 and cons.inactive[cons.order[a]] != 0)
    return found


@kernel
def activate_limit(cons, i):
    """Activate a limit at the current coordinate, so that positions do not jump."""
    r = cons.row[i]
    cons.state[r], cons.inactive[i] = UNCLASSIFIED, 0
    cons.polynomial[i, 0] += cons.c[r]
    cons.c[r] = 0.0


@kernel
def activate_loaded_limits(T, W, cons):
    """Activate limits at which a coordinate rests and that these accelerations would pass. Returns whether there were any."""
    if not any_inactive_limit(cons):
        return False
    found = False
    multiply_rows(T, cons, cons.J, W.a, cons.rhs)
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        r, side = cons.row[i], cons.side[i]
        if (
            side
            and cons.state[r] == INACTIVE
            and side * cons.c[r] < LIMIT_REST_TOLERANCE
            and abs(cons.velocity[r]) < LIMIT_REST_TOLERANCE
            and side * cons.rhs[r] < 0.0
        ):
            activate_limit(cons, i)
            found = True
    return found


@kernel
def activate_passed_limits(cons):
    """Activate limits that have been passed. Returns whether there were any."""
    found = False
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        r = cons.row[i]
        if cons.side[i] and cons.state[r] == INACTIVE and cons.side[i] * cons.c[r] < 0.0:
            activate_limit(cons, i)
            found = True
    return found


@kernel
def recheck_redundant_rows(cons):
    """Reset redundant rows whose residual has grown while the others are closed: they may have become independent."""
    for r in range(cons.count[ROWS]):
        if cons.state[r] == REDUNDANT and abs(cons.c[r]) > REDUNDANT_RESIDUAL_TOLERANCE:
            cons.state[r] = UNCLASSIFIED


@outlined
def constraint_space_correction(T, W, cons, out):
    """out ← A⁻¹ Jᵀ G⁻¹ rhs: the smallest motion, in the mass metric, that changes J x by the right-hand sides."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for r in range(cons.count[ROWS]):
        cons.force[r] = cons.rhs[r]
    solve_rows(cons, cons.force)
    add_transposed_product(T, cons, cons.Y, cons.force, out)
    forward_sweep(T, W, out)


@kernel
def project_velocity(T, W, cons):
    """v ← nearest velocity that all rows allow, in the mass metric; the impulses are in cons.force [SVC] 4.3."""
    multiply_rows(T, cons, cons.J, W.v, cons.rhs)
    for r in range(cons.count[ROWS]):
        cons.rhs[r] = cons.velocity_target[r] - cons.rhs[r]
    constraint_space_correction(T, W, cons, cons.z)
    for k in range(W.v.shape[0]):
        W.v[k] += cons.z[k]


@kernel
def update_velocity_error(T, W, cons):
    """Largest violation of J v = target by W.v: zero, unless redundant rows contradict each other."""
    largest = 0.0
    multiply_rows(T, cons, cons.J, W.v, cons.rhs)
    for r in range(cons.count[ROWS]):
        if cons.state[r] == INDEPENDENT or cons.state[r] == REDUNDANT:  # springs and inactive limits allow any velocity
            largest = max(largest, abs(cons.velocity_target[r] - cons.rhs[r]))
    cons.max_error[1] = largest


@outlined
def project_position(key, constraint_key, T, W, cons):
    """q ← nearest configuration at which all residuals vanish (Newton); the last state's rows are used while it converges."""
    previous = 1e300
    for n in range(MAX_POSITION_ITERATIONS):
        forward_kinematics(T, W)
        ball_motion_columns(T, W)  # needed by the rows; the mass matrix, which computes them too, is not updated here
        call_address(cons.functions[RESIDUALS], key, constraint_key, 0.0, 0)
        largest = 0.0
        for r in range(cons.count[ROWS]):  # rows that are left out follow the others, or cross a singular posture
            if cons.inverse_pivot[r] > 0.0:
                largest = max(largest, abs(cons.c[r]))
        if not largest > RESIDUAL_TOLERANCE or (largest < 1e-12 and not largest < 0.5 * previous):
            return OK
        if n > 0 and not largest < 0.1 * previous:  # the old rows no longer converge
            call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), 0)
        previous = largest
        for r in range(cons.count[ROWS]):
            cons.rhs[r] = -cons.c[r]
        constraint_space_correction(T, W, cons, cons.z)
        integrate_configuration(T, W.q, cons.z, 1.0, W.q)
    return OK if previous < 1e-9 else LOOP_OPEN


@outlined
def update_poses_and_residuals(key, constraint_key, T, W, cons):
    """Poses of all bodies and residuals of all constraints at W.q."""
    forward_kinematics(T, W)
    call_address(cons.functions[RESIDUALS], key, constraint_key, 0.0, 0)


@inlined
def factor_mass_matrix_implicit(key, constraint_key, T, W, cons, implicit):
    """Factor of A + implicit · D, with the derivative D = W.y of damping and dry friction by velocity; returns the status."""
    if T.passive[0] and implicit > 0.0:
        for k in range(W.y.shape[0]):
            v = W.v[k]
            W.y[k] = T.damping[k] + T.friction[k] / (v * v + FRICTION_SPEED_SCALE * FRICTION_SPEED_SCALE) ** 0.5
    return call_address(cons.functions[MASS_FACTOR], key, constraint_key, implicit if T.passive[0] else 0.0, 0)


@inlined
def project_velocity_and_release(key, constraint_key, T, W, cons, release, impact):
    """Project v onto the rows; with ``release``, again without limits whose impulse would pull.

    In an ``impact`` no row is treated as weak.
    """
    for k in range(W.v.shape[0]):
        cons.v_before[k] = W.v[k]
    project_velocity(T, W, cons)
    for _ in range(MAX_RELEASES if release else 0):
        if not release_pulling_limits(cons):
            break
        call_address(cons.functions[DELASSUS], key, constraint_key, 0.0 if impact else weak_row_threshold(W, cons), 1)
        for k in range(W.v.shape[0]):
            W.v[k] = cons.v_before[k]
        project_velocity(T, W, cons)


@inlined
def project_state(key, constraint_key, T, W, cons):
    """Project the state onto the constraints, position first, then velocity; the factor of A may be one step old.

    Limits that have been passed become active; only then limits may be released, since small corrections do not tell whether a
    limit pulls. Weak rows are left out (:mod:`.singular` replaces them in accelerations).
    """
    activated = False
    if any_inactive_limit(cons):
        update_poses_and_residuals(key, constraint_key, T, W, cons)
        activated = activate_passed_limits(cons)
        if activated:  # an impulse follows: without the factor of this posture momentum would not be conserved
            call_address(cons.functions[MASS_FACTOR], key, constraint_key, 0.0, 0)
            call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), 1)
    status = project_position(key, constraint_key, T, W, cons)
    recheck_redundant_rows(cons)
    call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), 1)
    project_velocity_and_release(key, constraint_key, T, W, cons, activated, False)
    return SINGULAR if status == OK and not finite(W.v) else status


@inlined
def apply_connection_impulse(key, constraint_key, T, W, cons, implicit):
    """Velocity boundary condition [SVC] 4.3: impulses that bring v onto every row, with all quantities updated."""
    update_poses_and_residuals(key, constraint_key, T, W, cons)
    status = factor_mass_matrix_implicit(key, constraint_key, T, W, cons, implicit)
    call_address(cons.functions[DELASSUS], key, constraint_key, 0.0, 1)
    project_velocity_and_release(key, constraint_key, T, W, cons, True, True)
    update_velocity_error(T, W, cons)
    return SINGULAR if status == OK and not finite(W.v) else status


@inlined
def update_dynamics(key, constraint_key, T, W, cons, implicit):
    """Poses, residuals, bias torques, γ and the factor of A at the state (W.q, W.v); returns the status."""
    update_poses_and_residuals(key, constraint_key, T, W, cons)
    update_bias_and_gamma(T, W, cons)
    return factor_mass_matrix_implicit(key, constraint_key, T, W, cons, implicit)


@inlined
def check_redundant_rows(key, constraint_key, T, W, cons, dt, resting):
    """Test whether the accelerations violate redundant rows: then the posture is singular, and these rows become weak.

    Velocities are corrected so that the motion is admissible to second order, and accelerations computed again.
    """
    violated = mark_rows_violated_from_rest(T, W, cons) if resting else mark_violated_rows(T, W, cons)
    if violated and not resting:
        call_address(cons.functions[SINGULARITY], key, constraint_key, 0.0, CORRECT_VELOCITY)
    if violated or resting:  # the test has overwritten γ and forces
        update_bias_and_gamma(T, W, cons)
        solve_accelerations(T, W, cons, dt)


@inlined
def accelerate_constrained(key, constraint_key, T, W, cons, dt, update_rank):
    """Accelerations and constraint forces, once A and G are factored.

    With ``update_rank``, limits are released and activated as the forces require, and redundant rows are checked. Weak rows are
    replaced by higher-order ones (:mod:`.singular`).
    """
    solve_accelerations(T, W, cons, dt)
    for _ in range(MAX_RELEASES if update_rank else 0):
        if not (release_pulling_limits(cons) or activate_loaded_limits(T, W, cons)):
            break
        call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), 1)
        solve_accelerations(T, W, cons, dt)
    resting = False
    if update_rank and cons.count[REDUNDANT_ROWS] and not cons.count[WEAK_ROWS]:
        resting = at_rest(W)
        check_redundant_rows(key, constraint_key, T, W, cons, dt, resting)
    if cons.count[WEAK_ROWS]:
        correction = CORRECT_START_FROM_REST if resting else CORRECT_ACCELERATION
        call_address(cons.functions[SINGULARITY], key, constraint_key, 0.0, correction)


@by_address
def run_constraint_operation(key, constraint_key, implicit, operation):
    """One operation on a constraint set at the state (W.q, W.v): dispatcher, compiled once for all callers.

    COMPUTE_ACCELERATION: accelerations W.a under the torques W.tau, and the constraint forces; ``implicit`` as in
    forward.compute_accelerations. COMPUTE_ACCELERATION_AND_RANK: the same, and classify rows again: only for states on the
    constraints. COMPUTE_STEP: accelerations of a semi-implicit step of the length ``implicit``, at whose end all residuals vanish
    to third order. PREPARE_STEP and COMPLETE_STEP: COMPUTE_STEP in two parts; the caller appends contacts and factors G in between.
    PROJECT_STATE: see :func:`project_state`. APPLY_CONNECTION_IMPULSE: see :func:`apply_connection_impulse`.
    EVALUATE_ROWS: residuals, rows and their γ only; the state is unchanged.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    if operation == PROJECT_STATE:
        return project_state(key, constraint_key, T, W, cons)
    if operation == APPLY_CONNECTION_IMPULSE:
        return apply_connection_impulse(key, constraint_key, T, W, cons, implicit)
    status, update_rank = OK, int(operation != COMPUTE_ACCELERATION and operation != EVALUATE_ROWS)
    if operation != COMPLETE_STEP:
        status = update_dynamics(key, constraint_key, T, W, cons, implicit)
        if operation == PREPARE_STEP:
            return status
        call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), update_rank)
        if operation == EVALUATE_ROWS:
            return status
    closing = implicit if operation in (COMPUTE_STEP, COMPLETE_STEP) else 0.0
    accelerate_constrained(key, constraint_key, T, W, cons, closing, update_rank)
    return status
