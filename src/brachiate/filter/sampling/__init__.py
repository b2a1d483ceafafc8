"""Sampling-based control (SAMCON): joint targets sampled window by window, for motions that no contact schedule describes."""
