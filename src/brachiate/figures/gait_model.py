"""Gait model: legs with ankle, subtalar and toe joints; trunk, head and arms as one link.

Joints are those of OpenSim's gait2354, with oblique axes at the ankle [Delp et al. 1990, IEEE Trans. Biomed. Eng. 37(8)].
Masses are de Leva's.
"""

from __future__ import annotations

import numpy as np

from brachiate import validation
from brachiate.figures import human_shapes, segment_masses
from brachiate.figures.human_proportions import HumanProportions, MassProperties
from brachiate.figures.joint_limits import BALLS, HINGES
from brachiate.figures.poses import SIDES
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Joint, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape
from brachiate.validation import Array

# Delp's model of 1.80 m, left side [m]: x forward, y left, z up, from the pelvis origin between the anterior superior iliac spines.
DELP = 1.80
HIP = (-0.0707, 0.0835, -0.0661)
BACK = (-0.1007, 0.0, 0.0815)
HEEL = (-0.04877, 0.00792, -0.04195)  # from the ankle
TOES = (0.1788, 0.00108, -0.002)  # from the heel
# Axes of the left side's joints
ANKLE = (0.10501355, -0.97912632, 0.17402245)
SUBTALAR = (-0.78717961, 0.12094949, -0.60474746)
TOE = (0.5809544, -0.81393611, 0.0)
SUBTALAR_EFFORT, TOE_EFFORT = 60.0, 40.0  # [N·m] for 70 kg
REFERENCE_MASS = 70.0  # [kg]


def gait23(height: float = 1.75, mass: float = 70.0, sex: str = "male", *, thigh: float | None = None, shank: float | None = None) -> Model:
    """Figure of 12 links with the 23 coordinates of OpenSim's gait2354: nq 27, nv 23.

    Joints: root, back, then right and left hip (spherical), knee, ankle, subtalar, toe. The root is between the anterior superior
    iliac spines of the pelvis.

    Args:
        height: Stature [m], 0.5 to 2.5.
        mass: Mass [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``: which of de Leva's tables [DL] is scaled.
        thigh: Distance from hip to knee [m]; by default from the height.
        shank: Distance from knee to ankle [m]; by default from the height.
    """
    body = HumanProportions(height, mass, sex)
    size = body.height / DELP
    legs = [
        body.length(name) if given is None else validation.number(given, name, minimum=0.1, maximum=1.0)
        for name, given in (("thigh", thigh), ("shank", shank))
    ]
    hip = size * np.array(HIP)
    pelvis = sum(legs) + body.ankle - hip[2]
    b = ModelBuilder("gait23")
    part = body.part("lower_trunk").moved(x=hip[0], z=hip[2] + body.waist - body.hip)
    b.link(
        "pelvis", joint=Free(effort=0.0), joint_name="root", at=(0, 0, pelvis), mass=part.mass, center=part.center, inertia=part.inertia,
        shapes=[Capsule.between(hip * (1, -0.7, 1), hip * (1, 0.7, 1), 0.095 * body.girth, color=human_shapes.SHORTS)],
    )  # fmt: skip
    _trunk(b, body, size, hip)
    for side, s in SIDES.items():
        _leg(b, body, side, s, size, legs)
    return b.build()


def _trunk(b: ModelBuilder, body: HumanProportions, size: float, hip: Array) -> None:
    """Add the trunk: everything above the pelvis, with hanging arms."""
    back = size * np.array(BACK)
    above = hip[2] - back[2] - body.hip  # from heights above the ground, standing, to heights above this joint
    pieces = [
        body.abdomen_part().moved(z=body.waist),
        body.chest_part().moved(z=body.ribs),
        body.head_part().moved(z=body.neck),
    ]
    for s in SIDES.values():
        y = s * body.half_shoulders
        pieces += [
            body.part("upper_arm").moved(y=y, z=body.shoulder),
            body.part("forearm").moved(y=y, z=body.shoulder - body.length("upper_arm")),
            body.part("hand").moved(y=y, z=body.shoulder - body.length("upper_arm") - body.length("forearm")),
        ]
    part = segment_masses.combine(pieces)
    assert part is not None
    part = part.moved(x=hip[0] - back[0], z=above)
    x = hip[0] - back[0]
    chest = [np.array((x, y, body.ribs + above + 0.1 * body.size)) for y in (-0.08 * body.size, 0.08 * body.size)]
    waist = np.array((x, 0.0, body.waist + above))
    head = [np.array((x, 0.0, body.height + above - down * body.size)) for down in (0.17, 0.09)]
    b.link(
        "torso", parent="pelvis", joint=Spherical(effort=BALLS["spine"].effort * body.mass / REFERENCE_MASS), joint_name="back", at=back,
        mass=part.mass, center=part.center, inertia=part.inertia,
        shapes=[
            Capsule.between(chest[0], chest[1], 0.11 * body.girth, color=human_shapes.SHIRT),
            Capsule.between(waist, 0.5 * (chest[0] + chest[1]), 0.1 * body.girth, color=human_shapes.SHIRT),
            Capsule.between(head[0], head[1], 0.085 * body.size, color=human_shapes.SKIN),
        ],
    )  # fmt: skip


def _leg(b: ModelBuilder, body: HumanProportions, side: str, s: float, size: float, legs: list[float]) -> None:
    mirror = np.array((1.0, s, 1.0))
    axial = np.array((s, 1.0, s))  # rotation axes are axial vectors: mirrored with opposite sign
    scale = body.mass / REFERENCE_MASS
    hip, heel, toes = (size * np.array(place) * mirror for place in (HIP, HEEL, TOES))
    knee, ankle = (np.array((0.0, 0.0, -length)) for length in legs)
    origin = np.zeros(3)

    def link(name: str, parent: str, joint: tuple[str, Joint], at: Array, part: MassProperties | None, *shapes: Shape) -> None:
        weight = {} if part is None else part._asdict()
        b.link(f"{side}_{name}", parent=parent, joint=joint[1], joint_name=f"{side}_{joint[0]}", at=at, shapes=list(shapes), **weight)

    bone = Capsule.between(origin, knee, 0.055 * body.girth, color=human_shapes.SHORTS)
    joint: Joint = Spherical(effort=BALLS["hip"].effort * scale)
    link("thigh", "pelvis", ("hip", joint), hip, segment_masses.along(body.segment("thigh"), origin, knee), bone)
    bone = Capsule.between(origin, ankle, 0.038 * body.girth, color=human_shapes.SKIN)
    joint = Revolute("y", effort=HINGES["knee"].effort * scale)
    link("shank", f"{side}_thigh", ("knee", joint), knee, segment_masses.along(body.segment("shank"), origin, ankle), bone)
    joint = Revolute(np.array(ANKLE) * axial, effort=BALLS["ankle"].effort * scale)
    link("talus", f"{side}_shank", ("ankle", joint), ankle, None)
    length, depth, across = body.length("foot"), body.ankle + heel[2], -heel[1]
    back = -body.heel - heel[0]  # rear end of the sole, from the heel's origin
    foot, front = _foot(body, np.array((back, across, -0.5 * depth)), toes)
    joint = Revolute(np.array(SUBTALAR) * axial, effort=SUBTALAR_EFFORT * scale)
    link("foot", f"{side}_talus", ("subtalar", joint), heel, foot, _sole(body, back, toes[0], across, depth))
    joint = Revolute(np.array(TOE) * axial, effort=TOE_EFFORT * scale)
    sole = _sole(body, 0.0, back + length - toes[0], across - toes[1], depth + toes[2])
    link("toes", f"{side}_foot", ("toe", joint), toes, front, sole)
    for name, x in (("heel", back), ("sole", back + length / 2), ("toe", back + length)):
        b.site(f"{side}_{name}", f"{side}_foot", (x, across, -depth))


def _foot(body: HumanProportions, start: Array, toes: Array) -> tuple[MassProperties | None, MassProperties | None]:
    """Mass properties of the foot and of its toes, each relative to its own joint."""
    end = start + np.array((body.length("foot"), 0.0, 0.0))
    pieces = segment_masses.slices(body.segment("foot"), start, end)
    behind = segment_masses.combine(piece for piece in pieces if piece.center[0] <= toes[0])
    return behind, segment_masses.combine(piece.moved(*(-toes)) for piece in pieces if piece.center[0] > toes[0])


def _sole(body: HumanProportions, start: float, end: float, across: float, depth: float) -> Box:
    thick = 0.018 * body.size
    size = np.array((end - start, 0.082 * body.size, thick))
    return Box(size=size, position=np.array((0.5 * (start + end), across, thick / 2 - depth)), color=human_shapes.SOLE)
