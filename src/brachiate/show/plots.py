"""Plots of numbers over time, in the package's one style."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.doors import Array
from brachiate.errors import ArgumentError, BrachiateError

COLORS = ("#1f6f8b", "#d1495b", "#66a182", "#edae49", "#5d4a66", "#8c7051")


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  (optional, and slow to import)
    except ImportError:
        raise BrachiateError("Pictures need matplotlib, which is not installed: pip install 'brachiate[plots]'.") from None
    return plt


def lines(time: Array, panels: Mapping[str, Mapping[str, Array]], path: str | Path | None = None) -> Any:
    """One panel below the other, each with named lines over time. Write the picture to ``path`` or return the figure."""
    plt = pyplot()
    figure, axes = plt.subplots(len(panels), 1, figsize=(8, 1.2 + 2.2 * len(panels)), sharex=True, squeeze=False, layout="constrained")
    for axis, (label, series) in zip(axes[:, 0], panels.items(), strict=True):
        for i, (name, values) in enumerate(series.items()):
            axis.plot(time, values, label=name, color=COLORS[i % len(COLORS)], linewidth=1.6)
        axis.set_ylabel(label)
        plain(axis)
        axis.legend(frameon=False, fontsize=8, ncols=3, loc="best")
    axes[-1, 0].set_xlabel("time [s]")
    if path is None:
        return figure
    save(figure, path, dpi=150)
    return path


def save(figure: Any, path: str | PathLike[str], **options: Any) -> None:
    """Write a figure to a file and forget it."""
    try:
        figure.savefig(path, **options)
    except (OSError, ValueError) as problem:
        raise ArgumentError(f"{path}: the picture cannot be written ({problem}).") from None
    finally:
        pyplot().close(figure)


def plain(axis: Any) -> None:
    """Take away what is not data."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
