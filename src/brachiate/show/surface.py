"""Surfaces of models: triangles in the colour that the light gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.kinematics import link_poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule, Ellipsoid, Plane, Shape, Sphere
from brachiate.validation import Array

PAPER = np.array((0.985, 0.985, 0.98))
_ROUND = 12  # how finely round shapes are cut
_PLAIN = (0.60, 0.64, 0.70)  # a shape without a colour of its own
_LIGHT = np.array((0.35, -0.45, 0.82)) / np.linalg.norm((0.35, -0.45, 0.82))  # towards the light, world axes
_AMBIENT = 0.52


class Triangles(NamedTuple):
    """A surface: corners [m], outward normals and colours there, each (n, 3, 3)."""

    corners: Array
    normals: Array
    colors: Array

    def faded(self, strength: float) -> Triangles:
        """The same mixed with the paper: 1 is full colour. What is transparent instead would show every seam."""
        return self._replace(colors=PAPER + strength * (self.colors - PAPER))


def joined(pieces: Sequence[Triangles]) -> Triangles:
    """Several surfaces as one."""
    if not pieces:
        return Triangles(*np.zeros((3, 0, 3, 3)))
    return Triangles(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def parts_of(model: Model) -> dict[str, Triangles]:
    """Surface of every link that has one, in the link's axes. Planes, which have no end, are left out."""
    shapes = {name: [shape for shape in link.shapes if not isinstance(shape, Plane)] for name, link in model.links.items()}
    return {name: joined([_surface(shape) for shape in found]) for name, found in shapes.items() if found}


def lit(parts: dict[str, Triangles], data: Data, turn: Array | None = None) -> Triangles:
    """All parts where their links are at ``data.q``, turned if wanted, in the colour the light gives them."""
    poses, turn = link_poses(data), np.eye(3) if turn is None else turn
    pieces = []
    for name, part in parts.items():
        R, p = turn @ poses[name].rotation, turn @ poses[name].position
        normals = part.normals @ R.T
        # Lambert's law, wrapped around a little: a hard terminator makes round bodies look flat.
        bright = np.clip((normals @ _LIGHT + 0.35) / 1.35, 0.0, 1.0)
        shade = _AMBIENT + (1.08 - _AMBIENT) * bright[..., None]
        pieces.append(Triangles(part.corners @ R.T + p, normals, np.clip(part.colors * shade, 0.0, 1.0)))
    return joined(pieces)


def _surface(shape: Shape) -> Triangles:
    """Surface of a shape in its link's axes, without triangles that have no area (those of files may)."""
    vertices, triangles = shape.surface(_ROUND)
    corners = vertices[triangles]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    solid = np.linalg.norm(flat, axis=1) > 0
    corners, normals = corners[solid], _normals(shape, corners[solid], flat[solid])
    color = np.array(shape.color[:3] if shape.color else _PLAIN)
    return Triangles(corners, normals / np.linalg.norm(normals, axis=2, keepdims=True), np.tile(color, (len(corners), 3, 1)))


def _normals(shape: Shape, corners: Array, flat: Array) -> Array:
    """Normals of the true surface where it is round, so that no edges show; else those of the triangles."""
    x = (corners - shape.position) @ shape.rotation
    match shape:
        case Ellipsoid():
            n = x / shape.radii**2
        case Sphere():
            n = x
        case Capsule():
            half = shape.length / 2
            n = x - np.clip(x[..., 2:], -half, half) * (0.0, 0.0, 1.0)
        case _:
            return np.repeat(flat[:, None], 3, axis=1)
    return n @ shape.rotation.T
