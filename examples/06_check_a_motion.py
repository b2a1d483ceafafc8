"""Is this motion possible? A jump as an animator might draw it, and what a body would need to do it."""

import brachiate as br
from brachiate.motion.motion import motion_of

motion = motion_of(br.procedural.make("jump", high=0.3))
report = br.check(motion)
print(report)
for moment in report.worst:
    print(f"at {moment.time:.2f} s, {moment.part}: {moment.why}")

# Nothing touches, and yet it does not fall freely: that is what "flight" means
print(f"in flight it accelerates by {report.summary['flight_acceleration_rms_m_s2']:.1f} m/s² beside gravity")

report.save("jump.json")
report.labels.save("jump-contacts.txt")
report.plot("jump.png")
