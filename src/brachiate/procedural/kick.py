"""Sample motion: front kick."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, keyframe_curve
from brachiate.procedural.foot_trajectory import Footprint, foot_trajectory
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import STANDING_HIP_HEIGHT, SkeletonPoser, frame_times
from brachiate.validation import Array

MIN_HEIGHT, MAX_HEIGHT = 0.15, 0.75  # share of the stature
#: Phases of the kick, as shares of its duration.
LIFT_OFF, BACKSWING, CHAMBERED, PEAK, RETRACTED, TOUCH_DOWN = 0.26, 0.36, 0.48, 0.57, 0.68, 0.86
LATERAL_SHIFT = 0.8  # lateral shift of the hips towards the support foot, as a share of its distance from the middle
HIP_DROP = 0.012  # [m] of the hips in single support
FOOT_LIFT = 0.04  # [m] beyond the joint angles, for toe clearance
KNEE_AT_PEAK = np.radians(8.0)  # [rad]
LEAN_AT_PEAK = np.radians(14.0)  # [rad] of the pelvis, backward


def kick(kick_height: float = 0.9, side: str = "right", seconds: float = 2.4, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Stand on one leg and kick forward with the other.

    Args:
        kick_height: Height of the kicking ankle at the peak [m].
        side: ``"left"`` or ``"right"``: the kicking leg.
        seconds: Duration [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    times = frame_times(seconds, rate, minimum=0.8)
    person = Person(height)
    kicking = validation.one_of(side, ("left", "right"), "side").capitalize()
    kick_height = validation.number(kick_height, "kick_height", above=0.0, maximum=10.0)
    if not MIN_HEIGHT * height <= kick_height <= MAX_HEIGHT * height:
        valid = f"{MIN_HEIGHT * height:.2f} to {MAX_HEIGHT * height:.2f} m"
        raise ArgumentError(f"kick_height must be {valid} for a person of {height:g} m, got {kick_height:g}.")
    return _kick(person, times, kicking, _thigh_angle(person, kick_height))


def _thigh_angle(person: Person, kick_height: float) -> float:
    """Hip flexion at the peak at which the ankle has a given height [rad]."""
    x, down = person.shank * np.sin(KNEE_AT_PEAK), person.thigh + person.shank * np.cos(KNEE_AT_PEAK)
    below = STANDING_HIP_HEIGHT * person.hip - HIP_DROP + FOOT_LIFT * float(_swing_arc(np.array(PEAK))) - kick_height
    return float(np.arccos(below / np.hypot(x, down)) + np.arctan2(x, down))


def _swing_arc(phase: Array) -> Array:
    """Half sine over the swing phase: zero at its ends, one in its middle."""
    return np.sin(np.pi * np.clip((phase - LIFT_OFF) / (TOUCH_DOWN - LIFT_OFF), 0.0, 1.0))


def _kick(person: Person, times: Array, kicking: str, peak_flexion: float) -> Clip:
    """Kick with a given peak flexion of the hip [rad]."""
    end, s = times[-1], SIDES[kicking]
    support = next(side for side in SIDES if side != kicking)

    def over_time(keys: dict[float, float]) -> Curve:
        return keyframe_curve({phase * end: value for phase, value in keys.items()})

    aside = over_time({0.04: 0.0, LIFT_OFF: 1.0, TOUCH_DOWN: 1.0, 0.98: 0.0})
    lean = over_time({0.1: 0.0, LIFT_OFF: 0.1, BACKSWING: 0.12, PEAK: -LEAN_AT_PEAK, TOUCH_DOWN: 0.06, 0.98: 0.0})
    twist = over_time({0.1: 0.0, BACKSWING: -0.15, PEAK: 0.2, TOUCH_DOWN: 0.0, 0.98: 0.0})
    thigh = over_time(
        {
            0.1: 0.0,
            LIFT_OFF: -0.1,
            BACKSWING: -0.35,
            CHAMBERED: 0.85 * peak_flexion,
            PEAK: peak_flexion,
            RETRACTED: 0.8 * peak_flexion,
            TOUCH_DOWN: 0.1,
            1.0: 0.0,
        }
    )
    knee = over_time(
        {0.1: 0.1, LIFT_OFF: 0.5, BACKSWING: 1.2, CHAMBERED: 1.75, PEAK: KNEE_AT_PEAK, RETRACTED: 1.5, TOUCH_DOWN: 0.35, 1.0: 0.1}
    )
    ankle = over_time({0.1: 0.0, LIFT_OFF: -0.1, BACKSWING: -0.5, CHAMBERED: -0.3, PEAK: -0.5, RETRACTED: -0.4, TOUCH_DOWN: 0.0, 1.0: 0.0})
    heel = over_time({0.1: 0.0, LIFT_OFF: 1.0, TOUCH_DOWN: 1.0, 0.94: 0.0})

    def root(t: Array) -> Array:
        y = -s * LATERAL_SHIFT * person.stance * aside(t)
        return np.stack((-0.5 * lean(t), y, STANDING_HIP_HEIGHT * person.hip - HIP_DROP * aside(t)), axis=-1)

    def pelvis(t: Array) -> Array:
        return rotations.product(rotations.about_axis(2, s * twist(t)), rotations.about_axis(1, lean(t)))

    def pitch(t: Array) -> Array:
        return heel(t) * (thigh(t) - knee(t) + ankle(t))

    def swing(t: Array) -> Array:
        upper, lower = thigh(t), thigh(t) - knee(t)
        x = person.thigh * np.sin(upper) + person.shank * np.sin(lower)
        z = -person.thigh * np.cos(upper) - person.shank * np.cos(lower)
        return (
            root(t)
            + rotations.rotate(pelvis(t), person.offset(f"{kicking}UpLeg"))
            + np.stack((x, 0.0 * x, z + FOOT_LIFT * _swing_arc(t / end)), axis=-1)
        )

    poser = SkeletonPoser(person, times, root(times), pelvis(times))
    poser.pose_trunk(flexion=-0.6 * lean(times) + 0.1 * aside(times), twist=-1.6 * s * twist(times))
    standing = foot_trajectory(person, times, [Footprint(-1.0, end + 1.0, 0.0, -s * person.stance)], np.zeros_like)
    footprints = [Footprint(-1.0, LIFT_OFF * end, 0.0, s * person.stance), Footprint(TOUCH_DOWN * end, end + 1.0, 0.0, s * person.stance)]
    poser.pose_leg(support, standing)
    poser.pose_leg(kicking, foot_trajectory(person, times, footprints, pitch, swing))
    guard = aside(times)
    for side in SIDES:
        arm_swing = (1.0 if side == support else -1.2) * 2.2 * twist(times)
        poser.pose_arm(side, flexion=0.35 * guard + arm_swing, elbow=0.15 + 1.2 * guard, abduction=0.12 + 0.15 * guard)
    return poser.clip("kick")
