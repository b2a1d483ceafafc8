"""Signed distance of a point from the surface of a shape, as an expression: closed forms with exact gradients and Hessians.

The distance of a point outside a convex shape has a gradient everywhere; its second derivatives jump where the nearest point passes from a
face to an edge or corner, and are those of the face there. Inside there is a gradient where one point of the surface is nearest.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.contact.collision.collision_shapes import collision_shape
from brachiate.errors import ArgumentError
from brachiate.functions import operations
from brachiate.functions.expressions import Expression, Vector, binary, cross, deferred, dot, norm, unary, vector
from brachiate.functions.motion_functions import axis, maximum, minimum, point, position, sqrt
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Mesh, Plane, Shape, Sphere
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

SUPPORTED = "spheres, capsules, cylinders, boxes, ellipsoids, planes, convex hulls and convex meshes"
MAX_EDGES = 150  # of a convex hull: its distance is a formula with a term for every edge
NEWTON_STEPS = 8  # to the nearest point of an ellipsoid; rounding is reached after six, also far away and near the center
CONVEXITY_TOLERANCE = 1e-9  # of the size of a mesh
_FAR = 1e30  # [m] added to a distance that is not the nearest


def distance_to_surface(a: Any, surface: str | Shape, *, shape: str | int | None = None, frame: str | None = None) -> Expression:
    """Signed distance of a point from the surface of a link, or of a given shape: negative inside [m].

    Spheres, capsules, cylinders, boxes, ellipsoids, planes, convex hulls and convex meshes. The distance from several shapes is the least
    one: exact outside. There is no derivative where two points of the surface are equally near: on edges, and inside on the medial axis.

    Args:
        a: The point.
        surface: Name of a link, which may move, with its colliding shapes, or all if none collides; or a shape.
        shape: Name or number of one shape of the link.
        frame: Link that a given shape is fixed to; by default the world.
    """
    if isinstance(surface, Shape):
        if shape is not None:
            raise ArgumentError("distance_to_surface: shape= chooses a shape of a link, but a shape is given.")
        return _distance(point(a), surface, frame)
    if not isinstance(surface, str):
        raise ArgumentError(f"distance_to_surface expects the name of a link or a shape, got {validation.short_repr(surface)}.")
    if frame is not None:
        raise ArgumentError(f"distance_to_surface: frame= is for a given shape; those of {surface!r} are fixed to it.")
    if isinstance(a, str) and a == surface:
        raise ArgumentError(f"distance_to_surface: the origin of {surface!r} does not move relative to its own surface.")
    at = point(a)
    return deferred(lambda world: _distance_to_link(world, at, surface, shape))


def _distance_to_link(world: World, at: Vector, link: str, which: str | int | None) -> Expression:
    """Least of the distances from the shapes of a link."""
    shapes = validation.lookup(world.model.links, link, "link", "this world").shapes
    if which is None:
        chosen = [s for s in shapes if s.collides] or list(shapes)
        if not chosen:
            raise ArgumentError(f"distance_to_surface: link {link!r} has no shapes.")
    else:
        numbers = [n for n, s in enumerate(shapes) if which in (n, s.name) and not isinstance(which, bool)]
        if not numbers:
            valid = ", ".join(f"{n}: {s.kind}" + (f" {s.name!r}" if s.name else "") for n, s in enumerate(shapes))
            raise ArgumentError(f"distance_to_surface: link {link!r} has no shape {which!r}. It has {valid or 'none'}.")
        chosen = [shapes[numbers[0]]]
    least = _distance(at, chosen[0], link)
    for other in chosen[1:]:
        least = minimum(least, _distance(at, other, link))
    return least


def _distance(at: Vector, shape: Shape, frame: str | None) -> Expression:
    """Distance from a shape, fixed to a link or to the world."""
    if frame is None:
        offset, axes = at - vector(shape.position), [vector(column) for column in shape.rotation.T]
    else:
        offset, axes = at - position(frame, shape.position), [axis(frame, column) for column in shape.rotation.T]
    p = Vector(*(dot(each, offset) for each in axes))
    match shape:
        case Sphere():
            return norm(p) - shape.radius
        case Plane():
            return p.z
        case Capsule():
            beyond = abs(p.z) - 0.5 * shape.length
            return sqrt(p.x * p.x + p.y * p.y + _if_positive(beyond * beyond, beyond)) - shape.radius
        case Cylinder():
            return _from_extents(sqrt(p.x * p.x + p.y * p.y) - shape.radius, abs(p.z) - 0.5 * shape.length)
        case Box():
            return _from_extents(*(abs(c) - 0.5 * size for c, size in zip(p, shape.size.tolist(), strict=True)))
        case Ellipsoid():
            return _from_ellipsoid(p, shape.radii)
        case Mesh():
            return _from_polyhedron(p, shape)
    where = f" of {frame!r}" if frame else ""
    raise ArgumentError(f"distance_to_surface: there is no formula for a {shape.kind}{where}. There is one for {SUPPORTED}.")


# --- pieces -------------------------------------------------------------------------------------------


def _if_positive(a: Any, condition: Expression) -> Expression:
    """The first argument where the second is positive, else zero. Only for what is continuous there."""
    return binary(operations.IF_POSITIVE, a, condition)


def _lesser(a: Expression, b: Expression) -> Expression:
    """Minimum of functions that have the same gradient where they are equal."""
    return binary(operations.LESSER, a, b)


def _choose(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """One of two functions that are equal, with the same gradient, where the condition is zero: the second there."""
    far = _if_positive(_FAR, condition)
    return _lesser(no + far, yes + (_FAR - far))


def _from_extents(*beyond: Expression) -> Expression:
    """Distance from a box or cylinder, from how far the point is beyond its extents.

    Beyond one extent or none, the largest of them: a face is nearest; beyond several, an edge or corner.
    """
    largest, second = beyond[0], None
    for other in beyond[1:]:
        lower = minimum(largest, other)
        second = lower if second is None else maximum(second, lower)
        largest = maximum(largest, other)
    squares = [_if_positive(each * each, each) for each in beyond]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    assert second is not None
    return _choose(second, sqrt(total), largest)


def _from_ellipsoid(p: Vector, radii: Array) -> Expression:
    """Distance n·p − |R n| from an ellipsoid with radii R: along the unit normal n for which this is stationary.

    n is along p/(t + r²) with G(t) = Σ (r p/(t + r²))² = 1. 1/√G is concave and nearly linear in t: Newton's method increases from a start
    where G ≥ 1. The first steps find t as a number; one more gives its derivative, and the distance to third order.
    """
    if np.ptp(radii) == 0.0:
        return norm(p) - float(radii[0])
    r2 = [float(r) ** 2 for r in radii]
    fixed = [unary(operations.DETACH, c) for c in p]
    t = _largest([r * abs(c) - r * r for r, c in zip(radii.tolist(), fixed, strict=True)])
    for _ in range(NEWTON_STEPS):
        t = _newton_step(fixed, r2, t)
    t = _newton_step(list(p), r2, unary(operations.DETACH, t))
    n = Vector(*(c / (t + r) for c, r in zip(p, r2, strict=True)))
    return (dot(n, p) - sqrt(r2[0] * (n.x * n.x) + r2[1] * (n.y * n.y) + r2[2] * (n.z * n.z))) / norm(n)


def _newton_step(p: list[Expression], r2: list[float], t: Expression) -> Expression:
    """Newton's method for 1/√G(t) = 1."""
    weights = [1.0 / (t + r) for r in r2]
    terms = [r * (c * c) * (w * w) for r, c, w in zip(r2, p, weights, strict=True)]
    G = terms[0] + terms[1] + terms[2]
    return t + G * (sqrt(G) - 1.0) / (terms[0] * weights[0] + terms[1] * weights[1] + terms[2] * weights[2])


def _largest(values: list[Expression]) -> Expression:
    found = values[0]
    for value in values[1:]:
        found = maximum(found, value)
    return found


def _from_polyhedron(p: Vector, mesh: Mesh) -> Expression:
    """Distance from a convex polyhedron: from the plane of the nearest face, or from the nearest edge.

    A face is nearest if the point is inside, or above it within its edges.
    """
    _check_convex(mesh)
    hull = collision_shape(mesh)
    vertices, p = hull.vertices, p - vector(hull.position)
    faces = [[int(v) for v in face] for face in hull.faces]
    edges = {tuple(sorted(pair)) for face in faces for pair in pairwise([*face, face[0]])}
    if len(edges) > MAX_EDGES:
        raise ArgumentError(
            f"distance_to_surface: the {mesh.kind} {mesh.name!r} has {len(edges)} edges, more than {MAX_EDGES}. "
            "Use a simpler shape around it."
        )
    heights, above = [], []
    for face, normal in zip(faces, hull.normals, strict=True):
        height = dot(tuple(normal), p) - float(vertices[face[0]] @ normal)
        within = height
        for a, b in pairwise([*face, face[0]]):
            outward = np.cross(vertices[b] - vertices[a], normal)
            within = minimum(within, float(outward @ vertices[a]) - dot(tuple(outward), p))
        heights.append(height)
        above.append(within)
    largest = _largest(heights)
    nearest = None
    for a, b in sorted(edges):
        square = _squared_distance_to_segment(p, vertices[a], vertices[b])
        nearest = square if nearest is None else _lesser(nearest, square)
    assert nearest is not None
    beside = _if_positive(1.0 - _if_positive(1.0, _largest(above)), largest)
    return _choose(beside, sqrt(nearest), largest)


def _squared_distance_to_segment(p: Vector, a: Array, b: Array) -> Expression:
    """Squared distance of a point from a segment."""
    length = float(np.linalg.norm(b - a))
    along = tuple((b - a) / length)
    d = p - vector(a)
    s, across = dot(along, d), cross(along, d)
    return dot(across, across) + _if_positive(s * s, -s) + _if_positive((s - length) ** 2, s - length)


def _check_convex(mesh: Mesh) -> None:
    """Raise an error for a mesh that is not convex."""
    if isinstance(mesh, Hull):
        return
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    height = (normals @ mesh.vertices.T - np.einsum("ij,ij->i", normals, a)[:, None]).max()
    if height > CONVEXITY_TOLERANCE * float(np.ptp(mesh.vertices, axis=0).max()):
        raise ArgumentError(
            f"distance_to_surface: the mesh {mesh.name!r} is not convex, and there is no formula for it. There is one for {SUPPORTED}: use "
            "br.Hull(vertices=mesh.vertices), or several shapes."
        )
