"""Filter results verified by peers: residual of the written equations of motion by Pinocchio, replay of the torques in MuJoCo.

Both share only numbers with this package: Pinocchio reads the written file, MuJoCo has its own contacts and steps. These tests fail if
torques, forces or states belong to another step, other axes or another point than stated, and if a force acts that is not written.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.retargeting.bipeds import robot

import brachiate as br
from brachiate import rotations
from brachiate.errors import ArgumentError
from brachiate.filter.offline import filter_motion
from brachiate.filter.results.equations_of_motion import equations_of_motion
from brachiate.simulate.recording import Recording

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install brachiate[peers])")


class WrittenEquations:
    """Pinocchio model and forces from the written file alone."""

    def __init__(self, path):
        with np.load(path, allow_pickle=False) as file:
            self.file = dict(file)
        f = self.file
        self.model = pin.Model()
        self.model.gravity.linear = f["gravity"]
        nv = len(f["coordinates"])
        self.joint, self.index = {-1: 0}, {-1: pin.SE3.Identity()}
        self.q_from, self.v_from = np.zeros(f["q"].shape[1], int), np.zeros(nv, int)
        children = {n: np.flatnonzero(f["link_parent"] == n) for n in range(-1, len(f["links"]))}
        waiting = list(children[-1][::-1])
        while waiting:  # depth first, as Pinocchio requires
            n = waiting.pop()
            self._add(n)
            waiting += list(children[n][::-1])
        self.model.armature = f["armature"][self.v_from]
        self.data = self.model.createData()

    def _add(self, n):
        f, parent = self.file, self.file["link_parent"][n]
        joint, place = self.joint[parent], self.index[parent] * pin.SE3(f["link_rotation"][n], f["link_position"][n])
        for e in np.flatnonzero(f["element_link"] == n):
            kinds = (pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned, pin.JointModelSpherical, pin.JointModelFreeFlyer)
            kind, anchor = f["element_kind"][e], f["element_anchor"][e]
            model = kinds[kind](f["element_axis"][e]) if kind < 2 else kinds[kind]()
            joint = self.model.addJoint(joint, model, place * pin.SE3(np.eye(3), anchor), f"{n}.{e}")
            place = pin.SE3(np.eye(3), -anchor)
            added = self.model.joints[joint]
            q = f["element_q"][e] + np.arange(added.nq)
            if kind >= 2:
                q[-4:] = np.roll(q[-4:], -1)  # Pinocchio: x, y, z, w
            self.q_from[added.idx_q : added.idx_q + added.nq] = q
            self.v_from[added.idx_v : added.idx_v + added.nv] = f["element_v"][e] + np.arange(added.nv)
        self.model.appendBodyToJoint(joint, pin.Inertia(f["link_mass"][n], f["link_center"][n], f["link_inertia"][n]), place)
        self.joint[n], self.index[n] = joint, place

    def residual(self, v=None):
        """Residual of each step's equation (n, nv), and the size of its terms (n,); ``v``: another velocity for Coriolis forces."""
        f = self.file
        v, a = (f["v"], f["a"]) if v is None else (v, f["a"] + transport(f["v"]) - transport(v))
        around = v - f["half_jump"], v + f["half_jump"]
        residual, size = np.zeros_like(v), np.zeros(len(v))
        for k in range(len(residual)):
            q = f["q"][k][self.q_from]
            pin.forwardKinematics(self.model, self.data, q)
            forces = pin.StdVec_Force()
            forces.extend([pin.Force.Zero()] * self.model.njoints)
            for m in np.flatnonzero(f["wrench_step"] == k):
                joint, force = self.joint[f["wrench_link"][m]], f["wrench_force"][m]
                about_origin = pin.Force(force, f["wrench_moment"][m] + np.cross(f["wrench_point"][m], force))
                forces[joint] = forces[joint] + self.data.oMi[joint].actInv(about_origin)
                size[k] += np.linalg.norm(force)
            needed = np.mean([pin.rnea(self.model, self.data, q, x[k][self.v_from], a[k][self.v_from], forces) for x in around], axis=0)
            given = f["torque"][k] + f["passive_torque"][k] + f["limit_torque"][k]
            residual[k, self.v_from] = needed - given[self.v_from]
            A = pin.crba(self.model, self.data, q)
            size[k] += (np.abs(np.triu(A) + np.triu(A, 1).T) @ np.abs(f["v_end"][k][self.v_from])).max() / f["h"][k]
            size[k] += np.abs(given).max()
        return residual, size


def transport(v):
    """w x v of the floating base, whose coordinates come first: acceleration due to its rotating axes."""
    out = np.zeros_like(v)
    out[:, :3] = np.cross(v[:, 3:6], v[:, :3])
    return out


def filtered(name, seconds=None, torque_scale=np.inf, nudge=0.0, **options):
    """A filtered sample motion; ``nudge``: velocity that is added to the root [m/s]."""
    motion = br.procedural.sample_motion(name)
    if seconds is not None:
        motion = motion.frames(slice(0, int(np.searchsorted(motion.times, seconds + 1e-9))))
    q = motion.q.copy()
    q[:, 0] += nudge * motion.times
    found = filter_motion(replace(motion, q=q), progress=False, torque_scale=torque_scale, **options)
    assert found.success
    return found


@pytest.fixture(scope="module")
def squat():
    return filtered("squat")


@pytest.fixture(scope="module")
def walk():
    return filtered("walk", 2.0)


# --- Pinocchio: residual of the equations of motion -----------------------------------------------

# Accelerations are differences of velocities over a step: round-off of eps |v|/h, times masses; sums of some forty such terms.
ROUND_OFF = 20 * np.finfo(float).eps


def check_residual(path):
    written = WrittenEquations(path)
    residual, size = written.residual()
    root, joints = (np.abs(part).max() for part in (residual[:, :6], residual[:, 6:]))
    print(f"residual: {root:.1e} N or N·m at the root, {joints:.1e} at joints, of {size.max():.1e}; {len(residual)} steps")
    assert (np.abs(residual).max(axis=1) < ROUND_OFF * size).all()
    return written


def test_a_sampled_motion_has_no_residual(tmp_path):
    made = filtered("squat", 0.5, torque_scale=1.0, mode="sampling", effort=0.02)
    f = check_residual(equations_of_motion(made).save(tmp_path / "equations.npz")).file
    np.testing.assert_array_equal(f["frame_q"], made.motion.q)
    assert (np.abs(f["torque"]) <= np.append(np.zeros(6), made.torque_limits[6:]) * (1.0 + 1e-9)).all()


def test_a_motion_recovered_from_a_fall_has_no_residual(tmp_path):
    # Tracked to a checkpoint, then sampled: a seam with another state or contact memory would leave a residual.
    parts = ("left_heel", "left_toe", "right_heel", "right_toe")
    labels = br.ContactLabels(tuple(br.ContactInterval(part, 0.0, 0.2) for part in parts), br.Terrain(0.0))  # then in the air
    made = filter_motion(br.sample_motion("squat", seconds=1.0), contacts=labels, effort=0.05)
    assert made.success
    assert made.attempts[-1].remark.startswith("sampled 0.")
    f = check_residual(equations_of_motion(made).save(tmp_path / "equations.npz")).file
    assert (np.abs(f["torque"]) <= np.append(np.zeros(6), made.torque_limits[6:]) * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("name", ["squat", "walk"])
def test_the_written_equations_have_no_residual(name, request, tmp_path):
    made = request.getfixturevalue(name)
    f = check_residual(equations_of_motion(made).save(tmp_path / "equations.npz")).file
    # The file belongs to this motion: frames, and velocities between them
    np.testing.assert_array_equal(f["frame_q"], made.motion.q)
    np.testing.assert_allclose(f["frame_time"], made.motion.times)
    joints = f["v_end"] - f["v_start"]
    np.testing.assert_allclose(f["a"][:, 6:], joints[:, 6:] / f["h"][:, None], atol=1e-9)
    np.testing.assert_array_equal(f["v_start"][:, 6:], f["frame_v"][:-1, 6:])
    np.testing.assert_array_equal(f["v_end"][:, 6:], f["frame_v"][1:, 6:])
    assert not f["torque"][:, :6].any(), "the floating base is unactuated"


def test_pushes_limits_and_dampers_are_in_the_equations(tmp_path):
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    man = world.add(br.figures.human28(), name="man", at=(0.3, 0.0, 0.05))
    world.enable_contact()
    world.v = np.random.default_rng(3).normal(size=world.model.nv)
    simulation = br.Simulation(world, dt=0.002, project=False)  # limbs are fast: steps would be divided
    simulation.control(lambda w: w.torque.__setitem__(slice(6, None), 0.3 * np.minimum(world.model.effort[6:], 300.0)))
    pushed = []
    link = next(name for name in man.model.links if "chest" in name)
    simulation.at(
        0.1, lambda: pushed.append(world.apply_force(f"man/{link}", (150.0, 80.0, 0.0), moment=(0, 5, 0), at=(0, 0, 0.1), axes="link"))
    )
    simulation.at(0.2, lambda: world.remove(pushed.pop()))
    run = simulation.run(0.6, progress=False)
    written = check_residual(equations_of_motion(run).save(tmp_path / "equations"))
    f = written.file
    assert (f["wrench_source"] == 1).sum() == 50
    assert (f["wrench_source"] == 0).any()
    assert np.abs(f["limit_torque"]).max() > 1.0
    run.save(tmp_path / "run.npz")
    with pytest.raises(ArgumentError, match=r"right after Simulation\.run"):
        equations_of_motion(Recording.load(tmp_path / "run.npz", run.model))


def test_with_mean_velocities_the_residual_is_of_second_order(squat, tmp_path):
    """With q and v of the frames only, Coriolis forces are evaluated at mean velocities: the residual then decreases as h².

    This holds where forces change smoothly. Where they jump it is of first order: 2e-5 of the weight here.
    """
    typical, weight = [], 9.81 * squat.motion.figure.mass
    for made in (filtered("squat", dt=0.004), squat):
        e = equations_of_motion(made)
        residual, _ = WrittenEquations(e.save(tmp_path / "equations.npz")).residual(0.5 * (e.v_start + e.v_end))
        typical.append(np.median(np.abs(residual).max(axis=1)))
        print(f"typical {typical[-1]:.1e}, largest {np.abs(residual).max():.1e} N or N·m")
    assert typical[1] < 2e-6 * weight
    assert np.abs(residual).max() < 1e-4 * weight
    assert 3.0 < typical[0] / typical[1] < 6.0


# --- MuJoCo: the same torques give the same motion ------------------------------------------------

STEP = 0.0005  # [s] of MuJoCo; torques are constant for four of them
SOFT = 'solref="0.001 3" solimp="0.99 0.999 0.0005"'  # hard and overdamped: no rebound
# Joint feedback, none of the pelvis: STIFF times the torque limit per rad, and DAMPED [s] times that per rad/s. Two ankles of this
# stiffness, 700 N·m/rad, are just above weight times CoM height, 600: with less, a standing body falls over slowly.
STIFF, DAMPED = 2.0, 0.05
GOAL = 0.05  # [m]


def in_mujoco(figure, ground):
    """Model of the same body, with its soles and the ground."""
    friction = f'friction="{ground.friction} 0 0" condim="3"'
    text = [
        f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" integrator="implicitfast" cone="elliptic" impratio="100"/><worldbody>'
        f'<geom type="plane" size="0 0 1" pos="0 0 {ground.height or 0.0}" {friction} {SOFT}/>'
    ]
    kinds = {"free": "free", "spherical": "ball", "revolute": "hinge"}

    def numbers(x):
        return " ".join(repr(float(each)) for each in np.ravel(x))

    def place(x):
        return f'pos="{numbers(x.position)}" quat="{numbers(rotations.from_matrix(np.array(x.rotation)))}"'

    def add(link):
        text.append(f'<body name="{link.name}" {place(link)}>')
        for e in link.joint.elements:
            axis = f'axis="{numbers(e.axis)}"' if link.joint.type == "revolute" else ""
            text.append(f'<joint type="{kinds[link.joint.type]}" pos="{numbers(e.anchor)}" {axis}/>')
        I = link.inertia
        if link.mass > 0.0:
            six = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
            text.append(f'<inertial pos="{numbers(link.center)}" mass="{link.mass!r}" fullinertia="{six}"/>')
        boxes = [shape for shape in link.shapes if shape.kind == "box"]
        text.extend(f'<geom type="box" size="{numbers(b.size / 2)}" {place(b)} {friction} conaffinity="0" {SOFT}/>' for b in boxes)
        for child in figure.links.values():
            if child.parent == link.name:
                add(child)
        text.append("</body>")

    add(next(link for link in figure.links.values() if link.parent is None))
    m = mujoco.MjModel.from_xml_string("".join([*text, "</worldbody></mujoco>"]))
    assert (m.nq, m.nv) == (figure.nq, figure.nv)
    np.testing.assert_allclose(m.body_mass.sum(), figure.mass)
    return m


def replayed(made, share=1.0):
    """Largest errors of pelvis and feet [m], and RMS feedback relative to torque limits; ``share`` of the recorded torques is applied."""
    figure, run, h = made.reference.figure, made.recording, made.reference.dt
    m = in_mujoco(figure, made.reference.terrain)
    effort = np.r_[np.ones(6), figure.effort[6:]]
    kp = np.r_[np.zeros(6), STIFF * figure.effort[6:]]
    kd = DAMPED * kp
    m.dof_damping[:] = kd + figure.tree.damping  # implicit in MuJoCo
    d, there = mujoco.MjData(m), mujoco.MjData(m)
    v = run.v.copy()
    v[:, :3] = rotations.rotate(run.q[:, 3:7], v[:, :3])  # MuJoCo: world axes
    d.qpos[:], d.qvel[:] = run.q[0], v[0]
    watched = [m.body(name).id for name in ("pelvis", "left_foot", "right_foot", "left_toes", "right_toes")]
    q, error, feedback, away = np.zeros(m.nq), np.zeros(m.nv), [], []
    for k in range(len(run) - 1):
        for t in np.arange(0.0, h - 1e-9, STEP):
            q[:] = run.q[k]
            mujoco.mj_integratePos(m, q, v[k] + 0.5 * t / h * (v[k + 1] - v[k]), t)
            mujoco.mj_differentiatePos(m, error, 1.0, d.qpos, q)
            v_reference = v[k] + t / h * (v[k + 1] - v[k])
            d.qfrc_applied[:] = share * run.torque[k + 1] + kp * error + kd * v_reference
            feedback.append((kp * error + kd * (v_reference - d.qvel)) / effort)
            mujoco.mj_step(m, d)
        there.qpos[:] = run.q[k + 1]
        mujoco.mj_kinematics(m, there)
        mujoco.mj_kinematics(m, d)
        away.append(np.linalg.norm(d.xpos[watched] - there.xpos[watched], axis=1))
    pelvis, feet = np.max(away, axis=0)[0], np.max(away, axis=0)[1:].max()
    feedback = float(np.sqrt(np.square(np.array(feedback)[:, 6:]).mean()))
    print(f"{made.motion.name}: pelvis {100 * pelvis:.2f} cm, feet {100 * feet:.2f} cm, feedback {100 * feedback:.2f} % of the range (rms)")
    return pelvis, feet, feedback


def test_a_squat_is_reproduced_in_mujoco(squat):
    pelvis, feet, feedback = replayed(squat)
    assert max(pelvis, feet) < 0.5 * GOAL
    assert feedback < 0.01


def test_a_walk_is_reproduced_in_mujoco():
    # Without feedback of the pelvis round-off grows: errors of the feet are 3.9 to 4.8 cm after 2 s. The median of three runs that differ
    # by nanometers counts.
    error = np.array([replayed(filtered("walk", 2.0, torque_scale=1.0, nudge=nudge)) for nudge in (0.0, 1e-7, 2e-7)])
    pelvis, feet, feedback = np.median(error, axis=0)
    assert max(pelvis, feet) < GOAL
    assert feedback < 0.03


def test_feedback_alone_does_not_support_the_body(walk):
    pelvis, _, _ = replayed(walk, share=0.0)
    assert pelvis > 5 * GOAL


def test_steps_of_a_robot_are_replayed(tmp_path):
    """Fails if a step leaves contact memory behind that controller and simulation share: its repetition then leads elsewhere."""
    g1 = robot("g1_description/urdf/g1_29dof_rev_1_0.urdf")
    motion = br.retarget(br.sample_motion("kick"), g1).motion.trim(0.3, 0.9)  # a foot is lifted at 0.6 s
    made = filter_motion(motion, mode="preview")
    check_residual(equations_of_motion(made).save(tmp_path / "equations.npz"))
    force, moment = made.root_residual()
    assert max(force, moment) < 1e-7
