"""Dynamics filter: physically consistent motion with joint torques and contact forces from any motion."""
