"""Shapes of links: visual and collision geometry, and default mass properties."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.model.material import Material
from brachiate.validation import Array

Triangles = NDArray[np.int64]
ALL_BITS = 2**32 - 1  # of contype and conaffinity


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """Solid fixed in its link. ``collides`` is False for visual geometry.

    Two shapes collide only if the ``contype`` of one and the ``conaffinity`` of the other have a common bit, as in MuJoCo.
    Without a ``material`` a shape has that of the world.
    """

    kind: ClassVar[str] = "shape"
    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    name: str = ""
    color: tuple[float, float, float, float] | None = None
    collides: bool = True
    material: Material | None = None
    contype: int = 1
    conaffinity: int = 1

    def __post_init__(self) -> None:
        self._set("position", validation.vector(self.position, f"position of a {self.kind}"))
        self._set("rotation", validation.rotation_matrix(self.rotation, f"rotation of a {self.kind}"))
        if self.material is not None and not isinstance(self.material, Material):
            raise ArgumentError(f"material of a {self.kind}: expected a Material, such as Material(friction=0.5), got {self.material!r}.")
        for name in ("contype", "conaffinity"):
            bits = getattr(self, name)
            if not (type(bits) is int and 0 <= bits <= ALL_BITS):
                self._set(name, validation.integer(bits, f"{name} of a {self.kind}", minimum=0, maximum=ALL_BITS))
        self._check()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, validation.frozen(value) if isinstance(value, np.ndarray) else value)

    def _length(self, name: str) -> None:
        self._set(name, validation.number(getattr(self, name), f"{name} of a {self.kind}", above=0.0))

    def _check(self) -> None:
        """Check the dimensions."""

    def volume(self) -> float:
        """Volume [m³]."""
        raise NotImplementedError

    def centroid(self) -> Array:
        """Centroid of the solid, in its own frame [m]."""
        return np.zeros(3)

    def inertia(self) -> Array:
        """Inertia about the centroid for a mass of 1 kg, in the shape's own axes: (3, 3) [m²]."""
        raise NotImplementedError

    def surface(self, fineness: int = 12) -> tuple[Array, Triangles]:
        """Vertices and triangles of the surface, in the link's coordinates; round shapes have 2 ``fineness`` segments around."""
        vertices, triangles = self._surface(validation.integer(fineness, "fineness", minimum=2))
        return vertices @ self.rotation.T + self.position, triangles

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        raise NotImplementedError

    def mass_properties(self, density: float) -> tuple[float, Array, Array]:
        """Mass [kg], center of mass [m] and inertia about it [kg·m²], in the link's coordinates."""
        mass = validation.number(density, f"density of a {self.kind}", above=0.0) * self.volume()
        turned = self.rotation @ self.inertia() @ self.rotation.T
        return mass, self.position + self.rotation @ self.centroid(), mass * turned


AnyShape = TypeVar("AnyShape", bound=Shape)


def with_all_bits(shape: AnyShape) -> AnyShape:
    """Shape with all bits of contype and conaffinity: ground, that carries whatever collides with anything."""
    return replace(shape, contype=ALL_BITS, conaffinity=ALL_BITS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Ellipsoid(Shape):
    """Ellipsoid with three radii [m]."""

    kind: ClassVar[str] = "ellipsoid"
    radii: Array

    def _check(self) -> None:
        self._set("radii", validation.vector(self.radii, "radii of an ellipsoid"))
        if (self.radii <= 0).any():
            raise ArgumentError(f"radii of an ellipsoid must be more than 0, got {self.radii}.")

    def volume(self) -> float:
        return float(4 / 3 * np.pi * np.prod(self.radii))

    def inertia(self) -> Array:
        s = self.radii**2
        return np.diag(s.sum() - s) / 5

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        angles = np.linspace(-np.pi / 2, np.pi / 2, fineness + 1)
        vertices, triangles = _revolved(np.cos(angles), np.sin(angles), 2 * fineness)
        return vertices * self.radii, triangles


@dataclass(frozen=True, eq=False, kw_only=True)
class Sphere(Shape):
    """Sphere [m]."""

    kind: ClassVar[str] = "sphere"
    radius: float

    def _check(self) -> None:
        self._length("radius")

    def volume(self) -> float:
        return 4 / 3 * np.pi * self.radius**3

    def inertia(self) -> Array:
        return 0.4 * self.radius**2 * np.eye(3)

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        angles = np.linspace(-np.pi / 2, np.pi / 2, fineness + 1)
        return _revolved(self.radius * np.cos(angles), self.radius * np.sin(angles), 2 * fineness)


@dataclass(frozen=True, eq=False, kw_only=True)
class Capsule(Shape):
    """Cylinder of a length along z with half spheres on its ends [m]."""

    kind: ClassVar[str] = "capsule"
    radius: float
    length: float

    def _check(self) -> None:
        self._length("radius")
        self._length("length")

    @classmethod
    def between(cls, a: ArrayLike, b: ArrayLike, radius: float, **more: Any) -> Capsule:
        """Return the capsule whose spheres are centered at two points."""
        a, b = validation.vector(a, "end of a capsule"), validation.vector(b, "end of a capsule")
        length = float(np.linalg.norm(b - a))
        if length < 1e-9:
            raise ArgumentError("The two ends of a capsule are the same point. Use a sphere.")
        return cls(radius=radius, length=length, position=(a + b) / 2, rotation=frame_along((b - a) / length), **more)

    def volume(self) -> float:
        return np.pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    def inertia(self) -> Array:
        r, h = self.radius, self.length
        tube = h / (h + 4 / 3 * r)
        caps = 1 - tube
        along = tube * r**2 / 2 + caps * 0.4 * r**2
        across = tube * (r**2 / 4 + h**2 / 12) + caps * (0.4 * r**2 + h**2 / 4 + 3 / 8 * h * r)
        return np.diag((across, across, along))

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        quarter = np.linspace(0, np.pi / 2, fineness // 2 + 1)
        angles = np.concatenate([-quarter[::-1], quarter])
        lift = np.concatenate([-np.ones(len(quarter)), np.ones(len(quarter))]) * self.length / 2
        return _revolved(self.radius * np.cos(angles), self.radius * np.sin(angles) + lift, 2 * fineness)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylinder(Shape):
    """Cylinder of a length along z [m]."""

    kind: ClassVar[str] = "cylinder"
    radius: float
    length: float

    def _check(self) -> None:
        self._length("radius")
        self._length("length")

    def volume(self) -> float:
        return np.pi * self.radius**2 * self.length

    def inertia(self) -> Array:
        across = self.radius**2 / 4 + self.length**2 / 12
        return np.diag((across, across, self.radius**2 / 2))

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        h = self.length / 2
        return _revolved(self.radius * np.array([0, 1, 1, 0.0]), np.array([-h, -h, h, h]), 2 * fineness)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(Shape):
    """Box with full edge lengths [m]."""

    kind: ClassVar[str] = "box"
    size: Array

    def _check(self) -> None:
        self._set("size", validation.vector(self.size, "size of a box"))
        if (self.size <= 0).any():
            raise ArgumentError(f"size of a box must be more than 0, got {self.size}.")

    def volume(self) -> float:
        return float(np.prod(self.size))

    def inertia(self) -> Array:
        s = self.size**2
        return np.diag(s.sum() - s) / 12

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * self.size / 2
        quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh(Shape):
    """Triangle mesh, counter-clockwise seen from outside. Only a closed mesh has a volume and an inertia."""

    kind: ClassVar[str] = "mesh"
    vertices: Array
    triangles: Triangles

    def _check(self) -> None:
        vertices = _points(self.vertices, self.kind)
        what = f"triangles of a {self.kind}"
        triangles = validation.reals(self.triangles, what, "rows of 3 vertex numbers")
        if triangles.ndim != 2 or triangles.shape[1:] != (3,) or not len(triangles):
            raise ArgumentError(f"{what}: expected rows of 3 vertex numbers, got shape {triangles.shape}.")
        if not (triangles == np.floor(triangles)).all():
            raise ArgumentError(f"{what}: vertex numbers must be whole, got {validation.short_repr(self.triangles)}.")
        if triangles.min() < 0 or triangles.max() >= len(vertices):
            raise ArgumentError(f"{what}: vertex numbers must be between 0 and {len(vertices) - 1}.")
        self._set("vertices", vertices)
        self._set("triangles", triangles.astype(np.int64))

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        """Volume, first and second moment about the shape's origin, as sums over tetrahedra."""
        self._check_closed()
        a, b, c = (self.vertices[self.triangles[:, i]] for i in range(3))
        volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
        total = a + b + c
        first = np.einsum("i,ij->j", volumes, total) / 4
        second = sum(np.einsum("i,ij,ik->jk", volumes, x, x) for x in (a, b, c, total)) / 20
        return float(volumes.sum()), first, np.asarray(second)

    def _check_closed(self) -> None:
        """Raise an error for an open surface: every edge must be traversed equally often in both directions by its triangles."""
        _, place = np.unique(self.vertices, axis=0, return_inverse=True)  # at a seam several vertices coincide
        start = place.reshape(-1)[self.triangles]
        end = np.roll(start, -1, axis=1)
        lines = np.stack([np.minimum(start, end).ravel(), np.maximum(start, end).ravel()], axis=1)
        _, line = np.unique(lines, axis=0, return_inverse=True)
        bare = np.count_nonzero(np.bincount(line.reshape(-1), weights=np.sign(end - start).ravel()))
        if bare:
            raise ArgumentError(
                f"The {self.kind} {self.name!r} is open, so it encloses no volume: {bare} of its edges have no second triangle "
                "of the same orientation. Close it, or give its link a mass, a center and an inertia."
            )

    def volume(self) -> float:
        return self._moments[0]

    def centroid(self) -> Array:
        volume, first, _ = self._moments
        return first / volume if volume > 0 else self.vertices.mean(axis=0)

    def inertia(self) -> Array:
        volume, first, second = self._moments
        if volume <= 0:
            raise ArgumentError(f"The {self.kind} {self.name!r} encloses no volume ({volume:g} m³): are its normals outward?")
        c = first / volume
        covariance = second / volume - np.outer(c, c)
        return np.trace(covariance) * np.eye(3) - covariance

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        return self.vertices, self.triangles


class Hull(Mesh):
    """Convex hull of points."""

    kind: ClassVar[str] = "convex hull"

    def __init__(self, *, vertices: ArrayLike, **more: Any) -> None:
        from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  (slow to import, rarely needed)

        points = _points(vertices, self.kind)
        try:
            hull = ConvexHull(points)
        except QhullError:
            raise ArgumentError("The points of a convex hull lie in one plane, so they enclose nothing.") from None
        used = np.sort(hull.vertices)
        place = np.zeros(len(points), np.int64)
        place[used] = np.arange(len(used))
        triangles = np.array(hull.simplices, np.int64)
        a, b, c = (points[triangles[:, i]] for i in range(3))
        inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
        triangles[inward] = triangles[inward][:, ::-1]
        super().__init__(vertices=points[used], triangles=place[triangles], **more)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plane(Shape):
    """Half-space below z = 0 of its frame. Drawn as a square of the given size [m]."""

    kind: ClassVar[str] = "plane"
    size: float = 4.0

    def _check(self) -> None:
        self._length("size")

    def volume(self) -> float:
        return 0.0

    def inertia(self) -> Array:
        return np.zeros((3, 3))

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        h = self.size / 2
        return np.array([(-h, -h, 0), (h, -h, 0), (h, h, 0), (-h, h, 0.0)]), np.array([(0, 1, 2), (0, 2, 3)])


@dataclass(frozen=True, eq=False, kw_only=True)
class HeightField(Shape):
    """Height field: solid below a triangulated surface over a regular grid, centered on its frame.

    ``heights[j, i]`` [m] is the height at x = (i - (nx - 1)/2) times the spacing, y = (j - (ny - 1)/2) times the spacing.
    ``spacing`` is one number [m], or two along x and y. Every cell is split from its corner (0, 0) to its corner (1, 1).
    """

    kind: ClassVar[str] = "height field"
    heights: Any
    spacing: Any = 0.1

    def _check(self) -> None:
        expected = "at least 2 rows of at least 2 finite numbers"
        heights = validation.reals(self.heights, "heights of a height field", expected)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ArgumentError(f"heights of a height field: expected {expected}, got shape {heights.shape}.")
        if not np.isfinite(heights).all():
            raise ArgumentError(f"heights of a height field: expected {expected}, got {heights[~np.isfinite(heights)][0]} among them.")
        spacing = validation.broadcast(self.spacing, (2,), "spacing of a height field", "one number or two, along x and y")
        for value in spacing:
            validation.number(value, "spacing of a height field", above=0.0)
        self._set("heights", np.ascontiguousarray(heights))
        self._set("spacing", spacing)

    def volume(self) -> float:
        return 0.0

    def inertia(self) -> Array:
        return np.zeros((3, 3))

    def _surface(self, fineness: int) -> tuple[Array, Triangles]:
        ny, nx = self.heights.shape
        x, y = ((np.arange(n) - (n - 1) / 2) * step for n, step in zip((nx, ny), self.spacing, strict=True))
        vertices = np.stack([*np.meshgrid(x, y), self.heights], axis=-1).reshape(-1, 3)
        a = (np.arange(ny - 1)[:, None] * nx + np.arange(nx - 1)).ravel()
        return vertices, np.concatenate([np.c_[a, a + 1, a + nx + 1], np.c_[a, a + nx + 1, a + nx]])


def frame_along(direction: ArrayLike) -> Array:
    """Return a rotation whose z axis is along a unit direction."""
    z = validation.axis(direction, "direction")
    x = np.cross((0.0, 1.0, 0.0), z) if abs(z[1]) < 0.9 else np.cross(z, (0.0, 0.0, 1.0))
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _points(value: ArrayLike, kind: str) -> Array:
    """Return the vertices of a solid."""
    what, expected = f"vertices of a {kind}", "at least 4 rows of 3 finite numbers"
    points = validation.reals(value, what, expected)
    if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 4:
        raise ArgumentError(f"{what}: expected {expected}, got shape {points.shape}.")
    if not np.isfinite(points).all():
        raise ArgumentError(f"{what}: expected {expected}, got {validation.short_repr(points[~np.isfinite(points).all(axis=1)][0])}.")
    return points


def _revolved(radii: Array, heights: Array, around: int) -> tuple[Array, Triangles]:
    """Surface of revolution of a profile (radius, height) about z, from its lower to its upper pole: one vertex each."""
    turns = np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = np.empty((len(radii) - 2, around, 3))
    rings[..., 0], rings[..., 1] = radii[1:-1, None] * np.cos(turns), radii[1:-1, None] * np.sin(turns)
    rings[..., 2] = heights[1:-1, None]
    vertices = np.concatenate([[(0, 0, heights[0])], rings.reshape(-1, 3), [(0, 0, heights[-1])]])
    return vertices, _revolved_triangles(len(rings), around).copy()


@lru_cache(maxsize=64)
def _revolved_triangles(rings: int, around: int) -> Triangles:
    """Triangles between rings of vertices and the two poles."""
    i = np.arange(around)
    j = (i + 1) % around
    first, top = 1 + around * np.arange(rings - 1)[:, None], 1 + rings * around
    last, flat = top - around, np.zeros_like(i)
    below = np.stack((flat, 1 + j, 1 + i), axis=1)
    corners = first + i, first + j, first + around + j, first + around + i
    bands = [np.stack([corners[n] for n in triangle], axis=2) for triangle in ((0, 1, 2), (0, 2, 3))]
    return np.concatenate([below, np.stack(bands, axis=1).reshape(-1, 3), np.stack((last + i, last + j, flat + top), axis=1)])
