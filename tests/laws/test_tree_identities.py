"""Identities of tree dynamics for all joint types: symmetry, inverses, finite differences, virtual work.

Tolerances: sums over n bodies have a round-off of a few n ε; accelerations have ε |τ|/λ more, λ being the smallest
eigenvalue of the mass matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.random_models import Seeded, State, models, moved, random_body, random_rotation, random_state, seeded

from brachiate import Data, Free, Model, ModelBuilder, Revolute, Spherical, dynamics
from brachiate.kinematics import frame_motion, jacobian, link_poses, pose, update_motion, update_poses
from brachiate.model.joints import BALL, FLOAT
from brachiate.validation import Array

EPS = float(np.finfo(float).eps)
TIGHT = 1e-10
GRAVITY = (0.4, 0.9, -9.3)

law = settings(max_examples=40, deadline=None, derandomize=True)


def data_of(given: Seeded, gravity=GRAVITY) -> Data:
    data = Data(given.model, gravity)
    data.assign(**given.state._asdict())
    return data


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def same(a: Array, b: Array, size: float = 0.0, tolerance: float = TIGHT) -> bool:
    """Whether the difference of two arrays is small relative to their largest entry (or to the size of their terms)."""
    return largest(np.asarray(a) - b) <= tolerance * max(largest(b), size, 1e-12)


# --- the equation of motion ---------------------------------------------------------------------


@law
@given(models())
def test_mass_matrix_is_symmetric_and_positive_definite(given):
    A = dynamics.mass_matrix(data_of(given), given.state.q)
    assert (A == A.T).all()
    assert np.linalg.eigvalsh(A)[0] > 0


@law
@given(models(passive=True))
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(given):
    data, (q, v, a) = data_of(given), given.state
    b = dynamics.bias(data, q, v).copy()
    A = dynamics.mass_matrix(data, q)
    assert same(dynamics.inverse_dynamics(data, q, v, a), A @ a + b, size=largest(b))


@law
@given(models(passive=True))
def test_forward_dynamics_inverts_inverse_dynamics(given):
    data, (q, v, a) = data_of(given), given.state
    tau = dynamics.inverse_dynamics(data, q, v, a).copy()
    least = np.linalg.eigvalsh(dynamics.mass_matrix(data, q))[0]
    error = largest(dynamics.forward_dynamics(data, q, v, tau) - a)
    assert error <= TIGHT * largest(a) + 10 * EPS * np.linalg.norm(tau) / least


@law
@given(models(passive=True))
def test_bias_is_zero_at_rest_without_gravity(given):
    data = data_of(given, gravity=(0, 0, 0))
    # spring torques are zero at the rest position, neutral by default
    assert largest(dynamics.bias(data, given.model.neutral, np.zeros(given.model.nv))) == 0.0


@law
@given(models(), st.floats(0.1, 10))
def test_dynamics_are_independent_of_the_length_of_quaternions(given, length):
    data, (q, v, a) = data_of(given), given.state
    tau = dynamics.inverse_dynamics(data, q, v, a).copy()
    longer = q.copy()
    for kind, at in zip(given.model.tree.kind, given.model.tree.q_at, strict=True):
        if kind in (BALL, FLOAT):
            first = at + (3 if kind == FLOAT else 0)
            longer[first : first + 4] *= -length
    assert same(dynamics.inverse_dynamics(data, longer, v, a), tau)


@law
@given(models())
def test_static_torques_balance_the_weight_of_every_link(given):
    # Expected: a sum over links; the package has bodies. Fails if a fixed link's mass is lost or misplaced, or gravity has a wrong sign.
    model, q = given.model, given.state.q
    data = data_of(given)
    torques = dynamics.inverse_dynamics(data, q, np.zeros(model.nv), np.zeros(model.nv)).copy()
    expected = np.zeros(model.nv)
    for name, link in model.links.items():
        frame = model.placements[name]
        center = frame._replace(position=frame.position + frame.rotation @ link.center)
        expected -= link.mass * jacobian(data, center)[:3].T @ GRAVITY
    assert same(torques, expected, size=10 * model.mass)


# --- energy and momentum ------------------------------------------------------------------------


@law
@given(models())
def test_kinetic_energy_is_half_v_a_v(given):
    data, (q, v, _) = data_of(given), given.state
    A = dynamics.mass_matrix(data, q)
    assert same(np.array(dynamics.totals(data).kinetic), np.array(0.5 * v @ A @ v))


@law
@given(models())
def test_centroidal_matrix_times_v_is_momentum(given):
    data = data_of(given)
    total = dynamics.totals(data)
    matrix = dynamics.centroidal_momentum_matrix(data)
    assert same(matrix @ given.state.v, np.concatenate([total.momentum, total.angular_momentum]), size=largest(matrix))


@law
@given(models(), st.integers(0, 2**32 - 1))
def test_totals_of_parts_sum_to_those_of_the_whole(given, seed):
    data = data_of(given)
    members = np.random.default_rng(seed).integers(0, 2, len(given.model.tree.parent))
    all_, some, others = dynamics.totals(data), dynamics.totals(data, members), dynamics.totals(data, 1 - members)
    for what in ("mass", "momentum", "kinetic", "potential"):
        parts = [np.atleast_1d(getattr(t, what)) for t in (some, others)]
        assert same(np.atleast_1d(getattr(all_, what)), sum(parts), size=max(map(largest, parts)))
    assert same(all_.mass * all_.center, some.mass * some.center + others.mass * others.center, size=all_.mass)


@law
@given(models(), st.integers(0, 2**32 - 1))
def test_centroidal_matrix_of_some_bodies_times_v_is_their_momentum(given, seed):
    # Fails if a column includes the momentum of bodies that are not members, or members are not moved by their ancestors.
    data = data_of(given)
    members = np.random.default_rng(seed).integers(0, 2, len(given.model.tree.parent))
    total = dynamics.totals(data, members)
    matrix = dynamics.centroidal_momentum_matrix(data, members)
    assert same(matrix @ given.state.v, np.concatenate([total.momentum, total.angular_momentum]), size=largest(matrix))


def test_rate_of_momentum_of_a_falling_tree_is_its_weight():
    for seed in range(20):
        model, state, _ = given = _free_tree(seed)
        data = data_of(given)
        a = dynamics.forward_dynamics(data, state.q, state.v, np.zeros(model.nv)).copy()
        falling = State(state.q, state.v, a)
        rate = difference(lambda t, m=model, s=falling, d=data: _momentum(d, *_later(m, s, t)), _rate(data, falling))
        weight = np.concatenate([model.mass * np.array(GRAVITY), np.zeros(3)])
        assert same(rate, weight, size=_rate(data, falling) * largest(_momentum(data, state.q, state.v)), tolerance=1e-9)


def _free_tree(seed: int) -> Seeded:
    """A tree on a free root without rotors, whose inertia does not enter the momentum."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("falling")
    b.link("root", joint=Free(), rotation=random_rotation(rng), **random_body(rng))
    for i in range(int(rng.integers(1, 12))):
        joint = Revolute(rng.normal(size=3)) if rng.random() < 0.6 else Spherical(anchor=rng.normal(size=3))
        parent = "root" if i == 0 else f"link{rng.integers(0, i)}"
        b.link(f"link{i}", parent=parent, joint=joint, at=rng.normal(0, 0.4, 3), rotation=random_rotation(rng), **random_body(rng))
    model = b.build()
    return Seeded(model, random_state(model, rng), rng)


def _momentum(data: Data, q: Array, v: Array) -> Array:
    data.assign(q=q, v=v)
    total = dynamics.totals(data)
    return np.concatenate([total.momentum, total.angular_momentum])


def _later(model: Model, state: State, t: float) -> tuple[Array, Array]:
    """State after a short time, accurate to second order in t, which suffices for a derivative at 0."""
    return moved(model, state.q, t * state.v + 0.5 * t * t * state.a), state.v + t * state.a


# Four-point differences at angles of θ = 1e-3: the truncation θ⁴/30 = 3e-14 is below the round-off ε/θ = 2e-13, both relative
# to the size of f times the angular rate.
THETA = 1e-3


def difference(f: Callable[[float], Array], rate: float) -> Array:
    """Derivative at zero of a function of time whose argument changes at up to ``rate`` [rad/s]."""
    h = THETA / rate
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def _rate(data: Data, state: State) -> float:
    """Largest rate of change of the state [1/s]."""
    data.assign(q=state.q, v=state.v, a=state.a)
    update_motion(data)
    turning = np.linalg.norm(data.work.V[:, :3], axis=1).max(initial=0.0)
    spinning_up = np.sqrt(np.linalg.norm(data.work.A[:, :3], axis=1).max(initial=0.0))
    return max(1.0, float(turning), float(spinning_up), np.sqrt(largest(state.a)), largest(state.v))


@law
@given(models(most=30, passive=True, massless=False), st.integers(0, 2**32 - 1))
def test_rate_of_energy_is_the_power_of_torques_dampers_and_friction(given, seed):
    model, state, _ = given
    data = data_of(given)
    tau = np.random.default_rng(seed).normal(size=model.nv)
    a = dynamics.forward_dynamics(data, state.q, state.v, tau).copy()
    moving = State(state.q, state.v, a)
    rate = _rate(data, moving)

    def energy(t: float) -> Array:
        q, v = _later(model, moving, t)
        data.assign(q=q, v=v)
        return np.array(dynamics.totals(data).energy)

    friction = model.tree.friction * state.v**2 / np.sqrt(state.v**2 + 1e-6)
    power = tau @ state.v - model.tree.damping @ state.v**2 - friction.sum()
    data.assign(q=state.q, v=state.v)
    total = dynamics.totals(data)
    size = rate * (total.kinetic + abs(total.potential) + 10 * model.mass * len(model.links))
    assert same(difference(energy, rate), np.array(power), size=size)


def test_energy_with_an_anisotropic_spherical_spring_is_conserved():
    # Fails if the torque of the spring is not the gradient of its energy; for isotropic stiffness simpler formulas pass as well.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        b = ModelBuilder("sprung")
        b.link("ball", joint=Spherical(stiffness=(1.0, 20.0, 5.0), rest=rng.normal(size=4)), **random_body(rng))
        model = b.build()
        state = random_state(model, rng)
        data = Data(model)
        a = dynamics.forward_dynamics(data, state.q, state.v, np.zeros(3)).copy()
        moving = State(state.q, state.v, a)
        rate = _rate(data, moving)

        def energy(t: float, model=model, moving=moving, data=data) -> Array:
            q, v = _later(model, moving, t)
            data.assign(q=q, v=v)
            return np.array(dynamics.totals(data).energy)

        assert abs(difference(energy, rate)) < 1e-8 * rate * abs(energy(0.0))


# --- finite differences of motion ---------------------------------------------------------------


def _frame_at(data: Data, q: Array, name: str) -> tuple[Array, Array]:
    data.assign(q=q)
    update_poses(data)
    return pose(data, data.model.placements[name])


def _size(data: Data) -> float:
    return max(1.0, largest(data.work.x), largest(data.work.origin))


@law
@given(models(most=40))
def test_jacobian_is_the_derivative_of_the_pose(given):
    model, (q, v, _), rng = given
    data = data_of(given)
    rate = _rate(data, given.state)
    name = f"link{rng.integers(len(model.links))}"
    velocity = jacobian(data, model.placements[name]) @ v
    R = pose(data, model.placements[name]).rotation
    size = _size(data) * rate

    slope = difference(lambda t: _frame_at(data, moved(model, q, t * v), name)[1], rate)
    assert same(slope, velocity[:3], size=size)
    turning = difference(lambda t: _frame_at(data, moved(model, q, t * v), name)[0], rate) @ R.T
    expected = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    assert same(expected, velocity[3:], size=rate)
    data.assign(q=q, v=v)
    assert same(frame_motion(data, model.placements[name])[0], velocity, size=size)


@law
@given(models(most=40))
def test_acceleration_is_the_derivative_of_velocity(given):
    # J̇ v at a = 0, and J a + J̇ v.
    model, state, rng = given
    data = data_of(given)
    name = f"link{rng.integers(len(model.links))}"
    for a in (np.zeros(model.nv), state.a):
        moving = State(state.q, state.v, a)
        rate = _rate(data, moving)
        found = frame_motion(data, model.placements[name])[1]
        size = _size(data) * rate**2

        def velocity(t: float, moving=moving) -> Array:
            q, v = _later(model, moving, t)
            data.assign(q=q)
            return jacobian(data, model.placements[name]) @ v

        assert same(difference(velocity, rate), found, size=size)


@law
@given(models(most=40))
def test_velocity_of_the_com_is_the_derivative_of_its_position(given):
    model, (q, v, _), _ = given
    data = data_of(given)
    rate = _rate(data, given.state)
    size = _size(data) * rate

    def center(t: float) -> Array:
        data.assign(q=moved(model, q, t * v), v=v)
        return dynamics.totals(data).center

    slope = difference(center, rate)
    data.assign(q=q, v=v)
    assert same(slope, dynamics.totals(data).velocity, size=size)


# --- external forces ----------------------------------------------------------------------------


@law
@given(models(), st.integers(0, 2**32 - 1))
def test_external_forces_enter_by_virtual_work(given, seed):
    # A force f at a point reduces the required torques by Jᵀ f, in world axes and in link axes.
    model, (q, v, a), _ = given
    rng = np.random.default_rng(seed)
    data = data_of(given)
    before = dynamics.inverse_dynamics(data, q, v, a).copy()
    work, expected = data.work, np.zeros(model.nv)
    for n in range(4):
        body = int(rng.integers(len(model.tree.parent)))
        point, push, in_link = rng.normal(size=3), 10 * rng.normal(size=6), int(rng.integers(2))
        work.push_body[n], work.push_point[n], work.push_force[n], work.push_in_link[n] = body, point, push, in_link
        name = next(name for name, place in model.placements.items() if place.body == body)
        frame = model.placements[name]._replace(position=point)
        R = work.R[body]
        in_world = np.concatenate([R @ push[:3], R @ push[3:]]) if in_link else push
        expected += jacobian(data, frame).T @ in_world
    work.push_count[0] = 4
    after = dynamics.inverse_dynamics(data, q, v, a).copy()
    assert same(before - after, expected, size=largest(before))
    # The same forces enter forward dynamics, by either method.
    least = np.linalg.eigvalsh(dynamics.mass_matrix(data, q))[0]
    found = dynamics.forward_dynamics(data, q, v, after)
    assert largest(found - a) <= TIGHT * largest(a) + 10 * EPS * (np.linalg.norm(after) + np.linalg.norm(before)) / least


def test_fixed_links_move_with_their_parents():
    # Fails if the constant pose of a link in its body is composed in the wrong order.
    for seed in range(10):
        given = seeded(seed, 12, kinds=("fixed", "revolute", "spherical"))
        data = data_of(given)
        found = link_poses(data)
        for name, link in given.model.links.items():
            if link.joint.nv == 0 and link.parent is not None:
                above = found[link.parent]
                assert same(found[name].position, above.position + above.rotation @ link.position)
                assert same(found[name].rotation, above.rotation @ link.rotation)


def test_quaternion_of_a_pose_is_that_of_its_rotation():
    given = seeded(3, 20)
    for found in link_poses(data_of(given)).values():
        w, x, y, z = found.quaternion
        assert w >= 0
        assert same(Rotation.from_quat([x, y, z, w]).as_matrix(), found.rotation)


# --- equivalent algorithms ----------------------------------------------------------------------


@law
@given(models())
def test_factor_of_the_mass_matrix_solves_a_x_equals_y(given):
    # Fails if packed rows, their padding or vectorized operations mix up entries.
    data, (q, _, a) = data_of(given), given.state
    A = dynamics.mass_matrix(data, q)
    x = A @ a
    found = dynamics.solve_mass(data, q, x)
    assert largest(found - a) <= TIGHT * largest(a) + 10 * EPS * np.linalg.norm(x) / np.linalg.eigvalsh(A)[0]


@law
@given(models())
def test_articulated_body_and_mass_matrix_methods_agree(given):
    data, (q, v, _) = data_of(given), given.state
    b = dynamics.bias(data, q, v).copy()
    by_matrix = dynamics.solve_mass(data, q, -b)
    by_bodies = dynamics.forward_dynamics(data, q, v, np.zeros(given.model.nv))
    least = np.linalg.eigvalsh(dynamics.mass_matrix(data, q))[0]
    assert largest(by_bodies - by_matrix) <= TIGHT * largest(by_matrix) + 10 * EPS * np.linalg.norm(b) / least


def test_accuracy_is_independent_of_the_distance_from_the_origin():
    # A free root a million meters away moves as at the origin. Fails if spatial vectors are about the world's origin.
    for seed in range(10):
        given = _free_tree(seed)
        data, (q, v, a) = data_of(given), given.state
        home = dynamics.inverse_dynamics(data, q, v, a).copy()
        away = q.copy()
        away[:3] += 1e6
        assert same(dynamics.inverse_dynamics(data, away, v, a), home)
