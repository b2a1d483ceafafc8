"""Pictures: content, not appearance."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import brachiate as br
from brachiate import Data
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.figures import box, ground, human16
from brachiate.show.canvas import Camera, Canvas
from brachiate.show.draw import ViewSettings, picture, strobe
from brachiate.show.surface import BACKGROUND, Triangles, link_surfaces, shaded_surface

pytest.importorskip("matplotlib").use("Agg")


def surface(data: Data) -> Triangles:
    return shaded_surface(link_surfaces(data.model), data)


def test_surface_of_a_box():
    s = surface(Data(box((0.2, 0.4, 0.6), 1.0)))
    assert np.ptp(s.corners.reshape(-1, 3), axis=0) == pytest.approx((0.2, 0.4, 0.6))
    area = np.linalg.norm(np.cross(s.corners[:, 1] - s.corners[:, 0], s.corners[:, 2] - s.corners[:, 0]), axis=1).sum() / 2
    assert area == pytest.approx(2 * (0.2 * 0.4 + 0.4 * 0.6 + 0.6 * 0.2))
    assert np.allclose(np.linalg.norm(s.normals, axis=2), 1)


def test_normals_point_outward():
    # Normals of round shapes are exact: close to, but not equal to those of the triangles.
    s = surface(Data(human16()))
    flat = np.cross(s.corners[:, 1] - s.corners[:, 0], s.corners[:, 2] - s.corners[:, 0])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    along = (flat[:, None] * s.normals).sum(axis=2)
    assert (along > 0.5).all()
    assert (along > 0.95).mean() > 0.9


def test_side_facing_the_light_is_brighter():
    s = surface(Data(box()))
    up, down = s.colors[s.normals[..., 2] > 0.9].mean(), s.colors[s.normals[..., 2] < -0.9].mean()
    assert up > down + 0.2
    assert np.allclose(s.faded(0.0).colors, BACKGROUND)


def test_surface_has_the_height_of_the_figure():
    s = surface(Data(human16()))
    assert (s.colors >= 0).all()
    assert (s.colors <= 1).all()
    assert s.corners[..., 2].max() == pytest.approx(1.75, abs=0.003)


def test_triangle_covers_the_pixels_whose_centers_are_inside():
    # Seen from the front: a canvas of 10 m by 10 m with 20 pixels in each direction (10, supersampled twice).
    rng = np.random.default_rng(3)
    frame = np.array([(0.0, y, z) for y in (0.2, 9.8) for z in (0.2, 9.8)])
    canvas = Canvas(Camera(azimuth=0, elevation=0), frame, 10)
    assert canvas.shape == (20, 20)
    center = canvas.low + (np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1) + 0.5) / canvas.scale
    for _ in range(50):
        corners = np.zeros((1, 3, 3))
        corners[0, :, 1:] = rng.uniform(-3, 13, (3, 2))  # some extend beyond the canvas
        image = np.zeros((20, 20, 3), np.float32)
        canvas.paint(image, corners, np.ones((1, 3, 3)))
        (a, b, c) = corners[0, :, 1:]
        turns = [(q[0] - p[0]) * (center[..., 1] - p[1]) - (q[1] - p[1]) * (center[..., 0] - p[0]) for p, q in ((a, b), (b, c), (c, a))]
        covered = (np.array(turns) > 0).all(axis=0) | (np.array(turns) < 0).all(axis=0)
        assert ((image[..., 0] > 0) == covered).all()


def test_picture_shows_the_figure(tmp_path):
    from matplotlib import image  # noqa: PLC0415

    data = Data(human16())
    path = tmp_path / "figure.png"
    moved = data.model.neutral.copy()
    moved[0] = 1.5
    picture([(data, data.model.neutral), (data, moved)], path, camera=Camera(azimuth=-90), width=4, pixels_per_inch=60)
    pixels = image.imread(path)[..., :3]
    width = pixels.shape[1]
    assert width == pytest.approx(240, abs=2)
    painted = np.abs(pixels - BACKGROUND).max(axis=2) > 0.3
    left, right = painted[:, : width // 2].sum(), painted[:, width // 2 :].sum()
    assert right > 1.2 * left > 0  # the earlier pose is paler
    assert 0.05 < painted.mean() < 0.6
    assert not painted[:, 0].any()
    assert not painted[:, -1].any()


def test_nearer_surfaces_hide_farther_ones(tmp_path):
    # Two boxes seen along x: the nearer one is visible, independent of their order in the model.
    from matplotlib import image  # noqa: PLC0415

    for near_first in (True, False):
        b = br.ModelBuilder("boxes")
        boxes = {"near": (0.5, (1.0, 0.0, 0.0, 1.0), 0.5), "far": (-0.5, (0.0, 0.0, 1.0, 1.0), 1.0)}
        for name in boxes if near_first else reversed(boxes):
            x, color, size = boxes[name]
            b.link(name, at=(x, 0, 1), shapes=br.Box(size=np.array((0.1, size, size)), color=color))
        b.link("bob", joint=br.Revolute("y"), mass=1.0, center=(0, 0, -1))
        world = br.World()
        world.add(b.build(), name="boxes")
        settings = ViewSettings(Camera(azimuth=0, elevation=0), ground=False, columns=1, width=2.0)
        br.Simulation(world).run(0.002).picture(tmp_path / "boxes.png", settings, times=[0])
        pixels = image.imread(tmp_path / "boxes.png")[..., :3]
        height = pixels.shape[1]  # the panel is square; below it is the label
        center, edge = pixels[height // 2, height // 2], pixels[height // 2, height // 10]
        assert center[0] > 0.4 > center[2]
        assert edge[2] > 0.4 > edge[0]


def test_models_without_shapes_are_refused(tmp_path):
    b = br.ModelBuilder("bare")
    b.link("bob", joint=br.Revolute("y"), mass=1.0, center=(0, 0, -1))
    world = br.World()
    world.add(b.build(), name="bare")
    with pytest.raises(ArgumentError, match="has a shape that can be drawn"):
        br.Simulation(world).run(0.01).picture(tmp_path / "bare.png")


@pytest.mark.parametrize(("times", "label"), [((0.0, 0.5), "0.50 s"), ((0.01, 0.0225), "0.0225 s"), ((1e-5, 2e-5), "0.00002 s")])
def test_labels_distinguish_times(monkeypatch, tmp_path, times, label):
    shown = []
    monkeypatch.setattr("matplotlib.figure.Figure.text", lambda self, x, y, text, **how: shown.append(text))
    model = box()
    strobe(model, np.array(times), np.stack([model.neutral] * 2), tmp_path / "box.png", times=times)
    assert shown[1] == label


def test_drawing_does_not_change_the_data(tmp_path):
    data = Data(human16())
    q = data.q.copy()
    picture([(data, data.model.poses["hang"])], tmp_path / "man.png", width=2)
    assert (data.q == q).all()


def test_invalid_arguments_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match=r"frames: expected at least one \(data, q\)"):
        picture([], tmp_path / "none.png")
    floor = Data(ground())
    with pytest.raises(ArgumentError, match=r"none of these models has a shape that can be drawn"):
        picture([(floor, floor.q)], tmp_path / "none.png")
    data = Data(box())
    with pytest.raises(ArgumentError, match=r"q: expected 7 numbers"):
        picture([(data, [0.0])], tmp_path / "none.png")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(BrachiateError, match=r"pip install matplotlib"):
        picture([(data, data.model.neutral)], tmp_path / "none.png")
