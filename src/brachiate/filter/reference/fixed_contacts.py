"""What a part beside the feet does that stays in its place for a while."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.filter.reference.posture_ik import Pin
from brachiate.motion.contact_labels import Label
from brachiate.validation import Array

SHORTEST = 0.1  # [s] for which it stays at least
STILL = 0.02  # [m/s] what is slower than this is still


class Bearer(NamedTuple):
    """A point of a body that bears, as a ball does: by what is lowest of it."""

    center: Array  # (3,) [m] of the ball, body axes
    radius: float  # [m]
    normal: Array  # (3,) of what it is on, world axes


class Seat(NamedTuple):
    """How a part sits."""

    rest: int  # the frame in which it sits as it does when it rests
    sat: Array  # (f,) when anything of the body sits there
    bearers: tuple[Bearer, ...]  # by which this part does, as corners
    ground: bool  # whether it is on the ground, at z = 0


class Stay(NamedTuple):
    """A label that is kept in one place: by one point, or by several that bear as corners of a sole do."""

    label: Label
    link: str
    body: int
    start: int
    end: int
    corners: Array  # (k, 3) [m] that bear or hold, body axes
    bears: Array  # (f, k) when
    R: Array  # (3, 3) of the body then, about
    x: Array  # (3,) [m] and its place
    pins: tuple[Pin, ...]  # points that are kept in their places
    seat: Seat | None = None  # if it sits
