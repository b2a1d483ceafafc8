"""All sample motions: as files, on the floor, by name."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest
from tests.procedural.feet import contacts, slide

from brachiate import procedural, rotations
from brachiate.errors import ArgumentError, UnknownName
from brachiate.io.bvh import format_bvh
from brachiate.io.clips import read_clip
from brachiate.motion.motion import Motion

MAX_SLIDE = 0.005  # [m] of contact points over a contact; largest for the toes of a foot that leaves the floor
ON_THE_FLOOR = ("walk", "turn", "jump", "kick", "squat")


def test_all_are_listed_and_have_defaults():
    assert list(procedural.SAMPLE_MOTIONS) == ["walk", "turn", "jump", "kick", "squat", "hang"]
    for name, function in procedural.SAMPLE_MOTIONS.items():
        known = inspect.signature(function).parameters
        assert {"seconds", "height", "rate"} <= set(known)
        assert all(parameter.default is not inspect.Parameter.empty for parameter in known.values())
        clip = procedural.make_clip(name, rate=30)
        assert clip.name == name
        assert clip.duration == pytest.approx(known["seconds"].default, abs=1 / 30)
        assert any(assumption.quantity == "physics" for assumption in clip.assumptions)


@pytest.mark.parametrize("name", procedural.SAMPLE_MOTIONS)
def test_bvh_round_trip(name, tmp_path):
    clip = procedural.make_clip(name, rate=20)
    path = tmp_path / f"{name}.bvh"
    path.write_text(format_bvh(clip))
    back = read_clip(path)
    assert back.skeleton.names == clip.skeleton.names
    assert len(back) == len(clip)
    assert np.abs(back.times - clip.times).max() < 1e-9
    # Twice the vector part is the angle, and accurate where it is small, unlike the arc cosine of the real part.
    error = 2.0 * np.linalg.norm(rotations.product(rotations.inverse(clip.rotations), back.rotations)[..., 1:], axis=-1)
    assert np.degrees(error).max() < 1e-6
    assert np.abs(back.translations - clip.translations).max() < 1e-8
    assert {assumption.quantity for assumption in back.assumptions} == {"frame rate", "up axis", "unit"}


@pytest.mark.parametrize("name", procedural.SAMPLE_MOTIONS)
def test_body_is_built(name):
    motion = procedural.sample_motion(name, rate=20)
    assert 50 < motion.figure.mass < 90
    assert motion.figure.nv >= 20


@pytest.mark.parametrize("name", ON_THE_FLOOR)
def test_feet_do_not_slide_or_penetrate(name):
    clip = procedural.make_clip(name, rate=120)
    points = contacts(clip)
    assert slide(points) < MAX_SLIDE
    assert points[..., 2].min() > -0.01
    assert clip.positions[..., 2].min() > 0.0
    lowest = points[..., 2].min(axis=1)
    if name == "jump":
        assert lowest.max() > 0.25
    else:
        assert lowest.max() < 1e-3  # one foot always stands


@pytest.mark.parametrize("name", procedural.SAMPLE_MOTIONS)
def test_continuous_from_frame_to_frame(name):
    clip = procedural.make_clip(name, rate=120)
    change = rotations.angle(rotations.product(rotations.inverse(clip.rotations[:-1]), clip.rotations[1:]))
    assert np.degrees(change.max()) * 120 < 1400  # deg/s: a kicking knee is the fastest
    assert np.linalg.norm(np.diff(clip.translations[:, 0], axis=0), axis=1).max() * 120 < 3.0


@pytest.mark.parametrize("height", [1.3, 1.95])
@pytest.mark.parametrize("name", procedural.SAMPLE_MOTIONS)
def test_persons_of_any_height(name, height):
    size = height / 1.75
    lengths = {"step_length": 0.65, "jump_height": 0.3, "kick_height": 0.9, "depth": 0.45, "bar_height": 2.5}
    known = inspect.signature(procedural.SAMPLE_MOTIONS[name]).parameters
    clip = procedural.make_clip(name, height=height, rate=30, **{key: size * x for key, x in lengths.items() if key in known})
    assert clip.tips[..., 2].min() > -0.01
    top = clip.skeleton.ends[0]
    assert clip.skeleton.rest[top.joint, 2] + top.offset[2] == pytest.approx((1 - 0.53) * height)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("walk", {"speed": 9.0}, "speed must be at least 0.1 and at most 2.5, got 9"),
        ("walk", {"speed": 2.4, "step_length": 0.4}, r"means 6 steps per second.*Choose a speed from 0.2 to 1.2 m/s"),
        ("walk", {"step_length": 1.2}, r"step_length must be 0.35 to 0.88 m for a person of 1.75 m, got 1.2"),
        ("walk", {"step_length": float("nan")}, "step_length: expected a number, got NaN"),
        ("walk", {"seconds": 0.0}, "seconds must be at least 0.1"),
        ("walk", {"rate": 1.0}, "rate must be at least 10"),
        ("walk", {"height": 17.5}, "height must be at least 1.2 and at most 2.2"),
        ("turn", {"angle": 3.1}, "angle must be at least -2.6"),
        (
            "turn",
            {"turn_duration": 0.5},
            "turn_duration=0.5 s is too short to turn by 90 degrees while walking: at least 1.05 s are needed",
        ),
        ("turn", {"turn_duration": 9.0}, "turn_duration=9 s is longer than the motion"),
        ("jump", {"jump_height": 2.0}, "jump_height must be at least 0.05 and at most 0.6"),
        ("jump", {"seconds": 1.0}, "seconds must be at least 1.37 to jump 0.3 m high"),
        ("kick", {"kick_height": 1.7}, "kick_height must be 0.26 to 1.31 m for a person of 1.75 m, got 1.7"),
        ("kick", {"side": "both"}, "side: 'both' is not one of: left, right"),
        ("squat", {"depth": 0.9}, "depth must be at most 0.63 m for a person of 1.75 m, got 0.9"),
        ("squat", {"depth": "deep"}, "depth: expected a number, got 'deep'"),
        ("hang", {"bar_height": 2.0}, r"bar_height must be at least 2\.\d\d m for a person of 1.75 m, got 2"),
        ("hang", {"swing": 2.0}, "swing must be at least 0 and at most 1.2"),
    ],
)
def test_invalid_parameters_are_refused(name, parameters, message):
    with pytest.raises(ArgumentError, match=message):
        procedural.make_clip(name, **parameters)


def test_unknown_names_list_the_valid_ones():
    with pytest.raises(UnknownName, match=r"'wlak' is not a sample motion of this package. Did you mean 'walk'\?"):
        procedural.make_clip("wlak")
    with pytest.raises(
        UnknownName, match=r"'bar_height' is not a parameter of sample motion 'walk'.*speed, step_length, seconds, height, rate"
    ):
        procedural.make_clip("walk", bar_height=2.0)


def test_suggested_bar_height_is_high_enough():
    with pytest.raises(ArgumentError) as refused:
        procedural.make_clip("hang", bar_height=2.0, rate=30)
    minimum = float(str(refused.value).split("at least ")[1].split(" m")[0])
    assert procedural.make_clip("hang", bar_height=minimum, rate=30).tips[..., 2].min() < 0.04


def test_recorded_clips_are_found_without_import(tmp_path, monkeypatch):
    folder = tmp_path / "pybullet_data" / "data" / "motions"
    folder.mkdir(parents=True)
    (tmp_path / "pybullet_data" / "__init__.py").write_text("raise RuntimeError('imported')")
    for name in ("humanoid3d_walk.txt", "humanoid3d_backflip.txt", "dog3d_pace.txt"):
        (folder / name).write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert dict(procedural.deepmimic_clips()) == {"backflip": folder / "humanoid3d_backflip.txt", "walk": folder / "humanoid3d_walk.txt"}
    assert "pybullet_data" not in sys.modules


def test_no_recorded_clips_without_the_package(monkeypatch):
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "a_package_that_is_not_installed")
    assert not procedural.deepmimic_clips()


def test_sample_motion_is_the_motion_of_the_clip():
    motion = procedural.sample_motion("walk", speed=1.2, seconds=1.0, rate=30, mass=60.0, sex="female")
    expected = Motion.from_clip(procedural.make_clip("walk", speed=1.2, seconds=1.0, rate=30), mass=60.0, sex="female")
    assert motion.figure.mass == expected.figure.mass == pytest.approx(60.0)
    assert (motion.q == expected.q).all()
    with pytest.raises(UnknownName, match=r"'spede' is not a parameter of sample motion 'walk'. Did you mean 'speed'\?"):
        procedural.sample_motion("walk", spede=1.2)


def test_deprecated_names_warn_and_work():
    with pytest.warns(DeprecationWarning, match="make_clip or sample_motion"):
        make = procedural.make
    with pytest.warns(DeprecationWarning, match="'jump_height'"):
        clip = make("jump", high=0.2, rate=20)
    assert (clip.translations == procedural.make_clip("jump", jump_height=0.2, rate=20).translations).all()
    with pytest.raises(ArgumentError, match="give only 'jump_height'"):
        procedural.make_clip("jump", high=0.2, jump_height=0.2)
