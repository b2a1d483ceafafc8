"""Conversion of MuJoCo geoms to shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from brachiate.io.import_notes import ImportNotes
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from brachiate.validation import rotation_matrix

_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default color
_G = mujoco.mjtGeom


def convert_shapes(m: Any, b: int, notes: ImportNotes) -> list[Shape]:
    """Return the shapes of body b; unsupported ones are noted."""
    first, count = int(m.body_geomadr[b]), int(m.body_geomnum[b])
    shapes = []
    for g in range(first, first + count):
        make = _MAKERS.get(_G(m.geom_type[g]))
        if make is None:
            kind = _G(m.geom_type[g]).name.removeprefix("mjGEOM_").lower()
            notes.add("height fields and signed distance fields (left out)", m.geom(g).name or f"{kind} of {m.body(b).name or 'a body'}")
            continue
        shapes.append(make(m, g, **_common(m, g)))
    return shapes


def _common(m: Any, g: int) -> dict[str, Any]:
    material = int(m.geom_matid[g])
    color = tuple(float(c) for c in (m.mat_rgba[material] if material >= 0 else m.geom_rgba[g]))
    return {
        "position": m.geom_pos[g],
        "rotation": rotation_matrix(m.geom_quat[g], "rotation of a geom"),
        "name": m.geom(g).name,
        "color": None if material < 0 and np.allclose(color, _GREY) else color,
        "collides": bool(m.geom_contype[g] or m.geom_conaffinity[g]),
    }


def _mesh(m: Any, g: int, **common: Any) -> Shape:
    i = int(m.geom_dataid[g])
    v, f = int(m.mesh_vertadr[i]), int(m.mesh_faceadr[i])
    vertices, triangles = m.mesh_vert[v : v + m.mesh_vertnum[i]], m.mesh_face[f : f + m.mesh_facenum[i]]
    return Mesh(vertices=vertices, triangles=triangles, **common)


def _plane(m: Any, g: int, **common: Any) -> Shape:
    size = 2 * float(m.geom_size[g, :2].max())  # zero: infinite
    return Plane(size=size, **common) if size > 0 else Plane(**common)


# MuJoCo has half sizes and radii.
_MAKERS: dict[mujoco.mjtGeom, Callable[..., Shape]] = {
    _G.mjGEOM_SPHERE: lambda m, g, **c: Sphere(radius=m.geom_size[g, 0], **c),
    _G.mjGEOM_CAPSULE: lambda m, g, **c: Capsule(radius=m.geom_size[g, 0], length=2 * m.geom_size[g, 1], **c),
    _G.mjGEOM_CYLINDER: lambda m, g, **c: Cylinder(radius=m.geom_size[g, 0], length=2 * m.geom_size[g, 1], **c),
    _G.mjGEOM_ELLIPSOID: lambda m, g, **c: Ellipsoid(radii=m.geom_size[g], **c),
    _G.mjGEOM_BOX: lambda m, g, **c: Box(size=2 * m.geom_size[g], **c),
    _G.mjGEOM_MESH: _mesh,
    _G.mjGEOM_PLANE: _plane,
}
