"""World: figures and things together under one inertial frame, everything by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics, kinematics, manifold, validation
from brachiate.constraints.arrays import NEW
from brachiate.constraints.constraint_set import Held
from brachiate.constraints.coordinates import Coordinates
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError, ModelError
from brachiate.kinematics import Pose
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import STANDARD_GRAVITY, Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import Joint
from brachiate.model.material import Material
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world import balance, contact_settings, links, mobility, structure
from brachiate.world.connections import Bond, Connection, Follow, Lock, Report, Soft
from brachiate.world.contacts import Contacts
from brachiate.world.figure import Figure
from brachiate.world.mobility import Mobility, NamedCoordinates, Torques
from brachiate.world.named_values import Named, coordinate_values
from brachiate.world.pushes import Push
from brachiate.world.state import State

_GROUND = Placement(-1, validation.frozen(np.eye(3)), validation.frozen(np.zeros(3)))


class World:
    """Figures and things, their state, and what follows from it.

    Names are ``figure/part``: links and sites (``man/left_hand``), joints and coordinates (``man/left_knee``).

    Args:
        gravity: Three numbers [m/s²], or one: how strongly things fall along -z.
    """

    def __init__(self, gravity: float | ArrayLike = STANDARD_GRAVITY) -> None:
        if np.ndim(gravity) == 0:
            gravity = (0.0, 0.0, -validation.number(gravity, "gravity", least=0.0, most=1e9))
        self._gravity = validation.vector(gravity, "gravity")
        self.parts: dict[str, tuple[Model, Array, Array]] = {}
        self.bonds: list[Bond] = []
        self._version = self._changes = 0
        self._figures: dict[str, Figure] = {}
        self._pushes: list[Push] = []
        self._chosen: tuple[Any, Coordinates] | None = None  # generalized coordinates of last time, and of which structure
        self.surfaces = contact_settings.Surfaces(self)  #: what shapes are made of, and whether they touch
        self.links = links.Links(self)  #: every link, virtual ones as well, with its parent, child, brother and real one [SVC] 3
        self.time = 0.0  #: [s]
        self.rebuild()

    # --- what there is --------------------------------------------------------------------------

    def add(self, model: Model, name: str | None = None, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> Figure:
        """Add a figure or thing under a name, its base moved to a place. Nothing that is there already changes.

        It begins in the model's pose ``reference``, if it has one (models from files do), else with every joint at zero. Its
        loops and couplings are closed, if need be by moving its joints a little.
        """
        if not isinstance(model, Model):
            raise ArgumentError(f"world.add expects a model, such as brachiate.figures.human28(), got {model!r}.")
        name = model.name if name is None else name
        if not isinstance(name, str) or not name or "/" in name or name == "world":
            raise ModelError(f"{name!r} cannot name a figure: a name is a text that is not empty, has no '/' and is not 'world'.")
        if name in self.parts:
            raise ModelError(f"A figure named {name!r} is there already. Give this one another name: world.add(..., name=...).")
        before = self.save()
        self.parts[name] = model, validation.vector(at, f"place of {name!r}"), validation.rotation_matrix(rotation, f"rotation of {name!r}")
        try:
            self.rebuild(before)
            if "reference" in model.poses:  # where a file draws it
                for joint, place in model.joints.items():
                    self.data.q[self.model.joints[f"{name}/{joint}"].q] = model.poses["reference"][place.q]
            if model.loops or model.couplings:
                structure.close_loops(self, name, model)
            self.decide()
        except Exception:
            del self.parts[name]
            self.bonds = list(before.bonds)
            self.rebuild()
            self.restore(before)
            raise
        self._figures[name] = Figure(self, name, model)
        return self._figures[name]

    def rebuild(self, before: State | None = None) -> None:
        """Make one model of all parts; joints that were there before keep their state, connections their handles."""
        builder = ModelBuilder("world")
        for name, (model, at, rotation) in self.parts.items():
            builder.include(name, model, at, rotation)
        model = builder.build()
        data = Data(model, self._gravity)
        if before is not None:
            for joint, place in self.model.joints.items():
                if joint in model.joints:
                    new = model.joints[joint]
                    data.q[new.q], data.v[new.v], data.tau[new.v] = before.q[place.q], before.v[place.v], before.torque[place.v]
        self.model, self.data = model, data
        self._frames = _frames(model)
        self._members = {figure: balance.members(model, figure) for figure in self.parts}
        self._load_pushes()
        self.held = Held(data)
        for bond in self.bonds:
            bond.place = -1
        self.bonds = [bond for bond in self.bonds if bond.fits(model)]
        for bond in self.bonds:
            if before is not None and isinstance(bond, Connection) and bond in before.joints:
                bond.kept = before.joints[bond]
            bond.enter(self.held, model)
        self.held.arrange()
        self.surfaces.rebuild()
        self.changed()

    def changed(self) -> None:
        """Remember that the structure is another one now, unlike any before."""
        self._changes += 1
        self._version = self._changes
        self.surfaces.exclude()

    def decide(self) -> None:
        """Look which rows are redundant at the present state, which stays as it is."""
        if self.bonds:
            self.held.room.clock[0] = self.time
            self.held.accelerations()

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Everything that was added, by name."""
        return MappingProxyType(self._figures)

    def figure(self, name: str) -> Figure:
        """One figure by name."""
        return validation.named(self._figures, name, "figure", "this world")

    # --- contact ----------------------------------------------------------------------------------

    def touch(
        self,
        one: str | None = None,
        other: str | None = None,
        *,
        material: Material | None = None,
        friction: float | None = None,
        restitution: float | None = None,
    ) -> None:
        """Let shapes that meet touch from now on; shapes without a material of their own are made of this one.

        With the names of two links, only what happens between those is said: ``world.touch("man/left_foot", "ice/ground",
        friction=0.05)``. Links that are connected, and neighbours in a figure, never touch. :meth:`pass_through` takes it back.
        """
        self.surfaces.touch(one, other, material, friction, restitution)

    def pass_through(self, one: str | None = None, other: str | Iterable[str] | None = None) -> None:
        """Let two links, one and several others, or everything, pass through each other."""
        self.surfaces.pass_through(one, other)

    def meet(self, one: str, other: str) -> None:
        """Let two links touch again that were to pass through each other, as they would have."""
        self.surfaces.meet(one, other)

    @property
    def contacts(self) -> Contacts:
        """What touches at this moment, with forces: those of a very short step from here."""
        return self.surfaces.contacts()

    def zmp(self, figure: str, height: float | None = None) -> Array:
        """Zero-moment point of a figure (3,) [m]: where a level floor has to press for it to move as it does now; NaN in the air.

        It follows from the rates of momentum alone, not from forces of contact. Where the floor is all that acts it is the centre of
        pressure, ``world.contacts.reaction(figure).cop``; what else pushes or holds moves it away, even out of the support polygon.

        Args:
            figure: Whose.
            height: Of the floor [m]; by default where the figure touches something, or zero.
        """
        return balance.zmp(self, figure, height)

    # --- structure ------------------------------------------------------------------------------

    def connect(
        self,
        link: str,
        to: str,
        joint: Joint | None = None,
        *,
        at: ArrayLike | None = None,
        to_at: ArrayLike | None = None,
        allow: str | Iterable[str] | None = None,
        name: str | None = None,
        redundant: bool = False,
        soft: Soft | None = None,
    ) -> Connection:
        """Connect two links by a joint (fixed, if none is given) while time runs; either may be a site, or ``world``.

        The joint is made where the first frame is now, its axes along those of the second: nothing snaps. With ``allow``,
        the second frame is brought onto the first instead, by the least motion of the joints named. Velocities then
        change by the impulse that the connection takes [SVC] 4.3, which what touches answers; ``connection.report`` tells all. On
        failure nothing has changed.

        Args:
            link: Link or site that is to be connected.
            to: Link or site (or ``world``) it is connected to.
            joint: How it may move against it: any joint, with its damping, springs and friction.
            at: Point in the first frame where the joint is made (3,) [m]; its origin by default.
            to_at: With ``allow``: point in the second frame it is brought to (3,) [m]; its origin by default.
            allow: Joints that may move to close the gap: a name, a pattern such as ``man/*``, several of them, or ``all``.
            name: Of the connection; by default the link's, or, if a joint that moves has that, ``link to other``.
            redundant: Whether a connection that holds nothing new is welcome.
            soft: Springs and dampers instead of a rigid hold, such as ``Soft(stiffness=2e4, damping=200)``.
        """
        return structure.connect(self, link, to, joint, at, to_at, allow, name, redundant, soft)

    def cut(self, what: Bond | str, *, impulse: ArrayLike | None = None) -> Report:
        """Cut a connection or a coupling, or a joint of the tree: what that carries then moves freely, pose and velocity unchanged.

        By name, a connection goes before a fixed joint of the tree.

        ``impulse`` (3,) [N·s], world axes, drives the links of a connection apart: it acts on the connected link, and its
        opposite on the other.
        """
        return structure.cut(self, what, impulse)

    def lock(self, name: str, *, redundant: bool = False) -> list[Lock]:
        """Hold a joint or a coordinate where it is, whatever torque that takes."""
        return structure.lock(self, name, None, None, redundant)

    def prescribe(self, name: str, course: ArrayLike, *, over: float | None = None) -> Lock:
        """Move a coordinate along c0 + c1 t + c2 t² + ..., t counted from now, for a time [s] or for ever.

        Its torque then follows from the motion: ``prescribed.torque``. Up to six coefficients.
        """
        if course is None:
            raise ArgumentError(f"course of {name!r}: expected coefficients of a polynomial of time, got None. Use world.lock to hold it.")
        return structure.lock(self, name, course, over, redundant=False)[0]

    def release(self, name: str) -> None:
        """Let a locked or prescribed joint or coordinate move by its torques again."""
        if not isinstance(name, str):
            raise ArgumentError(f"release expects the name of a joint or coordinate, got {validation.shown(name)}.")
        own = {name, *(self.model.coordinates[self.model.joints[name].v] if name in self.model.joints else ())}
        found = [bond for bond in self.bonds if isinstance(bond, Lock) and bond.name in own]
        if not found:
            raise ArgumentError(f"{name!r} is neither locked nor prescribed.")
        for bond in found:
            structure.cut(self, bond, None)

    @property
    def connections(self) -> Mapping[str, Connection]:
        """Every connection there is, by name, in the order they were made."""
        return MappingProxyType({bond.name: bond for bond in self.bonds if isinstance(bond, Connection)})

    @property
    def couplings(self) -> Mapping[str, Follow]:
        """Every coordinate that follows another, as a model says, by the coupling's name; ``cut`` ends that."""
        return MappingProxyType({bond.name: bond for bond in self.bonds if isinstance(bond, Follow)})

    @property
    def locks(self) -> Mapping[str, Lock]:
        """Every coordinate that is locked or prescribed, by name."""
        return MappingProxyType({bond.name: bond for bond in self.bonds if isinstance(bond, Lock)})

    def mobility(self, actuated: str | Iterable[str] | None = None) -> Mobility:
        """How the world can move in its present posture, by name: degrees of freedom, what is passive, redundant or nearly singular.

        Which coordinates are generalized is kept from call to call, while the structure is the same and the choice is a good one.

        Args:
            actuated: Who has motors, as in :meth:`inverse_dynamics`; by default every coordinate with an effort above zero.
        """
        return mobility.mobility(self, actuated)

    def coordinates(self, actuated: str | Iterable[str] | None = None) -> NamedCoordinates:
        """Generalized coordinates at the present state, kept as in :meth:`mobility`, with the matrices W, S and H of [CKC] 2.

        Args:
            actuated: Who has motors, as in :meth:`inverse_dynamics`: the rows of S.
        """
        return mobility.coordinates(self, actuated)

    def row_names(self) -> list[str]:
        """A name for each row of the constraint set."""
        names = {bond.place: bond.row_names() for bond in self.bonds} | {place: [name] for place, name in self.held.limits.items()}
        return [name for i in self.held.room.order[: self.held.room.count[0]] for name in names[int(i)]]

    def placement(self, link: str) -> Placement:
        """The body a link belongs to, and its pose there; ``world`` belongs to none."""
        return _GROUND if link == "world" else self.model.placements[link]

    # --- state ----------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Configuration (nq,): a view to write to; assigning checks it."""
        return self.data.q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        given = validation.numbers(values, (self.model.nq,), "world.q")
        self.data.q[:] = self.model.configuration({joint: given[place.q] for joint, place in self.model.joints.items()})

    @property
    def v(self) -> Array:
        """Velocity (nv,): a view to write to; assigning checks it."""
        return self.data.v

    @v.setter
    def v(self, values: ArrayLike | Mapping[str, Any]) -> None:
        self.data.v[:] = coordinate_values(self.model, values, "world.v")

    @property
    def torque(self) -> Array:
        """Torque or force of every coordinate's motor (nv,) [N·m or N]: a view to write to; assigning checks it."""
        return self.data.tau

    @torque.setter
    def torque(self, values: ArrayLike | Mapping[str, Any]) -> None:
        self.data.tau[:] = coordinate_values(self.model, values, "world.torque")

    @property
    def gravity(self) -> Array:
        """Gravity (3,) [m/s²]."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, values: ArrayLike) -> None:
        self._gravity = validation.vector(values, "gravity")
        self.data.work.gravity[:] = self._gravity

    def __getitem__(self, name: str) -> Any:
        """Value of a joint, or of a coordinate that is one number: ``world["man/left_knee"]``."""
        values = self.data.q[self.model.q_slice(name)]
        return float(values[0]) if len(values) == 1 else values.copy()

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        """Set a joint's value: an angle, a distance, a quaternion, or position and quaternion."""
        place = self.model.q_slice(name)
        self.data.q[place] = self.model.configuration({name: value})[place]

    def angle(self, name: str) -> float:
        """Angle [rad] or distance [m] of a coordinate that is one number."""
        value = self[name]
        if not isinstance(value, float):
            raise ArgumentError(f"{name!r} is a joint of several numbers ({len(value)}), not one angle. Read world[{name!r}].")
        return value

    def rate(self, name: str) -> Any:
        """Velocity of a coordinate, or of all coordinates of a joint [rad/s or m/s]."""
        return Named(self.data.v, self.model)[name]

    def save(self) -> State:
        """Return a snapshot of everything that changes."""
        if not hasattr(self, "model"):
            return State((), 0.0, np.zeros(0), np.zeros(0), np.zeros(0), (), 0, {}, (), {}, {}, None)
        d = self.data
        joints = {bond: bond.keep() for bond in self.bonds if isinstance(bond, Connection)}
        return State(
            self.model.coordinates, self.time, d.q.copy(), d.v.copy(), d.tau.copy(), tuple(self._pushes),
            self._version, dict(self.parts), tuple(self.bonds), joints, self.surfaces.between,
            self.surfaces.memory(),
        )  # fmt: skip

    def restore(self, state: State) -> None:
        """Bring a snapshot back."""
        if not isinstance(state, State):
            raise ArgumentError(f"restore expects what save returned, got {state!r}.")
        if state.parts.keys() != self.parts.keys() or any(bond.world is not self for bond in state.bonds):
            raise ArgumentError(
                f"This state has {len(state.coordinates)} coordinates, the world {self.model.nv}, or their names differ: "
                "it was saved from another world, or before a figure was added."
            )
        if state.version != self._version:
            for bond in self.bonds:
                bond.place = -1
            self.parts, self.bonds = dict(state.parts), list(state.bonds)
            for figure, (model, _, _) in self.parts.items():
                self._figures[figure].model = model
            self.rebuild()
            self._version = state.version
        self.held.forget_limits()
        self.data.q[:], self.data.v[:], self.data.tau[:] = state.q, state.v, state.torque
        for bond, (q, tau) in state.joints.items():
            bond.give(q, tau)
        self.time = state.time
        self._pushes = list(state.pushes)
        self._load_pushes()
        self.surfaces.say(state.between)
        self.surfaces.recall(state.touching)
        if state.bonds and (self.held.room.state[: self.held.room.count[1]] == NEW).any():
            self.decide()

    def unchanged(self, since: State) -> bool:
        """Whether all but time and motion is as in a snapshot: the structure, pushes, motors of connections, who meets whom."""
        if since.version != self._version or since.pushes != tuple(self._pushes) or since.between is not self.surfaces.between:
            return False
        return all(np.array_equal(bond.keep()[1], since.joints[bond][1]) for bond in self.connections.values())

    def copy(self, state: State | None = None) -> World:
        """Return another world like this one, with its own state; given a snapshot of this one, as it was then."""
        state = self.save() if state is None else state
        if not isinstance(state, State) or any(bond.world is not self for bond in state.bonds):
            raise ArgumentError(f"copy expects nothing, or what save of this world returned, got {validation.shown(state)}.")
        other = World(self._gravity)
        other.parts, other.surfaces = dict(state.parts), contact_settings.copied(self.surfaces, other)
        other._figures = {name: Figure(other, name, model) for name, (model, _, _) in state.parts.items()}
        other.bonds = [bond.copied(other) for bond in state.bonds]
        other.rebuild()
        joints = {theirs: state.joints[bond] for bond, theirs in zip(state.bonds, other.bonds, strict=True) if bond in state.joints}
        other.restore(replace(state, version=other._version, bonds=tuple(other.bonds), joints=joints))
        return other

    # --- forces from outside ----------------------------------------------------------------------

    def push(
        self, link: str, force: ArrayLike = (0, 0, 0), *, moment: ArrayLike = (0, 0, 0), at: ArrayLike = (0, 0, 0), axes: str = "world"
    ) -> Push:
        """Put a force [N] and a moment [N·m] on a link, at a point of the link, until it is removed.

        ``axes`` says along which axes they are given and stay: ``world`` or ``link``.
        """
        validation.named(self.model.links, link, "link", "this world")
        push = Push(
            link,
            validation.vector(force, "force"),
            validation.vector(moment, "moment"),
            validation.vector(at, "point of the push"),
            validation.one_of(axes, ("world", "link"), "axes of the push"),
        )
        self._pushes.append(push)
        self._load_pushes()
        return push

    def remove(self, push: Push) -> None:
        """Take a push away."""
        if not any(p is push for p in self._pushes):
            raise ArgumentError("This push is not on any link of this world: it was removed, or is another world's.")
        self._pushes = [p for p in self._pushes if p is not push]
        self._load_pushes()

    @property
    def pushes(self) -> tuple[Push, ...]:
        """Every push there is."""
        return tuple(self._pushes)

    def _load_pushes(self) -> None:
        """Write the pushes on moving links into the arrays kernels read."""
        rows = [(p, self.model.placements[p.link]) for p in self._pushes]
        rows = [(p, place) for p, place in rows if place.body >= 0]
        if len(rows) > len(self.data.work.push_body):
            old = self.data
            self.data = Data(self.model, self._gravity, pushes=2 * len(rows))
            self.data.assign(q=old.q, v=old.v, a=old.a, tau=old.tau)
            if hasattr(self, "held"):
                self.held.data = self.data
        work = self.data.work
        work.push_count[0] = len(rows)
        for n, (p, place) in enumerate(rows):
            turn = place.rotation if p.axes == "link" else np.eye(3)
            work.push_body[n] = place.body
            work.push_point[n] = place.position + place.rotation @ p.at
            work.push_force[n] = [*(turn @ p.force), *(turn @ p.moment)]
            work.push_in_link[n] = p.axes == "link"

    # --- kinematics -------------------------------------------------------------------------------

    def _frame(self, name: str) -> Placement:
        return validation.named(self._frames, name, "link or site", "this world")

    def _point(self, name: str, at: ArrayLike) -> Placement:
        frame = self._frame(name)
        return frame._replace(position=frame.position + frame.rotation @ validation.vector(at, f"point of {name!r}"))

    def pose(self, frame: str) -> Pose:
        """Where a link or site is: rotation (3, 3) and position (3,) [m] in the world."""
        place = self._frame(frame)
        kinematics.update_poses(self.data)
        return kinematics.pose(self.data, place)

    def position(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Where a point of a link or site is in the world (3,) [m]."""
        place = self._point(frame, at)
        kinematics.update_poses(self.data)
        return kinematics.pose(self.data, place).position

    def velocity(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Linear velocity of a point of a link or site, and its angular velocity, world axes (6,) [m/s, rad/s]."""
        return kinematics.frame_motion(self.data, self._point(frame, at))[0]

    def acceleration(self, frame: str, acceleration: ArrayLike | Mapping[str, Any], at: ArrayLike = (0, 0, 0)) -> Array:
        """Linear and angular acceleration of a point, for given joint accelerations, world axes (6,) [m/s², rad/s²]."""
        place, a = self._point(frame, at), coordinate_values(self.model, acceleration, "acceleration")
        self.data.a[:] = a
        return kinematics.frame_motion(self.data, place)[1]

    def jacobian(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Matrix whose product with v is :meth:`velocity`: (6, nv), linear rows first."""
        return kinematics.jacobian(self.data, self._point(frame, at))

    def jacobian_rate(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """J̇v: the acceleration of a point at zero joint accelerations (6,) [m/s², rad/s²]."""
        return self.acceleration(frame, np.zeros(self.model.nv), at)

    # --- dynamics ---------------------------------------------------------------------------------

    def _of(self, figure: str | None) -> Array | None:
        return None if figure is None else validation.named(self._members, figure, "figure", "this world")

    def totals(self, of: str | None = None) -> Totals:
        """Mass, centre of mass, momentum about it, and energy, of one figure or of all.

        The energy of springs in connections counts for all together, not for one figure.
        """
        totals = dynamics.totals(self.data, self._of(of))
        if of is None and any(bond.soft or bond.joint.stiffness.any() for bond in self.connections.values()):
            totals = totals._replace(potential=totals.potential + self.held.spring_energy())
        return totals

    def centroidal_momentum_matrix(self, of: str | None = None) -> Array:
        """Matrix whose product with v is momentum and angular momentum about the centre of mass: (6, nv)."""
        return dynamics.centroidal_momentum_matrix(self.data, self._of(of))

    def mass_matrix(self) -> Array:
        """Mass matrix at the present configuration: (nv, nv)."""
        return dynamics.mass_matrix(self.data, self.data.q)

    def bias(self) -> Named:
        """Torques at zero acceleration: Coriolis, gravity, springs, dampers, minus pushes (nv,)."""
        return Named(dynamics.bias(self.data, self.data.q, self.data.v), self.model)

    def inverse_dynamics(
        self,
        acceleration: ArrayLike | Mapping[str, Any],
        actuated: str | Iterable[str] | None = None,
        share: str = "least-norm",
        weights: ArrayLike | Mapping[str, Any] | None = None,
        limits: bool = False,
    ) -> Torques:
        """Torques that accelerations take at the present state (nv,) [N·m or N].

        Of an open tree, and asked for nothing else, these are those of every coordinate, whether it has a motor or not. Where
        something holds (or ``actuated``, ``weights`` or ``limits`` are given), motors bring what the motion takes, and only they
        [CKC] 3.1: if they can in many ways, by the least torques; if they cannot, they bring the most of it. ``torques.sharing`` says
        what became of it: ``realised``, the ``residual`` by name, ``rank``, ``unique``, ``saturated``, ``passive``.

        What holds leaves few accelerations. Any may be given; torques are for the nearest one, in the mass metric, that obeys,
        ``torques.inconsistency`` is how far away that is, as part of its size, and a warning is given above 1e-6. Springs, dampers,
        friction and motors in the joints of connections act as they do in :meth:`forward_dynamics`.

        Args:
            acceleration: Of all coordinates, or by name, the rest zero.
            actuated: Who has motors: names of joints or coordinates, and patterns such as ``man/*``, which match what has a motor
                (an effort above zero). By default all that have one.
            share: What is to be least: the sum of squared torques (``least-norm``), or of squared parts of the motors' limits
                (``least-effort``).
            weights: Factors of these squares: by name, the rest 1, or one for each coordinate.
            limits: Whether motors bring no more than their effort.
        """
        return mobility.inverse_dynamics(self, acceleration, actuated, share, weights, limits)

    def forward_dynamics(self, torque: ArrayLike | Mapping[str, Any] | None = None, *, method: str = "fast") -> Named:
        """Accelerations that torques (by default the world's own) make at the present state (nv,).

        Args:
            torque: Of all coordinates, or by name, the rest zero.
            method: ``fast``, or ``unit-vector``: the published method [CKC] 3.2, one pass of inverse dynamics for each freedom, to read
                and to check with. It gives no forces at connections, and knows neither singular postures nor limits of joints.
        """
        held = self.data.tau.copy()
        tau = held if torque is None else coordinate_values(self.model, torque, "torque")
        if validation.one_of(method, ("fast", "unit-vector"), "method") == "unit-vector":
            return mobility.unit_vector_dynamics(self, tau)
        if self.bonds or self.surfaces.touches is not None:
            return self._held_accelerations(tau)
        try:
            return Named(dynamics.forward_dynamics(self.data, self.data.q, self.data.v, tau), self.model)
        finally:
            self.data.tau[:] = held

    def _held_accelerations(self, torque: Array) -> Named:
        """Accelerations of what is held, and the force at every connection."""
        own = self.data.tau.copy()
        self.data.tau[:] = torque
        try:
            result = Named(self.accelerate(), self.model)
        finally:
            self.data.tau[:] = own
        result.connection = {name: bond.read_wrench() for name, bond in self.connections.items()}
        return result

    def accelerate(self) -> Array:
        """Accelerations at the present state and torques, under the forces that hold and those where things touch."""
        if self.surfaces.touches is not None:
            return self.surfaces.touches.at_this_moment(self.time).acceleration
        self.held.room.clock[0] = self.time
        return self.held.accelerations()

    def solve_mass(self, force: ArrayLike) -> Array:
        """A⁻¹ f of the tree, whatever is held (nv,)."""
        return dynamics.solve_mass(self.data, self.data.q, force)

    def integrated(self, v: ArrayLike, dt: float) -> Array:
        """The configuration after moving with constant velocities for a time dt [s]."""
        return manifold.integrated(self.data, self.data.q, v, dt)

    def beyond_limits(self) -> dict[str, float]:
        """Every coordinate outside its limits, and by how much [rad or m]; a swing beyond its cone as ``joint.swing``."""
        return kinematics.beyond_limits(self.data)

    def __str__(self) -> str:
        """Draw every figure as a tree of its links; ``⇢`` is a virtual link, another link that is connected there."""
        return links.drawn(self)

    def __repr__(self) -> str:
        """Return what there is, in one line."""
        return f"<World: {', '.join(self.parts) or 'empty'}; {self.model.nv} dof, t = {self.time:g} s>"


def _frames(model: Model) -> dict[str, Placement]:
    """Placement of every link and site."""
    frames = dict(model.placements)
    for site in model.sites.values():
        link = model.placements[site.link]
        frames[site.name] = Placement(link.body, link.rotation @ site.rotation, link.position + link.rotation @ site.position)
    return frames
