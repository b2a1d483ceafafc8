"""Conversion of MuJoCo geoms to shapes, with their collision bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

from brachiate.io.import_notes import ImportNotes
from brachiate.model.shapes import ALL_BITS, Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from brachiate.validation import Array, rotation_matrix

_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default color
_G = mujoco.mjtGeom


class CollisionBits(NamedTuple):
    """Whether each geom can collide, and its bits."""

    collides: Array  # (ngeom,) by its bits or in a pair
    contype: Array  # (ngeom,)
    conaffinity: Array

    @staticmethod
    def of_model(m: Any, floating: bool) -> CollisionBits:
        """Bits of the geoms.

        Of a floating figure the world is left out, and with it pairs such as sole and floor. Where a geom of such a pair has no bits, it
        gets one that no other geom has: with this it collides with ground, which has all bits, and with no other part of its figure.
        """
        contype, conaffinity = (np.array(bits, np.int64) & ALL_BITS for bits in (m.geom_contype, m.geom_conaffinity))
        pairs = np.stack([m.pair_geom1, m.pair_geom2], axis=1).reshape(-1, 2)
        collides = (contype | conaffinity) != 0
        collides[pairs.ravel()] = True
        unused = ~int(np.bitwise_or.reduce(contype | conaffinity, initial=0)) & ALL_BITS
        if floating:
            with_world = pairs[(m.geom_bodyid[pairs] == 0).any(axis=1)].ravel()
            without_bits = with_world[(contype | conaffinity)[with_world] == 0]
            contype[without_bits] = 1 << unused.bit_length() >> 1  # the highest unused bit; if there is none, zero
        return CollisionBits(collides, contype, conaffinity)

    def of_geom(self, g: int) -> dict[str, Any]:
        """Arguments of the shape of geom g."""
        return {"collides": bool(self.collides[g]), "contype": int(self.contype[g]), "conaffinity": int(self.conaffinity[g])}


def convert_shapes(m: Any, b: int, bits: CollisionBits, notes: ImportNotes) -> list[Shape]:
    """Return the shapes of body b; unsupported ones are noted."""
    first, count = int(m.body_geomadr[b]), int(m.body_geomnum[b])
    shapes = []
    for g in range(first, first + count):
        make = _MAKERS.get(_G(m.geom_type[g]))
        if make is None:
            kind = _G(m.geom_type[g]).name.removeprefix("mjGEOM_").lower()
            notes.add("height fields and signed distance fields (left out)", m.geom(g).name or f"{kind} of {m.body(b).name or 'a body'}")
            continue
        shapes.append(make(m, g, **_common(m, g), **bits.of_geom(g)))
    return shapes


def _common(m: Any, g: int) -> dict[str, Any]:
    material = int(m.geom_matid[g])
    color = tuple(float(c) for c in (m.mat_rgba[material] if material >= 0 else m.geom_rgba[g]))
    return {
        "position": m.geom_pos[g],
        "rotation": rotation_matrix(m.geom_quat[g], "rotation of a geom"),
        "name": m.geom(g).name,
        "color": None if material < 0 and np.allclose(color, _GREY) else color,
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

SUPPORTED = frozenset(_MAKERS)  # types of geoms that become shapes
