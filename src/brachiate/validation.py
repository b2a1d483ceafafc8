"""Validation at the door: turn what a user gave into checked numbers, or say what was wrong with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brachiate.errors import ArgumentError, UnknownName

#: Any array of numbers; shape and unit are said where it is used.
Array = NDArray[Any]
T = TypeVar("T")

_LARGEST = float(np.finfo(float).max)
_SHORTEST = 1e-12  # of what still has a direction
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def reals(value: Any, what: str, expected: str) -> Array:
    """Return a new array of what was given, of any shape; text, ragged rows and complex numbers are no real numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        raise ArgumentError(f"{what}: expected {expected}, got {shown(value)}.")
    return array.astype(float)


def numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Return finite numbers of exactly this shape, as a new array; a row of one may be given as the bare number."""
    array = reals(value, what, _shape_words(shape))
    if shape == (1,) and array.shape == ():
        array = array.reshape(1)
    if array.shape != shape:
        raise ArgumentError(f"{what}: expected {_shape_words(shape)}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what}: every number must be finite, got {shown(array)}.")
    return array


def each(value: ArrayLike, shape: tuple[int, ...], what: str, expected: str) -> Array:
    """Return numbers of this shape from one entry for all or one for each; infinities and NaN are the caller's to judge."""
    array = reals(value, what, expected)
    if array.shape not in (shape, shape[1:]):
        raise ArgumentError(f"{what}: expected {expected}, got {shown(value)}.")
    result = np.empty(shape)
    result[...] = array
    return result


def number(value: Any, what: str, *, least: float = -_LARGEST, above: float = -np.inf, most: float = _LARGEST) -> float:
    """Return one number in range: finite, unless ``least`` or ``most`` is given as an infinity."""
    if type(value) is float and least <= value <= most and value > above:  # the usual case, and no time to lose
        return value
    given = reals(value, what, "a number")
    if given.shape != ():
        raise ArgumentError(f"{what}: expected a number, got {shown(value)}.")
    result = float(given)
    if np.isnan(result):
        raise ArgumentError(f"{what}: expected a number, got NaN.")
    if least <= result <= most and (result > above or above == -np.inf):
        return result
    low = f"at least {least:g}" if least > -_LARGEST else f"more than {above:g}" if above > -np.inf else ""
    high = f"at most {most:g}" if most < _LARGEST else "finite" if np.isinf(result) else ""
    raise ArgumentError(f"{what} must be {' and '.join(w for w in (low, high) if w)}, got {result:g}.")


def whole(value: Any, what: str, *, least: int) -> int:
    """Return a whole number that is large enough."""
    result = number(value, what, least=least)
    if not result.is_integer():
        raise ArgumentError(f"{what}: expected a whole number, got {result:g}.")
    return int(result)


def interval(value: ArrayLike, what: str) -> tuple[float, float]:
    """Return (lower, upper), either of them possibly infinite."""
    given = reals(value, what, "(lower, upper)")
    if given.shape != (2,):
        raise ArgumentError(f"{what}: expected (lower, upper), got {shown(value)}.")
    low, high = (number(x, what, least=-np.inf, most=np.inf) for x in given)
    if low > high:
        raise ArgumentError(f"{what}: the lower limit {low:g} is above the upper limit {high:g}.")
    return low, high


def vector(value: ArrayLike, what: str) -> Array:
    """Return three finite numbers."""
    return numbers(value, (3,), what)


def axis(value: str | ArrayLike, what: str) -> Array:
    """Return a unit vector from ``"x"``, ``"-z"`` or three numbers."""
    if isinstance(value, str):
        sign, letter = (-1.0, value[1:]) if value.startswith("-") else (1.0, value)
        if letter not in _AXES:
            raise ArgumentError(f"{what}: {value!r} is not an axis. Use 'x', 'y', 'z', '-x', '-y', '-z' or three numbers.")
        return sign * np.array(_AXES[letter])
    given = vector(value, what)
    length = math.hypot(*given)
    if not _SHORTEST < length < np.inf:
        raise ArgumentError(f"{what}: the axis has no direction (its length is {length:g}).")
    return given / length


def quaternion(value: ArrayLike, what: str) -> Array:
    """Return a unit quaternion (w, x, y, z) from four numbers of any length but zero."""
    given = numbers(value, (4,), what)
    length = math.hypot(*given)
    if not _SHORTEST < length < np.inf:
        raise ArgumentError(f"{what}: a quaternion of zeros is no rotation (its length is {length:g}).")
    return given / length


def rotation_matrix(value: ArrayLike | None, what: str) -> Array:
    """Return a rotation matrix from None (no rotation), a quaternion (w, x, y, z) or a 3×3 matrix."""
    if value is None:
        return np.eye(3)
    expected = "a quaternion (w, x, y, z) or a 3x3 matrix of finite numbers"
    array = reals(value, what, expected)
    if array.shape not in ((4,), (3, 3)) or not np.isfinite(array).all():
        raise ArgumentError(f"{what}: expected {expected}, got {shown(value)}.")
    if array.shape == (4,):
        w, x, y, z = quaternion(array, what)
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
    if np.abs(array).max() > 1.1 or np.abs(array @ array.T - np.eye(3)).max() > 1e-6 or np.linalg.det(array) < 0:
        raise ArgumentError(f"{what}: the matrix is not a rotation (orthonormal, determinant +1).")
    return array


def table(value: Any, what: str, expected: str) -> Mapping[str, Any]:
    """Return what was given if it is values by name."""
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{what}: expected {expected}, got {shown(value)}.")
    return value


def named(table: Mapping[str, T], name: object, kind: str, owner: str) -> T:
    """Look a name up, or say which names there are."""
    if isinstance(name, str) and name in table:
        return table[name]
    raise UnknownName(kind, name, table, owner)


def one_of(value: object, valid: Sequence[str], what: str) -> str:
    """Return the value if it is one of the words, or list the words."""
    if isinstance(value, str) and value in valid:
        return value
    raise ArgumentError(f"{what}: {value!r} is not one of: {', '.join(valid)}.")


def unique(names: Iterable[str]) -> str | None:
    """Return the first name that appears twice, if any."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def frozen(array: Array) -> Array:
    """Return the array, from now on read-only."""
    array.flags.writeable = False
    return array


def shown(value: object) -> str:
    """Return what was given, in words short enough for a message."""
    text = str(value) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _shape_words(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else f"{shape[0]} numbers" if len(shape) == 1 else f"an array of shape {shape}"
