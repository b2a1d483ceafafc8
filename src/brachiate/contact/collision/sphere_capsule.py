"""Spheres and capsules: points and segments with a radius."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import CAPSULE
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
    if c @ c <= 1e-12 * (u @ u) * (u @ u):
        # z, if it may be: things that lie in each other part upwards
        c = Vec3(0.0, 0.0, 1.0)
        c = c - (c @ u / max(u @ u, 1e-300)) * u
        if c @ c < 1e-6:
            c = Vec3(1.0, 0.0, 0.0)
    return (1.0 / norm(c)) * c


@kernel
def half_axis(Gm, S, g):
    """Half the axis of a capsule; nothing for a sphere."""
    return (Gm.size[g, 1] if Gm.kind[g] == CAPSULE else 0.0) * vec3(S.z, g)


@kernel
def rounds(Gm, S, g1, g2):
    """Normal, nearest point of the first and gap of two spheres or capsules that are placed."""
    a, b, x1 = half_axis(Gm, S, g1), half_axis(Gm, S, g2), vec3(S.x, g1)
    d = vec3(S.x, g2) - x1
    s, t = nearest_places(d, a, b)
    apart = d + t * b - s * a
    length = norm(apart)
    n = (1.0 / length) * apart if length > 1e-9 else any_across(a, b)
    r1, r2 = Gm.size[g1, 0], Gm.size[g2, 0]
    return n, x1 + s * a + r1 * n, length - r1 - r2
