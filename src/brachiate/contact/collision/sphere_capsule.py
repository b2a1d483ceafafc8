"""Spheres and capsules: points and segments with a radius."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import CAPSULE
from brachiate.spatial import Vec3, cross, norm, vec3


@kernel
def clamp_unit(s):
    """s clamped to [-1, 1]."""
    return min(max(s, -1.0), 1.0)


@kernel
def closest_on_segments(d, a, b):
    """Closest points of two segments: s and t in [-1, 1] along the half vectors a and b, with d from center to center.

    Parallel segments have many: the middle of their common part.
    """
    aa, ab, bb, ad, bd = a @ a, a @ b, b @ b, a @ d, b @ d
    s = 0.0
    if aa > 0.0 and bb > 0.0:
        free = aa * bb - ab * ab
        if free > 1e-8 * aa * bb:
            s = clamp_unit((ad * bb - bd * ab) / free)
        else:
            middle, half = ad / aa, abs(ab) / aa
            s = clamp_unit(0.5 * (max(-1.0, middle - half) + min(1.0, middle + half)))
    t = clamp_unit((s * ab - bd) / bb) if bb > 0.0 else 0.0
    s = clamp_unit((ad + t * ab) / aa) if aa > 0.0 else 0.0
    return s, t


@kernel
def perpendicular_to_both(a, b):
    """A unit vector perpendicular to both, or to the one that is not zero."""
    c = cross(a, b)
    u = a if a @ a >= b @ b else b
    if c @ c <= 1e-12 * (u @ u) * (u @ u):
        # z if possible: coincident shapes are separated upwards
        c = Vec3(0.0, 0.0, 1.0)
        c = c - (c @ u / max(u @ u, 1e-300)) * u
        if c @ c < 1e-6:
            c = Vec3(1.0, 0.0, 0.0)
    return (1.0 / norm(c)) * c


@kernel
def half_axis(geometry, scratch, g):
    """Half axis of a capsule; zero for a sphere."""
    return (geometry.size[g, 1] if geometry.kind[g] == CAPSULE else 0.0) * vec3(scratch.z_axis, g)


@kernel
def sphere_capsule(geometry, scratch, g1, g2):
    """Normal, closest point of the first, and gap of two placed spheres or capsules."""
    a, b, x1 = half_axis(geometry, scratch, g1), half_axis(geometry, scratch, g2), vec3(scratch.position, g1)
    d = vec3(scratch.position, g2) - x1
    s, t = closest_on_segments(d, a, b)
    separation = d + t * b - s * a
    length = norm(separation)
    n = (1.0 / length) * separation if length > 1e-9 else perpendicular_to_both(a, b)
    r1, r2 = geometry.size[g1, 0], geometry.size[g2, 0]
    return n, x1 + s * a + r1 * n, length - r1 - r2
