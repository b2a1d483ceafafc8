"""Zero-moment point: equals the center of pressure if a level floor is the only support."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, UnknownName

G = 9.81
SIZE = np.array((0.4, 0.3, 0.2))


def on_floor(speed: float = 0.0, friction: float = 0.5, height: float = SIZE[2] / 2) -> br.World:
    """A free box of 10 kg that slides along x."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box(SIZE, 10.0), "box").place((0, 0, height))
    world.v = {"box/root": (speed, 0, 0, 0, 0, 0)}
    world.enable_contact(friction=friction)
    return world


def test_zmp_of_a_sliding_box_is_ahead():
    # Friction μ m g at the ground and inertia at half the height: the center of pressure is μ h/2 ahead.
    world = on_floor(speed=2.0, friction=0.3)
    ahead = world.position("box/box") + np.array((0.3 * SIZE[2] / 2, 0, -SIZE[2] / 2))
    assert world.zmp("box") == pytest.approx(ahead, abs=1.1e-3)  # half of the displacement in the 1 ms of the difference
    assert world.zmp("box") == pytest.approx(world.contacts.reaction("box").cop, abs=1e-6)
    run = br.Simulation(world, dt=0.001).run(0.2, progress=False)
    assert run["box.zmp"][1:] == pytest.approx(run["box.cop"][1:], abs=1e-6)
    assert np.isnan(run["box.zmp"][0]).all()  # unknown before the first step


def test_zmp_of_a_box_that_slides_to_the_left_is_ahead():
    world = on_floor(friction=0.3)
    world.v = {"box/root": (0, 2.0, 0, 0, 0, 0)}
    ahead = world.position("box/box") + np.array((0, 0.3 * SIZE[2] / 2, -SIZE[2] / 2))
    assert world.zmp("box") == pytest.approx(ahead, abs=1.1e-3)
    assert world.contacts.reaction("box").cop == pytest.approx(ahead, abs=1.1e-3)


def test_zmp_of_a_moving_figure_is_the_center_of_pressure():
    # The ZMP follows from momentum, the center of pressure from contact forces. Fails if either is wrong by 1 mm.
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.human28().with_springs(600.0, "stand", damping=15.0), "man")
    world.enable_contact(friction=0.8)
    world.v = {"man/left_shoulder": (0, -3.0, 0), "man/chest": (0, 0.5, 0.5), "man/right_elbow": 2.0}
    run = br.Simulation(world, dt=0.001).run(0.15, progress=False)
    zmp, cop = run["man.zmp"][1:], run["man.cop"][1:]
    assert np.ptp(cop[:, 0]) > 0.01  # it does move
    assert zmp == pytest.approx(cop, abs=1e-3)
    assert np.median(np.abs(zmp - cop)) < 1e-5
    assert world.zmp("man") == pytest.approx(world.contacts.reaction("man").cop, abs=1e-3)


def test_an_applied_force_separates_zmp_and_center_of_pressure():
    # 20 N at 5 cm above the middle of the box, at rest by friction: the center of pressure is F h / (m g) ahead of the middle. At
    # rest, the zero-moment point is below the center of mass.
    world = on_floor()
    world.apply_force("box/box", (20.0, 0, 0), at=(0, 0, 0.05))
    assert world.zmp("box") == pytest.approx((0, 0, 0), abs=1e-4)
    assert world.contacts.reaction("box").cop == pytest.approx((20.0 * 0.15 / (10.0 * G), 0, 0), abs=1e-4)


def test_zmp_is_nan_in_the_air():
    world = on_floor(height=1.0)
    world.v = {"box/root": (1.0, 0, 0, 1.0, 2.0, 3.0)}
    assert np.isnan(world.zmp("box")).all()
    assert np.isnan(world.zmp("box", height=0.0)).all()


def test_zmp_at_a_height():
    # Along the line of force: μ sideways per meter of height.
    world = on_floor(speed=2.0, friction=0.3)
    low, high = world.zmp("box", height=0.0), world.zmp("box", height=0.1)
    assert high - low == pytest.approx((-0.03, 0, 0.1), abs=1e-4)
    assert high == pytest.approx(world.position("box/box"), abs=1.1e-3)


def test_zmp_without_contact():
    # A hinge transmits no moment about itself: the external wrench of a pendulum acts through it.
    b = br.ModelBuilder("pendulum")
    b.link("rod", joint=br.Revolute("y"), joint_name="hinge", at=(0, 0, 1.0), mass=1.0, center=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02))
    world = br.World()
    world.add(b.build(), "p", at=(0.3, 0, 0))
    world["p/hinge"], world.v = 0.4, {"p/hinge": 2.0}
    assert world.zmp("p", height=1.0) == pytest.approx((0.3, 0, 1.0), abs=1e-6)
    assert abs(world.zmp("p", height=0.0)[0] - 0.3) > 0.1


def test_zmp_changes_nothing():
    world = on_floor(speed=2.0)
    before = world.save()
    world.zmp("box")
    assert (world.q == before.q).all()
    assert (world.v == before.v).all()


def test_bad_arguments_raise():
    world = on_floor()
    with pytest.raises(UnknownName, match="Did you mean 'box'"):
        world.zmp("bx")
    with pytest.raises(ArgumentError, match="height"):
        world.zmp("box", height=np.nan)
