"""Inferred platforms: added under stances above the ground, in contact from above only, and reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

import brachiate as br
from brachiate.filter.offline import filter_motion
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations_of_motion
from brachiate.filter.results.result import FilterResult
from brachiate.filter.schedule.inferred_surfaces import SURFACES, InferredSurfaces, add_inferred_surfaces, find_platforms
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.motion.contact_labels import ContactInterval, ContactLabels

HEIGHT, DURATION = 0.3, 1.0  # [m], [s]
PARTS = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "toe")]


@pytest.fixture(scope="module")
def raised() -> Reference:
    """A squat on an unlabeled platform."""
    motion = br.procedural.sample_motion("squat", seconds=DURATION)
    q = motion.q.copy()
    q[:, 2] += HEIGHT
    labels = tuple(ContactInterval(part, 0.0, DURATION, height=HEIGHT) for part in PARTS)
    return make_reference(replace(motion, q=q), contacts=ContactLabels(labels, br.Terrain(0.0)))


@pytest.fixture(scope="module")
def result(raised: Reference) -> FilterResult:
    return filter_motion(raised, progress=False)


def test_platforms_are_under_the_stances(raised):
    platforms = find_platforms(raised)
    assert {stance.link for platform in platforms for stance in platform.stances} == {stance.link for stance in raised.stances}
    for platform in platforms:
        assert platform.height == pytest.approx(HEIGHT, abs=1e-6)
        for stance in platform.stances:
            assert (stance.corner_positions[:, :2] > platform.low).all()
            assert (stance.corner_positions[:, :2] < platform.high).all()


def test_overlapping_platforms_are_merged(raised):
    platforms = find_platforms(raised)
    for n, one in enumerate(platforms):
        assert not any(one.overlaps(other) for other in platforms[:n])
    doubled = replace(raised, stances=(*raised.stances, *raised.stances))
    assert len(find_platforms(doubled)) == len(platforms)


def test_no_platform_on_the_ground():
    reference = make_reference(br.procedural.sample_motion("squat", seconds=DURATION))
    assert find_platforms(reference) == []
    assert SURFACES not in simulation_world(reference).figures


def test_platform_supports_the_body(result):
    assert result.success, str(result.failure)
    plain = filter_motion(br.procedural.sample_motion("squat", seconds=DURATION), progress=False)
    assert result.tracking["mpjpe_global_cm"] == pytest.approx(plain.tracking["mpjpe_global_cm"], abs=0.2)
    on = {contact.on for contact in result.recording.contacts.at(len(result.motion) // 2)}
    assert on
    assert all(name.startswith(f"{SURFACES}/") for name in on)
    assert max(equations_of_motion(result).root_residual()) < 1e-9 * 9.81 * result.motion.figure.mass


def test_platforms_are_reported(result):
    assert any(assumption.quantity == "platforms" and "0.30 m" in assumption.value for assumption in result.motion.assumptions)
    assert {label.part for label in result.motion.contacts.contacts} >= set(PARTS)
    assert all(label.height == pytest.approx(HEIGHT, abs=0.002) for label in result.motion.contacts.contacts)
    assert result.check().summary["foot_float_max_mm"] < 2.0


def test_no_contact_with_a_platform_from_below(raised):
    world = simulation_world(raised)
    q = world.q.copy()
    q[2] = raised.q[0, 2] - 0.1
    world.q = q
    surfaces = InferredSurfaces(world, "man", raised)
    surfaces.update(0)
    assert not any(contact.on.startswith(SURFACES) for contact in world.contacts)
    q[2] = raised.q[0, 2] + 0.001
    world.q = q
    surfaces.update(0)
    assert {frozenset(("man/left_foot", f"{SURFACES}/platform_{n + 1}")) in world.contact_settings.pair_materials for n in range(2)} == {
        False,
        True,
    }
    surfaces.update(10 * len(raised))  # long after
    assert all(
        frozenset((f"man/{link}", f"{SURFACES}/platform_1")) in world.contact_settings.pair_materials for link in raised.figure.links
    )


def test_no_surfaces_are_added_to_a_world_of_the_user(raised):
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(raised.figure, name="man")
    world.enable_contact(friction=0.8)
    clip = OfflineTracker(world, "man", raised, plan_whole_clip=False)
    clip.control()
    assert SURFACES not in world.figures
    add_inferred_surfaces(world, "man", raised)
    assert SURFACES in world.figures
