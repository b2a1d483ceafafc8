"""Condensed optimization of the published filter against its equations as printed, and equations of motion of its solutions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filter.paper.bodies import flying, held_directions, printed, standing

import brachiate as br
from brachiate.filter.paper import PaperFilter, PaperSettings, PaperStep

EXACT = 1e-12  # compliance of contact rows: negligible
CLOSE = 1e-8  # relative: matrices have a condition number of 1e3, and the damping k adds the square root of 1/k


def assert_close(first: np.ndarray, other: np.ndarray) -> None:
    assert np.abs(first - other).max(initial=0.0) <= CLOSE * np.abs(other).max(initial=1.0)


def random_steps(paper_filter: PaperFilter, seed: int, size: float, steps: int = 2) -> PaperStep:
    """Steps towards random infeasible accelerations."""
    rng = np.random.default_rng(seed)
    q, zero = paper_filter.world.q.copy(), np.zeros(paper_filter.world.model.nv)
    step = None
    for _ in range(steps):
        step = paper_filter.step(q, zero, size * rng.normal(size=len(zero)))
    assert step is not None
    return step


@given(seed=st.integers(0, 99), size=st.sampled_from((0.3, 3.0, 30.0)), damping=st.sampled_from((1e-2, 1e-4, 1e-6)), edges=st.booleans())
def test_the_condensed_problem_is_the_printed_one(seed: int, size: float, damping: float, edges: bool) -> None:
    """For all contact states: sticking, on edges and spots, slipping, separating."""
    settings = PaperSettings(
        sr_damping=damping, tilt_about_edges=edges, contact_compliance=EXACT, costs=(2.0, 0.5, 3.0), weights={"root": 0.5, "left_knee": 4.0}
    )
    paper_filter = PaperFilter(standing(), "man", settings)
    step = random_steps(paper_filter, seed, size)
    whole = printed(paper_filter)
    assert_close(step.a, whole.a)
    assert_close(held_directions(paper_filter).force, whole.force)
    assert_close(step.torque, whole.torque)


def test_many_contact_states_occur() -> None:
    """The test above covers more than one contact state."""
    met: set[str] = set()
    for seed in range(25):
        for size in (0.3, 3.0, 30.0):
            met |= set(random_steps(PaperFilter(standing(), "man"), seed, size).states.values())
    assert {"C0", "C2", "C6", "C7"} <= met


def test_without_contact_the_solution_is_the_printed_one() -> None:
    paper_filter = PaperFilter(flying(), "man")
    step = random_steps(paper_filter, 1, 10.0)
    assert_close(step.a, printed(paper_filter).a)
    assert_close(step.torque, printed(paper_filter).torque)


def test_an_arm_with_an_unactuated_root_joint() -> None:
    world = br.World()
    world.add(br.figures.arm2(), "arm")
    paper_filter = PaperFilter(world, "arm", PaperSettings(sr_damping=1e-3, weights={"shoulder": 0.2}))
    world.q = (0.3, 0.4)
    step = paper_filter.step((0.5, -0.2), (1.0, 0.0), (0.0, 2.0))
    assert_close(step.a, printed(paper_filter).a)
    assert_close(step.torque, printed(paper_filter).torque)
    assert step.torque[0] == 0


@pytest.mark.parametrize("size", [0.3, 3.0, 30.0])
def test_equations_of_motion_and_contact_constraints_hold(size: float) -> None:
    """Unactuated rows have no residual, held directions have their demanded acceleration, torques are those of inverse dynamics."""
    world = standing()
    paper_filter = PaperFilter(world, "man", PaperSettings(contact_compliance=EXACT))
    for seed in range(5):
        step = random_steps(paper_filter, seed, size, steps=1)
        assert step.residual <= 1e-9
        h = held_directions(paper_filter)
        largest = max(np.abs(step.a).max(), 1.0)
        assert np.abs(h.rows @ step.a - h.demand).max(initial=0.0) <= 1e-8 * largest
    q, v, zero = world.q.copy(), world.v.copy(), np.zeros(world.model.nv)
    step = paper_filter.step(q, v, zero)
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


def test_damping_trades_errors_for_the_size_of_the_solution() -> None:
    """k of eq. 45 trades acceleration errors for the size of all unknowns. Fails if it is left out or misplaced."""
    errors, sizes = [], []
    for damping in (1e-6, 1e-3, 1e-1):
        paper_filter = PaperFilter(standing(), "man", PaperSettings(sr_damping=damping, contact_compliance=EXACT))
        step = random_steps(paper_filter, 3, 0.02, steps=1)
        assert set(step.states.values()) == {"C0"}
        errors.append(np.linalg.norm(step.a - paper_filter.arrays.desired))
        sizes.append(np.linalg.norm((*step.a, *held_directions(paper_filter).force, *step.torque)))
    assert errors == sorted(errors)
    assert sizes == sorted(sizes, reverse=True)
    assert errors[0] < 0.5 * errors[2]
