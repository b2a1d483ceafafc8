"""Locked feet of the target figure: the scaled foot motion of the source, led through one foothold for each stance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.feet import find_feet
from brachiate.anatomy.landmarks import Landmarks
from brachiate.assumptions import Assumption
from brachiate.foot_locking.foot_track import FootTrack
from brachiate.foot_locking.foot_trajectories import PoseTrajectory, lowest_points, make_foot_trajectory
from brachiate.foot_locking.stance_detection import fit_footholds, split_resteps
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


def lock_feet(
    marks: Landmarks, motions: Mapping[str, FootMotion], other_support: Array, times: Array
) -> tuple[dict[str, LockedFoot], list[Assumption]]:
    """Lock both feet at their footholds: no skate in stance, no penetration in swing; by side, and assumed steps, slides and hops.

    Args:
        marks: Landmarks of the target figure.
        motions: Motion of each foot, by side.
        other_support: Whether hands support the body: (f,).
        times: (f,) [s]
    """
    feet = [replace(foot, toes=None) for foot in find_feet(marks)]  # toes follow the posture: the foot alone is locked
    moving = [motions[foot.side] for foot in feet]
    tracks = [FootTrack(foot, *motion.pose, times) for foot, motion in zip(feet, moving, strict=True)]
    for track, motion in zip(tracks, moving, strict=True):
        track.roll_by_contacts(motion.heel, motion.toe)
    in_stance = [motion.heel | motion.toe for motion in moving]
    # A foot that pivots in single support is not locked while it turns: a brief hop would take accelerations that the source has not
    assumptions = split_resteps(tracks, in_stance, [motion.ground for motion in moving], other_support, brief_hops=False)
    stances = zip(tracks, moving, in_stance, strict=True)
    return {track.foot.side: _lock_foot(track, motion, flags) for track, motion, flags in stances}, assumptions


def _lock_foot(track: FootTrack, motion: FootMotion, in_stance: Array) -> LockedFoot:
    """Trajectory of a foot through the footholds of its stances."""
    footholds = fit_footholds(track, in_stance, motion.ground)
    clearance = np.zeros(len(track.times))
    path = make_foot_trajectory(track, footholds, None, clearance, release_time=RELEASE_TIME).foot
    lowest = lowest_points(track.foot.sole.hull, path.R) + path.x[:, 2]
    path.x[:, 2] += np.where(in_stance, 0.0, np.maximum(-lowest, 0.0))
    ground = np.zeros(len(track.times))
    for foothold in footholds:
        ground[foothold.start : foothold.end] = foothold.height
    return LockedFoot(*path, motion.heel & in_stance, motion.toe & in_stance, ground)
