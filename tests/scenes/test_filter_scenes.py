"""Filter scenes: the examples of the dynamics filter's paper, walks on slopes and stairs, pushes."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import procedural, scenes
from brachiate.errors import ArgumentError
from brachiate.filter.results.pose_strips import FILTERED, ORIGINAL
from brachiate.motion.edit import heading_angle
from brachiate.scenes.filter_scenes import PUBLISHED, with_a_turn


def played(name, tmp_path, **parameters):
    pytest.importorskip("matplotlib")
    scene = scenes.make(name, **parameters)
    run = scene.run()
    scene.picture(run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 30_000
    return scene, run


def test_arm_tracks_with_the_elbow_only(tmp_path):
    scene, run = played("filter-arm", tmp_path, seconds=2.0)
    assert np.degrees(run.q[500, 1]) == pytest.approx(60.0, abs=0.2)  # at 1 s, as in the reference
    assert abs(np.degrees(run.q[-1, 0]) - 30.0) > 20.0  # where the reference has the shoulder at 2 s
    assert (run.torque[:, 0] == 0).all()
    assert scene.world.time == pytest.approx(2.0)


def test_walk_is_filtered(tmp_path):
    scene, run = played("filter-walk", tmp_path, seconds=1.5)
    assert scene.tracker.tracker.failure is None
    rows = scene.rows(run)
    assert list(rows) == [ORIGINAL, PUBLISHED, FILTERED]
    before, after = scene.filtered(run).before.summary, scene.filtered(run).check().summary
    assert after["root_residual_force_rms_N"] < 0.5 * before["root_residual_force_rms_N"]
    assert np.linalg.norm(rows[FILTERED].q[-1, :3] - rows[ORIGINAL].q[-1, :3]) < 0.1


def test_kick_succeeds_where_the_published_filter_falls(tmp_path):
    scene, run = played("filter-kick", tmp_path)
    assert scene.tracker.tracker.failure is None
    assert scene.published.failure is not None
    assert len(scene.rows(run)[PUBLISHED]) < len(run)


def test_walk_down_a_slope(tmp_path):
    scene, run = played("filter-slope", tmp_path, seconds=1.6)
    assert scene.tracker.tracker.failure is None
    moved = run.q[-1, :3] - run.q[0, :3]
    assert moved[2] == pytest.approx(-np.tan(np.radians(10.0)) * moved[0], abs=0.06)
    assert moved[0] > 1.5


def test_walk_up_stairs(tmp_path):
    scene, run = played("filter-steps", tmp_path, seconds=2.4, count=2)
    assert scene.tracker.tracker.failure is None
    assert run.q[-1, 2] - run.q[0, 2] == pytest.approx(0.24, abs=0.04)


def test_joined_walks_make_a_turn(tmp_path):
    walk = procedural.sample_motion("walk")
    with_turn = with_a_turn(walk, 30.0, 2.0, 0.4)
    assert with_turn.duration == pytest.approx(walk.duration, abs=0.02)
    assert np.array_equal(with_turn.q[:200], walk.q[:200])
    angles = np.degrees(heading_angle(with_turn.q[-60:, 3:7]) - heading_angle(walk.q[-60:, 3:7]))
    assert angles == pytest.approx(30.0, abs=1e-6)
    scene, run = played("filter-turn", tmp_path)
    assert scene.tracker.tracker.failure is None
    way = run.q[-1, :2] - run.q[-600, :2]
    assert np.degrees(np.arctan2(way[1], way[0])) == pytest.approx(30.0, abs=4.0)
    with pytest.raises(ArgumentError, match="cut"):
        with_a_turn(walk, 30.0, 3.95, 0.4)


def test_standing_withstands_pushes(tmp_path):
    scene, run = played("filter-push", tmp_path, seconds=3.0, then=1.5)
    assert scene.tracker.tracker.failure is None
    caught = scene.filtered(run).recovery_steps
    assert [(step.direction, step.is_capture) for step in caught[:1]] == [("backward", True)]
    assert 1.5 < caught[0].start < 1.8
    forward = run.q[:, 0] - run.q[int(0.45 / 0.002), 0]
    assert np.abs(forward[run.time < 0.45]).max() < 0.01
    assert 0.03 < forward.max() < 0.2
    pushed = scene.rows(run)[FILTERED].forces["push 0"]
    on = (run.time > 0.46) & (run.time < 0.59)
    assert (pushed[on, 0] == 200.0).all()
    assert (pushed[run.time > 0.61, :3] == 0.0).all()
