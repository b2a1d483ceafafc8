"""Forward dynamics of trees: the accelerations that torques make.

Always body by body (:mod:`brachiate.dynamics.articulated`), linear in the number of links: with ball joints released
three velocities at once that is faster than factoring the mass matrix already for one human figure.
"""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.dynamics.articulated import accelerate_by_bodies
from brachiate.dynamics.inverse import CREEP
from brachiate.kinematics import finite, poses, sound
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, open_rooms


@kernel
def accelerate(T, W, implicit):
    """Accelerations W.a for the torques W.tau at the state (W.q, W.v).

    With ``implicit`` = dt > 0, damping and dry friction act on the velocity at the end of the step, v + dt a, so that
    no stiffness of theirs can make a step of any length unstable: (A + dt D) a = τ − b − D v.
    """
    poses(T, W)
    if T.passive[0] and implicit > 0.0:
        for k in range(W.y.shape[0]):
            v = W.v[k]
            W.y[k] = T.damping[k] + T.friction[k] / (v * v + CREEP * CREEP) ** 0.5
    return accelerate_by_bodies(T, W, implicit)


@outlined
def forward_dynamics(key):
    """Accelerations W.a for the torques W.tau at the state (W.q, W.v)."""
    T, W = open_rooms(key)
    if not (sound(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    status = accelerate(T, W, 0.0)
    return status if status != OK or finite(W.a) else OVERFLOW
