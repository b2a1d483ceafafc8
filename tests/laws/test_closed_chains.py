"""Laws of closed chains: agreement with maximal coordinates on random mechanisms, Newton-Euler balance of links, conservation in runs.

The reference (tests/maximal) has six velocities for every link and six rows for every joint; it shares no code with the package.
A wrong sign, frame, bias or spring in a loop joint is an error of the size of the result. Round-off is about ε times the condition number
of the rows: mechanisms are drawn with singular values down to 1e-4 of the largest, which enter squared in J A⁻¹ Jᵀ: 1e-16 · 1e8 = 1e-8
at worst; 1e-9 holds for all seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests import maximal
from tests.constraint_checks import (
    GRAVITY,
    expected_connection,
    largest,
    make_constraint_set,
    mobility,
    newton_euler_residual,
    redundant_rows,
    wrenches,
)
from tests.random_mechanisms import DISTINCT, LOOP_KINDS, Mechanism, random_connection, random_mechanism
from tests.random_models import random_axis, random_joint, random_model, random_state

import brachiate as br
from brachiate import manifold
from brachiate.model.joints import Joint
from brachiate.validation import Array

SEEDS = [seed for seed in range(1, 30) if seed not in (7, 28)]  # these two have no degrees of freedom
TOLERANCE = 1e-9


@cache
def example(seed: int) -> tuple[Mechanism, Array, Array, Array]:
    """A random mechanism, torques, expected accelerations and wrenches: every second with springs, every third with redundant rows."""
    m = random_mechanism(seed, 3 + seed % 7, 1 + seed % 3, passive=bool(seed % 2), redundant=seed % 3 == 0)
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    return m, tau, *maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)


def joint_with_passive_forces(rng: np.random.Generator, kind: str) -> Joint:
    """A joint of the kind with random rest position, and stiffness, damping and friction that differ between its coordinates."""
    if kind == "compound":
        return br.Compound(
            {
                "turn": joint_with_passive_forces(rng, "revolute"),
                "ball": joint_with_passive_forces(rng, "spherical"),
                "slide": joint_with_passive_forces(rng, "prismatic"),
            }
        )
    nv = {"fixed": 0, "revolute": 1, "prismatic": 1, "universal": 2, "cylindrical": 2, "planar": 3, "spherical": 3}[kind]
    parameters = {what: rng.uniform(0.5, 30.0, nv) for what in ("stiffness", "damping", "friction")}
    anchor = {"anchor": rng.normal(0.0, 0.5, 3)}
    if kind == "spherical":
        return br.Spherical(rest=rng.normal(size=4), **anchor, **parameters)
    parameters |= {"rest": rng.normal(size=nv)}
    match kind:
        case "fixed":
            return br.Fixed()
        case "revolute":
            return br.Revolute(random_axis(rng), **anchor, **parameters)
        case "prismatic":
            return br.Prismatic(random_axis(rng), **parameters)
        case "universal":
            return br.Universal(random_axis(rng), random_axis(rng), **parameters)
        case "cylindrical":
            return br.Cylindrical(random_axis(rng), **parameters)
    return br.Planar(random_axis(rng), **parameters)


@cache
def example_with_passive_forces(kind: str) -> tuple[Mechanism, Array]:
    """A tree of eight links, a connection of this kind and a spherical one, both with passive forces."""
    rng = np.random.default_rng(LOOP_KINDS.index(kind))
    for _ in range(50):
        model = random_model(rng, 8, passive=True)
        q, v, _ = random_state(model, rng)
        joints = [joint_with_passive_forces(rng, kind), joint_with_passive_forces(rng, "spherical")]
        connections = [random_connection(model, q, joint, rng) for joint in joints]
        free = maximal.mobility(model, q, (), rank=DISTINCT)
        if maximal.mobility(model, q, connections, rank=DISTINCT) == free - sum(6 - j.nv for j in joints):
            m = Mechanism(model, q, maximal.impulse(model, q, v, connections), connections)
            return m, rng.normal(size=model.nv)
    raise AssertionError(f"no mechanism found for {kind}")


def test_examples_have_every_joint_type():
    found = {c.joint.type for seed in SEEDS for c in example(seed)[0].connections}
    assert found == set(LOOP_KINDS)


# --- accelerations and forces -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_and_forces_are_those_of_maximal_coordinates(seed):
    m, tau, a, forces = example(seed)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    assert largest(constraint_set.accelerations() - a) < TOLERANCE * largest(a)
    found = wrenches(constraint_set, indices)
    for known, ours, theirs in zip(maximal.determined(m.model, m.q, m.connections), found, forces, strict=True):
        if known:
            assert largest(ours - theirs) < TOLERANCE * largest(forces)
    assert (constraint_set.data.v == m.v).all()  # queries change nothing
    assert (constraint_set.data.q == m.q).all()


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_passive_forces_in_loop_joints_equal_those_of_maximal_coordinates(kind):
    # Fails if a spherical spring ignores that its axes rotate, the rest position is not the joint's, or friction is not per coordinate.
    m, tau = example_with_passive_forces(kind)
    a, forces = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    assert largest(constraint_set.accelerations() - a) < TOLERANCE * largest(a)
    assert maximal.determined(m.model, m.q, m.connections) == [True, True]
    assert largest(wrenches(constraint_set, indices) - forces) < TOLERANCE * largest(forces)
    for index, c in zip(indices, m.connections, strict=True):
        q, rates = maximal.coordinates(*m[:3], c)
        ours, our_rates = constraint_set.joint_state(index)
        assert largest(our_rates - rates) < 1e-11 * (1 + largest(rates))
        assert largest(np.abs(ours) - np.abs(q)) < 1e-11  # quaternions up to their sign


@pytest.mark.parametrize("seed", SEEDS)
def test_every_link_satisfies_newton_euler(seed):
    # Holds for any choice of the forces that redundant rows leave undetermined.
    m, tau, _, _ = example(seed)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    a = constraint_set.accelerations().copy()
    assert newton_euler_residual(m, a, tau, wrenches(constraint_set, indices)) < 1e-10


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_every_link_satisfies_newton_euler_with_passive_forces_in_loops(kind):
    m, tau = example_with_passive_forces(kind)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    a = constraint_set.accelerations().copy()
    assert newton_euler_residual(m, a, tau, wrenches(constraint_set, indices)) < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_inverse_dynamics_inverts_forward_dynamics(seed):
    # τ = inverse dynamics of the tree - Σ Jᵀ wrench of every connection - torque of the lock
    rng = np.random.default_rng(seed)
    world = br.World(GRAVITY)
    world.add(random_model(rng, 4, passive=True, kinds=("revolute", "spherical", "universal", "free")), "one")
    world.add(random_model(rng, 3, kinds=("free", "cylindrical", "planar")), "two")
    q, v, _ = random_state(world.model, rng)
    world.q, world.v = q, v
    one, two = (next(name for name in world.model.links if name.startswith(f"{figure}/link2")) for figure in ("one", "two"))
    world.connect(one, two, joint_with_passive_forces(rng, "universal"), at=(0.1, 0.2, 0.3))
    world.connect("two/link0", "world", joint_with_passive_forces(rng, "spherical"))
    scalar = [name for name in world.model.scalar_coordinates if name.startswith("one/")]
    lock = world.lock(scalar[0])[0] if scalar else None
    torque = rng.normal(size=world.model.nv)
    a = world.forward_dynamics(torque)
    needed = of_tree = br.dynamics.inverse_dynamics(br.Data(world.model, GRAVITY), world.q, world.v, np.asarray(a))
    for name, wrench in a.connection_wrenches.items():
        connection = world.connections[name]
        for link, sign in ((connection.link, 1.0), (connection.to, -1.0)):
            if link != "world":
                pose = world.pose(link)
                J = world.jacobian(link, pose.rotation.T @ (wrench.at - pose.position))
                needed = needed - sign * J.T @ np.concatenate([wrench.force, wrench.moment])
    if lock is not None:
        world.torque = torque
        needed[world.model.coordinate_index[lock.name]] -= lock.torque
    assert largest(needed - torque) < 1e-10 * (1 + largest(of_tree))


# --- impulses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_after_a_connection_impulse_equal_those_of_maximal_coordinates(seed):
    m = example(seed)[0]
    v = np.random.default_rng(seed + 100).normal(size=m.model.nv)
    expected = maximal.impulse(m.model, m.q, v, m.connections)
    constraint_set, _ = make_constraint_set(m._replace(v=v))
    constraint_set.apply_connection_impulse()
    after = constraint_set.data.v.copy()
    assert largest(after - expected) < TOLERANCE * largest(v)
    assert largest(maximal.drifts(m.model, m.q, after, m.connections)) < 1e-11
    constraint_set.apply_connection_impulse()  # idempotent
    assert largest(constraint_set.data.v - after) < 1e-12 * largest(v)
    before, left, lost = (maximal.energy(m.model, m.q, x, GRAVITY)[0] for x in (v, after, v - after))
    assert abs(before - left - lost) < 1e-12 * before


@pytest.mark.parametrize("seed", SEEDS)
def test_redundant_rows_are_those_of_the_duplicate_connection(seed):
    m, tau, _, _ = example(seed)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    constraint_set.accelerations()
    assert mobility(constraint_set) == maximal.mobility(m.model, m.q, m.connections)
    found = redundant_rows(constraint_set)
    if seed % 3:
        assert len(found) == 0
    else:  # of either of the two
        pair = [row for index in indices[-2:] for row in range(*constraint_set.row_slice(index).indices(10**6))]
        assert 2 * len(found) == len(pair)
        assert set(found) <= set(pair)


@cache
def overconstrained(seed: int) -> Mechanism:
    """Five random connections, redundant or not; the rank of their rows is clear: no small nonzero singular values."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 6, massless=False, passive=True)
    q, v, _ = random_state(model, rng)
    body = {"world": -1} | {name: place.body for name, place in model.placements.items()}
    connections: list[maximal.Connection] = []
    for n in range(40):
        c = random_connection(model, q, random_joint(rng, str(rng.choice(LOOP_KINDS)), f"loop{n}"), rng)
        if len(connections) == 5 or body[c.first] == body[c.second]:
            continue
        sizes = np.linalg.svd(maximal.System(model, q, np.zeros(model.nv), [*connections, c]).rows(), compute_uv=False)
        between = (sizes > 1e-12 * sizes[0]) & (sizes < 3e-3 * sizes[0])
        if not between.any() and maximal.mobility(model, q, [*connections, c]) > 0:
            connections.append(c)
    return Mechanism(model, q, maximal.impulse(model, q, v, connections), connections)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 14, 39, 93, 96, 177, 208, 266, 333])
def test_rank_of_overconstrained_mechanisms(seed):
    # Fails if redundancy is decided by inaccurate pivots: a row of round-off is then enforced, or a singular posture reported.
    m = overconstrained(seed)
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    a, _ = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    constraint_set, indices = make_constraint_set(m)
    constraint_set.data.tau[:] = tau
    found = constraint_set.accelerations().copy()
    assert mobility(constraint_set) == maximal.mobility(m.model, m.q, m.connections)
    assert largest(found - a) < TOLERANCE * largest(a)
    assert newton_euler_residual(m, found, tau, wrenches(constraint_set, indices)) < 1e-10


@pytest.mark.parametrize("bend", [1e-1, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])
def test_rank_near_a_singular_posture(bend):
    # A nearly straight planar arm, its tip connected to the world: two rows of three are independent, in any orientation.
    part = {"mass": 1.0, "center": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.1)}
    builder = br.ModelBuilder("arm")
    builder.link("upper", joint=br.Revolute("y"), **part)
    builder.link("lower", parent="upper", joint=br.Revolute("y"), at=(0, 0, -1), **part)
    builder.link("hand", parent="lower", joint=br.Revolute("y"), at=(0, 0, -1), **part)
    world = br.World()
    world.add(builder.build(), "arm", rotation=np.random.default_rng(1).normal(size=4))
    world.add(br.figures.box(), "box", at=(5, 0, 0))
    world["arm/upper"], world["arm/lower"] = 0.3, bend
    tip = world.connect("arm/lower", "world", br.Spherical(), at=(0, 0, -1))
    assert tip.report.mobility == (9, 7)
    other = world.connect("box/box", "world", br.Spherical())
    assert other.report.mobility == (7, 4)
    assert world.cut(other).mobility == (4, 7)  # and the rank is determined again
    world.forward_dynamics()
    assert mobility(world.constraint_set) == 7


# --- projection onto the constraints ----------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_projection_closes_a_drifted_state(seed):
    # Errors of 1e-4, as after a coarse step; a condition number of 1e4 amplifies that to 1 at worst, for none of these seeds.
    m = example(seed)[0]
    rng = np.random.default_rng(seed)
    constraint_set, _ = make_constraint_set(m)
    constraint_set.apply_connection_impulse()
    off = manifold.integrate(constraint_set.data, m.q, 1e-4 * rng.normal(size=m.model.nv), 1.0)
    constraint_set.data.q[:], constraint_set.data.v[:] = off, m.v + 1e-3 * rng.normal(size=m.model.nv)
    constraint_set.project_state()
    q, v = constraint_set.data.q.copy(), constraint_set.data.v.copy()
    assert largest(maximal.residuals(m.model, q, m.connections)) < 1e-12
    assert largest(maximal.drifts(m.model, q, v, m.connections)) < 1e-12 * (1 + largest(v))
    constraint_set.project_state()
    assert largest(constraint_set.data.q - q) < 1e-12
    assert largest(constraint_set.data.v - v) < 1e-12 * (1 + largest(v))


@pytest.mark.parametrize("integrator", ["euler", "rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_every_step_ends_on_the_constraints(integrator):
    # Freely rotating bodies: the directions of spherical joints must be those at the end of the step.
    world = br.World()
    block = br.ModelBuilder("block")
    block.link("block", joint=br.Free(), joint_name="root", mass=1.0, inertia=(0.1, 0.2, 0.25))
    for n in range(3):
        world.add(block.build(), f"b{n}", at=(n, 0, 0))
        world.v[6 * n + 3 : 6 * n + 6] = (1.0, 2.0, 3.0 - n)
    connected = [
        ("b0/block", "world", br.Revolute("y")),
        ("b1/block", "b0/block", br.Universal()),
        ("b2/block", "b1/block", br.Spherical()),
    ]
    expected = []
    for link, to, joint in connected:
        expected.append(expected_connection(world, link, to, joint, (-0.5, 0.1, 0.0)))
        world.connect(link, to, joint, at=(-0.5, 0.1, 0.0))
    run = br.Simulation(world, dt=0.01, integrator=integrator).run(0.1)
    assert largest(world.v) > 1.0
    for q, v in zip(run.q, run.v, strict=True):
        assert largest(maximal.residuals(world.model, q, expected)) < 1e-12
        assert largest(maximal.drifts(world.model, q, v, expected)) < 1e-12 * (1 + largest(v))


# --- long runs --------------------------------------------------------------------------------------


def energy_error(world: br.World, seconds: float, dt: float) -> float:
    """Largest change of energy in a run with rk4, relative to the largest kinetic energy."""
    run = br.Simulation(world.copy(), dt=dt, integrator="rk4", every=5, limits=False).run(seconds, progress=False)
    probe = br.Data(world.model, world.gravity)
    totals = []
    for q, v in zip(run.q, run.v, strict=True):
        probe.assign(q=q, v=v)
        totals.append(br.dynamics.totals(probe))
    energies = np.array([t.energy for t in totals])
    return largest(energies - energies[0]) / max(t.kinetic for t in totals)


def swinging_fourbar() -> br.World:
    world = br.World((0, -9.81, 0))
    world.add(br.figures.fourbar(), "bars")
    for i, rate in (("crank0", -0.3), ("crank1", -0.3), ("coupler1", 0.3)):
        world[f"bars/{i}"] = {"crank0": -1.0, "crank1": -1.0, "coupler1": 1.0}[i]
        world.v[world.model.coordinate_index[f"bars/{i}"]] = rate
    return world


def hanging_monkey() -> br.World:
    world = br.World()
    monkey = world.add(br.figures.monkey16(), "monkey")
    world.add(br.figures.bar(), "bar")
    monkey.set_pose("hang")
    for side in ("left", "right"):
        world.connect(f"monkey/{side}_grip", "bar/rod", br.Revolute("y"))
    world.v[:] = np.random.default_rng(0).normal(size=world.model.nv)
    world.constraint_set.apply_connection_impulse()
    return world


@pytest.mark.parametrize(("make", "seconds", "dt", "bound"), [(swinging_fourbar, 10.0, 0.01, 1e-5), (hanging_monkey, 1.0, 0.004, 1e-4)])
def test_energy_error_has_the_order_of_the_method(make, seconds, dt, bound):
    world = make()
    coarse, fine = (energy_error(world, seconds, h) for h in (dt, dt / 2))
    assert coarse < bound
    assert fine < coarse / 2**3.7 + 1e-12  # order 4, as without loops: the projection does not reduce it


def test_a_floating_ring_conserves_momentum():
    """Six rods in a ring of spherical joints without external forces: the loop force is internal."""
    builder = br.ModelBuilder("ring")
    turn = np.pi / 3
    for n in range(6):
        child = {"parent": f"rod{n - 1}", "joint": br.Spherical(), "at": (1, 0, 0), "rotation": (np.cos(turn / 2), 0, 0, np.sin(turn / 2))}
        attachment = child if n else {"joint": br.Free(), "joint_name": "root"}
        builder.link(f"rod{n}", mass=1.0, center=(0.5, 0, 0), inertia=(0.01, 0.09, 0.09), **attachment)
    builder.loop("closing", br.Spherical(), "rod5", "rod0", first_at=(1, 0, 0))
    world = br.World(gravity=0)
    world.add(builder.build(), "ring")
    assert list(world.connections) == ["ring/closing"]
    assert world.constraint_set.max_residual() < 1e-12
    world.v = 0.5 * np.random.default_rng(2).normal(size=world.model.nv)
    world.constraint_set.apply_connection_impulse()
    before = maximal.momentum(world.model, world.q, world.v)
    run = br.Simulation(world, dt=0.005, integrator="rk8").run(2.0)
    assert largest(run.q[-1] - run.q[0]) > 0.5
    for one, other in zip(before, maximal.momentum(world.model, world.q, world.v), strict=True):
        assert largest(one - other) < 1e-9
