"""Pictures of models in motion: all moments in one panel, or side by side as the papers print them.

Parallel projection, so that a thing has the same size and shape wherever it is; the nearest surface wins at every pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.show.marks import INK, LONGEST, Marks, arrow, drawn
from brachiate.show.page import Floor, Page, View
from brachiate.show.plots import pyplot, save
from brachiate.show.surface import PAPER, Triangles, joined, lit, parts_of
from brachiate.validation import Array

_INK = (0.35, 0.37, 0.40)
_FEW = 3  # panels are not larger than if there were so many in a row
_PALEST = 0.35  # strength of the first moment, where all are in one panel
_PENS = 160  # of them make an inch
_FOOT = 0.24  # of a panel, for its label [inch]
_KEY = 0.18  # of the page, for the scale of forces [inch]
_UPRIGHT = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])  # turns y to where z was


@dataclass(frozen=True)
class Look:
    """From where something is looked at, and when."""

    view: View = field(default_factory=View)
    times: tuple[float, ...] = ()  # [s]; none: so many as there are columns, evenly over the run
    columns: int = 6  # panels in a row
    ground: bool = True  # whether there is one, at z = 0
    up: str = "z"  # which axis of the world is up in the picture: y or z
    width: float = 9.0  # of a full row [inch]
    tallest: float = np.inf  # of a panel [inch]
    pixels_per_inch: int = 160
    forces: bool = True  # whether forces and areas of contact are drawn over what touches
    weight_length: float = 0.5  # of the arrow of a force as large as the weight of everything [m]


def picture(
    frames: Iterable[tuple[Data, ArrayLike]],
    path: str | PathLike[str],
    *,
    view: View | None = None,
    width: float = 9.0,
    pixels_per_inch: int = 160,
    ground: bool = True,
    palest: float = _PALEST,
) -> None:
    """Draw postures into one picture, the earlier the paler, and write it to a file.

    Args:
        frames: (data, q) in the order of time; things that do not move need one entry only.
        path: Where to write; the ending says the format (.png, .svg, .pdf).
        view: From where it is seen.
        width: Of the picture [inch], or its height, whichever is larger.
        pixels_per_inch: Of the picture.
        ground: Whether to draw the ground at z = 0, and shadows on it.
        palest: Strength of the first posture, between 0 and 1; the last one has 1.
    """
    frames = list(frames)
    if not frames:
        raise ArgumentError("frames: expected at least one (data, q), got none.")
    first = validation.number(palest, "palest", least=0.0, most=1.0)
    width = validation.number(width, "width", above=0.0)
    look = Look(view or View(), columns=1, ground=ground, width=width, tallest=width, pixels_per_inch=pixels_per_inch)
    parts = {model: parts_of(model) for model in {data.model for data, _ in frames}}
    if not any(parts.values()):
        raise ArgumentError("frames: none of these models has a shape that can be drawn. Give their links shapes=...")
    strengths = [1.0] if len(frames) == 1 else np.linspace(first, 1.0, len(frames))
    moments = [lit(parts[data.model], _at(data, q)).faded(a) for (data, q), a in zip(frames, strengths, strict=True)]
    _compose([joined(moments)], [], look, path)


def strobe(
    model: Model,
    time: Array,
    q: Array,
    path: str | PathLike[str],
    look: Look | None = None,
    times: ArrayLike | None = None,
    marks: Callable[[int], Marks] | None = None,
) -> None:
    """Draw a motion at a few moments, side by side in panels of one scale.

    Args:
        model: Who moves.
        time: Of every state (n,) [s].
        q: The states (n, nq).
        path: Where to write; the ending says the format (.png, .svg, .pdf).
        look: From where, and when.
        times: Moments [s] instead of those of ``look``; those outside of the motion are left out.
        marks: Forces and areas at a state, by its number, to be drawn if ``look`` wants them.
    """
    look = look if look is not None else Look()
    rows = _rows(time, look, times)
    parts = parts_of(model)
    if not parts:
        raise ArgumentError("Nothing in this motion has a shape that can be drawn. Give links shapes=...")
    data, turn = Data(model), _UPRIGHT if look.up == "y" else np.eye(3)
    digits = _digits(time[rows])
    over = [marks(row).turned(turn) for row in rows] if marks is not None and look.forces else []
    _compose([lit(parts, _at(data, q[row]), turn) for row in rows], [f"{time[row]:.{digits}f} s" for row in rows], look, path, over)


def _at(data: Data, q: ArrayLike) -> Data:
    """The same model in another posture; whose data it is sees no change."""
    other = Data(data.model)
    other.assign(q=q)
    return other


def _rows(time: Array, look: Look, times: ArrayLike | None) -> list[int]:
    """States nearest to some moments."""
    given = look.times if times is None else np.atleast_1d(validation.reals(times, "times", "moments [s]"))
    wanted = np.asarray(given if len(given) else np.linspace(time[0], time[-1], look.columns), float)
    slack = 1e-6 + 0.51 * float(np.diff(time).max(initial=0.0))
    wanted = wanted[(wanted >= time[0] - slack) & (wanted <= time[-1] + slack)]
    return sorted({int(np.abs(time - t).argmin()) for t in wanted}) or [len(time) - 1]


def _digits(times: Array) -> int:
    """Decimals by which moments are told exactly, or at least apart: two to six."""

    def enough(n: int) -> bool:
        rounded = np.round(times, n)
        exact = np.abs(times - rounded).max() < 0.02 * 10.0**-n and len(set(rounded)) == len(times)
        return bool(exact or np.diff(times).min(initial=np.inf) > 20 * 10.0**-n)

    return next((n for n in range(2, 6) if enough(n)), 6)


def _compose(
    moments: Sequence[Triangles], labels: Sequence[str], look: Look, path: str | PathLike[str], over: Sequence[Marks] = ()
) -> None:
    """Paint every moment into its panel, and write the page."""
    scale, longest = _scale(over, look), LONGEST * look.weight_length
    tips = np.concatenate([np.zeros((0, 3)), *(marks.ends(scale, longest)[0] for marks in over)])
    everything = np.concatenate([m.corners.reshape(-1, 3) for m in moments])
    floor = Floor(everything.min(axis=0), everything.max(axis=0)) if look.ground else None
    columns, inch = min(look.columns, len(moments)), look.pixels_per_inch
    across = int(look.width * inch / min(look.columns, max(columns, _FEW)))  # pixels of a panel
    shown = np.concatenate([everything, tips, floor.corners if floor else tips])
    page = Page(look.view, shown, across, look.tallest * inch)
    across = page.across
    foot = int(_FOOT * inch) if labels else 0
    line_height = page.high + foot
    high = -(-len(moments) // columns) * line_height
    sheet = np.empty((high + (int(_KEY * inch) if len(tips) else 0), columns * across, 3))
    sheet[:] = PAPER
    flat = [drawn(marks, page, scale, longest, inch / _PENS) for marks in over]
    for n, panel in enumerate(page.panels(moments, floor, flat)):
        line, column = divmod(n, columns)
        sheet[line * line_height : line * line_height + page.high, column * across : (column + 1) * across] = panel
    figure = pyplot().figure(figsize=(sheet.shape[1] / inch, sheet.shape[0] / inch), dpi=inch, facecolor=PAPER)
    figure.figimage(sheet, origin="upper")
    for n, label in enumerate(labels):
        line, column = divmod(n, columns)
        y = 1 - (line * line_height + page.high + 0.02 * inch) / sheet.shape[0]
        figure.text((column + 0.5) / columns, y, label, ha="center", va="top", color=_INK, fontsize=8.5)
    if len(tips):
        cut = any(marks.ends(scale, longest)[1].any() for marks in over)
        _tell_scale(figure, look, scale / page.pixel, longest / page.pixel if cut else np.inf)
    save(figure, path, dpi=inch, facecolor=PAPER)


def _scale(over: Sequence[Marks], look: Look) -> float:
    """Metres that an arrow has for a newton: by the weight of everything, or, if there is none, by the largest force."""
    weight = max([marks.weight for marks in over], default=0.0)
    most = max([float(np.linalg.norm(marks.force, axis=1).max(initial=0.0)) for marks in over], default=0.0)
    return validation.number(look.weight_length, "weight_length", above=0.0) / (weight or most or 1.0)


def _tell_scale(figure: Any, look: Look, scale: float, longest: float) -> None:
    """Below everything, an arrow with its force, at so many pixels a newton; and from where on arrows are broken."""
    inch = look.pixels_per_inch
    wide, high = (size * inch for size in figure.get_size_inches())
    force = _round_below(min(inch, 0.3 * wide) / scale)
    start = np.array((0.1 * inch, 0.5 * _KEY * inch, 0.0))
    end = start + np.array((force * scale, 0.0, 0.0))
    for triangle in arrow(start, end, np.array((0.0, 0.0, 1.0)), inch / _PENS):
        corners = triangle[:, :2] / (wide, high)
        figure.add_artist(pyplot().Polygon(corners, transform=figure.transFigure, color=INK, linewidth=0))
    more = f"; broken: more than {float(f'{longest / scale:.3g}'):g} N" if np.isfinite(longest) else ""
    x, y = (end[0] + 0.06 * inch) / wide, start[1] / high
    figure.text(x, y, f"{force:g} N{more}", ha="left", va="center", color=_INK, fontsize=8.5)


def _round_below(x: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above, but for round-off."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(n * power for n in (0.5, 1, 2, 5) if n * power <= x))
