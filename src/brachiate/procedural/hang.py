"""Sample motion: hanging from a bar and swinging."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import SkeletonPoser, frame_times
from brachiate.validation import Array

MAX_SWING = np.radians(70.0)  # [rad]
GRAVITY = 9.81  # [m/s²]
PENDULUM_LENGTH = 0.72  # share of the stature: length of the equivalent pendulum
HIP_PHASE_LAG, LEG_PHASE_LAG = 0.35, 0.9  # phase lags behind the arms [rad]
LEG_SWING_SHARE = 0.5  # amplitude of hips and knees, as a share of the swing
FOOT_CLEARANCE = 0.02  # [m] minimum distance between toes and floor
CLAVICLE_ELEVATION = 0.25  # [rad]


def hang(swing: float = np.radians(25.0), bar_height: float = 2.5, seconds: float = 6.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Hang from a high bar by both hands, and swing back and forth.

    The bar is along y above the origin. The body swings as a pendulum, the legs with a phase lag.

    Args:
        swing: Amplitude of the swing [rad].
        bar_height: Height of the bar [m].
        seconds: Duration [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    times = frame_times(seconds, rate, minimum=0.5)
    person = Person(height)
    swing = validation.number(swing, "swing", minimum=0.0, maximum=MAX_SWING)
    bar_height = validation.number(bar_height, "bar_height", above=0.0, maximum=20.0)
    poser = _swing(person, times, swing)
    lowest = _place_at_bar(poser, bar_height)
    if lowest < FOOT_CLEARANCE:
        minimum = bar_height + FOOT_CLEARANCE - lowest
        raise ArgumentError(
            f"bar_height must be at least {minimum + 0.005:.2f} m for a person of {height:g} m, got {bar_height:g}: "
            f"toes would be at {lowest:.2f} m."
        )
    return poser.clip("hang", Assumption("bar", f"{bar_height:g} m high, along y at x = 0", "both hands hold it all the time"))


def _swing(person: Person, times: Array, swing: float) -> SkeletonPoser:
    """Pose the swinging body, with the root at the origin."""
    frequency = np.sqrt(GRAVITY / (PENDULUM_LENGTH * person.height))

    def angle(lag: float) -> Array:
        return swing * np.sin(frequency * times - lag)

    arms, hips = angle(0.0), angle(HIP_PHASE_LAG)
    poser = SkeletonPoser(person, times, np.zeros((len(times), 3)), rotations.about_axis(1, -hips))
    poser.pose_trunk(flexion=hips - arms)
    legs = LEG_SWING_SHARE * angle(LEG_PHASE_LAG)
    for side, s in SIDES.items():
        poser.rotate_joint(f"{side}Shoulder", x=s * CLAVICLE_ELEVATION)
        poser.rotate_joint(f"{side}Arm", x=s * (0.5 * np.pi - CLAVICLE_ELEVATION))
        poser.rotate_joint(f"{side}ForeArm", z=-s * 0.05)
        poser.rotate_joint(f"{side}UpLeg", y=-(0.08 + legs), x=s * 0.02)
        poser.rotate_joint(f"{side}Leg", y=0.2 + 0.5 * LEG_SWING_SHARE * (swing - angle(LEG_PHASE_LAG)))
        poser.rotate_joint(f"{side}Foot", y=0.55)
    return poser


def _place_at_bar(poser: SkeletonPoser, bar_height: float) -> float:
    """Move the root such that the hands hold the bar; return the height of the lowest point of the body over the motion [m]."""
    clip, person = poser.clip("hang"), poser.person
    hands = np.zeros((len(clip), 3))
    for side, s in SIDES.items():
        j = clip.skeleton.index(f"{side}Hand")
        hands += 0.5 * (clip.positions[:, j] + rotations.rotate(clip.orientations[:, j], person.grip * (1.0, s, 1.0)))
    poser.translations[:, 0] += (0.0, 0.0, bar_height) - hands
    return float(poser.clip("hang").tips[..., 2].min())
