"""Particles in the simulation of the filter: a walker carries a bag on a strap, and both feel each other."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError
from brachiate.filter.reference.preprocess import make_reference

G = np.array((0.0, 0.0, -9.81))
STRAP, BAG = 0.35, 3.0  # [kg]
STIFFNESS = 2e4  # [N/m] of each link of the strap and of its attachment
MASSES = np.array([STRAP / 7] * 7 + [BAG])


def add_bag(world):
    """Bag on a strap of six links in the right hand, which moves with it at the start."""
    hand = world.position("man/right_hand")
    bag = br.particles.ParticleSystem()
    bag.add_particles(np.linspace(hand, hand - (0, 0, 0.3), 7), STRAP / 7)
    bag.add_particle("bag", hand - (0, 0, 0.4), BAG)
    bag.add_links([(i, i + 1) for i in range(7)], stiffness=STIFFNESS, damping=20.0)
    bag.velocities = np.tile(world.velocity("man/right_hand")[:3], (8, 1))
    coupling = br.particles.Coupling(world, bag)
    coupling.attach("p1", "man/right_hand", name="strap")
    return coupling


def add_distant_rope(world):
    """Rope far away that nothing touches."""
    return br.particles.Coupling(world, br.particles.rope((9, 9, 3), (9.5, 9, 2), 4, mass=1.0, stiffness=1e4))


@pytest.fixture(scope="module")
def walk():
    return make_reference(procedural.sample_motion("walk", seconds=2.0))


@pytest.fixture(scope="module")
def plain(walk):
    return br.filter_motion(walk)


@pytest.fixture(scope="module")
def carried(walk):
    made = []
    result = br.filter_motion(walk, partner=lambda world: made.append(add_bag(world)) or made[0])
    return result, made[0]


def test_walk_with_a_bag_is_finished_and_the_hand_carries_it(carried):
    result, coupling = carried
    force = result.recording.partner.forces["strap"][1:]
    assert result.success
    # It hangs: what is missing is the change of its momentum over two seconds.
    assert -force[:, 2].mean() == pytest.approx(MASSES.sum() * 9.81, rel=0.05)
    assert np.abs(force).max() > 1.5 * MASSES.sum() * 9.81  # it swings, and the steps of the walk jerk it
    attachment = coupling.attachments["strap"]
    assert attachment.gap < 1.5 * np.linalg.norm(attachment.force) / STIFFNESS  # not at rest, so not the force over the stiffness exactly
    assert len(result.recording.partner.particles.positions) == len(result.recording)
    assert np.linalg.norm(np.diff(result.recording.partner.particles.positions, axis=1), axis=2).max() < 0.12  # of 0.1 m; no link has torn


def test_force_on_the_hand_is_opposite_to_that_on_the_bag(carried):
    # Impulses on the bag are those of gravity and of the strap, step by step: nothing else acts on it.
    partner = carried[0].recording.partner
    momentum = np.einsum("i,tij->tj", MASSES, partner.particles.velocities)
    impulse = carried[0].reference.dt * (MASSES.sum() * G - partner.forces["strap"][1:])
    assert np.abs(np.diff(momentum, axis=0) - impulse).max() < 1e-12


def momentum_error(result, momentum, mass):
    """Largest momentum so far [N·s] that neither gravity nor the ground has given."""
    ground = sum(values[1:, :3] for values in result.contact_forces.values())
    return np.abs(momentum - momentum[0] - np.cumsum(result.reference.dt * np.vstack([np.zeros(3), ground + mass * G]), axis=0)).max()


def test_momentum_of_walker_and_bag_changes_by_gravity_and_ground_only(plain, carried):
    # 66 N·s of the weight of the bag would be missing if the walker did not feel it. Steps of 2 ms leave 0.06 N·s of 1500 also without it.
    mass = plain.motion.figure.mass
    alone = momentum_error(plain, np.array([total.momentum for total in plain.recording.totals()]), mass)
    both = momentum_error(carried[0], carried[0].recording.partner.totals.momentum, mass + MASSES.sum())
    assert both < 1.5 * alone
    assert alone < 1e-4 * 2.0 * mass * 9.81


def test_particles_that_touch_nothing_change_nothing(walk, plain):
    result = br.filter_motion(walk, partner=add_distant_rope)
    assert all((getattr(result.recording, name) == getattr(plain.recording, name)).all() for name in ("time", "q", "v", "torque"))
    assert plain.recording.partner is None
    assert np.ptp(result.recording.partner.particles.positions[:, -1], axis=0).max() > 0.1  # it swings


def test_equations_of_motion_are_refused(carried):
    with pytest.raises(ArgumentError, match="not available for runs that were coupled"):
        carried[0].equations_of_motion()


def with_a_box(world):
    world.add(br.figures.box(), "box", at=(3, 3, 1))
    return add_distant_rope(world)


@pytest.mark.parametrize(
    ("partner", "mode", "message"),
    [
        (3.0, "offline", "partner: expected a function that makes it from the world of the filter, .*, got 3.0"),
        (add_bag, "online", "mode='online' cannot be coupled with anything: use mode='offline' or 'preview'"),
        (add_bag, "paper", "mode='paper' cannot be coupled"),
        (add_bag, "sampling", "mode='sampling' cannot be coupled"),
        (lambda world: None, "preview", r"has to return a coupling of the world, such as br.particles.Coupling\(world, bag\), not None"),
        (lambda world: add_bag(world.copy()), "preview", "with another world: make it with the world that the function gets"),
        (with_a_box, "preview", "must not add or remove figures"),
    ],
)
def test_bad_input(walk, partner, mode, message):
    with pytest.raises(ArgumentError, match=message):
        br.filter_motion(walk, mode=mode, partner=partner)
