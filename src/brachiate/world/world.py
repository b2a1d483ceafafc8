"""World: figures and things together under one inertial frame, everything by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors, dynamics, kinematics, manifold
from brachiate.doors import Array
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError, ModelError
from brachiate.kinematics import Pose
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import STANDARD_GRAVITY, Data
from brachiate.model.flatten import Placement
from brachiate.model.model import Model
from brachiate.world.figure import Figure
from brachiate.world.named import Named, coordinate_values
from brachiate.world.pushes import Push
from brachiate.world.state import State


class OpenLoopWarning(UserWarning):
    """A model has loops or couplings, and the world does not hold them."""


class World:
    """Figures and things, their state, and what follows from it.

    Names are ``figure/part``: links and sites (``man/left_hand``), joints and coordinates (``man/left_knee``).

    Args:
        gravity: Three numbers [m/s²], or one: how strongly things fall along -z.
    """

    def __init__(self, gravity: float | ArrayLike = STANDARD_GRAVITY) -> None:
        if np.ndim(gravity) == 0:
            gravity = (0.0, 0.0, -doors.number(gravity, "gravity", least=0.0, most=1e9))
        self._gravity = doors.vector(gravity, "gravity")
        self._parts: dict[str, tuple[Model, Array, Array]] = {}
        self._figures: dict[str, Figure] = {}
        self._pushes: list[Push] = []
        self.time = 0.0  #: [s]
        self._rebuild()

    # --- what there is --------------------------------------------------------------------------

    def add(self, model: Model, name: str | None = None, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> Figure:
        """Add a figure or thing under a name, its base moved to a place. Nothing that is there already changes.

        It begins in the model's pose ``reference``, if it has one (models from files do), else with every joint at zero.
        """
        if not isinstance(model, Model):
            raise ArgumentError(f"world.add expects a model, such as brachiate.figures.human28(), got {model!r}.")
        name = model.name if name is None else name
        if not isinstance(name, str) or not name or "/" in name or name == "world":
            raise ModelError(f"{name!r} cannot name a figure: a name is a text that is not empty, has no '/' and is not 'world'.")
        if name in self._parts:
            raise ModelError(f"A figure named {name!r} is there already. Give this one another name: world.add(..., name=...).")
        before = self.save()
        self._parts[name] = model, doors.vector(at, f"place of {name!r}"), doors.rotation_matrix(rotation, f"rotation of {name!r}")
        try:
            self._rebuild(before)
        except Exception:
            del self._parts[name]
            raise
        self._figures[name] = Figure(self, name, model)
        if model.loops or model.couplings:
            open_ends = ", ".join(part.name for part in (*model.loops, *model.couplings))
            warnings.warn(
                f"{name!r} moves as an open tree: its loops and couplings are not closed ({open_ends}).", OpenLoopWarning, stacklevel=2
            )
        if "reference" in model.poses:  # where a file draws it
            for joint, place in model.joints.items():
                self.data.q[self.model.joints[f"{name}/{joint}"].q] = model.poses["reference"][place.q]
        return self._figures[name]

    def _rebuild(self, before: State | None = None) -> None:
        """Make one model of all parts; joints that were there before keep their state."""
        builder = ModelBuilder("world")
        for name, (model, at, rotation) in self._parts.items():
            builder.include(name, model, at, rotation)
        model = builder.build()
        data = Data(model, self._gravity)
        if before is not None:
            old = self.model
            for joint, place in old.joints.items():
                new = model.joints[joint]
                data.q[new.q], data.v[new.v], data.tau[new.v] = before.q[place.q], before.v[place.v], before.torque[place.v]
        self.model, self.data = model, data
        self._frames = _frames(model)
        self._members = {
            figure: np.array([int(model.links[link].name.startswith(figure + "/")) for link in _body_links(model)], np.int64)
            for figure in self._parts
        }
        self._load_pushes()

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Everything that was added, by name."""
        return MappingProxyType(self._figures)

    def figure(self, name: str) -> Figure:
        """One figure by name."""
        return doors.named(self._figures, name, "figure", "this world")

    # --- state ----------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Configuration (nq,): a view to write to; assigning checks it."""
        return self.data.q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        given = doors.numbers(values, (self.model.nq,), "world.q")
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
        self._gravity = doors.vector(values, "gravity")
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
            return State((), 0.0, np.zeros(0), np.zeros(0), np.zeros(0), ())
        d = self.data
        return State(self.model.coordinates, self.time, d.q.copy(), d.v.copy(), d.tau.copy(), tuple(self._pushes))

    def restore(self, state: State) -> None:
        """Bring a snapshot back."""
        if not isinstance(state, State):
            raise ArgumentError(f"restore expects what save returned, got {state!r}.")
        if state.coordinates != self.model.coordinates:
            raise ArgumentError(
                f"This state has {len(state.coordinates)} coordinates, the world {self.model.nv}, or their names differ: "
                "it was saved from another world, or before a figure was added."
            )
        self.data.q[:], self.data.v[:], self.data.tau[:] = state.q, state.v, state.torque
        self.time = state.time
        self._pushes = list(state.pushes)
        self._load_pushes()

    def copy(self) -> World:
        """Return another world like this one, with its own state."""
        other = World(self._gravity)
        other._parts = dict(self._parts)
        other._figures = {name: Figure(other, name, figure.model) for name, figure in self._figures.items()}
        other._rebuild()
        other.restore(self.save())
        return other

    # --- forces from outside ----------------------------------------------------------------------

    def push(
        self, link: str, force: ArrayLike = (0, 0, 0), *, moment: ArrayLike = (0, 0, 0), at: ArrayLike = (0, 0, 0), axes: str = "world"
    ) -> Push:
        """Put a force [N] and a moment [N·m] on a link, at a point of the link, until it is removed.

        ``axes`` says along which axes they are given and stay: ``world`` or ``link``.
        """
        doors.named(self.model.links, link, "link", "this world")
        push = Push(
            link,
            doors.vector(force, "force"),
            doors.vector(moment, "moment"),
            doors.vector(at, "point of the push"),
            doors.one_of(axes, ("world", "link"), "axes of the push"),
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
        return doors.named(self._frames, name, "link or site", "this world")

    def _point(self, name: str, at: ArrayLike) -> Placement:
        frame = self._frame(name)
        return frame._replace(position=frame.position + frame.rotation @ doors.vector(at, f"point of {name!r}"))

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
        return None if figure is None else doors.named(self._members, figure, "figure", "this world")

    def totals(self, of: str | None = None) -> Totals:
        """Mass, centre of mass, momentum about it, and energy, of one figure or of all."""
        return dynamics.totals(self.data, self._of(of))

    def centroidal_momentum_matrix(self, of: str | None = None) -> Array:
        """Matrix whose product with v is momentum and angular momentum about the centre of mass: (6, nv)."""
        return dynamics.centroidal_momentum_matrix(self.data, self._of(of))

    def mass_matrix(self) -> Array:
        """Mass matrix at the present configuration: (nv, nv)."""
        return dynamics.mass_matrix(self.data, self.data.q)

    def bias(self) -> Named:
        """Torques at zero acceleration: Coriolis, gravity, springs, dampers, minus pushes (nv,)."""
        return Named(dynamics.bias(self.data, self.data.q, self.data.v), self.model)

    def inverse_dynamics(self, acceleration: ArrayLike | Mapping[str, Any]) -> Named:
        """Torques that accelerations take at the present state (nv,) [N·m or N]."""
        a = coordinate_values(self.model, acceleration, "acceleration")
        held = self.data.tau.copy()
        try:
            return Named(dynamics.inverse_dynamics(self.data, self.data.q, self.data.v, a), self.model)
        finally:
            self.data.tau[:] = held  # the kernel's result has the place of the world's own torques

    def forward_dynamics(self, torque: ArrayLike | Mapping[str, Any] | None = None) -> Named:
        """Accelerations that torques (by default the world's own) make at the present state (nv,)."""
        held = self.data.tau.copy()
        tau = held if torque is None else coordinate_values(self.model, torque, "torque")
        try:
            return Named(dynamics.forward_dynamics(self.data, self.data.q, self.data.v, tau), self.model)
        finally:
            self.data.tau[:] = held

    def integrated(self, v: ArrayLike, dt: float) -> Array:
        """The configuration after moving with constant velocities for a time dt [s]."""
        return manifold.integrated(self.data, self.data.q, v, dt)

    def beyond_limits(self) -> dict[str, float]:
        """Every coordinate outside its limits, and by how much [rad or m]; a swing beyond its cone as ``joint.swing``."""
        return kinematics.beyond_limits(self.data)

    def __repr__(self) -> str:
        """Return what there is."""
        return f"<World: {', '.join(self._parts) or 'empty'}; {self.model.nv} dof, t = {self.time:g} s>"


def _frames(model: Model) -> dict[str, Placement]:
    """Placement of every link and site."""
    frames = dict(model.placements)
    for site in model.sites.values():
        link = model.placements[site.link]
        frames[site.name] = Placement(link.body, link.rotation @ site.rotation, link.position + link.rotation @ site.position)
    return frames


def _body_links(model: Model) -> list[str]:
    """Name of the link that makes each body."""
    return [name for name, link in model.links.items() if link.joint.nv]
