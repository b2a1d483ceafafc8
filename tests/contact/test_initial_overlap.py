"""Shapes that overlap at the start: shallow ones are separated gently, deep ones are refused with names and depth."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br


def boxes(distance: float) -> br.World:
    """Two boxes of 0.4 m, one above the other at a distance of their centers [m]."""
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(br.figures.box((0.4, 0.4, 0.4), 5.0), name="low", at=(0.0, 0.0, 1.0))
    world.add(br.figures.box((0.4, 0.4, 0.4), 5.0), name="high", at=(0.0, 0.0, 1.0 + distance))
    world.enable_contact()
    return world


@pytest.mark.parametrize("depth", [0.12, 0.3])
def test_deep_overlap_is_refused(depth):
    world = boxes(0.4 - depth)
    before = world.q.copy()
    for _ in range(2):  # the second attempt is refused, too
        with pytest.raises(br.StateError, match=rf"{100 * min(depth, 0.4):.1f} cm inside.*ignore_contact\('(low|high)/box'"):
            br.Simulation(world, dt=0.002).step()
    assert np.array_equal(world.q, before)
    world.ignore_contact("low/box", "high/box")
    br.Simulation(world, dt=0.002).step()


def test_shallow_overlap_is_separated_gently():
    """At most 0.5 m/s. Fails if the overlap is resolved by velocity: the boxes would fly apart."""
    world = boxes(0.37)
    br.Simulation(world, dt=0.002).run(0.5)
    heights = [world.pose(f"{name}/box").position[2] for name in ("low", "high")]
    assert heights[1] - heights[0] == pytest.approx(0.4, abs=1e-3)
    assert np.abs(world.v).max() < 1e-6


def cart(axis, depth: float) -> br.World:
    """A cart on a rail, and so far inside the floor [m]."""
    builder = br.ModelBuilder("cart")
    builder.link("cart", joint=br.Prismatic(axis), joint_name="rail", mass=2.0, shapes=br.Box(size=(0.2, 0.2, 0.2)))
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(builder.build(), name="cart", at=(0.0, 0.0, 0.1 - depth))
    world.enable_contact()
    return world


@pytest.mark.parametrize("joint", [br.Fixed(), br.Prismatic("x")])
def test_links_that_connections_hold_inside_the_floor_are_refused(joint):
    """Fails without an error: nothing was said, and the link stayed where it is."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.box((0.2, 0.2, 0.2), 5.0), name="box", at=(0.0, 0.0, -0.05))
    world.enable_contact()
    simulation = br.Simulation(world, dt=0.002)
    simulation.step()  # it can be lifted
    world.connect("box/box", "world", joint)
    with pytest.raises(br.StateError, match=r"'box/box' is [45]\.\d cm inside 'floor/ground'.*hold them.*ignore_contact"):
        simulation.step()


def test_links_that_joints_hold_inside_the_floor_are_refused():
    world = cart("x", 0.05)
    with pytest.raises(br.StateError, match=r"'cart/cart' is 5.0 cm inside 'floor/ground', and their joints and connections hold"):
        br.Simulation(world, dt=0.002).step()
    world.ignore_contact("floor/ground", "cart/cart")
    br.Simulation(world, dt=0.002).step()


def test_fractions_of_a_millimeter_may_be_held():
    world = cart("x", 0.0005)
    br.Simulation(world, dt=0.002).run(0.1)
    assert world.q == pytest.approx(0.0, abs=1e-12)


def test_correction_that_does_not_separate_is_refused():
    """Fails if the correction goes on: the cart would be moved by 500 m along its rail."""
    world = cart((1.0, 0.0, 1e-4), 0.05)
    simulation = br.Simulation(world, dt=0.002)
    for _ in range(2):  # the second attempt is refused, too
        with pytest.raises(br.StateError, match=r"'cart/cart' is 5.0 cm inside 'floor/ground', and joints, connections or other"):
            simulation.run(1.0)
        assert abs(world.q[0]) < 2.0


def test_shapes_that_others_hold_are_refused():
    builder = br.ModelBuilder("walls")
    for name, x in (("left", -0.15), ("right", 0.15)):
        builder.link(name, at=(x, 0.0, 0.0), shapes=br.Box(size=(0.1, 0.4, 0.4)))
    world = br.World(gravity=(0.0, 0.0, 0.0))
    world.add(builder.build(), name="walls")
    world.add(br.figures.box((0.22, 0.2, 0.2), 5.0), name="box", at=(0.0, 0.0, -0.1))
    world.enable_contact()
    with pytest.raises(br.StateError, match=r"'box/box' is 1.0 cm inside 'walls/(left|right)'"):
        br.Simulation(world, dt=0.002).run(1.0)


def test_a_link_that_can_be_lifted_along_its_rail_is_separated():
    world = cart((1.0, 0.0, 0.2), 0.05)
    br.Simulation(world, dt=0.002).run(1.0)
    assert world.position("cart/cart")[2] == pytest.approx(0.1, abs=1e-3)


def test_one_copy_of_the_world_tests_all_overlaps(monkeypatch):
    """Fails if every overlap has its own: two figures that sat in each other took half a second."""
    world, copies, copy = br.World(), [], br.World.copy
    world.add(br.figures.ground(), name="floor")
    for k in range(4):
        world.add(br.figures.box((0.2, 0.2, 0.2), 5.0), name=f"box{k}", at=(0.5 * k, 0.0, -0.04))
    world.enable_contact()
    world.connect("box0/box", "box1/box", br.Spherical())
    monkeypatch.setattr(br.World, "copy", lambda world: copies.append(world) or copy(world))
    before = world.q.copy()
    br.Simulation(world, dt=0.002).step()
    assert len(copies) == 1
    assert np.abs(world.q - before).max() < 0.01
