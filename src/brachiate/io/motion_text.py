"""Text of motion files: read with size limits; numbers are parsed at once, and line by line only to locate an error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from brachiate.errors import MotionError, MotionFileError
from brachiate.io import file_access
from brachiate.validation import Array

MAX_FILE_SIZE = 512 * 2**20
MAX_NUMBERS = 200_000_000
MAX_NESTING = 200  # of joints
MAX_NAME_LENGTH = 200  # characters
MAX_MAGNITUDE = 1e12  # of all numbers: results computed from them stay finite


def read_bytes(path: Path, max_size: int = MAX_FILE_SIZE, first: int = -1) -> bytes:
    """Return the content of a motion file, or its first bytes."""
    return file_access.read_bytes(path, max_size, "a motion file", MotionFileError, first)


def read_text(path: Path, max_size: int = MAX_FILE_SIZE) -> str:
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
    if rows * columns > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {rows} rows of {columns} numbers are more than can be read ({MAX_NUMBERS} numbers).")
    if not rows:
        return np.zeros((0, columns))
    words = [line.split() for _, line in numbered]
    # Every row is counted: one number too many in one row and one too few in another would shift everything in between.
    if all(len(row) == columns for row in words):
        try:
            numbers = np.array(words, float)
        except ValueError:
            numbers = np.full(1, np.nan)
        if (np.abs(numbers) <= MAX_MAGNITUDE).all():
            return numbers
    return _parse_line_by_line(numbered, columns, where, what)


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
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not a number.") from None
    if not math.isfinite(value):
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not finite. Every number must be.")
    if abs(value) > MAX_MAGNITUDE:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is beyond {MAX_MAGNITUDE:g}, the largest valid magnitude.")
    return value


def intact_frames_hint(count: int) -> str:
    """Sentence that says how to read the frames before an invalid one."""
    return f" Frames 0-{count - 1} are intact; read them with frames=slice(0, {count})." if count else ""


def frame_step(frames: slice | None) -> int:
    """Step between the frames of a file that are read."""
    step = 1 if frames is None or frames.step is None else frames.step
    if step < 1:
        raise MotionError(f"frames={frames} must have a step of 1 or more.")
    return step
