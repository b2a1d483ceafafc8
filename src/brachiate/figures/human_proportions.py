"""Human proportions: joint heights and segment masses of a standing human, from anthropometric tables.

Lengths along the body are de Leva's [DL]. He gives no ankle height and no widths: those are fractions of the stature after
R. Drillis and R. Contini, "Body Segment Parameters", New York University 1966 [DC]. The neck fills the remaining height.
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

_REFERENCE = 70.0 / 1.75  # [kg/m] mass over height of the body whose shapes are unscaled

ANKLE = 0.039  # height of the ankle over stature [DC]
HEEL = 0.27  # fraction of the foot's length behind the ankle
# Half the distance of the joints over stature. The joints lie inside the breadths of [DC] (0.259, 0.191).
SHOULDERS = {"male": 0.110, "female": 0.104}
HIPS = {"male": 0.048, "female": 0.050}
NECK = 0.035  # from the seventh cervical vertebra to the joint under the skull, over stature


class MassProperties(NamedTuple):
    """Mass [kg], center of mass [m] and inertia about it [kg·m²], in link axes."""

    mass: float
    center: Array
    inertia: Array  # (3, 3)

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> MassProperties:
        """The same, displaced by a vector [m]."""
        return self._replace(center=self.center + np.array((x, y, z)))

    def plus(self, other: MassProperties) -> MassProperties:
        """Mass properties of both as one rigid body."""
        return _combined(self, other, 1.0)

    def minus(self, other: MassProperties) -> MassProperties:
        """Mass properties of the remainder when a part is removed."""
        return _combined(self, other, -1.0)


@dataclass(frozen=True)
class HumanProportions:
    """Proportions of a standing human: heights of the joints above the ground [m], and mass properties of the segments."""

    height: float
    mass: float
    sex: str

    def __post_init__(self) -> None:
        for name, value in zip(("height", "mass", "sex"), anthropometry.check_body(self.height, self.mass, self.sex), strict=True):
            object.__setattr__(self, name, value)

    def segment(self, name: str) -> Segment:
        """De Leva's segment for this body."""
        return anthropometry.segment(name, self.height, self.mass, self.sex)

    def length(self, name: str) -> float:
        """Length of a segment [m]."""
        return self.segment(name).length

    @cached_property
    def size(self) -> float:
        """Scale of lengths of shapes relative to a body of 1.75 m."""
        return self.height / 1.75

    @cached_property
    def girth(self) -> float:
        """Scale of radii of shapes relative to a body of 1.75 m and 70 kg: from mass over height."""
        return float(np.sqrt(self.mass / self.height / _REFERENCE))

    @cached_property
    def broadening(self) -> float:
        """Scale of the distance of shoulder and hip joints with the girth of the body."""
        return 0.5 + 0.5 * self.girth / self.size

    @cached_property
    def ankle(self) -> float:
        """Height of the ankle above the sole."""
        return ANKLE * self.height

    @cached_property
    def knee(self) -> float:
        """Height of the knee."""
        return self.ankle + self.length("shank")

    @cached_property
    def hip(self) -> float:
        """Height of the hips, the origin of the pelvis."""
        return self.knee + self.length("thigh")

    @cached_property
    def waist(self) -> float:
        """Height of the navel, where the lower trunk ends."""
        return self.hip + self.length("lower_trunk")

    @cached_property
    def ribs(self) -> float:
        """Height of the lower end of the sternum (xiphion), where the upper trunk begins."""
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
        """Distance of the heel behind the ankle."""
        return HEEL * self.length("foot")

    @cached_property
    def grip(self) -> Array:
        """Center of the grip relative to the wrist: in front of the palm, which faces backwards."""
        return np.array((-0.026 * self.size, 0.0, -1.13 * self.length("hand")))

    def part(self, name: str) -> MassProperties:
        """Mass properties of a segment relative to its first landmark."""
        s = self.segment(name)
        return MassProperties(s.mass, s.center, np.diag(s.inertia))

    def pelvis_part(self) -> MassProperties:
        """Lower trunk, relative to the center of the hips."""
        return self.part("lower_trunk").moved(z=self.waist - self.hip)

    def abdomen_part(self) -> MassProperties:
        """Middle trunk, relative to the waist."""
        return self.part("middle_trunk").moved(z=self.ribs - self.waist)

    def chest_part(self) -> MassProperties:
        """Upper trunk, relative to the lower end of the sternum."""
        return self.part("upper_trunk").moved(z=self.length("upper_trunk"))

    def head_part(self) -> MassProperties:
        """Head and neck together, relative to the seventh cervical vertebra."""
        return self.part("head").moved(z=self.height - self.neck)

    def neck_part(self) -> MassProperties:
        """The neck alone, relative to the seventh cervical vertebra: not in [DL], so a cylinder of water between its joints."""
        length = self.skull - self.neck
        mass, center, inertia = Cylinder(radius=0.055 * self.girth, length=length, position=(0, 0, length / 2)).mass_properties(1000.0)  # type: ignore[arg-type]
        return MassProperties(mass, center, inertia)

    def foot_part(self) -> MassProperties:
        """Foot, relative to the ankle; the heel-toe line is assumed half-way between ankle and ground."""
        return self.part("foot").moved(x=-self.heel, z=-self.ankle / 2)


def _combined(a: MassProperties, b: MassProperties, sign: float) -> MassProperties:
    mass = a.mass + sign * b.mass
    center = (a.mass * a.center + sign * b.mass * b.center) / mass
    inertia = _about(a, center) + sign * _about(b, center)
    return MassProperties(mass, center, inertia)


def _about(piece: MassProperties, point: Array) -> Array:
    d = piece.center - point
    return piece.inertia + piece.mass * (d @ d * np.eye(3) - np.outer(d, d))
