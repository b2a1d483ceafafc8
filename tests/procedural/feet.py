"""Contact points of the feet of a clip on the floor, and their sliding."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.procedural import Person

TOUCHING = 5e-4  # [m]


def contacts(clip, height=1.75):
    """Heels and tips of the toes, left and right: (f, 4, 3)."""
    person, skeleton = Person(height), clip.skeleton
    found = []
    for side in ("Left", "Right"):
        j = skeleton.index(f"{side}Foot")
        found.append(clip.positions[:, j] + rotations.rotate(clip.orientations[:, j], person.heel))
        found.append(clip.tips[:, next(k for k, end in enumerate(skeleton.ends) if skeleton.names[end.joint] == f"{side}ToeBase")])
    return np.stack(found, axis=1)


def slide(points):
    """Largest displacement of a contact point during a contact [m]."""
    largest = 0.0
    for k in range(points.shape[1]):
        touching = np.flatnonzero(points[:, k, 2] < TOUCHING)
        for run in np.split(touching, np.flatnonzero(np.diff(touching) > 1) + 1):
            if len(run):
                largest = max(largest, float(np.linalg.norm(points[run, k, :2] - points[run[0], k, :2], axis=1).max()))
    return largest


def knee(clip, side):
    """Knee flexion in each frame [deg]."""
    q = clip.rotations[:, clip.skeleton.index(f"{side}Leg")]
    return np.degrees(2.0 * np.arctan2(q[:, 2], q[:, 0]))
