"""Foot locking: stance phases of feet, footholds, and foot trajectories through them; for retargeting and filter."""
