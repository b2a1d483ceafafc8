"""Solution with symmetric 3×3 matrices, such as inertias, by the adjugate."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.spatial import Vec3


@kernel
def solve_symmetric3(I, n, x):
    """Iₙ⁻¹ x for the n-th of an array of symmetric 3×3 matrices."""
    a, b, c = I[n, 0, 0], I[n, 0, 1], I[n, 0, 2]
    d, e, f = I[n, 1, 1], I[n, 1, 2], I[n, 2, 2]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    D, E, F = a * f - c * c, b * c - a * e, a * d - b * b
    det = a * A + b * B + c * C
    return Vec3(
        (A * x.x + B * x.y + C * x.z) / det,
        (B * x.x + D * x.y + E * x.z) / det,
        (C * x.x + E * x.y + F * x.z) / det,
    )
