"""Placement and appearance of figures in scenes: poses, rigid-rotation velocities, shirt colors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.figures.human_shapes import SHIRT, Color
from brachiate.figures.poses import axis_quaternion
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.figure import Figure
from brachiate.world.world import World

SIDES = ("left", "right")
RED: Color = (0.78, 0.26, 0.24, 1.0)
GREEN: Color = (0.36, 0.58, 0.35, 1.0)


def with_shirt(model: Model, shirt: Color) -> Model:
    """Figure in a shirt of another color."""
    links = [
        replace(link, shapes=[replace(shape, color=shirt) if shape.color == SHIRT else shape for shape in link.shapes])
        for link in model.links.values()
    ]
    return Model(model.name, links, *model._parts()[1:])


def rotation_about_y(degrees: float) -> Array:
    """Rotation matrix about y by an angle [deg]; moves a hanging point to -x."""
    return validation.rotation_matrix(axis_quaternion((0, 1, 0), degrees), "rotation")


def place_at(
    world: World, figure: Figure, points: Sequence[str], target: ArrayLike, rotation: ArrayLike, at: ArrayLike = (0, 0, 0)
) -> None:
    """Place a free figure with a given orientation so that the mean of some of its points is at a target.

    Args:
        world: World of the figure.
        figure: The figure, already in its pose.
        points: Links or sites of the figure.
        target: Target position in the world (3,) [m].
        rotation: Orientation of the root.
        at: Point in the links or sites (3,) [m].
    """
    figure.place((0, 0, 0), rotation)
    middle = np.mean([world.position(f"{figure.name}/{point}", at) for point in points], axis=0)
    figure.place(np.asarray(target, float) - middle, rotation)


def rigid_rotation_velocity(world: World, link: str, around: ArrayLike, rate: ArrayLike) -> list[float]:
    """Velocity of a free root in rigid rotation about a point of the world with angular velocity ``rate`` [rad/s], in link axes."""
    pose, w = world.pose(link), np.asarray(rate, float)
    return [*(pose.rotation.T @ np.cross(w, pose.position - np.asarray(around, float))), *(pose.rotation.T @ w)]
