"""Spheres and capsules: points and segments with a radius."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.rooms import CAPSULE
from brachiate.spatial import Vec3, cross, norm, vec3


@kernel
def within(s):
    """The nearest number from -1 to 1."""
    return min(max(s, -1.0), 1.0)


@kernel
def nearest_places(d, a, b):
    """Where two segments are nearest: s and t from -1 to 1 along the half vectors a and b, with d from middle to middle.

    Parallel ones are nearest all along: the middle of what they have in common.
    """
    aa, ab, bb, ad, bd = a @ a, a @ b, b @ b, a @ d, b @ d
    s = 0.0
    if aa > 0.0 and bb > 0.0:
        free = aa * bb - ab * ab
        if free > 1e-8 * aa * bb:
            s = within((ad * bb - bd * ab) / free)
        else:
            middle, half = ad / aa, abs(ab) / aa
            s = within(0.5 * (max(-1.0, middle - half) + min(1.0, middle + half)))
    t = within((s * ab - bd) / bb) if bb > 0.0 else 0.0
    s = within((ad + t * ab) / aa) if aa > 0.0 else 0.0
    return s, t


@kernel
def any_across(a, b):
    """A unit vector across both, or across whichever has a length."""
    c = cross(a, b)
    u = a if a @ a >= b @ b else b
    if c @ c < 1e-12 * (u @ u) * (u @ u):
        # z, if it may be: things that lie in each other part upwards
        c = Vec3(0.0, 0.0, 1.0)
        c = c - (c @ u / max(u @ u, 1e-300)) * u
        if c @ c < 1e-6:
            c = Vec3(1.0, 0.0, 0.0)
    return (1.0 / norm(c)) * c


@kernel
def half_of(Gm, g, R):
    """Half the axis of a capsule; nothing for a sphere."""
    return (Gm.size[g, 1] if Gm.kind[g] == CAPSULE else 0.0) * R.z


@outlined
def rounds(Gm, g1, g2, R1, x1, R2, x2):
    """Normal, nearest point of the first and gap of two spheres or capsules."""
    a, b, d = half_of(Gm, g1, R1), half_of(Gm, g2, R2), x2 - x1
    s, t = nearest_places(d, a, b)
    apart = d + t * b - s * a
    length = norm(apart)
    n = (1.0 / length) * apart if length > 1e-9 else any_across(a, b)
    r1, r2 = vec3(Gm.size, g1).x, vec3(Gm.size, g2).x
    return n, x1 + s * a + r1 * n, (length if math.isfinite(length) else math.inf) - r1 - r2
