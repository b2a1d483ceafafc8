"""A page of pixels that surfaces are painted on: parallel projection, and the nearest surface wins at every pixel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate.compiled import entry, kernel
from brachiate.show.surface import PAPER, Triangles
from brachiate.validation import Array

_FINE = 2  # pixels are first so many times finer either way
_MARGIN = 0.02  # around everything, as a part of its size
_THROUGH = 0.6  # strength of what shows through
_BEHIND = 3.0  # [pixels] what is not farther behind a surface lies on it
_FLOOR, _LINES, _SHADOW = np.array((0.955, 0.955, 0.95)), np.array((0.90, 0.90, 0.895)), np.array((0.875, 0.875, 0.87))
EDGE_ON = 1e-3  # [pixels²] what is seen from the side covers nothing
CLOSE = 1e-9  # [pixels] so that no pixel is lost between two triangles


@dataclass(frozen=True)
class View:
    """From where a picture is taken [deg]: ``around`` counts from the front (x) towards the left (y)."""

    around: float = -60.0
    above: float = 12.0

    def axes(self) -> Array:
        """Rows: to the right and up on the page, and towards the eye."""
        a, h = np.radians((self.around, self.above))
        towards = np.array((np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)))
        right = np.array((-np.sin(a), np.cos(a), 0.0))
        return np.stack([right, np.cross(towards, right), towards])


class Flat(NamedTuple):
    """Triangles that face the eye and know no light: corners [m] and colours there, each (n, 3, 3)."""

    corners: Array
    colors: Array


class Page:
    """A panel that shows some points of the world and everything between them, so many pixels wide, or less if it gets too high."""

    def __init__(self, view: View, points: Array, across: int, tallest: float = np.inf) -> None:
        self.axes = view.axes()
        seen = points @ self.axes[:2].T
        margin = _MARGIN * max(np.ptp(seen, axis=0))
        self.low = seen.min(axis=0) - margin
        wide, tall = seen.max(axis=0) + margin - self.low
        self.across = int(min(across, tallest * wide / tall))
        self.scale = _FINE * self.across / wide
        self.shape = int(np.ceil(tall * self.scale)), _FINE * self.across
        self.high = -(-self.shape[0] // _FINE)  # pixels

    @property
    def pixel(self) -> float:
        """Size of a pixel [m]."""
        return _FINE / self.scale

    def panels(self, moments: Sequence[Triangles], floor: Floor | None, over: Sequence[Flat] = ()) -> Iterator[Array]:
        """Images (high, across, 3) of moments, one after the other, on the same ground if there is one; ``over`` is drawn over each."""
        empty = np.empty((*self.shape, 3), np.float32)
        empty[:] = PAPER
        if floor is not None:
            floor.paint(self, empty)
        for moment, flat in zip_longest(moments, over):
            yield self._downsized(self._panel(empty.copy(), moment, floor is not None, flat))

    def _panel(self, image: Array, moment: Triangles, ground: bool, over: Flat | None) -> Array:
        """One moment on an empty panel: shadows of light from straight above, then everything that looks this way."""
        if ground:
            above = (moment.normals[..., 2] > 1e-6).any(axis=1) & (moment.corners[..., 2] > 0).any(axis=1)
            fallen = moment.corners[above] * (1.0, 1.0, 0.0)
            self.paint(image, fallen, np.tile(_SHADOW, (len(fallen), 3, 1)))
        seen = (moment.normals @ self.axes[2] > 0.0).any(axis=1)
        depth = self.paint(image, moment.corners[seen], moment.colors[seen])
        if over is not None and len(over.corners):
            self._lay_over(image, depth, over)
        return image[::-1]  # rows of a picture go down

    def _lay_over(self, image: Array, depth: Array, over: Flat) -> None:
        """Paint something that shows through all that hides it."""
        laid = image.copy()
        near = self.paint(laid, over.corners, over.colors)
        hidden = near < depth - _BEHIND * self.pixel
        image[...] = np.where(hidden[..., None], (1 - _THROUGH) * image + _THROUGH * laid, laid)

    def _downsized(self, image: Array) -> Array:
        full = np.empty((self.high * _FINE, self.across * _FINE, 3), np.float32)
        full[:] = PAPER
        full[-image.shape[0] :] = image
        return np.mean([full[i::_FINE, j::_FINE] for i in range(_FINE) for j in range(_FINE)], axis=0)

    def paint(self, image: Array, corners: Array, colors: Array) -> Array:
        """Paint triangles, colours given at their corners; at every pixel the one nearest to the eye shows, of equals the last.

        Returns how near that is, -inf where none is.
        """
        seen = corners @ self.axes.T
        seen[..., :2] = (seen[..., :2] - self.low) * self.scale
        depth = np.full(image.shape[:2], -np.inf)
        _paint(seen, colors, image, depth)
        return depth


@entry
def _paint(seen, colors, image, depth):
    """Paint triangles whose corners are given as column, row and depth towards the eye. A pixel is covered if its middle is."""
    high, wide = depth.shape
    for n in range(seen.shape[0]):
        xa, ya, za = seen[n, 0, 0] - 0.5, seen[n, 0, 1] - 0.5, seen[n, 0, 2]
        xb, yb, zb = seen[n, 1, 0] - 0.5 - xa, seen[n, 1, 1] - 0.5 - ya, seen[n, 1, 2] - za
        xc, yc, zc = seen[n, 2, 0] - 0.5 - xa, seen[n, 2, 1] - 0.5 - ya, seen[n, 2, 2] - za
        area = xb * yc - xc * yb
        if abs(area) < EDGE_ON:
            continue
        lowest, highest = ya + min(0.0, yb, yc), ya + max(0.0, yb, yc)
        for i in range(max(0, math.ceil(lowest)), min(high, math.floor(highest) + 1)):
            y = i - ya
            left, right = -xa, wide - 1.0 - xa  # of the row that is inside: where all three of these are not negative
            left, right = inside(left, right, yc / area, -xc * y / area)
            left, right = inside(left, right, -yb / area, xb * y / area)
            left, right = inside(left, right, (yb - yc) / area, 1.0 - (xb - xc) * y / area)
            for j in range(math.ceil(xa + left - CLOSE), math.floor(xa + right + CLOSE) + 1):
                b, c = ((j - xa) * yc - xc * y) / area, (xb * y - (j - xa) * yb) / area
                z = za + b * zb + c * zc
                if 0 <= j < wide and z >= depth[i, j]:
                    depth[i, j] = z
                    for k in range(3):
                        image[i, j, k] = (1.0 - b - c) * colors[n, 0, k] + b * colors[n, 1, k] + c * colors[n, 2, k]


@kernel
def inside(left, right, slope, start):
    """The part of an interval of x in which start + slope x is not negative; one that ends before it begins is empty."""
    if slope > 0.0:
        left = max(left, -start / slope)
    elif slope < 0.0:
        right = min(right, -start / slope)
    elif start < 0.0:
        right = left - 1.0
    return left, right


class Floor:
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

    def paint(self, page: Page, image: Array) -> None:
        """Paint the ground and its lines."""
        for corners, color in [(self.corners, _FLOOR), *((line, _LINES) for line in self.lines)]:
            page.paint(image, corners[[(0, 1, 2), (0, 2, 3)]], np.tile(color, (2, 3, 1)))


def _level(a: ArrayLike, b: ArrayLike) -> Array:
    """Corners of a rectangle at z = 0."""
    (xa, ya), (xb, yb) = np.asarray(a, float), np.asarray(b, float)
    return np.array([(xa, ya, 0.0), (xb, ya, 0.0), (xb, yb, 0.0), (xa, yb, 0.0)])
