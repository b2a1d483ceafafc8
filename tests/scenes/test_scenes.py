"""Ready-made scenes: they run, their loops stay closed, and the expected events happen."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import brachiate as br
from brachiate import scenes
from brachiate.errors import ArgumentError, UnknownName
from brachiate.scenes.flying_trapeze import between_hands
from brachiate.scenes.machines import rest_to_rest

#: Scenes of rigid bodies; those of particles have no world.
RIGID = [name for name in scenes.SCENES if name not in ("particle-link", "particle-walker", "rope-ring", "bridge")]
PEOPLE = ["highbar", "swing", "monkey-swing", "trapeze", "chain-of-people"]


@pytest.mark.parametrize("name", RIGID)
def test_every_scene_runs_with_its_loops_closed(name):
    scene = scenes.make(name)
    run = scene.run()
    assert abs(run.time[-1] - scene.seconds) < 1e-9
    assert (np.diff(run.time) > 0).all()  # the parts of a run are consecutive
    assert np.isfinite(run.q).all()
    assert scene.max_gap <= 1e-10
    if scene.conservative:
        # Fourth-order steps: largest at fast limb motion, in the trapeze, at 3e-6 of the kinetic energy.
        assert np.abs(scene.energy_drift(run)).max() < 1e-5 * run["kinetic energy"].max()
    assert scene.title
    assert scene.description
    assert "\n" not in scene.description


@pytest.mark.parametrize("name", ["highbar", "monkey-swing"])
def test_energy_drift_is_the_integration_error(name):
    # Fails if anything but the integration error, of fourth order, changes the energy: an impulse, or a cut.
    made = [scenes.make(name, limits=False, stiffness=2.0, dt=dt) for dt in (0.002, 0.001)]
    coarse, fine = (np.abs(scene.energy_drift(scene.run())).max() for scene in made)
    assert made[0].conservative
    assert fine < coarse / 6  # 16, but for terms of higher order


@pytest.mark.parametrize("name", ["highbar", "monkey-swing"])
def test_limits_only_dissipate_energy(name):
    scene = scenes.make(name)
    run = scene.run()
    assert not scene.conservative
    assert np.diff(run["energy"]).max() < 1e-5 * run["kinetic energy"].max()
    assert run["energy"][-1] < run["energy"][0]
    knees = [joint for joint in run.model.joints if joint.endswith("knee")]
    assert all(run[knee].min() > np.radians(-5 - 3) for knee in knees)  # beyond a limit by the motion of one step at most


# Joint variables (of the tree and of the connections), degrees of freedom and loops at the start of every scene.
COUNTS = {
    "thrown": (34, 34, 0),
    "highbar": (24, 12, 2), "swing": (36, 9, 5), "monkey-swing": (40, 22, 3), "trapeze": (74, 38, 6), "chain-of-people": (80, 44, 6),
    "fourbar": (7, 1, 2), "bricard": (6, 1, 1), "andrews": (13, 1, 4), "fivebar": (5, 2, 1), "stewart": (36, 6, 5),
    "scissor-lift": (13, 1, 4), "fall": (34, 34, 0), "stairs-tumble": (34, 34, 0), "stand": (34, 34, 0), "catch-bar": (34, 34, 0),
    "dominoes": (72, 72, 0), "box-slope": (30, 30, 0), "rocking-block": (6, 6, 0), "stack": (72, 72, 0), "spinning-top": (6, 6, 0),
    "filter-arm": (2, 2, 0), "filter-walk": (42, 42, 0), "filter-kick": (41, 41, 0), "filter-slope": (42, 42, 0),
    "filter-steps": (42, 42, 0), "filter-turn": (42, 42, 0), "filter-push": (40, 40, 0),
    "sitting": (9, 9, 0), "reach-chain": (10, 10, 0), "dropping-chain": (10, 10, 0), "inchworm": (36, 36, 0),
    "inchworm-race": (144, 144, 0), "reach-cup": (34, 34, 0), "lift-barbell": (46, 34, 2),
    "rope-swing": (34, 34, 0), "strap-trapeze": (42, 30, 2), "net": (34, 34, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGID)
def test_variables_mobility_and_loops(name):
    world = scenes.make(name).world
    assert (world.mobility().variables, world.mobility().dof, len(world.connections)) == COUNTS[name]


def changes(scene):
    return {h.report.event: (h.report.variables, h.report.mobility) for h in scene.changes}


def test_highbar_release_of_one_hand():
    # [SVC] 6: 24 joint variables with both hands, 23 with one.
    scene = scenes.make("highbar", release=0.3, limits=False)
    assert scene.world.mobility().dof == 12
    scene.run(0.6)
    assert scene.world.mobility().dof == 17
    assert changes(scene) == {
        "'left hand' connected": ((22, 23), (22, 17)),
        "'right hand' connected": ((23, 24), (17, 12)),
        "'right hand' cut": ((24, 23), (12, 17)),
    }
    assert [h.time for h in scene.changes] == [0, 0, 0.3]
    assert np.allclose(scene.world.position("man/left_grip"), (0, 0.3226, 2.6), atol=1e-4)
    assert np.linalg.norm(scene.world.position("man/right_grip") - (0, -0.3226, 2.6)) > 0.1


def test_swing_slide():
    # [SVC] 6 counts 30 joint variables, then 28; here the swing itself has 6 more.
    scene = scenes.make("swing")
    moments = []
    scene.on_change = lambda h: moments.append((h, scene.world.pose("swing/plate"), scene.world.position("man/left_thigh")))
    scene.run()
    own = 3 + 3
    left, right = changes(scene)["'left thigh' cut"], changes(scene)["'right thigh' cut"]
    assert (left[0], right[0]) == ((30 + own, 29 + own), (29 + own, 28 + own))
    assert (left[1], right[1]) == ((9, 13), (13, 18))
    for change, plate, hip in moments:  # cut when a hip passes the front edge of the plate
        assert 0.5 < change.time < 1.3
        assert abs((plate.rotation.T @ (hip - plate.position))[0] - 0.10) < 1e-9
    assert not scene.world.beyond_limits().keys() & {"man/left_knee", "man/right_knee"}


def test_monkey_swing_releases():
    # [CKC] 4 counts 34 joint variables and two loops; the free root here adds 6 and a loop.
    scene = scenes.make("monkey-swing", limits=False)
    assert scene.world.mobility().variables == 34 + 6
    assert len(scene.world.connections) == 2 + 1
    assert scene.world.mobility().dof == 22
    scene.run()
    assert [h.report.mobility[1] for h in scene.changes] == [25, 22, 25, 28]
    assert len(scene.world.connections) == 1


def test_trapeze_catch():
    scene = scenes.make("trapeze")
    hand_distance = {}
    scene.simulation.control(lambda w: hand_distance.update({w.time: float(np.linalg.norm(between_hands(w)[0]))}))
    scene.run()
    catches = [h for h in scene.changes if "hands" in h.report.event]
    assert [c.report.event for c in catches] == ["'left hands' connected", "'right hands' connected"]
    caught = catches[0].time
    assert 1.6 < caught < 1.9
    # When the hands are nearest; from then on they stay connected.
    before, after = ([d for t, d in hand_distance.items() if (t < caught) == early] for early in (True, False))
    assert min(before) < 0.05
    assert np.ptp(after) < 1e-10
    assert max(after) < min(before)
    for catch in catches:
        assert 0.3 < catch.report.impulse < 3.0
        assert catch.report.energy_lost > 0.1
        # Plastic impulse: the loss is the kinetic energy of the velocity change.
        assert abs(catch.report.energy_lost - catch.report.energy_of_change) < 1e-9


@pytest.mark.parametrize("name", PEOPLE)
def test_no_figure_is_below_the_ground(name):
    scene = scenes.make(name)
    run, world = scene.run(), scene.world
    for q in run.q[::20]:
        world.q = q
        for link, pose in br.kinematics.link_poses(world.data).items():
            assert link.endswith(("posts", "ground")) or pose.position[2] > 0.02, link


def test_chain_of_people_of_any_length():
    scene = scenes.make("chain-of-people", n=5, release=0.1, seconds=0.2)
    assert scene.world.mobility().variables == 5 * 22 + 2 + 4 * 6
    assert scene.world.mobility().dof == 5 * 22 - 2 * 5 - 4 * 6
    scene.run()
    assert scene.max_gap <= 1e-10
    assert scene.changes[-1].report.event == '"man5\'s right hand" cut'


def test_fourbar_follows_its_equation():
    # A02: (n + (n + 1)/3) θ̈ = -(n + (n + 1)/2) g cos θ; fails if the initial state or the branch is wrong.
    n = 3
    scene = scenes.make("fourbar", n=n)
    scene.run()
    pull = (n + (n + 1) / 2) / (n + (n + 1) / 3) * 9.81
    course = solve_ivp(lambda _, y: (y[1], -pull * np.cos(y[0])), (0, scene.seconds), (np.pi / 2, -1), rtol=1e-11, atol=1e-12)
    assert course.y[0, -1] < -2 * np.pi  # through the posture in line more than once
    for i in range(n + 1):
        assert abs(scene.world[f"fourbar/crank{i}"] - course.y[0, -1]) < 1e-8


def test_bricard_has_one_degree_of_freedom():
    scene = scenes.make("bricard")
    start = scene.world.position("bricard/P3")
    scene.run(1.0)
    assert scene.world.mobility().dof == 1
    assert np.linalg.norm(scene.world.position("bricard/P3") - start) > 0.3


def test_andrews_reaches_the_reference_solution():
    # The reference solution at 0.03 s of the Test Set for IVP Solvers (F. Mazzia, C. Magherini, Bari 2008), problem "andrews".
    scene = scenes.make("andrews")
    scene.run()
    right = {
        "beta": 15.81077119629904, "theta": -15.75637105984298, "gamma": 0.04082224013073101, "phi": -0.5347301163226948,
        "delta": 0.5244099658805304, "omega": 0.5347301163226948, "epsilon": 1.048080741042263,
    }  # fmt: skip
    for joint, angle in right.items():
        assert abs(scene.world[f"andrews/{joint}"] - angle) < 1e-8, joint


def test_stewart_follows_its_legs():
    scene = scenes.make("stewart")
    start = scene.world.pose("stewart/platform").position
    reached = []
    for _ in range(5):
        scene.run(0.6)
        reached.append(scene.world.pose("stewart/platform"))
        assert scene.world.mobility().dof == 0
    offsets = [(0, 0, 0.09), (0.10, 0, 0.03), (-0.08, 0.06, 0.03), (0, 0, -0.02), (0, 0, 0)]
    assert np.allclose([p.position - start for p in reached], offsets, atol=1e-9)
    assert np.allclose(reached[1].rotation[:, 2], (np.sin(np.radians(14)), 0, np.cos(np.radians(14))), atol=1e-9)
    assert np.allclose(reached[-1].rotation, np.eye(3), atol=1e-9)
    # At rest the legs carry platform and pistons.
    assert 100 < sum(scene.world.locks[f"stewart/length{i}"].torque for i in range(1, 7)) < 400


def test_scissor_lift_goes_up_and_down():
    scene = scenes.make("scissor-lift", stages=2)
    low = scene.world.position("lift/top")[2]
    scene.run(1.5)
    assert abs(scene.world.position("lift/top")[2] - low - 2 * 1.2 * (np.sin(np.pi / 3) - np.sin(np.radians(15)))) < 1e-9
    assert scene.world.locks["lift/slider"].torque > 100
    scene.run(1.5)
    assert abs(scene.world.position("lift/top")[2] - low) < 1e-9


def test_fivebar_draws_a_circle():
    scene = scenes.make("fivebar")
    center = scene.world.position("arm/tip") - (0.06, 0, 0)
    run, off, seen = scene.run(), [], []
    for q in run.q:
        scene.world.q = q
        off.append(np.linalg.norm(scene.world.position("arm/tip") - center) - 0.06)
        seen.append(np.arctan2(*(scene.world.position("arm/tip") - center)[1::-1]))
    assert np.abs(off).max() < 1e-3
    assert abs(np.unwrap(seen)[-1] - 4 * np.pi) < 0.05


def test_rest_to_rest_polynomial():
    c = np.polynomial.Polynomial(rest_to_rest(1.0, 3.0, 2.0))
    assert np.allclose([c(0), c(2), c(1)], [1, 3, 2])
    assert np.allclose([c.deriv(k)(t) for k in (1, 2) for t in (0, 2)], 0)


# --- invalid arguments ----------------------------------------------------------------------------


def test_unknown_scenes_and_parameters_raise():
    with pytest.raises(
        UnknownName, match=r"'trapez' is not a scene of this package\. Did you mean 'trapeze'\? Valid: thrown, highbar, swing"
    ):
        scenes.make("trapez")
    with pytest.raises(UnknownName, match=r"'relaese' is not a parameter of scene 'highbar'\. Did you mean 'release'\?"):
        scenes.make("highbar", relaese=1.0)
    with pytest.raises(ArgumentError, match="seconds must be more than 0"):
        scenes.make("highbar", seconds=-1)
    with pytest.raises(ArgumentError, match="integrator: 'rk5' is not one of"):
        scenes.make("highbar", integrator="rk5")
    with pytest.raises(ArgumentError, match="number of people must be at least 2"):
        scenes.make("chain-of-people", n=1)
    with pytest.raises(ArgumentError, match="stiffness must be at least 0"):
        scenes.make("monkey-swing", stiffness=-1.0)


# --- pictures -------------------------------------------------------------------------------------


def test_picture_shows_times_side_by_side(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    scene = scenes.make("bricard")
    run = scene.run(0.4)
    scene.picture(run, tmp_path / "few.png")  # two of its six times are within the run
    scene.picture(run, tmp_path / "more.png", times=[0, 0.1, 0.2, 0.3])
    few, more = (plt.imread(tmp_path / f"{name}.png")[..., :3] for name in ("few", "more"))
    assert (few.shape[1], more.shape[1]) == (2 * 480, 4 * 360)  # of 1440 pixels in a full row, at least three
    for image, across in ((few, 480), (more, 360)):
        for left in range(0, image.shape[1], across):  # every panel has content and a margin
            panel = image[:, left : left + across]
            painted = np.abs(panel - panel[0, 0]).max(axis=2) > 0.1
            assert 0.02 < painted.mean() < 0.7
            assert not painted[:, 0].any()
    with pytest.raises(ArgumentError, match="cannot be written"):
        scene.picture(run, tmp_path / "few.nothing")


def test_the_thrown_figure_stays_above_the_ground_and_within_its_joints():
    # Fails if the picture would show a figure below the floor or with joints beyond their limits.
    scene = scenes.make("thrown")
    run = scene.run()
    for q in run.q[::20]:
        scene.world.q = q
        assert min(pose.position[2] for pose in br.kinematics.link_poses(scene.world.data).values()) > 0
        assert all(excess < np.deg2rad(20) for excess in scene.world.beyond_limits().values()), scene.world.beyond_limits()
