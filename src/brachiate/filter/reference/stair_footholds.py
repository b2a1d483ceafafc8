"""Feet on steps: every stance of a motion made elsewhere is put onto one tread, and the body goes up and down with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations
from brachiate.anatomy.feet import Foot
from brachiate.errors import ArgumentError
from brachiate.figures.things import stepped_ground
from brachiate.filter.reference.stance_detection import Standing
from brachiate.model.model import Model
from brachiate.motion.terrain import Ground, Steps
from brachiate.validation import Array

ASIDE = 0.02  # [m] soles are from the ends of a tread at least
WALL = 0.2  # [m] and rather so far from where the next one rises, so that feet get over it
GRAIN = 0.01  # [m] to which places are looked for
# What it costs to be elsewhere, to go up or down, and to be near to what rises, against what a change of a stride does
HOME, UP, WALLS = 0.02, 2.0, 3.0
BEYOND = 5.0  # [m] ground goes on beyond what is done on it, at least
SMOOTH = 0.12  # [s] over which the body follows feet that are elsewhere


def footprint(foot: Foot, stance: Standing) -> Array:
    """Corners of a foot that stands, its toes' too: (k, 3) [m]."""
    points = stance.x + np.concatenate((foot.sole.corners, foot.corners)) @ stance.R.T
    if foot.toes is None:
        return points
    R, x = toes_of(foot, stance.R, stance.x)
    return np.concatenate((points, x + foot.toes.corners @ R.T))


def toes_of(foot: Foot, R: Array, x: Array) -> tuple[Array, Array]:
    """Orientation and place of the toes of a foot that lies flat there."""
    assert foot.toes is not None
    turned = R @ foot.sole.axes @ foot.toes.axes.T
    return turned, x + R @ foot.toes.joint - turned @ foot.toes.center


def room_on(steps: Steps, points: Array) -> tuple[float, float]:
    """How far points (k, 3) may be moved along the way of steps, from and to, without leaving the tread that their middle is over [m]."""
    s = steps.along(points)
    first, last = steps.bounds[np.searchsorted(steps.bounds[1:, 0], s.mean(), side="right")]
    return float(first - s.min()), float(last - s.max())


def put_on(ground: Ground, found: Ground, feet: Sequence[Foot], stances: Sequence[Sequence[Standing]]) -> list[list[Standing]]:
    """Stances of all feet on other ground: at its height, each on one tread, with strides as alike to what they were as that allows.

    Of all ways to move them along the steps the best is found: by strides that change and climbs, from each stance to the next.
    """
    mine = sorted(((stance, f, n) for f, each in enumerate(stances) for n, stance in enumerate(each)), key=lambda entry: entry[0].start)
    # What it stands on may be higher than the ground it was made on
    extra = [stance.level - _level(found.steps, feet[f], stance) for stance, f, _ in mine]
    out = [list(each) for each in stances]
    if ground.steps is None or not mine:
        for (stance, f, n), more in zip(mine, extra, strict=True):
            out[f][n] = replace(stance, x=stance.x - (0.0, 0.0, stance.level - more), level=more)
        return out
    steps = ground.steps
    for stance, f, _ in mine:
        _check_length(steps, feet[f], float(np.ptp(steps.along(footprint(feet[f], stance)))))
    shifts = _shifts(steps, [(feet[f], stance) for stance, f, n in mine])
    for (stance, f, n), shift, more in zip(mine, shifts, extra, strict=True):
        x = stance.x + shift * np.array((*steps.way, 0.0))
        level = more + _level(steps, feet[f], replace(stance, x=x))
        x[2] += level - stance.level
        out[f][n] = replace(stance, x=x, level=level)
    return out


def _level(steps: Steps | None, foot: Foot, stance: Standing) -> float:
    """Height of steps under the middle of a foot that stands [m]."""
    return 0.0 if steps is None else float(steps.level(footprint(foot, stance).mean(axis=0)))


def _shifts(steps: Steps, stood: Sequence[tuple[Foot, Standing]]) -> Array:
    """By how much each stance is moved along the way [m]: the cheapest of all ways through them, on a grid."""
    far = GRAIN * np.ceil((steps.tread + 0.3 * steps.count) / GRAIN)
    grid = np.linspace(-far, far, round(2 * far / GRAIN) + 1)
    stride = np.square(grid[:, None] - grid)
    total, before, came = np.zeros(len(grid)), np.zeros(len(grid)), []
    for k, (foot, stance) in enumerate(stood):
        s = steps.along(footprint(foot, stance))
        first, last, on = s.min() + grid, s.max() + grid, np.searchsorted(steps.bounds[1:, 0], s.mean() + grid, side="right")
        short, long = steps.bounds[on, 0] + ASIDE - first, last - steps.bounds[on, 1] + ASIDE
        # What rises is behind where it goes down, and ahead where it goes up
        wall = WALL - (steps.bounds[on, 1] - last if steps.rise > 0.0 else first - steps.bounds[on, 0])
        cost = HOME * np.square(grid) + WALLS * np.square(np.maximum(wall, 0.0))
        cost[(short > 1e-9) | (long > 1e-9)] = np.inf
        level = steps.levels[on]
        ways = total[:, None] + (stride + np.square(UP * (before[:, None] - level)) if k else 0.0)
        came.append(np.argmin(ways, axis=0))
        total, before = ways.min(axis=0) + cost, level
    at = [int(np.argmin(total))]
    for back in came[:0:-1]:
        at.append(int(back[at[-1]]))
    return grid[at[::-1]]


def _check_length(steps: Steps, foot: Foot, long: float) -> None:
    if steps.count > 1 and long + 2 * (ASIDE + GRAIN) > steps.tread:
        raise ArgumentError(
            f"Treads of {steps.tread:g} m are too short for the {foot.side} foot, which takes {long:.2f} m along them: "
            f"a foot stands on one tread, so let them be {long + 2 * (ASIDE + GRAIN):.2f} m deep at least."
        )


def stairs_under(ground: Ground, places: Array) -> tuple[Model, Array, Array]:
    """Ground with steps, as large as places (n, 2) [m] want it; where it is, and its orientation."""
    steps = ground.steps
    assert steps is not None
    begin = (steps.start or 0.0) * steps.way
    size = BEYOND + steps.count * steps.tread + float(np.linalg.norm(places - begin, axis=1).max())
    R = rotations.matrix(rotations.about(2, np.array(np.radians(steps.heading or 0.0))))
    return stepped_ground(steps.rise, steps.tread, steps.count, size), np.array((*begin, ground.height or 0.0)), R


def carried_by(stances: Sequence[Sequence[Standing]], put: Sequence[Sequence[Standing]], times: Array) -> Array:
    """How the body moves with feet that are put elsewhere: (f, 3) [m], smooth."""
    moved, count = np.zeros((len(times), 3)), np.zeros(len(times))
    for one, other in zip(stances, put, strict=True):
        for was, now in zip(one, other, strict=True):
            moved[was.start : was.end] += now.x - was.x
            count[was.start : was.end] += 1
    on = np.flatnonzero(count)
    if not len(on):
        return moved
    moved[on] /= count[on, None]
    moved = np.stack([np.interp(times, times[on], moved[on, i]) for i in range(3)], axis=1)
    return gaussian_filter1d(moved, SMOOTH / float(np.median(np.diff(times))), axis=0, mode="nearest")
