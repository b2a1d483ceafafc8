"""Foot trajectories: locked at the foothold in stance, with foot roll over heel and toes, and clear of the terrain in swing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate import rotations
from brachiate.anatomy.feet import Foot, Toes
from brachiate.foot_locking.foot_track import Foothold, FootTrack, min_acceleration_step, smoothstep
from brachiate.foot_locking.nearest_contact import nearest_interval
from brachiate.intervals import true_intervals
from brachiate.motion.terrain import Stairs
from brachiate.validation import Array

BLEND_TIME = (0.05, 0.1)  # [s] shortest and longest time in which the velocity of the correction fades out after a stance or before one
BLEND_LENGTH = 0.1  # [m] that the correction may still cover in this time, between the two
CHUNK = 4096  # frames whose points are evaluated together
CLEARANCE_TIME = 0.04  # [s] from liftoff to ground clearance, and from there to landing
STAIR_CLEARANCE_TIME = 0.1  # [s] the same on stairs, where a foot has to clear the edges
UNDER_FOOT_MARGIN = 0.01  # [m] terrain this close to a foot is under it
STAIR_TIME_SHIFT = 0.15  # of the swing time between two treads: largest lead or lag along the stairs
ROUNDING = 1e-9  # [m] smaller gaps are round-off
CONTACT_HEIGHT = 2e-4  # [m] corners raised less by foot roll are in contact


class PoseTrajectory(NamedTuple):
    """Pose of a body over time."""

    R: Array  # (f, 3, 3)
    x: Array  # (f, 3) [m]


class FootTrajectory(NamedTuple):
    """Trajectory of one foot, and its corners in contact."""

    foot: PoseTrajectory
    corner_contact: Array  # (f, k)
    toes: PoseTrajectory | None
    toe_contact: Array  # (f,)


class StairClearance(NamedTuple):
    """Stairs that swing feet have to clear."""

    stairs: Stairs
    clearance: float  # [m] above their edges


def make_foot_trajectory(
    track: FootTrack,
    footholds: Sequence[Foothold],
    own_toes: PoseTrajectory | None,
    clearance: Array,
    over: StairClearance | None = None,
    release_time: float = np.inf,
) -> FootTrajectory:
    """Trajectory of a foot through its footholds, near its own track in swing.

    Args:
        track: Motion of the foot.
        footholds: Footholds of its stances.
        own_toes: Motion of the toes, if the foot has any.
        clearance: Ground clearance of the swing foot: (f,) [m].
        over: Stairs of the terrain, if there are any.
        release_time: Time in which the displacement of a stance foot from its own track decays in swing [s], with the least mean square
            acceleration. Default: it is interpolated from one stance to the next, with continuous acceleration.
    """
    foot, times = track.foot, track.times
    in_stance, is_flat, corner_contact = _stance_contacts(track, footholds)
    heights = [0.0 if over is None else foothold.height for foothold in footholds]
    path = _foot_path(track, footholds, heights, release_time)
    toes, toe_contact = None, np.zeros(len(times), bool)
    if foot.toes is not None and own_toes is not None:
        toe_contact = in_stance & (is_flat | (track.rocker_angle > 0))
        toes = _toe_trajectory(foot, foot.toes, own_toes, path, footholds, toe_contact, times)
    (lowest, ground, at_edge), blend = _over_terrain(foot, path, toes, over), CLEARANCE_TIME
    if over is not None:
        clearance, blend = np.where(at_edge > 0, over.clearance, clearance), STAIR_CLEARANCE_TIME
    away, surface = _nearest_stance(footholds, heights, times)
    window = smoothstep(away / blend)
    missing = np.maximum(surface + (ground - surface + clearance) * window - lowest, 0.0)
    lift = _smooth_lift(np.where(in_stance, 0.0, missing), window, times, blend)
    path.x[:, 2] += lift
    if toes is not None:
        toes.x[:, 2] += lift
    return FootTrajectory(path, corner_contact, toes, toe_contact)


def _stance_contacts(track: FootTrack, footholds: Sequence[Foothold]) -> tuple[Array, Array, Array]:
    """Stance flags (f,), whether the foot lies flat (f,), and corners in contact (f, k)."""
    foot, f = track.foot, len(track.times)
    in_stance, corner_contact = np.zeros(f, bool), np.zeros((f, len(foot.corners)), bool)
    is_flat = np.sin(np.abs(track.rocker_angle)) * foot.length < CONTACT_HEIGHT
    for foothold in footholds:
        span = slice(foothold.start, foothold.end)
        in_stance[span] = True
        angle = track.rocker_angle[span]
        heel, front = is_flat[span] | (angle < 0), is_flat[span] | ((angle > 0) & (foot.toes is None))
        corner_contact[span] = np.where(foot.is_heel, heel[:, None], front[:, None])
    return in_stance, is_flat, corner_contact


def _foot_path(track: FootTrack, footholds: Sequence[Foothold], heights: Sequence[float], release_time: float) -> PoseTrajectory:
    """Trajectory of the foot through its footholds, before it is lifted clear of the terrain."""
    center = 0.5 * (track.foot.sole.heel + track.foot.sole.toe)
    spans = [(foothold.start, foothold.end) for foothold in footholds]
    frames = [_neighborhood(*span, len(track.times)) for span in spans]
    stances = [_rocker_trajectory(track, foothold, each) for foothold, each in zip(footholds, frames, strict=True)]
    path = _interpolate_swings(PoseTrajectory(track.R, track.x), stances, spans, center, track.times, heights, release_time)
    for (one, two), (low, high) in zip(pairwise(footholds), pairwise(heights), strict=True):
        if low != high:
            _shift_stair_timing(path, center, track.times, one.end - 1, two.start, high > low)
    return path


def _neighborhood(start: int, end: int, count: int) -> slice:
    """Frames of a stance, and the one before and the one after it, of ``count`` frames."""
    return slice(max(start - 1, 0), min(end + 1, count))


def _rocker_trajectory(track: FootTrack, foothold: Foothold, frames: slice) -> PoseTrajectory:
    """Pose of the foot in some frames if it rolled about heel or front pivot at this foothold (heel and forefoot rocker)."""
    foot, angle = track.foot, track.rocker_angle[frames, None]
    on_heel = angle < 0
    axis = np.where(on_heel, foot.sole.axes[:, 1], foot.front_axis)
    R = foothold.R @ rotations.to_matrix(rotations.from_rotation_vector(angle * axis))
    pivot = np.where(on_heel, foot.sole.heel, foot.front_pivot)
    x = foothold.x + pivot @ foothold.R.T - np.einsum("fij,fj->fi", R, pivot)
    if foot.toes is None:
        # Edges of a sole may be rounded: its lowest point stays on the ground
        gap = (foot.sole.hull @ R.transpose(0, 2, 1))[..., 2].min(axis=1) + x[:, 2] - foothold.height
        x[:, 2] -= np.where(np.abs(gap) > ROUNDING, gap, 0.0)
    return PoseTrajectory(R, x)


def _interpolate_swings(
    own: PoseTrajectory,
    stances: Sequence[PoseTrajectory],
    spans: Sequence[tuple[int, int]],
    center: Array,
    times: Array,
    heights: Sequence[float] = (),
    release_time: float = np.inf,
) -> PoseTrajectory:
    """Trajectory that equals the stances in their spans of frames, and the own trajectory plus an interpolated correction in swing.

    Stances have a pose for each frame of the :func:`_neighborhood` of their spans. Between stances at different heights, the foot rises in
    the first half of the swing, or descends in the second.
    """
    R, x = own.R.copy(), own.x.copy()
    if not spans:
        return PoseTrajectory(R, x)
    corrections = [_correction(own, stance, _neighborhood(*span, len(times)), center) for stance, span in zip(stances, spans, strict=True)]
    correction = np.zeros((len(times), 6))
    step = smoothstep if release_time == np.inf else min_acceleration_step
    first, last = spans[0][0], spans[-1][1]
    before, after = (times[first] - times[:first]) / release_time, (times[last:] - times[last - 1]) / release_time
    correction[:first] = (1.0 - step(before))[:, None] * corrections[0].at(first)
    correction[last:] = (1.0 - step(after))[:, None] * corrections[-1].at(last - 1)
    correction[:first] += _fade_out(corrections[0], first, times, times[:first], -1, np.inf, release_time)
    correction[last:] += _fade_out(corrections[-1], last - 1, times, times[last:], 1, np.inf, release_time)
    for k in range(len(spans) - 1):
        a, b = spans[k][1] - 1, spans[k + 1][0]
        t = times[a + 1 : b]
        gap = float(times[b] - times[a])
        since, until = (step(time / min(gap, release_time))[:, None] for time in (t - times[a], times[b] - t))
        correction[a + 1 : b] = (1.0 - since) * corrections[k].at(a) + (1.0 - until) * corrections[k + 1].at(b)
        if heights and heights[k] != heights[k + 1]:
            half = smoothstep(2.0 * (t - times[a]) / (times[b] - times[a]) - (heights[k + 1] < heights[k]))
            correction[a + 1 : b, 2] = (1 - half) * corrections[k].at(a)[2] + half * corrections[k + 1].at(b)[2]
        correction[a + 1 : b] += _fade_out(corrections[k], a, times, t, 1, gap, release_time)
        correction[a + 1 : b] += _fade_out(corrections[k + 1], b, times, t, -1, gap, release_time)
    in_swing = np.ones(len(times), bool)
    for stance, (a, b) in zip(stances, spans, strict=True):
        own_frames = slice(a - _neighborhood(a, b, len(times)).start, None)
        R[a:b], x[a:b], in_swing[a:b] = stance.R[own_frames][: b - a], stance.x[own_frames][: b - a], False
    R[in_swing] = rotations.to_matrix(rotations.from_rotation_vector(correction[in_swing, 3:])) @ own.R[in_swing]
    x[in_swing] = own.x[in_swing] + own.R[in_swing] @ center + correction[in_swing, :3] - R[in_swing] @ center
    return PoseTrajectory(R, x)


def _shift_stair_timing(path: PoseTrajectory, center: Array, times: Array, a: int, b: int, up: bool) -> None:
    """Delay the horizontal motion from frame a up to frame b on stairs, or advance it on the way down; in place.

    So the foot is above an edge when it reaches it, and beyond it when it descends.
    """
    u = (times[a : b + 1] - times[a]) / (times[b] - times[a])
    phase = 1.0 - u if up else u
    shifted = u + (-STAIR_TIME_SHIFT if up else STAIR_TIME_SHIFT) * phase**3 * (1.0 - phase) ** 2 / (0.6**3 * 0.4**2)
    middle = path.x[a : b + 1] + path.R[a : b + 1] @ center
    path.x[a : b + 1, :2] += CubicSpline(u, middle[:, :2])(shifted) - middle[:, :2]


class _Correction(NamedTuple):
    """Displacement of the center of the sole, and rotation vector, from one trajectory to another, in some frames."""

    first: int  # frame
    values: Array  # (n, 6) [m], [rad]

    def at(self, frame: int) -> Array:
        """Correction in a frame: (6,)."""
        return self.values[frame - self.first]


def _correction(own: PoseTrajectory, target: PoseTrajectory, frames: slice, center: Array) -> _Correction:
    """Correction from a trajectory of all frames to one of some frames."""
    R, x = own.R[frames], own.x[frames]
    shift = target.x + target.R @ center - x - R @ center
    turn = rotations.to_rotation_vector(rotations.from_matrix(target.R @ R.transpose(0, 2, 1)))
    return _Correction(frames.start, np.concatenate((shift, turn), axis=1))


def _fade_out(correction: _Correction, k: int, times: Array, t: Array, direction: int, gap: float, release_time: float) -> Array:
    """Term at times t that continues velocity and acceleration of the correction at frame k, and fades out: (len(t), 6).

    ``direction``: 1 for later times, -1 for earlier ones. ``gap``: duration of the swing [s]. With a finite release time it continues the
    velocity only: together with the step, it is the cubic Hermite polynomial, which has the least mean square acceleration.
    """
    if not 0 < k < len(times) - 1:
        return np.zeros((len(t), correction.values.shape[1]))
    dt = 0.5 * (times[k + 1] - times[k - 1])
    if release_time < np.inf:
        # The correction ends with the stance, where the foot may already move: its rate is that within the stance
        rate, length = (correction.at(k) - correction.at(k - direction)) / dt, min(release_time, gap)
        s = np.clip(direction * (t - times[k]) / length, 0.0, 1.0)[:, None]
        return length * rate * s * (1 - s) ** 2
    velocity = direction * (correction.at(k + 1) - correction.at(k - 1)) / (2 * dt)
    acceleration = (correction.at(k + 1) - 2 * correction.at(k) + correction.at(k - 1)) / dt**2
    # A fast correction is stopped soon: else the leg would have to reach far beyond its own motion
    length = float(np.clip(BLEND_LENGTH / max(np.linalg.norm(velocity[:3]), 1e-9), *BLEND_TIME))
    length = min(length, gap)
    s = np.clip(direction * (t - times[k]) / length, 0.0, 1.0)[:, None]
    # Quintic Hermite polynomials with unit slope or unit curvature at 0, and value, slope and curvature zero at 1
    return length * velocity * s * (1 - s) ** 3 * (1 + 3 * s) + 0.5 * length**2 * acceleration * s**2 * (1 - s) ** 3


def _toe_trajectory(
    foot: Foot, toes: Toes, own: PoseTrajectory, path: PoseTrajectory, footholds: Sequence[Foothold], in_contact: Array, times: Array
) -> PoseTrajectory:
    """Trajectory of the toes: flat in contact, with their own orientation elsewhere, attached to the foot."""
    spans, stances = [], []
    zeros = np.zeros((len(times), 3))
    for foothold in footholds:
        R = foothold.R @ foot.sole.axes @ toes.axes.T
        for a, b in true_intervals(in_contact[foothold.start : foothold.end]):
            start, end = foothold.start + a, foothold.start + b
            spans.append((start, end))
            frames = _neighborhood(start, end, len(times))
            stances.append(PoseTrajectory(np.broadcast_to(R, (frames.stop - frames.start, 3, 3)), zeros[frames]))
    turned = _interpolate_swings(PoseTrajectory(own.R, zeros), stances, spans, np.zeros(3), times)
    return PoseTrajectory(turned.R, path.x + path.R @ toes.joint_in_foot - turned.R @ toes.joint_in_toes)


def lowest_points(hull: Array, R: Array) -> Array:
    """Height of the lowest of some points (k, 3) above their origin, at orientations (f, 3, 3): (f,) [m]."""
    return np.concatenate([(R[k : k + CHUNK, 2] @ hull.T).min(axis=1) for k in range(0, len(R), CHUNK)])


def _over_terrain(foot: Foot, path: PoseTrajectory, toes: PoseTrajectory | None, over: StairClearance | None) -> Array:
    """Lowest height of a foot [m], largest height of the stairs under it [m], and whether there is an edge: (3, f)."""
    parts = []
    for k in range(0, len(path.x), CHUNK):
        some = slice(k, k + CHUNK)
        on_toes = None if toes is None else PoseTrajectory(toes.R[some], toes.x[some])
        points = _foot_points(foot, PoseTrajectory(path.R[some], path.x[some]), on_toes)
        under = np.zeros((2, len(points))) if over is None else _terrain_under(over, points)
        parts.append(np.stack((points[..., 2].min(axis=1), *under)))
    return np.concatenate(parts, axis=1)


def _foot_points(foot: Foot, path: PoseTrajectory, toes: PoseTrajectory | None) -> Array:
    """Points of a foot that may touch the terrain: (f, k, 3) [m]."""
    points = foot.sole.hull @ path.R.transpose(0, 2, 1) + path.x[:, None]
    if toes is not None and foot.toes is not None:
        points = np.concatenate((points, foot.toes.corners @ toes.R.transpose(0, 2, 1) + toes.x[:, None]), axis=1)
    return points


def _terrain_under(over: StairClearance, points: Array) -> tuple[Array, Array]:
    """Largest height of the stairs under a foot (f,) [m], and whether there is an edge (f,)."""
    s = over.stairs.distance_along(points)
    first, last = s.min(axis=1) - UNDER_FOOT_MARGIN, s.max(axis=1) + UNDER_FOOT_MARGIN
    return over.stairs.max_height(first, last), over.stairs.crosses_edge(first, last)


def _nearest_stance(footholds: Sequence[Foothold], heights: Sequence[float], times: Array) -> tuple[Array, Array]:
    """Time to the nearest stance (f,) [s], and height of its surface (f,) [m]."""
    if not footholds:
        return np.full(len(times), np.inf), np.zeros(len(times))
    starts, ends = times[[foothold.start for foothold in footholds]], times[[foothold.end - 1 for foothold in footholds]]
    away, nearest = nearest_interval(times, starts, ends)
    return away, np.array(heights)[nearest]


def _smooth_lift(missing: Array, window: Array, times: Array, blend: float) -> Array:
    """Smooth lift of a swing foot (f,) [m] that covers the missing clearance; zero in stance, by the window (f,)."""
    if not missing.any() or len(times) < 5:
        return missing
    reach = blend / float(np.median(np.diff(times)))
    wide = maximum_filter1d(missing, 2 * max(1, round(reach)) + 1)
    return window * gaussian_filter1d(wide, 0.4 * reach)
