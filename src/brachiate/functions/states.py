"""Functions over many states of a model: quantities of recordings, motions and goals, in one call of compiled code.

Names are those of the model: with figures as prefixes in recordings (``man/left_hand``), without in motions (``left_hand``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError, StateError
from brachiate.functions.evaluate import BAD_OUTPUT, GRADIENTS, VALUES, evaluate_states
from brachiate.functions.expressions import Expression, Vector
from brachiate.functions.function_set import FunctionSet
from brachiate.functions.tracing import Untraced
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.balance import figure_bodies
from brachiate.world.tree_queries import TreeQueries, frame_placements

CHUNK = 1024  # states whose gradients are evaluated together: their memory does not grow with the recording


class ModelState(TreeQueries):
    """State of a model by name: what functions need to know of a world.

    Args:
        model: The model.
        gravity: Gravitational acceleration (3,) [m/s²].
        points: Further points by name, that functions may use like links: landmarks.
    """

    def __init__(self, model: Model, gravity: Array, points: Mapping[str, Placement] | None = None) -> None:
        self.model, self.data, self._gravity, self.time = model, Data(model, gravity), gravity, 0.0
        self._frames = {**frame_placements(model), **(points or {})}
        figures = dict.fromkeys(name.partition("/")[0] for name in model.links if "/" in name)
        self._figure_bodies = {figure: figure_bodies(model, figure) for figure in figures}
        #: Joint accelerations (nv,) at which functions of accelerations are evaluated.
        self.acceleration_of_state = np.zeros(model.nv)

    def frame(self, name: str) -> Placement:
        """Body that a link, site or point belongs to (-1: none), and its pose in it."""
        return validation.lookup(self._frames, name, "link or site", "this model")

    def forward_dynamics(self) -> Array:
        """Accelerations of the state (nv,)."""
        return self.acceleration_of_state


class States(NamedTuple):
    """States of a model at some times."""

    times: Array  # (n,) [s]
    q: Array  # (n, nq)
    v: Array  # (n, nv)
    a: Array  # (n, nv)


class StateValues(NamedTuple):
    """Functions in n states; rates and gradients are empty if they were not asked for."""

    u: Array  # (n, m)
    rates: Array  # (n, m)
    gradients: Array  # (n, m, nv)


class FunctionsOfStates:
    """Functions of a model, evaluated in many states.

    Args:
        state: The model.
        functions: By name, as of :class:`FunctionSet`.
    """

    def __init__(self, state: ModelState, functions: Mapping[str, Any]) -> None:
        self.state = state
        self.functions = FunctionSet(cast("Any", state), functions)
        self.untraced = any(isinstance(function, Untraced) for function in self.functions.functions.values())

    def evaluate(self, states: States, order: int = VALUES, *, strict: bool = True) -> StateValues:
        """Values, with order 1 also rates and gradients.

        Unless ``strict``, gradients that do not exist are zero, and functions of accelerations that do not (in the air) are not a number.

        Raises:
            StateError: A function is not finite or not differentiable in a state; it is named with the time.
        """
        f = self.functions
        n, m, nv = len(states.times), len(f), self.state.model.nv
        u, rates = np.zeros((n, m)), np.zeros((n if order else 0, m))
        gradients = np.zeros((n if order else 0, m * (nv + 1)))
        signals = self._signals(states.times)
        for k in range(0, n, 1 if self.untraced else max(n, 1)):
            some = slice(k, k + 1 if self.untraced else n)
            if self.untraced:
                self._set_state(states, k)
                f._bind()
            self._run(States(*(x[some] for x in states)), signals[some], order, strict, u[some], rates[some], gradients[some])
        return StateValues(u, rates, gradients.reshape(-1, m, nv + 1)[:, :, :nv])

    def _run(self, states: States, signals: Array, order: int, strict: bool, u: Array, rates: Array, gradients: Array) -> None:
        f, at = self.functions, np.zeros(1, np.int64)
        q, v, a, time = (np.ascontiguousarray(x, float) for x in (states.q, states.v, states.a, signals))
        if not order:  # not written
            rates, gradients = np.zeros((0, len(f))), np.zeros((0, 0))
        status = evaluate_states(f.program.key, order, int(strict), q, v, a, time, *f.outputs, u, rates, gradients, at)
        if status:
            self._raise(status, float(states.times[at[0]]))

    def _set_state(self, states: States, k: int) -> None:
        state = self.state
        state.data.q[:], state.data.v[:] = states.q[k], states.v[k]
        state.time, state.acceleration_of_state = float(states.times[k]), states.a[k]

    def _signals(self, times: Array) -> Array:
        """Functions of time at all times (n, signals·3)."""
        signals = self.functions.program.signals
        return np.array([[x for signal in signals for x in signal(float(t))] for t in times]).reshape(len(times), 3 * len(signals))

    def _raise(self, status: int, time: float) -> NoReturn:
        try:
            self.functions.raise_status(status)
        except StateError as error:
            if status < BAD_OUTPUT:
                raise
            raise StateError(f"{str(error).replace('in this state', f'at {time:.4g} s')}") from None


def values_of_states(state: ModelState, functions: Mapping[str, Any], states: States, derivative: int) -> dict[str, Array]:
    """Functions over time, or their rates, by name: (n,), of vectors (n, 3).

    Functions of accelerations are not a number where they do not exist: the center of pressure in the air.
    """
    order = validation.integer(derivative, "derivative", minimum=0, maximum=1)
    evaluated = FunctionsOfStates(state, functions)
    f = evaluated.functions
    if order:
        for name in f.functions:
            if f.depends_on(name) == "accelerations":
                raise ArgumentError(f"{name!r} depends on accelerations: its rate is not known. Use derivative=0.")
    found = np.zeros((len(states.times), len(f)))
    for k in range(0, len(found), CHUNK):
        some = slice(k, k + CHUNK)
        part = evaluated.evaluate(States(*(x[some] for x in states)), GRADIENTS if order else VALUES, strict=bool(order))
        found[some] = part.rates if order else part.u
    columns = {name: f.coordinates_of(name) for name in f.functions}
    return {name: found[:, at[0]] if len(at) == 1 else found[:, at] for name, at in columns.items()}


def named_functions(*functions: Any) -> dict[str, Any]:
    """Functions by name, from mappings, and expressions that are named by their formulas."""
    found: dict[str, Any] = {}
    for function in functions:
        if isinstance(function, Mapping):
            found |= function
        elif isinstance(function, Expression | Vector):
            found[repr(function)] = function
        else:
            raise ArgumentError(
                f"Expected an expression, or functions by name such as {{'bend': lambda s: ...}}, got {validation.short_repr(function)}."
            )
    return found


def differences(times: Array, v: Array) -> Array:
    """Accelerations (n, nv) by differences of recorded velocities: of second order within, one-sided at both ends."""
    if len(times) < 2:
        return np.zeros_like(v)
    distinct = np.concatenate(([True], np.diff(times) > 0.0))  # an event records no second state, but a restart may
    if distinct.sum() < 2:
        return np.zeros_like(v)
    t, values = times[distinct], v[distinct]
    return np.gradient(values, t, axis=0)[np.cumsum(distinct) - 1]
