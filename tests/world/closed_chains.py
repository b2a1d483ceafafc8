"""Worlds with closed chains for tests of mobility and inverse dynamics: random mechanisms, and a gymnast on the high bar."""

from __future__ import annotations

import numpy as np
from tests.random_mechanisms import Mechanism

import brachiate as br
from brachiate.model.flatten import Placement
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.motion_directions import Direction

GRAVITY = np.array([0.4, 0.9, -9.3])


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def world_of(m: Mechanism) -> br.World:
    """A world with a mechanism in its state, its connections already closed."""
    world = br.World(GRAVITY)
    world.add(m.model, "m")
    world.q, world.v = m.q, m.v
    for k, c in enumerate(m.connections):
        ends = [end if end == "world" else f"m/{end}" for end in (c.second, c.first)]
        frames = Placement(-1, c.second_rotation, c.second_position), Placement(-1, c.first_rotation, c.first_position)
        constraint = Connection(world, f"loop{k}", ends[0], ends[1], c.joint, frames)
        constraint.initial_state = c.joint.neutral if c.start is None else c.start, np.zeros(c.joint.nv)
        constraint.add_to(world.constraint_set, world.model)
        world.constraints.append(constraint)
    world.constraint_set.update_structure()
    world.update_redundancy()
    world.mark_structure_changed()
    return world


def high_bar(hands: tuple[str, ...] = ("left", "right"), seed: int | None = None) -> br.World:
    """A gymnast under the bar, at rest; with a seed, elbows, hips and knees bent and everything in motion."""
    world = br.World()
    man = world.add(br.figures.human16(), "man")
    world.add(br.figures.bar(), "bar")
    man.set_pose("hang", root=True)
    if seed is not None:
        rng = np.random.default_rng(seed)
        bend = rng.uniform(0.4, 0.9)
        for side in ("left", "right"):  # equal elbows keep the two hinges on one line
            man[f"{side}_elbow"], man[f"{side}_knee"] = bend, rng.uniform(0.3, 1.0)
            man[f"{side}_hip"] = [1, *rng.normal(0, 0.2, 3)]
        world.v = rng.normal(size=world.model.nv)
    for hand in hands:
        world.connect(f"man/{hand}_grip", "bar/rod", br.Revolute("y"))
    return world


def as_vector(world: br.World, direction: Direction) -> Array:
    v = np.zeros(world.model.nv)
    for name, value in direction.velocities.items():
        v[world.model.coordinate_index[name]] = value
    return v
