"""Explicit Runge-Kutta integration with fixed steps [HNW] II.1."""

from __future__ import annotations

from brachiate.compiled import Key, Matrix, entry, kernel
from brachiate.constraints.constrained_dynamics import COMPUTE_ACCELERATION_AND_RANK
from brachiate.constraints.limits import limit_passed
from brachiate.kinematics import finite
from brachiate.manifold import configuration_rate
from brachiate.model.arrays import open_model
from brachiate.model.status import LIMIT_PASSED, NOT_FINITE, OK
from brachiate.simulate.integrator_kernels import (
    constraint_op_at,
    is_valid_start,
    open_integrator_arrays,
    pack_state,
    project_state,
    record_state,
    save_previous_state,
    state_rate,
    unpack_state,
)


@kernel
def stage_state(scratch, i, dt, out):
    """out ← state of stage i of a Runge-Kutta step."""
    n, s = scratch.y.shape[0], scratch.weights.shape[0]
    for c in range(n):
        out[c] = scratch.y[c]
    for j in range(i):
        a = dt * scratch.stages[i * s + j]
        if a != 0.0:
            for c in range(n):
                out[c] += a * scratch.k[j * n + c]


@kernel
def combine(scratch, weights, dt, out):
    """out ← out + dt Σ wᵢ kᵢ."""
    n = scratch.y.shape[0]
    for i in range(weights.shape[0]):
        w = dt * weights[i]
        if w != 0.0:
            for c in range(n):
                out[c] += w * scratch.k[i * n + c]


@kernel
def first_stage_rate(key, constraint_key, scratch, T, W, t):
    """scratch.y ← state, scratch.k ← its rate; classifies redundant rows, and may correct v at a singular posture."""
    if constraint_key is not None:
        status = constraint_op_at(key, constraint_key, t, 0.0, COMPUTE_ACCELERATION_AND_RANK)
        pack_state(W, scratch.y)
        configuration_rate(T, W.q, W.v, scratch.k)
        nq = W.q.shape[0]
        for i in range(W.v.shape[0]):
            scratch.k[nq + i] = W.a[i]
        return status
    pack_state(W, scratch.y)
    return state_rate(key, constraint_key, t, scratch.y, scratch.k, 0)


@kernel
def runge_kutta_step(key, constraint_key, scratch, T, W, t, dt):
    """One step of the method whose Butcher table is in scratch."""
    status = first_stage_rate(key, constraint_key, scratch, T, W, t)
    for i in range(1, scratch.weights.shape[0]):
        stage_state(scratch, i, dt, scratch.z)
        status = max(status, state_rate(key, constraint_key, t + scratch.nodes[i] * dt, scratch.z, scratch.k, i * scratch.y.shape[0]))
    combine(scratch, scratch.weights, dt, scratch.y)
    unpack_state(T, W, scratch.y)
    return status


@entry
def run_runge_kutta(
    key: Key, constraint_key: Key | None, limits_key: Key | None, scratch_key: Key,
    t: float, dt: float, n: int, every: int, Q: Matrix, V: Matrix,
):  # fmt: skip
    """Integrate n steps of dt from time t, recording every ``every`` steps; returns a status code."""
    T, W = open_model(key)
    (scratch,) = open_integrator_arrays(scratch_key)
    if not is_valid_start(T, W, constraint_key, dt):
        return NOT_FINITE
    for i in range(n):
        if limits_key is not None:
            save_previous_state(W, scratch, constraint_key)
        status = max(
            runge_kutta_step(key, constraint_key, scratch, T, W, t + i * dt, dt), project_state(key, constraint_key, t + (i + 1) * dt)
        )
        if not finite(W.v):
            return NOT_FINITE
        if status != OK:
            return status
        if (i + 1) % every == 0:
            record_state(W, (i + 1) // every - 1, Q, V)
        if limits_key is not None and limit_passed(key, constraint_key, limits_key, i + 1):
            return LIMIT_PASSED
    return OK
