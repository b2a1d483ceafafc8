"""Local and global feedback of the paper's filter [DF] eq. 39-42."""

from __future__ import annotations

import numpy as np
from tests.filter.paper.bodies import flying

import brachiate as br
from brachiate import manifold
from brachiate.filter.paper import PaperFilter, Settings

SMALL = 1e-9


def moved(world: br.World, seed: int, far: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A reference that is somewhere near the state."""
    rng = np.random.default_rng(seed)
    n = world.model.nv
    q = manifold.integrated(world.data, world.q.copy(), far * rng.normal(size=n), 1.0)
    return q, world.v + far * rng.normal(size=n), rng.normal(size=n)


def test_who_is_on_the_reference_wants_its_acceleration() -> None:
    """Also of P: its feedback adds nothing then."""
    world = flying()
    one = PaperFilter(world, "man")
    a = np.random.default_rng(0).normal(size=world.model.nv)
    one.step(world.q.copy(), world.v.copy(), a)
    assert np.abs(one.solution.wanted - a).max() < SMALL


def test_a_hinge_that_is_behind_wants_to_catch_up() -> None:
    world = flying()
    one = PaperFilter(world, "man", Settings(point=None, stiffness=90.0, damping=11.0))
    q, v, a = world.q.copy(), world.v.copy(), np.zeros(world.model.nv)
    knee = world.model.joints["man/left_knee"]
    q[knee.q], v[knee.v] = q[knee.q] + 0.2, v[knee.v] - 0.5
    one.step(q, v, a)
    wanted = one.solution.wanted.copy()
    assert np.allclose(wanted[knee.v], 90.0 * 0.2 - 11.0 * 0.5)
    wanted[knee.v] = 0.0
    assert np.abs(wanted).max() < SMALL


def test_the_point_gets_the_acceleration_it_should_have() -> None:
    """J θ̈ᵈ + J̇ θ̇ is eq. 40, by world's own Jacobian; joints that share nothing are left alone."""
    world, goal = flying(), flying()
    settings = Settings(point="chest", at=(0.1, 0.0, 0.3), point_stiffness=50.0, point_damping=7.0, sharing={"left_knee": 0.0})
    one = PaperFilter(world, "man", settings)
    alone = PaperFilter(other := flying(), "man", Settings(point=None))
    reference = moved(world, 4, 0.1)
    J, rate = world.jacobian("man/chest", at=settings.at), world.jacobian_rate("man/chest", at=settings.at)
    place, speed, turn = (
        world.position("man/chest", at=settings.at),
        world.velocity("man/chest", at=settings.at),
        world.pose("man/chest").rotation,
    )
    goal.q, goal.v = reference[:2]
    off = _turned(turn, goal.pose("man/chest").rotation)
    want = (
        goal.acceleration("man/chest", reference[2], at=settings.at)
        + 7.0 * (goal.velocity("man/chest", at=settings.at) - speed)
        + 50.0 * np.concatenate((goal.position("man/chest", at=settings.at) - place, off))
    )
    one.step(*reference)
    alone.step(*reference)
    assert other.model.nv == world.model.nv
    assert np.abs(J @ one.solution.wanted + rate - want).max() < 1e-8
    knee = world.model.joints["man/left_knee"].v
    assert np.array_equal(one.solution.wanted[knee], alone.solution.wanted[knee])
    assert np.abs(one.solution.wanted - alone.solution.wanted).max() > 0.1


def _turned(R: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Turn from one orientation to another, as a vector in the world."""
    D = to @ R.T
    angle = np.arccos(np.clip((np.trace(D) - 1) / 2, -1, 1))
    axis = np.array((D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]))
    return angle * axis / (2 * np.sin(angle))


def test_where_the_point_is() -> None:
    """The neck by default: on the link that carries the head. A figure without a head has none."""
    man = PaperFilter(flying(), "man")
    assert man.point is not None
    assert man.point.name == "chest"
    world = flying()
    neck = world.position("man/chest", at=man.point.position)
    assert np.allclose(neck, world.position("man/head"))
    toe = PaperFilter(flying(), "man", Settings(point="left_toe", at=(0.0, 0.0, 0.1))).point
    assert toe is not None
    site = world.pose("man/left_toe")
    assert np.allclose(world.position("man/left_foot", at=toe.position), site.position + site.rotation @ (0.0, 0.0, 0.1))
    arm = br.World()
    arm.add(br.figures.arm2(), "arm")
    assert PaperFilter(arm, "arm").point is None
