"""From the shapes of a model to the arrays of ``Geometry``, and the rooms areas are found in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.compiled import Handle
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, FIELD, HULL, PLANE, SPHERE, Areas, Geometry, Scratch
from brachiate.contact.collision.narrow_phase import CONVEX, JOIN, MEET, ON_FIELD, WAYS
from brachiate.contact.collision.pair_filter import pairs_of
from brachiate.errors import ArgumentError
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Mesh, Plane, Shape, Sphere
from brachiate.validation import Array

COPLANAR = 1e-6  # of a hull's size: triangles whose planes differ less are one face
FIELD_POINTS = 64  # so many at least are noted of a shape on a field


class Solid(NamedTuple):
    """One shape as kernels see it: in its own frame, which is at a place in the frame of the shape it was made from."""

    kind: int
    size: tuple[float, float, float]
    reach: float
    place: Array = np.zeros(3)
    corners: Array = np.zeros((0, 3))
    faces: tuple[Array, ...] = ()
    normals: Array = np.zeros((0, 3))
    heights: Array = np.zeros((0, 0))


class Part(NamedTuple):
    """A shape that can touch, and the link it is part of."""

    link: str
    shape: Shape


def parts_of(model: Model) -> list[Part]:
    """Every shape of a model that can touch."""
    return [Part(link.name, shape) for link in model.links.values() for shape in link.shapes if shape.collides]


def geometry(model: Model, *, pairs: bool = True) -> Geometry:
    """Return the arrays of all shapes of a model that can touch, with the pairs of them that may.

    A mesh touches with its convex hull.

    Args:
        model: Whose shapes.
        pairs: Whether to look for pairs; without, there are none.
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"geometry expects a model, got {validation.shown(model)}.")
    parts = parts_of(model)
    solids = [solid(part.shape) for part in parts]
    body, R, p = [], [], []
    for part, s in zip(parts, solids, strict=True):
        at = model.placements[part.link]
        body.append(at.body)
        R.append(at.rotation @ part.shape.rotation)
        p.append(at.position + at.rotation @ (part.shape.position + part.shape.rotation @ s.place))
    faces = [face for s in solids for face in s.faces]
    shapes = Geometry(
        kind=np.array([s.kind for s in solids], np.int64),
        body=np.array(body, np.int64),
        R=_stack(R, (3, 3)),
        p=_stack(p, (3,)),
        size=_stack([np.array(s.size) for s in solids], (3,)),
        reach=np.array([s.reach for s in solids], float),
        corner_at=_starts([len(s.corners) for s in solids]),
        corner=np.concatenate([s.corners for s in solids] or [np.zeros((0, 3))]),
        face_at=_starts([len(s.faces) for s in solids]),
        face_start=_starts([len(face) for face in faces]),
        face_corner=np.concatenate(faces or [np.zeros(0)]).astype(np.int64),
        face_normal=np.concatenate([s.normals for s in solids] or [np.zeros((0, 3))]),
        field_at=_starts([s.heights.size for s in solids]),
        field_cells=np.array([s.heights.shape[::-1] for s in solids], np.int64).reshape(-1, 2),
        height=np.concatenate([s.heights.ravel() for s in solids] or [np.zeros(0)]),
        pair=np.zeros((0, 2), np.int64),
        pair_on=np.zeros(0, np.int64),
    )
    if not pairs:
        return shapes
    found = pairs_of(model, [part.link for part in parts], shapes, rooms)
    return shapes._replace(pair=found, pair_on=np.ones(len(found), np.int64))


def rooms(shapes: Geometry, capacity: int | None = None) -> Handle:
    """Return a handle of (Geometry, Areas, Scratch), with places for so many areas; by default for two of every pair, up to 256."""
    most = min(max(2 * len(shapes.pair), 8), 256) if capacity is None else validation.whole(capacity, "capacity", least=1)
    return Handle(shapes, areas_for(most), scratch_for(shapes))


def areas_for(count: int) -> Areas:
    """Return room for so many areas."""
    f, i = np.zeros, lambda k: np.zeros(k, np.int64)
    return Areas(
        count=i(2), pair=i(count), feature=i(count), corners=i(count), P=f((count, 3)), R=f((count, 3, 3)), V=f((count, 8, 2)),
        gap=f((count, 3)),
    )  # fmt: skip


def scratch_for(shapes: Geometry) -> Scratch:
    """Return room to find areas in. A handle that begins with Geometry, Areas and Scratch may go on with other rooms."""
    count = len(shapes.pair)
    corners = int(np.diff(shapes.face_start).max(initial=8)) + int(np.diff(shapes.corner_at).max(initial=8))
    places = max(2 * corners, FIELD_POINTS) + 16
    f, i = np.zeros, lambda k: np.zeros(k, np.int64)
    return Scratch(
        x=f((len(shapes.kind), 3)), z=f((len(shapes.kind), 3)), near=i(count), margin=f(count), last=np.full(count, -1, np.int64),
        point=f((2 * places, 3)), flat=f((4 * places, 3)), simplex=f((4, 6)), member=i(places), meeting=f(8),
        address=_addresses(shapes),
    )  # fmt: skip


def _addresses(shapes: Geometry) -> Array:
    """Where the machine code is that these pairs need; the rest need not be compiled."""
    first, second = shapes.kind[shapes.pair[:, 0]], shapes.kind[shapes.pair[:, 1]]
    solid = first < PLANE
    needed = np.zeros(len(WAYS), bool)
    needed[JOIN] = solid.any()
    needed[[MEET, CONVEX]] = (solid & ((first > CAPSULE) | (second > CAPSULE))).any()
    needed[ON_FIELD] = (first == FIELD).any()
    return np.array([way.address if used else 0 for way, used in zip(WAYS, needed, strict=True)], np.int64)


def solid(shape: Shape) -> Solid:
    """Return a shape as kernels see it."""
    if isinstance(shape, Sphere):
        return Solid(SPHERE, (shape.radius, 0.0, 0.0), shape.radius)
    if isinstance(shape, Capsule):
        return Solid(CAPSULE, (shape.radius, shape.length / 2, 0.0), shape.radius + shape.length / 2)
    if isinstance(shape, Cylinder):
        return Solid(CYLINDER, (shape.radius, shape.length / 2, 0.0), float(np.hypot(shape.radius, shape.length / 2)))
    if isinstance(shape, Ellipsoid):
        return Solid(ELLIPSOID, _three(shape.radii), float(shape.radii.max()))
    if isinstance(shape, Box):
        return Solid(BOX, _three(shape.size / 2), float(np.linalg.norm(shape.size / 2)))
    if isinstance(shape, Mesh):
        return _hull(shape)
    if isinstance(shape, Plane):
        return Solid(PLANE, (0.0, 0.0, 0.0), np.inf)
    if isinstance(shape, HeightField):
        # Below its surface it has no end, so no ball holds it.
        x, y = shape.spacing
        return Solid(FIELD, (float(x), float(y), float(shape.heights.max())), np.inf, heights=shape.heights)
    raise ArgumentError(f"A {shape.kind} cannot touch anything: nobody knows its surface. Give it collides=False.")


def _three(v: Array) -> tuple[float, float, float]:
    return float(v[0]), float(v[1]), float(v[2])


def _hull(shape: Mesh) -> Solid:
    """Convex hull of a mesh about its centroid, coplanar triangles joined to faces."""
    try:
        hull = shape if isinstance(shape, Hull) else Hull(vertices=shape.vertices)
    except ArgumentError:
        raise ArgumentError(f"The {shape.kind} {shape.name!r} is flat, so it cannot touch. Give it collides=False.") from None
    center = hull.centroid()
    corners = hull.vertices - center
    faces, normals = _faces(corners, hull.triangles)
    inner = min(float(corners[face[0]] @ n) for face, n in zip(faces, normals, strict=True))
    return Solid(HULL, (inner, 0.0, 0.0), float(np.linalg.norm(corners, axis=1).max()), center, corners, faces, normals)


def _faces(corners: Array, triangles: Array) -> tuple[tuple[Array, ...], Array]:
    """Faces as rows of corners, counter-clockwise seen from outside, and their normals; large triangles say where a plane is."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    size = float(np.abs(corners).max())
    normals /= np.maximum(areas, 1e-300)[:, None]
    left = [int(k) for k in np.argsort(-areas, kind="stable")]
    faces: list[Any] = []
    found: list[Array] = []
    while left:
        n = normals[left[0]]
        height = corners[triangles[left[0], 0]] @ n
        flat = np.abs(corners[triangles[left]] @ n - height).max(axis=1) < COPLANAR * size
        faces.append(_around(corners, np.unique(triangles[np.array(left)[flat]]), n))
        found.append(n)
        left = [k for k, same in zip(left, flat, strict=True) if not same]
    return tuple(faces), np.array(found)


def _around(corners: Array, which: Array, n: Array) -> Array:
    """Corners of a convex face in their order around the normal, from the lowest number."""
    middle = corners[which].mean(axis=0)
    x = corners[which[0]] - middle
    y = np.cross(n, x)
    angles = np.arctan2((corners[which] - middle) @ y, (corners[which] - middle) @ x)
    return which[np.argsort(np.where(angles < -1e-12, angles + 2 * np.pi, angles), kind="stable")]


def _starts(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _stack(rows: list[Array], shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.stack(rows) if rows else np.zeros((0, *shape)), float)
