"""Local and global feedback of the published filter [DF] eq. 39-42."""

from __future__ import annotations

import numpy as np
from tests.filter.paper.bodies import flying

import brachiate as br
from brachiate import manifold
from brachiate.filter.paper import PaperFilter, PaperSettings

SMALL = 1e-9


def perturbed(world: br.World, seed: int, far: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random reference near the state."""
    rng = np.random.default_rng(seed)
    n = world.model.nv
    q = manifold.integrate(world.data, world.q.copy(), far * rng.normal(size=n), 1.0)
    return q, world.v + far * rng.normal(size=n), rng.normal(size=n)


def test_without_errors_the_desired_acceleration_is_that_of_the_reference() -> None:
    """The feedback at P is zero then."""
    world = flying()
    paper_filter = PaperFilter(world, "man")
    a = np.random.default_rng(0).normal(size=world.model.nv)
    paper_filter.step(world.q.copy(), world.v.copy(), a)
    assert np.abs(paper_filter.arrays.desired - a).max() < SMALL


def test_a_joint_error_gives_a_pd_acceleration() -> None:
    world = flying()
    paper_filter = PaperFilter(world, "man", PaperSettings(point=None, stiffness=90.0, damping=11.0))
    q, v, a = world.q.copy(), world.v.copy(), np.zeros(world.model.nv)
    knee = world.model.joints["man/left_knee"]
    q[knee.q], v[knee.v] = q[knee.q] + 0.2, v[knee.v] - 0.5
    paper_filter.step(q, v, a)
    desired = paper_filter.arrays.desired.copy()
    assert np.allclose(desired[knee.v], 90.0 * 0.2 - 11.0 * 0.5)
    desired[knee.v] = 0.0
    assert np.abs(desired).max() < SMALL


def test_the_point_gets_the_acceleration_of_its_feedback() -> None:
    """J θ̈ᵈ + J̇ θ̇ is eq. 40, by the world's own Jacobian; joints with mobility 0 do not contribute."""
    world, goal = flying(), flying()
    settings = PaperSettings(
        point="chest", point_offset=(0.1, 0.0, 0.3), point_stiffness=50.0, point_damping=7.0, mobility={"left_knee": 0.0}
    )
    paper_filter = PaperFilter(world, "man", settings)
    alone = PaperFilter(other := flying(), "man", PaperSettings(point=None))
    reference = perturbed(world, 4, 0.1)
    J, rate = world.jacobian("man/chest", at=settings.point_offset), world.jacobian_rate("man/chest", at=settings.point_offset)
    place, speed, turn = (
        world.position("man/chest", at=settings.point_offset),
        world.velocity("man/chest", at=settings.point_offset),
        world.pose("man/chest").rotation,
    )
    goal.q, goal.v = reference[:2]
    rotation_error = _rotation_vector(turn, goal.pose("man/chest").rotation)
    expected = (
        goal.acceleration("man/chest", reference[2], at=settings.point_offset)
        + 7.0 * (goal.velocity("man/chest", at=settings.point_offset) - speed)
        + 50.0 * np.concatenate((goal.position("man/chest", at=settings.point_offset) - place, rotation_error))
    )
    paper_filter.step(*reference)
    alone.step(*reference)
    assert other.model.nv == world.model.nv
    assert np.abs(J @ paper_filter.arrays.desired + rate - expected).max() < 1e-8
    knee = world.model.joints["man/left_knee"].v
    assert np.array_equal(paper_filter.arrays.desired[knee], alone.arrays.desired[knee])
    assert np.abs(paper_filter.arrays.desired - alone.arrays.desired).max() > 0.1


def _rotation_vector(R: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Rotation vector from paper_filter orientation to another, world axes."""
    D = to @ R.T
    angle = np.arccos(np.clip((np.trace(D) - 1) / 2, -1, 1))
    axis = np.array((D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]))
    return angle * axis / (2 * np.sin(angle))


def test_position_of_the_point() -> None:
    """By default the neck, on the parent link of the head; none for a figure without a head."""
    man = PaperFilter(flying(), "man")
    assert man.point is not None
    assert man.point.name == "chest"
    world = flying()
    neck = world.position("man/chest", at=man.point.position)
    assert np.allclose(neck, world.position("man/head"))
    toe = PaperFilter(flying(), "man", PaperSettings(point="left_toe", point_offset=(0.0, 0.0, 0.1))).point
    assert toe is not None
    site = world.pose("man/left_toe")
    assert np.allclose(world.position("man/left_foot", at=toe.position), site.position + site.rotation @ (0.0, 0.0, 0.1))
    arm = br.World()
    arm.add(br.figures.arm2(), "arm")
    assert PaperFilter(arm, "arm").point is None
