"""Functions written in Python, traced into expressions: run once with symbols in place of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions import motion_functions as functions
from brachiate.functions.expressions import Expression, Source, UntraceableError, Vector, known_values, vector

if TYPE_CHECKING:
    from brachiate.world.world import World


class State:
    """Argument of a user's function: quantities of the motion by name, as in :mod:`brachiate.functions.motion_functions`."""

    joint = staticmethod(functions.joint)
    joint_rate = staticmethod(functions.joint_rate)
    rotation_vector = staticmethod(functions.rotation_vector)
    position = staticmethod(functions.position)
    axis = staticmethod(functions.axis)
    orientation = staticmethod(functions.orientation)
    velocity = staticmethod(functions.velocity)
    angular_velocity = staticmethod(functions.angular_velocity)
    center_of_mass = staticmethod(functions.center_of_mass)
    momentum = staticmethod(functions.momentum)
    angular_momentum = staticmethod(functions.angular_momentum)
    kinetic_energy = staticmethod(functions.kinetic_energy)
    potential_energy = staticmethod(functions.potential_energy)

    @property
    def time(self) -> Expression:
        """Time of the world [s]."""
        return functions.time()


class Untraced:
    """A function that is run as Python at every evaluation, so that it may branch on values."""

    def __init__(self, function: Callable[[State], Any]) -> None:
        self.function = function


def untraced(function: Callable[[State], Any]) -> Untraced:
    """Let a function run as Python at every evaluation: it may branch on values, and is some hundred times slower."""
    if not callable(function):
        raise ArgumentError(f"untraced expects a function of the state, got {validation.short_repr(function)}.")
    return Untraced(function)


def trace(name: str, function: Any, world: World) -> Expression | Vector:
    """Return a function as an expression: from an expression, a vector, or a Python function of the state.

    Args:
        name: Name of the function, for messages.
        function: An expression, a vector, three scalars, or ``lambda s: ...`` over a :class:`State`, perhaps :func:`untraced`.
        world: Where functions that are not traced find values to branch on.
    """
    if isinstance(function, Untraced):
        with known_values(lambda source: source_value(world, source)):
            return trace(name, function.function, world)
    if callable(function):
        try:
            found = function(State())
        except UntraceableError as error:
            raise UntraceableError(f"Function {name!r}: {error}") from None
    else:
        found = function
    if isinstance(found, (list, tuple)) and len(found) == 3:
        found = vector(found)
    if isinstance(found, (Expression, Vector)):
        return found
    raise ArgumentError(
        f"Function {name!r} must return a scalar or a vector made of the quantities of its argument, such as s.position('man/head').z, "
        f"not {validation.short_repr(found)}."
    )


def source_value(world: World, source: Source) -> Any:
    """Value of a quantity at the present state of a world."""
    name, figure = source.name, source.name or None
    values: dict[str, Callable[[], Any]] = {
        "joint": lambda: world.angle(name),
        "joint rate": lambda: world.rate(name),
        "position": lambda: world.position(name, source.point),
        "axis": lambda: world.pose(name).rotation @ np.array(source.point),
        "velocity": lambda: world.velocity(name, source.point)[:3],
        "angular velocity": lambda: world.velocity(name)[3:],
        "center of mass": lambda: world.totals(figure).center,
        "momentum": lambda: world.totals(figure).momentum,
        "angular momentum": lambda: world.totals(figure).angular_momentum,
        "kinetic energy": lambda: world.totals(figure).kinetic,
        "quaternion scalar": lambda: world[name][-4],
        "quaternion vector": lambda: world[name][-3:],
        "signal": lambda: source.signal(world.time)[0],
    }
    return values[source.kind]()
