"""Push recovery: a standing figure is pushed and regains balance by capture steps that are not in the reference."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.errors import StateError
from brachiate.filter.footsteps.recovery_step import RecoveryStep, direction_name
from brachiate.filter.offline import filter_motion
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.online.dynamics_filter import DynamicsFilter
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.deviations import RECOVERY_STEP
from brachiate.filter.results.equations_of_motion import equations_of_motion
from brachiate.filter.results.result import FilterResult
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.fall_detection import MAX_JOINT_SPEED, RUNAWAY_DURATION, Failure
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.tracking.tracker import MotionTracker
from brachiate.filter.tracking.whole_body_controller import MAX_TURNING_SPEED
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion

RATE, START, DURATION = 60.0, 0.5, 0.1  # [1/s] of the reference; [s] of the push
LEFT, RIGHT, BACK = 90.0, -90.0, 180.0  # [deg]


@cache
def standing(seconds: float = 2.4) -> Reference:
    stands = procedural.sample_motion("squat")
    times = np.arange(round(seconds * RATE) + 1) / RATE
    return make_reference(Motion(stands.figure, times, np.repeat(stands.q[:1], len(times), axis=0), "stand"), dt=0.002)


def push(speed: float, direction: float) -> br.Push:
    """Push whose impulse is speed [m/s] times the mass of the figure, in a horizontal direction [deg]."""
    force = standing().figure.mass * speed / DURATION
    return br.Push(
        "spine2", (force * np.cos(np.radians(direction)), force * np.sin(np.radians(direction)), 0.0), start=START, duration=DURATION
    )


@cache
def pushed(direction: float, speed: float = 0.6, mode: str = "preview", step_duration: float = 0.25, seconds: float = 2.4) -> FilterResult:
    settings = FilterSettings(recovery_step_duration=step_duration)
    return filter_motion(
        standing(seconds), mode=mode, settings=settings, torque_scale=np.inf, pushes=[push(speed, direction)], retries=0, progress=False
    )


@pytest.mark.parametrize(("direction", "foot", "words"), [(LEFT, "left_foot", "to the left"), (RIGHT, "right_foot", "to the right")])
def test_a_push_to_the_side_takes_a_step_with_the_foot_of_that_side(direction, foot, words):
    result = pushed(direction)
    assert result.success
    step = result.recovery_steps[0]
    assert (step.link, step.direction, step.is_capture) == (foot, words, True)
    assert START < step.start < START + 0.2
    assert 0.2 < step.length < 0.7
    assert np.degrees(np.arctan2(step.y, step.x)) == pytest.approx(direction, abs=15.0)


def test_a_push_from_the_front_takes_a_step_back():
    result = pushed(BACK)
    assert result.success
    assert result.recovery_steps[0].direction == "backward"
    assert result.recovery_steps[0].x < -0.2


def test_without_capture_steps_the_figure_falls():
    result = pushed(BACK, step_duration=0.0)
    assert not result.success
    assert result.recovery_steps == ()


def test_gentle_pushes_take_no_step():
    result = pushed(BACK, speed=0.25)
    assert result.success
    assert result.recovery_steps == ()


def test_a_body_that_is_returning_takes_no_step():
    # Rotated by 50 degrees the body has regained balance. Fails if it steps for the rotation alone: it falls then.
    result = filter_motion(standing(), torque_scale=1.0, pushes=[push(0.4, BACK)], progress=False)
    assert result.success
    assert not result.recovery_steps


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_other_modes_take_capture_steps_too(mode):
    result = pushed(BACK, mode=mode)
    assert result.success
    assert result.recovery_steps[0].direction == "backward"


def test_the_foot_is_lifted_and_lands_where_the_record_says():
    result = pushed(LEFT)
    step, place = result.recovery_steps[0], result.motion.figure.placements["left_foot"]
    foot = BatchKinematics(result.motion.figure).poses(result.motion.q).point(place.body, place.position)
    before, after = (int(np.searchsorted(result.motion.times, t)) for t in (step.start - 0.02, step.end + 0.05))
    assert foot[after, :2] - foot[before, :2] == pytest.approx((step.x, step.y), abs=0.02)
    assert 0.02 < foot[before:after, 2].max() - foot[before, 2] < 0.15


def test_the_equations_of_motion_hold():
    result = pushed(LEFT)
    force, moment = equations_of_motion(result).root_residual()
    assert max(force, moment) < 1e-9 * 9.81 * result.motion.figure.mass * 10.0


def test_deviations_name_the_step_and_its_purpose():
    texts = [str(deviation) for deviation in pushed(LEFT).deviations if deviation.cause.startswith(RECOVERY_STEP)]
    assert texts[0].startswith("left_foot: recovery step of ")
    assert "to the left, to regain balance" in texts[0]


def test_feet_return_to_the_reference():
    result = pushed(BACK, seconds=3.4)
    assert result.success
    assert [step.is_capture for step in result.recovery_steps[:2]] == [True, False]
    assert result.recovery_steps[1].x > 0.1
    end = result.motion.q[-1, :3] - standing(3.4).q[-1, :3]
    assert np.linalg.norm(end[:2]) < 0.15


def test_online_steps_name_the_stepping_foot_without_any_prediction():
    """Pushed before the reference can be predicted: frames after the last one are extrapolated."""
    reference = standing()
    world = simulation_world(reference, torque_scale=np.inf)
    live = DynamicsFilter(world, "man", dt=0.002, latency=0.0)
    force, stepped = reference.figure.mass * 0.6 / DURATION, set()
    for k in range(650):
        if k == 100:
            push = world.apply_force("man/spine2", force=(-force, 0.0, 0.0))
        if k == 150:
            world.remove(push)
        moment = live.step(reference.q[0])
        if moment is not None:
            assert moment.failure is None
            stepped.add(moment.recovery_step)
    assert stepped - {None}  # with one foot, or both in turn


def test_directions_are_relative_to_the_foot():
    assert direction_name((1.0, 0.1), (1.0, 0.0)) == "forward"
    assert direction_name((1.0, 0.0), (0.0, 1.0)) == "to the right"
    assert direction_name((-1.0, -1.0), (-1.0, 0.0)) == "forward and to the left"


def test_no_limb_runs_away_in_a_fall():
    # Fails without a bound of joint speeds: light limbs were reaction wheels of the falling body, at up to 300 rad/s.
    result = pushed(LEFT, speed=1.0, mode="offline", step_duration=0.0)
    assert not result.success
    assert "the pelvis" in result.failure.reason
    speed, steps = np.abs(result.recording.v[:, 6:]), round(RUNAWAY_DURATION / result.reference.dt)
    lasting = np.min([speed[k : len(speed) - steps + k] for k in range(steps)], axis=0)  # an impact spins a hand for a moment
    assert lasting.max() < 1.2 * MAX_TURNING_SPEED


def tracker_of_a_standing_figure() -> MotionTracker:
    reference = standing()
    world = simulation_world(reference, torque_scale=np.inf)
    return OfflineTracker(world, "man", reference, plan_whole_clip=False).tracker


def test_a_joint_that_stays_too_fast_ends_the_run_but_one_that_is_hit_does_not():
    tracker = tracker_of_a_standing_figure()
    world, limit = tracker.controller.world, round(RUNAWAY_DURATION / tracker.dt)
    for fast_steps, fails in ((limit, False), (limit + 1, True)):
        for step in range(limit + 5):
            v = np.zeros_like(world.v)
            v[-1] = 2.0 * MAX_JOINT_SPEED if step < fast_steps else 0.0
            world.v = v
            tracker._detect_fall()
        assert (tracker.failure is not None) == fails
    assert "runs away at 300 rad/s" in tracker.failure.reason


def test_a_plan_that_is_not_finite_is_a_failure_and_no_error_of_the_user():
    # Fails if an error of the planner, or of a step that landed nowhere (a raw ValueError), ends the filter.
    tracker = tracker_of_a_standing_figure()
    reference = tracker.window.structs[0]
    reference.com[:] = np.nan
    tracker.control(0)
    assert tracker.failure is not None
    assert "The centroidal plan at frame 0 is not possible: problem: com" in tracker.failure.reason
    steps = tracker_of_a_standing_figure().capture_steps
    steps.mpc.feet.arrays.foothold_offset[:] = np.nan
    with pytest.raises(StateError, match=r"The step of left_foot landed at a position that is not finite\."):
        steps._record(0, 1)


@pytest.mark.parametrize(
    ("old", "new"), [("way", "direction"), ("catches", "is_capture"), ("far", "length"), ("told", "description"), ("why", "reason")]
)
def test_deprecated_attributes_are_forwarded(old, new):
    step = RecoveryStep(0, "left_foot", 0.5, 0.75, 0.3, 0.4, "forward", True)
    record = Failure(0.5, "the pelvis is 40 cm too low") if old == "why" else step
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated .* use {type(record).__name__}.{new}"):
        assert getattr(record, old) == getattr(record, new)
    assert str(step) == "left_foot: stepped 50 cm forward, to regain balance (0.50-0.75 s)"


def leaning(part: str) -> tuple[Motion, br.ContactLabels]:
    """Figure that stands still with one hand on a table, and its contacts."""
    figure, times = standing().figure, np.arange(61) / RATE
    motion = Motion(figure, times, np.repeat(procedural.sample_motion("squat").q[:1], len(times), axis=0), "lean")
    points, labels = find_contact_points(figure), br.check(motion).contacts
    k = int(np.flatnonzero(points.part == points.parts.index(part))[0])
    hand = BatchKinematics(figure).poses(motion.q[:1]).point(int(points.body[k]), points.position[k])[0]
    contact = br.ContactInterval(part, 0.0, float(times[-1]), "support", float(hand[2]))
    return motion, replace(labels, contacts=(*labels.contacts, contact))


@pytest.mark.parametrize("part", ["left_hand", "right_hand"])
def test_hands_on_a_table_do_not_step(part):
    # Fails if a hand, a single point without heel, toes and length, is taken for a foot: a step of its own had no direction (NaN), and
    # the smallest push, or none, called for steps.
    motion, contacts = leaning(part)
    assert filter_motion(motion, contacts=contacts).recovery_steps == ()
    for force in ((-150.0, 0.0, 0.0), (0.0, 150.0, 0.0)):
        result = filter_motion(motion, contacts=contacts, pushes=[br.Push("spine2", force, 0.3, 0.1)])
        assert all(step.link.endswith("foot") and step.length > 0.02 for step in result.recovery_steps)
