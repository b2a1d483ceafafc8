"""OpenSim's tables, ``.mot`` and ``.sto``: a header, one line of names and one line of numbers a frame; also those of force plates.

Numbers stay as they are in the file: in SI units along its own axes (y up), angles in degrees if it says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import validation
from brachiate.assumptions import Guess
from brachiate.clip.units_and_axes import permuted
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.motion_text import MOST_NUMBERS, read_text
from brachiate.validation import Array

MOST_HEADER = 1000  # lines
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
        name: What the file calls itself.
        times: Of each row [s], growing: (f,).
        columns: Names of the columns, without the time.
        values: (f, n).
        degrees: Whether angles among them are in degrees.
        guesses: What was assumed when it was read.
    """

    name: str
    times: Array
    columns: tuple[str, ...]
    values: Array
    degrees: bool = False
    guesses: tuple[Guess, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        f, n = len(self.times), len(self.columns)
        object.__setattr__(self, "columns", tuple(self.columns))
        if f < 1:
            raise MotionError("A table has one row at least.")
        twice = validation.unique(self.columns)
        if twice:
            raise MotionError(f"Two columns are named {twice!r}. Names must differ.")
        for name, shape in (("times", (f,)), ("values", (f, n))):
            object.__setattr__(self, name, validation.frozen(validation.numbers(getattr(self, name), shape, name)))
        if f > 1 and not (np.diff(self.times) > 0).all():
            raise MotionError(f"Times must grow from row to row; row {int(np.argmin(np.diff(self.times))) + 1} does not.")

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """One column: (f,)."""
        validation.named(dict.fromkeys(self.columns), name, "column", f"the table {self.name!r}")
        return self.values[:, self.columns.index(name)]

    def radians(self, translations: Iterable[str] | Callable[[str], bool] | None = None) -> Table:
        """The same with angles in radians: all columns are taken as angles but those that are translations.

        Args:
            translations: Names of the columns that are no angles, or a function that says so of a name. By default these are names
                that end in ``_tx``, ``_ty`` or ``_tz``, and columns of force plates.
        """
        if not self.degrees:
            return self
        if translations is None:
            is_other: Callable[[str], bool] = _is_no_angle
        elif callable(translations):
            is_other = translations
        else:
            chosen = {translations} if isinstance(translations, str) else set(translations)
            for name in chosen:
                self[name]  # says which columns there are if this is none
            is_other = chosen.__contains__
        factors = np.array([1.0 if is_other(name) else np.pi / 180.0 for name in self.columns])
        return replace(self, values=self.values * factors, degrees=False)


def _is_no_angle(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in (_TRANSLATION, _FORCE, _MOMENT))


def read_table(path: str | PathLike[str], *, frames: slice | None = None, degrees: bool | None = None) -> Table:
    """Read a ``.mot`` or ``.sto`` file.

    Args:
        path: The file.
        frames: Which of its rows; by default all, and there must be as many as it announces.
        degrees: Whether its angles are in degrees, whatever it says.
    """
    path = Path(path)
    return parse_table(read_text(path), str(path), frames, degrees)


@dataclass
class _Header:
    name: str = ""
    rows: tuple[int, int] | None = None  # the number, and the line it is in
    columns: tuple[int, int] | None = None
    degrees: bool | None = None
    simm: bool = False


def parse_table(text: str, where: str, frames: slice | None = None, degrees: bool | None = None) -> Table:
    """The table of a file's text; ``where`` names it in messages."""
    lines = text.splitlines()
    header, at = _header(lines, where)
    labels, at = _labels(lines, at, header, where)
    numbered = [(k + 1, words) for k, words in enumerate((line.split() for line in lines[at:]), start=at) if words]
    if frames is None and header.rows is not None and len(numbered) != header.rows[0]:
        hint = f" Read those with frames=slice(0, {len(numbered)})." if 0 < len(numbered) < header.rows[0] else ""
        raise MotionFileError(
            f"{where} line {header.rows[1]}: {header.rows[0]} rows are announced, {len(numbered)} are there: the file was cut short "
            f"or its header is another's.{hint}"
        )
    numbers = _numbers(numbered if frames is None else numbered[frames], labels, where)
    guesses = []
    if degrees is None:
        degrees = header.degrees
    if degrees is None:
        degrees = header.simm
        why = "motions of SIMM have them so" if degrees else "the header has no inDegrees, as is usual where they are in radians"
        guesses.append(Guess("angles", "degrees" if degrees else "radians", why, "degrees"))
    return Table(header.name or Path(where).stem, numbers[:, 0], tuple(labels[1:]), numbers[:, 1:], degrees, tuple(guesses))


def _header(lines: list[str], where: str) -> tuple[_Header, int]:
    """What the header says, and the number of lines it takes."""
    header = _Header()
    for k, line in enumerate(lines[:MOST_HEADER]):
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
        f"{where} has no line 'endheader'{f' among its first {MOST_HEADER}' if len(lines) > MOST_HEADER else ''}: the file was cut short, "
        "or is no table of OpenSim."
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
    """Names of all columns, time first, and the number of lines up to theirs."""
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
    twice = validation.unique(labels)
    if twice:
        raise MotionFileError(f"{place}: two columns are named {twice!r}. Names must differ; rename one.")
    return labels, at + 1


def _numbers(rows: list[tuple[int, list[str]]], labels: list[str], where: str) -> Array:
    """Numbers of rows, with the numbers of their lines: (f, n), the first column growing."""
    if not rows:
        raise MotionFileError(f"{where} has no rows, or none of those asked for. A table has one at least.")
    if len(rows) * len(labels) > MOST_NUMBERS:
        raise MotionFileError(f"{where}: {len(rows)} rows of {len(labels)} numbers are more than can be read ({MOST_NUMBERS} numbers).")
    for line, words in rows:
        if len(words) != len(labels):
            raise MotionFileError(f"{where} line {line}: {len(labels)} numbers expected, as there are columns, {len(words)} found.")
    try:
        numbers = np.array([word for _, words in rows for word in words], float).reshape(len(rows), -1)
    except ValueError:
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise _first_wrong(rows, labels, where)
    steps = np.diff(numbers[:, 0])
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        told = "is there twice" if steps[k] == 0 else f"follows {numbers[k, 0]:g} s"
        raise MotionFileError(
            f"{where} line {rows[k + 1][0]}: the time {numbers[k + 1, 0]:g} s {told}. Times must grow from row to row; delete a row, "
            f"or read those before with frames=slice(0, {k + 1})."
        )
    return numbers


def _first_wrong(rows: list[tuple[int, list[str]]], labels: list[str], where: str) -> MotionFileError:
    """What to say of the first word that is no finite number."""
    for line, words in rows:
        for label, word in zip(labels, words, strict=True):
            place = f"{where} line {line}, column {label!r}"
            try:
                if not np.isfinite(float(word)):
                    return MotionFileError(f"{place}: {word[:40]!r} is not finite. Every number must be.")
            except ValueError:
                return MotionFileError(f"{place}: {word[:40]!r} is no number.")
    return MotionFileError(f"{where}: some of its numbers cannot be read.")


def write_table(table: Table, path: str | PathLike[str]) -> None:
    """Write a ``.mot`` or ``.sto`` file that reads back exactly."""
    Path(path).write_text(format_table(table), encoding="utf-8")


def format_table(table: Table) -> str:
    """The text of a file; see :func:`write_table`."""
    words = table.name.strip()
    if not words or words.splitlines() != [words] or any(pattern.fullmatch(words) for pattern in (_SETTING, _SIMM, _END)):
        raise MotionError(f"A table named {table.name!r} cannot be written: its name must be one line that is no setting of the header.")
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
    """What a force plate measured, row by row: the force on the body, where it acts, and the moment about there.

    Args:
        name: Of the plate.
        force: (f, 3) [N].
        point: (f, 3) [m].
        moment: (f, 3) [N·m].
    """

    name: str
    force: Array
    point: Array
    moment: Array

    def z_up(self, up: str = "y") -> Plate:
        """The same along our axes, from those of a file in which another axis is up."""
        return Plate(self.name, *(permuted(v, up) for v in (self.force, self.point, self.moment)))


def forces_of(table: Table) -> list[Plate]:
    """Force plates of a table, found by the names of its columns, along the axes of its file.

    Names are such as ``ground_force_vx``, ``ground_force_px`` and ``ground_torque_x``, with something before or within that tells
    plates apart: ``1_ground_force_vx``, ``ground_force_r_vx``. A plate without torques has none.
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
