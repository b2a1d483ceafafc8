"""Gait: average walking kinematics of healthy adults on level ground, for a given step length.

Joint angles over the gait cycle are rounded means of natural walking after textbook curves (D. A. Winter, The Biomechanics and Motor
Control of Human Gait, 2nd ed., University of Waterloo Press 1991; J. Perry, Gait Analysis: Normal and Pathological Function, Slack 1992).
They are not copied from a table: peaks and times are set by hand, and adjusted by some degrees where one person could not have all of
them with a foot flat on the floor and hips that advance evenly. They are not measured data. Phase 0 is heel strike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from brachiate import rotations, validation
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, fourier_curve, smoothstep
from brachiate.procedural.person import Person, rotate_pitch
from brachiate.validation import Array

#: Thigh angle from vertical (forward), knee flexion and ankle dorsiflexion [deg], at every twentieth of the gait cycle.
THIGH_ANGLES = (21, 21, 19, 15, 10.5, 5.5, 0.5, -4.5, -9, -13, -16, -15, -9, 0, 10, 18.5, 24, 26, 25.5, 23)
KNEE_ANGLES = (5, 11, 16, 18, 16, 13, 9.5, 7, 6, 8, 13, 25, 40, 54, 62, 63, 55, 40, 21, 7)
ANKLE_ANGLES = (0, -4, -2, 1.5, 4, 6, 8, 9.5, 10, 10, 6, -5, -16, -18, -11, -4, 0, 2, 2, 1)
#: Shares of the gait cycle: each of the two double-support phases, and the stance phase of a foot.
DOUBLE_SUPPORT, STANCE = 0.10, 0.60
FOOT_FLAT, HEEL_RISE = (0.02, 0.08), (0.36, 0.44)  # phases in which the foot comes down flat, and in which the heel rises
#: Amplitudes of pelvic yaw and roll, and of the counter-rotation of the shoulders [deg].
PELVIS_YAW, PELVIS_ROLL, SHOULDER_YAW = 5.0, 3.0, 4.0
TRUNK_LEAN = 3.0  # [deg] forward
LATERAL_SWAY, STEP_WIDTH = 0.012, 0.028  # amplitude of the root, and lateral distance of the feet from the middle, as shares of the stature
ARM_SWING, ELBOW_FLEXION = (-8.0, 16.0), (32.0, 13.0)  # mean and amplitude [deg]
MIN_STEP, MAX_STEP = 0.2, 0.5  # step length, as a share of the stature
SCALE_RANGE = (0.1, 2.0)  # of the joint angles
KNEE_CONSTANT_SHARE = 0.5  # share of the knee flexion that does not depend on the step length
ROOT_HARMONICS = 2  # of the root per step: higher ones come from the rounding of the tables
ROOT_ADVANCE = 0.006  # share of the stature by which the root is ahead of the tables, so that the leading leg can reach
SPEED_VARIATION_SHARE = 0.4  # share of the speed variation of the tables that is kept
TOE_CLEARANCE = 0.006  # share of the stature
SAMPLES = 200  # per step at which the root is computed


@dataclass(frozen=True)
class Gait:
    """Walking gait; all curves are functions of the gait phase of a leg, which grows by one per cycle.

    Args:
        person: The person who walks.
        step_length: Distance from a heel strike to that of the other foot [m].
    """

    person: Person
    step_length: float

    def __post_init__(self) -> None:
        stature = self.person.height
        step_length = validation.number(self.step_length, "step_length", above=0.0, maximum=10.0)
        if not MIN_STEP * stature <= step_length <= MAX_STEP * stature:
            raise ArgumentError(
                f"step_length must be {MIN_STEP * stature:.2f} to {MAX_STEP * stature:.2f} m for a person of {stature:g} m, "
                f"got {step_length:g}. Choose another step_length, or another height."
            )
        object.__setattr__(self, "step_length", step_length)

    @cached_property
    def scale(self) -> float:
        """Scale of the joint angles, relative to natural walking, that gives the step length."""
        from scipy.optimize import root_scalar  # noqa: PLC0415  (slow to import)

        return float(root_scalar(lambda scale: self._scaled_step_length(scale) - self.step_length, bracket=SCALE_RANGE, xtol=1e-10).root)

    def _scaled_step_length(self, scale: float) -> float:
        """Step length with scaled angles: mean distance between the feet in double support."""
        p = np.linspace(0.0, DOUBLE_SUPPORT, 25)
        return float(np.mean(self._root_over_foot(p + 0.5, scale)[:, 0] - self._root_over_foot(p, scale)[:, 0]))

    def angles(self, phase: Array, scale: float | None = None) -> tuple[Array, Array, Array]:
        """Thigh, knee and ankle angles of the scaled tables [rad]."""
        scale = self.scale if scale is None else scale
        thigh, knee, ankle = (_periodic_spline(table)(phase % 1.0) for table in (THIGH_ANGLES, KNEE_ANGLES, ANKLE_ANGLES))
        middle = np.radians(np.mean(THIGH_ANGLES))
        return middle + scale * (thigh - middle), (KNEE_CONSTANT_SHARE + (1.0 - KNEE_CONSTANT_SHARE) * scale) * knee, scale * ankle

    def pitch(self, phase: Array, scale: float | None = None) -> Array:
        """Angle of the sole, toes up [rad]: zero while the foot is flat."""
        p = phase % 1.0
        thigh, knee, ankle = self.angles(p, scale)
        sole = thigh - knee + ankle
        down, rise = (
            1.0 - smoothstep((p - FOOT_FLAT[0]) / (FOOT_FLAT[1] - FOOT_FLAT[0])),
            smoothstep((p - HEEL_RISE[0]) / (HEEL_RISE[1] - HEEL_RISE[0])),
        )
        standing = np.where(p < 0.2, np.maximum(sole, 0.0) * down, np.minimum(sole, 0.0) * rise)
        return np.where(p < STANCE, standing, sole)

    def pelvis(self, phase: Array, scale: float | None = None) -> Array:
        """Orientation of the pelvis over the phase of the left leg: its side advances with it, and drops while the other leg stands."""
        scale = self.scale if scale is None else scale
        cycle = 2.0 * np.pi * phase
        turn, tilt = (scale * np.radians(angle) for angle in (PELVIS_YAW, PELVIS_ROLL))
        return rotations.product(rotations.about_axis(2, -turn * np.cos(cycle)), rotations.about_axis(0, tilt * np.sin(cycle + 0.5)))

    def leg(self, phase: Array, scale: float | None = None) -> Array:
        """Vector from the root to the left ankle by the tables [m]: (f, 3)."""
        forward, knee, _ = self.angles(phase, scale)
        thigh, shank = self.person.thigh, self.person.shank
        x = thigh * np.sin(forward) + shank * np.sin(forward - knee)
        z = -thigh * np.cos(forward) - shank * np.cos(forward - knee)
        return rotations.rotate(self.pelvis(phase, scale), self.person.offset("LeftUpLeg")) + np.stack((x, 0.0 * x, z), axis=-1)

    def _root_over_foot(self, phase: Array, scale: float) -> Array:
        """Position of the root relative to the footprint of the left foot, in stance [m]: (f, 3)."""
        return self.person.rolling_ankle(self.pitch(phase, scale)) - self.leg(phase, scale)

    @cached_property
    def _root(self) -> tuple[Curve, Curve]:
        """Advance of the root relative to constant speed, and its height, over steps: from the stance leg, or from both."""
        p = 0.5 * np.arange(SAMPLES) / SAMPLES
        new, old = self._root_over_foot(p, self.scale), self._root_over_foot(p + 0.5, self.scale) - (self.step_length, 0.0, 0.0)
        share = smoothstep(p / DOUBLE_SUPPORT)[:, None]
        path = np.where(p[:, None] < DOUBLE_SUPPORT, share * new + (1.0 - share) * old, new)
        ahead = path[:, 0] - 2.0 * self.step_length * p
        ahead = fourier_curve(
            ROOT_ADVANCE * self.person.height + ahead.mean() + SPEED_VARIATION_SHARE * (ahead - ahead.mean()), ROOT_HARMONICS
        )
        reach = np.minimum(self._reach(p, ahead), np.where(p < DOUBLE_SUPPORT, self._reach(p + 0.5, ahead), np.inf))
        high = fourier_curve(np.minimum(path[:, 2], reach), 1)
        drop = np.max(high(2.0 * p) - reach, initial=0.0)
        return ahead, lambda u: high(u) - drop

    def _reach(self, p: Array, ahead: Curve) -> Array:
        """Largest height of the root with the left foot on its footprint [m]."""
        person = self.person
        root = np.stack((ahead(2.0 * p) + 2.0 * self.step_length * p, self.sway(p), 0.0 * p), axis=-1)
        hip = root + rotations.rotate(self.pelvis(p), person.offset("LeftUpLeg"))
        away = person.rolling_ankle(self.pitch(p)) + np.array((0.0, self.width, 0.0)) - hip
        return away[:, 2] + np.sqrt(np.maximum(person.reach**2 - away[:, 0] ** 2 - away[:, 1] ** 2, 0.0))

    @property
    def width(self) -> float:
        """Lateral distance of the feet from the middle [m]."""
        return STEP_WIDTH * self.person.height

    def sway(self, phase: Array) -> Array:
        """Lateral displacement of the root to the left, over the phase of the left leg, towards the stance foot [m]."""
        return LATERAL_SWAY * self.person.height * np.cos(2.0 * np.pi * (phase - 0.5 * STANCE))

    def root(self, phase: Array) -> Array:
        """Position of the root relative to a point that moves at constant speed, over the phase of the left leg [m]: (f, 3)."""
        ahead, high = self._root
        return np.stack((ahead(2.0 * phase), self.sway(phase), high(2.0 * phase)), axis=-1)

    def swing_ankle(self, phase: Array) -> Array:
        """Position of the left ankle in swing relative to a point that moves at constant speed, over the phase of its leg [m]: (f, 3)."""
        lift = self._lift * _swing_arc(phase)
        return self.root(phase) + self.leg(phase) + np.stack((0.0 * lift, 0.0 * lift, lift), axis=-1)

    @cached_property
    def _lift(self) -> float:
        """Lift of the swing foot beyond the tables that gives toe clearance [m]."""
        p = np.linspace(STANCE, 1.0, SAMPLES)
        p = p[_swing_arc(p) > 0.5]
        toes = self.root(p) + self.leg(p) + rotate_pitch(self.pitch(p), self.person.offset("LeftToeBase") + self.person.toe)
        return float(np.max((TOE_CLEARANCE * self.person.height - toes[:, 2]) / _swing_arc(p), initial=0.0))

    def arm(self, phase: Array) -> tuple[Array, Array]:
        """Shoulder and elbow flexion [rad], over the phase of the leg on the same side, in antiphase to it."""
        swing = self.scale * np.cos(2.0 * np.pi * phase)
        return np.radians(ARM_SWING[0] - ARM_SWING[1] * swing), np.radians(ELBOW_FLEXION[0] - ELBOW_FLEXION[1] * swing)


def _swing_arc(phase: Array) -> Array:
    """Squared half sine over the swing phase: zero in stance, one at mid-swing."""
    return np.sin(np.pi * np.clip((phase % 1.0 - STANCE) / (1.0 - STANCE), 0.0, 1.0)) ** 2


@cache
def _periodic_spline(table: tuple[float, ...]) -> Curve:
    """Periodic cubic spline through the angles of a table [rad], over phases from 0 to 1."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (slow to import)

    return CubicSpline(np.linspace(0.0, 1.0, len(table) + 1), np.radians((*table, table[0])), bc_type="periodic")
