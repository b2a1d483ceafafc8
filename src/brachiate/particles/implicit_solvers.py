"""Linear equations of implicit steps: banded Cholesky factor (O(n) for chains) and preconditioned conjugate gradients."""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel, outlined
from brachiate.spatial import Vec3, put_vec3, vec3

LINEAR_TOLERANCE = 1e-6  # of conjugate gradients, relative to the right-hand side
MAX_ITERATIONS = 2000  # of conjugate gradients


@outlined
def band_solve(C, L, J, S):
    """S.right ← A⁻¹ S.right by a Cholesky factor within the band. Returns whether A is positive definite."""
    assemble_band(C, L, J, S)
    width, rows = S.size[0], S.solution.shape[0]
    for n in range(C.x.shape[0]):
        at = 3 * S.order[n]
        S.solution[at], S.solution[at + 1], S.solution[at + 2] = S.right[n, 0], S.right[n, 1], S.right[n, 2]
    if not factor_band(S.band, width, rows):
        return False
    substitute_band(S.band, width, rows, S.solution)
    for n in range(C.x.shape[0]):
        at = 3 * S.order[n]
        S.right[n, 0], S.right[n, 1], S.right[n, 2] = S.solution[at], S.solution[at + 1], S.solution[at + 2]
    return True


@outlined
def assemble_band(C, L, J, S):
    """S.band: the matrix by rows; entry (i, j) is at i (w+1) + j - i + w."""
    width = S.size[0]
    for n in range(S.band.shape[0]):
        S.band[n] = 0.0
    for n in range(C.x.shape[0]):
        add_block(S, width, S.order[n], S.order[n], S.diagonal, n, 1.0)
    for k in range(L.ends.shape[0]):
        i, j = L.ends[k, 0], L.ends[k, 1]
        if C.inverse_mass[i] != 0.0 and C.inverse_mass[j] != 0.0:
            add_block(S, width, S.order[i], S.order[j], S.link, k, -1.0)
    for k in range(J.particles.shape[0]):
        if S.joint[k] != 0.0:
            for a in range(3):
                for b in range(a):
                    i, j = J.particles[k, a], J.particles[k, b]
                    if C.inverse_mass[i] != 0.0 and C.inverse_mass[j] != 0.0:
                        add_product(S, width, S.order[i], S.order[j], S.joint[k], 3 * k + a, 3 * k + b)


@kernel
def place(width, i, j):
    """Place of entry (i, j), j ≤ i, in the band."""
    return i * (width + 1) + j - i + width


@kernel
def add_block(S, width, i, j, a, k, sign):
    """Add a symmetric block to the lower triangle."""
    i, j = 3 * max(i, j), 3 * min(i, j)
    for r in range(3):
        for c in range(3):
            if j + c <= i + r:
                entry = r if r == c else 6 - r - c  # yz, xz, xy at 3, 4, 5
                S.band[place(width, i + r, j + c)] += sign * a[k, entry]


@kernel
def add_product(S, width, i, j, s, a, b):
    """Add s g_a g_bᵀ, of different particles."""
    if i < j:
        i, j, a, b = j, i, b, a
    for r in range(3):
        for c in range(3):
            S.band[place(width, 3 * i + r, 3 * j + c)] += s * S.gradient[a, r] * S.gradient[b, c]


@outlined
def factor_band(A, width, rows):
    """Cholesky factor in place, with inverse diagonal. Returns whether the matrix is positive definite."""
    for i in range(rows):
        first = max(0, i - width)
        for j in range(first, i + 1):
            start = max(first, j - width)
            p, q = index(place(width, i, start)), index(place(width, j, start))
            total = A[place(width, i, j)]
            for _ in range(j - start):
                total -= A[p] * A[q]
                p, q = p + index(1), q + index(1)
            if i == j:
                if not total > 0.0:
                    return False
                A[place(width, i, i)] = 1.0 / math.sqrt(total)
            else:
                A[place(width, i, j)] = total * A[place(width, j, j)]
    return True


@outlined
def substitute_band(A, width, rows, x):
    """x ← (L Lᵀ)⁻¹ x."""
    for i in range(rows):
        total = x[i]
        for j in range(max(0, i - width), i):
            total -= A[place(width, i, j)] * x[j]
        x[i] = total * A[place(width, i, i)]
    for i in range(rows - 1, -1, -1):
        x[i] *= A[place(width, i, i)]
        for j in range(max(0, i - width), i):
            x[j] -= A[place(width, i, j)] * x[i]


@outlined
def conjugate_gradients(C, L, J, S):
    """S.right ← A⁻¹ S.right by conjugate gradients, preconditioned by the diagonal blocks. Returns whether it converged.

    S.z: solution; S.right: residual; S.p: direction; S.q: product.
    """
    n = C.x.shape[0]
    start, rho = 0.0, 0.0
    for i in range(n):
        r = vec3(S.right, i)
        put_vec3(S.z, i, Vec3(0.0, 0.0, 0.0))
        start += r @ r
    square = start
    for iteration in range(MAX_ITERATIONS):
        if not square > LINEAR_TOLERANCE * LINEAR_TOLERANCE * start:
            break
        before, rho = rho, 0.0
        for i in range(n):
            rho += vec3(S.right, i) @ block_solve(S.diagonal, i, vec3(S.right, i))
        beta = rho / before if iteration > 0 else 0.0
        for i in range(n):
            step = block_solve(S.diagonal, i, vec3(S.right, i))
            put_vec3(S.p, i, step + beta * vec3(S.p, i) if iteration > 0 else step)
        curvature = multiply(C, L, J, S)
        if not curvature > 0.0:
            return False
        alpha, square = rho / curvature, 0.0
        for i in range(n):
            put_vec3(S.z, i, vec3(S.z, i) + alpha * vec3(S.p, i))
            r = vec3(S.right, i) - alpha * vec3(S.q, i)
            put_vec3(S.right, i, r)
            square += r @ r
    for i in range(n):
        put_vec3(S.right, i, vec3(S.z, i))
    return True


@outlined
def multiply(C, L, J, S):
    """S.q ← A S.p; returns pᵀAp."""
    for i in range(C.x.shape[0]):
        put_vec3(S.q, i, times_block(S.diagonal, i, vec3(S.p, i)))
    for k in range(L.ends.shape[0]):
        i, j = L.ends[k, 0], L.ends[k, 1]
        if C.inverse_mass[i] != 0.0 and C.inverse_mass[j] != 0.0:
            put_vec3(S.q, i, vec3(S.q, i) - times_block(S.link, k, vec3(S.p, j)))
            put_vec3(S.q, j, vec3(S.q, j) - times_block(S.link, k, vec3(S.p, i)))
    for k in range(J.particles.shape[0]):
        for a in range(3):
            for b in range(3):
                i, j = J.particles[k, a], J.particles[k, b]
                if a != b and C.inverse_mass[i] != 0.0 and C.inverse_mass[j] != 0.0:
                    pull = S.joint[k] * (vec3(S.gradient, 3 * k + b) @ vec3(S.p, j))
                    put_vec3(S.q, i, vec3(S.q, i) + pull * vec3(S.gradient, 3 * k + a))
    total = 0.0
    for i in range(C.x.shape[0]):
        total += vec3(S.p, i) @ vec3(S.q, i)
    return total


@kernel
def times_block(a, k, v):
    """Product of a symmetric block and a vector."""
    return Vec3(
        a[k, 0] * v.x + a[k, 5] * v.y + a[k, 4] * v.z,
        a[k, 5] * v.x + a[k, 1] * v.y + a[k, 3] * v.z,
        a[k, 4] * v.x + a[k, 3] * v.y + a[k, 2] * v.z,
    )


@kernel
def block_solve(a, k, v):
    """Product of the inverse of a symmetric block and a vector."""
    xx, yy, zz, yz, xz, xy = a[k, 0], a[k, 1], a[k, 2], a[k, 3], a[k, 4], a[k, 5]
    cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    inverse = 1.0 / (xx * cx + xy * cy + xz * cz)
    dy, dz, ez = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    return inverse * Vec3(cx * v.x + cy * v.y + cz * v.z, cy * v.x + dy * v.y + dz * v.z, cz * v.x + dz * v.y + ez * v.z)
