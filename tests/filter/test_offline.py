"""The dynamics filter: laws that its results obey, how closely it follows, how it gives up, doors."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.contact.steps import Watched, outside, rubbing

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError
from brachiate.filter.offline import Clip, filter_motion, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.settings import FilterSettings
from brachiate.filter.whole_body.arrays import STANCE_WEIGHT
from brachiate.filter.whole_body.qp import AT_LEAST, ROWS
from brachiate.io.bvh import read_bvh
from brachiate.kinematics_batch import Many
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import Motion, motion_of
from brachiate.scenes import Scene
from brachiate.simulate.simulation import Simulation
from brachiate.world.contact_history import LinkHistory

G = 9.81
ROUND_OFF = 1e-9  # relative, as for all that touches: see tests/scenes/test_contact_laws.py


@pytest.fixture(scope="module")
def squatting() -> Motion:
    return motion_of(procedural.make("squat", seconds=1.6))


@pytest.fixture(scope="module")
def squat(squatting: Motion) -> Reference:
    return clean(squatting)


@pytest.fixture(scope="module")
def squatted(squat: Reference) -> Filtered:
    return filter_motion(squat, progress=False)


@pytest.fixture(scope="module")
def walk() -> Reference:
    return clean(motion_of(procedural.make("walk", seconds=2.4)))


@pytest.fixture(scope="module")
def walked(walk: Reference) -> Filtered:
    return filter_motion(walk, strength=np.inf, progress=False)


@pytest.fixture(scope="module", params=("squat", "walk"))
def watched(request: pytest.FixtureRequest) -> Watched:
    """A run seen step by step: the walk has feet that land, roll and leave."""
    reference = request.getfixturevalue(request.param)
    world = world_of(reference, strength=np.inf)
    simulation = br.Simulation(world, dt=reference.dt)
    simulation.control(Clip(world, "man", reference, whole=True).control)
    return Watched(Scene(request.param, "", "", world, simulation, 1.0))


def sole_places(done: Filtered) -> list[np.ndarray]:
    """Corners of both soles at the end of a motion: (k, 3) each [m]."""
    figure, last = done.motion.figure, done.reference.stances
    poses = Many(figure).poses(done.motion.q[-1:])
    found = []
    for link in ("left_foot", "right_foot"):
        place = figure.placements[link]
        corners = place.position + next(s for s in last if s.link == link).corners @ place.rotation.T
        found.append(poses.x[place.body, 0] + corners @ poses.R[place.body, 0].T)
    return found


# --- laws -----------------------------------------------------------------------------------------


def test_newton_and_euler_hold_in_every_step(watched):
    # The root has no motor: what its motion takes is gravity and the forces of contact, about all six of its coordinates.
    assert len(watched.steps) == 500
    for step in watched.steps:
        load = watched.mass["man"] * G + sum(float(np.linalg.norm(c.force)) for c in step.contacts)
        assert np.abs(watched.missing(step)["man"]).max() < ROUND_OFF * load, step.row


def test_nobody_brings_anything(squatted, walked):
    # Fails if the result is not what the recorded torques and forces make of the body; and the number itself would show it.
    for done in (squatted, walked):
        weight = G * done.motion.figure.mass
        made = equations(done)
        assert max(made.nobody_brings()) < ROUND_OFF * weight
        assert max(replace(made, a=made.a + 0.01).nobody_brings()) > 1e-3 * weight


def test_forces_of_the_ground_push_within_their_cones_from_where_it_touches(watched):
    contacts = [c for step in watched.steps for c in step.contacts]
    assert min(c.wrench[2] for c in contacts) > 0
    assert max(rubbing(c) - watched.friction(c) for c in contacts) < 1e-9
    assert max(outside(c) for c in contacts if c.wrench[2] > 1e-9) < 1e-9


def test_torques_keep_to_what_motors_bring(squatted):
    assert 0.1 < max(squatted.effort_share.values()) <= 1.0
    assert np.abs(squatted.run.torque).max() == pytest.approx(max(squatted.effort.values()))


def test_no_torque_acts_on_the_root(walked):
    assert (walked.run.torque[:, :6] == 0.0).all()


def test_nothing_is_in_the_ground(squatted, walked):
    # Measured: 0.01 mm while nobody falls
    assert squatted.run.contacts.depth.max() < 0.002
    assert walked.run.contacts.depth.max() < 0.002


def feet_on_the_ground(done: Filtered) -> dict[str, LinkHistory]:
    """What touched the ground, by link."""
    touched = done.run.contacts
    return {pair.partition(" on ")[0].removeprefix("man/"): touched[pair] for pair in touched.pairs if " on floor/" in pair}


def test_feet_do_not_rub_over_the_ground_as_they_come_down(walked):
    # Fails if soles touch while they still move, and toes come down by an edge: then it is 0.08 m/s
    rubs = [history.slip[history.force[:, 2] > 0.0] for history in feet_on_the_ground(walked).values()]
    assert np.percentile(np.concatenate(rubs), 99) < 0.001  # [m/s]


def test_toes_that_stand_are_not_moved_to_keep_their_foot_off_the_ground(walk):
    """An edge of the foot is so near to the joint of its toes that it cannot get off the ground fast: what stands comes first."""
    world = world_of(walk, strength=np.inf)
    clip, met = Clip(world, "man", walk, whole=False), 0
    run = Simulation(world, dt=walk.dt, settle=False)
    foot, toes = ([n for n, link in enumerate(clip.body.soles) if link.endswith(end)] for end in ("foot", "toes"))
    stance = 1.0 / clip.body.control.gain[STANCE_WEIGHT]
    for _ in range(450):
        clip.control()
        P, stands = clip.body.program, clip.body.control.stands
        if stands[foot].sum() == 0 and stands[toes].sum() > 0:
            rows = int(P.count[ROWS])
            upward = P.C.reshape(len(P.weight), -1)[2, :rows] > 0.9  # of the root: of what is above the ground
            bounds = upward & (P.kind[:rows] == AT_LEAST)
            assert (P.give[:rows][bounds] > stance).all()
            met += int(bounds.sum())
        run.step()
    assert met > 50


def test_feet_come_down_in_time(walk, walked):
    on_ground, late = feet_on_the_ground(walked), []
    for stance in walk.stances:
        if stance.link.endswith("foot") and stance.start > 30:
            bears = on_ground[stance.link].force[stance.start - 30 : stance.start + 30, 2] > 20.0
            late.append(walk.dt * (int(np.argmax(bears)) - 30))
    assert len(late) > 2
    assert np.abs(late).max() < 0.008


def test_the_same_comes_out_again(squat, squatted):
    again = filter_motion(squat, progress=False)
    assert (again.motion.q == squatted.motion.q).all()


# --- how closely it follows -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["offline", "preview"])
def test_a_squat_is_followed(squat, mode):
    done = filter_motion(squat, mode=mode, progress=False)
    assert done.finished
    assert done.tracking["mpjpe_global_cm"] < 1.0  # measured: 0.5 and 0.4
    assert done.tracking["joint_rms_deg"] < 1.0


def test_a_walk_is_walked(walk, walked):
    assert walked.finished, walked.blame
    assert walked.tracking["mpjpe_root_aligned_cm"] < 4.0  # measured: 1.6 over 4 s
    assert len(walked.motion) == len(walk)


@pytest.mark.parametrize(("name", "close"), [("jump", 10.0), ("kick", 2.0), ("turn", 4.0)])
def test_ready_made_motions_are_carried_through(name, close):
    # Off the ground, on one foot, and round a corner; the jump stays in the air too long, so much of it is changed.
    done = filter_motion(clean(motion_of(procedural.make(name)), hold=0.3), strength=np.inf, progress=False)
    assert done.finished, str(done.blame)
    assert done.tracking["mpjpe_root_aligned_cm"] < close


@pytest.mark.parametrize("slope", [10.0, -10.0])
def test_a_walk_goes_up_and_down_a_slope(walk, slope):
    # [DF] VIII: a motion captured on level ground, on one of 10 degrees.
    done = filter_motion(walk, ground=f"slope:{slope}", strength=np.inf, progress=False)
    assert done.finished, str(done.blame)
    q = done.motion.q
    rise = np.polyfit(q[:, 0], q[:, 2], 1)[0]
    assert rise == pytest.approx(np.tan(np.radians(slope)), abs=0.02)
    assert done.run.contacts.depth.max() < 2e-3
    assert done.tracking["mpjpe_root_aligned_cm"] < 5.0
    assert done.before.summary["contact_share"] > 0.95  # looked at on the ground it was made on


def test_a_slope_rises_towards_its_heading(squat):
    done = filter_motion(squat, ground=br.Ground(0.0, 6.0, 90.0), strength=np.inf, progress=False)
    assert done.finished, str(done.blame)
    assert done.motion.contacts is not None
    left, right = (done.motion.contacts.ground.above(places).min() for places in sole_places(done))
    assert max(abs(left), abs(right)) < 2e-3


def test_a_possible_motion_stays_physical(squatted):
    assert squatted.check().verdict == "physical"
    assert squatted.check().summary["residual_peak_N"] < 5.0


def test_bodies_of_other_sizes():
    child = motion_of(procedural.make("squat", seconds=0.8, height=1.25, depth=0.3), mass=25.0)
    done = filter_motion(child, progress=False)
    assert done.finished
    assert done.tracking["mpjpe_global_cm"] < 1.0


# --- what comes out -------------------------------------------------------------------------------


def test_frames_are_those_of_the_reference(squat, squatted):
    assert squatted.motion.times == pytest.approx(squat.times, abs=1e-9)
    assert squatted.motion.contacts is not None
    parts = {label.part for label in squatted.motion.contacts.contacts}
    assert {"left_heel", "right_heel", "left_toe", "right_toe"} <= parts


def test_forces_of_the_motion_are_those_of_the_simulation(walked):
    total = sum(values[:, :3] for values in walked.motion.forces.values())
    assert total[1:] == pytest.approx(walked.run["man.reaction"][1:], abs=1e-9)
    assert total[0] == pytest.approx(total[1])  # nothing is known of the first


def test_contacts_are_those_of_the_simulation(walked):
    labels, times = walked.motion.contacts, walked.motion.times
    for foot in ("left", "right"):
        parts = [part for part in {c.part for c in labels.contacts} if part.startswith(foot)]
        said = np.any([labels.active(part, times) for part in parts], axis=0)
        links = [values for link, values in walked.motion.forces.items() if link.startswith(foot)]
        bore = np.any([np.linalg.norm(values[:, :3], axis=1) > 0.0 for values in links], axis=0)
        assert said[bore].all()
        assert (said & ~bore).mean() < 0.05  # gaps of some steps are bridged


def test_it_goes_back_to_its_skeleton(squatting, squatted, tmp_path):
    like = squatted.like(squatting)
    assert len(like) == len(squatting)
    clip = read_bvh(like.save(tmp_path / "squat.bvh"))
    assert clip.skeleton.names == squatting.clip.skeleton.names
    assert len(clip) == len(squatting)


def test_files(squatting, squatted, tmp_path):
    pytest.importorskip("matplotlib")
    files = {path.name: path for path in squatted.save(tmp_path / "a" / "b", squatting)}
    names = ["forces.csv", "metrics.json", "motion.bvh", "motion.npz", "plot.png", "poses.png", "report.html", "torques.csv"]
    assert sorted(files) == names
    again = br.read_motion(files["motion.npz"], squatting.figure, quiet=True)
    assert (again.q == squatted.motion.q).all()
    assert set(again.forces) == set(squatted.motion.forces)
    forces = np.genfromtxt(files["forces.csv"], delimiter=",", skip_header=1)
    assert forces[:, 3::6].sum(axis=1).mean() == pytest.approx(squatting.figure.mass * G, rel=0.02)  # up, on the average: the weight
    assert len(np.genfromtxt(files["torques.csv"], delimiter=",", skip_header=1)) == len(squatted.motion)
    told = json.loads(files["metrics.json"].read_text())
    assert told["finished"]
    assert told["tracking"] == squatted.tracking


# --- giving up ------------------------------------------------------------------------------------


def test_what_cannot_be_is_given_up_and_what_came_before_is_kept(squat):
    # A tenth of the strength does not carry the body
    done = filter_motion(squat, strength=0.1, progress=False)
    assert not done.finished
    assert "pelvis" in str(done.blame)
    assert 10 < len(done.motion) < len(squat)
    assert done.motion.times[-1] == pytest.approx(squat.times[0] + done.blame.time, abs=2 * squat.dt)
    assert max(done.effort_share.values()) <= 0.1 + 1e-12
    assert np.isfinite(done.tracking["mpjpe_global_cm"])


# --- doors ----------------------------------------------------------------------------------------


def test_modes_have_names(squat):
    with pytest.raises(ArgumentError, match="offline, preview, online"):
        filter_motion(squat, mode="live")


def test_a_reference_that_never_stands_is_refused(squat):
    with pytest.raises(ArgumentError, match="never stands"):
        filter_motion(replace(squat, stances=()))


def test_contacts_and_ground_are_one(squatting):
    labels = Labels((Label("left_heel", 0.0, 1.0),), br.Ground(0.0))
    with pytest.raises(ArgumentError, match="not both"):
        filter_motion(squatting, made_on="flat", contacts=labels)


@pytest.mark.parametrize(("option", "value"), [("friction", 0.0), ("friction", np.nan), ("strength", -1.0), ("strength", np.nan)])
def test_bad_numbers_are_refused(squat, option, value):
    with pytest.raises(ArgumentError, match=option):
        filter_motion(squat, **{option: value})


@pytest.mark.parametrize(("name", "value"), [("joint_stiffness", 0.0), ("cone", 1.5), ("replan", np.nan), ("plan", 3)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ArgumentError, match=name):
        FilterSettings(**{name: value})
