"""Preprocessing into a tracking reference: properties of the result, repaired defects, options, bad input."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural, rotations
from brachiate.anatomy.feet import find_feet
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.posture_ik import find_knees
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion


@pytest.fixture(scope="module")
def walk() -> Motion:
    return procedural.sample_motion("walk", speed=1.2, step_length=0.65, seconds=2.6)


@pytest.fixture(scope="module")
def walk_reference(walk: Motion) -> Reference:
    return make_reference(walk)


@pytest.fixture(scope="module")
def jump_reference() -> Reference:
    return make_reference(procedural.sample_motion("jump"))


def corners(reference: Reference, stance) -> np.ndarray:
    """Positions of the corners of a stance in its frames: (frames, k, 3) [m]."""
    place = reference.figure.placements[stance.link]
    poses = BatchKinematics(reference.figure).poses(reference.q[stance.start : stance.end])
    at = place.position + stance.corners @ place.rotation.T
    return poses.x[place.body][:, None] + at @ poses.R[place.body].transpose(0, 2, 1)


def contact_error(reference: Reference) -> float:
    """Largest distance of a corner in contact from its foothold [m]."""
    errors = [
        np.linalg.norm(corners(reference, stance) - stance.corner_positions, axis=2)[stance.corner_contact] for stance in reference.stances
    ]
    return float(np.concatenate(errors).max())


def lowest_sole(reference: Reference) -> float:
    """Height of the lowest point of any sole at any time [m]."""
    poses = BatchKinematics(reference.figure).poses(reference.q)
    found = []
    for foot in find_feet(find_landmarks(reference.figure)):
        parts = [(foot.body, foot.sole.hull)] + ([(foot.toes.body, foot.toes.corners)] if foot.toes is not None else [])
        found += [float((poses.x[body][:, None] + at @ poses.R[body].transpose(0, 2, 1))[..., 2].min()) for body, at in parts]
    return min(found)


def with_root(motion: Motion, **changes) -> Motion:
    """A motion with its root shifted along x, y or z [m], by a constant or frame by frame."""
    q = motion.q.copy()
    for name, by in changes.items():
        q[:, "xyz".index(name)] += by
    return replace(motion, q=q, clip=None, links={})


# --- properties ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["walk_reference", "jump_reference"])
def test_contacts_stay_at_their_footholds_without_penetration(which, request):
    reference = request.getfixturevalue(which)
    assert contact_error(reference) < 1e-3
    assert lowest_sole(reference) > -1e-3
    for stance in reference.stances:
        assert stance.corner_contact.any(axis=1).all()
        assert np.abs(stance.corner_positions[:, 2]).max() < 1e-9
        assert np.allclose(stance.rotation @ stance.rotation.T, np.eye(3))


def test_velocities_and_accelerations_are_derivatives_of_the_configurations(walk_reference):
    data = br.Data(walk_reference.figure)
    k, dt = np.arange(200, 400, 20), walk_reference.dt
    for i in k:  # Simpson's rule: the velocities between two configurations lead from one to the other
        v = br.manifold.difference(data, walk_reference.q[i - 1], walk_reference.q[i + 1]) / (2 * dt)
        assert np.abs(v - (walk_reference.v[i - 1] + 4 * walk_reference.v[i] + walk_reference.v[i + 1]) / 6).max() < 2e-4 * (
            1 + np.abs(walk_reference.v[i]).max()
        )
        a = (walk_reference.v[i + 1] - walk_reference.v[i - 1]) / (2 * dt)
        assert (
            np.abs(a - (walk_reference.a[i - 1] + 4 * walk_reference.a[i] + walk_reference.a[i + 1]) / 6).max()
            < 2e-3 * np.abs(walk_reference.a).max()
        )


def test_walking_has_no_flight_phase_and_jumping_has_one(walk_reference, jump_reference):
    assert walk_reference.flights() == []
    (flight,) = jump_reference.flights()
    assert 0.3 < flight[1] - flight[0] < 0.7
    assert jump_reference.in_stance["left_foot"][0]
    assert not jump_reference.in_stance["left_foot"][round(0.5 * sum(flight) / jump_reference.dt)]


def test_knees_keep_a_minimum_flexion(walk_reference, jump_reference):
    for reference in (walk_reference, jump_reference):
        for knee in find_knees(find_landmarks(reference.figure), reference.q):
            assert (knee.flexion_sign * (reference.q[:, knee.q_index] - knee.straight_angle)).min() > 0.03


def test_swing_feet_are_clear_of_the_ground(walk_reference):
    poses = BatchKinematics(walk_reference.figure).poses(walk_reference.q)
    for foot in find_feet(find_landmarks(walk_reference.figure)):
        on = walk_reference.in_stance[foot.link] | walk_reference.in_stance[foot.toes.link]
        wide = np.convolve(on, np.ones(2 * round(0.05 / walk_reference.dt) + 1), "same") > 0
        heights = (poses.x[foot.body][:, None] + foot.sole.hull @ poses.R[foot.body].transpose(0, 2, 1))[..., 2].min(axis=1)
        assert heights[~wide].min() > 0.008


def test_foot_rolls_from_heel_to_toes(walk_reference):
    stance = next(stance for stance in walk_reference.stances if stance.link == "left_foot" and stance.start > 0)
    assert stance.corner_contact[0].tolist() == [True, True, False, False]
    assert stance.corner_contact[-1].all()
    toes = next(s for s in walk_reference.stances if s.link == "left_toes" and s.start >= stance.start)
    assert stance.start < toes.start < stance.end < toes.end


def test_displacement_is_small_and_reported(walk_reference):
    assert walk_reference.displacement.mean < 2.0
    assert walk_reference.displacement.link in walk_reference.figure.links
    assert {"floor", "smoothing"} <= {assumption.quantity for assumption in walk_reference.assumptions}
    assert str(walk_reference.displacement).startswith("mean ")


def test_consistent_motion_is_hardly_changed():
    reference = make_reference(procedural.sample_motion("squat", seconds=2.0), smooth=0.0)
    assert reference.displacement.max < 0.1
    assert all(stance.corner_contact.all() for stance in reference.stances)


@pytest.mark.parametrize(("frequency", "width"), [(6.0, "12 ms"), (25.0, "25 ms")])
def test_noisy_motions_are_smoothed_more(frequency, width):
    # A Gaussian of standard deviation σ reduces a vibration by exp((ω σ)² / 2): 1.1 times at 6 Hz, 5.9 times at 25 Hz.
    figure, times = br.figures.human28(), np.arange(241) / 240
    q = np.tile(figure.neutral, (len(times), 1))
    q[:, figure.joints["left_elbow"].q] += 0.3 + 0.003 * np.sin(2 * np.pi * frequency * times)[:, None]
    reference = make_reference(Motion(figure, times, q))
    smoothing = next(assumption for assumption in reference.assumptions if assumption.quantity == "smoothing")
    reduction = float(re.search(r"accelerations ([\d.]+) times", smoothing.reason)[1])
    assert smoothing.value == width
    assert reduction == pytest.approx(np.exp((2 * np.pi * frequency * 0.012) ** 2 / 2), rel=0.1)


def test_preprocessing_of_a_reference_changes_little(walk_reference):
    again = make_reference(walk_reference.motion, smooth=0.0)
    assert again.displacement.mean < 0.5  # [cm] the dead band takes a small foot roll as flat again
    assert contact_error(again) < 1e-3


def test_check_reports_no_skate_and_no_penetration(walk_reference):
    report = br.check(walk_reference.motion)
    assert report.summary["foot_skate_mean_m_s"] < 0.005
    assert report.summary["penetration_max_mm"] < 1.0


# --- defects --------------------------------------------------------------------------------------


def test_floor_offset_is_removed(walk, walk_reference):
    reference = make_reference(with_root(walk, z=0.07))
    assert reference.terrain.height == 0.0
    assert contact_error(reference) < 1e-3
    assert np.abs(reference.q[:, :3] - walk_reference.q[:, :3]).max() < 0.01
    assert np.abs(reference.original.q[:, 2] - walk_reference.original.q[:, 2]).max() < 0.01


def test_skating_feet_are_locked(walk):
    t = walk.times
    reference = make_reference(with_root(walk, x=0.03 * np.sin(6.0 * t), y=0.02 * np.sin(5.0 * t)), source_terrain="flat")
    assert contact_error(reference) < 1e-3
    assert reference.flights() == []


def test_constant_ankle_error_is_removed():
    motion = procedural.sample_motion("squat", seconds=2.0)
    q = motion.q.copy()
    place = motion.figure.joints["left_ankle"].q
    q[:, place] = rotations.product(q[:, place], rotations.from_rotation_vector(np.array((0.1, 0.0, 0.0))))
    reference = make_reference(replace(motion, q=q, clip=None, links={}))
    assert contact_error(reference) < 1e-3
    assert next(stance for stance in reference.stances if stance.link == "left_foot").corner_contact.all()


def test_pelvis_is_lowered_to_reach_footholds():
    motion = procedural.sample_motion("squat", seconds=2.0)
    labels = br.ContactLabels(
        tuple(br.ContactInterval(part, 0.0, 2.0) for part in ("left_heel", "left_toe", "right_heel", "right_toe")), br.Terrain(-0.05)
    )
    reference = make_reference(motion, contacts=labels)
    assert contact_error(reference) < 1e-3
    assert reference.terrain.height == -0.05
    lower = reference.original.q[:, 2] - reference.q[:, 2]
    assert 0.02 < lower[0] < 0.06  # the legs are almost straight
    assert lower.min() > -0.01


def test_treadmill_belt_is_removed(walk):
    belt = make_reference(with_root(walk, x=-1.2 * walk.times))
    assert belt.terrain.belt == (0.0, 0.0)
    assert any(assumption.quantity == "treadmill" for assumption in belt.assumptions)
    assert belt.original.q[-1, 0] > 2.0
    assert contact_error(belt) < 1e-3


def test_gripping_hands_stay_in_place():
    reference = make_reference(procedural.sample_motion("hang", seconds=2.0))
    assert {stance.link for stance in reference.stances if stance.kind == "grip"} == {"left_hand", "right_hand"}
    assert contact_error(reference) < 1e-3


def test_retargeted_motions_of_other_figures(walk):
    for figure in (br.figures.human28(), br.figures.human16()):
        reference = make_reference(br.retarget(walk.frames(slice(0, 150)), figure).motion)
        assert contact_error(reference) < 2e-3, figure.name


# --- options --------------------------------------------------------------------------------------


def test_hold_ends_at_rest(walk, walk_reference):
    reference = make_reference(walk, hold=0.4)
    assert reference.times[-1] - walk_reference.times[-1] == pytest.approx(0.65, abs=0.01)
    last = slice(-round(0.2 / reference.dt), None)
    assert np.abs(reference.v[last]).max() < 0.05
    assert contact_error(reference) < 1e-3


def test_foot_that_lands_in_the_slowdown_before_a_hold_is_in_stance(walk):
    # The walk ends with a foot just above the ground: held there, the body would be supported by one foot, and fall.
    reference = make_reference(walk.frames(slice(0, 252)), hold=0.6)
    assert {stance.link for stance in reference.stances if stance.end == len(reference)} >= {"left_foot", "right_foot"}


def test_each_stance_has_its_own_rest_pitch(walk):
    # Fails with one rest pitch for all stances: half of them would be on the heel throughout.
    q, place = walk.q.copy(), walk.figure.joints["left_ankle"].q
    tilt = 0.05 * np.tanh(8.0 * (walk.times - walk.times.mean()))
    q[:, place] = rotations.product(q[:, place], rotations.from_rotation_vector(tilt[:, None] * np.array((0.0, 1.0, 0.0))))
    reference = make_reference(replace(walk, q=q, clip=None, links={}))
    stances = [s for s in reference.stances if s.link == "left_foot" and (s.end - s.start) * reference.dt > 0.3]
    assert len(stances) >= 2
    for stance in stances:
        assert stance.corner_contact.all(axis=1).mean() > 0.2


@pytest.mark.parametrize(("tilt", "flat"), [(-0.17, True), (-0.35, False)])
def test_stance_on_the_heel_is_flat_unless_the_pitch_is_large(tilt, flat):
    # Later stances of the left foot have raised toes: by a plausible ankle error, or by more.
    walk = procedural.sample_motion("walk", seconds=4.0)
    q, place = walk.q.copy(), walk.figure.joints["left_ankle"].q
    more = 0.5 * tilt * (1.0 + np.tanh(12.0 * (walk.times - 2.6)))
    q[:, place] = rotations.product(q[:, place], rotations.from_rotation_vector(more[:, None] * np.array((0.0, 1.0, 0.0))))
    reference = make_reference(replace(walk, q=q, clip=None, links={}))
    stances = [s for s in reference.stances if s.link == "left_foot" and (s.end - s.start) * reference.dt > 0.2]
    assert (stances[-1].corner_contact.all(axis=1).mean() > 0.2) == flat


def test_light_style_differs_slightly(walk, walk_reference):
    light = make_reference(walk, style="light")
    assert contact_error(light) < 1e-3
    assert 1e-3 < np.abs(light.q - walk_reference.q).max() < 0.5


def test_frame_interval(walk):
    reference = make_reference(walk, dt=0.005)
    assert reference.dt == pytest.approx(0.005)
    assert contact_error(reference) < 1e-3


# --- bad input -----------------------------------------------------------------------------------


def test_nan_is_refused_with_joint_and_frame(walk):
    q = walk.q.copy()
    q[7, walk.figure.joints["left_knee"].q] = np.nan
    with pytest.raises(ArgumentError, match=r"joint 'left_knee' is nan in frame 7"):
        replace(walk, q=q)


def test_unknown_parts_are_refused(walk):
    labels = br.ContactLabels((br.ContactInterval("left_fin", 0.0, 1.0),), br.Terrain(0.0))
    with pytest.raises(UnknownName, match=r"'left_fin' is not a part of figure"):
        make_reference(walk, contacts=labels)
    with pytest.raises(ArgumentError, match="contacts: expected ContactLabels"):
        make_reference(walk, contacts={"left_foot": [True]})  # type: ignore[arg-type]


def test_invalid_arguments_are_refused(walk):
    with pytest.raises(MotionError, match=r"has 3 frames over"):
        make_reference(walk.frames(slice(0, 3)))
    with pytest.raises(ArgumentError, match="style: 'heavy' is not one of: default, light"):
        make_reference(walk, style="heavy")
    with pytest.raises(ArgumentError, match="expected a Motion"):
        make_reference("walk.bvh")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="dt must be"):
        make_reference(walk, dt=0.0)
    with pytest.raises(ArgumentError, match="not both"):
        make_reference(walk, source_terrain="flat", contacts=br.ContactLabels((), br.Terrain(0.0)))


def test_figure_without_feet_is_refused():
    chain, worm = br.figures.chain(3), br.figures.inchworm()
    for figure, what in ((chain, "has no floating base"), (worm, "No two legs")):
        with pytest.raises(MotionError, match=what):
            make_reference(Motion(figure, np.arange(50) / 60, np.tile(figure.neutral, (50, 1))))


def test_motion_without_contact_is_refused(walk):
    t = walk.times - walk.times[0]
    with pytest.raises(MotionError, match=r"No contact was found in walk.*source_terrain="):
        make_reference(with_root(walk, z=30.0 * t + 3.0 * np.sin(40.0 * t)))


def test_options_are_kept_for_another_terrain(walk):
    # Fails if style and smoothing are lost when the filter preprocesses the motion again.
    result = filter_motion(make_reference(walk, style="light", smooth=0.03), terrain="slope:2", torque_scale=np.inf, progress=False)
    assert result.reference.options == {"smooth": 0.03, "style": "light", "roles": None, "supports": "auto"}
