"""Structs of arrays: ``Levels``, a least-squares problem by levels of priority, and ``ControlLaw``, the control law of a space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, array_fields, struct_opener
from brachiate.functions.arrays import Program, Results
from brachiate.functions.polynomials import Polynomials
from brachiate.model.arrays import Tree, Work

# Entries of Levels.size.
UNKNOWNS, LEVELS, ROWS, DENSE = range(4)
# Kinds of levels: solved exactly, as far as singular values above the rank tolerance go; functions, damped near singularities; functions
# without their small singular values.
EXACT, DAMPED, TRUNCATED = range(3)


class Levels(NamedTuple):
    """Least squares by levels of priority, n unknowns x = x₀ + T z with the least |z|, r rows in all; and scratch."""

    size: Ints  # (4,) unknowns, levels and rows in use; 1 if T is dense
    start: Ints  # (levels+1,) first row of each level
    kind: Ints  # (levels,) EXACT, DAMPED or TRUNCATED
    row: Floats  # (r·n,)
    target: Floats  # (r,)
    damping: Floats  # (r,) added to the squared length of a gradient
    scale: Floats  # (n,) diagonal of T
    dense: Floats  # (n²,) T if it is not diagonal; may be empty
    preferred: Floats  # (n,) x₀
    x: Floats  # (n,) solution
    lower: Floats  # (n,) bounds of x
    upper: Floats  # (n,)
    held: Ints  # (n,) 1 where x is held at a bound
    bound: Floats  # (n,) where it is held
    left: Floats  # (r·max(n, r),) rows of one level in what the levels above leave free
    wanted: Floats  # (r,) right-hand sides of one level
    length: Floats  # (r,) of the gradients of one level, in what exact levels leave free
    reflector: Floats  # (n²,) Householder reflections: their product turns the rows of all levels so far into the first unknowns
    reflector_scale: Floats  # (n,)
    z: Floats  # (n,)
    normal: Floats  # (r²,) matrix of inner products of the rows of one level
    vectors: Floats  # (r²,) its eigenvectors, or a copy
    part: Floats  # (r,)


class ControlLaw(NamedTuple):
    """Control law of m functions, n velocities, at most r constraint rows; results."""

    setting: Floats  # (6,) see control_step.py
    option: Ints  # (4,)
    weight: Floats  # (n,) of the joint velocities
    motor: Ints  # (n,) 1 if a coordinate has a motor
    coordinate: Ints  # (n,) in q, of coordinates with joint limits; -1 for others
    limit_low: Floats  # (n,) [rad or m]
    limit_high: Floats  # (n,)
    level: Ints  # (levels+1,) first of the functions of a priority in ``member``
    member: Ints  # (m,) functions, by priority
    held: Ints  # (m,) how a function is held: EXTENDED, HARD or SOFT
    rest: Floats  # (nq,) posture to return to
    wanted: Floats  # (m,) rates or accelerations of the functions
    error: Floats  # (m,) of the functions, for damping
    preferred: Floats  # (n,) velocities or accelerations
    torque: Floats  # (n,) motor torques [N·m or N]
    total: Floats  # (n,) torques of motors and surroundings together
    force: Floats  # (m,) generalized forces of the functions
    acceleration: Floats  # (n,)
    planned_velocity: Floats  # (n,)
    velocity: Floats  # (n,) scratch: velocities of the state
    saved: Floats  # (n,) scratch: torques of the state
    rate: Floats  # (m,) rates and biases of the functions at the state
    bias: Floats  # (m,)
    target: Floats  # (m,) right-hand sides of the functions
    J: Floats  # (r·n,) bilateral constraint rows
    rows: Ints  # (1,) their number
    gamma: Floats  # (r,)
    tree_bias: Floats  # (n,) bias torques of the tree
    loop_torque: Floats  # (n,) torques of springs, dampers, friction and motors in the joints of connections
    unactuated: Floats  # (n²,) scratch: rows of the mass matrix of coordinates without motors
    part: Floats  # (n,) and right-hand sides
    place: Ints  # (n,) and their places
    response: Floats  # (m·n,) accelerations per unit of a generalized force of a function


open_levels = struct_opener(Levels)
open_control = struct_opener(Tree, Work, Program, Results, Levels, ControlLaw, Polynomials)


def new_levels(unknowns: int, rows: int, levels: int, dense: bool) -> Levels:
    """Arrays for a problem of this size."""
    n, r = unknowns, rows
    longer = dict.fromkeys(("row", "left"), r * max(n, r)) | dict.fromkeys(("target", "damping", "wanted", "length", "part"), r)
    longer |= {"reflector": n * n, "normal": r * r, "vectors": r * r, "dense": n * n if dense else 0}
    longer |= {"size": 4, "start": levels + 1, "kind": levels}
    return Levels(**{name: np.zeros(longer.get(name, n), field.dtype) for name, field in array_fields(Levels).items()})


def new_control(functions: int, nv: int, nq: int, rows: int, levels: int) -> ControlLaw:
    """Arrays of a control law of this size."""
    m, n = functions, nv
    of = dict.fromkeys(("member", "held", "wanted", "error", "force", "rate", "bias", "target"), m)
    of |= {"setting": 6, "option": 4, "level": levels + 1, "rest": nq, "J": rows * n, "rows": 1, "gamma": rows}
    of |= {"unactuated": n * n, "response": m * n}
    return ControlLaw(**{name: np.zeros(of.get(name, n), field.dtype) for name, field in array_fields(ControlLaw).items()})
