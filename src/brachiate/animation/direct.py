"""Control loop of [EGC] 5: functions follow plans by inverse dynamics, and the body moves by forward dynamics.

a  kinematics at the present state            space.update
b  u̇ and ü of the plan, with feedback         plan.py
c  joint accelerations                        space.solve_acceleration
d  torques by inverse dynamics                world.inverse_dynamics
e  forward dynamics                           world.forward_dynamics, or a contact step
f  the next state
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import manifold, validation
from brachiate.animation.integration import runge_kutta_step
from brachiate.animation.plan import Trajectory, trajectories
from brachiate.animation.resolve import RANK_TOLERANCE
from brachiate.errors import ArgumentError
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.animation.space import AnimationSpace
    from brachiate.world.world import World

CLOSURES = ("extended", "hard", "soft")
DEFAULT_RATE = 20.0  # [1/s] default natural frequency of the feedback
_MAX_GAP = 2.0  # [rad/s] of joint velocities from planned ones, besides their size, at which curvature is taken


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

    @property
    def reactions(self) -> Mapping[str, Array]:
        """Generalized force of every function over time: (T,), or (T, 3) of a vector [N, N·m, or N·m per unit of the function]."""
        found = {name: self.forces[:, n] for n, name in enumerate(self.names)}
        for name in {name.rpartition(".")[0] for name in self.names if name.endswith((".x", ".y", ".z"))}:
            if f"{name}.x" in found and f"{name}.z" in found:
                found[name] = np.stack([found[f"{name}.{letter}"] for letter in "xyz"], axis=1)
        return found

    def torque(self, name: str) -> Array:
        """Torque of a coordinate over time (T,)."""
        at = validation.lookup({c: n for n, c in enumerate(self.coordinates)}, name, "coordinate", "this motion")
        return self.torques[:, at]

    def torques_at(self, t: float) -> Array:
        """Torques at any time (nv,), interpolated: the torque functions of [EGC] 5.2."""
        at = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        share = np.clip((t - self.times[at]) / (self.times[at + 1] - self.times[at]), 0.0, 1.0)
        return (1.0 - share) * self.torques[at] + share * self.torques[at + 1]

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
            torque = controller.torques_now()
            rows.append((np.array([world.time]), world.q.copy(), world.v.copy(), *controller.record(torque)))
            if n == steps:
                break
            if simulation is not None:
                world.torque = torque
                simulation.step()
            else:
                runge_kutta_step(world, controller.accelerations, dt)
            if progress is not None:
                progress((n + 1) / steps)
    except Exception:
        world.restore(state)
        raise
    times, q, v, u, planned, tau, forces = (np.array(column) for column in zip(*rows, strict=True))
    return Directed(times[:, 0], q, v, controller.names, u, planned, tau, forces, tuple(world.model.coordinates))


class Controller:
    """Control law of :meth:`AnimationSpace.direct`, with its settings: torques at one moment, and accelerations under them."""

    def __init__(
        self,
        space: AnimationSpace,
        targets: Mapping[str, Any],
        *,
        rate: float = DEFAULT_RATE,
        closure: str = "extended",
        held: tuple[str, ...] = (),
        stiffness: float = 1e5,
        damping: float | None = None,
        torques: Callable[[float], Array] | None = None,
        posture: float = 0.0,
        limits: float | None = None,
    ) -> None:
        self.world, self.limits = space.world, limits
        self.closure = validation.one_of(closure, CLOSURES, "closure")
        self.gain = validation.number(rate, "rate", above=0.0)
        self.stiffness = validation.number(stiffness, "stiffness", above=0.0)
        self.damping = 2.0 * np.sqrt(self.stiffness) if damping is None else validation.number(damping, "damping", minimum=0.0)
        self.posture_rate = validation.number(posture, "posture", minimum=0.0)
        self.given_torques = torques
        self.space = space.directed_by(targets)
        self.names = self.space.names
        self.space.update(1)
        self.q0 = self.world.q.copy()
        self.plan: list[Trajectory] = []
        for name in self.space.functions:
            at = self.space.coordinates_of(name)
            self.plan += trajectories(name, targets[name], self.space.u[at], self.space.rates[at], self.world.time)
        for name in held:
            validation.lookup(self.space.functions, name, "directed function", "this motion")
        self.held = np.array([any(n in self.space.coordinates_of(name) for name in held) for n in range(len(self.names))], bool)
        if self.closure != "extended" and not self.held.any():
            raise ArgumentError(f"closure={closure!r} needs held=(...): the functions that the surroundings hold.")

    def planned(self) -> Array:
        """u, u̇ and ü of the plan at the present time: (m, 3)."""
        return np.array([trajectory(self.world.time) for trajectory in self.plan])

    def torques_now(self) -> Array:
        """Motor torques at the present state (nv,)."""
        if self.given_torques is not None:
            return validation.numbers(self.given_torques(self.world.time), (self.world.model.nv,), "torques")
        tau = np.asarray(self.world.inverse_dynamics(self._wanted_accelerations()), float)
        if self.closure != "extended":  # what the surroundings hold, motors do not
            self.space.update(1)
            tau = tau - self.space.G[self.held].T @ self._forces(tau)[self.held]
        return tau

    def _wanted_accelerations(self) -> Array:
        """Step c: joint velocities φ̇ of the plan with feedback, then accelerations; what the functions leave free follows φ̇.

        φ̇ is bounded near singularities. There the body's own velocities could run away through their curvature vᵀHv, so that is taken at
        velocities not too far from φ̇.
        """
        space, world, k = self.space, self.world, self.gain
        v = world.v.copy()
        plan = self.planned()
        space.update(1)
        error, rates, bias = plan[:, 0] - space.u, space.rates.copy(), space.biases.copy()
        posture = np.zeros(len(v))
        if self.posture_rate:
            posture = self.posture_rate * manifold.difference(world.data, world.q.copy(), self.q0)
        planned = space.planned_velocity(plan[:, 1] + k * error, posture, error)
        wanted = plan[:, 2] + 2.0 * k * (plan[:, 1] - rates) + k * k * error
        wanted[space.of_velocity] = (plan[:, 1] + k * error)[space.of_velocity]
        gap = v - planned
        share = min(1.0, (_MAX_GAP + np.linalg.norm(planned)) / max(np.linalg.norm(gap), 1e-300))
        if share < 1.0:
            try:
                world.data.v[:] = planned + share * gap
                space.update(1)
                wanted += bias - space.biases
            finally:
                world.data.v[:] = v
        return np.asarray(space.solve_acceleration(wanted, preferred=-k * gap, error=error, limits=self.limits).values)

    def _forces(self, tau: Array) -> Array:
        """Generalized forces of the functions (m,): torques projected by the dynamically consistent inverse of G; G_uᵀ τ if G is square."""
        G = self.space.G
        X = np.array([self.world.solve_mass(row) for row in G])
        return np.linalg.lstsq(X @ G.T, X @ tau, rcond=RANK_TOLERANCE)[0]

    def accelerations(self) -> Array:
        """Step e: joint accelerations under the motor torques and what the surroundings hold (nv,)."""
        world, tau = self.world, self.torques_now()
        if self.closure == "extended":
            return np.asarray(world.forward_dynamics(tau))
        self.space.update(1)
        G, bias = self.space.G[self.held].copy(), self.space.biases[self.held].copy()
        if self.closure == "soft":
            stretch = self.planned()[self.held, 0] - self.space.u[self.held]
            return np.asarray(world.forward_dynamics(tau + G.T @ (self.stiffness * stretch - self.damping * self.space.rates[self.held])))
        free = np.asarray(world.forward_dynamics(tau))
        X = np.array([world.solve_mass(row) for row in G])
        reaction = np.linalg.lstsq(X @ G.T, -bias - G @ free, rcond=RANK_TOLERANCE)[0]
        return free + X.T @ reaction

    def record(self, tau: Array) -> tuple[Array, ...]:
        """Values, plan, torques and forces at the present state."""
        self.space.update(1)
        total = tau
        if self.closure != "extended" and self.given_torques is None:
            total = np.asarray(self.world.inverse_dynamics(self.accelerations()), float)
            self.space.update(1)
        return self.space.u.copy(), self.planned()[:, 0], tau, self._forces(total)
