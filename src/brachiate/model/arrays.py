"""The arrays kernels work on: ``Tree`` (frozen, describes) and ``Work`` (owns every result and scratch array).

Kernels see *bodies*: the rigid pieces that move. A link that is fixed to its parent is part of its parent's body, so
nothing is computed for it; names and poses of links are kept beside (:mod:`brachiate.model.model`).

All spatial vectors of one tree are along world axes about the tree's *origin*, a point that moves with the tree's root
so that numbers stay small: sums over bodies need no transforms, and long distances from the world's origin cost no
digits.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, Rows6, Rows10, Rows21, Rows33, opener


class Tree(NamedTuple):
    """What a world is made of. Sizes: nb bodies, ne elementary motions, nq numbers, nv velocities."""

    parent: Ints  # (nb,) body, -1 for the inertial frame
    root: Ints  # (nb,) first body of the tree this one belongs to
    element: Ints  # (nb+1,) where the body's elementary motions start
    dof: Ints  # (nb+1,) where the body's velocities start
    R_parent_joint: Rows33  # (nb, 3, 3)
    p_parent_joint: Rows3  # (nb, 3) [m]
    turned: Ints  # (nb,) 1 if R_parent_joint is not the identity
    inertia: Rows10  # (nb, 10) mass [kg], centre [m], inertia about the centre [kg·m²], link axes
    kind: Ints  # (ne,) TURN, SLIDE, BALL, FLOAT
    q_at: Ints  # (ne,) where the element's numbers start
    v_at: Ints  # (ne,) where the element's velocities start
    axis: Rows3  # (ne, 3) unit
    along: Ints  # (ne,) 0, 1 or 2 if the axis is exactly x, y or z, else -1
    anchor: Rows3  # (ne, 3) [m] point on the axis, link axes
    anchored: Ints  # (ne,) 1 if the anchor is not zero
    body: Ints  # (nv,) whose velocity it is
    row: Ints  # (nv+1,) where the packed row of the mass matrix starts
    depth: Ints  # (nv,) how many velocities are above this one
    above: Ints  # (row[nv],) packed: the velocities from the root down to this one, then padding
    row_above: Ints  # (row[nv],) packed: where the rows of those velocities start
    armature: Floats  # (nv,) [kg·m² or kg]
    damping: Floats  # (nv,)
    stiffness: Floats  # (nv,)
    friction: Floats  # (nv,) [N·m or N]
    rest: Floats  # (nq,) where springs are slack
    passive: Ints  # (1,) 1 if any damping, stiffness or friction is not zero


class Work(NamedTuple):
    """State, results and scratch."""

    q: Floats  # (nq,) configuration
    v: Floats  # (nv,) velocity
    a: Floats  # (nv,) acceleration
    tau: Floats  # (nv,) [N·m or N] torque applied at the joints
    gravity: Floats  # (3,) [m/s²]
    status: Ints  # (2,) what went wrong, and where
    push_count: Ints  # (1,) how many rows of the pushes are in use
    push_body: Ints  # (capacity,)
    push_point: Rows3  # (capacity, 3) [m] in link axes
    push_force: Rows6  # (capacity, 6) force [N], moment [N·m]
    push_in_link: Ints  # (capacity,) 1 if the force is along link axes, 0 for world axes
    origin: Rows3  # (nb, 3) [m] origin of the tree, valid at roots
    R: Rows33  # (nb, 3, 3) orientation in the world
    x: Rows3  # (nb, 3) [m] position from the tree's origin, world axes
    S: Rows6  # (nv, 6) motion per unit of velocity; of ball joints and floating roots only after ball_motions
    inertia: Rows10  # (nb, 10) about the tree's origin, world axes
    composite: Rows10  # (nb, 10) of the body and all it carries
    V: Rows6  # (nb, 6) velocity
    C: Rows6  # (nb, 6) velocity-product acceleration of the joint alone
    A: Rows6  # (nb, 6) acceleration; in dynamics, minus gravity
    F: Rows6  # (nb, 6) force through the joint
    bias: Floats  # (nv,) torque at zero acceleration: Coriolis, gravity, minus passive and external
    L: Floats  # (row[nv],) packed mass matrix, then its factor A = LᵀDL
    D: Floats  # (nv,) inverse of the factor's diagonal
    c: Rows3  # (nb, 3) [m] point the articulated quantities are about, from the tree's origin
    IA: Rows21  # (nb, 21) articulated inertia
    PA: Rows6  # (nb, 6) articulated bias force
    U: Rows6  # (nv, 6) articulated inertia times S
    u: Floats  # (nv,)
    y: Floats  # (nv,) damping that acts implicitly; zero without passive forces


PAD = 4  # rows of the packed mass matrix are multiples of this long

open_rooms = opener(Tree, Work)

# What is left of a joint's inertia relative to the size it is taken from, below which it is round-off: the joint is singular.
SINGULAR_MARGIN = 1e-13

# Status codes kernels may leave in Work.status; brachiate.model.data turns them into errors.
OK, NOT_FINITE, OVERFLOW, SINGULAR, STALLED = range(5)
