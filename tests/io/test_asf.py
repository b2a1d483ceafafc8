"""ASF and AMC files: against SciPy rotations and a BVH file of the same motion; frames, skeleton search, malformed files."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brachiate import rotations
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.joint_roles import find_joint_roles
from brachiate.clip.units_and_axes import UNITS, normalize_clip
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.amc import parse_amc, read_amc
from brachiate.io.asf import AsfSkeleton, parse_asf
from brachiate.io.bvh import read_bvh

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "asf_amc"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"a recorded motion in two formats is not there: {DATA}")
#: Bones: name, parent, direction (normalized), length, axis, order, dof.
ARM = (
    ("collar", "root", (1, 1, 0), 2.0, (0, 0, 0), "XYZ", ""),
    ("upper", "collar", (1, 0, 0), 3.0, (10, 20, 30), "XYZ", "rx ry rz"),
    ("lower", "upper", (1, 0, -1), 2.5, (-40, 50, 160), "XYZ", "rz rx"),
    ("hand", "lower", (0, 1, -1), 1.0, (5, -90, 70), "XYZ", "ry"),
    ("thumb", "lower", (0, 0, 1), 0.5, (0, 0, 90), "XYZ", ""),
)
#: A person with the names and the unit (inches over 0.45) of CMU's skeletons, y up.
SIDE = (
    ("hipjoint", "root", (1.0, -0.5, 0), 1.8, ""), ("femur", "hipjoint", (0.1, -1, 0), 7.6, "rx ry rz"),
    ("tibia", "femur", (0.1, -1, 0), 7.4, "rx"), ("foot", "tibia", (0, -0.3, 1), 2.2, "rx rz"), ("toes", "foot", (0, 0, 1), 1.1, "rx"),
    ("clavicle", "thorax", (1, 0.3, 0), 3.4, "ry rz"), ("humerus", "clavicle", (1, 0, 0), 5.0, "rx ry rz"),
    ("radius", "humerus", (1, 0, 0), 3.5, "rx"), ("wrist", "radius", (1, 0, 0), 1.7, "ry"), ("hand", "wrist", (1, 0, 0), 0.7, "rx rz"),
)  # fmt: skip
PERSON = (
    *(("lowerback", "root", (0, 1, 0), 2.0, (0, 0, 0), "XYZ", "rx ry rz"), ("thorax", "lowerback", (0, 1, 0), 4.0, (0, 0, 0), "XYZ", "rx")),
    *(("lowerneck", "thorax", (0, 1, 0), 1.7, (0, 0, 0), "XYZ", "rx ry"), ("head", "lowerneck", (0, 1, 0), 1.7, (0, 0, 0), "XYZ", "rx ry")),
    *(
        (f"{side}{name}", on if on in ("root", "thorax") else f"{side}{on}", (sign * x, y, z), length, (0, 0, sign * 20), "XYZ", dof)
        for side, sign in (("l", 1), ("r", -1))
        for name, on, (x, y, z), length, dof in SIDE
    ),
)


def origin(clip: Clip) -> Origin:
    """Conventions of the clip's file."""
    assert clip.origin is not None
    return clip.origin


def asf(bones=ARM, *, angle="deg", root="order TX TY TZ RX RY RZ\naxis XYZ\nposition 0 0 0\norientation 0 0 0"):
    """Text of a skeleton."""
    lines = ["# made for a test", ":version 1.10", ":name figure", ":units", " mass 1", " length 0.45", f" angle {angle}"]
    lines += [":documentation", " begin with words, such as end or dof", ":root", *root.splitlines(), ":bonedata"]
    for k, (name, _, direction, length, axis, order, dof) in enumerate(bones, 1):
        d = np.array(direction) / np.linalg.norm(direction)
        lines += ["begin", f" id {k}", f" name {name}", " direction " + " ".join(f"{x:.9f}" for x in d), f" length {length}"]
        lines += [f" axis {' '.join(str(x) for x in axis)} {order}"]
        if dof:
            limits = [f" {'limits' if j == 0 else ''} (-160.0 inf)" for j in range(len(dof.split()))]
            lines += [f" dof {dof}", *limits, " bodymass 2.5"]
        lines.append("end")
    parents = dict.fromkeys(on for _, on, *_ in bones)
    lines += [":hierarchy", "begin", *(f" {on} " + " ".join(b[0] for b in bones if b[1] == on) for on in parents), "end"]
    return "\n".join(lines) + "\n"


def amc(rows, bones=ARM, root=6, header=":FULLY-SPECIFIED\n:DEGREES", first=1):
    """Text of a motion: rows of the root's numbers, then those of the bones with degrees of freedom."""
    lines = [header]
    for k, row in enumerate(rows):
        row = [f"{x:.12g}" for x in row]
        lines += [str(k + first), "root " + " ".join(row[:root])]
        at = root
        for name, *_, dof in bones:
            count = len(dof.split())
            if count:
                lines.append(f"{name} " + " ".join(row[at : at + count]))
            at += count
    return "\n".join(lines) + "\n"


def numbers(frames=4, bones=ARM, seed=0, root=6):
    return np.random.default_rng(seed).uniform(-150, 150, (frames, root + sum(len(b[-1].split()) for b in bones)))


def by_matrices(rows, bones, degrees=True, position=(0, 0, 0)):
    """Start and end of bones by the definition of Acclaim: L = C M C⁻¹, extrinsic rotations about fixed axes."""
    found = {}
    scale = 1 if degrees else 180 / np.pi
    for f, row in enumerate(rows):
        R = {"root": Rotation.from_euler("xyz", scale * row[3:6], degrees=True).as_matrix()}
        tip = {"root": row[:3] + position}
        at = 6
        for name, on, direction, length, axis, order, dof in bones:
            C = Rotation.from_euler(order.lower(), scale * np.array(axis), degrees=True).as_matrix()
            M = np.eye(3)
            for word in dof.split():
                M = Rotation.from_euler(word[1], scale * row[at], degrees=True).as_matrix() @ M
                at += 1
            R[name] = R[on] @ C @ M @ C.T
            tip[name] = tip[on] + R[name] @ (length * np.array(direction) / np.linalg.norm(direction))
            found[f, name] = tip[on], tip[name], R[name]
    return found


def check(clip, rows, bones, **more):
    for (f, name), (begin, end, R) in by_matrices(rows, bones, **more).items():
        j = clip.skeleton.index(name)
        assert clip.positions[f, j] == pytest.approx(begin, abs=1e-7)
        assert rotations.to_matrix(clip.orientations[f, j]) == pytest.approx(R, abs=1e-9)
        for k, tip in enumerate(clip.skeleton.ends):
            if tip.joint == j:
                assert clip.tips[f, k] == pytest.approx(end, abs=1e-7)


# --- rotations and positions --------------------------------------------------------------------


def test_bone_positions_match_matrices():
    rows = numbers()
    clip = parse_amc(amc(rows), "x", parse_asf(asf(), "s"))
    assert clip.skeleton.names == ("root", "collar", "upper", "lower", "hand", "thumb")
    assert clip.skeleton.parents == (-1, 0, 1, 2, 3, 3)
    assert [clip.skeleton.names[end.joint] for end in clip.skeleton.ends] == ["hand", "thumb"]
    check(clip, rows, ARM)


@pytest.mark.parametrize("order", ["".join(order) for order in permutations("XYZ")])
def test_every_order(order):
    words = " ".join(f"r{letter.lower()}" for letter in reversed(order))
    bones = [(*bone[:5], order, words if bone[-1] else "") for bone in ARM]
    rows = numbers(bones=bones)
    check(parse_amc(amc(rows, bones), "x", parse_asf(asf(bones), "s")), rows, bones)


def test_rest_pose_has_world_axes():
    clip = parse_amc(amc(np.zeros((1, len(numbers()[0])))), "x", parse_asf(asf(), "s"))
    assert clip.rotations[0] == pytest.approx(np.tile([1, 0, 0, 0], (6, 1)))
    assert clip.skeleton.offsets[2] == pytest.approx([np.sqrt(2), np.sqrt(2), 0])
    assert clip.skeleton.offsets[1] == pytest.approx([0, 0, 0])


def test_radians():
    rows = np.radians(numbers())
    rows[:, :3] = 1.0
    bones = [(*bone[:4], tuple(np.radians(bone[4])), *bone[5:]) for bone in ARM]
    for header in (":RADIANS", ":FULLY-SPECIFIED"):
        check(parse_amc(amc(rows, bones, header=header), "x", parse_asf(asf(bones, angle="rad"), "s")), rows, bones, degrees=False)
    mixed = parse_amc(amc(rows, header=":RADIANS"), "x", parse_asf(asf(), "s"))
    check(mixed, rows, bones, degrees=False)


def test_root_order_and_position():
    root = "order RZ RY RX TY TX TZ\naxis XYZ\nposition 1 2 3\norientation 0 0 0"
    row = np.concatenate(((30, 20, 10, 5, 4, 6), numbers(1)[0, 6:]))
    clip = parse_amc(amc([row]), "x", parse_asf(asf(root=root), "s"))
    assert clip.translations[0, 0] == pytest.approx([5, 7, 9])
    R = Rotation.from_euler("zyx", (30, 20, 10), degrees=True).as_matrix()
    assert rotations.to_matrix(clip.rotations[0, 0]) == pytest.approx(R)
    assert origin(clip).channels[0] == "zyxYXZ"


def test_rotated_root_is_an_assumption():
    root = "order TX TY TZ RX RY RZ\naxis XYZ\nposition 0 0 0\norientation 0 90 0"
    clip = parse_amc(amc([[0, 0, 0, 30, 0, 0, *numbers(1)[0, 6:]]]), "x", parse_asf(asf(root=root), "s"))
    assert rotations.to_matrix(clip.rotations[0, 0]) == pytest.approx(Rotation.from_euler("z", -30, degrees=True).as_matrix())
    assert "orientation of the root" in {assumption.quantity for assumption in clip.assumptions}


def test_lines_in_any_order_and_format():
    rows = numbers(3)
    text = amc(rows)
    lines = text.splitlines()
    expected = parse_amc(text, "x", parse_asf(asf(), "s"))
    shuffled = [*lines[:2], *(line for k in (2, 7, 12) for line in (lines[k], *reversed(lines[k + 1 : k + 5])))]
    hierarchy = asf().replace(" upper lower\n", "").replace(":hierarchy\nbegin\n", ":hierarchy\nbegin\n upper lower\n")
    for motion, skeleton in (
        (text.replace("\n", "\r\n"), asf().replace("\n", "\r\n")),
        ("\n".join(shuffled), asf()),
        ("# words\n\n" + text.replace("\n", "\n\n").replace("root", "  root"), asf().replace("begin", "begin # a bone")),
        (text.replace(":DEGREES", ":degrees"), asf().replace("dof", "DOF").replace(":bonedata", ":BONEDATA").replace("rx", "RX")),
        (text, hierarchy),
    ):
        clip = parse_amc(motion, "x", parse_asf(skeleton, "s"))
        assert clip.positions == pytest.approx(expected.positions)


# --- frames -------------------------------------------------------------------------------------


def test_rate_is_assumed_stated_or_given():
    skeleton = parse_asf(asf(), "s")
    clip = parse_amc(amc(numbers()), "x", skeleton)
    assert clip.rate == pytest.approx(120)
    assert [(g.value, g.argument) for g in clip.assumptions] == [("120 frames/s", "rate")]
    text = amc(numbers(), header=":FULLY-SPECIFIED\n:SAMPLES-PER-SECOND 60\n:DEGREES")
    assert parse_amc(text, "x", skeleton).rate == pytest.approx(60)
    clip = parse_amc(text, "x", skeleton, rate=100)
    assert clip.rate == pytest.approx(100)
    assert not clip.assumptions
    for rate in (0, -1, float("nan"), float("inf")):
        with pytest.raises(MotionError, match=r"rate=.* is not a number of frames per second"):
            parse_amc(text, "x", skeleton, rate=rate)
    for wrong in ("0", "", "1 2", "-5"):
        with pytest.raises(MotionFileError, match=r"x line 2: ':SAMPLES-PER-SECOND' needs a number .* Or say it: rate=120"):
            parse_amc(text.replace("SECOND 60", f"SECOND {wrong}"), "x", skeleton)


def test_selected_frames():
    rows = numbers(9)
    skeleton = parse_asf(asf(), "s")
    for which in (slice(2, 5), slice(-3, None), slice(0, None, 4)):
        clip = parse_amc(amc(rows, first=7), "x", skeleton, frames=which)
        assert clip.translations[:, 0] == pytest.approx(rows[which, :3])
        assert np.diff(clip.times) == pytest.approx((which.step or 1) / 120)
        assert clip.times[0] == 0
        assert [assumption.quantity for assumption in clip.assumptions] == ["frame rate"]
    with pytest.raises(MotionFileError, match=r"x has 9 frames, numbered 0 to 8: none of them is in the selected range 20:"):
        parse_amc(amc(rows), "x", skeleton, frames=slice(20, None))
    with pytest.raises(MotionError, match="must have a step of 1 or more"):
        parse_amc(amc(rows), "x", skeleton, frames=slice(None, None, -1))


def test_gaps_in_frame_numbers():
    lines = amc(numbers(5)).splitlines()
    clip = parse_amc("\n".join(lines[:6] + lines[11:]), "x", parse_asf(asf(), "s"))
    assert clip.times == pytest.approx(np.array([0, 2, 3, 4]) / 120)
    assert "frames: some are missing" in str(clip.assumptions[-1])


def test_truncated_frame_is_refused_with_a_hint():
    skeleton = parse_asf(asf(), "s")
    text = amc(numbers(4))
    with pytest.raises(MotionFileError, match=r"x line 18: frame 4 has no line for 'lower'\. Frames 0-2 are intact; .*slice\(0, 3\)"):
        parse_amc("\n".join(text.splitlines()[:20]), "x", skeleton)
    cut = "\n".join(text.splitlines()[:21]).rpartition(" ")[0]
    with pytest.raises(MotionFileError, match=r"x line 21: 2 numbers expected for 'lower', 1 found\. Frames 0-2 are intact"):
        parse_amc(cut, "x", skeleton)
    assert len(parse_amc(cut, "x", skeleton, frames=slice(0, 3))) == 3


def test_bones_without_motion_stay_at_rest():
    text = "\n".join(line for line in amc(numbers(3)).splitlines() if not line.startswith("hand"))
    clip = parse_amc(text, "x", parse_asf(asf(), "s"))
    assert clip.rotations[:, 4] == pytest.approx(np.tile([1, 0, 0, 0], (3, 1)))
    assert "bones without motion: hand" in str(clip.assumptions[-1])


# --- search of the skeleton file ----------------------------------------------------------------


def test_skeleton_file_beside_the_motion(tmp_path):
    motion = tmp_path / "07_run_02.amc"
    motion.write_text(amc(numbers()))
    with pytest.raises(MotionFileError, match=r"07_run_02\.amc: .* there is no ASF file beside it\. Give it: skeleton="):
        read_amc(motion)
    (tmp_path / "other.ASF").write_text(asf())
    assumption = read_amc(motion).assumptions[0]
    assert (assumption.value, assumption.reason, assumption.argument) == (
        "other.ASF",
        "it is the only ASF file in the same folder",
        "skeleton",
    )
    (tmp_path / "08.asf").write_text("never read")
    with pytest.raises(MotionFileError, match=r"none of 08\.asf, other\.ASF beside it has its name\. Give it"):
        read_amc(motion)
    for name in ("07.asf", "07_run.asf", "07_run_02.asf"):  # the longest common prefix of the names wins
        (tmp_path / name).write_text(asf())
        clip = read_amc(motion)
        assert clip.assumptions[0].value == name
        assert "07_run_02.amc begins with its name" in clip.assumptions[0].reason
    assert clip.name == "07_run_02"
    assert [g.quantity for g in read_amc(motion, tmp_path / "other.ASF", rate=50).assumptions] == []
    with pytest.raises(MotionFileError, match=r"gone\.asf: there is no such file"):
        read_amc(motion, tmp_path / "gone.asf")
    with pytest.raises(MotionFileError, match=r"gone\.amc: there is no such file"):
        read_amc(tmp_path / "gone.amc")


def test_motion_of_another_skeleton_is_refused():
    with pytest.raises(
        MotionFileError, match=r"x line 5: 'uper' is not a bone of the skeleton\. Did you mean 'upper'\? Is it the right ASF"
    ):
        parse_amc(amc(numbers()).replace("upper", "uper"), "x", parse_asf(asf(), "s"))


# --- malformed files ----------------------------------------------------------------------------

GOOD = asf().splitlines()
LINE = {words: k + 1 for k, words in reversed(list(enumerate(map(str.strip, GOOD))))}
UPPER = LINE["name upper"]
MALFORMED_ASF = {
    "not an ASF file": (
        {1: "anything"},
        r"s line 1: 'anything' was not expected here: an ASF file begins with a section such as ':version'",
    ),
    "no hierarchy": ({LINE[":hierarchy"]: ":other"}, "s has no section ':hierarchy': the file was cut short, or is not an ASF file"),
    "no bones": ({LINE[":bonedata"]: ":other"}, "s has no section ':bonedata'"),
    "no root": ({LINE[":root"]: ":other"}, "s has no section ':root'"),
    "angle": ({LINE["angle deg"]: "angle gon"}, f"s line {LINE['angle deg']}: the unit of angles is 'deg' or 'rad', not 'gon'"),
    "no order": ({LINE[":root"] + 1: ""}, "the root needs 'order' and the order of its numbers, such as 'order TX TY TZ RX RY RZ'"),
    "order": ({LINE[":root"] + 1: "order TX TX"}, f"s line {LINE[':root'] + 1}: some of tx, ty, .* each once; found 'TX TX'"),
    "root axis": ({LINE["axis XYZ"]: "axis XXY"}, f"line {LINE['axis XYZ']}: an order of axes is three letters such as 'XYZ', not 'xxy'"),
    "two numbers": ({LINE["position 0 0 0"]: "position 0 0"}, "'position' needs three numbers; found '0 0'"),
    "no begin": ({UPPER - 2: ""}, f"line {UPPER - 1}: 'id' is not valid outside of a bone; expected 'begin'"),
    "no end": ({LINE["end"]: ""}, f"line {UPPER - 2}: a bone begins before that of line {LINE['begin']} ends: 'end' is missing"),
    "last has no end": ({LINE[":hierarchy"] - 1: ""}, "this bone has no 'end': the file was cut short"),
    "no name": ({UPPER: ""}, f"line {UPPER - 2}: a bone needs a 'name': one word of 200 characters at most; found ''"),
    "two words": ({UPPER: "name upper arm"}, "a bone needs a 'name': one word"),
    "long name": ({UPPER: "name " + "u" * 300}, "a bone needs a 'name': one word"),
    "name twice": ({UPPER: "name collar"}, "a second bone is named 'collar'. Names must differ"),
    "named root": ({UPPER: "name root"}, "a second bone is named 'root'"),
    "direction": ({UPPER + 1: "direction 1 0"}, f"line {UPPER + 1}: 'direction' needs three numbers; found '1 0'"),
    "direction zero": ({UPPER + 1: "direction 0 0 0"}, "bone 'upper' needs a length of 0 or more, and a direction that is not zero"),
    "direction NaN": ({UPPER + 1: "direction 0 nan 0"}, f"line {UPPER + 1}: 'nan' is not finite"),
    "length": ({UPPER + 2: "length"}, f"line {UPPER + 2}: 'length' needs one number; found ''"),
    "length word": ({UPPER + 2: "length long"}, f"line {UPPER + 2}: 'long' is not a number"),
    "length negative": ({UPPER + 2: "length -1"}, "bone 'upper' needs a length of 0 or more"),
    "length infinite": ({UPPER + 2: "length 1e999"}, f"line {UPPER + 2}: '1e999' is not finite"),
    "length beyond": ({UPPER + 2: "length 1e300"}, rf"line {UPPER + 2}: '1e300' is beyond 1e\+12"),
    "axis": ({UPPER + 3: "axis 0 0 XYZ"}, f"line {UPPER + 3}: 'XYZ' is not a number"),
    "axis order": ({UPPER + 3: "axis 0 0 0 XY"}, f"line {UPPER + 3}: an order of axes is three letters"),
    "dof": ({UPPER + 4: "dof rx rq"}, f"line {UPPER + 4}: some of tx, ty, tz, rx, ry, rz were expected, each once; found 'rx rq'"),
    "dof along": ({UPPER + 4: "dof rx tx"}, f"line {UPPER + 4}: bone 'upper' has translations. Only the root may"),
    "unknown bone": ({LINE["upper lower"]: "upper lowest"}, f"line {LINE['upper lower']}: there is no bone 'lowest' in ':bonedata'"),
    "lost": ({LINE["upper lower"]: ""}, "bone 'lower' is not connected: ':hierarchy' does not lead from the root to it"),
    "on two": ({LINE["upper lower"]: "upper lower\ncollar lower"}, "bone 'lower' has the parent 'collar' here, and 'upper' before"),
    "ring": ({LINE["root collar"]: "hand collar"}, "bone 'collar' is not connected"),
    "root below": ({LINE["root collar"]: "root collar\ncollar root"}, "bone 'root' has the parent 'collar' here, and 'none' before"),
}
MALFORMED_AMC = {
    "nothing": ("# words", "x has no frames. At least one is needed"),
    "no frame": (
        ":DEGREES\nroot 0 0 0 0 0 0",
        "x line 2: 'root 0 0 0 0 0 0' is not valid here; expected a word with a colon, or the number of a",
    ),
    "no growth": (amc(numbers()).replace("\n3\n", "\n2\n"), "x line 13: frame 2 after 2: frame numbers must increase"),
    "frame of millions": (amc(numbers()).replace("\n3\n", "\n" + "3" * 5000 + "\n"), "x line 13: frame 3{40} after 2"),
    "no root": (amc(numbers()).replace("root", "#"), "x line 3: frame 1 has no line for 'root'"),
    "twice": (amc(numbers()).replace("\nhand", "\nhand 1\nhand", 1), "x line 8: a second line for 'hand' in the same frame"),
    "word": (":DEGREES\n1\nroot 0 0 0 0 zero 0", "x line 3: 'zero' is not a number"),
    "NaN": (":DEGREES\n1\nroot 0 0 0 0 NaN 0", "x line 3: 'NaN' is not finite"),
    "infinite": (":DEGREES\n1\nroot 0 0 0 0 1e999 0", "x line 3: '1e999' is not finite"),
    "too many": (":DEGREES\n1\nroot 0 0 0 0 0 0 0", "x line 3: 6 numbers expected for 'root', 7 found"),
    "bones that turn up late": (
        ":DEGREES\n1\nroot 0 0 0 0 0 0\n2\nroot 0 0 0 0 0 0\nhand 1",
        "x line 4: frame 2 has lines for bones that frame 1 has none for",
    ),
}


@pytest.mark.parametrize("case", MALFORMED_ASF)
def test_skeleton_errors_name_the_line(case):
    change, message = MALFORMED_ASF[case]
    with pytest.raises(MotionFileError, match=message) as caught:
        parse_asf("\n".join(change.get(k, line) for k, line in enumerate(GOOD, 1)), "s")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("case", MALFORMED_AMC)
def test_motion_errors_name_the_line(case):
    text, message = MALFORMED_AMC[case]
    with pytest.raises(MotionFileError, match=message) as caught:
        parse_amc(text, "x", parse_asf(asf(), "s"))
    assert len(str(caught.value)) < 400


def test_size_limits():
    bones = [(f"b{k}", f"b{k - 1}" if k else "root", (1, 0, 0), 1, (0, 0, 0), "XYZ", "") for k in range(300)]
    with pytest.raises(MotionFileError, match="more than 200 bones are nested in each other"):
        parse_asf(asf(bones), "s")
    bones = [(f"b{k}", "root", (1, 0, 0), 1, (0, 0, 0), "XYZ", "") for k in range(2001)]
    with pytest.raises(MotionFileError, match="more than 1999 bones"):
        parse_asf(asf(bones), "s")


# --- units and axes -----------------------------------------------------------------------------


def test_unit_up_axis_and_roles_are_inferred():
    rows = 0.1 * numbers(20, PERSON, seed=4)
    clip = normalize_clip(parse_amc(amc(rows, PERSON), "x", parse_asf(asf(PERSON), "s")))
    assert origin(clip).format == "AMC"
    assert origin(clip).unit == pytest.approx(UNITS["cmu"])
    assert origin(clip).up == "y"
    found = find_joint_roles(clip.skeleton)
    names = clip.skeleton.names
    assert not found.missing()
    assert {role: names[found[role]] for role in ("left_hip", "right_knee", "left_ankle", "right_elbow", "left_wrist")} == {
        "left_hip": "lfemur", "right_knee": "rtibia", "left_ankle": "lfoot", "right_elbow": "rradius", "left_wrist": "lwrist",
    }  # fmt: skip


def joint_correspondence():
    """Corresponding joint names in CMU's ASF files and their BVH conversion."""
    sides = {"femur": "UpLeg", "tibia": "Leg", "foot": "Foot", "toes": "ToeBase", "clavicle": "Shoulder", "humerus": "Arm"}
    sides |= {"radius": "ForeArm", "wrist": "Hand", "hand": "FingerBase"}
    yield from {"root": "Hips", "lowerback": "LowerBack", "upperback": "Spine", "thorax": "Spine1"}.items()
    yield from {"lowerneck": "Neck", "upperneck": "Neck1", "head": "Head"}.items()
    for side in ("Left", "Right"):
        yield from ((f"{side[0].lower()}{bone}", f"{side}{joint}") for bone, joint in sides.items())
        yield from ((f"{side[0].lower()}{bone}", f"{side[0]}{joint}") for bone, joint in (("fingers", "Fingers"), ("thumb", "Thumb")))


def without_lengths(skeleton: AsfSkeleton, *bones: str) -> AsfSkeleton:
    """The skeleton with zero length of some bones."""
    s = skeleton.skeleton
    offsets = s.offsets.copy()
    offsets[[j for j, p in enumerate(s.parents) if p >= 0 and s.names[p] in bones]] = 0.0
    return replace(skeleton, skeleton=replace(s, offsets=offsets))


@needs_data
def test_asf_and_bvh_of_one_motion_agree():
    bvh = normalize_clip(read_bvh(DATA / "01_01.bvh"))
    ours = normalize_clip(read_amc(DATA / "01_01.amc"))
    assert len(ours) == len(bvh)
    assert ours.times == pytest.approx(bvh.times)
    assert origin(ours).unit == origin(bvh).unit
    skeleton = parse_asf((DATA / "01.asf").read_text(), "s")
    # The BVH conversion has zero length for three bones, which displaces their descendants. With zero length in both, all positions agree.
    same = normalize_clip(parse_amc((DATA / "01_01.amc").read_text(), "x", without_lengths(skeleton, "thorax", "lwrist", "rwrist")))
    for bone, joint in joint_correspondence():
        i, j = ours.skeleton.index(bone), bvh.skeleton.index(joint)
        angles = np.degrees(rotations.angle(rotations.product(rotations.inverse(ours.orientations[:, i]), bvh.orientations[:, j])))
        assert angles.max() < 1e-3
        assert np.linalg.norm(same.positions[:, i] - bvh.positions[:, j], axis=1).max() < 2e-5  # [m]
        above = [ours.skeleton.names[k] for k in ours.skeleton.chain(i)[:-1]]
        if "thorax" not in above:
            assert np.linalg.norm(ours.positions[:, i] - bvh.positions[:, j], axis=1).max() < 2e-5


@needs_data
def test_recorded_motion_stands_on_the_ground():
    clip = normalize_clip(read_amc(DATA / "11_01.amc"))
    assert origin(clip).up == "y"
    lowest = clip.tips[..., 2].min(axis=1)
    assert -0.05 < np.median(lowest) < 0.1
    assert not find_joint_roles(clip.skeleton).missing()
