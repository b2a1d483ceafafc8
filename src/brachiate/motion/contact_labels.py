"""Contact labels (annotations): which part of a figure is in contact from when to when, and a text file for them that people can edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from brachiate import validation
from brachiate.deprecation import renamed_attribute
from brachiate.errors import ArgumentError, MotionFileError
from brachiate.figures.ranges import MAX_TIME
from brachiate.io.atomic import write_text
from brachiate.io.file_access import as_path
from brachiate.io.motion_text import read_text
from brachiate.motion.terrain import MAX_HEIGHT, Stairs, Terrain
from brachiate.validation import Array

KINDS = ("support", "grip")
HEADER = "brachiate contacts 1"
_OLD_KINDS = {"stands": "support", "holds": "grip"}  # in files of version 0.1
_EXPLANATION = (
    f"# {HEADER}",
    "# Contact intervals [s]. Edit this file and pass it as contacts.",
    "# 'support': unilateral contact with the ground, or with a surface at that height [m]. 'grip': pulls too, as a hand on a bar does.",
)


@dataclass(frozen=True)
class ContactInterval:
    """Contact of one part of a figure over a time interval.

    Args:
        part: Name of the part.
        start: First time of the contact [s].
        end: Last time of the contact [s].
        kind: ``"support"`` (unilateral: pushes only) or ``"grip"`` (bilateral: force in any direction).
        height: Height of the supporting surface above the world origin [m]; None for the ground.
    """

    part: str
    start: float
    end: float
    kind: str = "support"
    height: float | None = None

    def __post_init__(self) -> None:
        validation.one_of(self.kind, KINDS, "kind of a contact")
        if not isinstance(self.part, str):
            raise ArgumentError(f"part of a contact: expected a name, such as 'left_heel', got {validation.short_repr(self.part)}.")
        start, end = (
            validation.number(value, f"{what} of a contact", minimum=-MAX_TIME, maximum=MAX_TIME)
            for value, what in ((self.start, "start"), (self.end, "end"))
        )
        if end < start:
            raise ArgumentError(f"Contact of {self.part!r}: it ends at {end:g} s, before it starts at {start:g} s.")
        if self.height is not None:
            validation.number(self.height, "height of a contact", minimum=-MAX_HEIGHT, maximum=MAX_HEIGHT)


@dataclass(frozen=True)
class ContactLabels:
    """Contact intervals of a motion, and the terrain under it."""

    contacts: tuple[ContactInterval, ...]
    terrain: Terrain

    def __post_init__(self) -> None:
        contacts = tuple(self.contacts) if np.iterable(self.contacts) else (self.contacts,)
        for contact in contacts:
            if not isinstance(contact, ContactInterval):
                raise ArgumentError(f"contacts: expected ContactIntervals, got {validation.short_repr(contact)}.")
        if not isinstance(self.terrain, Terrain):
            raise ArgumentError(f"terrain: expected a Terrain, such as br.Terrain(0.0), got {validation.short_repr(self.terrain)}.")
        object.__setattr__(self, "contacts", contacts)

    def of(self, part: str) -> tuple[ContactInterval, ...]:
        """Contact intervals of one part."""
        if not isinstance(part, str):
            raise ArgumentError(f"part: expected a name, such as 'left_heel', got {validation.short_repr(part)}.")
        return tuple(label for label in self.contacts if label.part == part)

    def active(self, part: str, times: Array) -> Array:
        """Whether a part is in contact at these times [s]: (f,) bool."""
        times = np.atleast_1d(validation.reals(times, "times", "times in seconds"))
        labels = sorted(self.of(part), key=lambda label: label.start)
        if not labels:
            return np.zeros(times.shape, bool)
        # The last contact that has begun, and the latest end of all that have
        begun = np.searchsorted([label.start - 1e-9 for label in labels], times, side="right")
        ends = np.maximum.accumulate([-np.inf, *(label.end + 1e-9 for label in labels)])
        return times <= ends[begun]

    def shift(self, offset: float) -> ContactLabels:
        """Return the same contacts, later by an offset [s]."""
        offset = validation.number(offset, "offset", minimum=-MAX_TIME, maximum=MAX_TIME)
        return replace(self, contacts=tuple(replace(c, start=c.start + offset, end=c.end + offset) for c in self.contacts))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the text file that :func:`load_contact_labels` reads."""
        write_text(path, "\n".join(self.lines()) + "\n", "the contacts")

    def lines(self) -> list[str]:
        """Lines of that file."""
        t, stairs = self.terrain, self.terrain.stairs
        width = max((len(c.part) for c in self.contacts), default=4) + 2
        words = [f"height={t.height or 0.0:.4f}", f"slope={t.slope:g}", f"heading={t.heading:g}", f"friction={t.friction:g}"]
        words += [f"belt={t.belt[0]:.4f},{t.belt[1]:.4f}"] if any(t.belt) else []
        if stairs is not None:
            position = "" if stairs.start is None else f":{stairs.start:.9g}:{stairs.heading:.9g}"
            words.append(f"stairs={stairs.rise:.9g}:{stairs.tread:.9g}:{stairs.count}{position}")
        rows = ["  ".join(("terrain", *words))]
        rows.append(f"# {'part':{width - 2}}{'from':>9}{'to':>9}  kind     on")
        for c in sorted(self.contacts, key=lambda c: (c.start, c.part)):
            on = "" if c.kind == "grip" else "ground" if c.height is None else f"{c.height:.4f}"
            rows.append(f"{c.part:{width}}{c.start:9.4f}{c.end:9.4f}  {c.kind:7}  {on}".rstrip())
        return [*_EXPLANATION, *rows]

    ground = renamed_attribute("ground", "terrain")


def load_contact_labels(path: str | PathLike[str], parts: Iterable[str] | None = None) -> ContactLabels:
    """Read a file of contact labels.

    Args:
        path: The file.
        parts: Valid names of parts; None accepts any name.
    """
    path = as_path(path, "a file of contacts")
    return parse_contact_labels(read_text(path).splitlines(), str(path), parts)


def parse_contact_labels(lines: Sequence[str], source: str, parts: Iterable[str] | None = None) -> ContactLabels:
    """Return the contact labels in the lines of such a file; ``source`` names the file in error messages."""
    if not lines or HEADER not in lines[0]:
        raise MotionFileError(f"{source} is not a file of contacts: its first line must be '# {HEADER}'.")
    known = None if parts is None else tuple(parts)
    terrain, contacts = Terrain(0.0), []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            if words[0] in ("terrain", "ground"):
                terrain = _parse_terrain(words[1:])
                continue
            contact = _parse_interval(words)
        except (ValueError, TypeError) as problem:
            raise MotionFileError(
                f"{source} line {number}: {line.strip()[:80]!r} is not a contact ({str(problem)[:200]}). "
                "Expected: part, from, to, support or grip, and ground or a height."
            ) from None
        if known is not None and contact.part not in known:
            validation.lookup(dict.fromkeys(known), contact.part, "part", f"this figure ({source} line {number})")
        contacts.append(contact)
    return ContactLabels(tuple(contacts), terrain)


def _parse_interval(words: list[str]) -> ContactInterval:
    if not 3 <= len(words) <= 5:
        raise ValueError(f"{len(words)} words")
    part, start, end, *rest = words
    kind = rest[0] if rest else "support"
    height = None if len(rest) < 2 or rest[1] == "ground" else float(rest[1])
    return ContactInterval(part, float(start), float(end), _OLD_KINDS.get(kind, kind), height)


def _parse_terrain(words: list[str]) -> Terrain:
    """Return the terrain from its fields, such as ``height=0.02``."""
    fields = dict(word.split("=") for word in words)
    x, y = fields.pop("belt", "0,0").split(",")
    flight = fields.pop("stairs", fields.pop("steps", None))
    stairs = None if flight is None else Stairs.from_numbers([float(number) for number in flight.split(":")])
    return Terrain(**{name: float(value) for name, value in fields.items()}, belt=(float(x), float(y)), stairs=stairs)
