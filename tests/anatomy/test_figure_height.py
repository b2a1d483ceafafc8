"""Height of a figure: that of its shapes in the standing pose."""

from __future__ import annotations

import pytest

import brachiate as br
from brachiate.anatomy.figure_height import figure_height


@pytest.mark.parametrize(("height", "expected"), [(3.0, 3.0), (0.15, 0.15), (0.11, 0.11), (0.02, 0.1)])
def test_height_of_a_box(height, expected):
    # Below 10 cm everything counts as that tall: lengths are divided by it.
    assert figure_height(br.figures.box((0.3, 0.3, height), 1.0)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("stature", [1.2, 1.75, 2.0])
def test_height_of_a_person(stature):
    assert figure_height(br.figures.human28(height=stature)) == pytest.approx(stature, rel=0.02)


def test_height_of_links_without_shapes():
    b = br.ModelBuilder("rods")
    b.link("low", joint=br.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.link("high", parent="low", joint=br.Revolute("y"), at=(0.3, 0, 0.17), mass=1.0, inertia=(0.1, 0.1, 0.1))
    assert figure_height(b.build()) == pytest.approx(0.17, rel=1e-12)
