"""Swing-up of an acrobot by its elbow motor, with an event when it reaches the height of the shoulder."""

import numpy as np

import brachiate as br

world = br.World()
world.add(br.figures.arm2(), name="arm")
world["arm/shoulder"] = 0.3


def pump(w: br.World) -> None:
    """Bend the elbow in the direction of the shoulder's velocity, which adds energy on every swing."""
    target = np.tanh(3.0 * w.rate("arm/shoulder"))
    w.torque = {"arm/elbow": 20.0 * (target - w["arm/elbow"]) - 4.0 * w.rate("arm/elbow")}


simulation = br.Simulation(world, dt=0.005, integrator="rk4", every=10)
simulation.control(pump)
event = simulation.when(lambda w: abs(w["arm/shoulder"]) - np.pi / 2, lambda: print(f"elbow level with the shoulder at {world.time:.4f} s"))
run = simulation.run(20.0)
print(f"energy from {run['energy'][0]:.1f} J to at most {run['energy'].max():.1f} J")
assert event.happened
