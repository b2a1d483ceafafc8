"""Forward dynamics of trees: the accelerations that torques make."""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.dynamics.articulated import accelerate_by_bodies
from brachiate.dynamics.inverse import CREEP, bias_forces, passive_forces
from brachiate.dynamics.mass import factored, solve
from brachiate.kinematics import body_inertias, finite, poses, sound
from brachiate.model.rooms import NOT_FINITE, OK, open_rooms

# Rows of the mass matrix cost the square of their depth to factor, articulated bodies a fixed amount each: they meet
# where the mean row is about this deep (benchmarks/run.py tree, rows "forward dynamics, chain").
DEEP = 60


@kernel
def by_bodies(T):
    """Whether the tree is so deep that going body by body is faster than factoring the mass matrix."""
    nv = T.depth.shape[0]
    return nv > 0 and (T.above.shape[0] > DEEP * nv or T.above.shape[0] == 0)


@kernel
def accelerate(T, W, implicit):
    """Accelerations W.a for the torques W.tau.

    With ``implicit`` = dt > 0, damping and dry friction act on the velocity at the end of the step, v + dt a, so that
    no stiffness of theirs can make a step of any length unstable: (A + dt D) a = τ − b − D v.
    """
    poses(T, W)
    if implicit > 0.0:
        for k in range(W.y.shape[0]):
            v = W.v[k]
            W.y[k] = T.damping[k] + T.friction[k] / (v * v + CREEP * CREEP) ** 0.5
    if by_bodies(T):
        return accelerate_by_bodies(T, W, implicit)
    body_inertias(T, W)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    for k in range(W.a.shape[0]):
        W.a[k] = W.tau[k] - W.bias[k]
    status = factored(T, W, implicit)
    solve(T, W, W.a)
    return status


@outlined
def forward_dynamics(key):
    """Accelerations W.a for the torques W.tau at the state (W.q, W.v)."""
    T, W = open_rooms(key)
    if not (sound(T, W) and finite(W.tau)):
        return NOT_FINITE
    status = accelerate(T, W, 0.0)
    return status if status != OK or finite(W.a) else NOT_FINITE
