"""Free bodies of one shape, and worlds with a body on a slope."""

from __future__ import annotations

import numpy as np

import brachiate as br
from brachiate.figures import objects
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free
from brachiate.model.shapes import Box, Shape

G = 9.81


def body(shape: Shape, mass: float = 1.0, name: str = "body") -> br.Model:
    """Free body with one shape."""
    b = ModelBuilder(name)
    _, _, inertia = shape.mass_properties(mass / shape.volume())
    b.link(name, joint=Free(), joint_name="root", mass=mass, inertia=inertia, shapes=shape)
    return b.build()


def tilted(degrees: float) -> np.ndarray:
    """Rotation about y by which the x axis points downhill."""
    a = np.radians(degrees)
    return np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])


def on_slope(shape: Shape, height: float, degrees: float, friction: float, restitution: float = 0.0) -> br.World:
    """A body resting on a slope: its center ``height`` above the plane."""
    world = br.World(G)
    world.add(objects.ground(), "floor", rotation=tilted(degrees))
    world.add(body(shape), "thing")
    place(world, "thing", tilted(degrees) @ (0, 0, height), tilted(degrees))
    world.enable_contact(friction=friction, restitution=restitution)
    return world


def place(world: br.World, name: str, position, rotation=None) -> None:
    """Set the pose of a free body."""
    world.figure(name).place(position, rotation)


def downhill(world: br.World, degrees: float) -> float:
    """Speed of the body down the slope."""
    return float(world.velocity("thing/body")[:3] @ tilted(degrees)[:, 0])


BOX = Box(size=(0.4, 0.3, 0.2))
