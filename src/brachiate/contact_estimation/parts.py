"""Body parts by name and their motion relative to the ground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.anatomy.contact_points import BALL, HEEL, TOE
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

FOOT_WORDS = (HEEL, TOE, BALL, "foot", "toes", "ankle", "sole")
SEAT_WORDS = ("pelvis", "thigh", "hip", "buttock")
HAND_WORDS = ("hand", "wrist", "palm", "finger")


def parts_matching(dynamics: MotionDynamics, words: Sequence[str]) -> tuple[int, ...]:
    """Indices of parts whose name or link contains one of these words."""
    names = zip(dynamics.contact_points.parts, dynamics.contact_points.links, strict=True)
    return tuple(k for k, (part, link) in enumerate(names) if any(word in part.lower() or word in link.lower() for word in words))


def part_motion(dynamics: MotionDynamics, terrain: Terrain, part: int) -> tuple[Array, Array, Array]:
    """Height [m], tangential speed and normal velocity [m/s] of the lowest point of a part relative to the ground: (f,) each."""
    if terrain not in dynamics.cache:
        dynamics.cache[terrain] = _motion_of_parts(dynamics, terrain)
    height, tangential_speed, normal_velocity = dynamics.cache[terrain][part]
    return height, tangential_speed, normal_velocity


def _motion_of_parts(dynamics: MotionDynamics, terrain: Terrain) -> Array:
    """Height, tangential speed and normal velocity of the lowest point of every part: (p, 3, f)."""
    motion = np.zeros((len(dynamics.contact_points.parts), 3, len(dynamics)))
    for block in dynamics.blocks():
        rows = np.arange(len(block.point_position))
        for part in range(len(motion)):
            points = np.flatnonzero(dynamics.contact_points.part == part)
            height = terrain.clearance(block.point_position[:, points])
            lowest = np.argmin(height, axis=1)
            velocity = block.point_velocity[:, points][rows, lowest]
            normal_velocity = velocity @ terrain.normal
            tangential_speed = np.linalg.norm(velocity - normal_velocity[:, None] * terrain.normal, axis=1)
            motion[part, :, block.frames] = height[rows, lowest], tangential_speed, normal_velocity
    return motion
