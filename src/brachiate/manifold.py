"""Configurations as points of a manifold: move along a velocity, take the velocity between two, stay on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors
from brachiate.compiled import entry, kernel
from brachiate.doors import Array
from brachiate.model.data import Data
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.rooms import open_rooms
from brachiate.spatial import (
    Quaternion,
    conjugate,
    exponential,
    logarithm,
    normalized,
    put_quaternion_at,
    put_vec3_at,
    quaternion_at,
    rotation_of,
    screw_translation,
    screw_velocity,
    unrotate,
    vec3_at,
)


@kernel
def integrate(T, q, v, dt, out):
    """Follow constant velocities v for a time dt; rotations by the exponential q ∘ exp(ω dt) [SVC] eq. 25."""
    for e in range(T.kind.shape[0]):
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
def turn_between(q, target, j):
    """Rotation vector, in child axes, from one quaternion to another."""
    return logarithm(conjugate(normalized(quaternion_at(q, j))) @ normalized(quaternion_at(target, j)))


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
    integrate(T, q, v, dt, out)


@entry
def _difference(key, q, target, out):
    T, _ = open_rooms(key)
    difference(T, q, target, out)


def integrated(data: Data, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
    """The configuration after moving from q with constant velocities v for a time dt [s]: a new (nq,)."""
    out = np.zeros(data.model.nq)
    q, v = doors.numbers(q, (data.model.nq,), "q"), doors.numbers(v, (data.model.nv,), "v")
    _integrate(data.key, q, v, doors.number(dt, "dt", least=-1e9, most=1e9), out)
    return out


def subtracted(data: Data, target: ArrayLike, q: ArrayLike) -> Array:
    """``target ⊖ q``: the velocities that carry q to the target in one second: a new (nv,)."""
    out = np.zeros(data.model.nv)
    q, target = doors.numbers(q, (data.model.nq,), "q"), doors.numbers(target, (data.model.nq,), "target")
    _difference(data.key, q, target, out)
    return out
