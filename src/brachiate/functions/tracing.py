"""Functions written in Python, traced into expressions: run once with symbols in place of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions import motion_functions as functions
from brachiate.functions.expressions import Expression, Source, UntraceableError, Vector, expression, known_values, values_known, vector
from brachiate.functions.surfaces import distance_to_surface

if TYPE_CHECKING:
    from brachiate.world.world import World


_DIFFERENCE_TIME = 1e-4  # [s]


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
    distance_to_surface = staticmethod(distance_to_surface)
    center_of_pressure = staticmethod(functions.center_of_pressure)
    external_force = staticmethod(functions.external_force)

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
        with known_values(world, lambda source: source_value(world, source)):
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
    if values_known() and isinstance(found, (int, float)):
        return expression(found)
    raise ArgumentError(
        f"Function {name!r} must return a scalar or a vector made of the quantities of its argument, such as s.position('man/head').z, "
        f"not {validation.short_repr(found)}."
    )


def momentum_rates(world: World, figure: str | None) -> Any:
    """Rates of change of linear momentum and of angular momentum about the CoM (6,), at the accelerations of a world."""
    v, a = world.v.copy(), np.asarray(world.forward_dynamics())
    matrix = world.centroidal_momentum_matrix(figure)
    q, values = world.q.copy(), []
    try:
        for s in (-0.5, 0.5):  # Ȧ v by a central difference
            world.data.q[:] = world.integrate(v, s * _DIFFERENCE_TIME)
            values.append(world.centroidal_momentum_matrix(figure) @ v)
            world.data.q[:] = q
    finally:
        world.data.q[:] = q
    return matrix @ a + (values[1] - values[0]) / _DIFFERENCE_TIME


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
        "momentum rate": lambda: momentum_rates(world, figure)[:3],
        "angular momentum rate": lambda: momentum_rates(world, figure)[3:],
        "quaternion scalar": lambda: world[name][-4],
        "quaternion vector": lambda: world[name][-3:],
        "signal": lambda: source.signal(world.time)[0],
    }
    return values[source.kind]()
