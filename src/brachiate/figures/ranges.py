"""Valid ranges of numbers that users give: beyond them results would not be finite, or not accurate in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.validation import Array

LENGTHS = (1e-6, 1e4)  # [m] of parts
MASSES = (1e-9, 1e7)  # [kg] of parts
MAX_POSITION = 1e6  # [m] from the origin
MAX_TIME = 1e9  # [s]
MAX_GRAVITY = 1e4  # [m/s²]
MAX_FORCE = 1e12  # [N, N·m, N·s]
MAX_SPEED = 1e9  # [rad/s or m/s]
MAX_COORDINATE = 1e9  # [rad or m] of joints
MAX_STIFFNESS = 1e12  # [N/m, N·s/m, N·m/rad, N·m·s/rad]
RATES = (1e-3, 1e5)  # [Hz]


def length(value: Any, what: str) -> float:
    """Return a length [m] from 1 µm to 10 km."""
    return _positive(value, what, LENGTHS)


def mass(value: Any, what: str) -> float:
    """Return a mass [kg] from 1 µg to 10,000 t."""
    return _positive(value, what, MASSES)


def rate(value: Any, what: str = "rate") -> float:
    """Return a frame rate [Hz] from 0.001 to 100,000."""
    return _positive(value, what, RATES)


def count(value: Any, what: str, largest: int) -> int:
    """Return a whole number from 1 to ``largest``."""
    return validation.integer(validation.number(value, what, minimum=1, maximum=largest), what, minimum=1)


def vector(value: ArrayLike, what: str, largest: float = MAX_POSITION) -> Array:
    """Return three numbers with magnitudes up to ``largest``, which is that of positions [m] by default."""
    return within(validation.vector(value, what), largest, what)


def within(values: Array, largest: float, what: str) -> Array:
    """Return finite numbers if their magnitudes are at most ``largest``."""
    if values.size and np.abs(values).max() > largest:
        raise ArgumentError(f"{what}: numbers from {-largest:g} to {largest:g} are valid, got {validation.short_repr(values)}.")
    return values


def _positive(value: Any, what: str, bounds: tuple[float, float]) -> float:
    result = validation.number(value, what, above=0.0, maximum=bounds[1])
    return validation.number(result, what, minimum=bounds[0], maximum=bounds[1])
