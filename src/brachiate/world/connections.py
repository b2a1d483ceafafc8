"""Bilateral constraints of a world: connections between links (loop joints), locked or prescribed coordinates, and couplings.

The objects are handles: they stay valid while the structure changes, and say after a cut that they are no longer active.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import dynamics, validation
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.deprecation import renamed_arguments, renamed_attribute
from brachiate.errors import ArgumentError
from brachiate.figures.ranges import MAX_STIFFNESS
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import Joint
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_ROUND_OFF = 1e-12  # fraction of momentum or energy below which a report prints zero


@dataclass(frozen=True)
class SpringDamper:
    """Compliance of a connection: springs and dampers in the directions that its joint would otherwise constrain rigidly.

    Args:
        stiffness: Translational stiffness [N/m].
        damping: Translational damping [N·s/m].
        rotational_stiffness: Rotational stiffness [N·m/rad]; by default a hundredth of ``stiffness``, as for a grip of about 10 cm.
        rotational_damping: Rotational damping [N·m·s/rad]; by default a hundredth of ``damping``.
    """

    stiffness: float
    damping: float = 0.0
    rotational_stiffness: float | None = None
    rotational_damping: float | None = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "rotational_stiffness", "rotational_damping"):
            value = getattr(self, name)
            if value is None and name.startswith("rotational_"):
                value = getattr(self, name.removeprefix("rotational_")) / 100.0
            object.__setattr__(
                self, name, validation.number(value, f"{name} of a compliant connection", minimum=0.0, maximum=MAX_STIFFNESS)
            )

    @property
    def pairs(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """(translational, rotational) stiffness, and (translational, rotational) damping."""
        rotational = (self.rotational_stiffness or 0.0, self.rotational_damping or 0.0)
        return (self.stiffness, rotational[0]), (self.damping, rotational[1])

    turning_stiffness = renamed_attribute("turning_stiffness", "rotational_stiffness")
    turning_damping = renamed_attribute("turning_damping", "rotational_damping")


SpringDamper.__init__ = renamed_arguments(turning_stiffness="rotational_stiffness", turning_damping="rotational_damping")(
    SpringDamper.__init__
)


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force and moment on a link at a point, along the axes of the world or of the frame that was asked for."""

    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the point
    at: Array  # (3,) [m] point of application


@dataclass(frozen=True, eq=False)
class ConnectionReport:
    """Effect of a change of structure (connect, cut, lock). Momentum and energy are evaluated when first asked for."""

    event: str
    variables: tuple[int, int]  # joint variables before and after: those of the tree and of the connections
    mobility: tuple[int, int]  # degrees of freedom before and after
    rows: int  # constraint rows added (or removed) by the change
    redundant: tuple[str, ...]  # redundant constraint rows of the world
    impulse: float  # [N·s] magnitude of the linear impulse at the connection
    impulse_moment: float  # [N·m·s] magnitude of the angular impulse
    _model: Model
    _gravity: Array
    _q: Array
    _v: tuple[Array, Array]
    shaky: tuple[str, ...] = ()  # rows that are redundant in this singular posture only, to first order: see World.mobility

    what = renamed_attribute("what", "event")

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
        """Kinetic energy dissipated by the impulse [J]."""
        before, after = self._totals
        return before.kinetic - after.kinetic

    @cached_property
    def energy_of_change(self) -> float:
        """½ Δvᵀ A Δv [J]: the loss of a perfectly plastic impulse."""
        before, after = self._v
        data = Data(self._model, self._gravity)
        change = after - before
        return 0.5 * float(change @ dynamics.mass_matrix(data, self._q) @ change)

    @property
    def momentum_change(self) -> Array:
        """Change of the linear momentum of the world (3,) [kg·m/s]: zero unless something is connected to the ground."""
        before, after = self._totals
        return after.momentum - before.momentum

    @property
    def angular_momentum_change(self) -> Array:
        """Change of the angular momentum about the common center of mass (3,) [kg·m²/s]."""
        before, after = self._totals
        return after.angular_momentum - before.angular_momentum

    def __str__(self) -> str:
        """Return the report in one line."""
        parts = [f"joint variables {self.variables[0]} → {self.variables[1]}", f"mobility {self.mobility[0]} → {self.mobility[1]}"]
        before, _ = self._totals
        momentum = math.sqrt(2.0 * before.mass * before.kinetic)  # upper bound for this kinetic energy
        if self.impulse > _ROUND_OFF * momentum:
            parts.append(f"impulse {self.impulse:.3g} N·s")
        elif self.impulse_moment > _ROUND_OFF * momentum:
            parts.append(f"impulse {self.impulse_moment:.3g} N·m·s")
        lost, round_off = self.energy_lost, _ROUND_OFF * max(kinetic.kinetic for kinetic in self._totals)
        gained = lost < -round_off  # only a prescribed coordinate does work on the world
        parts.append(f"energy gained {-lost:.3g} J" if gained else f"energy lost {lost if lost > round_off else 0.0:.3g} J")
        if self.redundant:
            parts.append(f"{len(self.redundant)} redundant")
        if self.shaky:
            parts.append(f"singular posture: {', '.join(self.shaky)} constrained to second order only")
        return f"{self.event}: {', '.join(parts)}"


class Constraint:
    """Bilateral constraint of a world: base class of connections, locks and couplings. Compared by identity."""

    report: ConnectionReport

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.index = -1  # in the constraint set; -1: inactive

    @property
    def alive(self) -> bool:
        """Whether the constraint is active."""
        return self.index >= 0

    def add_to(self, constraint_set: ConstraintSet, model: Model) -> None:
        """Add the constraint to a constraint set."""
        raise NotImplementedError

    def fits(self, model: Model) -> bool:
        """Whether the model has every link and coordinate that the constraint refers to."""
        raise NotImplementedError

    def copy_to(self, world: World) -> Any:
        """Inactive copy for another world."""
        other = copy.copy(self)
        other.world, other.index = world, -1
        return other

    @property
    def unique(self) -> bool:
        """Whether the constraint force is unique: no redundant constraint could share it."""
        from brachiate.world import coordinates  # noqa: PLC0415

        return coordinates.is_unique(self.world, self._active_set().row_slice(self.index))

    def _active_set(self) -> ConstraintSet:
        """The constraint set of the world, at its present time.

        Raises:
            ArgumentError: The constraint was cut.
        """
        if not self.alive:
            raise ArgumentError(f"{self.name!r} is no longer active: it was cut.")
        self.world.constraint_set.arrays.time[0] = self.world.time
        return self.world.constraint_set

    def row_names(self) -> list[str]:
        """Name of each constraint row."""
        raise NotImplementedError


class Connection(Constraint):
    """Loop joint between two links outside the tree: a virtual link [SVC] 3. ``link`` moves relative to ``to``."""

    def __init__(
        self,
        world: World,
        name: str,
        link: str,
        to: str,
        joint: Joint,
        frames: tuple[Placement, Placement],
        compliance: SpringDamper | None = None,
    ) -> None:
        super().__init__(world, name)
        self.link, self.to, self.joint, self.compliance = link, to, joint, compliance
        #: Joint frame in ``link`` and in ``to``: in the links themselves, since the bodies that links belong to may change.
        self.frames = frames
        self.initial_state: tuple[Array, Array] | None = None  # joint coordinates and motor torques to start from; None: neutral, zero

    def add_to(self, constraint_set: ConstraintSet, model: Model) -> None:
        """Add the loop joint to a constraint set."""
        frame, to_frame = self.frames
        self.index = constraint_set.connect(_in_body(model, self.to, to_frame), _in_body(model, self.link, frame), self.joint, self.name)
        if self.compliance is not None:
            constraint_set.make_compliant(self.index, *self.compliance.pairs)
        if self.initial_state is not None:
            cons = constraint_set.arrays
            cons.q[self._q], cons.tau[self._v] = self.initial_state
            if self.initial_state[1].any():
                cons.has_joint_forces[self.index] = 1

    def fits(self, model: Model) -> bool:
        """Whether the model has both links."""
        return all(link == "world" or link in model.links for link in (self.link, self.to))

    def joint_state(self) -> tuple[Array, Array]:
        """Copies of the joint's coordinates and motor torques."""
        cons = self.world.constraint_set.arrays
        return cons.q[self._q].copy(), cons.tau[self._v].copy()

    def set_joint_state(self, q: Array, tau: Array) -> None:
        """Set the joint's coordinates and motor torques."""
        cons = self.world.constraint_set.arrays
        cons.q[self._q], cons.tau[self._v] = q, tau
        cons.has_joint_forces[self.index] = int(self.joint.has_passive_forces or self.joint.has_limits or tau.any())

    @property
    def _q(self) -> slice:
        start = int(self.world.constraint_set.arrays.q_at[self.index])
        return slice(start, start + self.joint.nq)

    @property
    def _v(self) -> slice:
        start = int(self.world.constraint_set.arrays.v_at[self.index])
        return slice(start, start + self.joint.nv)

    @property
    def value(self) -> Any:
        """Coordinates of the joint: one number, or an array."""
        values = self._active_set().joint_state(self.index)[0]
        return float(values[0]) if len(values) == 1 else values

    @property
    def rate(self) -> Any:
        """Velocity of the joint's coordinates: one number, or an array."""
        values = self._active_set().joint_state(self.index)[1]
        return float(values[0]) if len(values) == 1 else values

    @property
    def torque(self) -> Array:
        """Torque or force of the joint's motors (nv,) [N·m or N]; assign to set it."""
        return self._active_set().arrays.tau[self._v].copy()

    @torque.setter
    def torque(self, values: Any) -> None:
        cons = self._active_set().arrays
        cons.tau[self._v] = validation.numbers(values, (self.joint.nv,), f"torque of {self.name!r}")
        cons.has_joint_forces[self.index] = int(cons.has_joint_forces[self.index] or cons.tau[self._v].any())

    @property
    def wrench(self) -> Wrench:
        """Constraint wrench: force and moment on ``link`` from ``to`` at the present state and torques."""
        self._active_set()
        self.world.constrained_accelerations()
        return self.read_wrench()

    def read_wrench(self) -> Wrench:
        """Constraint wrench of the accelerations last computed."""
        six, point = self._active_set().wrench(self.index)
        return Wrench(six[3:], six[:3], point)

    def wrench_in(self, frame: str) -> Wrench:
        """Constraint wrench along the axes of ``"link"``, of ``"to"``, or of any link or site by name, its point in the same frame."""
        if not isinstance(frame, str):
            raise ArgumentError(f"frame: expected the name of a link or site, 'link', 'to' or 'world', got {validation.short_repr(frame)}.")
        name = {"link": self.link, "to": self.to}.get(frame, frame)
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
        """Name of each constraint row: the constrained direction, where it is an axis."""
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
        """Return the links and the joint type."""
        state = "" if self.alive else " (cut)"
        return f"<Connection {self.name!r}: {self.link} to {self.to}, {self.joint.type}{state}>"


class Lock(Constraint):
    """Locked coordinate, or one prescribed by a polynomial of time (a rheonomic constraint)."""

    def __init__(self, world: World, name: str, polynomial: Array, since: float, until: float, target: Array | None = None) -> None:
        super().__init__(world, name)
        self._polynomial, self._since, self._until, self._target = polynomial, since, until, target

    def add_to(self, constraint_set: ConstraintSet, model: Model) -> None:
        """Add the lock to a constraint set."""
        if self._target is not None:
            joint = model.joints[self.name]
            self.index = constraint_set.lock_ball(joint.v.start, joint.q.start, self._target)
        else:
            k = model.coordinate_index[self.name]
            self.index = constraint_set.prescribe(k, model.scalar_coordinates[self.name], self._polynomial, self._since, self._until)

    def fits(self, model: Model) -> bool:
        """Whether the model has the coordinate."""
        return self.name in model.joints or self.name in model.coordinate_index

    @property
    def torque(self) -> Any:
        """Constraint torque or force at the present state [N·m or N]: one number, or three for a ball joint."""
        self._active_set()
        self.world.constrained_accelerations()
        return self.read_torque()

    def read_torque(self) -> Any:
        """Constraint torque of the accelerations last computed."""
        constraint_set = self._active_set()
        values = constraint_set.arrays.force[constraint_set.row_slice(self.index)].copy()
        return float(values[0]) if len(values) == 1 else values

    def row_names(self) -> list[str]:
        """Name of each constraint row."""
        return [f"{self.name} locked"] if self._target is None else [f"{self.name}.{axis} locked" for axis in "xyz"]

    def __repr__(self) -> str:
        """Return the coordinate."""
        return f"<Lock {self.name!r}{'' if self.alive else ' (released)'}>"


class CouplingConstraint(Constraint):
    """Coordinate that is a polynomial of another one, as the model's coupling says."""

    def __init__(self, world: World, name: str, coordinate: str, of: str | None, coefficients: Array) -> None:
        super().__init__(world, name)
        self.coordinate, self.of, self._coefficients = coordinate, of, coefficients

    def add_to(self, constraint_set: ConstraintSet, model: Model) -> None:
        """Add the coupling to a constraint set."""
        v_index, q_index = model.coordinate_index, model.scalar_coordinates
        other = (-1, 0) if self.of is None else (v_index[self.of], q_index[self.of])
        self.index = constraint_set.couple(v_index[self.coordinate], q_index[self.coordinate], *other, self._coefficients)

    def fits(self, model: Model) -> bool:
        """Whether the model has both coordinates."""
        return all(name is None or name in model.coordinate_index for name in (self.coordinate, self.of))

    def row_names(self) -> list[str]:
        """Name of the constraint row."""
        return [self.name]

    def __repr__(self) -> str:
        """Return both coordinates."""
        return f"<Coupling {self.name!r}: {self.coordinate} of {self.of or 'a value'}{'' if self.alive else ' (cut)'}>"


def _in_body(model: Model, link: str, frame: Placement) -> Placement:
    """Frame given in a link (or ``world``), expressed in the link's body."""
    if link == "world":
        return frame
    at = model.placements[link]
    if at.body >= 0 and model.links[link].joint.nv:  # a link with a joint is the frame of its body
        return Placement(at.body, frame.rotation, frame.position)
    return Placement(at.body, at.rotation.dot(frame.rotation), at.position + at.rotation.dot(frame.position))
