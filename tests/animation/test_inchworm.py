"""Inchworms [EGC] 5.2: they advance as planned, grasps do not slip, the rear slides on the ground, stored torques reproduce the motion."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import scenes
from brachiate.scenes.inchworms import LENGTH, SEGMENTS, WormGait


def soles(scene, run, worm: str, along):
    """Positions of tail and head soles along the ground, across it and above it (n, 2, 3)."""
    world = scene.world.copy()
    axes = np.array([along, (0, 1, 0), np.cross(along, (0, 1, 0))])
    found = []
    for q in run.q:
        world.data.q[:] = q
        found.append([axes @ world.position(f"{worm}/{end}_sole") for end in ("tail", "head")])
    return np.array(found)


@pytest.mark.parametrize(("slope", "friction"), [(0.0, 0.0), (20.0, 0.03)])
def test_inchworm_walks_as_planned(slope, friction):
    steps, stride = 3, 0.02
    scene = scenes.make("inchworm", steps=steps, stride=stride, slope=slope, friction=friction)
    run = scene.run()
    angle = np.radians(slope)
    path = soles(scene, run, "worm", np.array([np.cos(angle), 0, np.sin(angle)]))
    half = scene.seconds / (2 * steps)
    for n in range(2 * steps):
        during = (run.time > n * half - 1e-9) & (run.time < (n + 1) * half + 1e-9)
        moving, grasping = (0, 1) if n % 2 else (1, 0)
        gained = path[during][-1, moving] - path[during][0, moving]
        assert abs(gained - [stride, 0, 0]).max() < 2e-5
        assert np.ptp(path[during][:, grasping], axis=0).max() < 1e-10  # the grasp does not slip
        if n % 2:  # the rear slides along the ground
            assert np.ptp(path[during][:, 0, 1:], axis=0).max() < 1e-10
            assert (np.diff(path[during][:, 0, 0]) > -1e-6).all()
        else:
            assert path[during][:, 1, 2].max() - path[during][0, 1, 2] > 0.0015  # the head is lifted
    assert scene.max_gap < 1e-10
    assert abs(scene.distances["worm"] - steps * stride) < 1e-4
    assert "60.0 mm" in scene.outcome
    # The body arches and stretches in turn, as in Fig. 6.
    span = path[:, 1, 0] - path[:, 0, 0]
    assert span.max() - span.min() > 0.9 * stride
    assert span.max() < SEGMENTS * LENGTH


def test_friction_of_the_rear_costs_torque():
    """Friction of the rear is a force on the ground: the muscles bring it, and the motion is the same."""
    smooth, rough = (scenes.make("inchworm", steps=1, seconds=1.2, friction=friction) for friction in (0.0, 0.05))
    first, second = smooth.run(), rough.run()
    sliding = (first.time > 0.7) & (first.time < 1.1)
    assert abs(first.q - second.q).max() < 1e-6
    assert abs(first.torque - second.torque)[sliding].max() > 0.1 * 0.05 * LENGTH
    power = ((second.torque - first.torque) * second.v).sum(axis=1)[sliding]
    path = soles(rough, second, "worm", np.array([1.0, 0, 0]))[:, 0, 0]
    speed = np.gradient(path, second.time)[sliding]
    assert np.allclose(power, 0.05 * speed, rtol=0.05)  # power of muscles goes into friction


def test_stored_torques_reproduce_the_walk():
    """Torques alone, as cubic splines, with grasps at the recorded times: no feedback, other steps, the same walk.

    The tolerance is that of the interpolation, whatever the step of the replay: second order in the step by which torques were stored, as
    the plan of the head has a kink in its third derivative.
    """
    errors = []
    for dt in (0.02, 0.01):
        walk = scenes.make("inchworm", steps=1, seconds=1.2, dt=dt)
        run = walk.run()
        replay = scenes.make("inchworm", steps=1, seconds=1.2, dt=5e-4, replay=walk.runs)
        again = replay.run()
        assert abs(replay.distances["worm"] - 0.02) < 2e-5
        rows = np.searchsorted(again.time, run.time - 1e-9)
        errors.append(abs(again.q[rows] - run.q).max())
        assert [str(change.report.event) for change in replay.changes] == [str(change.report.event) for change in walk.changes]
    assert errors[1] < 1e-4
    assert errors[1] < errors[0] / 2.5


def test_race_is_won_by_the_fastest_gait():
    gaits = {
        "slow": WormGait(stride=0.01, duration=0.4),
        "fast": WormGait(stride=0.016, duration=0.3, arch=0.95),
        "heavy": WormGait(mass=0.003),
    }
    scene = scenes.make("inchworm-race", gaits=gaits, seconds=2.4)
    scene.run()
    assert scene.winner == "fast"
    assert scene.outcome.startswith("'fast' wins: fast 64.0 mm")
    for name, gait in gaits.items():
        strides = round(2.4 / gait.duration) // 2
        assert abs(scene.distances[name] - strides * gait.stride) < 2e-5
    assert scene.max_gap < 1e-10


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"stride": 0.05}, "stride: 0.05 m is more than"), ({"stride": -0.01}, "stride"), ({"duration": 0.0}, "duration"),
     ({"arch": 3.0}, "arch"), ({"mass": 0.0}, "mass"), ({"friction": -1.0}, "friction")],
)  # fmt: skip
def test_bad_gaits_are_refused(settings, words):
    with pytest.raises(br.BrachiateError, match=words):
        WormGait(**settings)


def test_bad_races_are_refused():
    with pytest.raises(br.BrachiateError, match="gaits"):
        scenes.make("inchworm-race", gaits={"a": 0.02})
    with pytest.raises(br.BrachiateError, match="slope"):
        scenes.make("inchworm-race", slope=80.0)
