"""File access with size limits and readable errors; every reader takes its bytes from here."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.errors import ArgumentError, BrachiateError
from brachiate.io import limits
from brachiate.validation import short_repr


def as_path(value: Any, what: str) -> Path:
    """Return a path from a text or path; ``what`` it is a path of, for messages: ``"a motion file"``."""
    if isinstance(value, str | PathLike) and "\0" not in (text := str(value)) and text:
        return Path(value)
    raise ArgumentError(f"path: expected the path of {what} as a text, got {short_repr(value)}.")


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
        return limits.read_regular(path, max_size, what, error, first)
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}.") from None
    except ValueError as problem:
        if isinstance(problem, BrachiateError):
            raise
        # a zero byte in the name
        raise error(f"{str(path)!r} is not a path. Give the path of {what}.") from None
