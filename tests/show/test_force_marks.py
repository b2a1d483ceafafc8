"""Force arrows and contact areas in pictures: positions and lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError
from brachiate.show.canvas import Camera, Canvas
from brachiate.show.draw import ViewSettings
from brachiate.show.force_marks import ARROW_COLOR, ForceMarks, arrow, draw_marks, outline

pytest.importorskip("matplotlib").use("Agg")

EYE = np.array((0.0, -1.0, 0.0))
SIDE = ViewSettings(Camera(azimuth=-90, elevation=0), columns=1, width=6.0, ground=False)


def resting() -> br.Recording:
    """A box of 2 kg, 20 cm high, on the ground."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box((0.4, 0.4, 0.2), 2.0), "box").place((0, 0, 0.1))
    world.enable_contact()
    return br.Simulation(world, dt=0.002).run(0.1, progress=False)


def arrow_pixels(path) -> np.ndarray:
    """Pixels with the color of forces, hidden or not: rows from below."""
    from matplotlib import image  # noqa: PLC0415

    pixels = image.imread(path)[::-1, :, :3]
    return (pixels[..., 0] > 1.4 * pixels[..., 1]) & (pixels[..., 2] > 1.2 * pixels[..., 1])


def test_arrow_length_is_proportional_to_the_force(tmp_path):
    run = resting()
    heights = []
    for length in (0.3, 0.6):
        run.picture(tmp_path / "box.png", replace(SIDE, weight_length=length), times=[0.1])
        found = arrow_pixels(tmp_path / "box.png")[80:]  # above label and legend
        rows, columns = np.nonzero(found)
        assert np.median(columns) == pytest.approx(found.shape[1] / 2, abs=3)  # in the middle of the box
        heights.append(np.ptp(rows) / found.shape[1])
    # The picture has the width of the box, 0.4 m, and margins of 2 % of the larger side.
    widths = [0.4 + 2 * 0.02 * max(0.4, length) for length in (0.3, 0.6)]
    assert heights == pytest.approx([0.3 / widths[0], 0.6 / widths[1]], rel=0.03)


def test_forces_can_be_left_out(tmp_path):
    run = resting()
    run.picture(tmp_path / "with.png", SIDE, times=[0, 0.1])
    run.picture(tmp_path / "without.png", replace(SIDE, forces=False), times=[0, 0.1])
    assert arrow_pixels(tmp_path / "with.png").any()
    assert not arrow_pixels(tmp_path / "without.png").any()


def test_first_state_shows_the_contacts_of_the_following_step(tmp_path):
    resting().picture(tmp_path / "first.png", SIDE, times=[0])
    assert arrow_pixels(tmp_path / "first.png")[80:].any()


@pytest.mark.parametrize(("force", "text"), [(20.0, "5 N"), (100.0, "5 N; broken: more than 39.2 N")])
def test_legend_states_the_scale(monkeypatch, tmp_path, force, text):
    shown = []
    monkeypatch.setattr("matplotlib.figure.Figure.text", lambda self, x, y, label, **options: shown.append(label))
    run = resting()
    marks = ForceMarks(np.zeros((1, 3)), np.array([(0, 0, force)]), [np.zeros((1, 3))], 2.0 * 9.81)
    monkeypatch.setattr(br.Recording, "_marks", lambda self, row: marks)
    run.picture(tmp_path / "box.png", replace(SIDE, weight_length=0.2), times=[0.1])
    assert shown[-1] == text


def test_arrow_tips_and_cut_arrows():
    marks = ForceMarks(np.zeros((2, 3)), np.array([(0, 0, 10.0), (0, 0, 1000.0)]), [], 10.0)
    tips, cut = marks.ends(0.05, 1.0)
    assert tips == pytest.approx(np.array([(0, 0, 0.5), (0, 0, 1.0)]))
    assert cut.tolist() == [False, True]
    whole, broken = (arrow(np.zeros(3), np.array((0, 0, 1.0)), EYE, 0.001, cut) for cut in (False, True))
    assert whole[..., 2].max() == pytest.approx(1.0)
    assert whole[..., 2].min() == pytest.approx(0.0)
    assert len(broken) == len(whole) + 2
    assert len(arrow(np.zeros(3), np.array((0, 1.0, 0)), EYE, 0.001)) == 0  # along the viewing direction
    assert len(arrow(np.zeros(3), np.zeros(3), EYE, 0.001)) == 0


@pytest.mark.parametrize("corners", [1, 2, 4])
def test_outlines_enclose_their_area(corners):
    area = np.array([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1.0)])[:corners]
    around = outline(area, EYE, 0.01)
    flat = around.reshape(-1, 3)
    assert np.isfinite(flat).all()
    assert np.abs(flat[:, 1]).max() < 1e-12  # in the plane that faces the camera
    assert flat.min(axis=0)[[0, 2]] == pytest.approx(area.min(axis=0)[[0, 2]], abs=0.013)
    assert flat.max(axis=0)[[0, 2]] == pytest.approx(area.max(axis=0)[[0, 2]], abs=0.013)


def test_empty_marks():
    canvas = Canvas(Camera(), np.array([(0, 0, 0), (1, 1, 1.0)]), 50)
    assert len(draw_marks(ForceMarks(np.zeros((0, 3)), np.zeros((0, 3)), [], 1.0), canvas, 1.0, 1.0, 1.0).corners) == 0


def test_hidden_arrows_are_semitransparent(tmp_path):
    # The arrow begins under the box: it is paler inside than above.
    from matplotlib import image  # noqa: PLC0415

    resting().picture(tmp_path / "box.png", replace(SIDE, weight_length=0.6), times=[0.1])
    pixels = image.imread(tmp_path / "box.png")[::-1, :, :3]
    middle = pixels[:, pixels.shape[1] // 2]
    near = np.abs(middle - ARROW_COLOR).max(axis=1)
    inside, above = near[120:200].min(), near[500:700].min()
    assert above < 0.1 < inside < 0.5


def test_invalid_length_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="weight_length must be more than 0"):
        resting().picture(tmp_path / "box.png", replace(SIDE, weight_length=0.0), times=[0.1])


def test_without_weight_the_largest_force_sets_the_scale(tmp_path):
    world = br.World(gravity=0.0)
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box((0.4, 0.4, 0.2), 2.0), "box").place((0, 0, 0.1))
    world.enable_contact()
    world.apply_force("box/box", (0, 0, -5.0))
    br.Simulation(world, dt=0.002).run(0.02, progress=False).picture(tmp_path / "box.png", SIDE)
    assert arrow_pixels(tmp_path / "box.png").any()
