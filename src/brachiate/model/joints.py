"""Joint types: relative motion of a link and its parent.

A joint is a sequence of elementary motions, each applied to the frame that the ones before it have moved:

    turn   1 coordinate: angle about a fixed axis
    slide  1 coordinate: distance along a fixed axis
    ball   3 velocities, 4 coordinates: a unit quaternion; angular velocity in child axes
    float  6 velocities, 7 coordinates: position in the parent, unit quaternion; linear and angular velocity in child axes

Kernels know only these four; a new joint type is a sequence of them: one small class below.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.validation import Array

TURN, SLIDE, BALL, FLOAT = range(4)
ELEMENT_NQ = (1, 1, 4, 7)  # coordinates in q of each elementary motion
ELEMENT_NV = (1, 1, 3, 6)  # velocities of each
_NEUTRAL = ((0.0,), (0.0,), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Element:
    """Elementary motion: its axis, and a point of the axis, in link coordinates."""

    kind: int
    axis: Array
    anchor: Array


def turn(axis: str | ArrayLike, anchor: ArrayLike = _ORIGIN) -> Element:
    """Angle about an axis through a point."""
    return Element(TURN, validation.axis(axis, "joint axis"), _point(anchor))


def slide(axis: str | ArrayLike) -> Element:
    """Distance along an axis."""
    return Element(SLIDE, validation.axis(axis, "joint axis"), np.zeros(3))


def ball(anchor: ArrayLike = _ORIGIN) -> Element:
    """Any rotation about a point."""
    return Element(BALL, np.zeros(3), _point(anchor))


def _point(anchor: ArrayLike) -> Array:
    return np.zeros(3) if anchor is _ORIGIN else validation.vector(anchor, "joint anchor")  # the default needs no check


@dataclass(frozen=True, eq=False)
class Cone:
    """Cone limit of a ball joint: largest swing of ``axis`` from its neutral direction, and range of the twist about it [rad]."""

    axis: Array
    swing: float
    twist: tuple[float, float]


def cone_limit(axis: str | ArrayLike, swing: float, twist: tuple[float, float] = (-np.inf, np.inf)) -> Cone:
    """Cone limit of a spherical joint: swing of the link's axis from neutral up to ``swing``, twist within ``twist`` [rad]."""
    swing = validation.number(swing, "cone swing", above=0.0, maximum=np.pi)
    return Cone(validation.axis(axis, "cone axis"), swing, validation.interval(twist, "cone twist"))


class Joint:
    """Joint with its passive forces, limits and motor. Parameters are one number for all coordinates, or one for each.

    Args:
        elements: The elementary motions.
        suffixes: Suffix of the joint's name that names each coordinate; an empty one is the bare name.
        limits: (lower, upper) [rad or m], or one pair for each coordinate; not for quaternion coordinates.
        cone: Limits of a ball joint, see :func:`cone_limit`.
        damping: Viscous torque [N·m·s/rad or N·s/m].
        stiffness: Spring torque towards ``rest`` [N·m/rad or N/m].
        rest: Rest position of the springs, as joint coordinates; quaternions are normalized.
        friction: Dry friction [N·m or N].
        armature: Inertia of the rotor, reflected to the joint [kg·m² or kg].
        effort: Largest torque or force of the motor [N·m or N]; only it and ``speed`` may be infinite.
        speed: Largest speed of the motor [rad/s or m/s].
    """

    type: ClassVar[str] = "joint"

    def __init__(
        self,
        elements: Sequence[Element],
        suffixes: Sequence[str],
        *,
        limits: ArrayLike | None = None,
        cone: Cone | None = None,
        damping: ArrayLike = 0.0,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        friction: ArrayLike = 0.0,
        armature: ArrayLike = 0.0,
        effort: ArrayLike = np.inf,
        speed: ArrayLike = np.inf,
    ) -> None:
        self.elements = tuple(elements)
        self.suffixes = tuple(suffixes)
        self.nq = sum([ELEMENT_NQ[e.kind] for e in self.elements])
        self.nv = sum([ELEMENT_NV[e.kind] for e in self.elements])
        self.neutral: Array = np.array([x for e in self.elements for x in _NEUTRAL[e.kind]])
        self.lower, self.upper = self._limits(limits)
        self.cone = self._cone(cone)
        #: Whether any of its coordinates has a limit, or it has a cone.
        self.has_limits = cone is not None or (limits is not None and bool(np.isfinite([self.lower, self.upper]).any()))
        self.damping = self._each(damping, "damping")
        self.stiffness = self._each(stiffness, "stiffness")
        self.rest = self.neutral.copy() if rest is None else self.coordinates(rest, "rest")
        self.friction = self._each(friction, "friction")
        self.armature = self._each(armature, "armature")
        self.effort = self._each(effort, "effort", maximum=np.inf)
        self.speed = self._each(speed, "speed", maximum=np.inf)
        if not self.speed.all():
            raise ArgumentError(f"speed of a {self.type} joint: with 0 it never moves. Give the speed of its motor, or use Fixed().")

    def _each(self, value: ArrayLike, what: str, maximum: float = sys.float_info.max) -> Array:
        if type(value) is float and 0.0 <= value <= maximum:  # fast path of the usual case
            array = np.zeros(self.nv)
            if value:
                array.fill(value)
            return array
        what = f"{what} of a {self.type} joint"
        array = validation.broadcast(value, (self.nv,), what, f"one number or {self.nv}")
        for x in array.tolist():
            validation.number(x, what, minimum=0.0, maximum=maximum)
        return array

    def _limits(self, limits: ArrayLike | None) -> tuple[Array, Array]:
        if limits is None:
            free = self._each(np.inf, "limits", maximum=np.inf)
            return -free, free
        if any(e.kind in (BALL, FLOAT) for e in self.elements):
            raise ArgumentError(f"A {self.type} joint has no (lower, upper) limits; limit a spherical joint by cone=...")
        pairs = validation.broadcast(limits, (self.nv, 2), "limits", f"(lower, upper) or {self.nv} such pairs")
        for low, high in pairs:
            if np.isnan(low) or np.isnan(high) or low > high:
                raise ArgumentError(f"limits: the lower limit {low:g} must not be above the upper limit {high:g}.")
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def _cone(self, cone: Cone | None) -> Cone | None:
        if cone is not None and [e.kind for e in self.elements] != [BALL]:
            raise ArgumentError(f"Only a spherical joint has a cone; this one is {self.type}.")
        if cone is not None and not isinstance(cone, Cone):
            raise ArgumentError(f"cone: expected a limit such as cone_limit('z', swing=0.5), got {validation.short_repr(cone)}.")
        return cone

    def coordinates(self, value: ArrayLike, what: str) -> Array:
        """Return the joint's coordinates in q from user input, quaternions normalized: (nq,)."""
        q = validation.numbers(value, (self.nq,), what)
        end = 0
        for element in self.elements:
            end += ELEMENT_NQ[element.kind]
            if element.kind in (BALL, FLOAT):
                q[end - 4 : end] = validation.quaternion(q[end - 4 : end], what)
        return q

    def coordinate_names(self, joint_name: str) -> list[str]:
        """Names of the joint's velocities: the joint's name alone, or with a suffix."""
        return [f"{joint_name}.{suffix}" if suffix else joint_name for suffix in self.suffixes]

    def number_names(self, joint_name: str) -> list[str]:
        """Names of the joint's coordinates in q: those of its velocities, except quaternions."""
        names, velocities = [], iter(self.coordinate_names(joint_name))
        for element in self.elements:
            mine = [next(velocities) for _ in range(ELEMENT_NV[element.kind])]
            if element.kind == FLOAT:
                names += mine[:3]
            if element.kind in (BALL, FLOAT):
                owner = mine[0].rpartition(".")[0]
                names += [f"{owner}.{part}" for part in (("qw", "qx", "qy", "qz") if element.kind == FLOAT else ("w", "x", "y", "z"))]
            else:
                names += mine
        return names

    def renamed(self, rename: Callable[[str], str]) -> Joint:
        """Return the joint with its own names changed: only a compound joint has names, those of its parts."""
        return self

    @property
    def has_passive_forces(self) -> bool:
        """Whether it has springs, dampers or dry friction."""
        return any(self.damping.tolist() + self.stiffness.tolist() + self.friction.tolist())  # for so few, faster than NumPy

    @property
    def has_armature(self) -> bool:
        """Whether it has rotor inertia."""
        return any(self.armature.tolist())

    def __repr__(self) -> str:
        """Return the type and the number of velocities."""
        return f"<{self.type} joint, {self.nv} dof>"


class Fixed(Joint):
    """No motion."""

    type = "fixed"

    def __init__(self) -> None:
        super().__init__((), ())


class Revolute(Joint):
    """Angle about an axis."""

    type = "revolute"

    def __init__(self, axis: str | ArrayLike = "z", *, anchor: ArrayLike = _ORIGIN, **parameters: Any) -> None:
        super().__init__([turn(axis, anchor)], [""], **parameters)


class Prismatic(Joint):
    """Distance along an axis."""

    type = "prismatic"

    def __init__(self, axis: str | ArrayLike = "z", **parameters: Any) -> None:
        super().__init__([slide(axis)], [""], **parameters)


class Universal(Joint):
    """Two angles: about the first axis, then about the second, which the first rotates."""

    type = "universal"

    def __init__(self, first: str | ArrayLike = "x", second: str | ArrayLike = "y", **parameters: Any) -> None:
        elements = [turn(first), turn(second)]
        if abs(elements[0].axis @ elements[1].axis) > 1 - 1e-9:
            raise ArgumentError("The two axes of a universal joint are parallel. Choose two different axes.")
        super().__init__(elements, ["first", "second"], **parameters)


class Cylindrical(Joint):
    """Angle about an axis and distance along it."""

    type = "cylindrical"

    def __init__(self, axis: str | ArrayLike = "z", **parameters: Any) -> None:
        super().__init__([turn(axis), slide(axis)], ["angle", "slide"], **parameters)


class Planar(Joint):
    """Position in a plane of the parent, and angle about its normal: (x, y, angle)."""

    type = "planar"

    def __init__(self, normal: str | ArrayLike = "z", **parameters: Any) -> None:
        z = validation.axis(normal, "normal of a planar joint")
        # The plane's x axis is the parent's x for the normal z, and rotates with the normal otherwise.
        x = np.cross((0.0, 1.0, 0.0), z) if abs(z[1]) < 0.9 else np.cross((1.0, 0.0, 0.0), z)
        x /= np.linalg.norm(x)
        super().__init__([slide(x), slide(np.cross(z, x)), turn(z)], ["x", "y", "angle"], **parameters)


class Spherical(Joint):
    """Any rotation about a point: a unit quaternion; angular velocity in child axes [SVC] 5.1."""

    type = "spherical"

    def __init__(self, *, anchor: ArrayLike = _ORIGIN, **parameters: Any) -> None:
        super().__init__([ball(anchor)], ["x", "y", "z"], **parameters)


class Free(Joint):
    """Any motion: position, unit quaternion; linear and angular velocity in child axes [SVC] 5.2."""

    type = "free"

    def __init__(self, **parameters: Any) -> None:
        super().__init__([Element(FLOAT, np.zeros(3), np.zeros(3))], ["x", "y", "z", "rx", "ry", "rz"], **parameters)
        if self.stiffness.any():
            raise ArgumentError("A free joint has no spring. Connect the link by a joint that has one.")


class Compound(Joint):
    """Several joints in sequence between two links: each moves the frame that the ones before have moved.

    The parts' names become the names of the coordinates.
    """

    type = "compound"

    def __init__(self, parts: Mapping[str, Joint]) -> None:
        expected = "joints by name, such as {'hip': Revolute('x')}"
        joints = list(validation.mapping(parts, "parts of a compound joint", expected).values())
        for name, joint in parts.items():
            if not isinstance(name, str) or not isinstance(joint, Joint):
                raise ArgumentError(f"part {name!r} of a compound joint: expected {expected}, got {validation.short_repr(joint)}.")
        if any(e.kind == FLOAT for j in joints for e in j.elements):
            raise ArgumentError("A free joint cannot be part of a compound joint: it already has all six degrees of freedom.")
        if any(j.cone is not None for j in joints):
            raise ArgumentError("Cone limits are for a separate spherical joint, not for a part of a compound joint.")
        self.parts = tuple(parts)
        self._joints = tuple(joints)
        super().__init__([e for j in joints for e in j.elements], ())
        for what in ("lower", "upper", "damping", "stiffness", "rest", "friction", "armature", "effort", "speed"):
            setattr(self, what, np.concatenate([getattr(j, what) for j in joints]) if joints else np.zeros(0))
        self.has_limits = any(j.has_limits for j in joints)

    def coordinate_names(self, joint_name: str) -> list[str]:
        """Names of the parts' own velocities."""
        return [name for part, joint in zip(self.parts, self._joints, strict=True) for name in joint.coordinate_names(part)]

    def renamed(self, rename: Callable[[str], str]) -> Compound:
        """Return the joint with other names for its parts."""
        joint = copy.copy(self)
        joint.parts = tuple(map(rename, self.parts))
        return joint


#: Joint types by name, for file readers and random tests.
JOINT_TYPES: dict[str, type[Joint]] = {
    cls.type: cls for cls in (Fixed, Revolute, Prismatic, Universal, Cylindrical, Planar, Spherical, Free)
}
