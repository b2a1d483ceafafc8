"""Stance detection: from contact labels of the feet to stance phases that are consistent with gravity, each at one flat foothold.

Contact labels of captured motions are inaccurate at their ends, interrupt stances, and leave flight phases in which the body does not fall.
Stance phases are trimmed where a foot still moves, cleared of short interruptions, extended over impossible flights, and split where a foot
has been moved to another foothold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import HEEL
from brachiate.assumptions import Assumption
from brachiate.foot_locking.contact_tracks import ContactTracks
from brachiate.foot_locking.foot_track import HOP_MIN_DURATION, STANCE_MIN_DURATION, Foothold, FootTrack
from brachiate.intervals import drop_short_intervals, true_intervals
from brachiate.motion.contact_labels import ContactLabels
from brachiate.validation import Array

SWING_MIN_DURATION = 0.05  # [s] a shorter swing between two stances at one foothold is an error of the labels
SAME_FOOTHOLD_DISTANCE = 0.05  # [m] footholds that are one
FLIGHT_MIN_FALL = 0.85  # of gravity: downward acceleration of the CoM in a flight phase
FLIGHT_MIN_SHARE = 0.5  # of gravity: with less the body does not fly
FALSE_FLIGHT_DURATION = 0.1  # [s] a shorter one is not reported: a foot that rolls off and lands is near the ground
FLIGHT_MIN_DURATION = 0.04  # [s] a shorter flight is bridged
GROUND_MAX_HEIGHT = 0.08  # [m] a lower inferred surface is the ground: contacts of captured feet differ by centimeters in height
GRAVITY = 9.81  # [m/s²]


class StanceLimits(NamedTuple):
    """Limits of stance detection."""

    dead_band: float  # [rad] pitch of a foot that is taken as flat
    max_speed: float  # [m/s] of heel or toe in stance
    inferred: bool  # whether labels were inferred from the motion: then surfaces slightly above the ground are the ground
    rest_since: float  # [s] from this time on a foot at rest near the ground is in stance, in spite of the labels


class StancePhases(NamedTuple):
    """Stance phases, foot by foot."""

    in_stance: list[Array]  # (f,) stance flags
    flat: list[Array]  # (f,) whether heel and front are in contact by the labels
    lying: list[Array]  # (f,) whether the foot is in contact with its side or back
    footholds: list[list[Foothold]]
    assumptions: list[Assumption]


def detect_stances(
    feet: Sequence[FootTrack], labels: ContactLabels, tracks: ContactTracks, com_velocity: Array, limits: StanceLimits
) -> StancePhases:
    """Stance phases of all feet, from contact labels, the motion of the feet, and gravity.

    Args:
        feet: Tracks of the feet.
        labels: Contact labels of the motion.
        tracks: Contact points of the motion.
        com_velocity: Vertical velocity of the CoM: (f,) [m/s].
        limits: Limits of detection.
    """
    flat = [_labeled_flat(foot, labels, tracks) for foot in feet]
    labeled, lying, heights = (list(each) for each in zip(*(_labeled_stance(foot, labels, tracks, limits) for foot in feet), strict=True))
    in_stance = [
        flags & (foot.min_speed < limits.max_speed) | foot.at_rest(limits.rest_since) for flags, foot in zip(labeled, feet, strict=True)
    ]
    foot_bodies = {body for foot in feet for body in foot.foot.bodies}
    other_support = np.any(lying, axis=0)
    for part in dict.fromkeys(label.part for label in labels.contacts):
        if tracks.body(part) not in foot_bodies:
            other_support |= labels.active(part, tracks.times)
    for k, foot in enumerate(feet):
        foot.estimate_rest_pitch(in_stance[k], limits.dead_band, flat[k])
        in_stance[k] = drop_brief_intervals(foot, foot.trim_ends(in_stance[k]), heights[k])
    labeled_heights = [height.copy() for height in heights]
    assumptions = extend_stances_over_impossible_flights(feet, in_stance, heights, other_support, com_velocity, GRAVITY)
    if limits.inferred:
        restored = restore_labeled_stances(feet, in_stance, heights, (labeled, labeled_heights), other_support, com_velocity, GRAVITY)
        if restored:
            assumptions = extend_stances_over_impossible_flights(feet, in_stance, heights, other_support, com_velocity, GRAVITY)
    for k, foot in enumerate(feet):
        in_stance[k] = drop_brief_intervals(foot, in_stance[k], heights[k])
        foot.estimate_rest_pitch(in_stance[k], limits.dead_band, flat[k])
    assumptions += split_resteps(feet, in_stance, heights, other_support)
    footholds = [fit_footholds(*each) for each in zip(feet, in_stance, heights, strict=True)]
    return StancePhases(in_stance, flat, lying, footholds, assumptions)


def _labeled_stance(foot: FootTrack, labels: ContactLabels, tracks: ContactTracks, limits: StanceLimits) -> tuple[Array, Array, Array]:
    """Contact of the sole of a foot by the labels of its parts, of its side or back, and heights of the surface [m]: (f,) each."""
    height = np.full(len(foot.times), np.inf)
    stairs = labels.terrain.stairs
    ground = np.zeros(len(height)) if stairs is None else stairs.height_at(0.5 * (foot.heel + foot.toe))
    for label in labels.contacts:
        if tracks.body(label.part) in foot.foot.bodies:
            frames = slice(*tracks.frames(label.start, label.end))
            labeled = ground[frames] if label.height is None else np.full(len(ground[frames]), label.height - tracks.ground_height)
            on_ground = limits.inferred & (labeled - ground[frames] < GROUND_MAX_HEIGHT)
            # The lowest part is in stance; a heel above it is raised
            height[frames] = np.minimum(height[frames], np.where(on_ground, ground[frames], labeled))
    in_contact = np.isfinite(height)
    return in_contact & foot.sole_down, in_contact & ~foot.sole_down, np.where(in_contact, height, 0.0)


def _labeled_flat(foot: FootTrack, labels: ContactLabels, tracks: ContactTracks) -> Array:
    """Whether heel and front of a foot are in contact by the labels of its parts: (f,); never if it has no heel."""
    ends = np.zeros((2, len(foot.times)), bool)
    for label in labels.contacts:
        if tracks.body(label.part) in foot.foot.bodies:
            ends[int(HEEL in label.part), slice(*tracks.frames(label.start, label.end))] = True
    return ends[0] & ends[1]


def split_resteps(
    feet: Sequence[FootTrack], in_stance: list[Array], heights: Sequence[Array], other_support: Array, brief_hops: bool = True
) -> list[Assumption]:
    """Split stances in which a foot moves to another foothold, foot after foot: one that has been split supports the others no longer.

    Args:
        feet: Tracks of all feet.
        in_stance: Stance flags (f,) of each foot; changed in place.
        heights: Heights of the supporting surface (f,) [m] of each foot.
        other_support: Whether something else supports the body: (f,).
        brief_hops: Whether hops without other support are as brief as possible, or as long as the foot moves.

    Returns:
        Steps, hops and slides that were assumed.
    """
    assumptions = []
    for k, foot in enumerate(feet):
        support = np.any([flags for j, flags in enumerate(in_stance) if j != k], axis=0) | other_support
        in_stance[k], moved = foot.split_resteps(in_stance[k], support, heights[k], brief_hops)
        assumptions += moved
    return assumptions


def fit_footholds(track: FootTrack, in_stance: Array, heights: Array) -> list[Foothold]:
    """Footholds of all stances of a foot; ``heights``: of the supporting surface (f,) [m]."""
    return [track.fit_foothold(start, end, float(np.median(heights[start:end]))) for start, end in true_intervals(in_stance)]


def drop_brief_intervals(track: FootTrack, in_stance: Array, heights: Array) -> Array:
    """Stance flags (f,) without swings too short for a step to another foothold, and then without stances too short to bear load.

    ``heights`` (f,) [m] is changed in place where a swing is dropped.
    """
    merged, times = in_stance.copy(), track.times
    for start, end in true_intervals(~in_stance):
        if start > 0 and end < len(merged) and times[end] - times[start - 1] < SWING_MIN_DURATION:
            intervals = true_intervals(merged)
            before = max(first for first, last in intervals if last == start)
            after = min(last for first, last in intervals if first == end)
            one = track.fit_foothold(before, start, float(heights[start - 1]))
            two = track.fit_foothold(end, after, float(heights[end]))
            if np.linalg.norm(one.x - two.x) < SAME_FOOTHOLD_DISTANCE:
                merged[start:end], heights[start:end] = True, heights[start - 1]
    return drop_short_intervals(merged, times, STANCE_MIN_DURATION, at_ends=False)


def extend_stances_over_impossible_flights(
    tracks: Sequence[FootTrack], in_stance: list[Array], heights: list[Array], other_support: Array, com_velocity: Array, gravity: float
) -> list[Assumption]:
    """Extend stances into flight phases in which the body does not fall: something must support it then.

    Args:
        tracks: Tracks of all feet.
        in_stance: Stance flags (f,) of each foot; changed in place.
        heights: Heights of the supporting surface (f,) [m] of each foot; changed in place.
        other_support: Whether something else supports the body: (f,).
        com_velocity: Vertical velocity of the CoM: (f,) [m/s].
        gravity: [m/s²]

    Returns:
        Flight phases that remain although the body hardly falls.
    """
    times, assumptions = tracks[0].times, []
    for liftoff, landing in true_intervals(~(np.any(in_stance, axis=0) | other_support)):
        if liftoff == 0 or landing == len(other_support):
            continue
        start, end = _shorten_flight(tracks, in_stance, heights, (liftoff, landing), com_velocity, gravity)
        fall = com_velocity[end] - com_velocity[start - 1]
        if (
            end > start
            and times[end - 1] - times[start] >= FALSE_FLIGHT_DURATION
            and fall > -FLIGHT_MIN_SHARE * gravity * (times[end] - times[start - 1])
        ):
            share = -fall / (gravity * (times[end] - times[start - 1]))
            interval = f"{times[start]:.2f}-{times[end - 1]:.2f} s"
            assumptions.append(Assumption("flight", interval, f"no foot is near the ground, but the CoM falls with {share:.1f} g only"))
    _overlap_handovers(in_stance, heights, other_support)
    return assumptions


def restore_labeled_stances(
    tracks: Sequence[FootTrack],
    in_stance: list[Array],
    heights: list[Array],
    labeled: tuple[Sequence[Array], Sequence[Array]],
    other_support: Array,
    com_velocity: Array,
    gravity: float,
) -> bool:
    """Restore labeled contacts of feet too fast for a stance, in flight phases in which the body hardly falls: it slides rather than flies.

    Args:
        tracks: Tracks of all feet.
        in_stance: Stance flags (f,) of each foot; changed in place.
        heights: Heights of the supporting surface (f,) [m] of each foot; changed in place.
        labeled: Contact flags and heights of the surface by the labels: (f,) of each foot.
        other_support: Whether something else supports the body: (f,).
        com_velocity: Vertical velocity of the CoM: (f,) [m/s].
        gravity: [m/s²]

    Returns:
        Whether there are any.
    """
    times, restored = tracks[0].times, False
    for start, end in true_intervals(~(np.any(in_stance, axis=0) | other_support)):
        if start == 0 or end == len(times):
            continue
        duration = times[end] - times[start - 1]
        if com_velocity[end] - com_velocity[start - 1] <= -FLIGHT_MIN_SHARE * gravity * duration:
            continue
        for foot, (flags, height) in enumerate(zip(*labeled, strict=True)):
            for a, b in true_intervals(flags[start:end]):
                span = slice(start + a, start + b)
                if times[span.stop - 1] - times[span.start] >= STANCE_MIN_DURATION:
                    in_stance[foot][span], heights[foot][span], restored = True, height[span], True
    return restored


def _shorten_flight(
    tracks: Sequence[FootTrack],
    in_stance: list[Array],
    heights: list[Array],
    flight: tuple[int, int],
    com_velocity: Array,
    gravity: float,
) -> tuple[int, int]:
    """Extend the stances before and after a flight into it, until the CoM falls as in flight; returns the frames of the flight left."""
    times, (start, end) = tracks[0].times, flight
    before, after = (
        None if foot is None else (foot, tracks[foot].foothold_at(in_stance[foot], heights[foot], frame))
        for foot, frame in ((_most_grounded_foot(tracks, in_stance, frame), frame) for frame in (start - 1, end))
    )
    lands_elsewhere = (
        before is not None
        and after is not None
        and before[0] == after[0]
        and bool(np.linalg.norm((before[1].x - after[1].x)[:2]) > SAME_FOOTHOLD_DISTANCE)
    )
    while end > start:
        duration = times[end] - times[start - 1]
        falls = com_velocity[end] - com_velocity[start - 1] <= -FLIGHT_MIN_FALL * gravity * duration
        if falls and duration >= FLIGHT_MIN_DURATION:
            break
        extend_first = before is not None and tracks[before[0]].is_near(before[1], start)
        extend_last = after is not None and tracks[after[0]].is_near(after[1], end - 1)
        if not (extend_first or extend_last) or (lands_elsewhere and duration < HOP_MIN_DURATION):
            break
        if extend_first and extend_last and before is not None and after is not None:
            extend_first = tracks[before[0]].stance_cost(start) <= tracks[after[0]].stance_cost(end - 1)
        if extend_first and before is not None:
            in_stance[before[0]][start], heights[before[0]][start], start = True, before[1].height, start + 1
        elif after is not None:
            end -= 1
            in_stance[after[0]][end], heights[after[0]][end] = True, after[1].height
    return start, end


def _most_grounded_foot(tracks: Sequence[FootTrack], in_stance: Sequence[Array], frame: int) -> int | None:
    """Of the feet in stance in a frame, the one closest to the ground and to rest; None if there is none."""
    standing = [foot for foot in range(len(tracks)) if in_stance[foot][frame]]
    return min(standing, key=lambda foot: tracks[foot].stance_cost(frame)) if standing else None


def _overlap_handovers(in_stance: list[Array], heights: list[Array], other_support: Array) -> None:
    """Let a stance last one frame longer where another support begins in the next frame, so that there is no flight in between."""
    supported = np.any(in_stance, axis=0) | other_support
    continued = np.any([flags[1:] & flags[:-1] for flags in (*in_stance, other_support)], axis=0)
    for k in np.flatnonzero(supported[1:] & supported[:-1] & ~continued):
        for flags, height in zip(in_stance, heights, strict=True):
            if flags[k]:
                flags[k + 1], height[k + 1] = True, height[k]
