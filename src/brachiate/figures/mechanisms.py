"""Published closed mechanisms with reference solutions: four-bars, Andrews' squeezing mechanism, Bricard's mechanism.

Coordinates are those of the sources, so gravity, if any, is along -y: ``World(gravity=(0, -9.81, 0))``. The planar ones move in the
plane z = 0; their bars are drawn in layers above it, on a base that lies on the ground.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.figures.chains import AMBER, BLUE, GREEN
from brachiate.figures.objects import PAINT, PALE, STEEL
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Compound, Prismatic, Revolute
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Shape, frame_along
from brachiate.validation import Array

Color = tuple[float, float, float, float]

MAX_FOURBARS = 10_000
SQUEEZER_STIFFNESS, SQUEEZER_REST = 4530.0, 0.07785  # of the spring in Andrews' mechanism [N/m, m]


def fourbar(n: int = 1) -> Model:
    """Row of ``n`` four-bars, the N-four-bar mechanism of the IFToMM benchmarks (A02): one degree of freedom.

    Cranks ``crank0`` to ``crank<n>`` turn about z at x = 0, 1, ..., n; ``coupler<i>`` turns at the tip of crank i-1, and the loop
    ``pin<i>`` connects its end to the tip of crank i. Each of the 2n + 1 is a thin rod of 1 m and 1 kg. In the plane, the mobility
    is 3 (2n + 1) - 2 (3n + 1) = 1; in the singular posture with all rods in line, it is n + 1.

    The benchmark starts in the pose ``reference``, cranks upright (1.57 rad) and couplers level, and with the site ``B0`` at the tip
    of crank 0 moving at 1 m/s along +x: cranks at -1 rad/s, couplers at +1 rad/s relative to them; gravity is along -y. As the
    couplers only translate, crank angles satisfy (n + (n + 1)/3) θ̈ = -(n + (n + 1)/2) g cos θ: after 10 s they are at -30.1798008602 rad
    for n = 2, and at -30.0266374172 rad for n = 40.

    Args:
        n: Number of four-bars.
    """
    n = validation.integer(validation.number(n, "number of four-bars", minimum=1, maximum=MAX_FOURBARS), "number of four-bars", minimum=1)
    across = 1 / 12
    rod = {"mass": 1.0, "center": (0.5, 0, 0), "inertia": (0.0, across, across)}
    b = ModelBuilder(f"fourbar{n}")
    feet = [Box(size=np.array((0.22, 0.16, 0.04)), position=np.array((i, 0, 0.02)), color=PAINT) for i in range(n + 1)]
    rail = Box(size=np.array((n, 0.08, 0.03)), position=np.array((n / 2, 0, 0.015)), color=PAINT)
    b.link("base", shapes=[rail, *feet, *(_pin((i, 0), 0.04, 0.13, 0.022) for i in range(n + 1))])
    for i in range(n + 1):
        shapes = [_bar((0, 0), (1, 0), 0.08, 0.035, BLUE), _pin((1, 0), 0.08, 0.21, 0.022)]
        b.link(f"crank{i}", parent="base", joint=Revolute("z", effort=0.0), at=(i, 0, 0), shapes=shapes, **rod)
    for i in range(1, n + 1):
        shapes = _bar((0, 0), (1, 0), 0.155, 0.03, AMBER)
        b.link(f"coupler{i}", parent=f"crank{i - 1}", joint=Revolute("z", effort=0.0), at=(1, 0, 0), shapes=shapes, **rod)
        b.loop(f"pin{i}", Revolute("z"), f"crank{i}", f"coupler{i}", first_at=(1, 0, 0), second_at=(1, 0, 0))
    b.site("B0", "crank0", (1, 0, 0))
    upright = {f"crank{i}": np.pi / 2 for i in range(n + 1)}
    b.pose("reference", upright | {f"coupler{i}": -np.pi / 2 for i in range(1, n + 1)})
    return b.build()


def andrews() -> Model:
    """Andrews' squeezing mechanism: seven planar bodies with one degree of freedom, a spring and a motor [HW].

    Sizes, masses and the start are those of E. Hairer, G. Wanner: Solving ordinary differential equations II, VII.7 [HW], also
    in the IFToMM benchmarks (A03). Links ``K1`` to ``K7`` turn about z by their angles β, Θ, γ, Φ, δ, Ω, ε, which are the
    joints ``beta`` to ``epsilon``. K1, K3, K5 and K7 turn at fixed points, K2, K4 and K6 at the tips of K1, K5 and K7; the loops
    ``K3_K2``, ``K4_K2`` and ``K6_K2`` pin three tips to that of K2. In the plane, the mobility is 3·7 - 2 (7 + 3) = 1.

    The spring (4530 N/m, slack at 0.07785 m) pulls from the fixed point C at the point D of K3. It is the loop ``spring``: an angle at
    C, the length, an angle at D. It constrains nothing in addition to the hinges. Both angles are 0 in the pose ``reference``,
    in which the published run starts at rest. Inertia about x and y has no effect.

    There is no gravity in that run, and a motor drives ``beta`` with a constant 0.033 N·m: set both in the world. At the start
    β̈ = 14222.44391995 rad/s² and Θ̈ = -10666.83293997 rad/s².
    """
    O, A, B, C = (0.0, 0.0), (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    D = (0.020, -0.018)  # in K3
    tips = {"K2": (-0.028, 0.0), "K3": (0.0, -0.035), "K4": (0.0, -0.020), "K6": (0.020, 0.0)}  # that meet in one point
    bodies = (  # link, parent, joint, position in the parent, mass [kg], inertia about z [kg·m²], center, points to draw, layer, color
        ("K1", "base", "beta", O, 0.04325, 2.194e-6, (0.00092, 0.0), [(0.007, 0.0)], 0, GREEN),
        ("K2", "K1", "theta", (0.007, 0.0), 0.00365, 4.410e-7, (-0.0115, 0.0), [tips["K2"]], 1, BLUE),
        ("K3", "base", "gamma", B, 0.02373, 5.255e-6, (0.01874, -0.01043), [tips["K3"], D, (0.0, 0.0)], 3, AMBER),
        ("K5", "base", "delta", A, 0.07050, 1.169e-5, (0.02308, 0.00916), [(0.040, 0.0)], 3, STEEL),
        ("K4", "K5", "phi", (0.040, 0.0), 0.00706, 5.667e-7, (0.0, -0.00579), [tips["K4"]], 2, BLUE),
        ("K7", "base", "epsilon", A, 0.05498, 1.912e-5, (0.01228, 0.00449), [(0.0, -0.040)], 1, STEEL),
        ("K6", "K7", "omega", (0.0, -0.040), 0.00706, 5.667e-7, (0.00579, 0.0), [tips["K6"]], 0, BLUE),
    )
    b = ModelBuilder("andrews")
    floor = Box(size=np.array((0.115, 0.110, 0.001)), position=np.array((-0.031, 0.026, 0.0005)), color=PALE)
    b.link("base", shapes=[floor, *(_pin(at, 0.0, top, 0.0015) for at, top in ((O, 0.006), (A, 0.018), (B, 0.018), (C, 0.018)))])
    for link, parent, joint, at, mass, inertia, center, points, layer, color in bodies:
        z, r = 0.0030 + 0.0038 * layer, 0.0019
        shapes = [_bar(p, q, z, r, color) for p, q in pairwise([(0.0, 0.0), *points])]
        shapes += [_pin((0.0, 0.0), max(0.0, z - 3 * r), z + 1.3 * r, 0.0013)]
        if link == "K3":
            shapes += [_pin(tips[link], 0.001, 0.018, 0.0013), _pin(D, z - 2 * r, z + 2 * r, 0.0013)]
        b.link(link, parent=parent, joint=Revolute("z", effort=np.inf if link == "K1" else 0.0), joint_name=joint, at=(*at, 0.0), mass=mass,
               center=(*center, 0.0), inertia=(inertia / 2, inertia / 2, inertia), shapes=shapes)  # fmt: skip
    for link in ("K3", "K4", "K6"):
        b.loop(f"{link}_K2", Revolute("z"), link, "K2", first_at=(*tips[link], 0.0), second_at=(*tips["K2"], 0.0))
    phi = 0.222668390165885884674473185609
    start = {
        "beta": -0.0617138900142764496358948458001, "theta": 0.0, "gamma": 0.455279819163070380255912382449, "phi": phi,
        "delta": 0.487364979543842550225598953530, "omega": -phi, "epsilon": 1.23054744454982119249735015568,
    }  # fmt: skip
    K3 = _about_z(start["gamma"])
    along = np.array(B) + K3[:2, :2] @ D - C
    line = _about_z(float(np.arctan2(along[1], along[0])))
    spring = {
        "spring_first": Revolute("z"),
        "spring_length": Prismatic("x", stiffness=SQUEEZER_STIFFNESS, rest=SQUEEZER_REST),
        "spring_second": Revolute("z"),
    }
    b.loop("spring", Compound(spring), "world", "K3", first_at=(*C, 0.0), first_rotation=line, second_at=(*D, 0.0),
           second_rotation=K3.T @ line)  # fmt: skip
    b.pose("reference", start)
    return b.build()


def bricard() -> Model:
    """Bricard's overconstrained mechanism of the IFToMM benchmarks (A04): five rods, six hinges, one degree of freedom.

    The rods lie along the edges of a cube from P0 = (0, 0, 0) over P1 = (1, 0, 0), P2 = (1, -1, 0), P3 = (1, -1, 1) and
    P4 = (0, -1, 1) to P5 = (0, 0, 1); links ``rod1`` to ``rod5``. The hinges at P0 to P5 are about y, z, x, y, z, x; the last one
    is the loop ``P5``, which like P0 is at the fixed ``base``. Each rod is a solid of 1 m by 0.1 m by 0.1 m and 1 kg. Grübler's
    formula gives 6·5 - 5·6 = 0; as every hinge is perpendicular to its neighbors, one of the six conditions is redundant.

    All angles are 0 in the pose ``reference``, in which the benchmark starts at rest, gravity along -y; its output is the position
    of P3 (sites ``P1`` to ``P4`` are the ends of the rods).
    """
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    thick = 0.1
    b = ModelBuilder("bricard")
    post = Box(size=np.array((0.06, 0.06, 1.0)), position=points[5] / 2, color=PAINT)
    b.link("base", shapes=[post, Cylinder(radius=0.035, length=1.5 * thick, position=points[5], rotation=frame_along("x"), color=STEEL)])
    for i, axis in enumerate("yzxyz"):
        along = points[i + 1] - points[i]
        size = np.where(along == 0, thick, 1.0)
        box = Box(size=size, position=along / 2, color=(BLUE, AMBER)[i % 2])
        hinge = Cylinder(radius=0.035, length=1.5 * thick, rotation=frame_along(axis), color=STEEL, collides=False)
        _, center, inertia = box.mass_properties(1.0 / box.volume())
        b.link(
            f"rod{i + 1}", parent=f"rod{i}" if i else "base", joint=Revolute(axis, effort=0.0), joint_name=f"hinge{i}",
            at=points[i] - points[max(i - 1, 0)], mass=1.0, center=center, inertia=inertia, shapes=[box, hinge],
        )  # fmt: skip
        if i < 4:
            b.site(f"P{i + 1}", f"rod{i + 1}", along)
    b.loop("P5", Revolute("x"), "base", "rod5", first_at=points[5], second_at=points[5] - points[4])
    b.pose("reference", {})
    return b.build()


def _bar(a: ArrayLike, b: ArrayLike, height: float, radius: float, color: Color) -> Shape:
    """Rod from one point of the plane to another, in a layer above it."""
    return Capsule.between((*np.asarray(a, float), height), (*np.asarray(b, float), height), radius, color=color)


def _pin(at: ArrayLike, bottom: float, top: float, radius: float) -> Shape:
    """Upright pin at a point of the plane."""
    return Cylinder(radius=radius, length=top - bottom, position=np.array((*np.asarray(at, float), (bottom + top) / 2)), color=STEEL)


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
