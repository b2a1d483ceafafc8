"""The filter on line: frames come in one by one, and nothing is known of the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.offline import filter_motion, world_of
from brachiate.filter.online.dynamics_filter import DynamicsFilter, Moment
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.spline import Course

DT = 0.002


@pytest.fixture(scope="module")
def walk() -> Motion:
    return motion_of(procedural.make("walk", seconds=3.0))


@pytest.fixture(scope="module")
def cleaned(walk: Motion) -> Reference:
    return clean(walk, dt=DT)


@pytest.fixture(scope="module")
def frames(walk: Motion, cleaned: Reference) -> np.ndarray:
    """One a step."""
    return Course(walk.figure, walk.times, walk.q).at(cleaned.times).q


def live(cleaned: Reference, **how: Any) -> DynamicsFilter:
    return DynamicsFilter(world_of(cleaned, strength=np.inf), "man", dt=DT, **how)


def ball() -> br.Model:
    builder = br.ModelBuilder("ball")
    builder.link("ball", joint=br.Free(), mass=0.3, inertia=(3e-4, 3e-4, 3e-4), shapes=br.Sphere(radius=0.05))
    return builder.build()


# --- a body that does it ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walked(walk: Motion) -> Any:
    return filter_motion(walk, mode="online", strength=np.inf, progress=False)


def test_a_walk_is_walked(walked):
    assert walked.finished
    assert walked.tracking["mpjpe_root_aligned_cm"] < 6.5
    assert walked.motion.duration > 2.8


def test_nobody_has_to_help(walked):
    force, moment = equations(walked).nobody_brings()
    load = walked.motion.figure.mass * 9.81
    assert force < 1e-9 * load
    assert moment < 1e-9 * load


def test_frames_may_wait(cleaned, frames):
    waiting = live(cleaned, preview=0.6)
    known = [waiting.step(frame) for frame in frames]
    count = sum(moment is None for moment in known)
    assert count == round(waiting.settings.listen / DT) + 300  # those only listened to, and those that wait
    done = [moment for moment in known if moment is not None]
    assert waiting.blame is None
    assert max(abs(moment.off[:3]).max() for moment in done) < 0.1


def test_a_moment_has_what_there_is_to_know(cleaned, frames):
    here = live(cleaned)
    moments = [here.step(frame) for frame in frames[:300]]
    listened = round(here.settings.listen / DT)
    assert [moment is None for moment in moments] == [True] * listened + [False] * (300 - listened)
    last = moments[-1]
    assert isinstance(last, Moment)
    assert last.time == pytest.approx((300 - listened) * DT)
    assert last.q == pytest.approx(here.world.q[here.follower.body.q_at])
    assert set(last.torques) == set(cleaned.figure.joints)
    assert last.standing
    force = sum(contact.force[2] for contact in last.contacts)
    assert 0.2 < force / (cleaned.figure.mass * 9.81) < 3.0
    # One step of delay: the body has gone on by the step that the frame asked for
    assert abs(last.off[:2]).max() < 0.1


def test_it_is_the_same_again(cleaned, frames):
    one, other = ([m.q for frame in frames[:250] if (m := run.step(frame)) is not None] for run in (live(cleaned), live(cleaned)))
    assert np.array_equal(one, other)


def test_old_frames_are_forgotten_at_any_length_of_steps(cleaned):
    # Fails if more comes in than there is room for: then memory would be written that is not ours.
    for dt in (0.001, 0.004):
        here = DynamicsFilter(world_of(cleaned, strength=np.inf), "man", dt=dt)
        room = here.stream.capacity
        for _ in range(room + 10):
            here.take(cleaned.original.q[0])
            if here.follower is not None:
                here.frame += 1
        assert len(here.stream) < room
        assert len(here.stream) > here.stream.memory


def test_a_preview_that_nobody_has_room_for(cleaned):
    with pytest.raises(ArgumentError, match="preview and listen"):
        DynamicsFilter(world_of(cleaned), "man", dt=0.0001, preview=10.0)


def test_the_world_may_change_on_the_way(cleaned, frames):
    here = live(cleaned)
    for k, frame in enumerate(frames[:900]):
        if k == 300:
            push = here.world.push("man/spine2", (60.0, 0.0, 0.0))
        if k == 350:
            here.world.remove(push)
        if k == 500:  # a ball comes in, is in the way, and rolls off
            x = here.world.position("man/pelvis")[0]
            here.world.add(ball(), name="ball", at=(x + 0.6, 0.0, 0.05))
        here.step(frame)
    assert here.blame is None
    assert "ball" in here.world.figures


def test_one_that_has_fallen_is_not_moved_on(cleaned, frames):
    here = live(cleaned)
    here.world.push("man/spine2", (0.0, 2000.0, 0.0))
    for frame in frames:
        moment = here.step(frame)
        if moment is not None and moment.blame is not None:
            break
    assert here.blame is not None
    before = here.world.q.copy()
    with pytest.raises(StateError, match="has fallen: it fell at"):
        here.step(frames[-1])
    assert np.array_equal(here.world.q, before)


# --- bad frames -------------------------------------------------------------------------------------


def test_a_frame_that_is_none(cleaned, frames):
    here = live(cleaned)
    here.step(frames[0])
    bad = frames[1].copy()
    place = cleaned.figure.joints["left_knee"].q.start
    bad[place] = np.nan
    with pytest.raises(ArgumentError, match="'left_knee' is nan"):
        here.step(bad)
    with pytest.raises(ArgumentError, match=f"expected {cleaned.figure.nq} numbers"):
        here.step(frames[1][:-1])
    with pytest.raises(ArgumentError, match="frame"):
        here.step("walk")
    assert len(here.stream) == 1


def test_a_frame_that_jumps_is_not_taken(cleaned, frames):
    here = live(cleaned)
    for frame in frames[:120]:
        here.step(frame)
    before, state = len(here.stream), here.stream.senses.v.copy()
    jump = frames[120].copy()
    jump[cleaned.figure.joints["right_elbow"].q.start] += 2.0
    with pytest.raises(ArgumentError, match=r"'right_elbow' jumps by 2\.0.*begin anew"):
        here.step(jump)
    assert len(here.stream) == before
    assert np.array_equal(here.stream.senses.v, state)
    assert here.step(frames[120]) is not None


def test_worlds_in_which_nobody_could_stand(cleaned):
    world = br.World()
    world.add(cleaned.figure, name="man")
    with pytest.raises(ArgumentError, match=r"world\.touch"):
        DynamicsFilter(world, "man")
    with pytest.raises(ArgumentError, match="settings"):
        DynamicsFilter(world_of(cleaned), "man", {"sharp": 3.0})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="preview"):
        live(cleaned, preview=-1.0)
    with pytest.raises(br.BrachiateError, match="men"):
        DynamicsFilter(world_of(cleaned), "men")


def test_what_is_not_known_on_line(walk):
    with pytest.raises(ArgumentError, match="ground is level"):
        filter_motion(walk, mode="online", ground="slope:5")
    with pytest.raises(ArgumentError, match=r"br\.read_motion"):
        filter_motion("walk.bvh", mode="online")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="listens"):
        filter_motion(walk.frames(slice(0, 6)), mode="online")
