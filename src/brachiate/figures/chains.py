"""Serial chains: an acrobot, hanging chains, an inchworm."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Joint, Revolute, Spherical, Universal
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape, Sphere

BLUE = (0.25, 0.45, 0.66, 1.0)
AMBER = (0.88, 0.60, 0.24, 1.0)
GRAY = (0.55, 0.58, 0.62, 1.0)
GREEN = (0.48, 0.66, 0.30, 1.0)
LIME = (0.66, 0.78, 0.36, 1.0)
BROWN = (0.46, 0.34, 0.22, 1.0)
BLACK = (0.10, 0.10, 0.12, 1.0)

MAX_LINKS = 100_000
CHAIN_JOINTS = ("hinge", "alternating", "ball")


def arm2(length: float = 1.0, mass: float = 1.0) -> Model:
    """Acrobot: two uniform rods in the x-z plane on a passive ``shoulder``; only the ``elbow`` has a motor.

    Angles are about y, so a positive one moves a hanging rod to -x. The rods are slender, without inertia about their length.

    Args:
        length: Length of each rod [m].
        mass: Mass of each rod [kg].
    """
    length = ranges.length(length, "length of the rods")
    mass = ranges.mass(mass, "mass of the rods")
    b = ModelBuilder("arm2")
    b.link(
        "mount",
        at=(0, 0, 2.2 * length),
        shapes=Box(size=np.array((0.16, 0.16, 0.06)) * length, position=np.array((0, 0, 0.07)) * length, color=GRAY),
    )
    across = mass * length**2 / 12
    rod: dict[str, Any] = {"mass": mass, "center": (0, 0, -length / 2), "inertia": (across, across, 0.0)}
    b.link("upper_arm", parent="mount", joint=Revolute("y", effort=0.0), joint_name="shoulder", shapes=_rod(length, BLUE), **rod)
    b.link("forearm", parent="upper_arm", joint=Revolute("y", effort=30.0 * mass * length), joint_name="elbow",
           at=(0, 0, -length), shapes=_rod(length, AMBER), **rod)  # fmt: skip
    b.site("tip", "forearm", (0, 0, -length))
    b.pose("stand", {"shoulder": np.pi})
    b.pose("hang", {})
    return b.build()


def _rod(length: float, color: tuple[float, float, float, float]) -> list[Shape]:
    ends = Capsule.between((0, 0, 0), (0, 0, -length), 0.03 * length, color=color)
    return [ends, Sphere(radius=0.05 * length, color=GRAY)]


def chain(n: int, length: float = 1.0, mass: float = 1.0, joint: str = "hinge") -> Model:
    """Chain of ``n`` equal links that hangs from a fixed point, links ``link1`` to ``link<n>``, without motors.

    Args:
        n: Number of links.
        length: Length of the whole chain [m]; it hangs from 1.1 times that height.
        mass: Mass of the whole chain [kg].
        joint: ``"hinge"``: all about y; ``"alternating"``: about y and x alternately; ``"ball"``: spherical.
    """
    n = _count(n, "n", least=1)
    length = ranges.length(length, "length of the chain")
    each = length / n
    mass = ranges.mass(mass, "mass of the chain")
    validation.one_of(joint, CHAIN_JOINTS, "joint of the chain")
    b = ModelBuilder(f"chain{n}")
    for i in range(n):
        b.link(
            f"link{i + 1}", parent=f"link{i}" if i else None, joint=_chain_joint(joint, i), joint_name=f"joint{i + 1}",
            at=(0, 0, -each) if i else (0, 0, 1.1 * length), mass=mass / n,
            shapes=Capsule.between((0, 0, 0), (0, 0, -each), 0.12 * each, color=(BLUE, AMBER)[i % 2]),
        )  # fmt: skip
    b.site("end", f"link{n}", (0, 0, -each))
    return b.build()


def _chain_joint(joint: str, i: int) -> Joint:
    if joint == "ball":
        return Spherical(effort=0.0)
    return Revolute("x" if joint == "alternating" and i % 2 else "y", effort=0.0)


def inchworm(n: int = 9, length: float = 0.005, mass: float = 0.001, yaw: bool = False) -> Model:
    """Inchworm of ``n`` segments in a row along x, the last one the head, with a free root at the tail.

    Segments ``segment1`` to ``segment<n>`` are connected by pitch joints about y; a positive angle lowers the front. Feet, drawn as
    soles, are at both ends only. Default sizes are those of [EGC] 5.2.

    Args:
        n: Number of segments, at least 3.
        length: Length of a segment [m].
        mass: Mass of a segment [kg].
        yaw: Whether joints also turn about z, as those of [EGC]: coordinates ``joint1.first`` (pitch) and ``joint1.second`` (yaw).
    """
    n = _count(n, "n", least=3)
    length = ranges.length(length, "length of a segment")
    mass = ranges.mass(mass, "mass of a segment")
    radius = 0.32 * length
    sole = 0.12 * length
    effort = 40.0 * n * mass * 9.81 * length  # many times its own weight, as for real worms
    b = ModelBuilder("inchworm")
    for i in range(n):
        first, last = i == 0, i == n - 1
        flesh = Capsule.between((0, 0, 0), (length, 0, 0), radius, color=(GREEN, LIME)[i % 2])
        feet = Box(size=np.array((length, 0.8 * length, sole)), position=np.array((length / 2, 0, -radius - sole / 2)), color=BROWN)
        shapes = [flesh, feet] if first or last else [flesh]
        bend: dict[str, Any] = {"limits": (-np.pi / 2, np.pi / 2), "effort": effort}
        joint = Free(effort=0.0) if first else Universal("y", "z", **bend) if yaw else Revolute("y", **bend)
        b.link(
            f"segment{i + 1}", parent=None if first else f"segment{i}", joint=joint, joint_name="root" if first else f"joint{i}",
            at=(0, 0, radius + sole) if first else (length, 0, 0), mass=mass, shapes=shapes + (_face(length, radius) if last else []),
        )  # fmt: skip
    b.site("tail_sole", "segment1", (length / 2, 0, -radius - sole))
    b.site("head_sole", f"segment{n}", (length / 2, 0, -radius - sole))
    b.pose("stand", {})
    b.pose("arch", {f"{joint}.first" if yaw else joint: angle for joint, angle in _arch(n, 65.0).items()})
    return b.build()


def _face(length: float, radius: float) -> list[Shape]:
    return [
        Sphere(
            radius=0.09 * length, position=np.array((length + 0.75 * radius, s * 0.6 * radius, 0.35 * radius)), color=BLACK, collides=False
        )
        for s in (-1, 1)
    ]


def _arch(n: int, steepest: float) -> dict[str, float]:
    """Joint angles of an arch between level ends: the slope is one period of a sine, so both ends have the same height."""
    slope = -np.radians(steepest) * np.sin(2 * np.pi * np.arange(n) / (n - 1))
    return {f"joint{i + 1}": float(turn) for i, turn in enumerate(np.diff(slope))}


def _count(value: Any, what: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MAX_LINKS:
        raise ArgumentError(f"{what}: expected a whole number of links from {least} to {MAX_LINKS}, got {value!r}.")
    return int(value)
