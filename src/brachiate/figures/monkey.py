"""Monkey figure with long arms, for brachiation."""

from __future__ import annotations

import numpy as np

from brachiate.figures.human_shapes import Shapes, ShapeScaler
from brachiate.figures.joint_limits import ball_joint, hinge_joint
from brachiate.figures.objects import BAR_HEIGHT
from brachiate.figures.poses import SIDES, both_sides, limb_orientation, root_pose
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.model.shapes import Box
from brachiate.rotations import rotate
from brachiate.validation import number

FUR = (0.50, 0.35, 0.22, 1.0)
BELLY = (0.80, 0.66, 0.48, 1.0)
FACE = (0.86, 0.70, 0.55, 1.0)
DARK = (0.14, 0.11, 0.10, 1.0)

# Proportions of no particular species: arms as long as a gibbon's, legs and tail of a macaque. [m] at a height of 0.6 m.
ANKLE, SHANK, THIGH = 0.025, 0.125, 0.125
WAIST, SHOULDER, NECK = 0.070, 0.190, 0.205  # above the hips
HALF_HIPS, HALF_SHOULDERS = 0.038, 0.068
UPPER_ARM, FOREARM, GRIP = 0.165, 0.165, 0.045
HEEL, FOOT = 0.025, 0.105

#: Fractions of the mass, of one side for limbs; both sides and the middle add up to one.
MASSES = {
    "pelvis": 0.20, "chest": 0.33, "head": 0.09, "tail": 0.02,
    "upper_arm": 0.04, "forearm": 0.03, "hand": 0.01, "thigh": 0.055, "shank": 0.03, "foot": 0.015,
}  # fmt: skip


def monkey16(height: float = 0.6, mass: float = 6.0) -> Model:
    """Monkey with a rigid trunk, a tail, and four angles in each arm and leg: nq 27, nv 22.

    Joints and signs are those of :func:`~brachiate.figures.human16`.

    Args:
        height: Standing height [m].
        mass: Mass [kg].
    """
    height = number(height, "height of the monkey", minimum=0.1, maximum=3.0)
    k = height / 0.6
    mass = number(mass, "mass of the monkey", above=0.0)
    b = ModelBuilder("monkey16")
    scale = ShapeScaler(k, k)
    hip = (ANKLE + SHANK + THIGH) * k

    def fixed(name: str, parent: str, at: tuple[float, float, float], shapes: Shapes) -> None:
        part = name.removeprefix("left_").removeprefix("right_")
        b.link(name, parent=parent, at=np.array(at) * k, mass=MASSES[part] * mass, shapes=shapes)

    b.link("pelvis", joint=Free(effort=0.0), joint_name="root", at=(0, 0, hip), mass=MASSES["pelvis"] * mass, shapes=_pelvis(scale))
    fixed("chest", "pelvis", (0, 0, WAIST), _chest(scale))
    fixed("head", "chest", (0, 0, NECK - WAIST), _head(scale))
    fixed("tail", "pelvis", (-0.045, 0, 0.015), _tail(scale))
    b.site("head_top", "head", (0, 0, height - hip - NECK * k))
    for side, s in SIDES.items():
        limbs = {
            "thigh": ("pelvis", ball_joint("hip", mass), "hip", (0, s * HALF_HIPS, 0), _thigh(scale)),
            "shank": (f"{side}_thigh", hinge_joint("knee", mass), "knee", (0, 0, -THIGH), _shank(scale)),
            "upper_arm": ("chest", ball_joint("shoulder", mass), "shoulder", (0, s * HALF_SHOULDERS, SHOULDER - WAIST), _upper_arm(scale)),
            "forearm": (f"{side}_upper_arm", hinge_joint("elbow", mass), "elbow", (0, 0, -UPPER_ARM), _forearm(scale)),
        }
        for part, (parent, joint, name, at, shapes) in limbs.items():
            b.link(
                f"{side}_{part}", parent=parent, joint=joint, joint_name=f"{side}_{name}",
                at=np.array(at) * k, mass=MASSES[part] * mass, shapes=shapes,
            )  # fmt: skip
        fixed(f"{side}_foot", f"{side}_shank", (0, 0, -SHANK), _foot(scale))
        fixed(f"{side}_hand", f"{side}_forearm", (0, 0, -FOREARM), _hand(scale, s))
        b.site(f"{side}_grip", f"{side}_hand", (-0.012 * k, 0, -GRIP * k))
        b.site(f"{side}_heel", f"{side}_foot", (-HEEL * k, 0, -ANKLE * k))
        b.site(f"{side}_toe", f"{side}_foot", ((FOOT - HEEL) * k, 0, -ANKLE * k))
    _poses(b, k)
    return b.build()


def _poses(b: ModelBuilder, k: float) -> None:
    raised = {"forward": 166.0, "out": -12.0}  # hands wider than the shoulders: parallel arms would be a singular posture
    x, _, z = rotate(limb_orientation("left", **raised), np.array((-0.012, 0.0, -UPPER_ARM - FOREARM - GRIP)) * k)
    shoulder = (ANKLE + SHANK + THIGH + SHOULDER) * k
    b.pose("stand", {})
    b.pose("t-pose", both_sides(shoulder={"out": 90}))
    hang = both_sides(shoulder=raised, hip={"forward": 25, "out": 8}, knee=50)
    b.pose("hang", root_pose(x=-x, z=max(BAR_HEIGHT, 1.5 * 0.6 * k) - shoulder - z) | hang)
    b.pose("sit", root_pose(z=-THIGH * k) | both_sides(hip={"forward": 90, "out": 8}, knee=90, shoulder={"forward": 20}, elbow=45))
    b.pose("tumble", root_pose(z=0.2 * k, forward=40) | both_sides(hip={"forward": 118}, knee=130, shoulder={"forward": 40}, elbow=60))


def _pelvis(scale: ShapeScaler) -> Shapes:
    return [
        scale.capsule((0, -0.018, 0.020), (0, 0.018, 0.020), 0.048, FUR),
        scale.ellipsoid((-0.004, 0, 0.030), (0.058, 0.068, 0.070), FUR),
        scale.ellipsoid((0.014, 0, 0.045), (0.048, 0.052, 0.062), BELLY),
    ]


def _chest(scale: ShapeScaler) -> Shapes:
    return [
        scale.capsule((0, 0, 0.010), (0, 0, 0.080), 0.055, FUR),
        scale.ellipsoid((-0.004, 0, 0.060), (0.062, 0.072, 0.098), FUR),
        scale.ellipsoid((0.016, 0, 0.040), (0.050, 0.054, 0.085), BELLY),
        scale.ellipsoid((-0.004, 0, 0.112), (0.046, 0.085, 0.042), FUR),
    ]


def _head(scale: ShapeScaler) -> Shapes:
    return [
        scale.capsule((-0.004, 0, -0.020), (0.002, 0, 0.030), 0.034, FUR),
        scale.ellipsoid((0.004, 0, 0.061), (0.062, 0.058, 0.059), FUR),
        scale.ellipsoid((0.030, 0, 0.056), (0.040, 0.046, 0.044), FACE),
        scale.ellipsoid((0.052, 0, 0.036), (0.030, 0.030, 0.024), FACE),
        scale.ellipsoid((0.078, 0, 0.044), (0.007, 0.008, 0.005), DARK),
        *(scale.ellipsoid((0.066, s * 0.017, 0.066), (0.007, 0.008, 0.009), DARK) for s in (-1, 1)),
        *(scale.ellipsoid((0.004, s * 0.062, 0.058), (0.012, 0.018, 0.022), FACE) for s in (-1, 1)),
    ]


def _tail(scale: ShapeScaler) -> Shapes:
    """Shapes of the tail: a curl down, back and up again."""
    turns = np.linspace(0.0, 1.0, 9)
    x = -0.26 * turns
    z = -0.20 * np.sin(np.pi * 0.80 * turns) + 0.10 * turns**3
    points = np.stack([x, 0 * x, z], axis=1)
    return [scale.capsule(points[i], points[i + 1], 0.015 - 0.001 * i, FUR, collides=False) for i in range(8)]


def _upper_arm(scale: ShapeScaler) -> Shapes:
    return [
        scale.capsule((0, 0, 0), (0, 0, -UPPER_ARM), 0.018, FUR),
        scale.ellipsoid((0, 0, -0.030), (0.030, 0.028, 0.048), FUR),
        scale.ellipsoid((0, 0, -0.080), (0.025, 0.024, 0.080), FUR),
    ]


def _forearm(scale: ShapeScaler) -> Shapes:
    return [scale.capsule((0, 0, 0), (0, 0, -FOREARM), 0.015, FUR), scale.ellipsoid((0, 0, -0.060), (0.024, 0.023, 0.080), FUR)]


def _hand(scale: ShapeScaler, side: float) -> Shapes:
    return [
        scale.capsule((0, 0, -0.006), (0, 0, -0.030), 0.012, FACE),
        scale.ellipsoid((0, 0, -0.020), (0.012, 0.019, 0.026), FACE),
        scale.flat_ellipsoid((0.006, 0, -0.034), (-0.016, 0, -0.070), 0.008, 0.018, FACE),
        scale.flat_ellipsoid((-0.010, 0, -0.068), (-0.030, 0, -0.046), 0.007, 0.017, FACE),
        scale.capsule((-0.002, -side * 0.014, -0.014), (-0.012, -side * 0.024, -0.032), 0.006, FACE, collides=False),
    ]


def _thigh(scale: ShapeScaler) -> Shapes:
    return [scale.capsule((0, 0, -0.005), (0, 0, -THIGH), 0.022, FUR), scale.ellipsoid((0, 0, -0.050), (0.040, 0.036, 0.080), FUR)]


def _shank(scale: ShapeScaler) -> Shapes:
    return [scale.capsule((0, 0, 0), (0, 0, -SHANK), 0.016, FUR), scale.ellipsoid((-0.005, 0, -0.045), (0.025, 0.024, 0.065), FUR)]


def _foot(scale: ShapeScaler) -> Shapes:
    k, thick = scale.size, 0.012
    sole = Box(size=np.array((FOOT, 0.036, thick)) * k, position=np.array((FOOT / 2 - HEEL, 0, -ANKLE + thick / 2)) * k, color=FACE)
    return [
        sole,
        scale.ellipsoid((FOOT / 2 - HEEL, 0, -ANKLE + 0.013), (FOOT * 0.51, 0.021, 0.013), FACE),
        scale.ellipsoid((-0.002, 0, -ANKLE + 0.018), (0.025, 0.019, 0.018), FUR),
        scale.ellipsoid((0.020, 0, -ANKLE + 0.014), (0.030, 0.020, 0.013), FUR),
    ]
