"""Events of a simulation: actions at given times, or when a function of the world or of its motion crosses a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError, BrachiateError, StateError
from brachiate.functions.expressions import Expression, Vector
from brachiate.functions.function_set import FunctionSet
from brachiate.functions.tracing import Untraced
from brachiate.world.world import World

_NAME = "condition of an event"


@dataclass(eq=False)
class Event:
    """Action at a given time, or when a function crosses a value.

    Args:
        action: What happens.
        at: When it happens [s].
        function: Of the world, or of its motion (:mod:`brachiate.functions`).
        value: That it crosses.
        rising: Whether it happens when the function rises through the value.
        falling: Whether it happens when the function falls through it.
        times: Times at which it happened [s].
        once: Whether it happens only once.
    """

    action: Callable[[], Any]
    at: float = np.inf
    function: Any = None
    rising: bool = True
    falling: bool = True
    times: list[float] = field(default_factory=list)
    once: bool = True
    value: float = 0.0
    _motion: FunctionSet | None = field(default=None, repr=False)
    _called: bool = field(default=False, repr=False)

    @property
    def happened(self) -> bool:
        """Whether it has happened."""
        return bool(self.times)

    def bind(self, world: World) -> None:
        """Resolve the names of a function of the motion."""
        if isinstance(self.function, Expression | Vector | Untraced):
            self._motion = _motion_function(self.function, world)

    def offset(self, world: World) -> float:
        """How far the function is above the value in the present state."""
        if self._motion is None:
            found = self._call(world)
        if self._motion is not None:
            found = self._motion.value()[0]
        values = validation.reals(found, _NAME, "a number")
        if values.shape != ():
            raise ArgumentError(f"The condition of an event must be one number, got an array of shape {values.shape}.")
        if not np.isfinite(values):
            raise StateError(f"The condition of an event is {values} at t = {world.time:g} s: it must be a finite number.")
        return float(values) - self.value

    def _call(self, world: World) -> Any:
        """Value of a function of the world; at the first call one of the motion, ``lambda s: ...``, is recognized and traced."""
        first, self._called = not self._called, True
        if not first:
            return self.function(world)
        try:
            found = self.function(world)
        except (AttributeError, TypeError, ArgumentError) as error:
            try:
                self._motion = _motion_function(self.function, world)
            except BrachiateError:
                raise
            except Exception:  # it is none of the motion either
                raise error from None
            return None
        if isinstance(found, Expression | Vector):
            self._motion = _motion_function(found, world)
        return found


def _motion_function(function: Any, world: World) -> FunctionSet:
    found = FunctionSet(world, {_NAME: function})
    if len(found) != 1:
        raise ArgumentError("The condition of an event must be one number, got a vector: take a component such as .z, or an.norm(...).")
    return found


def crosses(event: Event, before: float, after: float) -> bool:
    """Whether a condition crosses its value, or reaches it, in a direction that fires the event."""
    return (after * before < 0 or (after == 0 and before != 0)) and (event.rising if before < 0 else event.falling)
