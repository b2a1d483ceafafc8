"""Force arrows and outlines of contact areas, drawn over pictures, facing the camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.show.canvas import Canvas, FlatTriangles
from brachiate.show.surface import BACKGROUND
from brachiate.validation import Array

ARROW_COLOR = np.array((0.72, 0.05, 0.45))  # differs from the colors of figures and objects
MAX_ARROW_LENGTH = 2.0  # relative to the arrow of the weight; longer arrows are cut
_SHAFT_WIDTH, _HEAD_LENGTH, _HEAD_WIDTH, _OUTLINE_WIDTH, _RIM_WIDTH = 2.4, 9.0, 8.0, 1.4, 1.0  # [pixels] at 160 dpi
_GAP = 0.70, 0.78  # range of the gap in a cut arrow, from its start to its tip
_CIRCLE = np.linspace(0, 2 * np.pi, 12, endpoint=False)


class ForceMarks(NamedTuple):
    """Points of application (n, 3) [m] of forces (n, 3) [N]; corners of contact areas, (k, 3) [m] each; weight [N] for the scale."""

    at: Array
    force: Array
    areas: Sequence[Array]
    weight: float

    def turned(self, turn: Array) -> ForceMarks:
        """Return the marks in rotated axes."""
        return ForceMarks(self.at @ turn.T, self.force @ turn.T, [area @ turn.T for area in self.areas], self.weight)

    def ends(self, scale: float, longest: float) -> tuple[Array, Array]:
        """Tips of the arrows [m] at a scale [m/N], and which of them are cut."""
        length = scale * np.linalg.norm(self.force, axis=1)
        cut = length > longest
        return self.at + self.force * (scale * np.where(cut, longest / np.maximum(length, 1e-300), 1.0))[:, None], cut


def draw_marks(marks: ForceMarks, canvas: Canvas, scale: float, longest: float, pen: float) -> FlatTriangles:
    """Triangles of the outlines, and over them of the arrows with a rim in background color; ``pen``: line width unit [pixels]."""
    eye, pen = canvas.axes[2], pen * canvas.pixel
    tips, cut = marks.ends(scale, longest)
    inked = [outline(area, eye, _OUTLINE_WIDTH * pen) for area in marks.areas]
    rims = []
    for a, b, broken in zip(marks.at, tips, cut, strict=True):
        inked.append(arrow(a, b, eye, pen, broken))
        rims.append(arrow(a, b, eye, pen, broken, _RIM_WIDTH) - _RIM_WIDTH * pen * eye)
    none = np.zeros((0, 3, 3))
    ink, rim = np.concatenate([none, *inked]), np.concatenate([none, *rims])
    return FlatTriangles(np.concatenate([rim, ink]), np.concatenate([_uniform_color(rim, BACKGROUND), _uniform_color(ink, ARROW_COLOR)]))


def arrow(start: Array, end: Array, eye: Array, pen: float, broken: bool = False, rim: float = 0.0) -> Array:
    """Triangles (n, 3, 3) of an arrow that faces the camera, widened by a rim; short arrows have a smaller head."""
    along = end - start
    length = float(np.linalg.norm(along - (along @ eye) * eye))  # in projection
    if length < _SHAFT_WIDTH * pen:
        return np.zeros((0, 3, 3))
    side = np.cross(eye, along)
    side /= np.linalg.norm(side)
    unit = along / length
    size = min(1.0, length / (1.6 * _HEAD_LENGTH * pen))
    neck = end - unit * (size * _HEAD_LENGTH * pen)
    half, wing, rim = 0.5 * _SHAFT_WIDTH * size * pen, 0.5 * _HEAD_WIDTH * size * pen, rim * pen
    parts = [(start, start + _GAP[0] * along), (start + _GAP[1] * along, neck)] if broken else [(start, neck)]
    shaft = [_ribbon(a - rim * unit, b + rim * unit, (half + rim) * side) for a, b in parts]
    foot, tip, out = neck - rim * unit, end + 2 * rim * unit, (wing + 1.6 * rim) * side
    return np.concatenate([*shaft, np.array([[foot - out, foot + out, tip]])])


def outline(area: Array, eye: Array, wide: float) -> Array:
    """Triangles (n, 3, 3) of the outline of an area, facing the camera: a dot for a point, a line for a segment."""
    pieces = [_dot(corner, eye, wide * (1.2 if len(area) == 1 else 0.5)) for corner in area]
    for a, b in zip(area, np.roll(area, -1, axis=0), strict=True):
        side = np.cross(eye, b - a)
        length = float(np.linalg.norm(side))
        if length > 0:
            pieces.append(_ribbon(a, b, 0.5 * wide / length * side))
    return np.concatenate(pieces)


def _ribbon(a: Array, b: Array, half: Array) -> Array:
    return np.array([(a - half, a + half, b + half), (a - half, b + half, b - half)])


def _dot(middle: Array, eye: Array, radius: float) -> Array:
    across = np.cross(eye, np.eye(3)[np.abs(eye).argmin()])
    across /= np.linalg.norm(across)
    rim = middle + radius * (np.outer(np.cos(_CIRCLE), across) + np.outer(np.sin(_CIRCLE), np.cross(eye, across)))
    return np.stack([np.broadcast_to(middle, rim.shape), rim, np.roll(rim, -1, axis=0)], axis=1)


def _uniform_color(corners: Array, color: Array) -> Array:
    return np.tile(color, (len(corners), 3, 1))
