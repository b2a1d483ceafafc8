"""Particles and rigid bodies in one world: attachments, contact with shapes, common steps."""

from __future__ import annotations

from brachiate.particles.coupling.attachments import Attachment, AttachmentReport
from brachiate.particles.coupling.coupling import ParticleCoupling
from brachiate.particles.coupling.recording import CoupledRecording, CoupledTotals

__all__ = ["Attachment", "AttachmentReport", "CoupledRecording", "CoupledTotals", "ParticleCoupling"]
