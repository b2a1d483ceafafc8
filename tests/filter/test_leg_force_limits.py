"""Force limits of legs: against lever arms and linear programming, online against offline, and in the filter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import brachiate as br
from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.centroidal.settings import PlanSettings
from brachiate.compiled import MODE
from brachiate.filter.offline import filter_motion
from brachiate.filter.online.reference_stream import ReferenceStream
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.schedule.leg_force_limits import MAX_FORCE_SLOPE
from brachiate.filter.settings import FilterSettings
from brachiate.kinematics import jacobian, update_poses
from brachiate.model.data import Data
from brachiate.motion.motion import Motion

DT = 0.004


@pytest.fixture(scope="module")
def kick() -> Motion:
    return br.procedural.sample_motion("kick")


@pytest.fixture(scope="module")
def reference(kick: Motion) -> Reference:
    return make_reference(kick, dt=DT)


@pytest.fixture(scope="module")
def schedule(reference: Reference) -> ContactSchedule:
    return ContactSchedule(reference, 0.1, reference.figure.effort)


def frames_of(schedule: ContactSchedule) -> list[int]:
    """Some frames of single and of double support."""
    count = schedule.in_contact.sum(axis=1)
    return [int(k) for many in (1, 2) for k in np.flatnonzero(count == many)[:: max((count == many).sum() // 4, 1)]]


def corners(schedule: ContactSchedule, k: int, leg: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Corners of a leg in contact: link, position [m], and Jacobian (6, joints) there, linear rows first."""
    model, found = schedule.reference.figure, []
    data = Data(model)
    data.q[:] = schedule.reference.q[k]
    update_poses(data)
    for n, sole in enumerate(schedule.contact_links):
        place = model.placements[sole.link]
        for j, corner in enumerate(sole.corners):
            if sole.leg == leg and (schedule.contact_mask[k, n] >> j) & 1:
                at = place._replace(position=place.position + place.rotation @ corner)
                found.append((sole.link, schedule.corner_positions[n][k, j], jacobian(data, at)[:, 6:]))
    return found


def test_motor_rows_are_lever_arms(schedule):
    effort = schedule.reference.figure.effort[6:]
    for k in frames_of(schedule):
        for leg in np.flatnonzero(schedule.in_contact[k]):
            at = k * schedule.leg_count + leg
            rows = schedule.motor_rows[MAX_MOTORS * at : MAX_MOTORS * (at + 1)]
            rows = rows[np.isfinite(rows[:, 5])]
            found = corners(schedule, k, leg)
            middle = np.mean([p for _, p, _ in found], axis=0)
            assert schedule.motor_point[at] == pytest.approx(middle[:2], abs=1e-12)
            # The middle is a point of the foot if it is in contact, else of the toes
            _, p, J = next((each for each in found if not each[0].endswith("toes")), found[0])
            mine = np.flatnonzero((np.abs(J).max(axis=0) > 1e-12) & (effort > 0.0))
            axes = J[3:, mine].T
            velocity = J[:3, mine].T + np.cross(axes, middle - p)
            assert len(mine) == len(rows)
            theirs = np.column_stack((velocity, axes[:, :2], effort[mine]))
            in_order = [each[np.lexsort(each.round(9).T)] for each in (rows, theirs)]
            assert in_order[0] == pytest.approx(in_order[1], abs=1e-12)


def test_max_vertical_force_against_linear_programming(schedule):
    """Forces at the corners towards the CoM with the largest sum that the torque limits allow, for any center of pressure."""
    effort, shares = schedule.reference.figure.effort[6:], []
    for k in frames_of(schedule):
        for leg in np.flatnonzero(schedule.in_contact[k]):
            found = corners(schedule, k, leg)
            if len({link for link, _, _ in found}) > 1:
                continue  # corners of toes in contact beside a foot are treated as the foot's
            columns = []
            for _, p, J in found:
                d = (schedule.com[k] - p) / (schedule.com[k] - p)[2]
                d[:2] *= min(1.0, MAX_FORCE_SLOPE / max(np.hypot(*d[:2]), 1e-9))
                columns.append(J[:3].T @ d)
            A = np.array(columns).T
            A, limit = A[np.abs(A).max(axis=1) > 1e-12], effort[np.abs(A).max(axis=1) > 1e-12]
            best = linprog(-np.ones(len(found)), A_ub=np.vstack((A, -A)), b_ub=np.tile(limit, 2))
            shares.append(schedule.max_vertical_force[k * schedule.leg_count + leg] / -best.fun)
    # Centers of pressure are sampled at quarters of the edges between two corners only
    assert len(shares) > 4
    assert min(shares) > 0.85
    assert max(shares) < 1.0 + 1e-6


def test_force_limits_scale_with_torque_limits(schedule):
    stronger = ContactSchedule(schedule.reference, 0.1, 2.0 * schedule.reference.figure.effort)
    finite = np.isfinite(schedule.max_vertical_force)
    assert finite.any()
    assert stronger.max_vertical_force[finite] == pytest.approx(2.0 * schedule.max_vertical_force[finite])
    assert np.isinf(stronger.max_vertical_force[~finite]).all()


def test_no_force_limits_without_torque_limits(reference):
    for effort in (None, np.full(reference.figure.nv, np.inf), np.zeros(reference.figure.nv)):
        assert len(ContactSchedule(reference, 0.1, effort).max_vertical_force) == 0


def test_online_force_limits_match_the_schedule(kick, schedule):
    stream = ReferenceStream(kick.figure, FilterSettings(), DT, 0.0, 0.0)
    for q in schedule.reference.q:
        stream.take(q)
    n, theirs = len(stream), [next(s.leg for s in schedule.contact_links if s.link == mine.link) for mine in stream.soles if mine.swings]
    mine, same = stream.window.max_vertical_force[: 2 * n].reshape(n, 2), 0
    for leg, other in enumerate(theirs):
        for k in range(0, n, 10):
            masks = [stream.window.contact_mask[k * len(stream.soles) + s] for s, sole in enumerate(stream.soles) if sole.leg == leg]
            known = {sole.link: schedule.contact_mask[k, s] for s, sole in enumerate(schedule.contact_links)}
            if masks == [known.get(sole.link, 0) for sole in stream.soles if sole.leg == leg] and schedule.in_contact[k, other]:
                # Causal smoothing lags slightly
                assert mine[k, leg] == pytest.approx(schedule.max_vertical_force[k * schedule.leg_count + other], rel=0.05)
                same += 1
    assert same > 20


@pytest.mark.skipif(MODE != "fast", reason="whole clips")
def test_kick_with_reduced_torque_limits_succeeds(kick):
    """With 44 % of human torque limits. Fails at 2.2 s if the planner ignores them."""
    result = filter_motion(make_reference(kick), torque_scale=0.44, progress=False)
    assert result.success, result.failure
    assert result.tracking["mpjpe_global_cm"] < 3.0
    assert not result.recovery_steps
    blind = FilterSettings(plan=PlanSettings(leg_torque_softness=1e3))
    result = filter_motion(make_reference(kick), torque_scale=0.44, settings=blind, retries=0, progress=False)
    assert not result.success
