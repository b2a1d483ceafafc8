"""Puppet: a person whose joints are turned by what hands, feet and trunk are to do, frame by frame."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.procedural.footwork import Feet
from brachiate.procedural.person import SIDES, Person
from brachiate.validation import Array

X, Y, Z = 0, 1, 2
STRAIGHTEST = np.radians(2.0)  # knees are bent so much at least: a straight leg has no way to be shorter
SLOWEST, FASTEST = 10.0, 480.0  # frames a second
LONGEST = 120.0  # [s]
STANDING = 0.998  # of the height of hips: who just stands has knees that are bent a little
NAIVE = Guess("physics", "none", "drawn by joint angles and places of the feet: no forces were asked for")


def moments(seconds: float, rate: float, *, least: float) -> Array:
    """Times of frames, from 0 to so many seconds."""
    seconds = validation.number(seconds, "seconds", least=least, most=LONGEST)
    rate = validation.number(rate, "rate", least=SLOWEST, most=FASTEST)
    return np.arange(int(seconds * rate + 1e-6) + 1) / rate


class Puppet:
    """A person with a root that goes some way; limbs are then put where they should be.

    Args:
        person: Who.
        times: Of all frames [s]: (f,).
        root: Where the hips are [m]: (f, 3).
        pelvis: How they are turned: (f, 4).
    """

    def __init__(self, person: Person, times: Array, root: Array, pelvis: Array) -> None:
        self.person, self.times, self.skeleton = person, times, person.skeleton
        self.turns = np.broadcast_to(rotations.NONE, (len(times), len(self.skeleton), 4)).copy()
        self.places = np.broadcast_to(self.skeleton.offsets, (len(times), len(self.skeleton), 3)).copy()
        self.places[:, 0], self.turns[:, 0] = root, pelvis

    def turn(self, name: str, *, x: Array | float = 0.0, y: Array | float = 0.0, z: Array | float = 0.0) -> None:
        """Turn a joint [rad]: sideways about x, then forward about y, then to the left about z."""
        angles = np.stack([np.broadcast_to(angle, self.times.shape) for angle in (z, y, x)], axis=-1)
        self.turns[:, self.skeleton.index(name)] = rotations.from_euler("zyx", angles)

    def trunk(self, *, lean: Array | float = 0.0, aside: Array | float = 0.0, twist: Array | float = 0.0) -> None:
        """Bend the trunk against the hips [rad]: forward, to the right and to the left; head and neck go half the way back."""
        for name in ("Spine", "Chest"):
            self.turn(name, x=0.5 * aside, y=0.5 * lean, z=0.5 * twist)
        for name in ("Neck", "Head"):
            self.turn(name, x=-0.25 * aside, y=-0.25 * lean, z=-0.5 * twist)

    def arm(self, side: str, *, forward: Array | float, elbow: Array | float, aside: Array | float = 0.12) -> None:
        """Let an arm hang, swung forward and aside, with a bent elbow [rad]."""
        s = SIDES[side]
        self.turn(f"{side}Arm", x=-s * (0.5 * np.pi - aside), y=-np.asarray(forward))
        self.turn(f"{side}ForeArm", z=-s * np.asarray(elbow))

    def too_high(self, side: str, feet: Feet) -> float:
        """How much lower hips must be for a leg to reach its foot wherever that stands [m]."""
        away = self._hip(side)[feet.stands] - feet.ankle[feet.stands]
        most = np.sqrt(np.maximum(self.person.reach**2 - away[:, 0] ** 2 - away[:, 1] ** 2, 0.0))
        return float(np.max(away[:, 2] - most, initial=0.0))

    def _hip(self, side: str) -> Array:
        """Where the joint is [m]."""
        return self.places[:, 0] + rotations.turned(self.turns[:, 0], self.person.offset(f"{side}UpLeg"))

    def leg(self, side: str, feet: Feet) -> None:
        """Turn hip, knee, ankle and toes such that the foot is where it should be; a leg too short reaches as far as it can."""
        thigh, shank = self.person.thigh, self.person.shank
        pelvis = self.turns[:, 0]
        d = rotations.turned(rotations.inverse(pelvis), feet.ankle - self._hip(side))
        cosine = (np.einsum("ij,ij->i", d, d) - thigh**2 - shank**2) / (2.0 * thigh * shank)
        knee = np.arccos(np.clip(cosine, -1.0, np.cos(STRAIGHTEST)))
        # With the thigh along -z the ankle is here; the hip takes it first aside, then forward.
        x, down = -shank * np.sin(knee), thigh + shank * np.cos(knee)
        aside = np.arcsin(np.clip(d[:, 1] / down, -1.0, 1.0))
        forward = np.arctan2(d[:, 0], -d[:, 2]) - np.arctan2(x, down * np.cos(aside))
        bend = rotations.product(rotations.about(Y, -forward), rotations.about(X, aside))
        shin = rotations.product(pelvis, rotations.product(bend, rotations.about(Y, knee)))
        for name, q in (
            ("UpLeg", bend),
            ("Leg", rotations.about(Y, knee)),
            ("Foot", rotations.product(rotations.inverse(shin), feet.turn)),
            ("ToeBase", rotations.about(Y, -feet.bend)),
        ):
            self.turns[:, self.skeleton.index(f"{side}{name}")] = q

    def clip(self, name: str, *guesses: Guess) -> Clip:
        """What it does."""
        return Clip(self.skeleton, self.times, self.turns, self.places, name, (NAIVE, *guesses))
