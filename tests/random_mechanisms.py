"""Random closed mechanisms: a random tree at a random configuration, and connections that are closed there.

Examples are determined by seed and size, so a failing one can be reproduced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tests import maximal
from tests.maximal import Connection
from tests.random_models import KINDS, generator, random_joint, random_model, random_rotation, random_state

from brachiate import Model
from brachiate.model.joints import BALL, ELEMENT_NQ, SLIDE, TURN, Joint
from brachiate.validation import Array

#: Joints that can close a loop.
LOOP_KINDS = tuple(kind for kind in KINDS if kind != "free")
DISTINCT = 1e-4  # relative: mechanisms with smaller singular values of the rows are too ill-conditioned for the tests


class Mechanism(NamedTuple):
    """A tree, its state, and connections that are closed there."""

    model: Model
    q: Array
    v: Array
    connections: list[Connection]


def random_mechanism(
    seed: int | np.random.Generator,
    links: int,
    loops: int,
    *,
    kinds: tuple[str, ...] = LOOP_KINDS,
    tree_kinds: tuple[str, ...] = KINDS,
    redundant: bool = False,
    passive: bool = False,
    **options: Any,
) -> Mechanism:
    """Random mechanism with the given number of links and loops; fewer loops if the tree has too few degrees of freedom.

    Rows of different loops are independent, and at least one degree of freedom remains.

    Args:
        seed: Seed or generator.
        links: Number of links of the tree.
        loops: Number of connections.
        kinds: Joint types that close loops.
        tree_kinds: Joint types of the tree.
        redundant: Whether to add a connection that is redundant with the last one.
        passive: Whether some joints, of the tree and of loops, have springs, dampers and dry friction.
        options: Options of :func:`~tests.random_models.random_model`.
    """
    rng = generator(seed)
    model = random_model(rng, links, kinds=tree_kinds, passive=passive, **options)
    q, v, _ = random_state(model, rng)
    connections: list[Connection] = []
    mobility = maximal.mobility(model, q, ())
    for _ in range(20 * loops):
        if len(connections) == loops:
            break
        name = f"loop{len(connections)}"
        joint = random_joint(rng, str(rng.choice(kinds)), name, passive=passive and rng.random() < 0.5)
        rows = 6 - joint.nv
        if rows >= mobility:
            continue
        candidate = random_connection(model, q, joint, rng)
        if maximal.mobility(model, q, [*connections, candidate], rank=DISTINCT) == mobility - rows:
            connections.append(candidate)
            mobility -= rows
    if redundant and connections:
        connections.append(redundant_with(connections[-1], rng))
    return Mechanism(model, q, maximal.impulse(model, q, v, connections), connections)


def random_connection(model: Model, q: Array, joint: Joint, rng: np.random.Generator) -> Connection:
    """A connection of two different links, or of a link and the world, that is closed at q."""
    first, second = rng.choice(["world", *model.links], 2, replace=False)
    poses, _ = maximal.bodies(model, q, np.zeros(model.nv))
    poses["world"] = maximal.Pose(np.eye(3), np.zeros(3))
    position, rotation = rng.normal(0.0, 0.5, 3), random_rotation(rng)
    x = random_coordinates(joint, rng)
    R, p = poses[first]
    end, _ = maximal.chain_end(joint, x, np.zeros(joint.nv), maximal.at_rest(R @ rotation, p + R @ position))
    R, p = poses[second]
    return Connection(str(first), str(second), joint, position, rotation, R.T @ (end.p - p), R.T @ end.R, x)


def random_coordinates(joint: Joint, rng: np.random.Generator) -> Array:
    """Random coordinates of a joint: any angles and rotations, moderate distances."""
    parts = []
    for e in joint.elements:
        if e.kind == SLIDE:
            parts.append(rng.normal(0.0, 0.5, 1))
        elif e.kind == TURN:
            parts.append(rng.uniform(-np.pi, np.pi, 1))
        else:
            x = rng.normal(size=ELEMENT_NQ[e.kind])
            parts.append(x / np.linalg.norm(x))
    return np.concatenate(parts) if parts else np.zeros(0)


def redundant_with(c: Connection, rng: np.random.Generator) -> Connection:
    """A connection with the same motion: a second hinge on the axis, a second parallel slide, else a duplicate."""
    if len(c.joint.elements) != 1 or c.joint.elements[0].kind == BALL:
        return c
    (e,) = c.joint.elements
    offset = rng.normal(0.0, 0.5, 3) if e.kind == SLIDE else rng.normal(0.0, 0.5) * e.axis
    return c._replace(
        first_position=c.first_position + c.first_rotation @ offset, second_position=c.second_position + c.second_rotation @ offset
    )
