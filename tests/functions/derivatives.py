"""Finite differences of functions along motions of a world."""

from __future__ import annotations

import numpy as np

import brachiate as br
from brachiate import animation as an
from brachiate import manifold

#: Fourth-order central differences: (offsets, first derivative, second derivative).
STENCIL = np.arange(-2, 3)
FIRST, SECOND = np.array([1, -8, 0, 8, -1]) / 12.0, np.array([-1, 16, -30, 16, -1]) / 12.0
STEP = 2e-3  # truncation h⁴ u⁽⁵⁾ ~ 1e-11, round-off 1e-16/h² ~ 1e-10


def along(world: br.World, space: an.AnimationSpace, d: np.ndarray) -> np.ndarray:
    """Values of the functions at q ⊕ t d for the times of the stencil: (5, m)."""
    q, values = world.q.copy(), []
    for s in STENCIL:
        world.data.q[:] = manifold.integrate(world.data, q, d, s * STEP)
        values.append(space.value())
    world.data.q[:] = q
    return np.array(values)


def assert_derivatives(world: br.World, functions: dict, rng: np.random.Generator) -> None:
    space = an.AnimationSpace(world, functions)
    G, H, n = space.gradient(), space.hessian(), world.model.nv
    assert np.array_equal(H, H.transpose(0, 2, 1)) or abs(H - H.transpose(0, 2, 1)).max() <= 1e-14 * max(1.0, abs(H).max())
    for _ in range(3):
        d = rng.normal(size=n)
        d /= max(1.0, np.linalg.norm(d))
        values = along(world, space, d)
        size = np.maximum(1.0, abs(values).max(axis=0))
        first, second = FIRST @ values / STEP, SECOND @ values / STEP**2
        scale = size + np.einsum("mij,i,j->m", abs(H), abs(d), abs(d))
        assert (abs(first - G @ d) <= 1e-7 * (size + abs(G) @ abs(d) + scale * 1e-2)).all(), (space.names, first, G @ d)
        assert (abs(second - np.einsum("mij,i,j->m", H, d, d)) <= 1e-5 * scale).all(), (space.names, second)
    v = world.v.copy()
    assert np.allclose(space.rate(), G @ v, rtol=1e-12, atol=1e-12 * max(1.0, abs(G).max()))
    expected = np.einsum("mij,i,j->m", H, v, v)
    assert np.allclose(space.bias(), expected, rtol=1e-10, atol=1e-11 * max(1.0, np.einsum("mij,i,j->m", abs(H), abs(v), abs(v)).max()))


def depends(world: br.World, function) -> bool:
    """Whether a function depends on anything that moves."""
    try:
        an.AnimationSpace(world, {"f": function})
    except br.ArgumentError as error:
        if "depends on nothing" in str(error) or "no mass" in str(error):
            return False
        raise
    return True
