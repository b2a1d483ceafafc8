"""Diagnostics of a motion before filtering: discontinuities, contact labels far from the terrain, false flight phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import spots_of
from brachiate.assumptions import Guess
from brachiate.errors import ArgumentError
from brachiate.intervals import runs
from brachiate.kinematics_batch import Many, Poses
from brachiate.model.joints import Free, Prismatic
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import Motion
from brachiate.validation import Array

LEAP = {"m": (0.15, 8.0), "rad": (0.5, 25.0)}  # from one frame to the next, and [1/s]: what is less may be done by somebody
SUDDEN, BACK = 3.0, 0.8  # times what it moves by in the frames before and after; who moves as far again jumps back
TOLD = 4  # jumps, labels
APART = 0.25  # [m] from what it stands on: floors of captured motions are off by centimetres
FLIGHT, FALLS, GRAVITY = 0.15, 0.5, 9.81  # [s] at least; in gravities; [m/s²]


def doubts_of(motion: Motion, labels: Labels | None) -> list[Guess]:
    """What looks wrong in a motion, and in what is said to touch in it."""
    found = _told("jump", [str(jump) for jump in jumps_of(motion)], "from one frame to the next: cut there, or badly recorded?")
    if labels is None or not labels.contacts:
        return found
    first, last = motion.times[[0, -1]]
    beyond = [label for label in labels.contacts if label.end < first or label.start > last]
    if len(beyond) == len(labels.contacts):
        raise ArgumentError(
            f"contacts: none is within {motion.name}, which goes from {first:g} to {last:g} s: {_when(beyond[0])}. Do times count from 0?"
        )
    found += _told("not in the motion", map(_when, beyond), f"it goes from {first:g} to {last:g} s", "contacts")
    many = Many(motion.figure)
    poses = many.poses(motion.q)
    found += _told("elsewhere", _far(motion, poses, labels), "so far from what it is said to stand on", "contacts")
    return found + _told("flight", _hovering(motion, many.centres(poses), labels), "nothing stands or holds by the contacts", "contacts")


def _told(what: str, values: Any, why: str, flag: str = "") -> list[Guess]:
    """One guess of all, as there may be many."""
    values = list(values)
    more = f" and {len(values) - TOLD} more" if len(values) > TOLD else ""
    return [Guess(what, ", ".join(values[:TOLD]) + more, why, flag)] if values else []


class Jump(NamedTuple):
    """A joint that is elsewhere in the next frame."""

    joint: str
    frame: int  # the first in which it is there
    time: float  # [s]
    by: float
    unit: str

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.joint} by {self.by:.2g} {self.unit} at {self.time:.2f} s (frame {self.frame})"


def jumps_of(motion: Motion) -> list[Jump]:
    """Joints, and the root's place, that jump: far, faster than anybody moves, and than just before and after; largest first."""
    moves, seconds = Many(motion.figure).between(motion.q[:-1], motion.q[1:]), np.diff(motion.times)
    found = []
    for name, unit, which in _measures(motion):
        steps = np.linalg.norm(moves[:, which], axis=1)
        least, fastest = LEAP[unit]
        for k in np.flatnonzero((steps > least) & (steps > fastest * seconds)):
            beside = sorted((*steps[max(k - 1, 0) : k], *steps[k + 1 : k + 2]))
            if len(beside) == 2 and beside[1] > BACK * steps[k]:
                beside.pop()
            if beside and steps[k] > SUDDEN * beside[-1]:
                found.append(Jump(name, int(k) + 1, float(motion.times[k + 1]), float(steps[k]), unit))
    return sorted(found, key=lambda jump: -jump.by / LEAP[jump.unit][0])


def _measures(motion: Motion) -> Iterator[tuple[str, str, slice]]:
    """Every joint with its unit and its velocities; a free one's place and turn apart."""
    for name, joined in motion.figure.joints.items():
        joint, v = motion.figure.links[joined.link].joint, joined.v
        if isinstance(joint, Free):
            yield f"place of {name}", "m", slice(v.start, v.start + 3)
            yield name, "rad", slice(v.start + 3, v.stop)
        else:
            yield name, "m" if isinstance(joint, Prismatic) else "rad", v


def _when(label: Label) -> str:
    return f"{label.part} ({label.start:.2f}-{label.end:.2f} s)"


def _far(motion: Motion, poses: Poses, labels: Labels) -> Iterator[str]:
    """Parts that are far from what they are said to stand on."""
    spots = spots_of(motion.figure)
    for label in labels.contacts:
        now = (motion.times >= label.start - 1e-9) & (motion.times <= label.end + 1e-9)
        if label.how != "stands" or not now.any() or (label.height is None and labels.ground.height is None):
            continue
        mine = np.flatnonzero(spots.part == spots.parts.index(label.part))
        points = np.stack([poses.point(int(spots.body[s]), spots.at[s])[now] for s in mine])
        above = labels.ground.above(points) if label.height is None else points[..., 2] - label.height
        high = float(np.median((above - spots.radius[mine, None]).min(axis=0)))
        if abs(high) > APART:
            yield f"{_when(label)} {abs(high):.2f} m {'above' if high > 0.0 else 'below'}"


def _hovering(motion: Motion, centres: Array, labels: Labels) -> Iterator[str]:
    """When nothing touches, and the body does not fall as it should."""
    touching = np.any([labels.active(part, motion.times) for part in {label.part for label in labels.contacts}], axis=0)
    for a, b in runs(~touching):
        times = motion.times[a:b]
        if b - a >= 4 and times[-1] - times[0] > FLIGHT:
            falls = -2.0 * float(np.polyfit(times - times[0], centres[a:b, 2], 2)[0]) / GRAVITY
            if falls < FALLS:
                yield f"{times[0]:.2f}-{times[-1]:.2f} s, yet it falls by {falls:.1f} g only"
