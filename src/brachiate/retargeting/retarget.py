"""A motion of one figure as a motion of another: the same pose, within the other's limits, and feet that stand where they stand.

Limbs point where the source's do, each as long as it is in the target, so a pose is kept whatever the proportions. The path of the pelvis
is scaled by the length of the legs. Which parts correspond is found by :mod:`brachiate.anatomy.landmarks`; configurations of all frames
come from one fit (:mod:`brachiate.retargeting.trajectory_ik`), so no frame is the one all others depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.clip.joint_roles import SIDES
from brachiate.errors import ArgumentError
from brachiate.kinematics_batch import Poses
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Labels
from brachiate.motion.motion import Motion
from brachiate.progress import Bar
from brachiate.retargeting.hand_contacts import by_role
from brachiate.retargeting.ik_targets import Transfer
from brachiate.retargeting.trajectory_ik import Fit, Goals
from brachiate.validation import Array

SOFT = (15.0,)  # [1/m] what is wanted more is first wanted so much: feet come to the ground in steps that are not too large
SOFTER = (1.0, 4.0, 15.0)  # [1/m] the same where hands hold something: they pull the whole body along
SMOOTH = 7e-4  # [s²] weight of accelerations that feet and hands on the ground add to the pose: they are slower than 6 Hz
PIECE, OVERLAP = 1500, 1.0  # frames that are solved together, and the time on either side of them that is solved twice [s]


@dataclass(frozen=True)
class Retargeted:
    """A motion of another figure, and how well it does.

    Args:
        motion: The result.
        scale: Length of its legs over that of the source's.
        errors: Mean distance of landmarks from where the source's are, limbs scaled one by one [cm].
        contacts: What was kept on the ground: labels of heels, toes and hands.
        skate: Mean horizontal speed of what touches [m/s].
        penetration: Of the lowest point of feet and hands below the ground at any time [mm].
        floating: Of the lowest point of a foot above where it should stand, at most [mm].
        grip: How far hands are at most from what they hold [mm].
        jerk: Root mean square jerk of knees, ankles, elbows and wrists over that of the source, lengths scaled.
        at_limits: Share of frames that a coordinate is at a limit, of those that ever are.
    """

    motion: Motion
    scale: float
    errors: Mapping[str, float]
    contacts: Mapping[str, Array] = field(repr=False)
    skate: float = 0.0
    penetration: float = 0.0
    floating: float = 0.0
    grip: float = 0.0
    jerk: float = 1.0
    at_limits: Mapping[str, float] = field(default_factory=dict)


def retarget(
    motion: Motion,
    figure: Model,
    *,
    roles: Mapping[str, str] | None = None,
    source_roles: Mapping[str, str] | None = None,
    contacts: Mapping[str, Array] | Labels | None = None,
    scale: float | None = None,
    ground: float | None = None,
    progress: bool = True,
) -> Motion:
    """Move a figure as another one moves: see :func:`retargeted`, which tells how well it does too."""
    return retargeted(
        motion, figure, roles=roles, source_roles=source_roles, contacts=contacts, scale=scale, ground=ground, progress=progress
    ).motion


def retargeted(
    motion: Motion,
    figure: Model,
    *,
    roles: Mapping[str, str] | None = None,
    source_roles: Mapping[str, str] | None = None,
    contacts: Mapping[str, Array] | Labels | None = None,
    scale: float | None = None,
    ground: float | None = None,
    progress: bool = True,
) -> Retargeted:
    """Move a figure as another one moves, within its limits, feet and hands on the ground where the source's are.

    Args:
        motion: Of any figure with two legs.
        figure: Who shall do it, with a free root.
        roles: Names of links of the figure by role (``{"left_knee": "link7"}``), where names and places say the wrong thing:
            see :data:`brachiate.anatomy.landmarks.MAPPED`.
        source_roles: The same of the motion's own figure.
        contacts: Whether ``left_foot``, ``left_heel``, ``left_toe``, ``left_hand``, ... touch the ground, and whether ``left_grip``, ...
            holds something that stays in its place: one of True or False a frame. Or labels, as a check finds them. By default those
            of the motion, or guessed from heights and speeds; hands hold where nothing else carries the motion.
        scale: Of the path of the pelvis; by default the length of the legs over that of the source's.
        ground: Height of the ground in the motion [m]; by default where its soles stand. In the result it is 0.
        progress: Whether to show a bar if it takes more than two seconds.
    """
    if not isinstance(figure, Model):
        raise ArgumentError(f"figure: expected a model, such as figures.human28() or read_model(path, floating=True), got {figure!r}.")
    source, target = landmarks_of(motion.figure, source_roles), landmarks_of(figure, roles)
    if scale is not None:
        scale = validation.number(scale, "scale", above=0.0)
    contacts = motion.contacts if contacts is None else contacts
    if isinstance(contacts, Labels):
        ground = contacts.ground.height if ground is None else ground
        contacts = by_role(contacts, motion.times)
    transfer = Transfer(motion, source, target, contacts, scale, ground)
    pose, stand = transfer.pose_goals(), transfer.goals()
    with Bar("retargeting", progress) as bar:
        q = _solved(transfer, pose, stand, bar)
    guesses = (*motion.guesses, *transfer.guesses)
    new = Motion(figure, motion.times, _steady(figure, q), motion.name, guesses, captured=motion.captured)
    return _report(transfer, new, Fit(figure, stand, motion.times, target.stand))


def _solved(transfer: Transfer, pose: Goals, stand: Goals, bar: Bar) -> Array:
    """Configurations of all frames; of long motions in pieces that overlap, as a frame knows nothing of those a second away."""
    times, start = transfer.times, transfer.start()
    q = np.empty_like(start)
    pieces = max(1, round(len(q) / PIECE))
    ends = np.linspace(0, len(q), pieces + 1).astype(int)
    for k, (a, b) in enumerate(pairwise(ends)):
        first, last = np.searchsorted(times, (times[a] - OVERLAP, times[b - 1] + OVERLAP + 1e-9))
        which = slice(int(first), int(last))
        fits = [Fit(transfer.target.model, goals.frames(which), times[which], transfer.target.stand) for goals in (pose, stand)]
        stages = SOFTER if transfer.grips() else SOFT
        piece = _fitted(fits[0], fits[1], stages, start[which], lambda share, k=k: bar.show((k + share) / pieces))
        q[a:b] = piece[a - which.start : b - which.start]
    return q


def _fitted(pose: Fit, fit: Fit, stages: tuple[float, ...], q: Array, tell: Callable[[float], None]) -> Array:
    """The pose first; then feet and hands brought to the ground by what changes smoothly."""
    q = pose.alone(q, lambda share: tell(0.2 * share))
    posed = pose.followed(q, lambda share: tell(0.2 + 0.4 * share))
    firm = np.full((len(q), len(fit.freedoms)), SMOOTH)
    q = posed
    for k, most in enumerate(stages):
        q = fit.soft(most).together(q, firm, posed, 8, lambda share, k=k: tell(0.6 + 0.1 * (k + share) / len(stages)))
    return fit.finished(fit.together(q, firm, posed, 25, lambda share: tell(0.7 + 0.3 * share)))


def _steady(model: Model, q: Array) -> Array:
    """Quaternions with signs that do not jump."""
    for name, joined in model.joints.items():
        joint = model.links[model.joints[name].link].joint
        if joint.nq > joint.nv:
            place = slice(joined.q.stop - 4, joined.q.stop)
            q[:, place] = rotations.steady(q[:, place])
    return q


def _report(transfer: Transfer, motion: Motion, fit: Fit) -> Retargeted:
    """Measure a result."""
    poses = fit.many.poses(motion.q)
    penetration, floating, skate = _ground_report(transfer, poses)
    at = fit.place >= 0
    names = [motion.figure.coordinates[k] for k in fit.freedoms[at]]
    values = motion.q[:, fit.place[at]]
    shares = ((values <= fit.lower[at] + 1e-9) | (values >= fit.upper[at] - 1e-9)).mean(axis=0)
    return Retargeted(
        motion, transfer.scale, _errors(transfer, poses), transfer.contacts, skate, penetration, floating, _grip(transfer, poses),
        _jerk(transfer, poses),
        {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0},
    )  # fmt: skip


def _errors(transfer: Transfer, poses: Poses) -> dict[str, float]:
    """Mean distances from where limbs of the same directions would be, legs from the pelvis, arms from the shoulders [cm]."""
    expected = {"pelvis": transfer.pelvis}
    for side in SIDES:
        posed = transfer.posed(side)
        expected |= {f"{side}_knee": posed["knee"], f"{side}_ankle": posed["ankle"]}
        if all(f"{side}_{part}" in marks.points for part in ("shoulder", "elbow", "wrist") for marks in (transfer.source, transfer.target)):
            shoulder = poses.point(*transfer.target.points[f"{side}_shoulder"])
            elbow = shoulder + transfer.along(side, "upper_arm")
            wrist = elbow + transfer.along(side, "forearm")
            expected |= {f"{side}_elbow": elbow, f"{side}_wrist": wrist}
    away = {role: np.linalg.norm(poses.point(*transfer.target.points[role]) - x, axis=1) for role, x in expected.items()}
    return {role: 100.0 * float(distance.mean()) for role, distance in away.items()}


def _ground_report(transfer: Transfer, poses: Poses) -> tuple[float, float, float]:
    lowest, above, speeds = 0.0, 0.0, []
    for side in SIDES:
        body, sole = transfer.target.bodies[f"{side}_foot"], transfer.target.soles[side]
        heights = (poses.x[body][:, None] + sole.hull @ poses.R[body].transpose(0, 2, 1))[..., 2].min(axis=1)
        on = transfer.feet[side].heel | transfer.feet[side].toe
        level = transfer.level(side) if on.any() else np.zeros(transfer.f)
        lowest = min(lowest, float(heights.min()))
        above = max(above, float(np.abs(heights - level)[on].max(initial=0.0)))
        for end, label in (("heel", transfer.feet[side].heel), ("toe", transfer.feet[side].toe)):
            both = label[1:] & label[:-1]
            path = poses.point(body, getattr(sole, end))[:, :2]
            speeds.append((np.linalg.norm(np.diff(path, axis=0), axis=1) / np.diff(transfer.times))[both])
    together = np.concatenate(speeds) if speeds else np.zeros(0)
    return 1000.0 * abs(lowest), 1000.0 * above, float(together.mean()) if len(together) else 0.0


def _grip(transfer: Transfer, poses: Poses) -> float:
    """How far hands are at most from what they hold [mm]."""
    away = [
        np.nanmax(np.linalg.norm(poses.point(*transfer.target.points[f"{side}_hand"]) - place, axis=1))
        for side, place in transfer.grips().items()
    ]
    return 1000.0 * float(max(away, default=0.0))


def _jerk(transfer: Transfer, poses: Poses) -> float:
    """Of limbs' ends, out over in."""
    if transfer.f < 5:
        return 1.0
    roles = [
        role for role in transfer.target.points if role in transfer.source.points and role.endswith(("knee", "ankle", "elbow", "wrist"))
    ]
    squares = []
    for marks, seen in ((transfer.target, poses), (transfer.source, transfer.poses)):
        paths = np.stack([seen.point(*marks.points[role]) for role in roles])
        squares.append(float((np.diff(paths, 3, axis=1) ** 2).mean()))
    return float(np.sqrt(squares[0] / max(squares[1], 1e-30)) / transfer.scale)
