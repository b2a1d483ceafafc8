"""Models derived from others: scaled effort limits."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError


def test_scaled_effort():
    model = br.figures.human28()
    assert np.allclose(model.with_scaled_effort(1.5).effort, 1.5 * model.effort)
    free = model.with_scaled_effort(np.inf).effort
    assert (free[model.effort == 0.0] == 0.0).all()
    assert np.isinf(free[model.effort > 0.0]).all()
    assert not model.with_scaled_effort(0.0).effort.any()
    for bad in (-1.0, np.nan):
        with pytest.raises(ArgumentError, match="factor: expected a number of at least 0"):
            model.with_scaled_effort(bad)
