"""What touched in a step, for people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact.problems import rows_of
from brachiate.contact.states import C1, C2, C3, C5, C6
from brachiate.doors import Array
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
    frame: Array  # (m, 6) where they are held: see brachiate.contact.trial
    force: Array  # packed [N, N·m]
    speed: Array  # packed [m/s, rad/s]


def contacts_of(touched: Touched) -> tuple[Contact, ...]:
    """Return the same by name."""
    return tuple(_contact(touched, i) for i in range(len(touched.links)))


def _contact(t: Touched, i: int) -> Contact:
    on, link = t.links[i]
    corners, state = int(t.corners[i]), int(t.state[i])
    rows, span = list(rows_of(corners)), slice(t.at[i], t.at[i + 1])
    wrench, twist = np.zeros(6), np.zeros(6)
    wrench[rows], twist[rows] = t.force[span], t.speed[span]
    area, part = t.V[i, :corners], t.V[i, :corners]
    x, y, along_x, along_y, half, _ = t.frame[i]
    if state in (C1, C5):
        part = np.array((x, y)) + np.outer((-half, half), (along_x, along_y))
    elif state in (C2, C3, C6):
        part = np.array([(x, y)])
    area, part = (t.point[i] + corner @ t.axes[i, :, :2].T for corner in (area, part))
    return Contact(link, on, f"C{state}", t.point[i], t.axes[i], area, part, wrench, twist)
