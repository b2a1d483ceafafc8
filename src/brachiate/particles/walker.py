"""Particle walker of [NSP] 5: eight particles, six joints, in the plane of walking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array

#: [NSP] Table 1; its unit of length is not printed: taken as centimeters, so the walker is about one meter tall. Masses in kg.
FOOT, LEG, THIGH, PELVIS = 0.10, 0.50, 0.40, 0.20
LIMB_MASS, HIP_MASS = 1.0, 10.0
JOINT_FRICTION = 5.0  # [N·m·s/rad]; the table has no unit
JOINTS = {
    "right_ankle": (1, 2, 3), "right_knee": (2, 3, 4), "right_hip": (3, 4, 5),
    "left_hip": (4, 5, 6), "left_knee": (5, 6, 7), "left_ankle": (6, 7, 8),
}  # fmt: skip


def walker(
    stiffness: float = 1e6,
    damping: float = 200.0,
    *,
    mass_factor: float | ArrayLike = 1.0,
    hip_height: float = 0.82,
    drop: float = 0.02,
    slope: float = 0.0,
    **more: Any,
) -> ParticleSystem:
    """Walker [NSP] Fig. 11: p1-p2-p3-p4 is the right leg (toe, ankle, knee, hip), p5-p6-p7-p8 the left one (hip, knee, ankle, toe).

    It stands in the x-z plane with bent knees, above a floor at z = 0. Angles are about y and zero if the particles of a joint are in line.

    Args:
        stiffness: Of links [N/m].
        damping: Of links [N·s/m].
        mass_factor: Factor on the masses of Table 1, one for all or one for each particle.
        hip_height: Above the soles [m].
        drop: Height of the soles above the floor at the start [m].
        slope: Inclination of the floor on which it stands, rising along x [deg].
        more: Arguments of :class:`ParticleSystem`.
    """
    hip = validation.number(hip_height, "hip_height", minimum=0.3, maximum=0.895)
    factor = validation.broadcast(mass_factor, (8,), "mass_factor", "one number, or eight")
    system = ParticleSystem(**more)
    feet = np.array([(-0.5 * (PELVIS + FOOT), 0.0), (0.5 * (PELVIS - FOOT), 0.0)])
    x = posture(np.zeros(2), feet, hip) + np.array((0.0, 0.0, validation.number(drop, "drop", minimum=0.0, maximum=10.0)))
    masses = np.repeat((LIMB_MASS, HIP_MASS, LIMB_MASS), (3, 2, 3)) * factor
    system.add_particles(x @ slope_rotation(slope).T, masses)
    system.add_links(np.stack([np.arange(7), np.arange(1, 8)], axis=1), stiffness=stiffness, damping=damping,
                     names=["right_foot", "right_leg", "right_thigh", "pelvis", "left_thigh", "left_leg", "left_foot"],
                     length=[FOOT, LEG, THIGH, PELVIS, THIGH, LEG, FOOT])  # fmt: skip
    for name, (a, b, c) in JOINTS.items():
        system.add_joint(name, a - 1, b - 1, c - 1, axis="y", friction=JOINT_FRICTION)
    return system


def slope_rotation(slope: float) -> Array:
    """Rotation of level ground to ground that rises along x by some degrees (3, 3)."""
    a = np.radians(validation.number(slope, "slope", minimum=-45.0, maximum=45.0))
    return np.array([(np.cos(a), 0.0, -np.sin(a)), (0.0, 1.0, 0.0), (np.sin(a), 0.0, np.cos(a))])


def posture(center: Array, ankles: Array, hip_height: float) -> Array:
    """Positions of the particles (..., 8, 3) [m], with feet and pelvis level, in the plane y = 0.

    Args:
        center: Horizontal position (..., 2): of the middle of the hips, and a height that is added to the height of the hips [m].
        ankles: Positions (..., 2, 2) along x and z of the right and left ankle [m].
        hip_height: Height of the hips [m].
    """
    middle, half = center + np.array((0.0, hip_height)), np.array((0.5 * PELVIS, 0.0))
    hips = np.stack([middle - half, middle + half], axis=-2)
    knees = _knees(hips, ankles)
    toes = ankles + np.array((FOOT, 0.0))
    right, left = ([part[..., side, :] for part in (toes, ankles, knees, hips)] for side in (0, 1))
    flat = np.stack([*right, *left[::-1]], axis=-2)
    return np.stack([flat[..., 0], np.zeros(flat.shape[:-1]), flat[..., 1]], axis=-1)


def _knees(hips: Array, ankles: Array) -> Array:
    """Knees in front of the lines from hips to ankles; of legs that are too short, on the lines."""
    to = ankles - hips
    distance = np.linalg.norm(to, axis=-1, keepdims=True)
    along = (THIGH**2 - LEG**2 + distance**2) / (2.0 * distance)
    aside = np.sqrt(np.maximum(THIGH**2 - along**2, 0.0))
    u = to / distance
    return hips + along * u + aside * np.stack([-u[..., 1], u[..., 0]], axis=-1)


def joint_angles(x: Array) -> Array:
    """Angles of the six joints (..., 6) [rad] at positions (..., 8, 3) in the plane."""
    angles = []
    for a, b, c in JOINTS.values():
        r1, r3 = x[..., a - 1, :] - x[..., b - 1, :], x[..., c - 1, :] - x[..., b - 1, :]
        angles.append(np.arctan2(np.cross(r1, r3)[..., 1], -(r1 * r3).sum(axis=-1)))
    return np.stack(angles, axis=-1)
