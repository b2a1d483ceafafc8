"""Recorded states of a run, in arrays that grow with it, and the structures of the world to which they belong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np

from brachiate import kinematics
from brachiate.growing_array import GrowingArray
from brachiate.kinematics import Pose
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.simulate.constraint_forces import ConstraintForces, RecordingSegment
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory
from brachiate.world.contact_records import ContactRecords, RecordedContacts
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

BUFFER_ROWS = 500  # states that are added to the arrays together, which is faster than one by one
COLUMNS = ("time", "q", "v", "torque")


class RecordedState(NamedTuple):
    """A state of the world to record."""

    time: float  # [s]
    q: Array  # (nq,)
    v: Array  # (nv,)
    torque: Array  # (nv,) of the step that led to it
    model: Model
    structure: WorldState  # snapshot with the structure of the world
    contacts: RecordedContacts | None  # None before the first step


class _Part:
    """Consecutive states of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._growing = [GrowingArray(shape) for shape in ((), (model.nq,), (model.nv,), (model.nv,))]
        #: Snapshots of the world, and the first row of each.
        self.structures: list[tuple[WorldState, int]] = []
        #: Times (n,), configurations (n, nq), velocities and torques (n, nv), when all states are known.
        self.columns: list[Array] = []

    def add(self, structure: WorldState, rows: list[RecordedState]) -> None:
        """Add rows of one structure."""
        if not self.structures or self.structures[-1][0] is not structure:
            self.structures.append((structure, len(self._growing[0])))
        for column, name in zip(self._growing, COLUMNS, strict=True):
            column.extend([getattr(row, name) for row in rows])

    def finish(self) -> None:
        """Set the columns."""
        self.columns = [column.take() for column in self._growing]

    def segments(self) -> Iterator[RecordingSegment]:
        """States by structure, sharing memory with the columns."""
        ends = [start for _, start in self.structures[1:]] + [len(self.columns[0])]
        for (structure, start), end in zip(self.structures, ends, strict=True):
            time, q, v, torque = (column[start:end] for column in self.columns)
            yield RecordingSegment(structure, time, q, v, torque)


class RecordedStates:
    """States of a run, added as it goes."""

    def __init__(self) -> None:
        self._buffer: list[RecordedState] = []
        self._parts: list[_Part] = []
        self._contacts = ContactRecords()

    def add(self, rows: Iterable[RecordedState]) -> None:
        """Add states, in the order of their times."""
        self._buffer += rows
        if len(self._buffer) >= BUFFER_ROWS:
            self._empty_buffer()

    def _empty_buffer(self) -> None:
        for _, group in groupby(self._buffer, key=lambda row: (id(row.model), id(row.structure))):
            rows = list(group)
            if not self._parts or self._parts[-1].model is not rows[0].model:
                self._parts.append(_Part(rows[0].model))
            self._parts[-1].add(rows[0].structure, rows)
        self._contacts.extend(row.contacts for row in self._buffer)
        self._buffer = []

    def recording(self, world: World, limits: bool) -> Recording:
        """Recording of all states. A figure that was added during the run is recorded at its initial pose before that."""
        self._empty_buffer()
        self._contacts.trim()
        for part in self._parts:
            part.finish()
        model, segments = world.model, [segment for part in self._parts for segment in part.segments()]
        same = len(self._parts) == 1 and self._parts[0].model is model
        columns = self._parts[0].columns if same else _in_model(self._parts, model)
        history = ContactHistory(self._contacts) if self._contacts.known else None
        return Recording(model, world.gravity, *columns, forces=ConstraintForces(world, segments, limits), contacts=history)


def _in_model(parts: list[_Part], model: Model) -> list[Array]:
    """Columns of parts with earlier structures, expressed in the coordinates of the last model.

    Joints of figures that were added later keep their first value; free joints of links that were cut off later have the pose of
    the link.
    """
    times = np.concatenate([part.columns[0] for part in parts])
    Q, V, torque = (np.zeros((len(times), n)) for n in (model.nq, model.nv, model.nv))
    q_first, row, data = model.neutral.copy(), len(times), None
    for part in reversed(parts):
        was = part.model
        for _, q, v, tau in zip(*(column[::-1] for column in part.columns), strict=True):
            row -= 1
            Q[row] = q_first
            if was is not model:
                data = Data(was) if data is None or data.model is not was else data
                data.q[:], data.v[:] = q, v
            for name, new in model.joints.items():
                if name in was.joints:
                    old = was.joints[name]
                    Q[row, new.q], V[row, new.v], torque[row, new.v] = q[old.q], v[old.v], tau[old.v]
                elif data is not None and new.link in was.links:
                    Q[row, new.q], V[row, new.v] = _free_state(data, model, new.link)
            q_first = Q[row]
    return [times, Q, V, torque]


def _free_state(data: Data, model: Model, link: str) -> tuple[list[float], list[float]]:
    """Coordinates and velocities of the free joint that a link gets later, from its pose and velocity in the earlier structure."""
    frame, base = data.model.placements[link], model.links[link]
    velocity, _ = kinematics.frame_motion(data, frame)
    pose = kinematics.pose(data, frame)
    R = base.rotation.T @ pose.rotation
    position = base.rotation.T @ (pose.position - base.position)
    return [*position, *Pose(R, position).quaternion], [*(pose.rotation.T @ velocity[:3]), *(pose.rotation.T @ velocity[3:])]
