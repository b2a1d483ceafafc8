"""Contact detector: contact of a point by its height and speed with hysteresis, over all frames or causally.

The thresholds belong to the points they are used for: heels, toes and palms of a skeleton (:mod:`brachiate.retargeting.source_contacts`),
corners of soles online (:mod:`brachiate.filter.online.contact_estimator`). Contacts of whole motions: see :mod:`.ground_contacts`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import kernel
from brachiate.intervals import apply_hysteresis
from brachiate.validation import Array


class ContactThresholds(NamedTuple):
    """Thresholds of a contact: it begins where all quantities are below ON, and lasts while all are below OFF.

    The normal speed is positive away from the ground. Offline it is bounded on both sides for a contact to begin: a point that still
    lands is not yet in contact.
    """

    height_on: float  # [m]
    height_off: float
    speed_on: float  # [m/s]
    speed_off: float
    normal_speed: float = np.inf  # [m/s]


def detect_contact(height: Array, speed: Array, thresholds: ContactThresholds, normal_speed: Array | None = None) -> Array:
    """Contact flags (f,) of a point from its height [m] and speed [m/s] in all frames, the same forward and backward in time.

    Args:
        height: Above the ground: (f,) [m].
        speed: Of the point, or its part along the ground: (f,) [m/s].
        thresholds: ON and OFF.
        normal_speed: Away from the ground: (f,) [m/s].
    """
    on = (height < thresholds.height_on) & (speed < thresholds.speed_on)
    stays = (height < thresholds.height_off) & (speed < thresholds.speed_off)
    if normal_speed is not None:
        on &= np.abs(normal_speed) < thresholds.normal_speed
        stays &= normal_speed < thresholds.normal_speed
    return apply_hysteresis(on, stays)


@kernel
def update_contact(contact, height, speed, normal_speed, height_on, height_off, speed_on, speed_off, max_normal_speed):
    """Causal variant: contact flag of this frame from that of the frame before. A landing point may come down at any normal speed."""
    if contact:
        return 1 if height < height_off and speed < speed_off else 0
    return 1 if height < height_on and speed < speed_on and normal_speed < max_normal_speed else 0
