"""Evaluator of programs: values, gradients, Hessians and biases of functions, to second order.

Operations are differentiated in reverse, by the components of sources they depend on: adjoints f_a = ∂u/∂x_a, and second derivatives f_ab
by edge pushing [Gower & Mello 2012], whose pattern was found when the program was made. With gradients g_a and Hessians H_a of components,

    G = Σ f_a g_a,   H = Σ f_a H_a + Σ f_ab g_a g_bᵀ,   vᵀHv = Σ f_a (vᵀH_a v) + Σ f_ab ẋ_a ẋ_b.
"""

from __future__ import annotations

import math

from brachiate.compiled import Floats, Ints, Key, Matrix, entry, index, kernel, outlined
from brachiate.functions.arrays import ANGULAR_VELOCITY, JOINT_RATE, MOMENTUM, MOMENTUM_RATE, Derivatives, open_program
from brachiate.functions.operations import D_A, D_B, IF_POSITIVE, LESSER, MAXIMUM, MINIMUM, PARTIALS, differentiate
from brachiate.functions.sources import add_source_hessian, update_sources
from brachiate.kinematics import valid_state
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import Vec3

#: Status of a function that is not finite, or not differentiable: this plus its number.
BAD_OUTPUT = 1000
VALUES, GRADIENTS, HESSIANS = range(3)


@entry
def evaluate(key: Key, order: int, u: Floats, rate: Floats, bias: Floats, G: Matrix, H: Floats):
    """Values u (m,); with order ≥ 1 u̇, bias and gradients (m, nv+1); with order 2 Hessians (m·(nv+1)²,).

    Entries outside supports are not written. The bias is ü at v̇ = 0. Of functions of velocities, G is ∂u/∂v, and bias and rate are u̇ at
    v̇ = 0. Of functions of accelerations, G is ∂u/∂v̇, and bias and rate are u − G v̇: linear functions of v̇ are G v̇ + bias.
    """
    T, W, P, E = open_program(key)
    return evaluate_functions(T, W, P, E, order, True, Derivatives(u, rate, bias, G, H))


@entry
def evaluate_states(
    key: Key,
    order: int,
    strict: int,
    Q: Matrix,
    V: Matrix,
    A: Matrix,
    signals: Matrix,
    u: Floats,
    rate: Floats,
    bias: Floats,
    G: Matrix,
    H: Floats,
    U: Matrix,
    rates: Matrix,
    gradients: Matrix,
    at: Ints,
):
    """Values U (n, m) of n states (q, v, v̇); with order 1 rates u̇ (n, m) and gradients (n, m·(nv+1)).

    ``signals`` (n, signals·3) are the functions of time; u, rate, bias, G and H are scratch, as of :func:`evaluate`. Rates of functions of
    velocities are those with v̇. at[0] is the state at which it ends with an error. Unless ``strict``, gradients that do not exist are
    zero, and functions of accelerations that do not, such as the center of pressure in the air, are not a number.
    """
    T, W, P, E = open_program(key)
    m, columns = G.shape
    for n in range(Q.shape[0]):
        at[0] = n
        for j in range(Q.shape[1]):
            W.q[j] = Q[n, j]
        for j in range(V.shape[1]):
            W.v[j], E.acceleration[j] = V[n, j], A[n, j]
        for j in range(E.signal.shape[0]):
            for c in range(3):
                E.signal[j, c] = signals[n, 3 * j + c]
        status = evaluate_functions(T, W, P, E, order, strict != 0, Derivatives(u, rate, bias, G, H))
        if status != OK:
            return status
        for o in range(m):
            U[n, o] = u[o]
            if order >= GRADIENTS:
                rates[n, o] = rate[o]
                for j in range(columns):
                    gradients[n, o * columns + j] = G[o, j]
                    if P.depends_on[o] == 1 and j < V.shape[1]:
                        rates[n, o] += G[o, j] * A[n, j]
    return OK


@outlined
def evaluate_functions(T, W, P, E, order, strict, F):
    """Functions at the state (W.q, W.v): see :func:`evaluate` and :func:`evaluate_states`."""
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    update_sources(T, W, P, E)
    operations, scalars = P.operation.shape[0], E.value.shape[0]
    first = scalars - operations
    for n in range(operations):
        E.value[first + n] = differentiate(P.operation[n], E.value[P.first[n]], E.value[P.second[n]], P.number[n], E.partial, n * PARTIALS)
    for o in range(P.output.shape[0]):
        F.u[o] = E.value[P.output[o]]
        if not finite_number(F.u[o]):
            if strict or P.depends_on[o] != 2:
                return BAD_OUTPUT + o
            F.u[o] = math.nan
        elif order >= GRADIENTS and not differentiate_output(T, W, P, E, o, order, F.rate, F.bias, F.G, F.H):
            if strict:
                return BAD_OUTPUT + o
            F.rate[o] = F.bias[o] = 0.0
            for j in range(P.support[o], P.support[o + 1]):
                F.G[o, P.supported[j]] = 0.0
    return OK


@kernel
def finite_number(x):
    """Whether a number is finite."""
    return x - x == 0.0


@outlined
def differentiate_output(T, W, P, E, o, order, rate, bias, G, H):
    """Gradient, rate and bias of one output, and its Hessian with order 2. Returns whether they are finite."""
    size, n_hat = P.support[o + 1] - P.support[o], G.shape[1]
    compute_adjoints(P, E, o)
    if order == HESSIANS or P.depends_on[o] == 0:
        push_arcs(P, E, o)
    spread_gradients(P, E, o, size)
    total_rate = total_bias = 0.0
    local = 0
    for j in range(size):
        E.block[j] = 0.0
    for n in range(P.used[o], P.used[o + 1]):
        s = P.used_source[n]
        for k in range(P.scalar[s], P.scalar[s + 1]):
            f = E.adjoint[k]
            if P.depends_on[o] == 2:
                if is_acceleration(P.kind[s]):
                    add_row(E.block, E.row, local * size, f, size)
            elif P.depends_on[o] == 1:
                total_bias += f * (E.bias[k] if is_velocity(P.kind[s]) else E.rate[k])
                if is_velocity(P.kind[s]):
                    add_row(E.block, E.row, local * size, f, size)
            else:
                total_rate += f * E.rate[k]
                total_bias += f * E.bias[k]
                add_row(E.block, E.row, local * size, f, size)
            local += 1
    unfinite, at = 0.0, P.support[o]
    for j in range(size):
        x = E.block[index(j)]
        G[index(o), index(P.supported[index(at + j)])] = x
        unfinite += x - x
    good = unfinite == 0.0
    if P.depends_on[o] == 0:
        total_bias += arc_bias(P, E, o)
    else:
        if P.depends_on[o] == 2:
            total_bias = linear_part_left(P, E, G, o)
        total_rate = total_bias
    rate[o], bias[o] = total_rate, total_bias
    if order == HESSIANS and P.depends_on[o] == 0:
        good = hessian_of_output(T, W, P, E, o, size, n_hat, H) and good
    return good and finite_number(total_bias)


@kernel
def is_velocity(kind):
    """Whether a source depends on velocities."""
    return (kind >= JOINT_RATE and kind <= ANGULAR_VELOCITY) or kind >= MOMENTUM


@kernel
def is_acceleration(kind):
    """Whether a source depends on accelerations."""
    return kind >= MOMENTUM_RATE


@kernel
def linear_part_left(P, E, G, o):
    """u − G v̇ of a function of accelerations."""
    left = E.value[P.output[o]]
    for j in range(P.support[o], P.support[o + 1]):
        k = P.supported[j]
        if k < E.acceleration.shape[0]:
            left -= G[o, k] * E.acceleration[k]
    return left


@kernel
def add_row(out, rows, start, factor, size):
    """out[:size] += factor * rows[start : start + size]."""
    for j in range(size):
        out[index(j)] += factor * rows[index(start + j)]


@outlined
def compute_adjoints(P, E, o):
    """Adjoints of all scalars that an output depends on."""
    first = E.value.shape[0] - P.operation.shape[0]
    for n in range(P.used[o], P.used[o + 1]):
        s = P.used_source[n]
        for k in range(P.scalar[s], P.scalar[s + 1]):
            E.adjoint[k] = 0.0
    for r in range(P.reverse[o], P.reverse[o + 1]):
        n = P.reverse_operation[r]
        E.adjoint[first + n] = E.adjoint[P.first[n]] = E.adjoint[P.second[n]] = 0.0
        E.live[first + n] = E.live[P.first[n]] = E.live[P.second[n]] = 0
    E.adjoint[P.output[o]] = 1.0
    E.live[P.output[o]] = 1
    for r in range(P.reverse[o], P.reverse[o + 1]):
        n = P.reverse_operation[r]
        if E.live[first + n]:
            f, a, b = E.adjoint[first + n], E.partial[n * PARTIALS + D_A], E.partial[n * PARTIALS + D_B]
            selects = a == 0.0 or b == 0.0
            if selects:
                selects = P.operation[n] in (MINIMUM, MAXIMUM, IF_POSITIVE, LESSER)
            if not (selects and a == 0.0):
                E.live[P.first[n]] = 1
                E.adjoint[P.first[n]] += f * a
            if P.binary[n] and not (selects and b == 0.0):
                E.live[P.second[n]] = 1
                E.adjoint[P.second[n]] += f * b


@outlined
def push_arcs(P, E, o):
    """Second derivatives by pairs of scalars, from the output down to components of sources.

    Arcs of operations that are not selected are zero, whatever the derivatives of these; of others, compute_adjoints found these finite.
    """
    first = E.value.shape[0] - P.operation.shape[0]
    for a in range(P.arc[o], P.arc[o + 1]):
        E.arc[a] = 0.0
    for t in range(P.step[o], P.step[o + 1]):
        origin = P.origin[t]
        if origin >= 0:
            x = E.arc[origin]
            used = x != 0.0
        else:
            x = E.adjoint[first - 1 - origin]
            used = E.live[first - 1 - origin] == 1
        if used:
            E.arc[P.target[t]] += P.factor[t] * x * E.partial[P.partial_a[t]] * E.partial[P.partial_b[t]]


@outlined
def spread_gradients(P, E, o, size):
    """Gradients of the components of an output's sources as rows over its support, and E.place."""
    local = 0
    at = P.support[o]
    for j in range(size):
        E.place[index(P.supported[index(at + j)])] = j
    for n in range(P.used[o], P.used[o + 1]):
        s = P.used_source[n]
        for k in range(P.scalar[s + 1] - P.scalar[s]):
            row = (local + k) * size
            for j in range(size):
                E.row[index(row + j)] = 0.0
            for c in range(P.column[s], P.column[s + 1]):
                E.row[index(row + E.place[index(P.velocity[index(c)])])] = E.gradient[index(c), k]
        local += P.scalar[s + 1] - P.scalar[s]


@kernel
def arc_bias(P, E, o):
    """Σ f_ab ẋ_a ẋ_b."""
    total = 0.0
    for p in range(P.pair[o], P.pair[o + 1]):
        x = E.arc[P.pair_arc[p]] * E.rate[P.pair_scalar_a[p]] * E.rate[P.pair_scalar_b[p]]
        total += x if P.pair_a[p] == P.pair_b[p] else 2.0 * x
    return total


@outlined
def hessian_of_output(T, W, P, E, o, size, n_hat, H):
    """Hessian of one output, over its support. Returns whether it is finite."""
    block = E.block
    for j in range(size * size):
        block[index(j)] = 0.0
    components = 0
    for n in range(P.used[o], P.used[o + 1]):
        s = P.used_source[n]
        k = P.scalar[s]
        three = P.scalar[s + 1] - k == 3
        f = Vec3(E.adjoint[k], E.adjoint[k + 1] if three else 0.0, E.adjoint[k + 2] if three else 0.0)
        add_source_hessian(T, W, P, E, s, f, size)
        components += P.scalar[s + 1] - k
    if P.pair[o + 1] > P.pair[o]:
        add_pairs(P, E, o, size, components)
    total = 0.0
    start, at = o * n_hat * n_hat, P.support[o]
    for i in range(size):
        row = start + P.supported[index(at + i)] * n_hat
        for j in range(size):
            x = block[index(i * size + j)]
            total += x - x
            H[index(row + P.supported[index(at + j)])] = x
    return total == 0.0


@kernel
def add_pairs(P, E, o, size, components):
    """E.block += Σ f_ab g_a g_bᵀ."""
    product, rows, block = E.product, E.row, E.block
    for j in range(components * size):
        product[index(j)] = 0.0
    for p in range(P.pair[o], P.pair[o + 1]):
        x, a, b = E.arc[P.pair_arc[p]], P.pair_a[p] * size, P.pair_b[p] * size
        for j in range(size):
            product[index(a + j)] += x * rows[index(b + j)]
        if a != b:
            for j in range(size):
                product[index(b + j)] += x * rows[index(a + j)]
    for a in range(components):
        for i in range(size):
            x = rows[index(a * size + i)]
            if x != 0.0:
                for j in range(size):
                    block[index(i * size + j)] += x * product[index(a * size + j)]
