"""Spots: the points by which a figure can touch, and the parts of the body they belong to."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape, Sphere
from brachiate.validation import Array

HEEL, TOE, BALL = "heel", "toe", "ball"
SAME = 0.02  # [m] how close the end of a limb is to the joint that carries the next one


class Spots(NamedTuple):
    """Small balls fixed in bodies. A capsule has two, a box its corners, other shapes points of their surface."""

    body: Array  # (s,) whose
    at: Array  # (s, 3) [m] centre, body axes
    radius: Array  # (s,) [m]
    part: Array  # (s,) which part
    parts: tuple[str, ...]  # of the body, by name: links; the heel and the front of feet apart
    links: tuple[str, ...]  # that each part is of

    def __len__(self) -> int:
        return len(self.body)


@cache
def _directions() -> Array:
    """All around, evenly enough: the corners, edges and faces of a cube."""
    all_ways = np.array([way for way in product((-1.0, 0.0, 1.0), repeat=3) if any(way)])
    return all_ways / np.linalg.norm(all_ways, axis=1)[:, None]


def _of_shape(shape: Shape) -> tuple[Array, float]:
    """Centres, in the link's coordinates, and the radius they have in common."""
    if isinstance(shape, Sphere):
        return shape.position[None], shape.radius
    if isinstance(shape, Capsule):
        ends = 0.5 * shape.length * np.outer((-1.0, 1.0), shape.rotation[:, 2])
        return shape.position + ends, shape.radius
    if isinstance(shape, Box):
        corners = 0.5 * shape.size * np.array(list(product((-1.0, 1.0), repeat=3)))
        return shape.position + corners @ shape.rotation.T, 0.0
    vertices, _ = shape.surface(4)
    outermost = np.unique(np.argmax(vertices @ (_directions() @ shape.rotation.T).T, axis=0))
    return vertices[outermost], 0.0


def spots_of(model: Model) -> Spots:
    """All spots of a figure's shapes that can touch."""
    bodies, centers, radii, which = [], [], [], []
    parts: dict[str, str] = {}
    solid = [link for link in model.links.values() if link.parent is not None and any(shape.collides for shape in link.shapes)]
    carried = {name: [link.position for link in solid if link.parent == name] for name in model.links}
    for link in model.links.values():
        place = model.placements[link.name]
        if place.body < 0:
            continue
        ends = {s.name.rpartition("_")[2]: s for s in model.sites.values() if s.link == link.name}
        for shape in link.shapes:
            if not shape.collides or shape.kind in ("plane", "height field"):
                continue
            points, radius = _of_shape(shape)
            for point in points:
                # A knee is the shank's, not the thigh's as well
                if radius > 0.0 and any(np.linalg.norm(point - joint) < SAME for joint in carried[link.name]):
                    continue
                part = link.name
                if HEEL in ends and TOE in ends:
                    near = min((HEEL, TOE), key=lambda end: float(np.linalg.norm(ends[end].position - point)))
                    # Where toes are a link of their own, what is in front of the foot is its ball
                    front = BALL if carried[link.name] else TOE
                    part = f"{ends[near].name.rpartition('_')[0]}_{near if near == HEEL else front}".lstrip("_")
                parts[part] = link.name
                which.append(part)
                bodies.append(place.body)
                centers.append(place.position + place.rotation @ point)
                radii.append(radius)
    order = {part: k for k, part in enumerate(parts)}
    return Spots(
        np.array(bodies, np.int64),
        np.array(centers, float).reshape(-1, 3),
        np.array(radii, float),
        np.array([order[part] for part in which], np.int64),
        tuple(parts),
        tuple(parts.values()),
    )
