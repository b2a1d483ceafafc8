"""Retargeting: a motion of one figure on another, with its pose, joint limits and foot contacts.

Limb directions of the source are kept, with limb lengths of the target, so the pose is independent of proportions. The path of the pelvis
is scaled by leg length. Corresponding parts are found by :mod:`brachiate.anatomy.landmarks`; configurations of all frames are solved
together by inverse kinematics (:mod:`brachiate.retargeting.trajectory_ik`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.clip.joint_roles import SIDES
from brachiate.compiled import prepare
from brachiate.deprecation import renamed_arguments, renamed_attribute, warn_renamed
from brachiate.foot_locking.foot_trajectories import lowest_points
from brachiate.freed_memory import return_freed_memory
from brachiate.kinematics_batch import Poses, unwrap_quaternions
from brachiate.model.model import Model
from brachiate.motion.arguments import check_figure, check_motion
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.progress import ProgressBar
from brachiate.retargeting.goals import GoalRows, goal_rows
from brachiate.retargeting.hand_contacts import contacts_by_role
from brachiate.retargeting.ik_targets import RetargetTargets
from brachiate.retargeting.pieces import PIECE, solve_in_pieces
from brachiate.retargeting.result_contacts import contact_labels
from brachiate.retargeting.target_rows import TargetRows
from brachiate.retargeting.trajectory_ik import TrajectoryIk
from brachiate.validation import Array

WEIGHT_STAGES = (15.0,)  # [1/m] limits of target weights of successive solutions: feet approach the ground in moderate steps
GRIP_WEIGHT_STAGES = (1.0, 4.0, 15.0)  # [1/m] the same with grips, which move the whole body
CORRECTION_SMOOTHING = 7e-4  # [s²] weight of accelerations of the correction for contacts: passes frequencies below 6 Hz
SCALES = (0.01, 100.0)  # of the pelvis path: valid range
OVERLAP = 1.0  # [s] of the pieces of long motions


@dataclass(frozen=True)
class RetargetResult:
    """Retargeted motion and its quality.

    Args:
        motion: The retargeted motion.
        scale: Leg length of the target over that of the source; scale of the pelvis path.
        landmark_errors: Mean distance of landmarks from those of the source with limb lengths of the target, by role [cm].
        contacts: Contact flags of heels, toes, hands and grips that were enforced, by role.
        foot_skate: Mean horizontal speed of points in contact [m/s].
        penetration: Largest depth of feet and hands below the ground [mm].
        foot_float: Largest distance of the lowest point of a stance foot from its ground level [mm].
        grip_error: Largest distance of hands from what they grip [mm].
        jerk_ratio: RMS jerk of knees, ankles, elbows and wrists over that of the source, lengths scaled.
        joint_limit_share: Share of time at a joint limit, by coordinate; only coordinates that ever reach one.
        goal_errors: Largest distance of each goal's function from its target, by name [unit of the function].
    """

    motion: Motion
    scale: float
    landmark_errors: Mapping[str, float]
    contacts: Mapping[str, Array] = field(repr=False)
    foot_skate: float = 0.0
    penetration: float = 0.0
    foot_float: float = 0.0
    grip_error: float = 0.0
    jerk_ratio: float = 1.0
    joint_limit_share: Mapping[str, float] = field(default_factory=dict)
    goal_errors: Mapping[str, float] = field(default_factory=dict)

    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write the motion: see :meth:`brachiate.Motion.save`."""
        return self.motion.save(path, **options)

    errors = renamed_attribute("errors", "landmark_errors")
    skate = renamed_attribute("skate", "foot_skate")
    floating = renamed_attribute("floating", "foot_float")
    grip = renamed_attribute("grip", "grip_error")
    jerk = renamed_attribute("jerk", "jerk_ratio")
    at_limits = renamed_attribute("at_limits", "joint_limit_share")

    def __getattr__(self, name: str) -> Any:
        """Attributes of the motion, deprecated: ``br.retarget`` returned the motion itself before version 0.2."""
        if name.startswith("_") or (not hasattr(Motion, name) and name not in Motion.__dataclass_fields__):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        warn_renamed(f"br.retarget(...).{name}", f"br.retarget(...).motion.{name}")
        return getattr(self.motion, name)

    def __len__(self) -> int:
        """Return the number of frames; deprecated."""
        warn_renamed("len(br.retarget(...))", "len(br.retarget(...).motion)")
        return len(self.motion)

    def __bool__(self) -> bool:
        """Return True."""
        return True


@renamed_arguments(ground="ground_height")
def retarget(
    motion: Motion,
    figure: Model,
    *,
    roles: Mapping[str, str] | None = None,
    source_roles: Mapping[str, str] | None = None,
    contacts: Mapping[str, Array] | ContactLabels | None = None,
    scale: float | None = None,
    ground_height: float | None = None,
    goals: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> RetargetResult:
    """Retarget a motion to another figure, within its joint limits, with the contacts of feet and hands kept.

    Args:
        motion: Motion of a figure with two legs.
        figure: Target figure, with a floating base.
        roles: Links of the target by role (``{"left_knee": "link7"}``), where they are not found by name and position: see
            :data:`brachiate.anatomy.landmarks.MAPPED`.
        source_roles: The same of the motion's own figure.
        contacts: Contact flags of ``left_foot``, ``left_heel``, ``left_toe``, ``left_hand``, ... with the ground, and of ``left_grip``, ...
            with something fixed: one of True or False a frame. Or contact labels, as a check infers them. Default: those of the motion,
            else detected by height and speed; grips are inferred where nothing else supports the motion.
        scale: Scale of the pelvis path, 0.01 to 100. Default: leg length of the target over that of the source.
        ground_height: Height of the ground in the motion [m]. Default: height of the stance feet. It is 0 in the result.
        goals: Functions of the target figure by name, and what they should be: :class:`~brachiate.Goal`, or a function that is to be
            what it is in the source, such as ``an.distance("landmark/left_hand", "landmark/right_hand")``.
        progress: Show a progress bar if it takes more than two seconds.
    """
    motion, figure = check_motion(motion), check_figure(figure)
    source, target = find_landmarks(motion.figure, source_roles), find_landmarks(figure, roles)
    if scale is not None:
        scale = validation.number(scale, "scale", minimum=SCALES[0], maximum=SCALES[1])
    if ground_height is not None:
        ground_height = validation.number(ground_height, "ground_height", minimum=-1e4, maximum=1e4)
    rows = None if goals is None else goal_rows(goals, motion, source, target)
    contacts = motion.contacts if contacts is None else contacts
    if isinstance(contacts, ContactLabels):
        ground_height = contacts.terrain.height if ground_height is None else ground_height
        contacts = contacts_by_role(contacts, motion.times)
    prepare("check")  # contacts are inferred
    targets = RetargetTargets(motion, source, target, contacts, scale, ground_height)
    pose_rows, contact_rows = targets.pose_rows(), targets.contact_rows()
    ik = TrajectoryIk(figure, contact_rows.frames(slice(0, 0)), motion.times[:0], target.standing_q, goals=rows)
    if len(motion) > PIECE:
        return_freed_memory()
    with ProgressBar("retargeting", progress) as bar:
        q = unwrap_quaternions(figure, _solve_pieces(targets, pose_rows, contact_rows, rows, bar))
    del pose_rows, contact_rows
    targets.forget_rows()  # before the poses of the result need memory
    q.flags.writeable = False  # then the motion need not copy it
    assumptions = (*motion.assumptions, *targets.assumptions)
    labels = contact_labels(target, targets.contacts, targets.feet, motion.times)
    result = Motion(figure, motion.times, q, motion.name, assumptions, captured=motion.captured, contacts=labels)
    found = _evaluate(targets, result, ik)
    return found if rows is None else replace(found, goal_errors=rows.errors(result.q))


def retargeted(motion: Motion, figure: Model, **options: Any) -> RetargetResult:
    """Forward to :func:`retarget`; deprecated."""
    warn_renamed("retargeted", "retarget")
    return retarget(motion, figure, **{"progress": True, **options})


def _solve_pieces(targets: RetargetTargets, pose: TargetRows, contact: TargetRows, goals: GoalRows | None, bar: ProgressBar) -> Array:
    """Configurations of all frames; long motions in overlapping pieces."""
    times, start, model = targets.times, targets.initial_guess(), targets.target.model
    stages = GRIP_WEIGHT_STAGES if targets.grip_positions() else WEIGHT_STAGES

    def solve(frames: slice, report: Callable[[float], None]) -> Array:
        some = None if goals is None else goals.frames(frames)
        posture = targets.target.standing_q
        posed = TrajectoryIk(model, pose.frames(frames), times[frames], posture)
        corrected = TrajectoryIk(model, contact.frames(frames), times[frames], posture, goals=some)
        return _solve(posed, corrected, stages, start[frames], report)

    return solve_in_pieces(model, times, OVERLAP, solve, bar.show)


def _solve(pose: TrajectoryIk, contact: TrajectoryIk, stages: tuple[float, ...], q: Array, report: Callable[[float], None]) -> Array:
    """Solve the pose first, then contacts of feet and hands, and goals, by a smooth correction."""
    q = pose.solve_frames(q, lambda share: report(0.2 * share))
    posed = pose.solve_smooth(q, lambda share: report(0.2 + 0.4 * share))
    smoothing = np.full((len(q), len(contact.dofs)), CORRECTION_SMOOTHING)
    q = posed
    for k, max_weight in enumerate(stages):
        q = contact.with_max_weight(max_weight).solve_trajectory(
            q, smoothing, posed, 8, lambda share, k=k: report(0.6 + 0.1 * (k + share) / len(stages))
        )
    return contact.enforce_limits(contact.solve_trajectory(q, smoothing, posed, 25, lambda share: report(0.7 + 0.3 * share)))


def _evaluate(targets: RetargetTargets, motion: Motion, ik: TrajectoryIk) -> RetargetResult:
    """Result with its quality metrics."""
    poses = ik.kinematics.poses_of_bodies(motion.q, targets.target.all_bodies)
    penetration, foot_float, foot_skate = _contact_errors(targets, poses)
    at = ik.q_index >= 0
    names = [motion.figure.coordinates[k] for k in ik.dofs[at]]
    values = motion.q[:, ik.q_index[at]]
    shares = ((values <= ik.lower[at] + 1e-9) | (values >= ik.upper[at] - 1e-9)).mean(axis=0)
    return RetargetResult(
        motion, targets.scale, _landmark_errors(targets, poses), targets.contacts, foot_skate, penetration, foot_float,
        _grip_error(targets, poses), _jerk_ratio(targets, poses),
        {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0},
    )  # fmt: skip


def _landmark_errors(targets: RetargetTargets, poses: Poses) -> dict[str, float]:
    """Mean distances from landmarks with the limb directions of the source, legs from the pelvis, arms from the shoulders [cm]."""
    expected = {"pelvis": targets.pelvis}
    for side in SIDES:
        posed = targets.pose_of_leg(side)
        expected |= {f"{side}_knee": posed["knee"], f"{side}_ankle": posed["ankle"]}
        if all(f"{side}_{part}" in marks.points for part in ("shoulder", "elbow", "wrist") for marks in (targets.source, targets.target)):
            shoulder = poses.point(*targets.target.points[f"{side}_shoulder"])
            elbow = shoulder + targets.limb_vector(side, "upper_arm")
            wrist = elbow + targets.limb_vector(side, "forearm")
            expected |= {f"{side}_elbow": elbow, f"{side}_wrist": wrist}
    distances = {role: np.linalg.norm(poses.point(*targets.target.points[role]) - x, axis=1) for role, x in expected.items()}
    return {role: 100.0 * float(distance.mean()) for role, distance in distances.items()}


def _contact_errors(targets: RetargetTargets, poses: Poses) -> tuple[float, float, float]:
    """Penetration [mm], foot float [mm] and foot skate [m/s]."""
    lowest, above, speeds = 0.0, 0.0, []
    for side in SIDES:
        body, sole = targets.target.bodies[f"{side}_foot"], targets.target.soles[side]
        heights = poses.x[body][:, 2] + lowest_points(sole.hull, poses.R[body])
        on, ground = targets.feet[side].in_stance, targets.feet[side].ground
        lowest = min(lowest, float(heights.min()))
        above = max(above, float(np.abs(heights - ground)[on].max(initial=0.0)))
        for end, label in (("heel", targets.feet[side].heel), ("toe", targets.feet[side].toe)):
            both = label[1:] & label[:-1]
            path = poses.point(body, getattr(sole, end))[:, :2]
            speeds.append((np.linalg.norm(np.diff(path, axis=0), axis=1) / np.diff(targets.times))[both])
    all_speeds = np.concatenate(speeds) if speeds else np.zeros(0)
    return 1000.0 * abs(lowest), 1000.0 * above, float(all_speeds.mean()) if len(all_speeds) else 0.0


def _grip_error(targets: RetargetTargets, poses: Poses) -> float:
    """Largest distance of hands from what they grip [mm]."""
    distances = [
        np.nanmax(np.linalg.norm(poses.point(*targets.target.points[f"{side}_hand"]) - place, axis=1))
        for side, place in targets.grip_positions().items()
    ]
    return 1000.0 * float(max(distances, default=0.0))


def _jerk_ratio(targets: RetargetTargets, poses: Poses) -> float:
    """RMS jerk of limb ends over that of the source."""
    if targets.frame_count < 5:
        return 1.0
    roles = [role for role in targets.target.points if role in targets.source.points and role.endswith(("knee", "ankle", "elbow", "wrist"))]
    squares = []
    for marks, seen in ((targets.target, poses), (targets.source, targets.poses)):
        paths = np.stack([seen.point(*marks.points[role]) for role in roles])
        squares.append(float((np.diff(paths, 3, axis=1) ** 2).mean()))
    return float(np.sqrt(squares[0] / max(squares[1], 1e-30)) / targets.scale)
