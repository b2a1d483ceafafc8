"""Copies of worlds: pickle, deepcopy, copy and save/restore continue bit for bit, with contact, loops, locks, limits and springs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import brachiate as br
from brachiate.constraints.limits import LimitMonitor
from brachiate.constraints.storage import SCRATCH

DT = 0.002
# Arrays that are neither computed in every step nor saved: model, settings, addresses of functions
GIVEN = {"q", "v", "tau", "gravity", "push_count", "push_body", "push_point", "push_force", "push_in_link", "functions"}
GIVEN |= {
    "margin",
    "limits_enabled",
    "divided",
    "fast_speed",
    "friction",
    "static_friction",
    "restitution",
    "stiffness",
    "damping",
    "torsion_scale",
}
GIVEN |= {"pair_margin", "y"}  # zero between steps; zero without passive forces
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


def at_limits() -> br.World:
    """A figure that hangs by a hand, without contact: elbows, knees and cones of hips reach their limits, one by a prescribed motion."""
    world = br.World()
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, 1.0))
    world.connect("man/left_hand", "world", br.Spherical())
    world.prescribe("man/right_elbow", [world.angle("man/right_elbow"), 0.5], duration=1.0)
    world.v = np.random.default_rng(3).normal(0.0, 6.0, world.model.nv)
    return world


def loaded() -> br.World:
    """A figure without contact whose hands are joined by a hinge with a spring, and whose head hangs on a spring."""
    world = br.World()
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, 1.0))
    world.connect("man/left_hand", "man/right_hand", br.Revolute("y", stiffness=2.0))
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


@pytest.mark.parametrize("make", [standing, held, at_limits])
def test_restored_states_continue_bit_for_bit(make):
    world = make()
    advance(world, 150)
    state = world.save()
    first = advance(world, 40)
    world.restore(state)
    assert np.array_equal(advance(world, 40), first)


@pytest.mark.parametrize("way", WAYS)
def test_copies_keep_limits_that_are_reached(way):
    """Fails if a copy detects its limits anew: they act where the coordinate was stopped, which may be slightly beyond the bound."""
    world, compared = at_limits(), 0
    for _ in range(8):
        advance(world, 15)
        compared += bool(world.constraint_set.active_limits)
        other = WAYS[way](world)
        assert list(other.constraint_set.active_limits.values()) == list(world.constraint_set.active_limits.values())
        assert np.array_equal(advance(other, 25), advance(world.copy(), 25))
    assert compared >= 4


def test_a_simulation_goes_on_after_a_restored_limit():
    """Fails if the monitor of limits does not notice rows that were restored, and adds them a second time."""
    world = at_limits()
    simulation = br.Simulation(world, dt=DT)
    states, ends = [], []
    for _ in range(6):
        for _ in range(20):
            simulation.step()
        states.append(world.save())
    assert any(state.constraint_memory.active_limits for state in states)
    for state in states:
        world.restore(state)
        for _ in range(30):
            simulation.step()
        ends.append(np.concatenate((world.data.q, world.data.v)))
        names = list(world.constraint_set.active_limits.values())
        assert len(set(names)) == len(names)
    for state, end in zip(states, ends, strict=True):
        world.restore(state)
        assert np.array_equal(advance(world, 30), end)


def poison(world: br.World) -> None:
    """Overwrite all that is not saved, as a step that diverged may leave it: NaN, and zero in integers, which may be indices."""
    constraints = world.constraint_set.arrays._asdict()
    arrays = [world.data.work._asdict(), {name: constraints[name] for name in SCRATCH}]
    contact = world.contact_settings.contact_state
    if contact is not None:
        _, patches, scratch, problem, own, _ = contact.handle.structs
        arrays += [struct._asdict() for struct in (patches, scratch, problem, own)]
    for array in (array for struct in arrays for name, array in struct.items() if name not in GIVEN):
        array[...] = np.nan if array.dtype.kind == "f" else 0


@pytest.mark.parametrize("make", [standing, held, at_limits])
def test_nothing_depends_on_what_is_not_saved(make):
    """Fails if a step, or a check before it, reads an array that neither it has computed nor a snapshot contains."""
    world = make()
    advance(world, 150)
    state = world.save()
    reference = advance(world, 20)
    poison(world)
    world.restore(state)
    assert np.array_equal(advance(world, 20), reference)


@pytest.mark.parametrize("make", [standing, held, at_limits, loaded])
def test_a_step_that_fails_changes_nothing(make):
    """Fails if it leaves behind accelerations, joint angles of connections, limits or classes of rows that the next step starts from."""
    world = make()
    advance(world, 100)
    other, v = world.copy(), world.data.v.copy()
    world.data.v[:] = 1e200
    for _ in range(2):
        with pytest.raises(br.StateError):
            advance(world, 1)
    world.data.v[:] = v
    assert list(world.constraint_set.active_limits) == list(other.constraint_set.active_limits)
    assert np.array_equal(advance(world, 20), advance(other, 20))


def test_a_step_that_fails_at_a_limit_changes_nothing(monkeypatch):
    """Fails if rows of limits that were reached before the failure stay."""
    stop_at = LimitMonitor.stop_at

    def fail(monitor: LimitMonitor, n: int) -> None:
        stop_at(monitor, n)
        raise br.StateError("for the test")

    world, failures = at_limits(), 0
    for _ in range(60):
        other = world.copy()
        with monkeypatch.context() as patched:
            patched.setattr(LimitMonitor, "stop_at", fail)
            try:
                advance(world, 1)
                continue
            except br.StateError:
                failures += 1
        assert world.constraint_set.active_limits == other.constraint_set.active_limits
        assert np.array_equal(advance(world, 2), advance(other, 2))
    assert failures >= 2


def test_original_is_not_changed_by_its_copy():
    world = standing()
    advance(world, 150)
    before = world.data.q.copy()
    advance(pickle.loads(pickle.dumps(world)), 20)
    assert np.array_equal(world.data.q, before)


def test_a_copy_without_constraints_can_be_stepped_with_contact():
    """Fails if arrays that were enlarged for a copy lose the addresses of compiled functions: the interpreter crashed."""
    world = standing()
    locked = [world.lock(name) for name in ("man/left_knee", "man/right_knee", "man/left_elbow", "man/right_elbow")]
    links = ("left_hand", "right_hand", "left_foot", "right_foot", "head")
    connections = [world.connect(f"man/{link}", "world", br.Spherical(), compliance=br.SpringDamper(100.0, 1.0)) for link in links]
    assert world.constraint_set.capacity > 8
    for connection in connections:
        world.cut(connection)
    for name in ("man/left_knee", "man/right_knee", "man/left_elbow", "man/right_elbow"):
        world.release(name)
    assert locked
    assert not world.constraints
    assert np.array_equal(advance(world.copy(), 20), advance(world, 20))
