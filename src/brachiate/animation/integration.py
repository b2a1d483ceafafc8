"""Time integration of joint accelerations that Python code computes: classical Runge-Kutta, every stage evaluated anew."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brachiate.errors import StateError
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.model import Model
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
    for _, at in _places(world.model).quaternions:
        world.data.q[at : at + 4] /= np.linalg.norm(world.data.q[at : at + 4])
    world.time = t + dt
    if world.constraints:
        world.constraint_set.arrays.time[0] = world.time
        world.constraint_set.project_state()
    if not (np.isfinite(world.data.q).all() and np.isfinite(world.data.v).all()):
        world.data.q[:], world.data.v[:], world.time = q, v, t
        raise StateError(f"The motion at {t:g} s is not finite: use a shorter step, or smaller targets.")


def configuration_rate(world: World) -> Array:
    """q̇ (nq,) at the present state; quaternions of any length keep their length."""
    q, v, rate = world.data.q, world.data.v, np.zeros(world.model.nq)
    places = _places(world.model)
    rate[places.scalar_q] = v[places.scalar_v]
    for k, at in places.quaternions:
        w, x, y, z = q[at : at + 4].tolist()
        a, b, c = v[k : k + 3].tolist()
        rate[at : at + 4] = (
            0.5 * (-x * a - y * b - z * c), 0.5 * (w * a - z * b + y * c), 0.5 * (z * a + w * b - x * c), 0.5 * (-y * a + x * b + w * c),
        )  # fmt: skip
    for k, at in places.floating:
        w, x, y, z = q[at + 3 : at + 7].tolist()
        a, b, c = v[k : k + 3].tolist()
        s = 2.0 / (w * w + x * x + y * y + z * z)
        d, e, f = s * (y * c - z * b), s * (z * a - x * c), s * (x * b - y * a)
        rate[at : at + 3] = a + w * d + y * f - z * e, b + w * e + z * d - x * f, c + w * f + x * e - y * d
    return rate


class _Places(NamedTuple):
    """Places of coordinates in q and v."""

    scalar_q: Array
    scalar_v: Array
    quaternions: list[tuple[int, int]]  # first angular velocity and first coordinate
    floating: list[tuple[int, int]]  # first velocity and first coordinate of free joints


@functools.lru_cache(maxsize=8)
def _places(model: Model) -> _Places:
    tree, shift = model.tree, {BALL: 0, FLOAT: 3}
    elements = [(kind, int(k), int(at)) for kind, k, at in zip(tree.kind.tolist(), tree.v_at, tree.q_at, strict=True)]
    scalar = tree.kind < BALL
    quaternions = [(k + shift[kind], at + shift[kind]) for kind, k, at in elements if kind >= BALL]
    return _Places(tree.q_at[scalar], tree.v_at[scalar], quaternions, [(k, at) for kind, k, at in elements if kind == FLOAT])
