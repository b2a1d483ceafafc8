"""Forces and contact areas, drawn over pictures: flat arrows and outlines that face the eye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.show.page import Flat, Page
from brachiate.show.surface import PAPER
from brachiate.validation import Array

INK = np.array((0.72, 0.05, 0.45))  # unlike all that figures and things are painted with
LONGEST = 2.0  # arrows are cut there: so many times the length of that of the weight
_SHAFT, _HEAD, _WIDE, _LINE, _RIM = 2.4, 9.0, 8.0, 1.4, 1.0  # [pixels] at 160 to an inch
_GAP = 0.70, 0.78  # where an arrow that was cut is broken, from its foot to its tip
_AROUND = np.linspace(0, 2 * np.pi, 12, endpoint=False)


class Marks(NamedTuple):
    """Forces (n, 3) [N] and where they act (n, 3) [m]; corners of areas, (k, 3) [m] each; a weight [N] to compare forces with."""

    at: Array
    force: Array
    areas: Sequence[Array]
    weight: float

    def turned(self, turn: Array) -> Marks:
        """The same in axes that are turned."""
        return Marks(self.at @ turn.T, self.force @ turn.T, [area @ turn.T for area in self.areas], self.weight)

    def ends(self, scale: float, longest: float) -> tuple[Array, Array]:
        """Tips of the arrows [m] at so many metres a newton, and which of them are cut."""
        length = scale * np.linalg.norm(self.force, axis=1)
        cut = length > longest
        return self.at + self.force * (scale * np.where(cut, longest / np.maximum(length, 1e-300), 1.0))[:, None], cut


def drawn(marks: Marks, page: Page, scale: float, longest: float, pen: float) -> Flat:
    """Outlines, and over them arrows with a rim of paper, by a pen of so many pixels."""
    eye, pen = page.axes[2], pen * page.pixel
    tips, cut = marks.ends(scale, longest)
    inked = [outline(area, eye, _LINE * pen) for area in marks.areas]
    rims = []
    for a, b, broken in zip(marks.at, tips, cut, strict=True):
        inked.append(arrow(a, b, eye, pen, broken))
        rims.append(arrow(a, b, eye, pen, broken, _RIM) - _RIM * pen * eye)
    none = np.zeros((0, 3, 3))
    ink, rim = np.concatenate([none, *inked]), np.concatenate([none, *rims])
    return Flat(np.concatenate([rim, ink]), np.concatenate([_plain(rim, PAPER), _plain(ink, INK)]))


def arrow(start: Array, end: Array, eye: Array, pen: float, broken: bool = False, rim: float = 0.0) -> Array:
    """Triangles (n, 3, 3) of an arrow that faces the eye, wider by a rim all around; short ones have a smaller head."""
    along = end - start
    length = float(np.linalg.norm(along - (along @ eye) * eye))  # as seen
    if length < _SHAFT * pen:
        return np.zeros((0, 3, 3))
    side = np.cross(eye, along)
    side /= np.linalg.norm(side)
    unit = along / length
    size = min(1.0, length / (1.6 * _HEAD * pen))
    neck = end - unit * (size * _HEAD * pen)
    half, wing, rim = 0.5 * _SHAFT * size * pen, 0.5 * _WIDE * size * pen, rim * pen
    parts = [(start, start + _GAP[0] * along), (start + _GAP[1] * along, neck)] if broken else [(start, neck)]
    shaft = [_ribbon(a - rim * unit, b + rim * unit, (half + rim) * side) for a, b in parts]
    foot, tip, out = neck - rim * unit, end + 2 * rim * unit, (wing + 1.6 * rim) * side
    return np.concatenate([*shaft, np.array([[foot - out, foot + out, tip]])])


def outline(area: Array, eye: Array, wide: float) -> Array:
    """Triangles (n, 3, 3) of the outline of an area that faces the eye: a dot for a point, a line for a segment."""
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
    rim = middle + radius * (np.outer(np.cos(_AROUND), across) + np.outer(np.sin(_AROUND), np.cross(eye, across)))
    return np.stack([np.broadcast_to(middle, rim.shape), rim, np.roll(rim, -1, axis=0)], axis=1)


def _plain(corners: Array, color: Array) -> Array:
    return np.tile(color, (len(corners), 3, 1))
