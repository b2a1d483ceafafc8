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
from brachiate.model.shapes import Shape
from brachiate.validation import Array

Group = int | str  # a body, or the first of the links fixed together in the inertial frame


def collision_pairs(
    model: Model, links: Sequence[str], solids: Sequence[Shape], shapes: CollisionGeometry, new_handle: Callable[..., ArrayHandle]
) -> Array:
    """Pairs of shapes that may collide: (np, 2), the supporting one first.

    Excluded are shapes of one body, and two shapes fixed in the inertial frame. Excluded are also, unless they are a contact pair of the
    model: shapes whose bits do not match, shapes of links whose contact the model ignores, shapes of bodies connected by a joint (also
    across bodies without shapes), and shapes of one figure that overlap in its neutral posture or in its pose ``reference``.

    Args:
        model: Model of the shapes.
        links: Link of each shape.
        solids: The shapes of the model.
        shapes: Their arrays, without pairs.
        new_handle: Allocates the arrays of collision detection.
    """
    groups = rigid_groups(model)
    neighbors = _joint_neighbors(model, groups, {groups[link] for link in links})
    shape_groups = [groups[link] for link in links]
    contact_pairs = contact_pair_friction(model, links, solids)
    ignored = {frozenset(pair) for pair in model.ignored_contacts}
    bits_match = matching_bits(solids)
    found, explicit = [], []
    for a in range(len(links)):
        for b in range(a + 1, len(links)):
            fixed = shapes.body[a] < 0 and shapes.body[b] < 0
            unbounded = shapes.kind[a] >= PLANE and shapes.kind[b] >= PLANE
            if fixed or unbounded or shape_groups[a] == shape_groups[b]:
                continue
            in_pair = (a, b) in contact_pairs
            excluded = not bits_match[a, b] or shape_groups[b] in neighbors.get(shape_groups[a], ())
            if in_pair or not (excluded or (ignored and frozenset((links[a], links[b])) in ignored)):
                found.append(_ordered(shapes, a, b))
                explicit.append(in_pair)
    pairs = np.array(found, np.int64).reshape(-1, 2)
    candidates = shapes._replace(pair=pairs, pair_enabled=np.ones(len(pairs), np.int64))
    return pairs[np.array(explicit, bool) | ~_overlap_when_neutral(model, links, candidates, new_handle)]


def matching_bits(solids: Sequence[Shape]) -> Array:
    """Whether contype and conaffinity let two shapes collide: (ns, ns)."""
    contype = np.array([shape.contype for shape in solids], np.int64)
    conaffinity = np.array([shape.conaffinity for shape in solids], np.int64)
    matches = (contype[:, None] & conaffinity) != 0
    return matches | matches.T


def contact_pair_friction(model: Model, links: Sequence[str], solids: Sequence[Shape]) -> dict[tuple[int, int], float | None]:
    """Friction of every contact pair of the model, by the indices of its two shapes, the smaller one first."""
    if not model.contact_pairs:
        return {}
    places: dict[tuple[str, str], list[int]] = {}
    for n, (link, shape) in enumerate(zip(links, solids, strict=True)):
        places.setdefault((link, shape.name), []).append(n)
    return {
        (min(a, b), max(a, b)): pair.friction
        for pair in model.contact_pairs
        for a in places[pair.first, pair.first_shape]
        for b in places[pair.second, pair.second_shape]
    }


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
