"""Shoves: forces on a link for a while, by words or numbers."""

from __future__ import annotations

from dataclasses import dataclass

from brachiate import doors
from brachiate.errors import ArgumentError
from brachiate.simulate.simulation import Simulation
from brachiate.world.pushes import Push
from brachiate.world.world import World


@dataclass(frozen=True)
class Shove:
    """A force on a link of the figure, for a while.

    Args:
        link: Its name.
        force: (3,) [N], world axes.
        at: When it begins [s].
        lasting: For how long [s].
        point: Where it acts, in the link's axes [m].
    """

    link: str
    force: tuple[float, float, float]
    at: float
    lasting: float = 0.1
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", tuple(map(float, doors.vector(self.force, "force of a push"))))
        object.__setattr__(self, "point", tuple(map(float, doors.vector(self.point, "point of a push"))))
        doors.number(self.at, "time of a push", least=0.0)
        doors.number(self.lasting, "duration of a push", above=0.0)

    def put_on(self, simulation: Simulation, figure: str) -> None:
        """Let it happen."""
        world, acting = simulation.world, []
        self.check(world, figure)
        simulation.at(self.at, lambda: acting.append(self.begin(world, figure)))
        simulation.at(self.at + self.lasting, lambda: world.remove(acting.pop()))

    def check(self, world: World, figure: str) -> None:
        """Refuse a link that the figure does not have."""
        doors.named(dict.fromkeys(world.figure(figure).model.links), self.link, "link", f"figure {figure!r}")

    def begin(self, world: World, figure: str) -> Push:
        """Push, until what is returned is removed."""
        return world.push(f"{figure}/{self.link}", self.force, at=self.point)


def shove_of(text: str) -> Shove:
    """A shove by words: ``chest:80,0,0@1.0+0.1`` pushes the chest by 80 N along x from 1.0 s on for 0.1 s."""
    try:
        link, _, rest = text.partition(":")
        force, _, when = rest.partition("@")
        at, _, lasting = when.partition("+")
        x, y, z = (float(number) for number in force.split(","))
        return Shove(link.strip(), (x, y, z), float(at), float(lasting or 0.1))
    except ValueError:
        raise ArgumentError(f"{text!r} is no push. Write link:x,y,z@time+duration, such as chest:80,0,0@1.0+0.1 (N, s).") from None
