"""Self-collisions that are ignored: links that overlap in the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural, rotations
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.self_collision import find_overlapping_links, ignore_self_collisions


@pytest.fixture(scope="module")
def squat() -> Reference:
    return make_reference(procedural.sample_motion("squat", seconds=0.6))


@pytest.fixture
def world(squat: Reference) -> br.World:
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(squat.figure, name="man")
    world.enable_contact()
    return world


def arms_inside_chest(squat: Reference) -> np.ndarray:
    """Configuration with the upper arms inside the chest."""
    q = squat.q[0].copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):
        place = squat.figure.joints[f"{side}_shoulder"].q
        half = sign * 1.1
        q[place] = np.cos(half), np.sin(half), 0.0, 0.0
    return q


def test_upright_stance_has_no_overlap(world, squat):
    assert find_overlapping_links(world, "man", squat.q[::50]) == []


def test_arms_inside_the_trunk_are_found_and_ignored(world, squat):
    before = world.q.copy()
    inside = arms_inside_chest(squat)
    pairs = find_overlapping_links(world, "man", [inside])
    assert pairs
    assert all(any("arm" in name or "hand" in name for name in pair) for pair in pairs)
    assert np.array_equal(world.q, before)
    (assumption,) = ignore_self_collisions(world, "man", np.stack([squat.q[0], inside]), 0.05)
    assert pairs[0][0] in assumption.value
    assert find_overlapping_links(world, "man", [inside]) == []  # contact is ignored now
    assert find_overlapping_links(world, "man", [squat.q[0]]) == []


def test_near_contact_between_sampled_frames_is_ignored(world, squat):
    """Feet that approach each other between two sampled frames, without overlap: shapes are accurate to a centimeter."""
    still, hip = squat.q[0], squat.figure.joints["left_hip"].q
    approach = [along(still, hip, angle) for angle in np.linspace(0.0, -0.3, 200)]
    touch = next(n for n, q in enumerate(approach) if find_overlapping_links(world, "man", [q]))
    near = approach[touch - 1]
    assert find_overlapping_links(world, "man", [near]) == []
    frames = np.stack([still] * 12 + [near] * 5 + [still] * 12)
    (assumption,) = ignore_self_collisions(world, "man", frames, 0.002)
    assert "left_foot and right_foot" in assumption.value
    assert "within 10 mm" in assumption.reason


def along(q: np.ndarray, joint: slice, angle: float) -> np.ndarray:
    """Configuration with one leg moved towards the other."""
    moved = q.copy()
    moved[joint] = rotations.product(q[joint], rotations.from_rotation_vector(np.array((angle, 0.0, 0.0))))
    return moved


def test_filter_reports_ignored_self_collisions(squat):
    assert filter_motion(squat, progress=False).reference.assumptions == squat.assumptions
    inside = replace(squat, q=np.tile(arms_inside_chest(squat), (len(squat), 1)), v=np.zeros_like(squat.v), a=np.zeros_like(squat.a))
    result = filter_motion(inside, progress=False)
    assert [assumption.quantity for assumption in result.reference.assumptions if assumption not in squat.assumptions] == [
        "ignored self-collision"
    ]
    assert result.recording.contacts.penetration.max() < 0.001  # no link is pushed out of another
