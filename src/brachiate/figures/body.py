"""Body: where the joints of a standing human are, and the mass of each part.

Lengths along the body are de Leva's [DL]. He gives no ankle height and no widths: those are fractions of the stature after
R. Drillis and R. Contini, "Body Segment Parameters", New York University 1966 [DC]. The neck is what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from brachiate.model import anthropometry
from brachiate.model.anthropometry import Segment
from brachiate.model.shapes import Cylinder
from brachiate.validation import Array

_REFERENCE = 70.0 / 1.75  # mass over height of the body whose girths are drawn unscaled [kg/m]

ANKLE = 0.039  # height of the ankle over stature [DC]
HEEL = 0.27  # how much of the foot's length is behind the ankle
# Half the distance of the joints over stature, men and women. The joints lie inside the breadths of [DC] (0.259, 0.191).
SHOULDERS = {"male": 0.110, "female": 0.104}
HIPS = {"male": 0.048, "female": 0.050}
NECK = 0.035  # from the seventh cervical vertebra to the joint under the skull, over stature


class MassProperties(NamedTuple):
    """Mass [kg], centre [m] and inertia about it [kg·m²], along a link's axes."""

    mass: float
    center: Array
    inertia: Array  # (3, 3)

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> MassProperties:
        """Return the same seen from an origin from which it is moved so far."""
        return self._replace(center=self.center + np.array((x, y, z)))

    def plus(self, other: MassProperties) -> MassProperties:
        """Return both together as one rigid piece."""
        return _combined(self, other, 1.0)

    def minus(self, other: MassProperties) -> MassProperties:
        """Return what remains when a piece is taken out."""
        return _combined(self, other, -1.0)


@dataclass(frozen=True)
class Body:
    """A standing human: heights of the joints above the ground [m], and the parts' masses."""

    height: float
    mass: float
    sex: str

    def __post_init__(self) -> None:
        for name, value in zip(("height", "mass", "sex"), anthropometry.check_body(self.height, self.mass, self.sex), strict=True):
            object.__setattr__(self, name, value)

    def segment(self, name: str) -> Segment:
        """Return de Leva's segment for this body."""
        return anthropometry.segment(name, self.height, self.mass, self.sex)

    def length(self, name: str) -> float:
        """Length of a segment [m]."""
        return self.segment(name).length

    @cached_property
    def size(self) -> float:
        """Lengths of shapes over those of a body of 1.75 m."""
        return self.height / 1.75

    @cached_property
    def girth(self) -> float:
        """Radii of shapes over those of a body of 1.75 m and 70 kg: the same flesh on longer or shorter bones."""
        return float(np.sqrt(self.mass / self.height / _REFERENCE))

    @cached_property
    def broadening(self) -> float:
        """How much further apart the joints are than in a lean body: half of what flesh is added or missing."""
        return 0.5 + 0.5 * self.girth / self.size

    @cached_property
    def ankle(self) -> float:
        """Height of the ankle, and so depth of the sole under it."""
        return ANKLE * self.height

    @cached_property
    def knee(self) -> float:
        """Height of the knee."""
        return self.ankle + self.length("shank")

    @cached_property
    def hip(self) -> float:
        """Height of the hips, where the pelvis has its origin."""
        return self.knee + self.length("thigh")

    @cached_property
    def waist(self) -> float:
        """Height of the navel, where the lower trunk ends."""
        return self.hip + self.length("lower_trunk")

    @cached_property
    def ribs(self) -> float:
        """Height of the lower end of the breast bone, where the upper trunk begins."""
        return self.waist + self.length("middle_trunk")

    @cached_property
    def shoulder(self) -> float:
        """Height of the shoulders."""
        return self.hip + anthropometry.distance("shoulders_to_hips", self.height, self.sex)

    @cached_property
    def neck(self) -> float:
        """Height of the seventh cervical vertebra."""
        return self.hip + anthropometry.distance("neck_to_hips", self.height, self.sex)

    @cached_property
    def skull(self) -> float:
        """Height of the joint under the skull."""
        return self.neck + NECK * self.height

    @cached_property
    def half_shoulders(self) -> float:
        """Half the distance between the shoulders."""
        return SHOULDERS[self.sex] * self.height * self.broadening

    @cached_property
    def half_hips(self) -> float:
        """Half the distance between the hips."""
        return HIPS[self.sex] * self.height * self.broadening

    @cached_property
    def heel(self) -> float:
        """How far the heel is behind the ankle."""
        return HEEL * self.length("foot")

    @cached_property
    def grip(self) -> Array:
        """Centre of what the hand holds, from the wrist: in front of the palm, which faces backwards."""
        return np.array((-0.026 * self.size, 0.0, -1.13 * self.length("hand")))

    def part(self, name: str) -> MassProperties:
        """Mass of a segment, seen from its first landmark."""
        s = self.segment(name)
        return MassProperties(s.mass, s.center, np.diag(s.inertia))

    def pelvis_part(self) -> MassProperties:
        """Lower trunk, seen from the middle of the hips."""
        return self.part("lower_trunk").moved(z=self.waist - self.hip)

    def abdomen_part(self) -> MassProperties:
        """Middle trunk, seen from the waist."""
        return self.part("middle_trunk").moved(z=self.ribs - self.waist)

    def chest_part(self) -> MassProperties:
        """Upper trunk, seen from the lower end of the breast bone."""
        return self.part("upper_trunk").moved(z=self.length("upper_trunk"))

    def head_part(self) -> MassProperties:
        """Head and neck together, seen from the seventh cervical vertebra."""
        return self.part("head").moved(z=self.height - self.neck)

    def neck_part(self) -> MassProperties:
        """The neck alone, seen from the seventh cervical vertebra: [DL] has none, so a cylinder of water between its joints."""
        length = self.skull - self.neck
        mass, center, inertia = Cylinder(radius=0.055 * self.girth, length=length, position=(0, 0, length / 2)).mass_properties(1000.0)  # type: ignore[arg-type]
        return MassProperties(mass, center, inertia)

    def foot_part(self) -> MassProperties:
        """Foot, seen from the ankle; the line from heel to toes is taken half-way between ankle and ground."""
        return self.part("foot").moved(x=-self.heel, z=-self.ankle / 2)


def _combined(a: MassProperties, b: MassProperties, sign: float) -> MassProperties:
    mass = a.mass + sign * b.mass
    center = (a.mass * a.center + sign * b.mass * b.center) / mass
    inertia = _about(a, center) + sign * _about(b, center)
    return MassProperties(mass, center, inertia)


def _about(piece: MassProperties, point: Array) -> Array:
    d = piece.center - point
    return piece.inertia + piece.mass * (d @ d * np.eye(3) - np.outer(d, d))
