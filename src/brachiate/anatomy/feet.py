"""Feet of a figure as the clean-up sees them: soles, edges they roll over, and toes that bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate import rotations
from brachiate.anatomy.landmarks import Landmarks, vertices_of
from brachiate.anatomy.sole import Sole, sole_of
from brachiate.clip.joint_roles import SIDES
from brachiate.kinematics_batch import Many
from brachiate.model.joints import TURN
from brachiate.model.model import Model
from brachiate.validation import Array


@dataclass(frozen=True)
class Toes:
    """Toes that are a link of their own.

    Args:
        link: Its name.
        body: Its number.
        axes: Forward, left and up along the body's axes, as columns, when they lie flat.
        corners: Of their sole: (4, 3) [m], body axes, at the height of the foot's sole when both lie flat.
        joint: Where they bend, along the axes of the foot [m].
        center: The same along their own [m].
        hinge: Axis that they bend about, along the axes of the foot, to its left.
    """

    link: str
    body: int
    axes: Array
    corners: Array
    joint: Array
    center: Array
    hinge: Array


@dataclass(frozen=True)
class Foot:
    """One foot.

    Args:
        side: ``"left"`` or ``"right"``.
        link: Its name.
        body: Its number.
        sole: Along the body's axes.
        corners: That stand: (k, 3) [m], body axes; the sole's four, or the middles of heel and toe of a foot without an ankle.
        toes: If they bend.
    """

    side: str
    link: str
    body: int
    sole: Sole
    corners: Array
    toes: Toes | None = None

    @property
    def bodies(self) -> tuple[int, ...]:
        """Numbers of all its bodies."""
        return (self.body,) if self.toes is None else (self.body, self.toes.body)

    @property
    def heels(self) -> Array:
        """Which corners are of the heel: (k,)."""
        return np.arange(len(self.corners)) < len(self.corners) // 2

    @property
    def tip(self) -> Array:
        """What the foot rolls over in front: its front edge, or where its toes bend [m], body axes."""
        return self.sole.toe if self.toes is None else self.toes.joint

    @property
    def hinge(self) -> Array:
        """About which it rolls over that, to the left, body axes."""
        return self.sole.axes[:, 1] if self.toes is None else self.toes.hinge

    @property
    def length(self) -> float:
        """From heel to front edge [m]."""
        return float(np.linalg.norm(self.sole.toe - self.sole.heel))


def feet_of(marks: Landmarks) -> tuple[Foot, ...]:
    """Both feet of a figure."""
    found = []
    for side in SIDES:
        body, sole = marks.bodies[f"{side}_foot"], marks.soles[side]
        ankle = body != marks.points[f"{side}_knee"].body
        corners = sole.corners if ankle else np.stack((sole.heel, sole.toe))
        found.append(Foot(side, marks.links[f"{side}_foot"], body, sole, corners, _toes(marks, side) if ankle else None))
    return tuple(found)


def _toes(marks: Landmarks, side: str) -> Toes | None:
    """Toes of a foot, if they hang on it and have a shape."""
    model, foot, sole = marks.model, marks.bodies[f"{side}_foot"], marks.soles[side]
    body = marks.bodies.get(f"{side}_toe")
    if body is None or model.tree.parent[body] != foot or not len(vertices_of(model, body)):
        return None
    element = model.tree.element[body]
    rest = Many(model).poses(marks.stand[None])
    axes = rest.R[body, 0].T @ rest.R[foot, 0] @ sole.axes
    center, R = model.tree.anchor[element], model.tree.R_parent_joint[body]
    joint = model.tree.p_parent_joint[body] + R @ center
    below, _ = sole_of(vertices_of(model, body), axes[:, 0], axes[:, 2], np.zeros(3), 1.0, None)
    axes, hinge = below.axes, sole.axes[:, 1]
    if model.tree.kind[element] == TURN:
        # Bent so that their sole is level with the foot's, as far as the hinge lets them
        hinge = model.tree.axis[element]
        axes = rotations.matrix(rotations.from_vector(-_angle(below.axes[:, 2], R.T @ sole.axes[:, 2], hinge) * hinge)) @ R.T @ sole.axes
        hinge = R @ hinge * np.sign(R @ hinge @ sole.axes[:, 1])
    # Foot and toes lie on one plane, which joints that are a few millimetres off would not let them
    seen = below.corners @ axes
    seen[:, 2] = float(center @ axes[:, 2]) - float((joint - sole.toe) @ sole.axes[:, 2])
    return Toes(marks.links[f"{side}_toe"], body, axes, seen @ axes.T, joint, center, hinge)


def _angle(first: Array, then: Array, axis: Array) -> float:
    """By which a vector is turned about an axis to come nearest to another [rad]."""
    first, then = (vector - (vector @ axis) * axis for vector in (first, then))
    return float(np.arctan2(np.cross(first, then) @ axis, first @ then))


def in_link(model: Model, link: str, points: Array) -> Array:
    """Points of a body (k, 3) along the axes of one of its links."""
    place = model.placements[link]
    return (points - place.position) @ place.rotation
