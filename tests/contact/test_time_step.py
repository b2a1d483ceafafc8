"""What a step expects of its middle, where everything is looked at."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import Capsule, Free, ModelBuilder, Spherical
from brachiate.contact.stepping.velocity_prediction import FAST_DISPLACEMENT, PREDICTION_TOLERANCE
from brachiate.figures import objects

DT = 0.002
ROOT = slice(3, None)  # places of floating roots go straight on while their axes turn: all but those speeds are compared


def whip(seed: int) -> br.World:
    """Ever lighter links that whirl around each other, thrown at the ground."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("whip")
    b.link("handle", joint=Free(), joint_name="root", mass=1.0, shapes=Capsule(radius=0.05, length=0.3, position=(0, 0, 0.15)))
    thong = Capsule(radius=0.03, length=0.2, position=(0, 0, 0.1))
    b.link("thong", parent="handle", at=(0, 0, 0.35), joint=Spherical(), mass=0.2, shapes=thong)
    lash = Capsule(radius=0.02, length=0.2, position=(0, 0, 0.1))
    b.link("lash", parent="thong", at=(0, 0, 0.25), joint=Spherical(), mass=0.04, shapes=lash)
    world = br.World()
    world.add(objects.ground(), "floor")
    world.add(b.build(), "it")
    turns = rng.normal(size=(3, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    world.q = np.concatenate([(0, 0, 0.5), *turns])
    world.v = np.concatenate([(0, 0, -3.0), rng.normal(size=3) * 5.0, rng.normal(size=6) * 40.0])
    world.enable_contact(friction=0.8)
    return world


@pytest.mark.parametrize("seed", [1, 3, 6, 7])
def test_midpoint_velocity_is_mean_of_start_and_end(seed):
    # Expected once more after an impact, and no oftener, they are off by 0.7 % to 20 %; a creature of the falls gained 9 J of 218 by that.
    world, worst = whip(seed), 0.0

    def look(world: br.World) -> None:
        nonlocal worst
        S = world.contact_settings.contact_state.arrays
        most = np.abs(S.v_mid).max()
        if most * DT > FAST_DISPLACEMENT:
            worst = max(worst, np.abs(0.5 * (S.v_start + world.v) - S.v_mid)[ROOT].max() / most)

    simulation = br.Simulation(world, dt=DT)
    simulation.control(look)
    run = simulation.run(0.14, progress=False)
    assert len(run.contacts)  # it did hit the ground
    assert 0 < worst <= PREDICTION_TOLERANCE
    assert np.diff(run["energy"]).max() < 2e-3 * run["energy"][0]
