"""Time integration of joint accelerations that Python code computes: classical Runge-Kutta, every stage evaluated anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brachiate.errors import StateError
from brachiate.model.joints import BALL, FLOAT
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_NODES, _WEIGHTS = (0.0, 0.5, 0.5, 1.0), np.array([1.0, 2.0, 2.0, 1.0]) / 6.0


def runge_kutta_step(world: World, acceleration: Callable[[], Array], dt: float) -> None:
    """Advance a world by dt [s]: ``acceleration`` returns v̇ (nv,) at its present state and time.

    q and v are integrated as a plain vector; quaternions are normalized and the state is projected onto constraints at the end, which keeps
    the order.
    """
    q, v, t = world.q.copy(), world.v.copy(), world.time
    dq, dv = np.zeros((4, len(q))), np.zeros((4, len(v)))
    for s, node in enumerate(_NODES):
        if s:
            world.data.q[:], world.data.v[:] = q + node * dt * dq[s - 1], v + node * dt * dv[s - 1]
            world.time = t + node * dt
        dq[s], dv[s] = configuration_rate(world), acceleration()
    world.data.q[:], world.data.v[:] = q + dt * _WEIGHTS @ dq, v + dt * _WEIGHTS @ dv
    for _, at in _quaternions(world):
        world.data.q[at : at + 4] /= np.linalg.norm(world.data.q[at : at + 4])
    world.time = t + dt
    if world.constraints:
        world.constraint_set.arrays.time[0] = world.time
        world.constraint_set.project_state()
    if not (np.isfinite(world.data.q).all() and np.isfinite(world.data.v).all()):
        world.data.q[:], world.data.v[:], world.time = q, v, t
        raise StateError(f"The motion at {t:g} s is not finite: use a shorter step, or smaller targets.")


def configuration_rate(world: World) -> Array:
    """q̇ (nq,) at the present state."""
    tree, q, v, rate = world.model.tree, world.data.q, world.data.v, np.zeros(world.model.nq)
    scalar = tree.kind < BALL
    rate[tree.q_at[scalar]] = v[tree.v_at[scalar]]
    for k, at in _quaternions(world):
        w, x, y, z = q[at : at + 4]
        E = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
        rate[at : at + 4] = E @ v[k : k + 3]
    for k, at in zip(tree.v_at[tree.kind == FLOAT], tree.q_at[tree.kind == FLOAT], strict=True):
        w, r = q[at + 3], q[at + 4 : at + 7]
        linear = v[k : k + 3]
        turn = 2.0 * np.cross(r, linear)
        rate[at : at + 3] = linear + (w * turn + np.cross(r, turn)) / (w * w + r @ r)
    return rate


def _quaternions(world: World) -> list[tuple[int, int]]:
    """First angular velocity and first coordinate of every quaternion."""
    tree = world.model.tree
    shift = {BALL: 0, FLOAT: 3}
    return [
        (int(k) + shift[kind], int(at) + shift[kind])
        for kind, k, at in zip(tree.kind.tolist(), tree.v_at, tree.q_at, strict=True)
        if kind >= BALL
    ]
