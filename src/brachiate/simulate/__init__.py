"""Simulation of worlds: integrators, events, controllers and recordings."""
