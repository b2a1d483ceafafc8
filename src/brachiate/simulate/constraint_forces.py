"""Constraint forces of a recording, computed when they are first asked for.

A run stores no forces. It stores a snapshot of the world for each segment of constant structure; forces are computed in a copy of the
world that is set to one recorded state after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from brachiate.constraints.limits import LimitMonitor
from brachiate.validation import Array
from brachiate.world.connections import Connection, Constraint, Lock
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

_AT_LIMIT = 1e-9  # [rad or m] distance below which a coordinate counts as at its limit


@dataclass(eq=False)
class RecordingSegment:
    """Recorded states of constant structure: ``time`` (n,), ``q`` (n, nq), ``v`` and ``torque`` (n, nv)."""

    state: WorldState  # snapshot with the structure, applied forces and motor torques of connections
    time: Array
    q: Array
    v: Array
    torque: Array
    #: Length of the steps that led to the states, where the differences of their times have round-off; None: these differences.
    dt: float | None = None

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.time)

    def rows(self, first: int = 0, end: int | None = None) -> RecordingSegment:
        """Segment of some of its states."""
        rows = slice(first, end)
        return RecordingSegment(self.state, self.time[rows], self.q[rows], self.v[rows], self.torque[rows], self.dt)


class ConstraintForces(Mapping[str, Array]):
    """Constraint forces by name, one row for each recorded state, NaN while the constraint was not active.

    ``<connection>.force`` and ``<connection>.moment`` (n, 3) act on the connection's ``link``, world axes, at the connection;
    ``<lock>.torque`` (n,) is that of a locked or prescribed coordinate, (n, 3) of a ball joint.
    """

    def __init__(self, world: World, segments: Sequence[RecordingSegment], limits: bool) -> None:
        self.world, self.segments, self.limits, self._gravity = world, segments, limits, world.gravity

    @classmethod
    def joined(cls, parts: Sequence[ConstraintForces]) -> ConstraintForces:
        """Forces of consecutive runs as one; the first state of each run but the first is dropped, as it is the last one before."""
        first, *others = parts
        later = [segment if n else segment.rows(1) for part in others for n, segment in enumerate(part.segments)]
        return cls(first.world, [*first.segments, *(segment for segment in later if len(segment))], first.limits)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Number of components of each force."""
        sizes: dict[str, int] = {}
        for state in {id(segment.state): segment.state for segment in self.segments}.values():
            for constraint in state.constraints:
                sizes |= _components(constraint)
        return sizes

    @cached_property
    def _values(self) -> dict[str, Array]:
        count = sum(map(len, self.segments))
        values = {name: np.full((count, size) if size > 1 else count, np.nan) for name, size in self._sizes.items()}
        row, copy = 0, None
        for segment in self.segments:
            if segment.state.constraints:
                if copy is None or copy.version != segment.state.version:
                    copy = _WorldCopy(self.world, segment.state, self._gravity, self.limits)
                copy.fill(segment, values, row)
            row += len(segment)
        return values

    def __getitem__(self, name: str) -> Array:
        """Return one force over time."""
        if name not in self._sizes:
            raise KeyError(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._sizes)

    def __len__(self) -> int:
        """Number of forces."""
        return len(self._sizes)


class _WorldCopy:
    """Copy of the world with the structure of a segment, in which forces are computed."""

    def __init__(self, world: World, state: WorldState, gravity: Array, limits: bool) -> None:
        self.version = state.version
        self.world = world.copy(state)
        self.world.gravity = gravity
        self.own = self.world.save()
        self.constraints = dict(zip(state.constraints, self.world.constraints, strict=True))
        self.monitor = LimitMonitor(self.world.model, self.world.constraint_set) if limits else None

    def fill(self, segment: RecordingSegment, values: dict[str, Array], row: int) -> None:
        """Write the forces of a segment into the rows from ``row`` on."""
        world, state = self.world, segment.state
        states = {self.constraints[connection]: joint_state for connection, joint_state in state.connection_states.items()}
        # Motor torques of connections and applied forces may have changed while the structure did not.
        world.restore(replace(state, version=self.own.version, constraints=self.own.constraints, connection_states=states))
        for n, (time, q, v, torque) in enumerate(zip(segment.time, segment.q, segment.v, segment.torque, strict=True), row):
            world.time = float(time)
            world.data.assign(q=q, v=v, tau=torque)
            if self.monitor is not None and world.contact_settings.contact_state is None:  # with contact, its solver handles limits
                self._add_limit_rows(self.monitor)
            world.forward_dynamics()
            for constraint in world.constraints:
                for name, value in _forces(constraint).items():
                    values[name][n] = value

    def _add_limit_rows(self, monitor: LimitMonitor) -> None:
        """Add inactive rows for the limits that coordinates are at; loaded ones become active in forward dynamics."""
        constraint_set = self.world.constraint_set
        at_limit = [n for n in range(len(monitor.names)) if monitor.distance(constraint_set.data, n) < _AT_LIMIT]
        if [monitor.names[n] for n in at_limit] == list(constraint_set.active_limits.values()):
            return
        constraint_set.remove_limits()
        for n in at_limit:
            constraint_set.arrays.inactive[monitor.add_row(n)] = 1
        constraint_set.update_structure()


def _forces(constraint: Constraint) -> dict[str, Array]:
    """Forces of a constraint, from the accelerations last computed."""
    if isinstance(constraint, Connection):
        wrench = constraint.read_wrench()
        return {f"{constraint.name}.force": wrench.force, f"{constraint.name}.moment": wrench.moment}
    return {f"{constraint.name}.torque": constraint.read_torque()} if isinstance(constraint, Lock) else {}


def _components(constraint: Constraint) -> dict[str, int]:
    """Number of components of each force of a constraint."""
    if isinstance(constraint, Connection):
        return {f"{constraint.name}.force": 3, f"{constraint.name}.moment": 3}
    return {f"{constraint.name}.torque": len(constraint.row_names())} if isinstance(constraint, Lock) else {}
