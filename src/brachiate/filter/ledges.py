"""Ledges: what a reference stands on above its ground, as rungs and stools are.

Nobody knows their shape, so nobody meets one but from above, when it is to stand there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.clip.clip import Guess
from brachiate.doors import Array
from brachiate.filter.reference import Reference, Stance
from brachiate.model.builder import ModelBuilder
from brachiate.model.shapes import Box
from brachiate.world.world import World

LEDGES = "ledges"  # the figure
KERB = 0.08  # [m] what is lower is the ground
MARGIN = 0.05  # [m] by which a ledge is wider than what stands on it
THICK = 0.02  # [m]
AROUND = 0.1  # [s] before and after it is to stand on it a link may meet a ledge
GRAZES = 0.002  # [m] below its surface what is lower comes from below
COLOR = (0.72, 0.53, 0.34, 1.0)


class Ledge(NamedTuple):
    """A level board, where some links stand at times."""

    low: Array  # (2,) [m] corner of it, seen from above
    high: Array  # (2,) [m] and the other one
    height: float  # [m]
    stances: tuple[Stance, ...]

    def joined(self, other: Ledge) -> Ledge:
        """Both as one."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Ledge(low, high, max(self.height, other.height), (*self.stances, *other.stances))

    def meets(self, other: Ledge) -> bool:
        """Whether they are one board."""
        return bool(abs(self.height - other.height) < THICK and (self.low < other.high).all() and (other.low < self.high).all())


def ledges_of(reference: Reference) -> list[Ledge]:
    """What stances stand on that are above the ground; those that meet at one height stand on the same."""
    found: list[Ledge] = []
    for stance in reference.stances:
        places = stance.places
        if stance.how != "stands" or float(np.mean(reference.ground.above(places))) < KERB:
            continue
        ledge = Ledge(places[:, :2].min(axis=0) - MARGIN, places[:, :2].max(axis=0) + MARGIN, float(places[:, 2].mean()), (stance,))
        while (n := next((n for n, each in enumerate(found) if each.meets(ledge)), None)) is not None:
            ledge = ledge.joined(found.pop(n))
        found.append(ledge)
    return found


def put_ledges(world: World, figure: str, reference: Reference) -> None:
    """Put what a reference stands on above its ground into a world with its figure. Nothing meets it yet."""
    ledges = ledges_of(reference)
    if not ledges:
        return
    b = ModelBuilder(LEDGES)
    for n, ledge in enumerate(ledges):
        middle = np.array((*(0.5 * (ledge.low + ledge.high)), ledge.height - 0.5 * THICK))
        b.link(f"ledge_{n + 1}", shapes=Box(size=np.array((*(ledge.high - ledge.low), THICK)), position=middle, color=COLOR))
    world.add(b.build(), name=LEDGES)
    for link in reference.figure.links:
        world.pass_through(f"{figure}/{link}", [f"{LEDGES}/ledge_{n + 1}" for n in range(len(ledges))])


def told(reference: Reference) -> list[Guess]:
    """What was assumed about ledges."""
    heights = ", ".join(f"{height:.2f} m" for height in sorted(ledge.height for ledge in ledges_of(reference)))
    why = "the motion stands there, above its ground; nobody meets one but from above, when it is to stand there"
    return [Guess("ledges", heights, why, "contacts")] if heights else []


class Ledges:
    """Lets links meet ledges while they are to stand on them."""

    def __init__(self, world: World, figure: str, reference: Reference) -> None:
        self.world, self.figure = world, figure
        margin = int(AROUND / reference.dt)
        #: Links and ledges, and when they may meet, by frames.
        self._spans = [
            (stance, f"{LEDGES}/ledge_{n + 1}", ledge.height, range(stance.start - margin, stance.end + margin))
            for n, ledge in enumerate(ledges_of(reference) if LEDGES in world.figures else ())
            for stance in ledge.stances
        ]
        self._met: set[tuple[str, str]] = set()

    def at(self, k: int) -> None:
        """Let meet what may in frame k and is above, and let go of the rest."""
        may = {(stance.link, ledge): (stance, height) for stance, ledge, height, span in self._spans if k in span}
        for link, ledge in self._met - may.keys():
            self.world.pass_through(f"{self.figure}/{link}", ledge)
        self._met &= may.keys()
        for pair in may.keys() - self._met:
            stance, height = may[pair]
            pose = self.world.pose(f"{self.figure}/{stance.link}")
            if (pose.position + stance.corners @ pose.rotation.T)[:, 2].min() > height - GRAZES:
                self.world.meet(f"{self.figure}/{stance.link}", pair[1])
                self._met.add(pair)
