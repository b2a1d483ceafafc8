"""Skeletal animation: a skeleton of named joints, and the rotation and translation of each in its parent over time; markers."""
