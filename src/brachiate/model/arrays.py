"""Structs of arrays of kernels: ``Tree`` (constant, the model) and ``Work`` (state, results and scratch).

Kernels work on *bodies*: the rigid bodies that move. A link fixed to its parent is part of its parent's body, so nothing is
computed for it; names and poses of links are stored separately (:mod:`brachiate.model.model`).

All spatial vectors of one tree are along world axes about the tree's *origin*, a point that moves with the tree's root: sums
over bodies need no transforms, and distance from the world's origin costs no precision.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, Rows6, Rows10, Rows21, Rows33, struct_opener


class Tree(NamedTuple):
    """Constant arrays of a model. Sizes: nb bodies, ne elementary motions, nq coordinates, nv velocities."""

    parent: Ints  # (nb,) body, -1 for the inertial frame
    root: Ints  # (nb,) first body of the tree this one belongs to
    element: Ints  # (nb+1,) start of the body's elementary motions
    dof: Ints  # (nb+1,) start of the body's velocities
    R_parent_joint: Rows33  # (nb, 3, 3)
    p_parent_joint: Rows3  # (nb, 3) [m]
    turned: Ints  # (nb,) 1 if R_parent_joint is not the identity
    inertia: Rows10  # (nb, 10) mass [kg], center of mass [m], inertia about it [kg·m²], link axes
    kind: Ints  # (ne,) TURN, SLIDE, BALL, FLOAT
    q_at: Ints  # (ne,) start of the element's coordinates in q
    v_at: Ints  # (ne,) start of the element's velocities in v
    axis: Rows3  # (ne, 3) unit
    along: Ints  # (ne,) 0, 1 or 2 if the axis is exactly x, y or z, else -1
    anchor: Rows3  # (ne, 3) [m] point on the axis, link axes
    anchored: Ints  # (ne,) 1 if the anchor is not zero
    body: Ints  # (nv,) body of the velocity
    row: Ints  # (nv+1,) start of the packed row of the mass matrix
    depth: Ints  # (nv,) number of velocities above this one
    above: Ints  # (row[nv],) packed: the velocities from the root down to this one, then padding
    row_above: Ints  # (row[nv],) packed: starts of the rows of those velocities
    armature: Floats  # (nv,) [kg·m² or kg]
    damping: Floats  # (nv,)
    stiffness: Floats  # (nv,)
    friction: Floats  # (nv,) [N·m or N]
    rest: Floats  # (nq,) rest position of springs
    passive: Ints  # (1,) 1 if any damping, stiffness or friction is nonzero


class Work(NamedTuple):
    """State, results and scratch."""

    q: Floats  # (nq,) configuration
    v: Floats  # (nv,) velocity
    a: Floats  # (nv,) acceleration
    tau: Floats  # (nv,) [N·m or N] torque applied at the joints
    gravity: Floats  # (3,) [m/s²]
    status: Ints  # (2,) status code, and the velocity it concerns
    push_count: Ints  # (1,) number of external forces in use
    push_body: Ints  # (capacity,)
    push_point: Rows3  # (capacity, 3) [m] in link axes
    push_force: Rows6  # (capacity, 6) force [N], moment [N·m]
    push_in_link: Ints  # (capacity,) 1 if the force is along link axes, 0 for world axes
    origin: Rows3  # (nb, 3) [m] origin of the tree, valid at roots
    R: Rows33  # (nb, 3, 3) orientation in the world
    x: Rows3  # (nb, 3) [m] position from the tree's origin, world axes
    S: Rows6  # (nv, 6) motion subspace: motion per unit of velocity; of ball joints and floating roots only after ball_motion_columns
    inertia: Rows10  # (nb, 10) about the tree's origin, world axes
    composite: Rows10  # (nb, 10) of the body and its subtree
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

open_model = struct_opener(Tree, Work)

# Relative size of a joint-space inertia after elimination below which it is round-off: the joint is singular.
SINGULAR_MARGIN = 1e-13
