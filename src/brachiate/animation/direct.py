"""Control loop of [EGC] 5: functions follow plans by inverse dynamics, and the body moves by forward dynamics.

a  kinematics at the present state            control_step.control
b  u̇ and ü of the plan, with feedback         control_step.plan_accelerations
c  joint accelerations                        control_step.resolve_acceleration
d  torques by inverse dynamics                equations.tree_torques, equations.distribute
e  forward dynamics                           control_step.accelerate, or a contact step
f  the next state                             integration.py
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.animation.arrays import ControlLaw
from brachiate.animation.compiled_control import CompiledControl
from brachiate.animation.control_step import (
    DAMPING,
    GAIN,
    GIVEN,
    HELD,
    HORIZON,
    POSTURE,
    RECORD,
    STAGE,
    STIFFNESS,
    TIME,
    TORQUES,
)
from brachiate.animation.integration import runge_kutta_step
from brachiate.animation.plan import Trajectory, trajectories
from brachiate.errors import ArgumentError
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.animation.space import AnimationSpace
    from brachiate.world.world import World

CLOSURES = ("extended", "hard", "soft")
DEFAULT_RATE = 20.0  # [1/s] default natural frequency of the feedback


@dataclass(frozen=True, eq=False)
class Directed:
    """A motion directed by functions.

    Attributes:
        times: (T,) [s].
        q: (T, nq) configurations.
        v: (T, nv) velocities.
        names: Of the functions that were directed.
        u: (T, m) their values.
        planned: (T, m) values of the plan.
        torques: (T, nv) motor torques.
        forces: (T, m) generalized forces of the functions: of one that is held, the reaction there.
        coordinates: Names of the joint velocities.
        stepwise: Whether torques were held over each step, as with contact.
    """

    times: Array
    q: Array
    v: Array
    names: tuple[str, ...]
    u: Array
    planned: Array
    torques: Array
    forces: Array
    coordinates: tuple[str, ...]
    stepwise: bool = False

    @property
    def reactions(self) -> Mapping[str, Array]:
        """Generalized force of every function over time: (T,), or (T, 3) of a vector [N, N·m, or N·m per unit of the function]."""
        found = {name: self.forces[:, n] for n, name in enumerate(self.names)}
        for name in dict.fromkeys(name.rpartition(".")[0] for name in self.names if name.endswith((".x", ".y", ".z"))):
            if f"{name}.x" in found and f"{name}.z" in found:
                found[name] = np.stack([found[f"{name}.{letter}"] for letter in "xyz"], axis=1)
        return found

    def torque(self, name: str) -> Array:
        """Torque of a coordinate over time (T,)."""
        at = validation.lookup({c: n for n, c in enumerate(self.coordinates)}, name, "coordinate", "this motion")
        return self.torques[:, at]

    def torques_at(self, t: float) -> Array:
        """Torques at any time (nv,): the torque functions of [EGC] 5.2, cubic splines through those stored, or their steps."""
        t = min(max(t, self.times[0]), self.times[-1])
        if self.stepwise or len(self.times) < 4:
            return self.torques[max(0, int(np.searchsorted(self.times, t + 1e-9 * (t - self.times[0]), side="right")) - 1)]
        return self._torque_spline(t)

    @functools.cached_property
    def _torque_spline(self) -> Callable[[float], Array]:
        from scipy.interpolate import CubicSpline  # noqa: PLC0415

        return CubicSpline(self.times, self.torques)

    def recording(self, world: World) -> Recording:
        """The motion as a recording, to plot, draw and save."""
        return Recording(world.model, world.gravity, self.times, self.q, self.v, self.torques)

    @property
    def error(self) -> Array:
        """How far each function was from its plan (T, m)."""
        return self.u - self.planned


def direct(
    space: AnimationSpace,
    targets: Mapping[str, Any],
    seconds: float,
    *,
    dt: float,
    progress: Callable[[float], Any] | None,
    **settings: Any,
) -> Directed:
    """See :meth:`AnimationSpace.direct`; ``settings`` are those of :class:`Controller`."""
    controller = Controller(space, targets, **settings)
    world = space.world
    steps = max(1, round(validation.number(seconds, "seconds", above=0.0) / validation.number(dt, "dt", above=0.0)))
    state = world.save()
    rows: list[tuple[Array, ...]] = []
    contact = world.contact_settings.contact_state is not None
    simulation = Simulation(world, dt) if contact else None
    try:
        for n in range(steps + 1):
            rows.append((np.array([world.time]), world.q.copy(), world.v.copy(), *controller.record()))
            if n == steps:
                break
            if simulation is not None:
                world.torque = rows[-1][5]
                simulation.step()
            else:
                runge_kutta_step(world, controller.accelerations, dt)
            if progress is not None:
                progress((n + 1) / steps)
    except Exception:
        world.restore(state)
        raise
    times, q, v, u, planned, tau, forces = (np.array(column) for column in zip(*rows, strict=True))
    return Directed(times[:, 0], q, v, controller.names, u, planned, tau, forces, tuple(world.model.coordinates), contact)


class Controller:
    """Control law of :meth:`AnimationSpace.direct`, with its settings: torques at one moment, and accelerations under them."""

    def __init__(
        self,
        space: AnimationSpace,
        targets: Mapping[str, Any],
        *,
        rate: float = DEFAULT_RATE,
        closure: str = "extended",
        held: Iterable[str] | Mapping[str, str] = (),
        stiffness: float = 1e5,
        damping: float | None = None,
        torques: Callable[[float], Array] | None = None,
        posture: float = 0.0,
        limits: float | None = None,
    ) -> None:
        self.world = space.world
        self.setting = np.zeros(6)
        self.setting[GAIN] = validation.number(rate, "rate", above=0.0)
        self.setting[STIFFNESS] = validation.number(stiffness, "stiffness", above=0.0)
        self.setting[DAMPING] = 2.0 * np.sqrt(stiffness) if damping is None else validation.number(damping, "damping", minimum=0.0)
        self.setting[POSTURE] = validation.number(posture, "posture", minimum=0.0)
        self.setting[HORIZON] = 0.0 if limits is None else validation.number(limits, "limits", above=0.0)
        self.given_torques = torques
        self.space = space.directed_by(targets)
        self.names = self.space.names
        self.space.update(1)
        self.q0 = self.world.q.copy()
        self.plan: list[Trajectory] = []
        for name in self.space.functions:
            at = self.space.coordinates_of(name)
            self.plan += trajectories(name, targets[name], self.space.u[at], self.space.rates[at], self.world.time)
        self.held = self._held_functions(held, validation.one_of(closure, CLOSURES, "closure"))
        self._control: CompiledControl | None = None

    def _held_functions(self, held: Iterable[str] | Mapping[str, str], closure: str) -> Array:
        """How each function is held (m,): its number in CLOSURES."""
        found = np.zeros(len(self.names), np.int64)
        by_name = held if isinstance(held, Mapping) else dict.fromkeys(held, closure)
        for name, technique in by_name.items():
            validation.lookup(self.space.functions, name, "directed function", "this motion")
            found[self.space.coordinates_of(name)] = CLOSURES.index(validation.one_of(technique, CLOSURES, f"closure of {name!r}"))
        if closure != "extended" and not by_name:
            raise ArgumentError(f"closure={closure!r} needs held=(...): the functions that the surroundings hold.")
        if found.any() and self.world.contact_settings.contact_state is not None:
            raise ArgumentError("Functions that the surroundings hold are not possible with contact: use world.connect.")
        return found

    def run(self, operation: int) -> ControlLaw:
        """Run an operation of the control step at the present state and time; returns its results."""
        if self._control is None or not self._control.fits():
            self._control = CompiledControl(self.space, self.plan)
            C = self._control.arrays
            C.setting[:], C.rest[:], C.held[:] = self.setting, self.q0, self.held
            C.option[HELD], C.option[GIVEN] = self.held.any(), self.given_torques is not None
        C = self._control.arrays
        if self.given_torques is not None:
            C.torque[:] = validation.numbers(self.given_torques(self.world.time), C.torque.shape, "torques")
        C.setting[TIME] = self.world.time
        self._control.set_functions_of_time(self.world.time)
        self._control.run(operation)
        return C

    def torques_now(self) -> Array:
        """Motor torques at the present state (nv,)."""
        return self.run(TORQUES).torque.copy()

    def accelerations(self) -> Array:
        """Step e: joint accelerations under the motor torques and what the surroundings hold (nv,)."""
        return self.run(STAGE).acceleration

    def record(self) -> tuple[Array, ...]:
        """Values, plan, torques and forces at the present state."""
        C = self.run(RECORD)
        assert self._control is not None
        planned = self._control.polynomials.value[: len(self.names), 0].copy()
        return self.space.u.copy(), planned, C.torque.copy(), C.force.copy()
