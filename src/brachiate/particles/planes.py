"""Planes of rotation: joints whose axes are parallel and that share two particles turn in one plane."""

from __future__ import annotations

import numpy as np

from brachiate.particles.arrays import Planes, incidence
from brachiate.particles.columns import no_planes
from brachiate.validation import Array

PARALLEL = 1.0 - 1e-9  # cosine of the angle between axes that count as parallel


def make_planes(particles: Array, normals: Array, count: int, frequency: float, damping_ratio: float) -> tuple[Planes, Array]:
    """Planes of joints, and the plane of each joint (j,), -1 if it has none.

    Args:
        particles: Particles of the joints (j, 3).
        normals: Unit axes of the joints (j, 3), zero if they have none.
        count: Number of particles.
        frequency: Of deviations from a plane [rad/s].
        damping_ratio: Of deviations.
    """
    plane = np.full(len(particles), -1, np.int64)
    groups: list[tuple[Array, set[int], list[int]]] = []  # axis, particles, joints
    for k in np.flatnonzero(normals.any(axis=1)):
        own, joints = set(map(int, particles[k])), [int(k)]
        joined = [group for group in groups if len(group[1] & own) >= 2 and group[0] @ normals[k] > PARALLEL]
        for group in joined:
            own, joints = own | group[1], group[2] + joints
            groups.remove(group)
        groups.append((normals[k], own, joints))
    if not groups:
        return no_planes(count), plane
    for p, (_, _, joints) in enumerate(groups):
        plane[joints] = p
    members = np.concatenate([sorted(own) for _, own, _ in groups])
    by_plane = np.concatenate([sorted(joints) for _, _, joints in groups])
    sizes, joint_counts = ([0, *np.cumsum([len(group[part]) for group in groups])] for part in (1, 2))
    at, incident = incidence(members, np.arange(len(members)), count)
    p = len(groups)
    return Planes(
        np.array([axis for axis, _, _ in groups]), np.full(p, frequency**2), np.full(p, 2.0 * damping_ratio * frequency),
        np.array(sizes, np.int64), members.astype(np.int64), np.array(joint_counts, np.int64), by_plane.astype(np.int64),
        np.zeros((len(members), 3)), at, incident,
    ), plane  # fmt: skip
