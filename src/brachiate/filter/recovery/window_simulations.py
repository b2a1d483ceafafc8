"""Simulations of sampled windows in the world of a tracked run, in which contact with inferred surfaces changes with the schedule."""

from __future__ import annotations

from brachiate.filter.reference.reference import Reference
from brachiate.filter.sampling.search import Window
from brachiate.filter.schedule.inferred_surfaces import InferredSurfaces
from brachiate.rollout.simulate_many import BatchSimulation
from brachiate.validation import Array
from brachiate.world.world import World
from brachiate.world.world_state import WorldState


class WindowSimulations:
    """Simulation of each window, by its first frame.

    Which contacts with inferred surfaces are allowed is decided once for a frame, by the first state from which the window is sampled, and
    then holds for all states, so that a path can be made again.

    Args:
        world: World of the run, at a checkpoint.
        figure: Name of the figure.
        reference: Its reference.
        dt: Step length [s].
        threads: Number of threads; the result does not depend on it.
    """

    def __init__(self, world: World, figure: str, reference: Reference, dt: float, threads: int | None = None) -> None:
        self.world, self.dt, self.threads = world, dt, threads
        self._surfaces = InferredSurfaces(world, figure, reference)
        self._of_frame: dict[int, tuple[BatchSimulation, WorldState]] = {}
        self._made: list[tuple[BatchSimulation, WorldState]] = []

    def __call__(self, before: Window, steps: int) -> BatchSimulation:
        """Simulation of the window after another one, of so many steps."""
        return self.at(before.end, steps, before.states.q[0])[0]

    def at(self, frame: int, steps: int, q: Array | None = None) -> tuple[BatchSimulation, WorldState]:
        """Simulation of the window from a frame on, and the structure of the world in it; ``q``: a configuration in this frame."""
        if frame not in self._of_frame:
            if q is not None:
                self.world.q = q
            self._surfaces.update(frame + steps // 2)
            self._of_frame[frame] = self._simulation()
        return self._of_frame[frame]

    def _simulation(self) -> tuple[BatchSimulation, WorldState]:
        """Simulation of the world with its present contact settings."""
        materials = self.world.contact_settings.pair_materials
        for made in self._made:
            if made[1].pair_materials == materials:
                return made
        made = BatchSimulation(self.world, self.dt, threads=self.threads, project=False), self.world.save()
        self._made.append(made)
        return made
