"""Contact problems of a falling human: boxes and capsules of a figure against a plane, step after step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.contact.cases import Case, Solver, case, row_indices

import brachiate as br
from brachiate import Box, Capsule
from brachiate.contact.solver.contact_law import UNKNOWN
from brachiate.validation import Array

DAMPING = 1.0  # [N m s] of joints
MARGIN, FAR_END = 0.02, 0.05  # [m] largest gap of a shape in contact, and of the far end of a segment


def frame_along(normal: Array, along: Array) -> Array:
    x = along - normal * (normal @ along)
    if np.linalg.norm(x) < 1e-6:
        x = np.cross(normal, [0.0, 1.0, 0.3])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(normal, x), normal], axis=1)


def lowest(shape: Box | Capsule, R: Array, p: Array, normal: Array) -> tuple[Array, float]:
    """Candidate contact points of a shape on a plane, and the radius around them."""
    R, p = R @ shape.rotation, p + R @ shape.position
    if isinstance(shape, Capsule):
        return p + np.outer([-0.5, 0.5], shape.length * R[:, 2]), shape.radius
    axis = int(np.argmax(abs(normal @ R)))
    half = np.array(shape.size) / 2
    down = -np.sign(normal @ R[:, axis]) * half[axis] * R[:, axis]
    i, j = (axis + 1) % 3, (axis + 2) % 3
    ring = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
    return p + down + ring[:, :1] * half[i] * R[:, i] + ring[:, 1:] * half[j] * R[:, j], 0.0


class Fall:
    """A human thrown onto a plane; iterate over the problems of its steps."""

    def __init__(self, seed: int, dt: float = 0.002, model: br.Model | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.dt, self.world = dt, br.World()
        self.model = model or br.figures.human28()
        self.world.add(self.model, "man")
        self.normal = np.array([0.0, rng.uniform(-0.3, 0.3) * (seed % 2), 1.0])
        self.normal /= np.linalg.norm(self.normal)
        self.friction = rng.choice([0.2, 0.5, 0.8, 1.1])
        self.static_friction = self.friction * (1.0 if seed % 3 else 1.2)
        q = np.array(self.world.q)
        q[2] += 0.05 + 0.1 * (seed % 5)
        quat = rng.normal(size=4) if seed % 4 == 3 else np.array([1.0, *rng.normal(0.0, 0.2, 3)])
        q[3:7] = quat / np.linalg.norm(quat)
        if seed % 4 == 3:
            q[2] += 0.4
        v = np.array(self.world.v)
        v[:] = rng.normal(0.0, 0.5, len(v))
        v[:3] = rng.normal(0.0, 1.0, 3)
        self.world.q, self.world.v = q, v
        self.damping = np.full(len(v), DAMPING)
        self.damping[:6] = 0.0

    def pairs(self) -> Iterator[tuple[str, str, Array, Array, Array, Array]]:
        """Name, link, point, axes, corners and gaps of all shapes near the plane."""
        for name, link in self.model.links.items():
            pose = self.world.pose(f"man/{name}")
            for n, shape in enumerate(link.shapes):
                if not (shape.collides and isinstance(shape, Box | Capsule)):
                    continue
                points, radius = lowest(shape, pose.rotation, pose.position, self.normal)
                gaps = points @ self.normal - radius
                if gaps.min() > MARGIN:
                    continue
                if len(points) == 2 and gaps.max() > FAR_END:
                    points, gaps = points[[gaps.argmin()]], gaps[[gaps.argmin()]]
                points = points - np.outer(gaps + radius, self.normal)
                middle = points.mean(axis=0)
                axes = frame_along(self.normal, points[-1] - points[0] if len(points) == 2 else np.array([1.0, 0.0, 0.0]))
                corners = ((points - middle) @ axes)[:, :2]
                if len(corners) > 2:
                    order = np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))
                    corners, gaps = corners[order], gaps[order]
                yield f"{name} {n} {len(corners)}", name, middle, axes, corners, gaps

    def problem(self) -> tuple[list[str], Case | None, Array, Array]:
        """Names of contacts, their problem, velocities without contact, and velocity response to forces."""
        world, dt = self.world, self.dt
        A = np.array(world.mass_matrix()) + dt * np.diag(self.damping)
        inverse = np.linalg.inv(A)
        v = np.array(world.v)
        free = v + dt * inverse @ (-np.array(world.bias()) - self.damping * v)
        found = list(self.pairs())
        if not found:
            return [], None, free, np.zeros((len(v), 0))
        J, push, patches = [], [], []
        for _, link, point, axes, corners, gaps in found:
            pose = world.pose(f"man/{link}")
            Jp = world.jacobian(f"man/{link}", at=pose.rotation.T @ (point - pose.position))
            J.append(np.concatenate([axes.T @ Jp[:3], axes.T @ Jp[3:]]))
            fit = np.linalg.lstsq(np.column_stack([np.ones(len(corners)), corners]), gaps, rcond=None)[0] / dt
            penetration_rate = min(gaps.min(), 0.0) / dt  # penetration is not corrected
            push.append([0.0, 0.0, fit[0] - penetration_rate, fit[2], -fit[1], 0.0])
            patches.append(corners)
        H = np.concatenate(J)
        c = case(patches, H @ inverse @ H.T, H @ free + np.concatenate(push), self.friction, self.static_friction)
        picked = np.concatenate([6 * p + np.array(row_indices(len(a))) for p, a in enumerate(patches)])
        return [f[0] for f in found], c, free, inverse @ H[picked].T

    def advance(self, v: Array) -> None:
        self.world.v = v
        self.world.q = self.world.integrate(v, self.dt)


class WarmStartedSolver:
    """A solver that keeps forces and modes by the names of contacts."""

    def __init__(self, pairs: int = 40) -> None:
        self.solver, self.names = Solver(pairs), []
        self.rows: list[slice] = []

    def load(self, names: list[str], c: Case) -> None:
        problem = self.solver.problem
        old = {
            n: (problem.w[r].copy(), problem.normal_mode[p], problem.tangential_mode[p])
            for p, (n, r) in enumerate(zip(self.names, self.rows, strict=True))
        }
        self.solver.load(c, fresh=False)
        self.names, self.rows = names, c.rows
        for p, (n, r) in enumerate(zip(names, c.rows, strict=True)):
            problem.w[r], problem.normal_mode[p], problem.tangential_mode[p] = old.get(n, (0.0, UNKNOWN, 0))
