"""Locked and prescribed coordinates of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError, UnknownName
from brachiate.figures import ranges
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.connections import Lock
from brachiate.world.structure import activate, cut

if TYPE_CHECKING:
    from brachiate.world.world import World

_MAX_COEFFICIENTS = 6
_START_TOLERANCE = 1e-6  # [rad or m] a prescribed polynomial starts at the present value


def lock(world: World, name: str, redundant: bool) -> list[Lock]:
    """See :meth:`World.lock`."""
    owner, kinds = _owning_joint(world, name)
    if kinds == [BALL] and name == owner:
        locks = [Lock(world, name, np.zeros(1), world.time, np.inf, world[name])]
    else:
        names = _scalar_coordinates(world, name)
        locks = [Lock(world, c, np.array([world.angle(c)]), world.time, np.inf) for c in names]
    return _activate(world, locks, redundant)


def prescribe(world: World, name: str, polynomial: ArrayLike, duration: float | None) -> Lock:
    """See :meth:`World.prescribe`."""
    if polynomial is None:
        raise ArgumentError(f"polynomial of {name!r}: expected coefficients, got None. Use world.lock to hold the coordinate.")
    model = world.model
    _check_name(model, name)
    until = np.inf if duration is None else world.time + validation.number(duration, "duration", above=0.0, maximum=ranges.MAX_TIME)
    owner, kinds = _owning_joint(world, name)
    if kinds == [BALL] and name == owner:
        raise ArgumentError(f"{name!r} is a ball joint: it can be locked, but only a coordinate of one number can be prescribed.")
    names = list(model.coordinates[model.joints[name].v]) if name in model.joints else [name]
    if len(names) > 1:
        raise ArgumentError(f"A polynomial prescribes one coordinate, and {name!r} has {len(names)}: {', '.join(names)}.")
    (coordinate,) = _scalar_coordinates(world, name)
    coefficients = _coefficients(polynomial, coordinate, world.angle(coordinate))
    return _activate(world, [Lock(world, coordinate, coefficients, world.time, until)], redundant=False)[0]


def release(world: World, name: str) -> None:
    """See :meth:`World.release`."""
    if not isinstance(name, str):
        raise ArgumentError(f"release expects the name of a joint or coordinate, got {validation.short_repr(name)}.")
    names = {name, *(world.model.coordinates[world.model.joints[name].v] if name in world.model.joints else ())}
    found = [constraint for constraint in world.constraints if isinstance(constraint, Lock) and constraint.name in names]
    if not found:
        raise ArgumentError(f"{name!r} is neither locked nor prescribed.")
    for constraint in found:
        cut(world, constraint, None)


def _activate(world: World, locks: list[Lock], redundant: bool) -> list[Lock]:
    """Add all locks, or on failure none."""
    for new in locks:
        _check_unlocked(world, new.name)
    q, v, version = world.data.q.copy(), world.data.v.copy(), world.structure_version
    try:
        for new in locks:
            activate(world, new, None, redundant)
    except Exception:
        for new in locks:
            if new.alive:
                cut(world, new, None)
        world.data.q[:], world.data.v[:], world.structure_version = q, v, version
        raise
    return locks


def _check_name(model: Model, name: str) -> None:
    if not isinstance(name, str) or (name not in model.joints and name not in model.coordinate_index):
        raise UnknownName("joint or coordinate", name, dict.fromkeys([*model.joints, *model.coordinates]), "this world")


def _owning_joint(world: World, name: str) -> tuple[str, list[int]]:
    """Joint that a name belongs to, and the kinds of its elements; a free joint is rejected."""
    model = world.model
    _check_name(model, name)
    owner = name if name in model.joints else _joint_of(model, name)
    kinds = [e.kind for e in model.links[model.joints[owner].link].joint.elements]
    if FLOAT in kinds:
        raise ArgumentError(
            f"{owner!r} is a free joint. Connect its link to the world instead: world.connect({model.joints[owner].link!r}, 'world')."
        )
    return owner, kinds


def _joint_of(model: Model, coordinate: str) -> str:
    k = model.coordinate_index[coordinate]
    return next(joint for joint, place in model.joints.items() if place.v.start <= k < place.v.stop)


def _scalar_coordinates(world: World, name: str) -> list[str]:
    """Coordinates of a joint, or the coordinate itself, each of one number and not locked yet."""
    model = world.model
    names = list(model.coordinates[model.joints[name].v]) if name in model.joints else [name]
    for coordinate in names:
        _check_unlocked(world, coordinate)
    for coordinate in names:
        if coordinate not in model.scalar_coordinates:
            raise ArgumentError(f"{coordinate!r} is part of a ball joint. Lock the whole joint.")
    return names


def _check_unlocked(world: World, name: str) -> None:
    if any(isinstance(constraint, Lock) and constraint.name == name for constraint in world.constraints):
        raise ArgumentError(f"{name!r} is locked or prescribed already. Release it first: world.release({name!r}).")


def _coefficients(polynomial: ArrayLike, name: str, now: float) -> Array:
    coefficients = np.atleast_1d(validation.reals(polynomial, f"polynomial of {name!r}", "coefficients of a polynomial of time"))
    if coefficients.ndim != 1 or not 1 <= len(coefficients) <= _MAX_COEFFICIENTS or not np.isfinite(coefficients).all():
        raise ArgumentError(
            f"polynomial of {name!r}: expected one to six finite coefficients, constant first, got {validation.short_repr(polynomial)}."
        )
    if abs(coefficients[0] - now) > _START_TOLERANCE:
        raise ArgumentError(f"polynomial of {name!r}: it must start at the present value ({now:.9g}), not at {coefficients[0]:.9g}.")
    return coefficients
