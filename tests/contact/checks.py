"""The law of contact written down once more, straight from its definition, to check solutions with."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls
from tests.contact.cases import Case, kept

from brachiate.validation import Array


def mean_length(area: Array, c: Array, spin: float) -> float:
    """Mean distance of the corners from c, with mean-value weights by angles [Floater 2003]."""
    if len(area) == 1:
        return 0.0
    r = np.linalg.norm(area - c, axis=1)
    if len(area) == 2:
        return spin * 2 * r[0] * r[1] / r.sum()
    if r.min() < 1e-6:
        return 0.0
    k = len(area)
    for j in range(k):  # on an edge
        a, b = area[j] - c, area[(j + 1) % k] - c
        if abs(a[0] * b[1] - a[1] * b[0]) < 1e-9 * r[j] * r[(j + 1) % k] and a @ b < 0:
            return spin * 2 * r[j] * r[(j + 1) % k] / (r[j] + r[(j + 1) % k])
    angle = [np.arccos(np.clip((area[j] - c) @ (area[(j + 1) % k] - c) / r[j] / r[(j + 1) % k], -1, 1)) for j in range(k)]
    t = np.tan(np.array(angle) / 2)
    weight = (t + np.roll(t, 1)) / r
    return float(spin * (weight @ r) / weight.sum())


def errors(c: Case, w: Array, p: int, u: Array) -> dict[str, float]:
    """How far pair p is from each part of the law, in speeds."""
    area = c.areas[p]
    fx, fy, fz, nx, ny, nz = c.wrench(w, p)
    vx, vy, vz, wx, wy, wz = c.wrench(u, p)
    own = np.zeros((6, 6))
    own[np.ix_(kept(len(area)), kept(len(area)))] = c.G[c.rows[p], c.rows[p]]
    corners = np.stack([np.ones(len(area)), area[:, 1], -area[:, 0]])
    speeds = corners.T @ [vz, wx, wy]
    _, off_cone = nnls(corners * np.array([[1.0], [5.0], [5.0]]), np.array([fz, 5 * nx, 5 * ny]))  # moments as at 0.2 m
    found = {"moving in": max(0.0, -speeds.min()), "cone": off_cone * own[2, 2]}
    if fz <= 1e-9 * abs(np.array([fx, fy, nz])).max() + 1e-14:
        return {**found, "pull": max(-fz, np.hypot(fx, fy)) * own[2, 2]}
    centre = np.array([-ny, nx]) / fz
    found["leaving"] = min(abs(vz + centre[1] * wx - centre[0] * wy), fz * own[2, 2])
    length = mean_length(area, centre, c.spin[p])
    moment = nz - centre[0] * fy + centre[1] * fx
    rubbing = np.array([fx, fy, moment / length if length > 1e-6 else 0.0])
    slipping = np.array([vx - wz * centre[1], vy + wz * centre[0], length * wz])
    limit = c.friction[p] * fz
    g = 0.5 * (own[0, 0] + own[1, 1])
    found["friction"] = g * max(0.0, np.linalg.norm(rubbing) - limit)
    speed = np.linalg.norm(slipping)
    if speed > 0.0:  # then friction is against it, and of full size; the slower it slips the less its direction is known
        against = -limit * slipping / speed
        found["slip"] = min(g * np.linalg.norm(rubbing - against) * min(1.0, speed / (g * limit)) if limit > 0.0 else 0.0, speed)
    return found


def worst(c: Case, w: Array, u: Array) -> tuple[float, str]:
    return max((e, f"{name} of pair {p}") for p in range(len(c.areas)) for name, e in errors(c, w, p, u).items())


def frictionless(c: Case) -> Array:
    """Velocities by a quadratic program: pushes at corners are not negative, and as little energy is left as possible."""
    pushes = np.zeros((len(c.u0), sum(len(a) for a in c.areas)))
    at = 0
    for p, area in enumerate(c.areas):
        for x, y in area:
            pushes[c.rows[p], at] = np.array([0.0, 0.0, 1.0, y, -x, 0.0])[kept(len(area))]
            at += 1
    values, vectors = np.linalg.eigh(c.G)
    good = values > 1e-12 * values[-1]
    root = np.sqrt(values[good])[:, None] * vectors[:, good].T
    inverse = vectors[:, good] / np.sqrt(values[good])
    found, _ = nnls(root @ pushes, -inverse.T @ c.u0, maxiter=10000)
    return c.u0 + c.G @ pushes @ found
