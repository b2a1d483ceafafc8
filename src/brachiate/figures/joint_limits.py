"""Ranges of motion and effort limits of human joints.

Ranges are round figures for a healthy adult, and efforts for a strong one, not taken from one table. Swing cones of ball joints are
centered on the standing posture, so their range is the same to the front and to the back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from brachiate.model.joints import Revolute, Spherical, cone_limit

_REFERENCE_MASS = 70.0  # [kg] body mass to which the listed efforts belong


class HingeLimits(NamedTuple):
    """Limits of a hinge joint."""

    axis: str
    limits: tuple[float, float]  # [deg]
    effort: float  # [N·m]


class BallLimits(NamedTuple):
    """Limits of a ball joint: swing cone of the link's long axis, and twist about it."""

    swing: float  # [deg]
    twist: float  # [deg] in both directions
    effort: float  # [N·m]


# Positive knee flexion takes the heel backwards, positive elbow flexion the hand forwards.
HINGES: Mapping[str, HingeLimits] = {
    "knee": HingeLimits("y", (-5, 150), 220),
    "elbow": HingeLimits("-y", (-5, 150), 60),
}
BALLS: Mapping[str, BallLimits] = {
    "spine": BallLimits(65, 50, 250),  # of a trunk in two links
    "waist": BallLimits(45, 25, 250),
    "chest": BallLimits(35, 35, 250),
    "neck": BallLimits(60, 75, 50),
    "head": BallLimits(35, 45, 40),
    "shoulder": BallLimits(178, 95, 80),
    "wrist": BallLimits(80, 85, 15),  # its twist represents pronation of the forearm
    "hip": BallLimits(125, 50, 220),
    "ankle": BallLimits(55, 35, 180),
}


def hinge_joint(name: str, mass: float) -> Revolute:
    """Joint of this name for a body of this mass [kg]."""
    h = HINGES[name]
    return Revolute(h.axis, limits=tuple(np.radians(h.limits)), effort=h.effort * mass / _REFERENCE_MASS)


def ball_joint(name: str, mass: float) -> Spherical:
    """Joint of this name for a body of this mass [kg]."""
    b = BALLS[name]
    twist = float(np.radians(b.twist))
    return Spherical(cone=cone_limit("z", float(np.radians(b.swing)), (-twist, twist)), effort=b.effort * mass / _REFERENCE_MASS)
