"""Links, sites, loops, couplings, actuators and contact pairs: the parts of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from brachiate.errors import ArgumentError, ModelError
from brachiate.model.joints import Joint
from brachiate.model.shapes import Shape
from brachiate.validation import Array, number, short_repr

ACTUATOR_KINDS = ("motor", "position", "velocity", "general")


@dataclass(frozen=True, eq=False)
class Link:
    """Rigid body with the joint to its parent."""

    name: str
    parent: str | None  # None: the inertial frame
    joint: Joint
    joint_name: str
    position: Array  # (3,) [m] of the joint in the parent
    rotation: Array  # (3, 3) of the joint in the parent
    mass: float = 0.0  # [kg]
    center: Array = field(default_factory=lambda: np.zeros(3))  # (3,) [m] center of mass, link axes
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # (3, 3) [kg·m²] about the center of mass, link axes
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, eq=False)
class Site:
    """Named frame fixed in a link."""

    name: str
    link: str
    position: Array
    rotation: Array


@dataclass(frozen=True, eq=False)
class Loop:
    """Loop-closing joint between frames of two links."""

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
    """Coordinate coupled to another: y = c0 + c1 x + c2 x² + ... (``of`` None: it is constant at c0)."""

    name: str
    coordinate: str
    of: str | None
    coefficients: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Actuator:
    """Actuator of a coordinate.

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


@dataclass(frozen=True)
class ContactPair:
    """Two shapes that collide whatever their contype and conaffinity, also if a joint connects their links or they overlap."""

    first: str  # link
    first_shape: str
    second: str
    second_shape: str
    friction: float | None = None  # of this pair; None: as their materials say

    def __post_init__(self) -> None:
        """Check the ends and the friction."""
        if self.first == self.second:
            raise ModelError(f"Contact pair of {self.first_shape!r} and {self.second_shape!r}: shapes of one link do not collide.")
        if self.friction is not None:
            number(
                self.friction, f"friction of the contact pair of {self.first_shape!r} and {self.second_shape!r}", minimum=0.0, maximum=1e3
            )


def check_loop_joint(joint: object, what: str) -> None:
    """Raise an error if a joint cannot close a loop."""
    if not isinstance(joint, Joint):
        raise ArgumentError(f"{what}: expected a joint, such as Revolute('y') or Fixed(), got {short_repr(joint)}.")
    if joint.nv >= 6:
        raise ArgumentError(
            f"{what}: a {joint.type} joint of {joint.nv} degrees of freedom constrains nothing. Choose one with fewer than six."
        )
    if joint.has_armature:
        raise ArgumentError(f"{what}: a loop-closing joint cannot have armature. Give the rotor to a joint of the tree.")


def check_inertia(name: str, mass: float, inertia: Array) -> None:
    """Raise an error that names the link if its mass or inertia is not physical."""
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
