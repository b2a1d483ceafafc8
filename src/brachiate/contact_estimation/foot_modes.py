"""Contact modes of feet: none, heel, front, flat; and all combinations of the modes of several feet."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import HEEL
from brachiate.contact_estimation.contact_confidence import foot_group
from brachiate.contact_estimation.cost_constants import END_SWITCH, SUPPORT_SWITCH
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, parts_matching
from brachiate.validation import Array

MAX_COMBINATIONS = 64  # feet beyond are treated as other parts: a figure of many legs


class FootParts(NamedTuple):
    """Parts of one foot: an end of it is in contact if any of its parts is."""

    name: str
    ends: tuple[tuple[int, ...], ...]  # parts of the heel and of the front; of the whole foot, if it has no heel


class FootModes(NamedTuple):
    """Combinations of contact modes of feet.

    Args:
        feet: The feet.
        contact: Ends in contact in each combination: (m, e).
        foot: Foot of each end: (e,).
        switch: Cost of switching between combinations: (m, m).
    """

    feet: tuple[FootParts, ...]
    contact: Array
    foot: Array
    switch: Array

    @property
    def ends(self) -> list[tuple[int, ...]]:
        """Parts of every end."""
        return [parts for foot in self.feet for parts in foot.ends]

    @property
    def parts(self) -> set[int]:
        """Parts of all feet."""
        return {part for parts in self.ends for part in parts}

    def in_contact(self, foot: int) -> Array:
        """Whether a foot is in contact in each combination: (m,)."""
        return np.asarray(self.contact[:, self.foot == foot].any(axis=1))


def foot_modes(dynamics: MotionDynamics) -> FootModes:
    """Contact modes of the feet of a figure."""
    names, feet = dynamics.contact_points.parts, list[FootParts]()
    groups: dict[str, list[int]] = {}
    for part in parts_matching(dynamics, FOOT_WORDS):
        groups.setdefault(foot_group(names[part]), []).append(part)
    count = 1
    for name, parts in groups.items():
        heel = tuple(part for part in parts if HEEL in names[part])
        front = tuple(part for part in parts if part not in heel)
        ends = tuple(end for end in (heel, front) if end)
        if count * 2 ** len(ends) <= MAX_COMBINATIONS:
            count *= 2 ** len(ends)
            feet.append(FootParts(name, ends))
    foot = np.array([k for k, each in enumerate(feet) for _ in each.ends], np.int64)
    contact = np.array(list(product((False, True), repeat=len(foot))), bool).reshape(-1, len(foot))
    changes = contact[:, None] != contact
    switch = END_SWITCH * changes.sum(axis=2)
    for k in range(len(feet)):
        stands = np.asarray(contact[:, foot == k].any(axis=1))
        switch += SUPPORT_SWITCH * (stands[:, None] != stands)
    return FootModes(tuple(feet), contact, foot, switch)
