"""Fixed contacts of parts other than feet: hands, forearms, knees, and seats."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.filter.reference.posture_ik import PointTarget
from brachiate.motion.contact_labels import ContactInterval
from brachiate.validation import Array

FIXED_CONTACT_MIN_DURATION = 0.1  # [s]


class ContactSphere(NamedTuple):
    """Sphere of a body that is in contact by its lowest point."""

    center: Array  # (3,) [m] body axes
    radius: float  # [m]
    normal: Array  # (3,) of the supporting surface, world axes


class SeatContact(NamedTuple):
    """Sitting contact of a part."""

    rest_frame: int  # frame that is most typical of the time at rest
    occupied: Array  # (f,) whether any part is on this seat
    spheres: tuple[ContactSphere, ...]  # contact spheres of this part, one per corner
    on_ground: bool  # whether it is on the ground, at z = 0


class FixedContact(NamedTuple):
    """Contact of a part at a fixed position: by one point, or by several corners."""

    label: ContactInterval
    link: str
    body: int
    start: int
    end: int
    corners: Array  # (k, 3) [m] contact points, body axes
    corner_contact: Array  # (f, k) corners in contact
    R: Array  # (3, 3) approximate orientation of the body in contact
    x: Array  # (3,) [m] and its position
    targets: tuple[PointTarget, ...]  # points that the IK keeps in place
    seat: SeatContact | None = None  # of a sitting contact
