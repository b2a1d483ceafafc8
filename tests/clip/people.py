"""Synthetic human skeletons in the naming conventions of common tools, with simple motions."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.skeleton import End, Skeleton

#: Names of joints by role and naming convention; a role without a name is missing. {s} is the side.
DIALECTS = {
    "motionbuilder": (
        "Hips Spine Spine1 Neck Head",
        "{s}UpLeg {s}Leg {s}Foot {s}ToeBase {s}Shoulder {s}Arm {s}ForeArm {s}Hand",
        ("Left", "Right"),
    ),
    "mixamo": (
        "mixamorig:Hips mixamorig:Spine mixamorig:Spine1 mixamorig:Neck mixamorig:Head",
        "mixamorig:{s}UpLeg mixamorig:{s}Leg mixamorig:{s}Foot mixamorig:{s}ToeBase mixamorig:{s}Shoulder mixamorig:{s}Arm "
        "mixamorig:{s}ForeArm mixamorig:{s}Hand",
        ("Left", "Right"),
    ),
    "asf": (
        "root lowerback thorax lowerneck head",
        "{s}femur {s}tibia {s}foot {s}toes {s}clavicle {s}humerus {s}radius {s}wrist",
        ("l", "r"),
    ),
    "smpl": (
        "Pelvis Spine1 Spine2 Neck Head",
        "{s}_Hip {s}_Knee {s}_Ankle {s}_Foot {s}_Collar {s}_Shoulder {s}_Elbow {s}_Wrist",
        ("L", "R"),
    ),
    "xsens": (
        "Hips Chest Chest2 Neck Head",
        "{s}Hip {s}Knee {s}Ankle {s}Toe {s}Collar {s}Shoulder {s}Elbow {s}Wrist",
        ("Left", "Right"),
    ),
    "mvn": (
        "Pelvis L5 T8 Neck Head",
        "{s}UpperLeg {s}LowerLeg {s}Foot {s}Toe {s}Shoulder {s}UpperArm {s}ForeArm {s}Hand",
        ("Left", "Right"),
    ),
    "bandai": (
        "Hips Spine Chest Neck Head",
        "UpperLeg_{s} LowerLeg_{s} Foot_{s} Toes_{s} Shoulder_{s} UpperArm_{s} LowerArm_{s} Hand_{s}",
        ("L", "R"),
    ),
    "biped": (
        "Bip01 Pelvis|Bip01 Spine|Bip01 Spine1|Bip01 Neck|Bip01 Head",
        "Bip01 {s} Thigh|Bip01 {s} Calf|Bip01 {s} Foot|Bip01 {s} Toe0|"
        "Bip01 {s} Clavicle|Bip01 {s} UpperArm|Bip01 {s} Forearm|Bip01 {s} Hand",
        ("L", "R"),
    ),
}  # fmt: skip
LIMB_ROLES = ("hip", "knee", "ankle", "toe", "clavicle", "shoulder", "elbow", "wrist")
MIDDLE_ROLES = ("pelvis", "spine", "spine2", "neck", "head")

# A person of 1.75 m in a T-pose: offsets from the parent, x forward, y left, z up [m].
_MIDDLE = {"pelvis": (0, 0, 0), "spine": (0, 0, 0.12), "spine2": (0, 0, 0.18), "neck": (0, 0, 0.24), "head": (0.01, 0, 0.10)}
_LEFT = {
    "hip": (0, 0.085, -0.02), "knee": (0, 0, -0.43), "ankle": (0, 0, -0.43), "toe": (0.13, 0, -0.05), "clavicle": (0, 0.03, 0.20),
    "shoulder": (0, 0.15, 0), "elbow": (0, 0.28, 0), "wrist": (0, 0.26, 0),
}  # fmt: skip


def names_of(dialect: str) -> dict[str, str]:
    """Names of joints by role."""
    middle, limb, sides = DIALECTS[dialect]
    cut = (lambda text: text.split("|")) if "|" in middle else str.split
    names = dict(zip(MIDDLE_ROLES, cut(middle), strict=True))
    for side, word in zip(("left", "right"), sides, strict=True):
        names |= {f"{side}_{role}": name for role, name in zip(LIMB_ROLES, cut(limb.format(s=word)), strict=True)}
    return names


def skeleton_of(dialect: str = "motionbuilder", size: float = 1.0, fingers: bool = True) -> tuple[Skeleton, dict[str, str]]:
    """The skeleton, and the names of its joints by role."""
    by_role = names_of(dialect)
    names, parents, offsets, ends = [], [], [], []

    def add(role: str, parent: str | None, offset) -> None:
        names.append(by_role[role])
        parents.append(names.index(by_role[parent]) if parent else -1)
        offsets.append(offset)

    above = None
    for role in MIDDLE_ROLES:
        add(role, above, _MIDDLE[role])
        above = role
    ends.append(End(names.index(by_role["head"]), size * np.array((0, 0, 0.2))))
    for side, s in (("left", 1), ("right", -1)):
        for role in LIMB_ROLES:
            k = LIMB_ROLES.index(role)
            parent = "pelvis" if role == "hip" else "spine2" if role == "clavicle" else f"{side}_{LIMB_ROLES[k - 1]}"
            x, y, z = _LEFT[role]
            add(f"{side}_{role}", parent, (x, s * y, z))
        ends.append(End(names.index(by_role[f"{side}_toe"]), size * np.array((0.07, 0, 0))))
        if fingers:
            names.append(f"{by_role[f'{side}_wrist']}Index1")
            parents.append(names.index(by_role[f"{side}_wrist"]))
            offsets.append((0, s * 0.09, 0))
        ends.append(End(len(names) - 1 if fingers else names.index(by_role[f"{side}_wrist"]), size * np.array((0, s * 0.05, 0))))
    return Skeleton(tuple(names), tuple(parents), size * np.array(offsets, float), tuple(ends)), by_role


def stepping(dialect: str = "motionbuilder", frames: int = 60, rate: float = 60.0, size: float = 1.0) -> Clip:
    """Walking on the spot: knees and elbows flex about one axis each, all other joints sway."""
    skeleton, names = skeleton_of(dialect, size)
    t = np.arange(frames) / rate
    q = np.broadcast_to(rotations.IDENTITY, (frames, len(skeleton), 4)).copy()
    place = {role: skeleton.index(name) for role, name in names.items()}
    sway = 0.1 * np.sin(2 * np.pi * t)
    for role in ("pelvis", "spine", "spine2", "neck", "head"):
        q[:, place[role]] = rotations.from_euler("zxy", np.stack((sway, 0.5 * sway, 0.3 * sway), axis=-1))
    for side, s in (("left", 1.0), ("right", -1.0)):
        swing = 0.4 * np.sin(2 * np.pi * t) * s
        lift = np.clip(swing, 0, None)
        q[:, place[f"{side}_hip"]] = rotations.from_euler("yxz", np.stack((-lift, 0.05 * swing, 0.1 * swing), axis=-1))
        q[:, place[f"{side}_knee"]] = rotations.about_axis(1, 2 * lift)
        q[:, place[f"{side}_ankle"]] = rotations.from_euler("yx", np.stack((-lift, -0.05 * swing), axis=-1))
        q[:, place[f"{side}_shoulder"]] = rotations.from_euler("xyz", np.stack((-s * 1.3 + 0 * t, 0.3 * swing, 0.1 * swing), axis=-1))
        q[:, place[f"{side}_elbow"]] = rotations.about_axis(2, -s * (0.3 + 0.2 * swing))
        q[:, place[f"{side}_wrist"]] = rotations.from_euler("xz", np.stack((0.1 * swing, 0.1 * sway), axis=-1))
    translations = np.broadcast_to(skeleton.offsets, (frames, len(skeleton), 3)).copy()
    translations[:, 0] = size * np.array((0, 0, 0.955)) + np.stack((0.02 * np.sin(t), 0.02 * np.cos(t), 0 * t), axis=-1)
    return Clip(skeleton, t, q, translations, "stepping")
