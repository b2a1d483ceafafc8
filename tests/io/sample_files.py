"""Valid sample files of every motion format: small clips, tables, marker files, contact labels, archives and C3D files."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from tests.io.c3d_files import c3d_file

import brachiate as br
from brachiate.clip.markers import Markers
from brachiate.io.opensim import Table, format_table
from brachiate.io.trc import format_trc
from brachiate.motion.archive import save_motion_archive
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.robot_csv import write_csv
from brachiate.motion.terrain import Terrain

CLIPS = ("BVH", "ASF", "AMC", "DeepMimic")
FORMATS = (*CLIPS, "OpenSim", "TRC", "contacts", "AMASS", "table", "archive")
FORMATS = (*FORMATS, "C3D") if find_spec("c3d") else FORMATS  # needs an extra
FRAMES = 6
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


def _number(x: float) -> str:
    return f"{x:.6g}"


@cache
def sample(form: str) -> bytes:
    """Bytes of a valid file of the format."""
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
        lines += [f"{name} " + " ".join(map(_number, row[3 * j : 3 * j + 3])) for j, (name, parent, _) in enumerate(PERSON) if parent]
    return "\n".join(lines).encode()


def _table() -> bytes:
    names = ("pelvis_tilt", "pelvis_ty", "ground_force_vx", "ground_force_vy", "ground_force_vz")
    return format_table(Table("walk", np.arange(FRAMES) / 60.0, names, np.arange(5.0 * FRAMES).reshape(FRAMES, 5), degrees=True)).encode()


def _trc() -> bytes:
    positions = np.arange(6.0 * FRAMES).reshape(FRAMES, 2, 3)
    return format_trc(Markers(("R.Heel", "Head"), np.arange(FRAMES) / 100.0, positions)).encode()


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
    """Robot of the sample tables and archives."""
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


def _written(write: Callable[[Motion, Path], None], name: str) -> bytes:
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
    "table": lambda: _written(write_csv, "sway.csv"),
    "archive": lambda: _written(save_motion_archive, "sway.npz"),
    "C3D": _c3d,
}


def _bvh_lines(name: str, offset: tuple[float, ...], indent: str) -> list[str]:
    inner = indent + " "
    lines = [
        f"{indent}{'JOINT' if indent else 'ROOT'} {name}",
        indent + "{",
        f"{inner}OFFSET " + " ".join(_number(100 * x) for x in offset),
    ]
    lines.append(f"{inner}CHANNELS {3 if indent else 6} {'' if indent else 'Xposition Yposition Zposition '}Zrotation Xrotation Yrotation")
    children = [(child, at) for child, parent, at in PERSON if parent == name]
    for child, at in children:
        lines += _bvh_lines(child, at, inner)
    return [*lines, *([] if children else [inner + "End Site", inner + "{", inner + " OFFSET 0 10 0", inner + "}"]), indent + "}"]


def _asf_lines() -> list[str]:
    lines = [":version 1.10", ":units", " mass 1", " length 0.45", " angle deg", ":root", " order TX TY TZ RX RY RZ", " axis XYZ"]
    lines += [" position 0 0 0", " orientation 0 0 0", ":bonedata"]
    for k, (name, parent, offset) in enumerate(PERSON):
        if parent:
            length = 18 * float(np.linalg.norm(offset))
            lines += [
                " begin",
                f"  id {k}",
                f"  name {name}",
                "  direction " + " ".join(map(_number, offset)),
                f"  length {_number(length)}",
            ]
            lines += ["  axis 0 0 20 XYZ", "  dof rx ry rz", "  limits (-160 20)", "   (-70 70)", "   (-60 inf)", " end"]
    lines += [":hierarchy", " begin"]
    for name in dict.fromkeys(parent for _, parent, _ in PERSON if parent):
        lines.append(f"  {'root' if name == 'Hips' else name} " + " ".join(child for child, parent, _ in PERSON if parent == name))
    return [*lines, " end"]
