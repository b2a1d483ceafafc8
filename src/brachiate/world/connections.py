"""What holds in a world: connections between links, and locked or moved coordinates. Handles that stay true."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import dynamics, validation
from brachiate.constraints.constraint_set import Held
from brachiate.errors import ArgumentError
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import Joint
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_NOISE = 1e-12  # part of the momentum, or of the energy, below which a report says zero: round-off


@dataclass(frozen=True)
class Soft:
    """How a connection gives way: springs and dampers in the directions its joint would hold rigidly.

    Args:
        stiffness: Against moving [N/m].
        damping: Against moving [N·s/m].
        turning_stiffness: Against turning [N·m/rad]; a hundredth of the other by default, as of a grip of some 10 cm.
        turning_damping: Against turning [N·m·s/rad]; likewise.
    """

    stiffness: float
    damping: float = 0.0
    turning_stiffness: float | None = None
    turning_damping: float | None = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "turning_stiffness", "turning_damping"):
            value = getattr(self, name)
            value = getattr(self, name.removeprefix("turning_")) / 100.0 if value is None else value
            object.__setattr__(self, name, validation.number(value, f"{name} of a soft connection", least=0.0))

    @property
    def pairs(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Stiffness and damping, each against moving and against turning."""
        turning = (self.turning_stiffness or 0.0, self.turning_damping or 0.0)
        return (self.stiffness, turning[0]), (self.damping, turning[1])


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force and moment on a link, at a point: in the world, or in the frame that was asked for."""

    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the point
    at: Array  # (3,) [m] the point


@dataclass(frozen=True, eq=False)
class Report:
    """What a change of structure did. Momentum and energy are audited when first asked for."""

    what: str
    variables: tuple[int, int]  # joint variables before and after: those of the tree and of the connections
    mobility: tuple[int, int]  # degrees of freedom before and after
    rows: int  # rows the change brought (or took away)
    redundant: tuple[str, ...]  # rows of the world that say what others say already
    impulse: float  # [N·s] size of the force impulse at the connection
    impulse_moment: float  # [N·m·s]
    _model: Model
    _gravity: Array
    _q: Array
    _v: tuple[Array, Array]
    shaky: tuple[str, ...] = ()  # redundant rows that are so at this very posture only: see World.mobility

    @cached_property
    def _totals(self) -> tuple[dynamics.Totals, dynamics.Totals]:
        data = Data(self._model, self._gravity)
        before, after = (self._at(data, v) for v in self._v)
        return before, after

    def _at(self, data: Data, v: Array) -> dynamics.Totals:
        data.assign(q=self._q, v=v)
        return dynamics.totals(data)

    @property
    def energy_lost(self) -> float:
        """Kinetic energy that the impulse took [J]."""
        before, after = self._totals
        return before.kinetic - after.kinetic

    @cached_property
    def energy_of_change(self) -> float:
        """½ Δvᵀ A Δv [J]: what a plastic impulse must take, whatever the structure."""
        before, after = self._v
        data = Data(self._model, self._gravity)
        change = after - before
        return 0.5 * float(change @ dynamics.mass_matrix(data, self._q) @ change)

    @property
    def momentum_change(self) -> Array:
        """Change of the world's momentum (3,) [kg·m/s]: zero unless something is held to the ground."""
        before, after = self._totals
        return after.momentum - before.momentum

    @property
    def angular_momentum_change(self) -> Array:
        """Change of the angular momentum about the common centre of mass (3,) [kg·m²/s]."""
        before, after = self._totals
        return after.angular_momentum - before.angular_momentum

    def __str__(self) -> str:
        """Return the report in one line."""
        parts = [f"joint variables {self.variables[0]} → {self.variables[1]}", f"mobility {self.mobility[0]} → {self.mobility[1]}"]
        before, _ = self._totals
        momentum = math.sqrt(2.0 * before.mass * before.kinetic)  # the most that so much energy can be
        if self.impulse > _NOISE * momentum:
            parts.append(f"impulse {self.impulse:.3g} N·s")
        elif self.impulse_moment > _NOISE * momentum:
            parts.append(f"impulse {self.impulse_moment:.3g} N·m·s")
        lost = self.energy_lost
        parts.append(f"energy lost {lost if lost > _NOISE * before.kinetic else 0.0:.3g} J")
        if self.redundant:
            parts.append(f"{len(self.redundant)} redundant")
        if self.shaky:
            parts.append(f"in a singular posture: {', '.join(self.shaky)} to second order only")
        return f"{self.what}: {', '.join(parts)}"


class Bond:
    """Something that holds. Equal only to itself; after it is cut it stays, and says so."""

    report: Report

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.place = -1  # in the constraint set; -1: not there

    @property
    def alive(self) -> bool:
        """Whether it holds now."""
        return self.place >= 0

    def enter(self, held: Held, model: Model) -> None:
        """Take a place in a constraint set."""
        raise NotImplementedError

    def fits(self, model: Model) -> bool:
        """Whether everything it holds is there."""
        raise NotImplementedError

    def copied(self, world: World) -> Any:
        """Return the same for another world."""
        other = copy.copy(self)
        other.world, other.place = world, -1
        return other

    @property
    def unique(self) -> bool:
        """Whether its force is the only one possible: others that hold the same may not share it with this one."""
        from brachiate.world import mobility  # noqa: PLC0415

        return mobility.is_unique(self.world, self._present().rows_of(self.place))

    def _present(self) -> Held:
        if not self.alive:
            raise ArgumentError(f"{self.name!r} holds nothing any more: it was cut.")
        self.world.held.room.clock[0] = self.world.time
        return self.world.held

    def row_names(self) -> list[str]:
        """A name for each of its rows."""
        raise NotImplementedError


class Connection(Bond):
    """A joint that connects two links beside the tree: a virtual link [SVC] 3. ``link`` moves against ``to``."""

    def __init__(
        self, world: World, name: str, link: str, to: str, joint: Joint, frame: Placement, to_frame: Placement, soft: Soft | None = None
    ) -> None:
        super().__init__(world, name)
        self.link, self.to, self.joint, self.soft = link, to, joint, soft
        self._frames = frame, to_frame  # in the links themselves, not in bodies: those may change
        self.kept: tuple[Array, Array] | None = None  # coordinates and motor torques to begin with; None: neutral, and none

    def enter(self, held: Held, model: Model) -> None:
        """Take a place in a constraint set."""
        frame, to_frame = self._frames
        self.place = held.connect(_in_body(model, self.to, to_frame), _in_body(model, self.link, frame), self.joint, self.name)
        if self.soft is not None:
            held.soften(self.place, *self.soft.pairs)
        if self.kept is not None:
            B = held.room
            B.q[self._q], B.tau[self._v] = self.kept
            if self.kept[1].any():
                B.acts[self.place] = 1

    def fits(self, model: Model) -> bool:
        """Whether both links are there."""
        return all(link == "world" or link in model.links for link in (self.link, self.to))

    def keep(self) -> tuple[Array, Array]:
        """Coordinates and motor torques of its joint, to be found again after a change."""
        B = self.world.held.room
        return B.q[self._q].copy(), B.tau[self._v].copy()

    def give(self, q: Array, tau: Array) -> None:
        """Set coordinates and motor torques of its joint."""
        B = self.world.held.room
        B.q[self._q], B.tau[self._v] = q, tau
        B.acts[self.place] = int(self.joint.acts or self.joint.limited or tau.any())

    @property
    def _q(self) -> slice:
        start = int(self.world.held.room.q_at[self.place])
        return slice(start, start + self.joint.nq)

    @property
    def _v(self) -> slice:
        start = int(self.world.held.room.v_at[self.place])
        return slice(start, start + self.joint.nv)

    @property
    def value(self) -> Any:
        """Coordinates of its joint: one number, or an array."""
        values = self._present().read_joint(self.place)[0]
        return float(values[0]) if len(values) == 1 else values

    @property
    def rate(self) -> Any:
        """Velocity of its joint's coordinates: one number, or an array."""
        values = self._present().read_joint(self.place)[1]
        return float(values[0]) if len(values) == 1 else values

    @property
    def torque(self) -> Array:
        """Torque or force of its joint's motors (nv,) [N·m or N]; assigning sets them."""
        return self._present().room.tau[self._v].copy()

    @torque.setter
    def torque(self, values: Any) -> None:
        B = self._present().room
        B.tau[self._v] = validation.numbers(values, (self.joint.nv,), f"torque of {self.name!r}")
        B.acts[self.place] = int(B.acts[self.place] or B.tau[self._v].any())

    @property
    def wrench(self) -> Wrench:
        """Force and moment on ``link`` from ``to`` at the present state and torques."""
        self._present()
        self.world.accelerate()
        return self.read_wrench()

    def read_wrench(self) -> Wrench:
        """The same, from the accelerations last computed."""
        six, point = self._present().wrench(self.place)
        return Wrench(six[3:], six[:3], point)

    def wrench_in(self, frame: str) -> Wrench:
        """The same along the axes of ``"link"``, of ``"to"``, or of any link or site by name; the point seen from there, too."""
        name = self.link if frame == "link" else self.to if frame == "to" else frame
        R, p = (np.eye(3), np.zeros(3)) if name == "world" else self.world.pose(name)
        wrench = self.wrench
        return Wrench(R.T @ wrench.force, R.T @ wrench.moment, R.T @ (wrench.at - p))

    @property
    def force(self) -> Array:
        """Force on ``link`` from ``to`` (3,) [N], world axes."""
        return self.wrench.force

    @property
    def moment(self) -> Array:
        """Moment on ``link`` from ``to`` (3,) [N·m] about the connection, world axes."""
        return self.wrench.moment

    def row_names(self) -> list[str]:
        """A name for each of its rows: the direction it holds, where that has one."""
        rows = 6 - self.joint.nv
        if not self.joint.elements:
            directions = ["x", "y", "z", "rx", "ry", "rz"]
        elif self.joint.type == "spherical":
            directions = ["x", "y", "z"]
        elif self.joint.type == "revolute":
            directions = ["x", "y", "z", "across 1", "across 2"]
        else:
            directions = [str(n + 1) for n in range(rows)]
        return [f"{self.name}.{direction}" for direction in directions[:rows]]

    def __repr__(self) -> str:
        """Return who holds whom, and how."""
        state = "" if self.alive else " (cut)"
        return f"<Connection {self.name!r}: {self.link} to {self.to}, {self.joint.type}{state}>"


class Lock(Bond):
    """A coordinate that is held, or moved along a polynomial of time, whatever torque that takes."""

    def __init__(self, world: World, name: str, course: Array, since: float, until: float, target: Array | None = None) -> None:
        super().__init__(world, name)
        self._course, self._since, self._until, self._target = course, since, until, target

    def enter(self, held: Held, model: Model) -> None:
        """Take a place in a constraint set."""
        if self._target is not None:
            joint = model.joints[self.name]
            self.place = held.lock_ball(joint.v.start, joint.q.start, self._target)
        else:
            k = model.coordinate_index[self.name]
            self.place = held.lock(k, model.scalar_coordinates[self.name], self._course, self._since, self._until)

    def fits(self, model: Model) -> bool:
        """Whether the coordinate is there."""
        return self.name in model.joints or self.name in model.coordinate_index

    @property
    def torque(self) -> Any:
        """Torque or force that holding takes at the present state [N·m or N]: one number, or three of a ball joint."""
        self._present()
        self.world.accelerate()
        return self.read_torque()

    def read_torque(self) -> Any:
        """The same, from the accelerations last computed."""
        held = self._present()
        values = held.room.force[held.rows_of(self.place)].copy()
        return float(values[0]) if len(values) == 1 else values

    def row_names(self) -> list[str]:
        """A name for each of its rows."""
        return [f"{self.name} locked"] if self._target is None else [f"{self.name}.{axis} locked" for axis in "xyz"]

    def __repr__(self) -> str:
        """Return what is held."""
        return f"<Lock {self.name!r}{'' if self.alive else ' (released)'}>"


class Follow(Bond):
    """A coordinate that follows another, as a model says."""

    def __init__(self, world: World, name: str, coordinate: str, of: str | None, coefficients: Array) -> None:
        super().__init__(world, name)
        self.coordinate, self.of, self._coefficients = coordinate, of, coefficients

    def enter(self, held: Held, model: Model) -> None:
        """Take a place in a constraint set."""
        at, places = model.coordinate_index, model.scalar_coordinates
        other = (-1, 0) if self.of is None else (at[self.of], places[self.of])
        self.place = held.couple(at[self.coordinate], places[self.coordinate], *other, self._coefficients)

    def fits(self, model: Model) -> bool:
        """Whether both coordinates are there."""
        return all(name is None or name in model.coordinate_index for name in (self.coordinate, self.of))

    def row_names(self) -> list[str]:
        """A name for its row."""
        return [self.name]

    def __repr__(self) -> str:
        """Return what follows what."""
        return f"<Follow {self.name!r}: {self.coordinate} of {self.of or 'a value'}{'' if self.alive else ' (cut)'}>"


def _in_body(model: Model, link: str, frame: Placement) -> Placement:
    """A frame given in a link (or ``world``), as one of the link's body."""
    if link == "world":
        return frame
    at = model.placements[link]
    if at.body >= 0 and model.links[link].joint.nv:  # it is the body
        return Placement(at.body, frame.rotation, frame.position)
    return Placement(at.body, at.rotation.dot(frame.rotation), at.position + at.rotation.dot(frame.position))
