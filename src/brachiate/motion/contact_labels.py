"""Labels: which part of a body touches, from when to when, as people can read and change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError, MotionFileError
from brachiate.io.disk import write_text
from brachiate.io.motion_text import read_text
from brachiate.motion.terrain import Ground, Steps
from brachiate.validation import Array

HOW = ("stands", "holds")
HEAD = "brachiate contacts 1"
_MANUAL = (
    f"# {HEAD}",
    "# What touches, from when to when [s]. Change it, and give it back.",
    "# 'stands': on the ground, or on something at that height [m]. 'holds': in any direction, as a hand does a bar.",
)


@dataclass(frozen=True)
class Label:
    """One part that touches for a while.

    Args:
        part: Its name.
        start: From when [s].
        end: To when [s].
        how: ``"stands"`` or ``"holds"``.
        height: Of what it stands on, above the world's origin [m]; None for the ground.
    """

    part: str
    start: float
    end: float
    how: str = "stands"
    height: float | None = None

    def __post_init__(self) -> None:
        validation.one_of(self.how, HOW, "how a part touches")
        start, end = validation.number(self.start, "start of a contact"), validation.number(self.end, "end of a contact")
        if end < start:
            raise ArgumentError(f"Contact of {self.part!r}: it ends at {end:g} s, before it starts at {start:g} s.")
        if self.height is not None:
            validation.number(self.height, "height of a contact")


@dataclass(frozen=True)
class Labels:
    """All contacts of a motion, and the ground they are on."""

    contacts: tuple[Label, ...]
    ground: Ground

    def of(self, part: str) -> tuple[Label, ...]:
        """Those of one part."""
        return tuple(label for label in self.contacts if label.part == part)

    def active(self, part: str, times: Array) -> Array:
        """Whether a part touches at these times."""
        on = np.zeros(len(times), bool)
        for label in self.of(part):
            on |= (times >= label.start - 1e-9) & (times <= label.end + 1e-9)
        return on

    def moved(self, by: float) -> Labels:
        """The same, later."""
        return replace(self, contacts=tuple(replace(c, start=c.start + by, end=c.end + by) for c in self.contacts))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a small text file."""
        write_text(Path(path), "\n".join(self.lines()) + "\n", "the contacts")

    def lines(self) -> list[str]:
        """The text of that file."""
        g = self.ground
        wide = max((len(c.part) for c in self.contacts), default=4) + 2
        words = [f"height={g.height or 0.0:.4f}", f"slope={g.slope:g}", f"heading={g.heading:g}", f"friction={g.friction:g}"]
        words += [f"belt={g.belt[0]:.4f},{g.belt[1]:.4f}"] if any(g.belt) else []
        if g.steps is not None:
            t = g.steps
            words.append(f"steps={t.rise:.9g}:{t.tread:.9g}:{t.count}" + ("" if t.start is None else f":{t.start:.9g}:{t.heading:.9g}"))
        rows = ["  ".join(("ground", *words))]
        rows.append(f"# {'part':{wide - 2}}{'from':>9}{'to':>9}  how     on")
        for c in sorted(self.contacts, key=lambda c: (c.start, c.part)):
            on = "" if c.how == "holds" else "ground" if c.height is None else f"{c.height:.4f}"
            rows.append(f"{c.part:{wide}}{c.start:9.4f}{c.end:9.4f}  {c.how:6}  {on}".rstrip())
        return [*_MANUAL, *rows]


def load_labels(path: str | PathLike[str], parts: Iterable[str] | None = None) -> Labels:
    """Read such a file; ``parts`` are the names there are."""
    return labels_from(read_text(Path(path)).splitlines(), str(path), parts)


def labels_from(lines: Sequence[str], where: str, parts: Iterable[str] | None = None) -> Labels:
    """Labels from the lines of such a file."""
    if not lines or HEAD not in lines[0]:
        raise MotionFileError(f"{where} is no file of contacts: its first line must be '# {HEAD}'.")
    known = None if parts is None else tuple(parts)
    ground, contacts = Ground(0.0), []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            if words[0] == "ground":
                ground = _ground(words[1:])
                continue
            if not 3 <= len(words) <= 5:
                raise ValueError(f"{len(words)} words")
            part, start, end, *rest = words
            height = None if len(rest) < 2 or rest[1] == "ground" else float(rest[1])
            contacts.append(Label(part, float(start), float(end), rest[0] if rest else "stands", height))
        except (ValueError, TypeError) as problem:
            raise MotionFileError(
                f"{where} line {number}: {line.strip()[:80]!r} is no contact ({str(problem)[:200]}). "
                "Write: part, from, to, stands or holds, and ground or a height."
            ) from None
        if known is not None and part not in known:
            validation.named(dict.fromkeys(known), part, "part", f"this figure ({where} line {number})")
    return Labels(tuple(contacts), ground)


def _ground(words: list[str]) -> Ground:
    """Ground by its words, such as height=0.02."""
    given = dict(word.split("=") for word in words)
    x, y = given.pop("belt", "0,0").split(",")
    steps = Steps.of([float(x) for x in given.pop("steps").split(":")]) if "steps" in given else None
    return Ground(**{key: float(value) for key, value in given.items()}, belt=(float(x), float(y)), steps=steps)
