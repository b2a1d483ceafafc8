"""BVH: a hierarchy of joints with their channels, and one line of numbers a frame.

Rotations are about axes that turn along, in the order of the channels. What a file counts in, and which axis is up, it does not
say: see :mod:`brachiate.clip.units_and_axes`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import MOST_JOINTS, End, Skeleton
from brachiate.clip.units_and_axes import permuted_back
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.motion_text import LARGEST, LONGEST_NAME, MOST_DEPTH, read_text, stride, table
from brachiate.validation import Array

LETTERS = {"xposition": "X", "yposition": "Y", "zposition": "Z", "xrotation": "x", "yrotation": "y", "zrotation": "z"}
WORDS = {letter: f"{word[0].upper()}{word[1:]}" for word, letter in LETTERS.items()}
SAME = 0.25  # of the bone: how near a joint's translations must be to its offset to be taken as being instead of it


@dataclass
class _Hierarchy:
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    ends: list[tuple[int, list[float]]] = field(default_factory=list)


def read_bvh(path: str | PathLike[str], *, frames: slice | None = None) -> Clip:
    """Read a BVH file as it is: in its own units and axes, all of its frames or some."""
    path = Path(path)
    return parse_bvh(read_text(path), str(path), frames)


def parse_bvh(text: str, where: str, frames: slice | None = None) -> Clip:
    """The clip of a BVH file's text; ``where`` names it in messages."""
    lines = text.splitlines()
    found, at = _hierarchy(lines, where)
    count, dt, start = _header(lines, at, where)
    channels = sum(map(len, found.channels))
    if not channels:
        raise MotionFileError(f"{where}: no joint has CHANNELS, so nothing moves. One at least must have some.")
    step = stride(frames)
    numbers = table(lines[start:], channels, where, start + 1, f"{len(found.names)} joints", frames)
    guesses = []
    if frames is None and len(numbers) != count:
        if len(numbers) < count:
            raise MotionFileError(
                f"{where}: {count} frames are announced, {len(numbers)} are there: the file was cut short. "
                f"Read those with frames=slice(0, {len(numbers)})."
            )
        guesses.append(Guess("frames", str(len(numbers)), f"the file has more than the {count} it announces"))
    if not len(numbers):
        raise MotionFileError(f"{where} has no frames. A motion has one at least.")
    rate = 1.0 / dt
    if abs(rate - round(rate)) < 1e-3 * rate and round(rate) > 0:
        rate = float(round(rate))
    guesses.append(Guess("frame rate", f"{rate:.6g} frames/s", f"Frame Time is {dt:g} s"))
    return _clip(found, numbers, rate / step, Path(where).stem, guesses)


def _hierarchy(lines: list[str], where: str) -> tuple[_Hierarchy, int]:
    """The joints, and the number of lines they take."""
    found, stack, at, waiting = _Hierarchy(), [], -1, None
    taken: dict[str, int] = {}

    def refuse(message: str) -> MotionFileError:
        return MotionFileError(f"{where} line {at + 1}: {message}")

    for at, words in _statements(lines):
        word = words[0].upper()
        if waiting is not None and word != "{":
            raise refuse(f"a '{{' was expected after the line of {_told(found, waiting)}, not {words[0][:40]!r}.")
        if word == "MOTION":
            if stack or not found.names:
                raise refuse("the motion begins before the hierarchy is complete: a '}' is missing.")
            return found, at
        if word in ("ROOT", "JOINT"):
            if word == "ROOT" and found.names:
                raise refuse("a second ROOT. Files with several figures cannot be read; split the file.")
            if word == "JOINT" and not stack:
                raise refuse("a JOINT outside of the braces of ROOT.")
            if stack and stack[-1] < 0:
                raise refuse("a JOINT within an End Site, beyond which there is nothing: a '}' is missing.")
            if len(found.names) >= MOST_JOINTS or len(stack) > MOST_DEPTH:
                raise refuse(f"more than {MOST_JOINTS} joints, or {MOST_DEPTH} within each other.")
            name = " ".join(words[1:]) or f"joint{len(found.names)}"
            if len(name) > LONGEST_NAME:
                raise refuse(f"a name of {len(name)} letters; {LONGEST_NAME} are the most.")
            found.names.append(_other(name, taken))
            found.parents.append(stack[-1] if stack else -1)
            found.offsets.append([0.0, 0.0, 0.0])
            found.channels.append("")
            waiting = len(found.names) - 1
        elif word == "END":
            if not stack or stack[-1] < 0:
                raise refuse("an End Site outside of a joint.")
            if len(found.ends) >= MOST_JOINTS:
                raise refuse(f"more than {MOST_JOINTS} End Sites.")
            found.ends.append((stack[-1], [0.0, 0.0, 0.0]))
            waiting = -1 - len(found.ends)
        elif word == "OFFSET":
            if not stack:
                raise refuse("an OFFSET outside of a joint.")
            _put_offset(found, stack[-1], words[1:], refuse)
        elif word == "CHANNELS":
            if not stack or stack[-1] < 0:
                raise refuse("CHANNELS outside of a joint.")
            found.channels[stack[-1]] = _channels(words[1:], refuse)
        elif word == "{":
            if waiting is None:
                raise refuse("a '{' that belongs to no joint.")
            stack.append(waiting)
            waiting = None
        elif word == "}":
            if not stack:
                raise refuse("a '}' too many.")
            stack.pop()
        elif word != "HIERARCHY":
            raise refuse(
                f"{words[0][:40]!r} was not expected here: HIERARCHY, ROOT, JOINT, End Site, OFFSET, CHANNELS, braces or MOTION were."
            )
    raise MotionFileError(f"{where} has no MOTION: the file was cut short, or is no BVH file.")


def _statements(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Words that belong together, and the place of their line: braces may stand beside others or alone."""
    for at, line in enumerate(lines):
        for piece in re.split(r"([{}])", line):
            if words := piece.split():
                yield at, words


def _other(name: str, taken: dict[str, int]) -> str:
    """A name that differs from all those taken: itself, or the next in a row of name', name'3, name'4, ..."""
    while name in taken:
        taken[name] += 1
        name += f"'{taken[name]}" if taken[name] > 2 else "'"
    taken[name] = 1
    return name


def _told(found: _Hierarchy, which: int) -> str:
    """A joint or an End Site, for messages."""
    return f"joint {found.names[which]!r}" if which >= 0 else f"the End Site of {found.names[found.ends[-which - 2][0]]!r}"


def _put_offset(found: _Hierarchy, which: int, words: list[str], refuse) -> None:
    try:
        offset = [float(word) for word in words]
    except ValueError:
        offset = []
    if len(offset) != 3 or not all(abs(x) <= LARGEST for x in offset):
        raise refuse(f"OFFSET needs three finite numbers, none beyond {LARGEST:g}; found {' '.join(words)[:80]!r}.")
    if which >= 0:
        found.offsets[which] = offset
    else:
        found.ends[-which - 2] = (found.ends[-which - 2][0], offset)


def _channels(words: list[str], refuse) -> str:
    letters = "".join(LETTERS.get(word.lower(), "?") for word in words[1:])
    # Not isdigit, which ² passes but int() does not; and int() refuses thousands of digits.
    if not words or not words[0].isdecimal() or len(words[0]) > 9 or int(words[0]) != len(letters) or "?" in letters:
        raise refuse(f"CHANNELS needs a number and so many of {', '.join(WORDS.values())}; found {' '.join(words)[:80]!r}.")
    if len(set(letters)) < len(letters):
        raise refuse("a channel is there twice.")
    return letters


def _header(lines: list[str], at: int, where: str) -> tuple[int, float, int]:
    """Number of frames, seconds between them, and where they begin."""
    count = dt = None
    for k in range(at + 1, min(at + 12, len(lines))):
        line = lines[k].strip().lower()
        if line.startswith("frames"):
            count = _after_colon(lines[k], int, where, k, "Frames: and a whole number")
        elif line.startswith("frame time"):
            dt = _after_colon(lines[k], float, where, k, "Frame Time: and seconds")
        elif line:
            break
        if count is not None and dt is not None:
            if count < 0 or not 1e-5 < dt < 1e3:
                raise MotionFileError(f"{where} line {k + 1}: {count} frames every {dt:g} s cannot be.")
            return count, dt, k + 1
    raise MotionFileError(f"{where} line {at + 1}: 'Frames:' and 'Frame Time:' were expected after MOTION.")


def _after_colon(line: str, kind, where: str, k: int, expected: str):
    try:
        return kind(line.partition(":")[2].strip())
    except ValueError:
        raise MotionFileError(f"{where} line {k + 1}: {expected} were expected, not {line.strip()[:60]!r}.") from None


def _clip(found: _Hierarchy, numbers: Array, rate: float, name: str, guesses: list[Guess]) -> Clip:
    f, n = len(numbers), len(found.names)
    q = np.broadcast_to(rotations.NONE, (f, n, 4)).copy()
    offsets = np.array(found.offsets, float)
    places = np.broadcast_to(offsets, (f, n, 3)).copy()
    at, alike = 0, defaultdict(list)
    added = []
    for j, letters in enumerate(found.channels):
        moving = [(k, "XYZ".index(letter)) for k, letter in enumerate(letters) if letter in "XYZ"]
        if moving:
            values = numbers[:, [at + k for k, _ in moving]]
            axes = [axis for _, axis in moving]
            if j > 0 and _is_added(values, offsets[j][axes], float(np.linalg.norm(offsets[j]))):
                values = values + offsets[j][axes]
                added.append(found.names[j])
            places[:, j, axes] = values
        alike["".join(letter for letter in letters if letter in "xyz")].append((j, [at + k for k, x in enumerate(letters) if x in "xyz"]))
        at += len(letters)
    for order, joints in alike.items():
        if order:
            which = [j for j, _ in joints]
            q[:, which] = rotations.from_euler(order, np.radians(numbers[:, [columns for _, columns in joints]]))
    if added:
        guesses.append(Guess("translations", "added to offsets", f"those of {', '.join(added[:4])} are far from their offsets"))
    skeleton = Skeleton(tuple(found.names), tuple(found.parents), offsets, tuple(End(j, np.array(x)) for j, x in found.ends))
    return Clip(skeleton, np.arange(f) / rate, q, places, name, tuple(guesses), Origin("BVH", channels=tuple(found.channels)))


def _is_added(values: Array, offset: Array, bone: float) -> bool:
    """Whether translations of a joint are on top of its offset: they are then nearer to nothing than to it."""
    away = np.median(np.linalg.norm(values - offset, axis=1))
    return bool(away > SAME * max(bone, 1e-12) and np.median(np.linalg.norm(values, axis=1)) < away)


def write_bvh(clip: Clip, path: str | PathLike[str]) -> None:
    """Write a BVH file: as the clip's own file had it, or in centimetres with y up and channels ZXY."""
    Path(path).write_text(format_bvh(clip), encoding="utf-8")


def format_bvh(clip: Clip) -> str:
    """The text of a BVH file; see :func:`write_bvh`."""
    skeleton = clip.skeleton
    was = clip.origin if clip.origin and clip.origin.format == "BVH" and len(clip.origin.channels) == len(skeleton) else None
    unit, up = (was.unit, was.up) if was else (0.01, "y")
    channels = was.channels if was else ("XYZzxy", *("zxy",) * (len(skeleton) - 1))
    offsets = permuted_back(skeleton.offsets, up) / unit
    places = permuted_back(clip.places, up) / unit
    q = np.concatenate((clip.turns[..., :1], permuted_back(clip.turns[..., 1:], up)), axis=-1)
    alike = defaultdict(list)
    for j, letters in enumerate(channels):
        alike["".join(letter for letter in letters if letter in "xyz")].append(j)
    angles = {}
    for order, which in alike.items():
        found = _angles(order, q[:, which], [skeleton.names[j] for j in which])
        angles |= {(j, x): found[:, k, order.index(x)] for k, j in enumerate(which) for x in order}
    columns = [places[:, j, "XYZ".index(x)] if x in "XYZ" else angles[j, x] for j in skeleton.depth_first for x in channels[j]]
    rate = clip.rate or 1.0
    lines = ["HIERARCHY", *_joint_lines(skeleton, offsets, channels, unit, up, 0, ""), "MOTION", f"Frames: {len(clip)}"]
    lines.append(f"Frame Time: {1.0 / rate:.10g}")
    rows = np.array(columns).T
    lines += [" ".join(f"{x:.9g}" for x in row) for row in rows + 0.0]
    return "\n".join(lines) + "\n"


def _angles(order: str, q: Array, names: list[str]) -> Array:
    """Angles [deg] of the rotation channels of joints that have the same; refuses what too few of them cannot say."""
    if len(order) == 3:
        return np.degrees(rotations.to_euler(order, q))
    rest = "".join(letter for letter in "xyz" if letter not in order)
    angles = rotations.to_euler(order + rest, q)
    beyond = np.abs(angles[..., len(order) :]).max(axis=(0, 2))
    if beyond.max() > 1e-5:
        worst = int(np.argmax(beyond))
        raise MotionError(
            f"Joint {names[worst]!r} has only the channels {order!r} and turns by {np.degrees(beyond[worst]):.2g} degrees about others."
        )
    return np.degrees(angles[..., : len(order)])


def _joint_lines(skeleton: Skeleton, offsets: Array, channels: tuple[str, ...], unit: float, up: str, j: int, indent: str) -> list[str]:
    """A joint and all below it; ``j`` is drawn with its children in the order they have."""
    inner = indent + "\t"
    lines = [f"{indent}{'JOINT' if j else 'ROOT'} {skeleton.names[j]}", indent + "{", inner + "OFFSET " + _three(offsets[j])]
    lines.append(f"{inner}CHANNELS {len(channels[j])} {' '.join(WORDS[letter] for letter in channels[j])}".rstrip())
    for child in skeleton.children[j]:
        lines += _joint_lines(skeleton, offsets, channels, unit, up, child, inner)
    for end in skeleton.ends:
        if end.joint == j:
            lines += [inner + "End Site", inner + "{", f"{inner}\tOFFSET {_three(permuted_back(end.offset, up) / unit)}", inner + "}"]
    lines.append(indent + "}")
    return lines


def _three(v: Array) -> str:
    return " ".join(f"{x:.9g}" for x in np.asarray(v) + 0.0)
