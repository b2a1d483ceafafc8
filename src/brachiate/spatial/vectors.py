"""Vectors of three and of four components: immutable values with operators, and their access in arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from brachiate.compiled import index, kernel, operators


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


@kernel
def norm(a):
    """Length of a vector."""
    return math.sqrt(a @ a)


@kernel
def orthonormal_pair(u):
    """Two unit vectors orthogonal to a unit vector and to each other."""
    a = Vec3(0.0, u.z, -u.y) if abs(u.x) < 0.6 else Vec3(-u.z, 0.0, u.x)
    a = (1.0 / norm(a)) * a
    return a, cross(u, a)


@operators
class Four(NamedTuple):
    """Four numbers, one for each of four right-hand sides: one vector register. Vec3 may have them as components."""

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
    """Four numbers of a flat array from index i."""
    i = index(i)
    return Four(x[i], x[i + index(1)], x[i + index(2)], x[i + index(3)])


@kernel
def put_four(x, i, f):
    """Store four numbers in a flat array from index i."""
    i = index(i)
    x[i], x[i + index(1)], x[i + index(2)], x[i + index(3)] = f


@kernel
def vec3(a, i):
    """Row i of an (n, 3) array."""
    i = index(i)
    return Vec3(a[i, 0], a[i, 1], a[i, 2])


@kernel
def vec3_at(a, k):
    """Vector in a flat array from index k."""
    k = index(k)
    return Vec3(a[k], a[k + index(1)], a[k + index(2)])


@kernel
def put_vec3(a, i, v):
    """Store a vector in row i of an (n, 3) array."""
    i = index(i)
    a[i, 0], a[i, 1], a[i, 2] = v


@kernel
def put_vec3_at(a, k, v):
    """Store a vector in a flat array from index k."""
    k = index(k)
    a[k], a[k + index(1)], a[k + index(2)] = v
