"""Online filter: causal tracking of frames that arrive one by one, latency, determinism, invalid frames and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.offline import filter_motion
from brachiate.filter.online.dynamics_filter import DynamicsFilter, FilterStep
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline

DT = 0.002


@pytest.fixture(scope="module")
def walk() -> Motion:
    return procedural.sample_motion("walk", seconds=3.0)


@pytest.fixture(scope="module")
def reference(walk: Motion) -> Reference:
    return make_reference(walk, dt=DT)


@pytest.fixture(scope="module")
def frames(walk: Motion, reference: Reference) -> np.ndarray:
    """One frame per step."""
    return MotionSpline(walk.figure, walk.times, walk.q).at(reference.times).q


def live(reference: Reference, **options: Any) -> DynamicsFilter:
    return DynamicsFilter(simulation_world(reference, torque_scale=np.inf), "man", dt=DT, **{"latency": 0.0} | options)


def ball() -> br.Model:
    builder = br.ModelBuilder("ball")
    builder.link("ball", joint=br.Free(), mass=0.3, inertia=(3e-4, 3e-4, 3e-4), shapes=br.Sphere(radius=0.05))
    return builder.build()


# --- tracking ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walked(walk: Motion) -> Any:
    return filter_motion(walk, mode="online", torque_scale=np.inf, progress=False)


def test_a_walk_is_tracked(walked):
    assert walked.success
    assert walked.tracking["mpjpe_root_aligned_cm"] < 6.5
    assert walked.motion.duration > 2.8


def test_the_root_residual_is_round_off(walked):
    force, moment = walked.root_residual()
    load = walked.motion.figure.mass * 9.81
    assert force < 1e-9 * load
    assert moment < 1e-9 * load


def test_latency_delays_the_body(reference, frames):
    waiting = live(reference, latency=0.6)
    known = [waiting.step(frame) for frame in frames]
    count = sum(step is None for step in known)
    assert count == round(waiting.settings.startup_time / DT) + 300  # startup and latency
    done = [step for step in known if step is not None]
    assert waiting.failure is None
    assert max(abs(step.deviation[:3]).max() for step in done) < 0.1


def test_frames_that_wait_are_tracked_when_the_stream_has_ended(reference, frames):
    # Fails if the last frames are lost, or tracked as if the motion stopped there
    here, count = live(reference, latency=0.1), 120
    assert DynamicsFilter(reference.figure).latency == 0.3
    startup, waiting = round(here.settings.startup_time / DT), round(0.1 / DT)
    steps = [here.step(frame) for frame in frames[:count]]
    assert sum(step is not None for step in steps) == count - startup - waiting
    rest = [here.step(None) for _ in range(waiting + 1)]
    assert [step is None for step in rest] == [False] * waiting + [True]
    assert rest[-2].time == pytest.approx((count - startup) * DT)
    assert here.failure is None
    with pytest.raises(StateError, match="The stream of frames has ended"):
        here.step(frames[count])


def test_a_motion_shorter_than_the_latency_is_tracked(walk):
    result = filter_motion(walk.trim(0.0, 0.25), mode="online", latency=0.3, torque_scale=np.inf)
    assert result.success
    assert result.motion.duration == pytest.approx(0.15, abs=0.01)
    assert any(each.quantity == "floor" for each in result.motion.assumptions)


def test_a_step_has_state_torques_stance_and_contacts(reference, frames):
    here = live(reference)
    steps = [here.step(frame) for frame in frames[:300]]
    startup = round(here.settings.startup_time / DT)
    assert [step is None for step in steps] == [True] * startup + [False] * (300 - startup)
    last = steps[-1]
    assert isinstance(last, FilterStep)
    assert last.time == pytest.approx((300 - startup) * DT)
    assert last.q == pytest.approx(here.world.q[here.tracker.controller.q_at])
    assert set(last.torques) == set(reference.figure.joints)
    assert last.stance
    force = sum(contact.force[2] for contact in last.contacts)
    assert 0.2 < force / (reference.figure.mass * 9.81) < 3.0
    assert abs(last.deviation[:2]).max() < 0.1


def test_it_is_deterministic(reference, frames):
    one, other = ([m.q for frame in frames[:250] if (m := run.step(frame)) is not None] for run in (live(reference), live(reference)))
    assert np.array_equal(one, other)


def test_old_frames_are_dropped_at_any_step_length(reference):
    # Fails if frames exceed the buffer: then compiled code would write beyond it.
    for dt in (0.001, 0.004):
        here = DynamicsFilter(simulation_world(reference, torque_scale=np.inf), "man", dt=dt, latency=0.0)
        capacity = here.stream.capacity
        for _ in range(capacity + 10):
            here.take(reference.original.q[0])
            if here.tracker is not None:
                here.frame += 1
        assert len(here.stream) < capacity
        assert len(here.stream) > here.stream.memory


def test_a_latency_beyond_the_buffer_is_refused(reference):
    with pytest.raises(ArgumentError, match="latency, startup_time and horizon need a buffer"):
        DynamicsFilter(simulation_world(reference), "man", dt=0.0001, latency=10.0)


def test_the_world_may_change_between_steps(reference, frames):
    here = live(reference)
    for k, frame in enumerate(frames[:900]):
        if k == 300:
            push = here.world.apply_force("man/spine2", (60.0, 0.0, 0.0))
        if k == 350:
            here.world.remove(push)
        if k == 500:  # a ball is added in the way of the walk
            x = here.world.position("man/pelvis")[0]
            here.world.add(ball(), name="ball", at=(x + 0.6, 0.0, 0.05))
        here.step(frame)
    assert here.failure is None
    assert "ball" in here.world.figures


def test_a_fallen_figure_is_not_moved(reference, frames):
    here = live(reference)
    here.world.apply_force("man/spine2", (0.0, 2000.0, 0.0))
    for frame in frames:
        step = here.step(frame)
        if step is not None and step.failure is not None:
            break
    assert here.failure is not None
    before = here.world.q.copy()
    with pytest.raises(StateError, match="The figure fell at"):
        here.step(frames[-1])
    assert np.array_equal(here.world.q, before)


def test_a_model_gets_a_world_with_level_ground(reference, frames):
    ours = DynamicsFilter(reference.figure, dt=DT, latency=0.0, ground_height=0.3)
    given = DynamicsFilter(simulation_world(reference), "man", dt=DT, latency=0.0)
    for frame in frames[:60]:
        ours.step(frame), given.step(frame)
    step, other = ours.step(frames[60]), given.step(frames[60])
    assert ours.world.position("floor/ground")[2] == pytest.approx(0.3)
    assert step.q[2] == pytest.approx(other.q[2] + 0.3, abs=1e-4)
    assert ours.failure is None


def test_old_names_are_deprecated(reference):
    with pytest.warns(DeprecationWarning, match="'preview'.*use 'latency'"):
        old = DynamicsFilter(simulation_world(reference), "man", preview=0.1)
    assert old.latency == 0.1
    with pytest.warns(DeprecationWarning, match="ground_height"):
        old.ground = 0.2
    assert old.ground_height == 0.2
    with pytest.warns(DeprecationWarning, match="failure"):
        assert old.blame is None


# --- bad frames -------------------------------------------------------------------------------------


def test_frames_of_wrong_size_or_with_nan_are_refused(reference, frames):
    here = live(reference)
    here.step(frames[0])
    bad = frames[1].copy()
    place = reference.figure.joints["left_knee"].q.start
    bad[place] = np.nan
    with pytest.raises(ArgumentError, match="'left_knee' is nan"):
        here.step(bad)
    with pytest.raises(ArgumentError, match=f"expected {reference.figure.nq} numbers"):
        here.step(frames[1][:-1])
    with pytest.raises(ArgumentError, match="frame"):
        here.step("walk")
    assert len(here.stream) == 1


def test_a_frame_with_a_jump_is_rejected(reference, frames):
    here = live(reference)
    for frame in frames[:120]:
        here.step(frame)
    before, state = len(here.stream), here.stream.estimator.v.copy()
    jump = frames[120].copy()
    jump[reference.figure.joints["right_elbow"].q.start] += 2.0
    with pytest.raises(ArgumentError, match=r"'right_elbow' jumps by 2\.0.*start again"):
        here.step(jump)
    assert len(here.stream) == before
    assert np.array_equal(here.stream.estimator.v, state)
    assert here.step(frames[120]) is not None


def test_unsuitable_worlds_and_arguments_are_refused(reference):
    world = br.World()
    world.add(reference.figure, name="man")
    with pytest.raises(ArgumentError, match=r"world\.enable_contact"):
        DynamicsFilter(world, "man")
    with pytest.raises(ArgumentError, match="settings"):
        DynamicsFilter(simulation_world(reference), "man", {"stream_bandwidth": 3.0})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="latency"):
        live(reference, latency=-1.0)
    with pytest.raises(ArgumentError, match="expected the name of a figure"):
        DynamicsFilter(simulation_world(reference))
    with pytest.raises(br.BrachiateError, match="men"):
        DynamicsFilter(simulation_world(reference), "men")


def test_arguments_that_need_the_whole_motion_are_refused(walk):
    with pytest.raises(ArgumentError, match="level ground"):
        filter_motion(walk, mode="online", terrain="slope:5")
    with pytest.raises(ArgumentError, match=r"br\.load_motion"):
        filter_motion("walk.bvh", mode="online")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="observes a motion before it starts"):
        filter_motion(walk.frames(slice(0, 6)), mode="online")
