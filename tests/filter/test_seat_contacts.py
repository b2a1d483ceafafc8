"""Seat contacts: inferred from a motion, tangent to pelvis and thighs, in contact with these only, and supporting the body."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.equations_of_motion import equations_of_motion
from brachiate.filter.results.result import FilterResult
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.schedule.inferred_surfaces import SURFACES, InferredSurfaces, find_seat_pads
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion
from brachiate.procedural.curves import smoothstep
from brachiate.procedural.foot_trajectory import Footprint, foot_trajectory
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import STANDING_HIP_HEIGHT, SkeletonPoser, frame_times

DOWN, UP_AGAIN = (0.3, 1.5), (3.3, 4.5)  # [s] hips move down to the seat, and up from it
UPRIGHT, FORWARD = (1.5, 2.1), (2.7, 3.3)  # [s] the trunk is raised from leaning forward, and leans again
SITS = 2.2, 2.6  # [s] upright, and at rest
DEEP, BACK = 0.40, 0.38  # [m] displacement of the hips
LEANS = np.radians(42.0)  # pelvis and trunk, each
SEAT = {"pelvis", "left_thigh", "right_thigh"}


def over(t: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    return smoothstep((t - span[0]) / (span[1] - span[0]))


def flat(t: np.ndarray) -> np.ndarray:
    return np.zeros_like(t)


@pytest.fixture(scope="module")
def motion() -> Motion:
    """Sitting down on an unlabeled seat, sitting upright, leaning forward and standing up."""
    t, person = frame_times(5.0, 120.0, minimum=0.5), Person(1.75)
    down = over(t, DOWN) - over(t, UP_AGAIN)
    lean = LEANS * (down - over(t, UPRIGHT) + over(t, FORWARD))
    root = np.stack((-BACK * down, 0.0 * down, STANDING_HIP_HEIGHT * person.hip - DEEP * down), axis=-1)
    poser = SkeletonPoser(person, t, root, rotations.about_axis(1, lean))
    poser.pose_trunk(flexion=lean)
    for side, s in SIDES.items():
        poser.pose_leg(side, foot_trajectory(person, t, [Footprint(-1.0, t[-1] + 1.0, 0.0, s * person.stance)], flat))
        poser.pose_arm(side, flexion=2.5 * lean, elbow=0.2)
    return Motion.from_clip(poser.clip("sit"))


@pytest.fixture(scope="module")
def reference(motion: Motion) -> Reference:
    return make_reference(motion)


@pytest.fixture(scope="module")
def result(reference: Reference) -> FilterResult:
    return filter_motion(reference, progress=False)


def test_seat_contacts_are_inferred(reference):
    found = [label for label in reference.contacts.contacts if label.height is not None or label.kind == "grip"]
    assert {label.part for label in found} == SEAT
    for label in found:
        assert label.kind == "support"
        assert DOWN[0] < label.start < SITS[0] < SITS[1] < label.end < UP_AGAIN[1]


def test_sitting_parts_have_stances_over_an_area(reference):
    sits = [stance for stance in reference.stances if stance.link in SEAT]
    assert {stance.link for stance in sits} == SEAT
    positions = np.concatenate([stance.corner_positions for stance in sits])
    assert np.ptp(positions[:, 0]) > 0.1  # from the pelvis to the middle of the thighs
    assert np.ptp(positions[:, 1]) > 0.1
    assert len({link.leg for link in ContactSchedule(reference, 0.1).contact_links if link.link in SEAT}) == 1
    assert not any(link.swings for link in ContactSchedule(reference, 0.1).contact_links if link.link in SEAT)


def test_seat_pads_are_tangent_to_the_links(reference):
    pads = {pad.stance.link: pad for pad in find_seat_pads(reference)}
    assert set(pads) == SEAT
    assert pads["pelvis"].R[2, 2] == pytest.approx(1.0, abs=0.02)  # level
    for pad in pads.values():
        assert pad.clearance(pad.stance.position, pad.stance.rotation) == pytest.approx(0.0, abs=1e-6)
        assert np.abs(pad.R.T @ pad.R - np.eye(3)).max() < 1e-12


def test_only_sitting_links_have_contact_with_a_seat_while_they_sit(reference):
    world = simulation_world(reference)
    q = world.q.copy()
    surfaces = InferredSurfaces(world, "man", reference)
    for seconds, expected in ((0.1, set()), (SITS[0], SEAT), (4.9, set())):
        k = int(seconds / reference.dt)
        q[: reference.q.shape[1]] = reference.q[k]
        q[2] += 1e-4
        world.q = q
        surfaces.update(k)
        ignored = world.contact_settings.pair_materials
        links = {
            link
            for link in reference.figure.links
            for n in range(3)
            if frozenset((f"man/{link}", f"{SURFACES}/seat_{n + 1}")) not in ignored
        }
        assert links == expected


def test_seat_supports_the_body(result):
    assert result.success, str(result.failure)
    assert result.tracking["mpjpe_global_cm"] < 5.0
    weight = 9.81 * result.motion.figure.mass
    times = result.motion.times
    seat = np.sum([result.motion.forces[link][:, 2] for link in SEAT], axis=0)
    feet = np.sum([result.motion.forces[f"{side}_foot"][:, 2] for side in ("left", "right")], axis=0)
    sits = (times > SITS[0]) & (times < SITS[1])
    assert seat[sits].mean() > 0.5 * weight
    assert (seat + feet)[sits].mean() == pytest.approx(weight, rel=0.05)
    assert np.all(seat[times > UP_AGAIN[1]] == 0.0)
    assert feet[times > 4.8].mean() == pytest.approx(weight, rel=0.1)
    assert max(equations_of_motion(result).root_residual()) < 1e-9 * weight


def test_seats_are_reported(result):
    assert any(assumption.quantity == "seats" for assumption in result.motion.assumptions)
    assert SEAT & {label.part for label in result.motion.contacts.contacts}


def test_sitting_on_the_ground_has_no_seat_pads(motion, reference):
    q, k = motion.q.copy(), slice(int(120 * SITS[0]), int(120 * SITS[1]))
    q[:, 2] -= next(stance.height for stance in reference.stances if stance.link == "pelvis")
    low = Motion(motion.figure, motion.times[k] - motion.times[k][0], q[k], "ground")
    labels = tuple(
        ContactInterval(part, 0.0, 0.35) for part in sorted(SEAT)
    )  # the feet are below the ground, and are lifted by preprocessing
    sits = make_reference(low, contacts=ContactLabels(labels, br.Terrain(0.0)))
    assert find_seat_pads(sits) == []
    pelvis = next(stance for stance in sits.stances if stance.link == "pelvis")
    assert np.abs(pelvis.corner_positions[:, 2]).max() < 0.01
