"""What carries a figure, by its motion: the zero-moment point is the centre of pressure, if nothing but a level floor acts."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, UnknownName

G = 9.81
SIZE = np.array((0.4, 0.3, 0.2))


def on_floor(speed: float = 0.0, friction: float = 0.5, height: float = SIZE[2] / 2) -> br.World:
    """A box of 10 kg, a free joint, that slides along x."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box(SIZE, 10.0), "box").place((0, 0, height))
    world.v = {"box/root": (speed, 0, 0, 0, 0, 0)}
    world.touch(friction=friction)
    return world


def test_who_slides_is_pressed_in_front():
    # Friction μ m g at the ground and inertia at half the height: the centre of pressure is μ h/2 ahead.
    world = on_floor(speed=2.0, friction=0.3)
    ahead = world.position("box/box") + np.array((0.3 * SIZE[2] / 2, 0, -SIZE[2] / 2))
    assert world.zmp("box") == pytest.approx(ahead, abs=1.1e-3)  # half of the way it goes in the 1 ms that are looked at
    assert world.zmp("box") == pytest.approx(world.contacts.reaction("box").cop, abs=1e-6)
    run = br.Simulation(world, dt=0.001).run(0.2, progress=False)
    assert run["box.zmp"][1:] == pytest.approx(run["box.cop"][1:], abs=1e-6)
    assert np.isnan(run["box.zmp"][0]).all()  # nothing is known before the first step


def test_of_a_figure_that_moves_all_its_joints_it_is_the_centre_of_pressure():
    # Momentum says where the floor presses; that it is where contact says is a law, not a definition. Fails if either is wrong by 1 mm.
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.human28().sprung(600.0, "stand", damping=15.0), "man")
    world.touch(friction=0.8)
    world.v = {"man/left_shoulder": (0, -3.0, 0), "man/chest": (0, 0.5, 0.5), "man/right_elbow": 2.0}
    run = br.Simulation(world, dt=0.001).run(0.15, progress=False)
    zmp, cop = run["man.zmp"][1:], run["man.cop"][1:]
    assert np.ptp(cop[:, 0]) > 0.01  # it does move
    assert zmp == pytest.approx(cop, abs=1e-3)
    assert np.median(np.abs(zmp - cop)) < 1e-5
    assert world.zmp("man") == pytest.approx(world.contacts.reaction("man").cop, abs=1e-3)


def test_who_is_pushed_has_them_apart():
    # 20 N at 5 cm above the middle of the box, at rest by friction: the floor presses F h ahead of the middle over m g. The motion
    # knows nothing of that: at rest, the zero-moment point is below the centre of mass.
    world = on_floor()
    world.push("box/box", (20.0, 0, 0), at=(0, 0, 0.05))
    assert world.zmp("box") == pytest.approx((0, 0, 0), abs=1e-4)
    assert world.contacts.reaction("box").cop == pytest.approx((20.0 * 0.15 / (10.0 * G), 0, 0), abs=1e-4)


def test_in_the_air_there_is_none():
    world = on_floor(height=1.0)
    world.v = {"box/root": (1.0, 0, 0, 1.0, 2.0, 3.0)}
    assert np.isnan(world.zmp("box")).all()
    assert np.isnan(world.zmp("box", height=0.0)).all()


def test_it_is_looked_for_at_a_height():
    # Along the line of a force: μ sideways for each metre up.
    world = on_floor(speed=2.0, friction=0.3)
    low, high = world.zmp("box", height=0.0), world.zmp("box", height=0.1)
    assert high - low == pytest.approx((-0.03, 0, 0.1), abs=1e-4)
    assert high == pytest.approx(world.position("box/box"), abs=1.1e-3)


def test_a_world_without_contact_has_one_too():
    # A pin bears no moment about itself: all that a pendulum takes goes through it, however it swings.
    b = br.ModelBuilder("pendulum")
    b.link("rod", joint=br.Revolute("y"), joint_name="hinge", at=(0, 0, 1.0), mass=1.0, center=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02))
    world = br.World()
    world.add(b.build(), "p", at=(0.3, 0, 0))
    world["p/hinge"], world.v = 0.4, {"p/hinge": 2.0}
    assert world.zmp("p", height=1.0) == pytest.approx((0.3, 0, 1.0), abs=1e-6)
    assert abs(world.zmp("p", height=0.0)[0] - 0.3) > 0.1


def test_looking_changes_nothing():
    world = on_floor(speed=2.0)
    before = world.save()
    world.zmp("box")
    assert (world.q == before.q).all()
    assert (world.v == before.v).all()


def test_doors():
    world = on_floor()
    with pytest.raises(UnknownName, match="Did you mean 'box'"):
        world.zmp("bx")
    with pytest.raises(ArgumentError, match="height"):
        world.zmp("box", height=np.nan)
