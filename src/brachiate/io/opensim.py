"""OpenSim tables (``.mot``, ``.sto``): a header, a line of column names and one line of numbers per frame; also of force plates.

Values stay as in the file: SI units, in its axes (y up), angles in degrees if it says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.clip.units_and_axes import to_z_up
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.atomic import write_text
from brachiate.io.limits import MAX_NUMBERS
from brachiate.io.motion_text import frame_step, no_frames, read_text
from brachiate.validation import Array

MAX_HEADER_LINES = 1000
_SETTING = re.compile(r"(version|nrows|ncolumns|indegrees|datatype|opensimversion)\s*=\s*(.*)", re.IGNORECASE)
_SIMM = re.compile(r"(name|datacolumns|datarows|otherdata|range)\s+(.*)", re.IGNORECASE)  # headers of SIMM motions, before OpenSim
_END = re.compile(r"end\s*header", re.IGNORECASE)
_TRANSLATION = re.compile(r"(?:.*[_/])?t[xyz](?:/value|/speed|_u)?", re.IGNORECASE)
_FORCE = re.compile(r"(.*force)(.*?)_?([vp])([xyz])", re.IGNORECASE)
_MOMENT = re.compile(r"(.*)(?:torque|moment)(.*?)_?m?([xyz])", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Numbers in named columns, row by row in time.

    Args:
        name: Name of the table.
        times: Times of the rows, increasing [s]: (f,).
        columns: Names of the columns, without the time.
        values: (f, n).
        degrees: Whether angles are in degrees.
        assumptions: Assumptions made when it was read.
    """

    name: str
    times: Array
    columns: tuple[str, ...]
    values: Array
    degrees: bool = False
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        f, n = len(self.times), len(self.columns)
        object.__setattr__(self, "columns", tuple(self.columns))
        if f < 1:
            raise MotionError("A table has at least one row.")
        twice = validation.first_duplicate(self.columns)
        if twice:
            raise MotionError(f"Two columns are named {twice!r}. Names must differ.")
        for name, shape in (("times", (f,)), ("values", (f, n))):
            object.__setattr__(self, name, validation.frozen(validation.numbers(getattr(self, name), shape, name)))
        if f > 1 and not (np.diff(self.times) > 0).all():
            raise MotionError(f"Times must increase from row to row; row {int(np.argmin(np.diff(self.times))) + 1} does not.")

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """One column: (f,)."""
        validation.lookup(dict.fromkeys(self.columns), name, "column", f"the table {self.name!r}")
        return self.values[:, self.columns.index(name)]

    def radians(self, translations: Iterable[str] | Callable[[str], bool] | None = None) -> Table:
        """Return the table with angles in radians: all columns except translations are angles.

        Args:
            translations: Names of the columns that are not angles, or a predicate of names. By default names that end in ``_tx``,
                ``_ty`` or ``_tz``, and columns of force plates.
        """
        if not self.degrees:
            return self
        if translations is None:
            is_other: Callable[[str], bool] = _is_not_angle
        elif callable(translations):
            is_other = translations
        else:
            chosen = {translations} if isinstance(translations, str) else set(translations)
            for name in chosen:
                self[name]  # raises an error that lists the columns
            is_other = chosen.__contains__
        factors = np.array([1.0 if is_other(name) else np.pi / 180.0 for name in self.columns])
        return replace(self, values=self.values * factors, degrees=False)


def _is_not_angle(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in (_TRANSLATION, _FORCE, _MOMENT))


def read_table(path: str | PathLike[str], *, frames: slice | None = None, degrees: bool | None = None) -> Table:
    """Read a ``.mot`` or ``.sto`` file.

    Args:
        path: The file.
        frames: Selection of rows; by default all, and there must be as many as announced.
        degrees: Whether angles are in degrees, overriding the header.
    """
    path = Path(path)
    return parse_table(read_text(path), str(path), frames, degrees)


@dataclass
class _Header:
    name: str = ""
    rows: tuple[int, int] | None = None  # value and line number
    columns: tuple[int, int] | None = None
    degrees: bool | None = None
    simm: bool = False


def parse_table(text: str, where: str, frames: slice | None = None, degrees: bool | None = None) -> Table:
    """Parse the text of a table; ``where`` names it in messages."""
    lines = text.splitlines()
    header, at = _header(lines, where)
    labels, at = _labels(lines, at, header, where)
    numbered = [(k + 1, words) for k, words in enumerate((line.split() for line in lines[at:]), start=at) if words]
    if frames is None and header.rows is not None and len(numbered) != header.rows[0]:
        hint = f" Read those with frames=slice(0, {len(numbered)})." if 0 < len(numbered) < header.rows[0] else ""
        raise MotionFileError(
            f"{where} line {header.rows[1]}: {header.rows[0]} rows are announced, the file has {len(numbered)}: it was cut short "
            f"or has the header of another file.{hint}"
        )
    frame_step(frames)  # refuses what is not a selection
    chosen = numbered if frames is None else numbered[frames]
    if not chosen:
        raise no_frames(where, frames, len(numbered), "row")
    numbers = _numbers(chosen, labels, where)
    assumptions = []
    if degrees is None:
        degrees = header.degrees
    if degrees is None:
        degrees = header.simm
        why = "as in SIMM motions" if degrees else "the header has no inDegrees, as is usual with radians"
        assumptions.append(Assumption("angles", "degrees" if degrees else "radians", why, "degrees"))
    return Table(header.name or Path(where).stem, numbers[:, 0], tuple(labels[1:]), numbers[:, 1:], degrees, tuple(assumptions))


def _header(lines: list[str], where: str) -> tuple[_Header, int]:
    """Header, and its number of lines."""
    header = _Header()
    for k, line in enumerate(lines[:MAX_HEADER_LINES]):
        words = line.strip()
        if _END.fullmatch(words):
            return header, k + 1
        setting, simm = _SETTING.fullmatch(words), _SIMM.fullmatch(words)
        if setting:
            _set(header, setting[1].lower(), setting[2].strip(), f"{where} line {k + 1}", k + 1)
        elif simm and simm[1].lower() in ("datacolumns", "datarows"):
            header.simm = True
            _set(header, {"datacolumns": "ncolumns", "datarows": "nrows"}[simm[1].lower()], simm[2].strip(), f"{where} line {k + 1}", k + 1)
        elif simm and simm[1].lower() == "name":
            header.name = simm[2].strip()
        elif k == 0 and not simm:
            header.name = words
    raise MotionFileError(
        f"{where} has no line 'endheader'{f' among its first {MAX_HEADER_LINES}' if len(lines) > MAX_HEADER_LINES else ''}: "
        "the file was cut short, or is not an OpenSim table."
    )


def _set(header: _Header, key: str, value: str, place: str, line: int) -> None:
    if key in ("nrows", "ncolumns"):
        if not re.fullmatch(r"[0-9]{1,12}", value):
            raise MotionFileError(f"{place}: a whole number was expected, not {value[:40]!r}.")
        setattr(header, key[1:], (int(value), line))
    elif key == "indegrees":
        if value.lower() not in ("yes", "no"):
            raise MotionFileError(f"{place}: inDegrees=yes or inDegrees=no was expected, not {value[:40]!r}.")
        header.degrees = value.lower() == "yes"
    elif key == "datatype" and value.lower() != "double":
        raise MotionFileError(f"{place}: columns of DataType={value[:40]} are not read, only those of plain numbers (double).")


def _labels(lines: list[str], at: int, header: _Header, where: str) -> tuple[list[str], int]:
    """Names of all columns, time first, and the number of lines up to them."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at == len(lines):
        raise MotionFileError(f"{where} ends after its header: a line with the names of the columns was expected.")
    place = f"{where} line {at + 1}"
    labels, words = [label.strip() for label in lines[at].rstrip().split("\t")], lines[at].split()
    if header.columns and len(labels) != header.columns[0] == len(words):
        labels = words  # separated by blanks
    elif not header.columns and "\t" not in lines[at].strip():
        labels = words
    if header.columns and len(labels) != header.columns[0]:
        raise MotionFileError(
            f"{place}: {header.columns[0]} columns are announced in line {header.columns[1]}, {len(labels)} are named: "
            f"{lines[at].strip()[:60]!r}."
        )
    if labels[0].lower() != "time":
        raise MotionFileError(f"{place}: the first column must be 'time', not {labels[0][:40]!r}.")
    if "" in labels:
        raise MotionFileError(f"{place}: column {labels.index('') + 1} has no name.")
    twice = validation.first_duplicate(labels)
    if twice:
        raise MotionFileError(f"{place}: two columns are named {twice!r}. Names must differ; rename one.")
    return labels, at + 1


def _numbers(rows: list[tuple[int, list[str]]], labels: list[str], where: str) -> Array:
    """Parse rows, given with their line numbers: (f, n), the first column increasing."""
    if len(rows) * len(labels) > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {len(rows)} rows of {len(labels)} numbers are more than can be read ({MAX_NUMBERS} numbers).")
    for line, words in rows:
        if len(words) != len(labels):
            raise MotionFileError(f"{where} line {line}: {len(labels)} numbers expected, as there are columns, {len(words)} found.")
    try:
        numbers = np.array([word for _, words in rows for word in words], float).reshape(len(rows), -1)
    except ValueError:
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise _first_invalid(rows, labels, where)
    steps = np.diff(numbers[:, 0])
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        problem = "occurs twice" if steps[k] == 0 else f"follows {numbers[k, 0]:g} s"
        raise MotionFileError(
            f"{where} line {rows[k + 1][0]}: the time {numbers[k + 1, 0]:g} s {problem}. Times must increase from row to row; "
            f"delete a row, or read those before with frames=slice(0, {k + 1})."
        )
    return numbers


def _first_invalid(rows: list[tuple[int, list[str]]], labels: list[str], where: str) -> MotionFileError:
    """Error for the first word that is not a finite number."""
    for line, words in rows:
        for label, word in zip(labels, words, strict=True):
            place = f"{where} line {line}, column {label!r}"
            try:
                if not np.isfinite(float(word)):
                    return MotionFileError(f"{place}: {word[:40]!r} is not finite. Every number must be.")
            except ValueError:
                return MotionFileError(f"{place}: {word[:40]!r} is not a number.")
    return MotionFileError(f"{where}: some of its numbers cannot be read.")


def write_table(table: Table, path: str | PathLike[str]) -> None:
    """Write a ``.mot`` or ``.sto`` file that reads back exactly."""
    write_text(path, format_table(table), "the table")


def format_table(table: Table) -> str:
    """Return the text of a table; see :func:`write_table`."""
    words = table.name.strip()
    if not words or words.splitlines() != [words] or any(pattern.fullmatch(words) for pattern in (_SETTING, _SIMM, _END)):
        raise MotionError(f"A table named {table.name!r} cannot be written: its name must be one line that is not a header setting.")
    for label in table.columns:
        if label != label.strip() or not label or "\t" in label or label.splitlines() != [label]:
            raise MotionError(
                f"A column named {label!r} cannot be written: names must not be empty, have tabs, or begin or end with blanks."
            )
    lines = [words, "version=1", f"nRows={len(table)}", f"nColumns={len(table.columns) + 1}"]
    lines += [f"inDegrees={'yes' if table.degrees else 'no'}", "endheader", "\t".join(("time", *table.columns))]
    lines += ["\t".join(map(repr, row)) for row in np.column_stack((table.times, table.values)).tolist()]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Plate:
    """Measurements of a force plate: force on the body, point of application, and moment about that point.

    Args:
        name: Name of the plate.
        force: Force (f, 3) [N].
        point: Point of application (f, 3) [m].
        moment: Moment (f, 3) [N·m].
    """

    name: str
    force: Array
    point: Array
    moment: Array

    def z_up(self, up: str = "y") -> Plate:
        """Return the measurements with z up, from axes with ``up`` up."""
        return Plate(self.name, *(to_z_up(v, up) for v in (self.force, self.point, self.moment)))


def force_plates(table: Table) -> list[Plate]:
    """Return the force plates of a table, identified by column names, in the axes of its file.

    Names are ``ground_force_vx``, ``ground_force_px`` and ``ground_torque_x``, with a prefix or infix that distinguishes plates:
    ``1_ground_force_vx``, ``ground_force_r_vx``. A plate without torque columns has zero moments.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for label in table.columns:
        force, moment = _FORCE.fullmatch(label), _MOMENT.fullmatch(label)
        if force:
            key, part = (force[1][:-5].lower(), force[2].lower()), (force[3] + force[4]).lower()
        elif moment:
            key, part = (moment[1].lower(), moment[2].lower()), "m" + moment[3].lower()
        else:
            continue
        if part in found.setdefault(key, {}):
            raise MotionError(f"The columns {found[key][part]!r} and {label!r} of {table.name!r} are the same part of one plate.")
        found[key][part] = label
    plates = []
    for (before, after), parts in found.items():
        name = f"{before}force{after}"
        if not any(part[0] in "vp" for part in parts):
            raise MotionError(f"The torques {', '.join(parts.values())} of {table.name!r} belong to no force: {name}_vx, ... was expected.")
        vectors = []
        for letter, what in (("v", "force"), ("p", "point"), ("m", "torque")):
            missing = [axis for axis in "xyz" if letter + axis not in parts]
            if letter == "m" and len(missing) == 3:
                vectors.append(np.zeros((len(table), 3)))
            elif missing:
                raise MotionError(
                    f"The plate {name!r} of {table.name!r} lacks {', '.join(missing)} of its {what}. It has {', '.join(parts.values())}."
                )
            else:
                vectors.append(np.stack([table[parts[letter + axis]] for axis in "xyz"], axis=1))
        plates.append(Plate(name, *vectors))
    if not plates:
        raise MotionError(
            f"{table.name!r} has no force plates: columns such as ground_force_vx, ground_force_px, ground_torque_x were expected, "
            f"found {', '.join(table.columns[:8])}{', ...' if len(table.columns) > 8 else ''}."
        )
    return plates
