"""Hands that swing with what they hold: the point beyond them that stays, and motions in which it is found."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.contact_estimation.pivot import LONGEST, pivot_of
from brachiate.filter.reference.preprocess import clean
from brachiate.motion.motion import Motion, motion_of

ROPE = 0.45  # [m] from the hands to where it hangs
LASTS = 2.0  # [s]


def turned(angles: np.ndarray) -> np.ndarray:
    return rotations.matrix(rotations.product(rotations.about(0, angles), rotations.about(1, 0.7 * angles)))


def test_a_point_that_stays_is_found():
    R, at, place = turned(np.linspace(-0.6, 0.6, 50)), np.array((0.05, 0.02, 0.4)), np.array((1.0, -2.0, 2.0))
    found = pivot_of(place - R @ at, R, np.zeros(3))
    assert found is not None
    assert found.away.max() < 0.01  # shy of going farther from the hand than it must
    assert found.place == pytest.approx(place, abs=0.03)


def test_who_only_moves_along_turns_about_nothing():
    x = np.outer(np.linspace(0.0, 1.0, 50), (1.0, 0.0, 0.0))
    found = pivot_of(x, turned(1e-3 * np.linspace(-1.0, 1.0, 50)), np.zeros(3))
    assert found is None or found.away.max() > 0.1
    far = turned(np.linspace(-0.6, 0.6, 50))
    assert pivot_of(-far @ np.array((0.0, 0.0, 5.0 * LONGEST)), far, np.zeros(3)) is None


@pytest.fixture(scope="module")
def swinging() -> Motion:
    """Somebody stiff who hangs on ropes, as a pendulum."""
    motion = motion_of(br.procedural.make("hang", seconds=LASTS))
    model, q = motion.figure, np.tile(motion.q[0], (len(motion), 1))
    hand = br.Data(model)
    hand.assign(q=q[0])
    br.kinematics.update_poses(hand)
    hands = [br.kinematics.pose(hand, model.placements[f"{side}_hand"]).position for side in ("left", "right")]
    top = np.mean(hands, axis=0) + np.array((0.0, 0.0, ROPE))
    length = top[2] - br.dynamics.totals(hand).center[2]
    turn = rotations.about(1, 0.5 * np.cos(np.sqrt(9.81 / (1.15 * length)) * motion.times))
    q[:, :3] = top + np.einsum("fij,j->fi", rotations.matrix(turn), motion.q[0, :3] - top)
    q[:, 3:7] = rotations.product(turn, np.tile(motion.q[0, 3:7], (len(motion), 1)))
    return Motion(model, motion.times, q)


def test_hands_on_ropes_hold_by_where_the_ropes_hang(swinging):
    reference = clean(swinging)
    held = [stance for stance in reference.stances if stance.how == "holds"]
    assert {stance.link for stance in held} == {"left_hand", "right_hand"}
    for stance in held:
        place = br.Data(reference.figure)
        place.assign(q=swinging.q[0])
        br.kinematics.update_poses(place)
        hand = br.kinematics.pose(place, reference.figure.placements[stance.link]).position
        assert stance.places[0, 2] - hand[2] == pytest.approx(ROPE, abs=0.12)


def test_who_swings_on_ropes_is_followed(swinging):
    done = br.filter_motion(swinging, progress=False, strength=np.inf)
    assert done.finished, str(done.blame)
    assert done.tracking["mpjpe_global_cm"] < 10.0  # measured: 8.3; it is stiff, and not quite in time with a pendulum
