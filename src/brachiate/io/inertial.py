"""Inertial parameters of links in files, and the repair of physically impossible ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array


class Inertial(NamedTuple):
    """Mass, center of mass and inertia of a link."""

    mass: float  # [kg]
    center: Array  # (3,) [m] in the link
    inertia: Array  # (3, 3) [kg·m²] about the center of mass, link axes


_ROUNDING = 1e-10  # share of the largest moment that rounding may change
MASSLESS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def nearest_physical_inertia(inertia: Array) -> Array | None:
    """Return the nearest physically possible inertia, or None if this one is possible.

    With Σ = ∫ x xᵀ dm, the inertia is tr(Σ) 1 - Σ. Some mass distribution has it exactly if Σ has no negative eigenvalue;
    that is the triangle inequality of the principal moments. Negative eigenvalues are raised to zero.
    """
    if not np.isfinite(inertia).all():
        return None
    symmetric = (inertia + inertia.T) / 2
    values, vectors = np.linalg.eigh(np.trace(symmetric) / 2 * np.eye(3) - symmetric)
    if values[0] >= -_ROUNDING * max(values[2], 0.0):
        return None
    # Slightly above zero, so that rounding cannot make it negative again.
    spread = (vectors * np.maximum(values, _ROUNDING * max(values[2], 0.0))) @ vectors.T
    return np.trace(spread) * np.eye(3) - spread


def repair_inertial(inertial: Inertial) -> Inertial | None:
    """Return the nearest physically possible inertial parameters, or None if no repair is needed."""
    if inertial.mass == 0 and inertial.inertia.any():
        return inertial._replace(inertia=np.zeros((3, 3)))
    inertia = nearest_physical_inertia(inertial.inertia)
    return None if inertia is None else inertial._replace(inertia=inertia)
