"""Physical plausibility of an animated jump: root residual, contacts, flight phase, verdict."""

import brachiate as br

motion = br.sample_motion("jump", jump_height=0.3)
report = br.check(motion)
print(report)
for violation in report.violations:
    print(f"at {violation.time:.2f} s, {violation.part}: {violation.description}")

# In flight the center of mass must accelerate by gravity alone
print(f"flight acceleration error: {report.summary['flight_acceleration_rms_m_s2']:.1f} m/s² RMS")

report.save("jump.json")
report.contacts.save("jump-contacts.txt")
report.plot("jump.png")
