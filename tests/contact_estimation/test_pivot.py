"""Pivots of swinging handholds, and motions in which they are found."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.contact_estimation.pivot import MAX_DISTANCE, fit_pivot
from brachiate.filter.reference.preprocess import make_reference
from brachiate.motion.motion import Motion

ROPE = 0.45  # [m] length of the rope
DURATION = 2.0  # [s]


def orientations(angles: np.ndarray) -> np.ndarray:
    return rotations.to_matrix(rotations.product(rotations.about_axis(0, angles), rotations.about_axis(1, 0.7 * angles)))


def test_fixed_point():
    R, at, place = orientations(np.linspace(-0.6, 0.6, 50)), np.array((0.05, 0.02, 0.4)), np.array((1.0, -2.0, 2.0))
    found = fit_pivot(place - R @ at, R, np.zeros(3))
    assert found is not None
    assert found.distance.max() < 0.01  # regularized towards the hand
    assert found.position == pytest.approx(place, abs=0.03)


def test_translation_has_no_pivot():
    x = np.outer(np.linspace(0.0, 1.0, 50), (1.0, 0.0, 0.0))
    found = fit_pivot(x, orientations(1e-3 * np.linspace(-1.0, 1.0, 50)), np.zeros(3))
    assert found is None or found.distance.max() > 0.1
    far = orientations(np.linspace(-0.6, 0.6, 50))
    assert fit_pivot(-far @ np.array((0.0, 0.0, 5.0 * MAX_DISTANCE)), far, np.zeros(3)) is None


@pytest.fixture(scope="module")
def swinging() -> Motion:
    """A rigid body hanging on ropes, as a pendulum."""
    motion = br.procedural.sample_motion("hang", seconds=DURATION)
    model, q = motion.figure, np.tile(motion.q[0], (len(motion), 1))
    hand = br.Data(model)
    hand.assign(q=q[0])
    br.kinematics.update_poses(hand)
    hands = [br.kinematics.pose(hand, model.placements[f"{side}_hand"]).position for side in ("left", "right")]
    top = np.mean(hands, axis=0) + np.array((0.0, 0.0, ROPE))
    length = top[2] - br.dynamics.totals(hand).center[2]
    turn = rotations.about_axis(1, 0.5 * np.cos(np.sqrt(9.81 / (1.15 * length)) * motion.times))
    q[:, :3] = top + np.einsum("fij,j->fi", rotations.to_matrix(turn), motion.q[0, :3] - top)
    q[:, 3:7] = rotations.product(turn, np.tile(motion.q[0, 3:7], (len(motion), 1)))
    return Motion(model, motion.times, q)


def test_grips_on_ropes_are_at_the_suspension(swinging):
    reference = make_reference(swinging)
    grips = [stance for stance in reference.stances if stance.kind == "grip"]
    assert {stance.link for stance in grips} == {"left_hand", "right_hand"}
    for stance in grips:
        place = br.Data(reference.figure)
        place.assign(q=swinging.q[0])
        br.kinematics.update_poses(place)
        hand = br.kinematics.pose(place, reference.figure.placements[stance.link]).position
        assert stance.corner_positions[0, 2] - hand[2] == pytest.approx(ROPE, abs=0.12)


def test_swing_on_ropes_is_tracked(swinging):
    done = br.filter_motion(swinging, progress=False, torque_scale=np.inf)
    assert done.success, str(done.failure)
    assert done.tracking["mpjpe_global_cm"] < 10.0  # measured: 8.3; the rigid body is not exactly in phase with a pendulum
