"""Skeletons: scaling."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import skeleton_of


@pytest.mark.parametrize("factor", [0.01, 1.0, 2.54])
def test_scaling_multiplies_all_distances(factor):
    skeleton, _ = skeleton_of()
    scaled = skeleton.scaled(factor)
    assert (scaled.names, scaled.parents) == (skeleton.names, skeleton.parents)
    assert scaled.rest == pytest.approx(factor * skeleton.rest, rel=1e-12)
    assert scaled.tips == pytest.approx(factor * skeleton.tips, rel=1e-12)
    assert np.ptp(scaled.rest[:, 2]) == pytest.approx(factor * np.ptp(skeleton.rest[:, 2]))
