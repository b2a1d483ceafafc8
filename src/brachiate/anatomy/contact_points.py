"""Contact points of a figure: spheres and corners of its collision shapes, grouped by body part."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Shape, Sphere
from brachiate.validation import Array

HEEL, TOE, BALL = "heel", "toe", "ball"
JOINT_TOLERANCE = 0.02  # [m] a limb end this close to the joint of the next link belongs to that link


class ContactPoints(NamedTuple):
    """Spheres by which the bodies of a figure can touch: two of a capsule, the corners of a box, surface points of other shapes."""

    body: Array  # (s,) body index
    position: Array  # (s, 3) [m] center, body axes
    radius: Array  # (s,) [m]
    part: Array  # (s,) index of the part
    parts: tuple[str, ...]  # names of the parts: links, of feet the heel and the front separately
    links: tuple[str, ...]  # link of each part

    def __len__(self) -> int:
        return len(self.body)


@cache
def _directions() -> Array:
    """Unit vectors to the corners, edges and faces of a cube: (26, 3)."""
    directions = np.array([each for each in product((-1.0, 0.0, 1.0), repeat=3) if any(each)])
    return directions / np.linalg.norm(directions, axis=1)[:, None]


def _shape_points(shape: Shape) -> tuple[Array, float]:
    """Sphere centers of a shape, link axes: (n, 3) [m], and their radius [m]."""
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


def find_contact_points(model: Model) -> ContactPoints:
    """Contact points of all collision shapes of a figure."""
    bodies, centers, radii, part_names = [], [], [], []
    parts: dict[str, str] = {}
    colliding = [link for link in model.links.values() if link.parent is not None and any(shape.collides for shape in link.shapes)]
    child_joints = {name: [link.position for link in colliding if link.parent == name] for name in model.links}
    for link in model.links.values():
        place = model.placements[link.name]
        if place.body < 0:
            continue
        ends = {s.name.rpartition("_")[2]: s for s in model.sites.values() if s.link == link.name}
        for shape in link.shapes:
            if not shape.collides or shape.kind in ("plane", "height field"):
                continue
            points, radius = _shape_points(shape)
            for point in points:
                # The knee belongs to the shank only
                if radius > 0.0 and any(np.linalg.norm(point - joint) < JOINT_TOLERANCE for joint in child_joints[link.name]):
                    continue
                part = link.name
                if HEEL in ends and TOE in ends:
                    nearest = min((HEEL, TOE), key=lambda end: float(np.linalg.norm(ends[end].position - point)))
                    # The front of a foot with a toe link is its ball
                    front = BALL if child_joints[link.name] else TOE
                    part = f"{ends[nearest].name.rpartition('_')[0]}_{nearest if nearest == HEEL else front}".lstrip("_")
                parts[part] = link.name
                part_names.append(part)
                bodies.append(place.body)
                centers.append(place.position + place.rotation @ point)
                radii.append(radius)
    order = {part: k for k, part in enumerate(parts)}
    return ContactPoints(
        np.array(bodies, np.int64),
        np.array(centers, float).reshape(-1, 3),
        np.array(radii, float),
        np.array([order[part] for part in part_names], np.int64),
        tuple(parts),
        tuple(parts.values()),
    )
