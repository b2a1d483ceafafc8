"""Forces of a recording: what held at every recorded state, and by how much, found when somebody asks.

A run keeps no forces. It keeps a snapshot of what held for each stretch in which that stayed the same, and forces are those of a
copy of the world, brought to one recorded state after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from brachiate.constraints.limits import Watch
from brachiate.validation import Array
from brachiate.world.connections import Bond, Connection, Lock
from brachiate.world.state import State
from brachiate.world.world import World

_TOUCHING = 1e-9  # [rad or m] a coordinate this near to its limit may press against it


@dataclass(eq=False)
class Stretch:
    """Recorded states in which the same things held: ``time`` (n,), ``q`` (n, nq), ``v`` and ``torque`` (n, nv)."""

    held: State  # a snapshot of what held
    time: Array
    q: Array
    v: Array
    torque: Array

    def __len__(self) -> int:
        """Return how many states there are."""
        return len(self.time)

    def since(self, row: int) -> Stretch:
        """The states from one on."""
        return Stretch(self.held, self.time[row:], self.q[row:], self.v[row:], self.torque[row:])


class Forces(Mapping[str, Array]):
    """Forces by name, one row for each recorded state, NaN where nothing of that name held.

    ``<connection>.force`` and ``<connection>.moment`` (n, 3) are those on the connection's ``link``, world axes, at the connection;
    ``<lock>.torque`` is what holding or moving a coordinate takes (n,), of a ball joint (n, 3).
    """

    def __init__(self, world: World, stretches: Sequence[Stretch], limits: bool) -> None:
        self._world, self._stretches, self._limits, self._gravity = world, stretches, limits, world.gravity

    @classmethod
    def joined(cls, parts: Sequence[Forces]) -> Forces:
        """Those of runs that follow each other, each but the first without its first state, which is the last one before."""
        first, *others = parts
        later = [stretch if n else stretch.since(1) for part in others for n, stretch in enumerate(part._stretches)]
        return cls(first._world, [*first._stretches, *(stretch for stretch in later if len(stretch))], first._limits)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """How many numbers each has."""
        sizes: dict[str, int] = {}
        for held in {id(stretch.held): stretch.held for stretch in self._stretches}.values():
            for bond in held.bonds:
                sizes |= _widths(bond)
        return sizes

    @cached_property
    def _found(self) -> dict[str, Array]:
        count = sum(map(len, self._stretches))
        found = {name: np.full((count, size) if size > 1 else count, np.nan) for name, size in self._sizes.items()}
        row, twin = 0, None
        for stretch in self._stretches:
            if stretch.held.bonds:
                if twin is None or twin.version != stretch.held.version:
                    twin = _Twin(self._world, stretch.held, self._gravity, self._limits)
                twin.fill(stretch, found, row)
            row += len(stretch)
        return found

    def __getitem__(self, name: str) -> Array:
        """Return one force over time."""
        if name not in self._sizes:
            raise KeyError(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._sizes)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sizes)


class _Twin:
    """A copy of the world as it was while the same things held; moving it disturbs nobody."""

    def __init__(self, world: World, held: State, gravity: Array, limits: bool) -> None:
        self.version = held.version
        self.world = world.copy(held)
        self.world.gravity = gravity
        self.own = self.world.save()
        self.bonds = dict(zip(held.bonds, self.world.bonds, strict=True))
        self.watch = Watch(self.world.model, self.world.held) if limits else None

    def fill(self, stretch: Stretch, found: dict[str, Array], row: int) -> None:
        """Write the forces of a stretch into the rows from ``row`` on."""
        world, held = self.world, stretch.held
        joints = {self.bonds[bond]: kept for bond, kept in held.joints.items()}
        # Motors of connections and pushes may have changed while the structure did not.
        world.restore(replace(held, version=self.own.version, bonds=self.own.bonds, joints=joints))
        for n, (time, q, v, torque) in enumerate(zip(stretch.time, stretch.q, stretch.v, stretch.torque, strict=True), row):
            world.time = float(time)
            world.data.assign(q=q, v=v, tau=torque)
            if self.watch is not None and world.surfaces.touches is None:  # where things touch, joints stop by the law of contact
                self._touch(self.watch)
            world.forward_dynamics()
            for bond in world.bonds:
                for name, values in _read(bond).items():
                    found[name][n] = values

    def _touch(self, watch: Watch) -> None:
        """Let the limits that coordinates are at be rows, asleep: those that are pressed against then wake."""
        held = self.world.held
        touching = [n for n in range(len(watch.names)) if watch.room_left(held.data, n) < _TOUCHING]
        if [watch.names[n] for n in touching] == list(held.limits.values()):
            return
        held.forget_limits()
        for n in touching:
            held.room.sleeps[watch.enter(n)] = 1
        held.arrange()


def _read(bond: Bond) -> dict[str, Array]:
    """Forces of what holds, from the accelerations last computed."""
    if isinstance(bond, Connection):
        wrench = bond.read_wrench()
        return {f"{bond.name}.force": wrench.force, f"{bond.name}.moment": wrench.moment}
    return {f"{bond.name}.torque": bond.read_torque()} if isinstance(bond, Lock) else {}


def _widths(bond: Bond) -> dict[str, int]:
    """How many numbers each force of what holds has."""
    if isinstance(bond, Connection):
        return {f"{bond.name}.force": 3, f"{bond.name}.moment": 3}
    return {f"{bond.name}.torque": len(bond.row_names())} if isinstance(bond, Lock) else {}
