"""Causal smoothing of incoming frames by an α-β-γ filter, and the feature vectors of smoothed frames."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.manifold import configuration_difference, integrate_configuration
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import Vec3, quaternion_at, rotation_of, unrotate

FEATURE_TIME_SCALE = 0.1  # [s] factor of velocities relative to angles in the feature vector of a frame
ROOT_MAX_ACCELERATION, JOINT_MAX_ACCELERATION = 20.0, 200.0  # [m/s²], [rad/s²] of human motion
MAX_JUMP = 1.0  # [m or rad] difference from the predicted frame, beyond which a frame is rejected


@kernel
def track_frame(T, est, dt, first):
    """Smooth the incoming frame by an α-β-γ filter: est.q, est.v, est.a. Returns the coordinate of a jump, or -1."""
    n = est.v.shape[0]
    if first:
        for i in range(est.q.shape[0]):
            est.q[i] = est.frame[i]
        for k in range(n):
            est.v[k] = est.a[k] = 0.0
        return -1
    for k in range(n):
        est.error[k] = est.v[k] + 0.5 * dt * est.a[k]
    integrate_configuration(T, est.q, est.error, dt, est.predicted_q)
    configuration_difference(T, est.predicted_q, est.frame, est.error)
    for k in range(n):
        if not abs(est.error[k]) < MAX_JUMP:
            return k
    integrate_configuration(T, est.predicted_q, est.error, est.gain[0], est.q)
    for k in range(n):
        est.v[k] += dt * est.a[k] + est.gain[1] / dt * est.error[k]
        limit = ROOT_MAX_ACCELERATION if k < 3 else JOINT_MAX_ACCELERATION
        est.a[k] = min(max(est.a[k] + est.gain[2] / (dt * dt) * est.error[k], -limit), limit)
    return -1


@kernel
def store_feature(T, est, f):
    """Feature vector of frame f: joint coordinates, velocities, tilt and height of the root; not its horizontal position and heading."""
    n = est.feature_size[0]
    at = f * n
    for e in range(T.kind.shape[0]):
        j = T.q_at[e]
        if T.kind[e] < BALL:
            est.feature[at] = est.q[j]
            at += 1
            continue
        if T.kind[e] == FLOAT:
            up = unrotate(rotation_of(quaternion_at(est.q, j + 3)), Vec3(0.0, 0.0, 1.0))
            est.feature[at], est.feature[at + 1], est.feature[at + 2], est.feature[at + 3] = up.x, up.y, up.z, est.q[j + 2]
        else:
            r = quaternion_at(est.q, j)
            s = 2.0 if r.w >= 0.0 else -2.0  # small rotations give angles
            est.feature[at], est.feature[at + 1], est.feature[at + 2], est.feature[at + 3] = s * r.w, s * r.x, s * r.y, s * r.z
        at += 4
    for k in range(est.v.shape[0]):
        est.feature[at + k] = FEATURE_TIME_SCALE * est.v[k]
