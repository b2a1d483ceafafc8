"""Root residuals of several contact sets at once: those that force estimation finds for each set alone."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.contact_estimation.ground_reaction import GRIP, SUPPORT
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain

FEET = ("heel", "toe", "toes", "ball")


@pytest.fixture(scope="module")
def kick() -> MotionDynamics:
    motion = br.sample_motion("kick").resample(30.0)
    return MotionDynamics(motion.figure, MotionSpline(motion.figure, motion.times, motion.q).at(motion.times), Terrain(0.0))


def sets_of(dynamics: MotionDynamics, *groups: tuple[str, ...]) -> np.ndarray:
    """Bits of the sets of parts by the beginnings of their names, in all frames."""
    bits = [sum(1 << j for j, names in enumerate(groups) if part.startswith(names)) for part in dynamics.contact_points.parts]
    return np.tile(np.array(bits, np.int64), (len(dynamics), 1))


def test_sets_have_the_residuals_of_force_estimation(kick):
    # Fails if a set has the points of another one, or starts from another set's solution and does not converge.
    groups = ((), ("left_heel", "left_toe"), ("right_heel", "right_toe"), ("left_heel", "left_toe", "right_heel", "right_toe"))
    sets, part = sets_of(kick, *(group or ("nothing",) for group in groups)), kick.contact_points.part
    found = kick.residuals_of_sets(sets, len(groups), np.ones(len(part), bool))
    required = kick.required_wrench.copy()
    assert np.abs(found[:, 0] - required).max() < 1e-3 * kick.weight
    for j in range(1, len(groups)):
        points = (sets >> j & 1).astype(bool)[:, part]
        kick.estimate_forces(np.where(points, SUPPORT, 0).astype(np.int64), points.astype(float))
        # The stiffness of the contact points is finite
        assert np.abs(found[:, j] - kick.root_residual).max() < 0.01 * kick.weight


def test_a_grip_carries_at_one_point_in_any_direction(kick):
    hand = kick.contact_points.parts.index("left_hand")
    sets, points = np.zeros((20, len(kick.contact_points.parts)), np.int64), np.ones(len(kick.contact_points), bool)
    sets[:, hand] = 1
    span = slice(5, 25)
    found = kick.residuals_of_sets(sets, 1, points, (hand,), span)
    mode, at = np.zeros((20, len(points)), np.int64), np.flatnonzero(kick.contact_points.part == hand)[0]
    mode[:, at] = GRIP
    kick.estimate_forces(mode, (mode != 0).astype(float), span)
    assert np.abs(found[:, 0] - kick.root_residual[span]).max() < 0.01 * kick.weight
