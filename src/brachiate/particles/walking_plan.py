"""Walking plan of the particle walker: footholds, a motion whose zero-moment point (ZMP) stays in the support polygon, and PD control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_banded

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.particles.floors import ParticleFloor
from brachiate.particles.recording import ParticleRecording
from brachiate.particles.simulate import simulate
from brachiate.particles.system import ParticleSystem
from brachiate.particles.walker import FOOT, JOINTS, PELVIS, joint_angles, posture, slope_rotation
from brachiate.validation import Array

RATE = 500.0  # [1/s] samples of a plan
ITERATIONS = 8  # corrections of the center of mass by the ZMP of all particles
RIGHT, LEFT = 0, 1


@dataclass(frozen=True)
class GaitSettings:
    """Timing and size of steps, and gains of the PD servos.

    Args:
        steps: Number of steps.
        step_length: Distance by which each foothold is ahead of the one before [m].
        stand: Time to drop and stand before the first step [s]; [NSP]: 1000 steps of 1 ms.
        period: Time of a step [s]; [NSP]: 2000 steps of 1 ms.
        swing: Share of a step in which one foot is in the air.
        clearance: Of the swing foot [m].
        hip_height: Above the soles [m].
        proportional: Gain of the servos [N·m/rad].
        derivative: [N·m·s/rad].
        balance: Correction of the hips by the error of the center of mass, in the direction against it.
        balance_rate: By the error of its velocity [s].
    """

    steps: int = 6
    step_length: float = 0.12
    stand: float = 1.0
    period: float = 2.0
    swing: float = 0.5
    clearance: float = 0.05
    hip_height: float = 0.82
    proportional: float = 4000.0
    derivative: float = 60.0
    balance: float = 1.5
    balance_rate: float = 0.3

    def __post_init__(self) -> None:
        number = validation.number
        validation.integer(self.steps, "steps", minimum=1, maximum=1000)
        number(self.step_length, "step_length", minimum=-0.4, maximum=0.4)
        number(self.stand, "stand", minimum=0.0, maximum=1e3)
        number(self.period, "period", minimum=0.2, maximum=1e3)
        number(self.swing, "swing", minimum=0.1, maximum=0.9)
        number(self.clearance, "clearance", minimum=0.0, maximum=0.3)
        number(self.hip_height, "hip_height", minimum=0.3, maximum=0.895)
        for gain in ("proportional", "derivative", "balance", "balance_rate"):
            number(getattr(self, gain), gain, minimum=0.0, maximum=1e6)


class WalkingPlan(NamedTuple):
    """Planned motion in the frame of the floor (x uphill, z along its normal), f samples."""

    time: Array  # (f,) [s]
    positions: Array  # (f, 8, 3) [m]
    angles: Array  # (f, 6) [rad]
    rates: Array  # (f, 6) [rad/s]
    zmp: Array  # (f,) of all particles, along x [m]
    support: Array  # (f, 2) ends of the support polygon along x [m]
    stance: Array  # (f, 2) whether the right and left foot are planned to be on the floor
    footholds: Array  # (steps + 2,) ankles in the order in which feet are set down [m]

    @property
    def margin(self) -> float:
        """Least distance of the ZMP from the ends of the support polygon [m]; negative if it leaves it."""
        return float(np.minimum(self.zmp - self.support[:, 0], self.support[:, 1] - self.zmp).min())


def plan_walk(system: ParticleSystem, settings: GaitSettings | None = None, slope: float = 0.0) -> WalkingPlan:
    """Plan of a walk on a floor that rises along x.

    The ZMP goes from foot to foot while both are on the floor. The center of mass follows from it by the linear inverted pendulum,
    p = c - z c̈/g, and is corrected until the ZMP of all particles is the planned one.
    """
    g = settings if settings is not None else GaitSettings()
    if not isinstance(g, GaitSettings):
        raise ArgumentError(f"settings: expected br.particles.GaitSettings, got {validation.short_repr(settings)}.")
    if not isinstance(system, ParticleSystem) or len(system) != 8 or list(system.joints) != list(JOINTS):
        raise ArgumentError(f"system: expected a walker, from br.particles.walker(), got {validation.short_repr(system)}.")
    slope = validation.number(slope, "slope", minimum=-45.0, maximum=45.0)
    seconds = g.stand + g.steps * g.period + 0.5 * g.period
    time = np.arange(round(seconds * RATE) + 1) / RATE
    ankles, stance, footholds, desired = _feet(g, time)
    ends = np.where(stance[..., None], np.stack([ankles[..., 0], ankles[..., 0] + FOOT], axis=-1), np.nan)
    support = np.stack([np.nanmin(ends[..., 0], axis=1), np.nanmax(ends[..., 1], axis=1)], axis=1)
    mass, gravity = system.arrays.mass, slope_rotation(slope).T @ system.gravity
    center = desired.copy()
    for _ in range(ITERATIONS):
        x = _motion(center, ankles, g)
        error = desired - zmp_of(x, mass, gravity)
        center = center + pendulum(error, g.hip_height, -gravity[2])
    x = _motion(center, ankles, g)
    angles = joint_angles(x)
    return WalkingPlan(time, x, angles, np.gradient(angles, 1.0 / RATE, axis=0), zmp_of(x, mass, gravity), support, stance, footholds)


def _motion(center: Array, ankles: Array, g: GaitSettings) -> Array:
    return posture(np.stack([center, np.zeros(len(center))], axis=1), ankles, g.hip_height)


def _feet(g: GaitSettings, time: Array) -> tuple[Array, Array, Array, Array]:
    """Ankles (f, 2, 2), stance (f, 2), footholds, and the planned ZMP (f,): at the middle of the stance foot during a swing."""
    place = [-0.5 * (PELVIS + FOOT), 0.5 * (PELVIS - FOOT)]  # as the walker starts: right behind left
    ankles = np.tile(np.array([(place[0], 0.0), (place[1], 0.0)]), (len(time), 1, 1))
    stance, desired, footholds = np.ones((len(time), 2), bool), np.full(len(time), 0.5 * sum(place) + 0.5 * FOOT), list(place)
    at = float(desired[0])
    for n in range(g.steps):
        swing_foot = n % 2  # the right one, which is behind, goes first
        begin = g.stand + n * g.period
        lift, land = begin + (1.0 - g.swing) * g.period, begin + g.period
        target = place[1 - swing_foot] + g.step_length
        over = place[1 - swing_foot] + 0.5 * FOOT
        desired[time >= begin] = over
        moving = (time >= begin) & (time < lift)
        desired[moving] = at + (over - at) * _smooth((time[moving] - begin) / (lift - begin))
        at = over
        inside = (time > lift) & (time < land)
        s = (time[inside] - lift) / (land - lift)
        ankles[inside, swing_foot, 0] = place[swing_foot] + (target - place[swing_foot]) * _smooth(s)
        ankles[inside, swing_foot, 1] = g.clearance * (16.0 * s**2 * (1.0 - s) ** 2)
        ankles[time >= land, swing_foot, 0] = target
        stance[inside, swing_foot] = False
        place[swing_foot] = target
        footholds.append(target)
    begin, over = g.stand + g.steps * g.period, 0.5 * sum(place) + 0.5 * FOOT
    last = time >= begin
    desired[last] = at + (over - at) * _smooth(np.minimum((time[last] - begin) / (0.25 * g.period), 1.0))
    return ankles, stance, np.array(footholds), desired


def _smooth(s: Array) -> Array:
    """Minimum-jerk course from 0 to 1."""
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def pendulum(zmp: Array, height: float, gravity: float) -> Array:
    """Center of mass of the linear inverted pendulum with a given ZMP p = c - (z/g) c̈ over time, at rest at both ends."""
    share = height / gravity * RATE**2
    bands = np.empty((3, len(zmp)))
    bands[0], bands[1], bands[2] = -share, 1.0 + 2.0 * share, -share
    bands[1, 0] = bands[1, -1] = 1.0 + share
    return solve_banded((1, 1), bands, zmp)


def zmp_of(x: Array, mass: Array, gravity: Array) -> Array:
    """Zero-moment point along x of particles at positions (f, n, 3), by differences of time [m]."""
    a = np.zeros_like(x)
    a[1:-1] = (x[2:] - 2.0 * x[1:-1] + x[:-2]) * RATE**2
    up, along = mass * (a[..., 2] - gravity[2]), mass * (a[..., 0] - gravity[0])
    return (x[..., 0] * up - x[..., 2] * along).sum(axis=1) / up.sum(axis=1)


class WalkingControl:
    """PD control of the joints of a walker along a plan: ``control(system, time)``.

    Args:
        plan: The plan.
        settings: Gains.
        slope: Of the floor [deg].
    """

    def __init__(self, plan: WalkingPlan, settings: GaitSettings | None = None, slope: float = 0.0) -> None:
        self.plan, self.settings = plan, settings if settings is not None else GaitSettings()
        self._up = slope_rotation(slope)

    def __call__(self, system: ParticleSystem, time: float) -> None:
        """Set targets and gains of all servos."""
        plan, g, J = self.plan, self.settings, system.joint_arrays
        place = min(max(time * RATE, 0.0), len(plan.time) - 1.000001)
        row, share = int(place), place - int(place)
        angles = (1.0 - share) * plan.angles[row] + share * plan.angles[row + 1]
        rates = (1.0 - share) * plan.rates[row] + share * plan.rates[row + 1]
        if g.balance or g.balance_rate:
            angles = angles + self._correction(system, row, share)
        for n, name in enumerate(JOINTS):
            k = system.joints[name]
            J.target[k], J.target_rate[k], J.proportional[k], J.derivative[k] = angles[n], rates[n], g.proportional, g.derivative

    def _correction(self, system: ParticleSystem, row: int, share: float) -> Array:
        """Change of the angles that moves the hips against the error of the center of mass, with the stance feet as they are."""
        plan, g, C = self.plan, self.settings, system.arrays
        want = (1.0 - share) * plan.positions[row] + share * plan.positions[row + 1]
        speed = (plan.positions[row + 1] - plan.positions[row]) * RATE
        weights = C.mass / C.mass.sum()
        x, v = C.x @ self._up, C.v @ self._up
        stance = np.flatnonzero(plan.stance[row])
        ankles = [(1, 6)[foot] for foot in stance]
        slip = float(np.mean(x[ankles, 0] - want[ankles, 0]))
        error = weights @ (x[:, 0] - want[:, 0]) - slip
        rate = weights @ (v[:, 0] - speed[:, 0])
        shift = float(np.clip(-g.balance * error - g.balance_rate * rate, -0.05, 0.05))
        feet = want[[1, 6]][:, [0, 2]]
        middle = 0.5 * (want[3] + want[4])[[0, 2]]
        center, step = middle - np.array((0.0, g.hip_height)), np.array((shift, 0.0))
        return joint_angles(posture(center + step, feet, g.hip_height)) - joint_angles(posture(center, feet, g.hip_height))


def walk(
    system: ParticleSystem,
    floor: ParticleFloor,
    settings: GaitSettings | None = None,
    *,
    dt: float | None = 5e-5,
    seconds: float | None = None,
    rate: float = 100.0,
) -> tuple[ParticleRecording, WalkingPlan]:
    """Let a walker drop, stand and walk on a floor; returns the recording and the plan.

    Args:
        system: A walker, from :func:`walker`.
        floor: The floor; its slope along x is taken into account.
        settings: Of the gait and the servos.
        dt: Largest step of the explicit integrator [s].
        seconds: Duration [s]; None: that of the plan.
        rate: Records per second.
    """
    plan = plan_walk(system, settings, floor.slope)
    control = WalkingControl(plan, settings, floor.slope)
    control(system, system.time)
    run = simulate(
        system, plan.time[-1] if seconds is None else seconds, floor, "explicit", dt, rate=rate, control=control, control_rate=250.0
    )
    return run, plan
