"""Closed mechanisms: closed loops in every pose, and mobility."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from brachiate import Data, ModelBuilder, manifold
from brachiate.dynamics import mass_matrix
from brachiate.errors import ArgumentError
from brachiate.figures import andrews, bricard, fivebar, fourbar, scissor_lift, stewart
from brachiate.kinematics import link_poses
from brachiate.model.link import Loop
from brachiate.model.model import Model

TINY = 1e-6  # of differences [rad, m]

# Links (including the fixed base), velocities, loops, mobility.
COUNTS = {
    "fourbar": (fourbar(), 4, 3, 1, 1),
    "fourbar of five": (fourbar(5), 12, 11, 5, 1),
    "andrews": (andrews(), 8, 7, 4, 1),
    "bricard": (bricard(), 6, 5, 1, 1),
    "fivebar": (fivebar(), 5, 4, 1, 2),
    "fivebar of another size": (fivebar(base=0.3, crank=0.5, rod=0.4, reach=0.6), 5, 4, 1, 2),
    "stewart": (stewart(), 14, 21, 5, 6),
    "stewart of another size": (stewart(base=0.5, top=0.7, height=0.4, spread=20.0, stroke=0.1), 14, 21, 5, 6),
    "scissor_lift": (scissor_lift(), 9, 8, 4, 1),
    "scissor_lift of one": (scissor_lift(stages=1, length=2.0, angle=45.0), 5, 4, 2, 1),
}
MODELS = {name: row[0] for name, row in COUNTS.items()}
PLANAR = [name for name in MODELS if name.split()[0] in ("fourbar", "andrews", "fivebar", "scissor_lift")]
POSES = [(name, pose) for name, model in MODELS.items() for pose in model.poses]


def ends(data: Data, q, loop: Loop):
    """Rotation and position of the second frame of a loop in the first."""
    data.assign(q=q)
    poses = link_poses(data)
    frames = []
    for link, at, rotation in (
        (loop.first, loop.first_position, loop.first_rotation),
        (loop.second, loop.second_position, loop.second_rotation),
    ):
        x, R = (np.zeros(3), np.eye(3)) if link == "world" else (poses[link].position, poses[link].rotation)
        frames.append((x + R @ at, R @ rotation))
    (x, R), (y, S) = frames
    return R.T @ S, R.T @ (y - x)


def closure_error(loop: Loop, target):
    """Smallest error of a relative pose from the poses of the loop's joint, the joint's coordinates there, and its motion subspace."""
    b = ModelBuilder("joint alone")
    b.link("second", joint=loop.joint, mass=1.0)
    data = Data(b.build())
    alone = Loop("alone", loop.joint, "world", "second", np.zeros(3), np.eye(3), np.zeros(3), np.eye(3))
    q = data.model.neutral.copy()
    for _ in range(20):
        R, x = ends(data, q, alone)
        motions = columns(data, q, alone)
        step = np.linalg.lstsq(motions, pose_difference(target, (R, x)), rcond=1e-9)[0]
        q = manifold.integrate(data, q, step)
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    R, x = ends(data, q, alone)
    return np.abs(pose_difference(target, (R, x))).max(), q, columns(data, q, alone)


def pose_difference(target, given):
    """Difference of two poses, position first, axes of the first frame."""
    E = target[0] @ given[0].T
    return np.r_[target[1] - given[1], E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]] / (1, 1, 1, 2, 2, 2)


def columns(data: Data, q, loop: Loop):
    """Twist of the second frame in the first per velocity, by finite differences: (6, nv)."""
    result = np.zeros((6, data.model.nv))
    for i, v in enumerate(np.eye(data.model.nv)):
        one, other = (ends(data, manifold.integrate(data, q, v, s * TINY), loop) for s in (1, -1))
        result[:, i] = pose_difference(one, other) / (2 * TINY)
    return result


def rows(model: Model, q=None):
    """Constraint Jacobian of all loops, orthonormal per loop; default: in the pose ``reference``."""
    data, q = Data(model), model.poses["reference"] if q is None else q
    found = []
    for loop in model.loops:
        motions = closure_error(loop, ends(data, q, loop))[2]
        basis = np.linalg.svd(motions)[0][:, loop.joint.nv :]
        found.append(basis.T @ columns(data, q, loop))
    return np.concatenate(found)


def rank(J) -> int:
    return int(np.linalg.matrix_rank(J, tol=1e-5))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_mobility(name):
    model, links, nv, loops, freedoms = COUNTS[name]
    assert (len(model.links), model.nv, len(model.loops)) == (links, nv, loops)
    assert model.nv - rank(rows(model)) == freedoms


@pytest.mark.parametrize(("name", "pose"), POSES)
def test_every_pose_is_closed(name, pose):
    model = MODELS[name]
    for loop in model.loops:
        assert closure_error(loop, ends(Data(model), model.poses[pose], loop))[0] < 1e-12, loop.name


@pytest.mark.parametrize("name", MODELS)
def test_an_open_loop_is_detected(name):
    # Fails if closure_error() is always small.
    model = MODELS[name]
    q = model.poses["reference"].copy()
    q[0] += 0.01
    assert max(closure_error(loop, ends(Data(model), q, loop))[0] for loop in model.loops) > 1e-5


@pytest.mark.parametrize("name", PLANAR)
def test_grueblers_count_in_the_plane(name):
    # Three degrees of freedom per body in the plane, minus two per hinge or slide and one per sliding hinge. Springs do not constrain.
    model, *_, freedoms = COUNTS[name]
    moving = len(model.joints)
    held = sum(3 - joint.nv for joint in [model.links[j.link].joint for j in model.joints.values()] + [loop.joint for loop in model.loops])
    assert 3 * moving - held == freedoms


def test_grueblers_count_in_space():
    for model, count in ((stewart(), 6), (bricard(), 0)):  # though Bricard's mechanism is mobile
        assert model.nv - sum(6 - loop.joint.nv for loop in model.loops) == count


@pytest.mark.parametrize(("n", "target"), [(2, -30.1798008602), (40, -30.0266374172)])
def test_fourbar_is_the_published_one(n, target):
    # Equal crank angles and level couplers: inertia and weight along that motion must be those of the equation in the docstring,
    # and its solution from the initial state of the benchmark must reach the published angle.
    model = fourbar(n)
    data = Data(model)
    along = np.r_[np.ones(n + 1), -np.ones(n)]
    weight = n + (n + 1) / 2
    for theta in (np.pi / 2, 0.3, -2.0):
        q = theta * along
        assert along @ mass_matrix(data, q) @ along == pytest.approx(n + (n + 1) / 3, rel=1e-12)
        data.assign(q=q)
        poses = link_poses(data)
        height = sum((poses[name].position + poses[name].rotation @ link.center)[1] for name, link in model.links.items() if name != "base")
        assert height == pytest.approx(weight * np.sin(theta), rel=1e-12)
    assert model.poses["reference"] == pytest.approx(np.pi / 2 * along)
    run = solve_ivp(
        lambda t, y: (y[1], -9.81 * weight / (n + (n + 1) / 3) * np.cos(y[0])), (0, 10), (np.pi / 2, -1.0), method="DOP853",
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    assert run.y[0, -1] == pytest.approx(target, abs=2e-9)


def test_fourbar_mobility_in_line():
    model = fourbar(3)
    assert model.nv - rank(rows(model, model.neutral)) == 4


def test_andrews_starts_with_the_published_accelerations():
    # [HW]: β̈ = 14222.4439199541138705911625887, Θ̈ = -10666.8329399655854029433719415, all others 0.
    model = andrews()
    data, q = Data(model), model.poses["reference"]
    spring = model.loops[-1]
    error, at, motions = closure_error(spring, ends(data, q, spring))
    assert error < 1e-15
    assert at[[0, 2]] == pytest.approx(0.0, abs=1e-14)
    assert at[1] == pytest.approx(np.hypot(-0.03635 + 0.02 * np.cos(q[2]) + 0.018 * np.sin(q[2]) - 0.014,
                                           0.03273 + 0.02 * np.sin(q[2]) - 0.018 * np.cos(q[2]) - 0.072), abs=1e-15)  # fmt: skip
    stiffness, rest = spring.joint.stiffness[1], spring.joint.rest[1]
    assert (stiffness, rest) == (4530.0, 0.07785)
    lengthening = np.linalg.pinv(motions)[1] @ columns(data, q, spring)
    tau = -stiffness * (at[1] - rest) * lengthening
    tau[0] += 0.033
    J = rows(model)
    J = np.linalg.svd(J, full_matrices=False)[2][: rank(J)]
    M = mass_matrix(data, q)
    a = np.linalg.solve(np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]]), np.r_[tau, np.zeros(len(J))])[: model.nv]
    assert model.coordinates == ("beta", "theta", "gamma", "delta", "phi", "epsilon", "omega")
    assert a[:2] == pytest.approx((14222.4439199541, -10666.8329399656), rel=1e-6)
    assert a[2:] == pytest.approx(0.0, abs=0.05)


def test_bricard_is_a_ring_along_a_cube():
    model = bricard()
    data = Data(model)
    data.assign(q=model.neutral)
    poses = link_poses(data)
    positions = [poses[f"rod{i}"].position for i in range(1, 6)]
    assert np.array(positions) == pytest.approx(np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1)]))
    rod = model.links["rod4"]
    assert rod.center == pytest.approx((-0.5, 0, 0))
    assert rod.inertia == pytest.approx(np.diag((0.02, 1.01, 1.01)) / 12)
    assert model.mass == pytest.approx(5.0)


def test_stewart_is_fully_actuated():
    model = stewart()
    motors = np.flatnonzero(model.effort)
    assert [model.coordinates[i] for i in motors] == [f"length{i}" for i in range(1, 7)]
    assert rank(np.r_[rows(model), np.eye(model.nv)[motors]]) == model.nv
    poses = link_poses(Data(model))
    assert poses["platform"].rotation == pytest.approx(np.eye(3), abs=1e-15)
    assert poses["platform"].position[:2] == pytest.approx((0, 0), abs=1e-15)
    legs = [np.linalg.norm(poses[f"piston{i}"].position - poses[f"barrel{i}"].position) for i in range(1, 7)]
    assert legs == pytest.approx(np.full(6, legs[0]))


def test_fivebar_is_fully_actuated():
    model = fivebar(reach=0.3)
    motors = np.flatnonzero(model.effort)
    assert [model.coordinates[i] for i in motors] == ["left_crank", "right_crank"]
    assert rank(np.r_[rows(model), np.eye(model.nv)[motors]]) == model.nv
    data = Data(model)
    data.assign(q=model.poses["reference"])
    poses = link_poses(data)
    rod = poses["left_rod"]
    assert rod.position + rod.rotation @ (0.3, 0, 0) == pytest.approx((0.3, 0, 0), abs=1e-15)
    assert rod.position[1] > 0.08


def test_scissor_lift_rises_level():
    model = scissor_lift(stages=4, length=1.0)
    data = Data(model)
    tops = {}
    for pose, q in model.poses.items():
        data.assign(q=q)
        top = link_poses(data)["platform"]
        assert top.rotation == pytest.approx(np.eye(3), abs=1e-14)
        tops[pose] = top.position
    low = 4 * 0.022
    for pose, angle in (("reference", 30), ("down", 10), ("up", 60)):
        assert tops[pose] == pytest.approx((0, 0, low + 4 * np.sin(np.radians(angle))), abs=1e-14)
    assert [model.coordinates[i] for i in np.flatnonzero(model.effort)] == ["slider"]


def test_bad_arguments_raise():
    with pytest.raises(ArgumentError, match=r"number of four-bars must be at least 1 and at most 10000, got 0"):
        fourbar(0)
    with pytest.raises(ArgumentError, match=r"number of four-bars: expected a whole number, got 1.5"):
        fourbar(1.5)
    with pytest.raises(ArgumentError, match=r"reach from 0.1 m to 0.5 m, and the tip is 0.60\d+ m away. Change reach="):
        fivebar(reach=0.6)
    with pytest.raises(ArgumentError, match=r"A stroke of 0.5 m is too long for legs of 0.8\d+ m. Choose less"):
        stewart(stroke=0.5)
    with pytest.raises(ArgumentError, match=r"spread of the joints must be at least 1 and at most 29, got 30"):
        stewart(spread=30)
    with pytest.raises(ArgumentError, match=r"A platform of 0.2 m is too narrow for bars of 1.2 m. Choose more than"):
        scissor_lift(width=0.2)
    with pytest.raises(ArgumentError, match=r"angle of the bars must be at least 1 and at most 70, got 90"):
        scissor_lift(angle=90)
