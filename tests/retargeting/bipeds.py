"""Humanoid robots: a small one as MJCF, with link and joint names in the styles of several makers, and those of example-robot-data."""

from __future__ import annotations

import sysconfig
import tempfile
import warnings
from pathlib import Path

import pytest

import brachiate as br

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
G1 = "g1_description/urdf/g1_29dof_rev_1_0.urdf"
SIDES = {"left": 1, "right": -1}
#: Of each limb from above: names of links and joints; {s} is the side, {l} its letter, {n} a number.
STYLES = {
    "unitree": (
        "pelvis torso_link",
        "{s}_hip_yaw_link {s}_hip_roll_link {s}_hip_pitch_link {s}_knee_link {s}_ankle_pitch_link {s}_ankle_roll_link",
        "{s}_shoulder_pitch_link {s}_shoulder_roll_link {s}_shoulder_yaw_link {s}_elbow_link {s}_wrist_yaw_link {s}_wrist_roll_link",
    ),
    "talos": (
        "base_link torso_1_link",
        "leg_{s}_1_link leg_{s}_2_link leg_{s}_3_link leg_{s}_4_link leg_{s}_5_link leg_{s}_6_link",
        "arm_{s}_1_link arm_{s}_2_link arm_{s}_3_link arm_{s}_4_link arm_{s}_5_link arm_{s}_6_link",
    ),
    "icub": (
        "root_link chest",
        "{l}_hip_1 {l}_hip_2 {l}_upper_leg {l}_lower_leg {l}_ankle_1 {l}_ankle_2",
        "{l}_shoulder_1 {l}_shoulder_2 {l}_shoulder_3 {l}_elbow_1 {l}_forearm {l}_hand",
    ),
    "numbers": (
        "n0 n9",
        "n{n}1 n{n}2 n{n}3 n{n}4 n{n}5 n{n}6",
        "n{m}1 n{m}2 n{m}3 n{m}4 n{m}5 n{m}6",
    ),
}
#: Offset from the link above, axis, range [deg], of the left side.
LEG = (
    ((0, 0.1, -0.05), "0 0 1", "-60 60"), ((0, 0, 0), "1 0 0", "-40 60"), ((0, 0, 0), "0 1 0", "-120 60"),
    ((0, 0, -0.33), "0 1 0", "-2 130"), ((0, 0, -0.34), "0 1 0", "-50 40"), ((0, 0, 0), "1 0 0", "-25 25"),
)  # fmt: skip
ARM = (
    ((0, 0.2, 0.25), "0 1 0", "-180 90"), ((0, 0, 0), "1 0 0", "-30 150"), ((0, 0, 0), "0 0 1", "-120 120"),
    ((0, 0, -0.23), "0 1 0", "-140 2"), ((0, 0, -0.22), "0 0 1", "-90 90"), ((0, 0, 0), "1 0 0", "-60 60"),
)  # fmt: skip
SHAPES = {
    "leg": {3: (0, 0, -0.34), 2: (0, 0, -0.33), 5: None},
    "arm": {3: (0, 0, -0.22), 2: (0, 0, -0.23), 5: (0, 0, -0.12)},
}


def biped(style: str = "unitree", swapped: bool = False) -> br.Model:
    """The robot, 1.3 m tall; ``swapped``: what is called left is right, so it looks backwards."""
    trunk, leg, arm = (names.split() for names in STYLES[style])
    parts = []
    for limb, names, joints in (("leg", leg, LEG), ("arm", arm, ARM)):
        for k, (side, sign) in enumerate(SIDES.items()):
            words = {"s": side, "l": side[0], "n": 1 + k, "m": 3 + k}
            parts.append((limb, _limb(limb, [name.format(**words) for name in names], joints, -sign if swapped else sign)))
    legs, arms = ("".join(text for limb, text in parts if limb == kind) for kind in ("leg", "arm"))
    text = f"""<mujoco model="biped"><compiler angle="degree"/><worldbody>
      <body name="{trunk[0]}" pos="0 0 0.8"><freejoint name="root"/><geom type="box" size="0.06 0.1 0.05" mass="5"/>{legs}
        <body name="{trunk[1]}" pos="0 0 0.1"><joint name="{trunk[1]}_yaw" axis="0 0 1" range="-60 60" limited="true"/>
          <geom type="box" size="0.07 0.14 0.12" pos="0 0 0.15" mass="8"/>{arms}</body></body></worldbody></mujoco>"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "biped.xml"
        path.write_text(text)
        return br.load_model(path)


def _limb(limb: str, names: list[str], joints, sign: int) -> str:
    text, ends = "", ""
    for k, (name, ((x, y, z), axis, limits)) in enumerate(zip(names, joints, strict=True)):
        low, high = map(float, limits.split())
        if sign < 0 and axis != "0 1 0":  # mirror images: turns about x and z go the other way
            low, high = -high, -low
        end = SHAPES[limb].get(k, "none")
        shape = '<inertial pos="0 0 0" mass="0.2" diaginertia="1e-3 1e-3 1e-3"/>'
        if end is None:
            shape = '<geom type="box" size="0.1 0.04 0.02" pos="0.03 0 -0.06" mass="0.5"/>'
        elif end != "none":
            shape = f'<geom type="capsule" size="0.03" fromto="0 0 0 {end[0]} {end[1]} {end[2]}" mass="1"/>'
        text += f'<body name="{name}" pos="{x} {sign * y} {z}">{shape}'
        text += f'<joint name="{name}_joint" axis="{axis}" range="{low} {high}" limited="true"/>'
        ends += "</body>"
    return text + ends


def robot(name: str) -> br.Model:
    """A robot of example-robot-data."""
    path = ROBOTS / name
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return br.load_model(path, floating_base=True)
