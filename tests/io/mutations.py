"""Mutated motion files of every format, reproducible by seed."""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.random import Generator
from tests.io.c3d_files import c3d_file

import brachiate as br
from brachiate.clip.clip import Clip
from brachiate.clip.markers import Markers
from brachiate.clip.units_and_axes import normalize_clip
from brachiate.errors import BrachiateError, MotionError
from brachiate.io.amass import parse_amass
from brachiate.io.amc import parse_amc
from brachiate.io.asf import parse_asf
from brachiate.io.bvh import format_bvh, parse_bvh
from brachiate.io.c3d import parse_c3d
from brachiate.io.deepmimic import parse_deepmimic
from brachiate.io.motion_text import decode_text
from brachiate.io.opensim import Table, format_table, parse_table
from brachiate.io.trc import format_trc, parse_trc
from brachiate.motion.archive import load_motion_archive, save_motion_archive
from brachiate.motion.contact_labels import ContactInterval, ContactLabels, parse_contact_labels
from brachiate.motion.motion import Motion
from brachiate.motion.robot_csv import read_csv, write_csv
from brachiate.motion.terrain import Terrain

CLIPS = ("BVH", "ASF", "AMC", "DeepMimic")
FORMATS = (*CLIPS, "OpenSim", "TRC", "contacts", "AMASS", "table", "archive")
FORMATS = (*FORMATS, "C3D") if find_spec("c3d") else FORMATS  # which an extra reads
BINARY = ("AMASS", "archive", "C3D")
FRAMES = 6
MAX_MESSAGE_LENGTH = 1000  # characters
MAX_FILE_SIZE = 200_000  # bytes; longer files only take longer
#: Small skeleton, y up: name, parent, offset [m].
PERSON = (
    ("Hips", "", (0.0, 0.0, 0.0)),
    ("Spine", "Hips", (0.0, 0.2, 0.0)),
    ("Head", "Spine", (0.0, 0.4, 0.0)),
    ("LeftUpLeg", "Hips", (0.1, 0.0, 0.0)),
    ("LeftLeg", "LeftUpLeg", (0.0, -0.43, 0.0)),
    ("LeftFoot", "LeftLeg", (0.0, -0.42, 0.0)),
    ("RightUpLeg", "Hips", (-0.1, 0.0, 0.0)),
    ("RightLeg", "RightUpLeg", (0.0, -0.43, 0.0)),
    ("RightFoot", "RightLeg", (0.0, -0.42, 0.0)),
    ("LeftArm", "Spine", (0.2, 0.35, 0.0)),
    ("LeftForeArm", "LeftArm", (0.28, 0.0, 0.0)),
    ("RightArm", "Spine", (-0.2, 0.35, 0.0)),
    ("RightForeArm", "RightArm", (-0.28, 0.0, 0.0)),
)
#: Words for numbers that are none, or that are hard to bear.
ODD = (
    *("NaN", "nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e308", "-1e308", "1e200", "1e12", "1e13", "-1e12", "1e-320", "-0", "0"),
    *("-1", "0x1F", "1_000", "1,5", "1.2.3", "--1", "+", ".", "e", "²", "٣", "½", "", " ", '"', "null", "true", "[]", "{}", "9" * 5000),
    *("1" * 400 + "e5", "99999999999999999999", "2147483648", "-2147483649", "4294967296", "1e9", "1000000000", "\x00", "\x1a", "\ufeff"),
)
#: What opens something in one format or another.
OPENING = ("{\n", "}\n", "JOINT a\n{\n", "JOINT a\n", "End Site\n{\n", "[", "]", '{"a":', "begin\n", "end\n", ":root\n", ":bonedata\n", "(")
OPENING = (
    *OPENING,
    "1\n",
    "MOTION\n",
    "ROOT a\n{\n",
    "End Site\n{\n}\n",
    "JOINT a\n{\n}\n",
    "Hips Spine\n",
    "[" * 50,
    "\n",
    "\r",
    "\x0c",
    " 0",
)


def _number(x: float) -> str:
    return f"{x:.6g}"


@cache
def sample(form: str) -> bytes:
    """A file as it should be."""
    if form in OTHERS:
        return OTHERS[form]()
    random = np.random.default_rng(FORMATS.index(form))
    angles = random.uniform(-40, 40, (FRAMES, 3 * len(PERSON)))
    if form == "DeepMimic":
        rows = np.zeros((FRAMES, 44))
        rows[:, [4, 8, 12, 16, 21, 25, 30, 35, 39]] = 1.0
        rows[:, 0], rows[:, 2], rows[:, [20, 34]], rows[:, [29, 43]] = 0.03, 0.9, -0.4, 0.5
        return json.dumps({"Loop": "wrap", "Frames": rows.tolist()}, indent=1 if random.random() < 0.5 else None).encode()
    if form == "BVH":
        lines = ["HIERARCHY", *_bvh_lines("Hips", PERSON[0][2], ""), "MOTION", f"Frames: {FRAMES}", "Frame Time: 0.01"]
        return "\n".join((*lines, *("0 90 0 " + " ".join(map(_number, row)) for row in angles), "")).encode()
    if form == "ASF":
        return "\n".join(_asf_lines()).encode()
    lines = [":FULLY-SPECIFIED", ":DEGREES"]
    for k, row in enumerate(angles):
        lines += [str(k + 1), "root 0 16 0 " + " ".join(map(_number, row[:3]))]
        lines += [f"{name} " + " ".join(map(_number, row[3 * j : 3 * j + 3])) for j, (name, on, _) in enumerate(PERSON) if on]
    return "\n".join(lines).encode()


def _table() -> bytes:
    names = ("pelvis_tilt", "pelvis_ty", "ground_force_vx", "ground_force_vy", "ground_force_vz")
    return format_table(Table("walk", np.arange(FRAMES) / 60.0, names, np.arange(5.0 * FRAMES).reshape(FRAMES, 5), degrees=True)).encode()


def _trc() -> bytes:
    places = np.arange(6.0 * FRAMES).reshape(FRAMES, 2, 3)
    return format_trc(Markers(("R.Heel", "Head"), np.arange(FRAMES) / 100.0, places)).encode()


def _contacts() -> bytes:
    labels = (
        ContactInterval("left_heel", 0.0, 0.5),
        ContactInterval("right_hand", 0.25, 1.0, "grip"),
        ContactInterval("left_toe", 0.5, 0.75, "support", 0.3),
    )
    return "\n".join(ContactLabels(labels, Terrain(0.01, 2.0, 30.0, 0.7, (0.0, -1.25))).lines()).encode()


def _amass() -> bytes:
    file = io.BytesIO()
    random = np.random.default_rng(7)
    poses = np.concatenate((np.tile((np.pi / 2, 0.0, 0.0), (FRAMES, 1)), random.uniform(-0.4, 0.4, (FRAMES, 63))), axis=1)
    np.savez(file, poses=poses, trans=np.tile((0.0, 0.0, 0.95), (FRAMES, 1)), mocap_framerate=np.array(60.0))
    return file.getvalue()


@cache
def robot() -> br.Model:
    """Somebody whose motions are in tables and archives."""
    b = br.ModelBuilder("robot")
    b.link("base", joint=br.Free(), mass=10.0, inertia=(1, 1, 1))
    for side in ("left", "right"):
        b.link(f"{side}_leg", parent="base", joint=br.Revolute("y"), joint_name=f"{side}_hip", mass=1.0, inertia=(0.1, 0.1, 0.1))
    return b.build()


def _motion() -> Motion:
    q = np.tile(robot().neutral, (FRAMES, 1))
    q[:, 7:] = np.random.default_rng(3).uniform(-1, 1, (FRAMES, 2))
    contacts = ContactLabels((ContactInterval("left_leg", 0.0, 0.1),), Terrain(0.0))
    return Motion(robot(), np.arange(FRAMES) / 30.0, q, "sway", contacts=contacts, forces={"left_leg": np.ones((FRAMES, 6))})


def _in_a_file(write: Callable[[Motion, Path], None], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(_motion(), Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def _c3d() -> bytes:
    random = np.random.default_rng(5)
    return c3d_file(random.normal(size=(FRAMES, 2, 3)) * 500.0, random.normal(size=(FRAMES, 2, 3)))


OTHERS: dict[str, Callable[[], bytes]] = {
    "OpenSim": _table,
    "TRC": _trc,
    "contacts": _contacts,
    "AMASS": _amass,
    "table": lambda: _in_a_file(write_csv, "sway.csv"),
    "archive": lambda: _in_a_file(save_motion_archive, "sway.npz"),
    "C3D": _c3d,
}


def _bvh_lines(name: str, place: tuple[float, ...], indent: str) -> list[str]:
    inner = indent + " "
    lines = [f"{indent}{'JOINT' if indent else 'ROOT'} {name}", indent + "{", f"{inner}OFFSET " + " ".join(_number(100 * x) for x in place)]
    lines.append(f"{inner}CHANNELS {3 if indent else 6} {'' if indent else 'Xposition Yposition Zposition '}Zrotation Xrotation Yrotation")
    below = [(child, at) for child, on, at in PERSON if on == name]
    for child, at in below:
        lines += _bvh_lines(child, at, inner)
    return [*lines, *([] if below else [inner + "End Site", inner + "{", inner + " OFFSET 0 10 0", inner + "}"]), indent + "}"]


def _asf_lines() -> list[str]:
    lines = [":version 1.10", ":units", " mass 1", " length 0.45", " angle deg", ":root", " order TX TY TZ RX RY RZ", " axis XYZ"]
    lines += [" position 0 0 0", " orientation 0 0 0", ":bonedata"]
    for k, (name, on, place) in enumerate(PERSON):
        if on:
            length = 18 * float(np.linalg.norm(place))
            lines += [
                " begin",
                f"  id {k}",
                f"  name {name}",
                "  direction " + " ".join(map(_number, place)),
                f"  length {_number(length)}",
            ]
            lines += ["  axis 0 0 20 XYZ", "  dof rx ry rz", "  limits (-160 20)", "   (-70 70)", "   (-60 inf)", " end"]
    lines += [":hierarchy", " begin"]
    for name in dict.fromkeys(on for _, on, _ in PERSON if on):
        lines.append(f"  {'root' if name == 'Hips' else name} " + " ".join(child for child, on, _ in PERSON if on == name))
    return [*lines, " end"]


# --- ways to be wrong ---------------------------------------------------------------------------


def _cut(data: bytes, random: Generator) -> bytes:
    k = int(random.integers(0, len(data) + 1))
    return data[:k] if random.random() < 0.7 else data[k:]


def _lines(data: bytes, random: Generator) -> bytes:
    """Lines swapped, deleted, doubled, moved, or there many times."""
    lines = data.split(b"\n")
    i, j = (int(k) for k in random.integers(0, len(lines), 2))
    match int(random.integers(0, 6)):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            del lines[min(i, j) : max(i, j) + 1]
        case 2:
            lines.insert(i, lines[i])
        case 3:
            lines.insert(j, lines.pop(i))
        case 4:
            lines[i:i] = [lines[i]] * int(random.integers(2, 3000))
        case _:
            del lines[i]
    return b"\n".join(lines)


def _words(data: bytes, random: Generator) -> bytes:
    """Numbers replaced by odd ones, or words by each other."""
    places = [match.span() for match in re.finditer(rb"-?[\d.]+(?:e-?\d+)?" if random.random() < 0.7 else rb"[^\s,]+", data)]
    if not places:
        return data
    (a, b), (c, d) = (places[int(k)] for k in random.integers(0, len(places), 2))
    if random.random() < 0.8:
        return data[:a] + str(random.choice(ODD)).encode() + data[b:]
    if a > c:
        a, b, c, d = c, d, a, b
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data


def _bytes(data: bytes, random: Generator) -> bytes:
    """Bytes replaced, put in between, or taken out."""
    out = bytearray(data)
    for _ in range(int(random.integers(1, 12))):
        if not out:
            break
        k = int(random.integers(0, len(out)))
        match int(random.integers(0, 4)):
            case 0:
                out[k] = int(random.integers(0, 256))
            case 1:
                out[k:k] = random.bytes(int(random.integers(1, 6)))
            case 2:
                del out[k]
            case _:
                out[k : k + 1] = random.choice(list(b"{}[]():,#.-+eE 0\t\r\n\"'")).tobytes()[:1]
    return bytes(out)


def _encoding(data: bytes, random: Generator) -> bytes:
    text = data.decode("latin-1").replace("e", "é", int(random.integers(0, 3)))
    name = str(random.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp037", "utf-7", "cp1252")))
    return text.encode(name, "replace")[int(random.integers(0, 2)) * int(random.integers(0, 4)) :]


def _numbers(data: bytes, random: Generator) -> bytes:
    """Whole numbers and fractions within bytes that are no text, replaced by odd ones: sizes, counts, places."""
    k = int(random.integers(0, max(len(data) - 8, 1)))
    kind = str(random.choice(("<u1", "<u2", "<i2", "<u4", "<i4", "<f4", "<f8", ">u2")))
    odd = np.array((0, 1, 2, 127, 255, 256, 32767, 65535, 2**31 - 1, 2**32 - 1, np.nan, np.inf, -1.0, 1e30))
    value = float(random.choice(odd))
    if kind[1] != "f":
        value = int(value) % 256 ** int(kind[2]) if np.isfinite(value) else 0
    whole = np.array(value).astype(kind.replace("i", "u")).tobytes()
    return data[:k] + whole + data[k + len(whole) :]


def _inside(data: bytes, random: Generator) -> bytes:
    """What is in an archive made wrong, and packed again, so that its checksum is right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    except Exception:  # it is no archive any more
        return data
    if not content:
        return data
    name = str(random.choice(list(content)))
    way = (_numbers, _numbers, _bytes, _words, _cut)[int(random.integers(0, 5))]
    content[name] = way(content[name], random)
    if random.random() < 0.05:
        del content[name]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, inner in content.items():
            archive.writestr(zipfile.ZipInfo(name), inner)
    return file.getvalue()


def _nested(data: bytes, random: Generator) -> bytes:
    """Something that opens, hundreds of times."""
    lines = data.split(b"\n")
    many = str(random.choice(OPENING)) * int(random.choice((1, 2, 5, 250, 3000)))
    lines.insert(int(random.integers(0, len(lines) + 1)), many.encode())
    return b"\n".join(lines)


def _spliced(data: bytes, random: Generator) -> bytes:
    """A piece of a file of any format in the middle."""
    other = sample(str(random.choice(CLIPS)))
    a, b = sorted(int(k) for k in random.integers(0, len(other), 2))
    k = int(random.integers(0, len(data) + 1))
    return data[:k] + other[a:b] + data[k + int(random.integers(0, 2)) * (b - a) :]


def _ends(data: bytes, random: Generator) -> bytes:
    """Other ends of lines, other blanks."""
    return data.replace(b"\n", random.choice(np.array((b"\r\n", b"\r", b"\n\n", b" ", b"\x0b", b"\t\n"), object))).replace(b"  ", b"\t")


WAYS: tuple[Callable[[bytes, Generator], bytes], ...] = (_cut, _lines, _words, _words, _bytes, _encoding, _nested, _spliced, _ends)


def mutated(form: str, seed: int) -> bytes:
    """A file made wrong in one to three ways; the same seed gives the same file."""
    random = np.random.default_rng((FORMATS.index(form), seed))
    data = sample(form)
    ways = WAYS
    if form in BINARY:
        ways = (*WAYS, *([_numbers] * 6)) if form == "C3D" else (*WAYS, *([_inside] * 12))
    for _ in range(int(random.integers(1, 4))):
        data = ways[int(random.integers(0, len(ways)))](data, random)[:MAX_FILE_SIZE]
    return data


# --- what comes of it ---------------------------------------------------------------------------


@cache
def _good_asf():
    return parse_asf(sample("ASF").decode(), "good.asf")


def parsed(form: str, data: bytes) -> Clip:
    """The clip of a file's bytes."""
    if form == "AMASS":
        return parse_amass(data, "file")
    text = decode_text(data, "file")
    if form == "BVH":
        return parse_bvh(text, "file")
    if form == "DeepMimic":
        return parse_deepmimic(text, "file")
    if form == "ASF":
        return parse_amc(sample("AMC").decode(), "good.amc", parse_asf(text, "file"))
    return parse_amc(text, "file", _good_asf())


def outcome(form: str, data: bytes) -> str:
    """``"read"`` or ``"refused"``; anything else that is raised is wrong.

    What is read must have finite numbers, as it is and settled, and can be written.
    """
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        if form in OTHERS and form != "AMASS":
            return _outcome_of_others(form, data)
        try:
            clip = parsed(form, data)
        except MotionError as error:
            return _refused(error)
        _check(clip)
        try:
            clip = normalize_clip(clip)
        except MotionError as error:
            _refused(error)
            clip = normalize_clip(clip, unit=0.01, up="y")
        _check(clip)
        try:
            _check(parse_bvh(format_bvh(clip), "again"))
        except MotionError as error:
            _refused(error)  # such as numbers just below the limit, which are beyond it in another unit
    return "read"


def _outcome_of_others(form: str, data: bytes) -> str:
    try:
        if form in ("archive", "table"):
            return _outcome_of_motion(form, data)
        if form == "C3D":
            capture = parse_c3d(data, "file")
            assert capture.markers is None or not np.isinf(capture.markers.positions).any(), "a number that is not finite"
            return "read"
        text = decode_text(data, "file")
        if form == "OpenSim":
            table = parse_table(text, "file")
            assert np.isfinite(table.values).all(), "a number that is not finite"
        elif form == "TRC":
            markers = parse_trc(text, "file")
            assert not np.isinf(markers.positions).any(), "a number that is not finite"
        else:
            labels = parse_contact_labels(text.splitlines(), "file")
            assert all(np.isfinite((c.start, c.end)).all() for c in labels.contacts), "a number that is not finite"
    except BrachiateError as error:
        return _refused(error)
    return "read"


def _outcome_of_motion(form: str, data: bytes) -> str:
    """Motions of a figure are read from files, not from bytes."""
    with tempfile.NamedTemporaryFile(suffix=".npz" if form == "archive" else ".csv") as file:
        file.write(data)
        file.flush()
        motion = load_motion_archive(file.name, robot()) if form == "archive" else read_csv(file.name, robot())
    assert np.isfinite(motion.q).all(), "a number that is not finite"
    return "read"


def _refused(error: BrachiateError) -> str:
    if len(str(error)) > MAX_MESSAGE_LENGTH:
        raise ValueError("a message of more than a screen")
    return "refused"


def _check(clip: Clip) -> None:
    for what in (clip.times, clip.rotations, clip.translations, clip.positions, clip.orientations, clip.tips, clip.skeleton.rest):
        assert np.isfinite(what).all(), "a number that is not finite"
    assert np.abs(np.linalg.norm(clip.rotations, axis=-1) - 1.0).max() < 1e-6, "a quaternion that is no rotation"


def damaged(source: str, head: int) -> Iterator[str]:
    """A text with letters lost, doubled and replaced, cut short, or with the first lines in another order: 1500 times."""
    alphabet = "0123456789.-e\t\n =nNaifABC\0\x1c\u00e9"
    for seed in range(1500):
        dice = random.Random(seed)
        text = list(source)
        for _ in range(dice.randrange(1, 6)):
            k = dice.randrange(len(text))
            text[k : k + dice.choice((0, 1, 1, 5))] = dice.choice(alphabet) * dice.choice((0, 1, 1, 3))
        lines = "".join(text)[: dice.choice((None, dice.randrange(len(text))))].splitlines(keepends=True)
        if seed % 3 == 0:
            first = lines[:head]
            dice.shuffle(first)
            lines[:head] = first
        yield "".join(lines)
