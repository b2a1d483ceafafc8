"""Skeleton poser: sets the joint rotations of a person frame by frame from trunk angles, arm angles and foot trajectories (leg IK)."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.procedural.foot_trajectory import SampleFootTrajectory
from brachiate.procedural.person import SIDES, Person
from brachiate.validation import Array

X, Y, Z = 0, 1, 2
MIN_KNEE_FLEXION = np.radians(2.0)  # keeps the leg away from its singular, straight configuration
MIN_RATE, MAX_RATE = 10.0, 480.0  # [Hz]
MAX_DURATION = 120.0  # [s]
STANDING_HIP_HEIGHT = 0.998  # share of the hip height with straight legs: knees are slightly bent in quiet standing
NO_PHYSICS = Assumption("physics", "none", "made of joint angles and foot positions, without dynamics")


def frame_times(seconds: float, rate: float, *, minimum: float) -> Array:
    """Times of the frames of a motion that lasts some seconds, at least ``minimum``: (f,) [s]."""
    seconds = validation.number(seconds, "seconds", minimum=minimum, maximum=MAX_DURATION)
    rate = validation.number(rate, "rate", minimum=MIN_RATE, maximum=MAX_RATE)
    return np.arange(int(seconds * rate + 1e-6) + 1) / rate


class SkeletonPoser:
    """Posed skeleton of a person over time: the root is given, then trunk and limbs are posed.

    Args:
        person: The person.
        times: Times of the frames [s]: (f,).
        root: Position of the hips [m]: (f, 3).
        pelvis: Orientation of the pelvis: (f, 4).
    """

    def __init__(self, person: Person, times: Array, root: Array, pelvis: Array) -> None:
        self.person, self.times, self.skeleton = person, times, person.skeleton
        self.rotations = np.broadcast_to(rotations.IDENTITY, (len(times), len(self.skeleton), 4)).copy()
        self.translations = np.broadcast_to(self.skeleton.offsets, (len(times), len(self.skeleton), 3)).copy()
        self.translations[:, 0], self.rotations[:, 0] = root, pelvis

    def rotate_joint(self, name: str, *, x: Array | float = 0.0, y: Array | float = 0.0, z: Array | float = 0.0) -> None:
        """Set the rotation of a joint by intrinsic z-y-x Euler angles [rad]: yaw to the left, pitch forward, roll to the right."""
        angles = np.stack([np.broadcast_to(angle, self.times.shape) for angle in (z, y, x)], axis=-1)
        self.rotations[:, self.skeleton.index(name)] = rotations.from_euler("zyx", angles)

    def pose_trunk(self, *, flexion: Array | float = 0.0, lateral: Array | float = 0.0, twist: Array | float = 0.0) -> None:
        """Bend the trunk relative to the pelvis [rad]: forward, to the right, to the left; neck and head compensate half of it."""
        for name in ("Spine", "Chest"):
            self.rotate_joint(name, x=0.5 * lateral, y=0.5 * flexion, z=0.5 * twist)
        for name in ("Neck", "Head"):
            self.rotate_joint(name, x=-0.25 * lateral, y=-0.25 * flexion, z=-0.5 * twist)

    def pose_arm(self, side: str, *, flexion: Array | float, elbow: Array | float, abduction: Array | float = 0.12) -> None:
        """Set shoulder flexion, elbow flexion and shoulder abduction of an arm, from hanging [rad]."""
        s = SIDES[side]
        self.rotate_joint(f"{side}Arm", x=-s * (0.5 * np.pi - abduction), y=-np.asarray(flexion))
        self.rotate_joint(f"{side}ForeArm", z=-s * np.asarray(elbow))

    def excess_hip_height(self, side: str, foot: SampleFootTrajectory) -> float:
        """Distance by which the hips must be lowered for a leg to reach its foot throughout stance [m]."""
        hip = self._hip(side)[foot.stance] - foot.ankle[foot.stance]
        reachable = np.sqrt(np.maximum(self.person.reach**2 - hip[:, 0] ** 2 - hip[:, 1] ** 2, 0.0))
        return float(np.max(hip[:, 2] - reachable, initial=0.0))

    def _hip(self, side: str) -> Array:
        """Position of a hip joint [m]: (f, 3)."""
        return self.translations[:, 0] + rotations.rotate(self.rotations[:, 0], self.person.offset(f"{side}UpLeg"))

    def pose_leg(self, side: str, foot: SampleFootTrajectory) -> None:
        """Analytic inverse kinematics of a leg: hip, knee, ankle and toe rotations for a foot trajectory; too far a foot is approached."""
        thigh, shank = self.person.thigh, self.person.shank
        pelvis = self.rotations[:, 0]
        d = rotations.rotate(rotations.inverse(pelvis), foot.ankle - self._hip(side))
        cosine = (np.einsum("ij,ij->i", d, d) - thigh**2 - shank**2) / (2.0 * thigh * shank)
        knee = np.arccos(np.clip(cosine, -1.0, np.cos(MIN_KNEE_FLEXION)))
        # Position of the ankle with the thigh along -z; the hip rotates it sideways first, then forward.
        x, down = -shank * np.sin(knee), thigh + shank * np.cos(knee)
        abduction = np.arcsin(np.clip(d[:, 1] / down, -1.0, 1.0))
        flexion = np.arctan2(d[:, 0], -d[:, 2]) - np.arctan2(x, down * np.cos(abduction))
        hip = rotations.product(rotations.about_axis(Y, -flexion), rotations.about_axis(X, abduction))
        shank_orientation = rotations.product(pelvis, rotations.product(hip, rotations.about_axis(Y, knee)))
        for name, q in (
            ("UpLeg", hip),
            ("Leg", rotations.about_axis(Y, knee)),
            ("Foot", rotations.product(rotations.inverse(shank_orientation), foot.orientation)),
            ("ToeBase", rotations.about_axis(Y, -foot.toe_flexion)),
        ):
            self.rotations[:, self.skeleton.index(f"{side}{name}")] = q

    def clip(self, name: str, *assumptions: Assumption) -> Clip:
        """Return the posed skeleton as a clip."""
        return Clip(self.skeleton, self.times, self.rotations, self.translations, name, (NO_PHYSICS, *assumptions))
