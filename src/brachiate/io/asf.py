"""ASF and AMC, Acclaim's pair of files: a skeleton of bones, and the motions of it.

A bone has a direction and a length in the file's axes, and axes of its own, in which its angles are. Angles follow each other about
axes that stay: the first one is done first. The joint of a bone is where the bone begins, so ``lfemur`` is the left hip. What the
numbers count in, and which axis is up, is left to :mod:`brachiate.clip.settle`: the ``length`` of the units is a scale that files
use in different ways. Limits, masses and skins are passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate.clip import turns
from brachiate.clip.clip import Clip, Guess, Origin
from brachiate.clip.skeleton import MOST_JOINTS, End, Skeleton
from brachiate.doors import Array
from brachiate.errors import MotionError, MotionFileError, suggest
from brachiate.io.motion_text import LONGEST_NAME, MOST_DEPTH, MOST_NUMBERS, intact, number, read_text, stride

RATE = 120.0  # [1/s] of nearly all there are
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


class _Block(NamedTuple):
    """A frame of a motion: the number it has, and its lines, counted from 0."""

    count: int
    start: int
    stop: int


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
    axes = np.array([_fixed(bone.order, scale * np.array(bone.axis)) for bone in ordered])
    guesses = ()
    if any(root.axis):
        guesses = (Guess("orientation of the root", "axes of its angles", "the file turns the root, and leaves open what that means"),)
    return AsfSkeleton(
        Skeleton(names, parents, offsets, ends), tuple(bone.channels for bone in ordered), axes, np.array(root.place), degrees, guesses
    )


def _refused(where: str, line: int, message: str) -> MotionFileError:
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
            raise _refused(where, k, f"{words[0][:40]!r} was not expected here: an ASF file begins with a section such as ':version'.")
        if words:
            current.append((k, words))
    return found


def _degrees(section: Section, where: str) -> bool:
    for line, words in section:
        if words[0].lower() == "angle":
            unit = words[1].lower() if len(words) > 1 else ""
            if unit[:3] not in ("deg", "rad"):
                raise _refused(where, line, f"the unit of angles is 'deg' or 'rad', not {unit[:40]!r}.")
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
        raise _refused(where, root.line, "the root needs 'order' and the order of its numbers, such as 'order TX TY TZ RX RY RZ'.")
    return root


def _bones(section: Section, where: str) -> Mapping[str, _Bone]:
    found: dict[str, _Bone] = {}
    bone = None
    for line, words in section:
        key = words[0].lower()
        if key == "begin":
            if bone is not None:
                raise _refused(where, line, f"a bone begins before that of line {bone.line} ends: 'end' is missing.")
            bone = _Bone(line)
        elif bone is None:
            raise _refused(where, line, f"{words[0][:40]!r} was not expected here, outside of a bone: 'begin' was.")
        elif key == "end":
            _check(bone, found, where)
            found[bone.name] = bone
            bone = None
        else:
            _say(bone, key, words, where, line)
    if bone is not None:
        raise _refused(where, bone.line, "this bone has no 'end': the file was cut short.")
    return found


def _say(bone: _Bone, key: str, words: list[str], where: str, line: int) -> None:
    """Put what a line says into a bone."""
    if key == "name":
        bone.name = " ".join(words[1:])
    elif key == "direction":
        bone.direction = _three(words, where, line)
    elif key == "length":
        if len(words) != 2:
            raise _refused(where, line, f"'length' needs one number; found {' '.join(words[1:])[:80]!r}.")
        bone.length = number(words[1], where, line)
    elif key == "axis":
        bone.axis = _three(words[:4], where, line)
        bone.order = _order(words[4:] or ["xyz"], where, line)
    elif key == "dof":
        bone.channels = _channels(words[1:], where, line)
        if not bone.channels.islower():
            raise _refused(where, line, f"bone {bone.name!r} moves along an axis. Only the root may; others turn: rx, ry, rz.")


def _check(bone: _Bone, found: Mapping[str, _Bone], where: str) -> None:
    if not bone.name or len(bone.name) > LONGEST_NAME or len(bone.name.split()) > 1:
        raise _refused(where, bone.line, f"a bone needs a 'name': one word of {LONGEST_NAME} letters at most; found {bone.name[:40]!r}.")
    if bone.name in found or bone.name == "root":
        raise _refused(where, bone.line, f"a second bone is named {bone.name!r}. Names must differ.")
    if len(found) >= MOST_JOINTS - 1:
        raise _refused(where, bone.line, f"more than {MOST_JOINTS - 1} bones.")
    if bone.length < 0.0 or (bone.length > 0.0 and not any(bone.direction)):
        raise _refused(where, bone.line, f"bone {bone.name!r} needs a length of 0 or more, and a direction that is not zero.")


def _three(words: list[str], where: str, line: int) -> Sequence[float]:
    if len(words) != 4:
        raise _refused(where, line, f"{words[0]!r} needs three numbers; found {' '.join(words[1:])[:80]!r}.")
    return tuple(number(word, where, line) for word in words[1:])


def _order(words: list[str], where: str, line: int) -> str:
    order = "".join(words).lower()
    if sorted(order) != ["x", "y", "z"]:
        raise _refused(where, line, f"an order of axes is three letters such as 'XYZ', not {order[:40]!r}.")
    return order


def _channels(words: list[str], where: str, line: int) -> str:
    letters = "".join(LETTERS.get(word.lower(), "?") for word in words)
    if not letters or "?" in letters or len(set(letters)) < len(letters):
        raise _refused(where, line, f"some of {', '.join(LETTERS)} were expected, each once; found {' '.join(words)[:80]!r}.")
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
                raise _refused(where, line, f"there is no bone {name[:40]!r} in ':bonedata'.")
        for name in others:
            if name in above or name == "root":
                raise _refused(where, line, f"bone {name!r} hangs on {first!r} here, and on {above.get(name, 'nothing')!r} before.")
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
        raise _refused(where, bones[lost[0]].line, f"bone {lost[0]!r} hangs on nothing: ':hierarchy' does not lead from the root to it.")
    return tuple(names), tuple(parents)


def _fixed(order: str, angles: Array) -> Array:
    """Rotations about axes that stay, the first one first: the same as about axes that turn along, the last one first."""
    return turns.from_euler(order[::-1], angles[..., ::-1])


def read_amc(
    path: str | PathLike[str], skeleton_path: str | PathLike[str] | None = None, *, frames: slice | None = None, rate: float | None = None
) -> Clip:
    """Read an AMC file as it is, in its own units and axes.

    Args:
        path: The motion.
        skeleton_path: Its ASF file. By default the one in the same folder whose name is that of the motion up to an underscore
            (``01.asf`` for ``01_01.amc``), or else the only one there.
        frames: Which frames; all by default.
        rate: Frames a second; by default what the file says, and 120 if it says nothing.
    """
    path = Path(path)
    text = read_text(path)
    guesses = []
    if skeleton_path is None:
        skeleton_path, why = _skeleton_beside(path)
        guesses.append(Guess("skeleton", skeleton_path.name, why, "skeleton_path"))
    return parse_amc(text, str(path), read_asf(skeleton_path), frames=frames, rate=rate, guesses=guesses)


def _skeleton_beside(path: Path) -> tuple[Path, str]:
    """The ASF file that belongs to a motion, and why."""
    try:
        there = sorted(file for file in path.parent.iterdir() if file.suffix.lower() == ".asf")
    except OSError:
        there = []  # a folder whose files may be read, but not listed
    parts = path.stem.split("_")
    for k in range(len(parts), 0, -1):
        for file in there:
            if file.stem == "_".join(parts[:k]):
                return file, f"it is in the same folder, and {path.name} begins with its name"
    if len(there) == 1:
        return there[0], "it is the only ASF file in the same folder"
    told = "there is no ASF file beside it" if not there else f"none of {', '.join(file.name for file in there[:6])} beside it has its name"
    raise MotionFileError(f"{path}: an AMC file needs its skeleton, and {told}. Say where it is: skeleton_path='subject.asf'.")


def parse_amc(
    text: str, where: str, skeleton: AsfSkeleton, *, frames: slice | None = None, rate: float | None = None, guesses: Sequence[Guess] = ()
) -> Clip:
    """The clip of an AMC file's text; ``where`` names it in messages, and the rest is as for :func:`read_amc`."""
    step = stride(frames)
    lines = text.splitlines()
    header, blocks = _blocks(lines, where)
    chosen = blocks if frames is None else blocks[frames]
    if not chosen:
        raise MotionFileError(f"{where}: no frames. A motion has one at least; {len(blocks)} are in the file.")
    found = [*guesses, *skeleton.guesses]
    rate = _rate(header, rate, where, found)
    numbers = _numbers(lines, chosen, skeleton, where)
    still = np.isnan(numbers[0])
    if still.any():
        names = [name for name, at in _columns(skeleton).items() if still[at].any()]
        found.append(Guess("bones without motion", ", ".join(names[:6]), "they could turn, but the file has no lines for them"))
    counts = np.array([block.count for block in chosen])
    if (np.diff(counts) != step).any():
        found.append(Guess("frames", "some are missing", "their numbers jump; times are as they say"))
    degrees = skeleton.degrees if header.keys().isdisjoint(("degrees", "radians")) else "degrees" in header
    q, places = _moved(np.nan_to_num(numbers), skeleton, degrees)
    origin = Origin("AMC", channels=skeleton.channels)
    return Clip(skeleton.skeleton, (counts - counts[0]) / rate, q, places, Path(where).stem, tuple(found), origin)


def _blocks(lines: list[str], where: str) -> tuple[Mapping[str, tuple[int, list[str]]], list[_Block]]:
    """Words with a colon before the first frame, with their line and what follows them; and where the frames are."""
    header: dict[str, tuple[int, list[str]]] = {}
    starts: list[tuple[int, int]] = []
    for k, line in enumerate(lines):
        word = line.strip()
        if word.isdecimal():
            if len(word) > 9 or (starts and int(word) <= starts[-1][0]):
                raise _refused(where, k + 1, f"frame {word[:40]} after {starts[-1][0] if starts else 'none'}: numbers of frames must grow.")
            starts.append((int(word), k + 1))
        elif not starts and word and word[0] != "#":
            if word[0] != ":":
                raise _refused(where, k + 1, f"{word[:40]!r} was not expected here: a word with a colon, or the number of a frame was.")
            first, *others = word[1:].lower().split() or [""]
            header[first] = (k + 1, others)
    stops = [start - 1 for _, start in starts[1:]] + [len(lines)]
    return header, [_Block(count, start, stop) for (count, start), stop in zip(starts, stops)]


def _rate(header: Mapping[str, tuple[int, list[str]]], given: float | None, where: str, guesses: list[Guess]) -> float:
    if given is not None:
        if not 1e-3 <= given <= 1e5:
            raise MotionError(f"rate={given!r} is no number of frames a second: one from 0.001 to 100000 was expected.")
        return float(given)
    if "samples-per-second" in header:
        line, words = header["samples-per-second"]
        rate = number(words[0], where, line) if len(words) == 1 else 0.0
        if not 1e-3 <= rate <= 1e5:
            raise _refused(where, line, "':SAMPLES-PER-SECOND' needs a number from 0.001 to 100000. Or say it: rate=120.")
        guesses.append(Guess("frame rate", f"{rate:g} frames/s", "the file says so", "rate"))
        return rate
    guesses.append(Guess("frame rate", f"{RATE:g} frames/s", "the file does not say it, and most were recorded so", "rate"))
    return RATE


def _columns(skeleton: AsfSkeleton) -> Mapping[str, slice]:
    """Where the numbers of each bone are in a row of them all."""
    ends = np.cumsum([len(letters) for letters in skeleton.channels])
    return {name: slice(int(end) - len(x), int(end)) for name, x, end in zip(skeleton.skeleton.names, skeleton.channels, ends)}


def _numbers(lines: list[str], blocks: Sequence[_Block], skeleton: AsfSkeleton, where: str) -> Array:
    """A row of numbers for each frame; NaN for bones that no frame has."""
    columns = _columns(skeleton)
    width = sum(map(len, skeleton.channels))
    if width * len(blocks) > MOST_NUMBERS:
        raise MotionFileError(f"{where}: {len(blocks)} frames of {width} numbers are more than can be read ({MOST_NUMBERS} numbers).")
    rows: list[Array] = []
    for block in blocks:
        row = np.full(width, np.nan)
        for k in range(block.start, block.stop):
            words = lines[k].split()
            if words and words[0][0] != "#":
                _put(row, words, columns, where, k + 1, len(rows))
        expected = np.isnan(rows[0]) if rows else np.arange(width) >= len(skeleton.channels[0])
        if (np.isnan(row) & ~expected).any():
            lost = next(name for name, at in columns.items() if (np.isnan(row[at]) & ~expected[at]).any())
            raise _refused(where, block.start, f"frame {block.count} has no line for {lost!r}.{intact(len(rows))}")
        if (np.isnan(row) != expected).any() and rows:
            raise _refused(where, block.start, f"frame {block.count} has lines for bones that frame {blocks[0].count} has none for.")
        rows.append(row)
    return np.array(rows)


def _put(row: Array, words: list[str], columns: Mapping[str, slice], where: str, line: int, before: int) -> None:
    """Put the numbers of a bone's line into a row."""
    at = columns.get(words[0])
    if at is None:
        raise _refused(
            where, line, f"{words[0][:40]!r} is no bone of the skeleton.{suggest(words[0][:40], columns)} Is it the right ASF file?"
        )
    if len(words) - 1 != at.stop - at.start:
        found = f"{at.stop - at.start} numbers expected for {words[0]!r}, {len(words) - 1} found."
        raise _refused(where, line, found + intact(before))
    if at.start < at.stop and not np.isnan(row[at.start]):
        raise _refused(where, line, f"a second line for {words[0]!r} in the same frame.{intact(before)}")
    row[at] = [number(word, where, line) for word in words[1:]]


def _moved(numbers: Array, skeleton: AsfSkeleton, degrees: bool) -> tuple[Array, Array]:
    """Rotations and places of all joints in their parents."""
    f, n = len(numbers), len(skeleton.skeleton)
    q = np.broadcast_to(turns.NONE, (f, n, 4)).copy()
    places = np.broadcast_to(skeleton.skeleton.offsets, (f, n, 3)).copy()
    places[:, 0] = skeleton.place
    alike = defaultdict(list)
    for j, (letters, at) in enumerate(zip(skeleton.channels, _columns(skeleton).values())):
        alike["".join(x for x in letters if x.islower())].append((j, [at.start + k for k, x in enumerate(letters) if x.islower()]))
        for k, x in enumerate(letters):
            if x.isupper():
                places[:, j, "XYZ".index(x)] += numbers[:, at.start + k]
    for order, joints in alike.items():
        if order:
            which, taken = [j for j, _ in joints], [columns for _, columns in joints]
            M = _fixed(order, (np.pi / 180.0 if degrees else 1.0) * numbers[:, taken])
            C = skeleton.axes[which]
            q[:, which] = turns.product(turns.product(C, M), turns.inverse(C))
    return q, places
