"""Human model for any motion-capture skeleton: links at its moving joints, segment masses by de Leva, capsules and box soles.

The axes of a link are those of the skeleton's joint. Joint types follow from the motion: joints that never move are fixed; knees,
elbows, wrists and toes that rotate about one axis are hinges, all others ball joints. Fingers and other children of hands and head are
fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.clip.joint_roles import SIDES, JointRoles, find_joint_roles
from brachiate.clip.units_and_axes import skeleton_stature
from brachiate.errors import MotionError
from brachiate.figures import human_shapes, segment_masses
from brachiate.figures.human_proportions import HumanProportions, MassProperties
from brachiate.figures.joint_limits import BALLS, HINGES
from brachiate.figures.skeleton_feet import FootMeasurement, limb_tip, toe_offset
from brachiate.model.anthropometry import HEIGHTS
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Fixed, Free, Joint, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape
from brachiate.validation import Array

FIXED_TOLERANCE = np.radians(0.01)  # largest rotation in the whole motion of a joint that becomes fixed
HINGE_TOLERANCE = np.radians(0.2)  # largest deviation from one axis of a joint that becomes a hinge
STATURES = (0.3, 3.0)  # [m] of skeletons, by the length of their legs
DEFAULT_BMI = 22.0  # [kg/m²] mass over squared height if no mass is given
CLAVICLE_MASS = 0.01  # fraction of the body mass that moves with a moving clavicle
SHOULDER_GIRDLE = 0.4  # fraction of the upper trunk that belongs to the shoulder girdle
MAX_SKULL = 1.6  # largest height of a skull over the anthropometric one: end points of heads above that are hats
SHORT_TRUNK = 0.95  # standing height over the stature estimated from the legs, below which the trunk counts as short
LEG_BONES = (("hip", "knee"), ("knee", "ankle"))
LINK_NAMES: Mapping[str, str] = {
    "hip": "thigh", "knee": "shank", "ankle": "foot", "toe": "toes", "clavicle": "clavicle", "shoulder": "upper_arm", "elbow": "forearm",
    "wrist": "hand",
}  # fmt: skip
HINGE_JOINTS = ("knee", "elbow", "toe", "wrist")
# Gap between the toe joint and the soles of foot and toes, over the body's size. Soles that reach to below the joint would rub over the
# ground as the heel rises, and prop up raised toes.
TOE_GAP = 0.006
TOE_DAMPING = 0.2  # [N·m·s/rad] of tissue: without it the very light toes spin at foot impacts
CAPSULE_RADII: Mapping[str, float] = {
    "hip": 0.055,
    "knee": 0.038,
    "shoulder": 0.038,
    "elbow": 0.029,
    "wrist": 0.022,
    "clavicle": 0.04,
}  # [m]


@dataclass(frozen=True)
class SkeletonModel:
    """Model of a skeleton, and the joint of the skeleton that each of its links belongs to.

    Args:
        model: The model.
        links: Names of the links, by index of the joint in the skeleton; joints that are part of another link are left out.
        assumptions: Assumptions made.
    """

    model: Model
    links: Mapping[int, str]
    assumptions: tuple[Assumption, ...]


def build_skeleton_model(
    clip: Clip,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: str = "male",
    roles: Mapping[str, str] | None = None,
    name: str = "figure",
) -> SkeletonModel:
    """Build the human model of a clip's skeleton.

    Args:
        clip: Motion of the skeleton, in meters, z up.
        mass: Body mass [kg]; by default from the height, at a body mass index of 22.
        height: Stature [m]; by default from the length of the legs.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
        roles: Names of joints by role (``{"left_knee": "Bone12"}``), where they cannot be inferred.
        name: Name of the model.
    """
    anatomy = find_joint_roles(clip.skeleton, roles)
    missing = anatomy.missing()
    if missing:
        raise MotionError(
            f"{clip.name}: cannot tell which joint is the {', '.join(missing)}, so no model can be built. Joints: "
            f"{', '.join(clip.skeleton.names)}. Name it: roles={{{missing[0]!r}: ...}}."
        )
    assumptions = []
    stature = skeleton_stature(clip.skeleton, anatomy, 2)
    if not STATURES[0] <= stature <= STATURES[1]:
        raise MotionError(
            f"{clip.name}: by the length of its legs the skeleton is {stature:.3g} m tall, which is no stature of a person "
            f"({STATURES[0]:g} to {STATURES[1]:g} m). Is the unit of length right? Give it: unit='cm', 'm', ...."
        )
    if height is None:
        height = float(np.clip(stature, *HEIGHTS))
        assumptions.append(Assumption("height", f"{height:.2f} m", "from the length of the legs", "height"))
    if mass is None:
        mass = DEFAULT_BMI * height * height
        assumptions.append(Assumption("mass", f"{mass:.0f} kg", f"a lean person of {height:.2f} m", "mass"))
    figure = _SkeletonModelBuilder(clip, anatomy, HumanProportions(height, mass, sex), name)
    model = figure.build()
    standing = figure.standing_height()
    if standing < SHORT_TRUNK * height:
        missing_bones = figure.zero_length_joints()
        detail = f", and no bone leads to {', '.join(missing_bones[:3])}" if missing_bones else ""
        reason = f"from its bones{detail}; masses are those of a body of {height:.2f} m"
        assumptions.append(Assumption("trunk", f"short: the body stands {standing:.2f} m tall", reason))
    hinges = [link for j, link in figure.names.items() if isinstance(figure.joints[j], Revolute)]
    if hinges:
        reason = f"they rotate about one axis, within {np.degrees(HINGE_TOLERANCE):g} degrees"
        assumptions.append(Assumption("hinges", ", ".join(hinges), reason))
    if figure.left_out:
        reason = "they move, but no body segment is known for them; roles= gives it"
        assumptions.append(Assumption("joints left out", ", ".join(figure.left_out[:8]), reason, "roles"))
    return SkeletonModel(model, figure.names, tuple(assumptions))


def mean_axis(q: Array) -> tuple[Array, float]:
    """Common axis of rotations (f, 4), and their largest deviation from it [rad]."""
    v = rotations.to_rotation_vector(q)
    _, _, axes = np.linalg.svd(v, full_matrices=False)
    a = axes[0]
    if (v @ a).mean() < 0:
        a = -a
    return a, float(np.abs(v - np.outer(v @ a, a)).max())


class _SkeletonModelBuilder:
    """Builder of one model: link names, joints, segment masses and shapes by joint of the skeleton."""

    def __init__(self, clip: Clip, anatomy: JointRoles, body: HumanProportions, name: str) -> None:
        self.clip, self.anatomy, self.body, self.name = clip, anatomy, body, name
        self.rest = clip.skeleton.rest
        self.role = {j: role for role, j in anatomy.joints.items()}
        self.left_out: list[str] = []  # names of moving joints that no segment belongs to
        self.names = self._names()
        self.joints = {j: self._joint(j) for j in self.names}
        self.parts: dict[int, list[MassProperties]] = defaultdict(list)  # by joint, in its frame at rest
        self.shapes: dict[int, list[Shape]] = defaultdict(list)
        self.feet = FootMeasurement(clip, anatomy, body)
        self.crown = np.zeros(3)  # of the head, at rest

    def _names(self) -> dict[int, str]:
        """Names of the joints that become links: not the children of wrists, toes and head."""
        skeleton = self.clip.skeleton
        ends = {j for role, j in self.anatomy.joints.items() if role == "head" or role.endswith(("wrist", "toe"))}
        ends |= {self.anatomy[f"{side}_elbow"] for side in SIDES if f"{side}_wrist" not in self.anatomy}
        with_mass = {k for j in (*self.anatomy.joints.values(), *self.anatomy.spine, *self.anatomy.necks) for k in skeleton.chain(j)}
        names: dict[int, str] = {}
        for j in range(len(skeleton)):
            above = skeleton.parents[j]
            if j and (above not in names or above in ends):
                continue
            if j not in with_mass and not isinstance(self._joint(j), Fixed):
                self.left_out.append(skeleton.names[j])  # tails, hair, props: a moving link must have a mass
                continue
            side, _, joint = self.role.get(j, "").partition("_")
            if joint in LINK_NAMES:
                names[j] = f"{side}_{LINK_NAMES[joint]}"
            elif j in self.anatomy.spine:
                names[j] = f"spine{1 + self.anatomy.spine.index(j)}"
            elif j in self.anatomy.necks:
                names[j] = f"neck{1 + self.anatomy.necks.index(j)}"
            else:
                names[j] = self.role.get(j, skeleton.names[j])
        return names

    def _joint(self, j: int) -> Joint:
        if j == 0:
            return Free(effort=0.0)
        q = self.clip.rotations[:, j]
        if rotations.angle(rotations.product(rotations.inverse(q[:1]), q)).max(initial=0.0) < FIXED_TOLERANCE:
            return Fixed()
        joint = self.role.get(j, "").partition("_")[2]
        scale = self.body.mass / 70.0
        if joint in HINGE_JOINTS:
            axis, deviation = mean_axis(q)
            if deviation < HINGE_TOLERANCE:
                effort = HINGES[joint].effort if joint in HINGES else BALLS["wrist"].effort if joint == "wrist" else 30.0
                return Revolute(axis, effort=effort * scale, damping=TOE_DAMPING * scale if joint == "toe" else 0.0)
        kind = joint if joint in BALLS else "neck" if j in self.anatomy.necks else "spine" if j in self.anatomy.spine else ""
        kind = {"knee": "hip", "elbow": "shoulder"}.get(joint, kind) or ("head" if self.role.get(j) == "head" else "shoulder")
        return Spherical(effort=BALLS[kind].effort * scale)

    def rest_position(self, role: str) -> Array:
        """Position of the joint with a role, at rest (3,) [m]."""
        return self.rest[self.anatomy[role]]

    def add_mass(self, j: int, part: MassProperties, *shapes: Shape) -> None:
        """Add a piece, given in the skeleton at rest, to the link of joint j or of its nearest ancestor that is a link."""
        while j not in self.names:
            j = self.clip.skeleton.parents[j]
        self.parts[j].append(part._replace(center=part.center - self.rest[j]))
        self.shapes[j] += shapes

    def build(self) -> Model:
        self.trunk()
        self.head()
        for side in SIDES:
            self.leg(side)
            self.arm(side)
        builder = ModelBuilder(self.name)
        for j, name in self.names.items():
            part = segment_masses.combine(self.parts[j])
            parent = self.clip.skeleton.parents[j]
            joint = self.joints[j]
            weight = {"mass": 0.0} if part is None else {"mass": part.mass, "center": part.center, "inertia": part.inertia}
            turned = {"rotation": self.clip.rotations[0, j]} if j and isinstance(joint, Fixed) else {}
            builder.link(
                name, parent=self.names.get(parent), joint=joint, joint_name=self._joint_name(j),
                at=self.clip.skeleton.offsets[j] if j else (0, 0, 0),
                shapes=self.shapes[j], **turned, **weight,
            )  # fmt: skip
        for side in SIDES:
            self.sites(builder, side)
        return builder.build()

    def _joint_name(self, j: int) -> str | None:
        if isinstance(self.joints[j], Fixed):
            return None
        role = self.role.get(j, "")
        return "root" if j == 0 else role if "_" in role else self.names[j]

    def trunk(self) -> None:
        b = self.body
        hips = 0.5 * (self.rest_position("left_hip") + self.rest_position("right_hip"))
        neck = self.rest[self.anatomy.necks[0]] if self.anatomy.necks else self.rest_position("head")
        up = (neck - hips) / np.linalg.norm(neck - hips)
        scale = float(np.linalg.norm(neck - hips)) / (b.neck - b.hip)
        start = hips
        navel = scale * b.length("lower_trunk")
        girdle = scale * (b.length("lower_trunk") + b.length("middle_trunk") + (1.0 - SHOULDER_GIRDLE) * b.length("upper_trunk"))
        for name in ("lower_trunk", "middle_trunk", "upper_trunk"):
            segment = b.segment(name)
            if name == "upper_trunk":
                left = 1.0 - CLAVICLE_MASS * b.mass * len(self.moving_clavicles()) / segment.mass
                segment = replace(segment, mass=left * segment.mass, inertia=left * segment.inertia)
            end = start + scale * segment.length * up
            for piece in segment_masses.slices(segment, end, start):  # de Leva's trunk segments start at the top
                self.add_mass(self._spine_joint(float((piece.center - hips) @ up), hips, up, (navel, girdle)), piece)
            start = end
        k = b.girth
        wide = 0.5 * float(np.linalg.norm(self.rest_position("left_hip") - self.rest_position("right_hip")))
        across = (self.rest_position("left_hip") - self.rest_position("right_hip")) / (2.0 * max(wide, 1e-6))
        pelvis = hips + 0.04 * b.size * up
        right, left = (pelvis + s * 0.7 * wide * across - self.rest[0] for s in (-1, 1))
        self.shapes[0].append(Capsule.between(right, left, 0.095 * k, color=human_shapes.SHORTS))
        girdle_at = hips + 0.84 * (neck - hips)
        j = self._spine_joint(float((girdle_at - hips) @ up), hips, up, (navel, girdle))
        half = 0.5 * abs(float((self.rest_position("left_shoulder") - self.rest_position("right_shoulder")) @ across)) - 0.05 * k
        if half > 0.02:
            right, left = (girdle_at + s * half * across - self.rest[j] for s in (-1, 1))
            self.shapes[j].append(Capsule.between(right, left, 0.062 * k, color=human_shapes.SHIRT))
        for low, high in ((0.38, 0.50), (0.55, 0.85)):
            a, c = (hips + share * (neck - hips) for share in (low, high))
            j = self._spine_joint(float((0.5 * (a + c) - hips) @ up), hips, up, (navel, np.inf))
            half = (0.05 if low < 0.5 else 0.08) * k
            for aside in (-half * across, 0.0 * across, half * across):
                bone = Capsule.between(a + aside - self.rest[j], c + aside - self.rest[j], 0.08 * k, color=human_shapes.SHIRT)
                self.shapes[j].append(bone)

    def _spine_joint(self, t: float, hips: Array, up: Array, bounds: tuple[float, float]) -> int:
        """Joint of the trunk that carries the piece at height t above the hips.

        The pelvis extends up to the navel at least, and the joint that carries the arms down to the shoulder girdle: some
        skeletons have one in the hips and one in the neck.
        """
        best, (navel, girdle) = 0, bounds
        moving = [j for j in self.anatomy.spine if j in self.names and not isinstance(self.joints[j], Fixed)]
        for j in moving:
            height = max(float((self.rest[j] - hips) @ up), navel + 1e-3 * j)
            if (min(height, girdle) if j == moving[-1] else height) <= t + 1e-9:
                best = j
        return best

    def head(self) -> None:
        b = self.body
        top = self.anatomy["head"]
        base = self.rest[self.anatomy.necks[0]] if self.anatomy.necks else self.rest[top]
        line = self.rest[top] - base
        if np.linalg.norm(line) < 1e-3:
            line = np.array((0.0, 0.0, 1.0))
        up = line / np.linalg.norm(line)
        vertex = self.crown = base + up * self._crown_height(base, up)
        segment = b.segment("head")
        # Pieces above the base of the skull belong to the head, wherever its joint is; joints of the neck share the pieces below.
        skull = b.skull - b.neck
        upper = {j: skull * k / len(self.anatomy.necks) for k, j in enumerate(self.anatomy.necks)} | {top: skull}
        moving = [j for j in (*self.anatomy.necks, top) if j in self.names and not isinstance(self.joints[j], Fixed)]
        low = vertex - segment.length * up
        for piece in segment_masses.slices(segment, vertex, low):
            t = float((piece.center - low) @ up)
            below = [j for j in moving if min(float((self.rest[j] - base) @ up), upper[j]) <= t + 1e-9]
            self.add_mass(below[-1] if below else self.clip.skeleton.parents[self.anatomy.necks[0] if self.anatomy.necks else top], piece)
        middle = vertex - 0.11 * b.size * up
        round_head = Capsule.between(middle - 0.03 * b.size * up, middle + 0.02 * b.size * up, 0.088 * b.size, color=human_shapes.SKIN)
        self.shapes[top].append(_moved(round_head, -self.rest[top]))
        joints = [*self.anatomy.necks, top]
        for j, above in pairwise(joints):
            bone = self.rest[above] - self.rest[j]
            if np.linalg.norm(bone) > 1e-3:
                self.shapes[j].append(Capsule.between(np.zeros(3), bone, 0.052 * b.girth, color=human_shapes.SKIN))

    def _crown_height(self, base: Array, up: Array) -> float:
        """Height of the crown of the head above the first joint of the neck [m].

        The skull is above its joint, and ends at the end point of the head if the skeleton has one. Joints of necks are less reliable:
        some are at the sternum.
        """
        b, top = self.body, self.anatomy["head"]
        skull = b.height - b.skull
        tip = float((limb_tip(self.clip.skeleton, top, self.rest[top]) - self.rest[top]) @ up)
        return max(b.height - b.neck, float((self.rest[top] - base) @ up) + float(np.clip(tip, skull, MAX_SKULL * skull)))

    def standing_height(self) -> float:
        """Height of the body with straight legs, from soles to crown [m]."""
        hips = 0.5 * (self.rest_position("left_hip") + self.rest_position("right_hip"))
        legs = [
            sum(float(np.linalg.norm(self.rest_position(f"{side}_{a}") - self.rest_position(f"{side}_{b}"))) for a, b in LEG_BONES)
            for side in SIDES
        ]
        return sum(legs) / len(legs) + self.body.ankle + float((self.crown - hips)[2])

    def zero_length_joints(self) -> list[str]:
        """Names of joints of trunk and neck that coincide with their parent joint."""
        skeleton = self.clip.skeleton
        upper = (*self.anatomy.spine[1:], *self.anatomy.necks, self.anatomy["head"])
        return [skeleton.names[j] for j in upper if np.linalg.norm(skeleton.offsets[j]) < 1e-3]

    def limb(self, joint: int, segment: str, end: Array, radius: float, color: human_shapes.Color) -> None:
        """Add a segment with a capsule from a joint to a point."""
        start = self.rest[joint]
        if np.linalg.norm(end - start) < 1e-3:
            raise MotionError(
                f"{self.clip.name}: the bone of {self.clip.skeleton.names[joint]!r} has zero length, so it cannot be a {segment}."
            )
        bone = Capsule.between(np.zeros(3), end - start, radius * self.body.girth, color=color)
        self.add_mass(joint, segment_masses.along(self.body.segment(segment), start, end), bone)

    def arm(self, side: str) -> None:
        anatomy, b = self.anatomy, self.body
        shoulder, elbow = anatomy[f"{side}_shoulder"], anatomy[f"{side}_elbow"]
        self.limb(shoulder, "upper_arm", self.rest[elbow], CAPSULE_RADII["shoulder"], human_shapes.SKIN)
        if side in self.moving_clavicles():
            self.clavicle(anatomy[f"{side}_clavicle"], self.rest[shoulder])
        along = self.rest[elbow] - self.rest[shoulder]
        wrist = anatomy.joints.get(f"{side}_wrist")
        reach = b.length("forearm") * along / np.linalg.norm(along)
        end = self.rest[wrist] if wrist is not None else limb_tip(self.clip.skeleton, elbow, self.rest[elbow] + reach)
        self.limb(elbow, "forearm", end, CAPSULE_RADII["elbow"], human_shapes.SKIN)
        along = (end - self.rest[elbow]) / np.linalg.norm(end - self.rest[elbow])
        hand = wrist if wrist is not None else elbow
        knuckles = end + b.length("hand") * along
        shape = Capsule.between(end - self.rest[hand], knuckles - self.rest[hand], CAPSULE_RADII["wrist"] * b.size, color=human_shapes.SKIN)
        self.add_mass(hand, segment_masses.along(b.segment("hand"), end, knuckles), shape)

    def moving_clavicles(self) -> list[str]:
        """Sides whose clavicle moves."""
        found = {side: self.anatomy.joints.get(f"{side}_clavicle") for side in SIDES}
        return [side for side, j in found.items() if j is not None and j in self.joints and not isinstance(self.joints[j], Fixed)]

    def clavicle(self, clavicle: int, shoulder: Array) -> None:
        """Add the mass that moves with a clavicle."""
        start, weight = self.rest[clavicle], CLAVICLE_MASS * self.body.mass
        end = shoulder if np.linalg.norm(shoulder - start) > 1e-3 else start + np.array((0.0, 0.0, 0.01))
        bone = Capsule.between(start, end, CAPSULE_RADII["clavicle"] * self.body.girth)
        m, center, inertia = bone.mass_properties(1.0)
        self.add_mass(clavicle, MassProperties(weight, center, inertia * weight / m))

    def leg(self, side: str) -> None:
        anatomy = self.anatomy
        hip, knee, ankle = (anatomy[f"{side}_{joint}"] for joint in ("hip", "knee", "ankle"))
        self.limb(hip, "thigh", self.rest[knee], CAPSULE_RADII["hip"], human_shapes.SHORTS)
        self.limb(knee, "shank", self.rest[ankle], CAPSULE_RADII["knee"], human_shapes.SKIN)
        self.foot(side, ankle)

    def foot(self, side: str, ankle: int) -> None:
        """Add sole and mass of a foot, divided at the toe joint if it moves."""
        b, (frame, toes) = self.body, self.feet.axes(side)
        toe = self.anatomy.joints.get(f"{side}_toe")
        length, depth, ball = b.length("foot"), self.feet.depths[side], self.feet.ball(side, frame)
        segment = b.segment("foot")
        toes_move = toe is not None and toe in self.names and not isinstance(self.joints[toe], Fixed)
        thick, wide = 0.018 * b.size, 0.082 * b.size
        ends = (-b.heel, ball - TOE_GAP * b.size if toes_move else length - b.heel)
        box = Box(
            size=np.array((ends[1] - ends[0], wide, thick)),
            position=frame @ (0.5 * (ends[0] + ends[1]), 0.0, thick / 2 - depth),
            rotation=frame,
            color=human_shapes.SOLE,
        )
        heel, tip = (self.rest[ankle] + frame @ (x, 0.0, -0.5 * depth) for x in (-b.heel, length - b.heel))
        foot_pieces, toe_pieces = [], []
        for piece in segment_masses.slices(segment, heel, tip):
            in_toes = toes_move and float((piece.center - self.rest[ankle]) @ frame[:, 0]) > ball
            (toe_pieces if in_toes else foot_pieces).append(piece)
        for piece in foot_pieces:
            self.add_mass(ankle, piece)
        self.shapes[ankle].append(box)
        if toes_move and toe is not None:
            for piece in toe_pieces:  # placed as the foot stands, not at rest: from the ball, along the axes of the toes
                local = frame.T @ (piece.center - self.rest[ankle]) - (ball, 0.0, 0.0)
                R = toes @ frame.T
                self.parts[toe].append(MassProperties(piece.mass, toes @ (local[0], 0.0, 0.3 * local[2]), R @ piece.inertia @ R.T))
            drop = depth + float((self.rest[toe] - self.rest[ankle]) @ frame[:, 2])
            rest = length - b.heel - ball
            begin = TOE_GAP * b.size + toe_offset(self.joints[toe], toes, 0.5 * wide, 0.3 * rest)
            middle = toes @ (0.5 * (begin + rest), 0.0, thick / 2 - drop)
            self.shapes[toe].append(
                Box(size=np.array((rest - begin, wide, thick)), position=middle, rotation=toes, color=human_shapes.SOLE)
            )

    def sites(self, builder: ModelBuilder, side: str) -> None:
        """Add the sites heel, sole and toe, as in the built-in figures."""
        b, (frame, _) = self.body, self.feet.axes(side)
        foot = self.names[self.anatomy[f"{side}_ankle"]]
        for name, x in (("heel", -b.heel), ("sole", b.length("foot") / 2 - b.heel), ("toe", b.length("foot") - b.heel)):
            builder.site(f"{side}_{name}", foot, frame @ (x, 0.0, -self.feet.depths[side]))


def _moved(shape: Capsule, by: Array) -> Capsule:
    return Capsule(radius=shape.radius, length=shape.length, position=shape.position + by, rotation=shape.rotation, color=shape.color)
