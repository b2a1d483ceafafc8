"""Long trajectories in overlapping pieces: the same as solved at once, but for what is far away, and smooth where pieces meet."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.kinematics_batch import BatchKinematics
from brachiate.retargeting import pieces
from brachiate.retargeting.trajectory_ik import TrajectoryIk


@pytest.fixture
def solved_frames(monkeypatch):
    """Numbers of frames that are solved together, until they have converged: the IK itself stops as soon as contacts are held."""
    counts, solve = [], TrajectoryIk.solve_trajectory

    def recorded(self, q, *arguments):
        counts.append(len(q))
        for _ in range(3):
            q = solve(self, q, *arguments)
        return q

    monkeypatch.setattr(TrajectoryIk, "solve_trajectory", recorded)
    return counts


def test_pieces_are_blended(monkeypatch):
    model = br.figures.human16()
    times, slices = 0.01 * np.arange(1000), []

    def solve(frames, report):
        slices.append(frames)
        report(1.0)
        q = np.tile(model.neutral, (frames.stop - frames.start, 1))
        q[:, 0] = len(slices)  # pieces that differ by one meter
        return q

    monkeypatch.setattr(pieces, "PIECE", 250)
    shares = []
    q = pieces.solve_in_pieces(model, times, 1.0, solve, shares.append)
    assert [(each.start, each.stop) for each in slices] == [(0, 350), (150, 600), (400, 850), (650, 1000)]
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1.0])
    steps = np.diff(q[:, 0])
    assert (steps >= 0).all()
    assert steps.sum() == 3.0
    assert steps.max() < 1.6 / (pieces.BLEND_TIME / 0.01)  # the largest slope of a smooth step is 1.5
    assert [int(np.argmax(q[:, 0] >= level - 0.5)) for level in (2, 3, 4)] == pytest.approx([250, 500, 750], abs=2)


def test_a_short_motion_is_one_piece():
    model, times = br.figures.human16(), 0.01 * np.arange(pieces.PIECE)
    q = np.zeros((len(times), model.nq))
    assert pieces.solve_in_pieces(model, times, 1.0, lambda frames, _: q[frames], lambda _: None) is not None


def test_a_reference_in_pieces_is_the_same(monkeypatch, solved_frames):
    # Fails if all frames are solved at once, or if pieces do not overlap enough. A relative change of the cost of 1e-9, at which the
    # solver stops, is a change of about 5e-6 rad of a knee that is nearly straight.
    motion = br.sample_motion("walk", seconds=6.0)
    whole = br.make_reference(motion)
    assert max(solved_frames) > 700
    solved_frames.clear()
    monkeypatch.setattr(pieces, "PIECE", 250)
    parts = br.make_reference(motion)
    assert len(solved_frames) >= 3
    assert max(solved_frames) < 250 + 2 * 200  # 1.5 s of 8 ms on both sides
    difference = BatchKinematics(motion.figure).difference(whole.q, parts.q)
    assert np.abs(difference).max() < 2e-5
    assert np.abs(whole.a - parts.a).max() < 1e-3 * np.abs(whole.a).max()
    assert [stance.start for stance in whole.stances] == [stance.start for stance in parts.stances]
