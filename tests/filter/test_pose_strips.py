"""Pose strips: size of the picture, motions that end early, drift, slopes, forces."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import procedural
from brachiate.filter.results.pose_strips import FAILURE_COLOR, draw_pose_strips
from brachiate.model.data import Data
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.edit import move
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain
from brachiate.show.canvas import Camera, Canvas
from brachiate.show.surface import link_surfaces, shaded_surface

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def walk() -> Motion:
    return procedural.sample_motion("walk", seconds=1.0)


def drawn(path, rows, **options):
    draw_pose_strips(rows, path, **options)
    return plt.imread(path)[..., :3]


def red(image) -> int:
    """Number of pixels in the color of the mark of an early end."""
    color = np.array([int(FAILURE_COLOR[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    return int((np.abs(image - color).max(axis=2) < 0.02).sum())


def test_rows_are_below_each_other(walk, tmp_path):
    one = drawn(tmp_path / "one.png", {"a": walk}, poses=4)
    two = drawn(tmp_path / "two.png", {"a": walk, "b": walk}, poses=4)
    assert one.shape[1] == two.shape[1]
    words = 36  # pixels below all rows
    assert two.shape[0] - words == 2 * (one.shape[0] - words)
    high = one.shape[0] - words
    assert np.array_equal(two[:high, 36:], two[high : 2 * high, 36:])


def test_a_motion_that_ends_early_is_marked(walk, tmp_path):
    short = walk.frames(slice(0, 70))
    assert red(drawn(tmp_path / "all.png", {"a": walk, "b": walk}, poses=4)) == 0
    assert red(drawn(tmp_path / "short.png", {"a": walk, "b": short, "c": walk}, poses=4)) > 10


def test_drift_is_visible(walk, tmp_path):
    aside = move(walk, (0.0, 0.3))
    same, off = (drawn(tmp_path / f"{n}.png", {"a": walk, "b": other}, poses=3) for n, other in enumerate((walk, aside)))
    assert same.shape != off.shape or np.abs(same - off).max() > 0.1


@pytest.mark.parametrize("in_place", [False, True])
def test_slopes_have_boards(walk, tmp_path, in_place):
    board = Motion(walk.figure, walk.times, walk.q, contacts=ContactLabels((), Terrain(0.0, slope=-10.0)))
    image = drawn(tmp_path / "slope.png", {"a": board}, poses=3, in_place=in_place)
    brown = np.abs(image - np.array((188, 138, 90)) / 255).max(axis=2) < 0.06
    assert brown.sum() > 5000


def test_forces_are_drawn(walk, tmp_path):
    force = np.tile((0.0, 0.0, 600.0, 0.5, 0.0, 0.0), (len(walk), 1))
    pushed = Motion(walk.figure, walk.times, walk.q, forces={"left_foot": force})
    plain, arrows = (drawn(tmp_path / f"{n}.png", {"a": pushed}, poses=3, in_place=True, weight_length=n * 0.8) for n in (0, 1))
    ink = np.array((0.72, 0.05, 0.45))
    counts = [int((np.abs(image - ink).max(axis=2) < 0.05).sum()) for image in (plain, arrows)]
    assert counts[0] == 0
    assert counts[1] > 100


def test_surfaces_that_face_away_do_not_count(walk):
    view, data = Camera(), Data(walk.figure)
    data.assign(q=walk.q[40])
    parts = link_surfaces(walk.figure)
    whole, facing = shaded_surface(parts, data), shaded_surface(parts, data, towards=view.axes()[2])
    assert len(facing.corners) < 0.7 * len(whole.corners)
    pictures = [list(Canvas(view, surface.corners.reshape(-1, 3), 200).panels([surface], None)) for surface in (whole, facing)]
    assert np.array_equal(*pictures)
