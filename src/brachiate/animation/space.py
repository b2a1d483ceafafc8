"""Animation space [EGC] 3: coordinates u that are any functions of the motion, with gradient G, Hessian H, rates and accelerations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.animation.closed_form import AnimationSpaceDynamics, animation_space_dynamics
from brachiate.animation.direct import Directed, direct
from brachiate.animation.resolve import (
    Controllability,
    Level,
    Resolution,
    VelocityMetric,
    controllability,
    null_space,
    solve_levels,
    solve_within_bounds,
)
from brachiate.errors import ArgumentError, UnknownName
from brachiate.functions.evaluate import GRADIENTS
from brachiate.functions.expressions import Expression
from brachiate.functions.function_set import FunctionSet, named_outputs
from brachiate.functions.tracing import Untraced, trace
from brachiate.validation import Array
from brachiate.world.coordinates import ConstraintRows, constraint_rows
from brachiate.world.named_values import NamedValues, coordinate_indices, coordinate_values

if TYPE_CHECKING:
    from brachiate.world.world import World


class AnimationSpace(FunctionSet):
    """Functions of a world as coordinates: u, G, H, u̇ and ü at its present state, and joint motion from them.

    Args:
        world: The world. Figures may be added to it and links connected or cut later.
        functions: By name: expressions or vectors of :mod:`brachiate.animation`, or Python functions ``lambda s: ...`` of the state.
        priorities: Of functions by name, 0 the highest and default: functions act only in the null space of those with a smaller number.
        weights: Of joint velocities by name, default 1: coordinates with larger weights move less.
        minimize: Which of the motions that give the functions their accelerations is chosen: least ``velocity`` (joint velocities or
            accelerations, from a preferred motion if one is given), or least ``torque``.
        damping: Near singularities: ``error``, in proportion to the squared error of a function, or ``svd``: small singular values are
            left out.
    """

    def __init__(
        self,
        world: World,
        functions: Mapping[str, Any],
        *,
        priorities: Mapping[str, int] | None = None,
        weights: ArrayLike | Mapping[str, Any] | None = None,
        minimize: str = "velocity",
        damping: str = "error",
    ) -> None:
        self.minimize = validation.one_of(minimize, ("velocity", "torque"), "minimize")
        self.damping = validation.one_of(damping, ("error", "svd"), "damping")
        self._weights = weights
        super().__init__(world, functions)
        self._priorities = dict(priorities or {})
        self._levels = self._by_priority(self._priorities)

    def _by_priority(self, priorities: Mapping[str, int]) -> list[Array]:
        """Numbers of the coordinates of each priority, the highest first."""
        for name in priorities:
            validation.lookup(self.functions, name, "function", "this animation space")
        of = np.array([
            validation.integer(priorities.get(name, 0), f"priority of {name!r}", minimum=0)
            for name, function in self.functions.items() for _ in named_outputs(name, function, self.world)
        ])  # fmt: skip
        return [np.flatnonzero(of == level) for level in np.unique(of)]

    def _bind(self) -> None:
        """Resolve names in the present model of the world."""
        super()._bind()
        world, n = self.world, self.world.model.nv
        by_name, each = (self._weights, np.ones(n)) if isinstance(self._weights, Mapping) else ({}, self._weights)
        self.weights = np.ones(n) if each is None else validation.numbers(each, (n,), "weights")  #: of joint velocities (nv,)
        for name, weight in by_name.items():
            at = coordinate_indices(world.model, name)
            self.weights[at] = validation.broadcast(
                weight, self.weights[at].shape, f"weight of {name!r}", "one number or one for each velocity"
            )
        if not (self.weights > 0.0).all():
            name = world.model.coordinates[int(np.argmin(self.weights))]
            raise ArgumentError(f"weights: that of {name!r} is not above zero. To keep a coordinate still, lock it: world.lock({name!r}).")

    def acceleration(self, acceleration: ArrayLike | Mapping[str, Any]) -> Array:
        """ü = G v̇ + bias (m,) for joint accelerations v̇; of functions of velocities, u̇."""
        a = coordinate_values(self.world.model, acceleration, "acceleration")
        self.update(GRADIENTS)
        return self.G @ a + self._bias

    # --- joint motion from the motion of functions --------------------------------------------------

    def solve_velocity(
        self, rates: ArrayLike | Mapping[str, Any], *, preferred: ArrayLike | None = None, error: ArrayLike | None = None
    ) -> Resolution:
        """Joint velocities v with G v = u̇, nearest to preferred ones (zero) by weights, within the constraints of the world.

        Args:
            rates: u̇ (m,), or by name of functions, the others zero.
            preferred: Joint velocities of a secondary goal (nv,): what the functions leave free follows it.
            error: How far each function is from its target (m,), for damping; by default ``rates``.
        """
        wanted = self._targets(rates, "rates")
        self.update(GRADIENTS)
        if self.of_velocity.any():
            name = self.names[int(np.flatnonzero(self.of_velocity)[0])]
            raise ArgumentError(f"{name!r} depends on velocities: its rate is given by accelerations, see solve_acceleration.")
        n = self.world.model.nv
        metric = VelocityMetric(
            1.0 / np.sqrt(self.weights), None, np.zeros(n) if preferred is None else validation.numbers(preferred, (n,), "preferred")
        )
        rows = constraint_rows(self.world)
        top = Level(rows.J, rows.J @ self.world.v, None)  # the rate that constraints have
        return self._resolve(wanted, wanted - (self._rate - self.G @ self.world.v), [top], metric, error, None)

    def planned_velocity(self, rates: Array, preferred: Array, error: Array) -> Array:
        """Joint velocities of given rates (m,), as :meth:`solve_velocity`; a body without support keeps the motion of its root."""
        world = self.world
        rows, free = constraint_rows(world), np.flatnonzero(world.model.effort == 0.0)
        top = [Level(rows.J, rows.J @ world.v, None)]
        if not len(rows.J):
            top = [Level(np.eye(world.model.nv)[free], world.v[free], None)]
        self.update(GRADIENTS)
        target = rates - (self._rate - self.G @ world.v)
        return np.asarray(
            self._resolve(
                rates, target, top, VelocityMetric(1.0 / np.sqrt(self.weights), None, preferred), error, None, ~self.of_velocity
            ).values
        )

    def _metric(self, preferred: Array) -> VelocityMetric:
        """Weighted distance from preferred velocities. Coordinates without motors follow from the others: they cost nothing."""
        cost = np.where(self.world.model.effort > 0.0, self.weights, _COST_WITHOUT_MOTOR * self.weights)
        return VelocityMetric(1.0 / np.sqrt(cost), 1.0 / np.sqrt(self.weights), preferred)

    def solve_acceleration(
        self,
        accelerations: ArrayLike | Mapping[str, Any],
        *,
        preferred: ArrayLike | None = None,
        error: ArrayLike | None = None,
        limits: float | None = None,
    ) -> Resolution:
        """Joint accelerations v̇ with G v̇ + bias = ü (of functions of velocities: u̇), within the constraints of the world.

        Args:
            accelerations: ü (m,), or by name of functions, the others zero.
            preferred: Joint accelerations of a secondary goal (nv,): what the functions leave free follows it.
            error: How far each function is from its target (m,), for damping; by default ``accelerations``.
            limits: Keep joints within their limits, seen this far ahead [s].
        """
        wanted = self._targets(accelerations, "accelerations")
        self.update(GRADIENTS)
        world, n = self.world, self.world.model.nv
        target = wanted - self._bias
        goal = np.zeros(n) if preferred is None else validation.numbers(preferred, (n,), "preferred")
        if self.minimize == "torque":
            A, bias = world.mass_matrix(), np.asarray(world.bias())
            inverse = np.linalg.inv(A)
            # |W^½ (A v̇ + bias)| is least: z = W^½ (A v̇ + bias - A goal), so that the preferred motion costs nothing beyond gravity
            metric = VelocityMetric(inverse / np.sqrt(self.weights), None, goal - (inverse @ bias if preferred is None else 0.0))
        else:
            metric = self._metric(goal)
        rows = constraint_rows(world)
        bounds = None if limits is None else acceleration_bounds(world, validation.number(limits, "limits", above=0.0))
        return self._resolve(wanted, target, [Level(rows.J, -rows.gamma, None), _unactuated(world, rows)], metric, error, bounds)

    def _resolve(
        self,
        wanted: Array,
        target: Array,
        top: list[Level],
        metric: VelocityMetric,
        error: ArrayLike | None,
        bounds: tuple[Array, Array] | None,
        used: Array | None = None,
    ) -> Resolution:
        e = wanted if error is None else validation.numbers(error, (len(self),), "error")
        levels = [level for level in top if len(level.G)]
        parts = self._levels if used is None else [at[used[at]] for at in self._levels]
        levels += [Level(self.G[at], target[at], _ERROR_DAMPING * e[at] ** 2 if self.damping == "error" else None) for at in parts]
        held = np.zeros(len(self.weights), bool)
        if bounds is None:
            x = solve_levels(levels, metric)
        else:
            x, held = solve_within_bounds(levels, metric, *bounds)
        model = self.world.model
        stopped = tuple(name for name, flag in zip(model.coordinates, held, strict=True) if flag)
        return Resolution(NamedValues(x, model), self.names, wanted, self.G @ x - target, stopped)

    def _targets(self, values: ArrayLike | Mapping[str, Any], what: str) -> Array:
        """Values of all coordinates from an array, or by name of a function, or of one coordinate of a vector."""
        if not isinstance(values, Mapping):
            return validation.numbers(values, (len(self),), what)
        found = np.zeros(len(self))
        for name, value in values.items():
            at = self.coordinates_of(name)
            if not at:
                raise UnknownName("function", name, [*self.functions, *self.names], "this animation space")
            found[at] = validation.broadcast(value, (len(at),), f"{what} of {name!r}", f"one number or {len(at)}")
        return found

    def directed_by(self, targets: Mapping[str, Any]) -> AnimationSpace:
        """Space of the functions that have a target. A norm held at zero, where it has no derivative, is replaced by its vector."""
        validation.mapping(targets, "targets", "targets by name of functions")
        for name in targets:
            validation.lookup(self.functions, name, "function", "this animation space")
        functions = {}
        for name, function in self.functions.items():
            if name in targets:
                found = None if isinstance(function, Untraced) else trace(name, function, self.world)
                zero = isinstance(targets[name], (int, float)) and targets[name] == 0
                functions[name] = found.vector if zero and isinstance(found, Expression) and found.vector is not None else function
        priorities = {name: priority for name, priority in self._priorities.items() if name in targets}
        return AnimationSpace(
            self.world, functions, priorities=priorities, weights=self._weights, minimize=self.minimize, damping=self.damping
        )

    def direct(
        self,
        targets: Mapping[str, Any],
        seconds: float,
        *,
        dt: float = 0.002,
        rate: float = 20.0,
        closure: str = "extended",
        held: Iterable[str] = (),
        stiffness: float = 1e5,
        damping: float | None = None,
        torques: Callable[[float], Any] | None = None,
        posture: float = 0.0,
        limits: float | None = None,
        progress: Callable[[float], Any] | None = None,
    ) -> Directed:
        """Move the world so that functions follow targets: the control loop of [EGC] 5.

        Without contact the loop is closed at every stage of a Runge-Kutta step; with contact, torques are held over a step. On an error
        the world is as it was.

        Args:
            targets: By name of functions: a value to hold, :func:`~brachiate.animation.reach`, :func:`~brachiate.animation.keys`, or a
                function of the time since the start. Functions without a target are free.
            seconds: Duration [s].
            dt: Step [s].
            rate: Natural frequency of the feedback to the plan [1/s].
            closure: Who holds the functions ``held``: motors (``extended`` coordinates), or the surroundings: exactly (``hard``), or by a
                spring and damper (``soft``) [EGC] 4.5.
            held: Names of these functions.
            stiffness: Of a soft closure [N/m, or per unit of the function].
            damping: Of a soft closure; by default 2 √stiffness.
            torques: Motor torques as a function of time instead of inverse dynamics, to replay them: ``run.torques_at``.
            posture: Natural frequency by which what the functions leave free returns to the initial posture [1/s].
            limits: Keep joints within their limits, seen this far ahead [s].
            progress: Called with the share done.
        """
        return direct(
            self, targets, seconds, dt=dt, rate=rate, closure=closure, held=tuple(held), stiffness=stiffness, damping=damping,
            torques=torques, posture=posture, limits=limits, progress=progress,
        )  # fmt: skip

    def controllability(self) -> Controllability:
        """Which degrees of freedom the functions control at the present state, and which functions depend on others, by name."""
        G = self.gradient()
        return controllability(G, constraint_rows(self.world).J, self.names, self.world.model.coordinates)

    def dynamics(self) -> AnimationSpaceDynamics:
        """Equations of motion in these functions, if there are as many as degrees of freedom [EGC] eq. 34-40."""
        return animation_space_dynamics(self)


# Damping per squared error: a function whose gradient is shorter than its error is slowed down.
_ERROR_DAMPING = 1e-4
_COST_WITHOUT_MOTOR = 1e-6


def _unactuated(world: World, rows: ConstraintRows) -> Level:
    """Accelerations of coordinates without a motor obey the equations of motion: A v̇ + bias = Jᵀλ there, constraint forces λ eliminated."""
    without = np.flatnonzero(world.model.effort == 0.0)
    if len(without) == 0:
        return Level(np.zeros((0, world.model.nv)), np.zeros(0), None)
    A, bias = world.mass_matrix()[without], np.asarray(world.bias())[without] - rows.loop_torques[without]
    if len(rows.J):
        free = null_space(rows.J[:, without])
        A, bias = free.T @ A, free.T @ bias
    return Level(A, -bias, None)


def acceleration_bounds(world: World, horizon: float) -> tuple[Array, Array]:
    """Accelerations (nv,) that keep every coordinate within its limits for some time ahead [s], if they stay constant."""
    model = world.model
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    low, high = model.limits
    for name, at in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        reach = world.q[at] + horizon * world.v[k]
        lower[k], upper[k] = 2.0 * (low[k] - reach) / horizon**2, 2.0 * (high[k] - reach) / horizon**2
    return lower, np.maximum(lower, upper)
