"""Links, sites, loops, couplings and actuators: the parts a model is described by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from brachiate.errors import ArgumentError, ModelError
from brachiate.model.joints import Joint
from brachiate.model.shapes import Shape
from brachiate.validation import Array, shown

ACTUATOR_KINDS = ("motor", "position", "velocity", "general")


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid piece and the joint that carries it."""

    name: str
    parent: str | None  # None: the inertial frame
    joint: Joint
    joint_name: str
    position: Array  # (3,) [m] of the joint in the parent
    rotation: Array  # (3, 3) of the joint in the parent
    mass: float = 0.0  # [kg]
    center: Array = field(default_factory=lambda: np.zeros(3))  # (3,) [m] centre of mass, link axes
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # (3, 3) [kg·m²] about the centre, link axes
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, eq=False)
class Site:
    """A named frame in a link."""

    name: str
    link: str
    position: Array
    rotation: Array


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint between frames of two links that closes a loop: the second frame moves against the first as the joint allows."""

    name: str
    joint: Joint
    first: str
    second: str
    first_position: Array
    first_rotation: Array
    second_position: Array
    second_rotation: Array


@dataclass(frozen=True, eq=False)
class Coupling:
    """A coordinate that follows another: y = c0 + c1 x + c2 x² + ... (``of`` None: it is held at c0)."""

    name: str
    coordinate: str
    of: str | None
    coefficients: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Actuator:
    """A motor on a coordinate.

    Its own length and speed are ``gear`` times the coordinate's, its own force is gain · control + bias[0] +
    bias[1] · length + bias[2] · speed, and the coordinate's torque is ``gear`` times that force.
    """

    name: str
    coordinate: str
    gear: float
    kind: str  # one of ACTUATOR_KINDS
    control_range: tuple[float, float]
    force_range: tuple[float, float]
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)


def check_loop_joint(joint: object, what: str) -> None:
    """Refuse what cannot close a loop."""
    if not isinstance(joint, Joint):
        raise ArgumentError(f"{what}: expected a joint, such as Revolute('y') or Fixed(), got {shown(joint)}.")
    if joint.nv >= 6:
        raise ArgumentError(f"{what}: a {joint.type} joint of {joint.nv} freedoms holds nothing. Choose one that leaves fewer than six.")
    if joint.geared:
        raise ArgumentError(f"{what}: a joint that closes a loop has no armature. Give the rotor to a joint of the tree.")


def check_inertia(name: str, mass: float, inertia: Array) -> None:
    """Refuse what no solid body has, with the name of the link."""
    if not (np.isfinite(mass) and np.isfinite(inertia).all()):
        raise ModelError(f"Link {name!r}: mass and inertia must be finite, got mass {mass}.")
    if mass < 0:
        raise ModelError(f"Link {name!r} has a negative mass: {mass:g} kg.")
    slack = 1e-9 * float(np.abs(inertia).max())
    if np.abs(inertia - inertia.T).max() > slack:
        raise ModelError(f"Link {name!r}: its inertia matrix is not symmetric.")
    a, b, c = np.linalg.eigvalsh(inertia)
    if a < -slack:
        raise ModelError(f"Link {name!r}: its inertia has a negative principal moment ({a:g} kg·m²).")
    if a < c - b - slack:
        raise ModelError(
            f"Link {name!r}: no solid has the principal moments {a:g}, {b:g}, {c:g} kg·m²: "
            f"the two smaller ones must add up to at least the largest."
        )
    if mass == 0 and c > 0:
        raise ModelError(f"Link {name!r} has inertia but no mass. Give it a mass, or set its inertia to zero.")
