"""Copies of worlds: pickle, deepcopy, copy and save/restore continue bit for bit, with contact, loops, locks, limits and springs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import brachiate as br

DT = 0.002
WAYS = {"copy": lambda world: world.copy(), "pickle": lambda world: pickle.loads(pickle.dumps(world)), "deepcopy": copy.deepcopy}


def standing() -> br.World:
    """A figure that falls onto the floor: many contacts and joint limits."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, 1.0))
    world.enable_contact(friction=0.7)
    return world


def held() -> br.World:
    """The same with a loop, a lock, a prescribed coordinate and a spring."""
    world = standing()
    world.connect("man/left_hand", "man/right_hand", br.Spherical())
    world.lock("man/left_knee")
    world.prescribe("man/right_elbow", [world.angle("man/right_elbow"), 0.5], duration=1.0)
    world.connect("man/head", "world", br.Spherical(), compliance=br.SpringDamper(500.0, 20.0))
    return world


def advance(world: br.World, steps: int) -> np.ndarray:
    simulation = br.Simulation(world, dt=DT)
    for _ in range(steps):
        simulation.step()
    return np.concatenate((world.data.q, world.data.v))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [standing, held])
def test_copies_continue_bit_for_bit(make, way):
    """Fails if a copy keeps addresses of the original's arrays, or loses the warm start of the contact solver."""
    world = make()
    advance(world, 150)
    assert world.contacts.pairs if hasattr(world.contacts, "pairs") else len(world.contacts) > 0
    other = WAYS[way](world)
    reference = advance(world, 60)
    del world  # a copy that refers to its memory would read freed arrays
    assert np.array_equal(advance(other, 60), reference)


@pytest.mark.parametrize("make", [standing, held])
def test_restored_states_continue_bit_for_bit(make):
    world = make()
    advance(world, 150)
    state = world.save()
    first = advance(world, 40)
    world.restore(state)
    assert np.array_equal(advance(world, 40), first)


def test_original_is_not_changed_by_its_copy():
    world = standing()
    advance(world, 150)
    before = world.data.q.copy()
    advance(pickle.loads(pickle.dumps(world)), 20)
    assert np.array_equal(world.data.q, before)
