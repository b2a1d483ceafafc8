"""Steps that the reference does not have: somebody stands, is pushed, and catches himself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.filter.footsteps.recovery_step import way_of
from brachiate.filter.offline import filter_motion, world_of
from brachiate.filter.online.dynamics_filter import DynamicsFilter
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.deviations import OWN
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.fall_detection import RUNAWAY
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import Motion, motion_of

RATE, AT, LASTING = 60.0, 0.5, 0.1
LEFT, RIGHT, BACK = 90.0, -90.0, 180.0  # [deg]


@cache
def standing(seconds: float = 2.4) -> Reference:
    stands = motion_of(procedural.make("squat"))
    times = np.arange(round(seconds * RATE) + 1) / RATE
    return clean(Motion(stands.figure, times, np.repeat(stands.q[:1], len(times), axis=0), "stand"), dt=0.002)


def shove(speed: float, way: float) -> br.Shove:
    force = standing().figure.mass * speed / LASTING
    return br.Shove("spine2", (force * np.cos(np.radians(way)), force * np.sin(np.radians(way)), 0.0), at=AT, lasting=LASTING)


@cache
def pushed(way: float, speed: float = 0.6, mode: str = "preview", rescue: float = 0.25, seconds: float = 2.4) -> Filtered:
    settings = FilterSettings(rescue=rescue)
    return filter_motion(standing(seconds), mode=mode, settings=settings, strength=np.inf, pushes=[shove(speed, way)], progress=False)


@pytest.mark.parametrize(("way", "foot", "words"), [(LEFT, "left_foot", "to the left"), (RIGHT, "right_foot", "to the right")])
def test_a_push_to_the_side_is_caught_by_a_step_with_the_foot_of_that_side(way, foot, words):
    done = pushed(way)
    assert done.finished
    step = done.own_steps[0]
    assert (step.link, step.way, step.catches) == (foot, words, True)
    assert AT < step.start < AT + 0.2
    assert 0.2 < step.far < 0.7
    assert np.degrees(np.arctan2(step.y, step.x)) == pytest.approx(way, abs=15.0)


def test_one_from_the_front_by_a_step_back():
    done = pushed(BACK)
    assert done.finished
    assert done.own_steps[0].way == "backward"
    assert done.own_steps[0].x < -0.2


def test_without_it_falls():
    done = pushed(BACK, rescue=0.0)
    assert not done.finished
    assert done.own_steps == ()


def test_gentle_pushes_take_no_step():
    done = pushed(BACK, speed=0.25)
    assert done.finished
    assert done.own_steps == ()


def test_who_is_on_his_way_back_takes_no_step():
    # Bent over by 50 degrees he has caught himself. Fails if he steps for that alone: he falls then.
    done = filter_motion(standing(), strength=1.0, pushes=[shove(0.4, BACK)], progress=False)
    assert done.finished
    assert not done.own_steps


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_other_modes_catch_themselves_too(mode):
    done = pushed(BACK, mode=mode)
    assert done.finished
    assert done.own_steps[0].way == "backward"


def test_the_foot_is_lifted_and_comes_down_where_it_is_said_to():
    done = pushed(LEFT)
    step, place = done.own_steps[0], done.motion.figure.placements["left_foot"]
    foot = Many(done.motion.figure).poses(done.motion.q).point(place.body, place.position)
    before, after = (int(np.searchsorted(done.motion.times, t)) for t in (step.start - 0.02, step.end + 0.05))
    assert foot[after, :2] - foot[before, :2] == pytest.approx((step.x, step.y), abs=0.02)
    assert 0.02 < foot[before:after, 2].max() - foot[before, 2] < 0.15


def test_the_equations_hold():
    done = pushed(LEFT)
    force, moment = equations(done).nobody_brings()
    assert max(force, moment) < 1e-9 * 9.81 * done.motion.figure.mass * 10.0


def test_it_is_told_why():
    said = [str(reason) for reason in pushed(LEFT).reasons if reason.what.startswith(OWN)]
    assert said[0].startswith("left_foot: stepped ")
    assert "to the left, to catch the body" in said[0]


def test_feet_come_back():
    done = pushed(BACK, seconds=3.4)
    assert done.finished
    assert [step.catches for step in done.own_steps[:2]] == [True, False]
    assert done.own_steps[1].x > 0.1
    end = done.motion.q[-1, :3] - standing(3.4).q[-1, :3]
    assert np.linalg.norm(end[:2]) < 0.15


def test_on_line_a_moment_says_whose_foot_steps_though_nothing_was_ever_like_it():
    """Pushed before anything can be recalled: what comes after the last frame is only assumed."""
    reference = standing()
    world = world_of(reference, strength=np.inf)
    live = DynamicsFilter(world, "man", dt=0.002)
    force, stepped = reference.figure.mass * 0.6 / LASTING, set()
    for k in range(650):
        if k == 100:
            push = world.push("man/spine2", force=(-force, 0.0, 0.0))
        if k == 150:
            world.remove(push)
        moment = live.step(reference.q[0])
        if moment is not None:
            assert moment.blame is None
            stepped.add(moment.steps)
    assert stepped - {None}  # with one foot, or with both in turn


def test_ways_are_seen_from_the_foot():
    assert way_of((1.0, 0.1), (1.0, 0.0)) == "forward"
    assert way_of((1.0, 0.0), (0.0, 1.0)) == "to the right"
    assert way_of((-1.0, -1.0), (-1.0, 0.0)) == "forward and to the left"


def test_limbs_that_run_away_end_it():
    # Without limits motors throw limbs about as it falls, and contacts among them took minutes to find.
    done = pushed(LEFT, speed=1.0, mode="offline", rescue=0.0)
    assert not done.finished
    assert np.abs(done.run.v[:-2, 6:]).max() < RUNAWAY < np.abs(done.run.v[-2:, 6:]).max()
