"""Configuration manifold: integrate a velocity, difference of two configurations, quaternion normalization."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import Floats, Key, entry, kernel
from brachiate.deprecation import warn_renamed
from brachiate.kinematics import finite, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW
from brachiate.spatial import (
    Quaternion,
    exponential,
    normalized,
    put_quaternion_at,
    put_vec3_at,
    quaternion_at,
    quaternion_difference,
    rotation_of,
    screw_translation,
    screw_velocity,
    unrotate,
    vec3_at,
)
from brachiate.validation import Array


@kernel
def integrate_configuration(T, q, v, dt, out):
    """out ← q ⊕ v dt at constant velocities v; rotations by the exponential map q ∘ exp(ω dt) [SVC] eq. 25."""
    for e in range(T.kind.shape[0]):
        integrate_element(T, e, q, v, dt, out)


@kernel
def integrate_element(T, e, q, v, dt, out):
    """out ← q ⊕ v dt of one elementary motion."""
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
def is_floating_root(T, e):
    """Whether an elementary motion is that of a floating root, whose axes no other joint moves."""
    i = T.body[T.v_at[e]]
    return T.kind[e] == FLOAT and T.parent[i] < 0 and e == T.element[i]


@kernel
def integrate_unforced(T, q, v, dt):
    """Integrate unforced motion over dt: positions of floating roots move on straight lines while their axes rotate.

    Root velocities are expressed along those axes, so v is rotated as well. (:func:`integrate_configuration` follows a screw.)
    """
    for e in range(T.kind.shape[0]):
        if is_floating_root(T, e):
            j, k = T.q_at[e], T.v_at[e]
            x = vec3_at(q, j) + dt * (rotation_of(quaternion_at(q, j + 3)) @ vec3_at(v, k))
            turn = rotation_of(exponential(dt * vec3_at(v, k + 3)))
            put_vec3_at(v, k, unrotate(turn, vec3_at(v, k)))
            put_vec3_at(q, j, x)
            put_quaternion_at(q, j + 3, normalized(quaternion_at(q, j + 3) @ exponential(dt * vec3_at(v, k + 3))))
    for e in range(T.kind.shape[0]):
        if not is_floating_root(T, e):
            integrate_element(T, e, q, v, dt, q)


@kernel
def configuration_difference(T, q, target, out):
    """out ← target ⊖ q: constant velocity that moves q to the target in unit time, inverse of :func:`integrate_configuration`."""
    for e in range(T.kind.shape[0]):
        j, k = T.q_at[e], T.v_at[e]
        if T.kind[e] < BALL:
            out[k] = target[j] - q[j]
        elif T.kind[e] == BALL:
            put_vec3_at(out, k, quaternion_difference(q, target, j))
        else:
            w = quaternion_difference(q, target, j + 3)
            p = unrotate(rotation_of(quaternion_at(q, j + 3)), vec3_at(target, j) - vec3_at(q, j))
            put_vec3_at(out, k, screw_velocity(w, p))
            put_vec3_at(out, k + 3, w)


@kernel
def configuration_rate(T, q, v, out):
    """out ← dq/dt; quaternions of any length keep their length."""
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
def normalize_quaternions(T, q):
    """Scale every quaternion to unit length."""
    for e in range(T.kind.shape[0]):
        if T.kind[e] >= BALL:
            j = T.q_at[e] + (3 if T.kind[e] == FLOAT else 0)
            put_quaternion_at(q, j, normalized(quaternion_at(q, j)))


# --- Python interface ---------------------------------------------------------------------------------


@entry
def _integrate(key: Key, q: Floats, v: Floats, dt: float, out: Floats):
    T, _ = open_model(key)
    if not valid_state(T, q, v):
        return NOT_FINITE
    integrate_configuration(T, q, v, dt, out)
    return OK if finite(out) else OVERFLOW


@entry
def _difference(key: Key, q: Floats, target: Floats, out: Floats):
    T, _ = open_model(key)
    if not valid_state(T, q, target) or not valid_state(T, target, q):
        return NOT_FINITE
    configuration_difference(T, q, target, out)
    return OK if finite(out) else OVERFLOW


def integrate(data: Data, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
    """Configuration q ⊕ v dt after moving from q at constant velocities v for a time dt [s]: a new (nq,)."""
    out = np.zeros(data.model.nq)
    q, v = data.checked("q", q), data.checked("v", v)
    status = _integrate(data.key, q, v, validation.number(dt, "dt"), out)
    if status:
        data.raise_status(status, q=q, v=v)
    return out


def difference(data: Data, q0: ArrayLike, q1: ArrayLike) -> Array:
    """Difference ``q1 ⊖ q0``: the constant velocities that move q0 to q1 in one second: a new (nv,)."""
    out = np.zeros(data.model.nv)
    start, target = data.checked("q", q0), data.checked("q", q1)
    status = _difference(data.key, start, target, out)
    if status:
        data.raise_status(status, **({"q": target} if np.isfinite(start).all() else {"q": start}))
    return out


def integrated(data: Data, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
    """Forward to :func:`integrate`; deprecated."""
    warn_renamed("manifold.integrated", "manifold.integrate")
    return integrate(data, q, v, dt)


def subtracted(data: Data, target: ArrayLike, q: ArrayLike) -> Array:
    """Forward to :func:`difference`, whose arguments are in the opposite order; deprecated."""
    warn_renamed("manifold.subtracted(data, target, q)", "manifold.difference(data, q, target)")
    return difference(data, q, target)
