"""Links as particles [NSP]: multi-link systems, ropes and nets of particles, spring-dampers and joints of three particles, in O(n)."""

from __future__ import annotations

from brachiate.particles.coupling import Attachment
from brachiate.particles.coupling import ParticleCoupling as Coupling
from brachiate.particles.figures import FigureParticles, from_model
from brachiate.particles.floors import ParticleFloor as Floor
from brachiate.particles.makers import along_curve, bridge, chain, from_arrays, from_mesh, net, ring, rope
from brachiate.particles.recording import ParticleRecording
from brachiate.particles.simulate import simulate
from brachiate.particles.stable_step import StableParticleStep, largest_stable_step, suggested_step
from brachiate.particles.stepper import Stepper
from brachiate.particles.system import ParticleSystem, equivalent_mass
from brachiate.particles.walker import walker
from brachiate.particles.walking_plan import GaitSettings, WalkingControl, WalkingPlan, plan_walk, walk

__all__ = [
    "Attachment", "Coupling", "FigureParticles", "Floor", "GaitSettings", "ParticleRecording", "ParticleSystem", "StableParticleStep",
    "Stepper", "WalkingControl", "WalkingPlan", "along_curve", "bridge", "chain", "equivalent_mass", "from_arrays", "from_mesh",
    "from_model", "largest_stable_step", "net", "plan_walk", "ring", "rope", "simulate", "suggested_step", "walk", "walker",
]  # fmt: skip
