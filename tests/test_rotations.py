"""Batched rotations, against SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brachiate import rotations

ORDERS = ["".join(order) for order in itertools.permutations("xyz")]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(3)


def scipy_of(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1).reshape(-1, 4))


def same(p, q):
    return np.abs(np.einsum("...i,...i", p, q))


def test_products_and_vectors(random):
    p, q = (rotations.from_rotation_vector(random.normal(size=(20, 3))) for _ in range(2))
    v = random.normal(size=(20, 3))
    assert (scipy_of(p) * scipy_of(q)).as_matrix() == pytest.approx(rotations.to_matrix(rotations.product(p, q)), abs=1e-14)
    assert scipy_of(p).apply(v) == pytest.approx(rotations.rotate(p, v), abs=1e-14)
    assert rotations.product(p, rotations.inverse(p)) == pytest.approx(np.tile(rotations.IDENTITY, (20, 1)), abs=1e-15)


def test_rotation_vectors(random):
    v = random.normal(size=(200, 3))
    v *= (random.uniform(0, np.pi - 1e-6, 200) / np.linalg.norm(v, axis=1))[:, None]
    v[:5] = 1e-9 * v[:5]
    v[5] = 0
    assert rotations.to_rotation_vector(rotations.from_rotation_vector(v)) == pytest.approx(v, abs=1e-12)
    assert rotations.angle(rotations.from_rotation_vector(v)) == pytest.approx(np.linalg.norm(v, axis=1), abs=1e-12)
    assert scipy_of(rotations.from_rotation_vector(v)).as_rotvec() == pytest.approx(v, abs=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1e-8, 1e-11, 1e-12, 1e-13, 1e-200])
def test_small_rotation_vectors_keep_their_digits(size):
    v = size * np.array((1.0, -2.0, 0.5))
    assert rotations.to_rotation_vector(rotations.from_rotation_vector(v)) == pytest.approx(v, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles(order, random):
    angles = random.uniform(-np.pi, np.pi, (50, 4, 3))
    q = rotations.from_euler(order, angles)
    assert Rotation.from_euler(order.upper(), angles.reshape(-1, 3)).as_matrix() == pytest.approx(
        rotations.to_matrix(q).reshape(-1, 3, 3), abs=1e-14
    )
    assert same(rotations.from_euler(order, rotations.to_euler(order, q)), q) == pytest.approx(1)


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_are_continuous(order):
    # Several full turns, with the middle angle beyond π/2
    t = np.linspace(0, 1, 400)[:, None]
    angles = t * (9.0, 2.5, -14.0) + (0.1, 0.2, 0.3)
    found = rotations.to_euler(order, rotations.from_euler(order, angles))
    assert found == pytest.approx(angles, abs=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("right", [-np.pi / 2, np.pi / 2])
def test_gimbal_lock(order, right):
    q = rotations.from_euler(order, np.array([(0.3, right, 0.4)]))
    assert same(rotations.from_euler(order, rotations.to_euler(order, q)), q) == pytest.approx(1, abs=1e-7)


def test_matrices(random):
    q = rotations.from_rotation_vector(random.normal(size=(300, 3)) * random.uniform(0, 2, (300, 1)))
    q = np.concatenate(
        (
            q,
            rotations.about_axis(0, np.array([np.pi])),
            rotations.about_axis(1, np.array([np.pi])),
            rotations.about_axis(2, np.array([np.pi])),
        )
    )
    assert same(rotations.from_matrix(rotations.to_matrix(q)), q) == pytest.approx(1)


def test_unwrap(random):
    q = rotations.from_rotation_vector(np.linspace(0, 20, 100)[:, None] * np.array((0.6, 0, 0.8)))
    flipped = q * np.where(random.random(100) < 0.5, -1, 1)[:, None]
    steady = rotations.unwrap(flipped)
    assert (np.einsum("ij,ij->i", steady[1:], steady[:-1]) > 0).all()
    assert same(steady, q) == pytest.approx(1)
