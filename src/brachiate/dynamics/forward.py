"""Forward dynamics of kinematic trees by the articulated body algorithm (:mod:`brachiate.dynamics.articulated`).

It is linear in the number of links, and with ball joints eliminated three velocities at once faster than factoring the mass
matrix already for one human figure.
"""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.dynamics.articulated import articulated_body_algorithm
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE
from brachiate.kinematics import finite, forward_kinematics, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW


@kernel
def compute_accelerations(T, W, implicit):
    """Accelerations W.a for the torques W.tau at the state (W.q, W.v).

    With ``implicit`` = dt > 0, damping and dry friction D act on the velocity at the end of the step, v + dt a, which is stable
    for any step length: (A + dt D) a = τ − b − D v.
    """
    forward_kinematics(T, W)
    if T.passive[0] and implicit > 0.0:
        for k in range(W.y.shape[0]):
            v = W.v[k]
            W.y[k] = T.damping[k] + T.friction[k] / (v * v + FRICTION_SPEED_SCALE * FRICTION_SPEED_SCALE) ** 0.5
    return articulated_body_algorithm(T, W, implicit)


@outlined
def forward_dynamics(key):
    """Accelerations W.a for the torques W.tau at the state (W.q, W.v)."""
    T, W = open_model(key)
    if not (valid_state(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    status = compute_accelerations(T, W, 0.0)
    return status if status != OK or finite(W.a) else OVERFLOW
