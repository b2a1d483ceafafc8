"""Structs of arrays of the evaluator: ``Program`` (constant) and ``Results``."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Matrix, Rows3, Rows10, struct_opener
from brachiate.model.arrays import Tree, Work

# Kinds of sources, in the order in which they are evaluated.
(
    JOINT,
    POINT,
    AXIS,
    QUATERNION_SCALAR,
    QUATERNION_VECTOR,
    SIGNAL,
    JOINT_RATE,
    VELOCITY,
    ANGULAR_VELOCITY,
    CENTER,
    MOMENTUM,
    ANGULAR_MOMENTUM,
    KINETIC,
    MOMENTUM_RATE,
    ANGULAR_MOMENTUM_RATE,
) = range(15)


class Program(NamedTuple):
    """Functions as a program: sources (ns), scalars (the components of sources, then the results of operations), outputs (m).

    Velocities are numbered as in v; the number nv is time, whose rate is one.
    """

    kind: Ints  # (ns,) of the source
    body: Ints  # (ns,) body of a link, velocity of a coordinate, number of a set of bodies, number of a signal
    coordinate: Ints  # (ns,) start in q of a joint's coordinates
    point: Rows3  # (ns, 3) point or axis in the body
    scalar: Ints  # (ns+1,) first component
    column: Ints  # (ns+1,) first column of its gradient
    velocity: Ints  # (column[ns],) velocity of each column
    members: Ints  # (sets * nb,) whether a body belongs to a set
    element: Ints  # (nv+1,) first velocity of the ball or floating motion of a velocity, or itself
    operation: Ints  # (no,) code, see operations.py
    first: Ints  # (no,) scalar that is its first argument
    second: Ints  # (no,) second argument; the first again if there is none
    binary: Ints  # (no,) 1 if there is a second argument that is differentiated
    number: Floats  # (no,) exponent of a power
    output: Ints  # (m,) scalar
    depends_on: Ints  # (m,) 1 if the output depends on velocities, 2 if on accelerations
    reverse: Ints  # (m+1,) start of the operations of an output
    reverse_operation: Ints  # its operations, last first
    arc: Ints  # (m+1,) start of the arcs of an output in ``Results.arc``
    step: Ints  # (m+1,) start of the steps that compute the arcs
    target: Ints  # arc that a step adds to
    origin: Ints  # arc that it pushes, or -1 - n: makes one of the adjoint of operation n
    partial_a: Ints  # partial derivatives it multiplies by
    partial_b: Ints
    factor: Floats
    pair: Ints  # (m+1,) start of the pairs of components with a second derivative
    pair_arc: Ints
    pair_a: Ints  # numbers of the components among those of the output
    pair_b: Ints
    pair_scalar_a: Ints  # the same components among all scalars
    pair_scalar_b: Ints
    used: Ints  # (m+1,) start of the sources of an output
    used_source: Ints
    support: Ints  # (m+1,) start of the velocities an output depends on
    supported: Ints


class Results(NamedTuple):
    """Values and derivatives, and scratch."""

    value: Floats  # (scalars,)
    rate: Floats  # (components,) of sources
    bias: Floats  # (components,) second time derivative of sources at v̇ = 0; of sources of velocity the first
    gradient: Rows3  # (columns, 3) components of a source per unit of a velocity
    partial: Floats  # (PARTIALS * no + 1,) of operations; the last one is 1
    adjoint: Floats  # (scalars,)
    live: Ints  # (scalars,) 1 if the output depends on a scalar in this state: arguments that are not selected do not count
    arc: Floats  # second derivatives by pairs of scalars
    composite: Rows10  # (nb, 10) inertia of the members of a set below each body
    signal: Rows3  # (signals, 3) value and two derivatives
    acceleration: Floats  # (nv,) at which functions of accelerations are evaluated
    row: Floats  # (components of one output * its support,) gradients of components
    product: Floats  # likewise: second derivatives by components, times these
    block: Floats  # (support²,) Hessian of one output
    turned: Rows3  # (nv, 3) adjoint × angular part of S
    place: Ints  # (nv+1,) place of a velocity in the support of an output


class Derivatives(NamedTuple):
    """Results of all functions: what an entry returns in arrays of its caller."""

    u: Floats  # (m,)
    rate: Floats  # (m,)
    bias: Floats  # (m,)
    G: Matrix  # (m, nv+1)
    H: Floats  # (m·(nv+1)²,)


open_program = struct_opener(Tree, Work, Program, Results)
