"""Frames of a reference: which moments of a motion they show, without noise, and over a level ground at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.model.model import Model
from brachiate.motion.edit import root_of
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Ground
from brachiate.validation import Array

KNOT = 0.008  # [s] between frames that are solved for; a smooth curve goes through them
SLOWING = 0.25  # [s] of motion that is slowed down to a stop before it is held
ENDS = 4.0  # times the width of smoothing: how far frames are mirrored beyond the ends


class Grid:
    """Frames of the reference, those that are solved for, and what moment of the motion each shows."""

    def __init__(self, motion: Motion, dt: float, hold: float) -> None:
        self.first, self.last = float(motion.times[0]), float(motion.times[-1])
        self.dt = dt
        self.slow = min(SLOWING, 0.5 * motion.duration) if hold > 0 else 0.0
        self.stride = max(1, round(KNOT / dt))
        duration = motion.duration + self.slow + hold
        count = int(duration / (dt * self.stride) + 1e-6)
        self.times = self.first + dt * np.arange(count * self.stride + 1)
        self.knots = self.times[:: self.stride]
        self.knot = dt * self.stride

    def own(self, times: Array) -> Array:
        """Times in the motion."""
        if not self.slow:
            return np.minimum(times, self.last)
        begin = self.last - self.slow
        u = np.clip((times - begin) / (2.0 * self.slow), 0.0, 1.0)
        # From full pace to none without a jump of acceleration: half as far as at full pace
        slowed = begin + 2.0 * self.slow * (u - 2.5 * u**4 + 3.0 * u**5 - u**6)
        return np.minimum(np.where(times < begin, times, slowed), self.last)

    def new(self, time: float) -> float:
        """When a moment of the motion is shown [s]; what is so at its end stays so."""
        if time >= self.last - KNOT:
            return float(self.times[-1])
        return float(np.interp(time, self.own(self.times), self.times))


class Level:
    """The world with its ground at z = 0, level and at rest: where feet are looked at.

    Feet are the same there on every ground. What is to be done on another one than it was made on comes from this frame of the one
    (``there``) by ``moved`` into that of the other, and from there back into the world.
    """

    def __init__(self, model: Model, found: Ground, height: float, onto: Ground | None = None) -> None:
        self.root, self.found = root_of(model), found
        self.ground = replace(onto or found, height=height, belt=(0.0, 0.0))
        self.tilted = self.ground.tilt
        self.up = np.array((0.0, 0.0, height))
        self.carried: CubicSpline | None = None  #: by how much the body is moved with feet that stand elsewhere [m], over time
        self.guesses = (
            [Guess("treadmill", "taken away", "the reference is as seen from the belt: forces are the same")] if any(found.belt) else []
        )

    def there(self, q: Array, times: Array) -> Array:
        """Configurations of the motion in this frame."""
        q = q.copy()
        place = q[:, self.root][:, :3] - (0.0, 0.0, self.found.height or 0.0) - (times - times[0])[:, None] * self.found.velocity
        back = rotations.inverse(self.found.tilt)
        q[:, self.root] = np.concatenate((rotations.turned(back, place), rotations.product(back, q[:, self.root][:, 3:])), axis=1)
        return q

    def lay_steps(self, q: Array) -> None:
        """Let steps that nobody said the place of be in the way of the motion: configurations in this frame."""
        if self.ground.steps is not None:
            self.ground = replace(self.ground, steps=self.ground.steps.in_the_way(q[:, self.root][:, :2]))

    def moved(self, q: Array, times: Array) -> Array:
        """Configurations over the ground it is to be done on: the root as upright as it was, as high above the same place."""
        if self.carried is None and np.array_equal(self.found.tilt, self.tilted):
            return q
        q = q.copy()
        place = q[:, self.root][:, :3]
        was, now = (rotations.turned(rotations.inverse(tilt), np.array((0.0, 0.0, 1.0))) for tilt in (self.found.tilt, self.tilted))
        place = place + (place[:, 2:] / was[2]) * (now - was) + (0.0 if self.carried is None else self.carried(times))
        turn = rotations.product(rotations.inverse(self.tilted), self.found.tilt)
        q[:, self.root] = np.concatenate((place, rotations.product(turn, q[:, self.root][:, 3:])), axis=1)
        return q

    def back(self, q: Array) -> Array:
        """Configurations in the world of the reference."""
        q = q.copy()
        place = rotations.turned(self.tilted, q[:, self.root][:, :3]) + self.up
        q[:, self.root] = np.concatenate((place, rotations.product(self.tilted, q[:, self.root][:, 3:])), axis=1)
        return q

    def point(self, x: Array) -> Array:
        """A place in the world of the reference."""
        return rotations.turned(self.tilted, x) + self.up

    def turn(self, R: Array) -> Array:
        """An orientation in the world of the reference."""
        return rotations.matrix(self.tilted) @ R


def smoothed(model: Model, q: Array, width: float) -> Array:
    """Configurations (f, nq) at even times without what is faster than a bell of this width [frames]; ends go on as they are."""
    if width <= 0.0:
        return q
    even = steady(model, q.copy())
    room = min(len(q) - 1, int(np.ceil(ENDS * width)))
    # Mirrored through the end points, so that velocities there are kept
    before, after = 2 * even[0] - even[room:0:-1], 2 * even[-1] - even[-2 : -room - 2 : -1]
    out = gaussian_filter1d(np.concatenate((before, even, after)), width, axis=0, truncate=ENDS)[room : room + len(q)]
    for place in _quaternions(model):
        out[:, place] /= np.linalg.norm(out[:, place], axis=1, keepdims=True)
    return out


def _quaternions(model: Model) -> list[slice]:
    joints = [(joined, model.links[joined.link].joint) for joined in model.joints.values()]
    return [slice(joined.q.stop - 4, joined.q.stop) for joined, joint in joints if joint.nq > joint.nv]


def steady(model: Model, q: Array) -> Array:
    """Configurations (f, nq) with signs of quaternions that do not jump; in place."""
    for place in _quaternions(model):
        q[:, place] = rotations.steady(q[:, place])
    return q
