"""Foot measurement of a skeleton in a motion: axes of feet and toes while they stand flat, and depth of the soles below the ankles."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.joint_roles import SIDES, JointRoles
from brachiate.clip.skeleton import Skeleton
from brachiate.figures.human_proportions import HumanProportions
from brachiate.model.joints import Joint, Revolute
from brachiate.validation import Array

MAX_STANCE_SPEED, MAX_STANCE_HEIGHT = 0.15, 0.04  # [m/s], [m] of the ankle, the height above its lowest
MIN_STANCE_FRAMES = 5  # to measure the axes of a foot
MAX_ANKLE_DIFFERENCE = 0.03  # [m] from the mean height of both ankles, for feet on the same floor


class FootMeasurement:
    """Axes and depth of the feet, measured in the frames in which they stand flat.

    Args:
        clip: Motion of the skeleton, in meters, z up.
        anatomy: Roles of the joints.
        body: Proportions of the body.
    """

    def __init__(self, clip: Clip, anatomy: JointRoles, body: HumanProportions) -> None:
        self.clip, self.anatomy, self.body = clip, anatomy, body
        self.rest = clip.skeleton.rest
        self.depths = self._depths()  #: of the soles below the ankles, by side [m]

    def ball(self, side: str, frame: Array) -> float:
        """Distance of the ball of the foot (where toes begin) in front of the ankle [m]."""
        toe = self.anatomy.joints.get(f"{side}_toe")
        b = self.body
        maximum = b.length("foot") - b.heel - 0.02 * b.size
        if toe is None:
            return maximum
        ankle = self.rest[self.anatomy[f"{side}_ankle"]]
        return float(np.clip((self.rest[toe] - ankle) @ frame[:, 0], 0.3 * maximum, maximum))

    def axes(self, side: str) -> tuple[Array, Array]:
        """Axes (3, 3) of a foot and of its toes in their joint frames, while the foot stands flat: x to the toes, z up."""
        clip, ankle = self.clip, self.anatomy[f"{side}_ankle"]
        toe = self.anatomy.joints.get(f"{side}_toe")
        q, stance = clip.orientations, self._stance_frames(side)
        up = np.array((0.0, 0.0, 1.0))
        if stance.sum() < MIN_STANCE_FRAMES:
            normal = toe_normal = up  # at rest
        else:
            normal, toe_normal = (_mean_vertical(q[stance, j]) for j in (ankle, toe if toe is not None else ankle))
        forward = limb_tip(clip.skeleton, ankle, self.rest[ankle] + (0.1, 0.0, 0.0)) - self.rest[ankle]
        if toe is not None:
            forward = self.rest[toe] - self.rest[ankle]
        frame = _frame(forward, normal)
        if toe is None:
            return frame, frame
        if not stance.any():
            return frame, _frame(frame[:, 0], toe_normal)
        toe_forward = rotations.rotate(rotations.inverse(clip.rotations[stance, toe]), frame[:, 0]).mean(axis=0)
        return frame, _frame(toe_forward, toe_normal)

    def _stance_frames(self, side: str) -> Array:
        """Flags (f,) of the frames in which a foot stands: its ankle is slow, and low."""
        clip = self.clip
        if len(clip) <= 2:
            return np.arange(len(clip)) == 0
        x = clip.positions[:, self.anatomy[f"{side}_ankle"]]
        speed = np.linalg.norm(np.gradient(x, clip.times, axis=0), axis=1)
        return (speed < MAX_STANCE_SPEED) & (x[:, 2] < x[:, 2].min() + MAX_STANCE_HEIGHT)

    def _depths(self) -> dict[str, float]:
        """Depth of the soles below the ankles [m], from the heights of the ankles while both feet stand on the same floor.

        Skeletons do not have this measure, and often have one ankle higher than the other.
        """
        stance = {side: self._stance_frames(side) for side in SIDES}
        depth = self.body.ankle
        if len(self.clip) <= 2 or any(frames.sum() < MIN_STANCE_FRAMES for frames in stance.values()):
            return dict.fromkeys(SIDES, depth)
        heights = {side: float(np.median(self.clip.positions[stance[side], self.anatomy[f"{side}_ankle"], 2])) for side in SIDES}
        middle = sum(heights.values()) / len(heights)
        if any(abs(h - middle) > MAX_ANKLE_DIFFERENCE for h in heights.values()):
            return dict.fromkeys(SIDES, depth)  # one foot stands on a step
        return {side: depth + h - middle for side, h in heights.items()}


def limb_tip(skeleton: Skeleton, j: int, default: Array) -> Array:
    """End point of the limb of joint j at rest (3,) [m], if the skeleton has one, otherwise the default."""
    for end in skeleton.ends:
        if end.joint == j and np.linalg.norm(end.offset) > 0.02:
            return skeleton.rest[j] + end.offset
    return default


def toe_offset(joint: Joint, axes: Array, half_width: float, maximum: float) -> float:
    """Distance from an oblique toe hinge at which the sole of the toes begins, so that no corner is behind the hinge [m].

    Such a corner would penetrate the ground when raised toes are lowered.
    """
    if not isinstance(joint, Revolute):
        return 0.0
    along, across, _ = np.abs(axes.T @ joint.elements[0].axis)
    return float(min(half_width * along / max(across, 1e-9), maximum))


def _mean_vertical(q: Array) -> Array:
    """Mean of the vertical in the frames of rotations q (f, 4)."""
    mean = rotations.rotate(rotations.inverse(q), np.array((0.0, 0.0, 1.0))).mean(axis=0)
    return mean / np.linalg.norm(mean)


def _frame(forward: Array, normal: Array) -> Array:
    """Rotation matrix with z along the normal, and x the projection of ``forward``."""
    x = forward - (forward @ normal) * normal
    x = x / max(float(np.linalg.norm(x)), 1e-9)
    return np.stack((x, np.cross(normal, x), normal), axis=1)
