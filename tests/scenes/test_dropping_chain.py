"""The dropping chain: energy to the order of the integrator; accelerations of the closed form [EGC] 4.4 are those of the recursive core."""

from __future__ import annotations

import numpy as np

from brachiate import scenes
from brachiate.animation.closed_form import joint_space_dynamics


def drift(dt: float) -> float:
    """Largest energy error of the first third of a second [J]: later the chain whips, and steps must be shorter for the order to show."""
    scene = scenes.make("dropping-chain", seconds=0.35, dt=dt)
    return float(np.abs(scene.energy_drift(scene.run())).max())


def test_energy_is_kept_to_the_order_of_the_integrator():
    # Runge-Kutta of order 4: half the step, a sixteenth of the error or less.
    coarse, fine = drift(0.004), drift(0.002)
    assert coarse > 1e-10  # not round-off
    assert coarse / fine > 14.0


def test_closed_form_falls_as_the_core_does():
    scene = scenes.make("dropping-chain", seconds=0.5)
    run, world = scene.run(), scene.world
    for n in range(0, len(run), 100):
        world.q, world.v = run.q[n], run.v[n]
        a = np.asarray(world.forward_dynamics())
        weight = np.abs(joint_space_dynamics(world).torques(np.zeros(world.model.nv), np.zeros(world.model.nv))).max()
        assert np.abs(joint_space_dynamics(world).torques(world.v, a)).max() < 1e-10 * max(weight, 1.0)
    speed = np.linalg.norm(run.values({"end": lambda s: s.velocity("chain/link10")})["end"][-1])
    assert speed > 1.0  # it has fallen
