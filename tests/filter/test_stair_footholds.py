"""Stairs as terrain: footholds on treads, clearance of edges, walks up and down, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.anatomy.feet import find_feet
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.errors import ArgumentError
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.stair_footholds import make_stair_model, tread_range
from brachiate.filter.results.equations_of_motion import equations_of_motion
from brachiate.filter.results.result import FilterResult
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Stairs, Terrain

UP, DOWN = "stairs:0.1:0.4:2", "stairs:-0.12:0.4:2"
ROUND_OFF = 1e-9


@pytest.fixture(scope="module")
def walking() -> Motion:
    return procedural.sample_motion("walk", seconds=2.4)


@pytest.fixture(scope="module", params=(UP, DOWN))
def reference(request: pytest.FixtureRequest, walking: Motion) -> Reference:
    return make_reference(walking, terrain=request.param)


@pytest.fixture(scope="module")
def result(reference: Reference) -> FilterResult:
    return filter_motion(reference, torque_scale=np.inf, progress=False)


def stairs_of(terrain: Terrain) -> Stairs:
    assert terrain.stairs is not None
    return terrain.stairs


def feet_points(reference: Reference, q: np.ndarray) -> np.ndarray:
    """Points of both feet that may touch the terrain: (k, f, 3) [m]."""
    poses, found = BatchKinematics(reference.figure).poses(q), []
    for foot in find_feet(find_landmarks(reference.figure)):
        found += [poses.point(foot.body, at) for at in foot.sole.hull]
        if foot.toes is not None:
            found += [poses.point(foot.toes.body, at) for at in foot.toes.corners]
    return np.stack(found)


def sole_corners(reference: Reference, q: np.ndarray, n: int) -> list[np.ndarray]:
    """Corners of the soles in the middle frame of every stance within n frames."""
    poses, model, found = BatchKinematics(reference.figure).poses(q), reference.figure, []
    for stance in reference.stances:
        k = (stance.start + stance.end) // 2
        if k < n and len(stance) > 50:
            place = model.placements[stance.link]
            points = place.position + stance.corners @ place.rotation.T
            found.append(np.stack([poses.point(place.body, point)[k] for point in points]))
    return found


# --- terrain --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_boxes_come_to_rest_on_the_stairs(rise):
    terrain = br.Terrain(0.3, stairs=br.Stairs(rise, 0.4, 2, start=0.7, heading=30.0))
    floor, at, R = make_stair_model(terrain, np.zeros((1, 2)))
    world = br.World()
    world.add(floor, name="floor", at=at, rotation=R)
    across = np.array((-np.sin(np.radians(30.0)), np.cos(np.radians(30.0))))
    positions = [s * stairs_of(terrain).direction + 0.3 * across for s in (0.2, 0.9, 1.3, 3.0)]
    for n, (x, y) in enumerate(positions):
        world.add(br.figures.box((0.1, 0.1, 0.1), 1.0), name=f"box{n}")
        world[f"box{n}/root"] = [x, y, terrain.height + stairs_of(terrain).height_at(positions[n]) + 0.01, 1, 0, 0, 0]
    world.enable_contact()
    run = br.Simulation(world, dt=0.004).run(0.3, progress=False)
    lowest = np.stack([run.q[-1, 7 * n : 7 * n + 3] for n in range(len(positions))])
    assert terrain.clearance(lowest) == pytest.approx(0.0, abs=1e-3)


# --- the reference --------------------------------------------------------------------------------


def test_every_stance_is_on_one_tread(reference):
    stairs, levels = stairs_of(reference.terrain), set()
    for stance in reference.stances:
        first, last = tread_range(stairs, stance.corner_positions)
        assert first < -0.015
        assert last > 0.015
        assert stance.height == pytest.approx(stairs.height_at(stance.corner_positions.mean(axis=0)))
        assert reference.terrain.clearance(stance.corner_positions) == pytest.approx(0.0, abs=1e-9)
        levels.add(round(stance.height / stairs.rise))
    assert levels == {0, 1, 2}  # no tread is skipped
    assert all(label.height is None for label in reference.contacts.contacts)  # on the terrain itself


def test_feet_do_not_penetrate_the_stairs(reference):
    assert reference.terrain.clearance(feet_points(reference, reference.q)).min() > -1e-3


def test_swing_feet_clear_the_edges(reference):
    stairs, points = stairs_of(reference.terrain), feet_points(reference, reference.q)
    for foot in np.split(points, 2):
        s, low = stairs.distance_along(foot), foot[..., 2].min(axis=0)
        over = stairs.crosses_edge(s.min(axis=0), s.max(axis=0))
        assert over.any()
        above = (low - stairs.max_height(s.min(axis=0), s.max(axis=0)))[over]
        assert above.min() > 0.004  # landing next to an edge
        assert np.median(above) > 0.02


def test_body_follows_the_stairs_smoothly(reference):
    z, stairs = reference.q[:, 2], stairs_of(reference.terrain)
    assert z[-1] - z[0] == pytest.approx(2 * stairs.rise, abs=0.04)
    assert np.abs(np.gradient(z, reference.dt)).max() < 1.0


def test_treads_too_short_for_a_foot_are_refused(walking):
    with pytest.raises(ArgumentError, match=r"Treads of 0\.2 m are too short for the \w+ foot, which takes 0\.2\d m"):
        make_reference(walking, terrain="stairs:0.1:0.2:2")


def test_stairs_cannot_be_placed_without_travel():
    squat = procedural.sample_motion("squat", seconds=1.0)
    with pytest.raises(ArgumentError, match="too little to place stairs in its path"):
        make_reference(squat, terrain="stairs:0.1")
    curb = make_reference(squat, terrain="stairs:0.1:0.4:1:-0.5")  # behind the figure, which stands on the upper level
    assert {stance.height for stance in curb.stances} == {0.1}


def test_check_refuses_stairs_without_a_position(walking):
    with pytest.raises(ArgumentError, match="position of the stairs is not set"):
        br.check(walking, terrain="stairs:0.1")


# --- the filter -----------------------------------------------------------------------------------


def test_filter_walks_up_and_down(result):
    assert result.success, str(result.failure)
    reference, k = result.reference, len(result.motion)
    off = BatchKinematics(reference.figure).poses(result.motion.q).x - BatchKinematics(reference.figure).poses(reference.q[:k]).x
    assert 100.0 * np.linalg.norm(off, axis=-1).mean() < 3.5
    assert result.recording.contacts.penetration.max() < 2e-3
    weight = reference.figure.mass * 9.81
    assert max(equations_of_motion(result).root_residual()) < ROUND_OFF * weight
    assert reference.terrain.clearance(feet_points(reference, result.motion.q)).min() > -3e-3


def test_soles_stay_on_their_treads(result):
    stairs = stairs_of(result.reference.terrain)
    for points in sole_corners(result.reference, result.motion.q, len(result.motion)):
        first, last = tread_range(stairs, points)
        assert first < 2e-3
        assert last > -2e-3


def test_pushed_walker_does_not_step_over_an_edge(walking):
    reference = make_reference(walking, terrain=UP)
    shove = br.Push("spine2", (120.0, 0.0, 0.0), start=1.0)
    pushed = filter_motion(reference, mode="preview", torque_scale=np.inf, pushes=[shove], progress=False)
    assert pushed.success, str(pushed.failure)
    assert np.linalg.norm(pushed.motion.q[:, :2] - reference.q[: len(pushed.motion), :2], axis=1).max() > 0.02
    for points in sole_corners(reference, pushed.motion.q, len(pushed.motion)):
        first, last = tread_range(stairs_of(reference.terrain), points)
        assert first < 5e-3
        assert last > -5e-3


def test_check_uses_the_stairs(result):
    report = result.check()
    assert report.summary["penetration_max_mm"] < 3.0
    assert report.as_dict()["terrain"]["stairs"]["count"] == 2
    assert not any(label.height for label in result.motion.contacts.contacts)


def test_result_on_stairs_can_be_preprocessed_again(result):
    again = make_reference(result.motion)
    assert again.terrain == result.motion.contacts.terrain
    assert again.displacement.mean < 3.0  # [cm]
    assert {round(s.height, 6) for s in again.stances} == {round(s.height, 6) for s in result.reference.stances}


def test_stairs_are_refused_online(walking):
    with pytest.raises(ArgumentError, match="filters on level ground"):
        filter_motion(walking, terrain=UP, mode="online", progress=False)
