"""Pictures: that they show what they should, not how they look."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from brachiate import Data
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.figures import box, ground, human16
from brachiate.show.draw import PAPER, View, draw_figure, picture, skin

pytest.importorskip("matplotlib").use("Agg")


def test_skin_of_a_box_is_the_box():
    s = skin(Data(box((0.2, 0.4, 0.6), 1.0)))
    assert np.ptp(s.corners.reshape(-1, 3), axis=0) == pytest.approx((0.2, 0.4, 0.6))
    area = np.linalg.norm(np.cross(s.corners[:, 1] - s.corners[:, 0], s.corners[:, 2] - s.corners[:, 0]), axis=1).sum() / 2
    assert area == pytest.approx(2 * (0.2 * 0.4 + 0.4 * 0.6 + 0.6 * 0.2))  # cutting triangles loses nothing
    assert np.linalg.norm(s.normals, axis=1) == pytest.approx(np.ones(len(s.normals)))


def test_the_side_towards_the_light_is_brighter():
    s = skin(Data(box()))
    up, down = s.colors[s.normals[:, 2] > 0.9].mean(), s.colors[s.normals[:, 2] < -0.9].mean()
    assert up > down + 0.2


def test_skin_leaves_out_what_is_hidden_in_flesh():
    model = human16()
    s = skin(Data(model))
    assert (s.colors >= 0).all()
    assert (s.colors <= 1).all()
    assert s.corners[..., 2].max() == pytest.approx(1.75, abs=0.003)
    drawn = len(s.corners)
    bare = sum(len(shape.surface(12)[1]) for link in model.links.values() for shape in link.shapes)
    assert drawn > bare  # cut finely
    neck = np.array((0.0, 0.0, 1.45))  # inside the trunk, where shoulder girdle, ribs and neck all meet
    assert np.linalg.norm(s.corners.mean(axis=1) - neck, axis=1).min() > 0.03


def test_picture_has_the_figure_on_paper(tmp_path):
    from matplotlib import image  # noqa: PLC0415

    data = Data(human16())
    path = tmp_path / "figure.png"
    moved = data.model.neutral.copy()
    moved[0] = 1.5
    picture([(data, data.model.neutral), (data, moved)], path, view=View(around=-90), title="two", width=4, pixels_per_inch=60)
    pixels = image.imread(path)[..., :3]
    width = pixels.shape[1]
    assert width == pytest.approx(240, abs=2)
    painted = np.abs(pixels - PAPER).max(axis=2) > 0.3
    left, right = painted[:, : width // 2].sum(), painted[:, width // 2 :].sum()
    assert right > 1.2 * left > 0  # the earlier posture is paler
    assert 0.05 < painted.mean() < 0.6
    assert not painted[:, 0].any()
    assert not painted[:, -1].any()


def test_draw_figure_adds_to_axes():
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure = plt.figure()
    ax = figure.add_subplot(projection="3d")
    collection = draw_figure(ax, Data(box()), alpha=0.5)
    assert collection in ax.collections
    flat = figure.add_subplot()
    with pytest.raises(ArgumentError, match=r'projection="3d"'):
        draw_figure(flat, Data(box()))
    with pytest.raises(ArgumentError, match=r"alpha must be at least 0 and at most 1, got 2"):
        draw_figure(ax, Data(box()), alpha=2)
    plt.close(figure)


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
