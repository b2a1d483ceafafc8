"""Contact patches of faces that share edges: corners on an edge are kept."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.pairs import CollisionCase, check_patch

import brachiate as br


@pytest.mark.parametrize(
    ("offset", "size"), [((0.0, 0.0), (0.3, 0.2)), ((0.1, 0.0), (0.2, 0.2)), ((0.0, -0.05), (0.3, 0.15)), ((0.1, 0.05), (0.2, 0.15))]
)
@pytest.mark.parametrize("height", [0.1, 0.0999])
def test_equal_boxes_on_each_other(offset, size, height):
    # The common part of two equal rectangles; with no offset, or one along an axis, their edges lie on each other.
    c = CollisionCase(br.Box(size=(0.3, 0.2, 0.1)), br.Box(size=(0.3, 0.2, 0.1)), fixed=(0,))
    c.place(1, (*offset, height))
    (a,) = c.detect(0.01)
    check_patch(a)
    assert len(a.corners_2d) == 4
    assert np.ptp(a.corners[:, :2], axis=0) == pytest.approx(size, abs=1e-9)
    assert a.corners[:, :2].mean(axis=0) == pytest.approx(0.5 * np.array(offset), abs=1e-9)
