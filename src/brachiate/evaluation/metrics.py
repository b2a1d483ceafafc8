"""Plausibility metrics of a motion, frame by frame; none depends on the frame rate.

Root residual; skate, penetration and float of parts in contact; friction cone and center of pressure (CoP) of the required ground
reaction force; joint torques and limits; ballistic motion in flight; jerk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.ground_reaction import GRIP, SUPPORT
from brachiate.contact_estimation.motion_dynamics import FrameBlock, MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, part_motion, parts_matching
from brachiate.intervals import sustained_intervals
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactLabels
from brachiate.validation import Array

MIN_RELATIVE_CONFIDENCE = 0.3  # of the highest confidence: points whose speed counts as skate
MIN_PART_LOAD = 0.02  # of the weight: smallest load of a part in contact; it approaches the ground before it is loaded
MIN_LOAD = 0.05  # of the weight: smallest normal force for which there is a CoP
MIN_SUPPORTED_WEIGHT = 0.5  # of the weight: required force above which a body without contact must be supported
FORCE_ROUNDOFF = 1e-6  # of the weight
MAX_LEVEL_DIFFERENCE = 0.1  # [m] contacts closer in height are on one level
MIN_FLIGHT_DURATION = 0.08  # [s]
COP_DIRECTIONS = 16  # number of directions in which the contact area is bounded


class FrameMetrics(NamedTuple):
    """Metrics of every frame; NaN where one does not apply. Sizes: f frames, p body parts, c joint limits."""

    root_residual_force: Array  # (f,) [N] norm of the residual force
    root_residual_moment: Array  # (f,) [N·m] norm of the residual moment about the center of mass
    foot_skate: Array  # (f, p) [m/s] tangential speed of the loaded points of a part in contact
    penetration: Array  # (f, p) [m] depth of a part below the ground; 0 above it
    foot_float: Array  # (f, p) [m] height above the ground of a part that carries load, or must
    friction_ratio: Array  # (f,) tangential over normal component of the required force; infinite if it must pull
    cop_outside: Array  # (f,) [m] distance of the required CoP from the contact area; 0 inside
    torque_share: Array  # (f, nv) joint torque over its limit
    limit_violation: Array  # (f, c) [rad or m] beyond a joint limit
    flight_acceleration: Array  # (f,) [m/s²] CoM acceleration minus gravity in flight
    flight_moment: Array  # (f,) [N·m] rate of angular momentum in flight
    jerk: Array  # (f,) [m/s³] root mean square over bodies


def compute_metrics(dynamics: MotionDynamics, labels: ContactLabels) -> tuple[FrameMetrics, tuple[str, ...]]:
    """All metrics, and the names of the joint limits."""
    skate, depth, floats = _part_metrics(dynamics, labels)
    ratio, cop_outside = _cone_and_cop(dynamics, labels)
    violation, names = limit_violations(dynamics.model, dynamics.states.q)
    flight_acceleration, flight_moment = _flight_metrics(dynamics)
    residual = dynamics.root_residual
    return FrameMetrics(
        np.linalg.norm(residual[:, :3], axis=1),
        np.linalg.norm(residual[:, 3:], axis=1),
        skate,
        depth,
        floats,
        ratio,
        cop_outside,
        torque_share(dynamics),
        violation,
        flight_acceleration,
        flight_moment,
        _jerk(dynamics),
    ), names


def _part_metrics(dynamics: MotionDynamics, labels: ContactLabels) -> tuple[Array, Array, Array]:
    """Skate, penetration and float of every part."""
    terrain, f, parts = labels.terrain, len(dynamics), dynamics.contact_points.parts
    skate, depth, floats = (np.full((f, len(parts)), np.nan) for _ in range(3))
    n, any_load, loaded = terrain.normal, np.zeros(f, bool), np.zeros((f, len(parts)), bool)
    for block in dynamics.blocks():
        _skate_of_block(dynamics, block, n, skate[block.frames], any_load[block.frames], loaded[block.frames])
    for p, part in enumerate(parts):
        height, _, _ = part_motion(dynamics, terrain, p)
        depth[:, p] = np.maximum(-height, 0.0)
        for label in labels.of(part):
            span = slice(*np.searchsorted(dynamics.times, (label.start - 1e-9, label.end + 1e-9)))
            if label.kind == "support":
                level = (label.height - (terrain.height or 0.0)) * n[2] if label.height is not None else 0.0
                rows = span.start + np.flatnonzero(loaded[span, p])
                floats[rows, p] = np.maximum(height[rows] - level, 0.0)
    unsupported = ~any_load & (dynamics.required_wrench[:, :3] @ n > MIN_SUPPORTED_WEIGHT * dynamics.weight)
    feet = parts_matching(dynamics, FOOT_WORDS) or tuple(range(len(parts)))
    if unsupported.any() and len(feet):
        # No contact though the body must be supported: the lowest foot floats.
        heights = np.stack([part_motion(dynamics, terrain, p)[0] for p in feet], axis=1)
        lowest = np.argmin(heights, axis=1)
        rows = np.flatnonzero(unsupported)
        floats[rows, np.array(feet)[lowest[rows]]] = np.maximum(heights[rows, lowest[rows]], 0.0)
    return skate, depth, floats


def _skate_of_block(dynamics: MotionDynamics, block: FrameBlock, n: Array, skate: Array, any_load: Array, loaded: Array) -> None:
    """Write skate (n, p) [m/s] of parts in contact, whether any point bears load (n,), and which parts do (n, p), in a block of frames."""
    mode, confidence, force = dynamics.contacts(block.frames)
    min_confidence = MIN_RELATIVE_CONFIDENCE * confidence.max(axis=1, keepdims=True)
    for p in range(loaded.shape[1]):
        mine = np.flatnonzero(dynamics.contact_points.part == p)
        load = np.linalg.norm(force[:, mine], axis=2)
        any_load |= (load > 0.0).any(axis=1)
        loaded[:, p] = load.sum(axis=1) > MIN_PART_LOAD * dynamics.weight
        # Of the points in contact, those that bear the part; a grip rotates about the bar
        area = (confidence[:, mine] >= min_confidence) & (mode[:, mine] == SUPPORT) & loaded[:, p : p + 1]
        count, velocity = area.sum(axis=1), block.point_velocity[:, mine]
        speed = np.linalg.norm(velocity - (velocity @ n)[..., None] * n, axis=2)
        skate[count > 0, p] = (speed * area).sum(axis=1)[count > 0] / count[count > 0]


def _cone_and_cop(dynamics: MotionDynamics, labels: ContactLabels) -> tuple[Array, Array]:
    """Friction ratio of the required force, and distance of its CoP from the contact area, while all supports are on one level."""
    used = dynamics.points_with(SUPPORT)
    ratio, outside = np.full(len(dynamics), np.nan), np.full(len(dynamics), np.nan)
    for block in dynamics.blocks() if len(used) else ():
        mode, position, first = dynamics.contacts(block.frames)[0], block.point_position[:, used], block.frames.start
        rows, ratios = _friction_ratios(dynamics, labels, block.frames, mode, position @ labels.terrain.normal, used)
        ratio[rows] = ratios
        loaded = rows[dynamics.required_wrench[rows, :3] @ labels.terrain.normal > MIN_LOAD * dynamics.weight]
        support = mode[loaded - first][:, used] == SUPPORT
        outside[loaded] = _cop_distances(dynamics, labels.terrain.normal, loaded, support, position[loaded - first])
    return ratio, outside


def _friction_ratios(
    dynamics: MotionDynamics, labels: ContactLabels, frames: slice, mode: Array, height: Array, used: Array
) -> tuple[Array, Array]:
    """Those of some frames in which all supports, of the points ``used``, are on one level, and friction ratios of the required force.

    ``mode``: contact mode of all points, ``height``: of the points used, along the normal [m].
    """
    n, support = labels.terrain.normal, mode[:, used] == SUPPORT
    low = np.where(support, height, np.inf).min(axis=1)
    high = np.where(support, height, -np.inf).max(axis=1)
    on_one_level = support.any(axis=1) & ~(mode == GRIP).any(axis=1) & (high - low < MAX_LEVEL_DIFFERENCE)
    rows = frames.start + np.flatnonzero(on_one_level)
    force = dynamics.required_wrench[rows, :3]
    normal_force = force @ n
    tangential = np.linalg.norm(force - normal_force[:, None] * n, axis=1)
    slipping = tangential - labels.terrain.friction * np.maximum(normal_force, 0.0) > FORCE_ROUNDOFF * dynamics.weight
    pulling = normal_force < -FORCE_ROUNDOFF * dynamics.weight
    ratio = np.where(slipping | (normal_force > MIN_LOAD * dynamics.weight), tangential / np.maximum(normal_force, 1e-9), 0.0)
    return rows, np.where(pulling, np.inf, ratio)


def _cop_distances(dynamics: MotionDynamics, n: Array, rows: Array, support: Array, position: Array) -> Array:
    """Distance of the required CoP from the contact area (n,) [m], in some frames; 0 inside.

    ``support``: whether points support the figure (n, k), ``position``: of these points (n, k, 3) [m].
    """
    force, moment = dynamics.required_wrench[rows, :3], dynamics.required_wrench[rows, 3:]
    # The point r of the plane at which n × (moment − r × force) vanishes
    level = np.where(support, position @ n, 0.0).sum(axis=1) / support.sum(axis=1) - dynamics.com[rows] @ n
    cop = dynamics.com[rows] + (np.cross(n, moment) + level[:, None] * force) / (force @ n)[:, None]
    e1 = np.cross(n, (0.0, 1.0, 0.0))
    e1 /= np.linalg.norm(e1)
    axes = np.stack((e1, np.cross(n, e1)), axis=1)
    angles = np.arange(COP_DIRECTIONS) * 2.0 * np.pi / COP_DIRECTIONS
    directions = axes @ np.stack((np.cos(angles), np.sin(angles)))
    extent = np.where(support[..., None], position @ directions, -np.inf).max(axis=1)
    return np.maximum((cop @ directions - extent).max(axis=1), 0.0)


def torque_share(dynamics: MotionDynamics) -> Array:
    """Torque of every coordinate over its limit; NaN without a limit: (f, nv)."""
    effort = dynamics.model.effort
    share = np.full(dynamics.tau.shape, np.nan)
    for k in np.flatnonzero(np.isfinite(effort) & (effort > 0)):
        share[:, k] = np.abs(dynamics.tau[:, k]) / effort[k]
    return share


def limit_violations(model: Model, q: Array) -> tuple[Array, tuple[str, ...]]:
    """Violation of every joint limit: (f, c) [rad or m], and the names of the limits."""
    lower, upper = model.limits
    columns, names = [], []
    for name, index in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        if np.isfinite(lower[k]) or np.isfinite(upper[k]):
            columns.append(np.maximum(np.maximum(lower[k] - q[:, index], q[:, index] - upper[k]), 0.0))
            names.append(name)
    for name, joined in model.joints.items():
        cone = model.links[joined.link].joint.cone
        if cone is None:
            continue
        quaternion = q[:, joined.q]
        w, axial = quaternion[:, 0], quaternion[:, 1:] @ cone.axis
        across = np.linalg.norm(quaternion[:, 1:] - axial[:, None] * cone.axis, axis=1)
        swing = 2.0 * np.arctan2(across, np.hypot(w, axial))
        twist = (2.0 * np.arctan2(axial, w) + np.pi) % (2.0 * np.pi) - np.pi
        columns += [np.maximum(swing - cone.swing, 0.0), np.maximum(np.maximum(cone.twist[0] - twist, twist - cone.twist[1]), 0.0)]
        names += [f"{name}.swing", f"{name}.twist"]
    return (np.stack(columns, axis=1) if columns else np.zeros((len(q), 0))), tuple(names)


def _flight_metrics(dynamics: MotionDynamics) -> tuple[Array, Array]:
    """Non-gravitational CoM acceleration, and moment, in flight phases."""
    f = len(dynamics)
    acceleration, moment = np.full(f, np.nan), np.full(f, np.nan)
    for start, end in sustained_intervals(dynamics.times, ~dynamics.in_contact, MIN_FLIGHT_DURATION):
        span = slice(start, end + 1)
        acceleration[span] = np.linalg.norm(dynamics.required_wrench[span, :3], axis=1) / dynamics.model.mass
        moment[span] = np.linalg.norm(dynamics.required_wrench[span, 3:], axis=1)
    return acceleration, moment


def _jerk(dynamics: MotionDynamics) -> Array:
    """Root mean square over bodies of the rates of their accelerations: (f,) [m/s³]."""
    f, steps = len(dynamics), np.diff(dynamics.times)
    if f < 3:
        return np.zeros(f)
    uniform, squares, bodies = bool((steps == steps[0]).all()), np.zeros(f), len(dynamics.model.tree.parent)
    tail = np.zeros((0, bodies, 3))  # last two frames of the block before
    for block in dynamics.blocks():
        acceleration = np.concatenate((tail, block.body_acceleration))
        first, end = block.frames.stop - len(acceleration), block.frames.stop
        for b in range(bodies):
            a = acceleration[:, b]
            squares[first + 1 : end - 1] += np.sum(_central_difference(a, steps[first : end - 1], uniform) ** 2, axis=1)
            if first == 0:
                squares[0] += np.sum(((a[1] - a[0]) / steps[0]) ** 2)
            if end == f:
                squares[-1] += np.sum(((a[-1] - a[-2]) / steps[-1]) ** 2)
        tail = acceleration[-2:].copy()
    return np.sqrt(squares / bodies)


def _central_difference(x: Array, steps: Array, uniform: bool) -> Array:
    """Rates of the rows of a table but its first and last, with the intervals between rows [s]; as ``numpy.gradient`` has them."""
    if uniform:
        return (x[2:] - x[:-2]) / (2.0 * steps[0])
    before, after = steps[:-1, None], steps[1:, None]
    a, c = -after / (before * (before + after)), before / (after * (before + after))
    return a * x[:-2] + (after - before) / (before * after) * x[1:-1] + c * x[2:]
