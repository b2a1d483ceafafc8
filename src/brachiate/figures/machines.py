"""Actuated mechanisms with closed loops: a five-bar, a Stewart platform and a scissor lift."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.figures.chains import AMBER, BLUE, GRAY
from brachiate.figures.objects import PAINT, STEEL, WOOD
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Compound, Prismatic, Revolute, Spherical, Universal
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Shape, Sphere, frame_along
from brachiate.validation import Array

Color = tuple[float, float, float, float]

MAX_STAGES = 1000
MAX_BAR_ANGLE = np.radians(70.0)  # of a scissor lift, above the ground


def fivebar(base: float = 0.16, crank: float = 0.20, rod: float = 0.30, reach: float = 0.34, mass: float = 0.4) -> Model:
    """Five-bar, a planar parallel robot: two actuated cranks whose rods meet in one tip, two degrees of freedom.

    It lies on the ground and moves in the plane z = 0. ``left_crank`` and ``right_crank`` turn about z at y = ± base/2 and have
    motors; ``left_rod`` and ``right_rod`` turn at their ends, and the loop ``tip`` pins the rods together. Crank angles are measured
    from straight ahead (x), rod angles from their cranks. In the plane, the mobility is 3·4 - 2·5 = 2. In the pose ``reference`` the
    site ``tip`` is straight ahead, and both elbows point outwards.

    Args:
        base: Distance of the cranks [m].
        crank: Length of the cranks [m].
        rod: Length of the rods [m].
        reach: Distance of the tip in front of the cranks, in the pose ``reference`` [m].
        mass: Mass of a rod [kg]; cranks have the same mass per length.
    """
    half = ranges.length(base, "base of the five-bar") / 2
    crank = ranges.length(crank, "length of the cranks")
    rod = ranges.length(rod, "length of the rods")
    reach = ranges.length(reach, "reach of the five-bar")
    mass = ranges.mass(mass, "mass of a rod")
    outwards, back = _elbow(half, crank, rod, reach)
    r = 0.05 * min(crank, rod)  # radius of the bars
    b = ModelBuilder("fivebar")
    beam = Box(size=np.array((3 * r, 2 * half, r)), position=np.array((0, 0, r / 2)), color=PAINT)
    b.link("base", shapes=[beam, *(_pin((0, y), 0, r, 2.6 * r, PAINT) for y in (half, -half))])
    for side, y, layer in (("left", half, 4.5 * r), ("right", -half, 6.6 * r)):  # the rods lie one above the other
        arm = [_bar(crank, 2.3 * r, r, BLUE), _pin((0, 0), r, 3.8 * r, 0.7 * r), _pin((crank, 0), 2.3 * r, layer + 1.5 * r, 0.7 * r)]
        b.link(f"{side}_crank", parent="base", joint=Revolute("z", effort=50.0 * mass * (crank + rod)), at=(0, y, 0),
               **_slender(mass * crank / rod, crank), shapes=arm)  # fmt: skip
        b.link(f"{side}_rod", parent=f"{side}_crank", joint=Revolute("z", effort=0.0), at=(crank, 0, 0),
               **_slender(mass, rod), shapes=_bar(rod, layer, 0.9 * r, AMBER))  # fmt: skip
    b.loop("tip", Revolute("z"), "left_rod", "right_rod", first_at=(rod, 0, 0), second_at=(rod, 0, 0))
    b.site("tip", "left_rod", (rod, 0, 0))
    b.pose("reference", {"left_crank": outwards, "left_rod": back, "right_crank": -outwards, "right_rod": -back})
    return b.build()


def _elbow(half: float, crank: float, rod: float, reach: float) -> tuple[float, float]:
    """Inverse kinematics: angles of the left crank and its rod with the tip straight ahead and the elbow outwards."""
    far = np.hypot(half, reach)
    if not abs(crank - rod) < far < crank + rod:
        raise ArgumentError(
            f"A crank of {crank:g} m and a rod of {rod:g} m reach from {abs(crank - rod):g} m to {crank + rod:g} m, "
            f"and the tip is {far:g} m away. Change reach=, crank= or rod=."
        )
    inside = np.arccos((crank**2 + far**2 - rod**2) / (2 * crank * far))
    outwards = float(inside - np.arctan2(half, reach))
    tip = np.array((reach, -half)) - crank * np.array((np.cos(outwards), np.sin(outwards)))
    return outwards, float(np.arctan2(tip[1], tip[0])) - outwards


def stewart(
    base: float = 0.60, top: float = 0.40, height: float = 0.75, spread: float = 12.0, stroke: float = 0.30, mass: float = 20.0
) -> Model:
    """Stewart platform: a ``platform`` on six legs of variable length, six degrees of freedom.

    Leg i is ``barrel<i>``, on a universal joint at the base, and ``piston<i>``, which slides out of it along z with a motor
    (joints ``leg<i>`` and ``length<i>``). In the tree, the platform is on the tip of leg 1 by a ball joint (``platform``); the loops
    ``ball2`` to ``ball6`` connect it to the others: 5·3 constraint rows, where a free platform would need 6·3. 21 velocities less 15
    rows are 6 degrees of freedom, as many as motors. In the pose ``reference`` it is level above the base, with every coordinate at
    zero and all legs at the middle of their stroke. The frame of the platform is at its center, in the plane of its joints.

    Joints are in pairs: those of the base ``spread`` to either side of 0°, 120° and 240°, those of the platform to either side
    of 60°, 180° and 300°, and each leg goes to the nearest one.

    Args:
        base: Radius of the circle of the lower joints [m].
        top: Radius of the circle of the upper joints [m].
        height: Height of the upper joints above the lower ones [m].
        spread: Half of the angle between the two joints of a pair [°].
        stroke: Stroke of the legs [m].
        mass: Mass of the platform [kg]; legs have a tenth of it each.
    """
    base = ranges.length(base, "radius of the base")
    top = ranges.length(top, "radius of the platform")
    height = ranges.length(height, "height of the platform")
    spread = np.radians(validation.number(spread, "spread of the joints", minimum=1.0, maximum=29.0))
    stroke = ranges.length(stroke, "stroke of the legs")
    mass = ranges.mass(mass, "mass of the platform")
    pairs = np.arange(3) * 2 * np.pi / 3
    above = _circle(np.r_[pairs - np.pi / 3 + spread, pairs + np.pi / 3 - spread], top, 0.0)
    below = _circle(np.r_[pairs - spread, pairs + spread], base, -height)
    long = float(np.linalg.norm(above[0] - below[0]))
    if stroke >= 0.45 * long:
        raise ArgumentError(f"A stroke of {stroke:g} m is too long for legs of {long:.3g} m. Choose less than 0.45 of their length.")
    r, slab = 0.04 * long, 0.06 * base  # radius of the barrels, thickness of the base
    below[:, 2] = slab + 2 * r
    b = ModelBuilder("stewart")
    feet = [_pin(p[:2], slab, p[2], 0.8 * r, GRAY) for p in below]
    b.link("base", shapes=[_pin((0, 0), 0, slab, 1.2 * base, PAINT), *feet])
    effort = 10.0 * mass * 9.81 / 6
    tube = Capsule.between((0, 0, 0), (0, 0, long / 2), r, color=BLUE)
    stick = [Capsule.between((0, 0, -(long + stroke) / 2), (0, 0, 0), 0.55 * r, color=STEEL), Sphere(radius=1.1 * r, color=GRAY)]
    lift = np.array((0, 0, slab + 2 * r + height))
    for i, (low, high) in enumerate(zip(below, above + lift, strict=True), start=1):
        b.link(f"barrel{i}", parent="base", joint=Universal("x", "y", effort=0.0), joint_name=f"leg{i}", at=low,
               rotation=frame_along(high - low), mass=0.07 * mass, shapes=tube)  # fmt: skip
        b.link(f"piston{i}", parent=f"barrel{i}", joint=Prismatic("z", limits=(-stroke / 2, stroke / 2), effort=effort),
               joint_name=f"length{i}", at=(0, 0, long), mass=0.03 * mass, shapes=stick)  # fmt: skip
    level = frame_along(above[0] + lift - below[0]).T
    thick = 0.06 * top
    shapes = [_pin((0, 0), 1.5 * r, 1.5 * r + thick, 1.15 * top, WOOD), *(_pin(p[:2], 0, 1.5 * r, 0.7 * r, GRAY) for p in above)]
    b.link("platform", parent="piston1", joint=Spherical(anchor=above[0], effort=0.0), at=-level @ above[0], rotation=level,
           mass=mass, shapes=shapes)  # fmt: skip
    for i in range(2, 7):
        b.loop(f"ball{i}", Spherical(), f"piston{i}", "platform", second_at=above[i - 1])
    b.site("top", "platform", (0, 0, 1.5 * r + thick))
    b.pose("reference", {})
    return b.build()


def scissor_lift(stages: int = 3, length: float = 1.2, width: float = 0.6, angle: float = 30.0, mass: float = 30.0) -> Model:
    """Scissor lift: stages of crossed bars that carry a ``platform``; one degree of freedom.

    It moves in the x-z plane. In stage i ``rising<i>`` leans to +x and ``falling<i>`` to -x, and the loop ``cross<i>`` pins
    them together in the middle. rising1 turns at the fixed ``base``, falling1 on the ``slider``, which a motor moves along x; the bars
    of other stages turn at the upper ends of the bars below, and the platform at the upper end of the last falling one. The loop
    ``rollers`` lets the platform slide and turn on the other upper end. In the plane, 2·stages + 2 velocities less
    2·stages + 1 rows are one degree of freedom. Each bar represents one at either side (y).

    With every coordinate at zero the bars lie flat, a singular posture in which the lift cannot rise. The slider's coordinate is
    its displacement inwards from there. Poses are ``reference``, ``down`` (10°) and ``up`` (60°).

    Args:
        stages: Number of pairs of bars.
        length: Length of the bars [m].
        width: Width of the platform [m].
        angle: Angle of the bars above the ground in the pose ``reference`` [°].
        mass: Mass of the platform [kg]; a bar has a tenth of it, the slider a twentieth.
    """
    stages = validation.integer(validation.number(stages, "number of stages", minimum=1, maximum=MAX_STAGES), "number of stages", minimum=1)
    length = ranges.length(length, "length of the bars")
    width = ranges.length(width, "width of the platform")
    angle = np.radians(validation.number(angle, "angle of the bars", minimum=1.0, maximum=70.0))
    mass = ranges.mass(mass, "mass of the platform")
    r = 0.022 * length  # half of a bar's height
    outer, inner = width / 2 - 1.2 * r, width / 2 - 3.6 * r
    if inner <= r:
        raise ArgumentError(f"A platform of {width:g} m is too narrow for bars of {length:g} m. Choose more than {9.2 * r:.3g} m.")
    b = ModelBuilder("scissor_lift")
    floor = 4 * r  # height of the lowest joints
    middle, wide = (outer + inner) / 2, outer - inner + 2 * r
    rails = _pair((1.1 * length, wide, 2 * r), (length / 2, middle, r), PAINT)
    cheeks = _pair((4 * r, 2 * r, 2 * r), (0, outer, 2.5 * r), PAINT)
    b.link("base", shapes=[*rails, *cheeks])
    drive = Prismatic("-x", limits=(0.0, _inwards(length, MAX_BAR_ANGLE)), effort=20.0 * stages * mass * 9.81)
    shoes = _pair((5 * r, 2 * r, 2 * r), (0, inner, -r), GRAY)
    b.link("slider", parent="base", joint=drive, at=(length, 0, floor), mass=mass / 20, shapes=[*shoes, _axle(0, inner, 0.6 * r)])
    _scissor_bars(b, stages, length, mass / 10, (outer, inner), r, floor)
    left, right, at_left, at_right = f"falling{stages}", f"rising{stages}", np.array((-length, 0, 0)), np.array((length, 0, 0))
    deck = Box(size=np.array((1.1 * length, width, r)), position=np.array((length / 2, 0, 2.5 * r)), color=WOOD)
    tracks = _pair((1.1 * length, wide, r), (length / 2, middle, 1.5 * r), PAINT)
    b.link(
        "platform",
        parent=left,
        joint=Revolute("-y", effort=0.0),
        at=at_left,
        mass=mass,
        shapes=[deck, *tracks, *_railing(length, width, r)],
    )
    rollers = Compound({"rollers_slide": Prismatic("-x"), "rollers_turn": Revolute("-y")})
    b.loop("rollers", rollers, "platform", right, first_at=(length, 0, 0), second_at=at_right)
    b.site("top", "platform", (length / 2, 0, 3 * r))
    for pose, alpha in (("reference", angle), ("down", np.radians(10.0)), ("up", np.radians(60.0))):
        bars = {f"{kind}{i}": alpha if i == 1 else 2 * alpha for i in range(1, stages + 1) for kind in ("rising", "falling")}
        b.pose(pose, {"slider": _inwards(length, alpha), **bars, "platform": alpha})
    return b.build()


def _scissor_bars(b: ModelBuilder, stages: int, length: float, mass: float, sides: tuple[float, float], r: float, floor: float) -> None:
    """Add the bars of a scissor lift, stage by stage; ``sides``: y of rising and falling bars, ``floor``: height of the lowest joints."""
    outer, inner = sides
    size = (length + 2 * r, 1.6 * r, 2 * r)
    rising = [*_pair(size, (length / 2, outer, 0), BLUE), *(_axle(x, outer, 0.6 * r) for x in (0, length / 2, length))]
    falling = _pair(size, (-length / 2, inner, 0), AMBER)
    left, right, at_left, at_right = "base", "slider", np.array((0, 0, floor)), np.zeros(3)
    for i in range(1, stages + 1):
        b.link(f"rising{i}", parent=left, joint=Revolute("-y", effort=0.0), at=at_left, mass=mass, shapes=rising)
        b.link(f"falling{i}", parent=right, joint=Revolute("y", effort=0.0), at=at_right, mass=mass, shapes=falling)
        b.loop(f"cross{i}", Revolute("y"), f"rising{i}", f"falling{i}", first_at=(length / 2, 0, 0), second_at=(-length / 2, 0, 0))
        left, right, at_left, at_right = f"falling{i}", f"rising{i}", np.array((-length, 0, 0)), np.array((length, 0, 0))


def _inwards(length: float, angle: float) -> float:
    """Displacement of the slider of a scissor lift from where its bars lie flat."""
    return float(length * (1 - np.cos(angle)))


def _railing(length: float, width: float, r: float) -> list[Shape]:
    """Hand rails around a platform."""
    x, y, low, high = 0.53 * length, width / 2 - r, 3 * r, 3 * r + 0.4 * length
    corners = [(length / 2 + sx * x, sy * y) for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    posts = [Capsule.between((*c, low), (*c, high), 0.4 * r, color=STEEL) for c in corners]
    return [*posts, *(Capsule.between((*c, high), (*d, high), 0.4 * r, color=STEEL) for c, d in zip(corners, corners[1:] + corners[:1]))]


def _pair(size: ArrayLike, at: tuple[float, float, float], color: Color) -> list[Shape]:
    """Two boxes, one at either side of the plane y = 0."""
    return [Box(size=np.array(size), position=np.array((at[0], s * at[1], at[2])), color=color) for s in (-1, 1)]


def _axle(x: float, half: float, radius: float) -> Shape:
    """Axle along y."""
    return Cylinder(radius=radius, length=2 * half, position=np.array((x, 0, 0)), rotation=frame_along("y"), color=STEEL)


def _bar(length: float, height: float, radius: float, color: Color) -> Shape:
    """Rod along x, in a layer above its link's plane."""
    return Capsule.between((0, 0, height), (length, 0, height), radius, color=color)


def _pin(at: ArrayLike, bottom: float, top: float, radius: float, color: Color = STEEL) -> Shape:
    """Upright cylinder at a point of the plane."""
    return Cylinder(radius=radius, length=top - bottom, position=np.array((*np.asarray(at, float), (bottom + top) / 2)), color=color)


def _slender(mass: float, length: float) -> dict[str, Any]:
    """Mass, center and inertia of a thin rod along x."""
    across = mass * length**2 / 12
    return {"mass": mass, "center": (length / 2, 0, 0), "inertia": (0.0, across, across)}


def _circle(angles: Array, radius: float, height: float) -> Array:
    """Points (n, 3) on a horizontal circle, alternating between the two halves of ``angles``."""
    order = np.arange(len(angles)).reshape(2, -1).T.ravel()
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(len(angles), height)], axis=1)[order]
