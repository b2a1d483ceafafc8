"""Surfaces of models: shaded triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.kinematics import link_poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule, Ellipsoid, Plane, Shape, Sphere
from brachiate.validation import Array

BACKGROUND = np.array((0.985, 0.985, 0.98))
_ROUND_SEGMENTS = 12  # resolution of round shapes
_DEFAULT_COLOR = (0.60, 0.64, 0.70)  # of shapes without a color
_LIGHT = np.array((0.35, -0.45, 0.82)) / np.linalg.norm((0.35, -0.45, 0.82))  # direction to the light, world axes
_AMBIENT = 0.52


class Triangles(NamedTuple):
    """Surface: corners [m], outward normals and colors at the corners, each (n, 3, 3)."""

    corners: Array
    normals: Array
    colors: Array

    def faded(self, strength: float) -> Triangles:
        """Return the surface with its colors mixed with the background: 1 is full color. Transparency would show the seams."""
        return self._replace(colors=BACKGROUND + strength * (self.colors - BACKGROUND))

    def turned(self, rotation: Array) -> Triangles:
        """Return the surface rotated about the origin."""
        return self._replace(corners=self.corners @ rotation.T, normals=self.normals @ rotation.T)


def merge_surfaces(pieces: Sequence[Triangles]) -> Triangles:
    """Concatenate surfaces."""
    if not pieces:
        return Triangles(*np.zeros((3, 0, 3, 3)))
    return Triangles(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def link_surfaces(model: Model) -> dict[str, Triangles]:
    """Surface of every link with shapes, in link axes. Planes, which are infinite, are left out."""
    shapes = {name: [shape for shape in link.shapes if not isinstance(shape, Plane)] for name, link in model.links.items()}
    return {name: merge_surfaces([_surface(shape) for shape in found]) for name, found in shapes.items() if found}


def shaded_surface(
    parts: dict[str, Triangles], data: Data, turn: Array | None = None, towards: Array | None = None
) -> Triangles:  # fmt: skip
    """Surfaces of all links at ``data.q``, rotated by ``turn`` if given, and shaded.

    ``towards``: direction to the camera, if only triangles that face it are asked for.
    """
    poses, turn = link_poses(data), np.eye(3) if turn is None else turn
    pieces = []
    for name, part in parts.items():
        R, p = turn @ poses[name].rotation, turn @ poses[name].position
        if towards is not None:
            facing = (part.normals @ (R.T @ towards) > 0.0).any(axis=1)
            part = Triangles(*(values[facing] for values in part))
        pieces.append(shaded(Triangles(part.corners @ R.T + p, part.normals @ R.T, part.colors)))
    return merge_surfaces(pieces)


def shaded(surface: Triangles) -> Triangles:
    """Surface in world axes with the light on its colors."""
    # Wrapped Lambert shading: a hard terminator makes round bodies look flat.
    bright = np.clip((surface.normals @ _LIGHT + 0.35) / 1.35, 0.0, 1.0)
    return surface._replace(colors=np.clip(surface.colors * (_AMBIENT + (1.08 - _AMBIENT) * bright[..., None]), 0.0, 1.0))


def _surface(shape: Shape) -> Triangles:
    """Surface of a shape in link axes, without degenerate triangles (which meshes from files may have)."""
    vertices, triangles = shape.surface(_ROUND_SEGMENTS)
    corners = vertices[triangles]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    solid = np.linalg.norm(flat, axis=1) > 0
    corners, normals = corners[solid], _normals(shape, corners[solid], flat[solid])
    color = np.array(shape.color[:3] if shape.color else _DEFAULT_COLOR)
    return Triangles(corners, normals / np.linalg.norm(normals, axis=2, keepdims=True), np.tile(color, (len(corners), 3, 1)))


def _normals(shape: Shape, corners: Array, flat: Array) -> Array:
    """Exact normals of round shapes, so that no edges are visible; else those of the triangles."""
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
