"""Pages in pixels: images, lines and text are where they are put; formats that have no pixels are refused."""

import numpy as np
import pytest

from brachiate.errors import ArgumentError
from brachiate.show.page import Page
from brachiate.show.panel_page import save_panels

plt = pytest.importorskip("matplotlib.pyplot")


def saved(page, path):
    page.save(path)
    return plt.imread(path)[..., :3]


def test_an_image_keeps_its_pixels_and_place(tmp_path):
    """Fails if rows are counted from the other side, or colors change."""
    pixels = np.random.default_rng(0).integers(0, 255, (5, 7, 3)).astype(np.uint8)
    page = Page(20, 30, 100.0)
    page.image(4, 10, pixels)
    image = np.round(255.0 * saved(page, tmp_path / "page.png"))
    assert image.shape == (30, 20, 3)
    assert np.array_equal(image[30 - 10 - 5 : 30 - 10, 4 : 4 + 7], pixels)
    image[15:20, 4:11] = 255
    assert (image == 255).all()


def test_rules_lie_on_whole_pixels(tmp_path):
    """A line of one pixel colors one row, and no neighbor half."""
    page = Page(30, 20, 72.0)
    page.rule((5.2, 8.4), (25.0, 8.4), "#ff0000", 1.0)
    rows = np.flatnonzero((saved(page, tmp_path / "page.png")[..., 1] < 1.0).any(axis=1))
    assert rows.tolist() == [20 - 1 - 8]


def test_lines_are_interrupted_where_values_are_missing(tmp_path):
    page = Page(60, 20, 72.0)
    x = np.arange(60.0)
    page.lines(x, np.where((x > 20) & (x < 40), np.nan, 10.0), "#000000", 2.0)
    dark = (saved(page, tmp_path / "page.png").max(axis=2) < 0.5).any(axis=0)
    assert dark[5:20].all()
    assert not dark[23:38].any()
    assert dark[41:55].all()


@pytest.mark.parametrize("up", [False, True])
def test_text_is_anchored_in_its_middle(tmp_path, up):
    """The center of the ink is at the position, within a few pixels; turned text is higher than wide."""
    page = Page(200, 160, 100.0)
    page.text(100.0, 80.0, "original", 12.0, "#000000", (0.5, 0.5), up=up)
    y, x = np.nonzero(saved(page, tmp_path / "page.png").max(axis=2) < 0.5)
    assert abs(0.5 * (x.min() + x.max()) - 100.0) < 4.0
    assert abs(0.5 * (y.min() + y.max()) - 80.0) < 4.0
    assert (np.ptp(y) > np.ptp(x)) == up


def test_panels_show_their_lines(tmp_path):
    """Each line leaves its color in its own panel only."""
    time = np.linspace(0.0, 1.0, 300)
    panels = {"a [m]": {"one": np.sin(9.0 * time)}, "b\n[N]": {"one": np.full(300, np.nan), "two": time**2}}
    save_panels(time, panels, tmp_path / "panels.png")
    image = plt.imread(tmp_path / "panels.png")[..., :3]
    red = np.abs(image - np.array((0xD1, 0x49, 0x5B)) / 255.0).max(axis=2) < 0.02
    half = len(image) // 2
    assert not red[: half - 40].any()
    assert red[half:].sum() > 300


def test_a_format_without_pixels_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"page\.svg: .*not a format of pixels"):
        Page(10, 10, 72.0).save(tmp_path / "page.svg")
