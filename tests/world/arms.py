"""Worlds of blocks and arms for tests of connections, cuts, locks and snapshots."""

from __future__ import annotations

import numpy as np

import brachiate as br

BOX = {"mass": 2.0, "inertia": (0.1, 0.2, 0.25)}


def block(name: str = "block", **options) -> br.Model:
    builder = br.ModelBuilder(name)
    builder.link("block", joint=br.Free(), joint_name="root", **(BOX | options))
    return builder.build()


def arm(acting: float = 1.0) -> br.Model:
    """Three links on a free base: spherical, revolute and prismatic joint; springs and dampers are multiplied by ``acting``."""
    builder = br.ModelBuilder("arm")
    builder.link("base", joint=br.Free(), joint_name="root", **BOX)
    part = {"mass": 1.0, "center": (0, 0.05, 0.3), "inertia": (0.05, 0.06, 0.02)}
    builder.link("upper", parent="base", joint=br.Spherical(damping=0.1 * acting), joint_name="shoulder", at=(0.1, 0, 0.2), **part)
    elbow = br.Revolute("y", stiffness=3.0 * acting, rest=0.2)
    builder.link("lower", parent="upper", joint=elbow, joint_name="elbow", at=(0, 0, 0.5), **part)
    builder.link("cart", parent="base", joint=br.Planar("z"), joint_name="cart", at=(-0.2, 0, 0.1), mass=0.7, inertia=(0.02, 0.02, 0.03))
    builder.site("tip", "lower", (0, 0, 0.4), rotation=(1, 0.2, 0, 0))
    return builder.build()


def arms(gravity: float = 9.81, acting: float = 1.0) -> br.World:
    """Two arms side by side in a random state."""
    world = br.World(gravity)
    world.add(arm(acting), "a")
    world.add(arm(acting), "b", at=(1, 0, 0), rotation=(1, 0, 0, 0.7))
    rng = np.random.default_rng(4)
    world.q = world.integrate(0.4 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    return world


def run(world: br.World, seconds: float, dt: float = 0.002, integrator: str = "rk8") -> br.Recording:
    return br.Simulation(world, dt=dt, integrator=integrator).run(seconds, progress=False)


def arms_with_weld() -> br.World:
    world = arms()
    world.connect("a/tip", "b/tip", br.Spherical())
    return world


def arms_like(world: br.World) -> br.World:
    """The same state without constraints."""
    other = arms()
    other.q, other.v = world.q, world.v
    return other
