"""Sample motion: walking, along a straight or any other path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.foot_trajectory import Footprint, foot_trajectory
from brachiate.procedural.gait import PELVIS_YAW, SHOULDER_YAW, STANCE, TRUNK_LEAN, Gait
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import SkeletonPoser, frame_times
from brachiate.validation import Array

#: Path of a walking reference point: position [m] and heading [rad] at times (f,): (f, 3).
Path = Callable[[Array], Array]
MIN_SPEED, MAX_SPEED = 0.1, 2.5  # [m/s]
CADENCE_RANGE = (0.5, 3.0)  # [Hz] steps per second
LEG_PHASE = {"Left": 0.0, "Right": 0.5}  # gait phase relative to the left leg


def walk(speed: float = 1.3, step_length: float = 0.7, seconds: float = 4.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Walk straight ahead, in steady state from the first frame to the last.

    Args:
        speed: Speed along x [m/s].
        step_length: Step length [m].
        seconds: Duration [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    times = frame_times(seconds, rate, minimum=0.1)
    gait = Gait(Person(height), step_length)
    speed = checked_speed(speed, gait)
    return walk_along(gait, speed, times, lambda t: straight_path(speed, t), "walk")


def checked_speed(speed: float, gait: Gait) -> float:
    """Return the speed [m/s] if people walk with its cadence."""
    speed = validation.number(speed, "speed", minimum=MIN_SPEED, maximum=MAX_SPEED)
    cadence = speed / gait.step_length
    if not CADENCE_RANGE[0] <= cadence <= CADENCE_RANGE[1]:
        slowest, fastest = (steps * gait.step_length for steps in CADENCE_RANGE)
        raise ArgumentError(
            f"A speed of {speed:g} m/s with steps of {gait.step_length:g} m means {cadence:.2g} steps per second; people walk with "
            f"{CADENCE_RANGE[0]:g} to {CADENCE_RANGE[1]:g}. Choose a speed from {slowest:.2g} to {fastest:.2g} m/s, or another step_length."
        )
    return speed


def straight_path(speed: float, t: Array, yaw: float = 0.0) -> Array:
    """Straight path through the origin at time 0, at constant speed."""
    return np.stack((speed * t * np.cos(yaw), speed * t * np.sin(yaw), np.full_like(t, yaw)), axis=-1)


def walk_along(gait: Gait, speed: float, times: Array, path: Path, name: str, *assumptions: Assumption) -> Clip:
    """Walk along a path. Each footprint is where the path has the foot at mid-stance.

    Args:
        gait: The gait.
        speed: Speed at which steps have the length of the gait [m/s].
        times: Times of the frames [s].
        path: The path; also for times shortly before the first frame and after the last.
        name: Name of the clip.
        assumptions: Further assumptions of the clip.
    """
    cycle = 2.0 * gait.step_length / speed
    phase = times / cycle
    scale, wave = gait.scale, np.cos(2.0 * np.pi * phase)
    poser = SkeletonPoser(gait.person, times, to_world(path(times), gait.root(phase)), orient_to_world(path(times), gait.pelvis(phase)))
    poser.pose_trunk(flexion=np.radians(TRUNK_LEAN), twist=np.radians(PELVIS_YAW + SHOULDER_YAW) * scale * wave)
    feet = {}
    for side, s in SIDES.items():
        offset, mirror = LEG_PHASE[side], np.array((1.0, s, 1.0))

        def swing(t: Array, offset: float = offset, mirror: Array = mirror) -> Array:
            return to_world(path(t), mirror * gait.swing_ankle(t / cycle + offset))

        def pitch(t: Array, offset: float = offset) -> Array:
            return gait.pitch(t / cycle + offset)

        feet[side] = foot_trajectory(gait.person, times, _footprints(gait, cycle, offset, s, times, path), pitch, swing)
        flexion, elbow = gait.arm(phase + offset)
        poser.pose_arm(side, flexion=flexion, elbow=elbow)
    # Along a curve legs must reach farther than straight ahead.
    poser.translations[:, 0, 2] -= max(poser.excess_hip_height(side, feet[side]) for side in SIDES)
    for side in SIDES:
        poser.pose_leg(side, feet[side])
    steps = f"{gait.step_length:g} m long, {2.0 / cycle:.3g} per second"
    assumption = Assumption("steps", steps, f"angles are scaled by {scale:.2f} relative to natural walking")
    return poser.clip(name, assumption, *assumptions)


def _footprints(gait: Gait, cycle: float, offset: float, side: float, times: Array, path: Path) -> list[Footprint]:
    """Footprints of a foot, from one that ends before the first frame to one that begins after the last."""
    footprints = []
    for n in range(int(np.floor(times[0] / cycle + offset)) - 1, int(np.ceil(times[-1] / cycle + offset)) + 2):
        begin = (n - offset) * cycle
        middle = path(np.array([begin + 0.5 * STANCE * cycle]))
        ((x, y, _),) = to_world(middle, np.array([(-STANCE * gait.step_length, side * gait.width, 0.0)]))
        footprints.append(Footprint(begin, begin + STANCE * cycle, x, y, float(middle[0, 2])))
    return footprints


def to_world(path: Array, local: Array) -> Array:
    """Transform positions from the frame of the walking reference point to the world."""
    return rotations.rotate(rotations.about_axis(2, path[:, 2]), local) + path * (1.0, 1.0, 0.0)


def orient_to_world(path: Array, q: Array) -> Array:
    """Transform rotations from the frame of the walking reference point to the world."""
    return rotations.product(rotations.about_axis(2, path[:, 2]), q)
