"""Shapes that overlap at the start: shallow ones are separated gently, deep ones are refused with names and depth."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br


def boxes(distance: float) -> br.World:
    """Two boxes of 0.4 m, one above the other at a distance of their centers [m]."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.box((0.4, 0.4, 0.4), 5.0), name="low", at=(0.0, 0.0, 1.0))
    world.add(br.figures.box((0.4, 0.4, 0.4), 5.0), name="high", at=(0.0, 0.0, 1.0 + distance))
    world.enable_contact()
    return world


@pytest.mark.parametrize("depth", [0.12, 0.3])
def test_deep_overlap_is_refused(depth):
    world = boxes(0.4 - depth)
    before = world.q.copy()
    for _ in range(2):  # the second attempt is refused, too
        with pytest.raises(br.StateError, match=rf"{100 * min(depth, 0.4):.1f} cm inside.*ignore_contact\('(low|high)/box'"):
            br.Simulation(world, dt=0.002).step()
    assert np.array_equal(world.q, before)
    world.ignore_contact("low/box", "high/box")
    br.Simulation(world, dt=0.002).step()


def test_shallow_overlap_is_separated_gently():
    """At most 0.5 m/s. Fails if the overlap is resolved by velocity: the boxes would fly apart."""
    world = boxes(0.37)
    br.Simulation(world, dt=0.002).run(0.5)
    heights = [world.pose(f"{name}/box").position[2] for name in ("low", "high")]
    assert heights[1] - heights[0] == pytest.approx(0.4, abs=1e-3)
    assert np.abs(world.v).max() < 1e-6
