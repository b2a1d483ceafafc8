"""The walker of [NSP] 5: its plan, and walks on firm, soft and sloping ground, with other masses and friction."""

import numpy as np
import pytest

import brachiate as br
from brachiate.particles.walker import joint_angles, slope_rotation
from brachiate.particles.walking_plan import pendulum, zmp_of

P = br.particles
STEPS = 4


def test_the_walker_is_that_of_table_1():
    walker = P.walker()
    assert len(walker) == 8
    assert len(walker.joints) == 6
    assert walker.link_arrays.length.tolist() == [0.1, 0.5, 0.4, 0.2, 0.4, 0.5, 0.1]
    assert walker.arrays.mass.tolist() == [1, 1, 1, 10, 10, 1, 1, 1]
    assert set(walker.joint_arrays.friction) == {5.0}
    lengths = np.linalg.norm(np.diff(walker.positions, axis=0), axis=1)
    assert np.allclose(lengths, walker.link_arrays.length, atol=1e-12)
    assert np.allclose([walker.angle(name) for name in walker.joints], joint_angles(walker.positions), atol=1e-12)


def test_the_pendulum_has_the_given_zmp():
    t = np.arange(2001) / 500.0
    zmp = 0.1 * np.tanh(4 * (t - 2.0))
    c = pendulum(zmp, 0.8, 9.81)
    x = np.stack([c, 0 * c, 0 * c + 0.8], axis=1)[:, None]
    found = zmp_of(x, np.ones(1), np.array((0, 0, -9.81)))
    assert np.abs(found - zmp)[1:-1].max() < 1e-6


@pytest.mark.parametrize("slope", [0.0, 5.0, -5.0])
def test_the_zmp_of_the_plan_stays_in_the_support_polygon(slope):
    plan = P.plan_walk(P.walker(), P.GaitSettings(steps=STEPS), slope)
    assert plan.margin > 0.045  # of at most 0.05, half a foot
    assert np.allclose(np.diff(plan.footholds[1:]), 0.12)
    single = ~plan.stance.all(axis=1)
    assert np.allclose(np.diff(plan.support[single], axis=1), 0.1)


VARIATIONS = {
    "as published": ({}, {}),
    "masses - 10 %": ({"mass_factor": 0.9}, {}),
    "masses + 10 %": ({"mass_factor": 1.1}, {}),
    "uneven masses": ({"mass_factor": [1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9]}, {}),
    "friction - 10 %": ({}, {"friction": 0.72}),
    "friction + 10 %": ({}, {"friction": 0.88}),
    "published friction": ({}, {"friction": 0.0, "friction_drag": 5.0}),
    "uphill": ({"slope": 5.0}, {"slope": 5.0}),
    "soft ground": ({}, {"yield_force": 60.0, "hardening": 2e4}),
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_the_walker_walks(name):
    # Fails if it falls (hips are then below half their height), slips back, or does not advance by every step.
    made, ground = VARIATIONS[name]
    floor = P.Floor(**{"stiffness": 2e5, "damping": 1000.0, "friction": 0.8, **ground})
    run, plan = P.walk(P.walker(**made), floor, P.GaitSettings(steps=STEPS), rate=20.0)
    up = slope_rotation(floor.slope)
    x = run.positions @ up
    hips = x[:, 3:5, 2].mean(axis=1) - x[:, [1, 6], 2].min(axis=1)
    assert hips.min() > 0.8
    assert np.abs(x[..., 1]).max() == 0.0
    stands = run.time[(run.time > 0.9) & (run.time < 1.0)]
    assert len(stands)
    for n in range(STEPS):  # the foot that was set down by step n, half a second later
        row = int(np.searchsorted(run.time, 1.0 + 2.0 * (n + 1) + 0.5))
        ankle = x[row, (1, 6)[n % 2], 0]
        assert abs(ankle - plan.footholds[n + 2]) < 0.03
    drift = x[-1, [1, 6], 0] - plan.positions[-1, [1, 6], 0]
    assert np.abs(drift).max() < 0.03
    # Contact forces at the feet only, and their center within the feet that carry them.
    force = run.floor_force @ up
    assert not force[:, 2:6].any()
    total = force[..., 2].sum(axis=1)
    carried = total > 1.0
    cop = (x[..., 0] * force[..., 2]).sum(axis=1)[carried] / total[carried]
    feet = x[carried][:, [0, 1, 6, 7], 0]
    assert (cop > feet.min(axis=1) - 1e-9).all()
    assert (cop < feet.max(axis=1) + 1e-9).all()
