"""Memory of long motions: frames, contact schedule and check are evaluated in blocks, with the numbers of the whole."""

import gc
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate.evaluation import check as check_module
from brachiate.evaluation.check import check_summary
from brachiate.filter.offline import FIGURE
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference import frames_on_demand, preprocess
from brachiate.filter.schedule import contact_schedule
from brachiate.filter.schedule.frame_array import FrameArray
from brachiate.filter.tracking.simulation_world import simulation_world

BLOCK = 256  # frames


@pytest.fixture(scope="module")
def walk():
    return br.sample_motion("walk", speed=1.4, step_length=0.7, seconds=4.0)


@pytest.fixture(scope="module")
def short_walk():
    """A walk of several blocks: of what goes wrong at the ends of blocks, a longer one shows no more."""
    return br.sample_motion("walk", speed=1.4, step_length=0.7, seconds=2.4)


@pytest.fixture(scope="module")
def result(walk):
    return br.filter_motion(walk, mode="preview")


def in_blocks(monkeypatch):
    """Treat every reference as a long one."""
    monkeypatch.setattr(preprocess, "MAX_KEPT_FRAMES", BLOCK)
    monkeypatch.setattr(frames_on_demand, "CHUNK", BLOCK)
    monkeypatch.setattr(contact_schedule, "MAX_WHOLE_FRAMES", BLOCK)
    monkeypatch.setattr(contact_schedule, "BLOCK", BLOCK)


@pytest.mark.parametrize("terrain", [None, "slope:5"])
def test_frames_on_demand_are_those_of_a_short_reference(walk, terrain, monkeypatch):
    whole = br.make_reference(walk, terrain=terrain)
    in_blocks(monkeypatch)
    long = br.make_reference(walk, terrain=terrain)
    span = slice(BLOCK - 5, 2 * BLOCK + 7)
    for name in ("q", "v", "a"):
        assert (getattr(long, name) == getattr(whole, name)).all()
        assert (getattr(long.states(span), name) == getattr(whole, name)[span]).all()
    assert (long.original.q == whole.original.q).all()
    assert (long.original_configurations(span) == whole.original.q[span]).all()
    assert long.name == whole.name == walk.name
    assert long.states(slice(7, 7)).q.shape == (0, walk.figure.nq)
    assert (replace(long, options={}).q == whole.q).all()


def test_long_reference_of_a_figure_with_payload(short_walk, monkeypatch):
    in_blocks(monkeypatch)
    result = br.filter_motion(short_walk, mode="preview", payloads={"pelvis": 2.0})
    assert result.success
    assert result.reference.original.figure.mass == pytest.approx(short_walk.figure.mass + 2.0)


@pytest.mark.parametrize("pushes", [[], [br.Push("pelvis", force=(0, 250, 0), start=1.0, duration=0.2)]])
@pytest.mark.parametrize("mode", ["preview", "offline"])
def test_motion_filtered_in_blocks(short_walk, mode, pushes, monkeypatch):
    whole = br.filter_motion(short_walk, mode=mode, pushes=pushes)
    in_blocks(monkeypatch)
    blocks = br.filter_motion(short_walk, mode=mode, pushes=pushes)
    assert len(blocks.recording.q) > 2 * BLOCK  # with a push it falls
    assert (blocks.recording.q == whole.recording.q).all()
    assert (blocks.recording.torque == whole.recording.torque).all()
    assert blocks.metrics() == whole.metrics()


def test_motion_of_a_result_shares_its_recording(result):
    assert np.shares_memory(result.motion.q, result.recording.q)
    with pytest.raises(ValueError, match="read-only"):
        result.recording.q[0, 0] = 1.0


def test_rows_of_a_frame_array_are_released():
    array = FrameArray(10_000, (3,), releasable=True)
    array.array[:] = 1.0
    array.release(5000)
    array.release(4000)
    assert (array.array[5000:] == 1.0).all()
    array.release(20_000)


def traced_tracker(motion):
    """Memory that a reference and its tracker have taken [B], and the number of frames."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    reference = br.make_reference(motion)
    tracker = OfflineTracker(simulation_world(reference), FIGURE, reference, plan_whole_clip=False)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before, len(tracker.reference)


def test_memory_of_a_tracked_frame(short_walk, monkeypatch):
    """A frame takes its contact schedule and its share of the splines; with states, corners and force limits it took 2.8 kB."""
    in_blocks(monkeypatch)
    tracemalloc.start()
    try:
        (first, short), (second, long) = (traced_tracker(short_walk.loop(times)) for times in (2, 3))
    finally:
        tracemalloc.stop()
    assert short > BLOCK
    assert (second - first) / (long - short) < 1300.0


@pytest.fixture(scope="module")
def labeled(result):
    """A walk with contact labels, at the rate of a simulation."""
    return result.motion


def test_summary_in_pieces(labeled, monkeypatch):
    motion = labeled
    whole = br.check(motion).summary
    assert check_summary(motion) == whole  # one piece
    monkeypatch.setattr(check_module, "PIECE", 300)
    pieces = check_summary(motion)
    assert pieces.keys() == whole.keys()
    for name, value in whole.items():
        assert pieces[name] == pytest.approx(value, rel=1e-6, abs=1e-6), name


def test_summary_in_pieces_needs_contacts(walk):
    with pytest.raises(br.MotionError, match="contact labels"):
        check_summary(walk)


def test_memory_of_a_summary(labeled, monkeypatch):
    """Memory hardly grows with the motion: a report would take more than 2 kB a frame."""
    monkeypatch.setattr(check_module, "PIECE", 256)
    motion, peaks = labeled, []
    check_summary(motion)
    tracemalloc.start()
    try:
        for part in (motion.frames(slice(0, 1200)), motion):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            check_summary(part)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / (len(motion) - 1200) < 300.0
