"""Line plots as SVG: well-formed, with all lines and without values that are not finite."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from brachiate.show.svg import svg_panels


def test_panels_have_their_lines_and_ticks():
    time = np.linspace(0.0, 2.0, 3001)
    up = np.where(np.abs(time - 1.0) < 0.1, np.nan, np.sin(time))
    tree = ElementTree.fromstring(
        svg_panels(time, {"height <z>\n[m]": {"one": up, "two": time}, "constant": {"one": 0 * time}}, 'a "plot"')
    )
    texts = [element.text for element in tree.iter("text")]
    assert {"height <z> [m]", "one", "two", "constant", "time [s]", "0.5", "2"} <= set(texts)
    assert tree.attrib["aria-label"] == 'a "plot"'
    lines = [element.attrib["d"] for element in tree.iter("path") if "stroke-width" in element.attrib]
    assert len(lines) == 3
    assert [line.count("M") for line in lines] == [2, 1, 1]  # the gap of NaN interrupts the first
    numbers = np.array([[float(x) for x in point.split()] for line in lines for point in line.replace("M", "L").split("L")[1:]])
    assert np.isfinite(numbers).all()
    assert numbers.min() >= 0.0
    assert numbers.max(axis=0) == pytest.approx((890.0, 312.0), abs=80.0)
    assert sum(line.count("L") for line in lines) < 3000  # not more points than can be seen


def test_a_plot_of_one_frame_or_of_nothing_finite():
    for values in (np.array([1.0]), np.array([np.nan])):
        ElementTree.fromstring(svg_panels(np.array([0.5]), {"x": {"one": values}}, "plot"))
