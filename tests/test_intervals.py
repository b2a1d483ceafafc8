"""Intervals of boolean flags: runs of True, short gaps and short runs."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.intervals import drop_short_intervals, fill_short_gaps, true_intervals


def flags(text: str) -> np.ndarray:
    """Flags from a text such as ``..##.``."""
    return np.array([character == "#" for character in text])


def text(values: np.ndarray) -> str:
    return "".join("#" if value else "." for value in values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [("", []), ("...", []), ("###", [(0, 3)]), (".#..##", [(1, 2), (4, 6)]), ("#.#.", [(0, 1), (2, 3)])],
)
def test_true_intervals(values, expected):
    assert true_intervals(flags(values)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("##..##", "######"),  # two frames span 0.1 s
        ("##...##", "##...##"),  # three span 0.2 s
        (".##..", ".##.."),  # no gap between two runs
        ("#.#...#.#", "###...###"),
    ],
)
def test_short_gaps_are_filled(values, expected):
    given = flags(values)
    assert text(fill_short_gaps(given, 0.1 * np.arange(len(given)), 0.15)) == expected
    assert text(given) == values  # unchanged


@pytest.mark.parametrize(("values", "all_dropped", "inner_dropped"), [("#..##..###", ".......###", "#......###"), ("##", "..", "##")])
def test_short_intervals_are_dropped(values, all_dropped, inner_dropped):
    given = flags(values)
    times = 0.1 * np.arange(len(given))
    assert text(drop_short_intervals(given, times, 0.15)) == all_dropped
    assert text(drop_short_intervals(given, times, 0.15, at_ends=False)) == inner_dropped
    assert text(given) == values


def test_durations_are_measured_in_time():
    given, times = flags("#.#.#"), np.array([0.0, 1.0, 2.0, 2.01, 2.02])
    assert text(fill_short_gaps(given, times, 1e-9)) == "#####"  # a single frame spans no time
    assert text(fill_short_gaps(flags("#..##..#"), np.array([0.0, 1.0, 2.0, 3.0, 3.1, 3.2, 3.3, 3.4]), 0.5)) == "#..#####"
    assert text(drop_short_intervals(flags(".##.##."), np.array([0.0, 1.0, 2.0, 2.1, 2.2, 2.3, 2.4]), 0.5)) == ".##...."
