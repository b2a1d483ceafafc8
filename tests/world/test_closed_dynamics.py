"""Inverse dynamics of closed chains: round trips, least torques, effort limits, unrealizable accelerations; the unit vector method.

Accelerations are compared with maximal coordinates (tests/maximal), optima with the Karush-Kuhn-Tucker conditions: the problems are
convex, so these are sufficient. Random mechanisms are drawn with singular values down to 1e-4 of the largest, which enter
squared: 1e-16 · 1e8 = 1e-8 at worst; a relative tolerance of 1e-9 holds for these seeds. The gymnast's are above 1e-3: 1e-10.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests import maximal
from tests.random_mechanisms import random_mechanism
from tests.world.closed_chains import GRAVITY, as_vector, high_bar, largest, world_of

import brachiate as br
from brachiate import dynamics
from brachiate.errors import ArgumentError, UnknownName

SEEDS = [seed for seed in range(1, 25) if seed != 7]  # seed 7 has no degrees of freedom


# --- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_inverts_forward_dynamics_of_random_mechanisms(seed):
    """Random mechanisms with springs, dampers and friction in the tree and in loops, and redundant rows."""
    m = random_mechanism(seed, 3 + seed % 7, 1 + seed % 3, passive=bool(seed % 2), redundant=seed % 3 == 0)
    world = world_of(m)
    torque = np.random.default_rng(seed).normal(size=m.model.nv)
    a, _ = maximal.accelerations(*m[:3], torque, GRAVITY, m.connections)
    found = world.inverse_dynamics(a, actuated=list(world.model.joints))
    W = world.coordinates().W
    assert found.sharing.realized
    assert found.inconsistency < 1e-9
    # the same work along every motion, by the least torques
    size = max(largest(torque), largest(found))
    assert largest(W.T @ (found - torque)) < 1e-9 * largest(W) * max(size, largest(world.bias()))
    assert largest(found - W @ np.linalg.lstsq(W, found, rcond=None)[0]) < 1e-10 * size
    assert largest(world.forward_dynamics(found) - a) < 1e-9 * max(largest(a), 1.0)


@pytest.mark.parametrize("hands", [("left",), ("left", "right")])
def test_inverse_dynamics_inverts_forward_dynamics_on_the_high_bar(hands):
    for seed in range(3):
        world = high_bar(hands, seed=seed)
        torque = np.zeros(world.model.nv)
        c = world.coordinates()
        torque[c.motors] = np.random.default_rng(seed).normal(0, 30, len(c.motors))
        a = world.forward_dynamics(torque)
        found = world.inverse_dynamics(a)
        assert found.sharing.realized
        assert (found.sharing.rank, found.sharing.dof, found.sharing.unique) == ((16, 17, True) if len(hands) == 1 else (11, 12, False))
        assert largest(world.forward_dynamics(found) - a) < 1e-10 * largest(a)
        least = np.linalg.lstsq(c.S.T, c.S.T @ torque[c.motors], rcond=1e-9)[0]
        assert largest(found[c.motors] - least) < 1e-10 * largest(torque)
        assert np.linalg.norm(found) <= np.linalg.norm(torque) * (1 + 1e-12)
        if len(hands) == 1:
            assert largest(found - torque) < 1e-10 * largest(torque)


def test_forces_in_connections_are_included():
    """Springs, dampers and motors in the joints of connections act in the motion, and do not load the motors of the tree."""
    world = high_bar((), seed=3)
    grip = world.connect("man/left_grip", "bar/rod", br.Revolute("y", stiffness=300.0, rest=0.7, damping=5.0, friction=2.0))
    world.connect("man/right_grip", "bar/rod", br.Spherical(damping=1.0))
    grip.torque = 40.0
    world.apply_force("man/chest", (30, 20, 10))
    world.torque = {"man/left_knee": 10.0, "man/right_elbow": -5.0}
    a = world.forward_dynamics()
    found = world.inverse_dynamics(a)
    assert largest(world.forward_dynamics(found) - a) < 1e-10 * largest(a)
    assert np.linalg.norm(found) <= np.linalg.norm(world.torque) * (1 + 1e-12)
    idle = world.inverse_dynamics(world.forward_dynamics(np.zeros(world.model.nv)))
    assert largest(idle) < 1e-9


def test_prescribed_and_locked_coordinates_have_constraint_torques():
    world = high_bar(("left",), seed=4)
    knee = "man/right_knee"
    world.prescribe(knee, [world.angle(knee), world.rate(knee), 4.0])
    world.lock("man/left_hip")
    world.time = 0.0
    torque = {"man/left_elbow": 20.0, knee: 5.0}
    a = world.forward_dynamics(torque)
    assert np.isclose(a[knee], 8.0)
    found = world.inverse_dynamics(a)
    assert np.isclose(found["man/left_elbow"], 20.0, rtol=1e-10)
    assert largest(np.array([found[knee], *found["man/left_hip"]])) < 1e-10  # their motors have no load


def test_machines_are_driven_by_their_motors():
    for figure in (br.figures.stewart(), br.figures.scissor_lift(), br.figures.fivebar()):
        world = br.World()
        world.add(figure, "machine")
        c = world.coordinates()
        assert c.mobility == len(c.actuated)
        hold = world.inverse_dynamics(np.zeros(world.model.nv))
        assert hold.sharing.realized
        assert hold.sharing.unique
        assert largest(world.forward_dynamics(hold)) < 1e-9


# --- redundant actuation --------------------------------------------------------------------------


def test_weights_reduce_torques():
    world = high_bar(seed=1)
    a = world.forward_dynamics({"man/left_elbow": 30.0, "man/right_knee": -20.0})
    c = world.coordinates()
    plain = world.inverse_dynamics(a)
    spared = world.inverse_dynamics(a, weights={"man/left_shoulder": 100.0, "man/left_elbow": 1e4})
    w = np.ones(world.model.nv)
    w[world.model.coordinate_index["man/left_elbow"]] = 1e4
    w[world.model.joints["man/left_shoulder"].v] = 100.0
    # KKT: least Σ w τ² with Sᵀτ given means w τ = S x for some x
    for torque, weight in ((plain, np.ones(world.model.nv)), (spared, w)):
        goal = (weight * torque)[c.motors]
        x = np.linalg.lstsq(c.S, goal, rcond=None)[0]
        assert largest(c.S @ x - goal) < 1e-9 * largest(goal)
        assert largest(world.forward_dynamics(torque) - a) < 1e-9 * largest(a)
    assert abs(spared["man/left_elbow"]) < 0.1 * abs(plain["man/left_elbow"])
    assert largest(world.inverse_dynamics(a, weights=w) - spared) < 1e-12 * largest(spared)


def test_least_effort_weights_torques_by_effort_limits():
    world = high_bar(seed=1)
    a = world.forward_dynamics({"man/left_elbow": 30.0, "man/right_knee": -20.0})
    effort = world.model.effort
    least_effort = world.inverse_dynamics(a, objective="least-effort")
    weights = {name: effort[i] ** -2 for name, i in world.model.coordinate_index.items() if effort[i] > 0}
    assert largest(least_effort - world.inverse_dynamics(a, weights=weights)) < 1e-9 * largest(least_effort)

    def effort_norm(torque):
        return np.linalg.norm(torque[effort > 0] / effort[effort > 0])

    assert effort_norm(least_effort) < effort_norm(world.inverse_dynamics(a)) * (1 - 1e-6)


def test_effort_limits_are_satisfied_and_saturated_motors_named():
    world = high_bar(seed=2)
    effort = world.model.effort
    rng = np.random.default_rng(3)
    limited = 0
    spare = {"man/left_shoulder": 1e3, "man/left_elbow": 1e3}  # so that the right arm would exceed its limits
    for _ in range(8):
        torque = 0.999 * effort * rng.choice([-1, 1], world.model.nv)
        a = world.forward_dynamics(torque)  # realizable within limits: by these torques
        bounded = world.inverse_dynamics(a, weights=spare, limits=True)
        free = world.inverse_dynamics(a, weights=spare)
        assert (np.abs(bounded) <= effort * (1 + 1e-9)).all()
        assert bounded.sharing.realized
        assert largest(world.forward_dynamics(bounded) - a) < 1e-8 * largest(a)
        if (np.abs(free) > effort * (1 + 1e-9)).any():
            limited += 1
            assert bounded.sharing.saturated
        at_limit = {n for n, t, e in zip(world.model.coordinates, bounded, effort, strict=True) if e > 0 and abs(t) > e * (1 - 1e-9)}
        assert at_limit == set(bounded.sharing.saturated)
    assert limited > 4  # of eight


def test_beyond_effort_limits_the_residual_is_least():
    world = high_bar(("left",), seed=2)
    world.v = np.zeros(world.model.nv)
    effort = world.model.effort
    torque = np.zeros(world.model.nv)
    knee = world.model.coordinate_index["man/left_knee"]
    torque[knee] = 3 * effort[knee]
    a = world.forward_dynamics(torque)
    bounded = world.inverse_dynamics(a, limits=True)
    sharing = bounded.sharing
    assert not sharing.realized
    assert "man/left_knee" in sharing.saturated
    assert (np.abs(bounded) <= effort * (1 + 1e-9)).all()
    assert "not realized" in str(sharing)
    assert "saturated: " in str(sharing)
    # no other torques within limits leave a smaller residual in the mass metric: KKT conditions of the bounded problem
    c = world.coordinates()
    metric = (c.W.T * c.chosen.measure**2) @ c.W
    residual = np.array([sharing.residual[name] for name in c.generalized])
    gradient = c.S @ np.linalg.solve(metric, residual)  # decrease of the residual norm with each torque
    for g, t, e in zip(gradient, bounded[c.motors], effort[c.motors], strict=True):
        if abs(t) < e * (1 - 1e-9):
            assert abs(g) < 1e-6 * largest(gradient)
        else:
            assert g * t > -1e-6 * largest(gradient) * e


# --- underactuation -------------------------------------------------------------------------------


def test_passive_motions_and_residual_by_name():
    world = high_bar()
    (passive,) = world.mobility().passive
    v = as_vector(world, passive)
    c = world.coordinates()
    found = world.inverse_dynamics(5.0 * v)  # at rest: rotation about the bar satisfies the constraints
    sharing = found.sharing
    assert found.inconsistency < 1e-9
    assert not sharing.realized
    assert (sharing.rank, sharing.dof) == (11, 12)
    assert [list(d.velocities) for d in sharing.passive] == [list(passive.velocities)]
    assert "not realized: motors drive 11 of 12 degrees of freedom, not unique" in str(sharing)
    # motors do no work along the passive motion, so the residual there is the whole generalized force
    required = dynamics.inverse_dynamics(br.Data(world.model, world.gravity), world.q, world.v, 5.0 * v) @ v
    residual = np.array([sharing.residual[name] for name in c.generalized])
    x = v[[world.model.coordinate_index[name] for name in c.generalized]]
    assert np.isclose(residual @ x, required, rtol=1e-9)
    # the residual is the metric image of that one motion
    metric = (c.W.T * c.chosen.measure**2) @ c.W
    image = metric @ x
    assert largest(residual - image * (image @ residual) / (image @ image)) < 1e-9 * largest(residual)


def test_the_root_of_a_free_figure_is_passive():
    world = high_bar((), seed=0)
    found = world.inverse_dynamics(np.zeros(world.model.nv), actuated="man/*")
    sharing = found.sharing
    assert (sharing.rank, sharing.dof, sharing.unique, sharing.realized) == (16, 22, True, False)
    assert [next(iter(d.velocities)) for d in sharing.passive] == [f"man/root.{c}" for c in ("x", "y", "z", "rx", "ry", "rz")]
    assert largest(found[:6]) == 0


# --- inconsistent accelerations -------------------------------------------------------------------


def test_inconsistent_accelerations_are_replaced_by_the_nearest():
    world = high_bar(seed=6)
    rng = np.random.default_rng(0)
    given = rng.normal(0, 5, world.model.nv)
    with pytest.warns(UserWarning, match="This acceleration violates the constraints: the nearest consistent one differs by"):
        found = world.inverse_dynamics(given, actuated=list(world.model.joints))
    assert 1e-3 < found.inconsistency < 10
    assert found.sharing.realized
    a = world.forward_dynamics(found)
    c = world.coordinates()
    # it is consistent, and nearest in the mass metric: the difference is orthogonal to every motion
    assert largest(c.J @ a + c.gamma) < 1e-9 * largest(a)
    assert largest(c.W.T @ (c.A @ (a - given))) < 1e-9 * largest(c.A @ (a - given)) * largest(c.W)
    # consistent accelerations are used as they are, up to round-off
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = world.inverse_dynamics(a * (1 + 1e-9 * rng.normal(size=len(a))), actuated=list(world.model.joints))
    assert again.inconsistency < 1e-7
    assert largest(again - found) < 1e-6 * largest(found)


def test_rest_is_consistent():
    for gravity in (9.81, 0.0):
        world = br.World(gravity)
        man = world.add(br.figures.human16(), "man")
        man.set_pose("hang")
        world.connect("man/left_grip", "world", br.Spherical())
        world.connect("man/right_grip", "world", br.Spherical())
        found = world.inverse_dynamics(np.zeros(world.model.nv))
        assert found.inconsistency < 1e-12


# --- open trees, interface ------------------------------------------------------------------------


def test_inverse_dynamics_of_an_open_tree():
    world = high_bar((), seed=1)
    a = np.random.default_rng(1).normal(size=world.model.nv)
    found = world.inverse_dynamics(a)
    assert found.sharing is None
    assert found.inconsistency == 0.0
    expected = dynamics.inverse_dynamics(br.Data(world.model, world.gravity), world.q, world.v, a)
    assert (np.asarray(found) == expected).all()
    assert found["man/left_knee"] == found[world.model.coordinate_index["man/left_knee"]]
    # with a motor at every coordinate, the distribution is the same
    shared = world.inverse_dynamics(a, actuated=list(world.model.joints))
    assert shared.sharing.realized
    assert shared.sharing.unique
    assert largest(shared - found) < 1e-11 * largest(found)
    named = {"man/left_knee": 1.0}
    assert (world.inverse_dynamics(named) == world.inverse_dynamics(as_array(world, named))).all()


def as_array(world, values):
    a = np.zeros(world.model.nv)
    for name, value in values.items():
        a[world.model.coordinate_index[name]] = value
    return a


def test_queries_change_nothing():
    world = high_bar(seed=4)
    world.torque = {"man/left_elbow": 7.0}
    before, a = world.save(), world.forward_dynamics()
    world.inverse_dynamics(a, limits=True)
    world.forward_dynamics({"man/left_knee": 3.0}, method="unit-vector")
    after = world.save()
    assert (before.time, before.version) == (after.time, after.version)
    for name in ("q", "v", "torque"):
        assert (getattr(before, name) == getattr(after, name)).all()
    assert (world.forward_dynamics() == a).all()


def test_bad_arguments_raise():
    world = high_bar()
    a = np.zeros(world.model.nv)
    for call, error, message in (
        (lambda: world.inverse_dynamics(a[:3]), ArgumentError, "acceleration: expected 22 numbers"),
        (lambda: world.inverse_dynamics(a, actuated="men/*"), UnknownName, "'men/\\*' is not a joint or coordinate"),
        (lambda: world.inverse_dynamics(a, actuated="man/root*"), ArgumentError, "nothing that 'man/root\\*' matches has a motor"),
        (lambda: world.inverse_dynamics(a, objective="fair"), ArgumentError, "objective: 'fair' is not one of: least-norm, least-effort"),
        (
            lambda: world.inverse_dynamics(a, objective="least-effort", actuated=["man/root"]),
            ArgumentError,
            "'man/root.x' \\(and 5 more\\) has no",
        ),
        (lambda: world.inverse_dynamics(a, weights={"man/left_nee": 1.0}), UnknownName, "Did you mean 'man/left_knee'"),
        (lambda: world.inverse_dynamics(a, weights={"man/left_knee": 0.0}), ArgumentError, "must be more than 0"),
        (
            lambda: world.inverse_dynamics(a, weights=[1.0, 2.0]),
            ArgumentError,
            "weights: expected one number, 22 of them, or values by name",
        ),
        (lambda: world.forward_dynamics(method="slow"), ArgumentError, "method: 'slow' is not one of: fast, unit-vector"),
    ):
        with pytest.raises(error, match=message):
            call()


# --- the published method -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_unit_vector_method_gives_the_same_accelerations(seed):
    m = random_mechanism(seed, 3 + seed % 7, 1 + seed % 3, passive=bool(seed % 2), redundant=seed % 3 == 0)
    world = world_of(m)
    torque = np.random.default_rng(seed).normal(size=m.model.nv)
    a, _ = maximal.accelerations(*m[:3], torque, GRAVITY, m.connections)
    assert largest(world.forward_dynamics(torque, method="unit-vector") - a) < 1e-9 * max(largest(a), 1.0)
    assert largest(world.forward_dynamics(torque, method="unit-vector") - world.forward_dynamics(torque)) < 1e-9 * max(largest(a), 1.0)


def test_unit_vector_method_with_springs_locks_and_applied_forces():
    world = high_bar((), seed=3)
    open_tree = world.forward_dynamics({"man/left_knee": 10.0})
    assert largest(world.forward_dynamics({"man/left_knee": 10.0}, method="unit-vector") - open_tree) < 1e-9 * largest(open_tree)
    world.connect("man/left_grip", "bar/rod", br.Revolute("y", stiffness=300.0, rest=0.7, damping=5.0))
    world.connect("man/right_grip", "bar/rod", br.Spherical())
    world.prescribe("man/right_knee", [world.angle("man/right_knee"), world.rate("man/right_knee"), 1.5])
    world.lock("man/left_hip")
    world.apply_force("man/chest", (30, 20, 10))
    world.torque = {"man/left_knee": 10.0, "man/right_elbow": -5.0}
    a = world.forward_dynamics()
    assert largest(world.forward_dynamics(method="unit-vector") - a) < 1e-9 * largest(a)
    assert np.isclose(a["man/right_knee"], 3.0)
