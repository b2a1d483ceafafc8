"""Forces and areas over pictures: that they are where they should be, and as long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError
from brachiate.show.draw import Look
from brachiate.show.marks import INK, Marks, arrow, drawn, outline
from brachiate.show.page import Page, View

pytest.importorskip("matplotlib").use("Agg")

EYE = np.array((0.0, -1.0, 0.0))
SIDE = Look(View(around=-90, above=0), columns=1, width=6.0, ground=False)


def resting() -> br.Recording:
    """A box of 2 kg, 20 cm high, on the ground."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box((0.4, 0.4, 0.2), 2.0), "box").place((0, 0, 0.1))
    world.touch()
    return br.Simulation(world, dt=0.002).run(0.1, progress=False)


def inked(path) -> np.ndarray:
    """Where the picture has the colour of forces, shown through or not: rows from below."""
    from matplotlib import image  # noqa: PLC0415

    pixels = image.imread(path)[::-1, :, :3]
    return (pixels[..., 0] > 1.4 * pixels[..., 1]) & (pixels[..., 2] > 1.2 * pixels[..., 1])


def test_an_arrow_is_as_long_as_the_force_is_large(tmp_path):
    run = resting()
    heights = []
    for length in (0.3, 0.6):
        run.picture(tmp_path / "box.png", replace(SIDE, weight_length=length), times=[0.1])
        found = inked(tmp_path / "box.png")[80:]  # above label and key
        rows, columns = np.nonzero(found)
        assert np.median(columns) == pytest.approx(found.shape[1] / 2, abs=3)  # in the middle of the box
        heights.append(np.ptp(rows) / found.shape[1])
    # The picture is as wide as the box and its margins, 0.4 m and two hundredths of the larger side of what is shown.
    wide = [0.4 + 2 * 0.02 * max(0.4, length) for length in (0.3, 0.6)]
    assert heights == pytest.approx([0.3 / wide[0], 0.6 / wide[1]], rel=0.03)


def test_forces_are_left_out_if_wanted(tmp_path):
    run = resting()
    run.picture(tmp_path / "with.png", SIDE, times=[0, 0.1])
    run.picture(tmp_path / "without.png", replace(SIDE, forces=False), times=[0, 0.1])
    assert inked(tmp_path / "with.png").any()
    assert not inked(tmp_path / "without.png").any()


def test_the_first_moment_shows_what_touches_in_the_step_that_follows(tmp_path):
    resting().picture(tmp_path / "first.png", SIDE, times=[0])
    assert inked(tmp_path / "first.png")[80:].any()


@pytest.mark.parametrize(("force", "words"), [(20.0, "5 N"), (100.0, "5 N; broken: more than 39.2 N")])
def test_the_key_says_how_much_an_arrow_is(monkeypatch, tmp_path, force, words):
    shown = []
    monkeypatch.setattr("matplotlib.figure.Figure.text", lambda self, x, y, text, **how: shown.append(text))
    run = resting()
    marks = Marks(np.zeros((1, 3)), np.array([(0, 0, force)]), [np.zeros((1, 3))], 2.0 * 9.81)
    monkeypatch.setattr(br.Recording, "_marks", lambda self, row: marks)
    run.picture(tmp_path / "box.png", replace(SIDE, weight_length=0.2), times=[0.1])
    assert shown[-1] == words


def test_arrows_end_at_their_tips_and_long_ones_are_cut():
    marks = Marks(np.zeros((2, 3)), np.array([(0, 0, 10.0), (0, 0, 1000.0)]), [], 10.0)
    tips, cut = marks.ends(0.05, 1.0)
    assert tips == pytest.approx(np.array([(0, 0, 0.5), (0, 0, 1.0)]))
    assert cut.tolist() == [False, True]
    whole, broken = (arrow(np.zeros(3), np.array((0, 0, 1.0)), EYE, 0.001, cut) for cut in (False, True))
    assert whole[..., 2].max() == pytest.approx(1.0)
    assert whole[..., 2].min() == pytest.approx(0.0)
    assert len(broken) == len(whole) + 2
    assert len(arrow(np.zeros(3), np.array((0, 1.0, 0)), EYE, 0.001)) == 0  # straight at the eye
    assert len(arrow(np.zeros(3), np.zeros(3), EYE, 0.001)) == 0


@pytest.mark.parametrize("corners", [1, 2, 4])
def test_outlines_go_around_their_area(corners):
    area = np.array([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1.0)])[:corners]
    around = outline(area, EYE, 0.01)
    flat = around.reshape(-1, 3)
    assert np.isfinite(flat).all()
    assert np.abs(flat[:, 1]).max() < 1e-12  # in the plane that faces the eye
    assert flat.min(axis=0)[[0, 2]] == pytest.approx(area.min(axis=0)[[0, 2]], abs=0.013)
    assert flat.max(axis=0)[[0, 2]] == pytest.approx(area.max(axis=0)[[0, 2]], abs=0.013)


def test_nothing_to_mark_is_drawn_as_nothing():
    page = Page(View(), np.array([(0, 0, 0), (1, 1, 1.0)]), 50)
    assert len(drawn(Marks(np.zeros((0, 3)), np.zeros((0, 3)), [], 1.0), page, 1.0, 1.0, 1.0).corners) == 0


def test_what_is_hidden_shows_through(tmp_path):
    # The arrow of a box begins under it: inside it is paler than above.
    from matplotlib import image  # noqa: PLC0415

    resting().picture(tmp_path / "box.png", replace(SIDE, weight_length=0.6), times=[0.1])
    pixels = image.imread(tmp_path / "box.png")[::-1, :, :3]
    middle = pixels[:, pixels.shape[1] // 2]
    near = np.abs(middle - INK).max(axis=1)
    inside, above = near[120:200].min(), near[500:700].min()
    assert above < 0.1 < inside < 0.5


def test_a_length_that_is_none_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="weight_length must be more than 0"):
        resting().picture(tmp_path / "box.png", replace(SIDE, weight_length=0.0), times=[0.1])


def test_a_picture_without_weight_goes_by_the_largest_force(tmp_path):
    world = br.World(gravity=0.0)
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box((0.4, 0.4, 0.2), 2.0), "box").place((0, 0, 0.1))
    world.touch()
    world.push("box/box", (0, 0, -5.0))
    br.Simulation(world, dt=0.002).run(0.02, progress=False).picture(tmp_path / "box.png", SIDE)
    assert inked(tmp_path / "box.png").any()
