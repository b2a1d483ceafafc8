"""Tracking reference of the dynamics filter: smoothing, stance detection, footholds, foot trajectories, trajectory IK."""
