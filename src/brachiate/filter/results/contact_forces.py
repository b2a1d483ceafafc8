"""Contact labels and contact forces of a filtered motion, from the recorded simulation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.filter.schedule.inferred_surfaces import SURFACES
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import POSE_CHUNK, BatchKinematics
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.terrain import Terrain
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.contact_records import ContactRecords

CONTACT_MIN_GAP = 0.02  # [s] contact intervals with a shorter gap between them are merged


def contact_forces(recording: Recording, figure: str, grip_forces: Mapping[str, Array]) -> dict[str, Array]:
    """Contact and grip force on each link (f, 6): force [N] and point of application [m], world axes; zero without contact.

    Each row belongs to the step that led to its frame. No step led to the first frame: it repeats the second.
    """
    forces: dict[str, Array] = {}
    for pair in recording.contacts.pairs:
        link, _, other = pair.partition(" on ")
        if link.startswith(f"{figure}/") and not other.startswith(f"{figure}/"):
            history = recording.contacts[pair]
            values = np.zeros((len(recording), 6))
            values[:, :3] = history.force
            values[:, 3:] = np.nan_to_num(history.cop)
            name = link.rpartition("/")[2]
            forces[name] = _sum_forces(forces[name], values) if name in forces else values
    for name, values in grip_forces.items():
        forces[name] = _sum_forces(forces[name], values) if name in forces else values
    for values in forces.values():
        values[0] = values[min(1, len(values) - 1)]
        values.flags.writeable = False  # then the motion need not copy them
    return forces


def _sum_forces(first: Array, second: Array) -> Array:
    """Sum of two forces on a link, applied at the mean of their points weighted by vertical force."""
    a, b = np.abs(first[:, 2:3]), np.abs(second[:, 2:3])
    point = (a * first[:, 3:] + b * second[:, 3:]) / np.maximum(a + b, 1e-12)
    return np.concatenate((first[:, :3] + second[:, :3], point), axis=1)


class _PartContacts:
    """Contact flags of the body parts of a figure over time.

    Args:
        model: Of the figure.
        q: Its configurations (f, nq).
    """

    def __init__(self, model: Model, q: Array) -> None:
        self.points, self._kinematics, self._q = find_contact_points(model), BatchKinematics(model), q
        #: Contact points by link.
        self.of_link = {link: np.flatnonzero([self.points.links[p] == link for p in self.points.part]) for link in self.points.links}
        shape = len(q), len(self.points.parts)
        #: Contact with the terrain (False) and with inferred surfaces above it (True), by frame and part.
        self.active = {raised: np.zeros(shape, bool) for raised in (False, True)}
        #: Height of the contact with an inferred surface by frame and part [m].
        self.height = np.zeros(shape)

    def positions(self, frames: slice) -> Array:
        """Positions of the contact points in some frames: (f, n, 3) [m]."""
        poses = self._kinematics.poses(self._q[frames])
        points = zip(self.points.body, self.points.position, strict=True)
        return np.stack([poses.point(int(body), at) for body, at in points], axis=1)

    def add_recorded(self, recording: Recording, figure: str) -> None:
        """Mark the parts whose contact points are nearest to the corners of the loaded areas."""
        count, records = len(self.height), recording.contacts.records
        pairs, which = records.line_links()
        supported = [(on, link.removeprefix(f"{figure}/")) if link.startswith(f"{figure}/") else ("", "") for on, link in pairs]
        mine = np.array([link in self.of_link and not on.startswith(f"{figure}/") for on, link in supported], bool)
        states, first_state = records.line_states(), min(1, count - 1)
        lines = np.flatnonzero(mine[which] & (states >= first_state)) if len(which) else np.zeros(0, int)
        first = lines[states[lines] == first_state] if first_state else lines[:0]
        lines = np.concatenate((first, lines))  # no step led to the first frame: it has the contacts of the second
        frames = states[lines]
        frames[: len(first)] = 0
        for k in range(0, count, POSE_CHUNK):
            some = slice(*np.searchsorted(frames, (k, k + POSE_CHUNK)))
            if some.stop > some.start:
                positions = self.positions(slice(k, k + POSE_CHUNK))
                for n in np.unique(which[lines[some]]).tolist():
                    of_pair = some.start + np.flatnonzero(which[lines[some]] == n)
                    self._add_contacts(frames[of_pair], positions[frames[of_pair] - k], records, lines[of_pair], supported[n])

    def _add_contacts(self, frames: Array, position: Array, records: ContactRecords, lines: Array, pair: tuple[str, str]) -> None:
        """Mark the parts in contact by some contacts of a pair of links, with contact points at ``position`` (m, n, 3) [m]."""
        on, link = pair
        points, (corners, active) = self.of_link[link], records.active_corners(lines)
        nearest = np.square(position[:, points][:, :, None] - corners[:, None]).sum(axis=-1).argmin(axis=1)
        parts, raised = self.points.part[points[nearest]], on.startswith(f"{SURFACES}/")
        row, corner = np.nonzero(active)
        self.active[raised][frames[row], parts[row, corner]] = True
        if raised:  # else the height is that of the terrain, and the array takes no memory
            self.height[frames[row], parts[row, corner]] = records.line_column("P", lines)[row, 2]

    def intervals(self, times: Array) -> list[ContactInterval]:
        """Contact intervals of all parts; those above the terrain with their median height."""
        found = []
        for p, part in enumerate(self.points.parts):
            low, high = (self.active[raised][:, p] for raised in (False, True))
            found += [ContactInterval(part, start, end) for start, end in _merge_gaps(low, times)]
            for start, end in _merge_gaps(high, times):
                inside = high & (times >= start) & (times <= end)
                found.append(ContactInterval(part, start, end, height=float(np.median(self.height[inside, p]))))
        return found

    def grip_intervals(self, grip_forces: Mapping[str, Array], times: Array) -> list[ContactInterval]:
        """Intervals in which links hold something, each with the part nearest to the grip."""
        found = []
        for link, values in grip_forces.items():
            for a, b in true_intervals(np.any(values != 0.0, axis=1)):
                if link in self.of_link:
                    points = self.of_link[link]
                    nearest = points[np.linalg.norm(self.positions(slice(a, a + 1))[0, points] - values[a, 3:], axis=1).argmin()]
                    start, end = float(times[a - 1 if a == 1 else a]), float(times[b - 1])
                    found.append(ContactInterval(self.points.parts[self.points.part[nearest]], start, end, "grip"))
        return found


def contact_labels(
    model: Model, recording: Recording, figure: str, q: Array, times: Array, terrain: Terrain, grip_forces: Mapping[str, Array]
) -> ContactLabels:  # fmt: skip
    """Contact labels of a recorded motion: contacts with the terrain and inferred surfaces, and grips."""
    parts = _PartContacts(model, q)
    parts.add_recorded(recording, figure)
    found = [*parts.intervals(times), *parts.grip_intervals(grip_forces, times)]
    return ContactLabels(tuple(sorted(found, key=lambda interval: (interval.start, interval.part))), terrain)


def _merge_gaps(flags: Array, times: Array) -> list[tuple[float, float]]:
    """Start and end times of the intervals in which a flag holds, those with short gaps between them merged."""
    merged: list[tuple[float, float]] = []
    for a, b in true_intervals(flags):
        start, end = float(times[a]), float(times[b - 1])
        if merged and start - merged[-1][1] < CONTACT_MIN_GAP:
            merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return merged
