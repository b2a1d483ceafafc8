"""Software renderer: rasterizes surfaces onto a pixel canvas in parallel projection, with a depth buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate.compiled import Image, Matrix, Rows33, entry, kernel
from brachiate.show.surface import BACKGROUND, Triangles
from brachiate.validation import Array

_SUPERSAMPLING = 2  # factor of the antialiasing, in both directions
_MARGIN = 0.02  # around everything, as a share of its size
_OVERLAY_OPACITY = 0.6  # opacity of hidden overlays
_OVERLAY_DEPTH = 3.0  # [pixels] depth up to which an overlay behind a surface counts as on it
_FLOOR, _LINES, _SHADOW = np.array((0.955, 0.955, 0.95)), np.array((0.90, 0.90, 0.895)), np.array((0.875, 0.875, 0.87))
MIN_AREA = 1e-3  # [pixels²] of a triangle; smaller ones are seen edge-on
PIXEL_TOLERANCE = 1e-9  # [pixels] closes gaps between adjacent triangles


@dataclass(frozen=True)
class Camera:
    """Camera direction [deg]: azimuth from the front (x) towards the left (y), elevation above the horizon."""

    azimuth: float = -60.0
    elevation: float = 12.0

    def axes(self) -> Array:
        """Camera axes as rows: right, up, and towards the camera (3, 3)."""
        a, h = np.radians((self.azimuth, self.elevation))
        towards = np.array((np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)))
        right = np.array((-np.sin(a), np.cos(a), 0.0))
        return np.stack([right, np.cross(towards, right), towards])


class FlatTriangles(NamedTuple):
    """Unshaded triangles that face the camera: corners [m] and colors at the corners, each (n, 3, 3)."""

    corners: Array
    colors: Array


class Canvas:
    """Panel that shows the bounding box of some points of the world, a given number of pixels wide, less if it would be too high."""

    def __init__(self, camera: Camera, points: Array, width: int, max_height: float = np.inf) -> None:
        self.axes = camera.axes()
        seen = self.axes[:2] @ points.T  # one row per axis: with one column each, products and extremes of millions of points are slow
        low, high = seen.min(axis=1), seen.max(axis=1)
        margin = _MARGIN * max(high - low)
        self.low = low - margin
        wide, tall = high + margin - self.low
        self.width = int(min(width, max_height * wide / tall))
        self.scale = _SUPERSAMPLING * self.width / wide
        self.shape = int(np.ceil(tall * self.scale)), _SUPERSAMPLING * self.width
        self.height = -(-self.shape[0] // _SUPERSAMPLING)  # pixels

    @property
    def pixel(self) -> float:
        """Size of a pixel [m]."""
        return _SUPERSAMPLING / self.scale

    def panels(self, scenes: Sequence[Triangles], floor: GroundPlane | None, overlays: Sequence[FlatTriangles] = ()) -> Iterator[Array]:
        """Images (height, width, 3) of scenes, on the same floor if there is one; ``overlays`` are drawn over each."""
        empty = np.empty((*self.shape, 3), np.float32)
        empty[:] = BACKGROUND
        if floor is not None:
            floor.paint(self, empty)
        for scene, overlay in zip_longest(scenes, overlays):
            yield self._downsized(self._panel(empty.copy(), scene, floor is not None, overlay))

    def _panel(self, image: Array, scene: Triangles, shadows: bool, overlay: FlatTriangles | None) -> Array:
        """Render one scene on an empty panel: shadows of a vertical light, then all surfaces that face the camera."""
        if shadows:
            above = (scene.normals[..., 2] > 1e-6).any(axis=1) & (scene.corners[..., 2] > 0).any(axis=1)
            shadow = scene.corners[above] * (1.0, 1.0, 0.0)
            self.paint(image, shadow, np.tile(_SHADOW, (len(shadow), 3, 1)))
        facing = (scene.normals @ self.axes[2] > 0.0).any(axis=1)
        depth = self.paint(image, scene.corners[facing], scene.colors[facing])
        if overlay is not None and len(overlay.corners):
            self._draw_overlay(image, depth, overlay)
        return image[::-1]  # image rows go down

    def _draw_overlay(self, image: Array, depth: Array, overlay: FlatTriangles) -> None:
        """Draw an overlay, semi-transparent where surfaces hide it."""
        drawn = image.copy()
        near = self.paint(drawn, overlay.corners, overlay.colors)
        hidden = near < depth - _OVERLAY_DEPTH * self.pixel
        image[...] = np.where(hidden[..., None], (1 - _OVERLAY_OPACITY) * image + _OVERLAY_OPACITY * drawn, drawn)

    def _downsized(self, image: Array) -> Array:
        missing = self.height * _SUPERSAMPLING - image.shape[0]
        full = np.concatenate((np.full((missing, image.shape[1], 3), BACKGROUND, np.float32), image)) if missing else image
        small = np.zeros((self.height, self.width, 3), np.float32)
        for i, j in product(range(_SUPERSAMPLING), repeat=2):
            small += full[i::_SUPERSAMPLING, j::_SUPERSAMPLING]
        return small / _SUPERSAMPLING**2

    def paint(self, image: Array, corners: Array, colors: Array) -> Array:
        """Rasterize triangles with colors at their corners; the nearest one is visible at every pixel, of equals the last.

        Returns the depth towards the camera, -inf where there is no triangle.
        """
        seen = corners @ self.axes.T
        seen[..., :2] = (seen[..., :2] - self.low) * self.scale
        depth = np.full(image.shape[:2], -np.inf)
        _rasterize(seen, colors, image, depth)
        return depth


@entry
def _rasterize(seen: Rows33, colors: Rows33, image: Image, depth: Matrix):
    """Rasterize triangles with corners as column, row and depth towards the camera. A pixel is covered if its center is."""
    high, wide = depth.shape
    for n in range(seen.shape[0]):
        xa, ya, za = seen[n, 0, 0] - 0.5, seen[n, 0, 1] - 0.5, seen[n, 0, 2]
        xb, yb, zb = seen[n, 1, 0] - 0.5 - xa, seen[n, 1, 1] - 0.5 - ya, seen[n, 1, 2] - za
        xc, yc, zc = seen[n, 2, 0] - 0.5 - xa, seen[n, 2, 1] - 0.5 - ya, seen[n, 2, 2] - za
        area = xb * yc - xc * yb
        if abs(area) < MIN_AREA:
            continue
        lowest, highest = ya + min(0.0, yb, yc), ya + max(0.0, yb, yc)
        for i in range(max(0, math.ceil(lowest)), min(high, math.floor(highest) + 1)):
            y = i - ya
            left, right = -xa, wide - 1.0 - xa  # part of the row inside, where all three barycentric coordinates are not negative
            left, right = clip_interval(left, right, yc / area, -xc * y / area)
            left, right = clip_interval(left, right, -yb / area, xb * y / area)
            left, right = clip_interval(left, right, (yb - yc) / area, 1.0 - (xb - xc) * y / area)
            for j in range(math.ceil(xa + left - PIXEL_TOLERANCE), math.floor(xa + right + PIXEL_TOLERANCE) + 1):
                b, c = ((j - xa) * yc - xc * y) / area, (xb * y - (j - xa) * yb) / area
                z = za + b * zb + c * zc
                if 0 <= j < wide and z >= depth[i, j]:
                    depth[i, j] = z
                    for k in range(3):
                        image[i, j, k] = (1.0 - b - c) * colors[n, 0, k] + b * colors[n, 1, k] + c * colors[n, 2, k]


@kernel
def clip_interval(left, right, slope, start):
    """Part of an interval of x in which start + slope x is not negative; empty if it ends before it begins."""
    if slope > 0.0:
        left = max(left, -start / slope)
    elif slope < 0.0:
        right = min(right, -start / slope)
    elif start < 0.0:
        right = left - 1.0
    return left, right


class GroundPlane:
    """Piece of ground at z = 0 under everything, with grid lines half a meter apart (less for small scenes)."""

    def __init__(self, low: Array, high: Array) -> None:
        step = min(0.5, 0.5 * 10 ** np.floor(np.log10(max(high - low))))
        a, b = low[:2] - 0.2 * step, high[:2] + 0.2 * step
        self.corners = _rectangle(a, b)
        self.line_width = 0.004 * float(max(b - a))
        first = np.ceil(a / step) * step
        half = self.line_width / 2
        self.lines = [_rectangle((x - half, a[1]), (x + half, b[1])) for x in np.arange(first[0], b[0], step)]
        self.lines += [_rectangle((a[0], y - half), (b[0], y + half)) for y in np.arange(first[1], b[1], step)]

    def paint(self, canvas: Canvas, image: Array) -> None:
        """Draw the ground and its grid lines."""
        for corners, color in [(self.corners, _FLOOR), *((line, _LINES) for line in self.lines)]:
            canvas.paint(image, corners[[(0, 1, 2), (0, 2, 3)]], np.tile(color, (2, 3, 1)))


def _rectangle(a: ArrayLike, b: ArrayLike) -> Array:
    """Corners of a rectangle at z = 0."""
    (xa, ya), (xb, yb) = np.asarray(a, float), np.asarray(b, float)
    return np.array([(xa, ya, 0.0), (xb, ya, 0.0), (xb, yb, 0.0), (xa, yb, 0.0)])
