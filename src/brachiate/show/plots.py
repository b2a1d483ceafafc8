"""Plots of quantities over time, in the common style of the package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from brachiate.errors import ArgumentError, BrachiateError
from brachiate.io.atomic import replace_file
from brachiate.validation import Array

_ROW_HEIGHT = 0.18  # [inch]
_MARGINS = 1.15, 0.15, 0.5, 0.1, 0.12  # [inch] left, right, bottom, top, between panels
_MAX_LEGEND_INSIDE = 9  # more lines have their legend beside the panel
MISSING = "Pictures need matplotlib, which is not installed: pip install matplotlib."
COLORS = ("#1f6f8b", "#d1495b", "#66a182", "#edae49", "#5d4a66", "#8c7051")


def import_pyplot() -> Any:
    """Return matplotlib's pyplot; raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  (optional, and slow to import)
    except ImportError:
        raise BrachiateError(MISSING) from None
    return plt


def is_available() -> bool:
    """Whether matplotlib is installed, so that pictures can be drawn. It is not imported, which takes long."""
    return find_spec("matplotlib") is not None


class StateStrips(NamedTuple):
    """Panel of strips, one for each name, colored by state: integers over time (n,), each that of the step that ends there.

    ``states`` are the integers that have a color, with a label.
    """

    rows: dict[str, Array]
    states: Mapping[int, tuple[str, str]]


def plot_panels(time: Array, panels: Mapping[str, Mapping[str, Array] | StateStrips], path: str | Path | None = None) -> Any:
    """Plot panels below each other, each with named lines over time, or strips. Write the picture to ``path`` or return the figure."""
    plt = import_pyplot()
    heights = [_height(panel) for panel in panels.values()]
    width, height = size = 8.0, 1.2 + sum(heights)
    layout = "constrained" if any(_has_names_beside(panel) for panel in panels.values()) else None
    figure, axes = plt.subplots(len(panels), 1, figsize=size, height_ratios=heights, sharex=True, squeeze=False, layout=layout)
    if layout is None:  # margins that fit all numbers, as measuring them takes as long as drawing
        left, right, bottom, top, gap = _MARGINS
        figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
        figure.subplots_adjust(hspace=gap * len(panels) / (height - bottom - top - gap * (len(panels) - 1)))
    for axis, (label, panel) in zip(axes[:, 0], panels.items(), strict=True):
        axis.set_ylabel(label)
        style_axes(axis)
        if isinstance(panel, StateStrips):
            _draw_strips(axis, time, panel)
            continue
        for i, (name, values) in enumerate(panel.items()):
            axis.plot(time, values, label=name, color=COLORS[i % len(COLORS)], linewidth=1.6)
        if panel:
            _legend(axis, len(panel))
    axes[-1, 0].set_xlabel("time [s]")
    if path is None:
        return figure
    save_figure(figure, path, dpi=150)
    return path


def _has_names_beside(panel: Mapping[str, Array] | StateStrips) -> bool:
    """Whether names, of any length, are beside a panel."""
    return isinstance(panel, StateStrips) or len(panel) > _MAX_LEGEND_INSIDE


def _height(panel: Mapping[str, Array] | StateStrips) -> float:
    """Height of a panel [inch]: a row for each strip, and for each name in a legend beside it."""
    if isinstance(panel, StateStrips):
        return 0.6 + _ROW_HEIGHT * len(panel.rows)
    return max(2.2, _ROW_HEIGHT * len(panel)) if _has_names_beside(panel) else 2.2


def _draw_strips(axis: Any, time: Array, panel: StateStrips) -> None:
    """Draw bars from the first step of a state to its last."""
    used = sorted({int(n) for values in panel.rows.values() for n in values[1:]} & set(panel.states))
    for y, values in enumerate(panel.rows.values()):
        starts = np.flatnonzero(np.diff(values[1:], prepend=-1)) + 1  # rows at which the state changes
        for start, end in zip(starts, [*starts[1:], len(values)], strict=True):
            if values[start] in panel.states:
                axis.broken_barh([(time[start - 1], time[end - 1] - time[start - 1])], (y - 0.4, 0.8), color=panel.states[values[start]][1])
    axis.set_yticks(range(len(panel.rows)), [name.rpartition(".")[0] for name in panel.rows], fontsize=8)
    axis.set_ylim(len(panel.rows) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")
    for n in used:
        label, color = panel.states[n]
        axis.plot([], [], color=color, linewidth=6, label=label)
    if used:
        axis.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))


def _legend(axis: Any, count: int) -> None:
    """Add a legend: in the panel if there are few lines, else beside it."""
    position = {"ncols": 3, "loc": "best"} if count <= _MAX_LEGEND_INSIDE else {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    axis.legend(frameon=False, fontsize=8, **position)


def save_figure(figure: Any, path: str | PathLike[str] | IO[bytes], **options: Any) -> None:
    """Write a figure to a file, in the format of its suffix (default: .png), and close it."""
    try:
        if not isinstance(path, str | PathLike):  # an open file
            figure.savefig(path, **options)
            return
        file = Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.png")
        with replace_file(file, "the picture") as opened:
            figure.savefig(opened, format=file.suffix[1:].lower(), **options)
    except ValueError as problem:
        if isinstance(problem, BrachiateError):
            raise
        raise ArgumentError(f"{path}: the picture cannot be written ({problem}).") from None
    finally:
        import_pyplot().close(figure)


def style_axes(axis: Any) -> None:
    """Apply the common style to axes."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
