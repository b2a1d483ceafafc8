"""ASF: Acclaim skeletons; their motions are in :mod:`brachiate.io.amc`.

A bone has a direction and a length in the file's axes, and axes of its own, in which its angles are. Angles follow each other about
axes that stay: the first one is done first. The joint of a bone is where the bone begins, so ``lfemur`` is the left hip. What the
numbers count in, and which axis is up, is left to :mod:`brachiate.clip.units_and_axes`: the ``length`` of the units is a scale that files
use in different ways. Limits, masses and skins are passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.clip.skeleton import MAX_JOINTS, End, Skeleton
from brachiate.errors import MotionFileError
from brachiate.io.limits import MAX_JOINT_NESTING, MAX_NAME_LENGTH
from brachiate.io.motion_text import parse_number, read_text
from brachiate.validation import Array

LETTERS = {"tx": "X", "ty": "Y", "tz": "Z", "rx": "x", "ry": "y", "rz": "z"}
MOST_ASF_BYTES = 16 * 2**20
Section = Sequence[tuple[int, list[str]]]  # numbers of lines, and their words


@dataclass(frozen=True)
class AsfSkeleton:
    """Skeleton of an ASF file, with what its AMC motions need.

    Args:
        skeleton: A joint at the beginning of every bone, the root first.
        channels: For each joint the letters of its numbers in a motion: capitals are positions.
        axes: Rotations from each bone's own axes to the file's: (n, 4).
        place: Where the root is before it moves: (3,).
        degrees: Whether angles are in degrees, and not in radians.
        assumptions: What was assumed.
    """

    skeleton: Skeleton
    channels: tuple[str, ...]
    axes: Array
    place: Array
    degrees: bool
    assumptions: tuple[Assumption, ...] = ()


@dataclass
class _Bone:
    line: int
    name: str = ""
    direction: Sequence[float] = (0.0, 0.0, 0.0)
    length: float = 0.0
    axis: Sequence[float] = (0.0, 0.0, 0.0)
    order: str = "xyz"
    channels: str = ""
    place: Sequence[float] = (0.0, 0.0, 0.0)

    @property
    def tip(self) -> Array:
        """End of the bone relative to its beginning."""
        size = float(np.linalg.norm(self.direction))
        return self.length * np.array(self.direction) / (size or 1.0)


def read_asf(path: str | PathLike[str]) -> AsfSkeleton:
    """Read the skeleton of an ASF file in its own units and axes."""
    path = Path(path)
    return parse_asf(read_text(path, MOST_ASF_BYTES), str(path))


def parse_asf(text: str, where: str) -> AsfSkeleton:
    """Parse the text of an ASF file; ``where`` names it in messages."""
    sections = _sections(text, where)
    for name in ("root", "bonedata", "hierarchy"):
        if name not in sections:
            raise MotionFileError(f"{where} has no section ':{name}': the file was cut short, or is not an ASF file.")
    degrees = _degrees(sections.get("units", ()), where)
    root = _root(sections["root"], where)
    bones = {"root": root, **_bones(sections["bonedata"], where)}
    names, parents = _tree(sections["hierarchy"], bones, where)
    ordered = [bones[name] for name in names]
    offsets = np.array([ordered[p].tip if p >= 0 else np.zeros(3) for p in parents])
    ends = tuple(End(j, bone.tip) for j, bone in enumerate(ordered) if j and j not in parents)
    scale = np.pi / 180.0 if degrees else 1.0
    axes = np.array([from_extrinsic_euler(bone.order, scale * np.array(bone.axis)) for bone in ordered])
    assumptions = ()
    if any(root.axis):
        assumptions = (
            Assumption("orientation of the root", "axes of its angles", "the file turns the root, and leaves open what that means"),
        )
    return AsfSkeleton(
        Skeleton(names, parents, offsets, ends), tuple(bone.channels for bone in ordered), axes, np.array(root.place), degrees, assumptions
    )


def line_error(where: str, line: int, message: str) -> MotionFileError:
    """Error with file name and line."""
    return MotionFileError(f"{where} line {line}: {message}")


def _sections(text: str, where: str) -> Mapping[str, Section]:
    """Lines by section, without comments."""
    found: dict[str, list[tuple[int, list[str]]]] = {}
    current: list[tuple[int, list[str]]] | None = None
    for k, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0].startswith(":"):
            current = found.setdefault(words[0][1:].lower(), [])
            words = words[1:]
        elif current is None:
            raise line_error(where, k, f"{words[0][:40]!r} was not expected here: an ASF file begins with a section such as ':version'.")
        if words:
            current.append((k, words))
    return found


def _degrees(section: Section, where: str) -> bool:
    for line, words in section:
        if words[0].lower() == "angle":
            unit = words[1].lower() if len(words) > 1 else ""
            if unit[:3] not in ("deg", "rad"):
                raise line_error(where, line, f"the unit of angles is 'deg' or 'rad', not {unit[:40]!r}.")
            return unit[:3] == "deg"
    return True


def _root(section: Section, where: str) -> _Bone:
    root = _Bone(section[0][0] if section else 1, "root")
    for line, words in section:
        key = words[0].lower()
        if key == "order":
            root.channels = _channels(words[1:], where, line)
        elif key == "axis":
            root.order = _order(words[1:], where, line)
        elif key == "position":
            root.place = _three(words, where, line)
        elif key == "orientation":
            root.axis = _three(words, where, line)
    if not root.channels:
        raise line_error(where, root.line, "the root needs 'order' and the order of its numbers, such as 'order TX TY TZ RX RY RZ'.")
    return root


def _bones(section: Section, where: str) -> Mapping[str, _Bone]:
    found: dict[str, _Bone] = {}
    bone = None
    for line, words in section:
        key = words[0].lower()
        if key == "begin":
            if bone is not None:
                raise line_error(where, line, f"a bone begins before that of line {bone.line} ends: 'end' is missing.")
            bone = _Bone(line)
        elif bone is None:
            raise line_error(where, line, f"{words[0][:40]!r} is not valid outside of a bone; expected 'begin'.")
        elif key == "end":
            _check(bone, found, where)
            found[bone.name] = bone
            bone = None
        else:
            _set_field(bone, key, words, where, line)
    if bone is not None:
        raise line_error(where, bone.line, "this bone has no 'end': the file was cut short.")
    return found


def _set_field(bone: _Bone, key: str, words: list[str], where: str, line: int) -> None:
    """Set a field of a bone from a line."""
    if key == "name":
        bone.name = " ".join(words[1:])
    elif key == "direction":
        bone.direction = _three(words, where, line)
    elif key == "length":
        if len(words) != 2:
            raise line_error(where, line, f"'length' needs one number; found {' '.join(words[1:])[:80]!r}.")
        bone.length = parse_number(words[1], where, line)
    elif key == "axis":
        bone.axis = _three(words[:4], where, line)
        bone.order = _order(words[4:] or ["xyz"], where, line)
    elif key == "dof":
        bone.channels = _channels(words[1:], where, line)
        if not bone.channels.islower():
            raise line_error(where, line, f"bone {bone.name!r} has translations. Only the root may; others have rotations: rx, ry, rz.")


def _check(bone: _Bone, found: Mapping[str, _Bone], where: str) -> None:
    if not bone.name or len(bone.name) > MAX_NAME_LENGTH or len(bone.name.split()) > 1:
        raise line_error(
            where, bone.line, f"a bone needs a 'name': one word of {MAX_NAME_LENGTH} characters at most; found {bone.name[:40]!r}."
        )
    if bone.name in found or bone.name == "root":
        raise line_error(where, bone.line, f"a second bone is named {bone.name!r}. Names must differ.")
    if len(found) >= MAX_JOINTS - 1:
        raise line_error(where, bone.line, f"more than {MAX_JOINTS - 1} bones.")
    if bone.length < 0.0 or (bone.length > 0.0 and not any(bone.direction)):
        raise line_error(where, bone.line, f"bone {bone.name!r} needs a length of 0 or more, and a direction that is not zero.")


def _three(words: list[str], where: str, line: int) -> Sequence[float]:
    if len(words) != 4:
        raise line_error(where, line, f"{words[0]!r} needs three numbers; found {' '.join(words[1:])[:80]!r}.")
    return tuple(parse_number(word, where, line) for word in words[1:])


def _order(words: list[str], where: str, line: int) -> str:
    order = "".join(words).lower()
    if sorted(order) != ["x", "y", "z"]:
        raise line_error(where, line, f"an order of axes is three letters such as 'XYZ', not {order[:40]!r}.")
    return order


def _channels(words: list[str], where: str, line: int) -> str:
    letters = "".join(LETTERS.get(word.lower(), "?") for word in words)
    if not letters or "?" in letters or len(set(letters)) < len(letters):
        raise line_error(where, line, f"some of {', '.join(LETTERS)} were expected, each once; found {' '.join(words)[:80]!r}.")
    return letters


def _tree(section: Section, bones: Mapping[str, _Bone], where: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of joints, parents before children, and the index of the parent of each."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, str] = {}
    for line, (first, *others) in section:
        if first.lower() in ("begin", "end") and not others:
            continue
        for name in (first, *others):
            if name not in bones:
                raise line_error(where, line, f"there is no bone {name[:40]!r} in ':bonedata'.")
        for name in others:
            if name in above or name == "root":
                raise line_error(where, line, f"bone {name!r} has the parent {first!r} here, and {above.get(name, 'none')!r} before.")
            above[name] = first
            below[first].append(name)
    names, parents, depths, waiting = [], [], [], [("root", -1)]
    while waiting:
        name, parent = waiting.pop()
        waiting += [(child, len(names)) for child in reversed(below[name])]
        names.append(name)
        parents.append(parent)
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    if max(depths) > MAX_JOINT_NESTING:
        raise MotionFileError(f"{where}: more than {MAX_JOINT_NESTING} bones are nested in each other.")
    lost = [name for name in bones if name not in set(names)]
    if lost:
        raise line_error(where, bones[lost[0]].line, f"bone {lost[0]!r} is not connected: ':hierarchy' does not lead from the root to it.")
    return tuple(names), tuple(parents)


def from_extrinsic_euler(order: str, angles: Array) -> Array:
    """Rotations by extrinsic Euler angles: the same as intrinsic ones in reverse order."""
    return rotations.from_euler(order[::-1], angles[..., ::-1])
