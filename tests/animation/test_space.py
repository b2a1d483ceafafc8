"""Animation space: joint motion from functions, closed-form dynamics against the recursive core, reports by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from tests.animation.worlds import planar_chain, world_of
from tests.random_models import models

import brachiate as br
from brachiate import animation as an
from brachiate import manifold
from brachiate.animation.closed_form import joint_space_dynamics


def human(seed: int = 0) -> br.World:
    rng = np.random.default_rng(seed)
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.2 * rng.normal(size=world.model.nv), 1.0)
    world.v = 0.5 * rng.normal(size=world.model.nv)
    return world


@for_all(models(10, passive=True))
def test_closed_form_is_the_recursive_dynamics(given):
    """I* is the mass matrix, vᵀP*v - loads the bias, eq. 26 inverse and eq. 30 forward dynamics, to 1e-10."""
    world = world_of(given)
    links = list(world.model.links)
    for link in (links[0], links[-1]):
        world.apply_force(link, given.rng.normal(size=3), moment=given.rng.normal(size=3), at=given.rng.normal(size=3), axes="link")
    world.apply_force(links[-1], given.rng.normal(size=3), at=given.rng.normal(size=3))
    form = joint_space_dynamics(world)
    A = world.mass_matrix()
    size = abs(A).max()
    assert abs(form.I - A).max() <= 1e-10 * size
    torques = np.asarray(br.dynamics.inverse_dynamics(world.data, world.q, world.v, given.state.a)).copy()
    assert np.allclose(form.torques(world.v, given.state.a), torques, rtol=1e-10, atol=1e-10 * max(1.0, abs(torques).max()))


def test_coriolis_tensor_without_springs_is_independent_of_the_bias():
    # Passive torques are found as what is left of the bias: fails if that hides an error of P.
    world = human(3)
    form = joint_space_dynamics(world)
    rest = np.asarray(world.bias()) - form.P @ world.v @ world.v + form.gravity
    model = world.model
    springs = -(model.tree.damping * world.v)
    if not model.tree.passive[0]:
        assert abs(rest).max() < 1e-10 * max(1.0, abs(np.asarray(world.bias())).max())
    else:
        assert np.allclose(form.passive, springs, atol=1e-9) or abs(form.passive).max() > 0


def test_springs_and_dampers_between_points_are_those_of_the_recursive_dynamics():
    """[EGC] eq. 26: springs and dampers between points, and in joints of connections, to 1e-10 of the forward dynamics of the core."""
    world = human(8)
    damped = br.SpringDamper(stiffness=2e3, damping=30.0)
    world.connect("man/left_hand", "man/right_foot", br.Spherical(), compliance=damped)
    world.connect("man/right_hand", "world", br.Revolute("y", stiffness=40.0, damping=3.0), compliance=damped)
    world.apply_force("man/head", (20.0, -10.0, 5.0), moment=(1.0, 2.0, 3.0))
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.1 * np.random.default_rng(1).normal(size=world.model.nv), 1.0)
    for _ in range(6):  # the stretched joint of the second connection follows from state to state
        world.forward_dynamics()
    form = joint_space_dynamics(world)
    torque = np.random.default_rng(2).normal(size=world.model.nv)
    a = np.asarray(world.forward_dynamics(torque))
    assert np.allclose(form.accelerations(world.v, torque), a, rtol=1e-10, atol=1e-10 * abs(a).max())
    assert np.allclose(form.torques(world.v, a), torque, atol=1e-10 * abs(form.loads).max())
    assert abs(form.connections).max() > 1.0


@pytest.mark.parametrize(("stiffness", "damping", "stretch"), [(500.0, 0.0, 0.1), (0.0, 7.0, 0.0)])
def test_spring_between_points_acts_through_the_gradients_of_both(stiffness, damping, stretch):
    """-k (p - p₀) - c ṗ through (Gᵖ)ᵀ, p the difference of two points, by functions: independent of the core's connections.

    The damper at the point itself: the core's acts at the second frame, wherever the first one is.
    """
    world = human(9)
    compliance = br.SpringDamper(stiffness, damping, 0.0, 0.0)
    world.connect("man/left_hand", "man/right_foot", br.Spherical(), compliance=compliance)
    start = an.FunctionSet(world, {"gap": an.position("man/left_hand", frame="man/right_foot")}).value()
    world.data.q[:] = manifold.integrate(world.data, world.q, stretch * np.random.default_rng(1).normal(size=world.model.nv), 1.0)
    # The connection joins the hand to the point of the foot where it was made.
    gap = an.FunctionSet(world, {"gap": an.position("man/left_hand") - an.position("man/right_foot", tuple(start))})
    u, G, rate = gap.value(), gap.gradient(), gap.rate()
    expected = -G.T @ (stiffness * u + damping * rate)
    assert np.allclose(joint_space_dynamics(world).connections, expected, atol=1e-9 * abs(expected).max())
    assert abs(expected).max() > 0.1


def test_dynamics_in_animation_space_round_trip():
    world = planar_chain((0.3, 0.8, 0.6))
    world.v = [0.5, -0.7, 1.1]
    tip = an.position("arm/link3", (1, 0, 0))
    space = an.AnimationSpace(world, {"x": tip.x, "y": tip.y, "f": lambda s: s.joint("arm/phi3") ** 2})
    form, G, H, a = space.dynamics(), space.gradient(), space.hessian(), np.array([0.4, -1.0, 2.0])
    rate, acceleration = space.rate(), space.acceleration(a)
    assert np.allclose(form.G_u @ acceleration + form.H_uu @ rate @ rate, a, atol=1e-12)
    torques = np.asarray(world.inverse_dynamics(a))
    assert np.allclose(form.forces(rate, acceleration), form.G_u.T @ torques, atol=1e-11)  # τ_u = G_uᵀ τ
    assert np.allclose(form.accelerations(rate, form.forces(rate, acceleration)), acceleration, atol=1e-11)
    assert np.isclose(0.5 * rate @ form.I_uu @ rate, world.totals().kinetic)
    assert G.shape == (3, 3)
    assert H.shape == (3, 3, 3)


def test_reaction_of_a_held_function_is_the_force_of_a_connection():
    """[EGC] 4.5: the hip (end of the second link) held; τ_u of its position is the force that a connection carries there."""
    world = planar_chain((1.0, 0.9, -0.5))
    world.gravity = (0, -9.81, 0)
    hip = an.position("arm/link2", (1, 0, 0))
    space = an.AnimationSpace(world, {"x3": hip.x, "y3": hip.y, "phi3": an.joint("arm/phi3")})
    world.v = {"arm/phi3": 1.3}
    torques = {"arm/phi3": 0.7}
    held = world.copy()
    held.connect("arm/link2", "world", br.Revolute("z"), at=(1, 0, 0))
    a = held.forward_dynamics(torques)
    wrench = a.connection_wrenches["arm/link2"]
    form = space.dynamics()
    reaction = form.forces(space.rate(), space.acceleration(np.asarray(a))) - form.G_u.T @ np.array([0, 0, 0.7])
    assert np.allclose(reaction[:2], wrench.force[:2], atol=1e-9)
    assert abs(reaction[2]) < 1e-9


def test_least_weighted_velocity_satisfies_the_functions_and_lagrange():
    world = human(1)
    space = an.AnimationSpace(
        world, {"hand": an.position("man/left_hand"), "com": an.center_of_mass("man")}, weights={"man/left_elbow": 50.0}
    )
    wanted = np.array([0.1, -0.2, 0.3, 0.0, 0.1, 0.0])
    found = space.solve_velocity(wanted, error=np.zeros(6))
    G, v = space.gradient(), np.asarray(found.values)
    assert np.allclose(G @ v, wanted, atol=1e-10)
    assert not found.conflicts()
    # Stationary: W v is a combination of the gradients.
    gradient = space.weights * v
    assert np.linalg.norm(gradient - G.T @ np.linalg.lstsq(G.T, gradient, rcond=None)[0]) < 1e-10
    light = an.AnimationSpace(world, space.functions).solve_velocity(wanted, error=np.zeros(6)).values
    assert abs(found.values["man/left_elbow"]) < 0.2 * abs(light["man/left_elbow"])


def test_least_torque_is_least():
    world = planar_chain((0.4, 0.9, -0.6))
    world.gravity = (0, -9.81, 0)
    world.v = [0.3, -0.8, 0.5]
    space = an.AnimationSpace(world, {"x": an.position("arm/link3", (1, 0, 0)).x}, minimize="torque")
    a = np.asarray(space.solve_acceleration([0.4], error=[0.0]).values)
    assert np.allclose(space.acceleration(a), 0.4, atol=1e-10)
    least = np.linalg.norm(world.inverse_dynamics(a))
    null = np.linalg.svd(space.gradient())[2][1:]
    for direction in null:
        assert np.linalg.norm(world.inverse_dynamics(a + 1e-3 * direction)) >= least * (1 - 1e-12)


def test_priorities_are_strict():
    world = human(4)
    hand = an.position("man/left_hand")
    functions = {"first": hand, "second": hand * 2.0, "third": an.joint("man/right_elbow")}
    space = an.AnimationSpace(world, functions, priorities={"second": 1, "third": 2})
    found = space.solve_velocity({"first": (0.1, 0.2, 0.3), "second": (9, 9, 9), "third": 0.5}, error=np.zeros(7))
    assert np.allclose(found.residual[:3], 0, atol=1e-9)
    assert abs(found.residual[6]) < 1e-9
    assert set(found.conflicts()) == {"second.x", "second.y", "second.z"}


def test_null_space_follows_the_preferred_motion():
    world = human(5)
    space = an.AnimationSpace(world, {"hand": an.position("man/left_hand")})
    preferred = np.random.default_rng(0).normal(size=world.model.nv)
    v = np.asarray(space.solve_velocity((0, 0, 0), preferred=preferred, error=np.zeros(3)).values)
    assert np.allclose(space.gradient() @ v, 0, atol=1e-10)
    null = np.linalg.svd(space.gradient())[2][3:]
    assert np.allclose(null @ v, null @ preferred, atol=1e-10)


@pytest.mark.parametrize("damping", ["error", "svd"])
def test_square_at_its_target_is_harmless(damping):
    """(φ - a)² has a vanishing gradient at its target: it stays there, and the other functions get what they ask for."""
    world = planar_chain((0.3, 0.7, 0.0))
    tip = an.position("arm/link3", (1, 0, 0))
    space = an.AnimationSpace(world, {"x": tip.x, "y": tip.y, "f": lambda s: s.joint("arm/phi3") ** 2}, damping=damping)
    found = space.solve_velocity({"x": 0.1, "y": 0.1, "f": 0.0}, error=np.zeros(3))
    assert np.isfinite(found.values).all()
    assert np.allclose(found.residual, 0, atol=1e-8)
    assert space.controllability().vanishing == ("f",)
    world["arm/phi3"] = 0.05
    found = space.solve_velocity({"x": 0.1, "y": 0.1, "f": 0.0}, error=(0.0, 0.0, 0.0025))
    assert abs(found.values["arm/phi3"]) < 1e-4


def test_joint_limits_are_kept_by_the_others():
    world = br.World()
    world.add(br.figures.human28(), "man")
    name = "man/left_elbow"
    low, high = (limit[world.model.coordinate_index[name]] for limit in world.model.limits)
    world[name] = high - 1e-4
    world.connect("man/pelvis", "world")
    space = an.AnimationSpace(world, {"hand": an.position("man/left_hand", frame="man/pelvis")})
    k = world.model.coordinate_index[name]
    direction = space.gradient()[:, k]
    wanted = 5.0 * direction / np.linalg.norm(direction)
    free = space.solve_acceleration(wanted, error=np.zeros(3))
    kept = space.solve_acceleration(wanted, error=np.zeros(3), limits=0.05)
    assert free.values[name] > 1.0
    assert kept.values[name] <= 2 * 1e-4 / 0.05**2 + 1e-9
    assert name in kept.at_limit
    assert np.allclose(kept.residual, 0, atol=1e-6)
    assert low < high


def test_constraints_of_the_world_come_first():
    world = human(6)
    world.v = np.zeros(world.model.nv)
    world.connect("man/left_foot", "world")
    space = an.AnimationSpace(world, {"foot": an.position("man/left_foot"), "hand": an.position("man/right_hand")})
    found = space.solve_acceleration({"foot": (1, 1, 1), "hand": (0.1, 0, 0)}, error=np.zeros(6))
    assert abs(world.jacobian("man/left_foot") @ np.asarray(found.values)).max() < 1e-8
    assert set(space.controllability().dependent) == {"foot.x", "foot.y", "foot.z"}
    assert {"foot.x", "foot.y", "foot.z"} == set(found.conflicts())


def test_controllability_names_what_is_free_dependent_and_vanishing():
    world = planar_chain((0.3, 0.7, 0.0))
    tip = an.position("arm/link2", (1, 0, 0))
    space = an.AnimationSpace(world, {"x": tip.x, "twice": 2.0 * tip.x + 1.0, "square": lambda s: s.joint("arm/phi3") ** 2})
    found = space.controllability()
    assert (found.rank, found.mobility, found.uncontrolled) == (1, 3, 2)
    assert (found.dependent, found.vanishing, found.free) == (("twice",), ("square",), ("arm/phi3",))
    assert "dependent on others: twice" in str(found)
    # The motions that no function controls, by name: the trunk turns, or the arm folds with x unchanged.
    G = space.gradient()
    assert len(found.directions) == 2
    for motion in found.directions:
        v = np.array([motion.velocities.get(name, 0.0) for name in world.model.coordinates])
        assert abs(G[:2] @ v).max() < 1e-9
    assert {name for motion in found.directions for name in motion.velocities} >= {"arm/phi3"}
    assert "uncontrolled:" in str(found)


def test_untraced_functions_branch_on_values():
    world = human(7)

    def bent(s: an.State) -> an.Expression:
        knee = s.joint("man/left_knee")
        return knee**2 if knee > 0.3 else 0.3 * knee

    with pytest.raises(an.UntraceableError):
        an.AnimationSpace(world, {"bent": bent})
    space = an.AnimationSpace(world, {"bent": an.untraced(bent)})
    k = world.model.coordinate_index["man/left_knee"]
    for angle, value, slope in ((0.5, 0.25, 1.0), (0.1, 0.03, 0.3)):
        world["man/left_knee"] = angle
        assert np.isclose(space.value()[0], value)
        assert np.isclose(space.gradient()[0, k], slope)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: an.AnimationSpace(w, {}), "expects functions by name"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}, priorities={"b": 1}), "'b' is not a function"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}, weights={"arm/phi1": 0.0}), "not above zero"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}, minimize="fun"), "minimize"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}).solve_velocity({"b": 1.0}), "'b' is not a function"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}).solve_velocity([1.0, 2.0]), "rates"),
        (lambda w: an.AnimationSpace(w, {"a": an.joint("arm/phi1")}).dynamics(), "as many functions"),
        (lambda w: an.AnimationSpace(w, {f"a{n}": an.joint("arm/phi1") for n in range(3)}).dynamics(), "dependent"),
        (lambda w: an.AnimationSpace(w, {"p": an.momentum("arm")}).hessian(), "depends on velocities"),
        (lambda w: an.AnimationSpace(w, {"p": an.momentum("arm")}).solve_velocity([0, 0, 0]), "depends on velocities"),
    ],
)  # fmt: skip
def test_bad_calls_are_refused_in_words(call, words):
    with pytest.raises(br.BrachiateError, match=words):
        call(planar_chain((0.3, 0.7, 0.2)))
