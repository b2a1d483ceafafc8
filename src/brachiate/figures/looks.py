"""What a human figure looks like: shapes by part, for a body of 1.75 m and 70 kg, scaled.

What touches are capsules, spheres and boxes. Ellipsoids are only looked at, and lie on them like flesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.figures.body import Body
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
class Pen:
    """Draws with lengths along the body times ``size`` and lengths across it times ``girth``, from an origin moved up by ``lift``."""

    size: float
    girth: float
    lift: float = 0.0  # [m], not scaled

    def at(self, point: ArrayLike) -> Array:
        """Scale a point."""
        return np.asarray(point, float) * (self.girth, self.girth, self.size) + (0.0, 0.0, self.lift)

    def flesh(self, center: ArrayLike, radii: ArrayLike, color: Color) -> Ellipsoid:
        """Ellipsoid that is only looked at."""
        return Ellipsoid(
            radii=np.asarray(radii) * (self.girth, self.girth, self.size), position=self.at(center), color=color, collides=False
        )

    def finger(self, a: ArrayLike, b: ArrayLike, thick: float, wide: float, color: Color) -> Ellipsoid:
        """Flat ellipsoid from one point to another."""
        a, b = self.at(a), self.at(b)
        length = float(np.linalg.norm(b - a))
        radii = (thick * self.girth, wide * self.girth, length / 2)
        return Ellipsoid(radii=np.array(radii), position=(a + b) / 2, rotation=frame_along(b - a), color=color, collides=False)

    def bone(self, a: ArrayLike, b: ArrayLike, radius: float, color: Color, **more: Any) -> Capsule:
        """Capsule between two points."""
        return Capsule.between(self.at(a), self.at(b), radius * self.girth, color=color, **more)


def pen(body: Body, lift: float = 0.0) -> Pen:
    """Return the pen for a body."""
    return Pen(body.size, body.girth, lift)


def pelvis(body: Body) -> Shapes:
    """Hips and seat; origin in the middle of the hips."""
    p = pen(body)
    y = body.half_hips / body.girth
    return [
        p.bone((-0.01, -0.060, 0.035), (-0.01, 0.060, 0.035), 0.095, SHORTS),
        p.flesh((0.0, 0.0, 0.055), (0.108, 0.152, 0.110), SHORTS),
        *(p.flesh((-0.030, s * y * 0.82, -0.004), (0.086, 0.082, 0.098), SHORTS) for s in (-1, 1)),
    ]


def abdomen(body: Body, lift: float = 0.0) -> Shapes:
    """Belly; origin at the waist."""
    p = pen(body, lift)
    waist = 0.134 if body.sex == "male" else 0.124
    return [
        p.bone((0.0, -0.034, 0.03), (0.0, 0.034, 0.03), 0.085, SHIRT),
        p.flesh((0.0, 0.0, 0.090), (0.102, waist, 0.215), SHIRT),
    ]


def chest(body: Body, lift: float = 0.0) -> Shapes:
    """Ribs and shoulder girdle; origin at the lower end of the breast bone."""
    p = pen(body, lift)
    top = (body.shoulder - body.ribs) / body.size
    half = body.half_shoulders / body.girth
    ribs = 0.158 if body.sex == "male" else 0.142
    bust = ((0.016, 0.066, 0.070), (0.088, 0.092, 0.088)) if body.sex == "male" else ((0.068, 0.062, 0.040), (0.066, 0.066, 0.062))
    return [
        p.bone((-0.005, 0.096 - ribs, 0.02), (-0.005, ribs - 0.096, 0.02), 0.094, SHIRT),
        p.bone((-0.012, -(half - 0.062), top - 0.022), (-0.012, half - 0.062, top - 0.022), 0.066, SHIRT),
        p.flesh((-0.004, 0.0, 0.010), (0.118, ribs, 0.185), SHIRT),
        p.flesh((-0.022, 0.0, top - 0.030), (0.090, half - 0.014, 0.110), SHIRT),
        *(p.flesh((bust[0][0], s * bust[0][1], bust[0][2]), bust[1], SHIRT) for s in (-1, 1)),
        *(p.finger((-0.014, s * (half + 0.026), top - 0.030), (-0.016, -s * 0.030, top + 0.085), 0.052, 0.052, SHIRT) for s in (-1, 1)),
    ]


def neck(body: Body, lift: float = 0.0) -> Shapes:
    """Neck; origin at the seventh cervical vertebra."""
    p = pen(body, lift)
    wide = 0.055 if body.sex == "male" else 0.047
    return [p.bone((-0.008, 0.0, -0.045), (0.010, 0.0, 0.070), wide, SKIN)]


def head(body: Body, lift: float = 0.0) -> Shapes:
    """Skull and face; origin at the seventh cervical vertebra, from which the top of the head is where it must be."""
    # A heavy body's head is no larger: it scales with stature only.
    p = Pen(body.size, body.size, lift)
    top = (body.height - body.neck) / body.size
    face = [
        p.flesh((0.118, 0.0, top - 0.132), (0.018, 0.014, 0.022), SKIN),
        p.flesh((0.104, 0.0, top - 0.176), (0.010, 0.024, 0.007), LIPS),
        *(p.flesh((0.104, s * 0.033, top - 0.108), (0.012, 0.014, 0.009), EYE) for s in (-1, 1)),
        *(p.flesh((0.012, s * 0.079, top - 0.120), (0.022, 0.011, 0.032), SKIN) for s in (-1, 1)),
    ]
    skull = [
        p.bone((-0.005, 0.0, top - 0.096), (0.028, 0.0, top - 0.118), 0.074, SKIN),
        p.flesh((0.026, 0.0, top - 0.119), (0.092, 0.076, 0.104), SKIN),
        p.flesh((0.052, 0.0, top - 0.166), (0.062, 0.056, 0.058), SKIN),
    ]
    hair = [
        p.flesh((0.006, 0.0, top - 0.082), (0.106, 0.085, 0.082), HAIR),
        p.flesh((-0.034, 0.0, top - 0.105), (0.072, 0.076, 0.092), HAIR),
    ]
    if body.sex == "female":
        hair += [
            p.flesh((-0.052, 0.0, top - 0.125), (0.056, 0.070, 0.095), HAIR),
            p.flesh((-0.112, 0.0, top - 0.085), (0.040, 0.042, 0.042), HAIR),
        ]
    return [*skull, *hair, *face]


def upper_arm(body: Body) -> Shapes:
    """Shoulder to elbow; origin at the shoulder."""
    p = pen(body)
    end = -body.length("upper_arm") / body.size
    return [
        p.bone((0, 0, -0.01), (0, 0, end), 0.036, SKIN),
        p.flesh((0.006, 0, -0.150), (0.046, 0.042, 0.120), SKIN),
        p.flesh((-0.004, 0, -0.052), (0.058, 0.053, 0.100), SHIRT),
    ]


def forearm(body: Body) -> Shapes:
    """Elbow to wrist; origin at the elbow."""
    p = pen(body)
    end = -body.length("forearm") / body.size
    return [
        p.bone((0, 0, 0), (0, 0, end), 0.027, SKIN),
        p.flesh((0.002, 0, -0.075), (0.041, 0.042, 0.125), SKIN),
    ]


def hand(body: Body, side: float) -> Shapes:
    """Hand half closed around its grip, the palm backwards and the thumb towards the thigh; origin at the wrist."""
    p = Pen(body.size, body.size)
    knuckles = -body.length("hand") / body.size
    g = body.grip / body.size
    return [
        p.bone((0, 0, -0.018), (-0.002, 0, knuckles + 0.004), 0.021, SKIN),
        p.flesh((-0.001, 0, knuckles * 0.55), (0.019, 0.041, 0.056), SKIN),
        p.finger((0.010, 0, knuckles + 0.012), (g[0] - 0.006, 0, g[2] - 0.040), 0.013, 0.038, SKIN),
        p.finger((g[0] + 0.008, 0, g[2] - 0.038), (g[0] - 0.030, 0, g[2] - 0.002), 0.012, 0.036, SKIN),
        p.bone((-0.004, -side * 0.026, -0.030), (-0.022, -side * 0.046, -0.070), 0.011, SKIN, collides=False),
    ]


def thigh(body: Body, side: float) -> Shapes:
    """Hip to knee; origin at the hip."""
    p = pen(body)
    end = -body.length("thigh") / body.size
    return [
        p.bone((0, 0, -0.02), (0, 0, end), 0.050, SKIN),
        p.flesh((0.006, side * 0.006, end * 0.50), (0.074, 0.069, 0.235), SKIN),
        p.flesh((0.002, side * 0.008, end * 0.27), (0.090, 0.083, 0.178), SHORTS),
        p.flesh((0.008, 0, end), (0.047, 0.047, 0.066), SKIN),
    ]


def shank(body: Body) -> Shapes:
    """Knee to ankle; origin at the knee."""
    p = pen(body)
    end = -body.length("shank") / body.size
    return [
        p.bone((0, 0, 0), (0, 0, end), 0.034, SKIN),
        p.flesh((-0.016, 0, end * 0.30), (0.054, 0.052, 0.150), SKIN),
        p.flesh((0.004, 0, end * 0.50), (0.040, 0.040, 0.180), SKIN),
    ]


def foot(body: Body) -> Shapes:
    """Shoe whose sole lies on the ground; origin at the ankle."""
    k, length, ground, heel = body.size, body.length("foot"), -body.ankle, -body.heel
    p = Pen(k, k)
    middle = (heel + length / 2) / k
    low = ground / k
    thick = 0.018
    return [
        Box(size=np.array((length, 0.082 * k, thick * k)), position=np.array((heel + length / 2, 0.0, ground + thick / 2 * k)), color=SOLE),
        p.flesh((middle, 0, low + 0.032), (length / k * 0.497, 0.047, 0.030), SHOE),
        p.flesh((middle + 0.048, 0, low + 0.031), (length / k * 0.31, 0.047, 0.031), SHOE),
        p.flesh((heel / k + 0.050, 0, low + 0.056), (0.049, 0.040, 0.054), SHOE),
        p.finger((-0.040, 0, 0.022), (0.125, 0, low + 0.030), 0.030, 0.038, SHOE),
    ]
