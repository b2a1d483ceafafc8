"""Contacts by name: patches, forces, centers of pressure and states, and their resultant on a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.contact.arrays import METHODS
from brachiate.contact.published.states import TABLE_I
from brachiate.contact.solver.contact_law import CORNER, EDGE, state_name
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.deprecation import renamed_attribute, renamed_method
from brachiate.validation import Array
from brachiate.world.balance import center_of_pressure_at

_NONE = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Contact:
    """One contact patch: ``link`` rests on, or collides with, ``on``. World axes; forces are those on ``link``."""

    link: str
    on: str
    state: str  # C0 ... C6 [DF] Table I
    point: Array  # (3,) [m] of the patch
    axes: Array  # (3, 3) contact axes as columns: the last is the normal
    area: Array  # (k, 3) [m] corners of the patch: 1 a point, 2 a segment, more a polygon
    active_corners: Array  # (k, 3) [m] corners of the active part: all of it, or the edge or corner about which it rotates
    wrench: Array  # (6,) [N, N·m] along the contact axes, about the point
    twist: Array  # (6,) [m/s, rad/s] of the link relative to the other, likewise

    @property
    def pair(self) -> str:
        """Both links as text: ``link on other``."""
        return pair_name(self.link, self.on)

    def involves(self, name: str) -> bool:
        """Whether a link, a figure, or a pair of links of that name takes part."""
        return involves(self.link, self.on, name)

    def force_sign(self, name: str) -> float:
        """1 if the force acts on the link or figure of that name, -1 if its reaction does, 0 if both do, or neither."""
        return force_sign(self.link, self.on, name)

    bearing = renamed_attribute("bearing", "active_corners")
    is_of = renamed_method("is_of", "involves")
    side_of = renamed_method("side_of", "force_sign")

    @property
    def normal(self) -> Array:
        """Unit normal, out of the supporting shape."""
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
        """Center of pressure (3,) [m]."""
        x, y = self._center
        return self.point + self.axes[:, :2] @ (x, y)

    @property
    def moment(self) -> Array:
        """Moment about the center of pressure (3,) [N·m]: torsional friction, along the normal."""
        f_x, f_y, _, _, _, n_z = self.wrench
        x, y = self._center
        return (n_z - x * f_y + y * f_x) * self.normal

    @property
    def slip(self) -> Array:
        """Slip velocity of the link at the center of pressure (3,) [m/s]."""
        v_x, v_y, _, _, _, w_z = self.twist
        x, y = self._center
        return self.axes[:, :2] @ (v_x - w_z * y, v_y + w_z * x)

    @property
    def size(self) -> float:
        """Area of the patch [m²]; zero for points and segments."""
        x, y = ((self.area - self.point) @ self.axes[:, :2]).T
        return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))

    def __str__(self) -> str:
        """Return the contact as one line."""
        what = TABLE_I[int(self.state[1])].words
        return f"{self.pair}: {self.state} ({what}), force {validation.short_repr(np.round(self.force, 2))} N"


@dataclass(frozen=True, eq=False)
class Reaction:
    """Resultant of all contacts on a figure; zero or empty without contacts."""

    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the world's origin
    support: Array  # (k, 3) [m] corners of the support polygon: hull of all active corners, seen from above
    height: float  # [m] of the plane of the center of pressure: load-weighted mean height of the contacts

    @property
    def cop(self) -> Array:
        """Center of pressure: point at ``height`` about which the reaction has no horizontal moment (3,) [m]; NaN in the air.

        Where nothing but a level floor acts it is the ZMP, which :meth:`World.zmp` finds from the motion.
        """
        return center_of_pressure_at(self.force, self.moment, self.height)

    @property
    def free_moment(self) -> float:
        """Moment about the vertical through the center of pressure [N·m]."""
        return 0.0 if self.force[2] <= 0 else float(self.moment[2] - np.cross(self.cop, self.force)[2])


class Contacts(Sequence[Contact]):
    """All contacts at one instant."""

    def __init__(self, found: Iterable[Contact], residual: float = 0.0, penetration: float = 0.0, method: str = METHODS[0]) -> None:
        self._found = tuple(found)
        #: Residual of the contact law [m/s]. In a recording, this and the others are the worst since the sample before.
        self.residual = residual
        #: Largest penetration [m].
        self.penetration = penetration
        #: Method of the contact solver: one of :data:`brachiate.contact.arrays.METHODS`, the hardest is last.
        self.method = method

    @classmethod
    def from_sample(cls, sample: ContactSample, pairs: Sequence[tuple[str, str]]) -> Contacts:
        """Contacts of a sample of the log; ``pairs``: supporting and resting link of every pair of shapes."""
        found = []
        for n, pair in enumerate(sample.pair):
            on, link = pairs[pair]
            axes, k = sample.R[n], int(sample.corners[n])
            area = sample.P[n] + sample.V[n, :k] @ axes[:, :2].T
            state = state_name(int(sample.normal_mode[n]), int(sample.tangential_mode[n]))
            active = area[_active_corners(int(sample.normal_mode[n]), k)]
            found.append(Contact(link, on, state, sample.P[n], axes, area, active, sample.wrench[n], sample.twist[n]))
        return cls(found, sample.residual, sample.penetration, METHODS[sample.method])

    depth = renamed_attribute("depth", "penetration")
    way = renamed_attribute("way", "method")

    def __len__(self) -> int:
        """Return the number of contacts."""
        return len(self._found)

    def __getitem__(self, which):  # type: ignore[override]
        """Return one contact by index, or those of a link, a figure or a pair of links by name."""
        if isinstance(which, str):
            return Contacts([c for c in self._found if c.involves(which)], self.residual)
        return self._found[which]

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._found)

    @property
    def force(self) -> Array:
        """Sum of the forces on the resting links (3,) [N]."""
        return sum((c.force for c in self._found), _NONE)

    def reaction(self, name: str) -> Reaction:
        """Resultant on a figure or a link; contacts of a figure with itself cancel.

        For a pair, ``man/left_foot on floor/ground``, that of the second on the first.
        """
        force, moment, height = self.resultant(name)
        return Reaction(force, moment, self.support(name), height)

    def support(self, name: str) -> Array:
        """Corners of the support polygon of a figure, a link, or of a pair (k, 3) [m]: counter-clockwise, seen from above."""
        mine = [c.active_corners for c in self._found if c.force_sign(name)]
        return _hull(np.concatenate(mine) if mine else np.zeros((0, 3)))

    def resultant(self, name: str) -> tuple[Array, Array, float]:
        """Force [N], moment about the world's origin [N·m] and height [m] of the reaction on a figure, a link, or of a pair."""
        mine = [(c, side) for c in self._found if (side := c.force_sign(name))]
        force = sum((s * c.force for c, s in mine), _NONE)
        moment = sum((s * (c.axes @ c.wrench[3:] + np.cross(c.point, c.force)) for c, s in mine), _NONE)
        load = sum(abs(c.force[2]) for c, _ in mine)
        height = sum(abs(c.force[2]) * c.point[2] for c, _ in mine) / load if load > 0 else 0.0
        return force, moment, float(height)

    def __str__(self) -> str:
        """Return one line per contact."""
        return "\n".join(map(str, self._found)) or "no contacts"


def pair_name(link: str, on: str) -> str:
    """Both links of a contact as text."""
    return f"{link} on {on}"


def involves(link: str, on: str, name: str) -> bool:
    """See :meth:`Contact.involves`."""
    return name == pair_name(link, on) or _is_part(link, name) or _is_part(on, name)


def force_sign(link: str, on: str, name: str) -> float:
    """See :meth:`Contact.force_sign`."""
    return 1.0 if name == pair_name(link, on) else float(_is_part(link, name)) - float(_is_part(on, name))


def _is_part(link: str, name: str) -> bool:
    """Whether a link has that name, or belongs to the figure of that name."""
    return link == name or link.startswith(name + "/")


def _active_corners(mode: int, corners: int) -> list[int]:
    """Which corners are active."""
    if mode >= CORNER:
        return [mode - CORNER]
    return [mode - EDGE, (mode - EDGE + 1) % corners] if mode >= EDGE else list(range(corners))


def _hull(points: Array) -> Array:
    """Corners of the convex hull, seen from above, counter-clockwise."""
    if len(points) < 3:
        return points
    order = points[np.lexsort((points[:, 1], points[:, 0]))].tolist()  # numbers of Python: faster, a few at a time

    def chain(points: Iterable[list[float]]) -> list[list[float]]:
        kept: list[list[float]] = []
        for p in points:
            while len(kept) > 1 and _turns(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array([*chain(order), *chain(order[::-1])])


def _turns(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
