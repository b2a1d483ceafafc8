"""Worlds of the tests of animation space."""

from __future__ import annotations

import brachiate as br


def world_of(given) -> br.World:
    world = br.World()
    world.add(given.model, "f")
    world.data.q[:], world.data.v[:] = given.state.q, 0.3 * given.state.v
    return world


def planar_chain(angles) -> br.World:
    """Three links of length one in a plane [EGC] 4.3."""
    builder = br.ModelBuilder("arm")
    for n in range(3):
        builder.link(
            f"link{n + 1}", parent=f"link{n}" if n else None, joint=br.Revolute("z"), joint_name=f"phi{n + 1}",
            at=(1.0 if n else 0.0, 0, 0), mass=1.0, center=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1),
        )  # fmt: skip
    world = br.World(gravity=(0, 0, 0))
    world.add(builder.build(), "arm")
    for n, angle in enumerate(angles):
        world[f"arm/phi{n + 1}"] = angle
    return world
