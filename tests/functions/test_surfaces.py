"""Distance of a point from the surface of a shape: finite differences, closed forms, the collision code and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from tests.animation.worlds import world_of
from tests.contact.pairs import SHAPES, CollisionCase, Peer
from tests.functions.derivatives import FIRST, SECOND, STENCIL, depends
from tests.random_models import models, random_rotation

import brachiate as br
from brachiate import animation as an
from brachiate import manifold

ALL_SHAPES = {**SHAPES, "plane": lambda: br.Plane()}
SIZE = 4.0  # of the shapes of finite differences over those of the collision tests
STEP = 5e-4  # truncation h⁴/r⁴ with a radius of curvature r ≥ 0.1, round-off 1e-16/h²
SMALLEST_RADIUS = 0.1  # [m]


def larger(kind: str, rng: np.random.Generator) -> br.Shape:
    """A shape of each kind, in any pose."""
    pose = {"position": rng.normal(size=3), "rotation": random_rotation(rng)}
    s = ALL_SHAPES[kind]()
    match s:
        case br.Sphere():
            return br.Sphere(radius=SIZE * s.radius, **pose)
        case br.Capsule():
            return br.Capsule(radius=SIZE * s.radius, length=SIZE * s.length, **pose)
        case br.Cylinder():
            return br.Cylinder(radius=SIZE * s.radius, length=SIZE * s.length, **pose)
        case br.Ellipsoid():
            return br.Ellipsoid(radii=SIZE * s.radii, **pose)
        case br.Box():
            return br.Box(size=SIZE * s.size, **pose)
        case br.Plane():
            return br.Plane(**pose)
    return br.Hull(vertices=SIZE * s.vertices, **pose)


def nearest(shape: br.Shape, p: np.ndarray) -> tuple[float, object, float]:
    """Signed distance of a point in the shape's axes, which feature is nearest, and the smallest radius of curvature there."""
    match shape:
        case br.Sphere():
            return np.linalg.norm(p) - shape.radius, None, np.linalg.norm(p)
        case br.Plane():
            return p[2], None, np.inf
        case br.Capsule():
            core = np.linalg.norm([*p[:2], max(abs(p[2]) - shape.length / 2, 0.0)])
            return core - shape.radius, np.sign(p[2]) * (abs(p[2]) > shape.length / 2), core
        case br.Cylinder():
            rho = np.hypot(*p[:2])
            return beyond(np.array([rho - shape.radius, abs(p[2]) - shape.length / 2]), np.sign(p[2]), rho)
        case br.Box():
            return beyond(abs(p) - shape.size / 2, tuple(np.sign(p)), np.inf)
        case br.Hull():
            return nearest_of_hull(shape.vertices, p)
    raise AssertionError(shape)


def beyond(q: np.ndarray, sides: object, radius: float) -> tuple[float, object, float]:
    """Distance from how far a point is beyond extents."""
    outside = np.linalg.norm(np.maximum(q, 0.0))
    if (q > 0).sum() > 1:
        return outside, (tuple(q > 0), sides), min(radius, outside)
    return outside + min(q.max(), 0.0), (int(q.argmax()), sides), radius


def nearest_of_hull(vertices: np.ndarray, p: np.ndarray) -> tuple[float, object, float]:
    """By trying all faces, edges and vertices."""
    hull = ConvexHull(vertices)
    heights = hull.equations[:, :3] @ p + hull.equations[:, 3]
    if heights.max() <= 0:
        return heights.max(), int(heights.argmax()), np.inf
    found = []
    for k, face in enumerate(hull.simplices):
        a, b, c = vertices[face]
        s, t = np.linalg.lstsq(np.stack([b - a, c - a], axis=1), p - a, rcond=None)[0]
        if s > 0 and t > 0 and s + t < 1:
            found.append((np.linalg.norm(p - a - s * (b - a) - t * (c - a)), ("face", k), np.inf))
        for i, j in ((0, 1), (1, 2), (2, 0)):
            e = vertices[face[j]] - vertices[face[i]]
            s = (p - vertices[face[i]]) @ e / (e @ e)
            if 0 < s < 1:
                d = np.linalg.norm(p - vertices[face[i]] - s * e)
                found.append((d, ("edge", *sorted((int(face[i]), int(face[j])))), d))
        found += [(np.linalg.norm(p - vertices[v]), ("vertex", int(v)), np.linalg.norm(p - vertices[v])) for v in face]
    return min(found, key=lambda item: item[0])


@for_all(models(6), st.sampled_from(sorted(ALL_SHAPES)))
def test_derivatives_of_distances_from_moving_shapes(given, kind):
    world, rng = world_of(given), given.rng
    a, b = (str(rng.choice(list(world.model.links))) for _ in range(2))
    shape, at = larger(kind, rng), rng.normal(size=3)
    function = an.distance_to_surface(an.position(a, at), shape, frame=b)
    if not depends(world, function) or a == b:
        return
    space = an.AnimationSpace(world, {"d": function})

    def local() -> np.ndarray:
        pose = world.pose(b)
        return shape.rotation.T @ (pose.rotation.T @ (world.position(a, at) - pose.position) - shape.position)

    q = world.q.copy()
    for _ in range(3):
        d = rng.normal(size=world.model.nv)
        d /= max(1.0, np.linalg.norm(d))
        values, features, radii = [], set(), []
        for s in STENCIL:
            world.data.q[:] = manifold.integrate(world.data, q, d, s * STEP)
            values.append(space.value()[0])
            if kind != "ellipsoid":
                expected, feature, radius = nearest(shape, local())
                assert values[-1] == pytest.approx(expected, rel=1e-12, abs=1e-12)
                features.add(feature)
                radii.append(radius)
        world.data.q[:] = q
        if len(features) > 1 or min(radii, default=1.0) < SMALLEST_RADIUS or min(values) < -0.1:
            continue  # the second derivative jumps here, or is large
        G, H = space.gradient()[0], space.hessian()[0]
        scale = 1.0 + abs(values[2]) + np.einsum("ij,i,j->", abs(H), abs(d), abs(d))
        assert abs(FIRST @ values / STEP - G @ d) <= 1e-7 * (scale + abs(G) @ abs(d))
        assert abs(SECOND @ values / STEP**2 - d @ H @ d) <= 1e-5 * scale
        assert np.isclose(space.bias()[0], world.v @ H @ world.v, rtol=1e-10, atol=1e-9 * scale * max(1.0, world.v @ world.v))


def free_point(shape: br.Shape) -> tuple[br.World, an.AnimationSpace]:
    """A free point, and its distance from a shape in the world."""
    builder = br.ModelBuilder("point")
    builder.link("p", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    world = br.World()
    world.add(builder.build(), "a")
    return world, an.AnimationSpace(world, {"d": an.distance_to_surface("a/p", shape)})


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_distances_are_those_of_collision_detection_and_mujoco(kind):
    rng, shape, radius = np.random.default_rng(3), SHAPES[kind](), 1e-3
    world, space = free_point(shape)
    case, peer = CollisionCase(br.Sphere(radius=radius), shape), Peer(br.Sphere(radius=radius), shape)
    compared = 0
    for _ in range(40):
        x, turn = rng.normal(size=3) * 0.15, rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        q = np.concatenate([x, [1, 0, 0, 0], rng.normal(size=3) * 0.05, turn])
        case.data.q[:] = q
        R = br.rotations.to_matrix(turn)
        world.data.q[:3] = R.T @ (x - q[7:10])
        d = space.value()[0]
        if d < 0.002:  # penetrating shapes are compared below
            continue
        found = [patch.min_gap for patch in case.detect(margin=2.0)]
        assert found
        assert min(found) + radius == pytest.approx(d, abs=1e-8)
        assert peer.distance(q) + radius == pytest.approx(d, abs=1e-6)
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_distance_has_a_unit_gradient_and_leads_to_the_surface(kind):
    rng, shape = np.random.default_rng(5), SHAPES[kind]()
    world, space = free_point(shape)
    for size in (0.02, 0.1, 0.5, 5.0):  # inside, near and far away
        for _ in range(10):
            x = rng.normal(size=3) * size
            world.data.q[:3] = x
            d, n = space.value()[0], space.gradient()[0, :3]
            assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
            assert np.allclose(space.hessian()[0, :3, :3] @ n, 0.0, atol=1e-7 / max(abs(d), 1e-3))
            world.data.q[:3] = x - d * n
            assert abs(space.value()[0]) <= 1e-13 * max(1.0, size)
            # Fails if the foot of the perpendicular is not the nearest point: no point of the ball around x is beyond the surface.
            around = rng.normal(size=(20, 3))
            for e in around / np.linalg.norm(around, axis=1)[:, None]:
                world.data.q[:3] = x + 0.999 * abs(d) * e
                assert space.value()[0] * d >= -1e-12


def test_points_on_the_surface_have_a_gradient():
    for shape, x, n in (
        (br.Box(size=(2, 2, 2)), (0.3, 0.0, 1.0), (0, 0, 1)),
        (br.Cylinder(radius=1, length=2), (0.0, 0.0, 1.0), (0, 0, 1)),
        (br.Hull(vertices=[(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]), (1.0, 0.2, 0.1), (1, 0, 0)),
        (br.Ellipsoid(radii=(1, 2, 3)), (1.0, 0.0, 0.0), (1, 0, 0)),
    ):
        world, space = free_point(shape)
        world.data.q[:3] = x
        assert abs(space.value()[0]) < 1e-15
        assert np.allclose(space.gradient()[0, :3], n, atol=1e-14)
        assert np.isfinite(space.hessian()).all()


def test_distance_from_a_link_is_that_of_its_nearest_shape():
    world = br.World()
    world.add(br.figures.human28(), "man")
    shapes = world.model.links["man/left_foot"].shapes
    foot = an.distance_to_surface("man/right_hand", "man/left_foot")
    each = [an.distance_to_surface("man/right_hand", "man/left_foot", shape=n) for n, s in enumerate(shapes) if s.collides]
    values = br.functions.FunctionSet(world, {"foot": foot, **{str(n): d for n, d in enumerate(each)}}).value()
    assert values[0] == values[1:].min() > 0.1
    height = an.FunctionSet(world, {"z": an.distance_to_surface("man/left_hand", br.Plane())})
    assert height.value()[0] == pytest.approx(world.position("man/left_hand")[2])


def test_derivatives_that_do_not_exist_are_named():
    box, center = free_point(br.Box(size=(1, 1, 1))), free_point(br.Sphere(radius=1))
    box[0].data.q[:3] = (0.2, 0.2, 0.0)  # as far from two faces
    assert box[1].value()[0] == pytest.approx(-0.3)
    with pytest.raises(br.StateError, match=r"'d' is not finite or not differentiable in this state: maximum"):
        box[1].gradient()
    with pytest.raises(br.StateError, match=r"'d' is not finite or not differentiable in this state: sqrt"):
        center[1].gradient()
    for x in ((0.5, 0.5, 0.1), (0.5, -0.5, 0.5)):  # on an edge, on a corner
        box[0].data.q[:3] = x
        with pytest.raises(br.StateError, match="maximum"):
            box[1].gradient()


def an_ellipsoid() -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(60, 3))
    return points / np.linalg.norm(points, axis=1)[:, None] * (1, 2, 3)


STAR = br.Mesh(
    vertices=[(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.2, 0.2, 0), (0, 1, 0), (-1, -1, 0)],
    triangles=[(0, 2, 3), (0, 3, 4), (0, 4, 5), (0, 5, 2), (1, 3, 2), (1, 4, 3), (1, 5, 4), (1, 2, 5)],
)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: an.distance_to_surface("man/head", "man/no_foot"), "Function 'bad': 'man/no_foot' is not a link"),
        (lambda: an.distance_to_surface("man/no_head", "man/left_foot"), "Function 'bad': 'man/no_head' is not a link"),
        (lambda: an.distance_to_surface("man/head", "man/left_foot", shape="heel"), r"has no shape 'heel'. It has 0: "),
        (lambda: an.distance_to_surface("man/head", "man/left_foot", shape=99), "has no shape 99"),
        (lambda: an.distance_to_surface("man/head", "man/head"), "does not move relative to its own surface"),
        (lambda: an.distance_to_surface("man/head", 3.0), "name of a link or a shape"),
        (lambda: an.distance_to_surface("man/head", br.Box(size=(1, 1, 1)), shape=0), "shape= chooses a shape of a link"),
        (lambda: an.distance_to_surface("man/head", "man/left_foot", frame="man/head"), "frame= is for a given shape"),
        (lambda: an.distance_to_surface("man/head", br.HeightField(heights=np.eye(3))), "no formula for a height field.*convex hulls"),
        (lambda: an.distance_to_surface("man/head", STAR), "is not convex, and there is no formula"),
        (
            lambda: an.distance_to_surface("man/head", br.Hull(vertices=an_ellipsoid())),
            r"edges, more than 150\. Use a simpler shape",
        ),
    ],
)  # fmt: skip
def test_bad_surfaces_are_named(make, words):
    world = br.World()
    world.add(br.figures.human16(), "man")
    with pytest.raises(br.BrachiateError, match=words):
        an.FunctionSet(world, {"bad": make()})


def test_what_is_not_selected_need_not_be_differentiable():
    world = br.World()
    world.add(br.figures.human16(), "man")
    elbow = an.joint("man/left_elbow")
    space = an.AnimationSpace(world, {"m": an.maximum(an.sqrt(abs(elbow)), 0.5 + elbow)})
    world["man/left_elbow"] = 0.0
    k = world.model.coordinate_index["man/left_elbow"]
    assert (space.value()[0], space.gradient()[0, k]) == (0.5, 1.0)
    assert not space.hessian().any()
    # Fails if a derivative that exists nowhere is taken for zero because its factor is zero.
    wrong = an.AnimationSpace(world, {"w": elbow * an.sqrt(abs(elbow))})
    with pytest.raises(br.StateError, match="'w' is not finite or not differentiable"):
        wrong.gradient()
