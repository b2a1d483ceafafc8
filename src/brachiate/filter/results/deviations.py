"""Reasons: why a filtered motion is not the original.

Which motor or joint was at its limit, where pressure was at the edge, what slid, and which steps were taken elsewhere; when, and by how
much the body was off then. But for the steps that it made of its own, all is read from what came out, so it says what is so, not what
the filter meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from brachiate.intervals import runs
from brachiate.kinematics_batch import Many
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.filter.results.result import Filtered

ALL = 0.999  # of what a motor has: then it is at its limit
FULL = 0.98  # of its speed
NEAR = 0.002  # [rad or m] a joint is at its limit
EDGE = 0.006  # [m] pressure so near to the edge of what bears is at it: the filter itself keeps 4 mm
SLIDES = 0.05  # [m/s]
LOAD = 0.05  # of the body's weight: what bears less says nothing
BRIEF, GAP = 0.02, 0.03  # [s] what is shorter does not count, and gaps that are shorter do not part
ELSEWHERE = 0.03  # [m] a step from where it was


class Reason(NamedTuple):
    """Something that kept the body from doing what the original does."""

    what: str
    which: str  # joint or link
    start: float  # [s]
    end: float  # [s]
    off: float
    unit: str  # of that: deg of the joint itself, or cm of all joints on the average

    def __str__(self) -> str:
        """Return one line."""
        if self.what.startswith(OWN):
            return f"{self.which}: {self.what} ({self.start:.2f}-{self.end:.2f} s)"
        whose = "it was" if self.unit == "deg" else "it is" if self.what == STEPPED else "joints were"
        return f"{self.which}: {self.what} ({self.start:.2f}-{self.end:.2f} s); {whose} up to {self.off:.1f} {self.unit} off"


MOTOR, LIMIT, FASTEST = "its motor was at its limit", "at the limit of the joint", "its motor was at its largest speed"
AT_EDGE, SLIDING = "pressure at the edge of what bears", "slid"
STEPPED = "stood elsewhere"
OWN = "stepped"  # where the reference does not; how far, which way and why comes after it


def reasons_of(done: Filtered) -> list[Reason]:
    """What kept a motion from being the original, in the order of time."""
    n = len(done.motion)
    many = Many(done.motion.figure)
    here, there = many.poses(done.motion.q), many.poses(done.reference.original.q[:n])
    apart = 100.0 * np.linalg.norm(here.x - there.x, axis=-1).mean(axis=0)
    angles = np.degrees(np.abs(many.between(done.reference.original.q[:n], done.motion.q)))
    found = [
        *_motors(done, angles),
        *_speeds(done, angles),
        *_limits(done, angles),
        *_grounds(done, apart),
        *_steps(done),
        *_own_steps(done),
    ]
    return sorted(found, key=lambda reason: (reason.start, reason.which))


def _spells(on: Array, times: Array) -> Iterator[slice]:
    """Frames from which and to which something is so, long enough to matter."""
    for a, b in runs(~on):  # bridge what is short
        if a > 0 and b < len(on) and times[b] - times[a - 1] < GAP:
            on[a:b] = True
    for a, b in runs(on):
        if times[b - 1] - times[a] >= BRIEF:
            yield slice(a, b)


def _motors(done: Filtered, angles: Array) -> Iterator[Reason]:
    times, figure, effort = done.motion.times, done.motion.figure, done.strength
    for name, torque in done.torques.items():
        which = figure.joints[name].v
        most = effort[which]
        full = np.any(np.abs(torque) >= ALL * np.where(np.isfinite(most) & (most > 0.0), most, np.inf), axis=1)
        for spell in _spells(full, times):
            off = float(angles[spell, which].max())
            yield Reason(MOTOR, name, float(times[spell.start]), float(times[spell.stop - 1]), off, "deg")


def _speeds(done: Filtered, angles: Array) -> Iterator[Reason]:
    times, figure, there = done.motion.times, done.motion.figure, done.run.model.joints
    for name, joint in figure.joints.items():
        most = figure.speed[joint.v]
        if np.isfinite(most).any():
            full = np.any(np.abs(done.run.v[: len(times), there[f"{done.whose}/{name}"].v]) >= FULL * most, axis=1)
            for spell in _spells(full, times):
                off = float(angles[spell, joint.v].max())
                yield Reason(FASTEST, name, float(times[spell.start]), float(times[spell.stop - 1]), off, "deg")


def _limits(done: Filtered, angles: Array) -> Iterator[Reason]:
    times, figure, q = done.motion.times, done.motion.figure, done.motion.q
    lower, upper = figure.limits
    for name, joint in figure.joints.items():
        if joint.q.stop - joint.q.start != 1 or joint.v.stop - joint.v.start != 1:
            continue
        k, x = joint.v.start, q[:, joint.q.start]
        elsewhere = np.abs(done.reference.original.q[: len(q), joint.q.start] - x) > NEAR  # else nothing is kept from it
        at = ((x < lower[k] + NEAR) | (x > upper[k] - NEAR)) & elsewhere
        for spell in _spells(at, times):
            yield Reason(LIMIT, name, float(times[spell.start]), float(times[spell.stop - 1]), float(angles[spell, k].max()), "deg")


def _grounds(done: Filtered, apart: Array) -> Iterator[Reason]:
    """Where pressure was at the edge, and what slid."""
    times, history, figure = done.motion.times, done.run.contacts, done.whose
    weight = LOAD * done.motion.figure.mass * float(np.linalg.norm(done.run.gravity))
    if figure not in history:
        return
    of_all = history[figure]
    loaded = of_all.force[:, 2] > weight
    margin = np.array([_inside(p, hull) if on else np.inf for p, hull, on in zip(of_all.cop, of_all.support, loaded, strict=True)])
    bears = [pair for pair in history.pairs if pair.startswith(f"{figure}/")]
    load = {pair: history[pair].force[:, 2] for pair in bears}
    for spell in _spells(margin < EDGE, times):
        pair = max(bears, key=lambda one: load[one][spell].sum())
        yield _ground(AT_EDGE, pair, spell, times, apart)
    for pair in bears:
        mine = history[pair]
        slides = (mine.slip > SLIDES) & (mine.force[:, 2] > weight)
        for spell in _spells(slides, times):
            yield _ground(SLIDING, pair, spell, times, apart)


def _ground(what: str, pair: str, spell: slice, times: Array, apart: Array) -> Reason:
    link = pair.partition(" on ")[0].rpartition("/")[2]
    return Reason(what, link, float(times[spell.start]), float(times[spell.stop - 1]), float(apart[spell].max()), "cm")


def _inside(point: Array, corners: Array) -> float:
    """How far a point is inside of a polygon, along the ground [m]; 0 for an edge or a corner, which have no inside."""
    if len(corners) < 3:
        return 0.0
    try:
        hull = ConvexHull(corners[:, :2])
    except QhullError:
        return 0.0
    return float(-(hull.equations[:, :2] @ point[:2] + hull.equations[:, 2]).max())


def _steps(done: Filtered) -> Iterator[Reason]:
    """Feet that stood elsewhere than in the reference."""
    figure, times, n = done.motion.figure, done.motion.times, len(done.motion)
    many = Many(figure)
    for stance in done.reference.stances:
        if stance.how != "stands" or stance.end > n or len(stance.corners) < 3 or not stance.bears.all(axis=1).any():
            continue
        flat = stance.start + int(np.flatnonzero(stance.bears.all(axis=1))[-1])
        place = figure.placements[stance.link]
        poses = many.poses(done.motion.q[flat : flat + 1])
        corners = place.position + stance.corners @ place.rotation.T
        here = np.stack([poses.point(place.body, corner)[0] for corner in corners])
        off = float(np.linalg.norm((here - stance.places).mean(axis=0)[:2]))
        if off > ELSEWHERE:
            yield Reason(STEPPED, stance.link, float(times[stance.start]), float(times[stance.end - 1]), 100.0 * off, "cm")


def _own_steps(done: Filtered) -> Iterator[Reason]:
    """Steps that the reference does not have."""
    for step in done.own_steps:
        yield Reason(f"{OWN} {step.told}", step.link, step.start, step.end, 100.0 * step.far, "cm")
