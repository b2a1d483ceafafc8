"""More applied forces than there was room for: the arrays of the state are replaced, and everything that refers to them follows."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br

DT = 0.002


def crate() -> br.World:
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.box(mass=10.0), name="crate").place((0.0, 0.0, 0.1))
    world.enable_contact(friction=0.8)
    return world


def test_contacts_are_those_of_the_present_state():
    """Fails if contacts are evaluated with the arrays that were replaced: the crate would still be on the ground."""
    world = crate()
    simulation = br.Simulation(world, dt=DT)
    simulation.step()
    for _ in range(50):
        world.apply_force("crate/box", (0, 0, 8.0))
    for _ in range(100):
        simulation.step()
    assert world.position("crate/box")[2] > 0.2
    assert len(world.contacts) == 0
    assert np.allclose(world.forward_dynamics()[2], 50 * 8.0 / 10.0 - 9.81, atol=1e-9)


def test_figures_are_added_after_many_forces():
    """Fails if the constraint set is built on other arrays than those of the world."""
    world = crate()
    for _ in range(50):
        world.apply_force("crate/box", (0, 0, -1.0))
    world.add(br.figures.box(), name="second", at=(2.0, 0.0, 0.5))
    assert world.constraint_set.data is world.data
    assert world.contact_settings.contact_state.data is world.data
    run = br.Simulation(world, dt=DT).run(0.2)
    assert run.contacts["crate"].force[-1, 2] == pytest.approx(10.0 * 9.81 + 50.0, rel=1e-6)
