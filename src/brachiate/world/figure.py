"""Figure: handle on one figure or object of a world, with its own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.deprecation import renamed_arguments, renamed_method
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.kinematics import Pose
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World


class Figure:
    """Handle on one figure: ``man["left_knee"] = 0.3``, ``man.set_pose("hang")``, ``man.totals().center``."""

    def __init__(self, world: World, name: str, model: Model) -> None:
        self._world = world
        self.name = name
        self.model = model

    def __getitem__(self, joint: str) -> Any:
        """Configuration of a joint: angle or distance, or an array where it has several numbers."""
        return self._world[f"{self.name}/{self._checked(joint)}"]

    def __setitem__(self, joint: str, value: ArrayLike) -> None:
        """Set the configuration of a joint: angle, distance or quaternion."""
        self._world[f"{self.name}/{self._checked(joint)}"] = value

    def _checked(self, joint: str) -> str:
        self.model.q_slice(joint)  # an error names the valid joints without the figure's name in front
        return joint

    @renamed_arguments(posture="pose")
    def set_pose(self, pose: str | Mapping[str, Any], root: bool = False) -> None:
        """Set the joints to a named pose of the model, or to values by joint (the others to neutral).

        Args:
            pose: Name of a pose of the model, or joint values by name.
            root: Whether a named pose also sets the free root joint; otherwise the root stays where it is. Values by joint set
                the root only if they name it.
        """
        if isinstance(pose, str):
            q = validation.lookup(self.model.poses, pose, "pose", f"figure {self.name!r}")
        else:
            q = self.model.configuration(pose)
        for name, joint in self.model.joints.items():
            if not self._is_root(name) or (root if isinstance(pose, str) else name in pose):
                self._world[f"{self.name}/{name}"] = q[joint.q]

    pose = renamed_method("pose", "set_pose")

    def set_velocity(self, values: Mapping[str, Any]) -> None:
        """Set the velocity of some joints or coordinates of this figure [rad/s or m/s]; all others stay as they are."""
        if not isinstance(values, Mapping):
            raise ArgumentError(f"set_velocity expects velocities by name, such as {{'left_knee': 0.5}}, got {values!r}.")
        self._world.set_velocity({f"{self.name}/{name}": value for name, value in values.items()})

    def place(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Set position [m] and orientation of the free root link in the world."""
        root = next((name for name in self.model.joints if self._is_root(name)), None)
        if root is None:
            raise ArgumentError(f"Figure {self.name!r} cannot be placed: its root has no free joint. Give at=... to world.add.")
        link = self._world.model.links[f"{self.name}/{self.model.joints[root].link}"]
        R = link.rotation.T @ validation.rotation_matrix(rotation, f"rotation of {self.name!r}")
        p = link.rotation.T @ (ranges.vector(position, f"position of {self.name!r}") - link.position)
        self._world[f"{self.name}/{root}"] = [*p, *_quaternion(R)]

    def _is_root(self, joint: str) -> bool:
        link = self.model.links[self.model.joints[joint].link]
        return link.parent is None and isinstance(link.joint, Free)

    def totals(self) -> Totals:
        """Mass, center of mass, momentum and energy of this figure."""
        return self._world.totals(self.name)

    @property
    def mass(self) -> float:
        """Mass of the moving links [kg]."""
        return self.model.mass

    def __repr__(self) -> str:
        """Return the name and the model."""
        return f"<Figure {self.name!r}: {self.model!r}>"


def _quaternion(R: Array) -> Array:
    return Pose(R, np.zeros(3)).quaternion
