"""Goals of retargeting: Jacobians by finite differences, goals reached with feet and joint limits kept, bad input."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.retargeting.bipeds import G1, biped, robot

import brachiate as br
from brachiate import animation as an
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.kinematics import beyond_limits
from brachiate.kinematics_batch import BatchKinematics
from brachiate.retargeting.goals import goal_rows
from brachiate.retargeting.retarget import RetargetResult

HANDS = an.distance("landmark/left_hand", "landmark/right_hand")
GAZE = an.angle(an.axis("landmark/head", "x"), an.direction("landmark/head", to=(3.0, 1.0, 1.2)))


@cache
def steps() -> br.Motion:
    return br.Motion.from_clip(stepping(frames=40, rate=30.0))


@cache
def human() -> br.Model:
    return br.figures.human28()


@cache
def plain() -> RetargetResult:
    return br.retarget(steps(), human())


@cache
def with_goals() -> RetargetResult:
    return br.retarget(
        steps(),
        human(),
        goals={
            "grip": HANDS,
            "gaze": br.Goal(GAZE, 0.0),
            "elbow": br.Goal(an.joint("right_elbow"), lambda t: 0.6 + 0.3 * np.sin(2.0 * t)),
        },
    )


def test_rows_are_derivatives_along_the_steps_of_inverse_kinematics():
    rng, model = np.random.default_rng(0), human()
    goals = {
        "hand": br.Goal(an.position("left_hand", (0.1, 0.2, 0.3)), (0.0, 0.0, 1.0), weight=3.0),
        "turn": br.Goal(an.orientation("chest"), np.zeros((40, 3))),
        "com": br.Goal(an.center_of_mass(), (0.0, 0.0, 1.0)),
        "knee": br.Goal(lambda s: s.joint("left_knee") ** 2, 0.1, weight=7.0),
    }
    rows = goal_rows(goals, steps(), find_landmarks(steps().figure), find_landmarks(model))
    kinematics, q = BatchKinematics(model), np.tile(model.neutral, (5, 1))
    q = kinematics.integrate(q, 0.3 * rng.normal(size=(5, model.nv)))
    which, dofs, h = np.arange(5), np.arange(model.nv), 1e-5
    r, J = rows.rows(q, which, dofs)
    assert r.shape == (5, 10)
    for _ in range(3):
        d = rng.normal(size=(5, model.nv))
        ahead, behind = (rows.rows(kinematics.integrate(q, s * h * d), which, dofs)[0] for s in (1.0, -1.0))
        # Fails if translations of the root are along other axes than those of its steps.
        assert np.allclose((ahead - behind) / (2 * h), np.einsum("fij,fj->fi", J, d), rtol=1e-7, atol=1e-7)
    assert rows.moved_by().all()


def test_goals_are_reached_with_feet_and_limits_kept():
    moved, before = with_goals(), plain()
    assert set(moved.goal_errors) == {"grip", "gaze", "elbow"}
    assert moved.goal_errors["grip"] < 1e-3
    assert moved.goal_errors["gaze"] < 2e-3
    assert moved.goal_errors["elbow"] < 2e-3
    # Fails if goals move the feet, or leave joint limits.
    assert moved.foot_skate < before.foot_skate + 1e-3
    assert moved.penetration < before.penetration + 0.5
    assert moved.foot_float < before.foot_float + 0.5
    data = br.Data(human())
    for q in moved.motion.q[::5]:
        data.q[:] = q
        assert max(beyond_limits(data).values(), default=0.0) < 1e-6
    # Errors are those of the motion, not only those the solver saw.
    elbow = moved.motion.values({"e": an.joint("right_elbow")})["e"]
    error = abs(elbow - 0.6 - 0.3 * np.sin(2.0 * moved.motion.times)).max()
    assert error == pytest.approx(moved.goal_errors["elbow"], abs=1e-9)
    assert abs(plain().motion.values({"e": an.joint("right_elbow")})["e"] - elbow).max() > 0.1


def test_the_source_is_copied_by_landmarks():
    def hands(motion: br.Motion) -> np.ndarray:
        marks = find_landmarks(motion.figure)
        poses = BatchKinematics(motion.figure).poses(motion.q)
        return np.linalg.norm(poses.point(*marks.points["left_hand"]) - poses.point(*marks.points["right_hand"]), axis=1)

    assert abs(hands(with_goals().motion) - hands(steps())).max() < 1e-3
    assert abs(hands(plain().motion) - hands(steps())).max() > 0.02


def test_without_goals_nothing_changes():
    assert plain().goal_errors == {}
    assert not np.array_equal(plain().motion.q, with_goals().motion.q)
    assert np.array_equal(br.retarget(steps(), human(), goals=None).motion.q, plain().motion.q)


def test_weights_and_vectors():
    wanted = np.stack([0.25 + 0.0 * steps().times, 0.2 + 0.05 * np.sin(steps().times), 1.1 + 0.0 * steps().times], axis=1)
    pelvis = np.array([*plain().motion.q[:, :2].mean(axis=0), 0.0])
    weak, strong = (
        br.retarget(steps(), human(), goals={"hand": br.Goal(an.position("left_hand"), wanted + pelvis, weight=w)}) for w in (1.0, 100.0)
    )
    assert strong.goal_errors["hand"] < 2e-3 < weak.goal_errors["hand"]


def test_goals_without_derivative_in_the_first_guess():
    turned = an.angle(an.axis("landmark/chest", "x"), an.axis("landmark/pelvis", "x"))  # zero in upright stance
    moved = br.retarget(steps(), human(), goals={"turned": br.Goal(turned, 0.2)})
    assert moved.goal_errors["turned"] < 2e-3


@pytest.mark.parametrize("name", ["biped", "g1"])
def test_goals_of_robots(name):
    model = biped("unitree") if name == "biped" else robot(G1)
    goals = {
        "grip": br.Goal(HANDS, 0.35),
        "hands level": an.dot((0, 0, 1), an.position("landmark/left_hand") - an.position("landmark/right_hand")),
    }
    moved = br.retarget(steps(), model, goals=goals)
    assert moved.goal_errors["grip"] < 2e-3
    assert moved.goal_errors["hands level"] < 2e-3
    assert moved.foot_skate < 2e-3
    assert moved.penetration < 1.0


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        ({}, "goals: expected functions by name"),
        ([HANDS], "goals: expected functions by name"),
        ({"bad": an.position("no_hand")}, r"Function 'bad\.x': 'no_hand' is not a link or site of this model"),
        ({"bad": an.position("landmark/tail")}, "'landmark/tail' is not a link"),
        ({"bad": br.Goal(an.angular_momentum(), (0, 0, 0))}, "Goal 'bad' depends on velocities: goals of retargeting"),
        ({"bad": br.Goal(an.center_of_pressure(), (0, 0, 0))}, "Goal 'bad' depends on accelerations"),
        ({"bad": br.Goal(HANDS, (1.0, 2.0, 3.0))}, r"target of goal 'bad': expected a number, or as many for each of the 40"),
        ({"bad": br.Goal(HANDS, np.zeros(39))}, r"got shape \(39,\)"),
        ({"bad": br.Goal(an.position("left_hand"), 1.0)}, "target of goal 'bad': expected 3 numbers"),
        ({"bad": br.Goal(HANDS, np.where(np.arange(40) == 7, np.nan, 1.0))}, r"target of goal 'bad': not finite in frame 7 \(0\.2333 s\)"),
        ({"bad": br.Goal(HANDS, "near")}, "target of goal 'bad'"),
        ({"bad": br.Goal(HANDS, lambda t: [1.0, 2.0])}, "target of goal 'bad'"),
        ({"bad": an.position("right_shoulder_no")}, "is not a link"),
        ({"bad": lambda s: 1.0 if s.joint("left_knee") > 0 else 2.0}, "a comparison of a value cannot be traced"),
        ({"bad": lambda s: 5.0}, "'bad' must return a scalar or a vector"),
        ({"bad": br.Goal(an.sqrt(an.joint("left_elbow") - 4.0), 1.0)}, "'bad' is not finite or not differentiable at 0 s: sqrt"),
        ({"only here": an.position("left_grip")}, "Goal 'only here', of the source .*is not a link.*Or give the goal a target"),
    ],
)  # fmt: skip
def test_bad_goals_are_named(goals, words):
    with pytest.raises(br.BrachiateError, match=words):
        br.retarget(steps(), human(), goals=goals)


def test_bad_settings_of_goals():
    with pytest.raises(br.ArgumentError, match="weight of a goal"):
        br.Goal(HANDS, 0.3, weight=0.0)
    with pytest.raises(br.ArgumentError, match="either a target or a function of the source"):
        br.Goal(HANDS, 0.3, source=HANDS)
