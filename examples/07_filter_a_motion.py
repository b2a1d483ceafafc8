"""Make it possible: a jump as an animator might draw it, as near to that as a body can do it."""

import brachiate as br
from brachiate.filter.results.equations_of_motion import equations
from brachiate.motion.motion import motion_of

motion = motion_of(br.procedural.make("jump", high=0.2))
done = br.filter_motion(br.clean(motion, hold=0.3), strength=float("inf"))
print("done" if done.finished else f"given up: {done.blame}")
print({name: round(value, 1) for name, value in done.tracking.items()})  # how far from the original

# Torques and forces are those of a simulation, so nothing is left of its equations
force, moment = equations(done).nobody_brings()
print(f"nobody would have to bring more than {force:.0e} N and {moment:.0e} N·m")

done.motion.save("jump.bvh", rate=120.0)
done.picture("jump.png")
