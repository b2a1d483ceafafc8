"""BVH files: channels and positions against SciPy rotations, frames and rates, file variants, malformed files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.io.bvh_files import ORDERS, PERSON, bvh, origin, two_joints

from brachiate import rotations
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.bvh import parse_bvh, read_bvh

# --- rotations and positions --------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_channels(order):
    random = np.random.default_rng(1)
    rows = random.uniform(-180, 180, (20, 9))
    clip = parse_bvh(bvh([("a", "", (0, 0, 0)), ("b", "a", (1, 2, 3))], {"a": "XYZ" + order, "b": order}, rows), "x")
    for j, columns in ((0, slice(3, 6)), (1, slice(6, 9))):
        expected = Rotation.from_euler(order.upper(), rows[:, columns], degrees=True).as_matrix()  # capitals: intrinsic
        assert rotations.to_matrix(clip.rotations[:, j]) == pytest.approx(expected, abs=1e-9)
    assert clip.positions[:, 0] == pytest.approx(rows[:, :3], abs=1e-8)
    assert clip.positions[:, 1] == pytest.approx(
        rows[:, :3] + Rotation.from_euler(order.upper(), rows[:, 3:6], degrees=True).apply((1, 2, 3)), abs=1e-7
    )


def test_partial_and_mixed_channels():
    # One, two and no angles; positions between angles, in another order, and incomplete.
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
    clip = parse_bvh(two_joints([(0, 0, 0, 90, 0, 0, 0, 0, 0)]), "x")
    assert clip.positions[0, 1] == pytest.approx([-2, 0, 0])
    assert clip.tips[0, 0] == pytest.approx([-2.1, 0, 0])


def test_translations_replace_or_add_to_offsets():
    joints = [("a", "", (0, 0, 0)), ("b", "a", (0, 10, 0)), ("c", "b", (0, 10, 0)), ("d", "c", (3, 0, 0))]
    channels = {"a": "XYZzxy", "b": "XYZzxy", "c": "XYZ", "d": "Xz"}
    random = np.random.default_rng(2)
    offset_noise = 0.2 * random.normal(size=(8, 3))
    rows = np.zeros((8, 17))
    whole = offset_noise + np.array((0, 10, 0))
    rows[:, 6:9] = whole
    rows[:, 12:15] = offset_noise  # added to the offset
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
    clip = parse_bvh(two_joints([(0,) * 9] * 5, dt=dt), "x")
    assert clip.rate == pytest.approx(rate, rel=1e-12)
    assert clip.times[0] == 0
    assert str(clip.assumptions[-1]) == f"frame rate: {rate:.6g} frames/s (Frame Time is {float(dt):g} s)"


def test_more_frames_than_announced():
    clip = parse_bvh(two_joints([(k,) * 9 for k in range(5)], count=3), "x")
    assert len(clip) == 5
    assert "frames: 5 (the file has more than the 3 that it announces)" in map(str, clip.assumptions)


def test_fewer_frames_than_announced_are_refused_with_a_hint():
    text = two_joints([(k,) * 9 for k in range(5)], count=8)
    with pytest.raises(MotionFileError, match=r"^x: 8 frames are announced, the file has 5: .* frames=slice\(0, 5\)\.$"):
        parse_bvh(text, "x")
    assert len(parse_bvh(text, "x", slice(0, 5))) == 5


def test_truncated_frame_is_refused_with_a_hint():
    text = two_joints([(k,) * 9 for k in range(5)]).rstrip()[:-4]
    line = len(text.splitlines())
    with pytest.raises(
        MotionFileError, match=rf"^x line {line}: 9 numbers expected \(2 joints\), 7 found\. Frames 0-3 are .*slice\(0, 4\)\.$"
    ):
        parse_bvh(text, "x")
    assert parse_bvh(text, "x", slice(0, 4)).translations[:, 0, 0] == pytest.approx(range(4))


def test_count_of_numbers_is_checked_per_row():
    lines = two_joints([(k,) * 9 for k in range(5)]).splitlines()
    lines[-3], lines[-2] = lines[-3] + " 7", lines[-2][2:]
    with pytest.raises(MotionFileError, match=rf"line {len(lines) - 2}: 9 numbers expected \(2 joints\), 10 found"):
        parse_bvh("\n".join(lines), "x")


def test_selected_frames():
    text = two_joints([(k,) * 9 for k in range(10)], dt=0.1)
    for which in (slice(2, 5), slice(-3, None), slice(0, None, 3), slice(1, 9, 2)):
        clip = parse_bvh(text, "x", which)
        assert clip.translations[:, 0, 0] == pytest.approx(list(range(10))[which])
        assert np.diff(clip.times) == pytest.approx(0.1 * (which.step or 1))
    with pytest.raises(MotionFileError, match=r"x has \d+ frames, numbered 0 to \d+: none of them is in the selected range"):
        parse_bvh(text, "x", slice(20, 30))
    for step in (-1, 0):
        with pytest.raises(MotionError, match="must have a step of 1 or more"):
            parse_bvh(text, "x", slice(None, None, step))


def test_empty_lines_are_ignored():
    head, _, rows = two_joints([(k,) * 9 for k in range(6)]).partition("Frame Time: 0.01\n")
    text = head + "Frame Time: 0.01\n\n" + rows.replace("\n", "\n\n") + "\n  \n"
    assert len(parse_bvh(text, "x")) == 6
    assert parse_bvh(text, "x", slice(2, 4)).translations[:, 0, 0] == pytest.approx([2, 3])
    broken = text.replace("4 4 4", "4 oops 4", 1)
    line = 1 + next(k for k, words in enumerate(broken.splitlines()) if "oops" in words)
    with pytest.raises(MotionFileError, match=f"x line {line}: 'oops' is not a number"):
        parse_bvh(broken, "x", slice(1, None))


# --- file variants ------------------------------------------------------------------------------


def test_line_endings_and_encodings(tmp_path):
    text = two_joints([(k,) * 9 for k in range(3)]).replace("ROOT a", "ROOT Hüfte")
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
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 3 Zrotation Xrotation Yrotation"  # statements need separate lines, braces do not
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


# --- malformed files ----------------------------------------------------------------------------

GOOD = two_joints().splitlines()
LINE = {words: k + 1 for k, words in reversed(list(enumerate(map(str.strip, GOOD))))}
MALFORMED = {
    "not a BVH file": ("anything\n", r"x line 1: 'anything' is not valid here; expected HIERARCHY, ROOT"),
    "no motion": ("\n".join(GOOD[: LINE["MOTION"] - 1]), "x has no MOTION: the file was cut short"),
    "brace missing": ({LINE["MOTION"] - 1: ""}, f"line {LINE['MOTION']}: the motion begins before the hierarchy is complete: a '}}' is"),
    "brace too many": ({LINE["MOTION"]: "}\nMOTION"}, f"line {LINE['MOTION']}: a '}}' too many"),
    "brace without joint": ({4: GOOD[3] + "\n{"}, "line 5: a '{' that belongs to no joint"),
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
    "frames missing": ({len(GOOD): ""}, r"1 frames are announced, the file has 0"),
    "zero frames": ({len(GOOD): "", LINE["Frames: 1"]: "Frames: 0"}, "x has no frames. At least one is needed"),
    "word": ({len(GOOD): "0 0 0 0 0 zero 0 0 0"}, f"x line {len(GOOD)}: 'zero' is not a number"),
    "NaN": ({len(GOOD): "0 0 0 0 0 NaN 0 0 0"}, f"x line {len(GOOD)}: 'NaN' is not finite. Every number must be"),
    "infinite": ({len(GOOD): "0 0 0 0 0 0 -inf 0 0"}, f"x line {len(GOOD)}: '-inf' is not finite"),
    "too large": ({len(GOOD): "0 0 0 0 0 0 1e999 0 0"}, f"x line {len(GOOD)}: '1e999' is not finite"),
    "beyond limit": ({len(GOOD): "0 0 0 0 0 0 1e200 0 0"}, rf"x line {len(GOOD)}: '1e200' is beyond 1e\+12"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_errors_name_the_line(case):
    change, message = MALFORMED[case]
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


def test_decimal_commas_are_named():
    text = bvh(PERSON[:1], {"Hips": "XYZzxy"}, np.zeros((2, 6)))
    hint = r"It has a decimal comma: write numbers with a decimal point"
    with pytest.raises(MotionFileError, match=r"x line 14: '0,5' is not a number\. " + hint):
        parse_bvh(text.replace("\n0 0 0 0 0 0\n", "\n0 0 0,5 0 0 0\n", 1), "x")
    with pytest.raises(MotionFileError, match="'Frame Time:' and seconds were expected, not 'Frame Time: 0,01'. " + hint):
        parse_bvh(text.replace("Frame Time: 0.01", "Frame Time: 0,01"), "x")
    with pytest.raises(MotionFileError, match="OFFSET needs three finite numbers, .*" + hint):
        parse_bvh(text.replace("OFFSET 0 0 0", "OFFSET 0,5 0 0", 1), "x")
