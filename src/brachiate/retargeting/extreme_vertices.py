"""Extreme vertices of a body in many directions: candidates for ground contact."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array

SUPPORT_DIRECTIONS = 48  # in which extreme points of feet and hands are found


def extreme_vertices(vertices: Array, up: Array | None = None) -> list[Array]:
    """Extreme vertices in many directions: all around, or only downward."""
    if not len(vertices):
        return []
    k = np.arange(SUPPORT_DIRECTIONS) + 0.5  # spiral of directions, evenly over the sphere
    turn, height = np.pi * (1.0 + np.sqrt(5.0)) * k, 1.0 - 2.0 * k / SUPPORT_DIRECTIONS
    across = np.sqrt(1.0 - height**2)
    directions = np.stack((across * np.cos(turn), across * np.sin(turn), height), axis=1)
    if up is not None:
        directions = np.concatenate((directions[directions @ up < 0.0], [-up]))
    return [vertices[k] for k in np.unique(np.argmax(vertices @ directions.T, axis=0))]
