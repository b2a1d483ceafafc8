"""Human figures with 16, 28 and 40 joint angles on a floating base.

All three are the same body divided into more or fewer links: standing, they have the same mass, center of mass and inertia. The axes
of every link are those of the world when the figure stands: x forward, y left, z up, and its origin is at its joint. Standing is
the neutral posture: the root joint is placed so that the soles are on z = 0.

Signs: positive knee flexion moves the heel backwards, positive elbow flexion the hand forwards. Palms face backwards when the arms
hang, so that a raised arm grips a bar along y from behind, as gymnasts do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.figures import human_shapes
from brachiate.figures.human_proportions import HumanProportions, MassProperties
from brachiate.figures.joint_limits import ball_joint, hinge_joint
from brachiate.figures.objects import BAR_HEIGHT
from brachiate.figures.poses import SIDES, JointValues, both_sides, limb_orientation, root_pose, trunk_orientation
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Joint
from brachiate.model.model import Model
from brachiate.rotations import rotate


def human16(height: float = 1.75, mass: float = 70.0, sex: str = "male") -> Model:
    """Human with a stiff trunk and four angles in each arm and leg, as [SVC] Fig. 13: nq 27, nv 22.

    Joints: root, then right and left hip (spherical), knee, shoulder (spherical), elbow. Chest, head, hands and feet are
    fixed links.

    Args:
        height: Stature [m], 0.5 to 2.5.
        mass: Mass [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
    """
    figure = _Assembly("human16", HumanProportions(height, mass, sex))
    figure.pelvis()
    figure.chest_and_head(None, None)
    for side in SIDES:
        figure.leg(side, None)
        figure.arm(side, None)
    return figure.finish()


def human28(height: float = 1.75, mass: float = 70.0, sex: str = "male") -> Model:
    """Human with the joints of DeepMimic's, in its order: nq 43, nv 34.

    Joints: root, chest, neck, then right and left hip, knee, ankle, shoulder, elbow; all spherical but knees and elbows.
    The hands are fixed links. The order is that of X. B. Peng et al., "DeepMimic", ACM Trans. Graph. 37(4):143, 2018.

    Args:
        height: Stature [m], 0.5 to 2.5.
        mass: Mass [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
    """
    figure = _Assembly("human28", HumanProportions(height, mass, sex))
    figure.pelvis()
    figure.chest_and_head(ball_joint("spine", figure.body.mass), ball_joint("neck", figure.body.mass))
    for side in SIDES:
        figure.leg(side, ball_joint("ankle", figure.body.mass))
        figure.arm(side, None)
    return figure.finish()


def human40(height: float = 1.75, mass: float = 70.0, sex: str = "male") -> Model:
    """Human of 17 links, 12 spherical and 4 revolute joints, the numbers of [SVC] Fig. 11: nq 59, nv 46.

    Joints: root, waist, chest, neck, head, then right and left hip, knee, ankle, shoulder, elbow, wrist.

    Args:
        height: Stature [m], 0.5 to 2.5.
        mass: Mass [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
    """
    figure = _Assembly("human40", HumanProportions(height, mass, sex))
    figure.pelvis()
    figure.divided_spine()
    for side in SIDES:
        figure.leg(side, ball_joint("ankle", figure.body.mass))
        figure.arm(side, ball_joint("wrist", figure.body.mass))
    return figure.finish()


class _Assembly:
    """Builder of one human figure from links, sites and poses."""

    def __init__(self, name: str, body: HumanProportions) -> None:
        self.body = body
        self.builder = ModelBuilder(name)
        self.joints: set[str] = set()
        self.chest_height = 0.0  # [m] height of the chest's origin, standing

    def link(self, name: str, parent: str | None, joint: Joint | None, joint_name: str, at: Any, part: MassProperties, shapes: Any) -> None:
        self.builder.link(
            name, parent=parent, joint=joint, joint_name=joint_name if joint else None, at=at,
            mass=part.mass, center=part.center, inertia=part.inertia, shapes=shapes,
        )  # fmt: skip
        if joint:
            self.joints.add(joint_name)

    def pelvis(self) -> None:
        b = self.body
        self.link("pelvis", None, Free(effort=0.0), "root", (0, 0, b.hip), b.pelvis_part(), human_shapes.pelvis(b))

    def chest_and_head(self, chest: Joint | None, neck: Joint | None) -> None:
        """Add a trunk of two links divided at the waist, and one link for head and neck."""
        b = self.body
        ribs = b.ribs - b.waist
        part = b.abdomen_part().plus(b.chest_part().moved(z=ribs))
        self.link("chest", "pelvis", chest, "chest", (0, 0, b.waist - b.hip), part, human_shapes.abdomen(b) + human_shapes.chest(b, ribs))
        self.link("head", "chest", neck, "neck", (0, 0, b.neck - b.waist), b.head_part(), human_shapes.neck(b) + human_shapes.head(b))
        self.chest_height = b.waist
        self.head_sites(b.neck)

    def divided_spine(self) -> None:
        """Add a trunk of three links, and separate neck and head."""
        b = self.body
        self.link(
            "abdomen", "pelvis", ball_joint("waist", b.mass), "waist", (0, 0, b.waist - b.hip), b.abdomen_part(), human_shapes.abdomen(b)
        )
        self.link("chest", "abdomen", ball_joint("chest", b.mass), "chest", (0, 0, b.ribs - b.waist), b.chest_part(), human_shapes.chest(b))
        self.link("neck", "chest", ball_joint("neck", b.mass), "neck", (0, 0, b.neck - b.ribs), b.neck_part(), human_shapes.neck(b))
        down = b.neck - b.skull
        skull = b.head_part().minus(b.neck_part()).moved(z=down)
        self.link("head", "neck", ball_joint("head", b.mass), "head", (0, 0, b.skull - b.neck), skull, human_shapes.head(b, down))
        self.chest_height = b.ribs
        self.head_sites(b.skull)

    def head_sites(self, origin: float) -> None:
        b = self.body
        top = b.height - origin
        self.builder.site("head_top", "head", (0, 0, top))
        for side, s in SIDES.items():
            self.builder.site(f"{side}_eye", "head", (0.112 * b.size, s * 0.033 * b.size, top - 0.108 * b.size))

    def leg(self, side: str, ankle: Joint | None) -> None:
        b, s = self.body, SIDES[side]
        thigh, shank, foot = (f"{side}_{part}" for part in ("thigh", "shank", "foot"))
        self.link(
            thigh, "pelvis", ball_joint("hip", b.mass), f"{side}_hip", (0, s * b.half_hips, 0), b.part("thigh"), human_shapes.thigh(b, s)
        )
        self.link(
            shank, thigh, hinge_joint("knee", b.mass), f"{side}_knee", (0, 0, -b.length("thigh")), b.part("shank"), human_shapes.shank(b)
        )
        self.link(foot, shank, ankle, f"{side}_ankle", (0, 0, -b.length("shank")), b.foot_part(), human_shapes.foot(b))
        self.builder.site(f"{side}_heel", foot, (-b.heel, 0, -b.ankle))
        self.builder.site(f"{side}_toe", foot, (b.length("foot") - b.heel, 0, -b.ankle))
        self.builder.site(f"{side}_sole", foot, (b.length("foot") / 2 - b.heel, 0, -b.ankle))

    def arm(self, side: str, wrist: Joint | None) -> None:
        b, s = self.body, SIDES[side]
        upper, fore, hand = (f"{side}_{part}" for part in ("upper_arm", "forearm", "hand"))
        place = (0, s * b.half_shoulders, b.shoulder - self.chest_height)
        self.link(upper, "chest", ball_joint("shoulder", b.mass), f"{side}_shoulder", place, b.part("upper_arm"), human_shapes.upper_arm(b))
        self.link(
            fore,
            upper,
            hinge_joint("elbow", b.mass),
            f"{side}_elbow",
            (0, 0, -b.length("upper_arm")),
            b.part("forearm"),
            human_shapes.forearm(b),
        )
        self.link(hand, fore, wrist, f"{side}_wrist", (0, 0, -b.length("forearm")), b.part("hand"), human_shapes.hand(b, s))
        self.builder.site(f"{side}_grip", hand, b.grip)

    def finish(self) -> Model:
        for name, pose in self.poses().items():
            self.builder.pose(name, {joint: value for joint, value in pose.items() if joint in self.joints})
        return self.builder.build()

    def poses(self) -> dict[str, JointValues]:
        b = self.body
        return {
            "stand": {},
            "t-pose": both_sides(shoulder={"out": 90}),
            "hang": self.hang(),
            # Thighs horizontal and shanks vertical: the hips are lowered by the length of a thigh.
            "sit": root_pose(z=-b.length("thigh"))
            | both_sides(hip={"forward": 90}, knee=90, shoulder={"forward": 12, "out": 3, "turned": -18}, elbow=56),
            "tumble": root_pose(z=0.25 * b.height, forward=40)
            | both_sides(hip={"forward": 118, "out": 4}, knee=135, ankle={"forward": -25}, shoulder={"forward": 4, "out": 2}, elbow=78)
            | self.spine(45, 35),
        }

    def spine(self, chest: float, neck: float) -> JointValues:
        """Bend of trunk and neck to the front [deg], distributed over their joints."""
        if "waist" in self.joints:
            half_chest, half_neck = trunk_orientation(chest / 2), trunk_orientation(neck / 2)
            return {"waist": half_chest, "chest": half_chest, "neck": half_neck, "head": half_neck}
        return {"chest": trunk_orientation(chest), "neck": trunk_orientation(neck)}

    def hang(self) -> JointValues:
        """Hanging from a bar along y above the origin: at the default height of the bar, or higher if the feet would touch the ground."""
        b = self.body
        # Hands wider than the shoulders. Parallel arms connected by hinges would be a singular posture.
        raised = {"forward": 166.0, "out": -12.0}
        arm = b.grip - np.array((0.0, 0.0, b.length("upper_arm") + b.length("forearm")))
        x, _, z = rotate(limb_orientation("left", **raised), arm)
        bar = max(BAR_HEIGHT, 1.25 * b.height)
        return root_pose(x=-x, z=bar - b.shoulder - z) | both_sides(shoulder=raised, ankle={"forward": -30})
