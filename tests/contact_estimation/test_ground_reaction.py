"""Ground reaction force estimation: equilibrium, friction cones and optimality; against applied forces, projections and NNLS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import brachiate as br
from brachiate.contact_estimation.ground_reaction import GRIP, NO_CONTACT, SUPPORT
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.motion.spline import MotionStates
from brachiate.motion.terrain import Terrain

G = 9.81


def plate(size=(2.0, 2.0, 0.002), mass=3.0):
    """A flat plate that friction does not tip over."""
    b = br.ModelBuilder("plate")
    inertia = np.array([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2, size[0] ** 2 + size[1] ** 2]) * mass / 12
    b.link("plate", joint=br.Free(), mass=mass, inertia=inertia, shapes=[br.Box(size=np.array(size))])
    return b.build()


def dynamics_of(model, q, v, a, terrain=Terrain(0.0), **external):  # noqa: B008  (a frozen value)
    f = len(q)
    return MotionDynamics(
        model, MotionStates(np.arange(f) / 100.0, np.array(q, float), np.array(v, float), np.array(a, float)), terrain, **external
    )


def bottom(dynamics, height=1e-3):
    """The lowest points as supports."""
    low = dynamics.point_position[..., 2] < dynamics.point_position[..., 2].min(axis=1, keepdims=True) + height
    return np.where(low, SUPPORT, NO_CONTACT), np.ones(low.shape)


def moving(seed, frames=6):
    """A human figure in random states near the ground."""
    rng = np.random.default_rng(seed)
    model = br.figures.human28()
    data = br.Data(model)
    q = [br.manifold.integrate(data, model.neutral, 0.4 * rng.standard_normal(model.nv), 1.0) for _ in range(frames)]
    return model, np.array(q), rng.standard_normal((frames, model.nv)), 8.0 * rng.standard_normal((frames, model.nv)), rng


@pytest.mark.parametrize("seed", range(4))
def test_forces_and_residual_sum_to_required_wrench(seed):
    model, q, v, a, rng = moving(seed)
    dynamics = dynamics_of(model, q, v, a)
    shape = dynamics.point_position.shape[:2]
    mode = rng.choice([NO_CONTACT, SUPPORT, GRIP], shape, p=(0.7, 0.25, 0.05))
    dynamics.estimate_forces(mode, 10.0 ** rng.uniform(-2, 0, shape))
    assert dynamics.unconverged_frames == 0
    force = dynamics.contact_force
    moment = np.cross(dynamics.point_position - dynamics.com[:, None], force)
    wrench = np.concatenate((force, moment), axis=2).sum(axis=1) + dynamics.root_residual
    # Newton's method ends at a millionth of the required force, or better
    assert wrench == pytest.approx(dynamics.required_wrench, abs=1e-6 * np.abs(dynamics.required_wrench).max())
    normal, tangential = force[..., 2], np.linalg.norm(force[..., :2], axis=2)
    assert (normal[mode == SUPPORT] >= -1e-9).all()
    assert (tangential <= 0.8 * normal + 1e-7)[mode == SUPPORT].all()
    assert (force[mode == NO_CONTACT] == 0).all()


def test_torques_agree_with_inverse_dynamics():
    model, q, v, a, rng = moving(7, frames=2)
    dynamics = dynamics_of(model, q, v, a)
    mode = rng.choice([NO_CONTACT, SUPPORT], dynamics.point_position.shape[:2], p=(0.8, 0.2))
    dynamics.estimate_forces(mode, np.ones(mode.shape))
    for n in range(2):
        data = br.Data(model, pushes=len(dynamics.contact_points))
        work = data.work
        active = np.flatnonzero(mode[n])
        data.assign(q=q[n])
        br.kinematics.update_poses(data)
        work.push_count[0] = len(active)
        for k, s in enumerate(active):
            body = dynamics.contact_points.body[s]
            work.push_body[k] = body
            work.push_point[k] = work.R[body].T @ (dynamics.point_position[n, s] - work.origin[0] - work.x[body])
            work.push_force[k] = (*dynamics.contact_force[n, s], 0, 0, 0)
        tau = br.dynamics.inverse_dynamics(data, q[n], v[n], a[n])
        assert dynamics.tau[n] == pytest.approx(tau, abs=1e-8)
        # The root torque is the residual force in root axes
        assert np.linalg.norm(dynamics.tau[n, :3]) == pytest.approx(np.linalg.norm(dynamics.root_residual[n, :3]), abs=1e-6)


@pytest.mark.parametrize("ratio", [0.3, 0.79, 0.9, 2.0])
def test_projection_on_friction_cone(ratio):
    # The estimated force is the projection of (a, g) on the cone
    model = plate()
    a = np.zeros((1, 6))
    a[0, 0] = ratio * G
    dynamics = dynamics_of(model, [model.neutral], np.zeros((1, 6)), a)
    dynamics.estimate_forces(*bottom(dynamics))
    mu, m = 0.8, model.mass
    size = (mu * ratio + 1.0) / (1.0 + mu**2)
    expected = (0.0, 0.0) if ratio <= mu else (ratio - mu * size, 1.0 - size)
    assert dynamics.root_residual[0, (0, 2)] == pytest.approx(m * G * np.array(expected), abs=2e-4 * m * G)


@pytest.mark.parametrize("seed", range(6))
def test_residual_is_minimal(seed):
    # Non-negative least squares with an inscribed pyramid of 64 edges cannot be better, and is nearly as good
    model, q, v, a, rng = moving(seed, frames=1)
    dynamics = dynamics_of(model, q, v, a)
    mode = np.zeros(dynamics.point_position.shape[:2], np.int64)
    mode[0, rng.choice(mode.shape[1], 2, replace=False)] = SUPPORT  # too few for the required wrench
    dynamics.estimate_forces(mode, np.ones(mode.shape))
    arms = dynamics.point_position[0] - dynamics.com[0]
    inertia = _composite_inertia(model, q[0])
    root = np.linalg.cholesky(np.linalg.inv(inertia)).T
    angles = np.arange(64) * 2 * np.pi / 64
    rays = np.stack((0.8 * np.cos(angles), 0.8 * np.sin(angles), np.ones(64)), axis=1)
    columns = [np.concatenate((ray, np.cross(arms[s], ray))) for s in np.flatnonzero(mode[0]) for ray in rays]
    _, theirs = nnls(root @ np.array(columns).T, root @ dynamics.required_wrench[0], maxiter=10000)
    ours = np.linalg.norm(root @ dynamics.root_residual[0])
    size = np.linalg.norm(root @ dynamics.required_wrench[0])
    assert theirs > 1e-3 * size
    assert ours <= theirs + 2e-6 * size
    assert ours >= theirs - 3e-3 * size


def _composite_inertia(model, q):
    """Composite inertia about the CoM, by summing links."""
    data = br.Data(model)
    data.assign(q=q)
    br.kinematics.update_poses(data)
    w, tree = data.work, model.tree
    m = tree.inertia[:, 0]
    centers = np.array([w.x[i] + w.R[i] @ tree.inertia[i, 1:4] for i in range(len(m))])
    c = m @ centers / m.sum()
    total = np.zeros((3, 3))
    for i in range(len(m)):
        xx, xy, xz, yy, yz, zz = tree.inertia[i, 4:]
        d = centers[i] - c
        total += w.R[i] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ w.R[i].T + m[i] * (d @ d * np.eye(3) - np.outer(d, d))
    out = np.zeros((6, 6))
    out[:3, :3], out[3:, 3:] = m.sum() * np.eye(3), total
    return out


def test_standing():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    dynamics = dynamics_of(model, [model.neutral], zero, zero)
    dynamics.estimate_forces(*bottom(dynamics))
    assert dynamics.root_residual[0] == pytest.approx(np.zeros(6), abs=1e-2)
    total = dynamics.contact_force[0].sum(axis=0)
    assert total == pytest.approx((0, 0, model.mass * G), abs=1e-2)
    pressure = (dynamics.point_position[0] * dynamics.contact_force[0, :, 2:]).sum(axis=0) / total[2]
    assert pressure[:2] == pytest.approx(dynamics.com[0, :2], abs=1e-4)
    # Knee torques are small in upright stance; the strut bias adds a little
    names = {name: k for k, name in enumerate(model.coordinates)}
    assert abs(dynamics.tau[0, names["left_knee"]]) < 30


def test_flight():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    a = zero.copy()
    a[0, 2] = -G
    dynamics = dynamics_of(model, [model.neutral], zero, a)
    dynamics.estimate_forces(np.zeros(dynamics.point_position.shape[:2], np.int64), np.zeros(dynamics.point_position.shape[:2]))
    assert dynamics.root_residual[0] == pytest.approx(np.zeros(6), abs=1e-9)
    assert dynamics.tau[0] == pytest.approx(np.zeros(model.nv), abs=1e-9)


def test_known_external_forces():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    plain = dynamics_of(model, [model.neutral], zero, zero)
    weight = plain.weight
    plain.estimate_forces(np.zeros(plain.point_position.shape[:2], np.int64), np.zeros(plain.point_position.shape[:2]))
    c = plain.com[0]
    wrench = np.array([[[0, 0, weight, *np.cross(c, (0, 0, weight))]]])
    dynamics = dynamics_of(model, [model.neutral], zero, zero, external_links=("pelvis",), external_wrench=wrench)
    dynamics.estimate_forces(np.zeros(dynamics.point_position.shape[:2], np.int64), np.zeros(dynamics.point_position.shape[:2]))
    assert dynamics.root_residual[0] == pytest.approx(np.zeros(6), abs=1e-8)
    # The external force acts at the pelvis: joint torques agree with inverse dynamics
    data = br.Data(model)
    data.assign(q=model.neutral)
    br.kinematics.update_poses(data)
    data.work.push_count[0], data.work.push_body[0] = 1, 0
    data.work.push_point[0] = c - data.work.origin[0]
    data.work.push_force[0] = (0, 0, weight, 0, 0, 0)
    assert dynamics.tau[0] == pytest.approx(br.dynamics.inverse_dynamics(data, model.neutral, zero[0], zero[0]), abs=1e-8)


def test_frames_are_independent():
    # Contact modes change from frame to frame; each frame again with a cold start
    model, q, v, a, rng = moving(11, frames=4)
    dynamics = dynamics_of(model, q, v, a)
    mode = np.where(rng.random(dynamics.point_position.shape[:2]) < 0.3, np.array((SUPPORT, GRIP, SUPPORT, GRIP))[:, None], NO_CONTACT)
    dynamics.estimate_forces(mode, np.ones(mode.shape))
    together = dynamics.contact_force.copy()
    for n in reversed(range(4)):
        dynamics.estimate_forces(mode[n : n + 1], np.ones((1, mode.shape[1])), slice(n, n + 1))
        assert dynamics.unconverged_frames == 0
        assert dynamics.contact_force[n] == pytest.approx(together[n], abs=1e-4 * dynamics.weight)


@pytest.mark.parametrize("lean", [5.0, 15.0, 40.0])
def test_infeasible_lean_converges(lean):
    # Cold start by continuation in the stiffness
    model = br.figures.human28()
    q, zero = model.neutral.copy(), np.zeros((1, model.nv))
    q[3:7] = np.cos(np.radians(lean) / 2), 0, np.sin(np.radians(lean) / 2), 0
    dynamics = dynamics_of(model, [q], zero, zero)
    toes = np.array([dynamics.contact_points.parts[p].endswith("toe") for p in dynamics.contact_points.part])[None]
    dynamics.estimate_forces(np.where(toes, SUPPORT, NO_CONTACT), np.where(toes, 10.0 ** -(3.0 * np.arange(toes.size) / toes.size), 0.0))
    assert dynamics.unconverged_frames == 0
    assert np.linalg.norm(dynamics.root_residual[0]) > 0.01 * dynamics.weight


def test_grips():
    model = br.figures.human28()
    q, zero = model.poses["hang"], np.zeros((1, model.nv))
    dynamics = dynamics_of(model, [q], zero, zero)
    hands = np.array([dynamics.contact_points.parts[p].endswith("hand") for p in dynamics.contact_points.part])
    dynamics.estimate_forces(np.where(hands, GRIP, NO_CONTACT)[None], np.ones((1, len(hands))))
    # The rotational stiffness of two hands is low: the residual is a little more than a millionth
    assert dynamics.root_residual[0] == pytest.approx(np.zeros(6), abs=1e-4 * dynamics.weight)
    assert dynamics.contact_force[0, hands].sum(axis=0) == pytest.approx((0, 0, dynamics.weight), abs=1e-4 * dynamics.weight)


def test_fixed_base_is_refused():
    with pytest.raises(br.BrachiateError, match="floating_base=True"):
        dynamics_of(br.figures.chain(2), [br.figures.chain(2).neutral], np.zeros((1, 2)), np.zeros((1, 2)))
