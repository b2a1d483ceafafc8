"""Files, read with limits and written in words: every reader takes its bytes from here."""

from __future__ import annotations

from pathlib import Path

from brachiate.errors import ArgumentError, BrachiateError


def read_bytes(path: Path, most: int, what: str, error: type[BrachiateError], first: int = -1) -> bytes:
    """Return what a file holds, or say why it cannot be read.

    Args:
        path: The file.
        most: How large it may be [bytes].
        what: What it should be, for messages: ``"a motion file"``.
        error: What is raised.
        first: How many of its bytes; by default all.
    """
    try:
        if not path.exists():
            raise error(f"{path}: there is no such file. Check the path; it is relative to {Path.cwd()}.")
        if not path.is_file():
            raise error(f"{path} is not a regular file. Give the path of {what}.")
        size = path.stat().st_size
        if size > most:
            raise error(f"{path}: {size / 2**20:.0f} MB is more than {what} may have ({most / 2**20:.0f} MB). Is it the right file?")
        with path.open("rb") as file:
            return file.read(first)
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}.") from None


def write_text(path: Path, text: str, what: str) -> None:
    """Write a text file, or say why it cannot be: ``what`` it is, for messages."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise ArgumentError(f"{path}: {what} cannot be written ({problem.strerror}). Choose another file.") from None
