"""Normal equations of point targets: against Jacobians of batched kinematics, and finite differences of the cost."""

import numpy as np
import pytest

from brachiate import figures
from brachiate.kinematics_batch import BatchKinematics, BodyPoints
from brachiate.retargeting.trajectory_ik import IkTargets, TrajectoryIk


@pytest.fixture(scope="module")
def problem():
    """Positions, vectors and points on the ground, some of which are below it, of a human figure in random postures."""
    rng, model = np.random.default_rng(1), figures.human28()
    kinematics, f = BatchKinematics(model), 6
    q = kinematics.integrate(np.tile(model.neutral, (f, 1)), 0.4 * rng.standard_normal((f, model.nv)))
    q[:, 2] += np.linspace(-1.0, 1.0, f)
    points = BodyPoints(rng.integers(len(model.tree.parent), size=9), 0.1 * rng.standard_normal((9, 3)))
    first, second = np.array([0, 1, 2, 3, 4, 5]), np.array([-1, -1, 6, -1, 7, -1])
    weight = rng.random((f, 6, 3)) * (rng.random((f, 6, 1)) < 0.7)
    targets = IkTargets(points, first, second, rng.standard_normal((f, 6, 3)), weight, np.array([1, 8]), np.array([3.0, 2.0]))
    return TrajectoryIk(model, targets, np.arange(f) / 100.0, q.copy()), q


def expected_equations(ik, q):
    """Cost, gradient and Hessian of the targets by NumPy."""
    targets, kinematics = ik.targets, ik.kinematics
    at, J = kinematics.point_jacobians(kinematics.poses(q, axes=True), targets.points, ik.dofs)
    r, rows, two = at[:, targets.first] - targets.target, J[:, targets.first].copy(), targets.second >= 0
    r[:, two] -= at[:, targets.second[two]]
    rows[:, two] -= J[:, targets.second[two]]
    r, rows = targets.weight * r, targets.weight[..., None] * rows
    depth = np.minimum(at[:, targets.ground_points, 2], 0.0)
    ground = (targets.ground_weight * (depth < 0))[..., None] * J[:, targets.ground_points, 2]
    r = np.concatenate((r.reshape(len(q), -1), targets.ground_weight * depth), axis=1)
    rows = np.concatenate((rows.reshape(len(q), -1, len(ik.dofs)), ground), axis=1)
    assert 0 < np.count_nonzero(depth) < depth.size
    return (r * r).sum(axis=1), np.einsum("fri,fr->fi", rows, r), np.einsum("fri,frj->fij", rows, rows)


def test_equations_are_those_of_batched_kinematics(problem):
    """Fails if a column has the axis, the point or the sign of another, or a residual another weight."""
    ik, q = problem
    for found, expected in zip(ik._target_equations(q, None), expected_equations(ik, q), strict=True):
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_gradient_is_half_the_change_of_the_cost(problem):
    """The gradient is Jᵀ r of the cost |r|²: central differences along every degree of freedom."""
    ik, q = problem
    gradient, h = ik.normal_equations(q).g, 1e-6
    for column, k in enumerate(ik.dofs):
        step = np.zeros((len(q), ik.model.nv))
        step[:, k] = h
        costs = [ik.normal_equations(ik.kinematics.integrate(q, sign * step)).cost for sign in (1.0, -1.0)]
        assert (costs[0] - costs[1]) / (4.0 * h) == pytest.approx(gradient[:, column], rel=1e-4, abs=1e-6)


def test_some_frames_have_the_equations_of_all(problem):
    ik, q = problem
    which = np.array([4, 1])
    for some, every in zip(ik.normal_equations(q[which], which), ik.normal_equations(q), strict=True):
        assert np.array_equal(some, every[which])
