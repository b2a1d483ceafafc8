"""Figures for scenes: the colour of their shirts, and where they hang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.figures.looks import SHIRT, Color
from brachiate.figures.poses import about
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.figure import Figure
from brachiate.world.world import World

SIDES = ("left", "right")
RED: Color = (0.78, 0.26, 0.24, 1.0)
GREEN: Color = (0.36, 0.58, 0.35, 1.0)


def dressed(model: Model, shirt: Color) -> Model:
    """Return a figure in a shirt of another colour."""
    links = [
        replace(link, shapes=[replace(shape, color=shirt) if shape.color == SHIRT else shape for shape in link.shapes])
        for link in model.links.values()
    ]
    return Model(model.name, links, *model._parts()[1:])


def about_y(degrees: float) -> Array:
    """Rotation matrix of a turn about y, which takes what hangs to -x."""
    return validation.rotation_matrix(about((0, 1, 0), degrees), "turn")


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
