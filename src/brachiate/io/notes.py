"""What a model file holds that a model cannot: collected while reading, told once at the end."""

from __future__ import annotations

import warnings

from brachiate.errors import ModelFileError

_MOST_NAMES = 12


class ModelFileWarning(UserWarning):
    """Parts of a model file were left out or taken in another sense."""


class Notes:
    """The parts of one file that could not be kept as they are, by kind."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._parts: dict[str, list[str]] = {}

    def add(self, kind: str, name: str = "") -> None:
        """Remember one part: its kind with what became of it, and its name."""
        names = self._parts.setdefault(kind, [])
        if name and name not in names:
            names.append(name)

    def tell(self, strict: bool) -> None:
        """Warn once, or refuse, if there was anything."""
        if not self._parts:
            return
        lines = [f"  - {kind}: {_listed(names)}" if names else f"  - {kind}" for kind, names in self._parts.items()]
        if strict:
            raise ModelFileError(
                "\n".join([f"{self.where}: strict=True, and this file has parts that cannot be kept as they are:", *lines])
            )
        warnings.warn(
            "\n".join([f"{self.where}: parts of this file could not be kept as they are:", *lines]), ModelFileWarning, stacklevel=4
        )


def _listed(names: list[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
