"""Anatomical roles of the joints of a skeleton, by their names in the conventions of common tools, or given by the user.

A name is split into words (``LeftUpLeg``, ``L_Hip``, ``Shoulder_L``, ``mixamorig:LeftArm``, ``lfemur``), the side is removed, and the
rest is looked up. Some words mean different joints in different conventions; then the other names decide (:data:`SHIFTS`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from brachiate import validation
from brachiate.clip.skeleton import Skeleton
from brachiate.errors import MotionError

SIDES = ("left", "right")
LIMBS = ("hip", "knee", "ankle", "toe", "clavicle", "shoulder", "elbow", "wrist")
#: All roles: joints of the trunk and of each side.
ROLES = ("pelvis", "spine", "neck", "head", *(f"{side}_{joint}" for side in SIDES for joint in LIMBS))

WORDS: Mapping[str, tuple[str, ...]] = {
    "pelvis": ("hips", "pelvis", "root", "hip", "pelvic", "hipmaster"),
    "spine": (
        "spine", "chest", "upperchest", "lowerback", "upperback", "back", "thorax", "torso", "abdomen", "waist", "trunk", "l5", "l3", "t12",
        "t8", "spinelower", "spineupper", "ribcage",
    ),
    "neck": ("neck", "lowerneck", "upperneck"),
    "head": ("head",),
    "hip": ("upleg", "upperleg", "thigh", "femur", "hip"),
    "knee": ("leg", "lowerleg", "lowleg", "shin", "calf", "tibia", "knee", "shank"),
    "ankle": ("ankle", "foot"),
    "toe": ("toe", "toes", "toebase", "ball", "toesbase", "forefoot", "toeroot", "metatarsal"),
    "clavicle": ("clavicle", "collar", "collarbone"),
    "shoulder": ("arm", "upperarm", "uparm", "humerus", "shoulder"),
    "elbow": ("forearm", "lowerarm", "lowarm", "radius", "elbow"),
    "wrist": ("wrist", "hand"),
}  # fmt: skip
#: A word means another joint if the skeleton has another word for its usual meaning: (word, other meaning, other words).
CONDITIONAL_WORDS = (
    ("shoulder", "clavicle", ("arm", "upperarm", "uparm", "humerus")),
    ("foot", "toe", ("ankle",)),
    ("hand", "", ("wrist",)),
)
#: Words of joints that only carry others, at the same position as a joint.
HELPER_JOINTS = ("hipjoint",)


@dataclass(frozen=True)
class JointRoles:
    """Anatomical roles of the joints of a skeleton.

    Args:
        joints: Index of the joint of each role; ``spine`` and ``neck`` are the lowest of theirs.
        spine: All joints of the trunk between pelvis and neck, from below.
        necks: All joints of the neck, from below.
        unknown: Names of joints of the trunk without a role.
    """

    joints: Mapping[str, int]
    spine: tuple[int, ...]
    necks: tuple[int, ...]
    unknown: tuple[str, ...]

    def __getitem__(self, role: str) -> int:
        return validation.lookup(self.joints, role, "role found", "this skeleton")

    def __contains__(self, role: str) -> bool:
        return role in self.joints

    def missing(self) -> list[str]:
        """Missing roles that are required to build a body."""
        needed = ("pelvis", "head", *(f"{side}_{joint}" for side in SIDES for joint in ("hip", "knee", "ankle", "shoulder", "elbow")))
        return [role for role in needed if role not in self.joints]


def split_name(name: str) -> tuple[str, str]:
    """Side (or empty) and the rest of a joint's name, in lower case, without namespace prefix and digits."""
    name = re.sub(r"^.*[:|]", "", name)
    name = re.sub(r"^(bip\d*|mixamorig\d*|character\d*|joint|j|b|def|org)[ _.-]+", "", name, flags=re.I)
    cut = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    cut = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", cut)
    words = [word.lower() for word in re.split(r"[\s_.\-]+", cut) if word]
    side = ""
    rest = []
    for word in words:
        if not side and word in ("left", "right", "l", "r"):
            side = {"l": "left", "r": "right"}.get(word, word)
        else:
            rest.append(word)
    word = "".join(rest)
    if not side and word[:1] in ("l", "r") and _known(word[1:]):
        side, word = {"l": "left", "r": "right"}[word[0]], word[1:]
    for full in ("left", "right"):
        if not side and word.startswith(full):
            side, word = full, word[len(full) :]
    if word not in ("l5", "l3", "t12", "t8"):
        word = re.sub(r"\d+$", "", word)
    return side, word


def _known(word: str) -> bool:
    word = re.sub(r"\d+$", "", word)
    return word in HELPER_JOINTS or any(word in words for role, words in WORDS.items() if role in LIMBS)


def find_joint_roles(skeleton: Skeleton, given: Mapping[str, str] | None = None) -> JointRoles:
    """Return the roles of the joints of a skeleton.

    Args:
        skeleton: The skeleton.
        given: Names of joints by role, where the names are missing or misleading.
    """
    parts = [split_name(name) for name in skeleton.names]
    present = {(side, word) for side, word in parts}
    joints: dict[str, int] = {}
    spine: list[int] = []
    necks: list[int] = []
    for j, (side, word) in enumerate(parts):
        role = _role(side, word, present)
        if role == "spine":
            spine.append(j)
        elif role == "neck":
            necks.append(j)
        if role and role not in joints and _descends_from_its_limb(skeleton, joints, role, j):
            joints[role] = j
    if "pelvis" not in joints:
        joints["pelvis"] = 0
    for role, name in validation.mapping({} if given is None else given, "roles", "names of joints by role").items():
        validation.one_of(role, ROLES, "role")
        joints[role] = skeleton.index(name)
    _check(skeleton, joints)
    known = set(joints.values()) | set(spine) | set(necks)
    limbs = [j for role, j in joints.items() if role.partition("_")[2] in ("wrist", "toe", "ankle", "elbow") or role == "head"]
    tails = {k for j in limbs for k in skeleton.below(j)}
    unknown = tuple(
        name for j, name in enumerate(skeleton.names) if j not in known and j not in tails and parts[j][1] not in HELPER_JOINTS and j > 0
    )
    return JointRoles(joints, tuple(spine), tuple(necks), unknown)


def _role(side: str, word: str, present: set[tuple[str, str]]) -> str:
    """Role of a name, or empty."""
    for shifted, then, others in CONDITIONAL_WORDS:
        if word == shifted and any((side, other) in present for other in others):
            return f"{side}_{then}" if side and then else ""
    for role, words in WORDS.items():
        sided = role in LIMBS
        if word in words and sided == bool(side):
            return f"{side}_{role}" if sided else role
    return ""


def _descends_from_its_limb(skeleton: Skeleton, joints: Mapping[str, int], role: str, j: int) -> bool:
    """Whether a joint descends from the joints above its role: a second ``foot`` beside the leg does not."""
    side, _, joint = role.partition("_")
    order = ("hip", "knee", "ankle", "toe") if joint in ("hip", "knee", "ankle", "toe") else ("clavicle", "shoulder", "elbow", "wrist")
    above = [joints[f"{side}_{k}"] for k in order[: order.index(joint)] if f"{side}_{k}" in joints] if joint in order else []
    chain = skeleton.chain(j)
    return all(k in chain for k in above)


def _check(skeleton: Skeleton, joints: Mapping[str, int]) -> None:
    """Refuse roles that contradict the hierarchy of the skeleton."""
    for side in SIDES:
        for limb in (("hip", "knee", "ankle", "toe"), ("clavicle", "shoulder", "elbow", "wrist")):
            found = [(joint, joints[f"{side}_{joint}"]) for joint in limb if f"{side}_{joint}" in joints]
            for (above, a), (below, b) in pairwise(found):
                if a == b or a not in skeleton.chain(b):
                    raise MotionError(
                        f"{skeleton.names[b]!r} cannot be the {side} {below}: it is not a descendant of {skeleton.names[a]!r}, "
                        f"the {side} {above}. Give the names of the joints with roles=."
                    )
