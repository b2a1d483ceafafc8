"""Gait: how healthy adults walk on level ground, on the average, for one length of step.

Angles over the cycle are rounded means of natural walking as textbooks draw them (D. A. Winter, The Biomechanics and Motor Control of
Human Gait, 2nd ed., University of Waterloo Press 1991; J. Perry, Gait Analysis: Normal and Pathological Function, Slack 1992), copied
from no one table: they are set by hand to have those curves' peaks and times, and moved by some degrees where one person could not do
all of them at once with a foot flat on the floor and hips that go on evenly. Do not take them for data. Phase 0 is when the heel
comes down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from brachiate import rotations, validation
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, repeated, smooth
from brachiate.procedural.person import Person, pitched
from brachiate.validation import Array

#: How far the thigh is in front of upright, the knee is bent and the ankle draws the foot up [deg], at every twentieth of the cycle.
THIGH = (21, 21, 19, 15, 10.5, 5.5, 0.5, -4.5, -9, -13, -16, -15, -9, 0, 10, 18.5, 24, 26, 25.5, 23)
KNEE = (5, 11, 16, 18, 16, 13, 9.5, 7, 6, 8, 13, 25, 40, 54, 62, 63, 55, 40, 21, 7)
ANKLE = (0, -4, -2, 1.5, 4, 6, 8, 9.5, 10, 10, 6, -5, -16, -18, -11, -4, 0, 2, 2, 1)
#: Of the cycle: both feet are on the floor twice for so long, and a foot until it leaves it.
BOTH, STANCE = 0.10, 0.60
FLAT, RISE = (0.02, 0.08), (0.36, 0.44)  # the foot comes down flat, and rises from its heel, meanwhile
#: Hips turn and tilt so far to either side; shoulders turn against them [deg].
TURN, TILT, SHOULDERS = 5.0, 3.0, 4.0
LEAN = 3.0  # of the trunk, forward [deg]
SWAY, WIDTH = 0.012, 0.028  # of the root to either side, and of feet from the middle, over stature
ARM, ELBOW = (-8.0, 16.0), (32.0, 13.0)  # middle and how far to either side [deg]
LEAST, MOST = 0.2, 0.5  # step over stature
SCALES = (0.1, 2.0)  # within which angles are scaled
KNEE_KEPT = 0.5  # of the knee's bending does not depend on the length of the step
WAVES = 2  # of the root in a step: what is faster are the roundings of the tables
FORWARD = 0.006  # over stature: the root is so much further ahead than the tables say, so that the leg in front need not be longer
EVEN = 0.4  # of how unevenly the tables would let the root go forward is left
CLEAR = 0.006  # over stature: how high toes pass above the floor
FINE = 200  # places over a step at which the root is found


@dataclass(frozen=True)
class Gait:
    """A way to walk; all curves are over the phase of the leg, which grows by one from heel to heel.

    Args:
        person: Who walks.
        step: From a heel to the other one's next print [m].
    """

    person: Person
    step: float

    def __post_init__(self) -> None:
        tall = self.person.height
        step = validation.number(self.step, "step")
        if not LEAST * tall <= step <= MOST * tall:
            raise ArgumentError(
                f"step must be {LEAST * tall:.2f} to {MOST * tall:.2f} m for someone of {tall:g} m, got {step:g}. "
                "Longer steps are jumps; choose another step, or another height."
            )
        object.__setattr__(self, "step", step)

    @cached_property
    def scale(self) -> float:
        """What angles are scaled by, against natural walking, to make steps as long as they should be."""
        from scipy.optimize import root_scalar  # noqa: PLC0415  (slow to import)

        return float(root_scalar(lambda scale: self._step(scale) - self.step, bracket=SCALES, xtol=1e-10).root)

    def _step(self, scale: float) -> float:
        """How long steps are if angles are scaled: what both legs say of the root while both feet stand."""
        p = np.linspace(0.0, BOTH, 25)
        return float(np.mean(self._above(p + 0.5, scale)[:, 0] - self._above(p, scale)[:, 0]))

    def angles(self, phase: Array, scale: float | None = None) -> tuple[Array, Array, Array]:
        """Thigh, knee and ankle [rad] by the tables, scaled."""
        scale = self.scale if scale is None else scale
        thigh, knee, ankle = (_around(table)(phase % 1.0) for table in (THIGH, KNEE, ANKLE))
        middle = np.radians(np.mean(THIGH))
        return middle + scale * (thigh - middle), (KNEE_KEPT + (1.0 - KNEE_KEPT) * scale) * knee, scale * ankle

    def pitch(self, phase: Array, scale: float | None = None) -> Array:
        """How far toes are higher than the heel [rad]: nothing while the foot is flat."""
        p = phase % 1.0
        thigh, knee, ankle = self.angles(p, scale)
        whole = thigh - knee + ankle
        down, rise = 1.0 - smooth((p - FLAT[0]) / (FLAT[1] - FLAT[0])), smooth((p - RISE[0]) / (RISE[1] - RISE[0]))
        standing = np.where(p < 0.2, np.maximum(whole, 0.0) * down, np.minimum(whole, 0.0) * rise)
        return np.where(p < STANCE, standing, whole)

    def pelvis(self, phase: Array, scale: float | None = None) -> Array:
        """How hips are turned, over the phase of the left leg: its side goes forward with it, and the other side sinks when it stands."""
        scale = self.scale if scale is None else scale
        cycle = 2.0 * np.pi * phase
        turn, tilt = (scale * np.radians(angle) for angle in (TURN, TILT))
        return rotations.product(rotations.about(2, -turn * np.cos(cycle)), rotations.about(0, tilt * np.sin(cycle + 0.5)))

    def leg(self, phase: Array, scale: float | None = None) -> Array:
        """From the root to the left ankle, as the tables say [m]: (f, 3)."""
        forward, knee, _ = self.angles(phase, scale)
        thigh, shank = self.person.thigh, self.person.shank
        x = thigh * np.sin(forward) + shank * np.sin(forward - knee)
        z = -thigh * np.cos(forward) - shank * np.cos(forward - knee)
        return rotations.turned(self.pelvis(phase, scale), self.person.offset("LeftUpLeg")) + np.stack((x, 0.0 * x, z), axis=-1)

    def _above(self, phase: Array, scale: float) -> Array:
        """The root, from the print of the left foot that stands [m]."""
        return self.person.rolled(self.pitch(phase, scale)) - self.leg(phase, scale)

    @cached_property
    def _root(self) -> tuple[Curve, Curve]:
        """How far the root is ahead of steady walking, and how high, over steps: from the leg that stands, or from both."""
        p = 0.5 * np.arange(FINE) / FINE
        new, old = self._above(p, self.scale), self._above(p + 0.5, self.scale) - (self.step, 0.0, 0.0)
        share = smooth(p / BOTH)[:, None]
        path = np.where(p[:, None] < BOTH, share * new + (1.0 - share) * old, new)
        ahead = path[:, 0] - 2.0 * self.step * p
        ahead = repeated(FORWARD * self.person.height + ahead.mean() + EVEN * (ahead - ahead.mean()), WAVES)
        reach = np.minimum(self._reach(p, ahead), np.where(p < BOTH, self._reach(p + 0.5, ahead), np.inf))
        high = repeated(np.minimum(path[:, 2], reach), 1)
        drop = np.max(high(2.0 * p) - reach, initial=0.0)
        return ahead, lambda u: high(u) - drop

    def _reach(self, p: Array, ahead: Curve) -> Array:
        """How high the root can be with the left foot on its print [m]."""
        person = self.person
        root = np.stack((ahead(2.0 * p) + 2.0 * self.step * p, self.sway(p), 0.0 * p), axis=-1)
        hip = root + rotations.turned(self.pelvis(p), person.offset("LeftUpLeg"))
        away = person.rolled(self.pitch(p)) + np.array((0.0, self.width, 0.0)) - hip
        return away[:, 2] + np.sqrt(np.maximum(person.reach**2 - away[:, 0] ** 2 - away[:, 1] ** 2, 0.0))

    @property
    def width(self) -> float:
        """How far from the middle feet go [m]."""
        return WIDTH * self.person.height

    def sway(self, phase: Array) -> Array:
        """How far the root goes to the left, over the phase of the left leg [m]: above the foot that stands."""
        return SWAY * self.person.height * np.cos(2.0 * np.pi * (phase - 0.5 * STANCE))

    def root(self, phase: Array) -> Array:
        """Where the root is, from a point that walks steadily, over the phase of the left leg [m]: (f, 3)."""
        ahead, high = self._root
        return np.stack((ahead(2.0 * phase), self.sway(phase), high(2.0 * phase)), axis=-1)

    def free(self, phase: Array) -> Array:
        """The left ankle in the air, from a point that walks steadily, over the phase of its leg [m]: (f, 3)."""
        lift = self._lift * _hop(phase)
        return self.root(phase) + self.leg(phase) + np.stack((0.0 * lift, 0.0 * lift, lift), axis=-1)

    @cached_property
    def _lift(self) -> float:
        """How much higher than by the tables a foot must go for its toes to pass above the floor [m]."""
        p = np.linspace(STANCE, 1.0, FINE)
        p = p[_hop(p) > 0.5]
        toes = self.root(p) + self.leg(p) + pitched(self.pitch(p), self.person.offset("LeftToeBase") + self.person.toe)
        return float(np.max((CLEAR * self.person.height - toes[:, 2]) / _hop(p), initial=0.0))

    def arm(self, phase: Array) -> tuple[Array, Array]:
        """How far the arm is swung forward and its elbow bent [rad], over the phase of the leg of its side: against it."""
        swing = self.scale * np.cos(2.0 * np.pi * phase)
        return np.radians(ARM[0] - ARM[1] * swing), np.radians(ELBOW[0] - ELBOW[1] * swing)


def _hop(phase: Array) -> Array:
    """Nothing while the foot stands, one in the middle of its way through the air."""
    return np.sin(np.pi * np.clip((phase % 1.0 - STANCE) / (1.0 - STANCE), 0.0, 1.0)) ** 2


@cache
def _around(table: tuple[float, ...]) -> Curve:
    """Through a table's angles and on from its end to its beginning [rad], over phases from 0 to 1."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (slow to import)

    return CubicSpline(np.linspace(0.0, 1.0, len(table) + 1), np.radians((*table, table[0])), bc_type="periodic")
