"""Recorded states and contacts of a run: memory per state, and what is read from them."""

import copy
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import brachiate as br
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.growing_array import GrowingArray
from brachiate.simulate import recorded_states
from brachiate.world.contact_records import ContactRecords

PAIRS = [("floor/ground", "man/left_foot"), ("floor/ground", "man/right_foot")]


def sample(rng, count):
    """Contacts with numbers that are all different."""
    corners = rng.integers(1, 9, count)
    V = np.where((np.arange(8) < corners[:, None])[..., None], rng.normal(size=(count, 8, 2)), 0.0)
    modes = rng.integers(0, 9, count), rng.integers(0, 2, count)
    vectors = rng.normal(size=(count, 3)), rng.normal(size=(count, 3, 3)), V, rng.normal(size=(count, 6)), rng.normal(size=(count, 6))
    return ContactSample(rng.integers(0, 2, count), corners, *modes, *vectors, rng.uniform(), rng.uniform(), int(rng.integers(0, 4)))


def test_records_return_the_samples_that_were_added():
    rng = np.random.default_rng(1)
    given = [None, *((sample(rng, count), PAIRS) for count in (2, 0, 3, 1))]
    records = ContactRecords(given[:2])
    records.extend(given[2:])
    assert records[0] is None
    assert records.counts().tolist() == [0, 2, 0, 3, 1]
    for found, expected in zip(records[1:], given[1:], strict=True):
        assert found[1] is PAIRS
        for name in ContactSample._fields:
            assert np.array_equal(getattr(found[0], name), getattr(expected[0], name)), name
    lines = records.lines()
    assert np.array_equal(lines["V"], np.concatenate([record[0].V for record in given[1:]]))
    with pytest.raises(IndexError):
        records[5]


def test_rows_of_a_growing_array_do_not_change_when_others_are_added():
    array = GrowingArray((2,))
    array.append((1.0, 2.0))
    row = array[0]
    array.extend(np.ones((100, 2)))
    assert row.tolist() == [1.0, 2.0]
    assert array[:].shape == array.take().shape == (101, 2)
    assert len(array) == 0


def test_large_arrays_keep_their_rows_as_they_grow():
    array, rows = GrowingArray((3,), np.int64), np.arange(3 * 50_000).reshape(-1, 3)
    for start in range(0, len(rows), 7000):
        array.extend(rows[start : start + 7000])
    array.append((1, 2, 3))
    assert np.array_equal(array[:], [*rows, (1, 2, 3)])
    assert np.array_equal(array.rows(np.array([4, 49_999])), rows[[4, 49_999]])
    assert len(pickle.dumps(array)) < 1.1 * rows.nbytes
    copied = copy.deepcopy(array)
    copied.append((4, 5, 6))
    assert (len(copied), copied[-1].tolist(), len(array)) == (50_002, [4, 5, 6], 50_001)
    taken = array.take()
    assert taken.shape == (50_001, 3)
    assert taken.flags.owndata


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_arrays_that_grow_by_turns_leave_no_holes():
    """Ten arrays of 19 MB: on the heap, where each is moved past the others, they took half as much again."""
    code = """
import numpy as np
from brachiate.growing_array import GrowingArray
def resident():
    return 4096 * int(open("/proc/self/statm").read().split()[1])
np.ones(4_000_000)  # when it is freed, the C library takes blocks of this size from its heap from now on
arrays, rows = [GrowingArray((8,)) for _ in range(10)], np.ones((500, 8))
before = resident()
for _ in range(600):
    for array in arrays:
        array.extend(rows)
print((resident() - before) / (10 * 600 * rows.nbytes))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(found.stdout) < 1.25


def standing():
    """A human figure at rest on both soles."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.human16(), name="man")
    world.enable_contact(friction=0.7)
    return br.Simulation(world)


def traced_run(simulation, seconds):
    """A run, and the memory that it has taken since [B]."""
    before = tracemalloc.get_traced_memory()[0]
    recording = simulation.run(seconds)
    return recording, tracemalloc.get_traced_memory()[0] - before


def test_memory_of_a_recorded_state():
    """A state takes its numbers and hardly more: Python objects for its arrays would take more than twice as much."""
    simulation = standing()
    simulation.run(1.1)
    tracemalloc.start()
    try:
        (short, first), (long, second) = (traced_run(simulation, seconds) for seconds in (1.2, 3.2))
    finally:
        tracemalloc.stop()
    model, added = long.model, len(long) - len(short)
    counts = [run.contacts.records.lines()["corners"] for run in (short, long)]
    lines, corners = ([int(f(each)) for each in counts] for f in (len, np.sum))
    state = 8 * (1 + model.nq + 2 * model.nv) + 41  # time, q, v, torque; number, places, residual, penetration and method of contacts
    contact = 11 + 8 * (3 + 6 + 6)  # pair, corners, modes and orientation, P, wrench, twist; axes once for many states
    expected = added * state + (lines[1] - lines[0]) * contact + (corners[1] - corners[0]) * 16
    assert added > recorded_states.BUFFER_ROWS
    assert lines[1] > lines[0]
    assert second - first == pytest.approx(expected, rel=0.05)
