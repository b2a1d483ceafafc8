"""Text of motion files: read with size limits; numbers are parsed at once, and line by line only to locate an error."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from brachiate.clip.clip import check_slice
from brachiate.errors import MotionFileError
from brachiate.io import file_access
from brachiate.io.limits import MAX_MAGNITUDE, MAX_MOTION_SIZE, MAX_NUMBERS
from brachiate.validation import Array

_CHUNK = 2000  # rows that are split at once: words take ten times as much memory as numbers


def read_bytes(path: Path, max_size: int = MAX_MOTION_SIZE, first: int = -1) -> bytes:
    """Return the content of a motion file, or its first bytes."""
    return file_access.read_bytes(path, max_size, "a motion file", MotionFileError, first)


def read_text(path: Path, max_size: int = MAX_MOTION_SIZE) -> str:
    """Return the text of a motion file."""
    return decode_text(read_bytes(path, max_size), str(path))


def decode_text(data: bytes, where: str) -> str:
    """Decode bytes: UTF-8 with or without a byte order mark, UTF-16 with one, or Latin-1; ``where`` names the file in messages."""
    if not data.strip():
        raise MotionFileError(f"{where} is empty.")
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        if b"\0" in data[:4096]:
            raise MotionFileError(f"{where} is not text: it has zero bytes. Is it the right file?")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_numbers(lines: Sequence[str], columns: int, where: str, first: int, what: str = "", frames: slice | None = None) -> Array:
    """Parse lines of numbers of a given count: (rows, columns). Empty lines are skipped.

    Args:
        lines: The lines.
        columns: Number of numbers per line.
        where: Name of the file, for messages.
        first: Line number of the first line in the file, from 1.
        what: Meaning of the columns, for messages.
        frames: Selection of the non-empty lines; by default all.
    """
    numbered = [(first + k, line) for k, line in enumerate(lines) if line.strip()]
    if frames is not None:
        numbered = numbered[frames]
    rows = len(numbered)
    check_count(rows, columns, where, "rows")
    if not rows:
        return np.zeros((0, columns))
    numbers = np.empty((rows, columns))
    for k in range(0, rows, _CHUNK):
        words = [line.split() for _, line in numbered[k : k + _CHUNK]]
        # Every row is counted: one number too many in one row and one too few in another would shift everything in between.
        if not all(len(row) == columns for row in words):
            return _parse_line_by_line(numbered, columns, where, what)
        try:
            numbers[k : k + _CHUNK] = np.array(words, float)
        except ValueError:
            return _parse_line_by_line(numbered, columns, where, what)
    if not (np.abs(numbers) <= MAX_MAGNITUDE).all():
        return _parse_line_by_line(numbered, columns, where, what)
    return numbers


def check_count(rows: int, columns: int, where: str, what: str) -> None:
    """Refuse more numbers than can be read; ``what`` the rows are: ``"frames"``."""
    if rows * columns > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {rows} {what} of {columns} numbers are more than can be read ({MAX_NUMBERS} numbers).")


def _parse_line_by_line(numbered: Sequence[tuple[int, str]], columns: int, where: str, what: str) -> Array:
    """Parse line by line, to name the line that is wrong."""
    rows = []
    for line, text in numbered:
        words = text.split()
        if len(words) != columns:
            columns_hint = f" ({what})" if what else ""
            raise MotionFileError(
                f"{where} line {line}: {columns} numbers expected{columns_hint}, {len(words)} found.{intact_frames_hint(len(rows))}"
            )
        rows.append([parse_number(word, where, line) for word in words])
    return np.array(rows, float)


def parse_number(word: str, where: str, line: int) -> float:
    """Parse a word as a finite number of reasonable magnitude."""
    try:
        value = float(word)
    except ValueError:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not a number.{comma_hint(word)}") from None
    if not math.isfinite(value):
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not finite. Every number must be.")
    if abs(value) > MAX_MAGNITUDE:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is beyond {MAX_MAGNITUDE:g}, the largest valid magnitude.")
    return value


def no_frames(where: str, frames: slice | None, count: int, what: str = "frame") -> MotionFileError:
    """Error for a file without frames, or a selection without any of its ``count`` frames."""
    if frames is None or not count:
        return MotionFileError(f"{where} has no {what}s. At least one is needed.")
    first, end = (x if x is not None else "" for x in (frames.start, frames.stop))
    return MotionFileError(
        f"{where} has {count} {what}s, numbered 0 to {count - 1}: none of them is in the selected range {first}:{end}. Select others."
    )


def comma_hint(word: str) -> str:
    """Sentence about a decimal comma; empty if the word has none."""
    is_number = re.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", word) is not None
    return " It has a decimal comma: write numbers with a decimal point (0.5, not 0,5)." if is_number else ""


def intact_frames_hint(count: int) -> str:
    """Sentence that says how to read the frames before an invalid one."""
    return f" Frames 0-{count - 1} are intact; read them with frames=slice(0, {count})." if count else ""


def frame_step(frames: slice | None) -> int:
    """Step between the frames of a file that are read."""
    return 1 if frames is None else check_slice(frames)
