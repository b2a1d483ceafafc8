"""The person who does all the moves: a skeleton with usual names, as long as people of a height are on the average.

Lengths are fractions of the stature after R. Drillis and R. Contini, "Body Segment Parameters", New York University 1966, as
D. A. Winter prints them (Biomechanics and Motor Control of Human Movement, 4th ed., figure 4.1). Where along the trunk the joints of
the spine are, and where the toes begin, they do not say: those are round figures of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.clip.skeleton import End, Skeleton
from brachiate.figures.body import ANKLE, HEEL, HIPS, SHOULDERS
from brachiate.validation import Array

SIDES = {"Left": 1.0, "Right": -1.0}  # which way of y they are
SHORTEST, TALLEST = 1.2, 2.2  # [m] whose height a scaled adult's proportions are for
HIP, KNEE, SHOULDER = 0.530, 0.285, 0.818  # heights over stature
UPPER_ARM, FOREARM, HAND, FOOT = 0.186, 0.146, 0.108, 0.152  # lengths over stature
WAIST, RIBS, NECK, SKULL = 0.590, 0.680, 0.845, 0.885  # heights of the joints of the trunk over stature
COLLAR = (0.02, 0.81)  # how far aside the collar bone begins, and how high
BALL, TOES = 0.072, 0.012  # toes begin so far in front of the ankle, and so high
GRIP = 0.5  # of the hand: where it holds a bar
BENT = np.radians(7.0)  # knees of who walks, at least: a leg that is nearly straight is hardly shorter for a little bending
MOST_BEND = np.radians(40.0)  # of the toes: a foot that is steeper stands on their tips


@dataclass(frozen=True)
class Person:
    """Who moves.

    Args:
        height: Stature [m].
    """

    height: float = 1.75

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", validation.number(self.height, "height", least=SHORTEST, most=TALLEST))

    @cached_property
    def skeleton(self) -> Skeleton:
        """Joints and bones; at rest it stands with arms spread, palms down."""
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
            add(f"{side}ToeBase", f"{side}Foot", BALL, 0, TOES - ANKLE)
            tip(f"{side}ToeBase", (1 - HEEL) * FOOT - BALL, 0, -TOES)
        return Skeleton(tuple(names), tuple(parents), self.height * np.array(offsets, float), tuple(ends))

    def offset(self, name: str) -> Array:
        """Where a joint is in its parent [m]."""
        return self.skeleton.offsets[self.skeleton.index(name)]

    @cached_property
    def hip(self) -> float:
        """Height of the hips, where the root is, with straight legs on flat feet [m]."""
        return HIP * self.height

    @cached_property
    def thigh(self) -> float:
        """Its length [m]."""
        return (HIP - KNEE) * self.height

    @cached_property
    def shank(self) -> float:
        """Its length [m]."""
        return (KNEE - ANKLE) * self.height

    @cached_property
    def reach(self) -> float:
        """From hip to ankle with a leg as straight as one has it in walking [m]."""
        return float(np.hypot(self.thigh + self.shank * np.cos(BENT), self.shank * np.sin(BENT)))

    @cached_property
    def stance(self) -> float:
        """How far from the middle a foot is that just stands there [m]."""
        return 1.2 * HIPS["male"] * self.height

    @cached_property
    def heel(self) -> Array:
        """Where it touches the floor, from the ankle [m]."""
        return self.height * np.array((-HEEL * FOOT, 0.0, -ANKLE))

    @cached_property
    def toe(self) -> Array:
        """Their tip on the floor, from where they begin [m]."""
        return self.height * np.array(((1 - HEEL) * FOOT - BALL, 0.0, -TOES))

    @cached_property
    def grip(self) -> Array:
        """What the left hand holds, from the wrist [m]."""
        return self.height * np.array((0.0, GRIP * HAND, 0.0))

    def bend(self, pitch: Array) -> Array:
        """How far toes bend up while the foot stands on them [rad]."""
        return np.clip(-pitch, 0.0, MOST_BEND)

    def rolled(self, pitch: Array) -> Array:
        """Where the ankle of a foot that stands is, from the place on the floor that it is above while flat [m]: (f, 3).

        Args:
            pitch: How far toes are higher than the heel [rad]: the foot turns about the heel, or where toes begin, or their tips.
        """
        ankle = np.array((0.0, 0.0, ANKLE * self.height))
        ball = self.offset("LeftToeBase")
        on_heel = ankle + self.heel - pitched(pitch, self.heel)
        toes = pitched(pitch + self.bend(pitch), self.toe)
        on_toes = ankle + ball + self.toe - toes - pitched(pitch, ball)
        return np.where(pitch[:, None] > 0.0, on_heel, on_toes)


def pitched(pitch: Array, v: Array) -> Array:
    """A vector, turned up at the front by angles [rad]: (f, 3)."""
    c, s = np.cos(pitch), np.sin(pitch)
    return np.stack((c * v[0] - s * v[2], np.full_like(c, v[1]), s * v[0] + c * v[2]), axis=-1)
