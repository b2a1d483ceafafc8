"""Figure: one figure or thing of a world, by its own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError
from brachiate.kinematics import Pose
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World


class Figure:
    """A handle on one figure: ``man["left_knee"] = 0.3``, ``man.pose("hang")``, ``man.totals().center``."""

    def __init__(self, world: World, name: str, model: Model) -> None:
        self._world = world
        self.name = name
        self.model = model

    def __getitem__(self, joint: str) -> Any:
        """Angle or distance of a joint; an array where it has several numbers."""
        return self._world[f"{self.name}/{self._known(joint)}"]

    def __setitem__(self, joint: str, value: ArrayLike) -> None:
        """Set a joint's angle or distance, or its quaternion."""
        self._world[f"{self.name}/{self._known(joint)}"] = value

    def _known(self, joint: str) -> str:
        self.model.q_slice(joint)  # says what is valid, without the figure's name in front
        return joint

    def pose(self, posture: str | Mapping[str, Any]) -> None:
        """Take a named posture of the model, or values by joint. The root stays where it is."""
        if isinstance(posture, str):
            q = validation.named(self.model.poses, posture, "pose", f"figure {self.name!r}")
        else:
            q = self.model.configuration(posture)
        for name, joint in self.model.joints.items():
            if not self._is_root(name) or (not isinstance(posture, str) and name in posture):
                self._world[f"{self.name}/{name}"] = q[joint.q]

    def place(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Put the root of a free figure somewhere: its position in the world [m] and its orientation."""
        root = next((name for name in self.model.joints if self._is_root(name)), None)
        if root is None:
            raise ArgumentError(
                f"Figure {self.name!r} is not free to be placed: its root does not hang by a free joint. Give at=... to world.add."
            )
        link = self._world.model.links[f"{self.name}/{self.model.joints[root].link}"]
        R = link.rotation.T @ validation.rotation_matrix(rotation, f"rotation of {self.name!r}")
        p = link.rotation.T @ (validation.vector(position, f"position of {self.name!r}") - link.position)
        self._world[f"{self.name}/{root}"] = [*p, *_quaternion(R)]

    def _is_root(self, joint: str) -> bool:
        link = self.model.links[self.model.joints[joint].link]
        return link.parent is None and isinstance(link.joint, Free)

    def totals(self) -> Totals:
        """Mass, centre of mass, momentum and energy of this figure."""
        return self._world.totals(self.name)

    @property
    def mass(self) -> float:
        """Mass of what can move [kg]."""
        return self.model.mass

    def __repr__(self) -> str:
        """Return the name and the model."""
        return f"<Figure {self.name!r}: {self.model!r}>"


def _quaternion(R: Array) -> Array:
    return Pose(R, np.zeros(3)).quaternion
