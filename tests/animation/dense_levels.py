"""Least squares by levels of priority with singular value and eigenvalue decompositions."""

from __future__ import annotations

import numpy as np

from brachiate.animation.levels import SINGULAR, SINGULAR_LOWER, VANISHING


def filtered(x, limit):
    return limit * np.maximum(1.0 - x / limit, 0.0) ** 2


def solve_dense(levels, metric):
    """The same problem by singular value and eigenvalue decompositions, with explicit bases of null spaces."""
    T = np.diag(metric.T) if metric.T.ndim == 1 else metric.T
    x, basis, singular, free = metric.preferred.copy(), np.eye(len(T)), SINGULAR, None
    for level in levels:
        scaled = level.G @ T
        B, w, size = scaled @ basis, level.y - level.G @ x, np.linalg.norm(scaled)
        if level.damping is None:
            U, s, Vt = np.linalg.svd(B, full_matrices=False)
            kept = s > 1e-9 * size
            z = Vt[kept].T @ ((U[:, kept].T @ w) / s[kept])
        else:
            free = basis if free is None else free  # of the first exact levels
            length = np.maximum(np.linalg.norm(scaled @ free, axis=1), 1e-9 * np.linalg.norm(scaled, axis=1))
            unit = B / length[:, None]
            values, U = np.linalg.eigh(unit @ unit.T)
            y = w * length / (length**2 + level.damping + filtered(length**2, VANISHING**2))
            z = unit.T @ (U @ ((U.T @ y) / (values + filtered(values, singular**2))))
            singular = SINGULAR_LOWER
        x = x + T @ (basis @ z)
        _, s, Vt = np.linalg.svd(B)
        basis = basis @ Vt[int((s > 1e-9 * size).sum()) :].T
    return x
