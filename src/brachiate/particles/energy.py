"""Energy of links."""

from __future__ import annotations

import numpy as np

from brachiate.particles.arrays import LinkArrays
from brachiate.validation import Array


def elongations(x: Array, links: LinkArrays) -> Array:
    """Elongations of links (..., m) [m] at positions (..., n, 3); zero of links that are slack."""
    r = x[..., links.ends[:, 0], :] - x[..., links.ends[:, 1], :]
    stretch = np.sqrt((r * r).sum(axis=-1)) - links.length
    return np.where(links.slack != 0, np.maximum(stretch, 0.0), stretch)


def elastic_energy(x: Array, links: LinkArrays) -> float:
    """Elastic energy of all links ½ Σ k Δl² [J]."""
    return 0.5 * float(links.stiffness @ elongations(x, links) ** 2)
