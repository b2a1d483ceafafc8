"""Where feet and hands stand: which are on the ground, and the paths that keep them there.

A foot on the ground has one place for all of that time. What a path must be moved by for that is let go of smoothly afterwards, and taken
up before, so that feet neither jump nor skate.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import Landmarks
from brachiate.anatomy.sole import Sole
from brachiate.assumptions import Guess
from brachiate.clip.joint_roles import SIDES
from brachiate.errors import ArgumentError
from brachiate.intervals import runs
from brachiate.kinematics_batch import Poses
from brachiate.validation import Array

#: What may be said to touch: ``foot`` is heel and toe both, ``grip`` a hand that holds something, wherever that is.
TOUCHING = tuple(f"{side}_{part}" for side in SIDES for part in ("foot", "heel", "toe", "hand", "grip"))
LEG = 0.85  # [m] of the person that the next numbers are of
LOW, HIGH = 0.035, 0.055  # [m] a point below the first comes to stand, above the second it is lifted
SLOW, FAST = 0.2, 0.4  # [m/s] the same by speed
PALM, QUICK = 0.09, 3.0  # [m] more for the palm, which is inside of the hand, and times the speed, as bones of hands are seldom well known
BENT = 0.5  # of the trunk's length: shoulders higher above the hips than this do not rest on hands
BRIEF = 0.06  # [s] contacts and gaps that are shorter are none
LET_GO = 0.2  # [s] over which a foot comes back to its own path
RAISE = 0.08  # [s] over which one that would sink is raised
FLAT = 0.1  # [s] over which a sole lies down
SAME, ALIKE = 0.03, np.radians(10.0)  # [m], [rad]: a foot that shifts less has not moved
STEP = 0.06  # [m] what is higher above the ground is a stair


class Foot(NamedTuple):
    """The path of a foot: its body's pose, and what touches."""

    R: Array  # (f, 3, 3)
    x: Array  # (f, 3) [m]
    heel: Array  # (f,) whether it touches
    toe: Array  # (f,)


def ground_of(marks: Landmarks, poses: Poses, times: Array) -> float:
    """The height on which a figure's soles stand while they are slow [m]."""
    points = [_edge(marks, poses, side, end) for side in SIDES for end in ("heel", "toe")]
    heights = np.concatenate([point[:, 2] for point in points])
    if len(times) < 5:
        return float(heights.min())
    slow = np.concatenate([_speed(point, times) for point in points]) < SLOW
    return float(np.percentile(heights[slow], 10)) if slow.sum() > 4 else float(heights.min())


def touching(marks: Landmarks, poses: Poses, times: Array, leg: float, ground: float) -> dict[str, Array]:
    """Guess when heels, toes and hands are on the ground: by height and speed, with hysteresis."""
    scale = leg / LEG
    found = {}
    for side in SIDES:
        for end in ("heel", "toe"):
            found[f"{side}_{end}"] = _standing(_edge(marks, poses, side, end), times, scale, ground)
        if f"{side}_hand" in marks.points:
            palm = poses.point(*marks.points[f"{side}_hand"])
            found[f"{side}_hand"] = _standing(palm, times, scale, ground, PALM, QUICK) & _bent(marks, poses, side)
    return found


def labels(given: Mapping[str, Array], frames: int) -> tuple[dict[str, Array], list[Guess]]:
    """Labels of a user: of heels, toes and hands, and what was said of other parts."""
    found: dict[str, Array] = {}
    left_out = []
    for role, label in given.items():
        label = np.asarray(label)
        if label.shape != (frames,) or label.dtype != bool:
            raise ArgumentError(f"contacts[{role!r}]: expected {frames} of True or False, one a frame, got {validation.shown(label)}.")
        side, _, part = role.partition("_")
        if role not in TOUCHING:
            left_out.append(role)
        for one in ("heel", "toe") if part == "foot" else (part,):
            if role in TOUCHING:
                found[f"{side}_{one}"] = found.get(f"{side}_{one}", np.zeros(frames, bool)) | label
    guesses = [Guess("contacts left out", ", ".join(left_out), f"only these are kept: {', '.join(TOUCHING)}")] if left_out else []
    return found, guesses


def _edge(marks: Landmarks, poses: Poses, side: str, end: str) -> Array:
    sole = marks.soles[side]
    return poses.point(marks.bodies[f"{side}_foot"], sole.heel if end == "heel" else sole.toe)


def _speed(x: Array, times: Array) -> Array:
    if len(times) < 2:
        return np.zeros(len(x))
    smooth = gaussian_filter1d(x, max(0.02 / float(np.median(np.diff(times))), 0.3), axis=0, mode="nearest")
    return np.linalg.norm(np.gradient(smooth, times, axis=0), axis=1)


def _bent(marks: Landmarks, poses: Poses, side: str) -> Array:
    """Whether the trunk is so low that it may rest on hands: (f,)."""
    trunk = poses.point(*marks.points[f"{side}_shoulder"]) - poses.point(*marks.points[f"{side}_hip"])
    return trunk[:, 2] < BENT * np.linalg.norm(trunk, axis=1)


def _standing(x: Array, times: Array, scale: float, ground: float, more: float = 0.0, quick: float = 1.0) -> Array:
    """Whether a point stands, frame by frame: it must come close and slow down to begin, and leave clearly to end."""
    height, speed = x[:, 2] - ground, _speed(x, times)
    on = (height < (LOW + more) * scale) & (speed < quick * SLOW * scale)
    off = (height > (HIGH + more) * scale) | (speed > quick * FAST * scale)
    state = np.where(on, 1, np.where(off, -1, 0))
    decided = state != 0
    if not decided.any():
        return np.zeros(len(x), bool)
    last = np.maximum.accumulate(np.where(decided, np.arange(len(x)), -1))
    ahead = np.minimum.accumulate(np.where(decided, np.arange(len(x)), len(x))[::-1])[::-1]
    before, after = state[np.maximum(last, 0)] * (last >= 0), state[np.minimum(ahead, len(x) - 1)] * (ahead < len(x))
    stands = (before > 0) | (after > 0)  # the same forwards and backwards in time
    return _without_brief(_without_brief(stands, times, False), times, True)


def _without_brief(stands: Array, times: Array, value: bool) -> Array:
    """Runs of a value that are too short become the other; not at the ends, of which the rest is not seen."""
    out = stands.copy()
    for a, b in runs(stands == value):
        if a > 0 and b < len(times) and times[b - 1] - times[a] < BRIEF:
            out[a:b] = not value
    return out


def planted(R: Array, x: Array, sole: Sole, heel: Array, toe: Array, level: Array, times: Array) -> Foot:
    """The path of a foot that stands still where it touches.

    Args:
        R: Orientation as the pose has it: (f, 3, 3).
        x: Place as the pose has it: (f, 3) [m].
        sole: Of the foot.
        heel: Whether the heel touches: (f,).
        toe: Whether its front edge does.
        level: Height of the ground under it: (f,) [m].
        times: [s]
    """
    out_R, out_x = R.copy(), x.copy()
    on = heel | toe
    for a, b in runs(on):
        _stand(out_R, out_x, sole, heel, toe, level, times, a, b)
    center = sole.corners.mean(axis=0)
    turn = rotations.to_vector(rotations.from_matrix(out_R @ R.transpose(0, 2, 1)))
    shift = (out_x + out_R @ center) - (x + R @ center)
    turn, shift = (_let_go(values, on, times) for values in (turn, shift))
    new = rotations.matrix(rotations.from_vector(turn)) @ R
    out_R[~on] = new[~on]
    out_x[~on] = (x + R @ center + shift - new @ center)[~on]
    out_x[:, 2] += _above(out_R, out_x, sole, on, times)
    return Foot(out_R, out_x, heel, toe)


def _above(R: Array, x: Array, sole: Sole, on: Array, times: Array) -> Array:
    """How much a foot in the air must be raised for it not to be in the ground: (f,) [m], smooth, and nothing where it stands."""
    lowest = (sole.hull @ R.transpose(0, 2, 1))[..., 2].min(axis=1) + x[:, 2]
    sunk = np.where(on, 0.0, np.maximum(-lowest, 0.0))
    if len(times) < 3 or not sunk.any():
        return sunk
    reach = RAISE / float(np.median(np.diff(times)))
    wide = maximum_filter1d(sunk, 2 * round(reach) + 1)
    return np.where(on, 0.0, np.maximum(sunk, gaussian_filter1d(wide, 0.5 * reach)))


def _stand(R: Array, x: Array, sole: Sole, heel: Array, toe: Array, level: Array, times: Array, a: int, b: int) -> None:
    """Put a foot where it stands from frame a to before b."""
    span = slice(a, b)
    axes = R[span] @ sole.axes
    yaw = np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
    pitch = -np.arcsin(np.clip(axes[:, 2, 0], -1.0, 1.0))  # positive: toe down
    heels, toes = (x[span] + R[span] @ point for point in (sole.heel, sole.toe))
    long = float(np.linalg.norm(sole.toe - sole.heel))
    h, t = heel[span], toe[span]
    flat = h & t
    yaw, at = _anchored(yaw, heels, toes, long, flat, h, t, times[span])
    ahead = np.stack((np.cos(yaw), np.sin(yaw), np.zeros(b - a)), axis=1)
    pitch = np.where(flat, 0.0, np.where(t, np.maximum(pitch, 0.0), np.minimum(pitch, 0.0))) * _lying(flat, times[span])
    turned = rotations.matrix(rotations.product(rotations.about(2, yaw), rotations.about(1, pitch)))
    R[span] = turned @ sole.axes.T
    pivot = np.where(t[:, None], at, at - long * ahead)
    pivot[:, 2] = level[span]
    x[span] = pivot - np.where(t[:, None], R[span] @ sole.toe, R[span] @ sole.heel)
    lowest = (sole.hull @ R[span].transpose(0, 2, 1))[..., 2].min(axis=1) + x[span, 2]
    x[span, 2] += level[span] - lowest  # edges may be round


def _anchored(
    yaw: Array, heels: Array, toes: Array, long: float, flat: Array, heel: Array, toe: Array, times: Array
) -> tuple[Array, Array]:
    """Direction and place of the toe for a stance: constant while the sole is flat, in between as it goes from one place to the next."""
    spans = runs(flat) or [(0, len(yaw))]
    anchors: list[tuple[int, int, float, Array]] = []
    for a, b in spans:
        direction = float(yaw[a:b].mean())
        ahead = np.array((np.cos(direction), np.sin(direction), 0.0))
        seen = [points[a:b][label[a:b]] + far for points, label, far in ((toes, toe, 0.0), (heels, heel, long * ahead))]
        place = np.concatenate(seen).mean(axis=0)
        if anchors:
            start, _, other, there = anchors[-1]
            if np.linalg.norm((place - there)[:2]) < SAME and abs(direction - other) < ALIKE:
                share = (b - a) / (b - start)
                anchors[-1] = (start, b, other + share * (direction - other), there + share * (place - there))
                continue
        anchors.append((a, b, direction, place))
    yaws, places = np.empty(len(yaw)), np.empty((len(yaw), 3))
    yaws[:], places[:] = anchors[0][2], anchors[0][3]
    for (_, end, y0, p0), (start, _, y1, p1) in pairwise(anchors):
        s = np.clip((times - times[end - 1]) / (times[start] - times[end - 1]), 0.0, 1.0)
        s = s * s * (3 - 2 * s)
        later = np.arange(len(yaw)) >= end
        yaws[later] = (y0 + s * (y1 - y0))[later]
        places[later] = (p0 + s[:, None] * (p1 - p0))[later]
    return yaws, places


def _lying(flat: Array, times: Array) -> Array:
    """From 0 where the sole is flat to 1 away from that: (f,)."""
    if not flat.any():
        return np.ones(len(flat))
    away = np.abs(times[:, None] - times[flat]).min(axis=1)
    s = np.clip(away / FLAT, 0.0, 1.0)
    return s * s * (3 - 2 * s)


def _let_go(values: Array, on: Array, times: Array) -> Array:
    """What a path is moved by (f, 3) while it is held, going to nothing in between with the rate it has."""
    out = np.where(on[:, None], values, 0.0)
    for a, b in runs(~on):
        before, after = a - 1, b
        gap = times[min(after, len(times) - 1)] - times[max(before, 0)]
        length = min(LET_GO, float(gap))
        if before >= 0:
            rate = _rate(values, on, times, before, -1)
            out[a:b] += _fading((times[a:b] - times[before]) / length, values[before], rate * length)
        if after < len(times):
            rate = _rate(values, on, times, after, 1)
            out[a:b] += _fading((times[after] - times[a:b]) / length, values[after], -rate * length)
    return out


def _rate(values: Array, on: Array, times: Array, k: int, inward: int) -> Array:
    """Rate of change at the edge of a contact, from within."""
    other = k + inward
    if not 0 <= other < len(times) or not on[other]:
        return np.zeros(values.shape[1])
    return (values[k] - values[other]) / (times[k] - times[other])


def _fading(s: Array, value: Array, slope: Array) -> Array:
    """Hermite's cubic from a value and a slope at s = 0 to nothing at 1, and on: (f, 3)."""
    s = np.clip(s, 0.0, 1.0)[:, None]
    return value * (1 - s) ** 2 * (1 + 2 * s) + slope * s * (1 - s) ** 2


def weights(on: Array, times: Array, contact: float, else_: float, over: float = 0.08) -> Array:
    """Weights that go smoothly, by their logarithms, from one to the other around contacts: (f,)."""
    if not on.any():
        return np.full(len(times), else_)
    away = np.full(len(times), np.inf)
    for a, b in runs(on):
        away = np.minimum(away, np.maximum(np.maximum(times[a] - times, times - times[b - 1]), 0.0))
    s = np.clip(away / over, 0.0, 1.0)
    s = s * s * (3 - 2 * s)
    return np.exp(np.log(contact) * (1 - s) + np.log(else_) * s)
