"""Evaluator of programs: values, gradients, Hessians and biases of functions, to second order.

Operations are differentiated in reverse, by the components of sources they depend on: adjoints f_a = ∂u/∂x_a, and second derivatives f_ab
by edge pushing [Gower & Mello 2012], whose pattern was found when the program was made. With gradients g_a and Hessians H_a of components,

    G = Σ f_a g_a,   H = Σ f_a H_a + Σ f_ab g_a g_bᵀ,   vᵀHv = Σ f_a (vᵀH_a v) + Σ f_ab ẋ_a ẋ_b.
"""

from __future__ import annotations

from brachiate.compiled import Floats, Key, Matrix, entry, index, kernel, outlined
from brachiate.functions.arrays import ANGULAR_VELOCITY, JOINT_RATE, MOMENTUM, Derivatives, open_program
from brachiate.functions.operations import D_A, D_B, PARTIALS, differentiate
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
    v̇ = 0.
    """
    T, W, P, E = open_program(key)
    return evaluate_functions(T, W, P, E, order, Derivatives(u, rate, bias, G, H))


@outlined
def evaluate_functions(T, W, P, E, order, F):
    """Evaluate a program at (W.q, W.v): see :func:`evaluate`."""
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    update_sources(T, W, P, E)
    operations, scalars = P.operation.shape[0], E.value.shape[0]
    first = scalars - operations
    for n in range(operations):
        E.value[first + n] = differentiate(P.operation[n], E.value[P.first[n]], E.value[P.second[n]], P.number[n], E.partial, n * PARTIALS)
    for o in range(P.output.shape[0]):
        F.u[o] = E.value[P.output[o]]
        bad = not finite_number(F.u[o])
        if order >= GRADIENTS:
            bad = bad or not differentiate_output(T, W, P, E, o, order, F.rate, F.bias, F.G, F.H)
        if bad:
            return BAD_OUTPUT + o
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
    if order == HESSIANS or not P.of_velocity[o]:
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
            if P.of_velocity[o]:
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
    if not P.of_velocity[o]:
        total_bias += arc_bias(P, E, o)
    else:
        total_rate = total_bias
    rate[o], bias[o] = total_rate, total_bias
    if order == HESSIANS and not P.of_velocity[o]:
        good = hessian_of_output(T, W, P, E, o, size, n_hat, H) and good
    return good and finite_number(total_bias)


@kernel
def is_velocity(kind):
    """Whether a source depends on velocities."""
    return (kind >= JOINT_RATE and kind <= ANGULAR_VELOCITY) or kind >= MOMENTUM


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
    E.adjoint[P.output[o]] = 1.0
    for r in range(P.reverse[o], P.reverse[o + 1]):
        n = P.reverse_operation[r]
        f = E.adjoint[first + n]
        E.adjoint[P.first[n]] += f * E.partial[n * PARTIALS + D_A]
        if P.binary[n]:
            E.adjoint[P.second[n]] += f * E.partial[n * PARTIALS + D_B]


@outlined
def push_arcs(P, E, o):
    """Second derivatives by pairs of scalars, from the output down to components of sources."""
    first = E.value.shape[0] - P.operation.shape[0]
    for a in range(P.arc[o], P.arc[o + 1]):
        E.arc[a] = 0.0
    for t in range(P.step[o], P.step[o + 1]):
        origin = P.origin[t]
        x = E.arc[origin] if origin >= 0 else E.adjoint[first - 1 - origin]
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
