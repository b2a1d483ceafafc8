"""Pictures of models in motion: all poses in one panel, or side by side (stroboscopic).

Parallel projection, so that the size of an object does not depend on its position.
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
from brachiate.show.canvas import Camera, Canvas, GroundPlane
from brachiate.show.force_marks import ARROW_COLOR, MAX_ARROW_LENGTH, ForceMarks, arrow, draw_marks
from brachiate.show.plots import import_pyplot, save_figure
from brachiate.show.surface import BACKGROUND, Triangles, link_surfaces, merge_surfaces, shaded_surface
from brachiate.validation import Array

_TEXT_COLOR = (0.35, 0.37, 0.40)
_MIN_COLUMNS = 3  # for the size of panels: fewer columns do not enlarge them
_MIN_OPACITY = 0.35  # color strength of the first pose, if all are in one panel
_REFERENCE_DPI = 160  # [dpi] at which pens have their nominal width
_LABEL_HEIGHT = 0.24  # [inch] of a panel
_LEGEND_HEIGHT = 0.18  # [inch] of the legend of the force scale
_Y_TO_Z = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])  # rotates y up to z up


@dataclass(frozen=True)
class ViewSettings:
    """Camera, times and layout of a stroboscopic picture."""

    camera: Camera = field(default_factory=Camera)
    times: tuple[float, ...] = ()  # [s]; empty: as many as columns, evenly over the motion
    columns: int = 6  # panels per row
    ground: bool = True  # whether the ground at z = 0 is drawn
    up: str = "z"  # axis of the world that is up in the picture: y or z
    width: float = 9.0  # [inch] of a full row
    max_height: float = np.inf  # [inch] of a panel
    pixels_per_inch: int = 160
    forces: bool = True  # whether contact forces and areas are drawn
    weight_length: float = 0.5  # [m] of the arrow of a force as large as the total weight


def picture(
    frames: Iterable[tuple[Data, ArrayLike]],
    path: str | PathLike[str],
    *,
    camera: Camera | None = None,
    width: float = 9.0,
    pixels_per_inch: int = 160,
    ground: bool = True,
    palest: float = _MIN_OPACITY,
) -> None:
    """Draw poses into one picture, earlier ones paler, and write it to a file.

    Args:
        frames: (data, q) in order of time; static objects need one entry only.
        path: File of the picture; the suffix selects the format (.png, .svg, .pdf).
        camera: Camera direction.
        width: Larger of width and height of the picture [inch].
        pixels_per_inch: Resolution.
        ground: Whether to draw the ground at z = 0, and shadows on it.
        palest: Color strength of the first pose, from 0 to 1; the last one has 1.
    """
    frames = list(frames)
    if not frames:
        raise ArgumentError("frames: expected at least one (data, q), got none.")
    first = validation.number(palest, "palest", minimum=0.0, maximum=1.0)
    width = validation.number(width, "width", above=0.0)
    settings = ViewSettings(camera or Camera(), columns=1, ground=ground, width=width, max_height=width, pixels_per_inch=pixels_per_inch)
    parts = {model: link_surfaces(model) for model in {data.model for data, _ in frames}}
    if not any(parts.values()):
        raise ArgumentError("frames: none of these models has a shape that can be drawn. Give their links shapes=...")
    strengths = [1.0] if len(frames) == 1 else np.linspace(first, 1.0, len(frames))
    poses = [shaded_surface(parts[data.model], _at(data, q)).faded(a) for (data, q), a in zip(frames, strengths, strict=True)]
    _compose([merge_surfaces(poses)], [], settings, path)


def strobe(
    model: Model,
    time: Array,
    q: Array,
    path: str | PathLike[str],
    settings: ViewSettings | None = None,
    times: ArrayLike | None = None,
    marks: Callable[[int], ForceMarks] | None = None,
    more: Callable[[int], Triangles] | None = None,
) -> None:
    """Draw a motion at several times, side by side in panels of one scale.

    Args:
        model: The model.
        time: Times of the states (n,) [s].
        q: Configurations (n, nq).
        path: File of the picture; the suffix selects the format (.png, .svg, .pdf).
        settings: Camera, times and layout.
        times: Times [s] instead of those of ``settings``; those outside of the motion are left out.
        marks: Forces and contact areas by index of the state, drawn if ``settings.forces``.
        more: Other shaded surfaces by index of the state, z up.
    """
    settings = settings if settings is not None else ViewSettings()
    parts = link_surfaces(model)
    if not parts:
        raise ArgumentError("Nothing in this motion has a shape that can be drawn. Give links shapes=...")
    data, turn = Data(model), _Y_TO_Z if settings.up == "y" else np.eye(3)
    overlay = (lambda row: marks(row).turned(turn)) if marks is not None and settings.forces else None

    def surface(row: int) -> Triangles:
        own = shaded_surface(parts, _at(data, q[row]), turn)
        return own if more is None else merge_surfaces([own, more(row).turned(turn)])

    strobe_surfaces(surface, time, path, settings, times, overlay)


def strobe_surfaces(
    surface: Callable[[int], Triangles],
    time: Array,
    path: str | PathLike[str],
    settings: ViewSettings,
    times: ArrayLike | None = None,
    marks: Callable[[int], ForceMarks] | None = None,
) -> None:
    """Draw surfaces at several times, as :func:`strobe`: ``surface(row)`` is the shaded one of a state, ``marks(row)`` its forces."""
    rows = _rows(time, settings, times)
    digits = _digits(time[rows])
    overlays = [marks(row) for row in rows] if marks is not None else []
    _compose([surface(row) for row in rows], [f"{time[row]:.{digits}f} s" for row in rows], settings, path, overlays)


def _at(data: Data, q: ArrayLike) -> Data:
    """Return new data of the same model at another configuration."""
    other = Data(data.model)
    other.assign(q=q)
    return other


def _rows(time: Array, settings: ViewSettings, times: ArrayLike | None) -> list[int]:
    """Indices of the states nearest to some times."""
    given = settings.times if times is None else np.atleast_1d(validation.reals(times, "times", "times [s]"))
    requested = np.asarray(given if len(given) else np.linspace(time[0], time[-1], settings.columns), float)
    slack = 1e-6 + 0.51 * float(np.diff(time).max(initial=0.0))
    requested = requested[(requested >= time[0] - slack) & (requested <= time[-1] + slack)]
    return sorted({int(np.abs(time - t).argmin()) for t in requested}) or [len(time) - 1]


def _digits(times: Array) -> int:
    """Decimals that state times exactly, or at least distinguish them: two to six."""

    def enough(n: int) -> bool:
        rounded = np.round(times, n)
        exact = np.abs(times - rounded).max() < 0.02 * 10.0**-n and len(set(rounded)) == len(times)
        return bool(exact or np.diff(times).min(initial=np.inf) > 20 * 10.0**-n)

    return next((n for n in range(2, 6) if enough(n)), 6)


def _compose(
    scenes: Sequence[Triangles],
    labels: Sequence[str],
    settings: ViewSettings,
    path: str | PathLike[str],
    overlays: Sequence[ForceMarks] = (),
) -> None:
    """Render every scene into its panel, and write the picture."""
    scale, longest = _scale(overlays, settings), MAX_ARROW_LENGTH * settings.weight_length
    tips = np.concatenate([np.zeros((0, 3)), *(marks.ends(scale, longest)[0] for marks in overlays)])
    everything = np.concatenate([m.corners.reshape(-1, 3) for m in scenes])
    floor = GroundPlane(everything.min(axis=0), everything.max(axis=0)) if settings.ground else None
    columns, inch = min(settings.columns, len(scenes)), settings.pixels_per_inch
    width = int(settings.width * inch / min(settings.columns, max(columns, _MIN_COLUMNS)))  # [pixels] of a panel
    shown = np.concatenate([everything, tips, floor.corners if floor else tips])
    canvas = Canvas(settings.camera, shown, width, settings.max_height * inch)
    width = canvas.width
    label_height = int(_LABEL_HEIGHT * inch) if labels else 0
    line_height = canvas.height + label_height
    high = -(-len(scenes) // columns) * line_height
    sheet = np.empty((high + (int(_LEGEND_HEIGHT * inch) if len(tips) else 0), columns * width, 3))
    sheet[:] = BACKGROUND
    flat = [draw_marks(marks, canvas, scale, longest, inch / _REFERENCE_DPI) for marks in overlays]
    for n, panel in enumerate(canvas.panels(scenes, floor, flat)):
        line, column = divmod(n, columns)
        sheet[line * line_height : line * line_height + canvas.height, column * width : (column + 1) * width] = panel
    figure = import_pyplot().figure(figsize=(sheet.shape[1] / inch, sheet.shape[0] / inch), dpi=inch, facecolor=BACKGROUND)
    figure.figimage(sheet, origin="upper")
    for n, label in enumerate(labels):
        line, column = divmod(n, columns)
        y = 1 - (line * line_height + canvas.height + 0.02 * inch) / sheet.shape[0]
        figure.text((column + 0.5) / columns, y, label, ha="center", va="top", color=_TEXT_COLOR, fontsize=8.5)
    if len(tips):
        cut = any(marks.ends(scale, longest)[1].any() for marks in overlays)
        _draw_scale(figure, settings, scale / canvas.pixel, longest / canvas.pixel if cut else np.inf)
    save_figure(figure, path, dpi=inch, facecolor=BACKGROUND)


def _scale(overlays: Sequence[ForceMarks], settings: ViewSettings) -> float:
    """Scale of the arrows [m/N]: by the total weight, or, if there is none, by the largest force."""
    weight = max([marks.weight for marks in overlays], default=0.0)
    largest = max([float(np.linalg.norm(marks.force, axis=1).max(initial=0.0)) for marks in overlays], default=0.0)
    return validation.number(settings.weight_length, "weight_length", above=0.0) / (weight or largest or 1.0)


def _draw_scale(figure: Any, settings: ViewSettings, scale: float, longest: float) -> None:
    """Draw the legend: an arrow with its force, at a scale [pixels/N], and the force beyond which arrows are cut."""
    inch = settings.pixels_per_inch
    wide, high = (size * inch for size in figure.get_size_inches())
    force = _round_below(min(inch, 0.3 * wide) / scale)
    start = np.array((0.1 * inch, 0.5 * _LEGEND_HEIGHT * inch, 0.0))
    end = start + np.array((force * scale, 0.0, 0.0))
    for triangle in arrow(start, end, np.array((0.0, 0.0, 1.0)), inch / _REFERENCE_DPI):
        corners = triangle[:, :2] / (wide, high)
        figure.add_artist(import_pyplot().Polygon(corners, transform=figure.transFigure, color=ARROW_COLOR, linewidth=0))
    more = f"; broken: more than {float(f'{longest / scale:.3g}'):g} N" if np.isfinite(longest) else ""
    x, y = (end[0] + 0.06 * inch) / wide, start[1] / high
    figure.text(x, y, f"{force:g} N{more}", ha="left", va="center", color=_TEXT_COLOR, fontsize=8.5)


def _round_below(x: float) -> float:
    """Largest of 1, 2, 5, 10, 20, ... that does not exceed x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(n * power for n in (0.5, 1, 2, 5) if n * power <= x))
