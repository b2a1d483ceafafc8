"""What the stages from here on cost at least, and by which controls: a sweep from the last stage to the first.

V(x) = ½ |R (x, 1)|² is what it costs to be in x. Reflections bring the rows of a stage, and R of the next one, to a triangle: its first
lines give u as a function of x, the others are R of this stage. Rows are never squared, so it does not matter how stiff they are, and
the longest entry of a column comes first, so that soft rows are not lost among stiff ones [Powell & Reid 1969].
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel
from brachiate.linalg.simd import add, put

SINGULAR = 1e-14  # of a column's length: what is left of it says nothing


@kernel
def gather(S, k):
    """M = R of the next stage, of what its state becomes; then the rows of this stage that press. Returns how many."""
    N, nx, nu, m, w = S.size[0], S.size[1], S.size[2], S.size[3], S.size[4]
    count = 0
    if k < N:
        one = nu + nx
        for i in range(nx):
            to, ri = count * w, ((k + 1) * nx + i) * w
            for j in range(to, to + w):
                S.M[index(j)] = 0.0
            S.M[index(to + one)] = S.R[index(ri + one)]
            for l in range(i, nx):
                s = S.R[index(ri + nu + l)]
                if s != 0.0:
                    add(S.M, to, s, S.step, (k * nx + l) * w, w)
            S.at[index(count)] = to
            count += 1
    for i in range(S.rows[index(k)]):
        if S.sided[index(k * m + i)] == 0 or S.press[index(k * m + i)] == 1:
            put(S.M, count * w, S.row, (k * m + i) * w, w)
            S.at[index(count)] = count * w
            count += 1
    return count


@kernel
def turn4(S, live, scale, k):
    """M -= scale v (vᵀ M) in four columns of the lines that are live."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for n in range(live):
        p, s = index(S.live[index(n)] + k), S.v[index(n)]
        t0 += s * S.M[p]
        t1 += s * S.M[p + index(1)]
        t2 += s * S.M[p + index(2)]
        t3 += s * S.M[p + index(3)]
    t0, t1, t2, t3 = t0 * scale, t1 * scale, t2 * scale, t3 * scale
    for n in range(live):
        p, s = index(S.live[index(n)] + k), S.v[index(n)]
        x0, x1, x2, x3 = S.M[p] - s * t0, S.M[p + index(1)] - s * t1, S.M[p + index(2)] - s * t2, S.M[p + index(3)] - s * t3
        S.M[p], S.M[p + index(1)], S.M[p + index(2)], S.M[p + index(3)] = x0, x1, x2, x3


@kernel
def turn8(S, live, scale, k):
    """The same in eight columns: two sums at once do not wait for each other."""
    t0, t1, t2, t3, t4, t5, t6, t7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(live):
        p, s = index(S.live[index(n)] + k), S.v[index(n)]
        t0 += s * S.M[p]
        t1 += s * S.M[p + index(1)]
        t2 += s * S.M[p + index(2)]
        t3 += s * S.M[p + index(3)]
        t4 += s * S.M[p + index(4)]
        t5 += s * S.M[p + index(5)]
        t6 += s * S.M[p + index(6)]
        t7 += s * S.M[p + index(7)]
    t0, t1, t2, t3, t4, t5, t6, t7 = t0 * scale, t1 * scale, t2 * scale, t3 * scale, t4 * scale, t5 * scale, t6 * scale, t7 * scale
    for n in range(live):
        p, s = index(S.live[index(n)] + k), S.v[index(n)]
        x0, x1, x2, x3 = S.M[p] - s * t0, S.M[p + index(1)] - s * t1, S.M[p + index(2)] - s * t2, S.M[p + index(3)] - s * t3
        q = p + index(4)
        x4, x5, x6, x7 = S.M[q] - s * t4, S.M[q + index(1)] - s * t5, S.M[q + index(2)] - s * t6, S.M[q + index(3)] - s * t7
        S.M[p], S.M[p + index(1)], S.M[p + index(2)], S.M[p + index(3)] = x0, x1, x2, x3
        S.M[q], S.M[q + index(1)], S.M[q + index(2)], S.M[q + index(3)] = x4, x5, x6, x7


@kernel
def reflect(S, top, count, j):
    """Turn column j of the lines from ``top`` on into the first of them. Says whether there was anything in it."""
    w, live, longest, head, square = S.size[4], 0, top, 0.0, 0.0
    for i in range(top, count):
        a = S.M[index(S.at[index(i)] + j)]
        if a != 0.0:
            S.live[index(live)], S.v[index(live)] = i, a
            live += 1
            square += a * a
            if abs(a) > abs(head):
                longest, head = i, a
    if live == 0:
        return False
    length = math.sqrt(square)
    if not length > SINGULAR * S.slope[index(j)]:
        for n in range(live):
            S.M[index(S.at[index(S.live[index(n)])] + j)] = 0.0
        return False
    S.at[index(top)], S.at[index(longest)] = S.at[index(longest)], S.at[index(top)]
    if live == 1:
        return True
    end = -length if head > 0.0 else length
    for n in range(live):  # lines that are not zero, now by where they begin; the line that was on top is where the longest was
        i = S.live[index(n)]
        if i == longest:
            S.v[index(n)] = head - end
            S.live[index(n)] = S.at[index(top)]
        else:
            S.live[index(n)] = S.at[index(longest)] if i == top else S.at[index(i)]
    scale, k = 1.0 / (length * (length + abs(head))), j - j % 4
    if (w - k) % 8 != 0:
        turn4(S, live, scale, k)
        k += 4
    for i in range(k, w, 8):
        turn8(S, live, scale, i)
    for n in range(live):
        S.M[index(S.live[index(n)] + j)] = 0.0
    S.M[index(S.at[index(top)] + j)] = end
    return True


@kernel
def measure(S, count):
    """Lengths of the columns of M."""
    for k in range(0, S.size[4], 4):
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for n in range(count):
            p = index(S.at[index(n)] + k)
            x0, x1, x2, x3 = S.M[p], S.M[p + index(1)], S.M[p + index(2)], S.M[p + index(3)]
            t0, t1, t2, t3 = t0 + x0 * x0, t1 + x1 * x1, t2 + x2 * x2, t3 + x3 * x3
        q = index(k)
        S.slope[q], S.slope[q + index(1)] = math.sqrt(t0), math.sqrt(t1)
        S.slope[q + index(2)], S.slope[q + index(3)] = math.sqrt(t2), math.sqrt(t3)


@kernel
def sweep(S, last):
    """Gains and R of the stages from ``last`` down to the first, for the rows that press; those after it are as they were."""
    N, nx, nu, w = S.size[0], S.size[1], S.size[2], S.size[4]
    for k in range(last, -1, -1):
        count = gather(S, k)
        measure(S, count)
        top = 0
        if k < N:
            for j in range(S.controls[index(k)]):
                to = (k * nu + j) * w
                if reflect(S, top, count, j):
                    put(S.gain, to, S.M, S.at[index(top)], w)
                    top += 1
                else:  # nothing depends on it
                    for i in range(w):
                        S.gain[index(to + i)] = 0.0
        for l in range(nx):
            to = (k * nx + l) * w
            for i in range(w):
                S.R[index(to + i)] = 0.0
        if k > 0:  # nobody asks what the first state costs
            line = 0
            for l in range(nx):
                if reflect(S, top + line, count, nu + l):
                    put(S.R, (k * nx + line) * w, S.M, S.at[index(top + line)], w)
                    line += 1
