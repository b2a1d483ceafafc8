"""Animation space [EGC] 3: coordinates u that are any functions of the motion, with gradient G, Hessian H, rates and accelerations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.animation.closed_form import AnimationSpaceDynamics, animation_space_dynamics
from brachiate.animation.compiled_control import CompiledControl
from brachiate.animation.control_step import ACCELERATION, HORIZON, VELOCITY
from brachiate.animation.direct import Directed, direct
from brachiate.animation.resolve import Controllability, Resolution, controllability
from brachiate.errors import ArgumentError, UnknownName
from brachiate.functions.evaluate import GRADIENTS
from brachiate.functions.expressions import Expression
from brachiate.functions.function_set import FunctionSet, named_outputs
from brachiate.functions.tracing import Untraced, trace
from brachiate.validation import Array
from brachiate.world.coordinates import constraint_rows
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
        #: Numbers of the coordinates of each priority, the highest first.
        self.levels: list[Array] = self._by_priority(self._priorities)

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
        self._control: CompiledControl | None = None

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
        if self.of_velocity.any():
            name = self.names[int(np.flatnonzero(self.of_velocity)[0])]
            raise ArgumentError(f"{name!r} depends on {self.depends_on(name)}: it is given by accelerations, see solve_acceleration.")
        return self._resolve(VELOCITY, wanted, preferred, error, None)

    def solve_acceleration(
        self,
        accelerations: ArrayLike | Mapping[str, Any],
        *,
        preferred: ArrayLike | None = None,
        error: ArrayLike | None = None,
        limits: float | None = None,
    ) -> Resolution:
        """Joint accelerations v̇ with G v̇ + bias = ü, within the constraints of the world.

        Of functions of velocities it is u̇ that is given, of functions of accelerations, such as the center of pressure, u itself.

        Args:
            accelerations: ü, u̇ or u (m,), or by name of functions, the others zero.
            preferred: Joint accelerations of a secondary goal (nv,): what the functions leave free follows it.
            error: How far each function is from its target (m,), for damping; by default ``accelerations``.
            limits: Keep joints within their limits, seen this far ahead [s].
        """
        wanted = self._targets(accelerations, "accelerations")
        horizon = None if limits is None else validation.number(limits, "limits", above=0.0)
        return self._resolve(ACCELERATION, wanted, preferred, error, horizon)

    def _resolve(
        self, operation: int, wanted: Array, preferred: ArrayLike | None, error: ArrayLike | None, horizon: float | None
    ) -> Resolution:
        n, world = self.world.model.nv, self.world
        goal = np.zeros(n) if preferred is None else validation.numbers(preferred, (n,), "preferred")
        if preferred is None and operation == ACCELERATION and self.minimize == "torque":
            goal = -world.solve_mass(world.bias())  # least torque of all, not beyond that of a preferred motion
        e = wanted if error is None else validation.numbers(error, (len(self),), "error")
        control = self.bound_control()
        C = control.arrays
        C.wanted[:], C.preferred[:], C.error[:], C.setting[HORIZON] = wanted, goal, e, horizon or 0.0
        control.run(operation)
        x = control.levels.x[:n].copy()
        stopped = tuple(name for name, flag in zip(world.model.coordinates, control.levels.held, strict=False) if flag and horizon)
        return Resolution(NamedValues(x, world.model), self.names, wanted, self.G @ x - C.target, stopped)

    def bound_control(self) -> CompiledControl:
        """Compiled control law in the present model and structure of the world, functions of time at its time."""
        if self._untraced or self._compiled.data is not self.world.data:
            self._bind()
        if self._compiled.signals:
            self._compiled.set_time(self.world.time)
        if self._control is None or not self._control.fits():
            self._control = CompiledControl(self)
        return self._control

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
        held: Iterable[str] | Mapping[str, str] = (),
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
            held: Names of these functions; or who holds each, by name, such as ``{"left": "hard", "right": "soft"}``.
            stiffness: Of a soft closure [N/m, or per unit of the function].
            damping: Of a soft closure; by default 2 √stiffness.
            torques: Motor torques as a function of time instead of inverse dynamics, to replay them: ``run.torques_at``.
            posture: Natural frequency by which what the functions leave free returns to the initial posture [1/s].
            limits: Keep joints within their limits, seen this far ahead [s].
            progress: Called with the share done.
        """
        return direct(
            self, targets, seconds, dt=dt, rate=rate, closure=closure, held=held, stiffness=stiffness, damping=damping,
            torques=torques, posture=posture, limits=limits, progress=progress,
        )  # fmt: skip

    def controllability(self) -> Controllability:
        """Which degrees of freedom the functions control at the present state, and which functions depend on others, by name."""
        G, world = self.gradient(), self.world
        measure = np.sqrt(np.maximum(np.diag(world.mass_matrix()), 1e-300))
        return controllability(G, constraint_rows(world).J, self.names, world.model.coordinates, measure)

    def dynamics(self) -> AnimationSpaceDynamics:
        """Equations of motion in these functions, if there are as many as degrees of freedom [EGC] eq. 34-40."""
        return animation_space_dynamics(self)
