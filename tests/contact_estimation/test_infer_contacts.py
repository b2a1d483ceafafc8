"""Contact inference: contact points, floor, treadmill, ground contacts, grips and steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.contact_estimation.contact_confidence import contact_confidence
from brachiate.contact_estimation.floor import estimate_treadmill
from brachiate.contact_estimation.ground_reaction import GRIP, NO_CONTACT, SUPPORT
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.errors import BrachiateError
from brachiate.intervals import apply_hysteresis, sustained_intervals
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain


def dynamics_of(motion, terrain=None, cutoff=10.0):
    return MotionDynamics(motion.figure, MotionSpline(motion.figure, motion.times, motion.q, cutoff).at(motion.times), terrain or Terrain())


@pytest.fixture(scope="module")
def walking():
    motion = procedural.sample_motion("walk", speed=1.2, step_length=0.65, seconds=4.0)
    dynamics = dynamics_of(motion)
    return dynamics, *infer_contacts(dynamics)


# --- contact points ------------------------------------------------------------------------------


def test_feet_have_heels_and_toes():
    points = find_contact_points(br.figures.human28())
    assert {"left_heel", "left_toe", "right_heel", "right_toe", "left_hand", "pelvis", "head"} <= set(points.parts)
    assert "left_foot" not in points.parts
    link = dict(zip(points.parts, points.links, strict=True))
    assert link["left_heel"] == link["left_toe"] == "left_foot"


def test_foot_with_toe_joint_has_a_ball():
    walks, squats = (set(find_contact_points(procedural.sample_motion(name, seconds=2.0).figure).parts) for name in ("walk", "squat"))
    assert {"left_heel", "left_ball", "left_toes"} <= walks
    assert {"left_heel", "left_toe"} <= squats  # without a toe joint
    assert "left_ball" not in squats


def test_joints_have_points_of_one_link():
    figure = br.figures.human28()
    points = find_contact_points(figure)
    shank = points.parts.index("left_shank")
    # The shank keeps its points at the knee; those at the ankle belong to the foot
    assert (points.part == shank).sum() >= 1
    ankle = figure.links["left_foot"].position
    assert all(np.linalg.norm(at - ankle) > 0.02 for at in points.position[points.part == shank])


def test_points_of_all_shapes():
    b = br.ModelBuilder("all")
    shapes = [
        br.Sphere(radius=0.1), br.Capsule(radius=0.1, length=0.3), br.Box(size=(0.1, 0.2, 0.3)), br.Cylinder(radius=0.1, length=0.3),
        br.Ellipsoid(radii=(0.1, 0.2, 0.3)),
    ]  # fmt: skip
    for k, shape in enumerate(shapes):
        joint = br.Revolute("y") if k else br.Free()
        parent = f"link{k - 1}" if k else None
        b.link(f"link{k}", parent=parent, joint=joint, at=(1.0 * k, 0, 0), mass=1.0, inertia=(1, 1, 1), shapes=[shape])
    points = find_contact_points(b.build())
    reach = {"link0": 0.1, "link1": 0.25, "link2": 0.15, "link3": 0.15, "link4": 0.3}  # [m] along z
    for part, high in reach.items():
        indices = points.part == points.parts.index(part)
        assert (points.position[indices, 2] + points.radius[indices]).max() == pytest.approx(high, rel=0.02)


# --- inference -----------------------------------------------------------------------------------


def test_hysteresis_and_sustained_intervals():
    on = np.array([0, 0, 1, 0, 0, 0, 0, 0, 0], bool)
    stays = np.array([0, 1, 1, 1, 0, 1, 1, 0, 0], bool)
    assert apply_hysteresis(on, stays).astype(int).tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0]
    times = np.arange(100) / 100
    flags = np.zeros(100, bool)
    flags[10:30] = flags[33:40] = flags[60:62] = True  # a gap of 0.03 s, and a short interval
    assert sustained_intervals(times, flags) == [(10, 39)]


def test_footsteps_of_a_walk(walking):
    dynamics, labels, _ = walking
    heels = {side: labels.of(f"{side}_heel") for side in ("left", "right")}
    assert all(3 <= len(found) <= 5 for found in heels.values())
    starts = sorted((label.start, side) for side, found in heels.items() for label in found if label.start > 0.1)
    assert all(a[1] != b[1] for a, b in pairwise(starts))
    # Step time = step length / speed
    assert np.diff([s for s, _ in starts]) == pytest.approx(0.65 / 1.2, rel=0.1)
    feet = np.stack(
        [labels.active(part, dynamics.times) for part in dynamics.contact_points.parts if part.endswith(("heel", "ball", "toe", "toes"))]
    )
    assert feet.any(axis=0).all()
    assert not any(labels.of(part) for part in dynamics.contact_points.parts if "hand" in part or "shank" in part)


def test_floor_height(walking):
    dynamics, labels, assumptions = walking
    assert labels.terrain.height == pytest.approx(0.0, abs=0.005)
    assert any(assumption.quantity == "floor" for assumption in assumptions)
    motion = procedural.sample_motion("walk", seconds=3.0)
    q = motion.q.copy()
    q[:, 2] += 0.8
    high = dynamics_of(Motion(motion.figure, motion.times, q))
    assert infer_contacts(high)[0].terrain.height == pytest.approx(0.8, abs=0.005)
    assert dynamics.unconverged_frames == 0


def test_grips_at_a_bar():
    motion = procedural.sample_motion("hang", seconds=3.0)
    labels, assumptions = infer_contacts(dynamics_of(motion))
    grips = {label.part: label for label in labels.contacts if label.kind == "grip"}
    assert set(grips) == {"left_hand", "right_hand"}
    assert all(label.end - label.start > 2.5 for label in grips.values())
    assert not any(label.kind == "support" for label in labels.contacts)
    assert sum(assumption.argument == "contacts" for assumption in assumptions) == 2


def test_step_up_is_inferred():
    # The body moves up and forward onto a box
    figure = br.figures.human28()
    times = np.arange(240) / 60
    q = np.tile(figure.neutral, (240, 1))
    s = np.clip((times - 1.5) / 0.5, 0, 1)
    s = s * s * (3 - 2 * s)
    q[:, 0], q[:, 2] = 0.4 * s, q[:, 2] + 0.25 * s + 0.05 * np.sin(np.pi * s)
    motion = Motion(figure, times, q, captured=True)
    labels, _ = infer_contacts(dynamics_of(motion))
    above = [label for label in labels.contacts if label.height is not None]
    assert {label.part for label in above} == {"left_heel", "left_toe", "right_heel", "right_toe"}
    assert all(label.height == pytest.approx(0.25, abs=0.03) and label.start > 1.5 for label in above)
    # With a given floor no other supports are searched
    given = infer_contacts(dynamics_of(motion, Terrain(0.0)))[0]
    assert all(label.height is None and label.end < 2.0 for label in given.contacts)


def test_treadmill():
    motion = procedural.sample_motion("walk", speed=1.2, seconds=4.0)
    q = motion.q.copy()
    q[:, :3] -= np.outer(motion.times, (1.2, 0.0, 0.0))
    still = dynamics_of(Motion(motion.figure, motion.times, q, captured=True))
    belt = estimate_treadmill(still)
    assert belt == pytest.approx((-1.2, 0.0), abs=0.1)
    labels, assumptions = infer_contacts(still)
    assert any(assumption.quantity == "treadmill" for assumption in assumptions)
    assert len(labels.of("left_heel")) >= 3
    assert estimate_treadmill(dynamics_of(motion)) == (0.0, 0.0)


def test_supports_are_low(walking):
    dynamics, labels, _ = walking
    mode, confidence, _ = contact_confidence(dynamics, labels)
    low = dynamics.point_position[..., 2] < 0.035  # points more than 3 cm above the lowest one are not supports
    assert low[mode == SUPPORT].all()
    assert (mode == SUPPORT).any(axis=1).all()
    assert (confidence[mode == SUPPORT] > 0).all()
    assert (confidence <= 1.0).all()


def test_contact_mode_of_grips():
    motion = procedural.sample_motion("hang", seconds=1.0)
    dynamics = dynamics_of(motion)
    mode, _, _ = contact_confidence(dynamics, ContactLabels((ContactInterval("left_hand", 0.0, 1.0, "grip"),), Terrain(0.0)))
    hand = dynamics.contact_points.part == dynamics.contact_points.parts.index("left_hand")
    assert (mode[:, hand] == GRIP).all()
    assert (mode[:, ~hand] == NO_CONTACT).all()
    loose, _, _ = contact_confidence(
        dynamics, ContactLabels((ContactInterval("left_hand", 0.0, 1.0, "grip"),), Terrain(0.0)), single_point_grips=True
    )
    assert (np.count_nonzero(loose[:, hand] == GRIP, axis=1) == 1).all()


def test_unknown_part_is_refused(walking):
    dynamics, labels, _ = walking
    with pytest.raises(BrachiateError, match="left_heel"):
        contact_confidence(dynamics, ContactLabels((ContactInterval("left_heal", 0.0, 1.0),), labels.terrain))


def test_force_estimation_converges_from_cold_start():
    # Before takeoff of an animated (unphysical) jump, with few points in contact
    motion = procedural.sample_motion("jump")
    dynamics = dynamics_of(motion)
    infer_contacts(dynamics)
    assert dynamics.unconverged_frames == 0
    for k in range(100, 115):
        dynamics.estimate_forces(dynamics.contact_mode[k : k + 1].copy(), dynamics.confidence[k : k + 1].copy(), slice(k, k + 1))
        assert dynamics.unconverged_frames == 0
