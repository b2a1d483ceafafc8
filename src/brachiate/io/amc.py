"""AMC: motions of ASF skeletons; per frame one line for each bone, with its numbers in the order of the skeleton."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, Origin
from brachiate.errors import MotionError, MotionFileError, suggest
from brachiate.io.asf import AsfSkeleton, from_extrinsic_euler, line_error, read_asf
from brachiate.io.limits import MAX_NUMBERS
from brachiate.io.motion_text import frame_step, intact_frames_hint, no_frames, parse_number, read_text
from brachiate.validation import Array

DEFAULT_RATE = 120.0  # [Hz] of nearly all files


class _Block(NamedTuple):
    """Frame of a motion: its number, and the range of its lines, from 0."""

    count: int
    start: int
    stop: int


def read_amc(
    path: str | PathLike[str], skeleton: str | PathLike[str] | None = None, *, frames: slice | None = None, rate: float | None = None
) -> Clip:
    """Read an AMC file in its own units and axes.

    Args:
        path: The motion.
        skeleton: Its ASF file. By default the one in the same folder whose name is that of the motion up to an underscore
            (``01.asf`` for ``01_01.amc``), or else the only one there.
        frames: Selection of frames; by default all.
        rate: Frames a second; by default what the file says, and 120 if it says nothing.
    """
    path = Path(path)
    text = read_text(path)
    assumptions = []
    if skeleton is None:
        skeleton, why = _skeleton_beside(path)
        assumptions.append(Assumption("skeleton", skeleton.name, why, "skeleton"))
    return parse_amc(text, str(path), read_asf(skeleton), frames=frames, rate=rate, assumptions=assumptions)


def _skeleton_beside(path: Path) -> tuple[Path, str]:
    """ASF file of a motion, and the reason for the choice."""
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
    problem = (
        "there is no ASF file beside it" if not there else f"none of {', '.join(file.name for file in there[:6])} beside it has its name"
    )
    raise MotionFileError(f"{path}: an AMC file needs its skeleton, and {problem}. Give it: skeleton='subject.asf'.")


def parse_amc(
    text: str,
    where: str,
    skeleton: AsfSkeleton,
    *,
    frames: slice | None = None,
    rate: float | None = None,
    assumptions: Sequence[Assumption] = (),
) -> Clip:
    """Parse the text of an AMC file; ``where`` names it in messages, other arguments as for :func:`read_amc`."""
    step = frame_step(frames)
    lines = text.splitlines()
    header, blocks = _blocks(lines, where)
    chosen = blocks if frames is None else blocks[frames]
    if not chosen:
        raise no_frames(where, frames, len(blocks))
    found = [*assumptions, *skeleton.assumptions]
    rate = _rate(header, rate, where, found)
    numbers = _numbers(lines, chosen, skeleton, where)
    still = np.isnan(numbers[0])
    if still.any():
        names = [name for name, at in _columns(skeleton).items() if still[at].any()]
        found.append(
            Assumption("bones without motion", ", ".join(names[:6]), "they have degrees of freedom, but the file has no lines for them")
        )
    counts = np.array([block.count for block in chosen])
    if (np.diff(counts) != step).any():
        found.append(Assumption("frames", "some are missing", "frame numbers are not consecutive; times follow the numbers"))
    degrees = skeleton.degrees if header.keys().isdisjoint(("degrees", "radians")) else "degrees" in header
    q, translations = _local_poses(np.nan_to_num(numbers), skeleton, degrees)
    origin = Origin("AMC", channels=skeleton.channels)
    return Clip(skeleton.skeleton, (counts - counts[0]) / rate, q, translations, Path(where).stem, tuple(found), origin)


def _blocks(lines: list[str], where: str) -> tuple[Mapping[str, tuple[int, list[str]]], list[_Block]]:
    """Keywords before the first frame, with their line and arguments; and the frames."""
    header: dict[str, tuple[int, list[str]]] = {}
    starts: list[tuple[int, int]] = []
    for k, line in enumerate(lines):
        word = line.strip()
        if word.isdecimal():
            if len(word) > 9 or (starts and int(word) <= starts[-1][0]):
                raise line_error(
                    where, k + 1, f"frame {word[:40]} after {starts[-1][0] if starts else 'none'}: frame numbers must increase."
                )
            starts.append((int(word), k + 1))
        elif not starts and word and word[0] != "#":
            if word[0] != ":":
                raise line_error(where, k + 1, f"{word[:40]!r} is not valid here; expected a word with a colon, or the number of a frame.")
            first, *others = word[1:].lower().split() or [""]
            header[first] = (k + 1, others)
    stops = [start - 1 for _, start in starts[1:]] + [len(lines)]
    return header, [_Block(count, start, stop) for (count, start), stop in zip(starts, stops)]


def _rate(header: Mapping[str, tuple[int, list[str]]], given: float | None, where: str, assumptions: list[Assumption]) -> float:
    if given is not None:
        if not 1e-3 <= given <= 1e5:
            raise MotionError(f"rate={given!r} is not a number of frames per second: one from 0.001 to 100000 was expected.")
        return float(given)
    if "samples-per-second" in header:
        line, words = header["samples-per-second"]
        rate = parse_number(words[0], where, line) if len(words) == 1 else 0.0
        if not 1e-3 <= rate <= 1e5:
            raise line_error(where, line, "':SAMPLES-PER-SECOND' needs a number from 0.001 to 100000. Or say it: rate=120.")
        assumptions.append(Assumption("frame rate", f"{rate:g} frames/s", "stated in the file", "rate"))
        return rate
    assumptions.append(
        Assumption("frame rate", f"{DEFAULT_RATE:g} frames/s", "the file does not state it, and most were recorded so", "rate")
    )
    return DEFAULT_RATE


def _columns(skeleton: AsfSkeleton) -> Mapping[str, slice]:
    """Columns of each bone in the row of all numbers."""
    ends = np.cumsum([len(letters) for letters in skeleton.channels])
    return {name: slice(int(end) - len(x), int(end)) for name, x, end in zip(skeleton.skeleton.names, skeleton.channels, ends)}


def _numbers(lines: list[str], blocks: Sequence[_Block], skeleton: AsfSkeleton, where: str) -> Array:
    """Row of numbers for each frame; NaN for bones without lines."""
    columns = _columns(skeleton)
    width = sum(map(len, skeleton.channels))
    if width * len(blocks) > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {len(blocks)} frames of {width} numbers are more than can be read ({MAX_NUMBERS} numbers).")
    rows: list[Array] = []
    for block in blocks:
        row = np.full(width, np.nan)
        for k in range(block.start, block.stop):
            words = lines[k].split()
            if words and words[0][0] != "#":
                _fill(row, words, columns, where, k + 1, len(rows))
        expected = np.isnan(rows[0]) if rows else np.arange(width) >= len(skeleton.channels[0])
        if (np.isnan(row) & ~expected).any():
            lost = next(name for name, at in columns.items() if (np.isnan(row[at]) & ~expected[at]).any())
            raise line_error(where, block.start, f"frame {block.count} has no line for {lost!r}.{intact_frames_hint(len(rows))}")
        if (np.isnan(row) != expected).any() and rows:
            raise line_error(where, block.start, f"frame {block.count} has lines for bones that frame {blocks[0].count} has none for.")
        rows.append(row)
    return np.array(rows)


def _fill(row: Array, words: list[str], columns: Mapping[str, slice], where: str, line: int, before: int) -> None:
    """Write the numbers of a bone's line into a row."""
    at = columns.get(words[0])
    if at is None:
        raise line_error(
            where, line, f"{words[0][:40]!r} is not a bone of the skeleton.{suggest(words[0][:40], columns)} Is it the right ASF file?"
        )
    if len(words) - 1 != at.stop - at.start:
        found = f"{at.stop - at.start} numbers expected for {words[0]!r}, {len(words) - 1} found."
        raise line_error(where, line, found + intact_frames_hint(before))
    if at.start < at.stop and not np.isnan(row[at.start]):
        raise line_error(where, line, f"a second line for {words[0]!r} in the same frame.{intact_frames_hint(before)}")
    row[at] = [parse_number(word, where, line) for word in words[1:]]


def _local_poses(numbers: Array, skeleton: AsfSkeleton, degrees: bool) -> tuple[Array, Array]:
    """Rotations and translations of all joints in their parents."""
    f, n = len(numbers), len(skeleton.skeleton)
    q = np.broadcast_to(rotations.IDENTITY, (f, n, 4)).copy()
    translations = np.broadcast_to(skeleton.skeleton.offsets, (f, n, 3)).copy()
    translations[:, 0] = skeleton.place
    by_order = defaultdict(list)
    for j, (letters, at) in enumerate(zip(skeleton.channels, _columns(skeleton).values())):
        by_order["".join(x for x in letters if x.islower())].append((j, [at.start + k for k, x in enumerate(letters) if x.islower()]))
        for k, x in enumerate(letters):
            if x.isupper():
                translations[:, j, "XYZ".index(x)] += numbers[:, at.start + k]
    for order, joints in by_order.items():
        if order:
            which, taken = [j for j, _ in joints], [columns for _, columns in joints]
            M = from_extrinsic_euler(order, (np.pi / 180.0 if degrees else 1.0) * numbers[:, taken])
            C = skeleton.axes[which]
            q[:, which] = rotations.product(rotations.product(C, M), rotations.inverse(C))
    return q, translations
