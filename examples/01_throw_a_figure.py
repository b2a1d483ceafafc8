"""Free flight of a human figure: its center of mass follows a parabola."""

import numpy as np

import brachiate as br

world = br.World()
woman = world.add(br.figures.human28(height=1.68, mass=58.0, sex="female"), name="woman")
woman.place((0, 0, 1.5))
world.v = {"woman/root": [2.0, 0, 4.0, 0, 3.0, 0], "woman/left_hip": [0, 2.0, 0]}

start = world.totals("woman")
run = br.Simulation(world, dt=0.002, integrator="rk8", every=10).run(0.8)

parabola = start.center + np.outer(run.time, start.velocity) + 0.5 * np.outer(run.time**2, world.gravity)
print(f"largest deviation from the parabola: {np.abs(run['center of mass'] - parabola).max():.1e} m")
