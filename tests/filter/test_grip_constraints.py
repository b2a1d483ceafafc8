"""What holds in the dynamics filter: hands on a bar, taking hold and letting go, forces and equations; and what lies on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import dynamics, kinematics, rotations
from brachiate.centroidal import problem
from brachiate.filter.offline import Clip, filter_motion, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import CONTACT, HELD, equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.schedule.unanchored_contacts import circumstances, lying, wandering
from brachiate.filter.whole_body.arrays import HOLDS, REACHES
from brachiate.filter.whole_body.qp import RAYS
from brachiate.filter.whole_body.tasks import HARDEST
from brachiate.kinematics_batch import Many
from brachiate.model.data import Data
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import Motion, motion_of

G, UP = 9.81, np.array((0.0, 0.0, 1.0))
ROUND_OFF = 1e-9  # of the weight: see test_filter.py
LASTS, LATE, LETS_GO = 1.2, 0.3, 0.8  # [s]


def held_by(motion: Motion, *spans: tuple[str, float, float]) -> Reference:
    """A reference in which hands hold when they are said to."""
    return clean(motion, contacts=Labels(tuple(Label(hand, start, end, "holds") for hand, start, end in spans), br.Ground(0.0)))


def grip_path(done: Filtered, link: str) -> np.ndarray:
    """Where the point of a hand is that holds: (f, 3) [m]."""
    figure = done.motion.figure
    place = figure.placements[link]
    point = next(s for s in done.reference.stances if s.link == link).corners[0]
    return Many(figure).poses(done.motion.q).point(place.body, place.position + place.rotation @ point)


def intervals(clip: Clip) -> list[int]:
    """What carries in each interval of the plan made last."""
    preview = clip.follower.preview
    return preview.planner.outlook.how[: int(preview.feet.room.planned[0])].tolist()


@pytest.fixture(scope="module")
def stiff() -> Motion:
    """Somebody whose arms are one piece with the chest, as they do not move against it."""
    return motion_of(br.procedural.make("hang", seconds=LASTS))


@pytest.fixture(scope="module")
def swinging() -> Motion:
    """The same with arms that bend a little: two hands on a bar close a chain."""
    clip = br.procedural.make("hang", seconds=LASTS)
    turned = np.array(clip.turns)
    for side in ("Left", "Right"):
        for part, angle, axes in (("Arm", 0.05, (0, 1, 2)), ("ForeArm", 0.15, (2,)), ("Hand", 0.05, (0, 1, 2))):
            j = clip.skeleton.index(side + part)
            for n, axis in enumerate(axes):
                turned[:, j] = rotations.product(turned[:, j], rotations.about(axis, angle * np.sin(3.0 * clip.times + n)))
    return motion_of(replace(clip, turns=turned))


@pytest.fixture(scope="module")
def swing(swinging: Motion) -> Reference:
    return held_by(swinging, ("left_hand", 0.0, LASTS), ("right_hand", 0.0, LASTS))


@pytest.fixture(scope="module")
def swung(swing: Reference) -> Filtered:
    return filter_motion(swing, progress=False)


@pytest.fixture(scope="module")
def caught(swinging: Motion) -> Filtered:
    """One hand takes hold while the other does, then both let go."""
    spans = ("left_hand", 0.0, LETS_GO), ("right_hand", LATE, LETS_GO)
    return filter_motion(held_by(swinging, *spans), progress=False)


def test_a_swing_is_followed_by_the_bodys_own_strength(swung):
    assert swung.finished, str(swung.blame)
    assert swung.tracking["mpjpe_root_aligned_cm"] < 3.0  # measured: 2.2
    assert len(swung.motion) == len(swung.reference)


@pytest.mark.parametrize("link", ["left_hand", "right_hand"])
def test_hands_stay_where_they_hold(swung, link):
    # Loops are closed in the middle of steps, and open between them to second order. Measured: 1.0 µm, 0.25 of these with half the step
    path = grip_path(swung, link)
    assert np.linalg.norm(path - path[0], axis=1).max() < 0.5 * swung.reference.dt**2
    stance = next(s for s in swung.reference.stances if s.link == link)
    assert np.linalg.norm(path[0] - stance.places[0]) < 0.002


def test_nobody_brings_anything_where_hands_hold(swung, caught):
    # Fails if forces of connections are not those of the steps, or taking hold is forgotten.
    for done in (swung, caught):
        weight = G * done.motion.figure.mass
        made = equations(done)
        assert max(made.nobody_brings()) < ROUND_OFF * weight
        w = made.wrenches
        without = w._replace(force=np.where(w.push[:, None] == HELD, 0.0, w.force))
        assert max(replace(made, wrenches=without).nobody_brings()) > 0.5 * weight


def test_forces_of_hands_are_those_of_the_equations(swung):
    wrenches = equations(swung).wrenches
    assert CONTACT not in wrenches.push
    for link, values in swung.motion.forces.items():
        mine = np.array(wrenches.link) == f"man/{link}"
        assert np.allclose(wrenches.force[mine], values[1:, :3], rtol=0.0, atol=1e-9)
        assert np.allclose(wrenches.point[mine], values[1:, 3:], rtol=0.0, atol=1e-9)
    total = np.sum([values[:, 2] for values in swung.motion.forces.values()], axis=0)
    assert 0.5 < total.mean() / (G * swung.motion.figure.mass) < 1.5


def test_results_say_what_holds(swung, tmp_path):
    assert {(label.part, label.how) for label in swung.motion.contacts.contacts} == {("left_hand", "holds"), ("right_hand", "holds")}
    assert swung.check().summary["residual_rms_N"] < 0.1  # a smooth curve, held at both hands, needs nobody: measured 0.0005
    head = swung._save_forces(tmp_path / "forces.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert "left_hand.force.x [N]" in head


def test_taking_hold_is_an_impulse_at_the_hand(caught):
    made = equations(caught)
    (k,) = np.flatnonzero(np.abs(made.caught).max(axis=1) > 0.0)
    assert caught.motion.times[k] == pytest.approx(LATE, abs=0.01)
    data = Data(made.model, made.gravity)
    momentum = dynamics.mass_matrix(data, made.frame_q[k]) @ made.caught[k]
    data.assign(q=made.frame_q[k])
    kinematics.update_poses(data)
    rows = []
    for link in ("left_hand", "right_hand"):
        place = made.model.placements[f"man/{link}"]
        point = next(s for s in caught.reference.stances if s.link == link).corners[0]
        arm, J = kinematics.pose(data, place).rotation @ point, kinematics.jacobian(data, place)
        rows.append(J[:3] - np.cross(np.eye(3), arm) @ J[3:])
    impulse = np.linalg.lstsq(np.concatenate(rows).T, momentum, rcond=None)[0]
    assert np.abs(np.concatenate(rows).T @ impulse - momentum).max() < 1e-9 * max(np.abs(momentum).max(), 1.0)


def test_who_lets_go_falls_freely(caught):
    # The reference swings on, which nobody does without a hold; the body falls, and it says so.
    assert not caught.finished
    assert LETS_GO < caught.blame.time < LASTS
    assert "nothing should touch" in str(caught.blame)
    free = caught.motion.times > LETS_GO + 0.01
    assert all((values[free] == 0.0).all() for values in caught.motion.forces.values())
    totals = [dynamics.totals(_at(caught, k)) for k in np.flatnonzero(free)[[0, -1]]]
    seconds = float(np.ptp(caught.run.time[free]))
    # Momentum is kept in the middle of steps, and of states between them to the order of a step
    assert (totals[1].momentum - totals[0].momentum)[2] == pytest.approx(-G * totals[0].mass * seconds, rel=0.5 * caught.reference.dt)


def _at(done: Filtered, k: int) -> Data:
    data = Data(done.run.model)
    data.assign(q=done.run.q[k], v=done.run.v[k])
    return data


def test_plans_know_what_holds(swinging, swing):
    clip = Clip(world_of(swing), "man", swing, whole=False)
    clip.control()
    assert set(intervals(clip)) == {problem.HELD}
    let_go = held_by(swinging, ("left_hand", 0.0, 0.3), ("right_hand", 0.0, 0.3))
    clip = Clip(world_of(let_go), "man", let_go, whole=False)
    clip.control()
    how = intervals(clip)
    assert how == sorted(how, reverse=True)
    assert set(how) == {problem.HELD, problem.FLIGHT}


def test_hands_pull_no_more_than_a_body_can_whatever_motors_bring(swing):
    # Fails without a bound: where nothing limits motors, a wish for forty times the weight came true.
    clip = Clip(world_of(swing, strength=np.inf), "man", swing, whole=False)
    clip.control()
    K, P, feet = clip.body.control, clip.body.program, clip.follower.preview.feet
    feet.room.centre[:], feet.room.cmp[:] = (0.0, 0.0, 40.0 * G), 0.0
    clip.body.decide(clip.schedule.handle, feet, 0)
    hands = P.rho[: P.count[RAYS]].reshape(2, 6)
    most = HARDEST * swing.figure.mass * G
    assert (K.ray_area[: P.count[RAYS]] == -1).all()
    assert (hands.sum(axis=1) > 0.999 * most).all()
    assert (hands.sum(axis=1) < 1.02 * most).all()  # the bound gives a little where a wish is so far beyond it


def test_a_hand_reaches_for_what_it_will_hold(swinging):
    reference = held_by(swinging, ("left_hand", 0.0, LASTS), ("right_hand", LATE, LASTS))
    world = world_of(reference)
    clip = Clip(world, "man", reference, whole=False)
    names = [grip.link for grip in clip.schedule.grips]
    assert clip.body.control.grip.tolist() == [HOLDS if name == "left_hand" else REACHES for name in names]
    assert list(world.connections) == ["man/left_hand grip"]
    assert clip.grips.missed(0) == []
    assert "right_hand should hold" in clip.grips.missed(int((LATE + 0.1) / reference.dt))[0]


def test_a_hand_that_is_far_does_not_snap(swinging, swing):
    # The bar is 20 cm higher than the hands are: they are led there, not connected.
    high = tuple(replace(s, position=s.position + 0.2 * UP) for s in swing.stances)
    clip = Clip(world := world_of(swing), "man", replace(swing, stances=high), whole=False)
    assert not world.connections
    assert set(clip.body.control.grip.tolist()) == {REACHES}
    assert "20 cm from it" in clip.grips.missed(0)[0]


def test_two_hands_of_one_piece_hold_without_saying_the_same_twice(stiff):
    # Fails (forces beyond all bounds) if both hold along the line between them.
    reference = held_by(stiff, ("left_hand", 0.0, LASTS), ("right_hand", LATE, LASTS))
    done = filter_motion(reference, progress=False)
    weight = G * done.motion.figure.mass
    assert max(equations(done).nobody_brings()) < ROUND_OFF * weight
    assert max(np.linalg.norm(values[:, :3], axis=1).max() for values in done.motion.forces.values()) < 10.0 * weight


def test_a_reference_without_contacts_is_refused(swing):
    bare = replace(swing, stances=())
    with pytest.raises(br.BrachiateError, match="never stands on anything, and holds nothing"):
        Clip(world_of(bare), "man", bare, whole=False)


# --- what lies on the ground ----------------------------------------------------------------------


def squatting(*labels: Label) -> Reference:
    """Somebody who squats; some parts are said to touch."""
    motion = motion_of(br.procedural.make("squat", seconds=0.8))
    feet = [Label(f"{side}_{part}", 0.0, 0.8) for side in ("left", "right") for part in ("heel", "toe")]
    return clean(motion, contacts=Labels((*feet, *labels), br.Ground(0.0)))


def said(reference: Reference, labels: Sequence[Label]) -> Reference:
    return replace(reference, labels=replace(reference.labels, contacts=(*reference.labels.contacts, *labels)))


def test_what_lies_without_a_place_is_known_to_plans():
    plain = squatting()
    assert not lying(plain, {"left_foot", "right_foot"})[1].any()
    sits = said(plain, [Label("pelvis", 0.2, 0.4)])
    points, count = lying(sits, {"left_foot", "right_foot"})
    now = (sits.times >= 0.2) & (sits.times <= 0.4 + 1e-9)
    assert (count > 0).tolist() == now.tolist()
    assert np.abs(points[..., 2]).max() < 1e-12  # on the ground, wherever the pelvis is
    assert (Schedule(sits, 0.1).lie_count == count).all()


def test_what_stays_in_place_for_a_moment_only_wanders(swing):
    plain = squatting()
    foot = plain.stances[0]
    point = replace(foot, link="pelvis", corners=np.zeros((1, 3)), bears=np.ones((50, 1), bool), start=0, end=50)
    on = np.zeros(len(plain), bool)
    on[:50] = True
    brief = replace(plain, stances=(*plain.stances, point), on={**plain.on, "pelvis": on})
    assert wandering(said(brief, [Label("pelvis", 0.0, 0.8)])) == {"pelvis"}
    assert wandering(said(brief, [Label("pelvis", 0.0, 0.15)])) == set()


def test_falls_are_told_with_what_could_not_be_done():
    plain = squatting()
    told = circumstances(said(plain, [Label("pelvis", 0.0, 0.8)]), {"left_foot", "right_foot"}, 10)
    assert told == ["pelvis should be on the ground then without staying in one place"]
