"""Plans that know motors: of a leg that stands alone none has to hold more than it can."""

from __future__ import annotations

import numpy as np
import pytest
from tests.centroidal.problems import HEIGHT, INERTIA, MASS, G, foot_points, put_patch, standing

from brachiate.centroidal.planner import STANDS, Planner, PlanSettings
from brachiate.errors import ArgumentError


def moment_of(O, plan, k, n, at, offset=(0.0, 0.0)):
    """What a motor at a place, in the reference, has to hold [N·m]: the moment about its axis of the force at the pressure."""
    axis, arm = O.motor[k, n, 3:5], plan.pressure[k] - at - np.append(offset, 0.0)
    force = MASS * (plan.acceleration[k] + (0, 0, G))
    return np.append(axis, 0.0) @ np.cross(arm, force)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.03, -0.02)])
@pytest.mark.parametrize("direction", [(1.0, 0.0), (-1.0, 0.0), (0.6, 0.8)])
def test_motors_of_the_leg_that_stands_hold_no_more_than_they_can(direction, offset):
    """An ankle and a knee, each with an axis across and the ankle with one along, that would have to hold more than they can."""
    settings = PlanSettings(strain=1e-5)
    push, places = 0.25 * np.array([*direction, 0.0]), np.array([[0.0, 0.0, 0.08], [0.0, 0.0, 0.08], [0.05, 0.0, 0.5]])
    axes, limits, worst = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([22.0, 9.0, 45.0]), []
    for knows in (False, True):
        planner = Planner(MASS, intervals=20, settings=settings)
        O = planner.outlook
        O.inertia[:], O.how[:], O.weight[:, 0] = INERTIA, STANDS, 1.0
        O.centre[:] = (0.03, 0.0, HEIGHT)
        for k in range(20):
            put_patch(O, k, 0, foot_points(0.0, 0.0), 0)
        O.motor_at[:], O.motor_foot[:] = (0.04, 0.01), 0
        for n, (place, axis) in enumerate(zip(places, axes, strict=True)):
            arm = np.array([0.04, 0.01, 0.0]) - place
            O.motor[:, n, :3], O.motor[:, n, 3:5], O.motor[:, n, 5] = np.cross(np.append(axis, 0.0), arm), axis, limits[n]
        O.motors[:] = 3 if knows else 0
        plan = planner.solve((0.03 + offset[0], offset[1], HEIGHT), push, offsets=[offset, (0.0, 0.0)])
        held = np.array([[moment_of(O, plan, k, n, places[n], offset) for n in range(3)] for k in range(20)])
        worst.append((np.abs(held) / limits).max())
    # What limits are exceeded by: the plan finds where 1e-5 m of lever and all else that it wants are in balance
    assert worst[0] > 1.1
    assert worst[1] < 1.01


def test_refuses_motors_that_make_no_sense():
    for name, value in (("motors", 9), ("motors", -1), ("motor_foot", 2), ("motor", np.nan), ("motor_at", np.inf)):
        planner = standing(intervals=4)
        O = planner.outlook
        O.motors[:], O.motor[..., 5], O.motor_foot[:] = 1, 100.0, 0
        getattr(O, name)[2] = value
        with pytest.raises(ArgumentError, match="interval 2 needs 0 to 8 motors"):
            planner.solve((0.04, 0.0, HEIGHT), (0.0, 0.0, 0.0))
    planner = standing(intervals=4)
    planner.outlook.motors[1] = 1  # without a limit, as there is none of 0
    with pytest.raises(ArgumentError, match="interval 1 needs 0 to 8 motors"):
        planner.solve((0.04, 0.0, HEIGHT), (0.0, 0.0, 0.0))
