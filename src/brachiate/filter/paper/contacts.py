"""Contacts of a step of the published filter, by name and as recording."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact.arrays import CORNERS
from brachiate.contact.published.states import C1, C2, C3, C4, C5, C6
from brachiate.contact.solver.contact_law import CORNER, EDGE, FACE
from brachiate.contact.solver.dense_problem import row_indices
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.validation import Array
from brachiate.world.contacts import Contact


class PairRecord(NamedTuple):
    """Contact pairs of a step: m of them."""

    links: list[tuple[str, str]]  # supporting link, resting link
    state: Array  # (m,) 0 to 7
    corners: Array  # (m,)
    row_start: Array  # (m+1,) first packed row
    V: Array  # (m, 8, 2) [m] corners in contact axes
    point: Array  # (m, 3) [m] origin of the contact axes
    axes: Array  # (m, 3, 3)
    frame: Array  # (m, 6) frame of the contact state: see brachiate.contact.published.trial
    force: Array  # packed [N, N·m]
    impulse: Array  # packed [N·s, N·m·s] of the collision before the step, zero without one
    velocity: Array  # packed [m/s, rad/s]
    depth: float  # [m] largest penetration of a corner


def named_contacts(pairs: PairRecord) -> tuple[Contact, ...]:
    """Contacts by the names of their links."""
    return tuple(_contact(pairs, i) for i in range(len(pairs.links)))


def contact_log_lines(pairs: PairRecord, dt: float, sinking: float) -> ContactSample:
    """Contacts as in a recording: loaded pairs with the mean force over the step, including the collision.

    A recording has no state for C2, one sticking spot of an area: it is stored as a point.

    Args:
        pairs: Contact pairs of the step.
        dt: Length of the step [s].
        sinking: Largest speed of a contact into the ground after the step [m/s].
    """
    force = pairs.force + pairs.impulse / dt
    loaded_corners = [_loaded_part(pairs, i) for i in range(len(pairs.links))]
    wrench, twist = (np.array([_six(pairs, i, x) for i in range(len(loaded_corners))]).reshape(-1, 6) for x in (force, pairs.velocity))
    loaded = np.flatnonzero(wrench[:, 2] > 0.0)
    V = np.zeros((len(loaded), CORNERS, 2))
    for n, i in enumerate(loaded):
        V[n, : len(loaded_corners[i])] = loaded_corners[i]
    corners = np.array([len(loaded_corners[i]) for i in loaded], np.int64)
    area = np.where(corners > 2, FACE, np.where(corners > 1, EDGE, CORNER))
    slip = (pairs.state[loaded] >= C4).astype(np.int64)
    return ContactSample(
        loaded, corners, area, slip, pairs.point[loaded], pairs.axes[loaded], V, wrench[loaded], twist[loaded], sinking, pairs.depth, 0
    )


def _six(pairs: PairRecord, i: int, packed: Array) -> Array:
    """All six components of a packed row vector of pair i."""
    out = np.zeros(6)
    out[list(row_indices(int(pairs.corners[i])))] = packed[pairs.row_start[i] : pairs.row_start[i + 1]]
    return out


def _loaded_part(pairs: PairRecord, i: int) -> Array:
    """Corners of the loaded part: all of the area, or the line or spot of its contact state: (k, 2) [m], contact axes."""
    x, y, along_x, along_y, half, _ = pairs.frame[i]
    if pairs.state[i] in (C1, C5):
        return np.array((x, y)) + np.outer((-half, half), (along_x, along_y))
    return np.array([(x, y)]) if pairs.state[i] in (C2, C3, C6) else pairs.V[i, : pairs.corners[i]]


def _contact(pairs: PairRecord, i: int) -> Contact:
    on, link = pairs.links[i]
    area, part = (pairs.point[i] + corner @ pairs.axes[i, :, :2].T for corner in (pairs.V[i, : pairs.corners[i]], _loaded_part(pairs, i)))
    return Contact(
        link,
        on,
        f"C{pairs.state[i]}",
        pairs.point[i],
        pairs.axes[i],
        area,
        part,
        _six(pairs, i, pairs.force),
        _six(pairs, i, pairs.velocity),
    )
