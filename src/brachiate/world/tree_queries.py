"""State, kinematics and dynamics of the kinematic tree of a world, by name, irrespective of constraints and contact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics, kinematics, manifold, validation
from brachiate.deprecation import renamed_arguments, renamed_method
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.kinematics import Pose
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.named_values import NamedValues, coordinate_indices, coordinate_values

_INERTIAL_FRAME = Placement(-1, validation.frozen(np.eye(3)), validation.frozen(np.zeros(3)))


class TreeQueries:
    """State vector, frame kinematics and tree dynamics of a world; base class of :class:`World`."""

    model: Model
    data: Data
    _gravity: Array  # (3,) [m/s²]
    _frames: dict[str, Placement]  # of every link and site
    _figure_bodies: dict[str, Array]  # (nb,) 0 or 1: whether a body belongs to the figure

    # --- state ------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Configuration (nq,): a view that may be written to; assigning checks the values."""
        return self.data.q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        q = ranges.within(validation.numbers(values, (self.model.nq,), "world.q"), ranges.MAX_COORDINATE, "world.q")
        self.data.q[:] = self.model.configuration({joint: q[place.q] for joint, place in self.model.joints.items()})

    @property
    def v(self) -> Array:
        """Velocity (nv,): a view that may be written to; assigning checks the values.

        ``world.v = {name: value}`` sets every velocity that is not named to **zero**; :meth:`set_velocity` leaves the others as they are.
        """
        return self.data.v

    @v.setter
    def v(self, values: ArrayLike | Mapping[str, Any]) -> None:
        self.data.v[:] = coordinate_values(self.model, values, "world.v", ranges.MAX_SPEED)

    def set_velocity(self, values: Mapping[str, Any]) -> None:
        """Set the velocity of some joints or coordinates by name [rad/s or m/s]; all others stay as they are.

        Nothing is changed if a name or value is invalid.
        """
        if not isinstance(values, Mapping):
            raise ArgumentError(f"set_velocity expects velocities by name, such as {{'man/left_knee': 0.5}}, got {values!r}.")
        velocity = coordinate_values(self.model, values, "velocity")
        for name in values:
            at = coordinate_indices(self.model, name)
            self.data.v[at] = velocity[at]

    @property
    def torque(self) -> Array:
        """Motor torque or force of every coordinate (nv,) [N·m or N]: a view that may be written to; assigning checks the values.

        ``world.torque = {name: value}`` sets every torque that is not named to zero.
        """
        return self.data.tau

    @torque.setter
    def torque(self, values: ArrayLike | Mapping[str, Any]) -> None:
        self.data.tau[:] = coordinate_values(self.model, values, "world.torque")

    @property
    def gravity(self) -> Array:
        """Gravitational acceleration (3,) [m/s²]."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, values: ArrayLike) -> None:
        self._gravity = ranges.vector(values, "gravity", ranges.MAX_GRAVITY)
        self.data.work.gravity[:] = self._gravity

    def __getitem__(self, name: str) -> Any:
        """Configuration of a joint, or of a coordinate that is one number: ``world["man/left_knee"]``."""
        values = self.data.q[self.model.q_slice(name)]
        return float(values[0]) if len(values) == 1 else values.copy()

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        """Set the configuration of a joint: an angle, a distance, a quaternion, or position and quaternion."""
        at = self.model.q_slice(name)
        self.data.q[at] = self.model.configuration({name: value})[at]

    def angle(self, name: str) -> float:
        """Angle [rad] or distance [m] of a coordinate that is one number."""
        value = self[name]
        if not isinstance(value, float):
            raise ArgumentError(f"{name!r} is a joint of several numbers ({len(value)}), not one angle. Read world[{name!r}].")
        return value

    def rate(self, name: str) -> Any:
        """Velocity of a coordinate, or of all coordinates of a joint [rad/s or m/s]."""
        found = np.array(self.data.v[coordinate_indices(self.model, name)])
        return float(found) if found.ndim == 0 else found

    def integrate(self, v: ArrayLike, dt: float) -> Array:
        """Configuration (nq,) reached by moving with constant velocity v (nv,) for a time dt [s]; the world is unchanged."""
        return manifold.integrate(self.data, self.data.q, v, dt)

    integrated = renamed_method("integrated", "integrate")

    # --- kinematics -------------------------------------------------------------------------------

    def placement(self, link: str) -> Placement:
        """Body that a link belongs to (-1: none, as for ``world``) and the pose of the link in it."""
        if isinstance(link, str) and link == "world":
            return _INERTIAL_FRAME
        return validation.lookup(self.model.placements, link, "link", "this world")

    def frame(self, name: str) -> Placement:
        """Body that a link or site belongs to (-1: none), and the pose of the link or site in it."""
        return validation.lookup(self._frames, name, "link or site", "this world")

    def _point(self, name: str, at: ArrayLike) -> Placement:
        frame = self.frame(name)
        return frame._replace(position=frame.position + frame.rotation @ ranges.vector(at, f"point of {name!r}"))

    def pose(self, frame: str) -> Pose:
        """Pose of a link or site: rotation (3, 3) and position (3,) [m] in the world."""
        placement = self.frame(frame)
        kinematics.update_poses(self.data)
        return kinematics.pose(self.data, placement)

    def position(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Position of a point of a link or site in the world (3,) [m]."""
        placement = self._point(frame, at)
        kinematics.update_poses(self.data)
        return kinematics.pose(self.data, placement).position

    def velocity(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Linear velocity of a point of a link or site, and its angular velocity, world axes (6,) [m/s, rad/s]."""
        return kinematics.frame_motion(self.data, self._point(frame, at))[0]

    def acceleration(self, frame: str, acceleration: ArrayLike | Mapping[str, Any], at: ArrayLike = (0, 0, 0)) -> Array:
        """Linear and angular acceleration of a point, for given joint accelerations, world axes (6,) [m/s², rad/s²]."""
        placement, a = self._point(frame, at), coordinate_values(self.model, acceleration, "acceleration")
        self.data.a[:] = a
        return kinematics.frame_motion(self.data, placement)[1]

    def jacobian(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """Jacobian J (6, nv), linear rows first: J v is :meth:`velocity`."""
        return kinematics.jacobian(self.data, self._point(frame, at))

    def jacobian_rate(self, frame: str, at: ArrayLike = (0, 0, 0)) -> Array:
        """J̇v: the acceleration of a point at zero joint accelerations (6,) [m/s², rad/s²]."""
        return self.acceleration(frame, np.zeros(self.model.nv), at)

    def beyond_limits(self) -> dict[str, float]:
        """Joint limit violations [rad or m] by coordinate; a swing beyond its cone as ``joint.swing``."""
        return kinematics.beyond_limits(self.data)

    # --- dynamics of the tree ---------------------------------------------------------------------

    def bodies_of(self, figure: str | None) -> Array | None:
        """Whether each body belongs to a figure (nb,), 0 or 1; None for all figures."""
        return None if figure is None else validation.lookup(self._figure_bodies, figure, "figure", "this world")

    @renamed_arguments(of="figure")
    def totals(self, figure: str | None = None) -> Totals:
        """Mass, center of mass (CoM), momentum, angular momentum about the CoM, and energy, of one figure or of all."""
        return dynamics.totals(self.data, self.bodies_of(figure))

    @renamed_arguments(of="figure")
    def centroidal_momentum_matrix(self, figure: str | None = None) -> Array:
        """Centroidal momentum matrix (6, nv): its product with v is linear momentum and angular momentum about the CoM."""
        return dynamics.centroidal_momentum_matrix(self.data, self.bodies_of(figure))

    def mass_matrix(self) -> Array:
        """Joint-space inertia matrix of the tree at the present configuration (nv, nv)."""
        return dynamics.mass_matrix(self.data, self.data.q)

    def solve_mass(self, force: ArrayLike) -> Array:
        """A⁻¹ f of the tree (nv,), constraints disregarded."""
        return dynamics.solve_mass(self.data, self.data.q, force)

    def bias(self) -> NamedValues:
        """Bias torques (nv,), those of zero acceleration: Coriolis, gravity, springs and dampers, minus applied forces."""
        return NamedValues(dynamics.bias(self.data, self.data.q, self.data.v), self.model)


def frame_placements(model: Model) -> dict[str, Placement]:
    """Placement of every link and site of a model, by name."""
    frames = dict(model.placements)
    for site in model.sites.values():
        link = model.placements[site.link]
        frames[site.name] = Placement(link.body, link.rotation @ site.rotation, link.position + link.rotation @ site.position)
    return frames
