"""Equations of motion and constraints of the world in a control step: constraint rows, equations without motors, torque distribution."""

from __future__ import annotations

from brachiate.animation.arrays import DENSE, EXACT, LEVELS, ROWS, UNKNOWNS
from brachiate.animation.levels import RANK_TOLERANCE, solve_levels, triangularize
from brachiate.compiled import call_address, index, kernel, outlined
from brachiate.constraints.arrays import CONSTRAINTS, INDEPENDENT, MASS_FACTOR, OPERATION, REDUNDANT, UNCLASSIFIED
from brachiate.constraints.arrays import ROWS as CONSTRAINT_ROWS
from brachiate.constraints.constrained_dynamics import COMPUTE_ACCELERATION_AND_RANK
from brachiate.constraints.solve import add_transposed_product, multiply_rows, solve_rows
from brachiate.constraints.sparsity import LANES, chain
from brachiate.dynamics.factor import backward_sweep, forward_sweep
from brachiate.dynamics.inverse import bias_forces, passive_forces, required_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.kinematics import body_inertias, copy_to, finite
from brachiate.model.status import OK, OVERFLOW


@kernel
def clear_levels(L, n):
    """No levels, n unknowns."""
    L.size[UNKNOWNS], L.size[LEVELS], L.size[ROWS], L.size[DENSE] = n, 0, 0, 0
    L.start[0] = 0


@kernel
def add_level(L, kind):
    """The rows that were added since the last level are one."""
    if L.size[ROWS] > L.start[L.size[LEVELS]]:
        L.kind[L.size[LEVELS]] = kind
        L.size[LEVELS] += 1
        L.start[L.size[LEVELS]] = L.size[ROWS]


# --- constraints --------------------------------------------------------------------------------------


@outlined
def update_constraint_rows(key, constraint_key, T, W, cons, C):
    """C.J and C.gamma of the bilateral constraints, C.loop_torque and C.tree_bias at the state, from poses that are up to date."""
    n = C.weight.shape[0]
    C.rows[0] = 0
    constrained = cons.count[CONSTRAINTS] > 0
    if constrained:
        cons.dt[0] = 0.0
        status = call_address(cons.functions[OPERATION], key, constraint_key, 0.0, COMPUTE_ACCELERATION_AND_RANK)
        if status != OK:
            return status
        if not finite(W.a):
            return OVERFLOW
        collect_rows(T, cons, C, n)
        copy_to(W.bias, C.loop_torque)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    for k in range(n):
        C.tree_bias[k] = W.bias[k]
        C.loop_torque[k] = W.bias[k] - C.loop_torque[k] if constrained else 0.0
    return OK


@kernel
def collect_rows(T, cons, C, n):
    """Bilateral rows as dense ones: not those of joint limits, nor of compliant connections."""
    count = 0
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        for m in range(cons.rows[i]):
            r = cons.row[i] + m
            state = cons.state[r]
            if cons.side[i] != 0 or state not in (INDEPENDENT, REDUNDANT, UNCLASSIFIED):
                continue
            for j in range(n):
                C.J[index(count * n + j)] = 0.0
            at = cons.y_at[i] + (m // LANES) * cons.y_stride[i] + m % LANES
            for which in range(2):
                tip, base, low = chain(T, cons, i, which)
                if tip >= 0:
                    for d in range(low, T.depth[tip] + 1):
                        j = T.above[index(T.row[tip] + d)]
                        C.J[index(count * n + j)] += cons.J[index(at + base + LANES * d)]
            C.gamma[count] = cons.gamma[r]
            count += 1
    C.rows[0] = count


# --- equations of motion ------------------------------------------------------------------------------


@outlined
def add_unactuated(T, W, L, C):
    """Level of the coordinates without a motor: A v̇ + bias = Jᵀλ there, constraint forces λ eliminated."""
    n, without = C.weight.shape[0], 0
    for k in range(n):
        without += 1 - C.motor[k]
    if without == 0:
        return
    r = L.size[ROWS]
    fixed = eliminate_forces(L, C, n, without)
    if fixed == without:  # constraints determine these coordinates
        return
    unactuated_mass_rows(T, W, C, n, without)
    w = 0
    for k in range(n):
        if not C.motor[k]:
            C.part[w] = C.loop_torque[k] - C.tree_bias[k]
            w += 1
    for i in range(fixed):
        reflect_columns(L, C, n, without, i)
    for i in range(fixed, without):
        for j in range(n):
            L.row[index(r * n + j)] = C.unactuated[index(i * n + j)]
        L.target[r] = C.part[i]
        r += 1
    L.size[ROWS] = r
    add_level(L, EXACT)


@kernel
def eliminate_forces(L, C, n, without):
    """Reflections of L that turn the rows of J, at coordinates without motors, into the first of these. Returns their rank."""
    total = 0.0
    for i in range(C.rows[0]):
        w = 0
        for j in range(n):
            if not C.motor[j]:
                x = C.J[index(i * n + j)]
                L.left[index(i * without + w)] = x
                total += x * x
                w += 1
    return triangularize(L, without, C.rows[0], 0, RANK_TOLERANCE * total**0.5)


@kernel
def reflect_columns(L, C, n, without, k):
    """Apply a reflection to the columns of C.unactuated, and to C.part."""
    s = 0.0
    for i in range(k, without):
        s += L.reflector[index(k * without + i)] * C.part[i]
    s *= L.reflector_scale[k]
    for i in range(k, without):
        C.part[i] -= s * L.reflector[index(k * without + i)]
    for j in range(n):
        s = 0.0
        for i in range(k, without):
            s += L.reflector[index(k * without + i)] * C.unactuated[index(i * n + j)]
        s *= L.reflector_scale[k]
        for i in range(k, without):
            C.unactuated[index(i * n + j)] -= s * L.reflector[index(k * without + i)]


@kernel
def unactuated_mass_rows(T, W, C, n, without):
    """C.unactuated ← rows of the mass matrix of the coordinates without motors; overwrites the factor of the mass matrix."""
    body_inertias(T, W)
    mass_matrix(T, W)
    w = 0
    for k in range(n):
        C.place[k] = w
        w += 1 - C.motor[k]
    for j in range(without * n):
        C.unactuated[index(j)] = 0.0
    for k in range(n):
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j, x = T.above[index(d)], W.L[index(d)]
            if not C.motor[k]:
                C.unactuated[index(C.place[k] * n + j)] = x
            if not C.motor[j]:
                C.unactuated[index(C.place[j] * n + k)] = x


@outlined
def tree_torques(T, W, a, out):
    """Inverse dynamics of the tree for accelerations a, from poses that are up to date."""
    required_forces(T, W, a, out)
    passive_forces(T, W, out)


@outlined
def distribute(L, C, torque):
    """Torques of the tree → those of motors, least squares of all that do the same with constraint forces λ [CKC] 3.1.

    The unknowns are λ: torques τ + Jᵀλ vanish where there is no motor, and are least at the others.
    """
    n, rows = C.weight.shape[0], C.rows[0]
    for k in range(n):
        torque[k] -= C.loop_torque[k]
    clear_levels(L, rows)
    for i in range(rows):
        L.scale[i] = 1.0
        L.preferred[i] = 0.0
    for motors in range(2):
        for k in range(n):
            if C.motor[k] == motors:
                r = L.size[ROWS]
                for i in range(rows):
                    L.row[index(r * rows + i)] = C.J[index(i * n + k)]
                L.target[r] = -torque[k]
                L.size[ROWS] = r + 1
        add_level(L, EXACT)
    solve_levels(L, False)
    for k in range(n):
        for i in range(rows):
            torque[k] += C.J[index(i * n + k)] * L.x[i]
        if not C.motor[k]:
            torque[k] = 0.0


@outlined
def forward(key, constraint_key, T, W, C, cons, torque):
    """C.acceleration ← accelerations under torques, within the constraints; the world's own torques stay."""
    copy_to(W.tau, C.saved)
    copy_to(torque, W.tau)
    status = call_address(cons.functions[OPERATION], key, constraint_key, 0.0, COMPUTE_ACCELERATION_AND_RANK)
    copy_to(C.saved, W.tau)
    copy_to(W.a, C.acceleration)
    return OVERFLOW if status == OK and not finite(C.acceleration) else status


@kernel
def update_inverse_inertia(key, constraint_key, cons):
    """Factor of the mass matrix for :func:`apply_inverse_inertia`, from poses that are up to date."""
    return call_address(cons.functions[MASS_FACTOR], key, constraint_key, 0.0, 0)


@outlined
def apply_inverse_inertia(T, W, cons, x, constrained):
    """x ← accelerations per unit of the generalized force x; with ``constrained``, within the constraints."""
    backward_sweep(T, W, x)
    if constrained:
        multiply_rows(T, cons, cons.Z, x, cons.rhs)
        for r in range(cons.count[CONSTRAINT_ROWS]):
            cons.force[r] = -cons.rhs[r]
        solve_rows(cons, cons.force)
        add_transposed_product(T, cons, cons.Y, cons.force, x)
    forward_sweep(T, W, x)


@outlined
def invert_mass_matrix(T, W, L, C, cons):
    """L.dense ← inverse of the mass matrix of the tree, once it is factored."""
    n = C.weight.shape[0]
    for i in range(n):
        for k in range(n):
            C.saved[k] = 1.0 if k == i else 0.0
        apply_inverse_inertia(T, W, cons, C.saved, False)
        for k in range(n):
            L.dense[index(k * n + i)] = C.saved[k]
