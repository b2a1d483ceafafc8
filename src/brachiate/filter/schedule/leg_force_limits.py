"""Force limits of the legs from the torque limits of their joints, in the postures of a reference, for the centroidal planner.

A contact force F at p loads the joint with axis a at o by a · ((p - o) × F) [N·m]. Legs weigh little compared with their load, so this is
nearly all of the joint torque. The largest vertical force of a leg acts along the line from p to the CoM, is limited by the weakest joint,
and is maximized over positions p of the center of pressure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.compiled import Floats, Ints, Key, Rows3, entry, kernel, struct_opener
from brachiate.filter.schedule.arrays import MAX_CORNERS, open_window
from brachiate.kinematics import ball_motion_columns, forward_kinematics, tree_origin, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import Vec3, motion, put_vec3, rotation, vec3, velocity_at

EDGE_SAMPLES = 4  # intervals between two corners, whose ends are tried as centers of pressure
MAX_FORCE_SLOPE = 0.8  # horizontal over vertical force


class LegActuators(NamedTuple):
    """Torque limits and contact corners of the legs. Sizes: nv velocities of the figure, m contact links."""

    effort: Floats  # (nv,) [N·m or N] torque limits; inf: none, 0: not actuated
    body: Ints  # (m,) body of a contact link
    corner: Rows3  # (8 m, 3) [m] body axes
    contact_point: Rows3  # (8 m, 3) [m] scratch: corners of a leg in contact
    contact_link: Ints  # (8 m,) scratch: their links


open_actuators = struct_opener(LegActuators)


@kernel
def max_force_at(T, W, actuators, i, p, com):
    """Largest vertical component [N] of a force at p along the line from p to the CoM, by the torque limits of the ancestors of body i."""
    d = com - p
    height = max(d.z, 1e-6)
    slope = (d.x * d.x + d.y * d.y) ** 0.5 / height
    scale = min(1.0, MAX_FORCE_SLOPE / max(slope, 1e-9)) / height
    d, r, limit = Vec3(scale * d.x, scale * d.y, 1.0), p - tree_origin(T, W, i), np.inf
    while T.parent[i] >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            if actuators.effort[k] > 0.0:
                moment = abs(velocity_at(motion(W.S, k), r) @ d)
                if moment * limit > actuators.effort[k]:
                    limit = actuators.effort[k] / moment
        i = T.parent[i]
    return limit


@kernel
def list_contact_corners(T, W, actuators, window, n, leg):
    """List the corners of a leg in contact in frame n. Returns their number, and the link that carries all: the foot, not its toes."""
    m, count, base = window.leg.shape[0], 0, -1
    for s in range(m):
        if window.leg[s] != leg or window.contact_mask[n * m + s] == 0:
            continue
        base = s if base < 0 or window.swings[s] else base
        i = actuators.body[s]
        for j in range(window.corner_count[s]):
            if (window.contact_mask[n * m + s] >> j) & 1:
                corner = tree_origin(T, W, i) + vec3(W.x, i) + rotation(W.R, i) @ vec3(actuators.corner, MAX_CORNERS * s + j)
                put_vec3(actuators.contact_point, count, corner)
                actuators.contact_link[count] = s
                count += 1
    return count, base


@kernel
def max_vertical_force(T, W, actuators, count, base, com):
    """Largest vertical force [N] of a leg by its listed corners."""
    limit = 0.0
    for a in range(count):
        for b in range(a, count):
            same_link = actuators.contact_link[a] == actuators.contact_link[b]
            i = actuators.body[actuators.contact_link[a] if same_link else base]
            edge = vec3(actuators.contact_point, b) - vec3(actuators.contact_point, a)
            for part in range(EDGE_SAMPLES + 1 if b > a else 1):
                p = vec3(actuators.contact_point, a) + (part / EDGE_SAMPLES) * edge
                limit = max(limit, max_force_at(T, W, actuators, i, p, com))
    return limit


@kernel
def put_motor_rows(T, W, actuators, window, at, count, base):
    """Rows of window.motor_rows for a leg ← moments of unit forces at the mean of its listed corners, joint axes, torque limits."""
    for j in range(MAX_MOTORS * at, MAX_MOTORS * (at + 1)):
        window.motor_rows[j, 5] = np.inf
    p = Vec3(0.0, 0.0, 0.0)
    for a in range(count):
        p = p + (1.0 / count) * vec3(actuators.contact_point, a)
    window.motor_point[at, 0], window.motor_point[at, 1] = p.x, p.y
    i, j = actuators.body[base], MAX_MOTORS * at
    r = p - tree_origin(T, W, i)
    while T.parent[i] >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            if 0.0 < actuators.effort[k] < np.inf and j < MAX_MOTORS * (at + 1):
                u = motion(W.S, k)
                window.motor_rows[j, 0], window.motor_rows[j, 1], window.motor_rows[j, 2] = velocity_at(u, r)
                window.motor_rows[j, 3], window.motor_rows[j, 4], window.motor_rows[j, 5] = u.w.x, u.w.y, actuators.effort[k]
                j += 1
        i = T.parent[i]


@kernel
def compute_frame_force_limits(T, W, actuators, window, n, leg_count, com):
    """Force limits of the stance legs in frame n, for the poses in W."""
    ball_motion_columns(T, W)
    for leg in range(leg_count):
        at = n * leg_count + leg
        window.max_vertical_force[at] = np.inf
        count, base = list_contact_corners(T, W, actuators, window, n, leg)
        if count > 0:
            window.max_vertical_force[at] = max_vertical_force(T, W, actuators, count, base, com)
            put_motor_rows(T, W, actuators, window, at, count, base)


@kernel
def copy_force_limits(window, leg_count, to, of, shift, c, s):
    """Force limits of frame ``to`` ← those of frame ``of``, rotated about the vertical (cosine c, sine s) and shifted."""
    for leg in range(leg_count):
        here, there = to * leg_count + leg, of * leg_count + leg
        x, y = window.motor_point[there, 0], window.motor_point[there, 1]
        window.max_vertical_force[here] = window.max_vertical_force[there]
        window.motor_point[here, 0], window.motor_point[here, 1] = c * x - s * y + shift.x, s * x + c * y + shift.y
        for n in range(MAX_MOTORS):
            a, b = MAX_MOTORS * here + n, MAX_MOTORS * there + n
            for i in (0, 3):
                x, y = window.motor_rows[b, i], window.motor_rows[b, i + 1]
                window.motor_rows[a, i], window.motor_rows[a, i + 1] = c * x - s * y, s * x + c * y
            window.motor_rows[a, 2], window.motor_rows[a, 5] = window.motor_rows[b, 2], window.motor_rows[b, 5]


@entry
def compute_leg_force_limits(key: Key, window_key: Key, actuators_key: Key):
    """Force limits of the stance legs in all frames."""
    T, W = open_model(key)
    (window,) = open_window(window_key)
    (actuators,) = open_actuators(actuators_key)
    nq, f = W.q.shape[0], window.frame_count[0]
    for n in range(f):
        for i in range(nq):
            W.q[i] = window.q[n * nq + i]
        if not valid_state(T, W.q, W.v):
            return NOT_FINITE
        forward_kinematics(T, W)
        compute_frame_force_limits(T, W, actuators, window, n, window.max_vertical_force.shape[0] // f, vec3(window.com, n))
    return OK
