"""Bounded work of a contact step: fast limbs, many rows, and hard problems."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import brachiate as br
from brachiate.contact.arrays import DOUGLAS_RACHFORD_STEPS, FACTORIZATIONS, FOUND, GAUSS_SEIDEL_SWEEPS, NUM_ROWS, WORK_DONE
from brachiate.contact.solver.search_work import STEP_WORK
from brachiate.contact.stepping.contact_state import MAX_PATCHES, ContactState

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


def hammer_plate_and_targets() -> br.World:
    """A hammer hits a plate at rest, which then flies at 25 boxes within the same step."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.box((0.2, 0.2, 0.2), 100.0), name="hammer", at=(-0.21, 0.0, 0.0))
    world.add(br.figures.box((0.02, 2.0, 2.0), 1.0), name="plate")
    for k in range(25):
        world.add(br.figures.box((0.1, 0.1, 0.1), 1.0), name=f"target{k}", at=(0.2, 0.3 * (k // 5 - 2), 0.3 * (k % 5 - 2)))
    world.enable_contact(friction=0.0, restitution=1.0)
    world.v = {"hammer/root": [100.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
    return world


def test_a_divided_step_goes_on_where_its_contacts_did_not_fit(monkeypatch):
    """Fails if it is made anew in longer arrays: its work was bounded each time, and its time was not."""
    worlds, interrupted, work = [hammer_plate_and_targets() for _ in range(2)], [], []
    worlds[1].contact_settings.contact_state._allocate(200)
    enlarge = ContactState.enlarge
    monkeypatch.setattr(ContactState, "enlarge", lambda state: (interrupted.append(state.interrupted), enlarge(state)))
    for world in worlds:
        simulation = br.Simulation(world, dt=DT)
        for _ in range(3):
            simulation.step()
            work.append(world.contact_settings.contact_state.problem.work[WORK_DONE])
        assert interrupted
        assert all(interrupted)
        monkeypatch.setattr(ContactState, "enlarge", lambda state: pytest.fail("there is room"))
    assert work[:3] == work[3:]
    assert np.array_equal(worlds[0].q, worlds[1].q)
    assert np.array_equal(worlds[0].v, worlds[1].v)
    forces = [world.contacts.force for world in worlds]
    assert np.array_equal(*forces)
    assert worlds[0].totals().momentum == pytest.approx([1e4, 0.0, 0.0], rel=1e-9, abs=1e-6)


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


@pytest.mark.parametrize("held", [("pelvis",), ("left_hand", "right_hand"), ("pelvis", "left_hand", "right_hand")])
def test_work_of_a_figure_that_stands_and_is_held(held):
    """At most three times that of standing free: forces of connections are part of the problem, which the warm start solves."""

    def work(links: tuple[str, ...]) -> float:
        world = br.World()
        world.add(br.figures.ground(), name="floor")
        world.add(br.figures.human28(), name="man")
        for link in links:
            world.connect(f"man/{link}", "world")
        world.enable_contact()
        simulation, done = br.Simulation(world, dt=DT), 0.0
        for _ in range(20):
            simulation.step()
            done += float(world.contact_settings.contact_state.problem.work[WORK_DONE])
        return done

    assert work(held) < 3.0 * work(())
