"""Assumption: what a file does not say, how it was read, why, and the argument that decides otherwise."""

from __future__ import annotations

from typing import NamedTuple


class Guess(NamedTuple):
    """Something a file does not say, how it was taken, why, and the argument that decides otherwise."""

    what: str
    value: str
    why: str
    flag: str = ""

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.what}: {self.value} ({self.why})"
