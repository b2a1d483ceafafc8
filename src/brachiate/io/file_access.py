"""File access with size limits and readable errors; every reader takes its bytes from here."""

from __future__ import annotations

from pathlib import Path

from brachiate.errors import ArgumentError, BrachiateError


def read_bytes(path: Path, max_size: int, what: str, error: type[BrachiateError], first: int = -1) -> bytes:
    """Return the content of a file.

    Args:
        path: The file.
        max_size: Largest size of the file [bytes].
        what: Kind of file for messages: ``"a motion file"``.
        error: Exception that is raised if the file cannot be read.
        first: Number of bytes to read; by default all.
    """
    try:
        if not path.exists():
            raise error(f"{path}: there is no such file. Check the path; it is relative to {Path.cwd()}.")
        if not path.is_file():
            raise error(f"{path} is not a regular file. Give the path of {what}.")
        size = path.stat().st_size
        if size > max_size:
            raise error(f"{path}: {size / 2**20:.0f} MB is more than {what} may have ({max_size / 2**20:.0f} MB). Is it the right file?")
        with path.open("rb") as file:
            return file.read(first)
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}.") from None


def write_text(path: Path, text: str, what: str) -> None:
    """Write a text file; ``what`` it contains, for messages."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise ArgumentError(f"{path}: {what} cannot be written ({problem.strerror}). Choose another file.") from None
