"""Structs of arrays of a particle system: particles, links, joints, planes and floor.

n particles, m links, j joints, p planes with q members in all. Forces of elements are written once per element and gathered by particle,
in the order of the lists below: the result does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brachiate.compiled import ArrayField, ArrayHandle, Floats, IntRows2, Ints, Rows3, struct_opener
from brachiate.validation import Array

IntRows3 = Annotated[NDArray[np.int64], ArrayField("int64", (3,))]

#: Of ``Particles.environment``: gravity (3) [m/s²], velocity of the air (3) [m/s].
GRAVITY, WIND, ENVIRONMENT = 0, 3, 6
#: Of ``Particles.options``: whether joints with a plane use the published projection; whether forces of free particles are kept.
PUBLISHED_PLANES, KEEP_FORCES, OPTIONS = range(3)
#: Kinds of floors, ``FloorArrays.kind``.
NO_FLOOR, RESTITUTION, COMPLIANT, PLASTIC = range(4)
#: Of ``FloorArrays.numbers``: normal (3), offset along it [m], coefficient of restitution, stiffness [N/m], damping [N·s/m], Coulomb
#: friction, friction drag [s/m], yield force [N], hardening [N/m], origin (2) and spacing (2) of the grid of heights, and of sinkage.
(
    NORMAL, OFFSET, BOUNCE, STIFFNESS, DAMPING, FRICTION, DRAG, YIELD, HARDENING, HEIGHT_ORIGIN, HEIGHT_SPACING, SINK_ORIGIN, SINK_SPACING,
    FLOOR_NUMBERS,
) = (0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19)  # fmt: skip


class Particles(NamedTuple):
    """Masses and state of the particles."""

    x: Rows3  # (n, 3) positions [m]
    v: Rows3  # (n, 3) velocities [m/s]
    mass: Floats  # (n,) [kg]
    inverse_mass: Floats  # (n,) [1/kg]; 0 of particles that are fixed or driven
    radius: Floats  # (n,) [m]
    drag: Floats  # (n,) ½ρ c_d A [kg/m]: force drag·|u|u in air of relative velocity u
    external: Rows3  # (n, 3) applied forces [N]
    force: Rows3  # (n, 3) forces of links, joints and planes in the last step [N]; of free particles if KEEP_FORCES
    impulse: Rows3  # (n, 3) the same of held particles, summed over the steps since it was set to zero [N·s]
    floor_force: Rows3  # (n, 3) force of the floor in the last step [N]
    environment: Floats  # (ENVIRONMENT,)
    options: Ints  # (OPTIONS,)


class LinkArrays(NamedTuple):
    """Spring-dampers between two particles."""

    ends: IntRows2  # (m, 2) particles
    length: Floats  # (m,) rest length [m]
    stiffness: Floats  # (m,) [N/m]
    damping: Floats  # (m,) [N·s/m]
    slack: Ints  # (m,) 1: pulls only, as ropes do
    force: Rows3  # (m, 3) force on the first particle [N]; the second one gets its negative
    start: Ints  # (n+1,) first entry of a particle in ``incident``
    incident: Ints  # (2m,) links of a particle: k if it is the first end of link k, -1 - k if the second


class Joints(NamedTuple):
    """Joints of three particles: arms from the middle particle to the first and to the third one."""

    particles: IntRows3  # (j, 3) first, middle, third
    plane: Ints  # (j,) plane of rotation, or -1: spherical
    torque: Floats  # (j,) on the first arm, about the normal [N·m]; the third arm gets its negative
    friction: Floats  # (j,) D [N·m·s/rad]
    lower: Floats  # (j,) limits of the angle [rad]; of spherical joints of the angle from the straight position
    upper: Floats  # (j,)
    limit_stiffness: Floats  # (j,) [N·m/rad]
    limit_damping: Floats  # (j,) [N·m·s/rad]
    target: Floats  # (j,) angle [rad] and rate [rad/s] that a PD servo tracks
    target_rate: Floats  # (j,)
    proportional: Floats  # (j,) gain of the servo [N·m/rad]
    derivative: Floats  # (j,) [N·m·s/rad]
    max_torque: Floats  # (j,) of torque and servo together [N·m]
    motor: Floats  # (j,) torque and servo together in the last step [N·m]
    angle: Floats  # (j,) [rad] 0 if straight
    rate: Floats  # (j,) [rad/s]
    force: Rows3  # (2j, 3) forces on the first and third particle [N]; the middle one gets the reaction
    moment: Rows3  # (j, 3) what is left of the sum of both moments if arms are not in the plane [N·m]
    start: Ints  # (n+1,) first entry of a particle in ``incident``
    incident: Ints  # (3j,) 3k + 0, 1, 2: first, middle, third particle of joint k


class Planes(NamedTuple):
    """Planes of rotation: sets of particles that are held in a plane, which turns with them."""

    normal: Rows3  # (p, 3) unit normals, which follow the particles
    stiffness: Floats  # (p,) square of the frequency of deviations [1/s²]
    damping: Floats  # (p,) [1/s]
    start: Ints  # (p+1,) first member of a plane
    member: Ints  # (q,) particles
    joint_start: Ints  # (p+1,) first joint of a plane
    joint: Ints  # joints
    force: Rows3  # (q, 3) [N]
    at: Ints  # (n+1,) first entry of a particle in ``incident``
    incident: Ints  # (q,) memberships of a particle


class FloorArrays(NamedTuple):
    """The floor."""

    kind: Ints  # (3,) kind; columns of heights and of sinkage, 0 if there is no grid
    numbers: Floats  # (FLOOR_NUMBERS,)
    heights: Floats  # (rows·columns,) above the plane [m]
    sinkage: Floats  # (rows·columns,) plastic sinkage of cells [m]


open_system = struct_opener(Particles, LinkArrays, Joints, Planes, FloorArrays)


def incidence(entries: Array, codes: Array, count: int) -> tuple[Array, Array]:
    """Lists by particle: (start (n+1,), codes sorted by particle), of ``codes`` that belong to the particles ``entries``."""
    order = np.argsort(entries, kind="stable")
    start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(entries, minlength=count), out=start[1:])
    return start, np.ascontiguousarray(codes[order], np.int64)


def no_floor() -> FloorArrays:
    """Arrays without a floor."""
    return FloorArrays(np.zeros(3, np.int64), np.zeros(FLOOR_NUMBERS), np.zeros(0), np.zeros(0))


def make_handle(parts: Any, floor: FloorArrays | None = None) -> ArrayHandle:
    """Handle of a system's structs (particles, links, joints, planes) with a floor."""
    return ArrayHandle(*parts, floor if floor is not None else no_floor())
