"""Partner of a simulation: another simulation that acts on the links of its world, such as a particle system (co-simulation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from brachiate.show.surface import Triangles
from brachiate.world.world import World


class PartnerRecording(Protocol):
    """Recording of a partner, with one row for each recorded state of the world."""

    def surface(self, row: int) -> Triangles:
        """Shaded surface of a state, for pictures."""
        ...

    def joined(self, later: Sequence[Any]) -> Any:
        """This recording and those of the following runs as one."""
        ...


@runtime_checkable
class Partner(Protocol):
    """What :meth:`Simulation.couple` expects."""

    world: World

    def count_parts(self, dt: float) -> int:
        """Number of parts in which a step of dt [s] has to be made."""
        ...

    def begin_step(self, dt: float, integrator: str) -> None:
        """Advance by dt [s], and apply to the links of the world what acts on them in this step."""

    def end_step(self) -> None:
        """Take the applied forces away, after the step of the world."""

    def save(self) -> Any:
        """Snapshot of the state."""
        ...

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""

    def begin_recording(self) -> None:
        """Begin a recording."""

    def record(self) -> None:
        """Record the present state."""

    def take_recording(self) -> PartnerRecording:
        """Return the recording since :meth:`begin_recording`."""
        ...
