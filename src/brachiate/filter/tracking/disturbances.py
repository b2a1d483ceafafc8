"""Shoves: forces on a link for a while, by words, by numbers, or from a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.errors import ArgumentError, MotionFileError
from brachiate.io.json_text import MOST_BYTES, read_json
from brachiate.io.motion_text import read_text
from brachiate.simulate.simulation import Simulation
from brachiate.world.pushes import Push
from brachiate.world.world import World

NEEDED, OTHERS = ("link", "x", "y", "z", "at"), ("lasting", "px", "py", "pz")  # columns of a file
MOST = 10_000  # pushes of a file
_MANUAL = (
    f"The columns are {','.join(NEEDED)} and, if you like, {','.join(OTHERS)}: "
    "link, force [N], from when, how long [s], at which point of the link [m]."
)


@dataclass(frozen=True)
class Shove:
    """A force on a link of the figure, for a while.

    Args:
        link: Its name.
        force: (3,) [N], world axes.
        at: When it begins [s].
        lasting: For how long [s].
        point: Where it acts, in the link's axes [m].
    """

    link: str
    force: tuple[float, float, float]
    at: float
    lasting: float = 0.1
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", tuple(map(float, validation.vector(self.force, f"force of a push on {self.link!r}"))))
        object.__setattr__(self, "point", tuple(map(float, validation.vector(self.point, f"point of a push on {self.link!r}"))))
        validation.number(self.at, f"time of a push on {self.link!r}", least=0.0)
        validation.number(self.lasting, f"duration of a push on {self.link!r}", above=0.0)

    def put_on(self, simulation: Simulation, figure: str) -> None:
        """Let it happen."""
        world, acting = simulation.world, []
        self.check(world, figure)
        simulation.at(self.at, lambda: acting.append(self.begin(world, figure)))
        simulation.at(self.at + self.lasting, lambda: world.remove(acting.pop()))

    def check(self, world: World, figure: str) -> None:
        """Refuse a link that the figure does not have."""
        validation.named(dict.fromkeys(world.figure(figure).model.links), self.link, "link", f"figure {figure!r}")

    def begin(self, world: World, figure: str) -> Push:
        """Push, until what is returned is removed."""
        return world.push(f"{figure}/{self.link}", self.force, at=self.point)


def shove_of(text: str) -> Shove:
    """A shove by words: ``chest:80,0,0@1.0+0.1`` pushes the chest by 80 N along x from 1.0 s on for 0.1 s."""
    try:
        link, _, rest = text.partition(":")
        force, _, when = rest.partition("@")
        at, _, lasting = when.partition("+")
        x, y, z = (float(number) for number in force.split(","))
        return Shove(link.strip(), (x, y, z), float(at), float(lasting or 0.1))
    except ValueError:
        raise ArgumentError(f"{text!r} is no push. Write link:x,y,z@time+duration, such as chest:80,0,0@1.0+0.1 (N, s).") from None


def load_pushes(path: str | PathLike[str], links: Iterable[str] | None = None) -> list[Shove]:
    """Read pushes from a table, ``.csv`` or ``.json``; ``links`` are the names there are.

    A CSV file begins with the names of its columns: ``link,x,y,z,at``, and ``lasting`` and ``px,py,pz`` if they are not as for
    :class:`Shove` by default. A JSON file is a list of such rows: ``[{"link": "chest", "x": 80, "y": 0, "z": 0, "at": 1.0}]``.
    """
    path, known = Path(path), None if links is None else dict.fromkeys(links)
    pushes = []
    for where, row in _json_rows(path) if path.suffix.lower() == ".json" else _csv_rows(path):
        if len(pushes) == MOST:
            raise MotionFileError(f"{where}: there are more pushes than can be read ({MOST}).")
        pushes.append(_shove(row, where))
        if known is not None:
            validation.named(known, pushes[-1].link, "link", f"this figure ({where})")
    return pushes


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows by the names of their columns, and where each is."""
    lines = csv.reader(read_text(path, MOST_BYTES).splitlines(), skipinitialspace=True, strict=True)
    columns: list[str] = []
    try:
        for cells in lines:
            where = f"{path} line {lines.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = [cell.strip() for cell in cells]
                _check_columns(columns, where)
            elif len(cells) != len(columns):
                raise MotionFileError(f"{where}: {len(columns)} columns expected ({','.join(columns)}), {len(cells)} found.")
            else:
                row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
                yield where, {name: cell for name, cell in row.items() if cell or name in NEEDED}
    except csv.Error as problem:
        raise MotionFileError(f"{path} line {lines.line_num}: this is no CSV ({problem}). {_MANUAL}") from None


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = read_json(path, "a file of pushes", MotionFileError)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise MotionFileError(f"{path}: expected a list of pushes, [{{...}}, ...]. {_MANUAL}")
    for k, row in enumerate(content):
        _check_columns(list(row), f"{path} push {k}")
        yield f"{path} push {k}", row


def _check_columns(columns: list[str], where: str) -> None:
    for column in columns:
        validation.named(dict.fromkeys((*NEEDED, *OTHERS)), column, "column", f"a file of pushes ({where})")
    missing = [column for column in NEEDED if column not in columns]
    twice = validation.unique(columns)
    if missing or twice:
        wrong = f"there is no column {missing[0]!r}" if missing else f"the column {twice!r} is there twice"
        raise MotionFileError(f"{where}: {wrong}. {_MANUAL}")


def _shove(row: dict[str, Any], where: str) -> Shove:
    """A push of a row; what is no number is named by its column."""
    link = row["link"]
    if not isinstance(link, str) or not link:
        raise MotionFileError(f"{where}, column link: expected the name of a link, got {validation.shown(link)}.")
    limits = {"at": {"least": 0.0}, "lasting": {"above": 0.0}}
    numbers = {"px": 0.0, "py": 0.0, "pz": 0.0, "lasting": Shove.lasting}
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
                raise MotionFileError(f"{where}, column {column}: {validation.shown(value)} is no number.") from None
    n = numbers
    return Shove(link, (n["x"], n["y"], n["z"]), n["at"], n["lasting"], (n["px"], n["py"], n["pz"]))
