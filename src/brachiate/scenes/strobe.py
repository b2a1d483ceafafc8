"""Strobe pictures: a recording at a few moments, side by side in panels of one scale, as the papers print them.

Parallel projection, so that every panel shows a thing in the same size and shape; the nearest surface wins at every pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors
from brachiate.doors import Array
from brachiate.errors import ArgumentError
from brachiate.kinematics import link_poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.model.shapes import Plane
from brachiate.show.draw import PAPER, View
from brachiate.show.plots import pyplot, save
from brachiate.simulate.recording import Recording

_INCH = 160  # pixels
_FINE = 3  # pixels are first so many times finer either way
_ROUND = 14  # how finely round shapes are cut
_PLAIN = (0.60, 0.64, 0.70)  # a shape without a colour of its own
_LIGHT = np.array((0.35, -0.45, 0.82)) / np.linalg.norm((0.35, -0.45, 0.82))  # towards the light, world axes
_AMBIENT = 0.52
_INK = (0.35, 0.37, 0.40)
_FLOOR, _LINES, _SHADOW = np.array((0.955, 0.955, 0.95)), np.array((0.90, 0.90, 0.895)), np.array((0.875, 0.875, 0.87))
_FEW = 3  # panels are not larger than if there were so many in a row
_PALEST = 0.35  # strength of the first moment, where all are in one panel
_UPRIGHT = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])  # turns y to where z was
_EDGE_ON = 1e-3  # [pixels²] what is seen from the side covers nothing
_LARGE = 64  # [pixels]
_MOST = 1 << 21  # pixels that are looked at in one go


@dataclass(frozen=True)
class Look:
    """From where a scene is looked at, and when."""

    view: View = field(default_factory=View)
    times: tuple[float, ...] = ()  # [s]; none: so many as there are columns, evenly over the run
    columns: int = 6  # panels in a row
    ground: bool = True  # whether there is one, at z = 0
    up: str = "z"  # which axis of the world is up in the picture: y or z
    together: bool = False  # all moments in one panel, the earlier the paler
    width: float = 9.0  # of a full row [inch]


class Triangles(NamedTuple):
    """A surface: corners (n, 3, 3) [m], outward normals (n, 3), colours (n, 3)."""

    corners: Array
    normals: Array
    colors: Array


def strobe(run: Recording, path: str | PathLike[str], look: Look | None = None, times: ArrayLike | None = None) -> None:
    """Draw a recording at a few moments into one picture.

    Args:
        run: What happened.
        path: Where to write; the ending says the format (.png, .svg, .pdf).
        look: From where, and when.
        times: Moments [s] instead of those of ``look``; what was not recorded is left out.
    """
    look = look if look is not None else Look()
    rows = _rows(run, look, times)
    parts = _parts(run.model)
    if not parts:
        raise ArgumentError("Nothing in this recording has a shape that can be drawn.")
    data = Data(run.model, run.gravity)
    moments = []
    for row in rows:
        data.assign(q=run.q[row])
        moments.append(_placed(parts, data, _UPRIGHT if look.up == "y" else np.eye(3)))
    labels = [f"{run.time[row]:.{_digits(run)}f} s" for row in rows]
    if look.together:
        moments, labels, look = [_overlaid(moments)], [], replace(look, columns=1)
    _compose(moments, labels, look, path)


def _rows(run: Recording, look: Look, times: ArrayLike | None) -> list[int]:
    """Rows of a recording nearest to some moments."""
    given = look.times if times is None else np.atleast_1d(doors.reals(times, "times", "moments [s]"))
    wanted = np.asarray(given if len(given) else np.linspace(run.time[0], run.time[-1], look.columns), float)
    slack = 1e-6 + 0.51 * float(np.diff(run.time).max(initial=0.0))
    wanted = wanted[(wanted >= run.time[0] - slack) & (wanted <= run.time[-1] + slack)]
    return sorted({int(np.abs(run.time - t).argmin()) for t in wanted}) or [len(run) - 1]


def _digits(run: Recording) -> int:
    """Decimals by which moments can be told apart."""
    return int(np.clip(np.ceil(1 - np.log10(max(run.time[-1] - run.time[0], 1e-9))), 2, 6))


# --- surfaces -------------------------------------------------------------------------------------


def _parts(model: Model) -> dict[str, Triangles]:
    """Surface of every link that has one, in the link's axes. Planes, which have no end, are left out."""
    parts = {}
    for name, link in model.links.items():
        pieces = []
        for shape in link.shapes:
            if not isinstance(shape, Plane):
                vertices, triangles = shape.surface(_ROUND)
                corners = vertices[triangles]
                normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
                size = np.linalg.norm(normals, axis=1, keepdims=True)
                solid = size[:, 0] > 0
                color = np.tile(np.array(shape.color[:3] if shape.color else _PLAIN), (int(solid.sum()), 1))
                pieces.append(Triangles(corners[solid], (normals / np.where(size > 0, size, 1.0))[solid], color))
        if pieces:
            parts[name] = _joined(pieces)
    return parts


def _placed(parts: dict[str, Triangles], data: Data, turn: Array) -> Triangles:
    """All surfaces where their links are, in the colour the light gives them."""
    poses = link_poses(data)
    pieces = []
    for name, part in parts.items():
        R, p = turn @ poses[name].rotation, turn @ poses[name].position
        normals = part.normals @ R.T
        bright = np.clip((normals @ _LIGHT + 0.35) / 1.35, 0.0, 1.0)  # Lambert's law, wrapped around a little
        shade = _AMBIENT + (1.08 - _AMBIENT) * bright[:, None]
        pieces.append(Triangles(part.corners @ R.T + p, normals, np.clip(part.colors * shade, 0.0, 1.0)))
    return _joined(pieces)


def _joined(pieces: list[Triangles]) -> Triangles:
    return Triangles(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _overlaid(moments: list[Triangles]) -> Triangles:
    """All in one, the earlier the paler; of what does not move, the last is in front by a hair."""
    strength = np.linspace(_PALEST, 1.0, len(moments)) if len(moments) > 1 else np.ones(1)
    return _joined([m._replace(colors=PAPER + a * (m.colors - PAPER)) for a, m in zip(strength, moments, strict=True)])


# --- the page -------------------------------------------------------------------------------------


class _Page:
    """A panel of so many pixels that shows a rectangle of the projected world."""

    def __init__(self, view: View, left: Array, right: Array, columns: int) -> None:
        self.axes, self.low = axes_of(view), left
        self.scale = columns / (right - left)[0]
        self.shape = int(np.ceil((right - left)[1] * self.scale)), columns

    def pixels(self, corners: Array) -> Array:
        """Corners (n, 3, 3) of the world as column, row and depth towards the eye."""
        seen = corners @ self.axes.T
        seen[..., :2] = (seen[..., :2] - self.low) * self.scale
        return seen

    def blank(self) -> Array:
        image = np.empty((*self.shape, 3))
        image[:] = PAPER
        return image

    def paint(self, image: Array, corners: Array, colors: Array) -> None:
        """Paint triangles; at every pixel the one nearest to the eye shows, of equals the last."""
        seen, colors = _small(self.pixels(corners), colors)
        low = np.floor(seen[..., :2].min(axis=1)).astype(int)
        wide = np.ceil(seen[..., :2].max(axis=1)).astype(int) - low + 1
        wide = 1 << np.ceil(np.log2(wide)).astype(int)  # columns and rows of pixels that are looked at
        where, depth, owner = [], [], []
        for w, h in np.unique(wide, axis=0):
            for group in _chunks(np.flatnonzero((wide == (w, h)).all(axis=1)), max(1, _MOST // int(w * h))):
                for kept, result in zip((where, depth, owner), self._covered(seen[group], low[group], (w, h), group), strict=True):
                    kept.append(result)
        order = np.argsort(np.concatenate(depth), kind="stable")
        image.reshape(-1, 3)[np.concatenate(where)[order]] = colors[np.concatenate(owner)[order]]

    def _covered(self, seen: Array, low: Array, wide: tuple[int, int], group: Array) -> tuple[Array, Array, Array]:
        """Pixels whose middles are inside of triangles: their numbers, depths and owners."""
        x = (low[:, :1] + np.arange(wide[0]))[:, None, :] + 0.5
        y = (low[:, 1:] + np.arange(wide[1]))[:, :, None] + 0.5
        (xa, ya, za), (xb, yb, zb), (xc, yc, zc) = (np.moveaxis(seen[:, i], 1, 0)[..., None, None] for i in range(3))
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        area = np.where(np.abs(area) < _EDGE_ON, np.nan, area)
        b = ((x - xa) * (yc - ya) - (xc - xa) * (y - ya)) / area
        c = ((xb - xa) * (y - ya) - (x - xa) * (yb - ya)) / area
        inside = (b >= 0) & (c >= 0) & (b + c <= 1)
        inside &= ((x >= 0) & (x < self.shape[1])) & ((y >= 0) & (y < self.shape[0]))
        n, i, j = np.nonzero(inside)
        bn, cn = b[n, i, j], c[n, i, j]
        depth = za[n, 0, 0] * (1 - bn - cn) + zb[n, 0, 0] * bn + zc[n, 0, 0] * cn
        return (low[n, 1] + i) * self.shape[1] + low[n, 0] + j, depth, group[n]


def axes_of(view: View) -> Array:
    """Rows: to the right and up on the page, and towards the eye."""
    a, towards = np.radians(view.around), view.direction()
    right = np.array((-np.sin(a), np.cos(a), 0.0))
    return np.stack([right, np.cross(towards, right), towards])


def _small(seen: Array, colors: Array) -> tuple[Array, Array]:
    """Cut large triangles into four, again and again, so that the rectangles around them are not much more than they cover."""
    while (large := (np.ptp(seen[..., :2], axis=1) > _LARGE).any(axis=1)).any():
        a, b, c = np.moveaxis(seen[large], 1, 0)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        pieces = [np.stack(piece, axis=1) for piece in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        seen, colors = np.concatenate([seen[~large], *pieces]), np.concatenate([colors[~large], *[colors[large]] * 4])
    return seen, colors


def _chunks(values: Array, size: int) -> list[Array]:
    return [values[i : i + size] for i in range(0, len(values), size)]


def _compose(moments: list[Triangles], labels: list[str], look: Look, path: str | PathLike[str]) -> None:
    """Paint every moment into its panel, and write the page."""
    everything = np.concatenate([m.corners.reshape(-1, 3) for m in moments])
    floor = _Floor(everything.min(axis=0), everything.max(axis=0)) if look.ground else None
    on_page = np.concatenate([everything, floor.corners] if floor else [everything]) @ axes_of(look.view)[:2].T
    margin = 0.02 * max(np.ptp(on_page, axis=0))
    columns = min(look.columns, len(moments))
    across = int(look.width * _INCH / min(look.columns, max(columns, _FEW)))  # pixels of a panel
    page = _Page(look.view, on_page.min(axis=0) - margin, on_page.max(axis=0) + margin, _FINE * across)
    foot = int(0.24 * _INCH) if labels else 0
    high = -(-page.shape[0] // _FINE)
    lines = -(-len(moments) // columns)
    sheet = np.empty((lines * (high + foot), columns * across, 3))
    sheet[:] = PAPER
    empty = page.blank()
    if floor is not None:
        floor.paint(page, empty)
    for n, moment in enumerate(moments):
        line, column = divmod(n, columns)
        panel = _downsized(_panel(page, empty.copy(), moment, look.ground), high, across)
        sheet[line * (high + foot) : line * (high + foot) + high, column * across : (column + 1) * across] = panel
    figure = pyplot().figure(figsize=(sheet.shape[1] / _INCH, sheet.shape[0] / _INCH), dpi=_INCH, facecolor=PAPER)
    figure.figimage(sheet, origin="upper")
    for n, label in enumerate(labels):
        line, column = divmod(n, columns)
        y = 1 - (line * (high + foot) + high + 0.02 * _INCH) / sheet.shape[0]
        figure.text((column + 0.5) / columns, y, label, ha="center", va="top", color=_INK, fontsize=8.5)
    save(figure, path, dpi=_INCH, facecolor=PAPER)


def _panel(page: _Page, image: Array, moment: Triangles, ground: bool) -> Array:
    """One moment on an empty panel: shadows of light from straight above, then everything that looks this way."""
    if ground:
        above = (moment.normals[:, 2] > 1e-6) & (moment.corners[:, :, 2].max(axis=1) > 0)
        fallen = moment.corners[above] * (1.0, 1.0, 0.0)
        page.paint(image, fallen, np.tile(_SHADOW, (len(fallen), 1)))
    seen = moment.normals @ page.axes[2] > -0.05
    page.paint(image, moment.corners[seen], moment.colors[seen])
    return image[::-1]  # rows of a picture go down


def _downsized(image: Array, high: int, across: int) -> Array:
    full = np.empty((high * _FINE, across * _FINE, 3))
    full[:] = PAPER
    full[-image.shape[0] :] = image
    return full.reshape(high, _FINE, across, _FINE, 3).mean(axis=(1, 3))


class _Floor:
    """A piece of ground at z = 0 under everything, with lines half a metre apart (less for small things)."""

    def __init__(self, low: Array, high: Array) -> None:
        step = min(0.5, 0.5 * 10 ** np.floor(np.log10(max(high - low))))
        a, b = low[:2] - 0.2 * step, high[:2] + 0.2 * step
        self.corners = _level(a, b)
        self.thick = 0.004 * float(max(b - a))
        first = np.ceil(a / step) * step
        half = self.thick / 2
        self.lines = [_level((x - half, a[1]), (x + half, b[1])) for x in np.arange(first[0], b[0], step)]
        self.lines += [_level((a[0], y - half), (b[0], y + half)) for y in np.arange(first[1], b[1], step)]

    def paint(self, page: _Page, image: Array) -> None:
        """Paint the ground and its lines."""
        for corners, color in [(self.corners, _FLOOR), *((line, _LINES) for line in self.lines)]:
            page.paint(image, corners[[(0, 1, 2), (0, 2, 3)]], np.stack([color, color]))


def _level(a: ArrayLike, b: ArrayLike) -> Array:
    """Corners of a rectangle at z = 0."""
    (xa, ya), (xb, yb) = np.asarray(a, float), np.asarray(b, float)
    return np.array([(xa, ya, 0.0), (xb, ya, 0.0), (xb, yb, 0.0), (xa, yb, 0.0)])
