"""Kernels that all integrators share: packed state and its rate, constraint operations, recording, and the error norm.

The state is one vector y = (q, v). ``constraint_key`` is the key of a constraint set, or None: the code is then compiled for an
unconstrained tree.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, call_address, kernel, outlined, struct_opener
from brachiate.constraints.arrays import OPERATION, open_constraints
from brachiate.constraints.constrained_dynamics import COMPUTE_ACCELERATION, PROJECT_STATE
from brachiate.dynamics.forward import compute_accelerations
from brachiate.kinematics import finite, valid_state
from brachiate.manifold import configuration_rate, normalize_quaternions
from brachiate.model.arrays import open_model
from brachiate.model.status import OK


class IntegratorArrays(NamedTuple):
    """Scratch arrays of the integrators; n = nq + nv, s stages."""

    y: Floats  # (n,) state at the start of the step
    z: Floats  # (n,) trial state
    e: Floats  # (n,) error, or the state before the trial one
    f: Floats  # (n,) rate of the state
    k: Floats  # (s·n,) rate of the state at every stage
    stages: Floats  # (s·s,) Butcher matrix
    nodes: Floats  # (s,) times of the stages as fractions of the step
    weights: Floats  # (s,)
    error: Floats  # (s,) weights of the error estimate
    dense: Floats  # (s,) weights of the dense output
    last: Floats  # (n,) state before the last step, to return to when a limit was passed
    control: Floats  # (2,) length of the next step (0: unknown), tolerance


open_integrator_arrays = struct_opener(IntegratorArrays)


@outlined
def state_rate(key, constraint_key, t, y, dy, at):
    """dy[at:] ← rate of the state y at time t under the torques W.tau."""
    T, W = open_model(key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    for i in range(nq):
        W.q[i] = y[i]
    for i in range(nv):
        W.v[i] = y[nq + i]
    status = (
        compute_accelerations(T, W, 0.0) if constraint_key is None else constraint_op_at(key, constraint_key, t, 0.0, COMPUTE_ACCELERATION)
    )
    d = dy[at : at + nq + nv]
    configuration_rate(T, W.q, W.v, d)
    for i in range(nv):
        d[nq + i] = W.a[i]
    return status


@kernel
def pack_state(W, y):
    """y ← (q, v)."""
    nq = W.q.shape[0]
    for i in range(nq):
        y[i] = W.q[i]
    for i in range(W.v.shape[0]):
        y[nq + i] = W.v[i]


@kernel
def unpack_state(T, W, y):
    """(q, v) ← y, quaternions normalized."""
    nq = W.q.shape[0]
    for i in range(nq):
        W.q[i] = y[i]
    for i in range(W.v.shape[0]):
        W.v[i] = y[nq + i]
    normalize_quaternions(T, W.q)


@kernel
def constraint_op_at(key, constraint_key, t, x, operation):
    """Run an operation of the constraint set at time t; x is its argument, such as a step length."""
    (cons,) = open_constraints(constraint_key)
    cons.time[0] = t
    return call_address(cons.functions[OPERATION], key, constraint_key, x, operation)


@kernel
def project_state(key, constraint_key, t):
    """Project the state at the end of a step onto the constraints."""
    return OK if constraint_key is None else constraint_op_at(key, constraint_key, t, 0.0, PROJECT_STATE)


@kernel
def save_previous_state(W, scratch, constraint_key):
    """Save the state before a step and the active limits, so that the step can be undone."""
    pack_state(W, scratch.last)
    if constraint_key is not None:
        (cons,) = open_constraints(constraint_key)
        for i in range(cons.inactive.shape[0]):
            cons.inactive_previous[i], cons.bound_previous[i] = cons.inactive[i], cons.polynomial[i, 0]


@kernel
def record_state(W, n, Q, V):
    """Record the state as row n of Q and V."""
    for i in range(W.q.shape[0]):
        Q[n, i] = W.q[i]
    for i in range(W.v.shape[0]):
        V[n, i] = W.v[i]


@kernel
def is_valid_start(T, W, constraint_key, dt):
    """Whether state and torques are finite and quaternions valid; also sets the step length of the constraint set."""
    if constraint_key is not None:
        (cons,) = open_constraints(constraint_key)
        cons.dt[0] = dt
    return valid_state(T, W.q, W.v) and finite(W.tau)


@kernel
def error_norm(scratch, y, e):
    """RMS of the error e relative to the tolerance at the state y: at most 1 is accepted."""
    n, s = y.shape[0], 0.0
    for c in range(n):
        r = e[c] / (scratch.control[1] * (1.0 + abs(y[c])))
        s += r * r
    return (s / n) ** 0.5 if n else 0.0
