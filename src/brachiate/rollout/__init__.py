"""Rollouts: many states of one world stepped in compiled code, in several threads, under torques or joint targets."""
