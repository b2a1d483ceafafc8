"""Pair filter of collision detection: which shapes of a model may collide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import PLANE, CollisionGeometry
from brachiate.contact.collision.narrow_phase import find_contacts
from brachiate.kinematics import update_body_poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

Group = int | str  # a body, or the first of the links fixed together in the inertial frame


def collision_pairs(model: Model, links: Sequence[str], shapes: CollisionGeometry, new_handle: Callable[..., ArrayHandle]) -> Array:
    """Pairs of shapes that may collide: (np, 2), the supporting one first.

    Excluded are shapes of one body, two shapes fixed in the inertial frame, shapes of bodies connected by a joint (also across bodies
    without shapes), and shapes of one figure that overlap in its neutral posture or in its pose ``reference``.

    Args:
        model: Model of the shapes.
        links: Link of each shape.
        shapes: The shapes, without pairs.
        new_handle: Allocates the arrays of collision detection.
    """
    groups = rigid_groups(model)
    neighbors = _joint_neighbors(model, groups, {groups[link] for link in links})
    shape_groups = [groups[link] for link in links]
    found = []
    for a in range(len(links)):
        for b in range(a + 1, len(links)):
            fixed = shapes.body[a] < 0 and shapes.body[b] < 0
            unbounded = shapes.kind[a] >= PLANE and shapes.kind[b] >= PLANE
            if not (fixed or unbounded or shape_groups[a] == shape_groups[b] or shape_groups[b] in neighbors.get(shape_groups[a], ())):
                found.append(_ordered(shapes, a, b))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[~_overlap_when_neutral(model, links, shapes._replace(pair=pairs, pair_enabled=np.ones(len(pairs), np.int64)), new_handle)]


def rigid_groups(model: Model) -> dict[str, Group]:
    """Rigid group of every link. Links fixed in the inertial frame side by side are groups of their own."""
    groups: dict[str, Group] = {}
    for link in model.links.values():
        body = model.placements[link.name].body
        groups[link.name] = body if body >= 0 else groups[link.parent] if link.parent is not None else link.name
    return groups


def _joint_neighbors(model: Model, groups: dict[str, Group], with_shapes: set[Group]) -> dict[Group, set[Group]]:
    """Groups that each group is connected to by a joint, directly or across groups without shapes."""
    adjacent: dict[Group, set[Group]] = {}
    ends = [(link.parent, link.name) for link in model.links.values() if 0 < link.joint.nv < 6 and link.parent is not None]
    ends += [(loop.first, loop.second) for loop in model.loops if "world" not in (loop.first, loop.second)]
    for first, second in ends:
        adjacent.setdefault(groups[first], set()).add(groups[second])
        adjacent.setdefault(groups[second], set()).add(groups[first])
    neighbors: dict[Group, set[Group]] = {}
    for group, direct in adjacent.items():
        seen, pending = {group}, list(direct)
        while pending:
            other = pending.pop()
            if other not in seen:
                seen.add(other)
                if other not in with_shapes:
                    pending += adjacent[other]
        neighbors[group] = seen
    return neighbors


def _ordered(shapes: CollisionGeometry, a: int, b: int) -> tuple[int, int]:
    """The pair with its supporting shape first: unbounded before bounded, fixed before moving, large before small."""

    def rank(g: int) -> tuple[bool, bool, float]:
        return bool(shapes.kind[g] >= PLANE), bool(shapes.body[g] < 0), float(shapes.bounding_radius[g])

    return (b, a) if rank(b) > rank(a) else (a, b)


def _overlap_when_neutral(model: Model, links: Sequence[str], shapes: CollisionGeometry, new_handle: Callable[..., ArrayHandle]) -> Array:
    """Which pairs belong to one figure and overlap in its neutral or reference posture: they always do."""
    root: dict[str, str] = {}
    for link in model.links.values():
        root[link.name] = root[link.parent] if link.parent is not None else link.name
    roots = np.array([root[link] for link in links], str)
    same = roots[shapes.pair[:, 0]] == roots[shapes.pair[:, 1]]
    found = np.zeros(len(same), bool)
    candidates = np.flatnonzero(same)
    if not len(candidates):
        return found
    data = Data(model)
    contact = new_handle(
        shapes._replace(pair=shapes.pair[candidates], pair_enabled=np.ones(len(candidates), np.int64)), 4 * len(candidates)
    )
    patches = contact.structs[1]
    for q in (model.neutral, *(q for name, q in model.poses.items() if name.split("/")[-1] == "reference")):
        data.assign(q=q)
        update_body_poses(data.key)
        count = find_contacts(data, contact, 0.0)
        found[candidates[patches.pair[:count]]] = True  # pyright: ignore[reportAttributeAccessIssue]
    return found
