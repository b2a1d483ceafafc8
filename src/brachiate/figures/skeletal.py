"""A body for any skeleton: links where it has joints that turn, masses by de Leva, capsules along its bones, soles under its feet.

Every link's axes are those of the skeleton's joint. What kind of joint it is the motion says: one that never turns is fixed, knees,
elbows, wrists and toes that turn about one line are hinges, all others balls. Fingers and what else hangs on hands and head is fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.clip.joint_roles import SIDES, Anatomy, anatomy_of
from brachiate.clip.units_and_axes import stature
from brachiate.errors import MotionError
from brachiate.figures import looks, matter
from brachiate.figures.body import Body, MassProperties
from brachiate.figures.ranges import BALLS, HINGES
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Fixed, Free, Joint, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape
from brachiate.validation import Array

STILL = np.radians(0.01)  # a joint that turns no more than this over all of a motion is fixed
ONE_LINE = np.radians(0.2)  # a joint that turns off its axis no more than this is a hinge
LEAN = 22.0  # [kg/m²] mass over height squared of who says neither
SLOW, LOW = 0.15, 0.04  # [m/s] and [m]: an ankle no faster, and no higher than this above its lowest, stands
COLLAR = 0.01  # of the body is what a collar bone that turns takes with it
GIRDLE = 0.4  # of the upper trunk belongs to the shoulders
UNEVEN = 0.03  # [m] by which ankles of feet on one floor are off their middle at most
LARGEST = 1.6  # times the usual height of a skull: tips of heads that are farther up are hats
SHORT = 0.95  # of the stature that legs say: who stands less tall has a short trunk
LEG = (("hip", "knee"), ("knee", "ankle"))
FEW = 5  # frames are enough to know how a foot stands
LINKS: Mapping[str, str] = {
    "hip": "thigh", "knee": "shank", "ankle": "foot", "toe": "toes", "clavicle": "clavicle", "shoulder": "upper_arm", "elbow": "forearm",
    "wrist": "hand",
}  # fmt: skip
HINGED = ("knee", "elbow", "toe", "wrist")
# Of the body's size: so far from toe joints soles of feet end, and those of toes begin. Right under them the one would rub over the ground
# as the heel rises, and the other hold raised toes up.
CLEAR = 0.006
TOE_DAMPING = 0.2  # [N·m·s/rad] flesh: without it toes, which weigh next to nothing, spin when a foot slaps down
RADII: Mapping[str, float] = {"hip": 0.055, "knee": 0.038, "shoulder": 0.038, "elbow": 0.029, "wrist": 0.022, "clavicle": 0.04}  # [m]


@dataclass(frozen=True)
class Grown:
    """A body and which joint of the skeleton each of its links is.

    Args:
        model: The body.
        links: Names of the links, by place of the joint in the skeleton; joints that are part of another link are left out.
        guesses: What was assumed.
    """

    model: Model
    links: Mapping[int, str]
    guesses: tuple[Guess, ...]


def grow(
    clip: Clip,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: str = "male",
    roles: Mapping[str, str] | None = None,
    name: str = "figure",
) -> Grown:
    """Build the body that goes with a clip.

    Args:
        clip: In metres, z up.
        mass: Of the whole body [kg]; by default that of a lean person of the height.
        height: Stature [m]; by default from the length of the legs.
        sex: ``"male"`` or ``"female"``: whose proportions of mass.
        roles: Names of joints by role (``{"left_knee": "Bone12"}``), where names do not say it.
        name: Of the model.
    """
    anatomy = anatomy_of(clip.skeleton, roles)
    missing = anatomy.missing()
    if missing:
        raise MotionError(
            f"{clip.name}: no joint is known to be the {', '.join(missing)}, so no body can be built. Joints: "
            f"{', '.join(clip.skeleton.names)}. Say which is which: roles={{{missing[0]!r}: ...}}."
        )
    guesses = []
    if height is None:
        height = float(np.clip(stature(clip.skeleton, anatomy, 2), 0.5, 2.5))
        guesses.append(Guess("height", f"{height:.2f} m", "from the length of the legs", "height"))
    if mass is None:
        mass = LEAN * height * height
        guesses.append(Guess("mass", f"{mass:.0f} kg", f"a lean person of {height:.2f} m", "mass"))
    plant = _Plant(clip, anatomy, Body(height, mass, sex), name)
    model = plant.build()
    tall = plant.stands()
    if tall < SHORT * height:
        stubs = plant.stubs()
        bare = f", and none leads up to {', '.join(stubs[:3])}" if stubs else ""
        why = f"its bones say so{bare}; masses are those of a body of {height:.2f} m"
        guesses.append(Guess("trunk", f"short: the body stands {tall:.2f} m tall", why))
    hinges = [link for j, link in plant.names.items() if isinstance(plant.joints[j], Revolute)]
    if hinges:
        guesses.append(Guess("hinges", ", ".join(hinges), f"they turn about one axis, to {np.degrees(ONE_LINE):g} degrees"))
    return Grown(model, plant.names, tuple(guesses))


def axis_of(q: Array) -> tuple[Array, float]:
    """The line that rotations (f, 4) are about, and how far they are off it at most [rad]."""
    v = rotations.to_vector(q)
    _, _, axes = np.linalg.svd(v, full_matrices=False)
    a = axes[0]
    if (v @ a).mean() < 0:
        a = -a
    return a, float(np.abs(v - np.outer(v @ a, a)).max())


class _Plant:
    """Puts one body together."""

    def __init__(self, clip: Clip, anatomy: Anatomy, body: Body, name: str) -> None:
        self.clip, self.anatomy, self.body, self.name = clip, anatomy, body, name
        self.rest = clip.skeleton.rest
        self.role = {j: role for role, j in anatomy.joints.items()}
        self.names = self._names()
        self.joints = {j: self._joint(j) for j in self.names}
        self.parts: dict[int, list[MassProperties]] = defaultdict(list)  # by joint, from the joint along the axes at rest
        self.shapes: dict[int, list[Shape]] = defaultdict(list)
        self.depths = self._depths()
        self.crown = np.zeros(3)  # of the head, at rest

    def _names(self) -> dict[int, str]:
        """Joints that become links, by name: not what hangs on wrists, toes and the head, or a stub that nothing hangs on."""
        skeleton = self.clip.skeleton
        ends = {j for role, j in self.anatomy.joints.items() if role == "head" or role.endswith(("wrist", "toe"))}
        ends |= {self.anatomy[f"{side}_elbow"] for side in SIDES if f"{side}_wrist" not in self.anatomy}
        names: dict[int, str] = {}
        for j in range(len(skeleton)):
            above = skeleton.parents[j]
            if j and (above not in names or above in ends):
                continue
            side, _, joint = self.role.get(j, "").partition("_")
            if joint in LINKS:
                names[j] = f"{side}_{LINKS[joint]}"
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
        q = self.clip.turns[:, j]
        if rotations.angle(rotations.product(rotations.inverse(q[:1]), q)).max(initial=0.0) < STILL:
            return Fixed()
        joint = self.role.get(j, "").partition("_")[2]
        scale = self.body.mass / 70.0
        if joint in HINGED:
            axis, off = axis_of(q)
            if off < ONE_LINE:
                effort = HINGES[joint].effort if joint in HINGES else BALLS["wrist"].effort if joint == "wrist" else 30.0
                return Revolute(axis, effort=effort * scale, damping=TOE_DAMPING * scale if joint == "toe" else 0.0)
        kind = joint if joint in BALLS else "neck" if j in self.anatomy.necks else "spine" if j in self.anatomy.spine else ""
        kind = {"knee": "hip", "elbow": "shoulder"}.get(joint, kind) or ("head" if self.role.get(j) == "head" else "shoulder")
        return Spherical(effort=BALLS[kind].effort * scale)

    def at(self, role: str) -> Array:
        """Where the joint with a role is at rest."""
        return self.rest[self.anatomy[role]]

    def put(self, j: int, part: MassProperties, *shapes: Shape) -> None:
        """Give a piece, placed in the skeleton at rest, to the link of joint j or the one that it is part of."""
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
            part = matter.together(self.parts[j])
            parent = self.clip.skeleton.parents[j]
            joint = self.joints[j]
            weight = {"mass": 0.0} if part is None else {"mass": part.mass, "center": part.center, "inertia": part.inertia}
            turned = {"rotation": self.clip.turns[0, j]} if j and isinstance(joint, Fixed) else {}
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
        hips = 0.5 * (self.at("left_hip") + self.at("right_hip"))
        neck = self.rest[self.anatomy.necks[0]] if self.anatomy.necks else self.at("head")
        up = (neck - hips) / np.linalg.norm(neck - hips)
        scale = float(np.linalg.norm(neck - hips)) / (b.neck - b.hip)
        start = hips
        navel = scale * b.length("lower_trunk")
        girdle = scale * (b.length("lower_trunk") + b.length("middle_trunk") + (1.0 - GIRDLE) * b.length("upper_trunk"))
        for name in ("lower_trunk", "middle_trunk", "upper_trunk"):
            segment = b.segment(name)
            if name == "upper_trunk":
                left = 1.0 - COLLAR * b.mass * len(self.collars()) / segment.mass
                segment = replace(segment, mass=left * segment.mass, inertia=left * segment.inertia)
            end = start + scale * segment.length * up
            for piece in matter.slices(segment, end, start):  # de Leva counts from above
                self.put(self._spine_at(float((piece.center - hips) @ up), hips, up, (navel, girdle)), piece)
            start = end
        k = b.girth
        wide = 0.5 * float(np.linalg.norm(self.at("left_hip") - self.at("right_hip")))
        across = (self.at("left_hip") - self.at("right_hip")) / (2.0 * max(wide, 1e-6))
        pelvis = hips + 0.04 * b.size * up
        right, left = (pelvis + s * 0.7 * wide * across - self.rest[0] for s in (-1, 1))
        self.shapes[0].append(Capsule.between(right, left, 0.095 * k, color=looks.SHORTS))
        girdle_at = hips + 0.84 * (neck - hips)
        j = self._spine_at(float((girdle_at - hips) @ up), hips, up, (navel, girdle))
        half = 0.5 * abs(float((self.at("left_shoulder") - self.at("right_shoulder")) @ across)) - 0.05 * k
        if half > 0.02:
            right, left = (girdle_at + s * half * across - self.rest[j] for s in (-1, 1))
            self.shapes[j].append(Capsule.between(right, left, 0.062 * k, color=looks.SHIRT))
        for low, high in ((0.38, 0.50), (0.55, 0.85)):
            a, c = (hips + share * (neck - hips) for share in (low, high))
            j = self._spine_at(float((0.5 * (a + c) - hips) @ up), hips, up, (navel, np.inf))
            half = (0.05 if low < 0.5 else 0.08) * k
            for aside in (-half * across, 0.0 * across, half * across):
                bone = Capsule.between(a + aside - self.rest[j], c + aside - self.rest[j], 0.08 * k, color=looks.SHIRT)
                self.shapes[j].append(bone)

    def _spine_at(self, t: float, hips: Array, up: Array, least_and_most: tuple[float, float]) -> int:
        """The joint of the trunk that carries what is at height t above the hips.

        The pelvis reaches up to the navel at least, and the joint that carries the arms down to where their muscles are: some
        skeletons have one in the hips, and one in the neck.
        """
        best, (navel, girdle) = 0, least_and_most
        turning = [j for j in self.anatomy.spine if j in self.names and not isinstance(self.joints[j], Fixed)]
        for j in turning:
            height = max(float((self.rest[j] - hips) @ up), navel + 1e-3 * j)
            if (min(height, girdle) if j == turning[-1] else height) <= t + 1e-9:
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
        vertex = self.crown = base + up * self._rise(base, up)
        segment = b.segment("head")
        # What is above the skull's base is the head's, wherever its joint is, and joints of the neck share what is below.
        skull = b.skull - b.neck
        most = {j: skull * k / len(self.anatomy.necks) for k, j in enumerate(self.anatomy.necks)} | {top: skull}
        turning = [j for j in (*self.anatomy.necks, top) if j in self.names and not isinstance(self.joints[j], Fixed)]
        low = vertex - segment.length * up
        for piece in matter.slices(segment, vertex, low):
            t = float((piece.center - low) @ up)
            below = [j for j in turning if min(float((self.rest[j] - base) @ up), most[j]) <= t + 1e-9]
            self.put(below[-1] if below else self.clip.skeleton.parents[self.anatomy.necks[0] if self.anatomy.necks else top], piece)
        middle = vertex - 0.11 * b.size * up
        round_head = Capsule.between(middle - 0.03 * b.size * up, middle + 0.02 * b.size * up, 0.088 * b.size, color=looks.SKIN)
        self.shapes[top].append(_moved(round_head, -self.rest[top]))
        joints = [*self.anatomy.necks, top]
        for j, above in pairwise(joints):
            bone = self.rest[above] - self.rest[j]
            if np.linalg.norm(bone) > 1e-3:
                self.shapes[j].append(Capsule.between(np.zeros(3), bone, 0.052 * b.girth, color=looks.SKIN))

    def _rise(self, base: Array, up: Array) -> float:
        """How far the crown of the head is above the first joint of the neck [m].

        A skull is above its joint, and where a skeleton tells the tip of the head, it ends there. Joints of necks say less: some begin at
        the breast bone.
        """
        b, top = self.body, self.anatomy["head"]
        skull = b.height - b.skull
        tip = float((self._tip(top, self.rest[top]) - self.rest[top]) @ up)
        return max(b.height - b.neck, float((self.rest[top] - base) @ up) + float(np.clip(tip, skull, LARGEST * skull)))

    def stands(self) -> float:
        """How tall the body is with straight legs, from its soles to the crown of its head [m]."""
        hips = 0.5 * (self.at("left_hip") + self.at("right_hip"))
        legs = [sum(float(np.linalg.norm(self.at(f"{side}_{a}") - self.at(f"{side}_{b}"))) for a, b in LEG) for side in SIDES]
        return sum(legs) / len(legs) + self.body.ankle + float((self.crown - hips)[2])

    def stubs(self) -> list[str]:
        """Names of joints of trunk and neck that are where the joint is that carries them, though one is above the other in a body."""
        skeleton = self.clip.skeleton
        upper = (*self.anatomy.spine[1:], *self.anatomy.necks, self.anatomy["head"])
        return [skeleton.names[j] for j in upper if np.linalg.norm(skeleton.offsets[j]) < 1e-3]

    def limb(self, joint: int, segment: str, end: Array, radius: float, color: looks.Color) -> None:
        """A segment from a joint to a place."""
        start = self.rest[joint]
        if np.linalg.norm(end - start) < 1e-3:
            raise MotionError(f"{self.clip.name}: the bone of {self.clip.skeleton.names[joint]!r} has no length, so no {segment} fits it.")
        bone = Capsule.between(np.zeros(3), end - start, radius * self.body.girth, color=color)
        self.put(joint, matter.along(self.body.segment(segment), start, end), bone)

    def arm(self, side: str) -> None:
        anatomy, b = self.anatomy, self.body
        shoulder, elbow = anatomy[f"{side}_shoulder"], anatomy[f"{side}_elbow"]
        self.limb(shoulder, "upper_arm", self.rest[elbow], RADII["shoulder"], looks.SKIN)
        if side in self.collars():
            self.girdle(anatomy[f"{side}_clavicle"], self.rest[shoulder])
        along = self.rest[elbow] - self.rest[shoulder]
        wrist = anatomy.joints.get(f"{side}_wrist")
        reach = b.length("forearm") * along / np.linalg.norm(along)
        end = self.rest[wrist] if wrist is not None else self._tip(elbow, self.rest[elbow] + reach)
        self.limb(elbow, "forearm", end, RADII["elbow"], looks.SKIN)
        along = (end - self.rest[elbow]) / np.linalg.norm(end - self.rest[elbow])
        hand = wrist if wrist is not None else elbow
        knuckles = end + b.length("hand") * along
        shape = Capsule.between(end - self.rest[hand], knuckles - self.rest[hand], RADII["wrist"] * b.size, color=looks.SKIN)
        self.put(hand, matter.along(b.segment("hand"), end, knuckles), shape)

    def collars(self) -> list[str]:
        """Sides whose collar bone turns."""
        found = {side: self.anatomy.joints.get(f"{side}_clavicle") for side in SIDES}
        return [side for side, j in found.items() if j is not None and j in self.joints and not isinstance(self.joints[j], Fixed)]

    def girdle(self, clavicle: int, shoulder: Array) -> None:
        """A collar bone that turns takes its flesh with it."""
        start, weight = self.rest[clavicle], COLLAR * self.body.mass
        end = shoulder if np.linalg.norm(shoulder - start) > 1e-3 else start + np.array((0.0, 0.0, 0.01))
        bone = Capsule.between(start, end, RADII["clavicle"] * self.body.girth)
        m, center, inertia = bone.mass_properties(1.0)
        self.put(clavicle, MassProperties(weight, center, inertia * weight / m))

    def _tip(self, j: int, other: Array) -> Array:
        """The end of a joint's limb, if the skeleton has one; the other place otherwise."""
        for end in self.clip.skeleton.ends:
            if end.joint == j and np.linalg.norm(end.offset) > 0.02:
                return self.rest[j] + end.offset
        return other

    def leg(self, side: str) -> None:
        anatomy = self.anatomy
        hip, knee, ankle = (anatomy[f"{side}_{joint}"] for joint in ("hip", "knee", "ankle"))
        self.limb(hip, "thigh", self.rest[knee], RADII["hip"], looks.SHORTS)
        self.limb(knee, "shank", self.rest[ankle], RADII["knee"], looks.SKIN)
        self.foot(side, ankle)

    def foot(self, side: str, ankle: int) -> None:
        """Sole and mass of a foot, parted where toes turn."""
        b, (frame, toes) = self.body, self.standing(side)
        toe = self.anatomy.joints.get(f"{side}_toe")
        length, depth, ball = b.length("foot"), self.depths[side], self._ball(side, frame)
        segment = b.segment("foot")
        apart = toe is not None and toe in self.names and not isinstance(self.joints[toe], Fixed)
        thick, wide = 0.018 * b.size, 0.082 * b.size
        ends = (-b.heel, ball - CLEAR * b.size if apart else length - b.heel)
        box = Box(
            size=np.array((ends[1] - ends[0], wide, thick)),
            position=frame @ (0.5 * (ends[0] + ends[1]), 0.0, thick / 2 - depth),
            rotation=frame,
            color=looks.SOLE,
        )
        heel, tip = (self.rest[ankle] + frame @ (x, 0.0, -0.5 * depth) for x in (-b.heel, length - b.heel))
        mine, others = [], []
        for piece in matter.slices(segment, heel, tip):
            (others if apart and float((piece.center - self.rest[ankle]) @ frame[:, 0]) > ball else mine).append(piece)
        for piece in mine:
            self.put(ankle, piece)
        self.shapes[ankle].append(box)
        if apart and toe is not None:
            for piece in others:  # placed as the foot stands, not as it rests: from the ball, along the toes' own axes
                local = frame.T @ (piece.center - self.rest[ankle]) - (ball, 0.0, 0.0)
                turn = toes @ frame.T
                self.parts[toe].append(MassProperties(piece.mass, toes @ (local[0], 0.0, 0.3 * local[2]), turn @ piece.inertia @ turn.T))
            drop = depth + float((self.rest[toe] - self.rest[ankle]) @ frame[:, 2])
            rest = length - b.heel - ball
            begin = CLEAR * b.size + _before_hinge(self.joints[toe], toes, 0.5 * wide, 0.3 * rest)
            middle = toes @ (0.5 * (begin + rest), 0.0, thick / 2 - drop)
            self.shapes[toe].append(Box(size=np.array((rest - begin, wide, thick)), position=middle, rotation=toes, color=looks.SOLE))

    def _ball(self, side: str, frame: Array) -> float:
        """How far in front of the ankle toes begin."""
        toe = self.anatomy.joints.get(f"{side}_toe")
        b = self.body
        most = b.length("foot") - b.heel - 0.02 * b.size
        return most if toe is None else float(np.clip((self.rest[toe] - self.at(f"{side}_ankle")) @ frame[:, 0], 0.3 * most, most))

    def standing(self, side: str) -> tuple[Array, Array]:
        """Axes of a foot and of its toes as it stands flat: x to the toes, z up. Seen from their joints, in frames where it does."""
        clip, ankle = self.clip, self.anatomy[f"{side}_ankle"]
        toe = self.anatomy.joints.get(f"{side}_toe")
        q, chosen = clip.orientations, self._stands(side)
        up = np.array((0.0, 0.0, 1.0))
        if chosen.sum() < FEW:
            normal = tip = up  # at rest
        else:
            normal, tip = (_mean_up(q[chosen, j]) for j in (ankle, toe if toe is not None else ankle))
        forward = self._tip(ankle, self.rest[ankle] + (0.1, 0.0, 0.0)) - self.rest[ankle]
        if toe is not None:
            forward = self.rest[toe] - self.rest[ankle]
        frame = _axes(forward, normal)
        if toe is None:
            return frame, frame
        ahead = rotations.turned(rotations.inverse(clip.turns[chosen, toe]), frame[:, 0]).mean(axis=0) if chosen.any() else frame[:, 0]
        return frame, _axes(ahead, tip)

    def _stands(self, side: str) -> Array:
        """In which frames a foot stands: its ankle is slow, and low."""
        clip = self.clip
        if len(clip) <= 2:
            return np.arange(len(clip)) == 0
        x = clip.positions[:, self.anatomy[f"{side}_ankle"]]
        speed = np.linalg.norm(np.gradient(x, clip.times, axis=0), axis=1)
        return (speed < SLOW) & (x[:, 2] < x[:, 2].min() + LOW)

    def _depths(self) -> dict[str, float]:
        """How deep soles are below ankles [m].

        Skeletons do not say it, and often put one ankle higher than the other. Feet that stand on one floor do.
        """
        stands = {side: self._stands(side) for side in SIDES}
        depth = self.body.ankle
        if len(self.clip) <= 2 or any(chosen.sum() < FEW for chosen in stands.values()):
            return dict.fromkeys(SIDES, depth)
        heights = {side: float(np.median(self.clip.positions[stands[side], self.anatomy[f"{side}_ankle"], 2])) for side in SIDES}
        middle = sum(heights.values()) / len(heights)
        if any(abs(h - middle) > UNEVEN for h in heights.values()):
            return dict.fromkeys(SIDES, depth)  # one stands on a step
        return {side: depth + h - middle for side, h in heights.items()}

    def sites(self, builder: ModelBuilder, side: str) -> None:
        """Heel, sole and toe, as the built-in figures have them."""
        b, (frame, _) = self.body, self.standing(side)
        foot = self.names[self.anatomy[f"{side}_ankle"]]
        for name, x in (("heel", -b.heel), ("sole", b.length("foot") / 2 - b.heel), ("toe", b.length("foot") - b.heel)):
            builder.site(f"{side}_{name}", foot, frame @ (x, 0.0, -self.depths[side]))


def _before_hinge(joint: Joint, axes: Array, half: float, most: float) -> float:
    """How far in front of their joint toes begin for no corner to be behind a hinge that is askew.

    It would have to go through the ground for raised toes to lie down.
    """
    if not isinstance(joint, Revolute):
        return 0.0
    along, across, _ = np.abs(axes.T @ joint.elements[0].axis)
    return float(min(half * along / max(across, 1e-9), most))


def _mean_up(q: Array) -> Array:
    mean = rotations.turned(rotations.inverse(q), np.array((0.0, 0.0, 1.0))).mean(axis=0)
    return mean / np.linalg.norm(mean)


def _axes(forward: Array, normal: Array) -> Array:
    """Rotation whose z is the normal and whose x is as much forward as that allows."""
    x = forward - (forward @ normal) * normal
    x = x / max(float(np.linalg.norm(x)), 1e-9)
    return np.stack((x, np.cross(normal, x), normal), axis=1)


def _moved(shape: Capsule, by: Array) -> Capsule:
    return Capsule(radius=shape.radius, length=shape.length, position=shape.position + by, rotation=shape.rotation, color=shape.color)
