"""Replay of recorded steps: together as one by one, to the bit; forces on the floating base as by Jacobians of the links."""

import numpy as np
import pytest

from brachiate import Push, kinematics, procedural
from brachiate.filter.offline import filter_motion
from brachiate.filter.results import replay
from brachiate.filter.results.equations_of_motion import Wrenches
from brachiate.model.data import Data


@pytest.fixture(scope="module")
def walk():
    """Touchdowns, joints at their limits, and a push, at which the structure of the world changes."""
    push = Push("spine2", (60.0, 0.0, 0.0), start=0.3, duration=0.1)
    return filter_motion(procedural.sample_motion("walk", seconds=0.7), pushes=[push], progress=False)


def test_steps_replayed_together_are_those_replayed_alone(walk, monkeypatch):
    """Fails if a step of a run has another length, memory or torque than alone, by the last bit."""
    together = list(replay.replay_steps(walk.recording))
    calls = []
    monkeypatch.setattr(replay, "_repeat_together", lambda *_: calls.append(1))
    alone = list(replay.replay_steps(walk.recording))
    assert 1 < len(calls) < 12
    assert len(together) == len(alone) == len(walk.recording) - 1
    for a, b in zip(together, alone, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))
        assert a.pushes == b.pushes
        assert a.connection_wrenches == b.connection_wrenches == ()
    assert any(step.pushes for step in together)


def test_a_step_that_is_not_reproduced_is_found_among_many(walk):
    """A torque changed in one step of the recording: the message names the step."""
    recording = walk.recording
    before = recording.torque[120].copy()
    recording.torque[120] += 1.0
    try:
        with pytest.raises(replay.StateError, match=rf"Replaying the step at {recording.time[119]:.4f} s does not reproduce"):
            list(replay.replay_steps(recording))
    finally:
        recording.torque[120] = before


def test_forces_on_the_base_are_those_of_the_jacobians_of_the_links(walk):
    """Random wrenches on links of the figure and on the floor, which does not move: Jᵀ F at the velocities of the base."""
    equations, rng = walk.equations_of_motion(), np.random.default_rng(0)
    model, n = equations.model, 40
    links = [name for name, place in model.placements.items() if place.body >= 0]
    step, link = np.sort(rng.integers(len(equations), size=n)), tuple(rng.choice(links, n))
    point, force, moment = rng.standard_normal((3, n, 3))
    object.__setattr__(equations, "wrenches", Wrenches(step, link, point, force, moment, np.zeros(n, int)))
    expected, data = np.zeros((len(equations), 6)), Data(model)
    base = (
        model.joints["man/root"].v if "man/root" in model.joints else next(j.v for j in model.joints.values() if j.v.stop - j.v.start == 6)
    )
    for k, name, at, f, m in zip(step, link, point, force, moment, strict=True):
        data.assign(q=equations.q[k])
        kinematics.update_poses(data)
        place = model.placements[name]
        about = m + np.cross(at - kinematics.pose(data, place).position, f)
        expected[k] += (kinematics.jacobian(data, place).T @ np.concatenate((f, about)))[base]
    assert equations._base_forces(base.start) == pytest.approx(expected, rel=1e-10, abs=1e-10)
