"""Columns of a particle system: checked numbers for many particles, links or joints at once, and structs that grow by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError, choices, suggest
from brachiate.figures import ranges
from brachiate.particles.arrays import ENVIRONMENT, OPTIONS, Joints, LinkArrays, Particles, Planes
from brachiate.validation import Array

MAX_PARTICLES = 100_000_000
T = TypeVar("T", Particles, LinkArrays, Joints)
#: Fields of structs that have one row for each particle, link or joint.
COLUMNS: dict[type, tuple[str, ...]] = {
    Particles: ("x", "v", "mass", "inverse_mass", "radius", "drag", "external", "force", "impulse", "floor_force"),
    LinkArrays: ("ends", "length", "stiffness", "damping", "slack", "force"),
    Joints: (
        "particles", "plane", "torque", "friction", "lower", "upper", "limit_stiffness", "limit_damping", "target", "target_rate",
        "proportional", "derivative", "max_torque", "motor", "angle", "rate", "moment",
    ),
}  # fmt: skip


def column(value: ArrayLike, count: int, what: str, minimum: float = -np.inf, above: float = -np.inf, maximum: float = np.inf) -> Array:
    """Return ``count`` numbers in range, from one for all or one for each."""
    array = validation.broadcast(value, (count,), what, f"a number, or {count} numbers")
    bad = ~((array >= minimum) & (array > above) & (array <= maximum))
    if bad.any():
        lowest = {"minimum": minimum} if minimum > -np.inf else {}
        validation.number(float(array[bad][0]), what, above=above, maximum=min(maximum, float(np.finfo(float).max)), **lowest)
        raise ArgumentError(f"{what}: {array[bad][0]} is not in range.")
    return array


def vectors(value: ArrayLike, count: int, what: str, largest: float = ranges.MAX_POSITION) -> Array:
    """Return vectors (count, 3) with components up to ``largest``, from one for all or one for each."""
    array = validation.broadcast(value, (count, 3), what, f"three numbers, or an array of shape ({count}, 3)")
    if not np.isfinite(array).all() or (np.abs(array) > largest).any():
        raise ArgumentError(f"{what}: every number must be finite and at most {largest:g}, got {validation.short_repr(array)}.")
    return array


def points(value: ArrayLike, what: str) -> Array:
    """Return positions (n, 3) [m]."""
    array = validation.reals(value, what, "positions of shape (n, 3) [m]")
    if array.ndim != 2 or array.shape[1] != 3 or not 1 <= len(array) <= MAX_PARTICLES:
        raise ArgumentError(f"{what}: expected positions of shape (n, 3) [m], got shape {array.shape}.")
    return vectors(array, len(array), what)


def new_names(names: Any, count: int, taken: Mapping[str, int], kind: str) -> list[str]:
    """Names of new parts: a list of distinct new names, or a prefix, which is followed by numbers from 1."""
    made = [f"{names}{i + 1}" for i in range(count)] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else []
    if len(made) != count or not all(isinstance(name, str) and name for name in made):
        raise ArgumentError(f"names of {kind}s: expected a prefix or {count} names, got {validation.short_repr(names)}.")
    twice = validation.first_duplicate(made)
    known = next((name for name in made if name in taken), None)
    if twice is not None or known is not None:
        raise ArgumentError(f"There is already a {kind} {twice if twice is not None else known!r}. Names of {kind}s must differ.")
    return made


def indices(value: Any, names: Mapping[str, int], shape: tuple[int, ...], what: str) -> Array:
    """Indices of particles from names or numbers, of a shape such as (m, 2)."""
    try:
        given = np.asarray(value)
    except ValueError:  # ragged rows
        given = np.asarray(None)
    if given.dtype.kind == "U" and given.shape == shape:
        unknown = [str(name) for name in given.reshape(-1) if name not in names]
        if unknown:
            raise ArgumentError(f"{what}: {unknown[0]!r} is not a particle.{suggest(unknown[0], names)} {choices('particle', names)}")
        return np.array([names[name] for name in given.reshape(-1)], np.int64).reshape(shape)
    if given.dtype.kind not in "iu" or given.shape != shape:
        words = "two" if shape[-1] == 2 else "three"
        raise ArgumentError(f"{what}: expected {words} particles each, by name or by number, got {validation.short_repr(value)}.")
    if given.size and not (given.min() >= 0 and given.max() < len(names)):
        raise ArgumentError(f"{what}: particles are numbered from 0 to {len(names) - 1}, got {given.min()} to {given.max()}.")
    return np.array(given, np.int64)


def rows_of(names: Any, table: Mapping[str, int], kind: str) -> list[int]:
    """Numbers of parts by their names."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ArgumentError(f"names of {kind}s: expected a list of names, got {validation.short_repr(names)}.")
    return [validation.lookup(table, name, kind, "this particle system") for name in names]


def no_particles() -> Particles:
    """Arrays of no particles."""
    rows, numbers = [np.zeros((0, 3)) for _ in range(6)], [np.zeros(0) for _ in range(4)]
    return Particles(*[*rows[:2], *numbers, *rows[2:], np.zeros(ENVIRONMENT), np.zeros(OPTIONS, np.int64)])


def no_links() -> LinkArrays:
    """Arrays of no links."""
    numbers = [np.zeros(0) for _ in range(3)]
    return LinkArrays(*[np.zeros((0, 2), np.int64), *numbers, _ints(0), np.zeros((0, 3)), _ints(1), _ints(0)])


def no_joints() -> Joints:
    """Arrays of no joints."""
    numbers = [np.zeros(0) for _ in range(14)]
    return Joints(*[np.zeros((0, 3), np.int64), _ints(0), *numbers, np.zeros((0, 3)), np.zeros((0, 3)), _ints(1), _ints(0)])


def no_planes(particles: int) -> Planes:
    """Arrays of no planes."""
    return Planes(np.zeros((0, 3)), np.zeros(0), np.zeros(0), _ints(1), _ints(0), _ints(1), _ints(0), np.zeros((0, 3)),
                  _ints(particles + 1), _ints(0))  # fmt: skip


def _ints(n: int) -> Array:
    return np.zeros(n, np.int64)


def extended(struct: T, rows: Mapping[str, Array], count: int) -> T:
    """Return a struct with ``count`` more rows: those given, zero otherwise."""
    fields: dict[str, Any] = {}
    for name in COLUMNS[type(struct)]:
        old = getattr(struct, name)
        fields[name] = np.concatenate([old, rows.get(name, np.zeros((count, *old.shape[1:]), old.dtype)).astype(old.dtype)])
    return struct._replace(**fields)
