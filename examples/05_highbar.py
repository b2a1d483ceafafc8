"""Let a figure on the high bar let go with one hand, and look at what holds it before and after."""

import brachiate as br

world = br.World()  # gravity 9.81 m/s² along -z
man = world.add(br.figures.human16(height=1.75, mass=70.0), name="man")
bar = world.add(br.figures.bar(height=2.6), name="bar")

# A pose leaves the root where it is. The one called "hang" also says where the root must be for the hands to be at the bar.
man.pose("hang")
world["man/root"] = man.model.poses["hang"][man.model.joints["root"].q]

# A connection is made where the first frame is now: each hand turns about the bar, and has no other freedom.
left = world.connect("man/left_grip", "bar/rod", br.Revolute("y"), name="left hand")
right = world.connect("man/right_grip", "bar/rod", br.Revolute("y"), name="right hand")
print(left.report)  # joint variables 22 → 23, mobility 22 → 17
print(right.report)  # joint variables 23 → 24, mobility 17 → 12
assert right.report.variables == (23, 24)
assert right.report.mobility == (17, 12)
print(world.mobility())  # which coordinates describe every motion, what the motors can do, what is passive

# What the hands carry in this moment. No joint has a torque, so the body begins to give way: it is less than the weight.
weight = man.mass * 9.81
print(f"left hand {left.force.round(1)} N, right hand {right.force.round(1)} N, weight {weight:.1f} N")

simulation = br.Simulation(world, dt=0.001, limits=False)  # joints that stop at their limits would take energy
let_go = simulation.at(0.5, lambda: print(f"{world.time:g} s: {world.cut(right)}"))  # events by time, by condition, or by hand
low = simulation.when(lambda w: w.position("man/right_grip")[2] - 2.0, lambda: print(f"{world.time:.3f} s: the free hand is at 2 m"))
run = simulation.run(1.5)

assert let_go.happened
assert not right.alive
assert left.alive
energy = run["energy"]
print(f"energy {energy[0]:.1f} J, and never more than {abs(energy - energy[0]).max():.1e} J away from that")

run.plot("energy", "kinetic energy", "man/left_elbow", "man/right_elbow", path="highbar-plot.png")
run.save("highbar.npz")

# The same with a swing, ready made: brachiate play highbar --picture highbar.png
