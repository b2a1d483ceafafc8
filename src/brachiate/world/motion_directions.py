"""Motions of a world (velocity directions) by name, and described in words where they are rigid motions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brachiate.constraints.coordinates import _pivots
from brachiate.deprecation import renamed_attribute
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_NAMED_FRACTION = 1e-6  # coordinates that move less than this fraction of the largest, by kinetic energy, are not named
_RIGID_TOLERANCE = 1e-6  # bodies whose velocities differ by less than this fraction move as one rigid body
MAX_NAMES = 4  # names printed in a line


@dataclass(frozen=True, eq=False)
class Direction:
    """Motion as velocities of coordinates [rad/s or m/s], largest kinetic energy first, scaled so that the first is 1.

    Attributes:
        velocities: Velocity of every coordinate that moves, by name.
        description: The motion in words, if all moving bodies move as one rigid body: ``man turns about y through (0, 0, 2.6)``.
    """

    velocities: Mapping[str, float]
    description: str = ""

    parts = renamed_attribute("parts", "velocities")
    words = renamed_attribute("words", "description")

    def __str__(self) -> str:
        """Return it in one line."""
        shown = [f"{name} {value:.3g}" for name, value in list(self.velocities.items())[:MAX_NAMES]]
        more = [f"{len(self.velocities) - MAX_NAMES} more"] if len(self.velocities) > MAX_NAMES else []
        velocities = ", ".join(shown + more)
        return f"{self.description} ({velocities})" if self.description else velocities


def readable_basis(names: tuple[str, ...], measure: Array, motions: Array, world: World | None = None) -> tuple[Direction, ...]:
    """Directions that span the same space (columns of ``motions``): each has a coordinate that the others leave at rest."""
    if not motions.size:
        return ()
    measured = measure[:, None] * motions
    leading = _pivots(measured.T)
    readable = motions @ np.linalg.inv(motions[leading])
    return tuple(direction(names, measure, readable[:, i], world) for i in np.argsort(leading))


def direction(names: tuple[str, ...], measure: Array, motion: Array, world: World | None = None) -> Direction:
    """Motion by names; with a description if the world is given."""
    size = np.abs(measure * motion)
    order = [i for i in np.argsort(-size, kind="stable") if size[i] > _NAMED_FRACTION * size.max()]
    motion = motion / motion[order[0]]
    velocities = {names[i]: float(motion[i]) for i in order}
    return Direction(velocities, "" if world is None else _describe_rigid_motion(world, motion))


def _describe_rigid_motion(world: World, motion: Array) -> str:
    """Description of a motion in which all moving bodies move as one rigid body (translation, rotation or screw), otherwise empty."""
    model = world.model
    bodies = [name for name, link in model.links.items() if link.joint.nv]
    twists = np.array([_twist(world, link, motion) for link in bodies])
    sizes = np.abs(twists).max(axis=1)
    moving = np.flatnonzero(sizes > _RIGID_TOLERANCE * sizes.max())
    twist = twists[moving[0]]
    if np.abs(twists[moving] - twist).max() > _RIGID_TOLERANCE * sizes.max():
        return ""
    subject = _moving_names(world, [bodies[i] for i in moving], bodies)
    v, w = twist[:3], twist[3:]
    rate = float(np.linalg.norm(w))
    if rate <= _RIGID_TOLERANCE * sizes.max():
        return f"{subject} moves along {_axis(v)}"
    pitch = float(v @ w) / rate**2
    screw = f", {pitch:.3g} m along it for each rad" if abs(pitch) > _RIGID_TOLERANCE else ""
    return f"{subject} turns about {_axis(w)} through {_point(np.cross(w, v) / rate**2)}{screw}"


def _twist(world: World, link: str, motion: Array) -> Array:
    """Twist of a link at the origin of the world (6,): linear and angular velocity."""
    six = world.jacobian(link) @ motion
    return np.array([*(six[:3] - np.cross(six[3:], world.position(link))), *six[3:]])


def _moving_names(world: World, moving: list[str], bodies: list[str]) -> str:
    """Names of figures that move as a whole, and of links otherwise."""
    whole = {f for f in world.parts if all(b in moving for b in bodies if b.startswith(f"{f}/"))}
    names = list(dict.fromkeys(f if (f := link.partition("/")[0]) in whole else link for link in moving))
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _axis(vector: Array) -> str:
    unit = vector / np.linalg.norm(vector)
    i = int(np.argmax(np.abs(unit)))
    return "xyz"[i] if abs(unit[i]) > 1 - _RIGID_TOLERANCE else _point(unit * np.sign(unit[i]))


def _point(p: Array) -> str:
    return f"({', '.join(f'{x:.3g}' for x in np.round(p, 3) + 0.0)})"
