"""Argument validation of the public interface: convert user input to checked numbers, or raise an error that says what was wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brachiate.errors import ArgumentError, UnknownName

#: Any array of numbers; shape and unit are stated where it is used.
Array = NDArray[Any]
T = TypeVar("T")

_LARGEST = float(np.finfo(float).max)
_MIN_LENGTH = 1e-12  # shorter vectors and quaternions have no direction
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def reals(value: Any, what: str, expected: str) -> Array:
    """Return a new float array of any shape; reject text, ragged rows and complex numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        raise ArgumentError(f"{what}: expected {expected}, got {short_repr(value)}.")
    return array.astype(float)


def numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Return a new array of finite numbers of exactly this shape; for shape (1,) a scalar is accepted."""
    array = reals(value, what, _shape_words(shape))
    if shape == (1,) and array.shape == ():
        array = array.reshape(1)
    if array.shape != shape:
        raise ArgumentError(f"{what}: expected {_shape_words(shape)}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what}: every number must be finite, got {short_repr(array)}.")
    return array


def broadcast(value: ArrayLike, shape: tuple[int, ...], what: str, expected: str) -> Array:
    """Return an array of this shape, broadcast from one entry for all or one for each; the caller checks for infinities and NaN."""
    array = reals(value, what, expected)
    if array.shape not in (shape, shape[1:]):
        raise ArgumentError(f"{what}: expected {expected}, got {short_repr(value)}.")
    result = np.empty(shape)
    result[...] = array
    return result


def number(value: Any, what: str, *, minimum: float = -_LARGEST, above: float = -np.inf, maximum: float = _LARGEST) -> float:
    """Return one number in range: finite, unless ``minimum`` or ``maximum`` is infinite; ``above`` is an exclusive minimum."""
    if type(value) is float and minimum <= value <= maximum and value > above:  # fast path of the usual case
        return value
    given = reals(value, what, "a number")
    if given.shape != ():
        raise ArgumentError(f"{what}: expected a number, got {short_repr(value)}.")
    result = float(given)
    if np.isnan(result):
        raise ArgumentError(f"{what}: expected a number, got NaN.")
    if minimum <= result <= maximum and (result > above or above == -np.inf):
        return result
    low = f"at least {minimum:g}" if minimum > -_LARGEST else f"more than {above:g}" if above > -np.inf else ""
    high = f"at most {maximum:g}" if maximum < _LARGEST else "finite" if np.isinf(result) else ""
    raise ArgumentError(f"{what} must be {' and '.join(w for w in (low, high) if w)}, got {result:g}.")


def integer(value: Any, what: str, *, minimum: int, maximum: float = _LARGEST) -> int:
    """Return an integer from ``minimum`` to ``maximum``."""
    result = number(value, what, minimum=minimum, maximum=maximum)
    if not result.is_integer():
        raise ArgumentError(f"{what}: expected a whole number, got {result:g}.")
    return int(result)


def interval(value: ArrayLike, what: str) -> tuple[float, float]:
    """Return (lower, upper); either may be infinite."""
    given = reals(value, what, "(lower, upper)")
    if given.shape != (2,):
        raise ArgumentError(f"{what}: expected (lower, upper), got {short_repr(value)}.")
    low, high = (number(x, what, minimum=-np.inf, maximum=np.inf) for x in given)
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
    if not _MIN_LENGTH < length < np.inf:
        raise ArgumentError(f"{what}: the axis has no direction (its length is {length:g}).")
    return given / length


def quaternion(value: ArrayLike, what: str) -> Array:
    """Return a unit quaternion (w, x, y, z) from four numbers of any length but zero."""
    given = numbers(value, (4,), what)
    length = math.hypot(*given)
    if not _MIN_LENGTH < length < np.inf:
        raise ArgumentError(f"{what}: a zero quaternion is not a rotation (its length is {length:g}).")
    return given / length


def rotation_matrix(value: ArrayLike | None, what: str) -> Array:
    """Return a rotation matrix from None (no rotation), a quaternion (w, x, y, z) or a 3×3 matrix."""
    if value is None:
        return np.eye(3)
    expected = "a quaternion (w, x, y, z) or a 3x3 matrix of finite numbers"
    array = reals(value, what, expected)
    if array.shape not in ((4,), (3, 3)) or not np.isfinite(array).all():
        raise ArgumentError(f"{what}: expected {expected}, got {short_repr(value)}.")
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


def mapping(value: Any, what: str, expected: str) -> Mapping[str, Any]:
    """Return the value if it is a mapping of names to values."""
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{what}: expected {expected}, got {short_repr(value)}.")
    return value


def lookup(table: Mapping[str, T], name: object, kind: str, owner: str) -> T:
    """Return the entry of a name, or raise UnknownName with the valid names."""
    if isinstance(name, str) and name in table:
        return table[name]
    raise UnknownName(kind, name, table, owner)


def one_of(value: object, valid: Sequence[str], what: str) -> str:
    """Return the value if it is one of the valid words, or raise an error that lists them."""
    if isinstance(value, str) and value in valid:
        return value
    raise ArgumentError(f"{what}: {value!r} is not one of: {', '.join(valid)}.")


def first_duplicate(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice, if any."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def frozen(array: Array) -> Array:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def frozen_numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Read-only array of finite numbers of exactly this shape: a copy, unless the value is one, and no view of an array that can change."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape or not _is_read_only(value):
        return frozen(numbers(value, shape, what))
    if not np.isfinite(value).all():
        raise ArgumentError(f"{what}: every number must be finite, got {short_repr(value)}.")
    return value


def _is_read_only(array: Array) -> bool:
    """Whether neither an array nor one that it is a view of is writable."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    return owner is None


def short_repr(value: object) -> str:
    """Return the value as text of at most 60 characters, for messages."""
    text = str(value) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _shape_words(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else f"{shape[0]} numbers" if len(shape) == 1 else f"an array of shape {shape}"
