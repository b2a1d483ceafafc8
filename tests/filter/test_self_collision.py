"""Parts of a figure that overlap in a motion pass through each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural, rotations
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.self_collision import let_pass, overlapping
from brachiate.motion.motion import motion_of


@pytest.fixture(scope="module")
def squat() -> Reference:
    return clean(motion_of(procedural.make("squat", seconds=0.6)))


@pytest.fixture
def world(squat: Reference) -> br.World:
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(squat.figure, name="man")
    world.touch()
    return world


def arms_in(squat: Reference) -> np.ndarray:
    """A posture whose upper arms are inside the chest."""
    q = squat.q[0].copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):
        place = squat.figure.joints[f"{side}_shoulder"].q
        half = sign * 1.1
        q[place] = np.cos(half), np.sin(half), 0.0, 0.0
    return q


def test_who_stands_straight_touches_nothing_of_himself(world, squat):
    assert overlapping(world, "man", squat.q[::50]) == []


def test_arms_in_the_trunk_are_found_and_pass(world, squat):
    before = world.q.copy()
    inside = arms_in(squat)
    pairs = overlapping(world, "man", [inside])
    assert pairs
    assert all(any("arm" in name or "hand" in name for name in pair) for pair in pairs)
    assert np.array_equal(world.q, before)
    (guess,) = let_pass(world, "man", np.stack([squat.q[0], inside]), 0.05)
    assert pairs[0][0] in guess.value
    assert overlapping(world, "man", [inside]) == []  # they touch no more
    assert overlapping(world, "man", [squat.q[0]]) == []


def test_what_brushes_past_itself_passes(world, squat):
    """Feet that come together between two frames that are looked at, and not quite: shapes are no truer than a centimetre."""
    still, hip = squat.q[0], squat.figure.joints["left_hip"].q
    apart = [along(still, hip, angle) for angle in np.linspace(0.0, -0.3, 200)]
    touch = next(n for n, q in enumerate(apart) if overlapping(world, "man", [q]))
    near = apart[touch - 1]
    assert overlapping(world, "man", [near]) == []
    frames = np.stack([still] * 12 + [near] * 5 + [still] * 12)
    (guess,) = let_pass(world, "man", frames, 0.002)
    assert "left_foot and right_foot" in guess.value
    assert "within 10 mm" in guess.why


def along(q: np.ndarray, joint: slice, angle: float) -> np.ndarray:
    """A posture with a leg moved towards the other one."""
    moved = q.copy()
    moved[joint] = rotations.product(q[joint], rotations.from_vector(np.array((angle, 0.0, 0.0))))
    return moved


def test_the_filter_tells_of_it(squat):
    assert filter_motion(squat, progress=False).reference.guesses == squat.guesses
    inside = replace(squat, q=np.tile(arms_in(squat), (len(squat), 1)), v=np.zeros_like(squat.v), a=np.zeros_like(squat.a))
    done = filter_motion(inside, progress=False)
    assert [guess.what for guess in done.reference.guesses if guess not in squat.guesses] == ["pass through"]
    assert done.run.contacts.depth.max() < 0.001  # nothing is pushed out of anything
