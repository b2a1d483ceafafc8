"""Sequence of contact modes of least cost: equal to the best of all sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from brachiate.contact_estimation.mode_sequence import cheapest_sequence


def all_sequences(cost: np.ndarray, switch: np.ndarray) -> dict[tuple[int, ...], float]:
    """Cost of every sequence of modes."""
    f, m = cost.shape
    return {
        modes: sum(cost[k, mode] for k, mode in enumerate(modes)) + sum(switch[a, b] for a, b in pairwise(modes))
        for modes in product(range(m), repeat=f)
    }


@pytest.mark.parametrize("seed", range(8))
def test_sequence_is_the_best_of_all(seed):
    # Fails if a switch is counted in the wrong direction: the switching costs are not symmetric.
    rng = np.random.default_rng(seed)
    cost, switch = rng.normal(size=(6, 3)), rng.uniform(0.0, 1.5, (3, 3)) * (1.0 - np.eye(3))
    found, every = cheapest_sequence(cost, switch), all_sequences(cost, switch)
    best = min(every, key=lambda modes: every[modes])
    assert tuple(found.mode) == best
    assert found.cost == pytest.approx(every[best], abs=1e-12)


def test_one_frame_and_expensive_switches():
    assert cheapest_sequence(np.array([[2.0, 1.0]]), np.zeros((2, 2))).mode.tolist() == [1]
    cost = np.zeros((100, 2))
    cost[:, 1], cost[40:60, 1] = 1.0, -1.0
    for price, modes in ((9.0, {0, 1}), (11.0, {0})):  # a gain of 20 for two switches
        assert set(cheapest_sequence(cost, price * (1.0 - np.eye(2))).mode.tolist()) == modes
