"""Live: a walk comes in frame by frame, and somebody pushes; the body does what it can of it."""

import brachiate as br
from brachiate.motion.edit import resampled
from brachiate.motion.motion import motion_of

walk = motion_of(br.procedural.make("walk", seconds=4.0))
world = br.World()
world.add(br.figures.ground(), name="floor")
world.add(walk.figure, name="man")
world.touch(friction=0.8)

live = br.DynamicsFilter(world, "man", dt=0.002)
push = None
for frame in resampled(walk, 500.0).q:
    moment = live.step(frame)
    if moment is None:
        continue  # it listens for a tenth of a second, to know how fast everything is
    if push is None and moment.time > 2.0:
        push = world.push("man/spine2", (0.0, 80.0, 0.0))
    if push in world.pushes and moment.time > 2.1:
        world.remove(push)
    if round(moment.time / 0.002) % 250 == 0:
        load = sum(contact.force[2] for contact in moment.contacts)
        print(f"{moment.time:.1f} s on {' and '.join(moment.standing)}: {load:.0f} N, pelvis {100 * moment.off[1]:+.1f} cm aside")
print(live.blame or "still on its feet")
