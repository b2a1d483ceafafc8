"""Contact areas: closed forms for every pair of kinds, distances against MuJoCo and by trial, and what holds for all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.contact.pairs import KINDS, SHAPES, Couple, Peer, random_pose, signed_distance

import brachiate as br
from brachiate.compiled import MODE
from brachiate.contact.arrays import BOX

TRIALS = {"fast": 150, "check": 40, "off": 10}[MODE]
#: Rotations of 90 degrees.
X_UP, Y_UP = (np.sqrt(0.5), 0, -np.sqrt(0.5), 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0)
every_pair = pytest.mark.parametrize(("one", "two"), list(itertools.product(KINDS, KINDS)))


def about(axis, angle):
    """A quaternion."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis, float)])


def rotation(q):
    """Its matrix."""
    w, x, y, z = np.asarray(q) / np.linalg.norm(q)
    K = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def on_plane(shape: br.Shape) -> Couple:
    return Couple(br.Plane(), shape, fixed=(0,))


def check_area(a):
    """What holds for every area."""
    assert np.isfinite(a.point).all()
    assert np.isfinite(a.flat).all()
    assert np.isfinite(a.gap).all()
    assert a.axes.T @ a.axes == pytest.approx(np.eye(3), abs=1e-9)
    assert np.linalg.det(a.axes) == pytest.approx(1)
    k = len(a.flat)
    assert 1 <= k <= 8
    assert a.flat.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    if k == 2:
        assert a.flat[:, 1] == pytest.approx([0, 0])
        assert a.flat[0, 0] < a.flat[1, 0]
    for j in range(k if k > 2 else 0):
        p, q, r = a.flat[j - 2], a.flat[j - 1], a.flat[j]
        assert (q - p)[0] * (r - q)[1] - (q - p)[1] * (r - q)[0] > -1e-9  # convex, counter-clockwise
        assert np.linalg.norm(r - q) > 0.9e-4


# --- on a plane ---------------------------------------------------------------------------------


def test_box_on_a_plane():
    c = on_plane(br.Box(size=(0.4, 0.2, 0.1)))
    c.place(1, (1, 2, 0.051))
    (a,) = c.find()
    check_area(a)
    assert a.pair == (0, 1)
    assert a.axes == pytest.approx(np.eye(3))
    assert a.point == pytest.approx([1, 2, 0])
    assert a.flat == pytest.approx(np.array([(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)]))
    assert a.gap == pytest.approx([0.001, 0, 0])
    c.place(1, (0, 0, 0.06), about((0, 1, 0), 0.1))
    (a,) = c.find(0.05)
    check_area(a)
    R = rotation(about((0, 1, 0), 0.1))
    true = [0.06 + (R @ (x, y, -0.05))[2] for x, y in ((-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1))]
    assert a.gaps == pytest.approx(true, abs=1e-12)  # exactly affine
    (a,) = c.find()  # two of the corners are too far to touch
    check_area(a)
    assert a.gaps == pytest.approx(true[1:3], abs=1e-12)
    assert a.corners[:, 0] == pytest.approx(2 * [(R @ (0.2, 0, -0.05))[0]])
    c.place(1, (0, 0, 0.08))
    assert c.find() == []


@pytest.mark.parametrize("seed", range(TRIALS // 5))
def test_a_box_anywhere_on_a_plane_anywhere(seed):
    random = np.random.default_rng(seed)
    tilt = random.normal(size=4)
    N, x = rotation(tilt), random.normal(size=3)
    c = Couple(br.Plane(position=x, rotation=N), br.Box(size=(0.4, 0.2, 0.1)), fixed=(0,))
    place, q = random_pose(random, 0.5)
    c.place(1, x + N @ np.array([place[0], place[1], 0.1]), q)
    corners = np.array([(i, j, k) for i in (-0.2, 0.2) for j in (-0.1, 0.1) for k in (-0.05, 0.05)])
    heights = np.sort((corners @ rotation(q).T + c.data.q[:3] - x) @ N[:, 2])
    (a,) = c.find(1.0)
    check_area(a)
    assert a.least == pytest.approx(heights[0], abs=1e-12)
    assert len(a.flat) == 4
    assert all(np.abs(heights - g).min() < 1e-12 for g in a.gaps)
    assert (a.corners - x) @ N[:, 2] == pytest.approx(np.zeros(4), abs=1e-12)


def test_sphere_and_ellipsoid_on_a_plane():
    for shape, height in ((br.Sphere(radius=0.1), 0.1), (br.Ellipsoid(radii=(0.2, 0.3, 0.1)), 0.1)):
        c = on_plane(shape)
        c.place(1, (1, 2, height - 0.01))
        (a,) = c.find()
        check_area(a)
        assert a.point == pytest.approx([1, 2, 0])
        assert a.gap == pytest.approx([-0.01, 0, 0])
    c.place(1, (0, 0, 0.25), about((0, 1, 0), 0.6))
    (a,) = c.find(1.0)
    assert a.least == pytest.approx(0.25 - np.hypot(0.2 * np.sin(0.6), 0.1 * np.cos(0.6)))


def test_capsule_on_a_plane():
    c = on_plane(br.Capsule(radius=0.05, length=0.4))
    c.place(1, (0, 0, 0.05), X_UP)
    (a,) = c.find()
    check_area(a)
    assert a.flat == pytest.approx(np.array([(-0.2, 0), (0.2, 0)]))
    assert a.axes[:, 0] == pytest.approx([-1, 0, 0])  # along the capsule's own axis
    c.place(1, (0, 0, 0.07), about((0, 1, 0), np.pi / 2 + 0.1))
    (a,) = c.find(0.05)
    check_area(a)
    assert np.sort(a.gaps) == pytest.approx([0.02 - 0.2 * np.sin(0.1), 0.02 + 0.2 * np.sin(0.1)], abs=1e-12)
    c.place(1, (0, 0, 0.08), about((0, 1, 0), np.pi / 2 + 0.13))
    (a,) = c.find()  # the far end is too far to touch
    assert len(a.flat) == 1
    assert a.least == pytest.approx(0.03 - 0.2 * np.sin(0.13))
    assert a.point == pytest.approx([0.2 * np.cos(0.13), 0, 0])


def test_cylinder_on_a_plane():
    c = on_plane(br.Cylinder(radius=0.1, length=0.4))
    c.place(1, (0, 0, 0.2))
    (a,) = c.find()
    check_area(a)
    assert len(a.flat) == 8
    assert np.linalg.norm(a.flat, axis=1) == pytest.approx(np.full(8, 0.1))
    for way in np.linspace(0, 6, 7):  # tilted any way, a corner is at the lowest point of the rim
        axis = (np.cos(way), np.sin(way), 0)
        c.place(1, (0, 0, 0.21), about(axis, 0.05))
        (a,) = c.find()
        check_area(a)
        assert a.least == pytest.approx(0.21 - 0.2 * np.cos(0.05) - 0.1 * np.sin(0.05), abs=1e-12)
    c.place(1, (0, 0, 0.1), X_UP)
    (a,) = c.find()
    check_area(a)
    assert a.flat == pytest.approx(np.array([(-0.2, 0), (0.2, 0)]))


def test_hull_on_a_plane():
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    points = np.concatenate([[(0.2 * np.cos(t), 0.2 * np.sin(t), 0) for t in turn], [(0, 0, 0.5)]])
    c = on_plane(br.Hull(vertices=points))
    c.place(1, (0, 0, 0.01))
    (a,) = c.find()
    check_area(a)
    assert len(a.flat) == 8  # the outermost of twelve
    assert np.linalg.norm(a.corners[:, :2], axis=1) == pytest.approx(np.full(8, 0.2))
    assert a.gaps == pytest.approx(np.full(8, 0.01))
    assert np.abs(a.flat.mean(axis=0)).max() < 0.05  # from all around
    c.place(1, (0, 0, 0.51), (0, 1, 0, 0))  # on its tip
    (a,) = c.find()
    assert len(a.flat) == 1
    assert a.gaps == pytest.approx([0.01])
    assert a.point == pytest.approx([0, 0, 0], abs=1e-12)


def test_what_moves_may_be_a_plane():
    c = Couple(br.Plane(), br.Sphere(radius=0.1))
    c.place(0, (1, 0, 0), X_UP)
    c.place(1, (0.85, 0, 0))
    (a,) = c.find(0.1)
    assert a.normal == pytest.approx([-1, 0, 0])
    assert a.least == pytest.approx(0.05)


# --- each other ---------------------------------------------------------------------------------


def test_capsules():
    c = Couple(br.Capsule(radius=0.05, length=0.4), br.Capsule(radius=0.03, length=0.2))
    c.place(0, (0, 0, 0), X_UP)
    c.place(1, (0, 0, 0.09), Y_UP)  # crossed
    (a,) = c.find()
    assert len(a.flat) == 1
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.point == pytest.approx([0, 0, 0.05], abs=1e-12)
    assert a.least == pytest.approx(0.01)
    c.place(1, (0.15, 0, 0.09), X_UP)  # side by side: half of the second is over the first
    (a,) = c.find()
    check_area(a)
    assert np.sort(a.corners[:, 0]) == pytest.approx([0.05, 0.2])
    assert a.gaps == pytest.approx([0.01, 0.01])
    c.place(1, (0.39, 0, 0), X_UP)  # end to end
    (a,) = c.find()
    assert len(a.flat) == 1
    assert a.normal == pytest.approx([1, 0, 0])
    assert a.least == pytest.approx(0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_lies_flat_on_a_box(kind):
    # A box is a plane as long as nothing reaches over its edges.
    shape = SHAPES[kind]()
    box, plane = Couple(br.Box(size=(2, 2, 0.5)), shape, fixed=(0,)), on_plane(shape)
    random = np.random.default_rng(5)
    for _ in range(TRIALS // 5):
        quaternion = random.normal(size=4)
        plane.place(1, (0.1, 0.2, 0.3), quaternion)
        (a,) = plane.find(1.0)
        for gap in (0.004, 1e-7, -1e-7, -0.004):
            box.place(1, (0.1, 0.2, 0.3 + 0.25 - a.least + gap), quaternion)
            (b,) = box.find()
            check_area(b)
            assert b.normal == pytest.approx([0, 0, 1], abs=1e-9)
            assert b.least == pytest.approx(gap, abs=1e-9)
            if len(b.flat) == len(a.flat):
                assert b.gaps - b.least == pytest.approx(a.gaps - a.least, abs=1e-9) or kind in ("hull", "cylinder")
    for way in ((1, 0, 0, 0), X_UP, Y_UP):
        plane.place(1, (0, 0, 0.1), way)
        (a,) = plane.find(1.0)
        for gap in (0.004, 1e-7, -1e-7, -0.004):
            box.place(1, (0, 0, 0.1 + 0.25 - a.least + gap), way)
            (b,) = box.find(1.0)
            assert len(a.flat) == len(b.flat)
            assert b.gaps == pytest.approx(a.gaps - a.least + gap, abs=1e-9)


def test_boxes_on_each_other():
    c = Couple(br.Box(size=(0.4, 0.4, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    c.place(1, (0.15, 0, 0.201))  # a quarter of it hangs over
    (a,) = c.find()
    check_area(a)
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.corners[:, 0].max() == pytest.approx(0.2)
    assert a.corners[:, 0].min() == pytest.approx(0.05)
    assert a.gaps == pytest.approx(np.full(4, 0.001))
    c.place(1, (0, 0, 0.2), about((0, 0, 1), np.pi / 4))
    c.place(0, (0, 0, 0), about((0, 0, 1), 0.3))
    (a,) = c.find()
    assert len(a.flat) == 4
    same = Couple(br.Box(size=(0.2, 0.2, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    same.place(1, (0, 0, 0.2), about((0, 0, 1), np.pi / 4))
    (a,) = same.find()
    check_area(a)
    assert len(a.flat) == 8


def test_boxes_edge_to_edge():
    c = Couple(br.Box(size=(0.2, 0.2, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    half = 0.1 * np.sqrt(2)
    c.place(0, (0, 0, 0), about((1, 0, 0), np.pi / 4))
    c.place(1, (0.03, 0.02, 2 * half + 0.005), about((0, 1, 0), np.pi / 4))
    for lift in (0.005, -0.005):
        c.data.q[9] = 2 * half + lift
        (a,) = c.find()
        assert len(a.flat) == 1
        assert a.normal == pytest.approx([0, 0, 1], abs=1e-12)
        assert a.least == pytest.approx(lift)
        assert a.point == pytest.approx([0.03, 0, half])
    c.place(1, (0.03, 0, 2 * half + 0.005), about((1, 0, 0), np.pi / 4))  # along each other
    (a,) = c.find()
    check_area(a)
    assert len(a.flat) == 2
    assert a.flat[1, 0] - a.flat[0, 0] == pytest.approx(0.17)


def test_a_foot_over_the_edge_of_a_step():
    w = br.World()
    w.add(br.figures.steps(2, rise=0.2, tread=0.3))
    w.add(br.figures.box((0.26, 0.1, 0.02), 1.0), name="foot", at=(0.3, 0, 0.4))
    c = Couple.of(w.model, w.data)
    (a,) = c.find()
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.corners[:, 0].min() == pytest.approx(0.3)  # at the nosing
    assert a.corners[:, 0].max() == pytest.approx(0.43)
    assert a.corners[:, 2] == pytest.approx(np.full(4, 0.4))
    # On the first step, its toes at the riser of the second; q is counted from where it was added.
    c.data.q[:3] = np.array((0.3 - 0.13 + 0.0005, 0, 0.2 + 0.01 - 0.001)) - (0.3, 0, 0.41)
    found = c.find(0.005)
    assert {tuple(np.round(a.normal, 6) + 0.0) for a in found} == {(0, 0, 1), (-1, 0, 0)}
    for a in found:
        assert a.least == pytest.approx(-0.001 if a.normal[2] > 0.5 else -0.0005)


@every_pair
def test_distance_is_that_of_mujoco(one, two):
    c, peer, random = Couple(SHAPES[one](), SHAPES[two]()), Peer(SHAPES[one](), SHAPES[two]()), np.random.default_rng(7)
    apart = 0
    for _ in range(TRIALS):
        for k in (0, 1):
            c.place(k, *random_pose(random, 0.12))
        (a,) = c.find(1.0)
        check_area(a)
        true = peer.distance(c.data.q)
        if true > 1e-6:
            apart += 1
            assert a.least == pytest.approx(true, abs=1e-7)
    assert apart > TRIALS / 4


@every_pair
def test_depth_is_about_the_least(one, two):
    # By moving out along the normal by the depth, shapes part: no direction can be better than the best of all that were tried.
    first, second, random = SHAPES[one](), SHAPES[two](), np.random.default_rng(2)
    c = Couple(first, second)
    excess = []
    for _ in range(max(TRIALS // 5, 12)):
        for k in (0, 1):
            c.place(k, *random_pose(random, 0.06))
        (a,) = c.find(1.0)
        true = signed_distance(c, first, second)
        if true < 0:
            depth = -c.handle.rooms[2].meeting[6]
            assert depth > -true * (1 - 1e-3) - 1e-5
            excess.append(depth / -true - 1)
            assert -a.least > 0.4 * depth
    assert np.mean(excess) < 0.1


@every_pair
def test_places_do_not_jump_where_shapes_begin_to_overlap(one, two):
    # From just touching to a hair inside each other. Lines and faces that lie on each other have no one place.
    c = Couple(SHAPES[one](), SHAPES[two]())
    random = np.random.default_rng(11)
    jumps = []
    for _ in range(TRIALS):
        c.place(0, (0, 0, 0))
        c.place(1, *random_pose(random, 0.3))
        found = c.find(1.0)
        if not found or found[0].least < 1e-3:
            continue
        n, x = found[0].normal, c.data.q[c.model.joints["link1"].q][:3].copy()
        places = []
        for gap in (2e-6, -2e-6):
            c.data.q[c.model.joints["link1"].q][:3] = x - (found[0].least - gap) * n
            now = c.find()
            if len(now) == 1 and len(now[0].corners) == 1:
                places.append(now[0].point)
        if len(places) == 2:
            jumps.append(np.linalg.norm(places[1] - places[0]))
    assert max(jumps, default=0.0) < 2e-3


@every_pair
def test_it_does_not_matter_who_is_first_or_where(one, two):
    random = np.random.default_rng(4)
    c, d = Couple(SHAPES[one](), SHAPES[two]()), Couple(SHAPES[two](), SHAPES[one]())
    for _ in range(TRIALS // 10):
        for k in (0, 1):
            place, q = random_pose(random, 0.15)
            c.place(k, place, q)
            d.place(1 - k, place, q)
        (a,), (b,) = c.find(1.0), d.find(1.0)
        if a.least < 0:
            continue  # of several directions about as deep either may be taken
        assert a.least == pytest.approx(b.least, abs=1e-9)
        same = 1 if [SHAPES[one]().kind, SHAPES[two]().kind][a.pair[0]] == [SHAPES[two]().kind, SHAPES[one]().kind][b.pair[0]] else -1
        same = same if one != two else -1
        assert a.normal == pytest.approx(same * b.normal, abs=1e-5)
        # Moved and turned together
        R, x = random.normal(size=4), random.normal(size=3)
        for k in (0, 1):
            q = c.data.q[7 * k : 7 * k + 7].copy()
            c.place(k, x + rotation(R) @ q[:3], product(R, q[3:]))
        (e,) = c.find(1.0)
        assert e.least == pytest.approx(a.least, abs=1e-9)
        assert len(e.flat) == len(a.flat)
        assert e.normal == pytest.approx(rotation(R) @ a.normal, abs=1e-5)
        assert e.flat == pytest.approx(a.flat, abs=1e-6) or len(a.flat) == 2


def product(a, b):
    """Of quaternions."""
    a, b = np.asarray(a) / np.linalg.norm(a), np.asarray(b)
    w, v = a[0], a[1:]
    return np.concatenate([[w * b[0] - v @ b[1:]], w * b[1:] + b[0] * v + np.cross(v, b[1:])])


@every_pair
def test_shapes_in_the_same_place(one, two):
    c = Couple(SHAPES[one](), SHAPES[two]())
    for tilt in ((1, 0, 0, 0), X_UP, (0.3, 0.1, -0.5, 0.7)):
        c.place(0, (0, 0, 0))
        c.place(1, (0, 0, 0), tilt)
        (a,) = c.find()
        check_area(a)
        assert a.least < 0


# --- height fields ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_field_is_a_plane(kind):
    shape, random = SHAPES[kind](), np.random.default_rng(1)
    slope = about((0, 1, 0), 0.3)
    field = br.HeightField(heights=np.zeros((31, 31)), spacing=0.1, rotation=slope)
    c, p = Couple(field, shape, fixed=(0,)), Couple(br.Plane(rotation=slope), shape, fixed=(0,))
    N = rotation(slope)
    for _ in range(TRIALS // 5):
        q = random.normal(size=4)
        p.place(1, N @ (0.2, 0.1, 0.5), q)
        (a,) = p.find(1.0)
        for gap in (0.01, -0.01):
            place = N @ (0.2, 0.1, 0.5 - a.least + gap)
            c.place(1, place, q)
            (b,) = c.find()
            check_area(b)
            assert b.normal == pytest.approx(N[:, 2], abs=1e-9)
            # Of a cylinder's rim eight points are looked at
            assert b.least == pytest.approx(gap, abs=1e-9 if kind != "cylinder" else 0.006)


def test_a_box_lies_on_a_field():
    x = 0.1 * np.arange(-10, 11)
    ramp = br.HeightField(heights=np.tile(0.2 * x, (21, 1)), spacing=0.1)
    c = Couple(ramp, br.Box(size=(0.3, 0.2, 0.1)), fixed=(0,))
    tilt = -np.arctan(0.2)
    c.place(1, 0.049 * rotation(about((0, 1, 0), tilt))[:, 2], about((0, 1, 0), tilt))
    (a,) = c.find()
    check_area(a)
    assert len(a.flat) == 4
    assert np.sort(np.abs(a.flat), axis=0) == pytest.approx(np.tile([0.15, 0.1], (4, 1)))
    assert a.gaps == pytest.approx(np.full(4, -0.001))


def test_a_ball_in_a_valley_has_two_areas_and_on_a_ridge_one():
    x = 0.1 * np.arange(-10, 11)
    for sign, count in ((1, 2), (-1, 1)):
        c = Couple(br.HeightField(heights=np.tile(sign * 0.5 * abs(x), (21, 1)), spacing=0.1), br.Sphere(radius=0.05), fixed=(0,))
        c.place(1, (0, 0.013, 0.05 * np.sqrt(1.25) if sign > 0 else 0.05))
        found = c.find(0.005)
        assert len(found) == count
        for a in found:
            check_area(a)
            assert a.least == pytest.approx(0, abs=1e-9)
        if count == 2:
            assert {round(float(a.normal[0]), 6) for a in found} == {round(s / np.sqrt(5), 6) for s in (-1, 1)}
            assert sorted(a.feature for a in found) == [0, 1]
        else:
            assert found[0].normal == pytest.approx([0, 0, 1], abs=1e-9)


def test_a_box_on_a_peak():
    heights = np.zeros((21, 21))
    heights[10, 10] = 0.05
    c = Couple(br.HeightField(heights=heights, spacing=0.1), br.Box(size=(0.3, 0.2, 0.1)), fixed=(0,))
    c.place(1, (0.02, 0.01, 0.099))
    (a,) = c.find(0.01)
    assert len(a.flat) == 1
    assert a.point == pytest.approx([0, 0, 0.05])
    assert a.least == pytest.approx(-0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_rough_ground_never_gives_nonsense(kind):
    random = np.random.default_rng(8)
    c = Couple(br.HeightField(heights=random.uniform(0, 0.1, (15, 15)), spacing=(0.05, 0.08)), SHAPES[kind](), fixed=(0,))
    for _ in range(TRIALS):
        place, q = random_pose(random, 0.6)
        c.place(1, (place[0], place[1], random.uniform(-0.3, 0.3)), q)
        found = c.find()
        assert len(found) <= 4
        for a in found:
            check_area(a)
            assert a.normal[2] > 0.0
            assert a.least < 0.02


# --- bookkeeping --------------------------------------------------------------------------------


def test_areas_beyond_the_capacity_are_counted():
    balls = [br.Sphere(radius=0.1) for _ in range(6)]
    c = Couple(br.Plane(), *balls, fixed=(0,), capacity=4)
    for k in range(6):
        c.place(k + 1, (k, 0, 0.1))
    assert len(c.find()) == 4
    areas = c.handle.rooms[1]
    assert areas.count.tolist() == [4, 6]
    assert areas.pair[:4].tolist() == [0, 1, 2, 3]


def test_pairs_may_be_left_out_or_looked_for_farther():
    c = Couple(br.Plane(), br.Sphere(radius=0.1), br.Sphere(radius=0.1), fixed=(0,))
    c.place(1, (0, 0, 0.15))
    c.place(2, (0, 1, 0.15))
    assert c.find(0.02) == []
    c.handle.rooms[2].margin[1] = 0.05
    assert [a.pair for a in c.find(0.02)] == [(0, 2)]
    c.geometry.pair_on[1] = 0
    assert c.find(0.02) == []


@pytest.mark.parametrize("length", [0.4, 0.05])
def test_axes_do_not_jump(length):
    c = Couple(br.Box(size=(0.6, 0.6, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    before, tremble = None, np.random.default_rng(0)
    for t in np.linspace(0, 2 * np.pi, 200):  # the second box turns on the first one
        c.place(1, (0, 0, 0.2), about((0, 0, 1), t))
        (a,) = c.find()
        assert a.axes == pytest.approx(np.eye(3))
    rod = Couple(br.Box(size=(2, 2, 0.2)), br.Capsule(radius=0.05, length=length), fixed=(0,))
    for t in np.linspace(0, 2 * np.pi, 200):
        turned = product(about((0, 0, 1), t), product(about((1, 0, 0), tremble.normal() * 1e-9), X_UP))
        rod.place(1, (0, 0, 0.15), turned)
        (a,) = rod.find()
        assert len(a.flat) == 2
        if before is not None:
            assert before @ a.axes[:, 0] > 0.99
        before = a.axes[:, 0]


def test_a_box_keeps_the_face_it_lies_on():
    # Two faces of the upper box are equally deep: the one that bore the last time goes on to.
    c = Couple(br.Box(size=(1, 1, 1)), br.Box(size=(0.2, 0.2, 0.2)))
    assert c.geometry.kind.tolist() == [BOX, BOX]
    for towards, normal in (((0, 0, 1), (0, 0, 1)), ((1, 0, 0), (1, 0, 0))):
        x = np.array([0.59, 0.0, 0.59])
        c.place(1, x + 0.005 * np.array(towards))
        c.find()
        for noise in (0, 1e-6, -1e-6, 5e-5, -5e-5):
            c.place(1, x + noise * np.array(normal))
            (a,) = c.find()
            assert a.normal == pytest.approx(normal)


def test_far_from_the_origin():
    # A kilometre away areas are as they are here, to a picometre.
    far = np.array([1000.0, -500.0, 100.0])
    c = Couple(br.Box(size=(0.6, 0.6, 0.2)), br.Cylinder(radius=0.1, length=0.2))
    c.place(1, (0.1, 0, 0.2))
    (a,) = c.find()
    c.place(0, far)
    c.place(1, far + np.array((0.1, 0, 0.2)))
    (b,) = c.find()
    assert b.flat == pytest.approx(a.flat, abs=1e-12)
    assert b.gap == pytest.approx(a.gap, abs=1e-12)
    assert b.point - far == pytest.approx(a.point, abs=1e-12)
