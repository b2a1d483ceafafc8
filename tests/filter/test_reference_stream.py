"""What is known of a reference that comes in frame by frame: when and where feet stand, and what may come."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import procedural
from brachiate.centroidal.problem import MOTORS
from brachiate.errors import StateError
from brachiate.filter.footsteps.foot_state import Footwork
from brachiate.filter.online.reference_stream import Stream
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.settings import FilterSettings
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


@pytest.fixture(scope="module")
def heard(walk: Motion, frames: np.ndarray) -> Stream:
    """All of it has come in."""
    return stream_of(walk, frames)


def stream_of(walk: Motion, frames: np.ndarray) -> Stream:
    stream = Stream(walk.figure, FilterSettings(), DT, 0.0, 0.0)
    for frame in frames:
        stream.take(frame)
    return stream


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
    for leg in np.flatnonzero(np.isfinite(one.room.most[2 * k : 2 * end])) + 2 * k:  # what motors can bring
        motors = slice(MOTORS * leg, MOTORS * leg + 7)  # with toes there is one more, when it stands on these alone
        assert other.room.most[leg] == pytest.approx(one.room.most[leg], rel=1e-6)
        assert other.room.spot[leg] == pytest.approx(R[:2, :2] @ one.room.spot[leg] + (1.0, -2.0), abs=1e-6)
        assert other.room.motor[motors, :3] == pytest.approx(one.room.motor[motors, :3] @ R.T, abs=1e-6)
        assert other.room.motor[motors, 3:5] == pytest.approx(one.room.motor[motors, 3:5] @ R[:2, :2].T, abs=1e-6)


def test_what_was_never_seen_is_not_recalled(walk, frames):
    assert not stream_of(walk, frames[:450]).recall()  # not one cycle yet


def test_feet_that_tremble_have_no_more_stances_than_there_is_room_for(walk, monkeypatch):
    # Fails if stances are written where there is no room for them.
    monkeypatch.setattr("brachiate.filter.online.reference_stream.STANCES", 16)
    stream, q = Stream(walk.figure, FilterSettings(sharp=2000.0), DT, 0.0, 0.0), walk.q[0].copy()
    stand = q.copy()
    for k in range(stream.capacity):
        lifted = (k // 36) % 2  # what stands for less than 60 ms has not left again
        q[:] = stand
        q[2] += 0.06 * lifted
        stream.take(q)
    assert stream.room.span_count.max() == len(stream.room.spans) // 2 == 16
    with pytest.raises(StateError, match="no room for more"):
        stream.take(stand)
    stream.recall()
    assert stream.room.span_count.max() <= len(stream.room.spans) // 2


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


def test_what_is_recalled_is_not_forgotten_with_what_was(walk, frames):
    # Fails if feet in the air do not know any more when they land, until the next plan recalls it.
    stream = stream_of(walk, frames[:1200])
    feet = Footwork(stream.room, FilterSettings(), 0.01, 4, 4)
    assert stream.recall()
    S = stream.room
    many, spans = int(S.frames[0]), S.span_count.copy()
    assert many > 1300
    feet.room.stance[:] = [int(S.stance[2 * 1199 + leg]) for leg in range(2)]
    last = feet.room.stance.copy()
    until, on, centre = S.until[: 2 * many].copy(), S.on[: 2 * many].copy(), S.centre[:many].copy()
    stream.forget(700, feet.room)
    assert (len(stream), int(S.frames[0])) == (500, many - 700)
    assert (S.span_count == spans - (last - feet.room.stance)).all()
    assert (S.until[: 2 * (many - 700)] == until[1400:]).all()
    assert (S.on[: 2 * (many - 700)] == on[1400:]).all()
    assert (S.centre[: many - 700] == centre[700:]).all()
