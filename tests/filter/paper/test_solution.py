"""The small problem of the paper's filter against its equations as printed, and what any solution must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filter.paper.bodies import flying, held, printed, standing

import brachiate as br
from brachiate.filter.paper import PaperFilter, Settings, Step

EXACT = 1e-12  # by which contact rows give: nothing that could be seen
CLOSE = 1e-8  # of the largest number; pseudoinverses are of matrices conditioned like 1e3, and robust adds the square root of 1/k


def closely(one: np.ndarray, other: np.ndarray) -> None:
    assert np.abs(one - other).max(initial=0.0) <= CLOSE * np.abs(other).max(initial=1.0)


def stirred(one: PaperFilter, seed: int, strong: float, steps: int = 2) -> Step:
    """Some steps towards accelerations that nobody could bring about."""
    rng = np.random.default_rng(seed)
    q, still = one.world.q.copy(), np.zeros(one.world.model.nv)
    step = None
    for _ in range(steps):
        step = one.step(q, still, strong * rng.normal(size=len(still)))
    assert step is not None
    return step


@given(seed=st.integers(0, 99), strong=st.sampled_from((0.3, 3.0, 30.0)), robust=st.sampled_from((1e-2, 1e-4, 1e-6)), edges=st.booleans())
def test_the_small_problem_is_the_printed_one(seed: int, strong: float, robust: float, edges: bool) -> None:
    """Whatever states the contacts end in: sticking, on edges and spots, slipping, letting go."""
    settings = Settings(robust=robust, edges=edges, give=EXACT, costs=(2.0, 0.5, 3.0), weights={"root": 0.5, "left_knee": 4.0})
    one = PaperFilter(standing(), "man", settings)
    step = stirred(one, seed, strong)
    whole = printed(one)
    closely(step.a, whole.a)
    closely(held(one).force, whole.force)
    closely(step.torque, whole.torque)


def test_all_kinds_of_states_are_met_by_it() -> None:
    """That the test above is not about one state only."""
    met: set[str] = set()
    for seed in range(25):
        for strong in (0.3, 3.0, 30.0):
            met |= set(stirred(PaperFilter(standing(), "man"), seed, strong).states.values())
    assert {"C0", "C2", "C6", "C7"} <= met


def test_without_contact_it_is_the_printed_one() -> None:
    one = PaperFilter(flying(), "man")
    step = stirred(one, 1, 10.0)
    closely(step.a, printed(one).a)
    closely(step.torque, printed(one).torque)


def test_an_arm_without_a_motor_at_its_root() -> None:
    world = br.World()
    world.add(br.figures.arm2(), "arm")
    one = PaperFilter(world, "arm", Settings(robust=1e-3, weights={"shoulder": 0.2}))
    world.q = (0.3, 0.4)
    step = one.step((0.5, -0.2), (1.0, 0.0), (0.0, 2.0))
    closely(step.a, printed(one).a)
    closely(step.torque, printed(one).torque)
    assert step.torque[0] == 0


@pytest.mark.parametrize("strong", [0.3, 3.0, 30.0])
def test_physics_holds(strong: float) -> None:
    """Rows without motors need nothing, what is held is held, and motors bring what inverse dynamics says, contact forces off."""
    world = standing()
    one = PaperFilter(world, "man", Settings(give=EXACT))
    for seed in range(5):
        step = stirred(one, seed, strong, steps=1)
        assert step.residual <= 1e-9
        h = held(one)
        size = max(np.abs(step.a).max(), 1.0)
        assert np.abs(h.rows @ step.a - h.want).max(initial=0.0) <= 1e-8 * size
    q, v, still = world.q.copy(), world.v.copy(), np.zeros(world.model.nv)
    step = one.step(q, v, still)
    if step.hits == 0:
        world.q, world.v = q, v
        torque = np.array(br.dynamics.inverse_dynamics(world.data, q, v, step.a))
        for contact in step.contacts:
            assert contact.on == "ground/ground"
            J = world.jacobian(contact.link, at=_inside(world, contact.link, contact.point))
            moment = contact.axes @ contact.wrench[3:]
            torque -= J.T @ np.concatenate((contact.force, moment))
        assert np.abs(torque - step.torque).max() <= 1e-8 * np.abs(step.torque).max()


def _inside(world: br.World, link: str, point: np.ndarray) -> np.ndarray:
    pose = world.pose(link)
    return pose.rotation.T @ (point - pose.position)


def test_the_more_robust_the_less_is_reached_and_the_less_it_costs() -> None:
    """k of eq. 45 trades errors for the size of all unknowns; it would fail if it were left out, or in the wrong place."""
    errors, sizes = [], []
    for robust in (1e-6, 1e-3, 1e-1):
        one = PaperFilter(standing(), "man", Settings(robust=robust, give=EXACT))
        step = stirred(one, 3, 0.02, steps=1)
        assert set(step.states.values()) == {"C0"}
        errors.append(np.linalg.norm(step.a - one.solution.wanted))
        sizes.append(np.linalg.norm((*step.a, *held(one).force, *step.torque)))
    assert errors == sorted(errors)
    assert sizes == sorted(sizes, reverse=True)
    assert errors[0] < 0.5 * errors[2]
