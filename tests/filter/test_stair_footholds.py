"""Steps as ground: stances on treads, feet over edges, walks up and down, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.anatomy.feet import feet_of
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.errors import ArgumentError
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.stair_footholds import room_on, stairs_under
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.kinematics_batch import Many
from brachiate.motion.contact_labels import labels_from
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.terrain import Ground, Steps, ground_of

UP, DOWN = "steps:0.1:0.4:2", "steps:-0.12:0.4:2"
ROUND_OFF = 1e-9


@pytest.fixture(scope="module")
def walking() -> Motion:
    return motion_of(procedural.make("walk", seconds=2.4))


@pytest.fixture(scope="module", params=(UP, DOWN))
def reference(request: pytest.FixtureRequest, walking: Motion) -> Reference:
    return clean(walking, onto=request.param)


@pytest.fixture(scope="module")
def done(reference: Reference) -> Filtered:
    return filter_motion(reference, strength=np.inf, progress=False)


def steps_of(ground: Ground) -> Steps:
    assert ground.steps is not None
    return ground.steps


def feet_points(reference: Reference, q: np.ndarray) -> np.ndarray:
    """Points of both feet by which they might touch something: (k, f, 3) [m]."""
    poses, found = Many(reference.figure).poses(q), []
    for foot in feet_of(landmarks_of(reference.figure)):
        found += [poses.point(foot.body, at) for at in foot.sole.hull]
        if foot.toes is not None:
            found += [poses.point(foot.toes.body, at) for at in foot.toes.corners]
    return np.stack(found)


def stood(reference: Reference, q: np.ndarray, n: int) -> list[np.ndarray]:
    """Where the soles of every stance are in the middle of it, as far as there are n frames."""
    poses, model, found = Many(reference.figure).poses(q), reference.figure, []
    for stance in reference.stances:
        k = (stance.start + stance.end) // 2
        if k < n and len(stance) > 50:
            place = model.placements[stance.link]
            points = place.position + stance.corners @ place.rotation.T
            found.append(np.stack([poses.point(place.body, point)[k] for point in points]))
    return found


# --- ground ---------------------------------------------------------------------------------------


def test_how_high_points_are_above_steps():
    ground = br.Ground(0.5, steps=br.Steps(0.1, 0.4, 2, start=1.0, heading=90.0))  # along y
    points = np.array([(9, 0, 0.6), (9, 1.2, 0.6), (9, 1.2, 0.65), (9, 5.0, 0.75), (9, 1.01, 0.55), (9, 1.41, 0.55), (9, 2.0, 0.4)])
    # In the first riser by a centimetre; in the second, below the tread before it; far inside
    assert ground.above(points) == pytest.approx([0.1, 0.0, 0.05, 0.05, -0.01, -np.hypot(0.01, 0.05), -0.3])
    down = br.Ground(0.0, steps=br.Steps(-0.1, 0.4, 2, start=1.0))
    assert down.above(np.array([(0.9, 0, 0), (1.1, 0, 0), (2.0, 3, 0), (0.98, 0, -0.05)])) == pytest.approx([0.0, 0.1, 0.2, -0.02])


def test_words_of_steps_and_files_of_labels():
    kerb = ground_of("steps:0.1")
    assert kerb.steps == br.Steps(0.1)
    assert kerb.steps.count == 1
    ground = ground_of("steps:-0.15:0.45:3:1.25:30,friction=0.6")
    assert ground == br.Ground(0.0, friction=0.6, steps=br.Steps(-0.15, 0.45, 3, 1.25, 30.0))
    assert labels_from(br.Labels((), ground).lines(), "here").ground == ground


@pytest.mark.parametrize("words", ["steps", "steps:up", "steps:0.1:0.4:3:1:0:2", "stairs:0.1", "steps:0.1,slope=3"])
def test_unknown_words_are_refused(words):
    with pytest.raises(ArgumentError, match=r"is no ground.*steps:0\.1"):
        ground_of(words)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("steps:nan", "rise of steps: expected a number, got NaN"),
        ("steps:0.1:0", "tread of steps"),
        ("steps:0.1:0.4:2.5", "count of steps: expected a whole number"),
        ("steps:0.1:0.4:0", "count of steps"),
        ("steps:0.1:0.4:2:inf", "start of steps"),
    ],
)
def test_steps_that_cannot_be_are_refused(words, why):
    with pytest.raises(ArgumentError, match=why):
        ground_of(words)


def test_steps_are_on_level_ground():
    with pytest.raises(ArgumentError, match="leave out the slope"):
        br.Ground(0.0, 5.0, steps=br.Steps(0.1))
    with pytest.raises(ArgumentError, match=r"expected br\.Steps"):
        br.Ground(0.0, steps=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_things_that_fall_come_to_rest_where_the_ground_is(rise):
    ground = br.Ground(0.3, steps=br.Steps(rise, 0.4, 2, start=0.7, heading=30.0))
    floor, at, R = stairs_under(ground, np.zeros((1, 2)))
    world = br.World()
    world.add(floor, name="floor", at=at, rotation=R)
    across = np.array((-np.sin(np.radians(30.0)), np.cos(np.radians(30.0))))
    places = [s * steps_of(ground).way + 0.3 * across for s in (0.2, 0.9, 1.3, 3.0)]
    for n, (x, y) in enumerate(places):
        world.add(br.figures.box((0.1, 0.1, 0.1), 1.0), name=f"box{n}")
        world[f"box{n}/root"] = [x, y, ground.height + steps_of(ground).level(places[n]) + 0.01, 1, 0, 0, 0]
    world.touch()
    run = br.Simulation(world, dt=0.004).run(0.3, progress=False)
    lowest = np.stack([run.q[-1, 7 * n : 7 * n + 3] for n in range(len(places))])
    assert ground.above(lowest) == pytest.approx(0.0, abs=1e-3)


# --- the reference --------------------------------------------------------------------------------


def test_every_stance_is_on_one_tread(reference):
    steps, levels = steps_of(reference.ground), set()
    for stance in reference.stances:
        least, most = room_on(steps, stance.places)
        assert least < -0.015
        assert most > 0.015
        assert stance.height == pytest.approx(steps.level(stance.places.mean(axis=0)))
        assert reference.ground.above(stance.places) == pytest.approx(0.0, abs=1e-9)
        levels.add(round(stance.height / steps.rise))
    assert levels == {0, 1, 2}  # none is left out, as they are high
    assert all(label.height is None for label in reference.labels.contacts)  # they are the ground


def test_feet_are_above_the_ground_all_the_time(reference):
    assert reference.ground.above(feet_points(reference, reference.q)).min() > -1e-3


def test_feet_get_over_edges_with_room_to_spare(reference):
    steps, points = steps_of(reference.ground), feet_points(reference, reference.q)
    for foot in np.split(points, 2):
        s, low = steps.along(foot), foot[..., 2].min(axis=0)
        over = steps.crossed(s.min(axis=0), s.max(axis=0))
        assert over.any()
        above = (low - steps.highest(s.min(axis=0), s.max(axis=0)))[over]
        assert above.min() > 0.004  # where it comes down next to an edge
        assert np.median(above) > 0.02


def test_the_body_goes_up_smoothly(reference):
    z, steps = reference.q[:, 2], steps_of(reference.ground)
    assert z[-1] - z[0] == pytest.approx(2 * steps.rise, abs=0.04)
    assert np.abs(np.gradient(z, reference.dt)).max() < 1.0


def test_feet_too_long_for_a_tread(walking):
    with pytest.raises(ArgumentError, match=r"Treads of 0\.2 m are too short for the \w+ foot, which takes 0\.2\d m"):
        clean(walking, onto="steps:0.1:0.2:2")


def test_who_goes_nowhere_meets_no_steps():
    squat = motion_of(procedural.make("squat", seconds=1.0))
    with pytest.raises(ArgumentError, match="no steps are in its way"):
        clean(squat, onto="steps:0.1")
    kerb = clean(squat, onto="steps:0.1:0.4:1:-0.5")  # behind it: it stands above the kerb
    assert {stance.height for stance in kerb.stances} == {0.1}


def test_steps_that_nobody_has_placed_are_refused_where_nothing_goes(walking):
    with pytest.raises(ArgumentError, match="where the steps are"):
        br.check(walking, ground="steps:0.1")


# --- the filter -----------------------------------------------------------------------------------


def test_walks_go_up_and_down(done):
    assert done.finished, str(done.blame)
    reference, k = done.reference, len(done.motion)
    off = Many(reference.figure).poses(done.motion.q).x - Many(reference.figure).poses(reference.q[:k]).x
    assert 100.0 * np.linalg.norm(off, axis=-1).mean() < 3.5
    assert done.run.contacts.depth.max() < 2e-3
    weight = reference.figure.mass * 9.81
    assert max(equations(done).nobody_brings()) < ROUND_OFF * weight
    assert reference.ground.above(feet_points(reference, done.motion.q)).min() > -3e-3


def test_soles_stay_on_their_treads(done):
    steps = steps_of(done.reference.ground)
    for points in stood(done.reference, done.motion.q, len(done.motion)):
        least, most = room_on(steps, points)
        assert least < 2e-3
        assert most > -2e-3


def test_whoever_is_pushed_does_not_step_over_an_edge(walking):
    reference = clean(walking, onto=UP)
    shove = br.Shove("spine2", (120.0, 0.0, 0.0), at=1.0)
    pushed = filter_motion(reference, mode="preview", strength=np.inf, pushes=[shove], progress=False)
    assert pushed.finished, str(pushed.blame)
    assert np.linalg.norm(pushed.motion.q[:, :2] - reference.q[: len(pushed.motion), :2], axis=1).max() > 0.02
    for points in stood(reference, pushed.motion.q, len(pushed.motion)):
        least, most = room_on(steps_of(reference.ground), points)
        assert least < 5e-3
        assert most > -5e-3


def test_the_judge_knows_the_steps(done):
    report = done.check()
    assert report.summary["penetration_max_mm"] < 3.0
    assert report.as_dict()["ground"]["steps"]["count"] == 2
    assert not any(label.height for label in done.motion.contacts.contacts)


def test_what_was_done_on_steps_can_be_cleaned_up_again(done):
    again = clean(done.motion)
    assert again.ground == done.motion.contacts.ground
    assert again.moved.mean < 3.0  # [cm]
    assert {round(s.height, 6) for s in again.stances} == {round(s.height, 6) for s in done.reference.stances}


def test_on_line_nothing_is_known_of_steps(walking):
    with pytest.raises(ArgumentError, match="the ground is level"):
        filter_motion(walking, ground=UP, mode="online", progress=False)
