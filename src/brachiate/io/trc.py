"""TRC: markers, one line per frame, with empty cells where a marker was not visible."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.clip.markers import Markers
from brachiate.clip.units_and_axes import AXES, UNITS, from_z_up, to_z_up
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.atomic import write_text
from brachiate.io.limits import MAX_NUMBERS
from brachiate.io.motion_text import frame_step, no_frames, read_text
from brachiate.validation import Array

TIME_ROUNDING = 1e-3  # [s] files often round times to milliseconds


def read_trc(
    path: str | PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    zeros_are_gaps: bool = True,
    frames: slice | None = None,
) -> Markers:
    """Read the markers of a TRC file, in meters with z up.

    Args:
        path: The file.
        unit: ``"mm"``, ``"m"``, ...; by default that of the file.
        up: Axis of the file that points up: ``"x"``, ``"y"`` or ``"z"``. Files do not state it; by default y.
        zeros_are_gaps: Whether a marker exactly at the origin was not visible: some programs write gaps this way.
        frames: Selection of frames; by default all, and there must be as many as announced.
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
    """Parse the text of a TRC file; ``where`` names it in messages."""
    _check_axis(up)
    lines, assumptions = text.splitlines(), []
    settings = _header(lines, where)
    length = _unit(settings, unit, where)
    count = _integer_setting(settings, "nummarkers", where)
    names = _names(lines, count, where)
    rows = [(k, line) for k, line in enumerate(lines[5:], start=6) if line.strip()]
    announced = _integer_setting(settings, "numframes", where)
    if frames is None and len(rows) != announced:
        hint = f" Read those with frames=slice(0, {len(rows)})." if 0 < len(rows) < announced else ""
        raise MotionFileError(
            f"{where} line 3: {announced} frames are announced, the file has {len(rows)}. It was cut short, or edited by hand.{hint}"
        )
    frame_step(frames)  # refuses what is not a selection
    chosen = rows if frames is None else rows[frames]
    if not chosen:
        raise no_frames(where, frames, len(rows))
    if rows[-1:] == chosen[-1:] and chosen and not text.endswith(("\n", "\r")) and _cells(chosen[-1][1]) < 2 + 3 * count:
        raise MotionFileError(
            f"{where} line {rows[-1][0]}: the last line breaks off. Read those before it with frames=slice(0, {len(rows) - 1})."
        )
    numbers = _numbers(chosen, names, where)
    places = length * to_z_up(numbers[:, 2:].reshape(len(numbers), count, 3), up or "y")
    if zeros_are_gaps and (zeros := (places == 0.0).all(axis=-1)).any():
        places[zeros] = np.nan
        assumptions.append(
            Assumption("gaps", f"{zeros.sum()} points", "they are exactly in the origin, as some programs write gaps", "zeros_are_gaps")
        )
    if up is None:
        assumptions.append(Assumption("up axis", "y", "most TRC files are so, and none says", "up"))
    times = _times(numbers[:, 1], settings, [k for k, _ in chosen], where, assumptions)
    return Markers(names, times, places, Path(where).stem, tuple(assumptions))


def _header(lines: list[str], where: str) -> dict[str, str]:
    """Settings by lower-case name: names are in the second line, values in the third."""
    if not lines or not lines[0].lower().startswith("pathfiletype"):
        raise MotionFileError(f"{where} line 1: 'PathFileType' was expected. Is it a TRC file?")
    if len(lines) < 5:
        raise MotionFileError(f"{where} has {len(lines)} lines: five of header were expected, and frames. The file was cut short.")
    keys, values = lines[1].split(), lines[2].split()
    if len(values) < len(keys):
        raise MotionFileError(f"{where} line 3: {len(keys)} settings are named in line 2, {len(values)} are there.")
    return {key.lower(): value for key, value in zip(keys, values, strict=False)}


def _integer_setting(settings: dict[str, str], key: str, where: str) -> int:
    value = settings.get(key)
    if value is None:
        name = {"numframes": "NumFrames", "nummarkers": "NumMarkers"}[key]
        raise MotionFileError(f"{where} line 2: {name} was expected among the settings; found {', '.join(settings)[:200] or 'none'}.")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < MAX_NUMBERS or number != int(number):
        raise MotionFileError(f"{where} line 3: {value[:40]!r} is not a number of {key[3:]}: an integer of at least 1 was expected.")
    return int(number)


def _unit(settings: dict[str, str], given: str | None, where: str) -> float:
    unit = settings.get("units") if given is None else given
    if unit is None:
        raise MotionFileError(f"{where} line 2 has no Units. Give the unit: unit='mm' (most files), 'cm' or 'm'.")
    if unit.lower() not in UNITS:
        if given is None:
            raise MotionFileError(f"{where} line 3: Units are {unit[:40]!r}; known are {', '.join(UNITS)}. Give the unit: unit='mm'.")
        raise MotionError(f"unit={unit!r} is not one of {', '.join(UNITS)}.")
    return UNITS[unit.lower()]


def _check_axis(up: str | None) -> None:
    if up is not None and up not in AXES:
        raise MotionError(f"up={up!r} is not one of 'x', 'y', 'z': the axis of the file that points up.")


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
        names = [cell for cell in cells[2:] if cell]  # some programs write one cell per marker
    if len(names) != count:
        raise MotionFileError(f"{where} line 4: {count} markers are announced in line 3, {len(names)} are named.")
    if "" in names:
        raise MotionFileError(f"{where} line 4: marker {names.index('') + 1} has no name.")
    twice = validation.first_duplicate(names)
    if twice:
        raise MotionFileError(f"{where} line 4: two markers are named {twice[:40]!r}. Names must differ; rename one.")
    return tuple(names)


def _cells(line: str) -> int:
    return len(line.split("\t")) if "\t" in line.strip() else len(line.split())


def _numbers(rows: list[tuple[int, str]], names: tuple[str, ...], where: str) -> Array:
    """Frame, time and coordinates of every row, with NaN where a marker was not visible: (f, 2 + 3 m)."""
    width = 2 + 3 * len(names)
    if len(rows) * width > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {len(rows)} frames of {width} numbers are more than can be read ({MAX_NUMBERS} numbers).")
    numbers = np.empty((len(rows), width))
    for row, (line, text) in zip(numbers, rows, strict=True):
        cells = [cell.strip() for cell in text.rstrip().split("\t")] if "\t" in text.strip() else text.split()
        if len(cells) > width or ((len(cells) - 2) % 3 and not text.endswith("\t")):
            raise MotionFileError(f"{where} line {line}: {width} numbers expected ({len(names)} markers), {len(cells)} found.")
        cells += [""] * (width - len(cells))  # the last markers were not visible
        try:
            row[:] = [float(cell) if cell else np.nan for cell in cells]
        except ValueError:
            raise _invalid_cell(cells, names, f"{where} line {line}") from None
        _check_row(row, names, f"{where} line {line}")
    return numbers


def _invalid_cell(cells: list[str], names: tuple[str, ...], place: str) -> MotionFileError:
    for k, cell in enumerate(cells):
        try:
            float(cell or "0")
        except ValueError:
            what = ("the frame", "the time")[k] if k < 2 else f"marker {names[(k - 2) // 3][:40]!r}"
            return MotionFileError(f"{place}, {what}: {cell[:40]!r} is not a number.")
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
            f"{place}, marker {names[k][:40]!r}: {points[k]} is not a position. Three finite numbers were expected, or three empty cells "
            "if it was not visible."
        )


def _times(times: Array, settings: dict[str, str], lines: list[int], where: str, assumptions: list[Assumption]) -> Array:
    """Times of the frames: those of the file, or the evenly spaced ones that it has rounded."""
    steps = np.diff(times)
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        raise MotionFileError(f"{where} line {lines[k + 1]}: the time {times[k + 1]:g} s follows {times[k]:g} s. Times must increase.")
    try:
        rate = float(settings.get("datarate", "0"))
    except ValueError:
        rate = 0.0
    if len(times) < 2 or not 1e-6 < rate < 1e6:
        return times
    even = times[0] + np.arange(len(times)) / rate
    off = float(np.abs(even - times).max())
    if not 1e-9 < off <= min(TIME_ROUNDING, 0.2 / rate):
        return times
    assumptions.append(
        Assumption("times", f"even, {rate:g} frames/s", f"DataRate says so, and those of the file are at most {1e3 * off:.1g} ms away")
    )
    return even


def write_trc(markers: Markers, path: str | PathLike[str], *, unit: str = "mm", up: str = "y") -> None:
    """Write a TRC file; markers that were not visible are empty cells."""
    write_text(path, format_trc(markers, Path(path).name, unit=unit, up=up), "the markers")


def format_trc(markers: Markers, file: str = "markers.trc", *, unit: str = "mm", up: str = "y") -> str:
    """Return the text of a TRC file; see :func:`write_trc`."""
    _check_axis(up)
    if unit not in UNITS:
        raise MotionError(f"unit={unit!r} is not one of {', '.join(UNITS)}.")
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
    places = from_z_up(markers.positions, up).reshape(f, -1) / UNITS[unit]
    for k, (time, row) in enumerate(zip(markers.times, places + 0.0, strict=True)):
        lines.append("\t".join((str(k + 1), f"{time:.9g}", *("" if np.isnan(x) else f"{x:.9g}" for x in row))))
    return "\n".join(lines) + "\n"
