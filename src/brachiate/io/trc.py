"""TRC: markers, one line a frame, with cells left empty where a marker was not seen."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import validation
from brachiate.assumptions import Guess
from brachiate.clip.markers import Markers
from brachiate.clip.units_and_axes import AXES, UNITS, permuted, permuted_back
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.motion_text import MOST_NUMBERS, read_text
from brachiate.validation import Array

ROUNDED = 1e-3  # [s]: files often give times to a thousandth of a second


def read_trc(
    path: str | PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    zeros_are_gaps: bool = True,
    frames: slice | None = None,
) -> Markers:
    """Read the markers of a TRC file, in metres with z up.

    Args:
        path: The file.
        unit: ``"mm"``, ``"m"``, ...; by default what the file says.
        up: Axis of the file that points upwards: ``"x"``, ``"y"`` or ``"z"``. Files do not say; by default it is y.
        zeros_are_gaps: Whether a marker exactly in the origin was not seen: some programs write gaps so.
        frames: Which of its frames; by default all, and there must be as many as it announces.
    """
    path = Path(path)
    return parse_trc(read_text(path), str(path), unit=unit, up=up, zeros_are_gaps=zeros_are_gaps, frames=frames)


def parse_trc(
    text: str,
    where: str,
    *,
    unit: str | None = None,
    up: str | None = None,
    zeros_are_gaps: bool = True,
    frames: slice | None = None,
) -> Markers:
    """The markers of a TRC file's text; ``where`` names it in messages."""
    _check_axis(up)
    lines, guesses = text.splitlines(), []
    told = _header(lines, where)
    length = _unit(told, unit, where)
    count = _whole(told, "nummarkers", where)
    names = _names(lines, count, where)
    rows = [(k, line) for k, line in enumerate(lines[5:], start=6) if line.strip()]
    announced = _whole(told, "numframes", where)
    if frames is None and len(rows) != announced:
        hint = f" Read those with frames=slice(0, {len(rows)})." if 0 < len(rows) < announced else ""
        raise MotionFileError(
            f"{where} line 3: {announced} frames are announced, {len(rows)} are there. The file was cut short, or changed by hand.{hint}"
        )
    chosen = rows if frames is None else rows[frames]
    if rows[-1:] == chosen[-1:] and chosen and not text.endswith(("\n", "\r")) and _cells(chosen[-1][1]) < 2 + 3 * count:
        raise MotionFileError(
            f"{where} line {rows[-1][0]}: the last line breaks off. Read those before it with frames=slice(0, {len(rows) - 1})."
        )
    numbers = _numbers(chosen, names, where)
    places = length * permuted(numbers[:, 2:].reshape(len(numbers), count, 3), up or "y")
    if zeros_are_gaps and (zeros := (places == 0.0).all(axis=-1)).any():
        places[zeros] = np.nan
        guesses.append(
            Guess("gaps", f"{zeros.sum()} points", "they are exactly in the origin, as some programs write gaps", "zeros_are_gaps")
        )
    if up is None:
        guesses.append(Guess("up axis", "y", "most TRC files are so, and none says", "up"))
    times = _times(numbers[:, 1], told, [k for k, _ in chosen], where, guesses)
    return Markers(names, times, places, Path(where).stem, tuple(guesses))


def _header(lines: list[str], where: str) -> dict[str, str]:
    """Settings by name, in small letters: names are in the second line, values in the third."""
    if not lines or not lines[0].lower().startswith("pathfiletype"):
        raise MotionFileError(f"{where} line 1: 'PathFileType' was expected. Is it a TRC file?")
    if len(lines) < 5:
        raise MotionFileError(f"{where} has {len(lines)} lines: five of header were expected, and frames. The file was cut short.")
    keys, values = lines[1].split(), lines[2].split()
    if len(values) < len(keys):
        raise MotionFileError(f"{where} line 3: {len(keys)} settings are named in line 2, {len(values)} are there.")
    return {key.lower(): value for key, value in zip(keys, values, strict=False)}


def _whole(told: dict[str, str], key: str, where: str) -> int:
    value = told.get(key)
    if value is None:
        name = {"numframes": "NumFrames", "nummarkers": "NumMarkers"}[key]
        raise MotionFileError(f"{where} line 2: {name} was expected among the settings; found {', '.join(told)[:200] or 'none'}.")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < MOST_NUMBERS or number != int(number):
        raise MotionFileError(f"{where} line 3: {value[:40]!r} is no number of {key[3:]}: a whole one from 1 on was expected.")
    return int(number)


def _unit(told: dict[str, str], given: str | None, where: str) -> float:
    unit = told.get("units") if given is None else given
    if unit is None:
        raise MotionFileError(f"{where} line 2 has no Units. Say what it counts in: unit='mm' (most files), 'cm' or 'm'.")
    if unit.lower() not in UNITS:
        if given is None:
            raise MotionFileError(
                f"{where} line 3: Units are {unit[:40]!r}; known are {', '.join(UNITS)}. Say what it counts in: unit='mm'."
            )
        raise MotionError(f"unit={unit!r} is none of {', '.join(UNITS)}.")
    return UNITS[unit.lower()]


def _check_axis(up: str | None) -> None:
    if up is not None and up not in AXES:
        raise MotionError(f"up={up!r} is none of 'x', 'y', 'z': the axis of the file that points upwards.")


def _names(lines: list[str], count: int, where: str) -> tuple[str, ...]:
    """Names of the markers: every third cell of the fourth line, from the third on; without tabs simply the words."""
    if "\t" in lines[3]:
        cells = [cell.strip() for cell in lines[3].rstrip().split("\t")]
        head, names, between = cells[:2], cells[2::3], [cell for k, cell in enumerate(cells[2:]) if k % 3]
    else:
        words = lines[3].split()
        head, names, between = words[:2], words[2:], []
    if [word.lower() for word in head] != ["frame#", "time"]:
        raise MotionFileError(f"{where} line 4: 'Frame#', 'Time' and names of markers were expected, not {lines[3].strip()[:60]!r}.")
    if any(between):
        names = [cell for cell in cells[2:] if cell]  # as some programs write them: one cell each
    if len(names) != count:
        raise MotionFileError(f"{where} line 4: {count} markers are announced in line 3, {len(names)} are named.")
    if "" in names:
        raise MotionFileError(f"{where} line 4: marker {names.index('') + 1} has no name.")
    twice = validation.unique(names)
    if twice:
        raise MotionFileError(f"{where} line 4: two markers are named {twice[:40]!r}. Names must differ; rename one.")
    return tuple(names)


def _cells(line: str) -> int:
    return len(line.split("\t")) if "\t" in line.strip() else len(line.split())


def _numbers(rows: list[tuple[int, str]], names: tuple[str, ...], where: str) -> Array:
    """Frame, time and coordinates of every row, with NaN where a marker was not seen: (f, 2 + 3 m)."""
    width = 2 + 3 * len(names)
    if not rows:
        raise MotionFileError(f"{where} has no frames, or none of those asked for. Markers have one at least.")
    if len(rows) * width > MOST_NUMBERS:
        raise MotionFileError(f"{where}: {len(rows)} frames of {width} numbers are more than can be read ({MOST_NUMBERS} numbers).")
    numbers = np.empty((len(rows), width))
    for row, (line, text) in zip(numbers, rows, strict=True):
        cells = [cell.strip() for cell in text.rstrip().split("\t")] if "\t" in text.strip() else text.split()
        if len(cells) > width or ((len(cells) - 2) % 3 and not text.endswith("\t")):
            raise MotionFileError(f"{where} line {line}: {width} numbers expected ({len(names)} markers), {len(cells)} found.")
        cells += [""] * (width - len(cells))  # the markers at the end were not seen
        try:
            row[:] = [float(cell) if cell else np.nan for cell in cells]
        except ValueError:
            raise _no_number(cells, names, f"{where} line {line}") from None
        _check_row(row, names, f"{where} line {line}")
    return numbers


def _no_number(cells: list[str], names: tuple[str, ...], place: str) -> MotionFileError:
    for k, cell in enumerate(cells):
        try:
            float(cell or "0")
        except ValueError:
            what = ("the frame", "the time")[k] if k < 2 else f"marker {names[(k - 2) // 3][:40]!r}"
            return MotionFileError(f"{place}, {what}: {cell[:40]!r} is no number.")
    return MotionFileError(f"{place}: some of its numbers cannot be read.")


def _check_row(row: Array, names: tuple[str, ...], place: str) -> None:
    if not np.isfinite(row[1]):
        raise MotionFileError(f"{place}: the time is missing or not finite.")
    points = row[2:].reshape(-1, 3)
    there = np.isfinite(points)
    wrong = np.isinf(points).any(axis=1) | (there.any(axis=1) != there.all(axis=1))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise MotionFileError(
            f"{place}, marker {names[k][:40]!r}: {points[k]} is no place. Three finite numbers were expected, or three empty cells "
            "if it was not seen."
        )


def _times(times: Array, told: dict[str, str], lines: list[int], where: str, guesses: list[Guess]) -> Array:
    """Times of the frames: those of the file, or the even ones that it has rounded."""
    steps = np.diff(times)
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        raise MotionFileError(f"{where} line {lines[k + 1]}: the time {times[k + 1]:g} s follows {times[k]:g} s. Times must grow.")
    try:
        rate = float(told.get("datarate", "0"))
    except ValueError:
        rate = 0.0
    if len(times) < 2 or not 1e-6 < rate < 1e6:
        return times
    even = times[0] + np.arange(len(times)) / rate
    off = float(np.abs(even - times).max())
    if not 1e-9 < off <= min(ROUNDED, 0.2 / rate):
        return times
    guesses.append(
        Guess("times", f"even, {rate:g} frames/s", f"DataRate says so, and those of the file are at most {1e3 * off:.1g} ms away")
    )
    return even


def write_trc(markers: Markers, path: str | PathLike[str], *, unit: str = "mm", up: str = "y") -> None:
    """Write a TRC file; markers that were not seen are empty cells."""
    Path(path).write_text(format_trc(markers, Path(path).name, unit=unit, up=up), encoding="utf-8")


def format_trc(markers: Markers, file: str = "markers.trc", *, unit: str = "mm", up: str = "y") -> str:
    """The text of a TRC file; see :func:`write_trc`."""
    _check_axis(up)
    if unit not in UNITS:
        raise MotionError(f"unit={unit!r} is none of {', '.join(UNITS)}.")
    for name in markers.names:
        if not name or name != name.strip() or "\t" in name or name.splitlines() != [name]:
            raise MotionError(
                f"A marker named {name!r} cannot be written: names must not be empty, have tabs, or begin or end with blanks."
            )
    f, m = len(markers), len(markers.names)
    rate = f"{markers.rate or 1.0:.9g}"
    settings = {"DataRate": rate, "CameraRate": rate, "NumFrames": f, "NumMarkers": m, "Units": unit}
    settings |= {"OrigDataRate": rate, "OrigDataStartFrame": 1, "OrigNumFrames": f}
    lines = [f"PathFileType\t4\t(X/Y/Z)\t{file}", "\t".join(settings), "\t".join(map(str, settings.values()))]
    lines.append("Frame#\tTime\t" + "\t\t\t".join(markers.names) + "\t\t")
    lines += ["\t\t" + "\t".join(f"{axis}{k + 1}" for k in range(m) for axis in "XYZ"), ""]
    places = permuted_back(markers.positions, up).reshape(f, -1) / UNITS[unit]
    for k, (time, row) in enumerate(zip(markers.times, places + 0.0, strict=True)):
        lines.append("\t".join((str(k + 1), f"{time:.9g}", *("" if np.isnan(x) else f"{x:.9g}" for x in row))))
    return "\n".join(lines) + "\n"
