"""Validation at the door: turn what a user gave into checked numbers, or say what was wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brachiate.errors import ArgumentError, UnknownName

#: Any array of numbers; shape and unit are said where it is used.
Array = NDArray[Any]
T = TypeVar("T")

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Return finite numbers of exactly this shape, as a new array."""
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected {_shape_words(shape)}, got {_shown(value)}.") from None
    if array.shape != shape:
        raise ArgumentError(f"{what}: expected {_shape_words(shape)}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what}: every number must be finite, got {_shown(array)}.")
    return array


def number(value: Any, what: str, *, least: float = -np.inf, above: float = -np.inf, most: float = np.inf) -> float:
    """Return one finite number (or an infinity where the bound allows it), in range."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected a number, got {_shown(value)}.") from None
    if np.isnan(result):
        raise ArgumentError(f"{what}: expected a number, got NaN.")
    if result < least or (result <= above and above > -np.inf) or result > most:
        low = f"at least {least:g}" if least > -np.inf else f"more than {above:g}" if above > -np.inf else ""
        high = f"at most {most:g}" if most < np.inf else ""
        raise ArgumentError(f"{what} must be {' and '.join(w for w in (low, high) if w)}, got {result:g}.")
    return result


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
    length = float(np.linalg.norm(given))
    if length < 1e-12:
        raise ArgumentError(f"{what}: the axis has no direction (its length is {length:g}).")
    return given / length


def rotation_matrix(value: ArrayLike | None, what: str) -> Array:
    """Return a rotation matrix from None (no rotation), a quaternion (w, x, y, z) or a 3×3 matrix."""
    if value is None:
        return np.eye(3)
    array = np.array(value, float) if np.shape(value) in ((4,), (3, 3)) else None
    if array is None or not np.isfinite(array).all():
        raise ArgumentError(f"{what}: expected a quaternion (w, x, y, z) or a 3x3 matrix of finite numbers, got {_shown(value)}.")
    if array.shape == (4,):
        length = float(np.linalg.norm(array))
        if length < 1e-12:
            raise ArgumentError(f"{what}: a quaternion of zeros is no rotation.")
        w, x, y, z = array / length
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
    if np.abs(array @ array.T - np.eye(3)).max() > 1e-6 or np.linalg.det(array) < 0:
        raise ArgumentError(f"{what}: the matrix is not a rotation (orthonormal, determinant +1).")
    return array


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


def _shape_words(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else f"{shape[0]} numbers" if len(shape) == 1 else f"an array of shape {shape}"


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
