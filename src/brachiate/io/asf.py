"""ASF, Acclaim's skeletons of bones; their motions are in :mod:`brachiate.io.amc`.

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
from brachiate.assumptions import Guess
from brachiate.clip.skeleton import MOST_JOINTS, End, Skeleton
from brachiate.errors import MotionFileError
from brachiate.io.motion_text import LONGEST_NAME, MOST_DEPTH, number, read_text
from brachiate.validation import Array

LETTERS = {"tx": "X", "ty": "Y", "tz": "Z", "rx": "x", "ry": "y", "rz": "z"}
MOST_ASF_BYTES = 16 * 2**20
Section = Sequence[tuple[int, list[str]]]  # numbers of lines, and their words


@dataclass(frozen=True)
class AsfSkeleton:
    """What an ASF file says about the motions that go with it.

    Args:
        skeleton: A joint at the beginning of every bone, the root first.
        channels: For each joint the letters of its numbers in a motion: capitals are positions.
        axes: Rotations from each bone's own axes to the file's: (n, 4).
        place: Where the root is before it moves: (3,).
        degrees: Whether angles are in degrees, and not in radians.
        guesses: What was assumed.
    """

    skeleton: Skeleton
    channels: tuple[str, ...]
    axes: Array
    place: Array
    degrees: bool
    guesses: tuple[Guess, ...] = ()


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
        """Where the bone ends, seen from where it begins."""
        size = float(np.linalg.norm(self.direction))
        return self.length * np.array(self.direction) / (size or 1.0)


def read_asf(path: str | PathLike[str]) -> AsfSkeleton:
    """Read the skeleton of an ASF file as it is, in its own units and axes."""
    path = Path(path)
    return parse_asf(read_text(path, MOST_ASF_BYTES), str(path))


def parse_asf(text: str, where: str) -> AsfSkeleton:
    """The skeleton of an ASF file's text; ``where`` names it in messages."""
    sections = _sections(text, where)
    for name in ("root", "bonedata", "hierarchy"):
        if name not in sections:
            raise MotionFileError(f"{where} has no section ':{name}': the file was cut short, or is no ASF file.")
    degrees = _degrees(sections.get("units", ()), where)
    root = _root(sections["root"], where)
    bones = {"root": root, **_bones(sections["bonedata"], where)}
    names, parents = _tree(sections["hierarchy"], bones, where)
    ordered = [bones[name] for name in names]
    offsets = np.array([ordered[p].tip if p >= 0 else np.zeros(3) for p in parents])
    ends = tuple(End(j, bone.tip) for j, bone in enumerate(ordered) if j and j not in parents)
    scale = np.pi / 180.0 if degrees else 1.0
    axes = np.array([about_fixed_axes(bone.order, scale * np.array(bone.axis)) for bone in ordered])
    guesses = ()
    if any(root.axis):
        guesses = (Guess("orientation of the root", "axes of its angles", "the file turns the root, and leaves open what that means"),)
    return AsfSkeleton(
        Skeleton(names, parents, offsets, ends), tuple(bone.channels for bone in ordered), axes, np.array(root.place), degrees, guesses
    )


def refused(where: str, line: int, message: str) -> MotionFileError:
    """An error that says where it is."""
    return MotionFileError(f"{where} line {line}: {message}")


def _sections(text: str, where: str) -> Mapping[str, Section]:
    """Lines by the word with a colon they stand below, without comments."""
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
            raise refused(where, k, f"{words[0][:40]!r} was not expected here: an ASF file begins with a section such as ':version'.")
        if words:
            current.append((k, words))
    return found


def _degrees(section: Section, where: str) -> bool:
    for line, words in section:
        if words[0].lower() == "angle":
            unit = words[1].lower() if len(words) > 1 else ""
            if unit[:3] not in ("deg", "rad"):
                raise refused(where, line, f"the unit of angles is 'deg' or 'rad', not {unit[:40]!r}.")
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
        raise refused(where, root.line, "the root needs 'order' and the order of its numbers, such as 'order TX TY TZ RX RY RZ'.")
    return root


def _bones(section: Section, where: str) -> Mapping[str, _Bone]:
    found: dict[str, _Bone] = {}
    bone = None
    for line, words in section:
        key = words[0].lower()
        if key == "begin":
            if bone is not None:
                raise refused(where, line, f"a bone begins before that of line {bone.line} ends: 'end' is missing.")
            bone = _Bone(line)
        elif bone is None:
            raise refused(where, line, f"{words[0][:40]!r} was not expected here, outside of a bone: 'begin' was.")
        elif key == "end":
            _check(bone, found, where)
            found[bone.name] = bone
            bone = None
        else:
            _say(bone, key, words, where, line)
    if bone is not None:
        raise refused(where, bone.line, "this bone has no 'end': the file was cut short.")
    return found


def _say(bone: _Bone, key: str, words: list[str], where: str, line: int) -> None:
    """Put what a line says into a bone."""
    if key == "name":
        bone.name = " ".join(words[1:])
    elif key == "direction":
        bone.direction = _three(words, where, line)
    elif key == "length":
        if len(words) != 2:
            raise refused(where, line, f"'length' needs one number; found {' '.join(words[1:])[:80]!r}.")
        bone.length = number(words[1], where, line)
    elif key == "axis":
        bone.axis = _three(words[:4], where, line)
        bone.order = _order(words[4:] or ["xyz"], where, line)
    elif key == "dof":
        bone.channels = _channels(words[1:], where, line)
        if not bone.channels.islower():
            raise refused(where, line, f"bone {bone.name!r} moves along an axis. Only the root may; others turn: rx, ry, rz.")


def _check(bone: _Bone, found: Mapping[str, _Bone], where: str) -> None:
    if not bone.name or len(bone.name) > LONGEST_NAME or len(bone.name.split()) > 1:
        raise refused(where, bone.line, f"a bone needs a 'name': one word of {LONGEST_NAME} letters at most; found {bone.name[:40]!r}.")
    if bone.name in found or bone.name == "root":
        raise refused(where, bone.line, f"a second bone is named {bone.name!r}. Names must differ.")
    if len(found) >= MOST_JOINTS - 1:
        raise refused(where, bone.line, f"more than {MOST_JOINTS - 1} bones.")
    if bone.length < 0.0 or (bone.length > 0.0 and not any(bone.direction)):
        raise refused(where, bone.line, f"bone {bone.name!r} needs a length of 0 or more, and a direction that is not zero.")


def _three(words: list[str], where: str, line: int) -> Sequence[float]:
    if len(words) != 4:
        raise refused(where, line, f"{words[0]!r} needs three numbers; found {' '.join(words[1:])[:80]!r}.")
    return tuple(number(word, where, line) for word in words[1:])


def _order(words: list[str], where: str, line: int) -> str:
    order = "".join(words).lower()
    if sorted(order) != ["x", "y", "z"]:
        raise refused(where, line, f"an order of axes is three letters such as 'XYZ', not {order[:40]!r}.")
    return order


def _channels(words: list[str], where: str, line: int) -> str:
    letters = "".join(LETTERS.get(word.lower(), "?") for word in words)
    if not letters or "?" in letters or len(set(letters)) < len(letters):
        raise refused(where, line, f"some of {', '.join(LETTERS)} were expected, each once; found {' '.join(words)[:80]!r}.")
    return letters


def _tree(section: Section, bones: Mapping[str, _Bone], where: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of joints, parents before children, and the place of each one's parent."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, str] = {}
    for line, (first, *others) in section:
        if first.lower() in ("begin", "end") and not others:
            continue
        for name in (first, *others):
            if name not in bones:
                raise refused(where, line, f"there is no bone {name[:40]!r} in ':bonedata'.")
        for name in others:
            if name in above or name == "root":
                raise refused(where, line, f"bone {name!r} hangs on {first!r} here, and on {above.get(name, 'nothing')!r} before.")
            above[name] = first
            below[first].append(name)
    names, parents, depths, waiting = [], [], [], [("root", -1)]
    while waiting:
        name, parent = waiting.pop()
        waiting += [(child, len(names)) for child in reversed(below[name])]
        names.append(name)
        parents.append(parent)
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    if max(depths) > MOST_DEPTH:
        raise MotionFileError(f"{where}: more than {MOST_DEPTH} bones hang on each other in a row.")
    lost = [name for name in bones if name not in set(names)]
    if lost:
        raise refused(where, bones[lost[0]].line, f"bone {lost[0]!r} hangs on nothing: ':hierarchy' does not lead from the root to it.")
    return tuple(names), tuple(parents)


def about_fixed_axes(order: str, angles: Array) -> Array:
    """Rotations about axes that stay, the first one first: the same as about axes that turn along, the last one first."""
    return rotations.from_euler(order[::-1], angles[..., ::-1])
