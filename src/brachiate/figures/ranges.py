"""How far human joints go and how strong they are.

Ranges are round figures for a healthy adult, and efforts for a strong one, chosen by us and from no one table.
A cone is centred on the standing posture, so a ball joint reaches as far back as it reaches forward;
what the cone cannot say is left to whoever plans the motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from brachiate.model.joints import Revolute, Spherical, cone

_STRONG = 70.0  # mass of the body whose efforts are listed [kg]


class Hinge(NamedTuple):
    """A joint about one axis."""

    axis: str
    limits: tuple[float, float]  # [deg]
    effort: float  # [N·m]


class Ball(NamedTuple):
    """A joint about a point: how far the link's long axis may swing, and turn about itself."""

    swing: float  # [deg]
    twist: float  # [deg] either way
    effort: float  # [N·m]


# Positive knee flexion takes the heel backwards, positive elbow flexion the hand forwards.
HINGES: Mapping[str, Hinge] = {
    "knee": Hinge("y", (-5, 150), 220),
    "elbow": Hinge("-y", (-5, 150), 60),
}
BALLS: Mapping[str, Ball] = {
    "spine": Ball(65, 50, 250),  # the only joint of a trunk in two pieces
    "waist": Ball(45, 25, 250),
    "chest": Ball(35, 35, 250),
    "neck": Ball(60, 75, 50),
    "head": Ball(35, 45, 40),
    "shoulder": Ball(178, 95, 80),
    "wrist": Ball(80, 85, 15),  # its twist stands for the turning of the forearm
    "hip": Ball(125, 50, 220),
    "ankle": Ball(55, 35, 180),
}


def hinge(name: str, mass: float) -> Revolute:
    """Return the joint of this name for a body of this mass [kg]."""
    h = HINGES[name]
    return Revolute(h.axis, limits=tuple(np.radians(h.limits)), effort=h.effort * mass / _STRONG)


def ball(name: str, mass: float) -> Spherical:
    """Return the joint of this name for a body of this mass [kg]."""
    b = BALLS[name]
    twist = float(np.radians(b.twist))
    return Spherical(cone=cone("z", float(np.radians(b.swing)), (-twist, twist)), effort=b.effort * mass / _STRONG)
