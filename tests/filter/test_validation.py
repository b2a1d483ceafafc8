"""Validation of the filter's arguments: messages name the frame, joint, figure or option."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.motion.motion import Motion
from brachiate.world.world import World


@pytest.fixture(scope="module")
def squatting() -> Motion:
    return procedural.sample_motion("squat", seconds=1.2)


@pytest.fixture(scope="module")
def squat(squatting: Motion) -> Reference:
    return make_reference(squatting)


def world_with(figure: br.Model, *, floor: bool = True, contact: bool = True, **options: float) -> World:
    world = br.World()
    if floor:
        world.add(br.figures.ground(), name="floor")
    world.add(figure, name="man")
    if contact:
        world.enable_contact(**options)
    return world


# --- non-finite numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_motion_with_non_finite_numbers(squatting, value):
    q = squatting.q.copy()
    q[3, squatting.figure.joints["left_knee"].q] = value
    with pytest.raises(ArgumentError, match=r"joint 'left_knee' is -?(nan|inf) in frame 3"):
        filter_motion(replace(squatting, q=q))


@pytest.mark.parametrize(("table", "word"), [("q", "position"), ("v", "velocity"), ("a", "acceleration")])
def test_reference_with_non_finite_numbers(squat, table, word):
    place = squat.figure.joints["left_knee"]
    numbers = getattr(squat, table).copy()
    numbers[25, place.q if table == "q" else place.v] = np.nan
    with pytest.raises(ArgumentError, match=rf"the {word} of joint 'left_knee' is nan in frame 25 \(0.050 s\)"):
        filter_motion(replace(squat, **{table: numbers}))


# --- worlds ---------------------------------------------------------------------------------------


def test_world_with_another_figure(squat):
    world = world_with(br.figures.human28())
    before = world.q.copy()
    with pytest.raises(
        ArgumentError, match=r"'human28', does not match the figure of the reference, 'squat': only one of them has the joint 'spine1'. Add"
    ):
        OfflineTracker(world, "man", squat, plan_whole_clip=False)
    assert (world.q == before).all()


def test_figure_of_another_size(squat):
    with pytest.raises(ArgumentError, match=r"does not match the figure of the reference, 'squat': 'spine1' is at another position"):
        OfflineTracker(world_with(procedural.sample_motion("squat", height=1.5).figure), "man", squat, plan_whole_clip=False)
    OfflineTracker(
        world_with(br.figures.with_payload(squat.figure, {"right_hand": 5.0}).with_scaled_effort(2.0)), "man", squat, plan_whole_clip=False
    )  # payload and strength may differ


def test_unknown_figure(squat):
    with pytest.raises(UnknownName, match=r"Did you mean 'man'"):
        OfflineTracker(simulation_world(squat), "men", squat, plan_whole_clip=False)


def test_world_without_ground(squat):
    with pytest.raises(ArgumentError, match=r"no ground for 'man' to stand on"):
        OfflineTracker(world_with(squat.figure, floor=False), "man", squat, plan_whole_clip=False)


def test_world_without_contact(squat):
    with pytest.raises(ArgumentError, match=r"world\.enable_contact"):
        OfflineTracker(world_with(squat.figure, contact=False), "man", squat, plan_whole_clip=False)


def test_zero_friction(squat, squatting):
    with pytest.raises(ArgumentError, match=r"friction must be more than 0, got 0"):
        OfflineTracker(world_with(squat.figure, friction=0.0), "man", squat, plan_whole_clip=False)
    with pytest.raises(ArgumentError, match=r"friction must be more than 0, got 0"):
        filter_motion(squatting, source_terrain=br.Terrain(0.0, friction=0.0))


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("torque_scale", [0.0, -1.0, np.nan, "much"])
def test_invalid_torque_scale(squat, torque_scale):
    with pytest.raises(ArgumentError, match=r"torque_scale"):
        filter_motion(squat, torque_scale=torque_scale)


@pytest.mark.parametrize("dt", [0.0, -0.002, np.nan, np.inf, 1.0, 1e-9, "2 ms"])
def test_invalid_frame_interval(squatting, dt):
    with pytest.raises(ArgumentError, match=r"dt"):
        filter_motion(squatting, dt=dt)


@pytest.mark.parametrize("settings", ["tuned.json", {"cone": 0.5}, 3])
def test_invalid_settings(squat, settings):
    with pytest.raises(ArgumentError, match=r"expected FilterSettings, or what br.load_settings"):
        filter_motion(squat, settings=settings)


def test_path_instead_of_a_motion():
    with pytest.raises(ArgumentError, match=r"br\.load_motion"):
        filter_motion("walk.bvh")
    with pytest.raises(ArgumentError, match=r"br\.make_reference"):
        OfflineTracker(br.World(), "man", "walk.bvh", plan_whole_clip=False)


@pytest.mark.parametrize("pushes", ["spine2:80,0,0@0.5", ["spine2:80,0,0@0.5"], br.Push("spine2", (1.0, 0.0, 0.0), 0.1), 3])
def test_invalid_pushes(squat, pushes):
    with pytest.raises(ArgumentError, match=r"expected a list of br.Push"):
        filter_motion(squat, pushes=pushes)


def test_pushes_without_effect(squat):
    with pytest.raises(UnknownName, match=r"'spine22' is not a link.*Did you mean 'spine2'"):
        filter_motion(squat, pushes=[br.Push("spine22", (1.0, 0.0, 0.0), 0.1)])
    with pytest.raises(ArgumentError, match=r"push on 'spine2' at 50 s would never act: the motion lasts 1.2 s"):
        filter_motion(squat, pushes=[br.Push("spine2", (1.0, 0.0, 0.0), 50.0)])


@pytest.mark.parametrize("given", [{"force": (np.nan, 0.0, 0.0)}, {"start": np.nan}, {"duration": np.inf}, {"point": (0.0, 0.0, np.inf)}])
def test_pushes_with_non_finite_numbers(given):
    with pytest.raises(ArgumentError, match=r"of a push on 'spine2'"):
        br.Push(**{"link": "spine2", "force": (1.0, 0.0, 0.0), "start": 0.1, **given})
