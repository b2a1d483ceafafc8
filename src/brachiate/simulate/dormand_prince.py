"""Dormand-Prince integration: order 5 with step-size control and dense output [DP80], [HNW] II.6."""

from __future__ import annotations

from brachiate.compiled import Key, Matrix, entry, kernel
from brachiate.constraints.limits import limit_passed
from brachiate.model.arrays import open_model
from brachiate.model.status import LIMIT_PASSED, NOT_CONVERGED, NOT_FINITE, OK
from brachiate.simulate.integrator_kernels import (
    error_norm,
    is_valid_start,
    open_integrator_arrays,
    project_state,
    record_state,
    state_rate,
    unpack_state,
)
from brachiate.simulate.runge_kutta import combine, first_stage_rate, stage_state


@entry
def run_dormand_prince(
    key: Key, constraint_key: Key | None, limits_key: Key | None, scratch_key: Key,
    t: float, dt: float, n: int, every: int, Q: Matrix, V: Matrix,
):  # fmt: skip
    """Integrate over n·dt with steps chosen by the error estimate; states recorded every ``every``·dt are dense output."""
    T, W = open_model(key)
    (scratch,) = open_integrator_arrays(scratch_key)
    if not is_valid_start(T, W, constraint_key, dt):
        return NOT_FINITE
    m, s = scratch.y.shape[0], scratch.weights.shape[0]
    begin, t, end, recorded = t, 0.0, n * dt, 0
    h = scratch.control[0] if scratch.control[0] > 0.0 else dt
    status = first_stage_rate(key, constraint_key, scratch, T, W, begin)
    while t < end:
        if h <= 1e-14 * end:
            return NOT_CONVERGED
        last = t + h >= end * (1.0 - 1e-14)
        if last:
            scratch.control[0], h = h, end - t
        for i in range(1, s):
            stage_state(scratch, i, h, scratch.z)  # the last stage is taken at the step's end
            status = max(status, state_rate(key, constraint_key, begin + t + scratch.nodes[i] * h, scratch.z, scratch.k, i * m))
        for c in range(m):
            scratch.e[c] = 0.0
        combine(scratch, scratch.error, h, scratch.e)
        error = error_norm(scratch, scratch.z, scratch.e)
        if error - error != 0.0:
            return NOT_FINITE
        if status != OK:
            return status
        factor = min(5.0, max(0.2, 0.9 * (error + 1e-10) ** -0.2))
        if error > 1.0:
            h *= min(1.0, factor)
            continue
        while (recorded + 1) * every <= n and (recorded + 1) * every * dt <= (t + h) * (1.0 + 1e-14):
            dense_output(scratch, h, ((recorded + 1) * every * dt - t) / h, scratch.e)
            unpack_state(T, W, scratch.e)
            status = max(status, project_state(key, constraint_key, begin + (recorded + 1) * every * dt))
            record_state(W, recorded, Q, V)
            recorded += 1
        t = end if last else t + h
        for c in range(m):
            scratch.y[c], scratch.k[c] = scratch.z[c], scratch.k[(s - 1) * m + c]
        if constraint_key is not None:  # project the state onto the constraints, and recompute its rate
            unpack_state(T, W, scratch.y)
            status = max(
                status, project_state(key, constraint_key, begin + t), first_stage_rate(key, constraint_key, scratch, T, W, begin + t)
            )
        if not last:
            h *= factor
            scratch.control[0] = h
    unpack_state(T, W, scratch.y)
    if limits_key is not None and status == OK and limit_passed(key, constraint_key, limits_key, n):
        return LIMIT_PASSED
    return status


@kernel
def dense_output(scratch, h, x, out):
    """State at the fraction x of the step from scratch.y to scratch.z, to fourth order [HNW] II.6."""
    m, s = scratch.y.shape[0], scratch.weights.shape[0]
    for c in range(m):
        out[c] = 0.0
    combine(scratch, scratch.dense, h, out)
    for c in range(m):
        change = scratch.z[c] - scratch.y[c]
        bend = h * scratch.k[c] - change
        twist = change - h * scratch.k[(s - 1) * m + c] - bend
        out[c] = scratch.y[c] + x * (change + (1.0 - x) * (bend + x * (twist + (1.0 - x) * out[c])))
