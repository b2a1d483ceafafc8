"""Deviations of a filtered motion from the original, and their causes.

Joints at their torque, speed or position limit, CoP at the support boundary, slipping contacts, displaced footholds, recovery steps and
tasks that are not met, each with its time interval and the tracking error in it. All but recovery steps and tasks are evaluated from the
recorded simulation, independent of the controller's own state.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import POSE_CHUNK, BatchKinematics
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.filter.results.result import FilterResult

TORQUE_LIMIT_SHARE = 0.999  # of the torque limit, from which a joint counts as at the limit
SPEED_LIMIT_SHARE = 0.98  # likewise of the speed limit
JOINT_LIMIT_DISTANCE = 0.002  # [rad or m]
COP_BOUNDARY_DISTANCE = 0.006  # [m] the controller itself keeps 4 mm (support_margin)
SLIP_MIN_SPEED = 0.05  # [m/s]
LOAD_MIN_SHARE = 0.05  # of body weight; CoP and slip of contacts that bear less are not evaluated
MIN_DURATION, MAX_GAP = 0.02, 0.03  # [s] shorter intervals are dropped, intervals with a shorter gap between them merged
FOOTHOLD_MIN_DISPLACEMENT = 0.03  # [m]
SAME_LINE = 1e-12  # [m²] twice the area of a triangle of corners on one line

# Causes.
TORQUE_LIMIT, SPEED_LIMIT, JOINT_LIMIT = "joint torque at its limit", "joint speed at its limit", "joint at its position limit"
COP_AT_BOUNDARY, SLIP = "CoP at the support boundary", "contact slips"
FOOTHOLD_MOVED = "foothold displaced"
RECOVERY_STEP = "recovery step"  # followed by its length, direction and purpose
TASK_MISSED = "task not met"  # followed by the reason


class Deviation(NamedTuple):
    """Interval in which the filtered motion deviates from the original, and why."""

    cause: str
    part: str  # joint or link
    start: float  # [s]
    end: float  # [s]
    error: float  # largest one in the interval: of the joint's angle, of the foothold, else mean position error over all joints
    unit: str  # deg or cm; of tasks: tolerances

    def __str__(self) -> str:
        """Return one line."""
        interval = f"{self.part}: {self.cause}, {self.start:.2f}-{self.end:.2f} s"
        return interval if self.cause.startswith(RECOVERY_STEP) else f"{interval}, {self.error:.1f} {self.unit}"


def find_deviations(result: FilterResult) -> list[Deviation]:
    """Deviations in the order of their start times."""
    found = [
        *_torque_limits(result),
        *_speed_limits(result),
        *_joint_limits(result),
        *_contact_deviations(result, 100.0 * result.frame_errors.position),
        *_footholds(result),
        *_recovery_steps(result),
        *_missed_tasks(result),
    ]
    return sorted(found, key=lambda deviation: (deviation.start, deviation.part))


def _max_joint_error(result: FilterResult, interval: slice, coordinates: slice) -> float:
    """Largest error of some coordinates in an interval [deg]."""
    original = result.reference.original_configurations(interval)
    difference = BatchKinematics(result.motion.figure).difference(original, result.motion.q[interval])
    return float(np.degrees(np.abs(difference[:, coordinates])).max())


def _lasting_intervals(flags: Array, times: Array) -> Iterator[slice]:
    """Intervals of frames in which a flag holds, without short gaps and short intervals; changes ``flags``."""
    for a, b in true_intervals(~flags):
        if a > 0 and b < len(flags) and times[b] - times[a - 1] < MAX_GAP:
            flags[a:b] = True
    for a, b in true_intervals(flags):
        if times[b - 1] - times[a] >= MIN_DURATION:
            yield slice(a, b)


def _torque_limits(result: FilterResult) -> Iterator[Deviation]:
    times, figure = result.motion.times, result.motion.figure
    for name, torque in result.joint_torques.items():
        coordinates = figure.joints[name].v
        limit = result.torque_limits[coordinates]
        at_limit = np.any(np.abs(torque) >= TORQUE_LIMIT_SHARE * np.where(np.isfinite(limit) & (limit > 0.0), limit, np.inf), axis=1)
        for interval in _lasting_intervals(at_limit, times):
            error = _max_joint_error(result, interval, coordinates)
            yield Deviation(TORQUE_LIMIT, name, float(times[interval.start]), float(times[interval.stop - 1]), error, "deg")


def _speed_limits(result: FilterResult) -> Iterator[Deviation]:
    times, figure, joints = result.motion.times, result.motion.figure, result.recording.model.joints
    for name, joint in figure.joints.items():
        limit = figure.speed[joint.v]
        if np.isfinite(limit).any():
            speed = np.abs(result.recording.v[: len(times), joints[f"{result.figure_name}/{name}"].v])
            at_limit = np.any(speed >= SPEED_LIMIT_SHARE * limit, axis=1)
            for interval in _lasting_intervals(at_limit, times):
                error = _max_joint_error(result, interval, joint.v)
                yield Deviation(SPEED_LIMIT, name, float(times[interval.start]), float(times[interval.stop - 1]), error, "deg")


def _joint_limits(result: FilterResult) -> Iterator[Deviation]:
    times, figure = result.motion.times, result.motion.figure
    joints = [(name, j) for name, j in figure.joints.items() if j.q.stop - j.q.start == 1 and j.v.stop - j.v.start == 1]
    at_limit = _at_joint_limits(result, np.array([j.q.start for _, j in joints], int), np.array([j.v.start for _, j in joints], int))
    for (name, joint), flags in zip(joints, at_limit, strict=True):
        for interval in _lasting_intervals(flags, times):
            error = _max_joint_error(result, interval, joint.v)
            yield Deviation(JOINT_LIMIT, name, float(times[interval.start]), float(times[interval.stop - 1]), error, "deg")


def _at_joint_limits(result: FilterResult, q_at: Array, v_at: Array) -> Array:
    """Whether single coordinates are at their limit and differ from the original, by coordinate and frame."""
    n, (lower, upper) = len(result.motion), result.motion.figure.limits
    found = np.zeros((len(q_at), n), bool)
    for k in range(0, n, POSE_CHUNK):
        frames = slice(k, min(k + POSE_CHUNK, n))
        x, original = result.motion.q[frames][:, q_at], result.reference.original_configurations(frames)[:, q_at]
        outside = (x < lower[v_at] + JOINT_LIMIT_DISTANCE) | (x > upper[v_at] - JOINT_LIMIT_DISTANCE)
        found[:, frames] = (outside & (np.abs(original - x) > JOINT_LIMIT_DISTANCE)).T
    return found


def _contact_deviations(result: FilterResult, mean_errors: Array) -> Iterator[Deviation]:
    """CoP at the support boundary, and slipping contacts."""
    times, history, figure = result.motion.times, result.recording.contacts, result.figure_name
    min_load = LOAD_MIN_SHARE * result.motion.figure.mass * float(np.linalg.norm(result.recording.gravity))
    if figure not in history:
        return
    whole = history[figure]
    vertical, cop, margin = whole.force[:, 2], whole.cop, np.full(len(times), np.inf)
    loaded = np.flatnonzero(vertical > min_load)
    for k in range(0, len(loaded), POSE_CHUNK):
        some = loaded[k : k + POSE_CHUNK]
        margin[some] = support_margins(cop[some, :2], *history.support_points(figure, some))
    pairs = [pair for pair in history.pairs if pair.startswith(f"{figure}/")]
    load = {pair: history[pair].force[:, 2] for pair in pairs}
    for interval in _lasting_intervals(margin < COP_BOUNDARY_DISTANCE, times):
        pair = max(pairs, key=lambda pair: load[pair][interval].sum())
        yield _contact_deviation(COP_AT_BOUNDARY, pair, interval, times, mean_errors)
    for pair in pairs:
        slips = (history[pair].slip > SLIP_MIN_SPEED) & (load[pair] > min_load)
        for interval in _lasting_intervals(slips, times):
            yield _contact_deviation(SLIP, pair, interval, times, mean_errors)


def _contact_deviation(cause: str, pair: str, interval: slice, times: Array, mean_errors: Array) -> Deviation:
    link = pair.partition(" on ")[0].rpartition("/")[2]
    return Deviation(cause, link, float(times[interval.start]), float(times[interval.stop - 1]), float(mean_errors[interval].max()), "cm")


def support_margins(points: Array, corners: Array, known: Array) -> Array:
    """Distances (n,) [m] of points (n, 2) from the boundary of the hulls of corners (n, k, 2); zero without an area, negative outside.

    ``known`` (n, k): which corners there are. Two corners are a side of the hull if no corner is on the right of the line through them.
    """
    n, count = known.shape
    margin, across = np.full(n, np.inf), corners - points[:, None]
    for i, j in permutations(range(count), 2):
        ex, ey = (corners[:, j] - corners[:, i]).T
        length = np.hypot(ex, ey)
        turn = ex[:, None] * (corners[..., 1] - corners[:, i, 1, None]) - ey[:, None] * (corners[..., 0] - corners[:, i, 0, None])
        side = known[:, i] & known[:, j] & (length > 0.0) & ((turn >= -SAME_LINE) | ~known).all(axis=1)
        distance = np.divide(ey * across[:, i, 0] - ex * across[:, i, 1], length, out=np.zeros(n), where=length > 0.0)
        margin = np.where(side, np.minimum(margin, distance), margin)
    return np.where(known.sum(axis=1) < 3, 0.0, margin)


def _footholds(result: FilterResult) -> Iterator[Deviation]:
    """Footholds displaced from those of the reference."""
    figure, times, n = result.motion.figure, result.motion.times, len(result.motion)
    kinematics = BatchKinematics(figure)
    for stance in result.reference.stances:
        if stance.kind != "support" or stance.end > n or len(stance.corners) < 3 or not stance.corner_contact.all(axis=1).any():
            continue
        flat = stance.start + int(np.flatnonzero(stance.corner_contact.all(axis=1))[-1])
        place = figure.placements[stance.link]
        poses = kinematics.poses(result.motion.q[flat : flat + 1])
        corners = place.position + stance.corners @ place.rotation.T
        filtered = np.stack([poses.point(place.body, corner)[0] for corner in corners])
        error = float(np.linalg.norm((filtered - stance.corner_positions).mean(axis=0)[:2]))
        if error > FOOTHOLD_MIN_DISPLACEMENT:
            yield Deviation(FOOTHOLD_MOVED, stance.link, float(times[stance.start]), float(times[stance.end - 1]), 100.0 * error, "cm")


def _recovery_steps(result: FilterResult) -> Iterator[Deviation]:
    """Recovery steps, which the reference does not have."""
    for step in result.recovery_steps:
        yield Deviation(f"{RECOVERY_STEP} of {step.description}", step.link, step.start, step.end, 100.0 * step.length, "cm")


def _missed_tasks(result: FilterResult) -> Iterator[Deviation]:
    """Tasks whose error was beyond their tolerance while they should have been met."""
    for task in result.tasks.values():
        for interval in _lasting_intervals(task.missed.copy(), task.times):
            times = task.times[interval]
            error = float(np.nanmax(task.size[interval])) / task.tolerance
            yield Deviation(f"{TASK_MISSED} ({task.reason})", task.name, float(times[0]), float(times[-1]), error, "tolerances")
