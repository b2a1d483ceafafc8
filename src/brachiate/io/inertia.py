"""Inertias as files give them, and what to do with those that no solid has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array


class Inertial(NamedTuple):
    """Mass, centre and inertia of a link."""

    mass: float  # [kg]
    center: Array  # (3,) [m] in the link
    inertia: Array  # (3, 3) [kg·m²] about the centre, link axes


_SLACK = 1e-10  # of the largest moment: what rounding may do
NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def nearest_physical(inertia: Array) -> Array | None:
    """Return the nearest inertia that some distribution of mass has, or None if this is one already.

    With Σ = ∫ x xᵀ dm, the inertia is tr(Σ) 1 - Σ. Some mass distribution has it exactly if Σ has no negative eigenvalue;
    that is the triangle inequality of the principal moments. Negative eigenvalues are raised to zero.
    """
    if not np.isfinite(inertia).all():
        return None
    symmetric = (inertia + inertia.T) / 2
    values, vectors = np.linalg.eigh(np.trace(symmetric) / 2 * np.eye(3) - symmetric)
    if values[0] >= -_SLACK * max(values[2], 0.0):
        return None
    # Just above zero, so that rounding cannot push it below again.
    spread = (vectors * np.maximum(values, _SLACK * max(values[2], 0.0))) @ vectors.T
    return np.trace(spread) * np.eye(3) - spread


def repaired(inertial: Inertial) -> Inertial | None:
    """Return the nearest inertial that some solid has, or None if it needs no repair."""
    if inertial.mass == 0 and inertial.inertia.any():
        return inertial._replace(inertia=np.zeros((3, 3)))
    inertia = nearest_physical(inertial.inertia)
    return None if inertia is None else inertial._replace(inertia=inertia)
