"""Least squares by levels of priority: kernels [EGC] 4.2, 5.2.

Of all x with G x = y the one with the least |z|, x = x₀ + T z; lower levels act in the null space of those above. Householder reflections
from the right turn the rows of every level, as far as they are independent, into a lower triangular matrix in the first of the remaining
unknowns; the others are the null space. Near singularities the inverse of functions is damped in proportion to their error [Chan & Lawrence
1988], or small singular values are left out.
"""

from __future__ import annotations

import math

from brachiate.animation.arrays import DENSE, EXACT, LEVELS, TRUNCATED, UNKNOWNS, open_levels
from brachiate.compiled import Key, entry, index, kernel, outlined
from brachiate.model.status import OK

#: Length of a remaining row over the size of its level that counts as independent.
RANK_TOLERANCE = 1e-9
#: Singular value of gradients of unit length below which a combination of functions is damped: it would take one over this of joint
#: motion. Functions of lower priority yield earlier, before those above bring the body to a singular posture.
SINGULAR, SINGULAR_LOWER = 0.02, 0.3
#: Length of a gradient [per rad or m] below which a function is damped: that of (φ - a)² vanishes at its target, and nothing is to be
#: divided by it.
VANISHING = 1e-3
_EPSILON, _TINY = 1e-16, 1e-100
_MAX_SWEEPS = 30


@outlined
def solve_levels(L, bounded):
    """L.x nearest to L.preferred that satisfies every level as far as those above it allow.

    With ``bounded``, coordinates flagged in L.held are at L.bound, before all functions, after all exact levels.
    """
    n, rank, singular, fixed = L.size[UNKNOWNS], 0, SINGULAR, -1
    for k in range(n):
        L.x[k] = L.preferred[k]
    waiting = bounded
    for level in range(L.size[LEVELS]):
        start, kind = L.start[level], L.kind[level]
        if kind != EXACT and fixed < 0:  # the first level of functions
            fixed = rank
            if waiting:
                rank = solve_held(L, n, rank)
            waiting = False
        m = L.start[level + 1] - start
        if m == 0 or rank == n:
            continue
        size = project_rows(L, n, start, m, rank, fixed)
        if kind == EXACT:
            rank = solve_exact(L, n, m, rank, size)
        else:
            solve_damped(L, n, start, m, rank, singular, kind)
            singular = SINGULAR_LOWER
            if level + 1 < L.size[LEVELS]:
                rank += triangularize(L, n, m, rank, RANK_TOLERANCE * size)
    if waiting:
        solve_held(L, n, rank)


@outlined
def put_scaled_row(L, n, source, at, out):
    """L.left[out:] ← row L.row[at:] times T, or with source < n the unit row of that unknown times T."""
    if L.size[DENSE]:
        for j in range(n):
            L.left[index(out + j)] = 0.0
        for i in range(n):
            g = (1.0 if i == source else 0.0) if source < n else L.row[index(at + i)]
            if g != 0.0:
                for j in range(n):
                    L.left[index(out + j)] += g * L.dense[index(i * n + j)]
    elif source < n:
        for j in range(n):
            L.left[index(out + j)] = 0.0
        L.left[index(out + source)] = L.scale[source]
    else:
        for j in range(n):
            L.left[index(out + j)] = L.row[index(at + j)] * L.scale[index(j)]


@outlined
def reflect(L, n, first, rank, out):
    """Apply the reflections from ``first`` to ``rank`` to a row of L.left."""
    for k in range(first, rank):
        s = 0.0
        for j in range(k, n):
            s += L.reflector[index(k * n + j)] * L.left[index(out + j)]
        s *= L.reflector_scale[k]
        for j in range(k, n):
            L.left[index(out + j)] -= s * L.reflector[index(k * n + j)]


@outlined
def project_rows(L, n, start, m, rank, fixed):
    """Rows of a level in L.left, right-hand sides left by the levels above, and lengths of the gradients. Returns the size of the rows.

    Lengths are measured in what the ``fixed`` unknowns of exact levels leave free; the rank tolerance bounds them from below.
    """
    total = 0.0
    for i in range(m):
        at, out = (start + i) * n, i * n
        put_scaled_row(L, n, n, at, out)
        s = whole = length = 0.0
        for j in range(n):
            s += L.row[index(at + j)] * L.x[index(j)]
            whole += L.left[index(out + j)] * L.left[index(out + j)]
        total += whole
        L.wanted[i] = L.target[start + i] - s
        reflect(L, n, 0, rank, out)
        for j in range(max(fixed, 0), n):
            length += L.left[index(out + j)] * L.left[index(out + j)]
        L.length[i] = max(math.sqrt(length), RANK_TOLERANCE * math.sqrt(whole))
    return math.sqrt(total)


@outlined
def triangularize(L, n, m, rank, tolerance):
    """Reflections that turn the m rows of L.left, the longest first, into a lower triangular matrix from column ``rank`` on.

    Returns how many rows are independent; right-hand sides are exchanged with their rows.
    """
    for r in range(min(m, n - rank)):
        k, best, longest = rank + r, r, -1.0
        for i in range(r, m):
            s = 0.0
            for j in range(k, n):
                s += L.left[index(i * n + j)] * L.left[index(i * n + j)]
            if s > longest:
                best, longest = i, s
        length = math.sqrt(longest)
        if not length > tolerance:
            return r
        if best != r:
            L.wanted[r], L.wanted[best] = L.wanted[best], L.wanted[r]
            for j in range(rank, n):
                L.left[index(r * n + j)], L.left[index(best * n + j)] = L.left[index(best * n + j)], L.left[index(r * n + j)]
        head = L.left[index(r * n + k)]
        end = -length if head > 0.0 else length
        for j in range(k, n):
            L.reflector[index(k * n + j)] = L.left[index(r * n + j)]
        L.reflector[index(k * n + k)] = head - end
        L.reflector_scale[k] = 1.0 / (length * (length + abs(head)))
        L.left[index(r * n + k)] = end
        for j in range(k + 1, n):
            L.left[index(r * n + j)] = 0.0
        for i in range(r + 1, m):
            reflect(L, n, k, k + 1, i * n)
    return min(m, n - rank)


@outlined
def solve_exact(L, n, m, rank, size):
    """Pseudoinverse of the rows of L.left, applied to L.wanted; L.x follows. Returns the new rank."""
    found = triangularize(L, n, m, rank, RANK_TOLERANCE * size)
    for k in range(n):
        L.z[k] = 0.0
    if found < m:
        solve_overdetermined(L, n, m, rank, found)
    else:
        for i in range(found):
            s = L.wanted[i]
            for j in range(i):
                s -= L.left[index(i * n + rank + j)] * L.z[rank + j]
            L.z[rank + i] = s / L.left[index(i * n + rank + i)]
    add_step(L, n, rank + found)
    return rank + found


@outlined
def solve_overdetermined(L, n, m, rank, columns):
    """L.z ← least-squares solution with the first columns of the remaining rows, by reflections from the left."""
    for j in range(columns):
        s = 0.0
        for i in range(j, m):
            s += L.left[index(i * n + rank + j)] * L.left[index(i * n + rank + j)]
        length, head = math.sqrt(s), L.left[index(j * n + rank + j)]
        end = -length if head > 0.0 else length
        scale = 1.0 / (length * (length + abs(head)))
        L.left[index(j * n + rank + j)] = head - end
        for c in range(j + 1, columns):
            s = 0.0
            for i in range(j, m):
                s += L.left[index(i * n + rank + j)] * L.left[index(i * n + rank + c)]
            for i in range(j, m):
                L.left[index(i * n + rank + c)] -= scale * s * L.left[index(i * n + rank + j)]
        s = 0.0
        for i in range(j, m):
            s += L.left[index(i * n + rank + j)] * L.wanted[i]
        for i in range(j, m):
            L.wanted[i] -= scale * s * L.left[index(i * n + rank + j)]
        L.left[index(j * n + rank + j)] = end
    for i in range(columns - 1, -1, -1):
        s = L.wanted[i]
        for j in range(i + 1, columns):
            s -= L.left[index(i * n + rank + j)] * L.z[rank + j]
        L.z[rank + i] = s / L.left[index(i * n + rank + i)]


@outlined
def add_step(L, n, rank):
    """L.x += T Q L.z with the first ``rank`` reflections Q."""
    for k in range(rank - 1, -1, -1):
        s = 0.0
        for j in range(k, n):
            s += L.reflector[index(k * n + j)] * L.z[index(j)]
        s *= L.reflector_scale[k]
        for j in range(k, n):
            L.z[index(j)] -= s * L.reflector[index(k * n + j)]
    if L.size[DENSE]:
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += L.dense[index(i * n + j)] * L.z[index(j)]
            L.x[i] += s
    else:
        for k in range(n):
            L.x[k] += L.scale[k] * L.z[k]


@outlined
def solve_held(L, n, rank):
    """Bring the coordinates that are held to their bounds, as far as the levels above allow. Returns the new rank."""
    m, total = 0, 0.0
    for k in range(n):
        if L.held[k]:
            put_scaled_row(L, n, k, 0, m * n)
            for j in range(n):
                total += L.left[index(m * n + j)] * L.left[index(m * n + j)]
            L.wanted[m] = L.bound[k] - L.x[k]
            reflect(L, n, 0, rank, m * n)
            m += 1
    if m == 0 or rank == n:
        return rank
    return solve_exact(L, n, m, rank, math.sqrt(total))


# --- damping ------------------------------------------------------------------------------------------


@kernel
def filtered(x, limit):
    """Damping of squared singular values x: none above a limit, smoothly growing to the limit itself at zero."""
    s = max(1.0 - x / limit, 0.0)
    return limit * s * s


@outlined
def solve_damped(L, n, start, m, rank, singular, kind):
    """Solution of the rows of L.left, damped: rows by their error, and combinations of rows that are nearly dependent; L.x follows.

    Rows are divided by the lengths of the gradients in what exact levels leave free, so that a row of which other functions leave little
    counts as dependent. Combinations with a singular value below ``singular`` are damped, or left out if the kind is TRUNCATED.
    """
    for i in range(m):
        length = L.length[i]
        if kind == TRUNCATED:
            scale = 1.0 / length if length > VANISHING else 0.0
            L.wanted[i] *= scale
        else:
            scale = 1.0 / length if length > _TINY else 0.0
            L.wanted[i] *= length / (length * length + L.damping[start + i] + filtered(length * length, VANISHING * VANISHING))
        L.part[i] = scale
    for i in range(m):
        for j in range(i + 1):
            s = 0.0
            for k in range(rank, n):
                s += L.left[index(i * n + k)] * L.left[index(j * n + k)]
            s *= L.part[i] * L.part[j]
            L.normal[index(i * m + j)] = L.normal[index(j * m + i)] = s
    if regular(L, m, singular * singular):
        solve_cholesky(L, m)
    else:
        solve_by_eigenvectors(L, m, singular * singular, kind)
    for k in range(rank):
        L.z[k] = 0.0
    for k in range(rank, n):
        s = 0.0
        for i in range(m):
            s += L.left[index(i * n + k)] * L.part[i] * L.wanted[i]
        L.z[k] = s
    add_step(L, n, rank)


@outlined
def cholesky(L, m, shift):
    """L.vectors ← Cholesky factor of L.normal - shift. Returns whether that is positive definite."""
    for i in range(m):
        for j in range(i + 1):
            s = L.normal[index(i * m + j)] - (shift if i == j else 0.0)
            for k in range(j):
                s -= L.vectors[index(i * m + k)] * L.vectors[index(j * m + k)]
            if i > j:
                L.vectors[index(i * m + j)] = s / L.vectors[index(j * m + j)]
            elif s > 0.0:
                L.vectors[index(i * m + i)] = math.sqrt(s)
            else:
                return False
    return True


@kernel
def regular(L, m, limit):
    """Whether all eigenvalues of L.normal are above a limit: then L.vectors is its Cholesky factor."""
    return cholesky(L, m, limit) and cholesky(L, m, 0.0)


@outlined
def solve_cholesky(L, m):
    """L.wanted ← L.normal⁻¹ L.wanted with the factor."""
    for i in range(m):
        s = L.wanted[i]
        for j in range(i):
            s -= L.vectors[index(i * m + j)] * L.wanted[j]
        L.wanted[i] = s / L.vectors[index(i * m + i)]
    for i in range(m - 1, -1, -1):
        s = L.wanted[i]
        for j in range(i + 1, m):
            s -= L.vectors[index(j * m + i)] * L.wanted[j]
        L.wanted[i] = s / L.vectors[index(i * m + i)]


@outlined
def solve_by_eigenvectors(L, m, limit, kind):
    """L.wanted ← inverse of L.normal, its eigenvalues below a limit damped or left out, times L.wanted."""
    symmetric_eigenvectors(L, m)
    for k in range(m):
        s = 0.0
        for i in range(m):
            s += L.vectors[index(i * m + k)] * L.wanted[i]
        size = max(L.normal[index(k * m + k)], 0.0)
        if kind == TRUNCATED:
            L.length[k] = s / size if size > limit else 0.0
        else:
            L.length[k] = s / (size + filtered(size, limit))
    for i in range(m):
        s = 0.0
        for k in range(m):
            s += L.vectors[index(i * m + k)] * L.length[k]
        L.wanted[i] = s


@outlined
def symmetric_eigenvectors(L, m):
    """L.normal ← diagonal of its eigenvalues, L.vectors ← eigenvectors as columns: cyclic Jacobi rotations."""
    A, U = L.normal, L.vectors
    for i in range(m):
        for j in range(m):
            U[index(i * m + j)] = 1.0 if i == j else 0.0
    for _ in range(_MAX_SWEEPS):
        off = size = 0.0
        for i in range(m):
            size += A[index(i * m + i)] * A[index(i * m + i)]
            for j in range(i):
                off += A[index(i * m + j)] * A[index(i * m + j)]
        if not off > _EPSILON * _EPSILON * size:
            break
        for p in range(m):
            for q in range(p + 1, m):
                if A[index(p * m + q)] != 0.0:
                    rotate(A, U, m, p, q)


@kernel
def rotate(A, U, m, p, q):
    """Rotation in the plane of two axes that makes their entry of A zero."""
    x = A[index(p * m + q)]
    ratio = (A[index(q * m + q)] - A[index(p * m + p)]) / (2.0 * x)
    t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    if ratio < 0.0:
        t = -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(m):
        a, b = A[index(k * m + p)], A[index(k * m + q)]
        A[index(k * m + p)], A[index(k * m + q)] = c * a - s * b, s * a + c * b
        a, b = U[index(k * m + p)], U[index(k * m + q)]
        U[index(k * m + p)], U[index(k * m + q)] = c * a - s * b, s * a + c * b
    for k in range(m):
        a, b = A[index(p * m + k)], A[index(q * m + k)]
        A[index(p * m + k)], A[index(q * m + k)] = c * a - s * b, s * a + c * b
    A[index(p * m + q)] = A[index(q * m + p)] = 0.0


# --- bounds -------------------------------------------------------------------------------------------


@outlined
def solve_within_bounds(L):
    """As :func:`solve_levels`, within L.lower ≤ x ≤ L.upper: coordinates beyond a bound are held there, before all functions.

    A coordinate is released again if it would move inside, the others as they are. Exact levels come before bounds.
    """
    n = L.size[UNKNOWNS]
    for k in range(n):
        L.held[k] = 0
    solve_levels(L, False)
    for _ in range(2 * n):
        worst, most = -1, 0.0
        for k in range(n):
            beyond = max(L.lower[k] - slack(L.lower[k]) - L.x[k], L.x[k] - L.upper[k] - slack(L.upper[k]))
            if beyond > most and not L.held[k]:
                worst, most = k, beyond
        if worst < 0:
            return
        L.held[worst] = 1
        L.bound[worst] = L.lower[worst] if L.x[worst] < L.lower[worst] else L.upper[worst]
        for k in range(n):
            if L.held[k] and k != worst:
                L.held[k] = 0
                solve_levels(L, True)
                if not (L.x[k] > L.lower[k] and L.x[k] < L.upper[k]):
                    L.held[k] = 1
        solve_levels(L, True)


@kernel
def slack(bound):
    """Round-off that a bound tolerates."""
    return 1e-9 * (1.0 + abs(bound)) if abs(bound) < math.inf else 0.0


@entry
def solve_problem(key: Key, bounded: bool):
    """Solve one problem: levels, with ``bounded`` within its bounds."""
    (L,) = open_levels(key)
    if bounded:
        solve_within_bounds(L)
    else:
        solve_levels(L, False)
    return OK
