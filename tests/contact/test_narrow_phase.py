"""Narrow phase: contact patches in closed form for all pairs of shape types, distances against MuJoCo and by sampling, invariants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.contact.pairs import (
    KINDS,
    SHAPES,
    X_UP,
    Y_UP,
    CollisionCase,
    Peer,
    about,
    check_patch,
    on_plane,
    product,
    random_pose,
    rotation,
    signed_distance,
)

import brachiate as br
from brachiate.compiled import MODE
from brachiate.contact.arrays import BOX

TRIALS = {"fast": 150, "check": 40, "off": 10}[MODE]
every_pair = pytest.mark.parametrize(("one", "two"), list(itertools.product(KINDS, KINDS)))


# --- on a plane ---------------------------------------------------------------------------------


def test_box_on_a_plane():
    c = on_plane(br.Box(size=(0.4, 0.2, 0.1)))
    c.place(1, (1, 2, 0.051))
    (a,) = c.detect()
    check_patch(a)
    assert a.pair == (0, 1)
    assert a.axes == pytest.approx(np.eye(3))
    assert a.point == pytest.approx([1, 2, 0])
    assert a.corners_2d == pytest.approx(np.array([(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)]))
    assert a.gap == pytest.approx([0.001, 0, 0])
    c.place(1, (0, 0, 0.06), about((0, 1, 0), 0.1))
    (a,) = c.detect(0.05)
    check_patch(a)
    R = rotation(about((0, 1, 0), 0.1))
    true = [0.06 + (R @ (x, y, -0.05))[2] for x, y in ((-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1))]
    assert a.gaps == pytest.approx(true, abs=1e-12)  # exactly affine
    (a,) = c.detect()  # two corners are beyond the margin
    check_patch(a)
    assert a.gaps == pytest.approx(true[1:3], abs=1e-12)
    assert a.corners[:, 0] == pytest.approx(2 * [(R @ (0.2, 0, -0.05))[0]])
    c.place(1, (0, 0, 0.08))
    assert c.detect() == []


@pytest.mark.parametrize("seed", range(TRIALS // 5))
def test_random_boxes_on_random_planes(seed):
    random = np.random.default_rng(seed)
    tilt = random.normal(size=4)
    N, x = rotation(tilt), random.normal(size=3)
    c = CollisionCase(br.Plane(position=x, rotation=N), br.Box(size=(0.4, 0.2, 0.1)), fixed=(0,))
    place, q = random_pose(random, 0.5)
    c.place(1, x + N @ np.array([place[0], place[1], 0.1]), q)
    corners = np.array([(i, j, k) for i in (-0.2, 0.2) for j in (-0.1, 0.1) for k in (-0.05, 0.05)])
    heights = np.sort((corners @ rotation(q).T + c.data.q[:3] - x) @ N[:, 2])
    (a,) = c.detect(1.0)
    check_patch(a)
    assert a.min_gap == pytest.approx(heights[0], abs=1e-12)
    assert len(a.corners_2d) == 4
    assert all(np.abs(heights - g).min() < 1e-12 for g in a.gaps)
    assert (a.corners - x) @ N[:, 2] == pytest.approx(np.zeros(4), abs=1e-12)


def test_sphere_and_ellipsoid_on_a_plane():
    for shape, height in ((br.Sphere(radius=0.1), 0.1), (br.Ellipsoid(radii=(0.2, 0.3, 0.1)), 0.1)):
        c = on_plane(shape)
        c.place(1, (1, 2, height - 0.01))
        (a,) = c.detect()
        check_patch(a)
        assert a.point == pytest.approx([1, 2, 0])
        assert a.gap == pytest.approx([-0.01, 0, 0])
    c.place(1, (0, 0, 0.25), about((0, 1, 0), 0.6))
    (a,) = c.detect(1.0)
    assert a.min_gap == pytest.approx(0.25 - np.hypot(0.2 * np.sin(0.6), 0.1 * np.cos(0.6)))


def test_capsule_on_a_plane():
    c = on_plane(br.Capsule(radius=0.05, length=0.4))
    c.place(1, (0, 0, 0.05), X_UP)
    (a,) = c.detect()
    check_patch(a)
    assert a.corners_2d == pytest.approx(np.array([(-0.2, 0), (0.2, 0)]))
    assert a.axes[:, 0] == pytest.approx([-1, 0, 0])  # along the capsule's own axis
    c.place(1, (0, 0, 0.07), about((0, 1, 0), np.pi / 2 + 0.1))
    (a,) = c.detect(0.05)
    check_patch(a)
    assert np.sort(a.gaps) == pytest.approx([0.02 - 0.2 * np.sin(0.1), 0.02 + 0.2 * np.sin(0.1)], abs=1e-12)
    c.place(1, (0, 0, 0.08), about((0, 1, 0), np.pi / 2 + 0.13))
    (a,) = c.detect()  # the far end is beyond the margin
    assert len(a.corners_2d) == 1
    assert a.min_gap == pytest.approx(0.03 - 0.2 * np.sin(0.13))
    assert a.point == pytest.approx([0.2 * np.cos(0.13), 0, 0])


def test_cylinder_on_a_plane():
    c = on_plane(br.Cylinder(radius=0.1, length=0.4))
    c.place(1, (0, 0, 0.2))
    (a,) = c.detect()
    check_patch(a)
    assert len(a.corners_2d) == 8
    assert np.linalg.norm(a.corners_2d, axis=1) == pytest.approx(np.full(8, 0.1))
    for way in np.linspace(0, 6, 7):  # for any tilt direction, one corner is at the lowest point of the rim
        axis = (np.cos(way), np.sin(way), 0)
        c.place(1, (0, 0, 0.21), about(axis, 0.05))
        (a,) = c.detect()
        check_patch(a)
        assert a.min_gap == pytest.approx(0.21 - 0.2 * np.cos(0.05) - 0.1 * np.sin(0.05), abs=1e-12)
    c.place(1, (0, 0, 0.1), X_UP)
    (a,) = c.detect()
    check_patch(a)
    assert a.corners_2d == pytest.approx(np.array([(-0.2, 0), (0.2, 0)]))


def test_hull_on_a_plane():
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    points = np.concatenate([[(0.2 * np.cos(t), 0.2 * np.sin(t), 0) for t in turn], [(0, 0, 0.5)]])
    c = on_plane(br.Hull(vertices=points))
    c.place(1, (0, 0, 0.01))
    (a,) = c.detect()
    check_patch(a)
    assert len(a.corners_2d) == 8  # at most eight of the twelve corners
    assert np.linalg.norm(a.corners[:, :2], axis=1) == pytest.approx(np.full(8, 0.2))
    assert a.gaps == pytest.approx(np.full(8, 0.01))
    assert np.abs(a.corners_2d.mean(axis=0)).max() < 0.05  # on all sides
    c.place(1, (0, 0, 0.51), (0, 1, 0, 0))  # on its tip
    (a,) = c.detect()
    assert len(a.corners_2d) == 1
    assert a.gaps == pytest.approx([0.01])
    assert a.point == pytest.approx([0, 0, 0], abs=1e-12)


def test_moving_plane():
    c = CollisionCase(br.Plane(), br.Sphere(radius=0.1))
    c.place(0, (1, 0, 0), X_UP)
    c.place(1, (0.85, 0, 0))
    (a,) = c.detect(0.1)
    assert a.normal == pytest.approx([-1, 0, 0])
    assert a.min_gap == pytest.approx(0.05)


# --- pairs of convex shapes ---------------------------------------------------------------------


def test_two_capsules():
    c = CollisionCase(br.Capsule(radius=0.05, length=0.4), br.Capsule(radius=0.03, length=0.2))
    c.place(0, (0, 0, 0), X_UP)
    c.place(1, (0, 0, 0.09), Y_UP)  # crossed
    (a,) = c.detect()
    assert len(a.corners_2d) == 1
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.point == pytest.approx([0, 0, 0.05], abs=1e-12)
    assert a.min_gap == pytest.approx(0.01)
    c.place(1, (0.15, 0, 0.09), X_UP)  # parallel: half of the second overlaps the first
    (a,) = c.detect()
    check_patch(a)
    assert np.sort(a.corners[:, 0]) == pytest.approx([0.05, 0.2])
    assert a.gaps == pytest.approx([0.01, 0.01])
    c.place(1, (0.39, 0, 0), X_UP)  # end to end
    (a,) = c.detect()
    assert len(a.corners_2d) == 1
    assert a.normal == pytest.approx([1, 0, 0])
    assert a.min_gap == pytest.approx(0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_on_a_box_are_as_on_a_plane(kind):
    # A box is equivalent to a plane if the patch does not reach its edges.
    shape = SHAPES[kind]()
    box, plane = CollisionCase(br.Box(size=(2, 2, 0.5)), shape, fixed=(0,)), on_plane(shape)
    random = np.random.default_rng(5)
    for _ in range(TRIALS // 5):
        quaternion = random.normal(size=4)
        plane.place(1, (0.1, 0.2, 0.3), quaternion)
        (a,) = plane.detect(1.0)
        for gap in (0.004, 1e-7, -1e-7, -0.004):
            box.place(1, (0.1, 0.2, 0.3 + 0.25 - a.min_gap + gap), quaternion)
            (b,) = box.detect()
            check_patch(b)
            assert b.normal == pytest.approx([0, 0, 1], abs=1e-9)
            assert b.min_gap == pytest.approx(gap, abs=1e-9)
            if len(b.corners_2d) == len(a.corners_2d):
                assert b.gaps - b.min_gap == pytest.approx(a.gaps - a.min_gap, abs=1e-9) or kind in ("hull", "cylinder")
    for way in ((1, 0, 0, 0), X_UP, Y_UP):
        plane.place(1, (0, 0, 0.1), way)
        (a,) = plane.detect(1.0)
        for gap in (0.004, 1e-7, -1e-7, -0.004):
            box.place(1, (0, 0, 0.1 + 0.25 - a.min_gap + gap), way)
            (b,) = box.detect(1.0)
            assert len(a.corners_2d) == len(b.corners_2d)
            assert b.gaps == pytest.approx(a.gaps - a.min_gap + gap, abs=1e-9)


def test_boxes_on_each_other():
    c = CollisionCase(br.Box(size=(0.4, 0.4, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    c.place(1, (0.15, 0, 0.201))  # a quarter overhangs
    (a,) = c.detect()
    check_patch(a)
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.corners[:, 0].max() == pytest.approx(0.2)
    assert a.corners[:, 0].min() == pytest.approx(0.05)
    assert a.gaps == pytest.approx(np.full(4, 0.001))
    c.place(1, (0, 0, 0.2), about((0, 0, 1), np.pi / 4))
    c.place(0, (0, 0, 0), about((0, 0, 1), 0.3))
    (a,) = c.detect()
    assert len(a.corners_2d) == 4
    same = CollisionCase(br.Box(size=(0.2, 0.2, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    same.place(1, (0, 0, 0.2), about((0, 0, 1), np.pi / 4))
    (a,) = same.detect()
    check_patch(a)
    assert len(a.corners_2d) == 8


def test_boxes_edge_to_edge():
    c = CollisionCase(br.Box(size=(0.2, 0.2, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    half = 0.1 * np.sqrt(2)
    c.place(0, (0, 0, 0), about((1, 0, 0), np.pi / 4))
    c.place(1, (0.03, 0.02, 2 * half + 0.005), about((0, 1, 0), np.pi / 4))
    for lift in (0.005, -0.005):
        c.data.q[9] = 2 * half + lift
        (a,) = c.detect()
        assert len(a.corners_2d) == 1
        assert a.normal == pytest.approx([0, 0, 1], abs=1e-12)
        assert a.min_gap == pytest.approx(lift)
        assert a.point == pytest.approx([0.03, 0, half])
    c.place(1, (0.03, 0, 2 * half + 0.005), about((1, 0, 0), np.pi / 4))  # parallel edges
    (a,) = c.detect()
    check_patch(a)
    assert len(a.corners_2d) == 2
    assert a.corners_2d[1, 0] - a.corners_2d[0, 0] == pytest.approx(0.17)


def test_a_foot_over_the_edge_of_a_step():
    w = br.World()
    w.add(br.figures.stairs(2, rise=0.2, tread=0.3))
    w.add(br.figures.box((0.26, 0.1, 0.02), 1.0), name="foot", at=(0.3, 0, 0.4))
    c = CollisionCase.of(w.model, w.data)
    (a,) = c.detect()
    assert a.normal == pytest.approx([0, 0, 1])
    assert a.corners[:, 0].min() == pytest.approx(0.3)  # at the edge of the step
    assert a.corners[:, 0].max() == pytest.approx(0.43)
    assert a.corners[:, 2] == pytest.approx(np.full(4, 0.4))
    # On the first step, toes at the riser of the second; q is relative to the initial pose.
    c.data.q[:3] = np.array((0.3 - 0.13 + 0.0005, 0, 0.2 + 0.01 - 0.001)) - (0.3, 0, 0.41)
    found = c.detect(0.005)
    assert {tuple(np.round(a.normal, 6) + 0.0) for a in found} == {(0, 0, 1), (-1, 0, 0)}
    for a in found:
        assert a.min_gap == pytest.approx(-0.001 if a.normal[2] > 0.5 else -0.0005)


@every_pair
def test_distance_equals_mujocos(one, two):
    c, peer, random = CollisionCase(SHAPES[one](), SHAPES[two]()), Peer(SHAPES[one](), SHAPES[two]()), np.random.default_rng(7)
    separated = 0
    for _ in range(TRIALS):
        for k in (0, 1):
            c.place(k, *random_pose(random, 0.12))
        (a,) = c.detect(1.0)
        check_patch(a)
        true = peer.distance(c.data.q)
        if true > 1e-6:
            separated += 1
            assert a.min_gap == pytest.approx(true, abs=1e-7)
    assert separated > TRIALS / 4


@every_pair
def test_penetration_is_nearly_minimal(one, two):
    # Shapes separate when moved along the normal by the depth; the depth is not larger than the least over sampled directions.
    first, second, random = SHAPES[one](), SHAPES[two](), np.random.default_rng(2)
    c = CollisionCase(first, second)
    excess = []
    for _ in range(max(TRIALS // 5, 12)):
        for k in (0, 1):
            c.place(k, *random_pose(random, 0.06))
        (a,) = c.detect(1.0)
        true = signed_distance(c, first, second)
        if true < 0:
            depth = -c.handle.structs[2].closest[6]
            assert depth > -true * (1 - 1e-3) - 1e-5
            excess.append(depth / -true - 1)
            assert -a.min_gap > 0.4 * depth
    assert np.mean(excess) < 0.1


@every_pair
def test_contact_points_are_continuous_at_first_overlap(one, two):
    # From a small gap to a small overlap. Parallel lines and faces are excluded: their contact point is not unique.
    c = CollisionCase(SHAPES[one](), SHAPES[two]())
    random = np.random.default_rng(11)
    jumps = []
    for _ in range(TRIALS):
        c.place(0, (0, 0, 0))
        c.place(1, *random_pose(random, 0.3))
        found = c.detect(1.0)
        if not found or found[0].min_gap < 1e-3:
            continue
        n, x = found[0].normal, c.data.q[c.model.joints["link1"].q][:3].copy()
        points = []
        for gap in (2e-6, -2e-6):
            c.data.q[c.model.joints["link1"].q][:3] = x - (found[0].min_gap - gap) * n
            now = c.detect()
            if len(now) == 1 and len(now[0].corners) == 1:
                points.append(now[0].point)
        if len(points) == 2:
            jumps.append(np.linalg.norm(points[1] - points[0]))
    assert max(jumps, default=0.0) < 2e-3


@every_pair
def test_result_is_independent_of_order_and_pose(one, two):
    random = np.random.default_rng(4)
    c, d = CollisionCase(SHAPES[one](), SHAPES[two]()), CollisionCase(SHAPES[two](), SHAPES[one]())
    for _ in range(TRIALS // 10):
        for k in (0, 1):
            place, q = random_pose(random, 0.15)
            c.place(k, place, q)
            d.place(1 - k, place, q)
        (a,), (b,) = c.detect(1.0), d.detect(1.0)
        if a.min_gap < 0:
            continue  # of several directions of about equal depth any may be chosen
        assert a.min_gap == pytest.approx(b.min_gap, abs=1e-9)
        same = 1 if [SHAPES[one]().kind, SHAPES[two]().kind][a.pair[0]] == [SHAPES[two]().kind, SHAPES[one]().kind][b.pair[0]] else -1
        same = same if one != two else -1
        assert a.normal == pytest.approx(same * b.normal, abs=1e-5)
        # Moved and rotated together
        R, x = random.normal(size=4), random.normal(size=3)
        for k in (0, 1):
            q = c.data.q[7 * k : 7 * k + 7].copy()
            c.place(k, x + rotation(R) @ q[:3], product(R, q[3:]))
        (e,) = c.detect(1.0)
        assert e.min_gap == pytest.approx(a.min_gap, abs=1e-9)
        assert len(e.corners_2d) == len(a.corners_2d)
        assert e.normal == pytest.approx(rotation(R) @ a.normal, abs=1e-5)
        assert e.corners_2d == pytest.approx(a.corners_2d, abs=1e-6) or len(a.corners_2d) == 2


@every_pair
def test_coincident_shapes(one, two):
    c = CollisionCase(SHAPES[one](), SHAPES[two]())
    for tilt in ((1, 0, 0, 0), X_UP, (0.3, 0.1, -0.5, 0.7)):
        c.place(0, (0, 0, 0))
        c.place(1, (0, 0, 0), tilt)
        (a,) = c.detect()
        check_patch(a)
        assert a.min_gap < 0


# --- bookkeeping --------------------------------------------------------------------------------


def test_patches_beyond_capacity_are_counted():
    balls = [br.Sphere(radius=0.1) for _ in range(6)]
    c = CollisionCase(br.Plane(), *balls, fixed=(0,), capacity=4)
    for k in range(6):
        c.place(k + 1, (k, 0, 0.1))
    assert len(c.detect()) == 4
    areas = c.handle.structs[1]
    assert areas.count.tolist() == [4, 6]
    assert areas.pair[:4].tolist() == [0, 1, 2, 3]


def test_disabled_pairs_and_pair_margin():
    c = CollisionCase(br.Plane(), br.Sphere(radius=0.1), br.Sphere(radius=0.1), fixed=(0,))
    c.place(1, (0, 0, 0.15))
    c.place(2, (0, 1, 0.15))
    assert c.detect(0.02) == []
    c.handle.structs[2].pair_margin[1] = 0.05
    assert [a.pair for a in c.detect(0.02)] == [(0, 2)]
    c.geometry.pair_enabled[1] = 0
    assert c.detect(0.02) == []


@pytest.mark.parametrize("length", [0.4, 0.05])
def test_contact_axes_do_not_jump(length):
    c = CollisionCase(br.Box(size=(0.6, 0.6, 0.2)), br.Box(size=(0.2, 0.2, 0.2)))
    before, noise = None, np.random.default_rng(0)
    for t in np.linspace(0, 2 * np.pi, 200):  # the second box rotates on the first one
        c.place(1, (0, 0, 0.2), about((0, 0, 1), t))
        (a,) = c.detect()
        assert a.axes == pytest.approx(np.eye(3))
    rod = CollisionCase(br.Box(size=(2, 2, 0.2)), br.Capsule(radius=0.05, length=length), fixed=(0,))
    for t in np.linspace(0, 2 * np.pi, 200):
        quaternion = product(about((0, 0, 1), t), product(about((1, 0, 0), noise.normal() * 1e-9), X_UP))
        rod.place(1, (0, 0, 0.15), quaternion)
        (a,) = rod.detect()
        assert len(a.corners_2d) == 2
        if before is not None:
            assert before @ a.axes[:, 0] > 0.99
        before = a.axes[:, 0]


def test_box_keeps_its_support_face():
    # Two faces of the upper box are equally deep: the one of the last step is kept.
    c = CollisionCase(br.Box(size=(1, 1, 1)), br.Box(size=(0.2, 0.2, 0.2)))
    assert c.geometry.kind.tolist() == [BOX, BOX]
    for towards, normal in (((0, 0, 1), (0, 0, 1)), ((1, 0, 0), (1, 0, 0))):
        x = np.array([0.59, 0.0, 0.59])
        c.place(1, x + 0.005 * np.array(towards))
        c.detect()
        for noise in (0, 1e-6, -1e-6, 5e-5, -5e-5):
            c.place(1, x + noise * np.array(normal))
            (a,) = c.detect()
            assert a.normal == pytest.approx(normal)


def test_far_from_the_origin():
    # At a distance of one kilometer patches are equal to a picometer.
    far = np.array([1000.0, -500.0, 100.0])
    c = CollisionCase(br.Box(size=(0.6, 0.6, 0.2)), br.Cylinder(radius=0.1, length=0.2))
    c.place(1, (0.1, 0, 0.2))
    (a,) = c.detect()
    c.place(0, far)
    c.place(1, far + np.array((0.1, 0, 0.2)))
    (b,) = c.detect()
    assert b.corners_2d == pytest.approx(a.corners_2d, abs=1e-12)
    assert b.gap == pytest.approx(a.gap, abs=1e-12)
    assert b.point - far == pytest.approx(a.point, abs=1e-12)
