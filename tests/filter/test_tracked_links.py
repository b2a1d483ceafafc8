"""Points that are kept where the reference has them, beside all joints: nearer than without, and physics holds all the same."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural, rotations
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion, world_of
from brachiate.filter.reference.payloads import keep_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import motion_of

HAND = "right_hand"


@cache
def walk() -> Reference:
    return clean(motion_of(procedural.make("walk", seconds=1.8)))


@cache
def walked(weight: float, mode: str = "offline") -> Filtered:
    """Pushed at the chest for a tenth of a second."""
    shove = br.Shove("spine2", (90.0, 60.0, 0.0), at=0.6, lasting=0.1)
    keep = {HAND: weight} if weight else None
    return filter_motion(walk(), keep=keep, mode=mode, strength=np.inf, pushes=[shove], progress=False)


def off(done: Filtered, link: str) -> tuple[float, float]:
    """How far a link is from where the reference has it [m], and turned [rad]: root mean squares."""
    many, n = Many(done.motion.figure), len(done.motion)
    body = done.motion.figure.placements[link].body
    here, there = many.poses(done.motion.q), many.poses(done.reference.q[:n])
    away = np.linalg.norm(here.x[body] - there.x[body], axis=1)
    turned = rotations.angle(rotations.from_matrix(there.R[body].transpose(0, 2, 1) @ here.R[body]))
    return float(np.sqrt(np.square(away).mean())), float(np.sqrt(np.square(turned).mean()))


@pytest.mark.parametrize("mode", ["offline", "preview"])
def test_what_is_kept_is_nearer_to_its_place(mode):
    (away, turned), (kept, kept_turned) = off(walked(0.0, mode), HAND), off(walked(100.0, mode), HAND)
    assert walked(100.0, mode).finished
    assert kept < 0.7 * away  # 13 mm and 27, 16 and 30 with a preview: what is left is how far the push moved all of it
    assert kept_turned < 0.8 * turned  # 1.9 degrees and 3.3, 2.5 and 3.4


def test_the_equations_hold():
    done = walked(100.0)
    assert max(equations(done).nobody_brings()) < 1e-12 * 9.81 * done.motion.figure.mass


def test_frames_that_come_in_one_by_one_are_kept_too():
    squat, shove = motion_of(procedural.make("squat", seconds=2.0)), br.Shove("spine2", (60.0, 0.0, 0.0), at=0.5, lasting=0.1)
    far = [off(filter_motion(squat, keep=keep, mode="online", pushes=[shove], progress=False), HAND)[0] for keep in (None, {HAND: 100.0})]
    assert far[1] < 0.7 * far[0]


def test_words():
    assert keep_of(["right_hand:100", "head: 5"]) == {"right_hand": 100.0, "head": 5.0}
    with pytest.raises(ArgumentError, match="'right_hand' says nothing of what to keep"):
        keep_of(["right_hand"])


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(UnknownName, match=r"'right_hnd' is not a link of 'man'\..* 'right_hand'"):
        filter_motion(walk(), keep={"right_hnd": 1.0}, progress=False)
    for weight in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match="keep: weight of 'right_hand'"):
            filter_motion(walk(), keep={HAND: weight}, progress=False)
    with pytest.raises(ArgumentError, match="keep"):
        filter_motion(walk(), keep=[HAND], progress=False)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="'tail' is not a link"):
        br.DynamicsFilter(world_of(walk()), "man", keep={"tail": 1.0})
    with pytest.raises(ArgumentError, match="keeps one point, by its settings"):
        filter_motion(walk(), keep={HAND: 1.0}, mode="paper", progress=False)
