"""Time to the nearest contact, against all pairs of frames; its memory does not grow with the square of the frames."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.foot_locking.feet import foot

from brachiate.foot_locking.foot_track import FootTrack
from brachiate.foot_locking.nearest_contact import nearest_interval, time_to_nearest


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 10**6))
def test_the_nearest_of_all_frames(flags, seed):
    on = np.array(flags)
    times = np.cumsum(np.random.default_rng(seed).uniform(0.01, 1.0, len(on)))
    expected = np.abs(times[:, None] - times[on]).min(axis=1, initial=np.inf)
    assert time_to_nearest(times, on) == pytest.approx(expected, abs=0)


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_the_nearest_of_all_intervals(count, seed):
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.uniform(0.1, 1.0, 2 * count)).reshape(-1, 2)
    times = np.sort(rng.uniform(-1.0, ends.max() + 1.0, 50))
    away = np.maximum(np.maximum(ends[:, 0] - times[:, None], times[:, None] - ends[:, 1]), 0.0)
    found, index = nearest_interval(times, ends[:, 0], ends[:, 1])
    assert found == pytest.approx(away.min(axis=1), abs=0)
    assert index.tolist() == away.argmin(axis=1).tolist()


def test_memory_of_foot_roll_grows_linearly():
    # Fails if all pairs of frames are compared: 8000² numbers are 512 MB.
    f = 8000
    track = FootTrack(foot(), np.broadcast_to(np.eye(3), (f, 3, 3)), np.zeros((f, 3)), 0.01 * np.arange(f))
    contact = np.arange(f) % 100 < 60
    tracemalloc.start()
    track.roll_by_contacts(contact, contact)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6
