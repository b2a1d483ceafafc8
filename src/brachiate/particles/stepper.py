"""Stepper: advances a particle system by time steps of one of the integrators, with a floor."""

from __future__ import annotations

from typing import Any

from brachiate import validation
from brachiate.errors import ArgumentError, StateError
from brachiate.particles.arrays import FloorArrays, no_floor
from brachiate.particles.explicit import run_explicit, run_threads, thread_count
from brachiate.particles.floors import ParticleFloor
from brachiate.particles.stable_step import largest_stable_step, suggested_step
from brachiate.particles.system import ParticleSystem

INTEGRATORS = ("explicit", "leapfrog", "implicit")
MAX_STEP = 1.0  # [s]
ROUNDING = 1e-9  # relative excess of a step over the largest stable one that is taken for round-off


class Stepper:
    """Steps of a particle system.

    Args:
        system: The system; its state is advanced.
        floor: ParticleFloor, or None.
        integrator: ``"explicit"``: semi-implicit Euler steps; ``"leapfrog"``: of second order; ``"implicit"``: energy and momentum
            conserving steps, stable at any stiffness.
        dt: Step [s]; None: :func:`~brachiate.particles.suggested_step` of explicit steps, 1 ms of implicit ones.
        threads: Number of threads of explicit steps; None: as many as pay. Results do not depend on it.

    Raises:
        ArgumentError: The step of an explicit integrator is not stable.
    """

    def __init__(
        self,
        system: ParticleSystem,
        floor: ParticleFloor | None = None,
        integrator: str = "explicit",
        dt: float | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(system, ParticleSystem):
            raise ArgumentError(f"system: expected a ParticleSystem, got {validation.short_repr(system)}.")
        if floor is not None and not isinstance(floor, ParticleFloor):
            raise ArgumentError(f"floor: expected br.particles.Floor, got {validation.short_repr(floor)}.")
        if not len(system):
            raise ArgumentError("This particle system has no particles: add some with add_particle or add_particles.")
        self.system, self.floor = system, floor
        self.integrator = validation.one_of(integrator, INTEGRATORS, "integrator")
        #: Arrays of the floor, with its sinkage.
        self.floor_arrays: FloorArrays = no_floor() if floor is None else floor.to_arrays()
        step = (1e-3 if integrator == "implicit" else suggested_step(system, self.floor_arrays)) if dt is None else dt
        self.dt = validation.number(step, "dt", above=0.0, maximum=MAX_STEP)
        self.threads = None if threads is None else validation.integer(threads, "threads", minimum=1, maximum=64)
        self._solver: Any = None
        self.check_step()
        self._refresh()

    def check_step(self) -> None:
        """Refuse an explicit step that is not stable with the present stiffness and masses."""
        if self.integrator == "implicit":
            return
        limit = largest_stable_step(self.system, self.floor_arrays)
        if self.dt > limit.seconds * (1.0 + ROUNDING):
            raise ArgumentError(
                f"dt: a step of {self.dt:.3g} s is not stable; the largest stable one is {limit.seconds:.3g} s "
                f"(particle {limit.particle!r}). Use a smaller step, softer links, or integrator='implicit'."
            )

    def _refresh(self) -> None:
        """Use the arrays that the system has now."""
        self._base = self.system.handle()
        self._handle = self.system.handle(self.floor_arrays)
        if self.integrator == "implicit":
            from brachiate.particles.implicit import ImplicitSolver  # noqa: PLC0415

            self._solver = ImplicitSolver(self.system, self.floor_arrays)

    def step(self, count: int = 1) -> None:
        """Make ``count`` steps.

        Raises:
            StateError: A state is not finite, or an implicit step did not converge; the state before is restored.
        """
        if self.system.handle() is not self._base:
            self.check_step()
            self._refresh()
        C = self.system.arrays
        before = [array.copy() for array in (C.x, C.v, C.impulse, self.floor_arrays.sinkage)]
        try:
            self._raise_if_bad(self._run(count), count)
        except StateError:
            for array, old in zip((C.x, C.v, C.impulse, self.floor_arrays.sinkage), before, strict=True):
                array[:] = old
            raise
        self.system.time += count * self.dt

    def _raise_if_bad(self, bad: int, count: int) -> None:
        if bad >= 0:
            raise StateError(
                f"The state of particle {self.system.particle_name(bad)!r} is not finite after {count} steps of {self.dt:g} s. Are two "
                "linked particles at the same place, or is a force too large for its mass?"
            )

    def _run(self, count: int) -> int:
        if self.integrator == "implicit":
            return self._solver.run(self.dt, count)
        leapfrog, n = self.integrator == "leapfrog", len(self.system)
        threads = thread_count(n, self.floor_arrays, self.threads)
        if threads == 1:
            return run_explicit(self._handle.key, self.dt, count, leapfrog)
        return run_threads(self._handle.key, (n, len(self.system.links)), self.dt, count, leapfrog, threads)
