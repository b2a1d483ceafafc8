"""ParticleSystem: particles, links and joints by name, and their state [NSP]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.particles import columns
from brachiate.particles.arrays import (
    GRAVITY,
    PUBLISHED_PLANES,
    WIND,
    FloorArrays,
    Joints,
    LinkArrays,
    Particles,
    Planes,
    incidence,
    make_handle,
)
from brachiate.particles.columns import column, extended, indices, new_names, points, vectors
from brachiate.particles.energy import elastic_energy
from brachiate.particles.planes import make_planes
from brachiate.validation import Array

STANDARD_GRAVITY = 9.80665
MIN_LENGTH = 1e-9  # [m] of links and arms
PLANES = ("momentum", "published")


def equivalent_mass(inertia: float, length: float) -> float:
    """Mass [kg] of a particle at the end of a link that has the moment of inertia of the link: m = I/l² [NSP] eq. 33."""
    length = ranges.length(length, "length")
    return validation.number(inertia, "inertia", above=0.0) / length**2


class ParticleSystem:
    """Particles tied by links (spring-dampers) and turned by joints of three particles: no angles, no Jacobian, O(n) [NSP].

    Args:
        gravity: Acceleration vector (3,) [m/s²], or one number: its magnitude along -z.
        wind: Velocity of the air (3,) [m/s].
        planes: What holds the particles of joints with an axis in their plane: ``"momentum"``, internal forces that conserve momentum; or
            ``"published"``, which removes their accelerations across the plane [NSP] eq. 12, external ones included, and does not.
        plane_frequency: Of deviations from a plane [rad/s], critically damped; with ``"momentum"``.
    """

    def __init__(
        self,
        gravity: float | ArrayLike = STANDARD_GRAVITY,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        planes: str = "momentum",
        plane_frequency: float = 100.0,
    ) -> None:
        if validation.reals(gravity, "gravity", "three numbers, or one").ndim == 0:
            gravity = (0.0, 0.0, -validation.number(gravity, "gravity", minimum=0.0, maximum=ranges.MAX_GRAVITY))
        self._particles, self._links, self._joints = columns.no_particles(), columns.no_links(), columns.no_joints()
        self._normals, self._planes = np.zeros((0, 3)), columns.no_planes(0)
        self._natural, self._expansion = np.zeros(0), np.zeros(0)
        self._handle: ArrayHandle | None = None
        #: Numbers of particles, links and joints by name.
        self.particles: dict[str, int] = {}
        self.links: dict[str, int] = {}
        self.joints: dict[str, int] = {}
        self.plane_frequency = validation.number(plane_frequency, "plane_frequency", above=0.0, maximum=1e9)
        self.gravity = gravity
        self.wind = wind
        self._particles.options[PUBLISHED_PLANES] = PLANES.index(validation.one_of(planes, PLANES, "planes"))
        #: [s] since the start, advanced by steps.
        self.time = 0.0

    def __len__(self) -> int:
        """Return the number of particles."""
        return len(self._particles.mass)

    def __repr__(self) -> str:
        return f"ParticleSystem({len(self)} particles, {len(self.links)} links, {len(self.joints)} joints)"

    # --- construction -------------------------------------------------------------------------------

    def add_particle(self, name: str, position: ArrayLike, mass: float, **more: Any) -> int:
        """Add one particle; see :meth:`add_particles`. Returns its number."""
        return int(self.add_particles(validation.vector(position, "position")[None], mass, names=[name], **more)[0])

    def add_particles(
        self,
        positions: ArrayLike,
        mass: ArrayLike,
        *,
        names: str | Sequence[str] = "p",
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        radius: ArrayLike = 0.0,
        drag: ArrayLike = 0.0,
        fixed: ArrayLike = False,
    ) -> Array:
        """Add particles; returns their numbers.

        Args:
            positions: Positions (n, 3) [m].
            mass: Masses [kg], one for all or one for each, as the following.
            names: Prefix, which is followed by numbers from 1, or a name for each.
            velocity: Velocities [m/s].
            radius: Radii [m], for floors.
            drag: ½ρ c_d A [kg/m]: the air drags with drag·|u|u, u the relative velocity.
            fixed: Whether the particle stays where it is.
        """
        x = points(positions, "positions")
        n, first = len(x), len(self)
        made = new_names(names, n, self.particles, "particle")
        masses = column(mass, n, "mass", ranges.MASSES[0], maximum=ranges.MASSES[1])
        held = column(fixed, n, "fixed", 0.0, maximum=1.0).astype(bool)
        rows = {
            "x": x, "v": np.where(held[:, None], 0.0, vectors(velocity, n, "velocity", ranges.MAX_SPEED)), "mass": masses,
            "inverse_mass": np.where(held, 0.0, 1.0 / masses), "radius": column(radius, n, "radius", 0.0, maximum=ranges.LENGTHS[1]),
            "drag": column(drag, n, "drag", 0.0, maximum=ranges.MASSES[1]),
        }  # fmt: skip
        self._keep_normals()
        self._particles = extended(self._particles, rows, n)
        self.particles.update(zip(made, range(first, first + n), strict=True))
        self._handle = None
        return np.arange(first, first + n)

    def add_link(self, name: str, first: str | int, second: str | int, *, stiffness: float, **more: Any) -> int:
        """Add one link between two particles; see :meth:`add_links`. Returns its number."""
        return int(self.add_links([(first, second)], names=[name], stiffness=stiffness, **more)[0])

    def add_links(
        self,
        ends: Any,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        length: ArrayLike | None = None,
        slack: ArrayLike = False,
        expansion: ArrayLike = 0.0,
        names: str | Sequence[str] = "link",
    ) -> Array:
        """Add links (spring-dampers) [NSP] eq. 7; returns their numbers.

        Args:
            ends: Names or numbers of the two particles of each link (m, 2).
            stiffness: [N/m], one for all or one for each, as the following.
            damping: Against changes of length [N·s/m].
            length: Rest length [m]; None: the present distance.
            slack: Whether the link only pulls, as a rope.
            expansion: Thermal expansion per temperature [1/K]: see :meth:`set_temperature`.
            names: Prefix, which is followed by numbers from 1, or a name for each.
        """
        count = len(ends) if isinstance(ends, Sequence | np.ndarray) and not (isinstance(ends, np.ndarray) and ends.ndim == 0) else 0
        if not count:
            raise ArgumentError(f"links: expected two particles each, by name or by number, got {validation.short_repr(ends)}.")
        pair, m = indices(ends, self.particles, (count, 2), "links"), len(self.links)
        made = new_names(names, count, self.links, "link")
        distance = np.linalg.norm(self._particles.x[pair[:, 0]] - self._particles.x[pair[:, 1]], axis=1)
        self._check_distances(pair, distance, made)
        rest = distance if length is None else column(length, count, "length", above=0.0, maximum=ranges.LENGTHS[1])
        slack_flags = column(slack, count, "slack", 0, maximum=1)
        alpha = column(expansion, count, "expansion", -1.0, maximum=1.0)
        rows = {
            "ends": pair, "length": rest, "stiffness": column(stiffness, count, "stiffness", 0.0, maximum=ranges.MAX_STIFFNESS),
            "damping": column(damping, count, "damping", 0.0, maximum=ranges.MAX_STIFFNESS), "slack": slack_flags,
        }  # fmt: skip
        self._keep_normals()
        self._links = extended(self._links, rows, count)
        self._natural, self._expansion = np.concatenate([self._natural, rest]), np.concatenate([self._expansion, alpha])
        self.links.update(zip(made, range(m, m + count), strict=True))
        self._handle = None
        return np.arange(m, m + count)

    def _check_distances(self, pair: Array, distance: Array, names: Sequence[str]) -> None:
        short = np.flatnonzero(distance < MIN_LENGTH)
        if len(short):
            a, b = (self.particle_name(i) for i in pair[short[0]])
            same = "it connects a particle with itself" if a == b else f"its particles {a!r} and {b!r} are at the same place"
            raise ArgumentError(
                f"link {names[short[0]]!r}: {same}, so it has no direction. Links need two particles apart from each other."
            )

    def add_joint(
        self,
        name: str,
        first: str | int,
        middle: str | int,
        third: str | int,
        *,
        axis: str | ArrayLike | None = None,
        torque: float = 0.0,
        friction: float = 0.0,
        max_torque: float = np.inf,
        limits: ArrayLike = (-np.inf, np.inf),
        limit_stiffness: float = 0.0,
        limit_damping: float = 0.0,
    ) -> int:
        """Add a joint of three particles [NSP] 3; returns its number.

        Its angle is zero if the three are in line and grows as the first arm (from the middle to the first particle) turns about the axis;
        without an axis it is the angle between the first arm and the continuation of the third one, from 0 to π.

        Args:
            name: Name of the joint.
            first: Name or number of the first particle.
            middle: Of the middle particle, about which the others turn.
            third: Of the third particle.
            axis: Normal of the plane of rotation, ``"y"`` or three numbers; None: spherical. Joints with parallel axes that share two
                particles turn in one plane.
            torque: On the first arm, about the axis [N·m]; the third arm gets its negative.
            friction: D: torque -D times the rate of the angle [N·m·s/rad].
            max_torque: Of the motor: torque and servo together [N·m].
            limits: Least and largest angle [rad].
            limit_stiffness: Of the spring beyond a limit [N·m/rad].
            limit_damping: Of the damper beyond a limit [N·m·s/rad].
        """
        number, what = validation.number, f"of joint {name!r}"
        three = indices([[first, middle, third]], self.particles, (1, 3), f"joint {name!r}")
        made = new_names([name], 1, self.joints, "joint")[0]
        normal = np.zeros(3) if axis is None else validation.axis(axis, f"axis {what}")
        arms = self._particles.x[three[0, [0, 2]]] - self._particles.x[three[0, 1]]
        if (np.linalg.norm(arms - np.outer(arms @ normal, normal), axis=1) < MIN_LENGTH).any():
            raise ArgumentError(f"joint {name!r}: an arm has no length, or is along the axis, so nothing can turn it. Choose another axis.")
        if axis is None and number(torque, f"torque {what}") != 0.0:
            raise ArgumentError(f"joint {name!r} is spherical: a torque needs a plane of rotation. Give axis='y' or three numbers.")
        lower, upper = validation.interval(limits, f"limits {what}")
        stiffness = number(limit_stiffness, f"limit_stiffness {what}", minimum=0.0, maximum=ranges.MAX_STIFFNESS)
        if np.isfinite((lower, upper)).any() and stiffness == 0.0:
            raise ArgumentError(f"limits {what} need a limit_stiffness [N·m/rad].")
        values = {
            "torque": number(torque, f"torque {what}", minimum=-ranges.MAX_FORCE, maximum=ranges.MAX_FORCE),
            "max_torque": number(max_torque, f"max_torque {what}", minimum=0.0, maximum=np.inf), "lower": lower, "upper": upper,
            "friction": number(friction, f"friction {what}", minimum=0.0, maximum=ranges.MAX_STIFFNESS), "limit_stiffness": stiffness,
            "limit_damping": number(limit_damping, f"limit_damping {what}", minimum=0.0, maximum=ranges.MAX_STIFFNESS),
        }  # fmt: skip
        rows = {key: np.array([value]) for key, value in values.items()}
        self._keep_normals()
        self._joints = extended(self._joints, {"particles": three, **rows}, 1)
        self._normals = np.concatenate([self._normals, normal[None]])
        self.joints[made] = len(self.joints)
        self._handle = None
        return self.joints[made]

    def _keep_normals(self) -> None:
        """Remember the present normals before planes are made anew."""
        turning = np.flatnonzero(self._joints.plane >= 0) if self._handle is not None else ()
        if len(turning):
            self._normals[turning] = self._planes.normal[self._joints.plane[turning]]

    # --- arrays -------------------------------------------------------------------------------------

    def handle(self, floor: FloorArrays | None = None) -> ArrayHandle:
        """Handle of the arrays for compiled code: see :mod:`brachiate.particles.arrays`. It is made anew when something was added."""
        if self._handle is None:
            n, (m, j) = len(self), (len(self.links), len(self.joints))
            start, incident = incidence(self._links.ends.T.reshape(-1), np.concatenate([np.arange(m), -1 - np.arange(m)]), n)
            self._links = self._links._replace(start=start, incident=incident)
            self._planes, plane = make_planes(self._joints.particles, self._normals, n, self.plane_frequency, 1.0)
            start, incident = incidence(self._joints.particles.reshape(-1), np.arange(3 * j), n)
            self._joints = self._joints._replace(plane=plane, force=np.zeros((2 * j, 3)), start=start, incident=incident)
            self._handle = make_handle((self._particles, self._links, self._joints, self._planes))
        return self._handle if floor is None else make_handle(self._handle.structs[:4], floor)

    @property
    def arrays(self) -> Particles:
        """Arrays of the particles themselves: what is written there is used by the next step, unchecked."""
        self.handle()
        return self._particles

    @property
    def link_arrays(self) -> LinkArrays:
        """Arrays of the links themselves."""
        self.handle()
        return self._links

    @property
    def plane_arrays(self) -> Planes:
        """Arrays of the planes of rotation themselves."""
        self.handle()
        return self._planes

    @property
    def joint_arrays(self) -> Joints:
        """Arrays of the joints themselves."""
        self.handle()
        return self._joints

    # --- state and inputs ---------------------------------------------------------------------------

    def particle_name(self, number: int) -> str:
        """Name of a particle by its number."""
        return next((name for name, k in self.particles.items() if k == number), str(number))

    def __getitem__(self, name: str) -> Array:
        """Position of a particle (3,) [m]."""
        return self._particles.x[validation.lookup(self.particles, name, "particle", "this particle system")].copy()

    @property
    def positions(self) -> Array:
        """Positions (n, 3) [m]: a copy; assign to set them."""
        return self._particles.x.copy()

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self._particles.x[:] = vectors(value, len(self), "positions")

    @property
    def velocities(self) -> Array:
        """Velocities (n, 3) [m/s]: a copy; assign to set them."""
        return self._particles.v.copy()

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        self._particles.v[:] = vectors(value, len(self), "velocities", ranges.MAX_SPEED)

    @property
    def gravity(self) -> Array:
        """Gravitational acceleration (3,) [m/s²]."""
        return self._particles.environment[GRAVITY : GRAVITY + 3].copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._particles.environment[GRAVITY : GRAVITY + 3] = ranges.vector(value, "gravity", ranges.MAX_GRAVITY)

    @property
    def wind(self) -> Array:
        """Velocity of the air (3,) [m/s]."""
        return self._particles.environment[WIND : WIND + 3].copy()

    @wind.setter
    def wind(self, value: ArrayLike) -> None:
        self._particles.environment[WIND : WIND + 3] = ranges.vector(value, "wind", 1e4)

    def hold(self, *names: str, velocity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Fix particles, or drive them at a constant velocity [m/s]: forces do not move them."""
        v = ranges.vector(velocity, "velocity", ranges.MAX_SPEED)
        rows = columns.rows_of(names, self.particles, "particle")
        self._particles.inverse_mass[rows], self._particles.v[rows] = 0.0, v

    def release(self, *names: str) -> None:
        """Let held particles move by forces again."""
        rows = columns.rows_of(names, self.particles, "particle")
        self._particles.inverse_mass[rows] = 1.0 / self._particles.mass[rows]

    def apply_force(self, name: str, force: ArrayLike) -> None:
        """Set the applied force of a particle (3,) [N], which stays until it is set again."""
        row = validation.lookup(self.particles, name, "particle", "this particle system")
        self._particles.external[row] = ranges.vector(force, "force", ranges.MAX_FORCE)

    def set_torques(self, torques: Mapping[str, float]) -> None:
        """Set the torques of joints by name [N·m]."""
        validation.mapping(torques, "torques", "torques [N·m] by name of a joint")
        found = {name: self._turning_joint(name) for name in torques}
        values = {name: validation.number(torques[name], f"torque of {name!r}", maximum=ranges.MAX_FORCE) for name in torques}
        for name, k in found.items():
            self._joints.torque[k] = values[name]

    def set_servo(
        self, name: str, target: float, rate: float = 0.0, *, proportional: float | None = None, derivative: float | None = None
    ) -> None:
        """Let a PD servo turn a joint with an axis: torque proportional·(target - angle) + derivative·(rate - its rate), at every step.

        Args:
            name: The joint.
            target: Angle [rad].
            rate: Of the target [rad/s].
            proportional: Gain [N·m/rad]; None: unchanged. An explicit step has to be short enough for it.
            derivative: Gain [N·m·s/rad]; None: unchanged.
        """
        k, J = self._turning_joint(name), self._joints
        gains = (("proportional", proportional, J.proportional), ("derivative", derivative, J.derivative))
        checked = [
            (array, validation.number(value, f"{what} gain of {name!r}", minimum=0.0, maximum=ranges.MAX_STIFFNESS))
            for what, value, array in gains
            if value is not None
        ]
        angle, speed = validation.number(target, f"target of {name!r}"), validation.number(rate, f"rate of {name!r}")
        for array, value in (*checked, (J.target, angle), (J.target_rate, speed)):
            array[k] = value

    def _turning_joint(self, name: str) -> int:
        """Number of a joint with an axis."""
        k = validation.lookup(self.joints, name, "joint", "this particle system")
        if not self._normals[k].any():
            raise ArgumentError(f"joint {name!r} is spherical: a torque needs a plane of rotation. Give its axis to add_joint.")
        return k

    def angle(self, name: str) -> float:
        """Angle of a joint [rad], as of the last step, or of the present positions before the first one."""
        k = validation.lookup(self.joints, name, "joint", "this particle system")
        a, b, c = self._particles.x[self._joints.particles[k]]
        self._keep_normals()
        n, r1, r3 = self._normals[k], a - b, c - b
        across = np.cross(r1, r3)
        return float(np.arctan2(n @ across if n.any() else np.linalg.norm(across), -(r1 @ r3) + (n @ r1) * (n @ r3)))

    def set_length(self, name: str, length: float) -> None:
        """Set the rest length of a link [m], at its natural temperature."""
        k = validation.lookup(self.links, name, "link", "this particle system")
        self._natural[k] = self._links.length[k] = ranges.length(length, f"length of link {name!r}")

    def set_temperature(self, change: float, links: Sequence[str] | None = None) -> None:
        """Warm links up by some kelvin from their natural temperature: their rest lengths expand."""
        change = validation.number(change, "change of temperature", minimum=-1e4, maximum=1e4)
        k = slice(None) if links is None else columns.rows_of(links, self.links, "link")
        length = self._natural[k] * (1.0 + self._expansion[k] * change)
        if (length <= 0.0).any():
            raise ArgumentError(f"change of temperature: {change:g} K would shrink a link to nothing; its expansion is too large.")
        self._links.length[k] = length

    def totals(self) -> Totals:
        """Mass, momentum and energy of all particles; potential energy of gravity and of links."""
        C, m = self._particles, self._particles.mass
        total = float(m.sum())
        center, momentum = m @ C.x / total, m @ C.v
        spin = np.cross(C.x - center, C.v - momentum / total)
        kinetic = 0.5 * float(m @ (C.v**2).sum(axis=1))
        potential = -total * float(self.gravity @ center) + elastic_energy(C.x, self._links)
        return Totals(total, center, momentum / total, momentum, m @ spin, kinetic, potential)

    def copy(self) -> Self:
        """Independent copy."""
        other = type(self).__new__(type(self))
        self._keep_normals()
        for name, value in vars(self).items():
            arrays = isinstance(value, tuple)
            copied = type(value)(*(array.copy() for array in value)) if arrays else value.copy() if hasattr(value, "copy") else value
            setattr(other, name, None if name == "_handle" else copied)
        return other
