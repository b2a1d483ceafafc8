"""Inverse dynamics of a motion with contacts: kinematics of contact points, ground reaction forces, joint torques, root residual."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.compiled import ArrayHandle, array_fields
from brachiate.contact_estimation.ground_reaction import GroundReactionArrays, compute_point_kinematics, estimate_contact_forces
from brachiate.errors import MotionError
from brachiate.model.data import Data
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.motion.spline import MotionStates
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array


class MotionDynamics:
    """Inverse dynamics of a motion, frame by frame.

    Args:
        model: The figure, with a floating base.
        states: Configuration, velocity and acceleration in every frame.
        terrain: The ground.
        external_links: Links on which known external forces act.
        external_wrench: Force [N] and moment about the world origin [N·m] on each of them in every frame: (f, e, 6).
    """

    def __init__(
        self,
        model: Model,
        states: MotionStates,
        terrain: Terrain,
        external_links: tuple[str, ...] = (),
        external_wrench: Array | None = None,
    ) -> None:
        _check_root(model)
        self.model, self.states, self.terrain = model, states, terrain
        self.times = states.times
        self.cache: dict[Any, Any] = {}  #: Results that depend on the terrain, by key; cleared by ``set_terrain``.
        self.contact_points = find_contact_points(model)
        f, s, nb, nv = len(self.times), len(self.contact_points), len(model.tree.parent), model.nv
        inputs = {
            "q": states.q.ravel(),
            "v": states.v.ravel(),
            "a": states.a.ravel(),
            "point_body": self.contact_points.body,
            "point_center": self.contact_points.position,
            "point_radius": self.contact_points.radius,
            "normal": terrain.normal,
            "friction": np.array([terrain.friction]),
            "external_body": np.array([model.placements[name].body for name in external_links], np.int64),
            "external_wrench": np.zeros((0, 6)) if external_wrench is None else np.ascontiguousarray(external_wrench, float).reshape(-1, 6),
        }
        rows = dict.fromkeys(("point_position", "point_velocity", "contact_mode", "confidence", "contact_force"), f * s)
        rows |= dict.fromkeys(("body_position", "body_acceleration"), f * nb) | dict.fromkeys(
            ("com", "required_wrench", "root_residual"), f
        )
        rows |= dict.fromkeys(("active", "arm", "bias_force"), s) | dict.fromkeys(("M", "H"), 36) | dict.fromkeys(("x", "g", "d"), 6)
        rows |= {"tau": f * nv, "unconverged": 1, "frame_range": 2}
        self._arrays = GroundReactionArrays(*(
            np.ascontiguousarray(inputs[name]) if name in inputs else np.zeros((rows[name], *kind.row), kind.dtype)
            for name, kind in array_fields(GroundReactionArrays).items()
        ))  # fmt: skip
        self._data = Data(model)
        self._handle = ArrayHandle(model.tree, self._data.work, self._arrays)
        self._run(compute_point_kinematics)
        self._belt = np.zeros(3)
        self.set_terrain(terrain)

    def set_terrain(self, terrain: Terrain) -> None:
        """Change height, stairs or treadmill velocity of the ground; its plane (normal, friction) must be the same."""
        self._arrays.point_velocity[:] += self._belt - terrain.velocity
        self.terrain, self._belt = terrain, terrain.velocity
        self.cache.clear()

    def _run(self, kernel: object) -> None:
        status = kernel(self._handle.key)  # type: ignore[operator]
        if status:
            self._data.raise_status(status)

    def _rows(self, name: str) -> Array:
        array = getattr(self._arrays, name)
        return array.reshape(len(self.times), -1, *array.shape[1:]) if array.ndim > 1 else array.reshape(len(self.times), -1)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def weight(self) -> float:
        """Weight of the figure [N]."""
        return self.model.mass * float(np.linalg.norm(self._data.work.gravity))

    @property
    def point_position(self) -> Array:
        """Lowest point of every contact sphere: (f, s, 3) [m]."""
        return self._rows("point_position")

    @property
    def point_velocity(self) -> Array:
        """Velocity of that point relative to the ground: (f, s, 3) [m/s]."""
        return self._rows("point_velocity")

    @property
    def body_position(self) -> Array:
        """Body origins: (f, nb, 3) [m]."""
        return self._rows("body_position")

    @property
    def body_acceleration(self) -> Array:
        """Accelerations of the body origins: (f, nb, 3) [m/s²]."""
        return self._rows("body_acceleration")

    @property
    def contact_mode(self) -> Array:
        """Contact mode of every point: NO_CONTACT, SUPPORT or GRIP (f, s)."""
        return self._rows("contact_mode")

    @property
    def confidence(self) -> Array:
        """Confidence that a point carries load, up to 1 (f, s)."""
        return self._rows("confidence")

    @property
    def contact_force(self) -> Array:
        """Contact forces at the points: (f, s, 3) [N]."""
        return self._rows("contact_force")

    @property
    def tau(self) -> Array:
        """Joint torques: (f, nv) [N·m or N]; at the root the residual."""
        return self._rows("tau")

    @property
    def com(self) -> Array:
        """Center of mass: (f, 3) [m]."""
        return self._arrays.com

    @property
    def required_wrench(self) -> Array:
        """External force [N] and moment about the CoM [N·m] that the motion requires: (f, 6)."""
        return self._arrays.required_wrench

    @property
    def root_residual(self) -> Array:
        """Part of the required wrench that contacts cannot provide: (f, 6)."""
        return self._arrays.root_residual

    @property
    def unconverged_frames(self) -> int:
        """Number of frames in which the force estimation did not converge."""
        return int(self._arrays.unconverged[0])

    def estimate_forces(self, contact_mode: Array, confidence: Array, span: slice = slice(None)) -> None:
        """Estimate contact forces, joint torques and root residual for these contacts in a span of frames."""
        self.contact_mode[span], self.confidence[span] = contact_mode, confidence
        self._arrays.frame_range[:] = span.indices(len(self))[:2]
        self._run(estimate_contact_forces)


def _check_root(model: Model) -> None:
    roots = [link for link in model.links.values() if link.parent is None]
    if len(roots) != 1 or [e.kind for e in roots[0].joint.elements] != [FLOAT]:
        raise MotionError(
            f"Figure {model.name!r} has no floating base, so its motion does not determine the external forces. "
            "Load a robot with floating_base=True."
        )
