"""Surfaces of particle systems for pictures: balls at particles, tubes along links."""

from __future__ import annotations

import numpy as np

from brachiate.model.shapes import Sphere
from brachiate.show.surface import Triangles, merge_surfaces, shaded
from brachiate.validation import Array

BALL, TUBE = (0.82, 0.29, 0.36), (0.30, 0.50, 0.62)  # colors
BALL_SHARE, TUBE_SHARE = 0.014, 0.006  # radius as a share of the size of the scene, if particles have none
MANY = 400  # particles: more are drawn without balls
SIDES = 6  # of a tube


def system_surface(x: Array, ends: Array, radius: Array, size: float) -> Triangles:
    """Shaded surface of particles at positions x (n, 3) and links, in a scene of a size [m]."""
    thin = 1.0 if len(x) <= MANY else 0.5
    pieces = [_tubes(x[ends[:, 0]], x[ends[:, 1]], thin * TUBE_SHARE * size)]
    if len(x) <= MANY:
        pieces.append(_balls(x, np.where(radius > 0.0, radius, BALL_SHARE * size)))
    return shaded(merge_surfaces(pieces))


def _balls(x: Array, radius: Array) -> Triangles:
    vertices, triangles = Sphere(radius=1.0).surface(8)
    corners = vertices[triangles]
    normals = corners / np.linalg.norm(corners, axis=2, keepdims=True)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    corners, normals = corners[area > 0], normals[area > 0]
    at = (radius[:, None, None, None] * corners + x[:, None, None]).reshape(-1, 3, 3)
    return Triangles(at, np.tile(normals, (len(x), 1, 1)), np.tile(BALL, (len(at), 3, 1)))


def _tubes(a: Array, b: Array, radius: float) -> Triangles:
    """Open prisms around segments from a to b (m, 3)."""
    along = b - a
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    other = np.where(np.abs(along[:, :1]) < 0.6, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    u = np.cross(along, other)
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    w = np.cross(along, u)
    angle = 2.0 * np.pi * np.arange(SIDES + 1) / SIDES
    n = np.cos(angle)[:, None, None] * u + np.sin(angle)[:, None, None] * w  # (SIDES + 1, m, 3)
    low, high = a + radius * n, b + radius * n
    corners, normals = [], []
    for s in range(SIDES):
        corners += [np.stack([low[s], low[s + 1], high[s + 1]], axis=1), np.stack([low[s], high[s + 1], high[s]], axis=1)]
        normals += [np.stack([n[s], n[s + 1], n[s + 1]], axis=1), np.stack([n[s], n[s + 1], n[s]], axis=1)]
    at = np.concatenate(corners)
    return Triangles(at, np.concatenate(normals), np.tile(TUBE, (len(at), 3, 1)))
