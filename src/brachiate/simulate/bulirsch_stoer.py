"""Bulirsch-Stoer integration: extrapolated modified midpoint rule with step-size control [HNW] II.9, [EGC]."""

from __future__ import annotations

from brachiate.compiled import Key, Matrix, entry, kernel
from brachiate.constraints.limits import limit_passed
from brachiate.kinematics import finite
from brachiate.model.arrays import open_model
from brachiate.model.status import LIMIT_PASSED, NOT_CONVERGED, NOT_FINITE, OK
from brachiate.simulate.integrator_kernels import (
    error_norm,
    is_valid_start,
    open_integrator_arrays,
    pack_state,
    project_state,
    record_state,
    state_rate,
    unpack_state,
)

MIDPOINT_COLUMNS = 8  # of the extrapolation table: 2, 4, ... 16 sub-steps


@kernel
def midpoint_steps(key, constraint_key, scratch, t, h, count, at):
    """Gragg's modified midpoint rule over a step h in ``count`` parts; the result goes to scratch.k[at:]."""
    m = scratch.y.shape[0]
    d = h / count
    status = state_rate(key, constraint_key, t, scratch.y, scratch.f, 0)
    for c in range(m):
        scratch.e[c] = scratch.y[c]
        scratch.z[c] = scratch.y[c] + d * scratch.f[c]
    for k in range(1, count):
        status = max(status, state_rate(key, constraint_key, t + k * d, scratch.z, scratch.f, 0))
        for c in range(m):
            scratch.e[c], scratch.z[c] = scratch.z[c], scratch.e[c] + 2.0 * d * scratch.f[c]
    status = max(status, state_rate(key, constraint_key, t + h, scratch.z, scratch.f, 0))
    for c in range(m):
        scratch.k[at + c] = 0.5 * (scratch.z[c] + scratch.e[c] + d * scratch.f[c])
    return status


@entry
def run_bulirsch_stoer(
    key: Key, constraint_key: Key | None, limits_key: Key | None, scratch_key: Key,
    t: float, dt: float, n: int, every: int, Q: Matrix, V: Matrix,
):  # fmt: skip
    """Integrate over n·dt by midpoint rules of 2, 4, ... 16 parts extrapolated to zero step, until two columns agree [HNW] II.9, [EGC]."""
    T, W = open_model(key)
    (scratch,) = open_integrator_arrays(scratch_key)
    if not is_valid_start(T, W, constraint_key, dt):
        return NOT_FINITE
    m, begin = scratch.y.shape[0], t
    h = scratch.control[0] if scratch.control[0] > 0.0 else dt
    pack_state(W, scratch.y)
    for recorded in range(n // every + (n % every > 0)):
        start = begin + recorded * every * dt
        t, end = 0.0, (every if (recorded + 1) * every <= n else n % every) * dt
        while t < end:
            if h <= 1e-14 * end:
                return NOT_CONVERGED
            last = t + h >= end * (1.0 - 1e-14)
            step = end - t if last else h
            error, column = 2.0, 0
            for j in range(MIDPOINT_COLUMNS):
                status = midpoint_steps(key, constraint_key, scratch, start + t, step, 2 * (j + 1), j * m)
                if status != OK:
                    return status if finite(scratch.z) else NOT_FINITE
                for k in range(j - 1, -1, -1):  # Neville: column k becomes the extrapolation of k and k + 1
                    r = (j + 1.0) / (k + 1.0)
                    r = 1.0 / (r * r - 1.0)
                    for c in range(m):
                        scratch.e[c] = r * (scratch.k[(k + 1) * m + c] - scratch.k[k * m + c])
                        scratch.k[k * m + c] = scratch.k[(k + 1) * m + c] + scratch.e[c]
                if j > 0:
                    error, column = error_norm(scratch, scratch.y, scratch.e), j
                    if error <= 1.0:
                        break
            if error - error != 0.0:
                return NOT_FINITE
            factor = min(4.0, max(0.1, 0.9 * (error + 1e-12) ** (-1.0 / (2 * column + 1))))
            if error > 1.0:
                h = step * min(0.5, factor)
                continue
            for c in range(m):
                scratch.y[c] = scratch.k[c]
            t = end if last else t + step
            if constraint_key is not None:
                unpack_state(T, W, scratch.y)
                status = project_state(key, constraint_key, start + t)
                if status != OK:
                    return status
                pack_state(W, scratch.y)
            if not last:  # fewer columns than planned: the next step may be longer
                h = step * (min(factor, 1.0) if column >= MIDPOINT_COLUMNS - 2 else max(1.1, factor))
                scratch.control[0] = h
        unpack_state(T, W, scratch.y)
        if (recorded + 1) * every <= n:
            record_state(W, recorded, Q, V)
    if limits_key is not None and limit_passed(key, constraint_key, limits_key, n):
        return LIMIT_PASSED
    return OK
