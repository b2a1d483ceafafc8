"""Midpoint velocity of a time step with contact: the mean of its start and end."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import Capsule, Free, ModelBuilder, Spherical
from brachiate.contact.stepping.velocity_prediction import FAST_DISPLACEMENT, PREDICTION_TOLERANCE
from brachiate.figures import objects

DT = 0.002
ROOT = slice(3, None)  # linear root velocities are in rotating axes: all others are compared


def chain_of_decreasing_mass(seed: int) -> br.World:
    """A rotating chain of links of decreasing mass, thrown at the ground."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("chain")
    b.link("heavy", joint=Free(), joint_name="root", mass=1.0, shapes=Capsule(radius=0.05, length=0.3, position=(0, 0, 0.15)))
    middle = Capsule(radius=0.03, length=0.2, position=(0, 0, 0.1))
    b.link("middle", parent="heavy", at=(0, 0, 0.35), joint=Spherical(), mass=0.2, shapes=middle)
    light = Capsule(radius=0.02, length=0.2, position=(0, 0, 0.1))
    b.link("light", parent="middle", at=(0, 0, 0.25), joint=Spherical(), mass=0.04, shapes=light)
    world = br.World()
    world.add(objects.ground(), "floor")
    world.add(b.build(), "it")
    quaternions = rng.normal(size=(3, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    world.q = np.concatenate([(0, 0, 0.5), *quaternions])
    world.v = np.concatenate([(0, 0, -3.0), rng.normal(size=3) * 5.0, rng.normal(size=6) * 40.0])
    world.enable_contact(friction=0.8)
    return world


@pytest.mark.parametrize("seed", [1, 3, 6, 7])
def test_midpoint_velocity_is_mean_of_start_and_end(seed):
    # Fails if the midpoint velocity is iterated only once after an impact: errors of 0.7 % to 20 %, and a gain of 9 J of 218 in a fall.
    world, worst = chain_of_decreasing_mass(seed), 0.0

    def record(world: br.World) -> None:
        nonlocal worst
        S = world.contact_settings.contact_state.arrays
        fastest = np.abs(S.v_mid).max()
        if fastest * world.constraint_set.arrays.dt[0] > FAST_DISPLACEMENT:  # of the last part, if the step was divided
            worst = max(worst, np.abs(0.5 * (S.v_start + world.v) - S.v_mid)[ROOT].max() / fastest)

    simulation = br.Simulation(world, dt=DT)
    simulation.control(record)
    run = simulation.run(0.14, progress=False)
    assert len(run.contacts)  # there was an impact
    assert 0 < worst <= PREDICTION_TOLERANCE
    assert np.diff(run["energy"]).max() < 2e-3 * run["energy"][0]
