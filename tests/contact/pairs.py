"""Shapes on floating bodies, their contact patches, and reference distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pytest

import brachiate as br
from brachiate.contact.collision import narrow_phase
from brachiate.contact.collision.collision_shapes import collision_geometry, collision_handle
from brachiate.kinematics import update_body_poses

POINTS = np.array([
    (0.09, 0.02, -0.05), (-0.07, 0.06, -0.05), (-0.06, -0.08, -0.05), (0.05, -0.07, -0.05),
    (0.04, 0.05, 0.06), (-0.05, 0.0, 0.08), (0.02, -0.06, 0.07),
])  # fmt: skip

SHAPES = {
    "sphere": lambda: br.Sphere(radius=0.08),
    "capsule": lambda: br.Capsule(radius=0.05, length=0.22),
    "cylinder": lambda: br.Cylinder(radius=0.07, length=0.16),
    "ellipsoid": lambda: br.Ellipsoid(radii=(0.06, 0.09, 0.12)),
    "box": lambda: br.Box(size=(0.18, 0.12, 0.08)),
    "hull": lambda: br.Hull(vertices=POINTS),
}
KINDS = tuple(SHAPES)
#: Rotations of 90 degrees.
X_UP, Y_UP = (np.sqrt(0.5), 0, -np.sqrt(0.5), 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0)


@dataclass
class Patch:
    """One patch, with its corners in the world."""

    pair: tuple[int, int]
    feature: int
    corners: np.ndarray  # (k, 3) on the first shape
    gaps: np.ndarray  # (k,)
    axes: np.ndarray
    point: np.ndarray
    corners_2d: np.ndarray  # (k, 2) in contact axes
    gap: np.ndarray

    @property
    def normal(self) -> np.ndarray:
        return self.axes[:, 2]

    @property
    def min_gap(self) -> float:
        return float(self.gaps.min())


class CollisionCase:
    """Shapes, each on its own floating or fixed body."""

    def __init__(self, *shapes: br.Shape, fixed: tuple[int, ...] = (), capacity: int | None = None) -> None:
        b = br.ModelBuilder("couple")
        for k, shape in enumerate(shapes):
            joint: dict[str, Any] = {} if k in fixed else {"joint": br.Free(), "mass": 1.0, "inertia": (1, 1, 1), "center": (0, 0, 0)}
            b.link(f"link{k}", shapes=shape, **joint)
        model = b.build()
        self._begin(model, br.Data(model), capacity)

    @classmethod
    def of(cls, model: br.Model, data: br.Data) -> CollisionCase:
        """All shapes of a model that can collide."""
        couple = cls.__new__(cls)
        couple._begin(model, data, None)
        return couple

    def _begin(self, model: br.Model, data: br.Data, capacity: int | None) -> None:
        self.model, self.data, self.geometry = model, data, collision_geometry(model)
        self.handle = collision_handle(self.geometry, capacity)

    def place(self, k: int, position: Any, quaternion: Any = (1, 0, 0, 0)) -> None:
        """Set the pose of a floating shape."""
        q = self.model.joints[f"link{k}"].q
        self.data.q[q] = [*position, *(np.asarray(quaternion, float) / np.linalg.norm(quaternion))]

    def detect(self, margin: float = 0.02) -> list[Patch]:
        """Patches at the present poses."""
        update_body_poses(self.data.key)
        count = narrow_phase.find_contacts(self.data, self.handle, margin)
        return [patch_of(self.handle, k) for k in range(count)]


def patch_of(handle: Any, k: int) -> Patch:
    """Patch k of the arrays of a handle."""
    shapes, a, _ = handle.structs
    n = a.corners[k]
    V, gap, R, P = a.V[k, :n].copy(), a.gap[k].copy(), a.R[k].copy(), a.P[k].copy()
    gaps = gap[0] + V @ gap[1:]
    # V and P are in the plane of the first shape's surface at P; the surface at a corner may be higher or lower along z.
    corners = P + V @ R[:, :2].T
    first, second = shapes.pair[a.pair[k]]
    return Patch((int(first), int(second)), int(a.feature[k]), corners, gaps, R, P, V, gap)


class Peer:
    """The same two shapes in MuJoCo."""

    def __init__(self, one: br.Shape, two: br.Shape) -> None:
        spec = mujoco.MjSpec()
        spec.option.ccd_tolerance = 1e-12
        spec.option.ccd_iterations = 500
        for k, shape in enumerate((one, two)):
            body = spec.worldbody.add_body(name=f"body{k}")
            body.add_freejoint()
            body.mass, body.inertia, body.explicitinertial = 1.0, [1, 1, 1], True
            _geom(spec, body, shape, k)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def distance(self, q: np.ndarray, most: float = 1.0) -> float:
        """Signed distance at a configuration of both: position and quaternion of each."""
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        return float(mujoco.mj_geomDistance(self.model, self.data, 0, 1, most, np.zeros(6)))


def _geom(spec: Any, body: Any, shape: br.Shape, k: int) -> None:
    types = mujoco.mjtGeom
    if isinstance(shape, br.Sphere):
        body.add_geom(type=types.mjGEOM_SPHERE, size=[shape.radius, 0, 0])
    elif isinstance(shape, br.Capsule):
        body.add_geom(type=types.mjGEOM_CAPSULE, size=[shape.radius, shape.length / 2, 0])
    elif isinstance(shape, br.Cylinder):
        body.add_geom(type=types.mjGEOM_CYLINDER, size=[shape.radius, shape.length / 2, 0])
    elif isinstance(shape, br.Ellipsoid):
        body.add_geom(type=types.mjGEOM_ELLIPSOID, size=list(shape.radii))
    elif isinstance(shape, br.Box):
        body.add_geom(type=types.mjGEOM_BOX, size=list(shape.size / 2))
    elif isinstance(shape, br.Hull):
        mesh = spec.add_mesh(name=f"mesh{k}")
        mesh.uservert = shape.vertices.ravel().tolist()
        geom = body.add_geom(type=types.mjGEOM_MESH)
        geom.meshname = f"mesh{k}"


def random_pose(random: np.random.Generator, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """A random position and orientation."""
    return random.uniform(-reach, reach, 3), random.normal(size=4)


def farthest(shape: br.Shape, directions: np.ndarray) -> np.ndarray:
    """Support function of a shape about its center for directions (n, 3) in its own axes: (n,)."""
    if isinstance(shape, br.Sphere):
        return np.full(len(directions), shape.radius)
    if isinstance(shape, br.Capsule):
        return shape.radius + shape.length / 2 * np.abs(directions[:, 2])
    if isinstance(shape, br.Cylinder):
        return shape.radius * np.linalg.norm(directions[:, :2], axis=1) + shape.length / 2 * np.abs(directions[:, 2])
    if isinstance(shape, br.Ellipsoid):
        return np.linalg.norm(directions * shape.radii, axis=1)
    if isinstance(shape, br.Box):
        return np.abs(directions) @ (shape.size / 2)
    assert isinstance(shape, br.Hull)
    return (directions @ shape.vertices.T).max(axis=1)


def signed_distance(couple: CollisionCase, one: br.Shape, two: br.Shape, rounds: int = 5) -> float:
    """Largest separation of two convex shapes along any direction, by refined sampling: minus the penetration, if they overlap."""
    work = couple.data.work
    x = [work.origin[k] + work.x[k] for k in (0, 1)]
    k = np.arange(4000) + 0.5
    polar, turn = np.arccos(1 - 2 * k / 4000), np.pi * (1 + 5**0.5) * k
    n = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
    random, width = np.random.default_rng(0), 0.06
    best = -np.inf
    for _ in range(rounds):
        separations = n @ (x[1] - x[0]) - farthest(one, n @ work.R[0]) - farthest(two, -n @ work.R[1])
        best = max(best, separations.max())
        top = n[np.argsort(-separations)[:40]]
        n = np.concatenate([top, np.repeat(top, 50, axis=0) + width * random.normal(size=(2000, 3))])
        n /= np.linalg.norm(n, axis=1)[:, None]
        width *= 0.2
    return float(best)


def about(axis, angle):
    """Quaternion of a rotation about an axis."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis, float)])


def rotation(q):
    """Rotation matrix of a quaternion."""
    w, x, y, z = np.asarray(q) / np.linalg.norm(q)
    K = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def on_plane(shape: br.Shape) -> CollisionCase:
    return CollisionCase(br.Plane(), shape, fixed=(0,))


def check_patch(a):
    """Invariants of every patch."""
    assert np.isfinite(a.point).all()
    assert np.isfinite(a.corners_2d).all()
    assert np.isfinite(a.gap).all()
    assert a.axes.T @ a.axes == pytest.approx(np.eye(3), abs=1e-9)
    assert np.linalg.det(a.axes) == pytest.approx(1)
    k = len(a.corners_2d)
    assert 1 <= k <= 8
    assert a.corners_2d.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    if k == 2:
        assert a.corners_2d[:, 1] == pytest.approx([0, 0])
        assert a.corners_2d[0, 0] < a.corners_2d[1, 0]
    for j in range(k if k > 2 else 0):
        p, q, r = a.corners_2d[j - 2], a.corners_2d[j - 1], a.corners_2d[j]
        assert (q - p)[0] * (r - q)[1] - (q - p)[1] * (r - q)[0] > -1e-9  # convex, counter-clockwise
        assert np.linalg.norm(r - q) > 0.9e-4


def product(a, b):
    """Product of quaternions."""
    a, b = np.asarray(a) / np.linalg.norm(a), np.asarray(b)
    w, v = a[0], a[1:]
    return np.concatenate([[w * b[0] - v @ b[1:]], w * b[1:] + b[0] * v + np.cross(v, b[1:])])
