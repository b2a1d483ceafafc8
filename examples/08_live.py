"""Online filter: a walk arrives frame by frame, and the body is pushed."""

import brachiate as br

walk = br.sample_motion("walk", seconds=4.0)
world = br.World()
world.add(br.figures.ground(), name="floor")
world.add(walk.figure, name="man")
world.enable_contact(friction=0.8)

live = br.DynamicsFilter(world, "man", dt=0.002)  # 0.3 s behind the frames; latency=0.0: one step
push = None
for frame in walk.resample(500.0).q:
    step = live.step(frame)
    if step is None:
        continue  # the first frames are only observed, and all wait for the latency
    if push is None and step.time > 2.0:
        push = world.apply_force("man/spine2", (0.0, 80.0, 0.0))
    if push in world.applied_forces and step.time > 2.1:
        world.remove(push)
    if round(step.time / 0.002) % 250 == 0:
        load = sum(contact.force[2] for contact in step.contacts)
        print(f"{step.time:.1f} s on {' and '.join(step.stance)}: {load:.0f} N, pelvis {100 * step.deviation[1]:+.1f} cm sideways")
print(live.failure or "no fall")
