"""Parts of the integrators: norm of the error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from brachiate.simulate.integrator_kernels import error_norm

TOLERANCE = 1e-6


@pytest.mark.parametrize("size", [0.01, 1.0, 7.0])
def test_error_of_the_same_size_everywhere_is_its_norm(size):
    # Relative to the tolerance, which grows with the state; some errors are negative.
    y = np.array((0.0, -3.0, 100.0, 1e-3))
    e = size * TOLERANCE * (1.0 + np.abs(y)) * (1, -1, 1, -1)
    scratch = SimpleNamespace(control=np.array((0.0, TOLERANCE)))
    assert error_norm(scratch, y, e) == pytest.approx(size, rel=1e-12)
    e[1:] = 0.0
    assert error_norm(scratch, y, e) == pytest.approx(size / 2, rel=1e-12)  # one of four
    assert error_norm(scratch, y[:0], e[:0]) == 0.0
