"""BVH: a hierarchy of joints with their channels, and one line of numbers per frame.

Rotations are intrinsic, in the order of the channels. The file states neither its unit of length nor its up axis: see
:mod:`brachiate.clip.units_and_axes`.
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
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import MAX_JOINTS, End, Skeleton
from brachiate.clip.units_and_axes import from_z_up
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.atomic import write_text
from brachiate.io.limits import MAX_JOINT_NESTING, MAX_MAGNITUDE, MAX_NAME_LENGTH
from brachiate.io.motion_text import check_count, comma_hint, frame_step, no_frames, parse_numbers, read_text
from brachiate.io.number_text import format_rows
from brachiate.validation import Array

LETTERS = {"xposition": "X", "yposition": "Y", "zposition": "Z", "xrotation": "x", "yrotation": "y", "zrotation": "z"}
WORDS = {letter: f"{word[0].upper()}{word[1:]}" for word, letter in LETTERS.items()}
OFFSET_TOLERANCE = 0.25  # share of the bone length up to which the translations of a joint replace its offset


@dataclass
class _Hierarchy:
    """Joints and End Sites, as lists in the order of the file."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    ends: list[tuple[int, list[float]]] = field(default_factory=list)


def read_bvh(path: str | PathLike[str], *, frames: slice | None = None) -> Clip:
    """Read a BVH file in its own units and axes, all or some of its frames."""
    path = Path(path)
    return parse_bvh(read_text(path), str(path), frames)


def parse_bvh(text: str, where: str, frames: slice | None = None) -> Clip:
    """Parse the text of a BVH file; ``where`` names it in messages."""
    lines = text.splitlines()
    found, at = _HierarchyParser(where).parse(lines)
    count, dt, start = _header(lines, at, where)
    channels = sum(map(len, found.channels))
    if not channels:
        raise MotionFileError(f"{where}: no joint has CHANNELS, so nothing moves. At least one must have some.")
    step = frame_step(frames)
    if frames is None:
        check_count(count, channels, f"{where} line {start - 1}", "frames")
    numbers = parse_numbers(lines[start:], channels, where, start + 1, f"{len(found.names)} joints", frames)
    assumptions = []
    if frames is None and len(numbers) != count:
        if len(numbers) < count:
            raise MotionFileError(
                f"{where}: {count} frames are announced, the file has {len(numbers)}: it was cut short. "
                f"Read those with frames=slice(0, {len(numbers)})."
            )
        assumptions.append(Assumption("frames", str(len(numbers)), f"the file has more than the {count} that it announces"))
    if not len(numbers):
        raise no_frames(where, frames, sum(1 for line in lines[start:] if line.strip()))
    rate = 1.0 / dt
    if abs(rate - round(rate)) < 1e-3 * rate and round(rate) > 0:
        rate = float(round(rate))
    assumptions.append(Assumption("frame rate", f"{rate:.6g} frames/s", f"Frame Time is {dt:g} s"))
    return _clip(found, numbers, rate / step, Path(where).stem, assumptions)


class _HierarchyParser:
    """Parser of the HIERARCHY section, statement by statement.

    The stack holds the open joints by index, and End Sites as -2 - index; ``opened`` is the one whose '{' is expected next.
    """

    def __init__(self, where: str) -> None:
        self.where, self.line, self.found = where, 0, _Hierarchy()
        self.stack: list[int] = []
        self.opened: int | None = None
        self.taken: dict[str, int] = {}

    def error(self, message: str) -> MotionFileError:
        return MotionFileError(f"{self.where} line {self.line}: {message}")

    def parse(self, lines: list[str]) -> tuple[_Hierarchy, int]:
        """Return the joints, and the index of the line of MOTION."""
        handlers = {
            "ROOT": self.begin_joint, "JOINT": self.begin_joint, "END": self.begin_end_site, "OFFSET": self.set_offset,
            "CHANNELS": self.set_channels, "{": self.open_brace, "}": self.close_brace, "HIERARCHY": lambda _words: None,
        }  # fmt: skip
        for at, words in _statements(lines):
            self.line, word = at + 1, words[0].upper()
            if self.opened is not None and word != "{":
                raise self.error(f"a '{{' was expected after the line of {self.describe(self.opened)}, not {words[0][:40]!r}.")
            if word == "MOTION":
                if self.stack or not self.found.names:
                    raise self.error("the motion begins before the hierarchy is complete: a '}' is missing.")
                return self.found, at
            if word not in handlers:
                raise self.error(
                    f"{words[0][:40]!r} is not valid here; expected HIERARCHY, ROOT, JOINT, End Site, OFFSET, CHANNELS, braces or MOTION."
                )
            handlers[word](words)
        raise MotionFileError(f"{self.where} has no MOTION: the file was cut short, or is not a BVH file.")

    def describe(self, which: int) -> str:
        """Joint or End Site, for messages."""
        found = self.found
        return f"joint {found.names[which]!r}" if which >= 0 else f"the End Site of {found.names[found.ends[-which - 2][0]]!r}"

    def begin_joint(self, words: list[str]) -> None:
        found, stack = self.found, self.stack
        if words[0].upper() == "ROOT" and found.names:
            raise self.error("a second ROOT. Files with several figures are not supported; split the file.")
        if words[0].upper() == "JOINT" and not stack:
            raise self.error("a JOINT outside of the braces of ROOT.")
        if stack and stack[-1] < 0:
            raise self.error("a JOINT within an End Site: a '}' is missing.")
        if len(found.names) >= MAX_JOINTS or len(stack) > MAX_JOINT_NESTING:
            raise self.error(f"more than {MAX_JOINTS} joints, or more than {MAX_JOINT_NESTING} nested in each other.")
        name = " ".join(words[1:]) or f"joint{len(found.names)}"
        if len(name) > MAX_NAME_LENGTH:
            raise self.error(f"a name of {len(name)} characters; at most {MAX_NAME_LENGTH} are allowed.")
        found.names.append(_unique_name(name, self.taken))
        found.parents.append(stack[-1] if stack else -1)
        found.offsets.append([0.0, 0.0, 0.0])
        found.channels.append("")
        self.opened = len(found.names) - 1

    def begin_end_site(self, _words: list[str]) -> None:
        if not self.stack or self.stack[-1] < 0:
            raise self.error("an End Site outside of a joint.")
        if len(self.found.ends) >= MAX_JOINTS:
            raise self.error(f"more than {MAX_JOINTS} End Sites.")
        self.found.ends.append((self.stack[-1], [0.0, 0.0, 0.0]))
        self.opened = -1 - len(self.found.ends)

    def set_offset(self, words: list[str]) -> None:
        if not self.stack:
            raise self.error("an OFFSET outside of a joint.")
        try:
            offset = [float(word) for word in words[1:]]
        except ValueError:
            offset = []
        hint = next(filter(None, map(comma_hint, words[1:])), "")
        if len(offset) != 3 or not all(abs(x) <= MAX_MAGNITUDE for x in offset):
            raise self.error(f"OFFSET needs three finite numbers, none beyond {MAX_MAGNITUDE:g}; found {' '.join(words[1:])[:80]!r}.{hint}")
        which, ends = self.stack[-1], self.found.ends
        if which >= 0:
            self.found.offsets[which] = offset
        else:
            ends[-which - 2] = (ends[-which - 2][0], offset)

    def set_channels(self, words: list[str]) -> None:
        if not self.stack or self.stack[-1] < 0:
            raise self.error("CHANNELS outside of a joint.")
        letters = "".join(LETTERS.get(word.lower(), "?") for word in words[2:])
        count = words[1] if len(words) > 1 else ""
        # Not isdigit, which ² passes but int() does not; and int() refuses thousands of digits.
        if not count.isdecimal() or len(count) > 9 or int(count) != len(letters) or "?" in letters:
            channels = ", ".join(WORDS.values())
            raise self.error(f"CHANNELS needs a number and that many of {channels}; found {' '.join(words[1:])[:80]!r}.")
        if len(set(letters)) < len(letters):
            raise self.error("a channel occurs twice.")
        self.found.channels[self.stack[-1]] = letters

    def open_brace(self, _words: list[str]) -> None:
        if self.opened is None:
            raise self.error("a '{' that belongs to no joint.")
        self.stack.append(self.opened)
        self.opened = None

    def close_brace(self, _words: list[str]) -> None:
        if not self.stack:
            raise self.error("a '}' too many.")
        self.stack.pop()


def _statements(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Words of each statement, with the index of its line; braces may share a line with other statements."""
    for at, line in enumerate(lines):
        for piece in re.split(r"([{}])", line):
            if words := piece.split():
                yield at, words


def _unique_name(name: str, taken: dict[str, int]) -> str:
    """Return an unused name: the name itself, or the next of name', name'3, name'4, ..."""
    while name in taken:
        taken[name] += 1
        name += f"'{taken[name]}" if taken[name] > 2 else "'"
    taken[name] = 1
    return name


def _header(lines: list[str], at: int, where: str) -> tuple[int, float, int]:
    """Number of frames, frame time [s], and index of the first line of frames."""
    count = dt = None
    for k in range(at + 1, min(at + 12, len(lines))):
        line = lines[k].strip().lower()
        if line.startswith("frames"):
            count = _after_colon(lines[k], int, where, k, "'Frames:' and an integer")
        elif line.startswith("frame time"):
            dt = _after_colon(lines[k], float, where, k, "'Frame Time:' and seconds")
        elif line:
            break
        if count is not None and dt is not None:
            if count < 0 or not 1e-5 < dt < 1e3:
                raise MotionFileError(f"{where} line {k + 1}: {count} frames of {dt:g} s are not possible.")
            return count, dt, k + 1
    raise MotionFileError(f"{where} line {at + 1}: 'Frames:' and 'Frame Time:' were expected after MOTION.")


def _after_colon(line: str, kind, where: str, k: int, expected: str):
    try:
        return kind(line.partition(":")[2].strip())
    except ValueError:
        hint = comma_hint(line.partition(":")[2].strip())
        raise MotionFileError(f"{where} line {k + 1}: {expected} were expected, not {line.strip()[:60]!r}.{hint}") from None


def _clip(found: _Hierarchy, numbers: Array, rate: float, name: str, assumptions: list[Assumption]) -> Clip:
    f, n = len(numbers), len(found.names)
    q = np.broadcast_to(rotations.IDENTITY, (f, n, 4)).copy()
    offsets = np.array(found.offsets, float)
    translations = np.broadcast_to(offsets, (f, n, 3)).copy()
    at, by_order = 0, defaultdict(list)
    added = []
    for j, letters in enumerate(found.channels):
        moving = [(k, "XYZ".index(letter)) for k, letter in enumerate(letters) if letter in "XYZ"]
        if moving:
            values = numbers[:, [at + k for k, _ in moving]]
            axes = [axis for _, axis in moving]
            if j > 0 and _is_added(values, offsets[j][axes], float(np.linalg.norm(offsets[j]))):
                values = values + offsets[j][axes]
                added.append(found.names[j])
            translations[:, j, axes] = values
        by_order["".join(letter for letter in letters if letter in "xyz")].append(
            (j, [at + k for k, x in enumerate(letters) if x in "xyz"])
        )
        at += len(letters)
    for order, joints in by_order.items():
        if order:
            which = [j for j, _ in joints]
            q[:, which] = rotations.from_euler(order, np.radians(numbers[:, [columns for _, columns in joints]]))
    if added:
        assumptions.append(Assumption("translations", "added to offsets", f"those of {', '.join(added[:4])} are far from their offsets"))
    skeleton = Skeleton(tuple(found.names), tuple(found.parents), offsets, tuple(End(j, np.array(x)) for j, x in found.ends))
    return Clip(skeleton, np.arange(f) / rate, q, translations, name, tuple(assumptions), Origin("BVH", channels=tuple(found.channels)))


def _is_added(values: Array, offset: Array, bone: float) -> bool:
    """Whether the translations of a joint are relative to its offset: then they are closer to zero than to the offset."""
    distance = np.median(np.linalg.norm(values - offset, axis=1))
    return bool(distance > OFFSET_TOLERANCE * max(bone, 1e-12) and np.median(np.linalg.norm(values, axis=1)) < distance)


def write_bvh(clip: Clip, path: str | PathLike[str]) -> None:
    """Write a BVH file: with the conventions of the clip's own BVH file, or in centimeters with y up and channels ZXY."""
    write_text(path, format_bvh(clip), "the motion")


def format_bvh(clip: Clip) -> str:
    """Return the text of a BVH file; see :func:`write_bvh`."""
    skeleton = clip.skeleton
    origin = clip.origin if clip.origin and clip.origin.format == "BVH" and len(clip.origin.channels) == len(skeleton) else None
    unit, up = (origin.unit, origin.up) if origin else (0.01, "y")
    channels = origin.channels if origin else ("XYZzxy", *("zxy",) * (len(skeleton) - 1))
    offsets = from_z_up(skeleton.offsets, up) / unit
    translations = from_z_up(clip.translations, up) / unit
    q = np.concatenate((clip.rotations[..., :1], from_z_up(clip.rotations[..., 1:], up)), axis=-1)
    by_order = defaultdict(list)
    for j, letters in enumerate(channels):
        by_order["".join(letter for letter in letters if letter in "xyz")].append(j)
    angles = {}
    for order, which in by_order.items():
        found = _angles(order, q[:, which], [skeleton.names[j] for j in which])
        angles |= {(j, x): found[:, k, order.index(x)] for k, j in enumerate(which) for x in order}
    columns = [translations[:, j, "XYZ".index(x)] if x in "XYZ" else angles[j, x] for j in skeleton.depth_first for x in channels[j]]
    rate = clip.rate or 1.0
    lines = ["HIERARCHY", *_joint_lines(skeleton, offsets, channels, unit, up, 0, ""), "MOTION", f"Frames: {len(clip)}"]
    lines.append(f"Frame Time: {1.0 / rate:.10g}")
    return "\n".join(lines) + "\n" + format_rows(np.array(columns).T + 0.0, " ")


def _angles(order: str, q: Array, names: list[str]) -> Array:
    """Angles [deg] of joints with the same rotation channels; an error if these cannot represent the rotation."""
    if len(order) == 3:
        return np.degrees(rotations.to_euler(order, q))
    rest = "".join(letter for letter in "xyz" if letter not in order)
    angles = rotations.to_euler(order + rest, q)
    beyond = np.abs(angles[..., len(order) :]).max(axis=(0, 2))
    if beyond.max() > 1e-5:
        worst = int(np.argmax(beyond))
        raise MotionError(
            f"Joint {names[worst]!r} has only the channels {order!r}, "
            f"but rotates by {np.degrees(beyond[worst]):.2g} degrees about other axes."
        )
    return np.degrees(angles[..., : len(order)])


def _joint_lines(skeleton: Skeleton, offsets: Array, channels: tuple[str, ...], unit: float, up: str, j: int, indent: str) -> list[str]:
    """Lines of a joint and its descendants."""
    inner = indent + "\t"
    lines = [f"{indent}{'JOINT' if j else 'ROOT'} {skeleton.names[j]}", indent + "{", inner + "OFFSET " + _format_vector(offsets[j])]
    lines.append(f"{inner}CHANNELS {len(channels[j])} {' '.join(WORDS[letter] for letter in channels[j])}".rstrip())
    for child in skeleton.children[j]:
        lines += _joint_lines(skeleton, offsets, channels, unit, up, child, inner)
    for end in skeleton.ends:
        if end.joint == j:
            lines += [inner + "End Site", inner + "{", f"{inner}\tOFFSET {_format_vector(from_z_up(end.offset, up) / unit)}", inner + "}"]
    lines.append(indent + "}")
    return lines


def _format_vector(v: Array) -> str:
    return " ".join(f"{x:.9g}" for x in np.asarray(v) + 0.0)
