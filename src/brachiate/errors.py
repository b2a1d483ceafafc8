"""Exceptions of this package. Their messages say what was given, what is valid and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BrachiateError(Exception):
    """Base of every error this package raises on purpose."""


class SettingError(BrachiateError, ValueError):
    """Invalid value of a setting or environment variable."""


class ModelError(BrachiateError, ValueError):
    """Invalid model: duplicate names, cycles, non-physical inertia, impossible limits."""


class ModelFileError(ModelError):
    """Model file that is missing, damaged, or uses something this package cannot represent."""


class UnknownName(BrachiateError, KeyError):
    """Name that does not occur in this model or world."""

    def __init__(self, kind: str, name: object, valid: Iterable[str], owner: str = "this model") -> None:
        self.name = name
        self.valid = list(valid)
        super().__init__(f"{name!r} is not a {kind} of {owner}.{suggest(name, self.valid)} {choices(kind, self.valid)}")

    def __str__(self) -> str:
        """Return the message unchanged: KeyError would quote it."""
        return str(self.args[0])


class ArgumentError(BrachiateError, ValueError):
    """Argument of the wrong shape or type, or not finite."""


class WriteError(ArgumentError):
    """File or folder that cannot be written: no permission, no space, no such folder."""

    cause: OSError | None = None  #: of the operating system


class StateError(BrachiateError, ArithmeticError):
    """Invalid state: values that are not finite, or a singular mass matrix."""


class AssemblyError(BrachiateError, ValueError):
    """Links that the allowed motions cannot bring together (loop closure failed)."""


class OverconstrainedError(BrachiateError, ValueError):
    """Connection that is redundant with existing constraints or contradicts them."""


class MotionError(BrachiateError, ValueError):
    """Invalid motion: times that do not increase, joints that do not match, missing frames."""


class MotionFileError(MotionError):
    """Motion file that is missing, damaged, or lacks required information."""


class FileFormatError(BrachiateError, ValueError):
    """File that is damaged, of another version, or not in a format of this package."""


def suggest(name: object, valid: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` if a valid name is close to the given one, else an empty string."""
    close = difflib.get_close_matches(str(name), list(valid), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def choices(kind: str, valid: Iterable[str], max_count: int = 24) -> str:
    """Return a sentence that lists the valid names, at most ``max_count`` of them."""
    names = list(valid)
    if not names:
        return f"There is no {kind} at all."
    more = f", ... ({len(names)} in all)" if len(names) > max_count else ""
    return f"Valid: {', '.join(names[:max_count])}{more}."
