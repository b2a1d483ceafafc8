"""What is stood on above the ground: put into the world where a motion stands, met from above only, and told."""

from __future__ import annotations

from dataclasses import replace

import pytest

import brachiate as br
from brachiate.filter.offline import Clip, filter_motion, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.schedule.inferred_surfaces import LEDGES, Ledges, ledges_of, put_ledges
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.motion import motion_of

HIGH, LASTS = 0.3, 1.0  # [m], [s]
PARTS = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "toe")]


@pytest.fixture(scope="module")
def raised() -> Reference:
    """Somebody who squats on something that nobody told of."""
    motion = motion_of(br.procedural.make("squat", seconds=LASTS))
    q = motion.q.copy()
    q[:, 2] += HIGH
    labels = tuple(Label(part, 0.0, LASTS, height=HIGH) for part in PARTS)
    return clean(replace(motion, q=q), contacts=Labels(labels, br.Ground(0.0)))


@pytest.fixture(scope="module")
def done(raised: Reference) -> Filtered:
    return filter_motion(raised, progress=False)


def test_ledges_are_where_feet_stand(raised):
    ledges = ledges_of(raised)
    assert {stance.link for ledge in ledges for stance in ledge.stances} == {stance.link for stance in raised.stances}
    for ledge in ledges:
        assert ledge.height == pytest.approx(HIGH, abs=1e-6)
        for stance in ledge.stances:
            assert (stance.places[:, :2] > ledge.low).all()
            assert (stance.places[:, :2] < ledge.high).all()


def test_boards_that_meet_are_one(raised):
    ledges = ledges_of(raised)
    for n, one in enumerate(ledges):
        assert not any(one.meets(other) for other in ledges[:n])
    there = replace(raised, stances=(*raised.stances, *raised.stances))
    assert len(ledges_of(there)) == len(ledges)


def test_who_stands_on_the_ground_needs_none():
    reference = clean(motion_of(br.procedural.make("squat", seconds=LASTS)))
    assert ledges_of(reference) == []
    assert LEDGES not in world_of(reference).figures


def test_it_is_stood_on(done):
    assert done.finished, str(done.blame)
    plain = filter_motion(motion_of(br.procedural.make("squat", seconds=LASTS)), progress=False)
    assert done.tracking["mpjpe_global_cm"] == pytest.approx(plain.tracking["mpjpe_global_cm"], abs=0.2)
    on = {contact.on for contact in done.run.contacts.at(len(done.motion) // 2)}
    assert on
    assert all(name.startswith(f"{LEDGES}/") for name in on)
    assert max(equations(done).nobody_brings()) < 1e-9 * 9.81 * done.motion.figure.mass


def test_it_is_told(done):
    assert any(guess.what == "ledges" and "0.30 m" in guess.value for guess in done.motion.guesses)
    assert {label.part for label in done.motion.contacts.contacts} >= set(PARTS)
    assert all(label.height == pytest.approx(HIGH, abs=0.002) for label in done.motion.contacts.contacts)
    assert done.check().summary["float_max_mm"] < 2.0


def test_nobody_meets_a_ledge_from_below(raised):
    world = world_of(raised)
    q = world.q.copy()
    q[2] = raised.q[0, 2] - 0.1
    world.q = q
    ledges = Ledges(world, "man", raised)
    ledges.at(0)
    assert not any(contact.on.startswith(LEDGES) for contact in world.contacts)
    q[2] = raised.q[0, 2] + 0.001
    world.q = q
    ledges.at(0)
    assert {frozenset(("man/left_foot", f"{LEDGES}/ledge_{n + 1}")) in world.surfaces.between for n in range(2)} == {False, True}
    ledges.at(10 * len(raised))  # long after
    assert all(frozenset((f"man/{link}", f"{LEDGES}/ledge_1")) in world.surfaces.between for link in raised.figure.links)


def test_ledges_leave_a_world_of_the_users_alone(raised):
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(raised.figure, name="man")
    world.touch(friction=0.8)
    clip = Clip(world, "man", raised, whole=False)
    clip.control()
    assert LEDGES not in world.figures
    put_ledges(world, "man", raised)
    assert LEDGES in world.figures
