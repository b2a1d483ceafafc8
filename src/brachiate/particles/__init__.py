"""Links as particles [NSP]: multi-link systems, ropes and nets of particles, spring-dampers and joints of three particles, in O(n)."""

from __future__ import annotations

from brachiate.particles.coupling import Attachment, Coupling
from brachiate.particles.floors import Floor
from brachiate.particles.makers import along_curve, bridge, chain, from_arrays, from_mesh, net, ring, rope
from brachiate.particles.recording import ParticleRecording
from brachiate.particles.simulate import simulate
from brachiate.particles.stable_step import StableStep, largest_stable_step, suggested_step
from brachiate.particles.stepper import Stepper
from brachiate.particles.system import ParticleSystem, equivalent_mass

__all__ = [
    "Attachment", "Coupling", "Floor", "ParticleRecording", "ParticleSystem", "StableStep", "Stepper", "along_curve", "bridge", "chain", "equivalent_mass", "from_arrays",
    "from_mesh", "largest_stable_step", "net", "ring", "rope", "simulate", "suggested_step",
]  # fmt: skip
