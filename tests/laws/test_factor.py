"""Implicit (articulated-body) factorization of the mass matrix against the explicit one, on random trees.

Both solve A x = y; the condition number of A is up to about 1e5, so the solutions may differ by 1e-16 · 1e5 times a factor of a hundred.
Spherical, free and revolute joints, with and without rotors, have code paths of their own.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.random_models import random_model, random_state

import brachiate as br
from brachiate import dynamics
from brachiate.compiled import entry
from brachiate.dynamics.factor import backward_sweep, factor, forward_sweep
from brachiate.kinematics import ball_motion_columns, forward_kinematics
from brachiate.model.arrays import open_model
from brachiate.model.status import OK, SINGULAR


@entry
def _solve(key, implicit, y):
    T, W = open_model(key)
    forward_kinematics(T, W)
    ball_motion_columns(T, W)
    status = factor(T, W, implicit)
    backward_sweep(T, W, y)
    forward_sweep(T, W, y)
    return status


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_solution_equals_that_of_the_explicit_factor(seed, passive):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 2 + seed, passive=passive, massless=False)
    data = br.Data(model)
    q, _, _ = random_state(model, rng)
    y = rng.normal(size=model.nv)
    expected = dynamics.solve_mass(data, q, y)
    data.q[:] = q
    x = y.copy()
    assert _solve(data.key, 0.0, x) == OK
    assert np.abs(x - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("seed", range(4))
def test_implicit_damping_is_on_the_diagonal(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 6, massless=False)
    data = br.Data(model)
    data.q[:], _, _ = random_state(model, rng)
    data.work.y[:] = rng.uniform(1.0, 50.0, model.nv)
    y = rng.normal(size=model.nv)
    expected = np.linalg.solve(dynamics.mass_matrix(data, data.q) + 0.01 * np.diag(data.work.y), y)
    x = y.copy()
    assert _solve(data.key, 0.01, x) == OK
    assert np.abs(x - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_joint_without_inertia_is_named_in_the_error():
    # A thin rod about its own axis, at an angle: the inertia of one rotation of the spherical joint is round-off.
    builder = br.ModelBuilder("needle")
    builder.link("upper", joint=br.Revolute("y"), mass=1.0, center=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    builder.link("needle", parent="upper", joint=br.Spherical(), at=(0, 0, -1), mass=1.0, center=(0, 0, -0.5), inertia=(0.1, 0.1, 1e-300))
    data = br.Data(builder.build())
    data.q[:] = 0.4, *(np.array([0.8, 0.3, 0.5, 0.1]) / np.sqrt(0.99))
    assert _solve(data.key, 0.0, np.ones(data.model.nv)) == SINGULAR
    assert data.model.coordinates[data.work.status[1]] == "needle.z"
