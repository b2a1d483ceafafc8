"""Shapes: volume, center and inertia against their triangulated surfaces and random sampling; closed, outward surfaces."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from brachiate import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Mesh, Plane, Shape, Sphere
from brachiate.errors import ArgumentError
from brachiate.model.shapes import frame_along

SOLIDS = {
    "sphere": Sphere(radius=0.7),
    "ellipsoid": Ellipsoid(radii=(0.3, 0.5, 0.9)),
    "capsule": Capsule(radius=0.3, length=0.8),
    "short capsule": Capsule(radius=0.5, length=0.01),
    "cylinder": Cylinder(radius=0.4, length=1.1),
    "box": Box(size=(0.3, 0.5, 0.9)),
    "hull": Hull(vertices=np.random.default_rng(3).normal(size=(30, 3))),
}
EXACT = {"box", "hull"}  # polyhedra: exact at any fineness
solids = pytest.mark.parametrize("name", SOLIDS)


def meshed(shape: Shape, fineness: int) -> Mesh:
    """Mesh of a shape's surface, in link coordinates."""
    vertices, triangles = shape.surface(fineness)
    return Mesh(vertices=vertices, triangles=triangles)


def mass_properties(shape: Shape) -> np.ndarray:
    """Mass, first moment and inertia of a shape of density 1, in link coordinates."""
    mass, center, inertia = shape.mass_properties(1.0)
    return np.concatenate([[mass], mass * center, inertia.ravel()])


@solids
def test_volume_and_inertia_are_those_of_the_surface(name):
    # Fails if a formula is wrong by any factor: the error of a surface with n segments decreases as 1/n².
    shape = SOLIDS[name]
    exact = mass_properties(shape)
    errors = [np.abs(mass_properties(meshed(shape, n)) - exact).max() / np.abs(exact).max() for n in (16, 32, 64)]
    if name in EXACT:
        assert max(errors) < 1e-13
        return
    assert errors[2] < 20 / 64**2
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(4, rel=0.05)  # the next term is 1/n⁴


@solids
def test_inertia_is_that_of_random_points(name):
    # Independent of surface(): Monte Carlo integration over the points of a cube that are inside.
    shape, rng = SOLIDS[name], np.random.default_rng(0)
    half = np.abs(shape.surface(24)[0]).max(axis=0)
    points = rng.uniform(-1, 1, (400_000, 3)) * half
    kept = points[inside(shape, points)]
    share = len(kept) / len(points)
    # Five standard deviations: of the fraction of n points, and of means of numbers up to half and 2 half².
    assert share * np.prod(2 * half) == pytest.approx(shape.volume(), rel=5 * np.sqrt((1 - share) / share / len(points)) + 1e-12)
    deviation = 1 / np.sqrt(len(kept))
    center = kept.mean(axis=0)
    d = kept - center
    inertia = (np.einsum("ij,ij->", d, d) * np.eye(3) - d.T @ d) / len(kept)
    assert np.allclose(center, shape.centroid(), rtol=0, atol=5 * deviation * half.max())
    assert np.allclose(inertia, shape.inertia(), rtol=0, atol=5 * deviation * 2 * half.max() ** 2)


def inside(shape: Shape, points: np.ndarray) -> np.ndarray:
    x, y, z = points.T
    if isinstance(shape, Sphere):
        return x * x + y * y + z * z < shape.radius**2
    if isinstance(shape, Ellipsoid):
        return ((points / shape.radii) ** 2).sum(axis=1) < 1
    if isinstance(shape, Capsule):
        beyond = np.maximum(np.abs(z) - shape.length / 2, 0)
        return x * x + y * y + beyond**2 < shape.radius**2
    if isinstance(shape, Cylinder):
        return (x * x + y * y < shape.radius**2) & (np.abs(z) < shape.length / 2)
    if isinstance(shape, Box):
        return (np.abs(points) < shape.size / 2).all(axis=1)
    a, b, c = (shape.vertices[shape.triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    return (points @ normals.T < np.einsum("ij,ij->i", a, normals)).all(axis=1)


@solids
@pytest.mark.parametrize("fineness", [3, 12])
def test_surface_is_closed_and_faces_outward(name, fineness):
    # At a hole an edge has no opposite; at an inward triangle an edge occurs twice in one direction.
    vertices, triangles = SOLIDS[name].surface(fineness)
    _, place = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)  # poles and seams have several coincident vertices
    corners = place[triangles]
    corners = corners[[len(set(t)) == 3 for t in corners.tolist()]]  # triangles at a pole are degenerate
    edges = Counter((t[i], t[(i + 1) % 3]) for t in corners.tolist() for i in range(3))
    assert max(edges.values()) == 1
    assert all((b, a) in edges for a, b in edges)
    assert meshed(SOLIDS[name], fineness).volume() > 0


@solids
def test_surface_and_inertia_move_with_the_pose(name):
    rng = np.random.default_rng(1)
    R, p = frame_along(rng.normal(size=3)), rng.normal(size=3)
    shape = SOLIDS[name]
    own = (
        {"vertices": shape.vertices}
        if isinstance(shape, Hull)
        else {k: getattr(shape, k) for k in ("radius", "radii", "length", "size") if hasattr(shape, k)}
    )
    placed = type(shape)(**own, position=p, rotation=R)
    assert np.allclose(placed.surface(8)[0], shape.surface(8)[0] @ R.T + p, rtol=0, atol=1e-14)
    mass, center, inertia = placed.mass_properties(500.0)
    assert mass == pytest.approx(500 * shape.volume(), rel=1e-14)
    assert np.allclose(center, p + R @ shape.centroid(), rtol=0, atol=1e-14)
    assert np.allclose(inertia, mass * R @ shape.inertia() @ R.T, rtol=0, atol=1e-12 * mass)


def test_radii_are_half_and_sizes_are_full_extents():
    # Fails if one of the two conventions is off by a factor of two.
    def extent(shape: Shape) -> list[float]:
        return np.ptp(shape.surface(40)[0], axis=0).round(9).tolist()

    assert extent(Box(size=(1, 2, 3))) == [1, 2, 3]
    assert extent(Ellipsoid(radii=(1, 2, 3))) == [2, 4, 6]
    assert extent(Sphere(radius=2)) == [4, 4, 4]
    assert extent(Cylinder(radius=1, length=5)) == [2, 2, 5]
    assert extent(Capsule(radius=1, length=5)) == [2, 2, 7]


def test_capsule_between_two_points():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.5, 1.0, 2.0])
    capsule = Capsule.between(a, b, radius=0.1, name="bone")
    ends = [capsule.position + sign * capsule.length / 2 * capsule.rotation[:, 2] for sign in (-1, 1)]
    assert np.allclose(ends, [a, b], rtol=0, atol=1e-15 * 10)
    assert (capsule.radius, capsule.name) == (0.1, "bone")


@pytest.mark.parametrize("direction", [(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (0.1, 0.95, 0.1), (1, 2, 3)])
def test_frame_along_is_a_rotation_with_that_z(direction):
    R = frame_along(direction)
    assert np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15 * 10)
    assert np.linalg.det(R) > 0
    assert np.allclose(R[:, 2], np.array(direction) / np.linalg.norm(direction), rtol=0, atol=1e-15 * 10)


def test_hull_keeps_only_the_corners_and_faces_outward():
    cube = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    hull = Hull(vertices=np.concatenate([cube, [(0.5, 0.5, 0.5), (0.2, 0.3, 0.4)]]))
    assert len(hull.vertices) == 8
    assert hull.volume() == pytest.approx(1, rel=1e-14)
    assert np.allclose(hull.centroid(), 0.5, rtol=0, atol=1e-14)
    assert np.allclose(hull.inertia(), np.eye(3) / 6, rtol=0, atol=1e-14)


def test_mesh_with_inward_triangles_has_no_inertia():
    box = Box(size=(1, 1, 1))
    vertices, triangles = box.surface()
    inside_out = Mesh(vertices=vertices, triangles=triangles[:, ::-1])
    assert inside_out.volume() == pytest.approx(-1)
    with pytest.raises(ArgumentError, match="normals outward"):
        inside_out.inertia()


def test_inertia_of_an_offset_mesh_is_about_its_center():
    vertices, triangles = Box(size=(1, 2, 3)).surface()
    mesh = Mesh(vertices=vertices + np.array((5, 6, 7)), triangles=triangles)
    assert np.allclose(mesh.centroid(), (5, 6, 7), rtol=0, atol=1e-13)
    # the second moment about the origin is 1e2 times that about the center: two digits are lost
    assert np.allclose(mesh.inertia(), Box(size=(1, 2, 3)).inertia(), rtol=0, atol=1e-12)


def test_plane_has_no_mass():
    mass, _, inertia = Plane().mass_properties(1000.0)
    assert mass == 0
    assert not inertia.any()
    vertices, triangles = Plane(size=2.0).surface()
    a, b, c = vertices[triangles[0]]
    assert np.cross(b - a, c - a)[2] > 0  # z < 0 is inside, so its normal points up
    assert np.ptp(vertices, axis=0).tolist() == [2, 2, 0]


def test_arrays_of_the_caller_are_copied():
    radii = np.array([1.0, 2.0, 3.0])
    position = np.zeros(3)
    shape = Ellipsoid(radii=radii, position=position)
    radii[0] = position[0] = 9
    assert shape.radii[0] == 1
    assert shape.position[0] == 0


def test_shapes_are_read_only():
    with pytest.raises(AttributeError):
        SOLIDS["sphere"].radius = 2.0


def test_a_height_field_is_a_surface_without_mass():
    heights = np.array([[0.0, 0.1, 0.0], [0.2, 0.3, 0.1]])
    field = HeightField(heights=heights, spacing=(0.5, 1.0))
    assert field.volume() == 0
    assert not field.inertia().any()
    vertices, triangles = field.surface()
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert (normals[:, 2] > 0).all()
    assert normals[:, 2].sum() / 2 == pytest.approx(1.0)  # its projection is 1 m x 1 m
    for bad, message in (
        ([[1, 2], [3, np.nan]], "got nan among them"),
        ([[1, 2, 3]], r"got shape \(1, 3\)"),
        ("hilly", "expected at least 2 rows"),
    ):
        with pytest.raises(ArgumentError, match=f"heights of a height field: .*{message}"):
            HeightField(heights=bad)
    for bad in (0.0, (1.0, -1.0), (1, 2, 3), None):
        with pytest.raises(ArgumentError, match="spacing of a height field"):
            HeightField(heights=heights, spacing=bad)
