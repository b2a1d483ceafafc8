"""C3D: markers, analog channels and force plates. Needs the extra ``brachiate[c3d]``.

The package ``c3d`` reads the file; it is pure Python, so that a damaged file can only raise an exception.
"""

from __future__ import annotations

import io
import struct
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.clip.markers import Markers
from brachiate.clip.units_and_axes import AXES, UNITS, to_z_up
from brachiate.errors import BrachiateError, MotionError, MotionFileError
from brachiate.io.limits import MAX_NUMBERS
from brachiate.io.motion_text import read_bytes
from brachiate.io.opensim import Plate, Table
from brachiate.validation import Array

BLOCK = 512  # bytes
MIN_PLATE_FORCE = 10.0  # [N] normal force below which the center of pressure is not defined


@dataclass(frozen=True)
class Capture:
    """Content of a C3D file.

    Args:
        markers: Markers, in meters, z up; None if there are none.
        analog: Analog channels, in the units and under the names of the file; None if there are none.
        plates: Force plates (forces on the body), in the rows of ``analog``; z up.
        assumptions: Assumptions made when it was read.
    """

    markers: Markers | None
    analog: Table | None
    plates: tuple[Plate, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


def read_c3d(path: str | PathLike[str], *, unit: str | None = None, up: str | None = None) -> Capture:
    """Read the markers and force plates of a C3D file.

    Args:
        path: The file.
        unit: Unit of positions: ``"mm"``, ``"m"``, ...; by default that of the file.
        up: Axis of the file that points up: ``"x"``, ``"y"`` or ``"z"``; by default that of the file, or z.
    """
    path = Path(path)
    return parse_c3d(read_bytes(path), str(path), unit=unit, up=up)


def parse_c3d(data: bytes, where: str, *, unit: str | None = None, up: str | None = None) -> Capture:
    """Parse the bytes of a C3D file; ``where`` names it in messages."""
    if up is not None and up not in AXES:
        raise MotionError(f"up={up!r} is not one of 'x', 'y', 'z': the axis of the file that points up.")
    if unit is not None and unit not in UNITS:
        raise MotionError(f"unit={unit!r} is not one of {', '.join(UNITS)}.")
    _check_start(data, where)
    reader, points, samples = _read(data, where)
    assumptions: list[Assumption] = []
    parameters = _Parameters(reader, where)
    up = up or _up(parameters, assumptions)
    length = _unit(parameters, unit, where)
    rate, per = float(reader.point_rate), int(reader.analog_per_frame)
    start = max(int(reader.first_frame) - 1, 0)  # frame 1 is at time 0
    markers = analog = None
    if points.shape[1]:
        positions = length * to_z_up(points[..., :3], up)
        positions[points[..., 3] < 0] = np.nan
        names = parameters.labels("POINT", points.shape[1], "point")
        markers = Markers(names, (start + np.arange(len(points))) / rate, positions, Path(where).stem)
    if samples.size:
        if not np.isfinite(samples).all():
            raise MotionFileError(f"{where}: channels have values that are not finite. Every number must be.")
        names = parameters.labels("ANALOG", samples.shape[1], "channel")
        analog = Table(Path(where).stem, start / rate + np.arange(len(samples)) / (rate * per), names, samples)
    plates = tuple(_plates(parameters, samples, length, up, assumptions))
    return Capture(markers, analog, plates, tuple(assumptions))


def _check_start(data: bytes, where: str) -> None:
    """Refuse data that is not a C3D file, or ends before its parameters."""
    if len(data) < 2 * BLOCK or data[1] != 0x50:
        raise MotionFileError(f"{where} is not a C3D file: at least two blocks of {BLOCK} bytes were expected, and 80 as the second byte.")
    at = (data[0] - 1) * BLOCK
    if at < BLOCK or at + BLOCK > len(data):
        raise MotionFileError(f"{where}: its parameters should be in block {data[0]}, which does not exist. The file is damaged.")
    if data[at + 3] not in (84, 85, 86):
        raise MotionFileError(f"{where}: the processor type is {data[at + 3]}; 84 (Intel), 85 (DEC) or 86 (MIPS) was expected.")
    order = ">" if data[at + 3] == 86 else "<"
    markers, values = struct.unpack_from(order + "HH", data, 2)
    if not markers and not values:
        raise MotionFileError(f"{where} has neither markers nor channels.")


def _read(data: bytes, where: str) -> tuple[Any, Array, Array]:
    """Reader, points (f, m, 5) with their residuals, and samples of channels (rows, n)."""
    library = _library()
    try:
        # warnings of the library, such as a truncated file, are checked below
        with warnings.catch_warnings(), np.errstate(over="raise", invalid="ignore"):
            warnings.simplefilter("ignore")
            reader = library.Reader(io.BytesIO(data))
            count, rate, per = int(reader.frame_count), float(reader.point_rate), int(reader.analog_per_frame)
            markers, channels = int(reader.point_used), int(reader.analog_used)
            size = (4 * markers + channels * per) * (4 if reader.point_scale < 0 else 2)
            start = (int(reader.header.data_block) - 1) * BLOCK
            there = (len(data) - start) // size if size and start > 0 else 0
            _check_counts(count, there, rate, (4 * markers + channels * per), where)
            frames = [(points, samples) for _, points, samples in reader.read_frames()]
    except MotionFileError:
        raise
    except Exception as error:  # damaged bytes can raise any exception in the library
        said = " ".join(f"{error}".split()).rstrip(" .!")[:120]
        raise MotionFileError(f"{where} cannot be read: {said or type(error).__name__}. The file is damaged or inconsistent.") from None
    if len(frames) != count:
        raise MotionFileError(f"{where}: {count} frames are announced, {len(frames)} can be read. The file was cut short.")
    points = np.stack([points for points, _ in frames]).astype(float)
    samples = np.concatenate([samples.T for _, samples in frames]) if channels and per else np.zeros((0, channels))
    return reader, points, samples


def _check_counts(count: int, there: int, rate: float, numbers: int, where: str) -> None:
    if not 0.0 < rate < 1e6:
        raise MotionFileError(f"{where}: {rate:g} frames per second are not possible.")
    if count < 1 or numbers < 1:
        raise MotionFileError(f"{where} has no frames, or nothing in them.")
    if count > there:
        raise MotionFileError(f"{where}: {count} frames are announced, there is room for {there}. The file was cut short.")
    if count * numbers > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {count} frames of {numbers} numbers are more than can be read ({MAX_NUMBERS} numbers).")


def _library() -> Any:
    try:
        import c3d  # noqa: PLC0415  (an extra)
    except ImportError:
        raise BrachiateError("C3D files need the package c3d, which is not installed: pip install 'brachiate[c3d]'.") from None
    return c3d


class _Parameters:
    """Parameters of a file, with their sizes checked."""

    def __init__(self, reader: Any, where: str) -> None:
        self._reader, self.where = reader, where

    def _get(self, name: str) -> Any:
        found = self._reader.get(name)
        if found is None or not hasattr(found, "dimensions"):
            return None
        if found.num_elements * abs(found.bytes_per_element) != len(found.bytes):
            raise MotionFileError(f"{self.where}: the parameter {name} breaks off. The file is damaged.")
        return found if found.bytes else None

    def texts(self, name: str) -> list[str]:
        """Texts of a parameter; empty if it is missing."""
        found = self._get(name)
        if found is None:
            return []
        width = found.dimensions[0] if len(found.dimensions) > 1 else len(found.bytes)
        pieces = [found.bytes[k : k + width] for k in range(0, len(found.bytes), width)] if width else []
        return [piece.decode("utf-8", "replace").replace("\0", "").strip() for piece in pieces]

    def numbers(self, name: str) -> Array:
        """Numbers of a parameter, with axes in the order of the file; empty if it is missing."""
        found = self._get(name)
        if found is None:
            return np.zeros(0)
        try:
            size = found.bytes_per_element
            flat = found.float_array if size == 4 and found.dimensions else found.int_array if found.dimensions else None
            value = np.asarray([found.float_value if size == 4 else found.int16_value] if flat is None else flat, float)
        except (TypeError, ValueError, AssertionError):
            raise MotionFileError(f"{self.where}: the parameter {name} has no numbers. The file is damaged.") from None
        if not np.isfinite(value).all():
            raise MotionFileError(f"{self.where}: the parameter {name} has numbers that are not finite.")
        return value.T

    def labels(self, group: str, count: int, what: str) -> tuple[str, ...]:
        """Unique names of ``count`` points or channels: missing ones are numbered, duplicates get an apostrophe."""
        given = self.texts(f"{group}:LABELS")
        for k in range(2, 10):  # each list has 255 names at most
            given += self.texts(f"{group}:LABELS{k}")
        names: list[str] = []
        taken: set[str] = set()
        for k in range(count):
            name = (given[k] if k < len(given) else "") or f"{what}{k + 1}"
            while name in taken:
                name += "'"
            names.append(name)
            taken.add(name)
        return tuple(names)


def _up(parameters: _Parameters, assumptions: list[Assumption]) -> str:
    screen = "".join(parameters.texts("POINT:Y_SCREEN")).upper()
    if screen in ("+X", "+Y", "+Z"):
        return screen[1].lower()
    assumptions.append(Assumption("up axis", "z", "as in most C3D files; this one does not state it", "up"))
    return "z"


def _unit(parameters: _Parameters, given: str | None, where: str) -> float:
    if given is not None:
        return UNITS[given]
    unit = "".join(parameters.texts("POINT:UNITS")[:1]).lower()
    if unit not in UNITS:
        raise MotionFileError(
            f"{where}: POINT:UNITS is {unit[:40]!r}; known are {', '.join(UNITS)}. Give the unit: unit='mm' (most files)."
        )
    return UNITS[unit]


def _plates(parameters: _Parameters, samples: Array, length: float, up: str, assumptions: list[Assumption]) -> list[Plate]:
    used = parameters.numbers("FORCE_PLATFORM:USED").ravel()
    count = int(used[0]) if len(used) else 0
    if count < 1 or not len(samples):
        return []
    types = parameters.numbers("FORCE_PLATFORM:TYPE").ravel()
    corners, origins, channels = (parameters.numbers(f"FORCE_PLATFORM:{part}") for part in ("CORNERS", "ORIGIN", "CHANNEL"))
    units = parameters.texts("ANALOG:UNITS")
    zero = parameters.numbers("FORCE_PLATFORM:ZERO").ravel()
    if len(zero) == 2 and 1 <= zero[0] <= zero[1]:
        assumptions.append(
            Assumption("baseline of plates", "left as it is", f"the file asks to take off that of frames {zero[0]:.0f}-{zero[1]:.0f}")
        )
    found = []
    for k in range(min(count, 255)):
        name = f"plate{k + 1}"
        try:
            kind = int(types[k])
            which = channels.reshape(len(channels), -1)[:, k].astype(int) - 1
            corner, origin = length * corners.reshape(3, 4, -1)[..., k].T, length * origins.reshape(3, -1)[:, k]
            needed = {1: 6, 2: 6, 3: 8, 4: 6}.get(kind)
            if needed is None:
                assumptions.append(Assumption(name, "left out", f"plates of type {kind} are not read"))
                continue
            which = which[:needed]
            if len(which) < needed or which.min() < 0 or which.max() >= samples.shape[1]:
                raise IndexError
            raw = samples[:, which]
            if kind == 4:
                raw = raw @ parameters.numbers("FORCE_PLATFORM:CAL_MATRIX").reshape(6, 6, -1)[..., k].T
        except (IndexError, ValueError):
            raise MotionFileError(
                f"{parameters.where}: TYPE, CHANNEL, CORNERS, ORIGIN or CAL_MATRIX of force plate {k + 1} is missing or does not fit. "
                "The file is damaged."
            ) from None
        found.append(_plate(name, kind, raw, corner, origin, _lever(units, which[-1], length, name, assumptions), up, assumptions))
    return found


def _lever(units: list[str], channel: int, length: float, name: str, assumptions: list[Assumption]) -> float:
    """Length unit of the moments of a plate [m]."""
    unit = "".join(letter for letter in (units[channel] if channel < len(units) else "").lower() if letter.isalnum())
    if unit.startswith("n") and unit[1:] in UNITS:
        return UNITS[unit[1:]]
    if unit != "n":
        assumptions.append(
            Assumption(f"moments of {name}", f"{length:g} N·m", f"their unit is {unit!r}, so lengths are taken as those of markers")
        )
    return length


def _plate(name: str, kind: int, raw: Array, corners: Array, origin: Array, lever: float, up: str, assumptions: list[Assumption]) -> Plate:
    """Force, point of application and moment of a plate, z up, from its channels in plate axes.

    The x axis points to corners 1 and 4, the y axis to corners 1 and 2. ``origin`` is the center of the surface relative to the origin of
    measurement, or for type 3 the position of the sensors.
    """
    c1, c2, c3, c4 = corners
    x, y = c1 + c4 - c2 - c3, c1 + c2 - c3 - c4
    z = np.cross(x, y)
    if min(np.linalg.norm(x), np.linalg.norm(y)) < 1e-6 or np.linalg.norm(z) < 0.5 * np.linalg.norm(x) * np.linalg.norm(y):
        raise MotionFileError(f"The corners of {name} are not a rectangle: {corners.tolist()}. The file is damaged.")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    R = np.stack((x, np.cross(z, x), z), axis=1)
    point = np.zeros((len(raw), 3))
    if kind == 1:
        force, moment = raw[:, :3], np.zeros((len(raw), 3))
        point[:, :2], moment[:, 2] = lever * raw[:, 3:5], lever * raw[:, 5]
    else:
        force, moment = _eight(raw, origin) if kind == 3 else (raw[:, :3], lever * raw[:, 3:])
        # about the center of the surface, at r from the origin of measurement: M - r × F
        moment = moment - np.cross((0.0, 0.0, origin[2]) if kind == 3 else origin, force)
        loaded = np.abs(force[:, 2]) > MIN_PLATE_FORCE
        normal = np.where(loaded, force[:, 2], 1.0)
        point[:, 0], point[:, 1] = (np.where(loaded, m / normal, 0.0) for m in (-moment[:, 1], moment[:, 0]))
        moment = moment - np.cross(point, force)
    force, point, moment = force @ R.T, corners.mean(axis=0) + point @ R.T, moment @ R.T
    plate = Plate(name, force, point, moment).z_up(up)
    lifted = plate.force[:, 2]
    if lifted.sum() < 0 and np.abs(lifted).max() > MIN_PLATE_FORCE:
        assumptions.append(Assumption(f"force of {name}", "as it is", "it pulls the body down: the file may have the force on the plate"))
    return plate


def _eight(raw: Array, origin: Array) -> tuple[Array, Array]:
    """Force and moment from the eight channels of type 3: x12, x34, y14, y23, z1, z2, z3, z4."""
    x12, x34, y14, y23, z1, z2, z3, z4 = raw.T
    a, b = np.abs(origin[:2])
    force = np.stack((x12 + x34, y14 + y23, z1 + z2 + z3 + z4), axis=1)
    moment = np.stack((b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4), b * (x34 - x12) + a * (y14 - y23)), axis=1)
    return force, moment
