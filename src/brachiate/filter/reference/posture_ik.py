"""Configurations of all frames that bring feet, and whatever else stays, to where they should be, near to what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate.anatomy.feet import Foot
from brachiate.anatomy.landmarks import Landmarks, Point
from brachiate.clip.joint_roles import SIDES
from brachiate.filter.reference.foot_trajectories import Path, Steps
from brachiate.kinematics_batch import Many, Points, Poses
from brachiate.model.joints import TURN
from brachiate.retargeting.foot_locking import weights
from brachiate.retargeting.trajectory_ik import Fit, Goals
from brachiate.validation import Array

BEARS, STANDS, SWINGS = 500.0, 60.0, 20.0  # [1/m] weight of corners that bear, of others of a foot that stands, of one that swings
SINKS = 200.0  # [1/m] weight of how far corners are below the ground
EASE = 0.04  # [s] in which one goes over into the other
PELVIS, UPRIGHT = 10.0, 2.0  # [1/m], [1/rad] weight of where the pelvis is, and how it is turned
NEAR = 0.3  # [1/rad] weight of all other joints
SLOW, QUICK = 0.02, 6e-4  # [s²] weight of accelerations that are added to the pelvis, which goes below 2 Hz, and to legs
BENT = 0.035  # [rad] knees are never straighter; between frames they may be a little
ROOM = 0.15  # [rad] knees that feet are brought in reach of
SAG = 0.05  # [s] over which the pelvis is moved for that
MOST, ROUNDS = 9, 4  # iterations, and how often so many, until what bears is where it should be
EXACT = 1e-4  # [m] to this


class Pin(NamedTuple):
    """A point of a body that stays in a place for some frames."""

    point: Point
    on: Array  # (f,)
    place: Array  # (3,) [m]


class Knee(NamedTuple):
    """A knee that is a hinge."""

    place: int  # of its angle in q
    freedom: int
    straight: float  # [rad] its angle when the leg is longest
    sign: float  # of flexion


def posture(
    marks: Landmarks, times: Array, q: Array, poses: Poses, feet: Sequence[Foot], steps: Sequence[Steps], pins: Sequence[Pin]
) -> Array:
    """Configurations (f, nq) that follow the steps.

    Args:
        marks: Of the figure.
        times: [s]
        q: Configurations to stay near: (f, nq).
        poses: Theirs.
        feet: Of the figure.
        steps: Paths of these.
        pins: What else stays in its place.
    """
    knees = knees_of(marks, q)
    near = q.copy()
    for knee in knees:
        near[:, knee.place] = _bent(near[:, knee.place], knee)
    shift = _within_reach(marks, poses, {foot.side: step.foot for foot, step in zip(feet, steps, strict=True)}, knees, times)
    goals = _goals(marks, times, poses, shift, feet, steps, pins)
    fit = Fit(marks.model, goals, times, near, NEAR, _limits(marks, knees))
    start = near.copy()
    root = _root(marks)
    start[:, root] += shift @ marks.model.tree.R_parent_joint[0]
    weight = np.full((len(times), len(fit.freedoms)), QUICK)
    weight[:, fit.floats] = SLOW
    q, bears, before = fit.within(start), goals.weight[..., 0] > 0.99 * BEARS, np.inf
    for _ in range(ROUNDS):
        q = fit.together(q, weight, near, MOST, lambda _: None)
        at, _ = fit.many.follow(fit.many.poses(q), goals.spots, fit.freedoms[:0])
        away = float(np.linalg.norm(at[:, goals.first] - goals.target, axis=2)[bears].max(initial=0.0))
        if away < EXACT or away > 0.8 * before:
            break
        before = away
    return fit.finished(q)


def knees_of(marks: Landmarks, q: Array) -> list[Knee]:
    """Knees that turn about one axis, how straight they can be, and which way they bend in a motion."""
    model, many, found = marks.model, Many(marks.model), []
    for side in SIDES:
        body = marks.points[f"{side}_knee"].body
        elements = range(model.tree.element[body], model.tree.element[body + 1])
        if len(elements) != 1 or model.tree.kind[elements[0]] != TURN:
            continue
        place, freedom = int(model.tree.q_at[elements[0]]), int(model.tree.v_at[elements[0]])
        angles = np.linspace(-1.2, 1.2, 481)
        tried = np.tile(marks.stand, (len(angles), 1))
        tried[:, place] = angles
        poses = many.poses(tried)
        long = np.linalg.norm(poses.point(*marks.points[f"{side}_hip"]) - poses.point(*marks.points[f"{side}_ankle"]), axis=1)
        straight = float(angles[np.argmax(long)])
        sign = 1.0 if np.mean(q[:, place]) >= straight else -1.0
        found.append(Knee(place, freedom, straight, sign))
    return found


def _bent(angle: Array, knee: Knee) -> Array:
    """Angles of a knee that is bent a little at least, without a corner where that begins."""
    flexed = knee.sign * (angle - knee.straight) - BENT
    width = 0.04
    return knee.straight + knee.sign * (BENT + 0.5 * (flexed + np.sqrt(flexed**2 + width**2)))


def _limits(marks: Landmarks, knees: Sequence[Knee]) -> tuple[Array, Array]:
    lower, upper = (limit.copy() for limit in marks.model.limits)
    for knee in knees:
        edge = knee.straight + knee.sign * BENT
        if knee.sign > 0:
            lower[knee.freedom] = min(max(lower[knee.freedom], edge), upper[knee.freedom])
        else:
            upper[knee.freedom] = max(min(upper[knee.freedom], edge), lower[knee.freedom])
    return lower, upper


def _root(marks: Landmarks) -> slice:
    """Where the place of the root is in q."""
    at = int(marks.model.tree.q_at[0])
    return slice(at, at + 3)


def _within_reach(marks: Landmarks, poses: Poses, feet: Mapping[str, Path], knees: Sequence[Knee], times: Array) -> Array:
    """What the pelvis must be moved by for legs to reach their feet with bent knees: (f, 3) [m]."""
    shift = np.zeros((len(times), 3))
    if not knees:
        return shift
    for _ in range(12):
        for side, foot in feet.items():
            hip, knee, ankle = (poses.point(*marks.points[f"{side}_{joint}"]) for joint in ("hip", "knee", "ankle"))
            if marks.points[f"{side}_ankle"].body == marks.points[f"{side}_knee"].body:
                continue
            thigh, shank = float(np.linalg.norm(knee - hip, axis=1)[0]), float(np.linalg.norm(ankle - knee, axis=1)[0])
            most, least = (np.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * np.cos(angle)) for angle in (BENT, ROOM))
            own = np.linalg.norm(ankle - hip, axis=1)
            span = foot.x + foot.R @ marks.points[f"{side}_ankle"].at - hip - shift
            far = np.linalg.norm(span, axis=1)
            over = np.maximum(far - np.clip(own, least, most), 0.0)
            shift += (over / far)[:, None] * span
    far = np.linalg.norm(shift, axis=1)
    if not far.any():
        return shift
    # As far as it must be at any time within reach, or a little farther, in a direction that changes slowly
    width = SAG / float(np.median(np.diff(times)))
    most = gaussian_filter1d(maximum_filter1d(far, 2 * max(1, round(1.5 * width)) + 1), width, mode="nearest")
    ways = gaussian_filter1d(shift, 2.0 * width, axis=0, mode="nearest")
    return most[:, None] * ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)


def _goals(
    marks: Landmarks, times: Array, poses: Poses, shift: Array, feet: Sequence[Foot], steps: Sequence[Steps], pins: Sequence[Pin]
) -> Goals:
    """The pelvis as it was, feet on their steps, pins in their places."""
    f, pelvis = len(times), marks.points["pelvis"]
    frame = [Point(pelvis.body, np.zeros(3)), *(Point(pelvis.body, axis) for axis in np.eye(3))]
    spots: list[Point] = [pelvis, *frame]
    second = [-1, 1, 1, 1]
    first = [0, 2, 3, 4]
    targets = [poses.point(*pelvis) + shift, *(poses.R[pelvis.body] @ axis for axis in np.eye(3))]
    weight = [np.full(f, PELVIS), *[np.full(f, UPRIGHT / np.sqrt(2.0))] * 3]

    floor: list[int] = []

    def want(point: Point, target: Array, how: Array) -> None:
        first.append(len(spots))
        second.append(-1)
        spots.append(point)
        targets.append(target)
        weight.append(how)

    for foot, path in zip(feet, steps, strict=True):
        stands = path.bears.any(axis=1) | path.toes_bear
        firm = weights(stands, times, STANDS if len(foot.corners) == 4 else SWINGS, SWINGS, EASE)
        for k, corner in enumerate(foot.corners):
            how = np.maximum(weights(path.bears[:, k], times, BEARS, SWINGS, EASE), firm)
            want(Point(foot.body, corner), path.foot.x + path.foot.R @ corner, how)
        if foot.toes is not None and path.toes is not None:
            how = weights(path.toes_bear, times, BEARS, SWINGS, EASE)
            for corner in foot.toes.corners:
                want(Point(foot.toes.body, corner), path.toes.x + path.toes.R @ corner, how)
    if min((float(path.foot.x[:, 2].min()) for path in steps), default=0.0) > 0.0:  # else it stands in a pit
        floor = list(range(1 + len(frame), len(spots)))
    for pin in pins:
        how = weights(pin.on, times, BEARS, 1e-2, 0.15)
        want(pin.point, np.broadcast_to(pin.place, (f, 3)), np.where(how > 2e-2, how, 0.0))
    return Goals(
        Points(np.array([spot.body for spot in spots]), np.array([spot.at for spot in spots])),
        np.array(first), np.array(second), np.stack(targets, axis=1), np.repeat(np.stack(weight, axis=1)[..., None], 3, axis=2),
        np.array(floor, int), np.full(len(floor), SINKS),
    )  # fmt: skip
