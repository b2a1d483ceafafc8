"""Retargeting of motions between figures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.retargeting.bipeds import G1, biped, robot

import brachiate as br
from brachiate import rotations
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.errors import ArgumentError, MotionError
from brachiate.figures.poses import limb_orientation
from brachiate.intervals import true_intervals
from brachiate.kinematics import beyond_limits
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.model import Model
from brachiate.motion.edit import mirror
from brachiate.motion.motion import Motion
from brachiate.retargeting.ik_targets import STANCE_WEIGHT, RetargetTargets
from brachiate.retargeting.retarget import RetargetResult, retarget, retargeted
from brachiate.retargeting.trajectory_ik import TrajectoryIk

RATE = 30.0


@cache
def steps() -> Motion:
    """Stepping in place, with the figure of its skeleton."""
    return Motion.from_clip(stepping(frames=60, rate=RATE))


@cache
def human() -> Model:
    return br.figures.human28()


@cache
def stepped() -> RetargetResult:
    """The same retargeted to human28."""
    return retarget(steps(), human())


@cache
def robot_stepped() -> RetargetResult:
    return retarget(steps(), biped("unitree"))


def waving(model: Model, frames: int = 40) -> Motion:
    """A smooth motion in the air in which every joint moves."""
    t = np.arange(frames) / RATE
    q = np.tile(model.neutral, (frames, 1))
    for k, (name, place) in enumerate(model.joints.items()):
        wave = 0.3 * np.sin(2 * np.pi * t[:, None] * (0.7 + 0.05 * k) + np.arange(3) + k)
        if name == "root":
            q[:, :3] += np.stack((t, 0 * t, 0.4 + 0 * t), axis=1)
            q[:, 3:7] = rotations.from_rotation_vector(wave)
        elif place.q.stop - place.q.start == 4:
            q[:, place.q] = rotations.from_rotation_vector(wave)
        else:
            q[:, place.q] = 0.5 + wave[:, :1]
    return Motion(model, t, q)


def apart(one: Motion, other: Motion) -> float:
    """The largest distance between landmarks of two motions of one figure [m]."""
    marks, kinematics = find_landmarks(one.figure), BatchKinematics(one.figure)
    a, b = kinematics.poses(one.q), kinematics.poses(other.q)
    return max(float(np.linalg.norm(a.point(*point) - b.point(*point), axis=1).max()) for point in marks.points.values())


def outside(motion: Motion) -> dict[str, float]:
    data, found = br.Data(motion.figure), {}
    for q in motion.q:
        data.assign(q=q)
        found |= beyond_limits(data)
    return found


# --- batched kinematics -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [human, lambda: biped("unitree")])
def test_batched_poses_agree_with_kinematics(make):
    model = make()
    kinematics, data = BatchKinematics(model), br.Data(model)
    rng = np.random.default_rng(3)
    q = kinematics.integrate(np.tile(model.neutral, (4, 1)), 0.7 * rng.normal(size=(4, model.nv)))
    poses = kinematics.poses(q)
    for k in range(4):
        data.assign(q=q[k])
        for name, pose in br.kinematics.link_poses(data).items():
            place = model.placements[name]
            assert np.allclose(poses.point(place.body, place.position)[k], pose.position, atol=1e-12)
            assert np.allclose(poses.R[place.body, k] @ place.rotation, pose.rotation, atol=1e-12)
    assert np.allclose(kinematics.integrate(q, kinematics.difference(q, q[::-1])), q[::-1], atol=1e-12) or np.allclose(
        np.abs(kinematics.integrate(q, kinematics.difference(q, q[::-1]))), np.abs(q[::-1]), atol=1e-12
    )


@pytest.mark.parametrize("make", [human, lambda: biped("unitree")])
def test_gradients_by_finite_differences(make):
    """Of all targets and of cone limits, which are violated here."""
    model, motion = make(), steps().frames(slice(0, 12))
    targets = RetargetTargets(motion, find_landmarks(motion.figure), find_landmarks(model), None, None, None)
    ik = TrajectoryIk(model, targets.contact_targets(), motion.times, targets.target.standing_q)
    rng = np.random.default_rng(1)
    q = ik.apply_step(targets.initial_guess(), 0.6 * rng.normal(size=(len(motion), len(ik.dofs))))
    g = ik.normal_equations(q).g
    for k, dof in enumerate(ik.dofs):
        step = np.zeros((len(motion), model.nv))
        step[:, dof] = 1e-6
        gradient = (
            ik.normal_equations(ik.kinematics.integrate(q, step)).cost - ik.normal_equations(ik.kinematics.integrate(q, -step)).cost
        ) / 4e-6
        assert np.allclose(gradient, g[:, k], atol=1e-4 * (1 + np.abs(gradient).max())), model.coordinates[dof]


# --- invariants -------------------------------------------------------------------------------


def test_identity():
    """All targets can be met, so the acceleration cost, limits and rest posture must not change the motion by 1 µm."""
    for motion in (waving(human()), waving(br.figures.human40(), 20)):
        assert apart(motion, retarget(motion, motion.figure, contacts={}, ground_height=0.0).motion) < 1e-6


def test_identity_with_fingers_toes_and_collar_bones():
    motion = steps()
    lifted = Motion(motion.figure, motion.times, motion.q + np.array((0, 0, 0.2) + (0,) * (motion.figure.nq - 3)))
    assert apart(lifted, retarget(lifted, motion.figure, contacts={}, ground_height=0.0).motion) < 1e-6


def test_limits_hold_exactly():
    for done in (stepped(), robot_stepped()):
        assert outside(done.motion) == {}
    limited = retarget(waving(human()), biped("unitree"))  # beyond the joint limits of this robot
    assert outside(limited.motion) == {}


@pytest.mark.parametrize("done", [stepped, robot_stepped])
def test_stance_feet_are_locked(done):
    """Stance weight² against pose weights of order one: a conflict of 5 cm moves a foot by at most about 5 cm · 10 / STANCE_WEIGHT²."""
    result = done()
    marks = find_landmarks(result.motion.figure)
    poses = BatchKinematics(result.motion.figure).poses(result.motion.q)
    tolerance = 0.05 * 10 / STANCE_WEIGHT**2 * 25  # [m]
    stance_frames = 0
    for side, sole in marks.soles.items():
        body = marks.bodies[f"{side}_foot"]
        corners = poses.x[body][:, None] + sole.corners @ poses.R[body].transpose(0, 2, 1)
        lowest = (poses.x[body][:, None] + sole.hull @ poses.R[body].transpose(0, 2, 1))[..., 2].min(axis=1)
        flat = result.contacts[f"{side}_heel"] & result.contacts[f"{side}_toe"]
        for a, b in true_intervals(flat):
            stance_frames += b - a
            assert np.ptp(corners[a:b, :, :2], axis=0).max() < tolerance
            assert np.abs(lowest[a:b]).max() < tolerance
            assert np.abs(corners[a:b, :, 2]).max() < tolerance
        assert lowest.min() > -tolerance  # no penetration in swing
    assert stance_frames > 30
    assert result.foot_skate < 0.005
    assert result.penetration < 1000 * tolerance


def test_jerk_is_not_amplified():
    assert stepped().jerk_ratio < 1.5
    assert robot_stepped().jerk_ratio < 1.5
    speeds = np.abs(np.diff(robot_stepped().motion.q[:, 7:], axis=0)).max() * RATE
    assert speeds < 12  # [rad/s] no flips between IK solutions


def test_independent_of_the_start():
    """A trimmed motion gives the same frames, except near the cut and in the stance that it cuts."""
    k, later = 20, 35
    targets = RetargetTargets(steps(), find_landmarks(steps().figure), find_landmarks(human()), None, None, None)
    contacts = {role: label[k:] for role, label in stepped().contacts.items()}
    rest = retarget(steps().frames(slice(k, None)), human(), contacts=contacts, ground_height=targets.ground_height)
    assert apart(stepped().motion.frames(slice(later, None)), rest.motion.frames(slice(later - k, None))) < 1e-3


def test_long_motions_in_pieces(monkeypatch):
    """Two overlapping pieces give the same result as one."""
    monkeypatch.setattr("brachiate.retargeting.pieces.PIECE", 30)
    monkeypatch.setattr("brachiate.retargeting.retarget.OVERLAP", 0.5)
    assert apart(stepped().motion, retarget(steps(), human()).motion) < 5e-4


def test_mirror_symmetry():
    small = br.figures.human28(height=1.5, mass=45.0)
    motion = stepped().motion.frames(slice(0, 25))
    one, other = (retarget(side, small).motion for side in (motion, mirror(motion)))
    assert apart(mirror(one), other) < 1e-9


def test_pose_is_kept_and_path_is_scaled():
    done = robot_stepped()
    legs = {"biped": 0.33 + 0.34 + 0.08}
    assert done.scale == pytest.approx(legs["biped"] / 0.93, abs=0.02)
    assert max(error for role, error in done.landmark_errors.items() if role.endswith(("elbow", "wrist"))) < 1.0  # [cm]
    assert max(done.landmark_errors.values()) < 4.0


def test_figures_without_ankles_arms_or_waist():
    done = retarget(steps(), br.figures.human16())
    assert done.foot_skate < 0.01
    assert {"waist", "neck"} <= {assumption.quantity for assumption in done.motion.assumptions}
    legs = retarget(steps(), biped("numbers"))
    assert {"legs", "arms"} <= {assumption.quantity for assumption in legs.motion.assumptions}
    assert legs.foot_skate < 0.005


def test_robot_to_human():
    """Human to robot and back: elbows and wrists return."""
    back = retarget(robot_stepped().motion.frames(slice(0, 25)), human())
    assert max(error for role, error in back.landmark_errors.items() if role.endswith(("elbow", "wrist"))) < 1.0


# --- contacts ---------------------------------------------------------------------------------


def test_hand_contacts():
    """A palm labeled as in contact is on the ground and stays in place."""
    t = np.arange(30) / RATE
    man = human()
    pose = {"right_knee": 1.9, "left_knee": 1.9}
    for side in ("left", "right"):
        pose |= {f"{side}_hip": limb_orientation(side, forward=100), f"{side}_shoulder": limb_orientation(side, forward=95)}
    q = np.tile(man.configuration(pose), (30, 1))
    q[:, 2] -= 0.3
    q[:, 3:7] = rotations.about_axis(1, np.full(30, 1.3))  # on hands and feet
    q[:, 0] += 0.02 * np.sin(6 * t)
    on = np.zeros(30, bool)
    on[8:22] = True
    done = retarget(Motion(man, t, q), man, contacts={"left_hand": on, "right_hand": on}, ground_height=0.0)
    poses = BatchKinematics(man).poses(done.motion.q)
    for side in ("left", "right"):
        palm = poses.point(*find_landmarks(man).points[f"{side}_hand"])[on]
        assert np.ptp(palm[:, :2], axis=0).max() < 2e-3
        assert np.abs(palm[:, 2]).max() < 0.08


def test_assumptions():
    assumptions = {assumption.quantity: assumption for assumption in robot_stepped().motion.assumptions}
    assert "left_knee left_knee_link" in assumptions["landmarks of biped"].value
    assert assumptions["ground contacts"].argument == "contacts"
    assert float(assumptions["scale of the pelvis path"].value) == pytest.approx(robot_stepped().scale, abs=1e-3)
    assert "head" in assumptions["missing in the target"].value
    seat = retarget(steps().frames(slice(0, 5)), human(), contacts={"seat": np.ones(5, bool)})
    assert any(assumption.quantity == "contacts left out" for assumption in seat.motion.assumptions)


def slid(length: float, frames: int, sides: tuple[str, ...]) -> tuple[RetargetResult, list[tuple[str, str]]]:
    """A standing figure that slides by a length [m] within some frames, with feet in contact; and what is told of its feet."""
    man = human()
    q = np.tile(find_landmarks(man).standing_q, (40, 1))
    q[:, man.joints["root"].q.start] += length * np.clip((np.arange(40) - 15) / frames, 0.0, 1.0)
    done = retarget(Motion(man, np.arange(40) / RATE, q), man, contacts={f"{side}_foot": np.ones(40, bool) for side in sides})
    return done, [(each.quantity, each.value.split()[0]) for each in done.motion.assumptions if each.quantity.endswith(" foot")]


def test_feet_that_slide_together_do_not_step_together():
    """One steps, the other supports the body meanwhile; both assumptions are told."""
    done, told = slid(0.2, 4, ("left", "right"))
    assert np.any([done.contacts[f"{side}_{end}"] for side in ("left", "right") for end in ("heel", "toe")], axis=0).all()
    assert told == [("left foot", "steps"), ("right foot", "slides")]


def test_a_foot_that_slides_far_is_released_as_long_as_it_moves():
    """A briefer release would need accelerations that the source does not have."""
    done, told = slid(0.5, 10, ("left",))
    assert told == [("left foot", "hops")]
    ((liftoff, landing),) = true_intervals(~(done.contacts["left_heel"] | done.contacts["left_toe"]))
    assert abs(liftoff - 15) <= 2
    assert abs(landing - 25) <= 2


def test_airborne_motion_is_not_put_on_the_ground():
    done = retarget(waving(human(), 20), br.figures.human28(height=1.6), contacts={})
    assumptions = {assumption.quantity: assumption.value for assumption in done.motion.assumptions}
    assert assumptions["ground height of the source"] == "0 m"


def test_single_frame():
    done = retarget(steps().frames(slice(0, 1)), human())
    assert len(done.motion) == 1
    assert outside(done.motion) == {}


# --- invalid input ----------------------------------------------------------------------------


def test_invalid_input_is_refused():
    with pytest.raises(MotionError, match=r"No two legs.*left_foot"):
        retarget(steps(), br.figures.box())
    with pytest.raises(ArgumentError, match="expected a model"):
        retarget(steps(), "human28")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"left_foot.*60"):
        retarget(steps(), human(), contacts={"left_foot": np.ones(3, bool)})
    with pytest.raises(ArgumentError, match="scale"):
        retarget(steps(), human(), scale=-1.0)


# --- robots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [G1, "talos_data/robots/talos_reduced.urdf"])
def test_robots(name):
    done = retarget(steps().frames(slice(0, 40)), robot(name))
    assert outside(done.motion) == {}
    assert done.foot_skate < 0.005
    assert done.penetration < 2.0
    assert done.foot_float < 3.0
    assert done.jerk_ratio < 2.0


@cache
def hanging() -> Motion:
    return br.procedural.sample_motion("hang", seconds=2.0, rate=RATE)


@pytest.mark.parametrize("make", [human, lambda: robot(G1)], ids=["human28", "g1"])
def test_grips_are_inferred_and_kept(make):
    # No contacts are given: only grips can support the hanging figure
    done = retarget(hanging(), make())
    assert done.contacts["left_grip"].all()
    assert done.contacts["right_grip"].all()
    (assumptions,) = (assumption for assumption in done.motion.assumptions if assumption.quantity == "other contacts")
    assert assumptions.value == "left_hand 100%, right_hand 100%"
    assert done.grip_error < 2.0
    hands = find_landmarks(done.motion.figure)
    poses = BatchKinematics(done.motion.figure).poses(done.motion.q)
    for side in ("left", "right"):
        assert np.ptp(poses.point(*hands.points[f"{side}_hand"]), axis=0).max() < 3e-3
    # The shoulders of human28 are at their twist limits. (Independent frames: 300 for G1.)
    assert done.jerk_ratio < (3.0 if done.motion.figure.name.startswith("g1") else 15.0)


def test_no_grips_in_stance():
    assert not stepped().contacts["left_grip"].any()
    assert "other contacts" not in {assumption.quantity for assumption in stepped().motion.assumptions}


def test_grips_from_contact_labels():
    motion = hanging()
    labels = br.check(motion).contacts
    assert {label.kind for label in labels.contacts} == {"grip"}
    assert retarget(motion, human(), contacts=labels).grip_error < 2.0
    letting_go = replace(labels, contacts=tuple(replace(label, end=1.0) for label in labels.contacts))
    done = retarget(motion, human(), contacts=letting_go)
    assert (done.contacts["left_grip"] == (motion.times <= 1.0)).all()
    assert done.grip_error < 2.0


def test_contacts_are_handed_on():
    # Fails if the labels of the result are not those that were enforced, or are lost.
    done = stepped()
    labels = done.motion.contacts
    assert labels is not None
    assert labels.terrain.height == 0.0
    times, parts = done.motion.times, {label.part for label in labels.contacts}
    for side in ("left", "right"):
        enforced = done.contacts[f"{side}_heel"] | done.contacts[f"{side}_toe"]
        found = np.any([labels.active(part, times) for part in parts if part.startswith(side)], axis=0)
        assert (found == enforced).mean() > 0.95  # the shortest contacts are left out, and the shortest gaps closed
    mirrored = mirror(done.motion).contacts
    assert {label.part for label in mirrored.of("left_heel")} <= {"left_heel"}
    assert [(label.start, label.end) for label in mirrored.of("left_heel")] == [
        (label.start, label.end) for label in labels.of("right_heel")
    ]


def test_deprecated_names():
    motion = steps().frames(slice(0, 3))
    with pytest.warns(DeprecationWarning, match="use retarget"):
        result = retargeted(motion, human(), progress=False)
    with pytest.warns(DeprecationWarning, match=r"retarget\(\.\.\.\)\.motion\.q"):
        assert result.q is result.motion.q
    with pytest.warns(DeprecationWarning, match="foot_skate"):
        assert result.skate == result.foot_skate
    with pytest.warns(DeprecationWarning, match="ground_height"):
        retarget(motion, human(), ground=0.0)
    with pytest.raises(AttributeError, match="'RetargetResult' object has no attribute 'nonsense'"):
        _ = result.nonsense
