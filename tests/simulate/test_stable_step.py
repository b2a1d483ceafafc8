"""Largest stable step of spring-dampers: a law for one mode, and refusal of unstable steps."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.simulate.stable_step import largest_stable_step


def hanging_box(stiffness: float, damping: float) -> br.World:
    world = br.World()
    world.add(br.figures.box((0.2, 0.2, 0.2), 5.0), name="box", at=(0.0, 0.0, 1.0))
    world.connect("box/box", "world", br.Fixed(), compliance=br.SpringDamper(stiffness, damping, 0.0, 0.0))
    return world


@pytest.mark.parametrize(("stiffness", "damping"), [(2e3, 0.0), (0.0, 1e3), (2e3, 1e3)])
def test_one_mode_is_stable_below_and_unstable_above(stiffness, damping):
    """dt² k/m + 2 dt c/m = 4. Fails if the bound is too large (motion grows below it) or too small by more than 2 %."""
    world = hanging_box(stiffness, damping)
    stable = largest_stable_step(world).seconds
    assert (stable**2 * stiffness + 2 * stable * damping) / 5.0 == pytest.approx(4.0, rel=1e-9)
    for factor, grows in ((0.98, False), (1.05, True)):
        world = hanging_box(stiffness, damping)
        world.set_velocity({"box/root": [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]})
        simulation = br.Simulation(world, dt=stable * factor, integrator="euler")
        if grows:
            with pytest.raises(br.StateError, match=r"'box/box'.*largest stable step is"):
                simulation.step()
        else:
            simulation.run(400 * stable)
            assert np.abs(world.v).max() < 100.0


def test_strong_damper_is_refused_and_nothing_changes():
    """5 kg, 2 kN/m, 10 kN·s/m at 2 ms had 3e43 J after 50 steps."""
    world = br.World()
    world.add(br.figures.box((0.2, 0.2, 0.2), 5.0), name="b", at=(0.0, 0.0, 1.0))
    world.connect("b/box", "world", br.Fixed(), at=(0.0, 0.0, 0.1), compliance=br.SpringDamper(2e3, 1e4))
    before = world.q.copy()
    with pytest.raises(br.StateError, match="less stiffness or damping"):
        br.Simulation(world, dt=0.002, integrator="euler").run(0.1)
    assert np.array_equal(world.q, before)
    assert world.time == 0.0


def test_springs_do_not_contradict_what_is_held():
    """A spring between moving bodies constrains no velocity. Fails if its rows count as contradicted or redundant."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.human16(), name="man")
    world.connect("man/left_hand", "man/right_hand", br.Fixed())
    world.set_velocity({"man/root": [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]})
    before = world.totals().kinetic
    spring = world.connect("man/left_foot", "world", br.Fixed(), compliance=br.SpringDamper(100.0, 1.0))
    assert spring.report.mobility[0] == spring.report.mobility[1]
    assert world.totals().kinetic == pytest.approx(before, rel=1e-12)


def test_no_energy_after_a_prescribed_coordinate():
    """Rows of a released coordinate are reused by the next connection: the prescribed rate must not drive it."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.human16(), name="man")
    world["man/left_elbow"] = 0.3
    world.prescribe("man/left_elbow", [0.3, 2.0])
    world.release("man/left_elbow")
    world.v = np.zeros(world.model.nv)
    connection = world.connect("man/left_hand", "man/right_thigh", br.Spherical())
    assert world.totals().kinetic == 0.0
    assert "energy lost 0 J" in str(connection.report)
    br.Simulation(world, dt=0.002).run(0.1)
    assert world.totals().kinetic < 1e-20


def test_energy_gained_is_reported():
    """A prescribed rate does work on a world at rest: the report says so instead of 0 J lost."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.human16(), name="man")
    world["man/left_elbow"] = 0.3
    lock = world.prescribe("man/left_elbow", [0.3, 2.0])
    assert world.totals().kinetic > 0.0
    assert "energy gained" in str(lock.report)
