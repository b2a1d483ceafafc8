"""Feet of a figure: sole, heel and front edge of the foot roll, and toes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate import rotations
from brachiate.anatomy.landmarks import Landmarks, body_vertices
from brachiate.anatomy.sole import Sole, fit_sole
from brachiate.clip.joint_roles import SIDES
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.joints import TURN
from brachiate.model.model import Model
from brachiate.validation import Array


@dataclass(frozen=True)
class Toes:
    """Toes that are a link of their own.

    Args:
        link: Name of the link.
        body: Body index.
        axes: Forward, left and up while the toes lie flat, as columns, body axes.
        corners: Corners of their sole, in the plane of the foot's sole when both lie flat: (4, 3) [m], body axes.
        joint_in_foot: Position of the toe joint, foot axes: (3,) [m].
        joint_in_toes: Position of the toe joint, toe axes: (3,) [m].
        axis: Flexion axis, to the left, foot axes: (3,).
    """

    link: str
    body: int
    axes: Array
    corners: Array
    joint_in_foot: Array
    joint_in_toes: Array
    axis: Array


@dataclass(frozen=True)
class Foot:
    """One foot.

    Args:
        side: ``"left"`` or ``"right"``.
        link: Name of the link.
        body: Body index.
        sole: Sole, body axes.
        corners: Contact corners: (k, 3) [m], body axes; the four of the sole, or the middles of heel and front edge of a foot without an
            ankle joint.
        toes: Toe link, if there is one.
    """

    side: str
    link: str
    body: int
    sole: Sole
    corners: Array
    toes: Toes | None = None

    @property
    def bodies(self) -> tuple[int, ...]:
        """Body indices of the foot and its toes."""
        return (self.body,) if self.toes is None else (self.body, self.toes.body)

    @property
    def is_heel(self) -> Array:
        """Whether each corner is of the heel: (k,)."""
        return np.arange(len(self.corners)) < len(self.corners) // 2

    @property
    def front_pivot(self) -> Array:
        """Point about which the foot rolls forward: front edge of the sole, or toe joint: (3,) [m], body axes."""
        return self.sole.toe if self.toes is None else self.toes.joint_in_foot

    @property
    def front_axis(self) -> Array:
        """Axis about which the foot rolls forward, to the left: (3,), body axes."""
        return self.sole.axes[:, 1] if self.toes is None else self.toes.axis

    @property
    def length(self) -> float:
        """Length from heel to front edge [m]."""
        return float(np.linalg.norm(self.sole.toe - self.sole.heel))


def find_feet(marks: Landmarks) -> tuple[Foot, ...]:
    """Left and right foot of a figure."""
    feet = []
    for side in SIDES:
        body, sole = marks.bodies[f"{side}_foot"], marks.soles[side]
        has_ankle = body != marks.points[f"{side}_knee"].body
        corners = sole.corners if has_ankle else np.stack((sole.heel, sole.toe))
        feet.append(Foot(side, marks.links[f"{side}_foot"], body, sole, corners, _find_toes(marks, side) if has_ankle else None))
    return tuple(feet)


def _find_toes(marks: Landmarks, side: str) -> Toes | None:
    """Toes of a foot, if they are its child and have a shape."""
    model, foot, sole = marks.model, marks.bodies[f"{side}_foot"], marks.soles[side]
    body = marks.bodies.get(f"{side}_toe")
    if body is None or model.tree.parent[body] != foot or not len(body_vertices(model, body)):
        return None
    element = model.tree.element[body]
    rest = BatchKinematics(model).poses(marks.standing_q[None])
    axes = rest.R[body, 0].T @ rest.R[foot, 0] @ sole.axes
    in_toes, R = model.tree.anchor[element], model.tree.R_parent_joint[body]
    in_foot = model.tree.p_parent_joint[body] + R @ in_toes
    toe_sole, _ = fit_sole(body_vertices(model, body), axes[:, 0], axes[:, 2], np.zeros(3), 1.0, None)
    axes, axis = toe_sole.axes, sole.axes[:, 1]
    if model.tree.kind[element] == TURN:
        # Flexed until the sole of the toes is level with that of the foot, as far as one axis allows
        axis = model.tree.axis[element]
        flexion = -_angle_about(toe_sole.axes[:, 2], R.T @ sole.axes[:, 2], axis)
        axes = rotations.to_matrix(rotations.from_rotation_vector(flexion * axis)) @ R.T @ sole.axes
        axis = R @ axis * np.sign(R @ axis @ sole.axes[:, 1])
    # Foot and toes lie on one plane, although joint positions of models are off by millimeters
    corners = toe_sole.corners @ axes
    corners[:, 2] = float(in_toes @ axes[:, 2]) - float((in_foot - sole.toe) @ sole.axes[:, 2])
    return Toes(marks.links[f"{side}_toe"], body, axes, corners @ axes.T, in_foot, in_toes, axis)


def _angle_about(first: Array, second: Array, axis: Array) -> float:
    """Rotation about an axis that brings the first vector nearest to the second [rad]."""
    first, second = (vector - (vector @ axis) * axis for vector in (first, second))
    return float(np.arctan2(np.cross(first, second) @ axis, first @ second))


def to_link_frame(model: Model, link: str, points: Array) -> Array:
    """Points of a body (k, 3) [m], along the axes of one of its links."""
    place = model.placements[link]
    return (points - place.position) @ place.rotation
