"""Rigid figures as particles: equivalent masses of links, and joint angles of moving particles."""

from __future__ import annotations

from brachiate.particles.figures.figure_particles import FigureParticles, from_model

__all__ = ["FigureParticles", "from_model"]
