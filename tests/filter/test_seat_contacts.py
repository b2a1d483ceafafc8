"""What is sat on: found in a motion, put under pelvis and thighs, met by nothing else, and carrying who sits on it."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.filter.offline import filter_motion, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.schedule.inferred_surfaces import LEDGES, Ledges, pads_of
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import Motion, motion_of
from brachiate.procedural.curves import smooth
from brachiate.procedural.footwork import Print, footwork
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import STANDING, Puppet, moments

DOWN, UP_AGAIN = (0.3, 1.5), (3.3, 4.5)  # [s] when hips go down to the seat, and up from it
UPRIGHT, FORWARD = (1.5, 2.1), (2.7, 3.3)  # [s] when the trunk is raised from leaning forward, and leans again
SITS = 2.2, 2.6  # [s] upright, and at rest
DEEP, BACK = 0.40, 0.38  # [m] how far hips go
LEANS = np.radians(42.0)  # pelvis and trunk, each
SEAT = {"pelvis", "left_thigh", "right_thigh"}


def over(t: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    return smooth((t - span[0]) / (span[1] - span[0]))


def flat(t: np.ndarray) -> np.ndarray:
    return np.zeros_like(t)


@pytest.fixture(scope="module")
def motion() -> Motion:
    """Somebody who sits down on something that nobody told of, sits upright, leans forward and stands up."""
    t, person = moments(5.0, 120.0, least=0.5), Person(1.75)
    down = over(t, DOWN) - over(t, UP_AGAIN)
    lean = LEANS * (down - over(t, UPRIGHT) + over(t, FORWARD))
    root = np.stack((-BACK * down, 0.0 * down, STANDING * person.hip - DEEP * down), axis=-1)
    puppet = Puppet(person, t, root, rotations.about(1, lean))
    puppet.trunk(lean=lean)
    for side, s in SIDES.items():
        puppet.leg(side, footwork(person, t, [Print(-1.0, t[-1] + 1.0, 0.0, s * person.stance)], flat))
        puppet.arm(side, forward=2.5 * lean, elbow=0.2)
    return motion_of(puppet.clip("sit"))


@pytest.fixture(scope="module")
def reference(motion: Motion) -> Reference:
    return clean(motion)


@pytest.fixture(scope="module")
def done(reference: Reference) -> Filtered:
    return filter_motion(reference, progress=False)


def test_a_seat_is_found(reference):
    found = [label for label in reference.labels.contacts if label.height is not None or label.how == "holds"]
    assert {label.part for label in found} == SEAT
    for label in found:
        assert label.how == "stands"
        assert DOWN[0] < label.start < SITS[0] < SITS[1] < label.end < UP_AGAIN[1]


def test_who_sits_stays_and_does_so_by_an_area(reference):
    sits = [stance for stance in reference.stances if stance.link in SEAT]
    assert {stance.link for stance in sits} == SEAT
    places = np.concatenate([stance.places for stance in sits])
    assert np.ptp(places[:, 0]) > 0.1  # from the pelvis half-way along thighs
    assert np.ptp(places[:, 1]) > 0.1
    assert len({sole.leg for sole in Schedule(reference, 0.1).soles if sole.link in SEAT}) == 1
    assert not any(sole.leads for sole in Schedule(reference, 0.1).soles if sole.link in SEAT)


def test_pads_touch_what_sits_on_them(reference):
    pads = {pad.stance.link: pad for pad in pads_of(reference)}
    assert set(pads) == SEAT
    assert pads["pelvis"].R[2, 2] == pytest.approx(1.0, abs=0.02)  # level
    for pad in pads.values():
        assert pad.above(pad.stance.position, pad.stance.rotation) == pytest.approx(0.0, abs=1e-6)
        assert np.abs(pad.R.T @ pad.R - np.eye(3)).max() < 1e-12


def test_only_what_sits_meets_a_seat_and_only_then(reference):
    world = world_of(reference)
    q = world.q.copy()
    ledges = Ledges(world, "man", reference)
    for seconds, expected in ((0.1, set()), (SITS[0], SEAT), (4.9, set())):
        k = int(seconds / reference.dt)
        q[: reference.q.shape[1]] = reference.q[k]
        q[2] += 1e-4
        world.q = q
        ledges.at(k)
        apart = world.surfaces.between
        links = {
            link for link in reference.figure.links for n in range(3) if frozenset((f"man/{link}", f"{LEDGES}/seat_{n + 1}")) not in apart
        }
        assert links == expected


def test_a_seat_carries_who_sits_on_it(done):
    assert done.finished, str(done.blame)
    assert done.tracking["mpjpe_global_cm"] < 5.0
    weight = 9.81 * done.motion.figure.mass
    times = done.motion.times
    seat = np.sum([done.motion.forces[link][:, 2] for link in SEAT], axis=0)
    feet = np.sum([done.motion.forces[f"{side}_foot"][:, 2] for side in ("left", "right")], axis=0)
    sits = (times > SITS[0]) & (times < SITS[1])
    assert seat[sits].mean() > 0.5 * weight
    assert (seat + feet)[sits].mean() == pytest.approx(weight, rel=0.05)
    assert np.all(seat[times > UP_AGAIN[1]] == 0.0)
    assert feet[times > 4.8].mean() == pytest.approx(weight, rel=0.1)
    assert max(equations(done).nobody_brings()) < 1e-9 * weight


def test_it_is_told(done):
    assert any(guess.what == "seats" for guess in done.motion.guesses)
    assert SEAT & {label.part for label in done.motion.contacts.contacts}


def test_who_sits_on_the_ground_needs_no_seat(motion, reference):
    q, k = motion.q.copy(), slice(int(120 * SITS[0]), int(120 * SITS[1]))
    q[:, 2] -= next(stance.height for stance in reference.stances if stance.link == "pelvis")
    low = Motion(motion.figure, motion.times[k] - motion.times[k][0], q[k], "ground")
    labels = tuple(Label(part, 0.0, 0.35) for part in sorted(SEAT))  # feet are in a pit, which the clean-up brings out of it
    sits = clean(low, contacts=Labels(labels, br.Ground(0.0)))
    assert pads_of(sits) == []
    pelvis = next(stance for stance in sits.stances if stance.link == "pelvis")
    assert np.abs(pelvis.places[:, 2]).max() < 0.01
