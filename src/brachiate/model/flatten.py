"""Flat arrays of ``Tree`` from links: fixed links are merged into their parent's body, the others are numbered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from brachiate.errors import ModelError
from brachiate.model.arrays import PAD, Tree
from brachiate.model.joints import ELEMENT_NQ, ELEMENT_NV
from brachiate.model.link import Link
from brachiate.validation import Array

# Packed rows of the mass matrix with more entries than this (16 bytes each) are not stored: a chain of some 5,000 links.
# Forward dynamics does not need them.
MAX_PACKED_SIZE = 12_500_000


class Placement(NamedTuple):
    """Placement of a link: fixed in a body (-1: the inertial frame) at a constant pose."""

    body: int
    rotation: Array
    position: Array


class _Body(NamedTuple):
    parent: int
    link: Link
    rotation: Array
    position: Array
    fixed: list[tuple[Link, Array, Array]]


def flatten(links: Sequence[Link], joints: Mapping[str, Any]) -> tuple[Tree, dict[str, Placement]]:
    """Number the bodies, elements and velocities of links that are in order."""
    bodies, placements = _bodies(links)
    elements = [(b, e) for b, body in enumerate(bodies) for e in body.link.joint.elements]
    dof_of = np.concatenate([[0], np.cumsum([body.link.joint.nv for body in bodies])]).astype(np.int64)
    parent = np.array([body.parent for body in bodies], np.int64)
    depth, row, above = _ancestors(parent, dof_of)
    kinds = [e.kind for _, e in elements]
    passive = {w: _gather(bodies, w) for w in ("armature", "damping", "stiffness", "friction", "rest")}
    inertia = _stack([_inertia(body) for body in bodies], (10,))
    _check_carried_mass(bodies, parent, inertia[:, 0])
    tree = Tree(
        parent=parent,
        root=_roots(parent),
        element=np.concatenate([[0], np.cumsum([len(body.link.joint.elements) for body in bodies])]).astype(np.int64),
        dof=dof_of,
        R_parent_joint=_stack([body.rotation for body in bodies], (3, 3)),
        p_parent_joint=_stack([body.position for body in bodies], (3,)),
        turned=np.array([int((body.rotation != np.eye(3)).any()) for body in bodies], np.int64),
        inertia=inertia,
        kind=np.array(kinds, np.int64),
        q_at=_starts([ELEMENT_NQ[k] for k in kinds]),
        v_at=_starts([ELEMENT_NV[k] for k in kinds]),
        axis=_stack([e.axis for _, e in elements], (3,)),
        along=np.array([_along(e.axis) for _, e in elements], np.int64),
        anchor=_stack([e.anchor for _, e in elements], (3,)),
        anchored=np.array([int(e.anchor.any()) for _, e in elements], np.int64),
        body=np.repeat(np.arange(len(bodies)), np.diff(dof_of)).astype(np.int64),
        row=row,
        depth=depth,
        above=above,
        row_above=row[above] if len(above) else above.copy(),
        **passive,
        passive=np.array([int(any(passive[w].any() for w in ("damping", "stiffness", "friction")))], np.int64),
    )
    return tree, placements


def _bodies(links: Sequence[Link]) -> tuple[list[_Body], dict[str, Placement]]:
    bodies: list[_Body] = []
    placements: dict[str, Placement] = {}
    for link in links:
        above = placements[link.parent] if link.parent is not None else Placement(-1, np.eye(3), np.zeros(3))
        R = above.rotation @ link.rotation
        p = above.position + above.rotation @ link.position
        if link.joint.nv:
            placements[link.name] = Placement(len(bodies), np.eye(3), np.zeros(3))
            bodies.append(_Body(above.body, link, R, p, []))
        else:
            placements[link.name] = Placement(above.body, R, p)
            if above.body >= 0:
                bodies[above.body].fixed.append((link, R, p))
    return bodies, placements


def _inertia(body: _Body) -> Array:
    """Mass, center of mass and inertia about it of a link and the links fixed to it."""
    pieces = [(body.link, np.eye(3), np.zeros(3)), *body.fixed]
    mass = sum(link.mass for link, _, _ in pieces)
    if mass == 0:
        return np.zeros(10)
    centers = [p + R @ link.center for link, R, p in pieces]
    center = sum((link.mass * c for (link, _, _), c in zip(pieces, centers, strict=True)), np.zeros(3)) / mass
    about = np.zeros((3, 3))
    for (link, R, _), c in zip(pieces, centers, strict=True):
        d = c - center
        about += R @ link.inertia @ R.T + link.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return np.array([mass, *center, *about[np.triu_indices(3)]])


def _check_carried_mass(bodies: Sequence[_Body], parent: Array, mass: Array) -> None:
    carried = mass.copy()
    for b in range(len(bodies) - 1, -1, -1):
        joint = bodies[b].link.joint
        if carried[b] <= 0 and not (joint.armature > 0).all():
            raise ModelError(
                f"Link {bodies[b].link.name!r} can move, but neither it nor its subtree has mass, "
                "so any force would accelerate it infinitely. Give it a mass, or fix its joint."
            )
        if parent[b] >= 0:
            carried[int(parent[b])] += carried[b]


def _ancestors(parent: Array, dof: Array) -> tuple[Array, Array, Array]:
    """Depth of every velocity, start of its packed row, and the rows: velocities from the root down to it."""
    count = np.diff(dof)
    over = np.zeros(len(parent), np.int64)  # velocities above a body's own
    for b, p in enumerate(parent):
        over[b] = over[p] + count[p] if p >= 0 else 0
    depth = np.concatenate([np.arange(n, n + c) for n, c in zip(over, count, strict=True)] or [np.zeros(0)]).astype(np.int64)
    sizes = (depth + PAD) // PAD * PAD
    if sizes.sum() > MAX_PACKED_SIZE:
        return depth, np.zeros(len(depth) + 1, np.int64), np.zeros(0, np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    above = np.zeros(start[-1], np.int64)
    for b, p in enumerate(parent):
        for k in range(dof[b], dof[b + 1]):
            up = k - 1 if k > dof[b] else dof[p + 1] - 1 if p >= 0 else -1
            if up >= 0:
                above[start[k] : start[k] + depth[k]] = above[start[up] : start[up] + depth[up] + 1]
            above[start[k] + depth[k]] = k
    return depth, start, above


def _along(axis: Array) -> int:
    return next((k for k, unit in enumerate(np.eye(3)) if (axis == unit).all()), -1)


def _roots(parent: Array) -> Array:
    root = np.arange(len(parent))
    for b, p in enumerate(parent):
        if p >= 0:
            root[b] = root[p]
    return root.astype(np.int64)


def _starts(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)


def _gather(bodies: Sequence[_Body], what: str) -> Array:
    return np.concatenate([getattr(body.link.joint, what) for body in bodies] or [np.zeros(0)])


def _stack(rows: Sequence[Array], shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.stack(rows) if len(rows) else np.zeros((0, *shape)), float)
