"""Shapes of a human figure by link, for a body of 1.75 m and 70 kg, scaled.

Collision shapes are capsules, spheres and boxes; ellipsoids are visual only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.figures.human_proportions import HumanProportions
from brachiate.model.shapes import Box, Capsule, Ellipsoid, Shape, frame_along
from brachiate.validation import Array

Color = tuple[float, float, float, float]
Shapes = list[Shape]

SKIN: Color = (0.88, 0.69, 0.56, 1.0)
LIPS: Color = (0.72, 0.45, 0.40, 1.0)
HAIR: Color = (0.26, 0.18, 0.13, 1.0)
EYE: Color = (0.13, 0.14, 0.18, 1.0)
SHIRT: Color = (0.20, 0.47, 0.66, 1.0)
SHORTS: Color = (0.17, 0.20, 0.28, 1.0)
SHOE: Color = (0.93, 0.93, 0.91, 1.0)
SOLE: Color = (0.82, 0.34, 0.22, 1.0)


@dataclass(frozen=True)
class ShapeScaler:
    """Scaled shapes: lengths along the body times ``size``, lengths across it times ``girth``, origin displaced upwards by ``lift``."""

    size: float
    girth: float
    lift: float = 0.0  # [m], not scaled

    def at(self, point: ArrayLike) -> Array:
        """Scale a point."""
        return np.asarray(point, float) * (self.girth, self.girth, self.size) + (0.0, 0.0, self.lift)

    def ellipsoid(self, center: ArrayLike, radii: ArrayLike, color: Color) -> Ellipsoid:
        """Visual ellipsoid."""
        return Ellipsoid(
            radii=np.asarray(radii) * (self.girth, self.girth, self.size), position=self.at(center), color=color, collides=False
        )

    def flat_ellipsoid(self, a: ArrayLike, b: ArrayLike, thick: float, wide: float, color: Color) -> Ellipsoid:
        """Visual flat ellipsoid from one point to another."""
        a, b = self.at(a), self.at(b)
        length = float(np.linalg.norm(b - a))
        radii = (thick * self.girth, wide * self.girth, length / 2)
        return Ellipsoid(radii=np.array(radii), position=(a + b) / 2, rotation=frame_along(b - a), color=color, collides=False)

    def capsule(self, a: ArrayLike, b: ArrayLike, radius: float, color: Color, **more: Any) -> Capsule:
        """Capsule between two points."""
        return Capsule.between(self.at(a), self.at(b), radius * self.girth, color=color, **more)


def shape_scaler(body: HumanProportions, lift: float = 0.0) -> ShapeScaler:
    """Shape scaler of a body."""
    return ShapeScaler(body.size, body.girth, lift)


def pelvis(body: HumanProportions) -> Shapes:
    """Shapes of the pelvis; origin at the center of the hips."""
    scale = shape_scaler(body)
    y = body.half_hips / body.girth
    return [
        scale.capsule((-0.01, -0.060, 0.035), (-0.01, 0.060, 0.035), 0.095, SHORTS),
        scale.ellipsoid((0.0, 0.0, 0.055), (0.108, 0.152, 0.110), SHORTS),
        *(scale.ellipsoid((-0.030, s * y * 0.82, -0.004), (0.086, 0.082, 0.098), SHORTS) for s in (-1, 1)),
    ]


def abdomen(body: HumanProportions, lift: float = 0.0) -> Shapes:
    """Shapes of the abdomen; origin at the waist."""
    scale = shape_scaler(body, lift)
    waist = 0.134 if body.sex == "male" else 0.124
    return [
        scale.capsule((0.0, -0.034, 0.03), (0.0, 0.034, 0.03), 0.085, SHIRT),
        scale.ellipsoid((0.0, 0.0, 0.090), (0.102, waist, 0.215), SHIRT),
    ]


def chest(body: HumanProportions, lift: float = 0.0) -> Shapes:
    """Shapes of rib cage and shoulder girdle; origin at the lower end of the sternum."""
    scale = shape_scaler(body, lift)
    top = (body.shoulder - body.ribs) / body.size
    half = body.half_shoulders / body.girth
    ribs = 0.158 if body.sex == "male" else 0.142
    bust = ((0.016, 0.066, 0.070), (0.088, 0.092, 0.088)) if body.sex == "male" else ((0.068, 0.062, 0.040), (0.066, 0.066, 0.062))
    return [
        scale.capsule((-0.005, 0.096 - ribs, 0.02), (-0.005, ribs - 0.096, 0.02), 0.094, SHIRT),
        scale.capsule((-0.012, -(half - 0.062), top - 0.022), (-0.012, half - 0.062, top - 0.022), 0.066, SHIRT),
        scale.ellipsoid((-0.004, 0.0, 0.010), (0.118, ribs, 0.185), SHIRT),
        scale.ellipsoid((-0.022, 0.0, top - 0.030), (0.090, half - 0.014, 0.110), SHIRT),
        *(scale.ellipsoid((bust[0][0], s * bust[0][1], bust[0][2]), bust[1], SHIRT) for s in (-1, 1)),
        *(
            scale.flat_ellipsoid((-0.014, s * (half + 0.026), top - 0.030), (-0.016, -s * 0.030, top + 0.085), 0.052, 0.052, SHIRT)
            for s in (-1, 1)
        ),
    ]


def neck(body: HumanProportions, lift: float = 0.0) -> Shapes:
    """Shapes of the neck; origin at the seventh cervical vertebra."""
    scale = shape_scaler(body, lift)
    wide = 0.055 if body.sex == "male" else 0.047
    return [scale.capsule((-0.008, 0.0, -0.045), (0.010, 0.0, 0.070), wide, SKIN)]


def head(body: HumanProportions, lift: float = 0.0) -> Shapes:
    """Shapes of skull and face; origin at the seventh cervical vertebra. The top of the head is at the stature."""
    # The head scales with stature only, not with mass.
    scale = ShapeScaler(body.size, body.size, lift)
    top = (body.height - body.neck) / body.size
    face = [
        scale.ellipsoid((0.118, 0.0, top - 0.132), (0.018, 0.014, 0.022), SKIN),
        scale.ellipsoid((0.104, 0.0, top - 0.176), (0.010, 0.024, 0.007), LIPS),
        *(scale.ellipsoid((0.104, s * 0.033, top - 0.108), (0.012, 0.014, 0.009), EYE) for s in (-1, 1)),
        *(scale.ellipsoid((0.012, s * 0.079, top - 0.120), (0.022, 0.011, 0.032), SKIN) for s in (-1, 1)),
    ]
    skull = [
        scale.capsule((-0.005, 0.0, top - 0.096), (0.028, 0.0, top - 0.118), 0.074, SKIN),
        scale.ellipsoid((0.026, 0.0, top - 0.119), (0.092, 0.076, 0.104), SKIN),
        scale.ellipsoid((0.052, 0.0, top - 0.166), (0.062, 0.056, 0.058), SKIN),
    ]
    hair = [
        scale.ellipsoid((0.006, 0.0, top - 0.082), (0.106, 0.085, 0.082), HAIR),
        scale.ellipsoid((-0.034, 0.0, top - 0.105), (0.072, 0.076, 0.092), HAIR),
    ]
    if body.sex == "female":
        hair += [
            scale.ellipsoid((-0.052, 0.0, top - 0.125), (0.056, 0.070, 0.095), HAIR),
            scale.ellipsoid((-0.112, 0.0, top - 0.085), (0.040, 0.042, 0.042), HAIR),
        ]
    return [*skull, *hair, *face]


def upper_arm(body: HumanProportions) -> Shapes:
    """Shapes of the upper arm; origin at the shoulder."""
    scale = shape_scaler(body)
    end = -body.length("upper_arm") / body.size
    return [
        scale.capsule((0, 0, -0.01), (0, 0, end), 0.036, SKIN),
        scale.ellipsoid((0.006, 0, -0.150), (0.046, 0.042, 0.120), SKIN),
        scale.ellipsoid((-0.004, 0, -0.052), (0.058, 0.053, 0.100), SHIRT),
    ]


def forearm(body: HumanProportions) -> Shapes:
    """Shapes of the forearm; origin at the elbow."""
    scale = shape_scaler(body)
    end = -body.length("forearm") / body.size
    return [
        scale.capsule((0, 0, 0), (0, 0, end), 0.027, SKIN),
        scale.ellipsoid((0.002, 0, -0.075), (0.041, 0.042, 0.125), SKIN),
    ]


def hand(body: HumanProportions, side: float) -> Shapes:
    """Shapes of a hand half closed around its grip, palm backwards and thumb towards the thigh; origin at the wrist."""
    scale = ShapeScaler(body.size, body.size)
    knuckles = -body.length("hand") / body.size
    g = body.grip / body.size
    return [
        scale.capsule((0, 0, -0.018), (-0.002, 0, knuckles + 0.004), 0.021, SKIN),
        scale.ellipsoid((-0.001, 0, knuckles * 0.55), (0.019, 0.041, 0.056), SKIN),
        scale.flat_ellipsoid((0.010, 0, knuckles + 0.012), (g[0] - 0.006, 0, g[2] - 0.040), 0.013, 0.038, SKIN),
        scale.flat_ellipsoid((g[0] + 0.008, 0, g[2] - 0.038), (g[0] - 0.030, 0, g[2] - 0.002), 0.012, 0.036, SKIN),
        scale.capsule((-0.004, -side * 0.026, -0.030), (-0.022, -side * 0.046, -0.070), 0.011, SKIN, collides=False),
    ]


def thigh(body: HumanProportions, side: float) -> Shapes:
    """Shapes of the thigh; origin at the hip."""
    scale = shape_scaler(body)
    end = -body.length("thigh") / body.size
    return [
        scale.capsule((0, 0, -0.02), (0, 0, end), 0.050, SKIN),
        scale.ellipsoid((0.006, side * 0.006, end * 0.50), (0.074, 0.069, 0.235), SKIN),
        scale.ellipsoid((0.002, side * 0.008, end * 0.27), (0.090, 0.083, 0.178), SHORTS),
        scale.ellipsoid((0.008, 0, end), (0.047, 0.047, 0.066), SKIN),
    ]


def shank(body: HumanProportions) -> Shapes:
    """Shapes of the shank; origin at the knee."""
    scale = shape_scaler(body)
    end = -body.length("shank") / body.size
    return [
        scale.capsule((0, 0, 0), (0, 0, end), 0.034, SKIN),
        scale.ellipsoid((-0.016, 0, end * 0.30), (0.054, 0.052, 0.150), SKIN),
        scale.ellipsoid((0.004, 0, end * 0.50), (0.040, 0.040, 0.180), SKIN),
    ]


def foot(body: HumanProportions) -> Shapes:
    """Shapes of a shoe with a box sole on the ground; origin at the ankle."""
    k, length, ground, heel = body.size, body.length("foot"), -body.ankle, -body.heel
    scale = ShapeScaler(k, k)
    middle = (heel + length / 2) / k
    low = ground / k
    thick = 0.018
    return [
        Box(size=np.array((length, 0.082 * k, thick * k)), position=np.array((heel + length / 2, 0.0, ground + thick / 2 * k)), color=SOLE),
        scale.ellipsoid((middle, 0, low + 0.032), (length / k * 0.497, 0.047, 0.030), SHOE),
        scale.ellipsoid((middle + 0.048, 0, low + 0.031), (length / k * 0.31, 0.047, 0.031), SHOE),
        scale.ellipsoid((heel / k + 0.050, 0, low + 0.056), (0.049, 0.040, 0.054), SHOE),
        scale.flat_ellipsoid((-0.040, 0, 0.022), (0.125, 0, low + 0.030), 0.030, 0.038, SHOE),
    ]
