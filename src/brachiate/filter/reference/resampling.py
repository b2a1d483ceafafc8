"""Resampling of a motion for the reference: time grid, Gaussian smoothing, and a frame in which the ground is level and at rest."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.kinematics_batch import quaternion_slices, unwrap_quaternions
from brachiate.model.model import Model
from brachiate.motion.edit import root_coordinates
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

KNOT_STEP = 0.008  # [s] between the frames that are solved for; a spline interpolates between them
SLOWDOWN = 0.25  # [s] of motion that is slowed down to a stop before the last posture is held
PADDING_WIDTHS = 4.0  # standard deviations of the smoothing: length of the reflected padding at the ends


class TimeGrid:
    """Frame times of the reference, knots that are solved for, and the time of the source motion that each shows.

    Args:
        motion: Source motion.
        dt: Frame interval [s].
        hold: Time for which the last posture is held, after a slowdown [s].

    Attributes:
        times, knots: Frame times and every ``stride``-th of them [s].
        knot_dt: Interval of the knots [s].
        last: End of the source motion [s].
        slowdown: Duration of source motion that is slowed down [s].
    """

    def __init__(self, motion: Motion, dt: float, hold: float) -> None:
        self.first, self.last = float(motion.times[0]), float(motion.times[-1])
        self.dt = dt
        self.slowdown = min(SLOWDOWN, 0.5 * motion.duration) if hold > 0 else 0.0
        self.stride = max(1, round(KNOT_STEP / dt))
        duration = motion.duration + self.slowdown + hold
        count = int(duration / (dt * self.stride) + 1e-6)
        self.times = self.first + dt * np.arange(count * self.stride + 1)
        self.knots = self.times[:: self.stride]
        self.knot_dt = dt * self.stride

    def source_times(self, times: Array) -> Array:
        """Times of the source motion at times of the reference [s]."""
        if not self.slowdown:
            return np.minimum(times, self.last)
        begin = self.last - self.slowdown
        u = np.clip((times - begin) / (2.0 * self.slowdown), 0.0, 1.0)
        # From full speed to rest with continuous acceleration: half the distance of full speed
        slowed = begin + 2.0 * self.slowdown * (u - 2.5 * u**4 + 3.0 * u**5 - u**6)
        return np.minimum(np.where(times < begin, times, slowed), self.last)

    def reference_time(self, time: float) -> float:
        """Time of the reference at a time of the source motion [s]; its end is the end of the reference."""
        if time >= self.last - KNOT_STEP:
            return float(self.times[-1])
        return float(np.interp(time, self._source_times, self.times))

    @cached_property
    def _source_times(self) -> Array:
        """Times of the source motion at the frames [s]."""
        return self.source_times(self.times)


class GroundFrame:
    """Frame in which the ground is at z = 0, level and at rest, so that feet are treated alike on every terrain.

    ``from_source`` maps the source motion into this frame, ``to_terrain`` moves it from the source terrain to the target terrain (if they
    differ), and ``to_world`` maps it into the world of the reference.

    Args:
        model: Model of the figure.
        source_terrain: Terrain of the source motion.
        height: Height of the ground in the world of the reference [m].
        terrain: Target terrain; by default the source terrain.

    Attributes:
        terrain: Terrain of the reference.
        displacement: Displacement of the body by footholds that were moved, over time: spline (3,) [m]; None without.
    """

    def __init__(self, model: Model, source_terrain: Terrain, height: float, terrain: Terrain | None = None) -> None:
        self.root, self.source_terrain = root_coordinates(model), source_terrain
        self.terrain = replace(terrain or source_terrain, height=height, belt=(0.0, 0.0))
        self.tilt = self.terrain.tilt
        self.origin = np.array((0.0, 0.0, height))
        self.displacement: CubicSpline | None = None
        reason = "the reference is expressed in the frame of the belt, where forces are the same"
        self.assumptions = [Assumption("treadmill", "removed", reason)] if any(source_terrain.belt) else []

    def from_source(self, q: Array, times: Array, start: float | None = None) -> Array:
        """Configurations (f, nq) of the source motion in this frame; ``start``: of the motion [s], default is the first time."""
        q, source, since = q.copy(), self.source_terrain, times - (times[0] if start is None else start)
        position = q[:, self.root][:, :3] - (0.0, 0.0, source.height or 0.0) - since[:, None] * source.velocity
        inverse = rotations.inverse(source.tilt)
        q[:, self.root] = np.concatenate((rotations.rotate(inverse, position), rotations.product(inverse, q[:, self.root][:, 3:])), axis=1)
        return q

    def place_stairs(self, q: Array) -> None:
        """Place stairs without a given position across the path of the motion, of configurations (f, nq) in this frame."""
        if self.terrain.stairs is not None:
            self.terrain = replace(self.terrain, stairs=self.terrain.stairs.placed_along(q[:, self.root][:, :2]))

    def to_terrain(self, q: Array, times: Array) -> Array:
        """Configurations (f, nq) moved to the target terrain, with the orientation of the root in the world and its height unchanged."""
        if self.displacement is None and np.array_equal(self.source_terrain.tilt, self.tilt):
            return q
        q = q.copy()
        position = q[:, self.root][:, :3]
        source_up, up = (
            rotations.rotate(rotations.inverse(tilt), np.array((0.0, 0.0, 1.0))) for tilt in (self.source_terrain.tilt, self.tilt)
        )
        displacement = 0.0 if self.displacement is None else self.displacement(times)
        position = position + (position[:, 2:] / source_up[2]) * (up - source_up) + displacement
        turn = rotations.product(rotations.inverse(self.tilt), self.source_terrain.tilt)
        q[:, self.root] = np.concatenate((position, rotations.product(turn, q[:, self.root][:, 3:])), axis=1)
        return q

    def to_world(self, q: Array) -> Array:
        """Configurations (f, nq) in the world of the reference."""
        q = q.copy()
        position = rotations.rotate(self.tilt, q[:, self.root][:, :3]) + self.origin
        q[:, self.root] = np.concatenate((position, rotations.product(self.tilt, q[:, self.root][:, 3:])), axis=1)
        return q

    def point_to_world(self, x: Array) -> Array:
        """Points (..., 3) [m] in the world of the reference."""
        return rotations.rotate(self.tilt, x) + self.origin

    def rotation_to_world(self, R: Array) -> Array:
        """Orientation (3, 3) in the world of the reference."""
        return rotations.to_matrix(self.tilt) @ R


def smooth_configurations(model: Model, q: Array, width: float) -> Array:
    """Configurations (f, nq) after a Gaussian filter over time, of a standard deviation [frames]; velocities at the ends are kept."""
    if width <= 0.0:
        return q
    continuous = unwrap_quaternions(model, q.copy())
    padding = min(len(q) - 1, int(np.ceil(PADDING_WIDTHS * width)))
    # Point reflection through the ends keeps the velocities there
    before = 2 * continuous[0] - continuous[padding:0:-1]
    after = 2 * continuous[-1] - continuous[-2 : -padding - 2 : -1]
    padded = np.concatenate((before, continuous, after))
    smooth = gaussian_filter1d(padded, width, axis=0, truncate=PADDING_WIDTHS)[padding : padding + len(q)]
    for quaternion in quaternion_slices(model):
        smooth[:, quaternion] /= np.linalg.norm(smooth[:, quaternion], axis=1, keepdims=True)
    return smooth
