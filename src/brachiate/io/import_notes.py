"""Import notes: parts of a model file that a model cannot represent, collected while reading and reported in one warning."""

from __future__ import annotations

import warnings

from brachiate.errors import ModelFileError

_MAX_NAMES = 12  # listed per kind


class ModelFileWarning(UserWarning):
    """Parts of a model file were left out or interpreted differently."""


class ImportNotes:
    """Parts of one file that could not be represented as they are, by kind."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._parts: dict[str, list[str]] = {}

    def add(self, kind: str, name: str = "") -> None:
        """Add a part: its kind, with what became of it, and its name."""
        names = self._parts.setdefault(kind, [])
        if name and name not in names:
            names.append(name)

    def report(self, strict: bool) -> None:
        """Warn once about all parts, or raise an error if ``strict``."""
        if not self._parts:
            return
        lines = [f"  - {kind}: {_list(names)}" if names else f"  - {kind}" for kind, names in self._parts.items()]
        if strict:
            raise ModelFileError(
                "\n".join([f"{self.source}: strict=True, and this file has parts that cannot be kept as they are:", *lines])
            )
        warnings.warn(
            "\n".join([f"{self.source}: parts of this file could not be kept as they are:", *lines]), ModelFileWarning, stacklevel=5
        )


def _list(names: list[str]) -> str:
    more = f", ... ({len(names)} in total)" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
