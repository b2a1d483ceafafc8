"""Which shapes of a model may touch each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from brachiate.compiled import Handle
from brachiate.contact.arrays import PLANE, Geometry
from brachiate.contact.collision.narrow_phase import find
from brachiate.kinematics import locate
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

Group = int | str  # a body, or the first of the links that are fixed together in the inertial frame


def pairs_of(model: Model, links: Sequence[str], shapes: Geometry, rooms: Callable[..., Handle]) -> Array:
    """Pairs of shapes that may touch: (np, 2), in each the one that carries first.

    No pairs: shapes of one body, two that are fixed in the inertial frame, shapes of bodies that a joint holds together (across
    bodies that have no shape as well), and shapes of one figure that overlap in its neutral posture or its pose ``reference``.

    Args:
        model: Whose shapes.
        links: Which link each shape is part of.
        shapes: The shapes, without pairs.
        rooms: Makes room to find areas in.
    """
    groups = groups_of(model)
    joined = _joined(model, groups, {groups[link] for link in links})
    mine = [groups[link] for link in links]
    found = []
    for a in range(len(links)):
        for b in range(a + 1, len(links)):
            fixed = shapes.body[a] < 0 and shapes.body[b] < 0
            bare = shapes.kind[a] >= PLANE and shapes.kind[b] >= PLANE
            if not (fixed or bare or mine[a] == mine[b] or mine[b] in joined.get(mine[a], ())):
                found.append(_in_order(shapes, a, b))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[~_overlapping(model, links, shapes._replace(pair=pairs, pair_on=np.ones(len(pairs), np.int64)), rooms)]


def groups_of(model: Model) -> dict[str, Group]:
    """Which rigid piece every link is part of. Things fixed in the inertial frame side by side are pieces of their own."""
    groups: dict[str, Group] = {}
    for link in model.links.values():
        body = model.placements[link.name].body
        groups[link.name] = body if body >= 0 else groups[link.parent] if link.parent is not None else link.name
    return groups


def _joined(model: Model, groups: dict[str, Group], solid: set[Group]) -> dict[Group, set[Group]]:
    """Pieces that each piece is held to by a joint, directly or through pieces without a shape."""
    next_to: dict[Group, set[Group]] = {}
    ends = [(link.parent, link.name) for link in model.links.values() if 0 < link.joint.nv < 6 and link.parent is not None]
    ends += [(loop.first, loop.second) for loop in model.loops if "world" not in (loop.first, loop.second)]
    for first, second in ends:
        next_to.setdefault(groups[first], set()).add(groups[second])
        next_to.setdefault(groups[second], set()).add(groups[first])
    joined: dict[Group, set[Group]] = {}
    for group, beside in next_to.items():
        seen, ahead = {group}, list(beside)
        while ahead:
            other = ahead.pop()
            if other not in seen:
                seen.add(other)
                if other not in solid:
                    ahead += next_to[other]
        joined[group] = seen
    return joined


def _in_order(shapes: Geometry, a: int, b: int) -> tuple[int, int]:
    """The one that carries first: what has no end, what is fixed, what is larger; among equals, what comes first."""

    def rank(g: int) -> tuple[bool, bool, float]:
        return bool(shapes.kind[g] >= PLANE), bool(shapes.body[g] < 0), float(shapes.reach[g])

    return (b, a) if rank(b) > rank(a) else (a, b)


def _overlapping(model: Model, links: Sequence[str], shapes: Geometry, rooms: Callable[..., Handle]) -> Array:
    """Which pairs are of one figure, and overlap in a posture it is drawn in: they always do."""
    root: dict[str, str] = {}
    for link in model.links.values():
        root[link.name] = root[link.parent] if link.parent is not None else link.name
    roots = np.array([root[link] for link in links], str)
    same = roots[shapes.pair[:, 0]] == roots[shapes.pair[:, 1]]
    found = np.zeros(len(same), bool)
    chosen = np.flatnonzero(same)
    if not len(chosen):
        return found
    data = Data(model)
    contact = rooms(shapes._replace(pair=shapes.pair[chosen], pair_on=np.ones(len(chosen), np.int64)), 4 * len(chosen))
    areas = contact.rooms[1]
    for q in (model.neutral, *(q for name, q in model.poses.items() if name.split("/")[-1] == "reference")):
        data.assign(q=q)
        locate(data.key)
        count = find(data, contact, 0.0)
        found[chosen[areas.pair[:count]]] = True  # pyright: ignore[reportAttributeAccessIssue]
    return found
