"""What touches, for people: areas, forces, centres of pressure and states by name, and what they add up to for a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brachiate import doors
from brachiate.contact.law import state_name
from brachiate.contact.log import Lines
from brachiate.contact.rooms import WAYS
from brachiate.contact.states import TABLE_I
from brachiate.doors import Array
from brachiate.errors import UnknownName

_NONE = np.zeros(3)

#: Lines of a log, and the links that carry and rest by pair of shapes.
Touched = tuple[Lines, Sequence[tuple[str, str]]]


@dataclass(frozen=True, eq=False)
class Contact:
    """One contact area: ``link`` rests on, or runs into, ``on``. World axes; forces are those on ``link``."""

    link: str
    on: str
    state: str  # C0 ... C6 [DF] Table I
    point: Array  # (3,) [m] of the area
    axes: Array  # (3, 3) contact axes as columns: the last is the normal
    area: Array  # (k, 3) [m] corners of the area: 1 a point, 2 a segment, more a polygon
    wrench: Array  # (6,) [N, N·m] along the contact axes, about the point
    twist: Array  # (6,) [m/s, rad/s] of the link against what it touches, likewise

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

    def __str__(self) -> str:
        """Return the contact in one line."""
        what = TABLE_I[int(self.state[1])].words
        return f"{self.link} on {self.on}: {self.state} ({what}), force {doors.shown(np.round(self.force, 2))} N"


@dataclass(frozen=True, eq=False)
class Reaction:
    """What the world does to a figure where it touches; every quantity is zero or empty if it does not."""

    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the world's origin
    support: Array  # (k, 3) [m] corners of the support polygon: hull of all areas that bear, seen from above
    height: float  # [m] of the plane in which cop is looked for: that of the areas that bear, by their load

    @property
    def cop(self) -> Array:
        """Point at ``height`` about which the reaction has no horizontal moment (3,) [m]: also called ZMP. NaN in the air."""
        f, n = self.force, self.moment
        if f[2] <= 0:
            return np.full(3, np.nan)
        x = (-n[1] + self.height * f[0]) / f[2]
        y = (n[0] + self.height * f[1]) / f[2]
        return np.array([x, y, self.height])

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
        #: How forces were found: see :data:`brachiate.contact.rooms.WAYS`, the hardest is last.
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
            found.append(Contact(link, on, state, lines.P[n], axes, area, lines.wrench[n], lines.twist[n]))
        return cls(found, lines.residual, lines.depth, WAYS[lines.way])

    def __len__(self) -> int:
        """Return how many areas there are."""
        return len(self._found)

    def __getitem__(self, which):  # type: ignore[override]
        """Return one contact by number, or those of a link or figure by its name."""
        if isinstance(which, str):
            return Contacts([c for c in self._found if _is_of(c.link, which) or _is_of(c.on, which)], self.residual)
        return self._found[which]

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._found)

    @property
    def force(self) -> Array:
        """Sum of the forces on the links that rest (3,) [N]."""
        return sum((c.force for c in self._found), _NONE)

    def reaction(self, name: str) -> Reaction:
        """What everything else does to a figure or a link; contacts of a figure with itself add up to nothing."""
        mine = [(c, 1.0) for c in self._found if _is_of(c.link, name) and not _is_of(c.on, name)]
        mine += [(c, -1.0) for c in self._found if _is_of(c.on, name) and not _is_of(c.link, name)]
        force = sum((s * c.force for c, s in mine), _NONE)
        moment = sum((s * (c.axes @ c.wrench[3:] + np.cross(c.point, c.force)) for c, s in mine), _NONE)
        load = sum(abs(c.force[2]) for c, _ in mine)
        height = sum(abs(c.force[2]) * c.point[2] for c, _ in mine) / load if load > 0 else 0.0
        corners = np.concatenate([c.area for c, _ in mine]) if mine else np.zeros((0, 3))
        return Reaction(force, moment, _hull(corners), float(height))

    def __str__(self) -> str:
        """Return one line for each."""
        return "\n".join(map(str, self._found)) or "nothing touches"


def _is_of(link: str, name: str) -> bool:
    """Whether a link is the one of that name, or part of the figure of that name."""
    return link == name or link.startswith(name + "/")


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


class ContactHistory(Mapping[str, "LinkHistory"]):
    """Contacts of a recording: by moment (``contacts.at(row)``), by link or figure (``contacts["man/left_foot"].force``)."""

    def __init__(self, touched: Sequence[Touched | None]) -> None:
        self._touched = list(touched)

    @classmethod
    def joined(cls, parts: Sequence[ContactHistory]) -> ContactHistory:
        """Those of runs that follow each other, each but the first without its first state, which is the last one before."""
        return cls([found for n, part in enumerate(parts) for found in (part._touched if n == 0 else part._touched[1:])])

    @cached_property
    def _samples(self) -> list[Contacts]:
        return [Contacts(()) if found is None else Contacts.of(*found) for found in self._touched]

    def at(self, row: int) -> Contacts:
        """What touched at one recorded moment."""
        return self._samples[row]

    @cached_property
    def _links(self) -> list[str]:
        links = {name for sample in self._samples for c in sample for name in (c.link, c.on)}
        figures = {name.partition("/")[0] for name in links}
        return sorted(links | figures)

    def __getitem__(self, name: str) -> LinkHistory:
        """Return what touched a link, or a figure, over time."""
        if name not in self._links:
            raise UnknownName("link or figure that touched something", name, self._links, "this recording")
        return LinkHistory(self._samples, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._links)

    def __len__(self) -> int:
        """Return how many links and figures touched something."""
        return len(self._links)

    @property
    def residual(self) -> Array:
        """How far the law of contact was from being held (n,) [m/s]."""
        return np.array([sample.residual for sample in self._samples])


class LinkHistory:
    """What touched one link or figure, over time: one row for each recorded state."""

    def __init__(self, samples: Sequence[Contacts], name: str) -> None:
        self._samples, self._name = samples, name

    @cached_property
    def _reactions(self) -> list[Reaction]:
        return [sample.reaction(self._name) for sample in self._samples]

    @property
    def force(self) -> Array:
        """Total force (n, 3) [N]."""
        return np.array([r.force for r in self._reactions])

    @property
    def cop(self) -> Array:
        """Centre of pressure (n, 3) [m]; NaN in the air."""
        return np.array([r.cop for r in self._reactions])

    @property
    def free_moment(self) -> Array:
        """Moment about the vertical through the centre of pressure (n,) [N·m]."""
        return np.array([r.free_moment for r in self._reactions])

    @property
    def slip(self) -> Array:
        """Fastest slip of any area (n,) [m/s]."""
        rows = [[float(np.linalg.norm(c.slip)) for c in sample if self._mine(c)] for sample in self._samples]
        return np.array([max(row, default=0.0) for row in rows])

    @property
    def states(self) -> list[tuple[str, ...]]:
        """States of its areas, moment by moment."""
        return [tuple(c.state for c in sample if self._mine(c)) for sample in self._samples]

    def _mine(self, c: Contact) -> bool:
        return _is_of(c.link, self._name) or _is_of(c.on, self._name)
