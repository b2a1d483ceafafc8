"""Disturbances: external pushes on links for a given time, from arguments, text or a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.deprecation import renamed_arguments, renamed_attribute, renamed_method, warn_renamed
from brachiate.errors import ArgumentError, MotionFileError
from brachiate.io.file_access import as_path
from brachiate.io.json_text import MAX_FILE_SIZE, read_json
from brachiate.io.motion_text import read_text
from brachiate.simulate.simulation import Simulation
from brachiate.world.applied_forces import AppliedForce
from brachiate.world.world import World

REQUIRED_COLUMNS, OPTIONAL_COLUMNS = ("link", "x", "y", "z", "start"), ("duration", "px", "py", "pz")  # of a file of pushes
RENAMED_COLUMNS = {"at": "start", "lasting": "duration"}  # deprecated → new name
MAX_PUSHES = 10_000  # of a file
_FORMAT_HELP = (
    f"The columns are {','.join(REQUIRED_COLUMNS)} and optionally {','.join(OPTIONAL_COLUMNS)}: "
    "link, force [N], start and duration [s], point of the link [m]."
)


@dataclass(frozen=True)
class Push:
    """External force on a link of the figure for a given time.

    Args:
        link: Name of the link.
        force: (3,) [N], world axes.
        start: [s].
        duration: [s].
        point: Point of application in link axes [m].
    """

    link: str
    force: tuple[float, float, float]
    start: float
    duration: float = 0.1
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", tuple(map(float, validation.vector(self.force, f"force of a push on {self.link!r}"))))
        object.__setattr__(self, "point", tuple(map(float, validation.vector(self.point, f"point of a push on {self.link!r}"))))
        validation.number(self.start, f"start of a push on {self.link!r}", minimum=0.0)
        validation.number(self.duration, f"duration of a push on {self.link!r}", above=0.0)

    at = renamed_attribute("at", "start")
    lasting = renamed_attribute("lasting", "duration")
    put_on = renamed_method("put_on", "schedule")
    begin = renamed_method("begin", "apply")

    def schedule(self, simulation: Simulation, figure: str) -> None:
        """Schedule the push in a simulation."""
        world, acting = simulation.world, []
        self.check(world, figure)
        simulation.at(self.start, lambda: acting.append(self.apply(world, figure)))
        simulation.at(self.start + self.duration, lambda: world.remove(acting.pop()))

    def check(self, world: World, figure: str) -> None:
        """Raise UnknownName if the figure does not have the link."""
        validation.lookup(dict.fromkeys(world.figure(figure).model.links), self.link, "link", f"figure {figure!r}")

    def apply(self, world: World, figure: str) -> AppliedForce:
        """Apply the force until the returned object is removed from the world."""
        return world.apply_force(f"{figure}/{self.link}", self.force, at=self.point)


Push.__init__.__name__ = "Push"  # for messages of the deprecated arguments
Push.__init__ = renamed_arguments(at="start", lasting="duration")(Push.__init__)  # type: ignore[method-assign]


def parse_push(text: str) -> Push:
    """Push from text: ``chest:80,0,0@1.0+0.1`` pushes the chest with 80 N along x from 1.0 s for 0.1 s."""
    try:
        link, _, rest = text.partition(":")
        force, _, when = rest.partition("@")
        start, _, duration = when.partition("+")
        x, y, z = (float(number) for number in force.split(","))
        return Push(link.strip(), (x, y, z), float(start), float(duration or 0.1))
    except ValueError:
        raise ArgumentError(f"{text!r} is not a push. Write link:x,y,z@time+duration, such as chest:80,0,0@1.0+0.1 (N, s).") from None


def load_pushes(path: str | PathLike[str], links: Iterable[str] | None = None) -> list[Push]:
    """Read pushes from a table, ``.csv`` or ``.json``; ``links`` are the valid names.

    A CSV file begins with the names of its columns: ``link,x,y,z,start``, and optionally ``duration`` and ``px,py,pz``, with the defaults
    of :class:`Push`. A JSON file is a list of such rows: ``[{"link": "chest", "x": 80, "y": 0, "z": 0, "start": 1.0}]``.
    """
    path, known = as_path(path, "a table of pushes"), None if links is None else dict.fromkeys(links)
    pushes = []
    for where, row in _json_rows(path) if path.suffix.lower() == ".json" else _csv_rows(path):
        if len(pushes) == MAX_PUSHES:
            raise MotionFileError(f"{where}: too many pushes; at most {MAX_PUSHES} can be read.")
        pushes.append(_push_of_row(row, where))
        if known is not None:
            validation.lookup(known, pushes[-1].link, "link", f"this figure ({where})")
    return pushes


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows by column name, with their location in the file."""
    lines = csv.reader(read_text(path, MAX_FILE_SIZE).splitlines(), skipinitialspace=True, strict=True)
    columns: list[str] = []
    try:
        for cells in lines:
            where = f"{path} line {lines.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = _check_columns([cell.strip() for cell in cells], where)
            elif len(cells) != len(columns):
                raise MotionFileError(f"{where}: {len(columns)} columns expected ({','.join(columns)}), {len(cells)} found.")
            else:
                row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
                yield where, {name: cell for name, cell in row.items() if cell or name in REQUIRED_COLUMNS}
    except csv.Error as problem:
        raise MotionFileError(f"{path} line {lines.line_num}: not a valid CSV file ({problem}). {_FORMAT_HELP}") from None


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = read_json(path, "a file of pushes", MotionFileError)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise MotionFileError(f"{path}: expected a list of pushes, [{{...}}, ...]. {_FORMAT_HELP}")
    for k, row in enumerate(content):
        where = f"{path} push {k}"
        yield where, dict(zip(_check_columns(list(row), where), row.values(), strict=True))


def _check_columns(columns: list[str], where: str) -> list[str]:
    """Return the columns by their new names, if they are valid."""
    for old in set(columns) & set(RENAMED_COLUMNS):
        warn_renamed(f"column {old!r} of a file of pushes", repr(RENAMED_COLUMNS[old]), stacklevel=5)
    columns = [RENAMED_COLUMNS.get(column, column) for column in columns]
    for column in columns:
        validation.lookup(dict.fromkeys((*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)), column, "column", f"a file of pushes ({where})")
    missing = [column for column in REQUIRED_COLUMNS if column not in columns]
    twice = validation.first_duplicate(columns)
    if missing or twice:
        wrong = f"the column {missing[0]!r} is missing" if missing else f"the column {twice!r} occurs twice"
        raise MotionFileError(f"{where}: {wrong}. {_FORMAT_HELP}")
    return columns


def _push_of_row(row: dict[str, Any], where: str) -> Push:
    """Push of a row; errors name the column."""
    link = row["link"]
    if not isinstance(link, str) or not link:
        raise MotionFileError(f"{where}, column link: expected the name of a link, got {validation.short_repr(link)}.")
    limits = {"start": {"minimum": 0.0}, "duration": {"above": 0.0}}
    numbers = {"px": 0.0, "py": 0.0, "pz": 0.0, "duration": Push.duration}
    for column, value in row.items():
        if column != "link":
            try:
                if isinstance(value, bool):
                    raise ValueError
                number = float(value) if isinstance(value, str | int) else value
                numbers[column] = validation.number(number, f"{where}, column {column}", **limits.get(column, {}))
            except ArgumentError as problem:
                raise MotionFileError(str(problem)) from None
            except (ValueError, OverflowError):
                raise MotionFileError(f"{where}, column {column}: {validation.short_repr(value)} is not a number.") from None
    n = numbers
    return Push(link, (n["x"], n["y"], n["z"]), n["start"], n["duration"], (n["px"], n["py"], n["pz"]))
