"""A figure on the high bar releases one hand: structure, mobility and constraint forces before and after."""

import brachiate as br

world = br.World()  # gravity 9.81 m/s² along -z
man = world.add(br.figures.human16(height=1.75, mass=70.0), name="man")
bar = world.add(br.figures.bar(height=2.6), name="bar")

# With root=True, the pose also sets the root joint: the hands are then at the bar.
man.set_pose("hang", root=True)

# A connection is made at the present pose of the first frame: each hand may rotate about the bar, and nothing else.
left = world.connect("man/left_grip", "bar/rod", br.Revolute("y"), name="left hand")
right = world.connect("man/right_grip", "bar/rod", br.Revolute("y"), name="right hand")
print(left.report)  # joint variables 22 → 23, mobility 22 → 17
print(right.report)  # joint variables 23 → 24, mobility 17 → 12
assert right.report.variables == (23, 24)
assert right.report.mobility == (17, 12)
print(world.mobility())  # generalized coordinates, actuation, passive motions

# Forces on the hands at this state. Without joint torques the body starts to fall: they are less than the weight.
weight = man.mass * 9.81
print(f"left hand {left.force.round(1)} N, right hand {right.force.round(1)} N, weight {weight:.1f} N")

simulation = br.Simulation(world, dt=0.001, limits=False)  # stopping at joint limits would dissipate energy
release = simulation.at(0.5, lambda: print(f"{world.time:g} s: {world.cut(right)}"))  # an event at a given time
low = simulation.when(lambda w: w.position("man/right_grip")[2] - 2.0, lambda: print(f"{world.time:.3f} s: the free hand is at 2 m"))
run = simulation.run(1.5)

assert release.happened
assert not right.alive
assert left.alive
energy = run["energy"]
print(f"energy {energy[0]:.1f} J, drift at most {abs(energy - energy[0]).max():.1e} J")

run.plot("energy", "kinetic energy", "man/left_elbow", "man/right_elbow", path="highbar-plot.png")
run.save("highbar.npz")

# A ready-made scene of this kind: brachiate play highbar --picture highbar.png
