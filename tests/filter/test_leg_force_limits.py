"""What motors let legs bring: by their lever arms, as linear programming finds it, and so that a plan that knows it does not fall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import brachiate as br
from brachiate.centroidal.problem import MOTORS
from brachiate.centroidal.settings import PlanSettings
from brachiate.compiled import MODE
from brachiate.filter.offline import filter_motion
from brachiate.filter.online.reference_stream import Stream
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.schedule.leg_force_limits import STEEP
from brachiate.filter.settings import FilterSettings
from brachiate.kinematics import jacobian, update_poses
from brachiate.model.data import Data
from brachiate.motion.motion import Motion, motion_of

DT = 0.004


@pytest.fixture(scope="module")
def kick() -> Motion:
    return motion_of(br.procedural.make("kick"))


@pytest.fixture(scope="module")
def cleaned(kick: Motion) -> Reference:
    return clean(kick, dt=DT)


@pytest.fixture(scope="module")
def schedule(cleaned: Reference) -> Schedule:
    return Schedule(cleaned, 0.1, cleaned.figure.effort)


def frames_of(schedule: Schedule) -> list[int]:
    """Some, with one leg that stands and with two."""
    count = schedule.on.sum(axis=1)
    return [int(k) for many in (1, 2) for k in np.flatnonzero(count == many)[:: max((count == many).sum() // 4, 1)]]


def corners(schedule: Schedule, k: int, leg: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Corners of a leg that bear: the link, where they are, and velocity (3) and angular velocity (3) there per velocity of every joint."""
    model, found = schedule.reference.figure, []
    data = Data(model)
    data.q[:] = schedule.reference.q[k]
    update_poses(data)
    for n, sole in enumerate(schedule.soles):
        place = model.placements[sole.link]
        for j, corner in enumerate(sole.corners):
            if sole.leg == leg and (schedule.bears[k, n] >> j) & 1:
                at = place._replace(position=place.position + place.rotation @ corner)
                found.append((sole.link, schedule.places[n][k, j], jacobian(data, at)[:, 6:]))
    return found


def test_motors_are_turned_as_by_their_lever_arms(schedule):
    effort = schedule.reference.figure.effort[6:]
    for k in frames_of(schedule):
        for leg in np.flatnonzero(schedule.on[k]):
            at = k * schedule.legs + leg
            rows = schedule.motor[MOTORS * at : MOTORS * (at + 1)]
            rows = rows[np.isfinite(rows[:, 5])]
            found = corners(schedule, k, leg)
            middle = np.mean([p for _, p, _ in found], axis=0)
            assert schedule.spot[at] == pytest.approx(middle[:2], abs=1e-12)
            # The middle is a point of the foot, where it bears, and of toes where these bear alone
            _, p, J = next((each for each in found if not each[0].endswith("toes")), found[0])
            mine = np.flatnonzero((np.abs(J).max(axis=0) > 1e-12) & (effort > 0.0))
            turns = J[3:, mine].T
            velocity = J[:3, mine].T + np.cross(turns, middle - p)
            assert len(mine) == len(rows)
            theirs = np.column_stack((velocity, turns[:, :2], effort[mine]))
            in_order = [each[np.lexsort(each.round(9).T)] for each in (rows, theirs)]
            assert in_order[0] == pytest.approx(in_order[1], abs=1e-12)


def test_a_leg_brings_what_linear_programming_finds(schedule):
    """Forces at corners towards the centre of mass, as large in sum as motors allow: pressure may be anywhere then."""
    effort, shares = schedule.reference.figure.effort[6:], []
    for k in frames_of(schedule):
        for leg in np.flatnonzero(schedule.on[k]):
            found = corners(schedule, k, leg)
            if len({link for link, _, _ in found}) > 1:
                continue  # corners of toes that bear beside a foot are taken as the foot's
            columns = []
            for _, p, J in found:
                d = (schedule.centre[k] - p) / (schedule.centre[k] - p)[2]
                d[:2] *= min(1.0, STEEP / max(np.hypot(*d[:2]), 1e-9))
                columns.append(J[:3].T @ d)
            A = np.array(columns).T
            A, limit = A[np.abs(A).max(axis=1) > 1e-12], effort[np.abs(A).max(axis=1) > 1e-12]
            best = linprog(-np.ones(len(found)), A_ub=np.vstack((A, -A)), b_ub=np.tile(limit, 2))
            shares.append(schedule.most[k * schedule.legs + leg] / -best.fun)
    # Points that are tried are a quarter of the way between corners apart, and between two of them only
    assert len(shares) > 4
    assert min(shares) > 0.85
    assert max(shares) < 1.0 + 1e-6


def test_twice_as_strong_brings_twice_as_much(schedule):
    stronger = Schedule(schedule.reference, 0.1, 2.0 * schedule.reference.figure.effort)
    finite = np.isfinite(schedule.most)
    assert finite.any()
    assert stronger.most[finite] == pytest.approx(2.0 * schedule.most[finite])
    assert np.isinf(stronger.most[~finite]).all()


def test_where_nothing_limits_motors_nothing_is_known_of_them(cleaned):
    for effort in (None, np.full(cleaned.figure.nv, np.inf), np.zeros(cleaned.figure.nv)):
        assert len(Schedule(cleaned, 0.1, effort).most) == 0


def test_frames_that_come_in_bring_the_same(kick, schedule):
    heard = Stream(kick.figure, FilterSettings(), DT, 0.0, 0.0)
    for q in schedule.reference.q:
        heard.take(q)
    n, theirs = len(heard), [next(s.leg for s in schedule.soles if s.link == mine.link) for mine in heard.soles if mine.leads]
    mine, same = heard.room.most[: 2 * n].reshape(n, 2), 0
    for leg, other in enumerate(theirs):
        for k in range(0, n, 10):
            bears = [heard.room.bears[k * len(heard.soles) + s] for s, sole in enumerate(heard.soles) if sole.leg == leg]
            known = {sole.link: schedule.bears[k, s] for s, sole in enumerate(schedule.soles)}
            if bears == [known.get(sole.link, 0) for sole in heard.soles if sole.leg == leg] and schedule.on[k, other]:
                # Postures are followed with a little delay
                assert mine[k, leg] == pytest.approx(schedule.most[k * schedule.legs + other], rel=0.05)
                same += 1
    assert same > 20


@pytest.mark.skipif(MODE != "fast", reason="whole clips")
def test_a_kick_by_somebody_weak_is_planned_so_that_he_can_do_it(kick):
    """With less than half of a person's strength. If plans ask for more than motors can bring, it falls at 2.2 s."""
    done = filter_motion(clean(kick), strength=0.44, progress=False)
    assert done.finished, done.blame
    assert done.tracking["mpjpe_global_cm"] < 3.0
    assert not done.own_steps
    blind = FilterSettings(plan=PlanSettings(strain=1e3))
    done = filter_motion(clean(kick), strength=0.44, settings=blind, progress=False)
    assert not done.finished
