"""Links as particles [NSP]: multi-link systems, ropes and nets of particles, spring-dampers and joints of three particles, in O(n)."""

from __future__ import annotations

from brachiate.particles.floors import Floor
from brachiate.particles.stable_step import StableStep, largest_stable_step, suggested_step
from brachiate.particles.stepper import Stepper
from brachiate.particles.system import ParticleSystem, equivalent_mass

__all__ = ["Floor", "ParticleSystem", "StableStep", "Stepper", "equivalent_mass", "largest_stable_step", "suggested_step"]
