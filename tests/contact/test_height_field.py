"""Contact patches of shapes on height fields: planes, ramps, valleys, ridges, peaks, rough terrain."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.pairs import KINDS, SHAPES, CollisionCase, about, check_patch, random_pose, rotation

import brachiate as br
from brachiate.compiled import MODE

TRIALS = {"fast": 150, "check": 40, "off": 10}[MODE]


@pytest.mark.parametrize("kind", KINDS)
def test_flat_field_is_a_plane(kind):
    shape, random = SHAPES[kind](), np.random.default_rng(1)
    slope = about((0, 1, 0), 0.3)
    field = br.HeightField(heights=np.zeros((31, 31)), spacing=0.1, rotation=slope)
    c, p = CollisionCase(field, shape, fixed=(0,)), CollisionCase(br.Plane(rotation=slope), shape, fixed=(0,))
    N = rotation(slope)
    for _ in range(TRIALS // 5):
        q = random.normal(size=4)
        p.place(1, N @ (0.2, 0.1, 0.5), q)
        (a,) = p.detect(1.0)
        for gap in (0.01, -0.01):
            place = N @ (0.2, 0.1, 0.5 - a.min_gap + gap)
            c.place(1, place, q)
            (b,) = c.detect()
            check_patch(b)
            assert b.normal == pytest.approx(N[:, 2], abs=1e-9)
            # A cylinder's rim is sampled at eight points
            assert b.min_gap == pytest.approx(gap, abs=1e-9 if kind != "cylinder" else 0.006)


def test_box_on_a_ramp():
    x = 0.1 * np.arange(-10, 11)
    ramp = br.HeightField(heights=np.tile(0.2 * x, (21, 1)), spacing=0.1)
    c = CollisionCase(ramp, br.Box(size=(0.3, 0.2, 0.1)), fixed=(0,))
    tilt = -np.arctan(0.2)
    c.place(1, 0.049 * rotation(about((0, 1, 0), tilt))[:, 2], about((0, 1, 0), tilt))
    (a,) = c.detect()
    check_patch(a)
    assert len(a.corners_2d) == 4
    assert np.sort(np.abs(a.corners_2d), axis=0) == pytest.approx(np.tile([0.15, 0.1], (4, 1)))
    assert a.gaps == pytest.approx(np.full(4, -0.001))


def test_ball_in_a_valley_has_two_patches_and_on_a_ridge_one():
    x = 0.1 * np.arange(-10, 11)
    for sign, count in ((1, 2), (-1, 1)):
        c = CollisionCase(br.HeightField(heights=np.tile(sign * 0.5 * abs(x), (21, 1)), spacing=0.1), br.Sphere(radius=0.05), fixed=(0,))
        c.place(1, (0, 0.013, 0.05 * np.sqrt(1.25) if sign > 0 else 0.05))
        found = c.detect(0.005)
        assert len(found) == count
        for a in found:
            check_patch(a)
            assert a.min_gap == pytest.approx(0, abs=1e-9)
        if count == 2:
            assert {round(float(a.normal[0]), 6) for a in found} == {round(s / np.sqrt(5), 6) for s in (-1, 1)}
            assert sorted(a.feature for a in found) == [0, 1]
        else:
            assert found[0].normal == pytest.approx([0, 0, 1], abs=1e-9)


@pytest.mark.parametrize("side", [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)])
def test_ball_at_the_rim_of_a_field(side):
    # Inside it touches the surface, beyond it the rim: on the line from its center, as far as its radius.
    c = CollisionCase(br.HeightField(heights=np.zeros((11, 9)), spacing=(0.1, 0.1)), br.Sphere(radius=0.05), fixed=(0,))
    out = np.array((*side, 0.0))
    rim = np.array((0.4 * side[0], 0.5 * side[1], 0.0)) + np.array((-side[1], side[0], 0.0)) * (0.013 if 0 in side else 0.0)
    for beyond in (-0.01, 0.02):
        height = np.sqrt(0.05**2 - max(beyond, 0.0) ** 2 * (out @ out))
        center = rim + beyond * out + (0, 0, height)
        c.place(1, center)
        (a,) = c.detect(0.005)
        check_patch(a)
        assert a.min_gap == pytest.approx(0.0, abs=1e-9)
        expected = (center - rim) / 0.05 if beyond > 0 else (0, 0, 1)
        assert a.normal == pytest.approx(expected, abs=1e-6)


def test_box_on_a_peak():
    heights = np.zeros((21, 21))
    heights[10, 10] = 0.05
    c = CollisionCase(br.HeightField(heights=heights, spacing=0.1), br.Box(size=(0.3, 0.2, 0.1)), fixed=(0,))
    c.place(1, (0.02, 0.01, 0.099))
    (a,) = c.detect(0.01)
    assert len(a.corners_2d) == 1
    assert a.point == pytest.approx([0, 0, 0.05])
    assert a.min_gap == pytest.approx(-0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_patches_on_rough_terrain_are_valid(kind):
    random = np.random.default_rng(8)
    c = CollisionCase(br.HeightField(heights=random.uniform(0, 0.1, (15, 15)), spacing=(0.05, 0.08)), SHAPES[kind](), fixed=(0,))
    for _ in range(TRIALS):
        place, q = random_pose(random, 0.6)
        c.place(1, (place[0], place[1], random.uniform(-0.3, 0.3)), q)
        found = c.detect()
        assert len(found) <= 4
        for a in found:
            check_patch(a)
            assert a.normal[2] > 0.0
            assert a.min_gap < 0.02
