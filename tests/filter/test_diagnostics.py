"""Bad input of the filter: what cannot be is refused in words, and what looks wrong is told, by frame, joint and part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import Clip, filter_motion, world_of
from brachiate.filter.reference.diagnostics import doubts_of, jumps_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import Motion, motion_of
from brachiate.world.world import World

FEET = ("left_heel", "left_toe", "right_heel", "right_toe")
GROUND = br.Ground(0.0)


@pytest.fixture(scope="module")
def squatting() -> Motion:
    return motion_of(procedural.make("squat", seconds=1.2))


@pytest.fixture(scope="module")
def squat(squatting: Motion) -> Reference:
    return clean(squatting)


def world_with(figure: br.Model, *, floor: bool = True, touch: bool = True, **options: float) -> World:
    world = br.World()
    if floor:
        world.add(br.figures.ground(), name="floor")
    world.add(figure, name="man")
    if touch:
        world.touch(**options)
    return world


def standing(start: float, end: float, height: float | None = None) -> Labels:
    return Labels(tuple(Label(part, start, end, height=height) for part in FEET), GROUND)


def told(motion: Motion, labels: Labels | None, what: str) -> str:
    """What is told of that, if it is."""
    return next((str(guess) for guess in doubts_of(motion, labels) if guess.what == what), "")


# --- numbers that are none ------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_motion_with_numbers_that_are_none(squatting, value):
    q = squatting.q.copy()
    q[3, squatting.figure.joints["left_knee"].q] = value
    with pytest.raises(ArgumentError, match=r"joint 'left_knee' is -?(nan|inf) in frame 3"):
        filter_motion(replace(squatting, q=q))


@pytest.mark.parametrize(("table", "word"), [("q", "place"), ("v", "velocity"), ("a", "acceleration")])
def test_a_reference_with_numbers_that_are_none(squat, table, word):
    joined = squat.figure.joints["left_knee"]
    numbers = getattr(squat, table).copy()
    numbers[25, joined.q if table == "q" else joined.v] = np.nan
    with pytest.raises(ArgumentError, match=rf"the {word} of joint 'left_knee' is nan in frame 25 \(0.050 s\)"):
        filter_motion(replace(squat, **{table: numbers}))


# --- jumps ----------------------------------------------------------------------------------------


def test_a_root_that_is_elsewhere_is_told(squatting):
    q, k = squatting.q.copy(), len(squatting) // 2
    q[k:, 0] += 3.0
    (jump,) = jumps_of(replace(squatting, q=q))
    assert (jump.joint, jump.frame, jump.by) == ("place of root", k, pytest.approx(3.0, abs=0.01))
    assert told(replace(squatting, q=q), None, "jump").startswith(f"jump: place of root by 3 m at {squatting.times[k]:.2f} s (frame {k}) ")


def test_a_joint_that_jumps_for_one_frame_is_told_twice(squatting):
    q, k = squatting.q.copy(), len(squatting) // 2
    q[k, squatting.figure.joints["left_knee"].q] += 1.0
    assert {(jump.joint, jump.frame) for jump in jumps_of(replace(squatting, q=q))} == {("left_knee", k), ("left_knee", k + 1)}


@pytest.mark.parametrize("k", [1, -1])
def test_jumps_at_the_ends(squatting, k):
    q = squatting.q.copy()
    q[: 1 if k > 0 else None][k if k < 0 else 0, squatting.figure.joints["left_knee"].q] += 2.0
    assert [jump.frame for jump in jumps_of(replace(squatting, q=q))] == [k % len(q)]


def test_a_turned_root_is_told_and_a_quaternion_of_the_other_sign_is_not(squatting):
    q, k, turn = squatting.q.copy(), 20, squatting.figure.joints["root"].q
    q[k:, turn.start + 3 : turn.stop] *= -1.0
    assert jumps_of(replace(squatting, q=q)) == []
    q[k:, turn.start + 3 : turn.stop] = (0.0, 0.0, 0.0, 1.0)
    assert [(jump.joint, jump.frame) for jump in jumps_of(replace(squatting, q=q))] == [("root", k)]


def test_who_spins_evenly_does_not_jump(squatting):
    q = squatting.q.copy()
    q[:, squatting.figure.joints["left_knee"].q] = np.arange(len(q))[:, None]  # 120 rad/s
    assert jumps_of(replace(squatting, q=q)) == []


@pytest.mark.parametrize("name", ["walk", "jump", "kick", "turn", "squat"])
@pytest.mark.parametrize("rate", [30.0, 120.0])
def test_who_moves_fast_does_not_jump(name, rate):
    assert jumps_of(motion_of(procedural.make(name, rate=rate))) == []


def test_captured_motions_do_not_jump():
    clips = procedural.deepmimic_clips()
    if not clips:
        pytest.skip("DeepMimic's clips are not there")
    fast = {name: path for name, path in clips.items() if name in ("run", "spinkick", "kick", "punch", "backflip", "cartwheel")}
    for path in fast.values():
        assert jumps_of(br.read_motion(path, quiet=True)) == []


def test_jumps_are_among_the_guesses(squatting):
    q = squatting.q.copy()
    q[30, squatting.figure.joints["left_elbow"].q] += 2.0
    (guess,) = [guess for guess in clean(replace(squatting, q=q)).guesses if guess.what == "jump"]
    assert "left_elbow" in guess.value
    assert "frame 30" in guess.value


# --- contacts -------------------------------------------------------------------------------------


def test_parts_that_are_none(squatting):
    with pytest.raises(UnknownName, match=r"'left_hel' is not a part.*Did you mean 'left_heel'"):
        filter_motion(squatting, contacts=Labels((Label("left_hel", 0.0, 1.0),), GROUND))


def test_contacts_that_end_before_they_start():
    with pytest.raises(ArgumentError, match=r"'left_heel': it ends at 0.5 s, before it starts at 1 s"):
        Label("left_heel", 1.0, 0.5)
    with pytest.raises(ArgumentError, match=r"start of a contact"):
        Label("left_heel", np.nan, 0.5)


def test_contacts_beyond_the_motion(squatting):
    with pytest.raises(ArgumentError, match=r"none is within squat, which goes from 0 to 1.2 s: left_heel \(5.00-6.00 s\)"):
        filter_motion(squatting, contacts=standing(5.0, 6.0))
    some = replace(standing(0.0, 1.2), contacts=(*standing(0.0, 1.2).contacts, Label("left_hand", 5.0, 6.0)))
    assert "left_hand (5.00-6.00 s)" in told(squatting, some, "not in the motion")
    assert told(squatting, standing(-1.0, 60.0), "not in the motion") == ""  # they only go on


@pytest.mark.parametrize(("height", "words"), [(1.0, "1.00 m below"), (-1.0, "1.00 m above")])
def test_what_stands_far_from_where_it_is(squatting, height, words):
    guess = told(squatting, standing(0.0, 1.2, height), "elsewhere")
    assert f"left_heel (0.00-1.20 s) {words}" in guess
    assert "right_toe" in guess


def test_a_body_that_is_far_above_its_ground(squatting):
    q = squatting.q.copy()
    q[:, 2] += 1.0
    assert "left_heel (0.00-1.20 s) 1.00 m above" in told(replace(squatting, q=q), standing(0.0, 1.2), "elsewhere")
    assert told(squatting, standing(0.0, 1.2), "elsewhere") == ""


def test_who_is_said_to_fly_and_does_not_fall(squatting):
    assert "0.31-1.20 s, yet it falls by" in told(squatting, standing(0.0, 0.3), "flight")
    assert told(squatting, standing(0.0, 1.2), "flight") == ""


def test_who_falls_may_fly(squatting):
    t, q = squatting.times, squatting.q.copy()
    q[t > 0.3, 2] -= 0.5 * 9.81 * (t[t > 0.3] - 0.3) ** 2
    assert told(replace(squatting, q=q), standing(0.0, 0.3), "flight") == ""


# --- worlds ---------------------------------------------------------------------------------------


def test_another_figure(squat):
    world = world_with(br.figures.human28())
    before = world.q.copy()
    with pytest.raises(
        ArgumentError, match=r"'human28', is not that of the reference, 'squat': only one of them has the joint 'spine1'. Add"
    ):
        Clip(world, "man", squat, whole=False)
    assert (world.q == before).all()


def test_a_figure_of_another_size(squat):
    with pytest.raises(ArgumentError, match=r"is not that of the reference, 'squat': 'spine1' is elsewhere"):
        Clip(world_with(motion_of(procedural.make("squat", height=1.5)).figure), "man", squat, whole=False)
    Clip(world_with(br.figures.loaded(squat.figure, {"right_hand": 5.0}).stronger(2.0)), "man", squat, whole=False)  # which may be


def test_no_such_figure(squat):
    with pytest.raises(UnknownName, match=r"Did you mean 'man'"):
        Clip(world_of(squat), "men", squat, whole=False)


def test_no_floor(squat):
    with pytest.raises(ArgumentError, match=r"nothing that 'man' could stand on"):
        Clip(world_with(squat.figure, floor=False), "man", squat, whole=False)


def test_a_world_in_which_nothing_touches(squat):
    with pytest.raises(ArgumentError, match=r"world\.touch"):
        Clip(world_with(squat.figure, touch=False), "man", squat, whole=False)


def test_no_friction(squat, squatting):
    with pytest.raises(ArgumentError, match=r"friction must be more than 0, got 0"):
        Clip(world_with(squat.figure, friction=0.0), "man", squat, whole=False)
    with pytest.raises(ArgumentError, match=r"friction must be more than 0, got 0"):
        filter_motion(squatting, made_on=br.Ground(0.0, friction=0.0))


# --- numbers and options --------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, -1.0, np.nan, "much", None])
def test_no_strength(squat, strength):
    with pytest.raises(ArgumentError, match=r"strength"):
        filter_motion(squat, strength=strength)


@pytest.mark.parametrize("dt", [0.0, -0.002, np.nan, np.inf, 1.0, 1e-9, "2 ms"])
def test_steps_that_are_none(squatting, dt):
    with pytest.raises(ArgumentError, match=r"dt"):
        filter_motion(squatting, dt=dt)


@pytest.mark.parametrize("settings", ["tuned.json", {"cone": 0.5}, 3])
def test_settings_that_are_none(squat, settings):
    with pytest.raises(ArgumentError, match=r"expected FilterSettings, or what br.load_settings"):
        filter_motion(squat, settings=settings)


def test_a_path_is_no_motion():
    with pytest.raises(ArgumentError, match=r"br\.read_motion"):
        filter_motion("walk.bvh")
    with pytest.raises(ArgumentError, match=r"br\.clean"):
        Clip(br.World(), "man", "walk.bvh", whole=False)


@pytest.mark.parametrize("pushes", ["spine2:80,0,0@0.5", ["spine2:80,0,0@0.5"], br.Shove("spine2", (1.0, 0.0, 0.0), 0.1), 3])
def test_pushes_that_are_none(squat, pushes):
    with pytest.raises(ArgumentError, match=r"expected a list of br.Shove"):
        filter_motion(squat, pushes=pushes)


def test_pushes_that_never_act(squat):
    with pytest.raises(UnknownName, match=r"'spine22' is not a link.*Did you mean 'spine2'"):
        filter_motion(squat, pushes=[br.Shove("spine22", (1.0, 0.0, 0.0), 0.1)])
    with pytest.raises(ArgumentError, match=r"push on 'spine2' at 50 s would never act: the motion lasts 1.2 s"):
        filter_motion(squat, pushes=[br.Shove("spine2", (1.0, 0.0, 0.0), 50.0)])


@pytest.mark.parametrize("given", [{"force": (np.nan, 0.0, 0.0)}, {"at": np.nan}, {"lasting": np.inf}, {"point": (0.0, 0.0, np.inf)}])
def test_pushes_with_numbers_that_are_none(given):
    with pytest.raises(ArgumentError, match=r"of a push on 'spine2'"):
        br.Shove(**{"link": "spine2", "force": (1.0, 0.0, 0.0), "at": 0.1, **given})
