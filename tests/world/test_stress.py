"""Random operations on random worlds: a short run of ``benchmarks/stress.py``, without its audit of time."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import stress


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_random_operations_keep_the_laws(seed):
    """Fails on any exception but ours, a copy that moves differently, energy from nowhere, or momentum that is not kept."""
    counts: Counter[str] = Counter()
    failures, _ = stress.run_world(seed, 40, counts, Counter())
    assert failures == []
    assert counts.total() == 40
