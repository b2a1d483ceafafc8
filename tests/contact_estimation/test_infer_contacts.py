"""What carries a motion: spots, ground, labels, and where it touches, found from the motion alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.anatomy.contact_points import spots_of
from brachiate.contact_estimation.contact_confidence import bearing
from brachiate.contact_estimation.floor import belt_of
from brachiate.contact_estimation.ground_reaction import HOLDS, NOTHING, STANDS
from brachiate.contact_estimation.infer_contacts import infer
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import spells, with_hysteresis
from brachiate.errors import ArgumentError, BrachiateError, MotionFileError
from brachiate.motion.contact_labels import Label, Labels, load_labels
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.spline import Course
from brachiate.motion.terrain import Ground, ground_of


def tracked(motion, ground=None, cutoff=10.0):
    return Track(motion.figure, Course(motion.figure, motion.times, motion.q, cutoff).at(motion.times), ground or Ground())


@pytest.fixture(scope="module")
def walking():
    motion = motion_of(procedural.make("walk", speed=1.2, step=0.65, seconds=4.0))
    track = tracked(motion)
    return track, *infer(track)


# --- spots ---------------------------------------------------------------------------------------


def test_feet_have_heels_and_toes():
    spots = spots_of(br.figures.human28())
    assert {"left_heel", "left_toe", "right_heel", "right_toe", "left_hand", "pelvis", "head"} <= set(spots.parts)
    assert "left_foot" not in spots.parts
    link = dict(zip(spots.parts, spots.links, strict=True))
    assert link["left_heel"] == link["left_toe"] == "left_foot"


def test_a_foot_with_toes_has_a_ball():
    walks, squats = (set(spots_of(motion_of(procedural.make(name, seconds=2.0)).figure).parts) for name in ("walk", "squat"))
    assert {"left_heel", "left_ball", "left_toes"} <= walks
    assert {"left_heel", "left_toe"} <= squats  # its toes do not turn
    assert "left_ball" not in squats


def test_a_joint_belongs_to_one_limb():
    figure = br.figures.human28()
    spots = spots_of(figure)
    shank = spots.parts.index("left_shank")
    # The knee's end of the shank stays; the one in the foot, and the thigh's in the knee, are others'.
    assert (spots.part == shank).sum() >= 1
    ankle = figure.links["left_foot"].position
    assert all(np.linalg.norm(at - ankle) > 0.02 for at in spots.at[spots.part == shank])


def test_every_shape_has_spots_on_its_surface():
    b = br.ModelBuilder("all")
    shapes = [
        br.Sphere(radius=0.1), br.Capsule(radius=0.1, length=0.3), br.Box(size=(0.1, 0.2, 0.3)), br.Cylinder(radius=0.1, length=0.3),
        br.Ellipsoid(radii=(0.1, 0.2, 0.3)),
    ]  # fmt: skip
    for k, shape in enumerate(shapes):
        joint = br.Revolute("y") if k else br.Free()
        parent = f"link{k - 1}" if k else None
        b.link(f"link{k}", parent=parent, joint=joint, at=(1.0 * k, 0, 0), mass=1.0, inertia=(1, 1, 1), shapes=[shape])
    spots = spots_of(b.build())
    reach = {"link0": 0.1, "link1": 0.25, "link2": 0.15, "link3": 0.15, "link4": 0.3}  # upwards
    for part, high in reach.items():
        mine = spots.part == spots.parts.index(part)
        assert (spots.at[mine, 2] + spots.radius[mine]).max() == pytest.approx(high, rel=0.02)


# --- ground and labels -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "ground"),
    [
        ("flat", Ground(0.0)),
        ("flat:0.02", Ground(0.02)),
        ("slope:10", Ground(0.0, 10.0)),
        ("slope:10:90,friction=0.5", Ground(0.0, 10.0, 90.0, 0.5)),
    ],
)
def test_ground_in_words(words, ground):
    assert ground_of(words) == ground


@pytest.mark.parametrize("words", ["", "hilly", "flat:high", "slope", "flat,mu=3", "slope:1:2:3", "flat:1:2"])
def test_words_that_mean_no_ground_are_refused(words):
    with pytest.raises(ArgumentError, match="flat"):
        ground_of(words)


def test_a_slope_rises_that_way():
    ground = Ground(0.1, slope=30.0, heading=90.0)
    on = np.array((5.0, 2.0, 0.1 + 2.0 * np.tan(np.radians(30))))
    assert ground.above(on) == pytest.approx(0.0, abs=1e-12)
    assert ground.above(on + ground.normal) == pytest.approx(1.0)


def test_labels_come_back_from_their_file(tmp_path):
    labels = Labels(
        (Label("left_heel", 0.0, 0.5), Label("right_hand", 0.25, 1.0, "holds"), Label("left_toe", 0.5, 0.75, "stands", 0.3)),
        Ground(0.01, 2.0, 30.0, 0.7, (0.0, -1.25)),
    )
    path = tmp_path / "contacts.txt"
    labels.save(path)
    again = load_labels(path)
    assert again.ground == labels.ground
    assert set(again.contacts) == set(labels.contacts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("left_heel 0 1", "first line"),
        ("# brachiate contacts 1\nleft_heel 0", "line 2.*2 words"),
        ("# brachiate contacts 1\nleft_heel 0 x", "line 2"),
        ("# brachiate contacts 1\nleft_heel 1 0", "ends at 0 s"),
        ("# brachiate contacts 1\nleft_heel 0 1 sits", "sits"),
        ("# brachiate contacts 1\nleft_heel 0 nan", "line 2"),
        ("# brachiate contacts 1\nground height=high", "line 2"),
        ("# brachiate contacts 1\nground hight=1", "line 2"),
        ("# brachiate contacts 1\nground belt=1", "line 2"),
        ("# brachiate contacts 1\nleft_heal 0 1", "left_heel"),
    ],
)
def test_broken_labels_are_refused(text, words, tmp_path):
    path = tmp_path / "contacts.txt"
    path.write_text(text)
    with pytest.raises(BrachiateError, match=words):
        load_labels(path, ["left_heel", "right_heel"])


def test_labels_may_be_written_by_hand(tmp_path):
    path = tmp_path / "contacts.txt"
    path.write_text("# brachiate contacts 1  by me\n\nleft_heel 0 1   # all the time\nright_hand 0.5 1 holds\n")
    labels = load_labels(path)
    assert labels.contacts == (Label("left_heel", 0.0, 1.0), Label("right_hand", 0.5, 1.0, "holds"))
    assert labels.active("right_hand", np.array((0.4, 0.5, 1.0, 1.1))).tolist() == [False, True, True, False]


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MotionFileError, match="no such file"):
        load_labels(tmp_path / "none.txt")


# --- inference ---------------------------------------------------------------------------------------


def test_hysteresis_and_spells():
    on = np.array([0, 0, 1, 0, 0, 0, 0, 0, 0], bool)
    stays = np.array([0, 1, 1, 1, 0, 1, 1, 0, 0], bool)
    assert with_hysteresis(on, stays).astype(int).tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0]
    times = np.arange(100) / 100
    flags = np.zeros(100, bool)
    flags[10:30] = flags[33:40] = flags[60:62] = True  # a pause of 0.03 s, and a blink
    assert spells(times, flags) == [(10, 39)]


def test_steps_of_a_walk_alternate(walking):
    track, labels, _ = walking
    heels = {side: labels.of(f"{side}_heel") for side in ("left", "right")}
    assert all(3 <= len(found) <= 5 for found in heels.values())
    starts = sorted((label.start, side) for side, found in heels.items() for label in found if label.start > 0.1)
    assert all(a[1] != b[1] for a, b in pairwise(starts))
    # A step every step length over speed
    assert np.diff([s for s, _ in starts]) == pytest.approx(0.65 / 1.2, rel=0.1)
    feet = np.stack([labels.active(part, track.times) for part in track.spots.parts if part.endswith(("heel", "ball", "toe", "toes"))])
    assert feet.any(axis=0).all()
    assert not any(labels.of(part) for part in track.spots.parts if "hand" in part or "shank" in part)


def test_the_floor_is_found_wherever_it_is(walking):
    track, labels, guesses = walking
    assert labels.ground.height == pytest.approx(0.0, abs=0.005)
    assert any(guess.what == "floor" for guess in guesses)
    motion = motion_of(procedural.make("walk", seconds=3.0))
    q = motion.q.copy()
    q[:, 2] += 0.8
    high = tracked(Motion(motion.figure, motion.times, q))
    assert infer(high)[0].ground.height == pytest.approx(0.8, abs=0.005)
    assert track.missed == 0


def test_hands_at_a_bar_are_found():
    motion = motion_of(procedural.make("hang", seconds=3.0))
    labels, guesses = infer(tracked(motion))
    held = {label.part: label for label in labels.contacts if label.how == "holds"}
    assert set(held) == {"left_hand", "right_hand"}
    assert all(label.end - label.start > 2.5 for label in held.values())
    assert not any(label.how == "stands" for label in labels.contacts)
    assert sum(guess.flag == "contacts" for guess in guesses) == 2


def test_a_step_is_found_where_the_body_stands_on_nothing_else():
    # Someone steps from the floor onto a box, and stays there: the whole body goes up and forward
    figure = br.figures.human28()
    times = np.arange(240) / 60
    q = np.tile(figure.neutral, (240, 1))
    s = np.clip((times - 1.5) / 0.5, 0, 1)
    s = s * s * (3 - 2 * s)
    q[:, 0], q[:, 2] = 0.4 * s, q[:, 2] + 0.25 * s + 0.05 * np.sin(np.pi * s)
    motion = Motion(figure, times, q, captured=True)
    labels, _ = infer(tracked(motion))
    above = [label for label in labels.contacts if label.height is not None]
    assert {label.part for label in above} == {"left_heel", "left_toe", "right_heel", "right_toe"}
    assert all(label.height == pytest.approx(0.25, abs=0.03) and label.start > 1.5 for label in above)
    # With a floor that is told, there is nothing else
    told = infer(tracked(motion, Ground(0.0)))[0]
    assert all(label.height is None and label.end < 2.0 for label in told.contacts)


def test_a_treadmill_is_noticed():
    motion = motion_of(procedural.make("walk", speed=1.2, seconds=4.0))
    q = motion.q.copy()
    q[:, :3] -= np.outer(motion.times, (1.2, 0.0, 0.0))
    still = tracked(Motion(motion.figure, motion.times, q, captured=True))
    belt = belt_of(still)
    assert belt == pytest.approx((-1.2, 0.0), abs=0.1)
    labels, guesses = infer(still)
    assert any(guess.what == "treadmill" for guess in guesses)
    assert len(labels.of("left_heel")) >= 3
    assert belt_of(tracked(motion)) == (0.0, 0.0)


def test_what_bears_is_low_and_still(walking):
    track, labels, _ = walking
    how, sure, _ = bearing(track, labels)
    low = track.place[..., 2] < 0.035  # a foot's lowest spot is on the floor, and what is higher than 3 cm above it does not bear
    assert low[how == STANDS].all()
    assert (how == STANDS).any(axis=1).all()
    assert (sure[how == STANDS] > 0).all()
    assert (sure <= 1.0).all()


def test_what_holds_is_told_to_hold():
    motion = motion_of(procedural.make("hang", seconds=1.0))
    track = tracked(motion)
    how, _, _ = bearing(track, Labels((Label("left_hand", 0.0, 1.0, "holds"),), Ground(0.0)))
    hand = track.spots.part == track.spots.parts.index("left_hand")
    assert (how[:, hand] == HOLDS).all()
    assert (how[:, ~hand] == NOTHING).all()
    loose, _, _ = bearing(track, Labels((Label("left_hand", 0.0, 1.0, "holds"),), Ground(0.0)), loosely=True)
    assert (np.count_nonzero(loose[:, hand] == HOLDS, axis=1) == 1).all()


def test_a_part_that_nobody_has_is_refused(walking):
    track, labels, _ = walking
    with pytest.raises(BrachiateError, match="left_heel"):
        bearing(track, Labels((Label("left_heal", 0.0, 1.0),), labels.ground))


def test_forces_of_single_frames_are_found_from_nothing():
    # Of a jump as it is drawn, before the feet leave the ground: no forces of them can make it, and few spots bear
    motion = motion_of(procedural.make("jump"))
    track = tracked(motion)
    infer(track)
    assert track.missed == 0
    for k in range(100, 115):
        track.carry(track.how[k : k + 1].copy(), track.sure[k : k + 1].copy(), slice(k, k + 1))
        assert track.missed == 0
