"""Footwork: where feet stand and where they are going, against where the reference has them.

A foot that lands elsewhere than in the reference has an *offset* along the ground, which it keeps until its next landing. Plan and contacts
share this book: what has landed, early or late, stands, whatever the reference says.
"""

from __future__ import annotations

import numpy as np

from brachiate.doors import Array
from brachiate.filter.body import Body
from brachiate.filter.controller import FREE, MAY, SHOULD
from brachiate.filter.schedule import Schedule
from brachiate.filter.settings import FilterSettings

LEVEL = np.array((1.0, 1.0, 0.0))
EDGE = 2  # corners of an edge
LIFT = 0.3  # [m] feet follow the centre of mass in a long flight by this much at most


class Footwork:
    """The state of all legs. Sizes: l legs."""

    def __init__(self, schedule: Schedule, body: Body, settings: FilterSettings) -> None:
        self.schedule, self.body, self.settings = schedule, body, settings
        legs, self.gradient = schedule.legs, schedule.reference.ground.gradient
        self.stands = schedule.on[0].copy()  # (l,) whether a leg stands
        self.stance = np.where(self.stands, 0, -1)  # (l,) which stance of the schedule it stands or stood in last
        self.settled = self.stands.copy()  # (l,) whether it has come down as it should
        self.offset = np.zeros((legs, 3))  # [m] of where it stands or stood last
        self.path = np.zeros((legs, 3))  # [m] of its path through the air at present
        self.aim = np.zeros((legs, 3))  # [m] of where it is to land
        self.shift = np.zeros(3)  # [m] of the whole reference, as it follows the feet
        self.aims: dict[tuple[int, int], Array] = {}  # (leg, stance) → (2,) [m] offsets as planned
        for n, bears in enumerate(schedule.bears[0]):
            body.control.stands[n] = int(bears).bit_count()
        self.bearing = [body.places(n)[_bits(bears, body.corners[n])] for n, bears in enumerate(schedule.bears[0])]

    @property
    def key(self) -> tuple[int, ...]:
        """What stands: when it changes, so does the plan."""
        return (*self.stance, *self.stands)

    def on_ground(self, along: Array) -> Array:
        """An offset along the ground, and up or down with it: (3,)."""
        return np.array((along[0], along[1], along[:2] @ self.gradient))

    def lead(self, k: int) -> None:
        """Say of every sole what it is to do in the next step: stand, come down, or go along its path."""
        K, S, s, dt = self.body.control, self.schedule, self.settings, self.body.dt
        # What stood goes on standing until what should stand instead does
        stands = [bool(K.stands[n]) and S.bears[k, n] > 0 for n in range(len(S.soles))]
        relieved = [any(stands[n] for n in range(len(S.soles)) if S.leg[n] == leg) for leg in range(S.legs)]
        fall = S.on[k].any() and not any(relieved)
        for n, sole in enumerate(S.soles):
            leg, corners = sole.leg, self.body.corners[n]
            bears, may = int(S.bears[k, n]), int(S.bears[k, n] | S.soon[k, n])
            every = (1 << corners) - 1
            if fall or (S.on[k, leg] and not relieved[leg]):
                may = every
            if not S.on[k, leg] and S.long_flight[k] and S.until[k, leg] <= s.early:
                may |= int(S.bears[min(k + int(S.until[k, leg] / dt) + 1, len(S) - 1), n]) or every
            if bears and not self.settled[leg]:
                may = every
            K.may[8 * n : 8 * n + corners] = np.where(_bits(bears, corners), SHOULD, np.where(_bits(may, corners), MAY, FREE))
            K.lead[n] = K.turn[n] = 0.0
            K.offset[n] = K.drift[n] = K.swerve[n] = 0.0
            if not sole.leads:
                continue
            if self.stands[leg]:
                K.offset[n] = self.on_ground(self.offset[leg] + S.moved[k, leg])
                if K.stands[n] <= EDGE:
                    K.turn[n] = s.flat_weight if K.stands[n] < bears.bit_count() else s.roll_weight
            else:
                self._swing(k, n, leg)

    def _swing(self, k: int, n: int, leg: int) -> None:
        K, S, s, dt = self.body.control, self.schedule, self.settings, self.body.dt
        step = (self.aim[leg] - self.path[leg]) * min(1.0, dt / s.steer)
        self.path[leg] += step
        K.offset[n] = self.on_ground(self.path[leg] + S.moved[k, leg])
        K.drift[n] = self.on_ground(np.clip(step / dt, -s.swerve, s.swerve) + S.moved_rate[k, leg])
        K.lead[n], K.turn[n] = s.foot_weight, s.foot_turn_weight
        if S.on[k, leg]:
            K.drift[n, 2] -= s.late
        elif S.long_flight[k] and not self.stands.any():
            above = K.com[2] - S.centre[k, 2]
            more = np.clip(np.sign(above) * max(abs(above) - s.rise, 0.0), -LIFT, LIFT)
            K.offset[n, 2] += more
            K.drift[n, 2] += (K.com[5] - S.speed[k, 2]) if more else 0.0

    def note(self, k: int) -> None:
        """Take down what stands, as was decided."""
        K, S, body = self.body.control, self.schedule, self.body
        self.bearing = body.bearing()
        for leg in range(S.legs):
            mine = [n for n in range(len(S.soles)) if S.leg[n] == leg]
            down = [n for n in mine if K.stands[n]]
            if down:
                if not self.stands[leg]:
                    self.stance[leg] = max(self.stance[leg], S.coming[k, leg])
                lately = self.stance[leg] == S.coming[k, leg]  # else it should have left: where it lands next is another place
                if not self.stands[leg] or (lately and all(K.stands[n] > EDGE for n in down)):
                    ahead = S.until[k, leg]
                    then = min(k + int(ahead / body.dt), len(S) - 1) if ahead < S.reference.times[-1] else k
                    here = body.places(down[0]).mean(axis=0) - S.places[down[0]][then].mean(axis=0) - S.moved[then, leg]
                    self.offset[leg] = here * LEVEL
                self.path[leg] = self.aim[leg] = self.offset[leg]
                wanted = sum(int(S.bears[k, n]).bit_count() for n in down)
                bearing = sum(int(K.stands[n]) for n in down)
                self.settled[leg] |= bool(S.on[k, leg]) and bearing >= min(EDGE, max(wanted, 1))
            elif not S.on[k, leg]:
                self.settled[leg] = False
            self.stands[leg] = bool(down)
        target = (S.share[min(k + 1, len(S) - 1)][:, None] * self.offset).sum(axis=0)
        self.shift += (target - self.shift) * min(1.0, body.dt / self.settings.settle)

    def aim_at(self, k: int) -> None:
        """Let feet in the air go where the plan has them land."""
        for leg in range(self.schedule.legs):
            key = leg, int(self.schedule.coming[k, leg])
            if key[1] > self.stance[leg] and key in self.aims:
                self.aim[leg, :2] = self.aims[key]


def _bits(number: int, count: int) -> Array:
    return (number >> np.arange(count)) & 1 == 1
