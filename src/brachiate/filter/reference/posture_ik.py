"""Posture by trajectory IK: configurations of all frames that bring feet and fixed points to their targets, close to the original ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate.anatomy.feet import Foot
from brachiate.anatomy.landmarks import BodyPoint, Landmarks
from brachiate.clip.joint_roles import SIDES
from brachiate.foot_locking.foot_trajectories import FootTrajectory, PoseTrajectory
from brachiate.kinematics_batch import BatchKinematics, BodyPoints, Poses
from brachiate.model.joints import TURN
from brachiate.retargeting.pieces import solve_in_pieces
from brachiate.retargeting.trajectory_ik import IkTargets, TrajectoryIk, contact_weights
from brachiate.validation import Array

# [1/m] of corners in contact, of other corners of a stance foot, and of a swing foot
CONTACT_WEIGHT, STANCE_WEIGHT, SWING_WEIGHT = 500.0, 60.0, 20.0
PENETRATION_WEIGHT = 200.0  # [1/m] of the depth of corners below the ground
WEIGHT_BLEND = 0.04  # [s] transition between these weights
PELVIS_POSITION_WEIGHT, PELVIS_ORIENTATION_WEIGHT = 10.0, 2.0  # [1/m], [1/rad]
POSTURE_WEIGHT = 0.3  # [1/rad] of all other joints
# [s²] of accelerations added to the root, which limits its correction to about 2 Hz, and to the joints
ROOT_ACCELERATION_WEIGHT, JOINT_ACCELERATION_WEIGHT = 0.02, 6e-4
KNEE_MIN_FLEXION = 0.035  # [rad] at the frames; between them it may be slightly less
KNEE_REACH_FLEXION = 0.15  # [rad] of a knee for which the pelvis is brought closer to the feet
PELVIS_SHIFT_SMOOTHING = 0.05  # [s] of this shift
OVERLAP = 1.5  # [s] of the pieces of long motions: root accelerations reach this far
ITERATIONS, MAX_ROUNDS = 9, 4  # of the IK, until contacts are within the tolerance
CONTACT_TOLERANCE = 1e-4  # [m]


class PointTarget(NamedTuple):
    """Fixed target of a point of a body over some frames."""

    point: BodyPoint
    active: Array  # (f,)
    position: Array  # (3,) [m]


class KneeHinge(NamedTuple):
    """Knee with one revolute joint."""

    q_index: int
    v_index: int
    straight_angle: float  # [rad] at which the leg is longest
    flexion_sign: float  # sign of the angle in flexion


def solve_posture(
    marks: Landmarks,
    times: Array,
    q: Array,
    poses: Poses,
    feet: Sequence[Foot],
    trajectories: Sequence[FootTrajectory],
    points: Sequence[PointTarget],
) -> Array:
    """Configurations (f, nq) that follow the foot trajectories and point targets.

    Args:
        marks: Landmarks of the figure.
        times: (f,) [s]
        q: Original configurations: (f, nq).
        poses: Poses of these.
        feet: Feet of the figure.
        trajectories: Trajectories of the feet.
        points: Targets of other points.
    """
    knees = find_knees(marks, q)
    nominal = q.copy()
    for knee in knees:
        nominal[:, knee.q_index] = _limit_extension(nominal[:, knee.q_index], knee)
    foot_paths = {foot.side: trajectory.foot for foot, trajectory in zip(feet, trajectories, strict=True)}
    shift = _pelvis_shift(marks, poses, foot_paths, knees, times)
    targets = _ik_targets(marks, times, poses, shift, feet, trajectories, points)
    limits, root = _joint_limits(marks, knees), _root_position(marks)

    def solve(frames: slice, report: Callable[[float], None]) -> Array:
        start = nominal[frames].copy()
        start[:, root] += shift[frames] @ marks.model.tree.R_parent_joint[0]
        ik = TrajectoryIk(marks.model, targets.frames(frames), times[frames], nominal[frames], POSTURE_WEIGHT, limits)
        return _solve_frames(ik, start, nominal[frames], report)

    return solve_in_pieces(marks.model, times, OVERLAP, solve, lambda _: None)


def _solve_frames(ik: TrajectoryIk, start: Array, nominal: Array, report: Callable[[float], None]) -> Array:
    """Configurations (f, nq) near the nominal ones, until contacts are within the tolerance."""
    targets = ik.targets
    weight = np.full((len(start), len(ik.dofs)), JOINT_ACCELERATION_WEIGHT)
    weight[:, ik.is_root] = ROOT_ACCELERATION_WEIGHT
    q, in_contact, last_error = ik.clamp(start), targets.weight[..., 0] > 0.99 * CONTACT_WEIGHT, np.inf
    for _ in range(MAX_ROUNDS):
        q = ik.solve_trajectory(q, weight, nominal, ITERATIONS, report)
        positions, _ = ik.kinematics.point_jacobians(ik.kinematics.poses(q), targets.points, ik.dofs[:0])
        error = float(np.linalg.norm(positions[:, targets.first] - targets.target, axis=2)[in_contact].max(initial=0.0))
        if error < CONTACT_TOLERANCE or error > 0.8 * last_error:
            break
        last_error = error
    return ik.enforce_limits(q)


def find_knees(marks: Landmarks, q: Array) -> list[KneeHinge]:
    """Knees with a single revolute joint: angle of the straight leg, and direction of flexion in a motion (f, nq)."""
    model, kinematics, knees = marks.model, BatchKinematics(marks.model), []
    for side in SIDES:
        body = marks.points[f"{side}_knee"].body
        elements = range(model.tree.element[body], model.tree.element[body + 1])
        if len(elements) != 1 or model.tree.kind[elements[0]] != TURN:
            continue
        q_index, v_index = int(model.tree.q_at[elements[0]]), int(model.tree.v_at[elements[0]])
        angles = np.linspace(-1.2, 1.2, 481)
        samples = np.tile(marks.standing_q, (len(angles), 1))
        samples[:, q_index] = angles
        poses = kinematics.poses(samples)
        length = np.linalg.norm(poses.point(*marks.points[f"{side}_hip"]) - poses.point(*marks.points[f"{side}_ankle"]), axis=1)
        straight = float(angles[np.argmax(length)])
        sign = 1.0 if np.mean(q[:, q_index]) >= straight else -1.0
        knees.append(KneeHinge(q_index, v_index, straight, sign))
    return knees


def _limit_extension(angle: Array, knee: KneeHinge) -> Array:
    """Knee angles with at least the minimum flexion, by a smooth maximum."""
    flexion = knee.flexion_sign * (angle - knee.straight_angle) - KNEE_MIN_FLEXION
    width = 0.04
    return knee.straight_angle + knee.flexion_sign * (KNEE_MIN_FLEXION + 0.5 * (flexion + np.sqrt(flexion**2 + width**2)))


def _joint_limits(marks: Landmarks, knees: Sequence[KneeHinge]) -> tuple[Array, Array]:
    lower, upper = (limit.copy() for limit in marks.model.limits)
    for knee in knees:
        edge, k = knee.straight_angle + knee.flexion_sign * KNEE_MIN_FLEXION, knee.v_index
        if knee.flexion_sign > 0:
            lower[k] = min(max(lower[k], edge), upper[k])
        else:
            upper[k] = max(min(upper[k], edge), lower[k])
    return lower, upper


def _root_position(marks: Landmarks) -> slice:
    """Coordinates of the root position in q."""
    first = int(marks.model.tree.q_at[0])
    return slice(first, first + 3)


def _pelvis_shift(marks: Landmarks, poses: Poses, feet: Mapping[str, PoseTrajectory], knees: Sequence[KneeHinge], times: Array) -> Array:
    """Shift of the pelvis that brings the feet into reach of legs with flexed knees: (f, 3) [m]."""
    shift = np.zeros((len(times), 3))
    if not knees:
        return shift
    for _ in range(12):
        for side, foot in feet.items():
            hip, knee, ankle = (poses.point(*marks.points[f"{side}_{joint}"]) for joint in ("hip", "knee", "ankle"))
            if marks.points[f"{side}_ankle"].body == marks.points[f"{side}_knee"].body:
                continue
            thigh, shank = float(np.linalg.norm(knee - hip, axis=1)[0]), float(np.linalg.norm(ankle - knee, axis=1)[0])
            angles = (KNEE_MIN_FLEXION, KNEE_REACH_FLEXION)
            longest, reach = (np.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * np.cos(angle)) for angle in angles)
            own = np.linalg.norm(ankle - hip, axis=1)
            leg = foot.x + foot.R @ marks.points[f"{side}_ankle"].position - hip - shift
            length = np.linalg.norm(leg, axis=1)
            excess = np.maximum(length - np.clip(own, reach, longest), 0.0)
            shift += (excess / length)[:, None] * leg
    size = np.linalg.norm(shift, axis=1)
    if not size.any():
        return shift
    # The largest shift within the smoothing time, in a slowly varying direction
    width = PELVIS_SHIFT_SMOOTHING / float(np.median(np.diff(times)))
    size = gaussian_filter1d(maximum_filter1d(size, 2 * max(1, round(1.5 * width)) + 1), width, mode="nearest")
    directions = gaussian_filter1d(shift, 2.0 * width, axis=0, mode="nearest")
    return size[:, None] * directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)


def _ik_targets(
    marks: Landmarks,
    times: Array,
    poses: Poses,
    shift: Array,
    feet: Sequence[Foot],
    trajectories: Sequence[FootTrajectory],
    points: Sequence[PointTarget],
) -> IkTargets:
    """IK targets: original pelvis plus shift (f, 3) [m], foot trajectories, and fixed points."""
    f, pelvis = len(times), marks.points["pelvis"]
    frame = [BodyPoint(pelvis.body, np.zeros(3)), *(BodyPoint(pelvis.body, axis) for axis in np.eye(3))]
    body_points: list[BodyPoint] = [pelvis, *frame]
    second = [-1, 1, 1, 1]
    first = [0, 2, 3, 4]
    targets = [poses.point(*pelvis) + shift, *(poses.R[pelvis.body] @ axis for axis in np.eye(3))]
    weights = [np.full(f, PELVIS_POSITION_WEIGHT), *[np.full(f, PELVIS_ORIENTATION_WEIGHT / np.sqrt(2.0))] * 3]

    def add(point: BodyPoint, target: Array, weight: Array) -> None:
        first.append(len(body_points))
        second.append(-1)
        body_points.append(point)
        targets.append(target)
        weights.append(weight)

    for foot, path in zip(feet, trajectories, strict=True):
        in_stance = path.corner_contact.any(axis=1) | path.toe_contact
        stance_weight = STANCE_WEIGHT if len(foot.corners) == 4 else SWING_WEIGHT
        foot_weight = contact_weights(in_stance, times, stance_weight, SWING_WEIGHT, WEIGHT_BLEND)
        for k, corner in enumerate(foot.corners):
            weight = contact_weights(path.corner_contact[:, k], times, CONTACT_WEIGHT, SWING_WEIGHT, WEIGHT_BLEND)
            add(BodyPoint(foot.body, corner), path.foot.x + path.foot.R @ corner, np.maximum(weight, foot_weight))
        if foot.toes is not None and path.toes is not None:
            weight = contact_weights(path.toe_contact, times, CONTACT_WEIGHT, SWING_WEIGHT, WEIGHT_BLEND)
            for corner in foot.toes.corners:
                add(BodyPoint(foot.toes.body, corner), path.toes.x + path.toes.R @ corner, weight)
    is_above_ground = min((float(path.foot.x[:, 2].min()) for path in trajectories), default=0.0) > 0.0  # else it stands in a pit
    floor = list(range(1 + len(frame), len(body_points))) if is_above_ground else []
    for point in points:
        weight = contact_weights(point.active, times, CONTACT_WEIGHT, 1e-2, 0.15)
        add(point.point, np.broadcast_to(point.position, (f, 3)), np.where(weight > 2e-2, weight, 0.0))
    weight = np.stack(weights, axis=1)[..., None]
    return IkTargets(
        BodyPoints(np.array([point.body for point in body_points]), np.array([point.position for point in body_points])),
        np.array(first), np.array(second), np.stack(targets, axis=1), np.broadcast_to(weight, (f, len(weights), 3)),
        np.array(floor, int), np.full(len(floor), PENETRATION_WEIGHT),
    )  # fmt: skip
