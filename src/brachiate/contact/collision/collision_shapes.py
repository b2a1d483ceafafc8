"""Collision geometry of a model: arrays of ``CollisionGeometry`` from its shapes, and the arrays of collision detection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HEIGHT_FIELD,
    HULL,
    PLANE,
    SPHERE,
    CollisionGeometry,
    CollisionScratch,
    ContactPatches,
)
from brachiate.contact.collision.hull_simplification import MAX_EXACT_VERTICES, simplification_tolerance, simplified_vertices
from brachiate.contact.collision.narrow_phase import BUILD_PATCH, COLLIDE_CONVEX, COLLIDE_GJK, COLLIDE_HEIGHT_FIELD, PAIR_FUNCTIONS
from brachiate.contact.collision.pair_filter import collision_pairs
from brachiate.errors import ArgumentError
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Mesh, Plane, Shape, Sphere
from brachiate.validation import Array

COPLANAR_TOLERANCE = 1e-6  # of a hull's size: triangles whose planes differ less are one face
FIELD_MIN_POINTS = 64  # capacity for points of a shape near a height field


class CollisionShape(NamedTuple):
    """One shape as kernels see it, in its own frame, which has a position in the frame of the model's shape."""

    kind: int
    size: tuple[float, float, float]
    bounding_radius: float
    position: Array = np.zeros(3)
    vertices: Array = np.zeros((0, 3))
    faces: tuple[Array, ...] = ()
    normals: Array = np.zeros((0, 3))
    heights: Array = np.zeros((0, 0))

    @property
    def thickness(self) -> float:
        """Radius of the largest sphere in it [m]."""
        numbers = {SPHERE: 1, CAPSULE: 1, HULL: 1, CYLINDER: 2, BOX: 3, ELLIPSOID: 3}.get(self.kind, 0)
        return min(self.size[:numbers], default=np.inf)


class LinkShape(NamedTuple):
    """A shape that can collide, and its link."""

    link: str
    shape: Shape


def colliding_shapes(model: Model) -> list[LinkShape]:
    """Every shape of a model that can collide."""
    return [LinkShape(link.name, shape) for link in model.links.values() for shape in link.shapes if shape.collides]


def collision_geometry(model: Model, *, pairs: bool = True) -> CollisionGeometry:
    """Return the arrays of all shapes of a model that can collide, with their pairs.

    A mesh collides as its convex hull.

    Args:
        model: Model of the shapes.
        pairs: Whether to find pairs; without, there are none.
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"collision_geometry expects a model, got {validation.short_repr(model)}.")
    link_shapes = colliding_shapes(model)
    shapes = [collision_shape(link_shape.shape) for link_shape in link_shapes]
    body, R, p = [], [], []
    for link_shape, s in zip(link_shapes, shapes, strict=True):
        placement = model.placements[link_shape.link]
        body.append(placement.body)
        R.append(placement.rotation @ link_shape.shape.rotation)
        p.append(placement.position + placement.rotation @ (link_shape.shape.position + link_shape.shape.rotation @ s.position))
    faces = [face for s in shapes for face in s.faces]
    geometry = CollisionGeometry(
        kind=np.array([s.kind for s in shapes], np.int64),
        body=np.array(body, np.int64),
        R=_stack(R, (3, 3)),
        p=_stack(p, (3,)),
        size=_stack([np.array(s.size) for s in shapes], (3,)),
        bounding_radius=np.array([s.bounding_radius for s in shapes], float),
        thickness=np.array([s.thickness for s in shapes], float),
        vertex_start=_starts([len(s.vertices) for s in shapes]),
        vertex=np.concatenate([s.vertices for s in shapes] or [np.zeros((0, 3))]),
        face_start=_starts([len(s.faces) for s in shapes]),
        face_vertex_start=_starts([len(face) for face in faces]),
        face_vertex=np.concatenate(faces or [np.zeros(0)]).astype(np.int64),
        face_normal=np.concatenate([s.normals for s in shapes] or [np.zeros((0, 3))]),
        height_start=_starts([s.heights.size for s in shapes]),
        grid_size=np.array([s.heights.shape[::-1] for s in shapes], np.int64).reshape(-1, 2),
        heights=np.concatenate([s.heights.ravel() for s in shapes] or [np.zeros(0)]),
        pair=np.zeros((0, 2), np.int64),
        pair_enabled=np.zeros(0, np.int64),
        min_pair_thickness=np.full(1, np.inf),
    )
    if not pairs:
        return geometry
    links, solids = [link_shape.link for link_shape in link_shapes], [link_shape.shape for link_shape in link_shapes]
    pair = collision_pairs(model, links, solids, geometry, collision_handle)
    thinnest = geometry.thickness[pair].sum(axis=1).min(initial=np.inf)
    return geometry._replace(pair=pair, pair_enabled=np.ones(len(pair), np.int64), min_pair_thickness=np.full(1, thinnest))


def collision_handle(geometry: CollisionGeometry, capacity: int | None = None) -> ArrayHandle:
    """Return a handle of (CollisionGeometry, ContactPatches, CollisionScratch); default capacity: two patches per pair, up to 256."""
    count = min(max(2 * len(geometry.pair), 8), 256) if capacity is None else validation.integer(capacity, "capacity", minimum=1)
    return ArrayHandle(geometry, new_patches(count), new_scratch(geometry))


def new_patches(count: int) -> ContactPatches:
    """Return arrays for so many patches."""
    f, i = np.zeros, lambda k: np.zeros(k, np.int64)
    return ContactPatches(
        count=i(2), pair=i(count), feature=i(count), corners=i(count), P=f((count, 3)), R=f((count, 3, 3)), V=f((count, 8, 2)),
        gap=f((count, 3)),
    )  # fmt: skip


def new_scratch(geometry: CollisionGeometry) -> CollisionScratch:
    """Return the work arrays. A handle that begins with CollisionGeometry, ContactPatches and CollisionScratch may hold more structs."""
    count = len(geometry.pair)
    vertices = int(np.diff(geometry.face_vertex_start).max(initial=8)) + int(np.diff(geometry.vertex_start).max(initial=8))
    capacity = max(2 * vertices, FIELD_MIN_POINTS) + 16
    f, i = np.zeros, lambda k: np.zeros(k, np.int64)
    return CollisionScratch(
        position=f((len(geometry.kind), 3)), z_axis=f((len(geometry.kind), 3)), near_pair=i(count), pair_margin=f(count),
        last_face=np.full(count, -1, np.int64), points=f((2 * capacity, 3)), plane_points=f((4 * capacity, 3)), simplex=f((4, 6)),
        cluster=i(capacity), closest=f(8), functions=_addresses(geometry),
    )  # fmt: skip


def _addresses(geometry: CollisionGeometry) -> Array:
    """Addresses of the functions these pairs need; the others need not be compiled."""
    first, second = geometry.kind[geometry.pair[:, 0]], geometry.kind[geometry.pair[:, 1]]
    bounded = first < PLANE
    needed = np.zeros(len(PAIR_FUNCTIONS), bool)
    needed[BUILD_PATCH] = bounded.any()
    needed[[COLLIDE_CONVEX, COLLIDE_GJK]] = (bounded & ((first > CAPSULE) | (second > CAPSULE))).any()
    needed[COLLIDE_HEIGHT_FIELD] = (first == HEIGHT_FIELD).any()
    return np.array([function.address if used else 0 for function, used in zip(PAIR_FUNCTIONS, needed, strict=True)], np.int64)


def collision_shape(shape: Shape) -> CollisionShape:
    """Return a shape as kernels see it."""
    if isinstance(shape, Sphere):
        return CollisionShape(SPHERE, (shape.radius, 0.0, 0.0), shape.radius)
    if isinstance(shape, Capsule):
        return CollisionShape(CAPSULE, (shape.radius, shape.length / 2, 0.0), shape.radius + shape.length / 2)
    if isinstance(shape, Cylinder):
        return CollisionShape(CYLINDER, (shape.radius, shape.length / 2, 0.0), float(np.hypot(shape.radius, shape.length / 2)))
    if isinstance(shape, Ellipsoid):
        return CollisionShape(ELLIPSOID, _three(shape.radii), float(shape.radii.max()))
    if isinstance(shape, Box):
        return CollisionShape(BOX, _three(shape.size / 2), float(np.linalg.norm(shape.size / 2)))
    if isinstance(shape, Mesh):
        return _hull(shape)
    if isinstance(shape, Plane):
        return CollisionShape(PLANE, (0.0, 0.0, 0.0), np.inf)
    if isinstance(shape, HeightField):
        # It is unbounded below its surface, so it has no bounding sphere.
        x, y = shape.spacing
        return CollisionShape(HEIGHT_FIELD, (float(x), float(y), float(shape.heights.max())), np.inf, heights=shape.heights)
    raise ArgumentError(f"A {shape.kind} cannot collide: its surface is not known. Give it collides=False.")


def _three(v: Array) -> tuple[float, float, float]:
    return float(v[0]), float(v[1]), float(v[2])


def _hull(shape: Mesh) -> CollisionShape:
    """Convex hull of a mesh about its centroid, simplified if it has many vertices; coplanar triangles merged to faces."""
    try:
        hull = shape if isinstance(shape, Hull) else Hull(vertices=shape.vertices)
    except ArgumentError:
        raise ArgumentError(f"The {shape.kind} {shape.name!r} is flat, so it cannot collide. Give it collides=False.") from None
    if len(hull.vertices) > MAX_EXACT_VERTICES:
        hull = Hull(vertices=simplified_vertices(hull.vertices, simplification_tolerance(hull.vertices)))
    center = hull.centroid()
    vertices = hull.vertices - center
    faces, normals = _faces(vertices, hull.triangles)
    inradius = min(float(vertices[face[0]] @ n) for face, n in zip(faces, normals, strict=True))
    return CollisionShape(HULL, (inradius, 0.0, 0.0), float(np.linalg.norm(vertices, axis=1).max()), center, vertices, faces, normals)


def _faces(vertices: Array, triangles: Array) -> tuple[tuple[Array, ...], Array]:
    """Faces as arrays of vertices, counter-clockwise seen from outside, and their normals; large triangles define the planes."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    size = float(np.abs(vertices).max())
    normals /= np.maximum(areas, 1e-300)[:, None]
    remaining = [int(k) for k in np.argsort(-areas, kind="stable")]
    faces: list[Any] = []
    face_normals: list[Array] = []
    while remaining:
        n = normals[remaining[0]]
        height = vertices[triangles[remaining[0], 0]] @ n
        flat = np.abs(vertices[triangles[remaining]] @ n - height).max(axis=1) < COPLANAR_TOLERANCE * size
        faces.append(_around(vertices, np.unique(triangles[np.array(remaining)[flat]]), n))
        face_normals.append(n)
        remaining = [k for k, merged in zip(remaining, flat, strict=True) if not merged]
    return tuple(faces), np.array(face_normals)


def _around(vertices: Array, face: Array, n: Array) -> Array:
    """Vertices of a convex face in their order around the normal, from the lowest index."""
    center = vertices[face].mean(axis=0)
    x = vertices[face[0]] - center
    y = np.cross(n, x)
    angles = np.arctan2((vertices[face] - center) @ y, (vertices[face] - center) @ x)
    return face[np.argsort(np.where(angles < -1e-12, angles + 2 * np.pi, angles), kind="stable")]


def _starts(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _stack(rows: list[Array], shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.stack(rows) if rows else np.zeros((0, *shape)), float)
