"""Bounded work of a contact step: fast limbs, many rows, and hard problems."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import brachiate as br
from brachiate.contact.arrays import DOUGLAS_RACHFORD_STEPS, FACTORIZATIONS, FOUND, GAUSS_SEIDEL_SWEEPS, NUM_ROWS
from brachiate.contact.solver.search_work import STEP_WORK
from brachiate.contact.stepping.contact_state import MAX_PATCHES

DT = 0.002


def three_figures() -> br.World:
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    for k in range(3):
        world.add(br.figures.human16(), name=f"man{k}").place((0.8 * k, 0.0, 1.0))
    world.enable_contact()
    br.Simulation(world, dt=DT).step()
    return world


@pytest.mark.parametrize("rate", [100.0, 1000.0, 3000.0])
def test_a_fast_limb_does_not_add_contacts_between_others(rate):
    """Margins follow the relative motion of each pair. With one margin for all, every pair of three figures became a patch."""
    world = three_figures()
    world.set_velocity({"man0/left_elbow": rate})
    simulation = br.Simulation(world, dt=DT)
    simulation.step()
    state = world.contact_settings.contact_state
    fast = {"man0/left_forearm", "man0/left_hand"}
    pairs = [world.contact_settings.link_pairs[n] for n in state.patches.pair[: state.patches.count[0]]]
    assert len(pairs) < 0.2 * len(world.contact_settings.link_pairs)
    assert sum(not fast & set(pair) and "floor" not in pair[0] for pair in pairs) <= 4
    assert np.isfinite(world.q).all()


def test_parts_that_move_together_have_no_margin():
    """A figure that spins as a whole: only the floor can be reached."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.human16(), name="man")
    world.enable_contact()
    world.set_velocity({"man/root": [0.0, 0.0, 0.0, 0.0, 0.0, 2000.0]})
    br.Simulation(world, dt=DT).step()
    state = world.contact_settings.contact_state
    assert state.patches.count[0] <= 4


def test_a_state_that_diverges_takes_no_memory():
    """At 10¹⁷ m/s every pair of shapes is a patch: the dense problem of three figures took gigabytes before the step was refused."""
    world = three_figures()
    world.contact_settings.contact_state.arrays.predicted_acceleration[:] = 1e19
    with pytest.raises(br.StateError):
        br.Simulation(world, dt=DT).run(0.02)
    assert len(world.contact_settings.contact_state.patches.pair) <= 128


def test_more_patches_than_memory_allows_are_refused():
    state = three_figures().contact_settings.contact_state
    room = len(state.patches.pair)
    state.patches.count[FOUND] = MAX_PATCHES + 1
    with pytest.raises(br.StateError, match="more contacts than can be solved"):
        state.enlarge()
    assert len(state.patches.pair) == room


@pytest.mark.parametrize(("height", "held"), [(0.05, ("pelvis", "left_hand")), (0.1, ("pelvis", "left_hand", "right_hand"))])
def test_all_problems_of_a_step_share_one_budget(height, held):
    """A figure held inside the floor: no forces satisfy the contact law. Each repetition of the step was searched anew: 0.5 s in all."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, height))
    for link in held:
        world.connect(f"man/{link}", "world", br.Spherical())
    world.enable_contact()
    world.v = np.random.default_rng(9 + len(held)).normal(size=world.model.nv)
    with contextlib.suppress(br.StateError):
        br.Simulation(world, dt=DT).step()
    problem = world.contact_settings.contact_state.problem
    n, iterations = float(problem.count[NUM_ROWS]), problem.counters
    work = n**2 * (iterations[GAUSS_SEIDEL_SWEEPS] + iterations[DOUGLAS_RACHFORD_STEPS]) + n**3 / 3.0 * iterations[FACTORIZATIONS]
    assert work < STEP_WORK
