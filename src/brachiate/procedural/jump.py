"""Sample motion: two-legged jump."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, keyframe_curve
from brachiate.procedural.foot_trajectory import Footprint, foot_trajectory
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.skeleton_poser import STANDING_HIP_HEIGHT, SkeletonPoser, frame_times
from brachiate.validation import Array

MAX_HEIGHT, MAX_DISTANCE = 0.6, 1.2  # [m]
GRAVITY = 9.81  # [m/s²]
FLIGHT_STRETCH, TAKEOFF_SPEED_SHARE = (
    1.15,
    0.75,
)  # duration of the flight relative to free fall; share of the parabolic speed at takeoff and landing
CROUCH, LANDING_CROUCH = 0.16, 0.13  # descent of the hips before takeoff and after landing, as shares of the stature
TAKEOFF_PITCH, LANDING_PITCH = np.radians(-50.0), np.radians(-18.0)  # [rad] of the feet, toes up
TAKEOFF_LEG_LENGTH, LANDING_LEG_LENGTH = 0.975, 0.97  # shares of the full leg length
FLIGHT_LEG_LENGTH = 0.86  # share of the full leg length at the apex
TAKEOFF_POSITION, LANDING_POSITION = 0.12, 0.88  # forward positions of the hips, as shares of the distance


def jump(jump_height: float = 0.3, distance: float = 0.5, seconds: float = 2.8, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Crouch, jump off both feet, land and stand.

    The flight is kinematic, not ballistic: it takes longer than a free fall, and is not a parabola.

    Args:
        jump_height: Rise of the hips after takeoff [m].
        distance: Forward distance between takeoff and landing of the feet [m].
        seconds: Duration of the motion [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    jump_height = validation.number(jump_height, "jump_height", minimum=0.05, maximum=MAX_HEIGHT)
    distance = validation.number(distance, "distance", minimum=0.0, maximum=MAX_DISTANCE)
    flight = FLIGHT_STRETCH * float(np.sqrt(8.0 * jump_height / GRAVITY))
    times = frame_times(seconds, rate, minimum=0.5)
    contact = times[-1] - flight
    if contact < 0.8:
        raise ArgumentError(
            f"seconds must be at least {flight + 0.8:.2f} to jump {jump_height:g} m high, got {times[-1]:g}: "
            f"the flight takes {flight:.2f} s."
        )
    person = Person(height)
    takeoff = 0.45 * contact
    landing = takeoff + flight
    return _jump(person, times, jump_height, distance, (0.55 * takeoff, takeoff, landing, takeoff + flight + 0.14 * contact))


def _jump(person: Person, times: Array, jump_height: float, distance: float, events: tuple[float, float, float, float]) -> Clip:
    """Jump with given times of the deepest crouch, takeoff, landing and deepest landing crouch [s]."""
    low, leave, land, deep = events
    airborne = leave + 0.2 * (land - leave)
    pitch = keyframe_curve(
        {
            low: 0.0,
            leave: TAKEOFF_PITCH,
            airborne: 1.4 * TAKEOFF_PITCH,
            0.6 * land + 0.4 * leave: TAKEOFF_PITCH,
            land: LANDING_PITCH,
            land + 0.6 * (deep - land): 0.0,
        }
    )
    root = _root(person, times[-1], jump_height, distance, events, pitch)
    lean = keyframe_curve({0.0: 0.0, low: 0.45, leave: 0.05, 0.5 * (leave + land): 0.1, land: 0.2, deep: 0.4, times[-1]: 0.0})
    poser = SkeletonPoser(person, times, root(times), rotations.about_axis(1, lean(times)))
    poser.pose_trunk(flexion=0.7 * lean(times))
    arms = keyframe_curve({0.0: 0.0, low: -0.8, leave: 2.1, 0.5 * (leave + land): 1.7, land: 1.1, deep: 0.9, times[-1]: 0.0})
    elbows = keyframe_curve({0.0: 0.2, low: 0.3, leave: 0.5, land: 0.4, times[-1]: 0.2})
    reach = person.thigh + person.shank
    leg_length = keyframe_curve({leave: TAKEOFF_LEG_LENGTH, 0.5 * (leave + land): FLIGHT_LEG_LENGTH, land: LANDING_LEG_LENGTH})
    foot_ahead = keyframe_curve({leave: -TAKEOFF_POSITION * distance, land: (1.0 - LANDING_POSITION) * distance})
    for side, s in SIDES.items():
        footprints = [Footprint(-1.0, leave, 0.0, s * person.stance), Footprint(land, times[-1] + 1.0, distance, s * person.stance)]

        def swing(t: Array, lateral: float = s * person.stance) -> Array:
            return root(t) + np.stack((foot_ahead(t), np.full_like(t, lateral), -reach * leg_length(t)), axis=-1)

        poser.pose_leg(side, foot_trajectory(person, times, footprints, pitch, swing))
        poser.pose_arm(side, flexion=arms(times) + 0.5 * lean(times), elbow=elbows(times))
    flight = f"{jump_height:g} m high and {distance:g} m far in {land - leave:.2f} s, after a crouch of {CROUCH * person.height:.2f} m"
    return poser.clip("jump", Assumption("flight", flight, f"{FLIGHT_STRETCH:g} times as long as a free fall, and not a parabola"))


def _root(
    person: Person, end: float, jump_height: float, distance: float, events: tuple[float, float, float, float], pitch: Curve
) -> Curve:
    """Trajectory of the hips [m]: through crouch, takeoff, apex, landing and landing crouch."""
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  (slow to import)

    low, leave, land, deep = events
    stature, standing = person.height, STANDING_HIP_HEIGHT * person.hip

    def hip_height(t: float, forward: float, share: float) -> float:
        """Height of the hips at a forward position, over feet that stand at x = 0, with legs of a share of their length."""
        ((x, _, z),) = person.rolling_ankle(pitch(np.array([t])))
        return z + float(np.sqrt((share * (person.thigh + person.shank)) ** 2 - (forward - x) ** 2))

    takeoff = hip_height(leave, TAKEOFF_POSITION * distance, TAKEOFF_LEG_LENGTH)
    landing = hip_height(land, (LANDING_POSITION - 1.0) * distance, LANDING_LEG_LENGTH)
    rise, fall = (TAKEOFF_SPEED_SHARE * 4.0 * (jump_height + below) / (land - leave) for below in (0.0, takeoff - landing))
    speed = (LANDING_POSITION - TAKEOFF_POSITION) * distance / (land - leave)
    knots = (0.0, low, leave, 0.5 * (leave + land), land, deep, end)
    z = (standing, standing - CROUCH * stature, takeoff, takeoff + jump_height, landing, standing - LANDING_CROUCH * stature, standing)
    x = (
        0.0,
        -0.03 * stature,
        TAKEOFF_POSITION * distance,
        0.5 * distance,
        LANDING_POSITION * distance,
        distance - 0.02 * stature,
        distance,
    )
    vertical = CubicHermiteSpline(knots, z, (0.0, 0.0, rise, 0.0, -fall, 0.0, 0.0))
    forward = CubicHermiteSpline(knots, x, (0.0, 0.0, speed, speed, speed, 0.0, 0.0))
    return lambda t: np.stack((forward(np.clip(t, 0.0, end)), 0.0 * t, vertical(np.clip(t, 0.0, end))), axis=-1)
