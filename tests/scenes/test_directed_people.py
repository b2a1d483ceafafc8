"""Directed people: they reach, look and lift within tolerances on feet that stand by contact alone, also while they are pushed."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import animation as an
from brachiate import scenes
from brachiate.errors import ArgumentError
from brachiate.scenes.directed_people import holding_posture, with_barbell


def played(name, **parameters):
    scene = scenes.make(name, **parameters)
    run = scene.run()
    return scene, run, scene.filtered(run)


def check_standing(scene, result) -> None:
    """No falls, no recovery steps; the feet stand on the ground, with forces inside their friction cones, and both carry unless pushed."""
    assert result.success
    assert not result.recovery_steps
    history, friction = result.recording.contacts, scene.world.contact_settings.material.friction
    assert sorted(history.pairs) == ["man/left_foot on floor/ground", "man/right_foot on floor/ground"]
    for pair in history.pairs:
        force = history[pair].force[1:]
        assert (np.linalg.norm(force[:, :2], axis=1) <= friction * force[:, 2] * (1.0 + 1e-9)).all()
        if not scene.pushes:
            assert force[:, 2].min() > 0.3 * result.motion.figure.mass * 9.81  # of a half each


@pytest.mark.parametrize(
    "push", [{}, {"push": 0.2, "heading": 0.0}, {"push": 0.2, "heading": 90.0}, {"push": 0.2, "heading": 225.0, "at": 0.6}]
)
def test_the_cup_is_reached_with_the_eyes_on_it(push):
    # A push is 0.2 m/s of the whole body within a tenth of a second, at the shoulders.
    scene, _, result = played("reach-cup", seconds=2.4, **({"at": 1.5} | push))
    check_standing(scene, result)
    cup, gaze = result.tasks["cup"], result.tasks["gaze"]
    assert cup.times[-1] == pytest.approx(2.4)
    assert cup.max_error < 1e-3  # from 1.2 s on, while pushed too
    assert gaze.max_error < np.radians(0.1)
    assert cup.size[-1] < 1e-4
    assert gaze.size[-1] < np.radians(0.01)
    assert scene.outcome.startswith("cup: reached at 1.")
    if push:
        assert np.linalg.norm(result.recording.v[:, :2], axis=1).max() > 0.05


@pytest.mark.parametrize("push", [{}, {"push": 0.2, "heading": 180.0}])
def test_the_barbell_is_lifted_by_both_hands(push):
    scene, _, result = played("lift-barbell", seconds=3.2, **({"at": 2.4} | push))
    check_standing(scene, result)
    assert scene.max_gap < 1e-10
    for task in result.tasks.values():
        assert task.max_error < 1e-3, str(task)
    assert scene.world.position("man/barbell")[2] == pytest.approx(1.45, abs=1e-3)


def test_the_hands_share_the_weight_and_the_loops_are_in_balance():
    # Newton-Euler of the barbell alone: fails if the forces of the hands are not those that carry it, or one hand carries it all.
    _, run, _ = played("lift-barbell", seconds=3.6, mass=16.0)
    forces = [run[f"{side} hand.force"] for side in ("left", "right")]
    weight = 16.0 * 9.81
    at = run.model.joints["man/barbell"].v.start
    total = -np.sum(forces, axis=0)[-50:].mean(axis=0)  # on the barbell
    velocity = run.values({"bar": an.position("man/barbell")}, derivative=1)["bar"][-51:, 2]
    acceleration = (velocity[-1] - velocity[0]) / (run.time[-1] - run.time[-51])
    assert abs(acceleration) < 0.01
    assert total == pytest.approx([0.0, 0.0, weight + 16.0 * acceleration], abs=0.002 * weight)
    assert abs(forces[0][-1, 2] - forces[1][-1, 2]) < 0.02 * weight
    assert np.abs(run.torque[:, at : at + 6]).max() == 0.0  # nothing but the hands carries it


def test_a_barbell_out_of_reach_is_refused():
    from brachiate import figures  # noqa: PLC0415

    with pytest.raises(ArgumentError, match=r"The hands do not reach a barbell at \[1.5, 0.0, 0.9\]"):
        holding_posture(with_barbell(figures.human28(), 10.0), (1.5, 0.0, 0.9))
    with pytest.raises(ArgumentError, match="push"):
        scenes.make("reach-cup", push=-1.0)
    with pytest.raises(ArgumentError, match=r"at: a push at 3 s would never act, as the scene ends at 2\.5 s"):
        scenes.make("lift-barbell", push=0.2, at=3.0, seconds=2.5)
