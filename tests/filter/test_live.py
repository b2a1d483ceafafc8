"""The filter on line: frames come in one by one, and nothing is known of the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import brachiate as br
from brachiate import moves
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.clean import clean
from brachiate.filter.exact import equations
from brachiate.filter.filter import filter_motion, world_of
from brachiate.filter.footwork import Footwork
from brachiate.filter.live import DynamicsFilter, Moment
from brachiate.filter.reference import Reference
from brachiate.filter.schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.stream import Stream
from brachiate.motion.course import Course
from brachiate.motion.motion import Motion, motion_of

DT = 0.002


@pytest.fixture(scope="module")
def walk() -> Motion:
    return motion_of(moves.make("walk", seconds=3.0))


@pytest.fixture(scope="module")
def cleaned(walk: Motion) -> Reference:
    return clean(walk, dt=DT)


@pytest.fixture(scope="module")
def frames(walk: Motion, cleaned: Reference) -> np.ndarray:
    """One a step."""
    return Course(walk.figure, walk.times, walk.q).at(cleaned.times).q


@pytest.fixture(scope="module")
def heard(walk: Motion, frames: np.ndarray) -> Stream:
    """All of it has come in."""
    return stream_of(walk, frames)


def stream_of(walk: Motion, frames: np.ndarray) -> Stream:
    stream = Stream(walk.figure, FilterSettings(), DT, 0.0, 0.0)
    for frame in frames:
        stream.take(frame)
    return stream


def live(cleaned: Reference, **how: Any) -> DynamicsFilter:
    return DynamicsFilter(world_of(cleaned, strength=np.inf), "man", dt=DT, **how)


def ball() -> br.Model:
    builder = br.ModelBuilder("ball")
    builder.link("ball", joint=br.Free(), mass=0.3, inertia=(3e-4, 3e-4, 3e-4), shapes=br.Sphere(radius=0.05))
    return builder.build()


def spells(on: np.ndarray) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(int), [0]))))
    return [(DT * a, DT * b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def legs(stream: Stream) -> np.ndarray:
    return stream.room.on[: 2 * len(stream)].reshape(-1, 2)


# --- what is known of a reference ------------------------------------------------------------------


def test_feet_stand_when_the_clean_up_which_knows_all_of_it_has_them_stand(heard, cleaned):
    schedule = Schedule(cleaned, 0.1)
    order = [next(sole.leg for sole in schedule.soles if sole.link == mine.link) for mine in heard.soles if mine.leads]
    for leg, other in enumerate(order):
        mine, theirs = spells(legs(heard)[:, leg]), spells(schedule.on[:, other])
        assert len(mine) == len(theirs)
        # Whether a foot leaves or comes is a matter of speed and height, so of a few hundredths of a second
        assert np.abs(np.array(mine) - np.array(theirs)).max() < 0.1


def test_a_parabola_is_followed_exactly(walk):
    figure = walk.figure
    stream, q = Stream(figure, FilterSettings(), DT, 0.0, 0.0), walk.q[0].copy()
    joint = next(j for name, j in figure.joints.items() if name == "left_elbow")
    for k in range(600):
        t = DT * k
        q[joint.q.start] = 0.2 + 0.3 * t + 0.5 * 0.4 * t * t
        stream.take(q)
    assert stream.senses.v[joint.v.start] == pytest.approx(0.3 + 0.4 * DT * 599, abs=1e-6)
    assert stream.senses.a[joint.v.start] == pytest.approx(0.4, abs=1e-4)


def test_the_floor_is_found_wherever_it_is(walk, frames, heard):
    raised = frames.copy()
    raised[:, 2] += 0.07
    higher = stream_of(walk, raised)
    assert higher.senses.floor[0] == pytest.approx(heard.senses.floor[0] + 0.07, abs=1e-9)
    n = len(higher)
    assert higher.room.centre[:n] == pytest.approx(heard.room.centre[:n], abs=1e-9)  # over the ground they are the same
    assert (legs(higher) == legs(heard)).all()


def test_a_foot_that_slides_while_it_stands_stays_where_it_is_still(walk, frames, heard):
    n, m = len(heard), len(heard.soles)
    S = heard.room
    places = S.places[: n * m * 8].reshape(n, m, 8, 3)
    moved = S.moved[: 2 * n].reshape(n, 2, 3)
    for start, end in spells(legs(heard)[:, 0])[1:]:
        a, b = round(start / DT), round(end / DT)
        still = places[a + 100 : b - 150, 0, :4].mean(axis=(0, 1))
        flat = [k for k in range(a, b) if S.bears[k * m] == 0b1111]
        there = places[flat, 0, :4].mean(axis=1) + moved[flat, 0]
        assert np.abs(there - still)[:, :2].max() < 0.005


# --- what may come, from what has been --------------------------------------------------------------


def test_what_comes_is_recalled_from_a_cycle_before(walk, frames, heard):
    stream, whole = stream_of(walk, frames[:1000]), heard.room
    assert stream.recall()
    S, k = stream.room, 999
    end = min(int(S.frames[0]), len(heard))
    assert end - k > 400  # the walk's cycle is 1.08 s
    assert S.centre[k:end] == pytest.approx(whole.centre[k:end], abs=0.005)
    assert S.speed[k:end] == pytest.approx(whole.speed[k:end], abs=0.05)
    assert (S.on[2 * k : 2 * end] != whole.on[2 * k : 2 * end]).sum() <= 10  # landings to a few steps


def test_what_is_recalled_is_turned_to_where_one_goes(walk, frames):
    # The second cycle goes elsewhere, and another way: as the body does, so does what is recalled
    turn, n = np.radians(40.0), 1000
    c, s = np.cos(turn), np.sin(turn)
    q = frames[:n].copy()
    q[:, :2] = q[:, :2] @ np.array(((c, s), (-s, c))) + (1.0, -2.0)
    half = np.array((np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)))
    w, x, y, z = q[:, 3:7].T
    q[:, 3:7] = np.stack(
        (half[0] * w - half[3] * z, half[0] * x - half[3] * y, half[0] * y + half[3] * x, half[0] * z + half[3] * w), axis=1
    )
    one, other = stream_of(walk, frames[:n]), stream_of(walk, q)
    assert one.recall()
    assert other.recall()
    k, end = n - 1, int(one.room.frames[0])
    assert int(other.room.frames[0]) == end
    there = one.room.centre[k:end].copy()
    there[:, :2] = there[:, :2] @ np.array(((c, s), (-s, c))) + (1.0, -2.0)
    assert other.room.centre[k:end] == pytest.approx(there, abs=1e-6)
    R = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    assert other.room.inertia[k:end] == pytest.approx(R @ one.room.inertia[k:end] @ R.T, abs=1e-6)


def test_what_was_never_seen_is_not_recalled(walk, frames):
    assert not stream_of(walk, frames[:450]).recall()  # not one cycle yet


def test_what_is_forgotten_changes_nothing_else(walk, frames, heard):
    stream = stream_of(walk, frames[:1200])
    feet = Footwork(stream.room, FilterSettings(), 0.01, 4, 4)
    feet.room.stance[:] = [int(stream.room.stance[2 * 1199 + leg]) for leg in range(2)]
    last = feet.room.stance.copy()
    stream.forget(700, feet.room)
    assert len(stream) == 500
    for frame in frames[1200:]:
        stream.take(frame)
    n = len(stream)
    assert stream.room.centre[:n] == pytest.approx(heard.room.centre[700 : 700 + n], abs=0.0)
    assert (legs(stream) == legs(heard)[700:]).all()
    mine, theirs = (s.room.coming[: 2 * len(s)].reshape(-1, 2) for s in (stream, heard))
    dropped = last - feet.room.stance
    assert (dropped > 0).all()
    assert (mine + dropped == theirs[700:]).all()


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
