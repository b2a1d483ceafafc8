"""Functions of the motion of one world, evaluated together: values, gradients, Hessians, rates and biases, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError, StateError
from brachiate.functions.evaluate import BAD_OUTPUT, GRADIENTS, HESSIANS, VALUES, evaluate
from brachiate.functions.expressions import Expression, formula, place
from brachiate.functions.operations import NAMES
from brachiate.functions.program import CompiledFunctions
from brachiate.functions.tracing import Untraced, trace
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World


class FunctionSet:
    """Functions of a world by name: u, G, H, u̇ and ü at its present state.

    With v the joint velocities, u̇ = G v and ü = G v̇ + vᵀHv, for every type of joint: H is symmetric, u(q ⊕ δ) = u + Gδ + ½δᵀHδ + ..., δ
    along the joints' own velocities. Functions of time add their partial derivatives. Of functions that depend on velocities (momentum,
    energy), G is ∂u/∂v, and they have no H: u̇ = G v̇ + bias. Of functions of accelerations (center of pressure), G is ∂u/∂v̇, and
    G v̇ + bias is u itself: exactly, or linearized at the present accelerations.

    Args:
        world: The world. Figures may be added to it and links connected or cut later.
        functions: By name: expressions or vectors of :mod:`brachiate.functions`, or Python functions ``lambda s: ...`` of the state.
    """

    def __init__(self, world: World, functions: Mapping[str, Any]) -> None:
        self.world = world
        if not isinstance(functions, Mapping) or not functions:
            raise ArgumentError(
                f"{type(self).__name__} expects functions by name, such as {{'hand': an.position('man/right_hand')}}, "
                f"got {validation.short_repr(functions)}."
            )
        self.functions = {str(name): function for name, function in functions.items()}
        outputs = [item for name, function in self.functions.items() for item in named_outputs(name, function, world)]
        #: Name of every scalar function: of a vector function ``name.x``, ``name.y``, ``name.z``.
        self.names: tuple[str, ...] = tuple(name for name, _ in outputs)
        self._outputs = outputs
        self._untraced = [name for name, function in self.functions.items() if isinstance(function, Untraced)]
        self._bind()

    def _bind(self) -> None:
        """Resolve names in the present model of the world; run untraced functions at its present state."""
        world, m = self.world, len(self.names)
        if self._untraced:
            self._outputs = [item for name, function in self.functions.items() for item in named_outputs(name, function, world)]
            if tuple(name for name, _ in self._outputs) != self.names:
                raise ArgumentError(f"Function {self._untraced[0]!r} returns a scalar in one state and a vector in another.")
        self._compiled = CompiledFunctions(world, self._outputs, self._untraced)
        n = world.model.nv + 1
        self._u, self._rate, self._bias = np.zeros(m), np.zeros(m), np.zeros(m)
        self._G, self._H = np.zeros((m, n)), np.zeros(m * n * n)

    def __repr__(self) -> str:
        """Return the names in one line."""
        return f"<{type(self).__name__}: {', '.join(self.names)}>"

    def __len__(self) -> int:
        """Number of scalar functions."""
        return len(self.names)

    @property
    def program(self) -> CompiledFunctions:
        """Program of the functions in the model they are bound to."""
        return self._compiled

    @property
    def outputs(self) -> tuple[Array, Array, Array, Array, Array]:
        """Arrays that an evaluation writes: u, u̇, bias, G with a column for time, H."""
        return self._u, self._rate, self._bias, self._G, self._H

    @property
    def of_velocity(self) -> Array:
        """Whether each function depends on velocities or accelerations (m,)."""
        return self._compiled.depends_on > 0

    @property
    def of_acceleration(self) -> Array:
        """Whether each function depends on accelerations (m,)."""
        return self._compiled.depends_on == 2

    @property
    def supports(self) -> tuple[Array, ...]:
        """Numbers of the joint velocities that each function depends on, ascending; time is not among them."""
        program, nv = self._compiled.program, self.world.model.nv
        parts = (program.supported[start:stop] for start, stop in zip(program.support[:-1], program.support[1:], strict=True))
        return tuple(part[part < nv] for part in parts)

    def update(self, order: int = HESSIANS, acceleration: ArrayLike | None = None) -> None:
        """Evaluate at the present state: values (0), gradients, rates and biases (1), Hessians (2); u, G, H, ... are views of them.

        Args:
            order: What is evaluated.
            acceleration: Joint accelerations (nv,) of functions of accelerations; by default those of the world (forward dynamics).
        """
        if self._untraced or self._compiled.data is not self.world.data:
            self._bind()
        compiled = self._compiled
        if compiled.signals:
            compiled.set_time(self.world.time)
        if self.of_acceleration.any():
            a = self.world.forward_dynamics() if acceleration is None else acceleration
            compiled.results.acceleration[:] = validation.numbers(a, (self.world.model.nv,), "acceleration")
        status = evaluate(compiled.key, order, self._u, self._rate, self._bias, self._G, self._H)
        if status:
            self.raise_status(status)

    def raise_status(self, status: int) -> NoReturn:
        """Raise the error of a status code of the evaluator."""
        if status < BAD_OUTPUT:
            self.world.data.raise_status(status)
        o = status - BAD_OUTPUT
        node = self._compiled.culprit(o)
        where = "" if node is None else f": {NAMES[node.op]} in {formula(node, 3)}, {place(node.line)}"
        raise StateError(f"Function {self.names[o]!r} is not finite or not differentiable in this state{where}.")

    def depends_on(self, name: str) -> str:
        """What a function depends on: ``configurations``, ``velocities`` or ``accelerations``."""
        kinds = [self._compiled.depends_on[n] for n in self.coordinates_of(name)]
        return ("configurations", "velocities", "accelerations")[max(kinds)]

    @property
    def supported(self) -> Array:
        """Velocities that any of the functions depends on; nv is time."""
        return np.unique(self._compiled.program.supported)

    @property
    def u(self) -> Array:
        """Values (m,) of the last :meth:`update`."""
        return self._u

    @property
    def G(self) -> Array:
        """Gradients (m, nv) of the last :meth:`update`."""
        return self._G[:, :-1]

    @property
    def H(self) -> Array:
        """Hessians (m, nv, nv) of the last :meth:`update`."""
        n = self._G.shape[1]
        return self._H.reshape(-1, n, n)[:, :-1, :-1]

    def value(self, acceleration: ArrayLike | None = None) -> Array:
        """Values u (m,) at the present state, and for functions of accelerations at these, or those of the world."""
        self.update(VALUES, acceleration)
        return self._u.copy()

    def gradient(self, acceleration: ArrayLike | None = None) -> Array:
        """Gradients G (m, nv) [EGC] eq. 13."""
        self.update(GRADIENTS, acceleration)
        return self.G.copy()

    def hessian(self) -> Array:
        """Hessians H (m, nv, nv) [EGC] eq. 14, symmetric."""
        if self.of_velocity.any():
            name = self.names[int(np.flatnonzero(self.of_velocity)[0])]
            raise ArgumentError(
                f"{name!r} depends on {self.depends_on(name)} and has no Hessian of this kind: its rate is G v̇ + bias, see space.bias()."
            )
        self.update(HESSIANS)
        return self.H.copy()

    def rate(self) -> Array:
        """Rates u̇ (m,) [EGC] eq. 10; of functions of velocities, those at v̇ = 0."""
        self.update(GRADIENTS)
        return self._rate.copy()

    def bias(self) -> Array:
        """ü at v̇ = 0 (m,): vᵀHv and the terms of time [EGC] eq. 12; of functions of velocities, u̇ at v̇ = 0."""
        self.update(GRADIENTS)
        return self._bias.copy()

    def coordinates_of(self, name: str) -> list[int]:
        """Numbers of the scalar functions of a function: one, or three of a vector."""
        return [n for n, coordinate in enumerate(self.names) if coordinate == name or coordinate.rpartition(".")[0] == name]

    @property
    def rates(self) -> Array:
        """Rates u̇ (m,) of the last :meth:`update`."""
        return self._rate

    @property
    def biases(self) -> Array:
        """ü at v̇ = 0 (m,) of the last :meth:`update`."""
        return self._bias


def named_outputs(name: str, function: Any, world: World) -> list[tuple[str, Expression]]:
    """Scalar outputs of a function, with names."""
    found = trace(name, function, world)
    if isinstance(found, Expression):
        return [(name, found)]
    return [(f"{name}.{letter}", found[letter]) for letter in "xyz"]
