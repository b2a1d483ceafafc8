"""A jump with both legs."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, keyed
from brachiate.procedural.footwork import Print, footwork
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import STANDING, Puppet, moments
from brachiate.validation import Array

HIGHEST, FARTHEST = 0.6, 1.2  # [m]
G = 9.81  # [m/s²]
FLOAT, SOFT = 1.15, 0.75  # the flight lasts so much longer than gravity allows, and begins and ends with so much of the speed it takes
CROUCH, YIELD = 0.16, 0.13  # over stature: how far hips go down before, and after
OFF, DOWN = np.radians(-50.0), np.radians(-18.0)  # pitch of the feet that leave the floor, and that come down
STRETCHED, LANDING = 0.975, 0.97  # how long legs are then, over their full length
TUCKED = 0.86  # in the air
LEAVING, COMING = 0.12, 0.88  # of the distance: where hips are then


def jump(high: float = 0.3, far: float = 0.5, seconds: float = 2.8, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Crouch, jump off both feet, land and stand.

    The way through the air is drawn, not thrown: it takes longer than a fall, and is no parabola.

    Args:
        high: How far hips rise after the feet have left the floor [m].
        far: How far forward the feet come down [m].
        seconds: How long all of it takes.
        height: Of the person [m].
        rate: Frames a second.
    """
    high = validation.number(high, "high", least=0.05, most=HIGHEST)
    far = validation.number(far, "far", least=0.0, most=FARTHEST)
    flight = FLOAT * float(np.sqrt(8.0 * high / G))
    times = moments(seconds, rate, least=0.5)
    ground = times[-1] - flight
    if ground < 0.8:
        raise ArgumentError(
            f"seconds must be at least {flight + 0.8:.2f} to jump {high:g} m high, got {times[-1]:g}: {flight:.2f} s of it are in the air."
        )
    person = Person(height)
    leave = 0.45 * ground
    return _jump(person, times, high, far, (0.55 * leave, leave, leave + flight, leave + flight + 0.14 * ground))


def _jump(person: Person, times: Array, high: float, far: float, when: tuple[float, float, float, float]) -> Clip:
    low, leave, land, deep = when
    gone = leave + 0.2 * (land - leave)
    pitch = keyed({low: 0.0, leave: OFF, gone: 1.4 * OFF, 0.6 * land + 0.4 * leave: OFF, land: DOWN, land + 0.6 * (deep - land): 0.0})
    root = _root(person, times[-1], high, far, when, pitch)
    tall = person.height
    bow = keyed({0.0: 0.0, low: 0.45, leave: 0.05, 0.5 * (leave + land): 0.1, land: 0.2, deep: 0.4, times[-1]: 0.0})
    puppet = Puppet(person, times, root(times), rotations.about(1, bow(times)))
    puppet.trunk(lean=0.7 * bow(times))
    arms = keyed({0.0: 0.0, low: -0.8, leave: 2.1, 0.5 * (leave + land): 1.7, land: 1.1, deep: 0.9, times[-1]: 0.0})
    elbows = keyed({0.0: 0.2, low: 0.3, leave: 0.5, land: 0.4, times[-1]: 0.2})
    reach = person.thigh + person.shank
    shorter = keyed({leave: STRETCHED, 0.5 * (leave + land): TUCKED, land: LANDING})
    ahead = keyed({leave: -LEAVING * far, land: (1.0 - COMING) * far})
    for side, s in SIDES.items():
        prints = [Print(-1.0, leave, 0.0, s * person.stance), Print(land, times[-1] + 1.0, far, s * person.stance)]

        def free(t: Array, aside: float = s * person.stance) -> Array:
            return root(t) + np.stack((ahead(t), np.full_like(t, aside), -reach * shorter(t)), axis=-1)

        puppet.leg(side, footwork(person, times, prints, pitch, free))
        puppet.arm(side, forward=arms(times) + 0.5 * bow(times), elbow=elbows(times))
    told = f"{high:g} m high and {far:g} m far in {land - leave:.2f} s, {CROUCH * tall:.2f} m down before"
    return puppet.clip("jump", Guess("flight", told, f"{FLOAT:g} times as long as a fall takes, and no parabola"))


def _root(person: Person, end: float, high: float, far: float, when: tuple[float, float, float, float], pitch: Curve) -> Curve:
    """Where hips are [m]: through crouch, stretched legs, the top, landing and yielding."""
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  (slow to import)

    low, leave, land, deep = when
    tall, stand = person.height, STANDING * person.hip

    def above(t: float, where: float, share: float) -> float:
        """Height of hips over feet that stand at x = 0, with legs of a share of their length."""
        ((x, _, z),) = person.rolled(pitch(np.array([t])))
        return z + float(np.sqrt((share * (person.thigh + person.shank)) ** 2 - (where - x) ** 2))

    off, down = above(leave, LEAVING * far, STRETCHED), above(land, (COMING - 1.0) * far, LANDING)
    rise, fall = (SOFT * 4.0 * (high + below) / (land - leave) for below in (0.0, off - down))
    glide = (COMING - LEAVING) * far / (land - leave)
    knots = (0.0, low, leave, 0.5 * (leave + land), land, deep, end)
    z = (stand, stand - CROUCH * tall, off, off + high, down, stand - YIELD * tall, stand)
    x = (0.0, -0.03 * tall, LEAVING * far, 0.5 * far, COMING * far, far - 0.02 * tall, far)
    up = CubicHermiteSpline(knots, z, (0.0, 0.0, rise, 0.0, -fall, 0.0, 0.0))
    on = CubicHermiteSpline(knots, x, (0.0, 0.0, glide, glide, glide, 0.0, 0.0))
    return lambda t: np.stack((on(np.clip(t, 0.0, end)), 0.0 * t, up(np.clip(t, 0.0, end))), axis=-1)
