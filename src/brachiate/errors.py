"""Everything that can go wrong, as exceptions whose messages say what was given, what is valid and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BrachiateError(Exception):
    """Base of every error this package raises on purpose."""


class SettingError(BrachiateError, ValueError):
    """A switch or environment variable has a value that means nothing."""


class ModelError(BrachiateError, ValueError):
    """A model that cannot exist: duplicate names, cycles, non-physical inertia, impossible limits."""


class ModelFileError(ModelError):
    """A model file that is missing, broken, or asks for something this package cannot represent."""


class UnknownName(BrachiateError, KeyError):
    """A name that nothing in this model or world carries."""

    def __init__(self, kind: str, name: object, valid: Iterable[str], owner: str = "this model") -> None:
        self.name = name
        self.valid = list(valid)
        super().__init__(f"{name!r} is not a {kind} of {owner}.{suggest(name, self.valid)} {choices(kind, self.valid)}")

    def __str__(self) -> str:
        """Return the message as it is: KeyError would quote it."""
        return str(self.args[0])


class ArgumentError(BrachiateError, ValueError):
    """An argument of the wrong shape or kind, or not finite."""


class StateError(BrachiateError, ArithmeticError):
    """The numbers of a state make no sense: not finite, or a mass matrix that is singular."""


class AssemblyError(BrachiateError, ValueError):
    """Links that cannot be brought together by the motions allowed."""


class OverconstrainedError(BrachiateError, ValueError):
    """A connection that adds nothing, or that contradicts what is held already."""


class MotionError(BrachiateError, ValueError):
    """A motion that cannot be: times that do not grow, joints that do not match, frames that are missing."""


class MotionFileError(MotionError):
    """A motion file that is missing, broken, or leaves open what must be known."""


class FileFormatError(BrachiateError, ValueError):
    """A file of ours that is damaged, of another version, or not ours at all."""


def suggest(name: object, valid: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` if a valid name is close to the given one, else nothing."""
    close = difflib.get_close_matches(str(name), list(valid), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def choices(kind: str, valid: Iterable[str], most: int = 24) -> str:
    """Return a sentence that lists the valid names, cut where it would fill the screen."""
    names = list(valid)
    if not names:
        return f"There is no {kind} at all."
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return f"Valid: {', '.join(names[:most])}{more}."
