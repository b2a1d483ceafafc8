"""Footholds on stairs: every stance of a motion made on other terrain is moved onto one tread, and the body with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations
from brachiate.anatomy.feet import Foot
from brachiate.errors import ArgumentError
from brachiate.figures.objects import ground_with_stairs
from brachiate.foot_locking.foot_track import Foothold
from brachiate.model.model import Model
from brachiate.motion.terrain import Stairs, Terrain
from brachiate.validation import Array

TREAD_MARGIN = 0.02  # [m] smallest distance of a sole from the ends of its tread
RISER_MARGIN = 0.2  # [m] preferred distance from the next riser, so that the foot can clear it
GRID_STEP = 0.01  # [m] of the search
# Costs of a shift, of a change in height from step to step, and of the distance to a riser, relative to the squared change of stride length
SHIFT_COST, CLIMB_COST, RISER_COST = 0.02, 2.0, 3.0
TERRAIN_MARGIN = 5.0  # [m] by which the ground extends beyond the motion
SMOOTHING = 0.12  # [s] of the displacement of the body by its footholds


def footprint(foot: Foot, foothold: Foothold) -> Array:
    """Corners of foot and toes at a foothold: (k, 3) [m]."""
    points = foothold.x + np.concatenate((foot.sole.corners, foot.corners)) @ foothold.R.T
    if foot.toes is None:
        return points
    R, x = toe_pose(foot, foothold.R, foothold.x)
    return np.concatenate((points, x + foot.toes.corners @ R.T))


def toe_pose(foot: Foot, R: Array, x: Array) -> tuple[Array, Array]:
    """Orientation (3, 3) and position (3,) [m] of flat toes of a foot with flat pose R, x."""
    assert foot.toes is not None
    R_toes = R @ foot.sole.axes @ foot.toes.axes.T
    return R_toes, x + R @ foot.toes.joint_in_foot - R_toes @ foot.toes.joint_in_toes


def tread_range(stairs: Stairs, points: Array) -> tuple[float, float]:
    """Smallest and largest shift along the stairs that keeps points (k, 3) on the tread under their mean [m]."""
    s = stairs.distance_along(points)
    first, last = stairs.extents[np.searchsorted(stairs.extents[1:, 0], s.mean(), side="right")]
    return float(first - s.min()), float(last - s.max())


def place_footholds(
    terrain: Terrain, source_terrain: Terrain, feet: Sequence[Foot], footholds: Sequence[Sequence[Foothold]]
) -> list[list[Foothold]]:
    """Footholds of all feet on other terrain: at its height, each on one tread, with stride lengths as similar as possible.

    Dynamic programming over all stances in time order: the costs are those of changed strides and climbs from each stance to the next.
    """
    ordered = sorted(
        ((foothold, f, n) for f, each in enumerate(footholds) for n, foothold in enumerate(each)), key=lambda entry: entry[0].start
    )
    # Height of the surface above the source terrain, as of a box
    extra = [foothold.height - _stair_height(source_terrain.stairs, feet[f], foothold) for foothold, f, _ in ordered]
    placed = [list(each) for each in footholds]
    if terrain.stairs is None or not ordered:
        for (foothold, f, n), height in zip(ordered, extra, strict=True):
            placed[f][n] = replace(foothold, x=foothold.x - (0.0, 0.0, foothold.height - height), height=height)
        return placed
    stairs = terrain.stairs
    for foothold, f, _ in ordered:
        _check_tread_depth(stairs, feet[f], float(np.ptp(stairs.distance_along(footprint(feet[f], foothold)))))
    shifts = _optimal_shifts(stairs, [footprint(feet[f], foothold) for foothold, f, _ in ordered])
    for (foothold, f, n), shift, above in zip(ordered, shifts, extra, strict=True):
        x = foothold.x + shift * np.array((*stairs.direction, 0.0))
        height = above + _stair_height(stairs, feet[f], replace(foothold, x=x))
        x[2] += height - foothold.height
        placed[f][n] = replace(foothold, x=x, height=height)
    return placed


def _stair_height(stairs: Stairs | None, foot: Foot, foothold: Foothold) -> float:
    """Height of the stairs under the middle of a foot at a foothold [m]."""
    return 0.0 if stairs is None else float(stairs.height_at(footprint(foot, foothold).mean(axis=0)))


def _optimal_shifts(stairs: Stairs, footprints: Sequence[Array]) -> Array:
    """Shift of each foothold along the stairs [m], of least total cost on a grid, by dynamic programming."""
    largest = GRID_STEP * np.ceil((stairs.tread + 0.3 * stairs.count) / GRID_STEP)
    grid = np.linspace(-largest, largest, round(2 * largest / GRID_STEP) + 1)
    stride_cost = np.square(grid[:, None] - grid)
    total, last_height, predecessors = np.zeros(len(grid)), np.zeros(len(grid)), []
    for k, points in enumerate(footprints):
        s = stairs.distance_along(points)
        first, last, tread = s.min() + grid, s.max() + grid, np.searchsorted(stairs.extents[1:, 0], s.mean() + grid, side="right")
        over_start = stairs.extents[tread, 0] + TREAD_MARGIN - first
        over_end = last - stairs.extents[tread, 1] + TREAD_MARGIN
        # The next riser is ahead on the way up, and behind on the way down
        near_riser = RISER_MARGIN - (stairs.extents[tread, 1] - last if stairs.rise > 0.0 else first - stairs.extents[tread, 0])
        cost = SHIFT_COST * np.square(grid) + RISER_COST * np.square(np.maximum(near_riser, 0.0))
        cost[(over_start > 1e-9) | (over_end > 1e-9)] = np.inf
        height = stairs.heights[tread]
        transitions = total[:, None] + (stride_cost + np.square(CLIMB_COST * (last_height[:, None] - height)) if k else 0.0)
        predecessors.append(np.argmin(transitions, axis=0))
        total, last_height = transitions.min(axis=0) + cost, height
    best = [int(np.argmin(total))]
    for predecessor in predecessors[:0:-1]:
        best.append(int(predecessor[best[-1]]))
    return grid[best[::-1]]


def _check_tread_depth(stairs: Stairs, foot: Foot, length: float) -> None:
    needed = length + 2 * (TREAD_MARGIN + GRID_STEP)
    if stairs.count > 1 and needed > stairs.tread:
        raise ArgumentError(
            f"Treads of {stairs.tread:g} m are too short for the {foot.side} foot, which takes {length:.2f} m along them: "
            f"a foot has to fit on one tread, so make them at least {needed:.2f} m deep."
        )


def make_stair_model(terrain: Terrain, positions: Array) -> tuple[Model, Array, Array]:
    """Model of the ground with stairs, large enough for positions (n, 2) [m]; its position (3,) [m] and orientation (3, 3)."""
    stairs = terrain.stairs
    assert stairs is not None
    start = (stairs.start or 0.0) * stairs.direction
    size = TERRAIN_MARGIN + stairs.count * stairs.tread + float(np.linalg.norm(positions - start, axis=1).max())
    R = rotations.to_matrix(rotations.about_axis(2, np.array(np.radians(stairs.heading or 0.0))))
    return ground_with_stairs(stairs.rise, stairs.tread, stairs.count, size), np.array((*start, terrain.height or 0.0)), R


def body_displacement(footholds: Sequence[Sequence[Foothold]], placed: Sequence[Sequence[Foothold]], times: Array) -> Array:
    """Displacement of the body with its footholds, from the original to the placed ones: (f, 3) [m], smooth."""
    displacement, count = np.zeros((len(times), 3)), np.zeros(len(times))
    for originals, targets in zip(footholds, placed, strict=True):
        for original, target in zip(originals, targets, strict=True):
            displacement[original.start : original.end] += target.x - original.x
            count[original.start : original.end] += 1
    in_stance = np.flatnonzero(count)
    if not len(in_stance):
        return displacement
    displacement[in_stance] /= count[in_stance, None]
    displacement = np.stack([np.interp(times, times[in_stance], displacement[in_stance, i]) for i in range(3)], axis=1)
    return gaussian_filter1d(displacement, SMOOTHING / float(np.median(np.diff(times))), axis=0, mode="nearest")
