"""Build a mechanism link by link, compute its inverse dynamics, and check its joint limits."""

import numpy as np

import brachiate as br

builder = br.ModelBuilder("crane")
builder.link("mast", joint=br.Revolute("z"), shapes=br.Box(size=(0.2, 0.2, 2.0), position=(0, 0, 1.0)), density=500.0)
builder.link(
    "boom",
    parent="mast",
    at=(0, 0, 2.0),
    joint=br.Revolute("y", limits=(-1.2, 0.3), damping=5.0),
    shapes=br.Capsule.between((0, 0, 0), (3.0, 0, 0), radius=0.06),
)
builder.link("trolley", parent="boom", joint=br.Prismatic("x", limits=(0.5, 2.9)), mass=20.0, inertia=(0.5, 0.5, 0.5))
builder.link("load", parent="trolley", joint=br.Spherical(), mass=50.0, center=(0, 0, -1.5), inertia=(2.0, 2.0, 1.0))
builder.site("hook", "load", at=(0, 0, -1.0))
model = builder.build()

world = br.World()
crane = world.add(model, name="crane")
crane.set_pose({"trolley": 2.0, "boom": -0.2})
hold = world.inverse_dynamics(np.zeros(world.model.nv))
print("static torques:", {name: round(value, 1) for name, value in hold.as_dict().items()})
crane["trolley"] = 3.0
print("beyond limits:", world.beyond_limits())
assert world.beyond_limits() == {"crane/trolley": 3.0 - 2.9}
