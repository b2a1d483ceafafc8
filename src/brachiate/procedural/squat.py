"""Sample motion: squat."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import smoothstep
from brachiate.procedural.foot_trajectory import Footprint, foot_trajectory
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import STANDING_HIP_HEIGHT, SkeletonPoser, frame_times
from brachiate.validation import Array

MAX_DEPTH = 0.36  # share of the stature
BACKWARD_SHARE = 0.42  # backward displacement of the hips, as a share of their descent
PELVIS_TILT, TRUNK_FLEXION = np.radians(70.0), np.radians(60.0)  # [rad] per stature of descent
ARM_FLEXION = np.radians(85.0)  # [rad] shoulder flexion, for balance


def squat(depth: float = 0.45, seconds: float = 3.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Squat on flat feet, arms forward, and stand up again.

    Args:
        depth: Descent of the hips [m].
        seconds: Duration [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    times = frame_times(seconds, rate, minimum=0.5)
    person = Person(height)
    depth = validation.number(depth, "depth", above=0.0, maximum=10.0)
    if depth > MAX_DEPTH * height:
        raise ArgumentError(
            f"depth must be at most {MAX_DEPTH * height:.2f} m for a person of {height:g} m, got {depth:g}: the hips would touch the heels."
        )
    u = times / times[-1]
    down = smoothstep((u - 0.08) / 0.36) - smoothstep((u - 0.54) / 0.36)
    descent = depth * down
    root = np.stack((-BACKWARD_SHARE * descent, 0.0 * descent, STANDING_HIP_HEIGHT * person.hip - descent), axis=-1)
    poser = SkeletonPoser(person, times, root, rotations.about_axis(1, PELVIS_TILT * descent / height))
    poser.pose_trunk(flexion=TRUNK_FLEXION * descent / height)
    for side, s in SIDES.items():
        poser.pose_leg(side, foot_trajectory(person, times, [Footprint(-1.0, times[-1] + 1.0, 0.0, s * person.stance)], _flat))
        poser.pose_arm(side, flexion=(ARM_FLEXION + (PELVIS_TILT + TRUNK_FLEXION) * depth / height) * down, elbow=0.15 + 0.1 * down)
    return poser.clip("squat")


def _flat(t: Array) -> Array:
    return np.zeros_like(t)
