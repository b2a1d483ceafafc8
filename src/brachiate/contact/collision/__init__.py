"""Collision detection: broad phase, narrow phase, contact patches."""
