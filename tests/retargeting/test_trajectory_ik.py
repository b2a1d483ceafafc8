"""Trajectory IK: where flips of joints are smoothed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from brachiate.retargeting.trajectory_ik import FLIP_THRESHOLDS, SMOOTHING_4HZ, TrajectoryIk


class RecordedIk:
    """Trajectory IK whose exact solution has a bump at one frame; it records the weights of the last solution."""

    def __init__(self, bump: float) -> None:
        self.times, self.dofs, self.dof_scale = np.arange(100) / 30, np.array([0]), np.ones(1)
        self.exact = np.zeros((100, 1))
        self.exact[50] = 0.5 * bump  # its second difference is twice as large
        self.targets = SimpleNamespace(weight=np.ones((100, 1, 1)), target=np.zeros((100, 1, 1)))
        self.kinematics = SimpleNamespace(difference=lambda before, after: after - before)
        self.weights: list[np.ndarray] = []

    def solve_trajectory(self, q, weight, about, max_iterations, report):
        self.weights.append(weight)
        return (np.zeros((100, 1)), self.exact, np.ones((100, 1)))[len(self.weights) - 1]


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.25, 0.5, 1.0, 3.0])
def test_smoothing_of_flips_grows_between_two_thresholds(share):
    # The smoothstep is 0 at the first threshold, 5/32 at a quarter, 1/2 in the middle, and 1 from the second one on.
    low, high = FLIP_THRESHOLDS
    ik = RecordedIk(low + share * (high - low))
    solved = TrajectoryIk.solve_smooth(ik, np.zeros((100, 1)), lambda done: None)  # type: ignore[arg-type]
    expected = {0.25: 5 / 32, 0.5: 0.5}.get(share, float(share > 0.9))
    if expected == 0.0:
        assert solved is ik.exact
    else:
        assert ik.weights[2][50, 0] == pytest.approx(SMOOTHING_4HZ * expected, rel=1e-3)
        assert ik.weights[2][[0, -1], 0].max() < 1e-2 * SMOOTHING_4HZ  # not far from the flip
