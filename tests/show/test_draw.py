"""Pictures: that they show what they should, not how they look."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import brachiate as br
from brachiate import Data
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.figures import box, ground, human16
from brachiate.show.draw import Look, picture, strobe
from brachiate.show.page import Page, View
from brachiate.show.surface import PAPER, Triangles, lit, parts_of

pytest.importorskip("matplotlib").use("Agg")


def skin(data: Data) -> Triangles:
    return lit(parts_of(data.model), data)


def test_the_surface_of_a_box_is_the_box():
    s = skin(Data(box((0.2, 0.4, 0.6), 1.0)))
    assert np.ptp(s.corners.reshape(-1, 3), axis=0) == pytest.approx((0.2, 0.4, 0.6))
    area = np.linalg.norm(np.cross(s.corners[:, 1] - s.corners[:, 0], s.corners[:, 2] - s.corners[:, 0]), axis=1).sum() / 2
    assert area == pytest.approx(2 * (0.2 * 0.4 + 0.4 * 0.6 + 0.6 * 0.2))
    assert np.allclose(np.linalg.norm(s.normals, axis=2), 1)


def test_normals_point_outwards():
    # Of round shapes they are those of the true surface: nearly, but not quite, those of the triangles.
    s = skin(Data(human16()))
    flat = np.cross(s.corners[:, 1] - s.corners[:, 0], s.corners[:, 2] - s.corners[:, 0])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    along = (flat[:, None] * s.normals).sum(axis=2)
    assert (along > 0.5).all()
    assert (along > 0.95).mean() > 0.9


def test_the_side_towards_the_light_is_brighter():
    s = skin(Data(box()))
    up, down = s.colors[s.normals[..., 2] > 0.9].mean(), s.colors[s.normals[..., 2] < -0.9].mean()
    assert up > down + 0.2
    assert np.allclose(s.faded(0.0).colors, PAPER)


def test_a_figure_is_as_high_as_it_is():
    s = skin(Data(human16()))
    assert (s.colors >= 0).all()
    assert (s.colors <= 1).all()
    assert s.corners[..., 2].max() == pytest.approx(1.75, abs=0.003)


def test_a_triangle_covers_the_pixels_whose_middles_are_in_it():
    # Seen from the front, a page of 10 m by 10 m and 20 pixels each way (10, twice as fine).
    rng = np.random.default_rng(3)
    frame = np.array([(0.0, y, z) for y in (0.2, 9.8) for z in (0.2, 9.8)])
    page = Page(View(around=0, above=0), frame, 10)
    assert page.shape == (20, 20)
    middle = page.low + (np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1) + 0.5) / page.scale
    for _ in range(50):
        corners = np.zeros((1, 3, 3))
        corners[0, :, 1:] = rng.uniform(-3, 13, (3, 2))  # some reach over the edge
        image = np.zeros((20, 20, 3), np.float32)
        page.paint(image, corners, np.ones((1, 3, 3)))
        (a, b, c) = corners[0, :, 1:]
        turns = [(q[0] - p[0]) * (middle[..., 1] - p[1]) - (q[1] - p[1]) * (middle[..., 0] - p[0]) for p, q in ((a, b), (b, c), (c, a))]
        right = (np.array(turns) > 0).all(axis=0) | (np.array(turns) < 0).all(axis=0)
        assert ((image[..., 0] > 0) == right).all()


def test_picture_has_the_figure_on_paper(tmp_path):
    from matplotlib import image  # noqa: PLC0415

    data = Data(human16())
    path = tmp_path / "figure.png"
    moved = data.model.neutral.copy()
    moved[0] = 1.5
    picture([(data, data.model.neutral), (data, moved)], path, view=View(around=-90), width=4, pixels_per_inch=60)
    pixels = image.imread(path)[..., :3]
    width = pixels.shape[1]
    assert width == pytest.approx(240, abs=2)
    painted = np.abs(pixels - PAPER).max(axis=2) > 0.3
    left, right = painted[:, : width // 2].sum(), painted[:, width // 2 :].sum()
    assert right > 1.2 * left > 0  # the earlier posture is paler
    assert 0.05 < painted.mean() < 0.6
    assert not painted[:, 0].any()
    assert not painted[:, -1].any()


def test_what_is_nearer_hides_what_is_behind(tmp_path):
    # Two boxes seen along x: the nearer one shows, whatever their order in the model.
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
        look = Look(View(around=0, above=0), ground=False, columns=1, width=2.0)
        br.Simulation(world).run(0.002).picture(tmp_path / "boxes.png", look, times=[0])
        pixels = image.imread(tmp_path / "boxes.png")[..., :3]
        height = pixels.shape[1]  # the panel is square; below it is the label
        middle, edge = pixels[height // 2, height // 2], pixels[height // 2, height // 10]
        assert middle[0] > 0.4 > middle[2]
        assert edge[2] > 0.4 > edge[0]


def test_nothing_to_draw_is_said(tmp_path):
    b = br.ModelBuilder("bare")
    b.link("bob", joint=br.Revolute("y"), mass=1.0, center=(0, 0, -1))
    world = br.World()
    world.add(b.build(), name="bare")
    with pytest.raises(ArgumentError, match="has a shape that can be drawn"):
        br.Simulation(world).run(0.01).picture(tmp_path / "bare.png")


@pytest.mark.parametrize(("times", "label"), [((0.0, 0.5), "0.50 s"), ((0.01, 0.0225), "0.0225 s"), ((1e-5, 2e-5), "0.00002 s")])
def test_moments_are_labelled_so_that_they_can_be_told_apart(monkeypatch, tmp_path, times, label):
    shown = []
    monkeypatch.setattr("matplotlib.figure.Figure.text", lambda self, x, y, text, **how: shown.append(text))
    model = box()
    strobe(model, np.array(times), np.stack([model.neutral] * 2), tmp_path / "box.png", times=times)
    assert shown[1] == label


def test_looking_changes_nothing(tmp_path):
    data = Data(human16())
    q = data.q.copy()
    picture([(data, data.model.poses["hang"])], tmp_path / "man.png", width=2)
    assert (data.q == q).all()


def test_doors(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match=r"frames: expected at least one \(data, q\)"):
        picture([], tmp_path / "none.png")
    floor = Data(ground())
    with pytest.raises(ArgumentError, match=r"none of these models has a shape that can be drawn"):
        picture([(floor, floor.q)], tmp_path / "none.png")
    data = Data(box())
    with pytest.raises(ArgumentError, match=r"q: expected 7 numbers"):
        picture([(data, [0.0])], tmp_path / "none.png")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(BrachiateError, match=r"pip install 'brachiate\[plots\]'"):
        picture([(data, data.model.neutral)], tmp_path / "none.png")
