"""Contact points of a figure over time, looked up by the part names of contact labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import ContactPoints
from brachiate.kinematics_batch import Poses
from brachiate.motion.contact_labels import ContactInterval
from brachiate.validation import Array


class ContactTracks(NamedTuple):
    """Contact points of a figure in motion over level ground at z = 0."""

    points: ContactPoints
    poses: Poses
    times: Array  # (f,) [s]
    ground_height: float  # [m] of the ground in the contact labels

    def indices(self, part: str) -> Array:
        """Indices of the contact points of a part."""
        return np.flatnonzero(self.points.part == self.points.parts.index(part))

    def body(self, part: str) -> int:
        """Body of a part."""
        return int(self.points.body[self.indices(part)[0]])

    def link(self, part: str) -> str:
        """Link of a part."""
        return self.points.links[self.points.parts.index(part)]

    def frames(self, start: float, end: float) -> tuple[int, int]:
        """First frame of a time interval [s], and the frame after its last."""
        first, last = np.searchsorted(self.times, (start - 1e-9, end + 1e-9))
        return int(first), int(last)

    def surface_height(self, contact: ContactInterval) -> float:
        """Height of the supporting surface above the ground [m]."""
        return 0.0 if contact.height is None else contact.height - self.ground_height
