"""Offline filter: laws that its results obey, tracking errors, falls, result and files, invalid arguments."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.contact.steps import SteppedScene, distance_outside_patch, friction_ratio

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError
from brachiate.filter.offline import filter_motion
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference, SourceMotion
from brachiate.filter.results.result import FilterResult
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.whole_body.arrays import STANCE_WEIGHT
from brachiate.filter.whole_body.qp import INEQUALITY, ROWS
from brachiate.io.bvh import read_bvh
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion
from brachiate.scenes import Scene
from brachiate.simulate.simulation import Simulation
from brachiate.world.contact_history import LinkHistory

G = 9.81
ROUND_OFF = 1e-9  # relative, as for all contacts: see tests/scenes/test_contact_laws.py


@pytest.fixture(scope="module")
def squatting() -> Motion:
    return procedural.sample_motion("squat", seconds=1.6)


@pytest.fixture(scope="module")
def squat(squatting: Motion) -> Reference:
    return make_reference(squatting)


@pytest.fixture(scope="module")
def squatted(squat: Reference) -> FilterResult:
    return filter_motion(squat, progress=False)


@pytest.fixture(scope="module")
def walk() -> Reference:
    return make_reference(procedural.sample_motion("walk", seconds=2.4))


@pytest.fixture(scope="module")
def walked(walk: Reference) -> FilterResult:
    return filter_motion(walk, torque_scale=np.inf, progress=False)


@pytest.fixture(scope="module", params=("squat", "walk"))
def watched(request: pytest.FixtureRequest) -> SteppedScene:
    """A run, step by step: the walk has feet that land, roll and lift off."""
    reference = request.getfixturevalue(request.param)
    world = simulation_world(reference, torque_scale=np.inf)
    simulation = br.Simulation(world, dt=reference.dt)
    simulation.control(OfflineTracker(world, "man", reference, plan_whole_clip=True).control)
    return SteppedScene(Scene(request.param, "", "", world, simulation, 1.0))


def sole_positions(done: FilterResult) -> list[np.ndarray]:
    """Corners of both soles at the end of a motion: (k, 3) each [m]."""
    figure, last = done.motion.figure, done.reference.stances
    poses = BatchKinematics(figure).poses(done.motion.q[-1:])
    found = []
    for link in ("left_foot", "right_foot"):
        place = figure.placements[link]
        corners = place.position + next(s for s in last if s.link == link).corners @ place.rotation.T
        found.append(poses.x[place.body, 0] + corners @ poses.R[place.body, 0].T)
    return found


# --- laws -----------------------------------------------------------------------------------------


def test_newton_and_euler_hold_in_every_step(watched):
    # The root is unactuated: its six equations of motion have gravity and contact forces only.
    assert len(watched.steps) == 500
    for step in watched.steps:
        load = watched.mass["man"] * G + sum(float(np.linalg.norm(c.force)) for c in step.contacts)
        assert np.abs(watched.root_residual(step)["man"]).max() < ROUND_OFF * load, step.row


def test_the_root_residual_of_the_steps_is_round_off(squatted, walked):
    # Fails if recorded torques and forces do not explain the motion; the second assertion checks that the residual is sensitive.
    for done in (squatted, walked):
        weight = G * done.motion.figure.mass
        made = done.equations_of_motion()
        assert done.root_residual() == made.root_residual()
        assert max(made.root_residual()) < ROUND_OFF * weight
        assert max(replace(made, a=made.a + 0.01).root_residual()) > 1e-3 * weight


def test_contact_forces_are_within_friction_cones_and_contact_areas(watched):
    contacts = [c for step in watched.steps for c in step.contacts]
    assert min(c.wrench[2] for c in contacts) > 0
    assert max(friction_ratio(c) - watched.friction(c) for c in contacts) < 1e-9
    assert max(distance_outside_patch(c) for c in contacts if c.wrench[2] > 1e-9) < 1e-9


def test_torques_are_within_their_limits(squatted):
    assert 0.1 < max(squatted.peak_torque_shares.values()) <= 1.0
    assert np.abs(squatted.recording.torque).max() == pytest.approx(max(squatted.peak_torques.values()))


def test_no_torque_acts_on_the_root(walked):
    assert (walked.recording.torque[:, :6] == 0.0).all()


def test_penetration_is_small(squatted, walked):
    # Measured: 0.01 mm without a fall
    assert squatted.recording.contacts.penetration.max() < 0.002
    assert walked.recording.contacts.penetration.max() < 0.002


def feet_on_the_ground(done: FilterResult) -> dict[str, LinkHistory]:
    """Contact history with the ground, by link."""
    contacts = done.recording.contacts
    return {pair.partition(" on ")[0].removeprefix("man/"): contacts[pair] for pair in contacts.pairs if " on floor/" in pair}


def test_feet_do_not_slip_at_touchdown(walked):
    # Fails if soles touch down while they still move, or toes land on an edge: then it is 0.08 m/s
    slip = [history.slip[history.force[:, 2] > 0.0] for history in feet_on_the_ground(walked).values()]
    assert np.percentile(np.concatenate(slip), 99) < 0.001  # [m/s]


def test_stance_toes_have_priority_over_clearance_of_their_foot(walk):
    """An edge of the foot is so close to the toe joint that it cannot leave the ground fast: the stance has priority."""
    world = simulation_world(walk, torque_scale=np.inf)
    tracker, met = OfflineTracker(world, "man", walk, plan_whole_clip=False), 0
    run = Simulation(world, dt=walk.dt, project=False)
    foot, toes = ([n for n, link in enumerate(tracker.controller.contact_links) if link.endswith(end)] for end in ("foot", "toes"))
    stance = 1.0 / tracker.controller.control.gain[STANCE_WEIGHT]
    for _ in range(450):
        tracker.control()
        P, stands = tracker.controller.qp, tracker.controller.control.supporting_corners
        if stands[foot].sum() == 0 and stands[toes].sum() > 0:
            rows = int(P.counts[ROWS])
            upward = P.C.reshape(len(P.weights), -1)[2, :rows] > 0.9  # rows of points above the ground, by their vertical root component
            bounds = upward & (P.kind[:rows] == INEQUALITY)
            assert (P.compliance[:rows][bounds] > stance).all()
            met += int(bounds.sum())
        run.step()
    assert met > 50


def test_feet_land_in_time(walk, walked):
    on_ground, late = feet_on_the_ground(walked), []
    for stance in walk.stances:
        if stance.link.endswith("foot") and stance.start > 30:
            loaded = on_ground[stance.link].force[stance.start - 30 : stance.start + 30, 2] > 20.0
            late.append(walk.dt * (int(np.argmax(loaded)) - 30))
    assert len(late) > 2
    assert np.abs(late).max() < 0.008


def test_it_is_deterministic(squat, squatted):
    again = filter_motion(squat, progress=False)
    assert (again.motion.q == squatted.motion.q).all()


# --- tracking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["offline", "preview"])
def test_a_squat_is_tracked(squat, mode):
    done = filter_motion(squat, mode=mode, progress=False)
    assert done.success
    assert done.tracking["mpjpe_global_cm"] < 1.0  # measured: 0.5 and 0.4
    assert done.tracking["joint_rms_deg"] < 1.0


def test_a_walk_is_tracked(walk, walked):
    assert walked.success, walked.failure
    assert walked.tracking["mpjpe_root_aligned_cm"] < 4.0  # measured: 1.6 over 4 s
    assert len(walked.motion) == len(walk)


@pytest.mark.parametrize(("name", "close"), [("jump", 10.0), ("kick", 2.0), ("turn", 4.0)])
def test_sample_motions_are_finished(name, close):
    # In flight, on one foot, and in a turn; the jump stays in the air too long, so that much of it changes.
    done = filter_motion(make_reference(procedural.sample_motion(name), hold=0.3), torque_scale=np.inf, progress=False)
    assert done.success, str(done.failure)
    assert done.tracking["mpjpe_root_aligned_cm"] < close


@pytest.mark.parametrize("slope", [10.0, -10.0])
def test_a_walk_goes_up_and_down_a_slope(walk, slope):
    # [DF] VIII: a motion captured on level ground, on one of 10 degrees.
    done = filter_motion(walk, terrain=f"slope:{slope}", torque_scale=np.inf, progress=False)
    assert done.success, str(done.failure)
    q = done.motion.q
    rise = np.polyfit(q[:, 0], q[:, 2], 1)[0]
    assert rise == pytest.approx(np.tan(np.radians(slope)), abs=0.02)
    assert done.recording.contacts.penetration.max() < 2e-3
    assert done.tracking["mpjpe_root_aligned_cm"] < 5.0
    assert done.before.summary["contact_share"] > 0.95  # evaluated on the source terrain


def test_a_slope_rises_towards_its_heading(squat):
    done = filter_motion(squat, terrain=br.Terrain(0.0, 6.0, 90.0), torque_scale=np.inf, progress=False)
    assert done.success, str(done.failure)
    assert done.motion.contacts is not None
    left, right = (done.motion.contacts.terrain.clearance(positions).min() for positions in sole_positions(done))
    assert max(abs(left), abs(right)) < 2e-3


def test_a_possible_motion_stays_physical(squatted):
    assert squatted.check().verdict == "physical"
    assert squatted.check().summary["root_residual_force_peak_N"] < 5.0


def test_bodies_of_other_sizes():
    child = procedural.sample_motion("squat", seconds=0.8, height=1.25, depth=0.3, mass=25.0)
    done = filter_motion(child, progress=False)
    assert done.success
    assert done.tracking["mpjpe_global_cm"] < 1.0


# --- result ---------------------------------------------------------------------------------------


def test_frames_are_those_of_the_reference(squat, squatted):
    assert squatted.motion.times == pytest.approx(squat.times, abs=1e-9)
    assert squatted.motion.contacts is not None
    parts = {label.part for label in squatted.motion.contacts.contacts}
    assert {"left_heel", "right_heel", "left_toe", "right_toe"} <= parts


def test_forces_of_the_motion_are_those_of_the_simulation(walked):
    total = sum(values[:, :3] for values in walked.motion.forces.values())
    assert total[1:] == pytest.approx(walked.recording["man.reaction"][1:], abs=1e-9)
    assert total[0] == pytest.approx(total[1])  # the first frame has no forces


def test_contacts_are_those_of_the_simulation(walked):
    labels, times = walked.motion.contacts, walked.motion.times
    for foot in ("left", "right"):
        parts = [part for part in {c.part for c in labels.contacts} if part.startswith(foot)]
        labeled = np.any([labels.active(part, times) for part in parts], axis=0)
        links = [values for link, values in walked.motion.forces.items() if link.startswith(foot)]
        loaded = np.any([np.linalg.norm(values[:, :3], axis=1) > 0.0 for values in links], axis=0)
        assert labeled[loaded].all()
        assert (labeled & ~loaded).mean() < 0.05  # gaps of some steps are bridged


def test_the_result_has_the_frames_and_skeleton_of_the_source(squatting, squatted, tmp_path):
    motion = squatted.at_source_frames()
    assert len(motion) == len(squatting)
    clip = read_bvh(motion.save(tmp_path / "squat.bvh"))
    assert clip.skeleton.names == squatting.clip.skeleton.names
    assert len(clip) == len(squatting)


def test_files(squatting, squatted, tmp_path):
    pytest.importorskip("matplotlib")
    files = {path.name: path for path in squatted.save(tmp_path / "a" / "b")}
    names = ["forces.csv", "metrics.json", "motion.bvh", "motion.npz", "plot.png", "poses.png", "report.html", "torques.csv"]
    assert sorted(files) == names
    again = br.load_motion(files["motion.npz"], squatting.figure)
    assert (again.q == squatted.motion.q).all()
    assert set(again.forces) == set(squatted.motion.forces)
    forces = np.genfromtxt(files["forces.csv"], delimiter=",", skip_header=1)
    assert forces[:, 3::6].sum(axis=1).mean() == pytest.approx(squatting.figure.mass * G, rel=0.02)  # mean vertical force: the weight
    assert len(np.genfromtxt(files["torques.csv"], delimiter=",", skip_header=1)) == len(squatted.motion)
    metrics = json.loads(files["metrics.json"].read_text())
    assert metrics["success"]
    assert metrics["tracking"] == squatted.tracking
    assert metrics["original"] == squatted.before.summary
    assert metrics["filtered"].keys() == metrics["original"].keys()
    assert len(read_bvh(files["motion.bvh"])) == len(squatting)


def test_the_report_before_has_the_given_contacts_and_terrain(squat, squatting):
    labels = ContactLabels((ContactInterval("left_heel", 0.0, 0.7),), br.Terrain(0.0))
    labelled = FilterResult(squat, squat.motion, {}, None, SourceMotion(squatting, labels))
    assert labelled.before.contacts == labels
    raised = FilterResult(squat, squat.motion, {}, None, SourceMotion(squatting, terrain="flat:-0.05"))
    assert raised.before.contacts.terrain.height == -0.05


def test_the_source_motion_and_its_contacts_reach_the_result(squatting, squat, monkeypatch):
    labels = ContactLabels((ContactInterval("left_heel", 0.0, 1.5), ContactInterval("right_heel", 0.0, 1.5)), br.Terrain(0.0))
    given = []
    monkeypatch.setattr("brachiate.filter.offline._filter_reference", lambda reference, source, *_: given.append((reference, source)))
    filter_motion(squatting, contacts=labels)
    filter_motion(make_reference(squatting, contacts=labels))
    filter_motion(squatting, source_terrain="flat:0.0", terrain="slope:5")
    filter_motion(replace(squat, source=None))
    sources = [source for _, source in given]
    assert sources == [SourceMotion(squatting, labels)] * 2 + [
        SourceMotion(squatting, None, "flat:0.0"),
        SourceMotion(squat.original, resampled=True),
    ]
    assert given[2][0].terrain.slope == 5.0


def test_reports_are_evaluated_once(squatted, squatting):
    assert squatted.source.motion is squatting
    assert squatted.before is squatted.before
    assert squatted.check() is squatted.check()


def test_the_report_opens_in_the_browser(squatted, monkeypatch):
    pytest.importorskip("matplotlib")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = squatted.show()
    assert opened == [page.as_uri()]
    assert "Finished." in page.read_text()


def test_old_names_are_deprecated(squatted, squatting):
    for old, new in {
        "run": "recording",
        "blame": "failure",
        "finished": "success",
        "reasons": "deviations",
        "torques": "joint_torques",
    }.items():
        with pytest.warns(DeprecationWarning, match=f"FilterResult.{old} is deprecated.*use FilterResult.{new}"):
            assert getattr(squatted, old) is getattr(squatted, new)
    with pytest.warns(DeprecationWarning, match="at_source_frames"):
        assert len(squatted.like(squatting)) == len(squatting)


# --- falls ----------------------------------------------------------------------------------------


def test_a_fall_ends_the_run_and_earlier_frames_are_kept(squat):
    # A tenth of the torque does not support the body
    done = filter_motion(squat, torque_scale=0.1, retries=0, progress=False)
    assert not done.success
    assert "pelvis" in str(done.failure)
    assert 10 < len(done.motion) < len(squat)
    assert done.motion.times[-1] == pytest.approx(squat.times[0] + done.failure.time, abs=2 * squat.dt)
    assert max(done.peak_torque_shares.values()) <= 0.1 + 1e-12
    assert np.isfinite(done.tracking["mpjpe_global_cm"])


# --- invalid arguments ----------------------------------------------------------------------------


def test_unknown_modes_are_refused(squat):
    with pytest.raises(ArgumentError, match="offline, preview, online"):
        filter_motion(squat, mode="live")


def test_a_reference_without_stance_is_refused(squat):
    with pytest.raises(ArgumentError, match="no stance and no grip"):
        filter_motion(replace(squat, stances=()))


def test_contacts_and_source_terrain_exclude_each_other(squatting):
    labels = ContactLabels((ContactInterval("left_heel", 0.0, 1.0),), br.Terrain(0.0))
    with pytest.raises(ArgumentError, match="not both"):
        filter_motion(squatting, source_terrain="flat", contacts=labels)


def test_old_arguments_are_deprecated(squat):
    with pytest.warns(DeprecationWarning, match="'strength' of filter_motion is deprecated.*use 'torque_scale'"):  # noqa: SIM117
        with pytest.raises(ArgumentError, match="torque_scale"):
            filter_motion(squat, strength=-1.0)


@pytest.mark.parametrize("scale", [None, np.inf])
def test_torques_are_unlimited_without_a_scale(squat, scale):
    effort = simulation_world(squat, torque_scale=scale).model.effort
    assert np.isinf(effort[6:]).all()


@pytest.mark.parametrize(("option", "value"), [("friction", 0.0), ("friction", np.nan), ("torque_scale", -1.0), ("torque_scale", np.nan)])
def test_bad_numbers_are_refused(squat, option, value):
    with pytest.raises(ArgumentError, match=option):
        filter_motion(squat, **{option: value})


@pytest.mark.parametrize(("name", "value"), [("joint_stiffness", 0.0), ("friction_share", 1.5), ("replan_interval", np.nan), ("plan", 3)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ArgumentError, match=name):
        FilterSettings(**{name: value})
