"""What touches, for people: areas, forces, centres of pressure and states by name, and what they add up to for a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.contact.arrays import WAYS
from brachiate.contact.published.states import TABLE_I
from brachiate.contact.solver.contact_law import CORNER, EDGE, state_name
from brachiate.contact.stepping.contact_log import Lines
from brachiate.validation import Array
from brachiate.world.balance import pressed_at

_NONE = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Contact:
    """One contact area: ``link`` rests on, or runs into, ``on``. World axes; forces are those on ``link``."""

    link: str
    on: str
    state: str  # C0 ... C6 [DF] Table I
    point: Array  # (3,) [m] of the area
    axes: Array  # (3, 3) contact axes as columns: the last is the normal
    area: Array  # (k, 3) [m] corners of the area: 1 a point, 2 a segment, more a polygon
    bearing: Array  # (k, 3) [m] those of the part that bears: all of it, or one edge or corner that it turns about
    wrench: Array  # (6,) [N, N·m] along the contact axes, about the point
    twist: Array  # (6,) [m/s, rad/s] of the link against what it touches, likewise

    @property
    def pair(self) -> str:
        """Both links in words: ``link on other``."""
        return f"{self.link} on {self.on}"

    def is_of(self, name: str) -> bool:
        """Whether it is one of a link, of a figure, or of a pair of links."""
        return name == self.pair or _is_part(self.link, name) or _is_part(self.on, name)

    def side_of(self, name: str) -> float:
        """1 if its force acts on what has that name, -1 if the opposite does, 0 if both do, or none."""
        return 1.0 if name == self.pair else float(_is_part(self.link, name)) - float(_is_part(self.on, name))

    @property
    def normal(self) -> Array:
        """Unit vector out of what carries."""
        return self.axes[:, 2]

    @property
    def force(self) -> Array:
        """Force on the link (3,) [N]."""
        return self.axes @ self.wrench[:3]

    @cached_property
    def _center(self) -> tuple[float, float]:
        _, _, f_z, n_x, n_y, _ = self.wrench
        return (-n_y / f_z, n_x / f_z) if f_z > 0 else (0.0, 0.0)

    @property
    def cop(self) -> Array:
        """Centre of pressure (3,) [m]."""
        x, y = self._center
        return self.point + self.axes[:, :2] @ (x, y)

    @property
    def moment(self) -> Array:
        """Moment about the centre of pressure (3,) [N·m]: friction against spinning, along the normal."""
        f_x, f_y, _, _, _, n_z = self.wrench
        x, y = self._center
        return (n_z - x * f_y + y * f_x) * self.normal

    @property
    def slip(self) -> Array:
        """Velocity of the link along the surface at the centre of pressure (3,) [m/s]."""
        v_x, v_y, _, _, _, w_z = self.twist
        x, y = self._center
        return self.axes[:, :2] @ (v_x - w_z * y, v_y + w_z * x)

    @property
    def size(self) -> float:
        """Of the area [m²]; points and segments have none."""
        x, y = ((self.area - self.point) @ self.axes[:, :2]).T
        return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))

    def __str__(self) -> str:
        """Return the contact in one line."""
        what = TABLE_I[int(self.state[1])].words
        return f"{self.pair}: {self.state} ({what}), force {validation.shown(np.round(self.force, 2))} N"


@dataclass(frozen=True, eq=False)
class Reaction:
    """What the world does to a figure where it touches; every quantity is zero or empty if it does not."""

    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the world's origin
    support: Array  # (k, 3) [m] corners of the support polygon: hull of all that bears, seen from above
    height: float  # [m] of the plane in which cop is looked for: that of the areas that bear, by their load

    @property
    def cop(self) -> Array:
        """Point at ``height`` about which the reaction has no horizontal moment (3,) [m]; NaN in the air.

        Where nothing but a level floor acts it is the ZMP, which :meth:`World.zmp` finds from the motion.
        """
        return pressed_at(self.force, self.moment, self.height)

    @property
    def free_moment(self) -> float:
        """Moment about the vertical through the centre of pressure [N·m]."""
        return 0.0 if self.force[2] <= 0 else float(self.moment[2] - np.cross(self.cop, self.force)[2])


class Contacts(Sequence[Contact]):
    """Everything that touches at one moment."""

    def __init__(self, found: Iterable[Contact], residual: float = 0.0, depth: float = 0.0, way: str = WAYS[0]) -> None:
        self._found = tuple(found)
        #: How far the law of contact is from being held, as a speed [m/s]. In a recording, this and the others are the worst since the
        #: sample before.
        self.residual = residual
        #: How deep shapes are inside each other [m].
        self.depth = depth
        #: How forces were found: see :data:`brachiate.contact.arrays.WAYS`, the hardest is last.
        self.way = way

    @classmethod
    def of(cls, lines: Lines, pairs: Sequence[tuple[str, str]]) -> Contacts:
        """Contacts from the lines of a log; ``pairs``: links that carry and rest, by pair of shapes."""
        found = []
        for n, pair in enumerate(lines.pair):
            on, link = pairs[pair]
            axes, k = lines.R[n], int(lines.corners[n])
            area = lines.P[n] + lines.V[n, :k] @ axes[:, :2].T
            state = state_name(int(lines.area[n]), int(lines.slip[n]))
            bearing = area[_bearing(int(lines.area[n]), k)]
            found.append(Contact(link, on, state, lines.P[n], axes, area, bearing, lines.wrench[n], lines.twist[n]))
        return cls(found, lines.residual, lines.depth, WAYS[lines.way])

    def __len__(self) -> int:
        """Return how many areas there are."""
        return len(self._found)

    def __getitem__(self, which):  # type: ignore[override]
        """Return one contact by number, or those of a link, a figure or a pair of links by its name."""
        if isinstance(which, str):
            return Contacts([c for c in self._found if c.is_of(which)], self.residual)
        return self._found[which]

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._found)

    @property
    def force(self) -> Array:
        """Sum of the forces on the links that rest (3,) [N]."""
        return sum((c.force for c in self._found), _NONE)

    def reaction(self, name: str) -> Reaction:
        """What everything else does to a figure or a link; contacts of a figure with itself add up to nothing.

        Of a pair, ``man/left_foot on floor/ground``, what the second does to the first.
        """
        mine = [(c, side) for c in self._found if (side := c.side_of(name))]
        force = sum((s * c.force for c, s in mine), _NONE)
        moment = sum((s * (c.axes @ c.wrench[3:] + np.cross(c.point, c.force)) for c, s in mine), _NONE)
        load = sum(abs(c.force[2]) for c, _ in mine)
        height = sum(abs(c.force[2]) * c.point[2] for c, _ in mine) / load if load > 0 else 0.0
        corners = np.concatenate([c.bearing for c, _ in mine]) if mine else np.zeros((0, 3))
        return Reaction(force, moment, _hull(corners), float(height))

    def __str__(self) -> str:
        """Return one line for each."""
        return "\n".join(map(str, self._found)) or "nothing touches"


def _is_part(link: str, name: str) -> bool:
    """Whether a link is the one of that name, or part of the figure of that name."""
    return link == name or link.startswith(name + "/")


def _bearing(state: int, corners: int) -> list[int]:
    """Which corners bear."""
    if state >= CORNER:
        return [state - CORNER]
    return [state - EDGE, (state - EDGE + 1) % corners] if state >= EDGE else list(range(corners))


def _hull(points: Array) -> Array:
    """Corners of the convex hull, seen from above, counter-clockwise."""
    if len(points) < 3:
        return points
    order = points[np.lexsort((points[:, 1], points[:, 0]))]

    def chain(points: Iterable[Array]) -> list[Array]:
        kept: list[Array] = []
        for p in points:
            while len(kept) > 1 and _turns(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array([*chain(order), *chain(order[::-1])])


def _turns(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
