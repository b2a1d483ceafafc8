"""Track of a foot: motion of its sole, foot roll over heel and toes, and flat footholds fitted to stance phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate import rotations
from brachiate.anatomy.feet import Foot
from brachiate.assumptions import Assumption
from brachiate.contact_estimation.stance_constants import CREEP_SPEED, LIFTOFF_SPEED, STANCE_MAX_DISTANCE
from brachiate.foot_locking.nearest_contact import time_to_nearest
from brachiate.intervals import true_intervals
from brachiate.validation import Array

STANCE_MIN_DURATION = 0.05  # [s] a shorter stance is an error of the labels
EXTENSION_MAX_DISTANCE, EXTENSION_MAX_HEIGHT = 0.04, 0.05  # [m] horizontal and vertical, of a foot from the foothold that is extended to it
HOP_MIN_DURATION = 0.07  # [s] flight of a foot that lands at another foothold
STILL_SPEED = 0.02  # [m/s] a slower foot is at rest
SPEED_TO_HEIGHT = 0.03  # [s] weight of speed relative to height, to choose the foot that is closer to stance
SOLE_DOWN_COSINE = np.cos(np.radians(65.0))  # of the largest inclination of a sole in stance; beyond, the foot lies on its side or back
REST_MAX_PITCH = 0.2  # [rad] largest systematic pitch error of a foot
REST_PITCH_SPREAD = 0.15  # [rad] of the rest pitch among stances of a foot; beyond, it stands on heel or toes
DEAD_BAND_BLEND, DEAD_BAND_RECOVERY = (
    np.radians(5.0),
    np.radians(20.0),
)  # range in which the roll sets in, and in which the band is restored
FLAT_DEAD_BAND = np.radians(4.0)  # added to the dead band well within a flat contact
MIN_FLIPS = 3  # changes between heel, sole and toes in it: a step has one before and one after
ROCKER_MAX_ANGLE = np.radians(65.0)  # of foot roll over heel or toes
FLATTENING_TIME = 0.1  # [s] in which the pitch of a foot goes to zero, where contacts of heel and toe are given
TOUCHDOWN_MAX_VERTICAL_SPEED, TOUCHDOWN_MAX_SPEED = 0.5, 0.7  # [m/s] a faster foot has not landed yet
RESTEP_DISTANCE, RESTEP_YAW = 0.05, np.radians(20.0)  # [m], [rad] a foot that moves farther within a stance has been put down again
HOP_DISTANCE, HOP_YAW = 0.12, np.radians(45.0)  # [m], [rad] and this far even without other support: it hops
YAW_TO_LENGTH = 0.15  # [m] weight of yaw relative to position
RESTEP_MIN_DURATION = 0.12  # [s]


@dataclass(frozen=True)
class Foothold:
    """Flat pose of a foot over one stance phase.

    Args:
        start: First frame.
        end: The frame after the last.
        R: Orientation of the foot's body: (3, 3).
        x: Position of the foot's body: (3,) [m].
        height: Height of the supporting surface [m].
        max_slide: Largest horizontal distance of the foot from this pose [m].
        max_yaw_error: Largest difference in yaw [rad].
    """

    start: int
    end: int
    R: Array
    x: Array
    height: float
    max_slide: float = 0.0
    max_yaw_error: float = 0.0


class FootTrack:
    """Motion of one foot, described by its sole.

    Args:
        foot: Geometry of the foot.
        R: Orientation of its body: (f, 3, 3).
        x: Position of its body over level ground at z = 0: (f, 3) [m].
        times: (f,) [s]

    Attributes:
        yaw, pitch: Orientation of the sole: (f,) [rad]; pitch is positive for toes down.
        sole_down: Whether the sole faces the ground: (f,).
        heel, toe: Positions of the middles of heel and front edge: (f, 3) [m].
        min_speed, max_speed: Smaller and larger speed of the two: (f,) [m/s].
        height, vertical_speed: Height of the lower of the two (f,) [m], and its absolute rate (f,) [m/s].
        lower_end, heel_is_lower: Position of the lower of the two (f, 3) [m], and whether it is the heel (f,).
        rest_pitch: Pitch of the foot lying flat: (f,) [rad].
        rocker_angle: Roll over toes (positive) or heel (negative), beyond a dead band about rest_pitch: (f,) [rad].
    """

    def __init__(self, foot: Foot, R: Array, x: Array, times: Array) -> None:
        self.foot, self.times = foot, times
        self.R, self.x = R, x
        axes = self.R @ foot.sole.axes
        self.yaw = np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
        self.pitch = -np.arcsin(np.clip(axes[:, 2, 0], -1.0, 1.0))
        self.sole_down = axes[:, 2, 2] > SOLE_DOWN_COSINE
        self.heel, self.toe = (self.x + self.R @ end for end in (foot.sole.heel, foot.sole.toe))
        speeds = [np.linalg.norm(_rate(end, times), axis=1) for end in (self.heel, self.toe)]
        self.min_speed, self.max_speed = np.minimum(*speeds), np.maximum(*speeds)
        self.height = np.minimum(self.heel[:, 2], self.toe[:, 2])
        self.vertical_speed = np.abs(_rate(self.height, times))
        self.heel_is_lower = self.heel[:, 2] < self.toe[:, 2]
        self.lower_end = np.where(self.heel_is_lower[:, None], self.heel, self.toe)
        self.rest_pitch = np.zeros(len(times))
        self.rocker_angle = self.pitch

    def estimate_rest_pitch(self, in_stance: Array, dead_band: float, flat: Array | None = None) -> None:
        """Set rest_pitch from the stance phases, and rocker_angle as the pitch beyond a dead band [rad].

        ``flat``: where heel and front are known to be in contact (f,); the band is wider there if the foot flips: captured ankles tremble.
        """
        if in_stance.any():
            self.rest_pitch = np.full(len(in_stance), float(np.clip(self._median_pitch(in_stance), -REST_MAX_PITCH, REST_MAX_PITCH)))
            # Ankle angles are inaccurate in captured motions: a foot with a small constant pitch in a stance lies flat
            spans = [slice(start, end) for start, end in true_intervals(in_stance)]
            pitch = np.array([self._median_pitch(span) for span in spans])
            usual = self.rest_pitch[0]
            # A stance on the toes is farther from the usual pitch; a static stance on the heels is implausible
            is_flat = (np.abs(pitch - usual) < REST_PITCH_SPREAD) | ((pitch < usual) & (pitch > -REST_MAX_PITCH))
            ends = np.array([(span.start, span.stop - 1) for span in spans]).ravel()
            self.rest_pitch = np.interp(np.arange(len(in_stance)), ends, np.repeat(np.where(is_flat, pitch, usual), 2))
        if len(self.foot.corners) < 4:  # a foot without an ankle joint rolls all the time
            self.rocker_angle = self.pitch
            return
        angle = self.pitch - self.rest_pitch
        width = dead_band + (0.0 if flat is None else self._flip_band(np.where(np.abs(angle) < dead_band, 0.0, np.sign(angle)), flat))
        self.rocker_angle = np.clip(np.sign(angle) * _apply_dead_band(np.abs(angle), width), -ROCKER_MAX_ANGLE, ROCKER_MAX_ANGLE)

    def _flip_band(self, side: Array, flat: Array) -> Array:
        """Addition to the dead band [rad] (f,), within flat contacts in which the foot flips between heel, sole and toes, by sides (f,)."""
        flips = np.zeros(len(flat), bool)
        for start, end in true_intervals(flat):
            flips[start:end] = np.count_nonzero(np.diff(side[start:end])) >= MIN_FLIPS
        if not flips.any():
            return np.zeros(len(flat))
        return FLAT_DEAD_BAND * min_acceleration_step(time_to_nearest(self.times, ~flips) / FLATTENING_TIME)

    def roll_by_contacts(self, heel: Array, toe: Array) -> None:
        """Set rocker_angle from contacts of heel and toe (f,): flat where both touch, and the pitch where one does."""
        is_flat = heel & toe
        angle = np.where(is_flat, 0.0, np.where(toe, np.maximum(self.pitch, 0.0), np.minimum(self.pitch, 0.0)))
        if is_flat.any():
            angle = angle * min_acceleration_step(time_to_nearest(self.times, is_flat) / FLATTENING_TIME)
        self.rocker_angle = np.where(heel | toe, angle, self.pitch)

    def _median_pitch(self, span: Array | slice) -> float:
        """Median of the pitch over frames, weighted by rest [rad]."""
        pitch, weight = self.pitch[span], rest_weights(self.max_speed[span])
        order = np.argsort(pitch)
        share = np.cumsum(weight[order])
        return float(pitch[order][np.searchsorted(share, 0.5 * share[-1])])

    def fit_foothold(self, start: int, end: int, height: float) -> Foothold:
        """Flat foothold at a height [m], at the mean position and yaw of the foot over a stance, weighted by rest."""
        span = slice(start, end)
        weight = rest_weights(self.max_speed[span])
        yaw = float((weight * self.yaw[span]).sum() / weight.sum())
        forward = np.array((np.cos(yaw), np.sin(yaw), 0.0))
        centers = self.flat_sole_center(span, forward)
        weight = rest_weights(self.min_speed[span])
        position = (weight[:, None] * centers).sum(axis=0) / weight.sum()
        position[2] = height
        R = rotations.to_matrix(rotations.about_axis(2, np.array(yaw))) @ self.foot.sole.axes.T
        sole_center = 0.5 * (self.foot.sole.heel + self.foot.sole.toe)
        max_slide = float(np.linalg.norm((centers - position)[:, :2], axis=1).max())
        return Foothold(start, end, R, position - R @ sole_center, height, max_slide, float(np.abs(self.yaw[span] - yaw).max()))

    def flat_sole_center(self, span: slice, forward: Array) -> Array:
        """Center of the sole if it lay flat with this heading, derived from the edge in contact: (f, 3) [m]."""
        half, angle = 0.5 * self.foot.length * forward, self.rocker_angle[span, None]
        heel, toe = self.heel[span], self.toe[span]
        return np.where(angle > 0, toe - half, np.where(angle < 0, heel + half, 0.5 * (heel + toe)))

    def trim_ends(self, in_stance: Array) -> Array:
        """Stance flags (f,) without frames at the ends of stances in which the foot is still landing or has lifted off."""
        fast = (self.vertical_speed > TOUCHDOWN_MAX_VERTICAL_SPEED) | (self.min_speed > TOUCHDOWN_MAX_SPEED)
        trimmed = in_stance.copy()
        for start, end in true_intervals(in_stance):
            foothold = self.fit_foothold(start, end, float(np.median(self.height[start:end])))
            edge = np.where(self.heel_is_lower[start:end, None], self.foot.sole.heel, self.foot.sole.toe)
            offset = self.lower_end[start:end] - foothold.x - edge @ foothold.R.T
            speed = self.min_speed[start:end]
            # A slow and low foot skates, and has not lifted off
            slid = (np.hypot(offset[:, 0], offset[:, 1]) > STANCE_MAX_DISTANCE) & (speed > LIFTOFF_SPEED)
            lifted = (offset[:, 2] > STANCE_MAX_DISTANCE) & (speed > CREEP_SPEED)
            settled = np.flatnonzero(~(fast[start:end] | (slid | lifted)))
            if not len(settled):
                trimmed[start:end] = False
                continue
            if start > 0:
                trimmed[start : start + settled[0]] = False
            if end < len(trimmed):
                trimmed[start + settled[-1] + 1 : end] = False
        return trimmed

    def split_resteps(
        self, in_stance: Array, other_support: Array, heights: Array, brief_hops: bool = True
    ) -> tuple[Array, list[Assumption]]:
        """Stance flags (f,) with a swing where a foot moves to another foothold within a stance, and assumed steps, slides and hops.

        ``other_support``: whether something else supports the body (f,); without it only a far restep is a hop. ``brief_hops``: whether
        a hop is as brief as possible, since it is a flight phase of the body, or as long as the foot moves.
        """
        in_stance, assumptions = in_stance.copy(), []
        pending = true_intervals(in_stance)
        while pending:
            start, end = pending.pop()
            foothold = self.fit_foothold(start, end, float(np.median(heights[start:end])))
            if foothold.max_slide < RESTEP_DISTANCE and foothold.max_yaw_error < RESTEP_YAW:
                continue
            is_hop = foothold.max_slide > HOP_DISTANCE or foothold.max_yaw_error > HOP_YAW
            options = ((RESTEP_MIN_DURATION, True), (RESTEP_MIN_DURATION, False), (HOP_MIN_DURATION, False))
            swings = [self._restep_frames(start, end, duration, extend) for duration, extend in options]
            unsupported = swings[-1] if is_hop and brief_hops else swings[0]
            # A step as long as it took, while something else supports the body; else a hop
            liftoff, landing = next((swing for swing in swings if other_support[slice(*swing)].all()), unsupported)
            supported = bool(other_support[liftoff:landing].all())
            if liftoff - start < 3 or end - landing < 3 or landing - liftoff < 3 or not (is_hop or supported):
                assumptions.append(self._slide_assumption(foothold))
                continue
            interval = f"{self.times[liftoff]:.2f}-{self.times[landing - 1]:.2f} s"
            what, support = ("steps", "while something else supports") if supported else ("hops", "without other support of")
            reason = f"it turns or slides too far for one foothold, {support} the body"
            assumptions.append(Assumption(f"{self.foot.side} foot", f"{what} ({interval})", reason))
            in_stance[liftoff:landing] = False
            pending += [(start, liftoff), (landing, end)]
        return in_stance, assumptions

    def _slide_assumption(self, foothold: Foothold) -> Assumption:
        slide = f"{100 * foothold.max_slide:.0f} cm, {np.degrees(foothold.max_yaw_error):.0f} deg"
        interval = f"{self.times[foothold.start]:.2f}-{self.times[foothold.end - 1]:.2f} s"
        return Assumption(
            f"{self.foot.side} foot", f"slides by {slide} ({interval})", "no other support of the body: locked at one foothold"
        )

    def _restep_frames(self, start: int, end: int, duration: float, extend: bool) -> tuple[int, int]:
        """Liftoff and landing frame of a restep within a stance, of a duration [s]; ``extend``: longer while the foot creeps."""
        yaw = self.yaw[start:end] - self.yaw[start]
        forward = np.stack((np.cos(self.yaw[start:end]), np.sin(self.yaw[start:end]), np.zeros(end - start)), axis=1)
        x = np.concatenate((self.flat_sole_center(slice(start, end), forward)[:, :2], YAW_TO_LENGTH * yaw[:, None]), axis=1)
        # The split into two footholds with the least sum of squared distances
        n = np.arange(1, end - start)[:, None]
        total, before, square = x.sum(axis=0), np.cumsum(x, axis=0)[:-1], (x**2).sum()
        residual = square - (before**2 / n).sum(axis=1) - ((total - before) ** 2 / (end - start - n)).sum(axis=1)
        split = start + 1 + int(np.argmin(residual))
        dt = float(np.median(np.diff(self.times)))
        count, stance_count = int(np.ceil(duration / dt)), int(np.ceil(STANCE_MIN_DURATION / dt))
        liftoff = landing = split
        if extend:
            while liftoff > start and self.min_speed[liftoff - 1] > CREEP_SPEED:
                liftoff -= 1
            while landing < end and self.min_speed[landing] > CREEP_SPEED:
                landing += 1
        if landing - liftoff < count:
            liftoff, landing = split - count // 2, split - count // 2 + count
        return max(liftoff, start + stance_count), min(landing, end - stance_count)

    def at_rest(self, since: float) -> Array:
        """Whether the foot is near the ground and hardly moves, from a time on [s]: (f,)."""
        return (self.times >= since) & self.sole_down & (self.height < STANCE_MAX_DISTANCE) & (self.min_speed < CREEP_SPEED)

    def is_near(self, foothold: Foothold, frame: int) -> bool:
        """Whether the foot is near a foothold in a frame."""
        edge = self.foot.sole.heel if self.heel_is_lower[frame] else self.foot.sole.toe
        offset = self.lower_end[frame] - (foothold.x + foothold.R @ edge)
        return bool(np.hypot(offset[0], offset[1]) < EXTENSION_MAX_DISTANCE and offset[2] < EXTENSION_MAX_HEIGHT)

    def stance_cost(self, frame: int) -> float:
        """Measure of how far the foot is from stance in a frame [m]: its height and speed."""
        return float(self.height[frame] + SPEED_TO_HEIGHT * self.min_speed[frame])

    def foothold_at(self, in_stance: Array, heights: Array, frame: int) -> Foothold:
        """Foothold of the stance that contains a frame."""
        start, end = next((start, end) for start, end in true_intervals(in_stance) if start <= frame < end)
        return self.fit_foothold(start, end, float(np.median(heights[start:end])))


def _rate(values: Array, times: Array) -> Array:
    """Rate of change of values over frames; zero for a single frame."""
    return np.gradient(values, times, axis=0) if len(times) > 1 else np.zeros_like(values)


def rest_weights(speed: Array) -> Array:
    """Weights of frames by speed [m/s]: large at rest, small in motion."""
    return 1.0 / (STILL_SPEED + speed) ** 2


def smoothstep(s: Array) -> Array:
    """Quintic step from 0 to 1, with zero velocity and acceleration at its ends."""
    s = np.clip(s, 0.0, 1.0)
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def min_acceleration_step(s: Array) -> Array:
    """Cubic step from 0 to 1 with zero velocity at its ends: that of least mean square acceleration, 0.84 of smoothstep's in RMS."""
    s = np.clip(s, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def _apply_dead_band(angle: Array, width: Array | float) -> Array:
    """Angles with a smooth dead band; large angles are unchanged."""
    u = np.clip((angle - width) / DEAD_BAND_BLEND, 0.0, 1.0)
    over = DEAD_BAND_BLEND * u**4 * (2.5 - 3.0 * u + u * u) + np.maximum(angle - width - DEAD_BAND_BLEND, 0.0)
    return over + (width + 0.5 * DEAD_BAND_BLEND) * smoothstep((angle - width - DEAD_BAND_BLEND) / DEAD_BAND_RECOVERY)
