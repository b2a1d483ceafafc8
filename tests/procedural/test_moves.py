"""All ready-made moves: as files, on the floor, by name."""

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
from brachiate.motion.motion import motion_of

SLIDE = 0.005  # [m], of what touches the floor, all the time it does; the toes of a foot that leaves make the most of it
ON_THE_FLOOR = ("walk", "turn", "jump", "kick", "squat")


def test_the_list_has_all_of_them_and_all_can_be_made_without_options():
    assert list(procedural.MOVES) == ["walk", "turn", "jump", "kick", "squat", "hang"]
    for name, function in procedural.MOVES.items():
        known = inspect.signature(function).parameters
        assert {"seconds", "height", "rate"} <= set(known)
        assert all(parameter.default is not inspect.Parameter.empty for parameter in known.values())
        clip = procedural.make(name, rate=30)
        assert clip.name == name
        assert clip.duration == pytest.approx(known["seconds"].default, abs=1 / 30)
        assert any(guess.what == "physics" for guess in clip.guesses)


@pytest.mark.parametrize("name", procedural.MOVES)
def test_a_file_brings_back_the_same(name, tmp_path):
    clip = procedural.make(name, rate=20)
    path = tmp_path / f"{name}.bvh"
    path.write_text(format_bvh(clip))
    back = read_clip(path)
    assert back.skeleton.names == clip.skeleton.names
    assert len(back) == len(clip)
    assert np.abs(back.times - clip.times).max() < 1e-9
    # Twice the vector part is the angle, and exact where it is small, as the arc cosine of the real part is not.
    off = 2.0 * np.linalg.norm(rotations.product(rotations.inverse(clip.turns), back.turns)[..., 1:], axis=-1)
    assert np.degrees(off).max() < 1e-6
    assert np.abs(back.places - clip.places).max() < 1e-8
    assert {guess.what for guess in back.guesses} == {"frame rate", "up axis", "unit"}


@pytest.mark.parametrize("name", procedural.MOVES)
def test_a_body_can_be_built_for_it(name):
    motion = motion_of(procedural.make(name, rate=20))
    assert 50 < motion.figure.mass < 90
    assert motion.figure.nv >= 20


@pytest.mark.parametrize("name", ON_THE_FLOOR)
def test_feet_stay_where_they_stand_and_above_the_floor(name):
    clip = procedural.make(name, rate=120)
    points = contacts(clip)
    assert slide(points) < SLIDE
    assert points[..., 2].min() > -0.01
    assert clip.positions[..., 2].min() > 0.0
    lowest = points[..., 2].min(axis=1)
    if name == "jump":
        assert lowest.max() > 0.25
    else:
        assert lowest.max() < 1e-3  # somebody always stands


@pytest.mark.parametrize("name", procedural.MOVES)
def test_nothing_jumps_from_frame_to_frame(name):
    clip = procedural.make(name, rate=120)
    change = rotations.angle(rotations.product(rotations.inverse(clip.turns[:-1]), clip.turns[1:]))
    assert np.degrees(change.max()) * 120 < 1400  # deg/s: a kicking knee is the fastest
    assert np.linalg.norm(np.diff(clip.places[:, 0], axis=0), axis=1).max() * 120 < 3.0


@pytest.mark.parametrize("height", [1.3, 1.95])
@pytest.mark.parametrize("name", procedural.MOVES)
def test_people_of_any_height_do_it(name, height):
    size = height / 1.75
    lengths = {"step": 0.65, "high": 0.3 if name == "jump" else 0.9, "depth": 0.45, "bar": 2.5}
    known = inspect.signature(procedural.MOVES[name]).parameters
    clip = procedural.make(name, height=height, rate=30, **{key: size * x for key, x in lengths.items() if key in known})
    assert clip.tips[..., 2].min() > -0.01
    top = clip.skeleton.ends[0]
    assert clip.skeleton.rest[top.joint, 2] + top.offset[2] == pytest.approx((1 - 0.53) * height)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("walk", {"speed": 9.0}, "speed must be at least 0.1 and at most 2.5, got 9"),
        ("walk", {"speed": 2.4, "step": 0.4}, r"makes 6 steps a second.*Choose a speed from 0.2 to 1.2 m/s"),
        ("walk", {"step": 1.2}, r"step must be 0.35 to 0.88 m for someone of 1.75 m, got 1.2"),
        ("walk", {"step": float("nan")}, "step: expected a number, got NaN"),
        ("walk", {"seconds": 0.0}, "seconds must be at least 0.1"),
        ("walk", {"rate": 1.0}, "rate must be at least 10"),
        ("walk", {"height": 17.5}, "height must be at least 1.2 and at most 2.2"),
        ("turn", {"angle": 3.1}, "angle must be at least -2.6"),
        ("turn", {"blend": 0.5}, "blend=0.5 s is too short to turn by 90 degrees while walking: at least 1.05 s are needed"),
        ("turn", {"blend": 9.0}, "blend=9 s is longer than the whole turn"),
        ("jump", {"high": 2.0}, "high must be at least 0.05 and at most 0.6"),
        ("jump", {"seconds": 1.0}, "seconds must be at least 1.37 to jump 0.3 m high"),
        ("kick", {"high": 1.7}, "high must be 0.26 to 1.31 m for someone of 1.75 m, got 1.7"),
        ("kick", {"side": "both"}, "side: 'both' is not one of: left, right"),
        ("squat", {"depth": 0.9}, "depth must be at most 0.63 m for someone of 1.75 m, got 0.9"),
        ("squat", {"depth": "deep"}, "depth: expected a number, got 'deep'"),
        ("hang", {"bar": 2.0}, r"bar must be at least 2\.\d\d m high for someone of 1.75 m, got 2"),
        ("hang", {"swing": 2.0}, "swing must be at least 0 and at most 1.2"),
    ],
)
def test_what_cannot_be_is_refused_in_words(name, options, message):
    with pytest.raises(ArgumentError, match=message):
        procedural.make(name, **options)


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(UnknownName, match=r"'wlak' is not a move of this package. Did you mean 'walk'\?"):
        procedural.make("wlak")
    with pytest.raises(UnknownName, match=r"'bar' is not a parameter of move 'walk'.*speed, step, seconds, height, rate"):
        procedural.make("walk", bar=2.0)


def test_the_bar_that_is_asked_for_is_high_enough_by_a_centimetre():
    with pytest.raises(ArgumentError) as refused:
        procedural.make("hang", bar=2.0, rate=30)
    least = float(str(refused.value).split("at least ")[1].split(" m")[0])
    assert procedural.make("hang", bar=least, rate=30).tips[..., 2].min() < 0.04


def test_recorded_clips_are_found_but_not_imported(tmp_path, monkeypatch):
    folder = tmp_path / "pybullet_data" / "data" / "motions"
    folder.mkdir(parents=True)
    (tmp_path / "pybullet_data" / "__init__.py").write_text("raise RuntimeError('imported')")
    for name in ("humanoid3d_walk.txt", "humanoid3d_backflip.txt", "dog3d_pace.txt"):
        (folder / name).write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert dict(procedural.deepmimic_clips()) == {"backflip": folder / "humanoid3d_backflip.txt", "walk": folder / "humanoid3d_walk.txt"}
    assert "pybullet_data" not in sys.modules


def test_no_recorded_clips_where_there_are_none(monkeypatch):
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "a_package_that_nobody_has")
    assert not procedural.deepmimic_clips()
