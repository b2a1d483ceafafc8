"""Footsteps: stance and swing of the feet, the MPC problem, capture steps."""
