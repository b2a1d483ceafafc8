"""Skeleton of the person in the sample motions, with average proportions for a given stature.

Segment lengths are fractions of the stature after R. Drillis and R. Contini, "Body Segment Parameters", New York University 1966, as
printed by D. A. Winter (Biomechanics and Motor Control of Human Movement, 4th ed., figure 4.1). The positions of the spinal joints and
of the toe joints are not given there: those are rounded estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.clip.skeleton import End, Skeleton
from brachiate.figures.human_proportions import ANKLE, HEEL, HIPS, SHOULDERS
from brachiate.validation import Array

SIDES = {"Left": 1.0, "Right": -1.0}  # sign of y
MIN_STATURE, MAX_STATURE = 1.2, 2.2  # [m] range in which scaled adult proportions are valid
HIP, KNEE, SHOULDER = 0.530, 0.285, 0.818  # heights, as shares of the stature
UPPER_ARM, FOREARM, HAND, FOOT = 0.186, 0.146, 0.108, 0.152  # lengths, as shares of the stature
WAIST, RIBS, NECK, SKULL = 0.590, 0.680, 0.845, 0.885  # heights of the trunk joints, as shares of the stature
COLLAR = (0.02, 0.81)  # lateral position and height of the clavicle joint, as shares of the stature
TOE_JOINT_FORWARD, TOE_JOINT_HEIGHT = 0.072, 0.012  # in front of the ankle, above the floor; shares of the stature
GRIP_POSITION = 0.5  # share of the hand length from the wrist
WALKING_KNEE_FLEXION = np.radians(7.0)  # [rad] minimum in walking, away from the straight-leg singularity
MAX_TOE_FLEXION = np.radians(40.0)  # [rad] beyond it the foot stands on the tips of the toes


@dataclass(frozen=True)
class Person:
    """Person of average proportions.

    Args:
        height: Stature [m].
    """

    height: float = 1.75

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", validation.number(self.height, "height", minimum=MIN_STATURE, maximum=MAX_STATURE))

    @cached_property
    def skeleton(self) -> Skeleton:
        """Skeleton; its rest pose is a T-pose with palms down."""
        names, parents, ends = ["Hips"], [-1], []
        offsets: list[tuple[float, ...]] = [(0.0, 0.0, 0.0)]

        def add(name: str, parent: str, *offset: float) -> None:
            names.append(name)
            parents.append(names.index(parent))
            offsets.append(offset)

        def tip(name: str, *offset: float) -> None:
            ends.append(End(names.index(name), self.height * np.array(offset)))

        add("Spine", "Hips", 0, 0, WAIST - HIP)
        add("Chest", "Spine", 0, 0, RIBS - WAIST)
        add("Neck", "Chest", 0, 0, NECK - RIBS)
        add("Head", "Neck", 0, 0, SKULL - NECK)
        tip("Head", 0, 0, 1 - SKULL)
        for side, s in SIDES.items():
            add(f"{side}Shoulder", "Chest", 0, s * COLLAR[0], COLLAR[1] - RIBS)
            add(f"{side}Arm", f"{side}Shoulder", 0, s * (SHOULDERS["male"] - COLLAR[0]), SHOULDER - COLLAR[1])
            add(f"{side}ForeArm", f"{side}Arm", 0, s * UPPER_ARM, 0)
            add(f"{side}Hand", f"{side}ForeArm", 0, s * FOREARM, 0)
            tip(f"{side}Hand", 0, s * HAND, 0)
        for side, s in SIDES.items():
            add(f"{side}UpLeg", "Hips", 0, s * HIPS["male"], 0)
            add(f"{side}Leg", f"{side}UpLeg", 0, 0, KNEE - HIP)
            add(f"{side}Foot", f"{side}Leg", 0, 0, ANKLE - KNEE)
            add(f"{side}ToeBase", f"{side}Foot", TOE_JOINT_FORWARD, 0, TOE_JOINT_HEIGHT - ANKLE)
            tip(f"{side}ToeBase", (1 - HEEL) * FOOT - TOE_JOINT_FORWARD, 0, -TOE_JOINT_HEIGHT)
        return Skeleton(tuple(names), tuple(parents), self.height * np.array(offsets, float), tuple(ends))

    def offset(self, name: str) -> Array:
        """Position of a joint in its parent [m]."""
        return self.skeleton.offsets[self.skeleton.index(name)]

    @cached_property
    def hip(self) -> float:
        """Height of the hips (the root) with straight legs on flat feet [m]."""
        return HIP * self.height

    @cached_property
    def thigh(self) -> float:
        """Length of the thigh [m]."""
        return (HIP - KNEE) * self.height

    @cached_property
    def shank(self) -> float:
        """Length of the shank [m]."""
        return (KNEE - ANKLE) * self.height

    @cached_property
    def reach(self) -> float:
        """Distance from hip to ankle with the leg as straight as in walking [m]."""
        return float(np.hypot(self.thigh + self.shank * np.cos(WALKING_KNEE_FLEXION), self.shank * np.sin(WALKING_KNEE_FLEXION)))

    @cached_property
    def stance(self) -> float:
        """Lateral distance of a foot from the middle in quiet standing [m]."""
        return 1.2 * HIPS["male"] * self.height

    @cached_property
    def heel(self) -> Array:
        """Contact point of the heel, relative to the ankle of a flat foot [m]."""
        return self.height * np.array((-HEEL * FOOT, 0.0, -ANKLE))

    @cached_property
    def toe(self) -> Array:
        """Tip of the toes, relative to the toe joint of a flat foot [m]."""
        return self.height * np.array(((1 - HEEL) * FOOT - TOE_JOINT_FORWARD, 0.0, -TOE_JOINT_HEIGHT))

    @cached_property
    def grip(self) -> Array:
        """Grip point of the left hand, relative to the wrist [m]."""
        return self.height * np.array((0.0, GRIP_POSITION * HAND, 0.0))

    def toe_flexion(self, pitch: Array) -> Array:
        """Upward flexion of the toes while the foot stands on them [rad]."""
        return np.clip(-pitch, 0.0, MAX_TOE_FLEXION)

    def rolling_ankle(self, pitch: Array) -> Array:
        """Position of the ankle of a foot that rolls in stance, relative to the floor point below it when flat [m]: (f, 3).

        Args:
            pitch: Angle of the sole, toes up [rad]: the foot rolls about the heel, the toe joint, or the tips of the toes.
        """
        ankle = np.array((0.0, 0.0, ANKLE * self.height))
        ball = self.offset("LeftToeBase")
        on_heel = ankle + self.heel - rotate_pitch(pitch, self.heel)
        toes = rotate_pitch(pitch + self.toe_flexion(pitch), self.toe)
        on_toes = ankle + ball + self.toe - toes - rotate_pitch(pitch, ball)
        return np.where(pitch[:, None] > 0.0, on_heel, on_toes)


def rotate_pitch(pitch: Array, v: Array) -> Array:
    """Rotate a vector about -y, front up, by angles (f,) [rad]: (f, 3)."""
    c, s = np.cos(pitch), np.sin(pitch)
    return np.stack((c * v[0] - s * v[2], np.full_like(c, v[1]), s * v[0] + c * v[2]), axis=-1)
