"""Semi-implicit Euler integration [SVC] 5.1: moves along the configuration manifold itself, damping implicit."""

from __future__ import annotations

from brachiate.compiled import Key, Matrix, entry, kernel
from brachiate.constraints.constrained_dynamics import COMPUTE_STEP
from brachiate.constraints.limits import limit_passed
from brachiate.dynamics.forward import compute_accelerations
from brachiate.kinematics import finite
from brachiate.manifold import integrate_configuration
from brachiate.model.arrays import open_model
from brachiate.model.status import LIMIT_PASSED, NOT_FINITE, OK
from brachiate.simulate.integrator_kernels import (
    constraint_op_at,
    is_valid_start,
    open_integrator_arrays,
    project_state,
    record_state,
    save_previous_state,
)


@kernel
def euler_step(key, constraint_key, T, W, t, dt):
    """One semi-implicit step: new velocities with implicit damping, then the configuration along them [SVC] 5.1."""
    status = compute_accelerations(T, W, dt) if constraint_key is None else constraint_op_at(key, constraint_key, t, dt, COMPUTE_STEP)
    for k in range(W.v.shape[0]):
        W.v[k] += dt * W.a[k]
    integrate_configuration(T, W.q, W.v, dt, W.q)
    return status


@entry
def run_euler(
    key: Key, constraint_key: Key | None, limits_key: Key | None, scratch_key: Key,
    t: float, dt: float, n: int, every: int, Q: Matrix, V: Matrix,
):  # fmt: skip
    """Integrate n steps of dt from time t, recording every ``every`` steps; returns a status code."""
    T, W = open_model(key)
    if not is_valid_start(T, W, constraint_key, dt):
        return NOT_FINITE
    (scratch,) = open_integrator_arrays(scratch_key)
    for i in range(n):
        if limits_key is not None:
            save_previous_state(W, scratch, constraint_key)
        status = euler_step(key, constraint_key, T, W, t + i * dt, dt)
        if (i + 1) % every == 0 or i + 1 == n:  # otherwise the next step corrects the constraint residual
            status = max(status, project_state(key, constraint_key, t + (i + 1) * dt))
        if not finite(W.v):
            return NOT_FINITE
        if status != OK:
            return status
        if (i + 1) % every == 0:
            record_state(W, (i + 1) // every - 1, Q, V)
        if limits_key is not None and limit_passed(key, constraint_key, limits_key, i + 1):
            return LIMIT_PASSED
    return OK
