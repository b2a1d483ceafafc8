"""Reference implementation in maximal coordinates (tests/maximal): trees of the package, finite differences, conservation laws.

Central differences at h and h/2, combined so that h² cancels, err by h⁴ times a fifth or sixth derivative and by ε/h (first) or
ε/h² (second). With rates of about one and accelerations of up to 100 the derivatives reach some thousands and more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests import maximal
from tests.maximal import Connection
from tests.random_mechanisms import LOOP_KINDS, Mechanism, random_connection, random_mechanism
from tests.random_models import moved, random_joint, random_model, random_state, seeded

from brachiate import Data, Free, Model, ModelBuilder, Revolute, Spherical, dynamics
from brachiate.validation import Array

GRAVITY = np.array([0.4, 0.9, -9.3])
SEEDS = range(10)


def mechanism(seed: int, **options) -> tuple[Mechanism, Array, Array, Array]:
    """A random mechanism with at least one loop, torques, and the resulting accelerations and wrenches."""
    found = random_mechanism(seed, 4 + seed % 5, 1 + seed % 3, **options)
    assert found.connections
    tau = np.random.default_rng(seed).normal(size=found.model.nv)
    return found, tau, *maximal.accelerations(*found[:3], tau, GRAVITY, found.connections)


def trajectory(m: Mechanism, a: Array) -> Callable[[float], tuple[Array, Array]]:
    """State after a short time at the accelerations a, accurate to second order in q and to first in v."""
    return lambda t: (moved(m.model, m.q, t * m.v + t * t / 2 * a), m.v + t * a)


def derivative(f: Callable[[float], Array], h: float) -> Array:
    def central(h: float) -> Array:
        return (f(h) - f(-h)) / (2 * h)

    return (4 * central(h / 2) - central(h)) / 3


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


# --- trees --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_of_trees_equal_those_of_the_package(seed):
    model, (q, v, _), rng = seeded(seed, 1 + seed, passive=True)
    tau = rng.normal(size=model.nv)
    expected = dynamics.forward_dynamics(Data(model, GRAVITY), q, v, tau)
    a, wrenches = maximal.accelerations(model, q, v, tau, GRAVITY)
    assert largest(a - expected) < 1e-11 * largest(expected)
    assert wrenches.shape == (0, 6)


def test_anisotropic_springs_equal_those_of_the_package():
    rng = np.random.default_rng(3)
    model = random_model(rng, 4, kinds=("revolute", "spherical"), massless=False)
    ball = Spherical(anchor=(0.1, 0.2, 0.3), stiffness=(1, 30, 70), rest=rng.normal(size=4), damping=(1, 2, 3), friction=(3, 2, 1))
    hinge = Revolute((1, 2, 3), stiffness=20, rest=0.7)
    joints = {"link1": ball, "link2": hinge}
    model = Model("springs", [replace(l, joint=joints.get(l.name, l.joint)) for l in model.links.values()])
    q, v, _ = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    expected = dynamics.forward_dynamics(Data(model, GRAVITY), q, v, tau)
    a, _ = maximal.accelerations(model, q, v, tau, GRAVITY)
    assert largest(a - expected) < 1e-11 * largest(expected)
    m = Mechanism(model, q, v, [])
    state_at = trajectory(m, a)
    rate = derivative(lambda t: np.sum(maximal.energy(model, *state_at(t), GRAVITY)), 1e-3)
    assert abs(rate - tau @ v + maximal.losses(model, q, v)) < 1e-8 * (1 + largest(a))


def test_momentum_and_energy_of_trees_equal_those_of_the_package():
    model, state, _ = seeded(5, 12, passive=True)
    data = Data(model, GRAVITY)
    data.assign(**state._asdict())
    totals = dynamics.totals(data)
    linear, angular = maximal.momentum(model, state.q, state.v)
    kinetic, potential = maximal.energy(model, state.q, state.v, GRAVITY)
    fixed = sum(link.mass for link in model.links.values()) - totals.mass  # of links fixed to the world, which the package excludes
    assert fixed < 1e-12
    assert np.allclose(linear, totals.momentum, rtol=1e-12)
    assert np.allclose(angular, totals.angular_momentum + np.cross(totals.center, totals.momentum), rtol=1e-12)
    assert np.allclose((kinetic, potential), (totals.kinetic, totals.potential), rtol=1e-12)


def joint_slices(model: Model, link: str) -> tuple[slice, slice]:
    """Slices of a link's joint in q and v; empty for a fixed joint."""
    place = model.joints.get(model.links[link].joint_name)
    return (place.q, place.v) if place else (slice(0), slice(0))


def with_cut_joint(model: Model, q: Array, v: Array, name: str) -> Mechanism:
    """The tree with one link made free, and its joint, with passive forces, as a connection."""
    poses, velocities = maximal.bodies(model, q, v)
    link = model.links[name]
    R, p = poses[name]
    free = replace(link, parent=None, joint=Free(), position=np.zeros(3), rotation=np.eye(3))
    cut_mechanism = Model("cut", [free if l is link else l for l in model.links.values()])
    new_q, new_v = np.zeros(cut_mechanism.nq), np.zeros(cut_mechanism.nv)
    for place in cut_mechanism.joints.values():
        if place.link == name:
            new_q[place.q] = np.concatenate([p, maximal.quaternion_of(R)])
            new_v[place.v] = np.concatenate([R.T @ velocities[name][:3], R.T @ velocities[name][3:]])
        else:
            at_q, at_v = joint_slices(model, place.link)
            new_q[place.q], new_v[place.v] = q[at_q], v[at_v]
    start = q[joint_slices(model, name)[0]]
    joint = Connection(link.parent or "world", name, link.joint, link.position, link.rotation, np.zeros(3), np.eye(3), start)
    return Mechanism(cut_mechanism, new_q, new_v, [joint])


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_a_tree_joint_replaced_by_a_connection_gives_the_same_motion(kind):
    rng = np.random.default_rng(LOOP_KINDS.index(kind))
    model = random_model(rng, 8, armature=False, passive=True)
    name = list(model.links)[5]
    one = replace(model.links[name], joint=random_joint(rng, kind, "cut", passive=True))
    model = Model("whole", [one if l.name == name else l for l in model.links.values()])
    q, v, _ = random_state(model, rng)
    at_q, at_v = joint_slices(model, name)
    tau = rng.normal(size=model.nv)
    tau[at_v] = 0.0
    expected = dynamics.forward_dynamics(Data(model, GRAVITY), q, v, tau)
    cut_mechanism = with_cut_joint(model, q, v, name)
    torques, cut_expected = np.zeros(cut_mechanism.model.nv), np.zeros(cut_mechanism.model.nv)
    others = np.ones(cut_mechanism.model.nv, bool)
    for place in cut_mechanism.model.joints.values():
        if place.link == name:
            others[place.v] = False
        else:
            whole = joint_slices(model, place.link)[1]
            torques[place.v], cut_expected[place.v] = tau[whole], expected[whole]
    a, _ = maximal.accelerations(*cut_mechanism[:3], torques, GRAVITY, cut_mechanism.connections)
    assert others.any()
    assert largest((a - cut_expected)[others]) < 1e-10 * largest(expected)
    coordinates, rates = maximal.coordinates(*cut_mechanism[:3], cut_mechanism.connections[0])
    assert np.allclose(rates, v[at_v], atol=1e-10)
    assert np.allclose(np.abs(coordinates), np.abs(q[at_q]), atol=1e-10)  # quaternions up to their sign


# --- mechanisms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_random_mechanisms_are_closed_and_stay_closed(seed):
    m, _, a, _ = mechanism(seed, passive=True, redundant=seed % 3 == 0)
    assert largest(maximal.residuals(m.model, m.q, m.connections)) < 1e-12
    assert largest(maximal.drifts(*m)) < 1e-11
    without_guess = [c._replace(start=None) for c in m.connections]
    assert largest(maximal.residuals(m.model, m.q, without_guess)) < 1e-12
    state_at = trajectory(m, a)
    # error of third order: an eighth at half the time, up to fourth order
    far, near = (largest(maximal.residuals(m.model, state_at(h)[0], m.connections)) for h in (4e-3, 2e-3))
    assert near < 0.16 * far + 1e-13

    def second(h: float) -> Array:
        sides = [maximal.gaps(m.model, state_at(t)[0], m.connections) for t in (h, -h, 0.0)]
        return (sides[0] + sides[1] - 2 * sides[2]) / h**2

    assert largest((4 * second(2e-3) - second(4e-3)) / 3) < 1e-8 * largest(a) + 1e-8


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_of_energy_is_motor_power_minus_dissipation(seed):
    m, tau, a, _ = mechanism(seed, passive=True)
    power = tau @ m.v - maximal.losses(*m)
    state_at = trajectory(m, a)
    rate = derivative(lambda t: np.sum(maximal.energy(m.model, *state_at(t), GRAVITY, m.connections)), 1e-3)
    assert abs(rate - power) < 1e-8 * (1 + abs(power) + largest(a) * largest(m.v))


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_of_momentum_is_weight_and_connection_wrench(seed):
    """A floating figure connected to the world: the rate of its momentum is its weight and the wrench of that connection."""
    rng = np.random.default_rng(seed)
    tree = random_model(rng, 5, kinds=LOOP_KINDS, armature=False)
    links = [replace(l, joint=Free()) if l.parent is None else l for l in tree.links.values()]
    model = Model("afloat", links)
    q, v, _ = random_state(model, rng)
    connections = []
    for n, kind in enumerate(rng.choice(["spherical", "planar", "compound", "universal"], 2)):
        c = random_connection(model, q, random_joint(rng, str(kind), f"loop{n}", passive=True), rng)
        while ("world" in (c.first, c.second)) == bool(n):  # one to the world, one internal
            c = random_connection(model, q, c.joint, rng)
        connections.append(c)
    m = Mechanism(model, q, maximal.impulse(model, q, v, connections), connections)
    tau = rng.normal(size=model.nv)
    for joint, place in model.joints.items():
        if model.links[place.link].parent is None:
            tau[model.joints[joint].v] = 0.0
    a, wrenches = maximal.accelerations(model, q, m.v, tau, GRAVITY, connections)
    assert maximal.determined(model, q, connections)[0]
    state_at = trajectory(m, a)
    linear, angular = (derivative(lambda t, part=part: maximal.momentum(model, *state_at(t))[part], 1e-3) for part in (0, 1))
    poses, _ = maximal.bodies(model, q, m.v)
    (c, _), (wrench, _) = connections, wrenches
    R, p = poses.get(c.second, maximal.Pose(np.eye(3), np.zeros(3)))
    sign = -1.0 if c.second == "world" else 1.0
    force, moment = sign * wrench[:3], sign * (wrench[3:] + np.cross(p + R @ c.second_position, wrench[:3]))
    for name, link in model.links.items():
        weight = link.mass * GRAVITY
        force, moment = force + weight, moment + np.cross(poses[name].position + poses[name].rotation @ link.center, weight)
    size = largest(wrenches) + largest(moment)
    assert largest(linear - force) < 1e-9 * size
    assert largest(angular - moment) < 1e-9 * size


@pytest.mark.parametrize("seed", SEEDS)
def test_a_redundant_connection_does_not_change_the_motion(seed):
    m, tau, a, wrenches = mechanism(seed, redundant=True)
    single, alone = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections[:-1])
    assert largest(a - single) < 1e-9 * largest(single)
    assert maximal.determined(m.model, m.q, m.connections)[-2:] == [False, False]
    poses, _ = maximal.bodies(m.model, m.q, m.v)
    R, _ = poses.get(m.connections[-1].second, maximal.Pose(np.eye(3), np.zeros(3)))
    arm = R @ (m.connections[-1].second_position - m.connections[-2].second_position)
    both = wrenches[-2] + wrenches[-1] + np.concatenate([np.zeros(3), np.cross(arm, wrenches[-1, :3])])
    assert largest(both - alone[-1]) < 1e-9 * largest(alone)


@pytest.mark.parametrize("seed", SEEDS)
def test_prescribed_coordinates_change_only_their_own_torques(seed):
    model, (q, v, a), rng = seeded(seed, 6, passive=True)
    tau = rng.normal(size=model.nv)
    prescribed = {name: a[model.coordinate_index[name]] for name in rng.choice(model.coordinates, (model.nv + 1) // 2, replace=False)}
    found, _ = maximal.accelerations(model, q, v, tau, GRAVITY, prescribed=prescribed)
    torques = dynamics.inverse_dynamics(Data(model, GRAVITY), q, v, found)
    is_prescribed = np.isin(model.coordinates, list(prescribed))
    assert np.allclose(found[is_prescribed], a[is_prescribed], rtol=1e-12, atol=1e-12)
    assert largest((torques - tau)[~is_prescribed]) < 1e-10 * (1 + largest(torques))


# --- impulses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_energy_lost_in_a_plastic_impact_is_that_of_the_velocity_change(seed):
    m = random_mechanism(seed, 4 + seed % 5, 1 + seed % 3, redundant=seed % 2 == 0)
    v = np.random.default_rng(seed).normal(size=m.model.nv)
    prescribed = m.model.coordinates[-1:]
    after = maximal.impulse(m.model, m.q, v, m.connections, prescribed)
    assert largest(maximal.drifts(m.model, m.q, after, m.connections)) < 1e-11
    assert abs(after[-1]) < 1e-12
    assert np.allclose(maximal.impulse(m.model, m.q, after, m.connections, prescribed), after, atol=1e-11)
    before, left, lost = (maximal.energy(m.model, m.q, x, GRAVITY)[0] for x in (v, after, v - after))
    assert abs(before - left - lost) < 1e-12 * before


def test_an_impact_of_free_bodies_conserves_momentum():
    rng = np.random.default_rng(7)
    model = random_model(rng, 4, kinds=("free",), armature=False)
    links = [replace(l, parent=None) for l in model.links.values()]
    model = Model("free_bodies", links)
    q, v, _ = random_state(model, rng)
    connections = []
    for n, kind in enumerate(("fixed", "revolute", "compound", "planar")):
        c = random_connection(model, q, random_joint(rng, kind, f"loop{n}"), rng)
        while "world" in (c.first, c.second):
            c = random_connection(model, q, c.joint, rng)
        connections.append(c)
    after = maximal.impulse(model, q, v, connections)
    assert largest(after - v) > 0.1
    for one, other in zip(maximal.momentum(model, q, v), maximal.momentum(model, q, after), strict=True):
        assert np.allclose(one, other, atol=1e-12)


# --- a mechanism with a closed-form solution ----------------------------------------------------

CRANK, COUPLER, LENGTH, SPAN = 0.7, 2.0, 0.6, 1.1


def parallelogram(angle: float, rate: float) -> Mechanism:
    """Two equal cranks hanging from the world, joined by a bar: three of the rows of its loop are redundant."""
    builder = ModelBuilder("parallelogram")
    crank = {"mass": CRANK, "center": (0, 0, -LENGTH / 2), "inertia": (0.02, 0.02, 0.001)}
    builder.link("left", joint=Revolute("y"), joint_name="left", **crank)
    builder.link("bar", parent="left", joint=Revolute("y"), joint_name="bar", at=(0, 0, -LENGTH), mass=COUPLER, inertia=(0.1, 0.1, 0.1))
    builder.link("right", joint=Revolute("y"), joint_name="right", at=(SPAN, 0, 0), **crank)
    end = Connection("bar", "right", Revolute("y"), np.array([SPAN, 0, 0]), np.eye(3), np.array([0, 0, -LENGTH]), np.eye(3))
    return Mechanism(builder.build(), np.array([angle, -angle, angle]), np.array([rate, -rate, rate]), [end])


def test_a_parallelogram_moves_as_a_pendulum():
    m = parallelogram(0.4, 1.7)
    a, _ = maximal.accelerations(*m[:3], np.zeros(3), np.array([0, 0, -9.81]), m.connections)
    inertia = 2 * (0.02 + CRANK * LENGTH**2 / 4) + COUPLER * LENGTH**2
    expected = -(CRANK * LENGTH + COUPLER * LENGTH) * 9.81 * np.sin(0.4) / inertia
    assert np.allclose(a, [expected, -expected, expected], rtol=1e-12)
    assert maximal.mobility(m.model, m.q, m.connections) == 1
    assert maximal.determined(m.model, m.q, m.connections) == [False]


def test_inconsistent_rows_raise_an_error():
    m = parallelogram(0.4, 0.0)
    with pytest.raises(maximal.InconsistentRows):
        maximal.accelerations(*m[:3], np.zeros(3), GRAVITY, m.connections, {"left": 1.0, "right": 2.0})


def test_residuals_of_open_connections():
    m = parallelogram(0.0, 0.0)
    ball = m.connections[0]._replace(joint=Spherical(), second_position=np.array([0.3, 0, -LENGTH - 0.4]))
    hinge = m.connections[0]._replace(first_rotation=maximal.axis_rotation(np.array([1.0, 0, 0]), 0.2))
    assert np.allclose(maximal.residuals(m.model, m.q, [ball, hinge]), [[0.5, 0], [0, 0.2]])
