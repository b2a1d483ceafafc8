"""Text of motion files: read with limits, and looked at line by line only where something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from brachiate.doors import Array
from brachiate.errors import MotionFileError

MOST_BYTES = 512 * 2**20
MOST_NUMBERS = 200_000_000


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what a motion file holds, or say why it cannot be read."""
    try:
        if not path.exists():
            raise MotionFileError(f"{path}: there is no such file. Check the path; it is relative to {Path.cwd()}.")
        if not path.is_file():
            raise MotionFileError(f"{path} is not a regular file. Give the path of a motion file.")
        size = path.stat().st_size
        if size > most:
            raise MotionFileError(f"{path}: {size / 2**20:.0f} MB is more than a motion file may have ({most / 2**20:.0f} MB).")
        return path.read_bytes()
    except OSError as error:
        raise MotionFileError(f"{path} cannot be read: {error.strerror}.") from None


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a motion file: UTF-8 with or without a mark, UTF-16 with one, or Latin-1."""
    data = read_bytes(path, most)
    if not data.strip():
        raise MotionFileError(f"{path} is empty.")
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        if b"\0" in data[:4096]:
            raise MotionFileError(f"{path} is no text: it has zero bytes. Is it the right file?")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def table(lines: Sequence[str], columns: int, where: str, first: int, what: str = "") -> Array:
    """Numbers of lines that all have so many: (rows, columns). Empty lines are passed over.

    Args:
        lines: The lines.
        columns: How many numbers each has.
        where: The file, for messages.
        first: Number of the first line in the file, counted from 1.
        what: What the columns are, for messages.
    """
    rows = sum(1 for line in lines if line.strip())
    if rows * columns > MOST_NUMBERS:
        raise MotionFileError(f"{where}: {rows} rows of {columns} numbers are more than can be read ({MOST_NUMBERS} numbers).")
    try:
        numbers = np.array(" ".join(lines).split(), float)
    except ValueError:
        numbers = np.zeros(0)
    if numbers.size == rows * columns and np.isfinite(numbers).all() and columns:
        widths = {len(line.split()) for line in (*lines[:1], *lines[-1:]) if line.strip()}
        if widths <= {columns}:
            return numbers.reshape(rows, columns)
    return _slowly(lines, columns, where, first, what)


def _slowly(lines: Sequence[str], columns: int, where: str, first: int, what: str) -> Array:
    """The same line by line, to say which one is wrong."""
    rows = []
    for k, line in enumerate(lines):
        words = line.split()
        if not words:
            continue
        if len(words) != columns:
            told = f" ({what})" if what else ""
            raise MotionFileError(
                f"{where} line {first + k}: {columns} numbers expected{told}, {len(words)} found."
                + (f" Frames 0-{len(rows) - 1} are intact; read them with frames=slice(0, {len(rows)})." if rows else "")
            )
        rows.append([_number(word, where, first + k) for word in words])
    return np.array(rows, float).reshape(-1, columns)


def _number(word: str, where: str, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is no number.") from None
    if not np.isfinite(value):
        raise MotionFileError(f"{where} line {line}: {word[:40]!r} is not finite. Every number must be.")
    return value
