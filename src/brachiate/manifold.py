"""Configurations as points of a manifold: move along a velocity, take the velocity between two, stay on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import entry, kernel
from brachiate.kinematics import finite, sound
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, open_rooms
from brachiate.model.data import Data
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import (
    Quaternion,
    exponential,
    normalized,
    put_quaternion_at,
    put_vec3_at,
    quaternion_at,
    rotation_of,
    screw_translation,
    screw_velocity,
    turn_between,
    unrotate,
    vec3_at,
)
from brachiate.validation import Array


@kernel
def integrate(T, q, v, dt, out):
    """Follow constant velocities v for a time dt; rotations by the exponential q ∘ exp(ω dt) [SVC] eq. 25."""
    for e in range(T.kind.shape[0]):
        integrate_element(T, e, q, v, dt, out)


@kernel
def integrate_element(T, e, q, v, dt, out):
    """The same for one elementary motion."""
    j, k = T.q_at[e], T.v_at[e]
    if T.kind[e] < BALL:
        out[j] = q[j] + dt * v[k]
    else:
        if T.kind[e] == FLOAT:
            R = rotation_of(quaternion_at(q, j + 3))
            w = dt * vec3_at(v, k + 3)
            put_vec3_at(out, j, vec3_at(q, j) + R @ screw_translation(w, dt * vec3_at(v, k)))
            j, k = j + 3, k + 3
        w = dt * vec3_at(v, k)
        put_quaternion_at(out, j, normalized(quaternion_at(q, j) @ exponential(w)))


@kernel
def floats_freely(T, e):
    """Whether an elementary motion is that of a floating root: nothing carries its axes but itself."""
    i = T.body[T.v_at[e]]
    return T.kind[e] == FLOAT and T.parent[i] < 0 and e == T.element[i]


@kernel
def coast(T, q, v, dt):
    """Move for a time dt with velocities that nothing changes: the places of floating roots go straight on while their axes turn.

    Their velocities are along those axes, so these numbers change as well. (:func:`integrate` goes along a screw.)
    """
    for e in range(T.kind.shape[0]):
        if floats_freely(T, e):
            j, k = T.q_at[e], T.v_at[e]
            x = vec3_at(q, j) + dt * (rotation_of(quaternion_at(q, j + 3)) @ vec3_at(v, k))
            turn = rotation_of(exponential(dt * vec3_at(v, k + 3)))
            put_vec3_at(v, k, unrotate(turn, vec3_at(v, k)))
            put_vec3_at(q, j, x)
            put_quaternion_at(q, j + 3, normalized(quaternion_at(q, j + 3) @ exponential(dt * vec3_at(v, k + 3))))
    for e in range(T.kind.shape[0]):
        if not floats_freely(T, e):
            integrate_element(T, e, q, v, dt, q)


@kernel
def difference(T, q, target, out):
    """The constant velocity that carries q to the target in one unit of time: inverse of :func:`integrate`."""
    for e in range(T.kind.shape[0]):
        j, k = T.q_at[e], T.v_at[e]
        if T.kind[e] < BALL:
            out[k] = target[j] - q[j]
        elif T.kind[e] == BALL:
            put_vec3_at(out, k, turn_between(q, target, j))
        else:
            w = turn_between(q, target, j + 3)
            p = unrotate(rotation_of(quaternion_at(q, j + 3)), vec3_at(target, j) - vec3_at(q, j))
            put_vec3_at(out, k, screw_velocity(w, p))
            put_vec3_at(out, k + 3, w)


@kernel
def rates(T, q, v, out):
    """Time derivative of q as plain numbers; quaternions of any length keep their length."""
    for e in range(T.kind.shape[0]):
        j, k = T.q_at[e], T.v_at[e]
        if T.kind[e] < BALL:
            out[j] = v[k]
        else:
            if T.kind[e] == FLOAT:
                put_vec3_at(out, j, rotation_of(quaternion_at(q, j + 3)) @ vec3_at(v, k))
                j, k = j + 3, k + 3
            w = vec3_at(v, k)
            put_quaternion_at(out, j, 0.5 * (quaternion_at(q, j) @ Quaternion(0.0, w.x, w.y, w.z)))


@kernel
def normalize(T, q):
    """Bring every quaternion back to length one."""
    for e in range(T.kind.shape[0]):
        if T.kind[e] >= BALL:
            j = T.q_at[e] + (3 if T.kind[e] == FLOAT else 0)
            put_quaternion_at(q, j, normalized(quaternion_at(q, j)))


# --- for people ---------------------------------------------------------------------------------


@entry
def _integrate(key, q, v, dt, out):
    T, _ = open_rooms(key)
    if not sound(T, q, v):
        return NOT_FINITE
    integrate(T, q, v, dt, out)
    return OK if finite(out) else OVERFLOW


@entry
def _difference(key, q, target, out):
    T, _ = open_rooms(key)
    if not sound(T, q, target) or not sound(T, target, q):
        return NOT_FINITE
    difference(T, q, target, out)
    return OK if finite(out) else OVERFLOW


def integrated(data: Data, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
    """The configuration after moving from q with constant velocities v for a time dt [s]: a new (nq,)."""
    out = np.zeros(data.model.nq)
    q, v = data.given("q", q), data.given("v", v)
    status = _integrate(data.key, q, v, validation.number(dt, "dt"), out)
    if status:
        data.refuse(status, q=q, v=v)
    return out


def subtracted(data: Data, target: ArrayLike, q: ArrayLike) -> Array:
    """``target ⊖ q``: the velocities that carry q to the target in one second: a new (nv,)."""
    out = np.zeros(data.model.nv)
    q, goal = data.given("q", q), data.given("q", target)
    status = _difference(data.key, q, goal, out)
    if status:
        data.refuse(status, **({"q": goal} if np.isfinite(q).all() else {"q": q}))
    return out
