"""Swing foot: quintic toward the landing target, height of recovery steps, landing on time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.filter.synthetic_window import ALL_CORNERS, DT, FRAMES, LEFT, RIGHT, feet_of, make_control, two_foot_window

import brachiate as br
from brachiate import procedural
from brachiate.compiled import MODE, ArrayHandle, array_fields
from brachiate.filter.footsteps.capture_step import CaptureStep
from brachiate.filter.footsteps.capture_step_kernels import lift_swing_foot
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.footsteps.swing_foot import LANDING_WINDOW, advance_quintic, on_slope, update_phase
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import LATE_LANDING_SPEED, MAX_CORNERS, SWING_RETARGET_TIME, FootState
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.whole_body.arrays import CONTACT_ALLOWED, CONTACT_FORBIDDEN, CONTACT_REQUIRED, GAINS
from brachiate.motion.motion import Motion
from brachiate.spatial import Vec3

STEP, SWING = 0.0005, 0.3  # [s]
LIFT_OFF, LANDING = 20, 60  # frames of the synthetic window
STEPPING = ((0, LIFT_OFF, 0.0), (LANDING, FRAMES, 0.3)), ((0, FRAMES, 0.0),)


@cache
def walk() -> Reference:
    return make_reference(Motion.from_clip(procedural.make_clip("walk", seconds=1.6)))


@pytest.fixture
def feet() -> FootStates:
    return feet_of(two_foot_window(STEPPING))


def swing(feet: FootStates, targets: np.ndarray) -> np.ndarray:
    """Offset, velocity and acceleration of the swing foot along x, with one landing target for each step."""
    arrays, rows = feet.arrays, []
    for k, target in enumerate(targets):
        arrays.landing_offset[0, 0] = target
        advance_quintic(arrays, 0, SWING - k * STEP, STEP)
        rows.append((arrays.swing_offset[0, 0], arrays.swing_velocity[0, 0], arrays.swing_acceleration[0, 0]))
    return np.array(rows)


def quintic(start: tuple[float, float, float], target: float, duration: float) -> np.polynomial.Polynomial:
    """Polynomial of degree five with the given initial offset, velocity and acceleration, at rest at the target after the duration."""
    t = duration
    final = [[1, t, t**2, t**3, t**4, t**5], [0, 1, 2 * t, 3 * t**2, 4 * t**3, 5 * t**4], [0, 0, 2, 6 * t, 12 * t**2, 20 * t**3]]
    rows = np.vstack((np.diag((1.0, 1.0, 2.0, 0.0, 0.0, 0.0))[:3], final))
    return np.polynomial.Polynomial(np.linalg.solve(rows, (*start, target, 0.0, 0.0)))


# --- quintic --------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.02, -0.3, 4.0), (-0.1, 1.0, -9.0)])
def test_the_jerk_meets_the_boundary_conditions_of_the_quintic(feet, start):
    # One explicit step: exact but for the terms of higher order, which are those of the Taylor series of the quintic.
    arrays, target = feet.arrays, 0.1
    arrays.swing_offset[0, 0], arrays.swing_velocity[0, 0], arrays.swing_acceleration[0, 0] = start
    arrays.landing_offset[0, 0] = target
    advance_quintic(arrays, 0, SWING, STEP)
    offset, velocity, acceleration = start
    jerk = quintic(start, target, SWING).deriv(3)(0.0)
    assert arrays.swing_offset[0, 0] == pytest.approx(offset + STEP * velocity + 0.5 * STEP**2 * acceleration, abs=1e-15)
    assert arrays.swing_velocity[0, 0] == pytest.approx(velocity + STEP * acceleration + 0.5 * STEP**2 * jerk, abs=1e-13)
    assert arrays.swing_acceleration[0, 0] == pytest.approx(acceleration + STEP * jerk, abs=1e-11)


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.02, -0.3, 4.0)])
def test_replanned_steps_stay_on_the_quintic(feet, start):
    arrays = feet.arrays
    arrays.swing_offset[0, 0], arrays.swing_velocity[0, 0], arrays.swing_acceleration[0, 0] = start
    path = swing(feet, np.full(round(0.8 * SWING / STEP), 0.1))
    t, exact = STEP * np.arange(1, len(path) + 1), quintic(start, 0.1, SWING)
    scale = max(0.1, 0.3 * SWING)  # [m] explicit Euler: first order in the step
    assert path[:, 0] == pytest.approx(exact(t), abs=20.0 * scale * STEP / SWING)
    assert path[:, 1] == pytest.approx(exact.deriv()(t), abs=20.0 * scale * STEP / SWING**2)


def test_it_is_at_rest_at_the_landing_target(feet):
    path = swing(feet, np.full(round(SWING / STEP), 0.1))
    offset, velocity, _ = path[-1]
    assert offset == pytest.approx(0.1, abs=5e-4)
    assert abs(velocity) < 0.01 * path[:, 1].max()


def test_a_target_that_jumps_does_not_make_the_foot_jump(feet):
    # Fails if the foot moves by a part of its way to the target in every step: its velocity would jump with the target
    targets = np.where(np.arange(round(SWING / STEP)) % 16 < 8, 0.10, 0.09)
    path = swing(feet, targets)
    smooth = path[: round(0.8 * SWING / STEP)]
    assert np.abs(np.diff(smooth[:, 1])).max() < STEP * np.abs(smooth[:, 2]).max() * 1.1
    assert np.abs(smooth[:, 2]).max() < 1.5 * 10.0 / np.sqrt(3.0) * 0.1 / SWING**2  # hardly more than for one target
    assert path[-1, 0] == pytest.approx(0.095, abs=0.005)


@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.02])
def test_short_retarget_times_and_long_steps_are_stable(feet, dt):
    # Fails if a quintic ends within four steps: the recursion is unstable then
    arrays = feet.arrays
    arrays.gain[SWING_RETARGET_TIME], arrays.landing_offset[0, 0] = 1e-4, 0.1
    for _ in range(100):
        advance_quintic(arrays, 0, 0.0, dt)
        assert abs(arrays.swing_offset[0, 0]) < 0.2
    assert arrays.swing_offset[0, 0] == pytest.approx(0.1, abs=1e-9)


def test_offsets_follow_the_slope():
    window = two_foot_window(STEPPING)
    window.terrain_gradient[:] = 0.2, -0.1
    assert tuple(on_slope(window, Vec3(0.5, 0.3, 0.0))) == pytest.approx((0.5, 0.3, 0.2 * 0.5 - 0.1 * 0.3))


# --- ground clearance of recovery steps -----------------------------------------------------------


def lifted(k: int, clearance: float = 0.06) -> np.ndarray:
    """Height, vertical velocity and acceleration of a foot that steps from LIFT_OFF to LANDING, at frame k."""
    window, ctl = two_foot_window(STEPPING), make_control()
    feet = feet_of(window)
    step = CaptureStep(**{name: np.zeros((2 * MAX_CORNERS, *kind.row), kind.dtype) for name, kind in array_fields(CaptureStep).items()})
    step.clearance[0], step.swing_leg[0], step.swing_frames[:2] = clearance, LEFT, (LIFT_OFF, LANDING)
    handles = [ArrayHandle(each) for each in (ctl, window, feet.arrays, step)]
    lift_swing_foot(*(handle.key for handle in handles), k)
    assert not ctl.position_offset[RIGHT].any()
    return np.array((ctl.position_offset[LEFT, 2], ctl.velocity_offset[LEFT, 2], ctl.acceleration_offset[LEFT, 2]))


@pytest.mark.skipif(MODE != "off", reason="an entry point: it would be compiled")
def test_the_foot_clears_the_ground_and_lands_softly():
    heights = np.array([lifted(k) for k in range(LIFT_OFF, LANDING)])
    t = np.arange(LIFT_OFF, LANDING) * DT
    assert heights[0] == pytest.approx((0.0, 0.0, 2.0 * 16.0 * 0.06 / ((LANDING - LIFT_OFF) * DT) ** 2))
    assert heights[(LANDING - LIFT_OFF) // 2, 0] == pytest.approx(0.06)  # at mid-swing
    assert heights[:, 0].max() == pytest.approx(0.06)
    assert (heights[1:, 0] > 0.0).all()
    # velocity and acceleration are the derivatives: central differences of a quartic are exact to second order
    assert np.gradient(heights[:, 0], t)[1:-1] == pytest.approx(heights[1:-1, 1], abs=0.01)
    assert np.gradient(heights[:, 1], t)[1:-1] == pytest.approx(heights[1:-1, 2], abs=0.2)
    assert not lifted(LIFT_OFF - 1).any()
    assert not lifted(LANDING).any()


# --- landing on time ------------------------------------------------------------------------------


def track_swing(target: float, upcoming: int = 0) -> tuple[FootState, np.ndarray, np.ndarray]:
    """Feet, offsets (position, velocity) along x and contact modes of the left foot from lift-off to landing; the right one stands."""
    window, ctl = two_foot_window(STEPPING), make_control()
    window.upcoming_mask.reshape(-1, 2)[LIFT_OFF:LANDING, LEFT] = upcoming
    ctl.gain[GAINS.index("TOUCHDOWN_TIME")] = 2.5 * DT
    arrays = feet_of(window).arrays
    arrays.in_contact[:], arrays.landed[:] = (0, 1), (0, 1)
    ctl.supporting_corners[:], arrays.landing_offset[LEFT, 0] = (0, 4), target
    offsets, modes = [], []
    for k in range(LIFT_OFF, LANDING):
        update_phase(ctl, window, arrays, k)
        offsets.append((ctl.position_offset[LEFT, 0], ctl.velocity_offset[LEFT, 0]))
        modes.append(ctl.contact_mode[MAX_CORNERS * LEFT : MAX_CORNERS * LEFT + 4].copy())
    return arrays, np.array(offsets), np.array(modes)


def test_the_swing_foot_is_at_its_target_on_time():
    arrays, offsets, _ = track_swing(0.08)
    assert arrays.time_to_landing[LEFT] == pytest.approx(DT)
    assert offsets[-1, 0] == pytest.approx(0.08, abs=0.005)  # steps of 10 ms
    assert abs(offsets[-1, 1]) < 0.1 * offsets[:, 1].max()
    assert not arrays.swing_offset[RIGHT].any()


def test_contact_is_forbidden_in_swing_and_required_just_before_landing():
    _, _, modes = track_swing(0.0)
    time = (LANDING - np.arange(LIFT_OFF, LANDING)) * DT
    assert (modes[time > 0.065] == CONTACT_FORBIDDEN).all()
    assert (modes[time < 0.022] == CONTACT_REQUIRED).all()
    assert not (modes[time > 0.03] == CONTACT_REQUIRED).any()


def test_upcoming_contact_is_allowed_shortly_before_landing_only():
    # Fails if a swing foot that passes low over the ground may land in mid-swing.
    _, _, modes = track_swing(0.0, upcoming=ALL_CORNERS)
    time = (LANDING - np.arange(LIFT_OFF, LANDING)) * DT
    assert (modes[time > LANDING_WINDOW + 1e-9] == CONTACT_FORBIDDEN).all()
    assert (modes[(time < LANDING_WINDOW - 1e-9) & (time > 0.03)] == CONTACT_ALLOWED).all()


def test_a_late_foot_moves_down_and_may_land_by_any_corner():
    window, ctl = two_foot_window(STEPPING), make_control()
    arrays = feet_of(window).arrays
    arrays.in_contact[:], arrays.landed[:], ctl.supporting_corners[:] = (0, 1), (0, 1), (0, 4)
    window.contact_mask.reshape(-1, 2)[LANDING:, LEFT] = 0b0011  # scheduled by the heel
    update_phase(ctl, window, arrays, LANDING + 2)
    assert ctl.velocity_offset[LEFT, 2] == -arrays.gain[LATE_LANDING_SPEED]
    modes = ctl.contact_mode[MAX_CORNERS * LEFT : MAX_CORNERS * LEFT + 4].tolist()
    assert modes == [CONTACT_REQUIRED, CONTACT_REQUIRED, CONTACT_ALLOWED, CONTACT_ALLOWED]


@pytest.mark.skipif(MODE == "off", reason="many steps")
def test_feet_move_without_jumps_under_a_push():
    """Plans change the landing targets all the time: swing feet follow them smoothly."""
    world = simulation_world(walk())
    clip, velocities = OfflineTracker(world, "man", walk(), plan_whole_clip=False), []
    run = br.Simulation(world, dt=walk().dt, project=False)
    arrays, targets = clip.tracker.mpc.feet.arrays, []
    for k in range(len(walk()) - 1):
        if k == 300:
            push = world.apply_force("man/spine2", (60.0, 40.0, 0.0))
        elif k == 350:
            world.remove(push)
        clip.control()
        velocities.append(np.where(arrays.in_contact[:, None] == 0, arrays.swing_velocity, np.nan).copy())
        targets.append(arrays.landing_offset.copy())
        run.step()
    jumps = np.abs(np.diff(velocities, axis=0))
    assert np.nanmax(np.abs(np.diff(targets, axis=0))) > 0.005  # [m] they do
    assert np.nanmax(jumps) < 0.1  # [m/s]
