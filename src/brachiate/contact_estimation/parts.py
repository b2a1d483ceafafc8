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
    cached = dynamics.cache.get((terrain, part))
    if cached is None:
        cached = dynamics.cache[terrain, part] = _part_motion(dynamics, terrain, part)
    return cached


def _part_motion(dynamics: MotionDynamics, terrain: Terrain, part: int) -> tuple[Array, Array, Array]:
    points = np.flatnonzero(dynamics.contact_points.part == part)
    height = terrain.clearance(dynamics.point_position[:, points])
    lowest, rows = np.argmin(height, axis=1), np.arange(len(dynamics))
    velocity = dynamics.point_velocity[:, points][rows, lowest]
    normal_velocity = velocity @ terrain.normal
    return height[rows, lowest], np.linalg.norm(velocity - normal_velocity[:, None] * terrain.normal, axis=1), normal_velocity
