"""What touched in a step, for people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact.arrays import CORNERS
from brachiate.contact.published.states import C1, C2, C3, C4, C5, C6
from brachiate.contact.solver.contact_law import CORNER, EDGE, FACE
from brachiate.contact.solver.dense_problem import rows_of
from brachiate.contact.stepping.contact_log import Lines
from brachiate.validation import Array
from brachiate.world.contacts import Contact


class Touched(NamedTuple):
    """Numbers of m pairs, as the step left them."""

    links: list[tuple[str, str]]  # what carries, what rests on it
    state: Array  # (m,) 0 to 7
    corners: Array  # (m,)
    at: Array  # (m+1,) where their packed rows start
    V: Array  # (m, 8, 2) [m] corners in contact axes
    point: Array  # (m, 3) [m] origin of those
    axes: Array  # (m, 3, 3)
    frame: Array  # (m, 6) where they are held: see brachiate.contact.published.trial
    force: Array  # packed [N, N·m]
    impulse: Array  # packed [N·s, N·m·s] of the collision before, zero if nothing hit
    speed: Array  # packed [m/s, rad/s]
    depth: float  # [m] of the corner that is deepest in the ground


def contacts_of(touched: Touched) -> tuple[Contact, ...]:
    """Return the same by name."""
    return tuple(_contact(touched, i) for i in range(len(touched.links)))


def lines_of(touched: Touched, dt: float, sinking: float) -> Lines:
    """The same as a recording has it: what bears, with the mean force over the step, that of the collision included.

    A recording has no word for C2, one spot of an area that sticks: it is written as a point.

    Args:
        touched: What touched.
        dt: Length of the step [s].
        sinking: How fast something goes into the ground after it [m/s].
    """
    force = touched.force + touched.impulse / dt
    parts = [_part(touched, i) for i in range(len(touched.links))]
    wrench, twist = (np.array([_six(touched, i, x) for i in range(len(parts))]).reshape(-1, 6) for x in (force, touched.speed))
    bears = np.flatnonzero(wrench[:, 2] > 0.0)
    V = np.zeros((len(bears), CORNERS, 2))
    for n, i in enumerate(bears):
        V[n, : len(parts[i])] = parts[i]
    corners = np.array([len(parts[i]) for i in bears], np.int64)
    area = np.where(corners > 2, FACE, np.where(corners > 1, EDGE, CORNER))
    slip = (touched.state[bears] >= C4).astype(np.int64)
    return Lines(
        bears, corners, area, slip, touched.point[bears], touched.axes[bears], V, wrench[bears], twist[bears], sinking, touched.depth, 0
    )


def _six(t: Touched, i: int, packed: Array) -> Array:
    """All six numbers of a pair."""
    out = np.zeros(6)
    out[list(rows_of(int(t.corners[i])))] = packed[t.at[i] : t.at[i + 1]]
    return out


def _part(t: Touched, i: int) -> Array:
    """Corners of what bears: all of the area, or the line or the spot that it is held at: (k, 2) [m] along the contact axes."""
    x, y, along_x, along_y, half, _ = t.frame[i]
    if t.state[i] in (C1, C5):
        return np.array((x, y)) + np.outer((-half, half), (along_x, along_y))
    return np.array([(x, y)]) if t.state[i] in (C2, C3, C6) else t.V[i, : t.corners[i]]


def _contact(t: Touched, i: int) -> Contact:
    on, link = t.links[i]
    area, part = (t.point[i] + corner @ t.axes[i, :, :2].T for corner in (t.V[i, : t.corners[i]], _part(t, i)))
    return Contact(link, on, f"C{t.state[i]}", t.point[i], t.axes[i], area, part, _six(t, i, t.force), _six(t, i, t.speed))
