"""Solution with symmetric 3×3 matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.compiled import entry
from brachiate.linalg.symmetric3 import solve_symmetric3
from brachiate.spatial import vec3


@entry
def solve(I, n, b, out):
    x = solve_symmetric3(I, n, vec3(b, 0))
    out[0], out[1], out[2] = x.x, x.y, x.z


@pytest.mark.parametrize("seed", range(6))
def test_solution(seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(3, 3, 3))
    I = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(3)
    b, x = random.normal(size=(1, 3)), np.zeros(3)
    for n in range(3):
        solve(I, n, b, x)
        assert I[n] @ x == pytest.approx(b[0], abs=1e-14 * np.linalg.cond(I[n]) ** 2)
