"""Diagnostics of a motion before filtering: discontinuities, contact labels far from the terrain, false flight phases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.assumptions import Assumption
from brachiate.errors import ArgumentError
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import BatchKinematics, Poses
from brachiate.model.joints import Free, Prismatic
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion
from brachiate.validation import Array

# Smallest change from one frame to the next, and smallest rate [1/s], of a discontinuity: smaller ones are possible motion
MIN_JUMP = {"m": (0.15, 8.0), "rad": (0.5, 25.0)}
JUMP_RATIO = 3.0  # of a discontinuity to the changes before and after it
JUMP_BACK_RATIO = 0.8  # of a neighboring change that jumps back, and does not count
MAX_LISTED = 4  # discontinuities or labels
MAX_CONTACT_DISTANCE = 0.25  # [m] of a contact from its surface: floors of captured motions are off by centimeters
FLIGHT_MIN_DURATION, FLIGHT_MIN_FALL = 0.15, 0.5  # [s]; share of gravity
GRAVITY = 9.81  # [m/s²]


def diagnose(motion: Motion, labels: ContactLabels | None) -> list[Assumption]:
    """Findings about a motion and its contact labels: discontinuities, misplaced labels, false flight phases."""
    jumps = [str(jump) for jump in find_discontinuities(motion)]
    findings = _summarize("discontinuity", jumps, "from one frame to the next: is there a cut, or a recording error?")
    if labels is None or not labels.contacts:
        return findings
    first, last = motion.times[[0, -1]]
    outside = [label for label in labels.contacts if label.end < first or label.start > last]
    if len(outside) == len(labels.contacts):
        raise ArgumentError(
            f"contacts: none is within {motion.name}, which lasts from {first:g} to {last:g} s: {_describe_interval(outside[0])}. "
            "Do the times of the contacts start at 0?"
        )
    lasts = f"the motion lasts from {first:g} to {last:g} s"
    findings += _summarize("contacts outside the motion", map(_describe_interval, outside), lasts, "contacts")
    kinematics = BatchKinematics(motion.figure)
    poses = kinematics.poses(motion.q)
    distant = _distant_contacts(motion, poses, labels)
    findings += _summarize("contacts far from their surface", distant, "by the labels they are in contact", "contacts")
    flights = _false_flights(motion, kinematics.center_of_mass(poses), labels)
    return findings + _summarize("flight", flights, "by the labels nothing is in contact", "contacts")


def _summarize(quantity: str, values: Iterable[str], reason: str, argument: str = "") -> list[Assumption]:
    """One assumption that lists the first values; none if there are no values."""
    values = list(values)
    more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
    return [Assumption(quantity, ", ".join(values[:MAX_LISTED]) + more, reason, argument)] if values else []


class Discontinuity(NamedTuple):
    """Jump of a joint from one frame to the next."""

    joint: str
    frame: int  # first frame after it
    time: float  # [s]
    size: float
    unit: str

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.joint} by {self.size:.2g} {self.unit} at {self.time:.2f} s (frame {self.frame})"


def find_discontinuities(motion: Motion) -> list[Discontinuity]:
    """Jumps of joints and of the root: large, faster than human motion, and faster than just before and after; largest first."""
    changes, durations = BatchKinematics(motion.figure).difference(motion.q[:-1], motion.q[1:]), np.diff(motion.times)
    found = []
    for name, unit, coordinates in _joint_parts(motion):
        sizes = np.linalg.norm(changes[:, coordinates], axis=1)
        min_size, min_rate = MIN_JUMP[unit]
        for k in np.flatnonzero((sizes > min_size) & (sizes > min_rate * durations)):
            neighbors = sorted((*sizes[max(k - 1, 0) : k], *sizes[k + 1 : k + 2]))
            if len(neighbors) == 2 and neighbors[1] > JUMP_BACK_RATIO * sizes[k]:
                neighbors.pop()
            if neighbors and sizes[k] > JUMP_RATIO * neighbors[-1]:
                found.append(Discontinuity(name, int(k) + 1, float(motion.times[k + 1]), float(sizes[k]), unit))
    return sorted(found, key=lambda jump: -jump.size / MIN_JUMP[jump.unit][0])


def _joint_parts(motion: Motion) -> Iterator[tuple[str, str, slice]]:
    """Name, unit and velocity coordinates of every joint; position and orientation of a floating base separately."""
    for name, place in motion.figure.joints.items():
        joint, v = motion.figure.links[place.link].joint, place.v
        if isinstance(joint, Free):
            yield f"{name} position", "m", slice(v.start, v.start + 3)
            yield name, "rad", slice(v.start + 3, v.stop)
        else:
            yield name, "m" if isinstance(joint, Prismatic) else "rad", v


def _describe_interval(label: ContactInterval) -> str:
    return f"{label.part} ({label.start:.2f}-{label.end:.2f} s)"


def _distant_contacts(motion: Motion, poses: Poses, labels: ContactLabels) -> Iterator[str]:
    """Labeled support contacts that are far above or below their surface."""
    points = find_contact_points(motion.figure)
    for label in labels.contacts:
        first, last = np.searchsorted(motion.times, (label.start - 1e-9, label.end + 1e-9))
        if label.kind != "support" or first == last or (label.height is None and labels.terrain.height is None):
            continue
        indices = np.flatnonzero(points.part == points.parts.index(label.part))
        body, position = points.body[indices], points.position[indices]
        positions = np.stack([poses.x[b, first:last] + poses.R[b, first:last] @ point for b, point in zip(body, position, strict=True)])
        above = labels.terrain.clearance(positions) if label.height is None else positions[..., 2] - label.height
        distance = float(np.median((above - points.radius[indices, None]).min(axis=0)))
        if abs(distance) > MAX_CONTACT_DISTANCE:
            yield f"{_describe_interval(label)} {abs(distance):.2f} m {'above' if distance > 0.0 else 'below'}"


def _false_flights(motion: Motion, com: Array, labels: ContactLabels) -> Iterator[str]:
    """Intervals without any contact in which the CoM (f, 3) [m] does not fall."""
    in_contact = np.any([labels.active(part, motion.times) for part in {label.part for label in labels.contacts}], axis=0)
    for start, end in true_intervals(~in_contact):
        times = motion.times[start:end]
        if end - start >= 4 and times[-1] - times[0] > FLIGHT_MIN_DURATION:
            fall = -2.0 * float(np.polyfit(times - times[0], com[start:end, 2], 2)[0]) / GRAVITY
            if fall < FLIGHT_MIN_FALL:
                yield f"{times[0]:.2f}-{times[-1]:.2f} s, but the CoM falls with {fall:.1f} g only"
