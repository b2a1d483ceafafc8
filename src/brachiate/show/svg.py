"""Line plots as SVG elements for HTML pages: drawn without matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

import numpy as np

from brachiate.show.plots import COLORS
from brachiate.validation import Array

WIDTH, HEIGHT, LEFT, RIGHT = 900.0, 130.0, 70.0, 890.0  # [px] of the picture and of a panel; ends of the time axis
GAP, BOTTOM = 26.0, 40.0  # [px] above each panel, and below the last one
LEGEND_STEP = 130.0  # [px] between names
MAX_POINTS = 1000  # of a line
TEXT, GRID = "#2b2e33", "#dddddd"


def svg_panels(time: Array, panels: Mapping[str, Mapping[str, Array]], about: str) -> str:
    """Return a picture of panels below each other, each with named lines over time; values that are not finite are left out.

    Args:
        time: Times (n,) [s].
        panels: Lines (n,) by name, by label of the panel.
        about: Description of the picture.
    """
    height = len(panels) * (HEIGHT + GAP) + BOTTOM
    rows = np.unique(np.linspace(0, len(time) - 1, min(len(time), MAX_POINTS)).astype(int))
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(about)}" font-size="12" fill="none">']
    span = float(time[0]), float(time[-1])
    for k, (label, lines) in enumerate(panels.items()):
        top = k * (HEIGHT + GAP) + GAP
        parts += _panel(time[rows], {name: values[rows] for name, values in lines.items()}, label, top, span)
    parts += [_text(x, height - 22.0, f"{t:g}", "middle") for t, x in round_ticks(*span, LEFT, RIGHT, 8)]
    return "\n".join([*parts, _text(0.5 * (LEFT + WIDTH), height - 4.0, "time [s]", "middle"), "</svg>"])


def _panel(time: Array, lines: Mapping[str, Array], label: str, top: float, span: tuple[float, float]) -> Iterator[str]:
    values = np.concatenate([line[np.isfinite(line)] for line in lines.values()])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    low, high = (low, high) if high - low > 1e-9 * max(1.0, abs(low)) else (low - 0.5, high + 0.5)
    yield _text(0.0, top - 8.0, " ".join(label.split()), "start")
    for value, y in round_ticks(low, high, top + HEIGHT, top, 4):
        yield f'<path d="M{LEFT:g} {y:.1f}H{WIDTH:g}" stroke="{GRID}"/>'
        yield _text(LEFT - 6.0, y + 4.0, f"{value:g}", "end")
    for _, x in round_ticks(*span, LEFT, RIGHT, 8):
        yield f'<path d="M{x:.1f} {top:g}v{HEIGHT:g}" stroke="{GRID}"/>'
    x = np.interp(time, span, (LEFT, RIGHT)) if span[1] > span[0] else np.full(len(time), LEFT)
    for k, (name, line) in enumerate(lines.items()):
        color = COLORS[k % len(COLORS)]
        yield _text(RIGHT - LEGEND_STEP * (len(lines) - 1 - k), top - 8.0, name, "end", color)
        y = top + HEIGHT * (high - line) / (high - low)
        known = np.isfinite(y)
        words = ("L" if ok and before else "M" for ok, before in zip(known[1:], known[:-1], strict=True))
        points = [f"{word}{a:.1f} {b:.1f}" for word, a, b, ok in zip(("M", *words), x, y, known, strict=True) if ok]
        yield f'<path d="{"".join(points)}" stroke="{color}" stroke-width="1.6"/>'


def round_ticks(low: float, high: float, start: float, end: float, count: int) -> list[tuple[float, float]]:
    """About ``count`` round values from low to high, and their places between start and end [px]."""
    if not high > low:
        return [(low, start)]
    raw = (high - low) / count
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * (1 - 1e-9))
    values = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1.0)
    return [(float(round(value, 12)), float(start + (end - start) * (value - low) / (high - low))) for value in values]


def _text(x: float, y: float, text: str, anchor: str, color: str = TEXT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
