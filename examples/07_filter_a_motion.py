"""Filter a jump as an animator might draw it: the nearest physically consistent motion."""

import brachiate as br

motion = br.sample_motion("jump", jump_height=0.2)
result = br.filter_motion(br.make_reference(motion, hold=0.3), torque_scale=None)  # None: unlimited torques
print("finished" if result.success else f"not finished: {result.failure}")
print({name: round(value, 1) for name, value in result.tracking.items()})  # tracking errors

# Torques and contact forces are those of a simulation: its equations of motion have no residual
force, moment = result.root_residual()
print(f"root residual of the simulation steps: {force:.0e} N, {moment:.0e} N·m")

result.motion.save("jump.bvh", rate=120.0)
result.plot_poses("jump.png")
