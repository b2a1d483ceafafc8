"""Contact law, implemented a second time from its definition, to check solutions."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls
from tests.contact.cases import Case, row_indices

from brachiate.validation import Array


def torsion_length_by_angles(patch: Array, c: Array, torsion_scale: float) -> float:
    """Mean distance of the corners from c, with mean-value weights by angles [Floater 2003]."""
    if len(patch) == 1:
        return 0.0
    r = np.linalg.norm(patch - c, axis=1)
    if len(patch) == 2:
        return torsion_scale * 2 * r[0] * r[1] / r.sum()
    if r.min() < 1e-6:
        return 0.0
    k = len(patch)
    for j in range(k):  # on an edge
        a, b = patch[j] - c, patch[(j + 1) % k] - c
        if abs(a[0] * b[1] - a[1] * b[0]) < 1e-9 * r[j] * r[(j + 1) % k] and a @ b < 0:
            return torsion_scale * 2 * r[j] * r[(j + 1) % k] / (r[j] + r[(j + 1) % k])
    angle = [np.arccos(np.clip((patch[j] - c) @ (patch[(j + 1) % k] - c) / r[j] / r[(j + 1) % k], -1, 1)) for j in range(k)]
    t = np.tan(np.array(angle) / 2)
    weight = (t + np.roll(t, 1)) / r
    return float(torsion_scale * (weight @ r) / weight.sum())


def errors(c: Case, w: Array, p: int, u: Array) -> dict[str, float]:
    """Violation of each part of the contact law by contact p, as speeds."""
    patch = c.patches[p]
    fx, fy, fz, nx, ny, nz = c.wrench(w, p)
    vx, vy, vz, wx, wy, wz = c.wrench(u, p)
    block = np.zeros((6, 6))
    block[np.ix_(row_indices(len(patch)), row_indices(len(patch)))] = c.G[c.rows[p], c.rows[p]]
    corners = np.stack([np.ones(len(patch)), patch[:, 1], -patch[:, 0]])
    speeds = corners.T @ [vz, wx, wy]
    scale = np.array([1.0, 5.0, 5.0])  # moments are divided by a lever arm of 0.2 m
    _, off_cone = nnls(scale[:, None] * corners, scale * (fz, nx, ny))
    found = {"approach": max(0.0, -speeds.min()), "cone": off_cone * block[2, 2]}
    if fz <= 1e-9 * abs(np.array([fx, fy, nz])).max() + 1e-14:
        return {**found, "tension": max(-fz, np.hypot(fx, fy)) * block[2, 2]}
    center = np.array([-ny, nx]) / fz
    found["complementarity"] = min(abs(vz + center[1] * wx - center[0] * wy), fz * block[2, 2])
    length = torsion_length_by_angles(patch, center, c.torsion_scale[p])
    moment = nz - center[0] * fy + center[1] * fx
    friction = np.array([fx, fy, moment / length if length > 1e-6 else 0.0])
    slip = np.array([vx - wz * center[1], vy + wz * center[0], length * wz])
    limit = c.friction[p] * fz
    g = 0.5 * (block[0, 0] + block[1, 1])
    found["friction"] = g * max(0.0, np.linalg.norm(friction) - limit)
    speed = np.linalg.norm(slip)
    if speed > 0.0:  # full friction opposes the slip; the slower the slip, the less certain its direction
        against = -limit * slip / speed
        found["slip"] = min(g * np.linalg.norm(friction - against) * min(1.0, speed / (g * limit)) if limit > 0.0 else 0.0, speed)
    return found


def worst(c: Case, w: Array, u: Array) -> tuple[float, str]:
    return max((e, f"{name} of pair {p}") for p in range(len(c.patches)) for name, e in errors(c, w, p, u).items())


def frictionless(c: Case) -> Array:
    """Velocities by a quadratic program: corner forces are not negative, and the remaining energy is minimal."""
    pushes = np.zeros((len(c.u0), sum(len(a) for a in c.patches)))
    at = 0
    for p, patch in enumerate(c.patches):
        for x, y in patch:
            pushes[c.rows[p], at] = np.array([0.0, 0.0, 1.0, y, -x, 0.0])[row_indices(len(patch))]
            at += 1
    values, vectors = np.linalg.eigh(c.G)
    good = values > 1e-12 * values[-1]
    root = np.sqrt(values[good])[:, None] * vectors[:, good].T
    inverse = vectors[:, good] / np.sqrt(values[good])
    found, _ = nnls(root @ pushes, -inverse.T @ c.u0, maxiter=10000)
    return c.u0 + c.G @ pushes @ found
