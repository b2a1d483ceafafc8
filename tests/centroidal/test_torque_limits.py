"""Joint torque limits of a single stance leg in centroidal plans."""

from __future__ import annotations

import numpy as np
import pytest
from tests.centroidal.problems import HEIGHT, INERTIA, MASS, G, foot_points, put_patch, standing

from brachiate.centroidal.planner import STANCE, CentroidalPlanner, PlanSettings
from brachiate.errors import ArgumentError


def moment_of(problem, plan, k, n, at, offset=(0.0, 0.0)):
    """Joint torque [N·m]: moment of the force at the CoP about the axis of a joint at a point of the reference."""
    axis, arm = problem.motor_rows[k, n, 3:5], plan.cop[k] - at - np.append(offset, 0.0)
    force = MASS * (plan.com_acceleration[k] + (0, 0, G))
    return np.append(axis, 0.0) @ np.cross(arm, force)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.03, -0.02)])
@pytest.mark.parametrize("direction", [(1.0, 0.0), (-1.0, 0.0), (0.6, 0.8)])
def test_stance_leg_torques_are_within_limits(direction, offset):
    """Ankle (two axes) and knee whose torque limits are exceeded without the constraint."""
    settings = PlanSettings(leg_torque_softness=1e-5)
    push, positions = 0.25 * np.array([*direction, 0.0]), np.array([[0.0, 0.0, 0.08], [0.0, 0.0, 0.08], [0.05, 0.0, 0.5]])
    axes, limits, worst = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([22.0, 9.0, 45.0]), []
    for knows in (False, True):
        planner = CentroidalPlanner(MASS, intervals=20, settings=settings)
        problem = planner.problem
        problem.inertia[:], problem.contact_mode[:], problem.offset_share[:, 0] = INERTIA, STANCE, 1.0
        problem.com[:] = (0.03, 0.0, HEIGHT)
        for k in range(20):
            put_patch(problem, k, 0, foot_points(0.0, 0.0), 0)
        problem.motor_point[:], problem.motor_foot[:] = (0.04, 0.01), 0
        for n, (place, axis) in enumerate(zip(positions, axes, strict=True)):
            arm = np.array([0.04, 0.01, 0.0]) - place
            problem.motor_rows[:, n, :3], problem.motor_rows[:, n, 3:5], problem.motor_rows[:, n, 5] = (
                np.cross(np.append(axis, 0.0), arm),
                axis,
                limits[n],
            )
        problem.motor_count[:] = 3 if knows else 0
        plan = planner.solve((0.03 + offset[0], offset[1], HEIGHT), push, offsets=[offset, (0.0, 0.0)])
        torques = np.array([[moment_of(problem, plan, k, n, positions[n], offset) for n in range(3)] for k in range(20)])
        worst.append((np.abs(torques) / limits).max())
    # Soft limits: a small violation balances the other costs
    assert worst[0] > 1.1
    assert worst[1] < 1.01


def test_refuses_invalid_motors():
    for name, value in (("motor_count", 9), ("motor_count", -1), ("motor_foot", 2), ("motor_rows", np.nan), ("motor_point", np.inf)):
        planner = standing(intervals=4)
        problem = planner.problem
        problem.motor_count[:], problem.motor_rows[..., 5], problem.motor_foot[:] = 1, 100.0, 0
        getattr(problem, name)[2] = value
        with pytest.raises(ArgumentError, match="interval 2 needs 0 to 8 motors"):
            planner.solve((0.04, 0.0, HEIGHT), (0.0, 0.0, 0.0))
    planner = standing(intervals=4)
    planner.problem.motor_count[1] = 1  # without a torque limit
    with pytest.raises(ArgumentError, match="interval 1 needs 0 to 8 motors"):
        planner.solve((0.04, 0.0, HEIGHT), (0.0, 0.0, 0.0))
