"""Figures for scenes: their muscle tone, the colour of their shirts, and where they hang."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors
from brachiate.doors import Array
from brachiate.figures.looks import SHIRT, Color
from brachiate.figures.poses import about
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.world.figure import Figure
from brachiate.world.world import World

SIDES = ("left", "right")
RED: Color = (0.78, 0.26, 0.24, 1.0)
GREEN: Color = (0.36, 0.58, 0.35, 1.0)


def toned(model: Model, posture: Mapping[str, Any], stiffness: float, damping: float = 0.0, shirt: Color = SHIRT) -> Model:
    """Return a figure with muscle tone: its joints, but for free ones, spring back to a posture.

    Args:
        model: The figure.
        posture: Values by joint; joints that are not named are slack where the figure stands.
        stiffness: Of the springs [N·m/rad]; they keep energy.
        damping: Of the joints [N·m·s/rad]; it takes energy.
        shirt: Its colour.
    """
    rest = model.configuration(posture)
    links = []
    for link in model.links.values():
        joint = copy.copy(link.joint)
        if joint.nv and not any(element.kind == FLOAT for element in joint.elements):
            joint.stiffness = np.full(joint.nv, doors.number(stiffness, "stiffness", least=0.0))
            joint.damping = np.full(joint.nv, doors.number(damping, "damping", least=0.0))
            joint.rest = rest[model.joints[link.joint_name].q]
        shapes = [replace(shape, color=shirt) if shape.color == SHIRT else shape for shape in link.shapes]
        links.append(replace(link, joint=joint, shapes=shapes))
    poses = {name: by_joint(model, q) for name, q in model.poses.items()}
    return Model(model.name, links, list(model.sites.values()), model.loops, model.couplings, list(model.actuators.values()), poses)


def by_joint(model: Model, q: Array) -> dict[str, Array]:
    """A configuration as values by joint."""
    return {name: q[joint.q] for name, joint in model.joints.items()}


def posture_of(world: World, figure: str) -> dict[str, Any]:
    """The present values of a figure's joints, but for its root."""
    return {name: world[f"{figure}/{name}"] for name in world.figure(figure).model.joints if name != "root"}


def about_y(degrees: float) -> Array:
    """Rotation matrix of a turn about y, which takes what hangs to -x."""
    return doors.rotation_matrix(about((0, 1, 0), degrees), "turn")


def put(world: World, figure: Figure, points: Sequence[str], target: ArrayLike, rotation: ArrayLike, at: ArrayLike = (0, 0, 0)) -> None:
    """Place a free figure, turned so, with the middle of some of its points at a target.

    Args:
        world: Where it is.
        figure: The figure, in its posture.
        points: Its links or sites.
        target: In the world [m].
        rotation: Of its root.
        at: Which point of the links or sites [m].
    """
    figure.place((0, 0, 0), rotation)
    middle = np.mean([world.position(f"{figure.name}/{point}", at) for point in points], axis=0)
    figure.place(np.asarray(target, float) - middle, rotation)


def turning(world: World, link: str, around: ArrayLike, rate: ArrayLike) -> list[float]:
    """Velocity of a free root that turns about a point of the world as one piece with it [rad/s]: linear, angular, in its axes."""
    pose, w = world.pose(link), np.asarray(rate, float)
    return [*(pose.rotation.T @ np.cross(w, pose.position - np.asarray(around, float))), *(pose.rotation.T @ w)]
