"""Spatial motion and force vectors and inertias [RBDA] 2: immutable values with operators, and their access in arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from brachiate.compiled import index, kernel, operators
from brachiate.spatial.rotations import transpose
from brachiate.spatial.vectors import Vec3, cross


@operators
class MotionVector(NamedTuple):
    """Spatial velocity or acceleration: angular w, and linear v of the body-fixed point at the origin."""

    w: Vec3
    v: Vec3

    def __add__(a, b: Any) -> MotionVector:
        return MotionVector(a.w + b.w, a.v + b.v)

    def __sub__(a, b: Any) -> MotionVector:
        return MotionVector(a.w - b.w, a.v - b.v)

    def __rmul__(a, s: Any) -> MotionVector:
        return MotionVector(s * a.w, s * a.v)

    def __matmul__(a, b: Force) -> float:
        return a.w @ b.n + a.v @ b.f


@operators
class Force(NamedTuple):
    """Spatial force or momentum: moment n about the origin, and linear f. ``motion @ force`` is power."""

    n: Vec3
    f: Vec3

    def __add__(a, b: Any) -> Force:
        return Force(a.n + b.n, a.f + b.f)

    def __sub__(a, b: Any) -> Force:
        return Force(a.n - b.n, a.f - b.f)

    def __rmul__(a, s: Any) -> Force:
        return Force(s * a.n, s * a.f)


@kernel
def motion_cross(a, b):
    """a × b: rate of change of a motion vector b that moves with the velocity a [RBDA] eq. 2.31."""
    return MotionVector(cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w))


@kernel
def force_cross(a, b):
    """a ×* b: rate of change of a force vector b that moves with the velocity a [RBDA] eq. 2.32."""
    return Force(cross(a.w, b.n) + cross(a.v, b.f), cross(a.w, b.f))


@kernel
def velocity_at(m, point):
    """Linear velocity of the body-fixed point at the given position."""
    return m.v + cross(m.w, point)


@kernel
def moved_motion(m, r):
    """The same motion about an origin displaced by r."""
    return MotionVector(m.w, m.v + cross(m.w, r))


@kernel
def moved_force(f, r):
    """The same force about an origin displaced by r."""
    return Force(f.n - cross(r, f.f), f.f)


@operators
class Sym3(NamedTuple):
    """A symmetric 3×3 matrix by its upper triangle."""

    xx: float
    xy: float
    xz: float
    yy: float
    yz: float
    zz: float

    def __add__(a, b: Any) -> Sym3:
        return Sym3(a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yy + b.yy, a.yz + b.yz, a.zz + b.zz)

    def __matmul__(a, b: Vec3) -> Vec3:
        return Vec3(
            a.xx * b.x + a.xy * b.y + a.xz * b.z,
            a.xy * b.x + a.yy * b.y + a.yz * b.z,
            a.xz * b.x + a.yz * b.y + a.zz * b.z,
        )


@kernel
def rotated(r, s):
    """R S Rᵀ."""
    t = transpose(r)
    a, b, c = s @ t.x, s @ t.y, s @ t.z
    return Sym3(t.x @ a, t.x @ b, t.x @ c, t.y @ b, t.y @ c, t.z @ c)


@kernel
def trace(a):
    """Sum of the diagonal of a symmetric matrix."""
    return a.xx + a.yy + a.zz


@kernel
def point_inertia(m, c):
    """Inertia about the origin of a point mass m at c (Steiner's term)."""
    x, y, z = m * c.x, m * c.y, m * c.z
    return Sym3(
        y * c.y + z * c.z, -x * c.y, -x * c.z,
        x * c.x + z * c.z, -y * c.z,
        x * c.x + y * c.y,
    )  # fmt: skip


@operators
class Inertia(NamedTuple):
    """Rigid-body inertia about the origin: mass, first moment h = m c, second moment. ``inertia @ velocity`` is momentum."""

    m: float
    h: Vec3
    I: Sym3

    def __add__(a, b: Any) -> Inertia:
        return Inertia(a.m + b.m, a.h + b.h, a.I + b.I)

    def __matmul__(a, b: MotionVector) -> Force:
        return Force(a.I @ b.w + cross(a.h, b.v), a.m * b.v + cross(b.w, a.h))


@kernel
def inertia_about(m, c, s):
    """Inertia about the origin of a body of mass m with its center of mass at c and inertia s about it."""
    return Inertia(m, m * c, s + point_inertia(m, c))


@kernel
def motion(a, i):
    """Row i of an (n, 6) array, angular part first."""
    i = index(i)
    return MotionVector(Vec3(a[i, 0], a[i, 1], a[i, 2]), Vec3(a[i, 3], a[i, 4], a[i, 5]))


@kernel
def force(a, i):
    """Row i of an (n, 6) array, moment first."""
    i = index(i)
    return Force(Vec3(a[i, 0], a[i, 1], a[i, 2]), Vec3(a[i, 3], a[i, 4], a[i, 5]))


@kernel
def put6(a, i, m):
    """Store a motion or a force in row i of an (n, 6) array."""
    i = index(i)
    (a[i, 0], a[i, 1], a[i, 2]), (a[i, 3], a[i, 4], a[i, 5]) = m


@kernel
def inertia(a, i):
    """Row i of an (n, 10) array: mass, first moment, second moment."""
    i = index(i)
    return Inertia(
        a[i, 0],
        Vec3(a[i, 1], a[i, 2], a[i, 3]),
        Sym3(a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8], a[i, 9]),
    )


@kernel
def put_inertia(a, i, b):
    """Store an inertia in row i of an (n, 10) array."""
    i = index(i)
    a[i, 0], (a[i, 1], a[i, 2], a[i, 3]), (a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8], a[i, 9]) = b
