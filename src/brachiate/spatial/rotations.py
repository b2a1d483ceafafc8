"""Rotations and rigid transforms: matrices, quaternions, exponential and logarithm, screws, and their access in arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from brachiate.compiled import index, kernel, operators
from brachiate.spatial.vectors import Vec3, cross

# Below this squared angle the truncated series of sine and cosine terms are exact to round-off.
_SMALL_ANGLE2 = 1e-3


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
    """Rᵀ v: a parent's vector in child axes."""
    return Vec3(r.x @ v, r.y @ v, r.z @ v)


@kernel
def axis_rotation(u, angle):
    """Rodrigues' formula: rotation by an angle about a unit axis [SVC] eq. 25."""
    s, c = math.sin(angle), math.cos(angle)
    t = 1.0 - c
    xy, xz, yz = t * u.x * u.y, t * u.x * u.z, t * u.y * u.z
    return Rotation(
        Vec3(t * u.x * u.x + c, xy + s * u.z, xz - s * u.y),
        Vec3(xy - s * u.z, t * u.y * u.y + c, yz + s * u.x),
        Vec3(xz + s * u.y, yz - s * u.x, t * u.z * u.z + c),
    )


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
    """Unit quaternion along a. A zero quaternion gives NaN, which entry points report as an error."""
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
def exponential(w):
    """Unit quaternion of a rotation vector; accurate through zero."""
    half2 = 0.25 * (w @ w)
    if half2 < _SMALL_ANGLE2:
        s = 0.5 * (1.0 - half2 / 6.0 * (1.0 - half2 / 20.0 * (1.0 - half2 / 42.0)))
        c = 1.0 - half2 / 2.0 * (1.0 - half2 / 12.0 * (1.0 - half2 / 30.0 * (1.0 - half2 / 56.0)))
    else:
        half = math.sqrt(half2)
        s = 0.5 * math.sin(half) / half
        c = math.cos(half)
    return Quaternion(c, s * w.x, s * w.y, s * w.z)


@kernel
def logarithm(a):
    """Shortest rotation vector of a unit quaternion, of length at most π; accurate through 0 and π."""
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
    """Displacement of the origin of a frame that rotates by w and translates by v, both in moving axes (screw motion)."""
    t2 = w @ w
    if t2 < _SMALL_ANGLE2:
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
    """Inverse of :func:`screw_translation`: the v that moves the origin to p while rotating by w."""
    t2 = w @ w
    if t2 < _SMALL_ANGLE2:
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
def transform_point(t, point):
    """A child's point in the parent frame."""
    return t.p + t.R @ point


@kernel
def inverse_transform(t):
    """T_child_parent."""
    return Transform(transpose(t.R), -unrotate(t.R, t.p))


@kernel
def quaternion_at(a, k):
    """Quaternion in a flat array from index k."""
    k = index(k)
    return Quaternion(a[k], a[k + index(1)], a[k + index(2)], a[k + index(3)])


@kernel
def put_quaternion_at(a, k, q):
    """Store a quaternion in a flat array from index k."""
    k = index(k)
    a[k], a[k + index(1)], a[k + index(2)], a[k + index(3)] = q


@kernel
def quaternion_difference(a, b, k):
    """Rotation vector, in child axes, from the quaternion at index k of one flat array to that of another."""
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
