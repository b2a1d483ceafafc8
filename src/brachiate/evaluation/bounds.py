"""Criteria of plausibility: bounds up to which a motion counts as physical or nearly physical."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

PHYSICAL, NEARLY_PHYSICAL, NOT_PHYSICAL = "physical", "nearly physical", "not physical"


class Bound(NamedTuple):
    """Largest value that is physical, largest value that is nearly physical, and what a violation means."""

    physical: float
    nearly: float
    description: str


# Residuals: recommendations of Hicks et al. 2015 for simulations of movement: forces within 5 % of the external force, moments within 1 %
# of that times CoM height. The others: noise of motion capture and of body shapes.
BOUNDS: Mapping[str, Bound] = {
    "root_residual_force": Bound(0.05, 0.15, "residual force at the floating base"),
    "root_residual_moment": Bound(0.01, 0.05, "residual moment at the floating base"),
    "foot_skate": Bound(0.05, 0.25, "slides while in contact"),
    "penetration": Bound(0.010, 0.040, "penetrates the ground"),
    "foot_float": Bound(0.015, 0.050, "is above the ground though it must carry load"),
    "friction_cone": Bound(0.02, 0.15, "required force is outside the friction cone"),
    "center_of_pressure": Bound(0.010, 0.050, "required center of pressure is outside the contact area"),
    "joint_torque": Bound(1.0, 1.5, "required torque exceeds its limit"),
    "joint_limit": Bound(np.radians(2.0), np.radians(10.0), "is beyond its joint limit"),
    "flight_acceleration": Bound(0.5, 2.0, "CoM acceleration differs from gravity in flight"),
    "flight_moment": Bound(0.01, 0.05, "angular momentum changes in flight"),
}
