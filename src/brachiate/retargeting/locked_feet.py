"""Locked feet of the target figure: the scaled foot motion of the source, led through one foothold for each stance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.feet import find_feet
from brachiate.anatomy.landmarks import Landmarks
from brachiate.foot_locking.foot_track import FootTrack
from brachiate.foot_locking.foot_trajectories import PoseTrajectory, lowest_points, make_foot_trajectory
from brachiate.foot_locking.stance_detection import fit_footholds
from brachiate.validation import Array

RELEASE_TIME = 0.2  # [s] in which a swing foot returns to the scaled motion of the source


class LockedFoot(NamedTuple):
    """Trajectory of a foot body and its contacts."""

    R: Array  # (f, 3, 3)
    x: Array  # (f, 3) [m]
    heel: Array  # (f,) contact of the heel
    toe: Array  # (f,) contact of the toe
    ground: Array  # (f,) [m] height of the ground under it in stance, 0 in swing

    @property
    def in_stance(self) -> Array:
        """Stance flags: (f,)."""
        return self.heel | self.toe


class FootMotion(NamedTuple):
    """Motion of a foot before it is locked."""

    pose: PoseTrajectory
    heel: Array  # (f,) contact of the heel
    toe: Array  # (f,) contact of the toe
    ground: Array  # (f,) [m] height of the ground under it


def lock_feet(marks: Landmarks, motions: Mapping[str, FootMotion], other_support: Array, times: Array) -> dict[str, LockedFoot]:
    """Lock both feet at their footholds: no skate in stance, no penetration in swing; by side.

    Args:
        marks: Landmarks of the target figure.
        motions: Motion of each foot, by side.
        other_support: Whether hands support the body: (f,).
        times: (f,) [s]
    """
    locked = {}
    for foot in find_feet(marks):
        motion = motions[foot.side]
        track = FootTrack(replace(foot, toes=None), *motion.pose, times)  # toes follow the posture: the foot alone is locked
        track.roll_by_contacts(motion.heel, motion.toe)
        support = np.any([other_support, *(other.heel | other.toe for side, other in motions.items() if side != foot.side)], axis=0)
        in_stance, _ = track.split_resteps(motion.heel | motion.toe, support, motion.ground)
        footholds = fit_footholds(track, in_stance, motion.ground)
        trajectory = make_foot_trajectory(track, footholds, None, np.zeros(len(times)), release_time=RELEASE_TIME)
        path = trajectory.foot
        lowest = lowest_points(foot.sole.hull, path.R) + path.x[:, 2]
        path.x[:, 2] += np.where(in_stance, 0.0, np.maximum(-lowest, 0.0))
        ground = np.zeros(len(times))
        for foothold in footholds:
            ground[foothold.start : foothold.end] = foothold.height
        locked[foot.side] = LockedFoot(*path, motion.heel & in_stance, motion.toe & in_stance, ground)
    return locked
