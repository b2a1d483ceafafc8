"""BVH: angles and places by other means, what files leave open, what they may look like, and every way of being wrong."""

from __future__ import annotations

import re
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brachiate import rotations
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import End, Skeleton
from brachiate.clip.units_and_axes import MAX_STATURE, MIN_STATURE, UNITS, normalize_clip
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.bvh import format_bvh, parse_bvh, read_bvh, write_bvh

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not (DATA / "cmu").is_dir(), reason=f"recorded motions are not there: {DATA / 'cmu'}")
ORDERS = ["".join(order) for order in permutations("xyz")]
CHANNEL = {**{x: f"{x}position" for x in "XYZ"}, **{x: f"{x.upper()}rotation" for x in "xyz"}}
#: A person of 1.75 m with y up who looks along z: name, parent, place [m]. Where no joint hangs on one, it has a tip.
PERSON = (
    ("Hips", "", (0.0, 0.0, 0.0)),
    ("Spine", "Hips", (0.0, 0.11, 0.0)),
    ("Neck", "Spine", (0.0, 0.41, 0.0)),
    ("Head", "Neck", (0.0, 0.1, 0.01)),
    *((f"{side}{name}", f"{side}{on}" if on not in ("Hips", "Spine") else on, (sign * x, y, z))
      for side, sign in (("Left", 1), ("Right", -1))
      for name, on, (x, y, z) in (
          ("UpLeg", "Hips", (0.09, -0.03, 0.0)), ("Leg", "UpLeg", (0.0, -0.43, 0.0)), ("Foot", "Leg", (0.0, -0.42, 0.0)),
          ("ToeBase", "Foot", (0.0, -0.06, 0.13)), ("Arm", "Spine", (0.18, 0.36, 0.0)), ("ForeArm", "Arm", (0.28, 0.0, 0.0)),
          ("Hand", "ForeArm", (0.25, 0.0, 0.0)),
      )),
)  # fmt: skip


def origin(clip: Clip) -> Origin:
    """How its file had it."""
    assert clip.origin is not None
    return clip.origin


def hierarchy(joints, channels, tip=(0.0, 0.1, 0.0)):
    """Lines of the joints; ``channels`` by name, with letters as in this package."""

    def lines(name, place, indent):
        below = [(n, x) for n, on, x in joints if on == name]
        yield f"{indent}{'JOINT' if indent else 'ROOT'} {name}"
        yield f"{indent}{{"
        yield f"{indent}  OFFSET " + " ".join(f"{x:.9g}" for x in place)
        yield f"{indent}  CHANNELS {len(channels[name])} " + " ".join(CHANNEL[c] for c in channels[name])
        for child, at in below:
            yield from lines(child, at, indent + "  ")
        if not below:
            yield from (f"{indent}  End Site", f"{indent}  {{", f"{indent}    OFFSET " + " ".join(f"{x:.9g}" for x in tip), f"{indent}  }}")
        yield f"{indent}}}"

    name, _, place = joints[0]
    return ["HIERARCHY", *lines(name, place, "")]


def bvh(joints, channels, rows, dt=0.01, count=None):
    """The text of a file."""
    count = len(rows) if count is None else count
    numbers = [" ".join(f"{x:.15g}" for x in row) for row in rows]
    return "\n".join([*hierarchy(joints, channels), "MOTION", f"Frames: {count}", f"Frame Time: {dt}", *numbers]) + "\n"


def person(scale=1.0, up="y", frames=30, rest=False, swing=20.0):
    """A file of a person who walks on the spot; with or without a T-pose before."""
    turn = {"y": (0, 1, 2), "z": (2, 0, 1), "x": (1, 2, 0)}[up]
    joints = [(name, on, scale * np.array(place)[list(turn)]) for name, on, place in PERSON]
    channels = {name: "zxy" if on else "XYZzxy" for name, on, _ in PERSON}
    t = np.linspace(0.0, 2 * np.pi, frames)[:, None]
    phases = np.random.default_rng(5).uniform(0, 6, 3 * len(PERSON))
    rows = np.hstack((np.zeros((frames, 3)), swing * np.sin(t + phases)))
    rows[:, :3] = scale * np.array((0.0, 0.94, 0.0))[list(turn)]
    if rest:
        rows = np.vstack((np.hstack((rows[0, :3], np.zeros(rows.shape[1] - 3))), rows))
    return bvh(joints, channels, rows)


def two(rows=((0,) * 9,), **more):
    """A file of two joints."""
    return bvh([("a", "", (0, 0, 0)), ("b", "a", (0, 2, 0))], {"a": "XYZzxy", "b": "zxy"}, rows, **more)


# --- angles and places --------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_channels(order):
    random = np.random.default_rng(1)
    rows = random.uniform(-180, 180, (20, 9))
    clip = parse_bvh(bvh([("a", "", (0, 0, 0)), ("b", "a", (1, 2, 3))], {"a": "XYZ" + order, "b": order}, rows), "x")
    for j, columns in ((0, slice(3, 6)), (1, slice(6, 9))):
        expected = Rotation.from_euler(order.upper(), rows[:, columns], degrees=True).as_matrix()  # capitals: axes turn along
        assert rotations.to_matrix(clip.rotations[:, j]) == pytest.approx(expected, abs=1e-9)
    assert clip.positions[:, 0] == pytest.approx(rows[:, :3], abs=1e-8)
    assert clip.positions[:, 1] == pytest.approx(
        rows[:, :3] + Rotation.from_euler(order.upper(), rows[:, 3:6], degrees=True).apply((1, 2, 3)), abs=1e-7
    )


def test_partial_and_mixed_channels():
    # One angle, two, none; positions between angles, in another order, and not all of them.
    joints = [("a", "", (5, 6, 7)), ("b", "a", (0, 1, 0)), ("c", "b", (0, 1, 0)), ("d", "c", (0, 1, 0))]
    clip = parse_bvh(bvh(joints, {"a": "yZxX", "b": "y", "c": "", "d": "xz"}, [(10, 3, 20, 1, 30, 40, 50)]), "x")
    assert clip.translations[0, 0] == pytest.approx([1, 6, 3])  # no channel: the offset
    for j, order, angles in ((0, "YX", (10, 20)), (1, "Y", (30,)), (3, "XZ", (40, 50))):
        assert rotations.to_matrix(clip.rotations[0, j]) == pytest.approx(
            Rotation.from_euler(order, angles, degrees=True).as_matrix().reshape(3, 3)
        )
    assert clip.rotations[0, 2] == pytest.approx([1, 0, 0, 0])
    assert origin(clip).channels == ("yZxX", "y", "", "xz")


def test_limb_tips_move():
    clip = parse_bvh(two([(0, 0, 0, 90, 0, 0, 0, 0, 0)]), "x")
    assert clip.positions[0, 1] == pytest.approx([-2, 0, 0])
    assert clip.tips[0, 0] == pytest.approx([-2.1, 0, 0])


def test_translations_replace_or_add_to_offsets():
    joints = [("a", "", (0, 0, 0)), ("b", "a", (0, 10, 0)), ("c", "b", (0, 10, 0)), ("d", "c", (3, 0, 0))]
    channels = {"a": "XYZzxy", "b": "XYZzxy", "c": "XYZ", "d": "Xz"}
    random = np.random.default_rng(2)
    tremble = 0.2 * random.normal(size=(8, 3))
    rows = np.zeros((8, 17))
    whole = tremble + np.array((0, 10, 0))
    rows[:, 6:9] = whole
    rows[:, 12:15] = tremble  # what comes on top of it
    rows[:, 15] = 3.1
    clip = parse_bvh(bvh(joints, channels, rows), "x")
    assert clip.translations[:, 1] == pytest.approx(whole)
    assert clip.translations[:, 2] == pytest.approx(whole)
    assert clip.translations[:, 3] == pytest.approx(np.tile((3.1, 0, 0), (8, 1)))
    (assumption,) = [g for g in clip.assumptions if g.quantity == "translations"]
    assert assumption.value == "added to offsets"
    assert "those of c are" in assumption.reason


# --- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dt", "rate"), [("0.0083333", 120), (".0333333", 30), ("0.0416667", 24), ("0.04", 25), ("0.0173", 1 / 0.0173)])
def test_rates(dt, rate):
    clip = parse_bvh(two([(0,) * 9] * 5, dt=dt), "x")
    assert clip.rate == pytest.approx(rate, rel=1e-12)
    assert clip.times[0] == 0
    assert str(clip.assumptions[-1]) == f"frame rate: {rate:.6g} frames/s (Frame Time is {float(dt):g} s)"


def test_more_frames_than_announced():
    clip = parse_bvh(two([(k,) * 9 for k in range(5)], count=3), "x")
    assert len(clip) == 5
    assert "frames: 5 (the file has more than the 3 that it announces)" in map(str, clip.assumptions)


def test_fewer_frames_than_announced_are_refused_with_a_hint():
    text = two([(k,) * 9 for k in range(5)], count=8)
    with pytest.raises(MotionFileError, match=r"^x: 8 frames are announced, the file has 5: .* frames=slice\(0, 5\)\.$"):
        parse_bvh(text, "x")
    assert len(parse_bvh(text, "x", slice(0, 5))) == 5


def test_truncated_frame_is_refused_with_a_hint():
    text = two([(k,) * 9 for k in range(5)]).rstrip()[:-4]
    where = len(text.splitlines())
    with pytest.raises(
        MotionFileError, match=rf"^x line {where}: 9 numbers expected \(2 joints\), 7 found\. Frames 0-3 are .*slice\(0, 4\)\.$"
    ):
        parse_bvh(text, "x")
    assert parse_bvh(text, "x", slice(0, 4)).translations[:, 0, 0] == pytest.approx(range(4))


def test_count_of_numbers_is_checked_per_row():
    lines = two([(k,) * 9 for k in range(5)]).splitlines()
    lines[-3], lines[-2] = lines[-3] + " 7", lines[-2][2:]
    with pytest.raises(MotionFileError, match=rf"line {len(lines) - 2}: 9 numbers expected \(2 joints\), 10 found"):
        parse_bvh("\n".join(lines), "x")


def test_selected_frames():
    text = two([(k,) * 9 for k in range(10)], dt=0.1)
    for which in (slice(2, 5), slice(-3, None), slice(0, None, 3), slice(1, 9, 2)):
        clip = parse_bvh(text, "x", which)
        assert clip.translations[:, 0, 0] == pytest.approx(list(range(10))[which])
        assert np.diff(clip.times) == pytest.approx(0.1 * (which.step or 1))
    with pytest.raises(MotionFileError, match="x has no frames"):
        parse_bvh(text, "x", slice(20, 30))
    for step in (-1, 0):
        with pytest.raises(MotionError, match="must have a step of 1 or more"):
            parse_bvh(text, "x", slice(None, None, step))


def test_empty_lines_are_ignored():
    head, _, rows = two([(k,) * 9 for k in range(6)]).partition("Frame Time: 0.01\n")
    text = head + "Frame Time: 0.01\n\n" + rows.replace("\n", "\n\n") + "\n  \n"
    assert len(parse_bvh(text, "x")) == 6
    assert parse_bvh(text, "x", slice(2, 4)).translations[:, 0, 0] == pytest.approx([2, 3])
    broken = text.replace("4 4 4", "4 oops 4", 1)
    line = 1 + next(k for k, words in enumerate(broken.splitlines()) if "oops" in words)
    with pytest.raises(MotionFileError, match=f"x line {line}: 'oops' is not a number"):
        parse_bvh(broken, "x", slice(1, None))


# --- how files may look -------------------------------------------------------------------------


def test_line_endings_and_encodings(tmp_path):
    text = two([(k,) * 9 for k in range(3)]).replace("ROOT a", "ROOT Hüfte")
    expected = parse_bvh(text, "x")
    for data in (
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        text.encode("latin-1"),
        text.replace("  ", "\t").encode(),
        text.replace("HIERARCHY", "hierarchy").replace("CHANNELS", "Channels").replace("Zrotation", "ZROTATION").encode(),
    ):
        (tmp_path / "walk.bvh").write_bytes(data)
        clip = read_bvh(tmp_path / "walk.bvh")
        assert clip.skeleton.names == ("Hüfte", "b")
        assert (clip.rotations == expected.rotations).all()
        assert clip.name == "walk"


def test_braces_anywhere():
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 3 Zrotation Xrotation Yrotation"  # statements need lines of their own, braces do not
    with pytest.raises(MotionFileError, match="x line 1"):
        parse_bvh(text, "x")
    text = (
        "HIERARCHY\nROOT a { OFFSET 1 2 3\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site { OFFSET 4 5 6 } }\n"
        "MOTION\nFrame Time: .1\nFrames: 1\n0 0 0"
    )
    clip = parse_bvh(text, "x")
    assert clip.skeleton.offsets[0] == pytest.approx([1, 2, 3])
    assert clip.skeleton.ends[0].offset == pytest.approx([4, 5, 6])


def test_names_with_blanks_missing_and_duplicate_names():
    joints = [("Bip01 Pelvis", "", (0, 0, 0)), ("Bip01 L  Thigh", "Bip01 Pelvis", (0, 1, 0))]
    text = bvh(joints, {name: "zxy" for name, *_ in joints}, [(0,) * 6])
    assert parse_bvh(text, "x").skeleton.names == ("Bip01 Pelvis", "Bip01 L Thigh")
    text = text.replace("JOINT Bip01 L  Thigh", "JOINT")
    assert parse_bvh(text, "x").skeleton.names == ("Bip01 Pelvis", "joint1")
    joints = [("a", "", (0, 0, 0)), *((f"b{k}", "a", (0, 1, 0)) for k in range(4))]
    text = bvh(joints, {name: "z" for name, *_ in joints}, [(0,) * 5])
    for k in range(4):
        text = text.replace(f"JOINT b{k}", "JOINT b" if k < 3 else "JOINT b'")
    assert parse_bvh(text, "x").skeleton.names == ("a", "b", "b'", "b'3", "b''")


# --- what is refused ----------------------------------------------------------------------------

GOOD = two().splitlines()
LINE = {words: k + 1 for k, words in reversed(list(enumerate(map(str.strip, GOOD))))}
WRONG = {
    "no BVH": ("anything\n", r"x line 1: 'anything' is not valid here; expected HIERARCHY, ROOT"),
    "no motion": ("\n".join(GOOD[: LINE["MOTION"] - 1]), "x has no MOTION: the file was cut short"),
    "brace missing": ({LINE["MOTION"] - 1: ""}, f"line {LINE['MOTION']}: the motion begins before the hierarchy is complete: a '}}' is"),
    "brace too many": ({LINE["MOTION"]: "}\nMOTION"}, f"line {LINE['MOTION']}: a '}}' too many"),
    "brace of nothing": ({4: GOOD[3] + "\n{"}, "line 5: a '{' that belongs to no joint"),
    "joint not opened": ({3: ""}, "line 4: a '{' was expected after the line of joint 'a', not 'OFFSET'"),
    "tip not opened": ({LINE["End Site"] + 1: ""}, f"line {LINE['End Site'] + 2}: a '{{' was .* the End Site of 'b', not 'OFFSET'"),
    "joint in a tip": ({LINE["End Site"] + 2: "JOINT c"}, f"line {LINE['End Site'] + 2}: a JOINT within an End Site"),
    "two roots": ({LINE["MOTION"]: "ROOT c"}, f"line {LINE['MOTION']}: a second ROOT. Files with several figures are not supported; split"),
    "joint outside": ({LINE["MOTION"]: "JOINT c"}, f"line {LINE['MOTION']}: a JOINT outside of the braces of ROOT"),
    "tip outside": ({LINE["MOTION"]: "End Site"}, f"line {LINE['MOTION']}: an End Site outside of a joint"),
    "offset outside": ({1: "OFFSET 1 2 3"}, "line 1: an OFFSET outside of a joint"),
    "channels outside": ({1: "CHANNELS 0"}, "line 1: CHANNELS outside of a joint"),
    "two numbers": ({4: "OFFSET 0 0"}, "line 4: OFFSET needs three finite numbers, .*; found '0 0'"),
    "no number": ({4: "OFFSET 0 0 up"}, "line 4: OFFSET needs three finite numbers"),
    "offset NaN": ({4: "OFFSET 0 nan 0"}, "line 4: OFFSET needs three finite numbers"),
    "offset infinite": ({4: "OFFSET 0 1e999 0"}, "line 4: OFFSET needs three finite numbers"),
    "offset beyond": ({4: "OFFSET 0 1e300 0"}, r"line 4: OFFSET needs three finite numbers, none beyond 1e\+12"),
    "channel unknown": ({5: "CHANNELS 1 Wrotation"}, "line 5: CHANNELS needs a number and that many of .*; found '1 Wrotation'"),
    "channels miscounted": ({5: "CHANNELS 2 Zrotation"}, "line 5: CHANNELS needs a number and that many of Xposition"),
    "channels not counted": ({5: "CHANNELS"}, "line 5: CHANNELS needs a number"),
    "channels squared": ({5: "CHANNELS ² Xrotation Yrotation"}, "line 5: CHANNELS needs a number"),
    "channels without end": ({5: "CHANNELS " + "9" * 5000}, "line 5: CHANNELS needs a number"),
    "channel twice": ({5: "CHANNELS 2 Zrotation Zrotation"}, "line 5: a channel occurs twice"),
    "nothing moves": ({5: "CHANNELS 0", LINE["CHANNELS 3 Zrotation Xrotation Yrotation"]: ""}, "x: no joint has CHANNELS"),
    "name too long": ({2: "ROOT " + "1" * 100_000 + "a"}, "line 2: a name of 100001 characters; at most 200 are allowed"),
    "no frames line": ({LINE["Frames: 1"]: ""}, f"line {LINE['MOTION']}: 'Frames:' and 'Frame Time:' were expected after MOTION"),
    "frames no number": ({LINE["Frames: 1"]: "Frames: some"}, f"line {LINE['Frames: 1']}: 'Frames:' and an integer were expected"),
    "frames a fraction": (
        {LINE["Frames: 1"]: "Frames: 1.5"},
        f"line {LINE['Frames: 1']}: 'Frames:' and an integer were .* 'Frames: 1.5'",
    ),
    "frames negative": ({LINE["Frames: 1"]: "Frames: -1"}, "-1 frames of 0.01 s are not possible"),
    "frames without end": ({LINE["Frames: 1"]: "Frames: " + "9" * 5000}, f"line {LINE['Frames: 1']}: 'Frames:' and an integer"),
    "no time": (
        {LINE["Frame Time: 0.01"]: "Frame Time: soon"},
        f"line {LINE['Frame Time: 0.01']}: 'Frame Time:' and seconds were expected",
    ),
    "time zero": ({LINE["Frame Time: 0.01"]: "Frame Time: 0"}, "1 frames of 0 s are not possible"),
    "time NaN": ({LINE["Frame Time: 0.01"]: "Frame Time: nan"}, "1 frames of nan s are not possible"),
    "none there": ({len(GOOD): ""}, r"1 frames are announced, the file has 0"),
    "none at all": ({len(GOOD): "", LINE["Frames: 1"]: "Frames: 0"}, "x has no frames. A motion has at least one"),
    "word": ({len(GOOD): "0 0 0 0 0 zero 0 0 0"}, f"x line {len(GOOD)}: 'zero' is not a number"),
    "NaN": ({len(GOOD): "0 0 0 0 0 NaN 0 0 0"}, f"x line {len(GOOD)}: 'NaN' is not finite. Every number must be"),
    "infinite": ({len(GOOD): "0 0 0 0 0 0 -inf 0 0"}, f"x line {len(GOOD)}: '-inf' is not finite"),
    "too large": ({len(GOOD): "0 0 0 0 0 0 1e999 0 0"}, f"x line {len(GOOD)}: '1e999' is not finite"),
    "beyond": ({len(GOOD): "0 0 0 0 0 0 1e200 0 0"}, rf"x line {len(GOOD)}: '1e200' is beyond 1e\+12"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_line(case):
    change, message = WRONG[case]
    text = change if isinstance(change, str) else "\n".join(change.get(k, line) for k, line in enumerate(GOOD, 1))
    with pytest.raises(MotionFileError, match=message) as caught:
        parse_bvh(text, "x")
    assert len(str(caught.value)) < 400


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(MotionFileError, match=r"gone\.bvh: there is no such file\. Check the path"):
        read_bvh(tmp_path / "gone.bvh")
    with pytest.raises(MotionFileError, match="is not a regular file"):
        read_bvh(tmp_path)
    for data, message in ((b"", "is empty"), (b" \r\n", "is empty"), (b"HIER\0ARCHY", "is not text: it has zero bytes")):
        (tmp_path / "a.bvh").write_bytes(data)
        with pytest.raises(MotionFileError, match=message):
            read_bvh(tmp_path / "a.bvh")


def test_size_limits():
    deep = "HIERARCHY\nROOT a\n{\n" + "".join(f"JOINT b{k}\n{{\n" for k in range(300))
    with pytest.raises(MotionFileError, match=r"x line 404: more than 2000 joints, or more than 200 nested in each other"):
        parse_bvh(deep, "x")
    for word, message in (("JOINT b\n{\n}\n", "more than 2000 joints"), ("End Site\n{\n}\n", "more than 2000 End Sites")):
        with pytest.raises(MotionFileError, match=message):
            parse_bvh("HIERARCHY\nROOT a\n{\n" + word * 2001, "x")


# --- what files do not say ----------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["m", "cm", "cmu", "mm", "in", "ft"])
@pytest.mark.parametrize("up", ["y", "z", "x"])
def test_unit_and_up_axis_are_inferred(unit, up):
    clip = normalize_clip(parse_bvh(person(1.0 / UNITS[unit], up), "x"))
    assert origin(clip).up == up
    assert origin(clip).unit == pytest.approx(UNITS[unit])
    assert {g.argument for g in clip.assumptions} == {"", "unit", "up"}
    settled = {name: clip.skeleton.offsets[clip.skeleton.index(name)] for name in ("LeftUpLeg", "LeftToeBase", "LeftArm")}
    assert settled["LeftUpLeg"] == pytest.approx([0, 0.09, -0.03], abs=1e-6)  # x forward, y left, z up
    assert settled["LeftToeBase"] == pytest.approx([0.13, 0, -0.06], abs=1e-6)
    assert clip.translations[0, 0] == pytest.approx([0, 0, 0.94], abs=1e-6)


def test_normalized_clips_are_rotated_copies():
    one = normalize_clip(parse_bvh(person(100.0, "y"), "x"))
    raw = parse_bvh(person(100.0, "y"), "x")
    assert one.positions == pytest.approx(0.01 * raw.positions[..., [2, 0, 1]], abs=1e-9)
    assert one.tips == pytest.approx(0.01 * raw.tips[..., [2, 0, 1]], abs=1e-9)


def test_given_values_are_not_inferred():
    raw = parse_bvh(person(100.0), "x")
    clip = normalize_clip(raw, unit=0.02, up="z", rest_frame=True)
    assert (origin(clip).unit, origin(clip).up, len(clip)) == (0.02, "z", len(raw) - 1)
    assert {g.argument for g in clip.assumptions} == {""}
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"unit": "mile"}, "unit='mile' is not one of m, cm, mm"),
        ({"unit": -1.0}, "unit=-1.0 is not the length of a unit in meters"),
        ({"unit": float("nan")}, "unit=nan is not the length"),
        ({"up": "-y"}, "up='-y' is not one of 'x', 'y', 'z'"),
    )
    for more, message in wrong:
        with pytest.raises(MotionError, match=message):
            normalize_clip(raw, **more)


def test_statures_are_unique_to_a_unit():
    least = sorted(UNITS.values())
    assert all(MIN_STATURE / a > MAX_STATURE / b for a, b in pairwise(least))


@pytest.mark.parametrize("tall", [15.0, 0.5, 1e6])
def test_unknown_unit_is_refused(tall):
    raw = parse_bvh(person(tall * 0.49 / 0.85), "x")
    with pytest.raises(
        MotionFileError,
        match=rf"x: the unit of length cannot be inferred\. The skeleton is {re.escape(f'{tall:.4g}')} units tall, .* in any known unit",
    ):
        normalize_clip(raw)
    assert origin(normalize_clip(raw, unit="in")).unit == 0.0254


def test_unknown_up_axis_is_refused():
    raw = parse_bvh(two(), "x")
    with pytest.raises(MotionFileError, match=r"x: the up axis cannot be inferred: head and feet are not identified .* \(a, b, \.\.\.\)"):
        normalize_clip(raw)
    tilt = Rotation.align_vectors([(1, 1, 1)], [(0, 1, 0)])[0]  # the head is as far along every axis
    joints = [(name, on, tilt.apply(place)) for name, on, place in PERSON]
    raw = parse_bvh(bvh(joints, {name: "zxy" for name, *_ in PERSON}, [(0,) * (3 * len(PERSON))]), "x")
    with pytest.raises(MotionFileError, match=r"the figure is not upright, .* Give it: up='y' \(most files\) or up='z'"):
        normalize_clip(raw)
    assert origin(normalize_clip(raw, up="y")).up == "y"


def test_up_axis_of_a_lying_figure_is_from_the_rest_pose():
    text = person(100.0, frames=5, swing=0.0).splitlines()
    text[-5:] = ["0 10 0 90 0 0 " + "0 " * (3 * len(PERSON) - 3)] * 5
    clip = normalize_clip(parse_bvh("\n".join(text), "x"))
    assert origin(clip).up == "y"
    assert any("in the rest pose" in assumption.reason for assumption in clip.assumptions)


def test_t_pose_is_dropped():
    raw = parse_bvh(person(100.0, frames=150, rest=True), "x")
    clip = normalize_clip(raw)
    assert len(clip) == len(raw) - 1
    assert clip.times[0] == 0
    assert clip.rotations[0] == pytest.approx(normalize_clip(raw, rest_frame=False).rotations[1])
    (assumption,) = [g for g in clip.assumptions if g.argument == "rest_frame"]
    assert assumption.value == "dropped"
    assert "a T-pose" in assumption.reason


def test_frames_of_the_motion_are_kept():
    assert len(normalize_clip(parse_bvh(person(100.0), "x"))) == 30
    assert len(normalize_clip(parse_bvh(person(100.0, rest=True), "x"), rest_frame=False)) == 31
    # From rest into motion by and by: the first frame is like the others
    lines = person(100.0, frames=40).splitlines()
    rows = np.array([line.split() for line in lines[-40:]], float)
    rows[:, 3:] *= np.linspace(0, 1, 40)[:, None] ** 2
    lines[-40:] = [" ".join(map(str, row)) for row in rows]
    assert len(normalize_clip(parse_bvh("\n".join(lines), "x"))) == 40
    assert len(normalize_clip(parse_bvh(person(100.0, frames=2, rest=True), "x"))) == 3  # too few to tell
    assert len(normalize_clip(parse_bvh(person(100.0, frames=1), "x"), rest_frame=True)) == 1  # there must be one


# --- there and back -----------------------------------------------------------------------------


def apart(a, b):
    """The largest rotation between two clips [deg]."""
    return float(np.degrees(rotations.angle(rotations.product(rotations.inverse(a.rotations), b.rotations))).max())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("unit", "up"), [("cm", "y"), ("m", "z"), ("cmu", "y")])
def test_round_trip(order, unit, up):
    text = person(1 / UNITS[unit], up, swing=170.0)
    for axis, letter in zip("ZXY", order):
        text = text.replace(f"{axis}rotation", f"#{letter}")
    for letter in "xyz":
        text = text.replace(f"#{letter}", f"{letter.upper()}rotation")
    raw = parse_bvh(text, "x")
    clip = normalize_clip(raw, unit=unit, up=up)
    again = parse_bvh(format_bvh(clip), "x")
    assert again.skeleton.names == raw.skeleton.names
    assert again.skeleton.parents == raw.skeleton.parents
    assert origin(again).channels == origin(raw).channels
    assert again.skeleton.offsets == pytest.approx(raw.skeleton.offsets, rel=1e-8, abs=1e-9)
    assert again.skeleton.tips == pytest.approx(raw.skeleton.tips, rel=1e-8, abs=1e-9)
    assert again.translations == pytest.approx(raw.translations, rel=1e-8, abs=1e-9)
    assert again.times == pytest.approx(raw.times)
    assert apart(again, raw) < 1e-6


def test_written_angles_are_continuous():
    # Twice around, and through the pole of the middle angle
    t = np.linspace(0, 1, 200)
    rows = np.zeros((200, 9))
    rows[:, 3], rows[:, 7] = 720 * t, 180 * t
    raw = parse_bvh(two(rows), "x")
    text = format_bvh(normalize_clip(raw, unit="m", up="z"))
    again = parse_bvh(text, "x")
    angles = np.array([line.split() for line in text.splitlines()[-200:]], float)
    assert angles[:, 3] == pytest.approx(rows[:, 3], abs=1e-5)
    assert apart(again, raw) < 1e-5


def test_default_conventions_are_centimeters_and_y_up(tmp_path):
    skeleton = Skeleton(("a", "b c"), (-1, 0), np.array([(0, 0, 0), (0.1, 0.2, 0.3)]), (End(1, np.array((0.0, 0.0, 0.5))),))
    random = np.random.default_rng(3)
    q = random.normal(size=(6, 2, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    places = np.tile(skeleton.offsets, (6, 1, 1))
    places[:, 0] = random.normal(size=(6, 3))
    clip = Clip(skeleton, np.arange(6) / 50, q, places)
    write_bvh(clip, tmp_path / "a.bvh")
    raw = read_bvh(tmp_path / "a.bvh")
    assert raw.skeleton.names == ("a", "b c")
    assert raw.skeleton.offsets[1] == pytest.approx([20, 30, 10])
    assert raw.rate == 50
    again = normalize_clip(raw, unit="cm", up="y", rest_frame=False)
    assert again.positions == pytest.approx(clip.positions, abs=1e-8)
    assert apart(again, clip) < 1e-6


def test_rotations_beyond_the_channels_are_refused():
    joints = [("a", "", (0, 0, 0)), ("knee", "a", (0, 1, 0))]
    clip = normalize_clip(parse_bvh(bvh(joints, {"a": "XYZzxy", "knee": "x"}, [(0, 0, 0, 0, 0, 0, 50)] * 3), "x"), unit="m", up="z")
    assert apart(parse_bvh(format_bvh(clip), "x"), clip) < 1e-6
    q = clip.rotations.copy()
    q[:, 1] = rotations.about_axis(1, np.full(3, 0.1))
    with pytest.raises(MotionError, match=r"Joint 'knee' has only the channels 'x', but rotates by 5\.7 degrees about other axes"):
        format_bvh(Clip(clip.skeleton, clip.times, q, clip.translations, origin=clip.origin))


@needs_data
@pytest.mark.parametrize("name", ["07_01", "16_35", "49_06"])
def test_round_trip_of_recorded_motions(name):
    raw = read_bvh(DATA / "cmu" / f"{name}.bvh")
    clip = normalize_clip(raw)
    assert origin(clip).unit == pytest.approx(UNITS["cmu"])
    assert origin(clip).up == "y"
    assert len(clip) == len(raw) - 1  # the T-pose before
    assert clip.rate == pytest.approx(120)
    again = parse_bvh(format_bvh(clip), "x")
    assert apart(again, raw.frames(slice(1, None))) < 1e-6
