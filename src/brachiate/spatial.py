"""Vectors, rotations, rigid motions, spatial velocity and force, inertia: immutable values with operators.

One source for Python and compiled code. Motion and force vectors follow Featherstone [RBDA]: the angular part first,
along the axes and about the origin of one common frame, so that sums need no transforms. (At the interface of the
package 6-vectors have the linear part first; see docs/conventions.md.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from brachiate.compiled import index, kernel, operators

# Below this squared angle the series of sine and cosine terms are exact to round-off with the terms kept.
_SMALL = 1e-3


@operators
class Vec3(NamedTuple):
    """A vector. ``a @ b`` is the dot product, ``s * a`` scales; see also :func:`cross`."""

    x: Any  # a number, or a Four of them
    y: Any
    z: Any

    def __add__(a, b: Any) -> Vec3:
        return Vec3(a.x + b.x, a.y + b.y, a.z + b.z)

    def __sub__(a, b: Any) -> Vec3:
        return Vec3(a.x - b.x, a.y - b.y, a.z - b.z)

    def __neg__(a) -> Vec3:
        return Vec3(-a.x, -a.y, -a.z)

    def __rmul__(a, s: Any) -> Vec3:
        return Vec3(s * a.x, s * a.y, s * a.z)

    def __matmul__(a, b: Vec3) -> float:
        return a.x * b.x + a.y * b.y + a.z * b.z


@kernel
def cross(a, b):
    """a × b."""
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@operators
class Four(NamedTuple):
    """Four numbers side by side, one for each of four problems: what a vector register holds. Vectors may be made of them."""

    a: float
    b: float
    c: float
    d: float

    def __add__(x, y: Any) -> Four:
        return Four(x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d)

    def __sub__(x, y: Any) -> Four:
        return Four(x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d)

    def __neg__(x) -> Four:
        return Four(-x.a, -x.b, -x.c, -x.d)

    def __rmul__(x, s: Any) -> Four:
        return Four(s * x.a, s * x.b, s * x.c, s * x.d)


@kernel
def four(x, i):
    """Four numbers of a flat array from place i."""
    i = index(i)
    return Four(x[i], x[i + index(1)], x[i + index(2)], x[i + index(3)])


@kernel
def put_four(x, i, f):
    """Store four numbers in a flat array from place i."""
    i = index(i)
    x[i], x[i + index(1)], x[i + index(2)], x[i + index(3)] = f


@kernel
def norm(a):
    """Length of a vector."""
    return math.sqrt(a @ a)


@operators
class Rotation(NamedTuple):
    """R_parent_child by its columns: the child's axes seen from the parent. ``R @ v`` turns a vector; see :func:`compose`."""

    x: Vec3
    y: Vec3
    z: Vec3

    def __matmul__(a, b: Vec3) -> Vec3:
        return Vec3(
            a.x.x * b.x + a.y.x * b.y + a.z.x * b.z,
            a.x.y * b.x + a.y.y * b.y + a.z.y * b.z,
            a.x.z * b.x + a.y.z * b.y + a.z.z * b.z,
        )


@kernel
def compose(a, b):
    """R_a_c from R_a_b and R_b_c."""
    return Rotation(a @ b.x, a @ b.y, a @ b.z)


@kernel
def transpose(r):
    """The inverse rotation."""
    return Rotation(Vec3(r.x.x, r.y.x, r.z.x), Vec3(r.x.y, r.y.y, r.z.y), Vec3(r.x.z, r.y.z, r.z.z))


@kernel
def unrotate(r, v):
    """Rᵀ v: a parent's vector seen from the child."""
    return Vec3(r.x @ v, r.y @ v, r.z @ v)


@operators
class Quaternion(NamedTuple):
    """(w, x, y, z). ``a @ b`` is the Hamilton product: first b, then a, as with matrices."""

    w: float
    x: float
    y: float
    z: float

    def __matmul__(a, b: Quaternion) -> Quaternion:
        return Quaternion(
            a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        )

    def __rmul__(a, s: Any) -> Quaternion:
        return Quaternion(s * a.w, s * a.x, s * a.y, s * a.z)

    def __add__(a, b: Any) -> Quaternion:
        return Quaternion(a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z)


@kernel
def conjugate(a):
    """The inverse of a unit quaternion."""
    return Quaternion(a.w, -a.x, -a.y, -a.z)


@kernel
def normalized(a):
    """The unit quaternion along a. A zero quaternion gives NaN, which the door turns into an error."""
    return (1.0 / math.sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z)) * a


@kernel
def rotation_of(a):
    """The rotation of a quaternion of any length but zero."""
    s = 2.0 / (a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z)
    xx, yy, zz = s * a.x * a.x, s * a.y * a.y, s * a.z * a.z
    xy, xz, yz = s * a.x * a.y, s * a.x * a.z, s * a.y * a.z
    wx, wy, wz = s * a.w * a.x, s * a.w * a.y, s * a.w * a.z
    return Rotation(
        Vec3(1.0 - (yy + zz), xy + wz, xz - wy),
        Vec3(xy - wz, 1.0 - (xx + zz), yz + wx),
        Vec3(xz + wy, yz - wx, 1.0 - (xx + yy)),
    )


@kernel
def quaternion_of(r):
    """The unit quaternion of a rotation, with w ≥ 0; the largest component is found first [Shepperd 1978]."""
    trace = r.x.x + r.y.y + r.z.z
    if trace > 0.0:
        q = Quaternion(1.0 + trace, r.y.z - r.z.y, r.z.x - r.x.z, r.x.y - r.y.x)
    elif r.x.x >= r.y.y and r.x.x >= r.z.z:
        q = Quaternion(r.y.z - r.z.y, 1.0 + r.x.x - r.y.y - r.z.z, r.x.y + r.y.x, r.z.x + r.x.z)
    elif r.y.y >= r.z.z:
        q = Quaternion(r.z.x - r.x.z, r.x.y + r.y.x, 1.0 - r.x.x + r.y.y - r.z.z, r.y.z + r.z.y)
    else:
        q = Quaternion(r.x.y - r.y.x, r.z.x + r.x.z, r.y.z + r.z.y, 1.0 - r.x.x - r.y.y + r.z.z)
    return normalized(q if q.w >= 0.0 else -1.0 * q)


@kernel
def axis_rotation(u, angle):
    """Rodrigues' formula: turn by an angle about a unit axis [SVC] eq. 25."""
    s, c = math.sin(angle), math.cos(angle)
    t = 1.0 - c
    xy, xz, yz = t * u.x * u.y, t * u.x * u.z, t * u.y * u.z
    return Rotation(
        Vec3(t * u.x * u.x + c, xy + s * u.z, xz - s * u.y),
        Vec3(xy - s * u.z, t * u.y * u.y + c, yz + s * u.x),
        Vec3(xz + s * u.y, yz - s * u.x, t * u.z * u.z + c),
    )


@kernel
def exponential(w):
    """The unit quaternion of a rotation vector; exact through zero."""
    half2 = 0.25 * (w @ w)
    if half2 < _SMALL:
        s = 0.5 * (1.0 - half2 / 6.0 * (1.0 - half2 / 20.0 * (1.0 - half2 / 42.0)))
        c = 1.0 - half2 / 2.0 * (1.0 - half2 / 12.0 * (1.0 - half2 / 30.0 * (1.0 - half2 / 56.0)))
    else:
        half = math.sqrt(half2)
        s = 0.5 * math.sin(half) / half
        c = math.cos(half)
    return Quaternion(c, s * w.x, s * w.y, s * w.z)


@kernel
def logarithm(a):
    """The shortest rotation vector of a unit quaternion, of length at most π; exact through 0 and π."""
    sign = 1.0 if a.w >= 0.0 else -1.0
    s = math.sqrt(a.x * a.x + a.y * a.y + a.z * a.z)
    w = sign * a.w
    if s < 1e-4:
        # 2 atan(s/w)/s by its series; relative error below s⁶
        t = s / w
        k = 2.0 / w * (1.0 - t * t / 3.0 * (1.0 - 0.6 * t * t))
    else:
        k = 2.0 * math.atan2(s, w) / s
    return Vec3(sign * k * a.x, sign * k * a.y, sign * k * a.z)


@kernel
def screw_translation(w, v):
    """Where a point goes that starts at the origin, while the frame turns by w and moves by v, both in moving axes."""
    t2 = w @ w
    if t2 < _SMALL:
        b = 0.5 * (1.0 - t2 / 12.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0)))
        c = (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0))) / 6.0
    else:
        t = math.sqrt(t2)
        b = (1.0 - math.cos(t)) / t2
        c = (t - math.sin(t)) / (t2 * t)
    wv = cross(w, v)
    return v + b * wv + c * cross(w, wv)


@kernel
def screw_velocity(w, p):
    """Inverse of :func:`screw_translation`: the v that carries the origin to p while turning by w."""
    t2 = w @ w
    if t2 < _SMALL:
        c = (1.0 + t2 / 60.0 * (1.0 + t2 / 42.0 * (1.0 + t2 / 40.0))) / 12.0
    else:
        half = 0.5 * math.sqrt(t2)
        c = (1.0 - half * math.cos(half) / math.sin(half)) / t2
    wp = cross(w, p)
    return p - 0.5 * wp + c * cross(w, wp)


@operators
class Transform(NamedTuple):
    """T_parent_child: orientation and position of a child frame. ``T_a_b @ T_b_c`` is T_a_c."""

    R: Rotation
    p: Vec3

    def __matmul__(a, b: Transform) -> Transform:
        return Transform(compose(a.R, b.R), a.p + a.R @ b.p)


@kernel
def place(t, point):
    """A child's point seen from the parent."""
    return t.p + t.R @ point


@kernel
def inverse(t):
    """T_child_parent."""
    return Transform(transpose(t.R), -unrotate(t.R, t.p))


@operators
class Motion(NamedTuple):
    """Spatial velocity or acceleration: angular w, and linear v of the point at the origin."""

    w: Vec3
    v: Vec3

    def __add__(a, b: Any) -> Motion:
        return Motion(a.w + b.w, a.v + b.v)

    def __sub__(a, b: Any) -> Motion:
        return Motion(a.w - b.w, a.v - b.v)

    def __rmul__(a, s: Any) -> Motion:
        return Motion(s * a.w, s * a.v)

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
    """Rate of change of a motion vector b that is carried along by the velocity a [RBDA] eq. 2.31."""
    return Motion(cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w))


@kernel
def force_cross(a, b):
    """Rate of change of a force vector b that is carried along by the velocity a [RBDA] eq. 2.32."""
    return Force(cross(a.w, b.n) + cross(a.v, b.f), cross(a.w, b.f))


@kernel
def velocity_at(m, point):
    """Linear velocity of the body's point that is at the given place now."""
    return m.v + cross(m.w, point)


@kernel
def moved_motion(m, r):
    """The same motion about an origin displaced by r."""
    return Motion(m.w, m.v + cross(m.w, r))


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
    """A rigid body about the origin: mass, first moment h = m c, second moment. ``inertia @ velocity`` is momentum."""

    m: float
    h: Vec3
    I: Sym3

    def __add__(a, b: Any) -> Inertia:
        return Inertia(a.m + b.m, a.h + b.h, a.I + b.I)

    def __matmul__(a, b: Motion) -> Force:
        return Force(a.I @ b.w + cross(a.h, b.v), a.m * b.v + cross(b.w, a.h))


@kernel
def inertia_about(m, c, s):
    """Inertia about the origin of a body of mass m with its centre at c and inertia s about that centre."""
    return Inertia(m, m * c, s + point_inertia(m, c))


# --- values in arrays ---------------------------------------------------------------------------


@kernel
def vec3(a, i):
    """Row i of an (n, 3) array."""
    i = index(i)
    return Vec3(a[i, 0], a[i, 1], a[i, 2])


@kernel
def vec3_at(a, k):
    """Three numbers of a flat array from place k."""
    k = index(k)
    return Vec3(a[k], a[k + index(1)], a[k + index(2)])


@kernel
def put_vec3(a, i, v):
    """Store a vector in row i of an (n, 3) array."""
    i = index(i)
    a[i, 0], a[i, 1], a[i, 2] = v


@kernel
def put_vec3_at(a, k, v):
    """Store a vector in a flat array from place k."""
    k = index(k)
    a[k], a[k + index(1)], a[k + index(2)] = v


@kernel
def quaternion_at(a, k):
    """Four numbers of a flat array from place k."""
    k = index(k)
    return Quaternion(a[k], a[k + index(1)], a[k + index(2)], a[k + index(3)])


@kernel
def put_quaternion_at(a, k, q):
    """Store a quaternion in a flat array from place k."""
    k = index(k)
    a[k], a[k + index(1)], a[k + index(2)], a[k + index(3)] = q


@kernel
def turn_between(a, b, k):
    """Rotation vector, in child axes, from the quaternion at place k of one flat array to that of another."""
    return logarithm(conjugate(normalized(quaternion_at(a, k))) @ normalized(quaternion_at(b, k)))


@kernel
def rotation(a, i):
    """Entry i of an (n, 3, 3) array of rotation matrices."""
    i = index(i)
    return Rotation(
        Vec3(a[i, 0, 0], a[i, 1, 0], a[i, 2, 0]),
        Vec3(a[i, 0, 1], a[i, 1, 1], a[i, 2, 1]),
        Vec3(a[i, 0, 2], a[i, 1, 2], a[i, 2, 2]),
    )


@kernel
def put_rotation(a, i, r):
    """Store a rotation as a matrix in an (n, 3, 3) array."""
    i = index(i)
    (a[i, 0, 0], a[i, 1, 0], a[i, 2, 0]), (a[i, 0, 1], a[i, 1, 1], a[i, 2, 1]), (a[i, 0, 2], a[i, 1, 2], a[i, 2, 2]) = r


@kernel
def motion(a, i):
    """Row i of an (n, 6) array, angular part first."""
    i = index(i)
    return Motion(Vec3(a[i, 0], a[i, 1], a[i, 2]), Vec3(a[i, 3], a[i, 4], a[i, 5]))


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
