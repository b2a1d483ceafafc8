"""When and where feet stand: from labels of what touches to stances that gravity allows, each at one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brachiate import rotations
from brachiate.anatomy.feet import Foot
from brachiate.assumptions import Guess
from brachiate.intervals import runs
from brachiate.kinematics_batch import Poses
from brachiate.validation import Array

SHORTEST, PAUSE = 0.05, 0.05  # [s] stances and pauses that are too short to be any
SAME = 0.05  # [m] places of a foot that are one
FALL = 0.85  # of gravity: a body that falls less than this does not fly
BLINK = 0.04  # [s] flights that are shorter are none
REACH, LIFT = 0.04, 0.05  # [m] along the ground and above it: how far a foot is from where it stood that may stand on
CLOSE = 0.025  # [m] and how far one is that does stand
HOP = 0.07  # [s] which a foot is in the air at least, to come down elsewhere
STILL = 0.02  # [m/s] what is slower than this is still
FASTER = 0.03  # [s] what a foot's speed counts as height, to tell which one rather stands
DOWN = np.cos(np.radians(65.0))  # of the angle by which a sole that stands is tilted at most: else it is the foot's back that lies there
TILT = 0.2  # [rad] by which a foot at rest is tilted at most: more is not the foot's own
ASKEW = 0.15  # [rad] by which stances of one foot differ in that: more, and it stands on its heel or its toes
GENTLE, LARGE = np.radians(5.0), np.radians(20.0)  # over which rolling sets in beyond the dead band, and what that takes is given back
STEEP = np.radians(65.0)  # a foot that stands rolls no farther
FALLS, RUSHES = 0.5, 0.7  # [m/s] what moves so fast up or down, or at all, has not come to stand yet
STRAYS, VEERS = 0.05, np.radians(20.0)  # [m], [rad] a foot that goes so far from its place has been set down anew
ELSEWHERE, ABOUT = 0.12, np.radians(45.0)  # [m], [rad] and so far even if nothing else carries the body: then it hops
ARM = 0.15  # [m] by which headings count as places
STEP = 0.12  # [s] that takes at least
LEAVES = 0.25  # [m/s] a foot away from its place that is faster has left it; a slower one skates
CREEPS = 0.15  # [m/s] and a foot is faster than this meanwhile


@dataclass(frozen=True)
class Standing:
    """A foot in one place, from one frame to before another.

    Args:
        start: First frame.
        end: The frame after the last.
        R: Orientation of the foot's body when it lies flat: (3, 3).
        x: Its place then: (3,) [m].
        level: Height of what it stands on [m].
        strays: How far what bears is from where it is put, at most [m].
        turns: How far its heading is from where it is put, at most [rad].
    """

    start: int
    end: int
    R: Array
    x: Array
    level: float
    strays: float = 0.0
    turns: float = 0.0


class Sole:
    """What one foot does, seen along its sole.

    Args:
        foot: Which.
        poses: Of the figure, frame by frame; the ground is at z = 0.
        times: [s]
    """

    def __init__(self, foot: Foot, poses: Poses, times: Array) -> None:
        self.foot, self.times = foot, times
        self.R, self.x = poses.R[foot.body], poses.x[foot.body]
        axes = self.R @ foot.sole.axes
        self.yaw = np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
        self.tilt = -np.arcsin(np.clip(axes[:, 2, 0], -1.0, 1.0))  # toe down
        self.faces_down = axes[:, 2, 2] > DOWN
        self.heel, self.toe = (self.x + self.R @ end for end in (foot.sole.heel, foot.sole.toe))
        speeds = [np.linalg.norm(np.gradient(end, times, axis=0), axis=1) for end in (self.heel, self.toe)]
        self.slower, self.faster = np.minimum(*speeds), np.maximum(*speeds)
        self.low = np.minimum(self.heel[:, 2], self.toe[:, 2])
        self.falls = np.abs(np.gradient(self.low, times))
        self.lower = np.where((self.heel[:, 2] < self.toe[:, 2])[:, None], self.heel, self.toe)
        self.on_heel = self.heel[:, 2] < self.toe[:, 2]
        self.rest = np.zeros(len(times))
        self.pitch = self.tilt

    def settle(self, on: Array, dead: float) -> None:
        """Find how the foot is tilted when it rests, and by how much more it rolls: nothing within a dead band [rad]."""
        if on.any():
            self.rest = np.full(len(on), float(np.clip(self._usual_tilt(on), -TILT, TILT)))
            # Ankles are recorded badly: a foot that stands a little tilted all the time lies flat, by a tilt of that stance
            spans = [slice(a, b) for a, b in runs(on)]
            usual = np.array([self._usual_tilt(span) for span in spans])
            # Who stands on his toes is farther from that; nobody stands still on his heels
            usual = np.where((np.abs(usual - self.rest[0]) < ASKEW) | ((usual < self.rest[0]) & (usual > -TILT)), usual, self.rest[0])
            ends = np.array([(span.start, span.stop - 1) for span in spans]).ravel()
            self.rest = np.interp(np.arange(len(on)), ends, np.repeat(usual, 2))
        if len(self.foot.corners) < 4:  # without an ankle it rolls all the time
            self.pitch = self.tilt
            return
        angle = self.tilt - self.rest
        self.pitch = np.clip(np.sign(angle) * _beyond(np.abs(angle), dead), -STEEP, STEEP)

    def _usual_tilt(self, span: Array | slice) -> float:
        """The tilt on either side of which the foot spends the same time, of which that counts most in which it is still."""
        tilt, weight = self.tilt[span], 1.0 / (STILL + self.faster[span]) ** 2
        order = np.argsort(tilt)
        share = np.cumsum(weight[order])
        return float(tilt[order][np.searchsorted(share, 0.5 * share[-1])])

    def stand(self, start: int, end: int, level: float) -> Standing:
        """Put the foot down flat, at the one place and heading that is nearest to what it does while it is still."""
        span = slice(start, end)
        weight = 1.0 / (STILL + self.faster[span]) ** 2
        yaw = float((weight * self.yaw[span]).sum() / weight.sum())
        ahead = np.array((np.cos(yaw), np.sin(yaw), 0.0))
        middle = self.middle(span, ahead)
        weight = 1.0 / (STILL + self.slower[span]) ** 2
        place = (weight[:, None] * middle).sum(axis=0) / weight.sum()
        place[2] = level
        R = rotations.matrix(rotations.about(2, np.array(yaw))) @ self.foot.sole.axes.T
        center = 0.5 * (self.foot.sole.heel + self.foot.sole.toe)
        strays = float(np.linalg.norm((middle - place)[:, :2], axis=1).max())
        return Standing(start, end, R, place - R @ center, level, strays, float(np.abs(self.yaw[span] - yaw).max()))

    def middle(self, span: slice, ahead: Array) -> Array:
        """Where the middle of the sole would be if it lay flat, by what bears, with this heading: (f, 3)."""
        half, p = 0.5 * self.foot.length * ahead, self.pitch[span, None]
        heel, toe = self.heel[span], self.toe[span]
        return np.where(p > 0, toe - half, np.where(p < 0, heel + half, 0.5 * (heel + toe)))

    def trimmed(self, on: Array) -> Array:
        """Stances without frames at their ends in which the foot still comes down, or has left already."""
        fast = (self.falls > FALLS) | (self.slower > RUSHES)
        on = on.copy()
        for a, b in runs(on):
            stance = self.stand(a, b, float(np.median(self.low[a:b])))
            edge = np.where(self.on_heel[a:b, None], self.foot.sole.heel, self.foot.sole.toe)
            away = self.lower[a:b] - stance.x - edge @ stance.R.T
            speed = self.slower[a:b]
            # What is slow and low skates, and is not about to leave
            left = ((np.hypot(away[:, 0], away[:, 1]) > CLOSE) & (speed > LEAVES)) | ((away[:, 2] > CLOSE) & (speed > CREEPS))
            slow = np.flatnonzero(~(fast[a:b] | left))
            if not len(slow):
                on[a:b] = False
                continue
            if a > 0:
                on[a : a + slow[0]] = False
            if b < len(on):
                on[a + slow[-1] + 1 : b] = False
        return on

    def split(self, on: Array, carried: Array, levels: Array) -> tuple[Array, list[Guess]]:
        """Stances in which the foot is set down anew, as two with a step between them, if something else carries the body meanwhile."""
        on, told = on.copy(), []
        todo = runs(on)
        while todo:
            a, b = todo.pop()
            stance = self.stand(a, b, float(np.median(levels[a:b])))
            if stance.strays < STRAYS and stance.turns < VEERS:
                continue
            hops = stance.strays > ELSEWHERE or stance.turns > ABOUT
            ways = [self._apart(a, b, time, slow) for time, slow in ((STEP, True), (STEP, False), (HOP, False))]
            # A step while something else carries the body, as long as it took; else a hop
            first, then = next((way for way in ways if carried[slice(*way)].all()), ways[-1] if hops else ways[0])
            if first - a < 3 or b - then < 3 or then - first < 3 or not (hops or carried[first:then].all()):
                far = f"{100 * stance.strays:.0f} cm, {np.degrees(stance.turns):.0f} deg"
                when = f"{self.times[a]:.2f}-{self.times[b - 1]:.2f} s"
                told.append(
                    Guess(f"{self.foot.side} foot", f"slides by {far} ({when})", "nothing else carries the body: it is kept in one place")
                )
                continue
            if not carried[first:then].all():
                when = f"{self.times[first]:.2f}-{self.times[then - 1]:.2f} s"
                told.append(
                    Guess(f"{self.foot.side} foot", f"hops ({when})", "it turns or slides too far to stay in one place, and carries all")
                )
            on[first:then] = False
            todo += [(a, first), (then, b)]
        return on, told

    def _apart(self, a: int, b: int, time: float, slow: bool) -> tuple[int, int]:
        """The step within a stance: its first frame, and the one after the last; it takes that time [s], or longer if it is a slow one."""
        yaw = self.yaw[a:b] - self.yaw[a]
        ahead = np.stack((np.cos(self.yaw[a:b]), np.sin(self.yaw[a:b]), np.zeros(b - a)), axis=1)
        x = np.concatenate((self.middle(slice(a, b), ahead)[:, :2], ARM * yaw[:, None]), axis=1)
        n = np.arange(1, b - a)[:, None]
        total, before, square = x.sum(axis=0), np.cumsum(x, axis=0)[:-1], (x**2).sum()
        # Two places instead of one: the cut that leaves least
        left = square - (before**2 / n).sum(axis=1) - ((total - before) ** 2 / (b - a - n)).sum(axis=1)
        k = a + 1 + int(np.argmin(left))
        dt = float(np.median(np.diff(self.times)))
        count, rest = int(np.ceil(time / dt)), int(np.ceil(SHORTEST / dt))
        first = then = k
        if slow:
            while first > a and self.slower[first - 1] > CREEPS:
                first -= 1
            while then < b and self.slower[then] > CREEPS:
                then += 1
        if then - first < count:
            first, then = k - count // 2, k - count // 2 + count
        return max(first, a + rest), min(then, b - rest)

    def rests(self, since: float) -> Array:
        """Whether the foot is on the ground, or nearly, and hardly moves, from a time on [s]: (f,)."""
        return (self.times >= since) & self.faces_down & (self.low < CLOSE) & (self.slower < CREEPS)

    def near(self, stance: Standing, k: int) -> bool:
        """Whether the foot is about where it stands, in another frame."""
        edge = self.foot.sole.heel if self.on_heel[k] else self.foot.sole.toe
        away = self.lower[k] - (stance.x + stance.R @ edge)
        return bool(np.hypot(away[0], away[1]) < REACH and away[2] < LIFT)


def step(s: Array) -> Array:
    """From 0 to 1 as s does, with no jump of slope or curvature."""
    s = np.clip(s, 0.0, 1.0)
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def _beyond(angle: Array, dead: float) -> Array:
    """Angles of which a dead band is taken off, gently, and given back as they become large: nothing else is left of them there."""
    u = np.clip((angle - dead) / GENTLE, 0.0, 1.0)
    over = GENTLE * u**4 * (2.5 - 3.0 * u + u * u) + np.maximum(angle - dead - GENTLE, 0.0)
    return over + (dead + 0.5 * GENTLE) * step((angle - dead - GENTLE) / LARGE)


def stand_all(sole: Sole, on: Array, levels: Array) -> list[Standing]:
    """All stances of a foot; ``levels``: height of what is under it (f,) [m]."""
    return [sole.stand(a, b, float(np.median(levels[a:b]))) for a, b in runs(on)]


def without_brief(sole: Sole, on: Array, levels: Array) -> Array:
    """Stances without pauses too short to step elsewhere, and without those too short to bear anything."""
    on, times = on.copy(), sole.times
    for a, b in runs(~on):
        if a > 0 and b < len(on) and times[b] - times[a - 1] < PAUSE:
            before = max(a0 for a0, b0 in runs(on) if b0 == a)
            after = min(b0 for a0, b0 in runs(on) if a0 == b)
            one, two = sole.stand(before, a, float(levels[a - 1])), sole.stand(b, after, float(levels[b]))
            if np.linalg.norm(one.x - two.x) < SAME:
                on[a:b], levels[a:b] = True, levels[a - 1]
    for a, b in runs(on):
        if a > 0 and b < len(on) and times[b - 1] - times[a] < SHORTEST:
            on[a:b] = False
    return on


def obey_gravity(soles: Sequence[Sole], on: list[Array], levels: list[Array], held: Array, rise: Array, g: float) -> list[Guess]:
    """Stretch stances over flights in which the body does not fall: something must carry it then.

    Args:
        soles: Of all feet.
        on: Whether each stands: (f,) each; changed in place.
        levels: Height of what is under each: (f,) [m] each; changed in place.
        held: Whether something else carries the body: (f,).
        rise: Velocity of the centre of mass upwards: (f,) [m/s].
        g: Gravity [m/s²].
    """
    times, last = soles[0].times, len(held)
    told: list[Guess] = []
    for start, end in runs(~(np.any(on, axis=0) | held)):
        if start == 0 or end == last:
            continue
        a, b = start, end
        before, after = (_rather(soles, [flags[k] for flags in on], k) for k in (a - 1, b))
        ends = [None if f is None else (f, _stance_at(soles[f], on[f], levels[f], k)) for f, k in ((before, a - 1), (after, b))]
        one, two = ends
        apart = (
            one is not None and two is not None and one[0] == two[0] and bool(np.linalg.norm((one[1].x - two[1].x)[:2]) > SAME)
        )  # the same foot comes down elsewhere
        while b > a and (rise[b] - rise[a - 1] > -FALL * g * (times[b] - times[a - 1]) or times[b] - times[a - 1] < BLINK):
            first = one is not None and soles[one[0]].near(one[1], a)
            then = two is not None and soles[two[0]].near(two[1], b - 1)
            if not (first or then) or (apart and times[b] - times[a - 1] < HOP):
                break
            if first and then and one is not None and two is not None:
                first = _stands_less(soles[one[0]], a) <= _stands_less(soles[two[0]], b - 1)
            if first and one is not None:
                on[one[0]][a], levels[one[0]][a], a = True, one[1].level, a + 1
            elif two is not None:
                b -= 1
                on[two[0]][b], levels[two[0]][b] = True, two[1].level
        if b > a and rise[b] - rise[a - 1] > -0.5 * g * (times[b] - times[a - 1]):
            share = -(rise[b] - rise[a - 1]) / (g * (times[b] - times[a - 1]))
            told.append(
                Guess("flight", f"{times[a]:.2f}-{times[b - 1]:.2f} s", f"nothing is near the ground, yet it falls by {share:.1f} g only")
            )
    carried = np.any(on, axis=0) | held
    both = np.any([flags[1:] & flags[:-1] for flags in (*on, held)], axis=0)
    for k in np.flatnonzero(carried[1:] & carried[:-1] & ~both):  # one leaves as the other one comes: no moment between them
        for flags, level in zip(on, levels, strict=True):
            if flags[k]:
                flags[k + 1], level[k + 1] = True, level[k]
    return told


def _stands_less(sole: Sole, k: int) -> float:
    return float(sole.low[k] + FASTER * sole.slower[k])


def _rather(soles: Sequence[Sole], on: Sequence[bool], k: int) -> int | None:
    """Which foot rather stands in a frame, of those that do."""
    standing = [f for f in range(len(soles)) if on[f]]
    return min(standing, key=lambda f: _stands_less(soles[f], k)) if standing else None


def _stance_at(sole: Sole, on: Array, levels: Array, k: int) -> Standing:
    a, b = next((a, b) for a, b in runs(on) if a <= k < b)
    return sole.stand(a, b, float(np.median(levels[a:b])))
