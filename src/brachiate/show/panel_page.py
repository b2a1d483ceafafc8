"""Panels of lines over time as a PNG file: the plots of filter results, which need no more than axes, lines and names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import IO

import numpy as np

from brachiate.show.page import Page
from brachiate.show.plots import COLORS
from brachiate.show.svg import round_ticks
from brachiate.validation import Array

DPI, WIDTH, HEIGHT = 120.0, 8.0, 2.2  # pixels per inch; [inch] of the page and of a panel
LEFT, RIGHT, BOTTOM, TOP, GAP = 1.15, 0.15, 0.5, 0.1, 0.12  # [inch] margins, and between panels
LABEL_SIZE, TICK_SIZE, NAME_SIZE, TICK_LENGTH = 10.0, 10.0, 8.0, 3.5  # [pt]
LINE, FRAME, GRID_LINE = 1.6, 0.8, 0.6  # [pt] widths
TEXT, GRID = "#000000", "#dddddd"
NAME_STEP, SAMPLE = 0.3, 0.25  # [inch] between names, and length of the line beside a name
MARGIN = 0.05  # of the range of values


def save_panels(time: Array, panels: Mapping[str, Mapping[str, Array]], path: str | PathLike[str] | IO[bytes]) -> None:
    """Write panels below each other, each with named lines (n,) over time (n,) [s]; values that are not finite are left out."""
    inches = TOP + BOTTOM + HEIGHT * len(panels) + GAP * (len(panels) - 1)
    page = Page(round(WIDTH * DPI), round(inches * DPI), DPI)
    left, right = LEFT * DPI, page.width - RIGHT * DPI
    margin = MARGIN * max(float(time[-1] - time[0]), 1e-9)
    span = float(time[0]) - margin, float(time[-1]) + margin
    x = left + (time - span[0]) * (right - left) / (span[1] - span[0])
    times = round_ticks(*span, left, right, 8)
    for k, (label, lines) in enumerate(panels.items()):
        top = page.height - (TOP + k * (HEIGHT + GAP)) * DPI
        _draw_panel(page, x, lines, label, (left, top - HEIGHT * DPI, right, top), [at for _, at in times])
    bottom, below = BOTTOM * DPI, (BOTTOM - 0.04) * DPI - TICK_LENGTH * DPI / 72.0
    for value, at in times:
        page.rule((at, bottom), (at, bottom - TICK_LENGTH * DPI / 72.0), TEXT, FRAME)
        page.text(at, below, f"{value + 0.0:g}", TICK_SIZE, TEXT, (0.5, 1.0))
    page.text(0.5 * (left + right), 2.0, "time [s]", LABEL_SIZE, TEXT, (0.5, 0.0))
    page.save(path)


def _draw_panel(
    page: Page, x: Array, lines: Mapping[str, Array], label: str, box: tuple[float, float, float, float], times: list[float]
) -> None:  # fmt: skip
    """Draw a panel within left, bottom, right and top [pixels]."""
    left, bottom, right, top = box
    low, high = _limits(lines)
    for at in times:
        page.rule((at, bottom), (at, top), GRID, GRID_LINE)
    for value, y in round_ticks(low, high, bottom, top, 4):
        page.rule((left, y), (right, y), GRID, GRID_LINE)
        page.rule((left - TICK_LENGTH * DPI / 72.0, y), (left, y), TEXT, FRAME)
        page.text(left - 2.0 * TICK_LENGTH * DPI / 72.0, y, f"{value + 0.0:g}", TICK_SIZE, TEXT, (1.0, 0.5))
    for k, line in enumerate(lines.values()):
        page.lines(x, bottom + (line - low) * (top - bottom) / (high - low), COLORS[k % len(COLORS)], LINE, box)
    page.rule((left, bottom), (right, bottom), TEXT, FRAME)
    page.rule((left, bottom), (left, top), TEXT, FRAME)
    page.text(4.0, 0.5 * (bottom + top), label, LABEL_SIZE, TEXT, (0.5, 1.0), up=True)
    at = right
    for k, name in reversed(list(enumerate(lines))):
        at -= page.text_width(name, NAME_SIZE)
        page.text(at, top - 2.0, name, NAME_SIZE, TEXT, (0.0, 1.0))
        y = np.full(2, top - 2.0 - 0.5 * NAME_SIZE * DPI / 72.0)
        page.lines(at - np.array((SAMPLE + 0.05, 0.05)) * DPI, y, COLORS[k % len(COLORS)], LINE)
        at -= (SAMPLE + NAME_STEP) * DPI


def _limits(lines: Mapping[str, Array]) -> tuple[float, float]:
    """Lower and upper limit of a panel: those of the values, and room for the names above."""
    values = np.concatenate([line[np.isfinite(line)] for line in lines.values()])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if not high - low > 1e-9 * max(1.0, abs(low)):
        low, high = low - 0.5, high + 0.5
    return low - MARGIN * (high - low), high + 3.0 * MARGIN * (high - low)
