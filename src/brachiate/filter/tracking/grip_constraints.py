"""Grips: points of a body that hold something for a while, as a hand does a bar.

A grip is a connection to the ground, made while time runs and cut again [SVC] 4: the simulator carries it as any closed chain. It is made
where the hand is, if that is near where it should be, so nothing snaps; until then the hand is led there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.filter.schedule.contact_schedule import Grip
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.filter.whole_body.arrays import HOLDS, LOOSE, REACHES
from brachiate.model.joints import Compound, Joint, Prismatic, Spherical
from brachiate.validation import Array
from brachiate.world.connections import Connection

REACH = 0.05  # [m] from its place a hand takes hold
EARLY = 0.4  # [s] before it should hold a hand is led to its place


class Grips:
    """All grips of a clip, by the frames in which they should hold."""

    def __init__(self, body: Body, grips: Sequence[Grip]) -> None:
        self.body, self.grips = body, tuple(grips)
        self._made: dict[int, Connection] = {}
        self._forces: list[tuple[int, str, Array]] = []
        self._early = int(EARLY / body.dt)

    def at(self, k: int) -> None:
        """Let go of what should not be held in frame k any more, take hold of what should, and reach for what will."""
        doing = self.body.control.grip
        for n, grip in enumerate(self.grips):
            if k >= grip.end:
                doing[n] = LOOSE
                if n in self._made:
                    self.body.world.cut(self._made.pop(n))
        for n, grip in enumerate(self.grips):
            if grip.start <= k < grip.end and n not in self._made and self.away(grip) < REACH:
                self._made[n] = self.body.world.connect(
                    self._name(grip), "world", self._joint(n), at=grip.point, name=self._free_name(grip), redundant=True
                )
            if grip.start - self._early <= k < grip.end:
                doing[n] = HOLDS if n in self._made else REACHES

    def _joint(self, n: int) -> Joint:
        """A ball; a second hand of the same piece slides along the line to the first, as both holding that way would say the same twice."""
        piece = self.body.control.grip_body
        for other in self._made:
            if piece[other] == piece[n]:
                along = self._point(self.grips[n]) - self._point(self.grips[other])
                return Compound({"slide": Prismatic(along / np.linalg.norm(along)), "turn": Spherical()})
        return Spherical()

    def note(self, k: int) -> None:
        """Take down the forces of the step that led to frame k; nothing has been looked at since."""
        for n, connection in self._made.items():
            wrench = connection.read_wrench()
            self._forces.append((k, self.grips[n].link, np.concatenate((wrench.force, wrench.at))))

    def forces(self, frames: int) -> dict[str, Array]:
        """Forces on links that hold, by name: force [N], and where it acts [m]; zero while they do not: (f, 6) each."""
        found = {link: np.zeros((frames, 6)) for link in dict.fromkeys(line[1] for line in self._forces)}
        for k, link, values in self._forces:
            found[link][k, :3] += values[:3]
            found[link][k, 3:] = values[3:]
        return found

    def away(self, grip: Grip) -> float:
        """How far its point is from its place [m]."""
        return float(np.linalg.norm(self._point(grip) - grip.place))

    def _point(self, grip: Grip) -> Array:
        pose = self.body.world.pose(self._name(grip))
        return pose.position + pose.rotation @ grip.point

    def missed(self, k: int) -> list[str]:
        """What should hold in frame k and does not, in words."""
        late = [grip for n, grip in enumerate(self.grips) if grip.start <= k < grip.end and n not in self._made]
        return [
            f"{grip.link} should hold something since {grip.start * self.body.dt:.2f} s, but is {100.0 * self.away(grip):.0f} cm from it"
            for grip in late
        ]

    def _name(self, grip: Grip) -> str:
        return f"{self.body.figure.name}/{grip.link}"

    def _free_name(self, grip: Grip) -> str:
        """Of the connection: that of the link, and a number if it holds by more than one point."""
        taken, name, n = self.body.world.connections, f"{self._name(grip)} grip", 1
        while (free := name if n == 1 else f"{name} {n}") in taken:
            n += 1
        return free
