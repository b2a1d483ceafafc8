"""Text of motion files: read with limits, and looked at line by line only where something is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from brachiate.errors import MotionError, MotionFileError
from brachiate.io import disk
from brachiate.validation import Array

MOST_BYTES = 512 * 2**20
MOST_NUMBERS = 200_000_000
MOST_DEPTH = 200  # joints within each other
LONGEST_NAME = 200  # letters
LARGEST = 1e12  # of all numbers: what is computed from such ones is still finite


def read_bytes(path: Path, most: int = MOST_BYTES, first: int = -1) -> bytes:
    """Return what a motion file holds, all of it or the first bytes, or say why it cannot be read."""
    return disk.read_bytes(path, most, "a motion file", MotionFileError, first)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a motion file, or say why it has none."""
    return decoded(read_bytes(path, most), str(path))


def decoded(data: bytes, where: str) -> str:
    """Text of bytes: UTF-8 with or without a mark, UTF-16 with one, or Latin-1; ``where`` names the file in messages."""
    if not data.strip():
        raise MotionFileError(f"{where} is empty.")
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        if b"\0" in data[:4096]:
            raise MotionFileError(f"{where} is no text: it has zero bytes. Is it the right file?")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def table(lines: Sequence[str], columns: int, where: str, first: int, what: str = "", frames: slice | None = None) -> Array:
    """Numbers of lines that all have so many: (rows, columns). Empty lines are passed over.

    Args:
        lines: The lines.
        columns: How many numbers each has.
        where: The file, for messages.
        first: Number of the first line in the file, counted from 1.
        what: What the columns are, for messages.
        frames: Which of the lines that are not empty; all by default.
    """
    numbered = [(first + k, line) for k, line in enumerate(lines) if line.strip()]
    if frames is not None:
        numbered = numbered[frames]
    rows = len(numbered)
    if rows * columns > MOST_NUMBERS:
        raise MotionFileError(f"{where}: {rows} rows of {columns} numbers are more than can be read ({MOST_NUMBERS} numbers).")
    if not rows:
        return np.zeros((0, columns))
    words = [line.split() for _, line in numbered]
    # Every row is counted: one too many here and one too few there would otherwise shift all between them.
    if all(len(row) == columns for row in words):
        try:
            numbers = np.array(words, float)
        except ValueError:
            numbers = np.full(1, np.nan)
        if (np.abs(numbers) <= LARGEST).all():
            return numbers
    return _slowly(numbered, columns, where, what)


def _slowly(numbered: Sequence[tuple[int, str]], columns: int, where: str, what: str) -> Array:
    """The same line by line, to say which one is wrong."""
    rows = []
    for line, text in numbered:
        words = text.split()
        if len(words) != columns:
            told = f" ({what})" if what else ""
            raise MotionFileError(f"{where} line {line}: {columns} numbers expected{told}, {len(words)} found.{intact(len(rows))}")
        rows.append([number(word, where, line) for word in words])
    return np.array(rows, float)


def number(word: str, where: str, line: int) -> float:
    """A number that a word of a line says, finite and not beyond reason."""
    try:
        value = float(word)
    except ValueError:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is no number.") from None
    if not math.isfinite(value):
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not finite. Every number must be.")
    if abs(value) > LARGEST:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is beyond {LARGEST:g}, which no length or angle is.")
    return value


def intact(count: int) -> str:
    """A sentence that says how to read the frames before one that is wrong."""
    return f" Frames 0-{count - 1} are intact; read them with frames=slice(0, {count})." if count else ""


def stride(frames: slice | None) -> int:
    """How many frames of a file go by from one that is read to the next."""
    step = 1 if frames is None or frames.step is None else frames.step
    if step < 1:
        raise MotionError(f"frames={frames} goes backwards or stays: its step must be 1 or more.")
    return step
