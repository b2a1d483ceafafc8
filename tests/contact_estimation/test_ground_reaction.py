"""Forces that carry a motion: balance, cones, and that none would leave less; against pushes, projections and a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import brachiate as br
from brachiate.contact_estimation.ground_reaction import HOLDS, NOTHING, STANDS
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.motion.spline import Moments
from brachiate.motion.terrain import Ground

G = 9.81


def plate(size=(2.0, 2.0, 0.002), mass=3.0):
    """So flat that friction does not tip it."""
    b = br.ModelBuilder("plate")
    inertia = np.array([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2, size[0] ** 2 + size[1] ** 2]) * mass / 12
    b.link("plate", joint=br.Free(), mass=mass, inertia=inertia, shapes=[br.Box(size=np.array(size))])
    return b.build()


def track_of(model, q, v, a, ground=Ground(0.0), **known):  # noqa: B008  (a frozen value)
    f = len(q)
    return Track(model, Moments(np.arange(f) / 100.0, np.array(q, float), np.array(v, float), np.array(a, float)), ground, **known)


def bottom(track, height=1e-3):
    """Spots that are lowest, as standing ones."""
    low = track.place[..., 2] < track.place[..., 2].min(axis=1, keepdims=True) + height
    return np.where(low, STANDS, NOTHING), np.ones(low.shape)


def moving(seed, frames=6):
    """A human figure in any state, near the ground."""
    rng = np.random.default_rng(seed)
    model = br.figures.human28()
    data = br.Data(model)
    q = [br.manifold.integrated(data, model.neutral, 0.4 * rng.standard_normal(model.nv), 1.0) for _ in range(frames)]
    return model, np.array(q), rng.standard_normal((frames, model.nv)), 8.0 * rng.standard_normal((frames, model.nv)), rng


@pytest.mark.parametrize("seed", range(4))
def test_forces_and_what_is_left_make_the_motion(seed):
    model, q, v, a, rng = moving(seed)
    track = track_of(model, q, v, a)
    spots = track.place.shape[:2]
    how = rng.choice([NOTHING, STANDS, HOLDS], spots, p=(0.7, 0.25, 0.05))
    track.carry(how, 10.0 ** rng.uniform(-2, 0, spots))
    assert track.missed == 0
    force = track.force
    moment = np.cross(track.place - track.centre[:, None], force)
    wrench = np.concatenate((force, moment), axis=2).sum(axis=1) + track.left
    # Newton's method ends at a millionth of the force that is wanted, or better
    assert wrench == pytest.approx(track.needed, abs=1e-6 * np.abs(track.needed).max())
    up, along = force[..., 2], np.linalg.norm(force[..., :2], axis=2)
    assert (up[how == STANDS] >= -1e-9).all()
    assert (along <= 0.8 * up + 1e-7)[how == STANDS].all()
    assert (force[how == NOTHING] == 0).all()


def test_torques_are_those_of_inverse_dynamics_with_these_pushes():
    model, q, v, a, rng = moving(7, frames=2)
    track = track_of(model, q, v, a)
    how = rng.choice([NOTHING, STANDS], track.place.shape[:2], p=(0.8, 0.2))
    track.carry(how, np.ones(how.shape))
    for n in range(2):
        data = br.Data(model, pushes=len(track.spots))
        work = data.work
        live = np.flatnonzero(how[n])
        data.assign(q=q[n])
        br.kinematics.update_poses(data)
        work.push_count[0] = len(live)
        for k, s in enumerate(live):
            body = track.spots.body[s]
            work.push_body[k] = body
            work.push_point[k] = work.R[body].T @ (track.place[n, s] - work.origin[0] - work.x[body])
            work.push_force[k] = (*track.force[n, s], 0, 0, 0)
        tau = br.dynamics.inverse_dynamics(data, q[n], v[n], a[n])
        assert track.tau[n] == pytest.approx(tau, abs=1e-8)
        # What is left to the root is the same force, seen along the root's axes
        assert np.linalg.norm(track.tau[n, :3]) == pytest.approx(np.linalg.norm(track.left[n, :3]), abs=1e-6)


@pytest.mark.parametrize("pull", [0.3, 0.79, 0.9, 2.0])
def test_friction_brings_what_it_can(pull):
    # In the plane of push and pull, the point of the cone nearest to (a, g): the rest is left.
    model = plate()
    a = np.zeros((1, 6))
    a[0, 0] = pull * G
    track = track_of(model, [model.neutral], np.zeros((1, 6)), a)
    track.carry(*bottom(track))
    mu, m = 0.8, model.mass
    size = (mu * pull + 1.0) / (1.0 + mu**2)
    left = (0.0, 0.0) if pull <= mu else (pull - mu * size, 1.0 - size)
    assert track.left[0, (0, 2)] == pytest.approx(m * G * np.array(left), abs=2e-4 * m * G)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_forces_would_leave_less(seed):
    # A pyramid inside the cone is a problem of non-negative least squares. Its best cannot be better, and is nearly as good:
    # 64 edges miss the circle by a thousandth.
    model, q, v, a, rng = moving(seed, frames=1)
    track = track_of(model, q, v, a)
    how = np.zeros(track.place.shape[:2], np.int64)
    how[0, rng.choice(how.shape[1], 2, replace=False)] = STANDS  # too few for everything
    track.carry(how, np.ones(how.shape))
    arms = track.place[0] - track.centre[0]
    inertia = _as_one_piece(model, q[0])
    root = np.linalg.cholesky(np.linalg.inv(inertia)).T
    angles = np.arange(64) * 2 * np.pi / 64
    rays = np.stack((0.8 * np.cos(angles), 0.8 * np.sin(angles), np.ones(64)), axis=1)
    columns = [np.concatenate((ray, np.cross(arms[s], ray))) for s in np.flatnonzero(how[0]) for ray in rays]
    _, theirs = nnls(root @ np.array(columns).T, root @ track.needed[0], maxiter=10000)
    ours = np.linalg.norm(root @ track.left[0])
    size = np.linalg.norm(root @ track.needed[0])
    assert theirs > 1e-3 * size
    assert ours <= theirs + 2e-6 * size
    assert ours >= theirs - 3e-3 * size


def _as_one_piece(model, q):
    """Inertia of the whole body about its centre of mass, by summing links."""
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


def test_who_stands_is_carried_by_the_feet():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    track = track_of(model, [model.neutral], zero, zero)
    track.carry(*bottom(track))
    assert track.left[0] == pytest.approx(np.zeros(6), abs=1e-2)
    total = track.force[0].sum(axis=0)
    assert total == pytest.approx((0, 0, model.mass * G), abs=1e-2)
    pressure = (track.place[0] * track.force[0, :, 2:]).sum(axis=0) / total[2]
    assert pressure[:2] == pytest.approx(track.centre[0, :2], abs=1e-4)
    # The knees bear nothing when one stands upright above them; legs lean a little against each other.
    names = {name: k for k, name in enumerate(model.coordinates)}
    assert abs(track.tau[0, names["left_knee"]]) < 30


def test_what_flies_is_left_to_itself():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    a = zero.copy()
    a[0, 2] = -G
    track = track_of(model, [model.neutral], zero, a)
    track.carry(np.zeros(track.place.shape[:2], np.int64), np.zeros(track.place.shape[:2]))
    assert track.left[0] == pytest.approx(np.zeros(6), abs=1e-9)
    assert track.tau[0] == pytest.approx(np.zeros(model.nv), abs=1e-9)


def test_known_forces_are_taken_off():
    model = br.figures.human28()
    zero = np.zeros((1, model.nv))
    plain = track_of(model, [model.neutral], zero, zero)
    weight = plain.weight
    plain.carry(np.zeros(plain.place.shape[:2], np.int64), np.zeros(plain.place.shape[:2]))
    c = plain.centre[0]
    push = np.array([[[0, 0, weight, *np.cross(c, (0, 0, weight))]]])
    track = track_of(model, [model.neutral], zero, zero, pushed=("pelvis",), push=push)
    track.carry(np.zeros(track.place.shape[:2], np.int64), np.zeros(track.place.shape[:2]))
    assert track.left[0] == pytest.approx(np.zeros(6), abs=1e-8)
    # It is the pelvis that is held: the joints below it carry what hangs on them
    data = br.Data(model)
    data.assign(q=model.neutral)
    br.kinematics.update_poses(data)
    data.work.push_count[0], data.work.push_body[0] = 1, 0
    data.work.push_point[0] = c - data.work.origin[0]
    data.work.push_force[0] = (0, 0, weight, 0, 0, 0)
    assert track.tau[0] == pytest.approx(br.dynamics.inverse_dynamics(data, model.neutral, zero[0], zero[0]), abs=1e-8)


def test_frames_know_nothing_of_each_other():
    # A spot that stood in the frame before and holds in this one; each frame again, from nothing
    model, q, v, a, rng = moving(11, frames=4)
    track = track_of(model, q, v, a)
    how = np.where(rng.random(track.place.shape[:2]) < 0.3, np.array((STANDS, HOLDS, STANDS, HOLDS))[:, None], NOTHING)
    track.carry(how, np.ones(how.shape))
    together = track.force.copy()
    for n in reversed(range(4)):
        track.carry(how[n : n + 1], np.ones((1, how.shape[1])), slice(n, n + 1))
        assert track.missed == 0
        assert track.force[n] == pytest.approx(together[n], abs=1e-4 * track.weight)


@pytest.mark.parametrize("lean", [5.0, 15.0, 40.0])
def test_who_cannot_stand_like_this_is_carried_as_far_as_it_goes(lean):
    # Found from nothing, by way of softer spots
    model = br.figures.human28()
    q, zero = model.neutral.copy(), np.zeros((1, model.nv))
    q[3:7] = np.cos(np.radians(lean) / 2), 0, np.sin(np.radians(lean) / 2), 0
    track = track_of(model, [q], zero, zero)
    toes = np.array([track.spots.parts[p].endswith("toe") for p in track.spots.part])[None]
    track.carry(np.where(toes, STANDS, NOTHING), np.where(toes, 10.0 ** -(3.0 * np.arange(toes.size) / toes.size), 0.0))
    assert track.missed == 0
    assert np.linalg.norm(track.left[0]) > 0.01 * track.weight


def test_hands_that_hold_carry_all():
    model = br.figures.human28()
    q, zero = model.poses["hang"], np.zeros((1, model.nv))
    track = track_of(model, [q], zero, zero)
    hands = np.array([track.spots.parts[p].endswith("hand") for p in track.spots.part])
    track.carry(np.where(hands, HOLDS, NOTHING)[None], np.ones((1, len(hands))))
    # Two hands are stiff against turning only as far as they are apart: a little more than a millionth is left
    assert track.left[0] == pytest.approx(np.zeros(6), abs=1e-4 * track.weight)
    assert track.force[0, hands].sum(axis=0) == pytest.approx((0, 0, track.weight), abs=1e-4 * track.weight)


def test_a_figure_that_is_anchored_is_refused():
    with pytest.raises(br.BrachiateError, match="floating=True"):
        track_of(br.figures.chain(2), [br.figures.chain(2).neutral], np.zeros((1, 2)), np.zeros((1, 2)))
