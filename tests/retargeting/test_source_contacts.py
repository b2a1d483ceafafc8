"""Contacts of the source: height of the ground."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.kinematics_batch import BatchKinematics
from brachiate.retargeting.source_contacts import estimate_ground_height


@pytest.mark.parametrize("frames", [1, 4, 60])
@pytest.mark.parametrize("floor", [0.0, 0.7])
def test_ground_is_below_the_standing_foot(frames, floor):
    # On one leg, the other one raised: for a few frames the lowest point, for many those that are slow.
    figure = br.figures.human28()
    q = np.tile(figure.neutral, (frames, 1))
    q[:, 2] += floor
    q[:, figure.joints["left_knee"].q] = 1.5
    poses = BatchKinematics(figure).poses(q)
    height = estimate_ground_height(find_landmarks(figure), poses, np.arange(frames) / 60)
    assert height == pytest.approx(floor, abs=1e-9)
