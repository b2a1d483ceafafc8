"""Connection impulses with contacts: contact impulses of the ground, friction limits, rejected connections."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.bodies import G, body

import brachiate as br
from brachiate import Box, Sphere, figures
from brachiate.errors import OverconstrainedError
from brachiate.figures import objects

SLAB, BALL = 2.0, 1.0  # [kg]
FRICTION = 0.5


def slab_and_ball(v: tuple[float, float, float], *, height: float = 0.0) -> br.World:
    """A moving ball in the middle of a slab, which lies on the ground or at a height above it."""
    world = br.World(G)
    world.add(objects.ground(), "floor")
    world.add(body(Box(size=(1.0, 1.0, 0.1)), SLAB), "slab").place((0, 0, 0.05 + height))
    world.add(body(Sphere(radius=0.03), BALL), "ball").place((0, 0, 0.05 + height))
    world.enable_contact(friction=FRICTION)
    world.v = {"ball/root": (*v, 0, 0, 0)}
    return world


@pytest.mark.parametrize(("v", "after", "impulse"), [
    ((0, 0, -3.0), (0, 0, 0), BALL * 3.0),  # the ground stops both
    ((0, 0, 3.0), (0, 0, BALL * 3.0 / (BALL + SLAB)), SLAB * BALL * 3.0 / (BALL + SLAB)),  # no adhesion
    ((2.0, 0, 0), (BALL * 2.0 / (BALL + SLAB), 0, 0), SLAB * BALL * 2.0 / (BALL + SLAB)),  # no normal impulse, no friction
    ((2.0, 0, -1.0), ((2.0 - FRICTION * 1.0) * BALL / (BALL + SLAB), 0, 0), None),  # friction at its limit
    ((1.0, 0, -3.0), (0, 0, 0), BALL * 10**0.5),  # friction stops the motion and does not reverse it
])  # fmt: skip
def test_ground_responds_to_connection_impulse(v, after, impulse):
    world = slab_and_ball(v)
    report = world.connect("ball/body", "slab/body").report
    for thing in ("ball", "slab"):
        np.testing.assert_allclose(world.velocity(f"{thing}/body")[:3], after, atol=1e-6)
    if impulse is not None:
        assert report.impulse == pytest.approx(impulse, abs=1e-5)
    np.testing.assert_allclose(report.momentum_change, (BALL + SLAB) * np.array(after) - BALL * np.array(v), atol=1e-5)
    lost = 0.5 * BALL * np.dot(v, v) - 0.5 * (BALL + SLAB) * np.dot(after, after)
    assert report.energy_lost == pytest.approx(lost, abs=1e-5)


def test_open_contact_does_not_respond():
    world = slab_and_ball((0, 0, -3.0), height=1e-3)
    report = world.connect("ball/body", "slab/body").report
    np.testing.assert_allclose(world.velocity("slab/body")[:3], (0, 0, -BALL * 3.0 / (BALL + SLAB)), atol=1e-12)
    np.testing.assert_allclose(report.momentum_change, 0.0, atol=1e-12)
    assert report.energy_lost == pytest.approx(report.energy_of_change, rel=1e-12)


def test_standing_figure_that_catches_does_not_sink():
    world = br.World(G)
    world.add(objects.ground(), "floor")
    world.add(figures.human28().with_springs(200.0, "stand", damping=5.0), "man")
    world.add(body(Sphere(radius=0.1), 5.0), "ball").place((2.0, 0, 0.5))
    world.enable_contact(friction=0.8)
    br.Simulation(world, dt=0.002).run(0.1, progress=False)  # until it stands at rest
    world.figure("ball").place(world.position("man/left_hand"))
    v = world.v.copy()
    v[world.model.joints["ball/root"].v] = (0, 0, -6.0, 0, 0, 0)
    world.v = v
    soles = {c.link: c for c in world.contacts if c.on == "floor/ground"}
    assert len(soles) == 2
    report = world.connect("ball/body", "man/left_hand").report
    for link, sole in soles.items():
        pose = world.pose(link)
        for corner in sole.area:
            assert world.velocity(link, at=pose.rotation.T @ (corner - pose.position))[2] > -1e-6
    assert report.momentum_change[2] > 1.0  # by a ground impulse
    assert 0 < report.energy_lost < 0.5 * 5.0 * 6.0**2 + 1e-9


def test_refused_connection_changes_neither_velocities_nor_pairs():
    world = slab_and_ball((0, 0, -3.0))
    world.connect("ball/body", "slab/body", name="first")
    v, on = world.v.copy(), world.contact_settings.contact_state.geometry.pair_enabled.copy()
    with pytest.raises(OverconstrainedError, match="redundant"):
        world.connect("ball/body", "slab/body", name="second")
    assert np.array_equal(world.v, v)
    assert np.array_equal(world.contact_settings.contact_state.geometry.pair_enabled, on)
    world.cut("first", impulse=(0, 0, 2.0))  # on the ball; the slab is supported by the ground
    np.testing.assert_allclose(world.velocity("ball/body")[:3], (0, 0, 2.0 / BALL), atol=1e-6)
    np.testing.assert_allclose(world.velocity("slab/body"), 0.0, atol=1e-6)
