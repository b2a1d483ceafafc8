"""Tasks of the whole-body QP: bounds of joint accelerations from limits of speed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from brachiate.filter.whole_body.arrays import GAINS, LIMIT_HORIZON, TIME_STEP
from brachiate.filter.whole_body.qp import INEQUALITY, ROWS, STRIDE, allocate_qp
from brachiate.filter.whole_body.tasks import MAX_JOINT_ACCELERATION, SPEED_LIMIT_STEPS, floating_base_and_limits

LIMIT, DT = 10.0, 0.002
DURATION = SPEED_LIMIT_STEPS * DT


def test_joints_reach_their_speed_limit_and_not_more():
    # Each row bounds the acceleration with which a joint is at its limit after DURATION; slow joints have none.
    v = np.array((0.0, 1.0, -1.5, 5.0, -5.0, 9.9, -9.9, 10.5))
    n = len(v)
    qp = allocate_qp(n, 32, 4)
    ctl = SimpleNamespace(
        unactuated=np.zeros(n, np.int64), gain=np.zeros(len(GAINS)), speed_limit=np.full(n, LIMIT), limited_q_at=np.full(n, -1)
    )
    ctl.gain[TIME_STEP], ctl.gain[LIMIT_HORIZON] = DT, 0.1
    floating_base_and_limits(None, SimpleNamespace(v=v), ctl, qp)
    bounds = {}
    for r in range(qp.counts[ROWS]):
        row = qp.C.reshape(n, qp.counts[STRIDE])[:, r]
        (k,) = np.flatnonzero(row)
        assert qp.kind[r] == INEQUALITY
        bounds[int(k)] = qp.rhs[r] / row[k]  # the acceleration at which the row is an equality
    near = np.flatnonzero(np.abs(v) + DURATION * MAX_JOINT_ACCELERATION > LIMIT)
    assert set(bounds) == set(near.tolist()) == {3, 4, 5, 6, 7}
    for k, acceleration in bounds.items():
        assert v[k] + DURATION * acceleration == pytest.approx(np.sign(v[k]) * LIMIT)
