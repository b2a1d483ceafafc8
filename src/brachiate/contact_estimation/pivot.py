"""Swing: hands that move though they hold, as what they hold hangs from something: a ring, a strap, a rope.

What hangs goes on straight from the hand to where it hangs. So there is a point beyond the hand, fixed to it, that stays in its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array

LONGEST = 1.0  # [m] from the hand to the point
SHY = 0.05  # [m] of wandering that a point must spare for every metre that it is farther from the hand


class Pivot(NamedTuple):
    """A point of a body that stays in its place."""

    at: Array  # (3,) [m] along the body's axes
    place: Array  # (3,) [m]
    away: Array  # (f,) [m] how far it is from its place


def pivot_of(x: Array, R: Array, near: Array) -> Pivot | None:
    """The point that wanders least of a body at x (f, 3), turned by R (f, 3, 3), in the mean square; nearer ones are preferred.

    None if that is farther than any rope is long.
    """
    f = len(x)
    rows = np.concatenate([R.reshape(-1, 3), np.tile(-np.eye(3), (f, 1))], axis=1) / np.sqrt(f)
    shy = np.concatenate([SHY * np.eye(3), np.zeros((3, 3))], axis=1)
    wanted = np.concatenate([-(x + R @ near).ravel() / np.sqrt(f), np.zeros(3)])
    found = np.linalg.lstsq(np.concatenate([rows, shy]), wanted, rcond=None)[0]
    at, place = near + found[:3], found[3:]
    if np.linalg.norm(found[:3]) > LONGEST:
        return None
    return Pivot(at, place, np.linalg.norm(x + R @ at - place, axis=1))
