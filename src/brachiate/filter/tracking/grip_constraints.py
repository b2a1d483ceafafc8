"""Grips: hands that hold a bar or another support for an interval of the clip, as constraints made and cut in time.

A grip is a connection to the world, made and cut while the simulation runs [SVC] 4: the simulator treats it like any closed chain. It is
made at the present position of the hand once that is near the hold, so nothing snaps; until then the hand is guided there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.filter.schedule.contact_schedule import GripInterval
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.filter.whole_body.arrays import GRIP_CLOSED, GRIP_OPEN, GRIP_REACHING
from brachiate.model.joints import Compound, Joint, Prismatic, Spherical
from brachiate.validation import Array
from brachiate.world.connections import Connection

GRASP_DISTANCE = 0.05  # [m] from its hold at which a hand closes
REACH_TIME = 0.4  # [s] before a grip in which the hand is guided to its hold


class GripConstraints:
    """Connections of all grips of a clip, made and cut at their frames."""

    def __init__(self, controller: WholeBodyController, grips: Sequence[GripInterval]) -> None:
        self.controller, self.grips = controller, tuple(grips)
        self._connections: dict[int, Connection] = {}
        self._forces: list[tuple[int, str, Array]] = []
        self._reach_frames = int(REACH_TIME / controller.dt)

    def update(self, k: int) -> None:
        """Cut the grips that have ended at frame k, make those that are due, and let hands reach for those to come."""
        mode = self.controller.control.grip_mode
        for n, grip in enumerate(self.grips):
            if k >= grip.end:
                mode[n] = GRIP_OPEN
                if n in self._connections:
                    self.controller.world.cut(self._connections.pop(n))
        for n, grip in enumerate(self.grips):
            if grip.start <= k < grip.end and n not in self._connections and self.distance(grip) < GRASP_DISTANCE:
                self._connections[n] = self.controller.world.connect(
                    self._link_name(grip), "world", self._joint(n), at=grip.point, name=self._free_name(grip), redundant=True
                )
            if grip.start - self._reach_frames <= k < grip.end:
                mode[n] = GRIP_CLOSED if n in self._connections else GRIP_REACHING

    def _joint(self, n: int) -> Joint:
        """Ball joint; a second hand of the same rigid body also slides along the line to the first: fixing both would be redundant."""
        body = self.controller.control.grip_body
        for other in self._connections:
            if body[other] == body[n]:
                along = self._point(self.grips[n]) - self._point(self.grips[other])
                return Compound({"slide": Prismatic(along / np.linalg.norm(along)), "turn": Spherical()})
        return Spherical()

    def record_forces(self, k: int) -> None:
        """Record the grip forces of the step that led to frame k; the world has not changed since."""
        for n, connection in self._connections.items():
            wrench = connection.read_wrench()
            self._forces.append((k, self.grips[n].link, np.concatenate((wrench.force, wrench.at))))

    def forces(self, frames: int) -> dict[str, Array]:
        """Grip forces by link: force [N] and point of application [m], zero without a grip: (f, 6) each."""
        found = {link: np.zeros((frames, 6)) for link in dict.fromkeys(line[1] for line in self._forces)}
        for k, link, values in self._forces:
            found[link][k, :3] += values[:3]
            found[link][k, 3:] = values[3:]
        return found

    def distance(self, grip: GripInterval) -> float:
        """Distance of the hand from its hold [m]."""
        return float(np.linalg.norm(self._point(grip) - grip.position))

    def _point(self, grip: GripInterval) -> Array:
        pose = self.controller.world.pose(self._link_name(grip))
        return pose.position + pose.rotation @ grip.point

    def missed_grips(self, k: int) -> list[str]:
        """Descriptions of the grips that are due in frame k and not made."""
        missed = [grip for n, grip in enumerate(self.grips) if grip.start <= k < grip.end and n not in self._connections]
        return [
            f"{grip.link} should have gripped at {grip.start * self.controller.dt:.2f} s, but is {100.0 * self.distance(grip):.0f} cm "
            "from its hold"
            for grip in missed
        ]

    def _link_name(self, grip: GripInterval) -> str:
        return f"{self.controller.figure.name}/{grip.link}"

    def _free_name(self, grip: GripInterval) -> str:
        """Name of the connection: that of the link, with a number if it grips at more than one point."""
        taken, name, n = self.controller.world.connections, f"{self._link_name(grip)} grip", 1
        while (free := name if n == 1 else f"{name} {n}") in taken:
            n += 1
        return free
