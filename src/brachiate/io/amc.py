"""AMC, the motions of an ASF skeleton: for every frame a line for each bone with its numbers, in the order the skeleton says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip, Origin
from brachiate.errors import MotionError, MotionFileError, suggest
from brachiate.io.asf import AsfSkeleton, about_fixed_axes, read_asf, refused
from brachiate.io.motion_text import MOST_NUMBERS, intact, number, read_text, stride
from brachiate.validation import Array

RATE = 120.0  # [1/s] of nearly all there are


class _Block(NamedTuple):
    """A frame of a motion: the number it has, and its lines, counted from 0."""

    count: int
    start: int
    stop: int


def read_amc(
    path: str | PathLike[str], skeleton: str | PathLike[str] | None = None, *, frames: slice | None = None, rate: float | None = None
) -> Clip:
    """Read an AMC file as it is, in its own units and axes.

    Args:
        path: The motion.
        skeleton: Its ASF file. By default the one in the same folder whose name is that of the motion up to an underscore
            (``01.asf`` for ``01_01.amc``), or else the only one there.
        frames: Which frames; all by default.
        rate: Frames a second; by default what the file says, and 120 if it says nothing.
    """
    path = Path(path)
    text = read_text(path)
    guesses = []
    if skeleton is None:
        skeleton, why = _skeleton_beside(path)
        guesses.append(Guess("skeleton", skeleton.name, why, "skeleton"))
    return parse_amc(text, str(path), read_asf(skeleton), frames=frames, rate=rate, guesses=guesses)


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
    raise MotionFileError(f"{path}: an AMC file needs its skeleton, and {told}. Say where it is: skeleton='subject.asf'.")


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
                raise refused(where, k + 1, f"frame {word[:40]} after {starts[-1][0] if starts else 'none'}: numbers of frames must grow.")
            starts.append((int(word), k + 1))
        elif not starts and word and word[0] != "#":
            if word[0] != ":":
                raise refused(where, k + 1, f"{word[:40]!r} was not expected here: a word with a colon, or the number of a frame was.")
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
            raise refused(where, line, "':SAMPLES-PER-SECOND' needs a number from 0.001 to 100000. Or say it: rate=120.")
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
            raise refused(where, block.start, f"frame {block.count} has no line for {lost!r}.{intact(len(rows))}")
        if (np.isnan(row) != expected).any() and rows:
            raise refused(where, block.start, f"frame {block.count} has lines for bones that frame {blocks[0].count} has none for.")
        rows.append(row)
    return np.array(rows)


def _put(row: Array, words: list[str], columns: Mapping[str, slice], where: str, line: int, before: int) -> None:
    """Put the numbers of a bone's line into a row."""
    at = columns.get(words[0])
    if at is None:
        raise refused(
            where, line, f"{words[0][:40]!r} is no bone of the skeleton.{suggest(words[0][:40], columns)} Is it the right ASF file?"
        )
    if len(words) - 1 != at.stop - at.start:
        found = f"{at.stop - at.start} numbers expected for {words[0]!r}, {len(words) - 1} found."
        raise refused(where, line, found + intact(before))
    if at.start < at.stop and not np.isnan(row[at.start]):
        raise refused(where, line, f"a second line for {words[0]!r} in the same frame.{intact(before)}")
    row[at] = [number(word, where, line) for word in words[1:]]


def _moved(numbers: Array, skeleton: AsfSkeleton, degrees: bool) -> tuple[Array, Array]:
    """Rotations and places of all joints in their parents."""
    f, n = len(numbers), len(skeleton.skeleton)
    q = np.broadcast_to(rotations.NONE, (f, n, 4)).copy()
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
            M = about_fixed_axes(order, (np.pi / 180.0 if degrees else 1.0) * numbers[:, taken])
            C = skeleton.axes[which]
            q[:, which] = rotations.product(rotations.product(C, M), rotations.inverse(C))
    return q, places
