"""Human figures of 16, 28 and 40 joint angles on a free root.

All three are one body cut into more or fewer pieces: standing still they have the same mass, centre and inertia. Every
link's axes are those of the world when the figure stands: x forward, y left, z up, and its origin is in its joint. Standing
is the neutral posture: the root joint is set so that the soles are then on z = 0.

Signs: a knee bent by a positive angle takes the heel backwards; an elbow bent by a positive angle takes the hand forwards.
Palms face backwards when the arms hang, so that an arm raised to the front holds a bar along y from behind, as gymnasts do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.figures import looks
from brachiate.figures.body import Body, MassProperties
from brachiate.figures.poses import SIDES, Pose, bent, both, limb, root, turned
from brachiate.figures.ranges import ball, hinge
from brachiate.figures.things import BAR_HEIGHT
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Joint
from brachiate.model.model import Model


def human16(height: float = 1.75, mass: float = 70.0, sex: str = "male") -> Model:
    """Human with a stiff trunk and four angles in each arm and leg, as [SVC] Fig. 13: nq 27, nv 22.

    Joints: root, then right and left hip (spherical), knee, shoulder (spherical), elbow. Chest, head, hands and feet are
    fixed links.

    Args:
        height: Stature [m], 0.5 to 2.5.
        mass: Mass [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
    """
    figure = _Assembly("human16", Body(height, mass, sex))
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
    figure = _Assembly("human28", Body(height, mass, sex))
    figure.pelvis()
    figure.chest_and_head(ball("spine", figure.body.mass), ball("neck", figure.body.mass))
    for side in SIDES:
        figure.leg(side, ball("ankle", figure.body.mass))
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
    figure = _Assembly("human40", Body(height, mass, sex))
    figure.pelvis()
    figure.spine_in_pieces()
    for side in SIDES:
        figure.leg(side, ball("ankle", figure.body.mass))
        figure.arm(side, ball("wrist", figure.body.mass))
    return figure.finish()


class _Assembly:
    """Puts the parts of one body together."""

    def __init__(self, name: str, body: Body) -> None:
        self.body = body
        self.builder = ModelBuilder(name)
        self.joints: set[str] = set()
        self.chest_height = 0.0  # of the chest's origin, standing [m]

    def link(self, name: str, parent: str | None, joint: Joint | None, joint_name: str, at: Any, part: MassProperties, shapes: Any) -> None:
        self.builder.link(
            name, parent=parent, joint=joint, joint_name=joint_name if joint else None, at=at,
            mass=part.mass, center=part.center, inertia=part.inertia, shapes=shapes,
        )  # fmt: skip
        if joint:
            self.joints.add(joint_name)

    def pelvis(self) -> None:
        b = self.body
        self.link("pelvis", None, Free(effort=0.0), "root", (0, 0, b.hip), b.pelvis_part(), looks.pelvis(b))

    def chest_and_head(self, chest: Joint | None, neck: Joint | None) -> None:
        """The trunk in two pieces that part at the waist; head and neck in one."""
        b = self.body
        ribs = b.ribs - b.waist
        part = b.abdomen_part().plus(b.chest_part().moved(z=ribs))
        self.link("chest", "pelvis", chest, "chest", (0, 0, b.waist - b.hip), part, looks.abdomen(b) + looks.chest(b, ribs))
        self.link("head", "chest", neck, "neck", (0, 0, b.neck - b.waist), b.head_part(), looks.neck(b) + looks.head(b))
        self.chest_height = b.waist
        self.head_sites(b.neck)

    def spine_in_pieces(self) -> None:
        """The trunk in three pieces, the neck apart from the head."""
        b = self.body
        self.link("abdomen", "pelvis", ball("waist", b.mass), "waist", (0, 0, b.waist - b.hip), b.abdomen_part(), looks.abdomen(b))
        self.link("chest", "abdomen", ball("chest", b.mass), "chest", (0, 0, b.ribs - b.waist), b.chest_part(), looks.chest(b))
        self.link("neck", "chest", ball("neck", b.mass), "neck", (0, 0, b.neck - b.ribs), b.neck_part(), looks.neck(b))
        down = b.neck - b.skull
        skull = b.head_part().minus(b.neck_part()).moved(z=down)
        self.link("head", "neck", ball("head", b.mass), "head", (0, 0, b.skull - b.neck), skull, looks.head(b, down))
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
        self.link(thigh, "pelvis", ball("hip", b.mass), f"{side}_hip", (0, s * b.half_hips, 0), b.part("thigh"), looks.thigh(b, s))
        self.link(shank, thigh, hinge("knee", b.mass), f"{side}_knee", (0, 0, -b.length("thigh")), b.part("shank"), looks.shank(b))
        self.link(foot, shank, ankle, f"{side}_ankle", (0, 0, -b.length("shank")), b.foot_part(), looks.foot(b))
        self.builder.site(f"{side}_heel", foot, (-b.heel, 0, -b.ankle))
        self.builder.site(f"{side}_toe", foot, (b.length("foot") - b.heel, 0, -b.ankle))
        self.builder.site(f"{side}_sole", foot, (b.length("foot") / 2 - b.heel, 0, -b.ankle))

    def arm(self, side: str, wrist: Joint | None) -> None:
        b, s = self.body, SIDES[side]
        upper, fore, hand = (f"{side}_{part}" for part in ("upper_arm", "forearm", "hand"))
        place = (0, s * b.half_shoulders, b.shoulder - self.chest_height)
        self.link(upper, "chest", ball("shoulder", b.mass), f"{side}_shoulder", place, b.part("upper_arm"), looks.upper_arm(b))
        self.link(fore, upper, hinge("elbow", b.mass), f"{side}_elbow", (0, 0, -b.length("upper_arm")), b.part("forearm"), looks.forearm(b))
        self.link(hand, fore, wrist, f"{side}_wrist", (0, 0, -b.length("forearm")), b.part("hand"), looks.hand(b, s))
        self.builder.site(f"{side}_grip", hand, b.grip)

    def finish(self) -> Model:
        for name, pose in self.poses().items():
            self.builder.pose(name, {joint: value for joint, value in pose.items() if joint in self.joints})
        return self.builder.build()

    def poses(self) -> dict[str, Pose]:
        b = self.body
        return {
            "stand": {},
            "t-pose": both(shoulder={"out": 90}),
            "hang": self.hang(),
            # Thighs level and shanks upright: the hips come down by the length of a thigh.
            "sit": root(z=-b.length("thigh"))
            | both(hip={"forward": 90}, knee=90, shoulder={"forward": 12, "out": 3, "turned": -18}, elbow=56),
            "tumble": root(z=0.25 * b.height, forward=40)
            | both(hip={"forward": 118, "out": 4}, knee=135, ankle={"forward": -25}, shoulder={"forward": 4, "out": 2}, elbow=78)
            | self.spine(45, 35),
        }

    def spine(self, chest: float, neck: float) -> Pose:
        """Bend the trunk and the neck to the front [deg], over as many joints as there are."""
        if "waist" in self.joints:
            return {"waist": bent(chest / 2), "chest": bent(chest / 2), "neck": bent(neck / 2), "head": bent(neck / 2)}
        return {"chest": bent(chest), "neck": bent(neck)}

    def hang(self) -> Pose:
        """Hanging from a bar along y above the origin: at the height of ours, or higher for those whose feet would touch."""
        b = self.body
        # Hands wider than the shoulders, as people do. Parallel arms held by hinges would be a singular posture.
        raised = {"forward": 166.0, "out": -12.0}
        arm = b.grip - np.array((0.0, 0.0, b.length("upper_arm") + b.length("forearm")))
        x, _, z = turned(limb("left", **raised), arm)
        bar = max(BAR_HEIGHT, 1.25 * b.height)
        return root(x=-x, z=bar - b.shoulder - z) | both(shoulder=raised, ankle={"forward": -30})
