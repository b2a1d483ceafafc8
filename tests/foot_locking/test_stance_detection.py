"""Stance detection on synthetic foot tracks with known stance phases: brief gaps, impossible flights, heel stances, resteps, labels."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from brachiate import rotations
from brachiate.anatomy.contact_points import ContactPoints
from brachiate.anatomy.feet import Foot
from brachiate.anatomy.sole import Sole
from brachiate.contact_estimation.given_contacts import resolve_contacts, resolve_terrain
from brachiate.errors import ArgumentError
from brachiate.foot_locking.contact_tracks import ContactTracks
from brachiate.foot_locking.foot_track import Foothold, FootTrack
from brachiate.foot_locking.stance_detection import (
    StanceLimits,
    detect_stances,
    drop_brief_intervals,
    extend_stances_over_impossible_flights,
    fit_footholds,
    restore_labeled_stances,
)
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import Poses
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.terrain import Terrain

DT, G = 0.008, 9.81  # [s], [m/s²]
TIMES = DT * np.arange(126)
CORNERS = np.array([(-0.05, -0.04, 0.0), (-0.05, 0.04, 0.0), (0.2, -0.04, 0.0), (0.2, 0.04, 0.0)])  # heel and toes, ankle at the origin
DEAD_BAND = np.radians(2.0)


def foot(body: int) -> Foot:
    return Foot(("left", "right")[body], ("left_foot", "right_foot")[body], body, Sole(np.eye(3), CORNERS, CORNERS), CORNERS)


def track(position: np.ndarray, pitch: np.ndarray | float = 0.0, yaw: np.ndarray | float = 0.0) -> FootTrack:
    """Track of a foot whose heel (f, 3) [m] is given, pitched with toes down about it and turned [rad]."""
    f = len(position)
    tilt = rotations.to_matrix(rotations.about_axis(1, np.broadcast_to(pitch, f)))
    R = rotations.to_matrix(rotations.about_axis(2, np.broadcast_to(yaw, f))) @ tilt
    heel = np.array((-0.05, 0.0, 0.0))
    return FootTrack(foot(0), R, position - R @ heel, TIMES[:f])


def poses(bodies: list[tuple[np.ndarray, np.ndarray]]) -> Poses:
    empty = np.zeros((0, len(TIMES), 3))
    return Poses(np.stack([R for R, _ in bodies]), np.stack([x for _, x in bodies]), empty, empty)


def still(x: float = 0.0) -> np.ndarray:
    return np.tile((x, 0.0, 0.0), (len(TIMES), 1))


def stepping(liftoff: int, landing: int, length: float = 0.4, height: float = 0.15) -> np.ndarray:
    """Heel positions of a foot with one swing between two frames."""
    s = np.clip((np.arange(len(TIMES)) - liftoff) / (landing - liftoff), 0.0, 1.0)
    return np.stack((length * s, 0.0 * s, 4.0 * height * s * (1.0 - s)), axis=1)


def flags(*intervals: tuple[int, int]) -> np.ndarray:
    values = np.zeros(len(TIMES), bool)
    for start, end in intervals:
        values[start:end] = True
    return values


# --- footholds ------------------------------------------------------------------------------------


def test_foothold_is_the_flat_pose_of_a_foot_at_rest():
    resting = track(still(1.0), yaw=0.3)
    (foothold,) = fit_footholds(resting, flags((10, 60)), np.full(len(TIMES), 0.02))
    assert (foothold.start, foothold.end, foothold.height) == (10, 60, 0.02)
    assert np.allclose(foothold.R, rotations.to_matrix(rotations.about_axis(2, np.array(0.3))))
    assert foothold.x == pytest.approx(resting.x[0] + (0.0, 0.0, 0.02))
    assert foothold.max_slide < 1e-12
    assert foothold.max_yaw_error < 1e-12


def test_foothold_follows_the_time_at_rest():
    # The foot rests at 0 for most of the stance and slides 3 cm at its end: fails if all frames weigh the same.
    x = np.where(np.arange(len(TIMES)) < 100, 0.0, 0.03 * (np.arange(len(TIMES)) - 100) / 26)
    sliding = track(np.stack((x, 0.0 * x, 0.0 * x), axis=1))
    foothold = sliding.fit_foothold(0, len(TIMES), 0.0)
    assert abs(foothold.x[0] - 0.05) < 5e-4
    assert foothold.max_slide == pytest.approx(0.03, abs=2e-3)


# --- ends of stances and brief intervals ----------------------------------------------------------


def test_ends_of_stances_are_trimmed_where_the_foot_moves():
    moving = track(stepping(40, 80))
    trimmed = true_intervals(moving.trim_ends(flags((0, 45), (75, 126))))
    assert trimmed[0][0] == 0  # ends of the motion stay
    assert trimmed[-1][1] == len(TIMES)
    assert abs(trimmed[0][1] - 40) <= 3
    assert abs(trimmed[1][0] - 80) <= 3


def test_stance_of_a_moving_foot_is_dropped():
    assert not track(stepping(20, 100, length=2.0)).trim_ends(flags((40, 60))).any()


def test_brief_gaps_at_one_foothold_are_filled():
    resting, heights = track(still()), np.zeros(len(TIMES))
    assert true_intervals(drop_brief_intervals(resting, flags((0, 50), (53, 126)), heights)) == [(0, 126)]  # 32 ms
    assert true_intervals(drop_brief_intervals(resting, flags((0, 50), (60, 126)), heights)) == [(0, 50), (60, 126)]  # 88 ms


def test_brief_gaps_between_different_footholds_stay():
    jumping = track(np.where(np.arange(len(TIMES))[:, None] < 51, still(0.0), still(0.3)))
    gaps = drop_brief_intervals(jumping, flags((0, 50), (53, 126)), np.zeros(len(TIMES)))
    assert true_intervals(gaps) == [(0, 50), (53, 126)]


def test_filled_gaps_have_the_height_of_the_surface_before_them():
    heights = np.where(flags((50, 53)), 0.0, 0.2)
    drop_brief_intervals(track(still()), flags((0, 50), (53, 126)), heights)
    assert heights == pytest.approx(0.2)


def test_brief_stances_are_dropped_except_at_the_ends_of_the_motion():
    resting, heights = track(still()), np.zeros(len(TIMES))
    # Of 5, 6 and 5 frames: 32, 40 and 32 ms between first and last frame
    assert true_intervals(drop_brief_intervals(resting, flags((0, 5), (40, 46), (121, 126)), heights)) == [(0, 5), (121, 126)]
    assert true_intervals(drop_brief_intervals(resting, flags((40, 48)), heights)) == [(40, 48)]  # 56 ms


# --- flights and gravity --------------------------------------------------------------------------


def extend(tracks: list[FootTrack], in_stance: list[np.ndarray], com_velocity: np.ndarray, support: np.ndarray | None = None):
    """Stance intervals of each foot after extension, and what is reported."""
    in_stance, heights = [each.copy() for each in in_stance], [np.zeros(len(TIMES)) for _ in tracks]
    other = np.zeros(len(TIMES), bool) if support is None else support
    assumptions = extend_stances_over_impossible_flights(tracks, in_stance, heights, other, com_velocity, G)
    return [true_intervals(each) for each in in_stance], assumptions


def test_flight_without_falling_is_closed_by_the_stances():
    left, right = track(still()), track(still(0.3))
    (first, second), assumptions = extend([left, right], [flags((0, 50)), flags((70, 126))], np.zeros(len(TIMES)))
    assert first[0][0] == 0
    assert second[-1][1] == len(TIMES)
    assert first[-1][1] >= second[0][0]  # no flight in between
    assert assumptions == []


def test_flight_in_free_fall_stays():
    left, right = track(still()), track(still(0.3))
    stances, assumptions = extend([left, right], [flags((0, 50)), flags((70, 126))], -G * TIMES)
    assert stances == [[(0, 50)], [(70, 126)]]
    assert assumptions == []


def test_very_short_flight_is_closed_even_in_free_fall():
    left, right = track(still()), track(still(0.3))
    (first, second), _ = extend([left, right], [flags((0, 50)), flags((52, 126))], -G * TIMES)
    assert first[-1][1] >= second[0][0]


@pytest.mark.parametrize(
    ("fall", "support", "restored"),
    [(0.0, False, [(0, 40), (52, 70), (90, 126)]), (-G, False, [(0, 40), (90, 126)]), (0.0, True, [(0, 40), (90, 126)])],
)
def test_labeled_contact_of_a_fast_foot_is_restored_where_nothing_falls(fall, support, restored):
    # Fails if a foot that slides while it carries the body leaves a flight phase in which nothing falls.
    tracks, in_stance = [track(still()), track(still(0.3))], [flags((0, 40), (90, 126)), flags()]
    heights, labeled = [np.zeros(len(TIMES)) for _ in tracks], [flags((0, 40), (52, 70), (80, 82), (90, 126)), flags()]
    surface, other = [np.full(len(TIMES), 0.1), np.zeros(len(TIMES))], np.full(len(TIMES), support)
    found = restore_labeled_stances(tracks, in_stance, heights, (labeled, surface), other, fall * TIMES, G)
    assert found == (len(restored) == 3)
    assert true_intervals(in_stance[0]) == restored  # the contact of 8 ms is too brief
    assert not in_stance[1].any()
    assert (heights[0][52:70] == (0.1 if found else 0.0)).all()


def test_flight_stays_and_is_reported_if_no_foot_is_near_the_ground():
    high = np.where(flags((50, 90))[:, None], (0.0, 0.0, 0.3), (0.0, 0.0, 0.0))
    left, right = track(high), track(high + np.array((0.3, 0.0, 0.0)))
    stances, assumptions = extend([left, right], [flags((0, 50)), flags((90, 126))], np.zeros(len(TIMES)))
    assert stances == [[(0, 50)], [(90, 126)]]
    (assumption,) = assumptions
    assert assumption.quantity == "flight"
    assert assumption.value == f"{TIMES[50]:.2f}-{TIMES[89]:.2f} s"
    assert "falls with 0.0 g only" in assumption.reason.replace("-0.0", "0.0")


def test_other_support_closes_a_flight():
    left, right = track(still()), track(still(0.3))
    stances, _ = extend([left, right], [flags((0, 50)), flags((70, 126))], np.zeros(len(TIMES)), flags((45, 75)))
    assert stances == [[(0, 50)], [(70, 126)]]


def test_flights_at_the_ends_of_the_motion_stay():
    left, right = track(still()), track(still(0.3))
    stances, _ = extend([left, right], [flags((20, 100)), flags((20, 100))], np.zeros(len(TIMES)))
    assert stances == [[(20, 100)], [(20, 100)]]


def test_stances_overlap_by_a_frame_where_one_follows_the_other():
    left, right = track(still()), track(still(0.3))
    stances, _ = extend([left, right], [flags((0, 60)), flags((60, 126))], np.zeros(len(TIMES)))
    assert stances == [[(0, 61)], [(60, 126)]]


def test_one_foot_that_lands_elsewhere_keeps_a_hop():
    # Without the minimum duration of a hop the flight of one foot between two footholds would be closed completely.
    x = np.where(np.arange(len(TIMES))[:, None] < 60, still(0.0), still(0.3))
    (stances,), _ = extend([track(x)], [flags((0, 55), (65, 126))], np.zeros(len(TIMES)))
    assert len(stances) == 2
    assert TIMES[stances[1][0]] - TIMES[stances[0][1] - 1] > 0.05


# --- foot roll ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pitch", "flat"), [(-0.17, True), (-0.35, False), (0.1, True), (0.35, False)])
def test_stance_on_the_heel_is_flat_unless_the_pitch_is_large(pitch, flat):
    # Of two stances the second one has raised toes (pitch < 0) or a raised heel.
    first, second = flags((0, 60)), flags((66, 126))
    rolling = track(still(), pitch=np.where(second, pitch, 0.0))
    rolling.estimate_rest_pitch(first | second, DEAD_BAND)
    assert np.abs(rolling.rocker_angle[first]).max() < 1e-12
    assert (np.abs(rolling.rocker_angle[second]).max() < 1e-12) == flat
    assert rolling.rest_pitch[second] == pytest.approx(pitch if flat else 0.0)


def test_rest_pitch_is_limited():
    standing = track(still(), pitch=0.5)
    standing.estimate_rest_pitch(flags((0, 126)), DEAD_BAND)
    assert standing.rest_pitch == pytest.approx(0.2)
    assert standing.rocker_angle.min() > 0.1


def test_dead_band_hides_small_roll_and_keeps_large_roll():
    angle = np.concatenate((np.zeros(60), np.linspace(0.0, 0.8, 66)))
    rolling = track(still(), pitch=angle)
    rolling.estimate_rest_pitch(flags((0, 60)), DEAD_BAND)
    assert np.abs(rolling.rocker_angle[angle < DEAD_BAND]).max() < 1e-12
    assert rolling.rocker_angle[angle > 0.6] == pytest.approx(angle[angle > 0.6], abs=1e-9)
    assert (np.diff(rolling.rocker_angle) > -1e-12).all()


def test_foothold_of_a_rolling_foot_is_where_its_edge_is():
    # Rolling over the toes, the heel rises and moves forward, while the foothold stays.
    roll = np.clip(np.linspace(-0.5, 0.6, len(TIMES)), 0.0, None)
    toe = np.array((0.25, 0.0, 0.0))
    R = rotations.to_matrix(rotations.about_axis(1, roll))
    rolling = track(toe - R @ toe, pitch=roll)
    rolling.estimate_rest_pitch(flags((0, 126)), DEAD_BAND)
    foothold = rolling.fit_foothold(0, len(TIMES), 0.0)
    assert foothold.x == pytest.approx((0.05, 0.0, 0.0), abs=2e-3)
    assert foothold.max_slide < 5e-3
    assert np.allclose(foothold.R, np.eye(3))


# --- resteps --------------------------------------------------------------------------------------


def split(x: np.ndarray, support: np.ndarray, yaw: np.ndarray | float = 0.0, **options: bool):
    """Stance intervals after a split of one stance of the whole motion, and what is reported."""
    moving = track(x, yaw=yaw)
    in_stance, assumptions = moving.split_resteps(flags((0, 126)), support, np.zeros(len(TIMES)), **options)
    return true_intervals(in_stance), assumptions


def test_restep_during_other_support_is_a_swing():
    stances, assumptions = split(stepping(50, 70, length=0.2, height=0.0), flags((0, 126)))
    assert len(stances) == 2
    assert stances[0][1] <= 60 <= stances[1][0]
    assert TIMES[stances[1][0]] - TIMES[stances[0][1]] >= 0.12 - 1e-9
    assert [assumption.value[:7] for assumption in assumptions] == ["steps ("]


def test_slide_without_other_support_is_locked_and_reported():
    stances, (assumption,) = split(stepping(50, 70, length=0.12, height=0.0), flags())
    assert stances == [(0, 126)]
    assert assumption.quantity == "left foot"
    assert assumption.value.startswith("slides by ")


def test_far_slide_without_other_support_is_a_hop():
    stances, assumptions = split(stepping(57, 64, length=0.5, height=0.0), flags())
    assert len(stances) == 2
    assert [assumption.value[:6] for assumption in assumptions] == ["hops ("]


def test_hop_is_brief_or_as_long_as_the_foot_moves():
    """A foot slides by 0.5 m in 0.32 s without other support: a flight of the body must be brief, a hop of kinematics need not be."""
    for brief, shortest, longest in ((True, 0.06, 0.09), (False, 0.3, 0.34)):
        stances, assumptions = split(stepping(40, 80, length=0.5, height=0.0), flags(), brief_hops=brief)
        swings = [TIMES[after[0]] - TIMES[before[1]] for before, after in pairwise(stances)]
        assert shortest < min(swings) <= max(swings) < longest
        assert sum(assumption.value.startswith("hops") for assumption in assumptions) == len(swings)


def test_turn_in_place_during_other_support_is_a_restep():
    # The center of the sole stays where it is. Fails if only its position counts.
    yaw = np.interp(np.arange(len(TIMES)), (50, 70), (0.0, 0.9))
    heel = 0.125 * np.stack((1.0 - np.cos(yaw), -np.sin(yaw), 0.0 * yaw), axis=1)
    stances, _ = split(heel, flags((0, 126)), yaw)
    assert len(stances) == 2


def test_small_slide_stays_one_stance():
    assert split(stepping(50, 70, length=0.03, height=0.0), flags((0, 126))) == ([(0, 126)], [])


# --- labels ---------------------------------------------------------------------------------------

PARTS = ("left_heel", "left_toe", "right_heel", "right_toe", "pelvis")
LIMITS = StanceLimits(DEAD_BAND, 0.5, inferred=False, rest_since=np.inf)


def figure(left: np.ndarray, right: np.ndarray) -> tuple[list[FootTrack], ContactTracks]:
    """Tracks of two level feet with given heel positions, and their contact points; a pelvis above."""
    upright, heel = np.tile(np.eye(3), (len(TIMES), 1, 1)), np.array((-0.05, 0.0, 0.0))
    bodies = poses([(upright, left - heel), (upright, right - heel), (upright, np.tile((0.0, 0.0, 0.9), (len(TIMES), 1)))])
    places = np.array([(-0.05, 0, 0), (0.2, 0, 0), (-0.05, 0, 0), (0.2, 0, 0), (0, 0, 0)], float)
    links = ("left_foot", "left_foot", "right_foot", "right_foot", "pelvis")
    points = ContactPoints(np.array([0, 0, 1, 1, 2]), places, np.zeros(5), np.arange(5), PARTS, links)
    return [FootTrack(foot(body), bodies.R[body], bodies.x[body], TIMES) for body in (0, 1)], ContactTracks(points, bodies, TIMES, 0.0)


def labels(*intervals: tuple[str, int, int], height: float | None = None) -> ContactLabels:
    contacts = [
        ContactInterval(f"{name}_{part}", TIMES[a], TIMES[b - 1], height=height) for name, a, b in intervals for part in ("heel", "toe")
    ]
    return ContactLabels(tuple(contacts), Terrain(0.0))


def test_labeled_walk_has_its_stances():
    # The left foot swings in frames 30-60, the right one in 70-100; labels are five frames too long at their ends, with a gap of 24 ms.
    left, right = stepping(30, 60), stepping(70, 100) + np.array((0.0, -0.2, 0.0))
    feet, tracks = figure(left, right)
    given = labels(("left", 0, 35), ("left", 55, 90), ("left", 92, 126), ("right", 0, 75), ("right", 95, 126))
    phases = detect_stances(feet, given, tracks, np.zeros(len(TIMES)), LIMITS._replace(max_speed=5.0))
    stances = [true_intervals(each) for each in phases.in_stance]
    for found, (liftoff, landing) in zip(stances, ((30, 60), (70, 100)), strict=True):
        assert [found[0][0], found[-1][1]] == [0, len(TIMES)]
        assert len(found) == 2
        assert abs(found[0][1] - liftoff) <= 3
        assert abs(found[1][0] - landing) <= 3
    assert [[round(foothold.x[0] - 0.05, 2) for foothold in each] for each in phases.footholds] == [[0.0, 0.4], [0.0, 0.4]]
    assert not np.any(phases.lying)
    assert phases.assumptions == []


@pytest.mark.parametrize(("max_speed", "count"), [(0.5, 2), (5.0, 1)])
def test_fast_frames_interrupt_a_stance(max_speed, count):
    feet, tracks = figure(stepping(56, 63, length=0.04, height=0.0), still(0.3))
    given = labels(("left", 0, 126), ("right", 0, 126))
    phases = detect_stances(feet, given, tracks, np.zeros(len(TIMES)), LIMITS._replace(max_speed=max_speed))
    assert len(phases.footholds[0]) == count


def test_label_of_a_fast_foot_is_no_stance():
    feet, tracks = figure(stepping(20, 100, length=2.0, height=0.02), still())
    phases = detect_stances(feet, labels(("left", 30, 90), ("right", 0, 126)), tracks, np.zeros(len(TIMES)), LIMITS)
    assert not phases.in_stance[0].any()
    assert phases.footholds[0] == []


def test_foot_on_its_side_is_lying():
    feet, tracks = figure(still(), still(0.3))
    feet[0].sole_down[:] = False
    phases = detect_stances(feet, labels(("left", 0, 126), ("right", 0, 126)), tracks, np.zeros(len(TIMES)), LIMITS)
    assert phases.lying[0].all()
    assert not phases.in_stance[0].any()
    assert phases.in_stance[1].all()


@pytest.mark.parametrize(("inferred", "height"), [(False, 0.05), (True, 0.0)])
def test_low_inferred_surface_is_the_ground(inferred, height):
    feet, tracks = figure(still(), still(0.3))
    given = labels(("left", 0, 126), ("right", 0, 126), height=0.05)
    phases = detect_stances(feet, given, tracks, np.zeros(len(TIMES)), LIMITS._replace(inferred=inferred))
    assert {foothold.height for each in phases.footholds for foothold in each} == {height}


def test_foot_at_rest_at_the_end_is_in_stance_without_a_label():
    feet, tracks = figure(still(), still(0.3))
    given = labels(("left", 0, 126), ("right", 0, 80))
    without, with_rest = (
        detect_stances(feet, given, tracks, -G * TIMES, LIMITS._replace(rest_since=since)).in_stance[1] for since in (np.inf, TIMES[90])
    )
    assert true_intervals(without) == [(0, 80)]
    assert true_intervals(with_rest) == [(0, 80), (90, 126)]


def test_support_by_another_part_counts():
    # The pelvis carries the body while both feet are away: no stance is extended. Fails if only feet support it.
    feet, tracks = figure(still(), still(0.3))
    sitting = ContactInterval("pelvis", TIMES[40], TIMES[100], height=0.9)
    given = labels(("left", 0, 50), ("left", 90, 126), ("right", 0, 50), ("right", 90, 126))
    seated = ContactLabels((*given.contacts, sitting), given.terrain)
    for each, expected in ((seated, [(0, 50), (90, 126)]), (given, [(0, 126)])):
        phases = detect_stances(feet, each, tracks, np.zeros(len(TIMES)), LIMITS)
        assert true_intervals(np.any(phases.in_stance, axis=0)) == expected


# --- bad input ------------------------------------------------------------------------------------


def test_motion_without_labels_has_no_stance():
    feet, tracks = figure(still(), still(0.3))
    phases = detect_stances(feet, labels(), tracks, np.zeros(len(TIMES)), LIMITS)
    assert not np.any(phases.in_stance)
    assert phases.footholds == [[], []]


@pytest.mark.parametrize(("start", "end", "expected"), [(5.0, 6.0, []), (-3.0, -2.0, []), (-1.0, 9.0, [(0, 126)])])
def test_labels_beyond_the_motion(start, end, expected):
    feet, tracks = figure(still(), still(0.3))
    given = ContactLabels((ContactInterval("left_heel", start, end),), Terrain(0.0))
    phases = detect_stances(feet, given, tracks, -G * TIMES, LIMITS)
    assert true_intervals(phases.in_stance[0]) == expected


def test_foot_below_the_ground_is_put_on_it():
    feet, tracks = figure(still() - (0.0, 0.0, 0.1), still(0.3))
    phases = detect_stances(feet, labels(("left", 0, 126), ("right", 0, 126)), tracks, np.zeros(len(TIMES)), LIMITS)
    (foothold,) = phases.footholds[0]
    assert foothold.x[2] == pytest.approx(0.0)


def test_label_of_an_unknown_part_is_refused():
    feet, tracks = figure(still(), still(0.3))
    with pytest.raises(ValueError, match="not in tuple"):  # names are checked earlier, by resolve_contacts
        detect_stances(feet, labels(("middle", 0, 50)), tracks, np.zeros(len(TIMES)), LIMITS)


def test_invalid_terrains_and_contacts_are_refused():
    with pytest.raises(ArgumentError, match=r"terrain: expected a Terrain or a text such as 'slope:10', got 3"):
        resolve_terrain(3, "terrain")  # type: ignore[arg-type]
    motion = SimpleNamespace(contacts=None, figure=None)
    with pytest.raises(ArgumentError, match="give contacts or source_terrain, not both"):
        resolve_contacts(motion, "flat", ContactLabels((), Terrain(0.0)), "source_terrain")  # type: ignore[arg-type]


def test_stances_without_frames_are_no_footholds():
    resting = track(still())
    assert fit_footholds(resting, flags(), np.zeros(len(TIMES))) == []
    assert not drop_brief_intervals(resting, flags(), np.zeros(len(TIMES))).any()
    resting.estimate_rest_pitch(flags(), DEAD_BAND)  # nothing to estimate from
    assert not resting.rest_pitch.any()
    assert isinstance(resting.fit_foothold(3, 4, 0.0), Foothold)  # a single frame is enough


def test_a_flat_foot_that_trembles_does_not_flip():
    # Fails if heel and toes come and go with a pitch of three degrees about a dead band of two.
    pitch = np.radians(3.0) * np.sin(2.0 * np.pi * TIMES / 0.25)
    plain, known = track(still(), pitch), track(still(), pitch)
    everywhere = flags((0, 126))
    plain.estimate_rest_pitch(everywhere, DEAD_BAND)
    known.estimate_rest_pitch(everywhere, DEAD_BAND, everywhere)
    assert np.count_nonzero(np.diff(np.sign(plain.rocker_angle))) > 6
    assert not known.rocker_angle[13:-13].any()


def test_a_foot_that_rolls_once_within_a_flat_contact_rolls():
    pitch = np.radians(4.0) * np.clip((TIMES - 0.4) / 0.2, 0.0, 1.0)
    rolling = [track(still(), pitch) for _ in range(2)]
    for each, flat in zip(rolling, (None, flags((0, 126))), strict=True):
        each.estimate_rest_pitch(flags((0, 126)), DEAD_BAND, flat)
    assert np.array_equal(rolling[0].rocker_angle, rolling[1].rocker_angle)
