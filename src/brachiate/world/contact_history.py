"""Contacts of a recording: by instant, and as time series of a link, a figure, or a pair of links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from brachiate.contact.arrays import METHODS
from brachiate.contact.published.states import C7
from brachiate.deprecation import renamed_attribute
from brachiate.errors import UnknownName
from brachiate.validation import Array
from brachiate.world.balance import center_of_pressure_at
from brachiate.world.contact_records import ContactRecords, RecordedContacts
from brachiate.world.contacts import Contact, Contacts, force_sign, involves

MAX_KEPT = 20_000  # states of a recording whose contacts are kept
CHUNK = 50_000  # contacts whose forces are computed together: their scratch memory does not grow with the recording


class ContactHistory(Mapping[str, "LinkHistory"]):
    """Contacts of a recording: by instant (``contacts.at(row)``), by link or figure (``contacts["man/left_foot"].force``).

    A pair of links is one of ``pairs``: ``contacts["man/left_foot on floor/ground"]``.
    """

    def __init__(self, records: Iterable[RecordedContacts | None]) -> None:
        #: None where nothing is known: before the first step.
        self.records = records if isinstance(records, ContactRecords) else ContactRecords(records)

    @classmethod
    def joined(cls, parts: Sequence[ContactHistory]) -> ContactHistory:
        """Contacts of consecutive runs, each but the first without its first state, which is the last one before."""
        return cls(found for n, part in enumerate(parts) for found in (part.records if n == 0 else part.records[1:]))

    @cached_property
    def _samples(self) -> Sequence[Contacts]:
        """Contacts of every state; of long recordings they are made when they are asked for, as all together need gigabytes."""
        return _Samples(self.records) if len(self.records) > MAX_KEPT else [_contacts(found) for found in self.records]

    def at(self, row: int) -> Contacts:
        """Contacts at one recorded state."""
        return self._samples[row]

    @cached_property
    def link_pairs(self) -> set[tuple[str, str]]:
        """Supporting and resting links that were in contact."""
        return self.records.link_pairs()

    @cached_property
    def pairs(self) -> list[str]:
        """Links that were in contact: ``link on other``."""
        return sorted(f"{link} on {on}" for on, link in self.link_pairs)

    @cached_property
    def _names(self) -> list[str]:
        links = {name for pair in self.link_pairs for name in pair}
        return sorted(links | {name.partition("/")[0] for name in links})

    def __getitem__(self, name: str) -> LinkHistory:
        """Return the time series of a link, a figure, or a pair of links."""
        if name not in self:
            raise UnknownName("link or figure with contacts", name, [*self._names, *self.pairs], "this recording")
        return LinkHistory(self, name)

    def __contains__(self, name: object) -> bool:
        """Whether a link, figure or pair of links of that name had a contact."""
        return name in self._names or name in self.pairs

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of links and figures that had a contact."""
        return len(self._names)

    def support_points(self, name: str, rows: Array) -> tuple[Array, Array]:
        """Active corners, horizontally, that bear a link or figure at some states (n, k, 2) [m], and which of these there are (n, k)."""
        pairs, which = self.records.line_links()
        mine = np.array([force_sign(link, on, name) != 0.0 for on, link in pairs], bool)
        states, place = self.records.line_states(), np.full(len(self.records), -1)
        place[rows] = np.arange(len(rows))
        lines = np.flatnonzero(mine[which] & (place[states] >= 0))
        corners, active = self.records.active_corners(lines)
        line, corner = np.nonzero(active)
        row = place[states[lines[line]]]
        counts = np.bincount(row, minlength=len(rows))
        at = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]  # lines are in the order of states, and so are rows
        points, known = np.zeros((len(rows), counts.max(initial=0), 2)), np.arange(counts.max(initial=0)) < counts[:, None]
        points[row, at] = corners[line, corner, :2]
        return points, known

    @property
    def residual(self) -> Array:
        """Residual of the contact law (n,) [m/s]."""
        return self.records.column("residual").copy()

    @property
    def penetration(self) -> Array:
        """Largest penetration (n,) [m]."""
        return self.records.column("penetration").copy()

    @property
    def method(self) -> list[str]:
        """Hardest method that the contact solver needed: see :data:`brachiate.contact.arrays.METHODS`."""
        return [METHODS[n] for n in self.records.column("method").tolist()]

    depth = renamed_attribute("depth", "penetration")
    way = renamed_attribute("way", "method")


class _Samples(Sequence[Contacts]):
    """Contacts of every recorded state, made when they are asked for."""

    def __init__(self, records: Sequence[RecordedContacts | None]) -> None:
        self._records = records

    @overload
    def __getitem__(self, row: int) -> Contacts: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Contacts]: ...
    def __getitem__(self, row: int | slice) -> Contacts | Sequence[Contacts]:
        """Return the contacts of a state, or of several."""
        return _Samples(self._records[row]) if isinstance(row, slice) else _contacts(self._records[row])

    def __len__(self) -> int:
        return len(self._records)


def _contacts(found: RecordedContacts | None) -> Contacts:
    return Contacts(()) if found is None else Contacts.from_sample(*found)


class _Lines(NamedTuple):
    """Some contacts of a link: see :class:`~brachiate.contact.stepping.contact_log.ContactSample`."""

    row: Array  # (m,) state
    sign: Array  # (m,) of the force on the link: see :meth:`Contact.force_sign`
    P: Array
    R: Array
    wrench: Array
    twist: Array


class LinkHistory:
    """Time series of the contacts of one link, figure or pair of links: one row for each recorded state."""

    def __init__(self, history: ContactHistory, name: str) -> None:
        self._history, self._records, self._name = history, history.records, name

    @property
    def _samples(self) -> Sequence[Contacts]:
        """Contacts of every state: of what the arrays of the records do not tell at once."""
        return self._history._samples

    def _mine(self) -> Iterator[list[Contact]]:
        """Its contacts, state by state; they are not kept, as those of a long recording need gigabytes."""
        for sample in self._samples:
            yield [c for c in sample if c.involves(self._name)]

    def _lines(self) -> Iterator[_Lines]:
        """Its contacts, some thousand at a time."""
        pairs, which = self._records.line_links()
        mine = np.array([involves(link, on, self._name) for on, link in pairs], bool)
        sign = np.array([force_sign(link, on, self._name) for on, link in pairs])
        lines, rows = np.flatnonzero(mine[which]), self._records.line_states()
        for k in range(0, len(lines), CHUNK):
            part = lines[k : k + CHUNK]
            columns = (self._records.line_column(name, part) for name in ("P", "R", "wrench", "twist"))
            yield _Lines(rows[part], sign[which[part]], *columns)

    @cached_property
    def _resultants(self) -> tuple[Array, Array, Array]:
        """Total force (n, 3) [N], moment about the world's origin (n, 3) [N·m], and height of the contacts (n,) [m]."""
        n = len(self._records)
        force, moment, height, load = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n), np.zeros(n)
        for line in self._lines():
            f, m = (line.sign[:, None] * np.einsum("nij,nj->ni", line.R, line.wrench[:, part]) for part in (slice(3), slice(3, 6)))
            np.add.at(force, line.row, f)
            np.add.at(moment, line.row, m + np.cross(line.P, f))
            np.add.at(load, line.row, np.abs(f[:, 2]))
            np.add.at(height, line.row, np.abs(f[:, 2]) * line.P[:, 2])
        return force, moment, np.divide(height, load, out=np.zeros(n), where=load > 0.0)

    @property
    def force(self) -> Array:
        """Total force (n, 3) [N]."""
        return self._resultants[0].copy()

    @property
    def moment(self) -> Array:
        """Total moment about the world's origin (n, 3) [N·m]."""
        return self._resultants[1].copy()

    @property
    def cop(self) -> Array:
        """Center of pressure (n, 3) [m]; NaN in the air."""
        return center_of_pressure_at(*self._resultants)

    @property
    def free_moment(self) -> Array:
        """Moment about the vertical through the center of pressure (n,) [N·m]."""
        force, moment, _ = self._resultants
        return np.where(force[:, 2] > 0, moment[:, 2] - np.cross(np.nan_to_num(self.cop), force)[:, 2], 0.0)

    @property
    def height(self) -> Array:
        """Height of the plane of the center of pressure (n,) [m]."""
        return self._resultants[2].copy()

    @property
    def support(self) -> list[Array]:
        """Corners of the support polygon, state by state: each (k, 3) [m]."""
        return [sample.support(self._name) for sample in self._samples]

    @property
    def slip(self) -> Array:
        """Fastest slip of any contact (n,) [m/s]."""
        fastest = np.zeros(len(self._records))
        for line in self._lines():
            load = np.where(line.wrench[:, 2] > 0.0, line.wrench[:, 2], np.inf)  # without load the point itself
            x, y = -line.wrench[:, 4] / load, line.wrench[:, 3] / load  # center of pressure
            speed = np.hypot(line.twist[:, 0] - line.twist[:, 5] * y, line.twist[:, 1] + line.twist[:, 5] * x)
            np.maximum.at(fastest, line.row, speed)
        return fastest

    @property
    def area(self) -> Array:
        """Total area of all contacts (n,) [m²]; points and segments have none."""
        return np.array([sum(c.size for c in mine) for mine in self._mine()], float)

    @property
    def state(self) -> Array:
        """State of the contact with the largest normal force (n,): 0 ... 6 for C0 ... C6, and 7 without contact."""
        largest = (max(mine, key=lambda c: c.wrench[2], default=None) for mine in self._mine())
        return np.array([C7 if c is None else int(c.state[1]) for c in largest])

    @property
    def states(self) -> list[tuple[str, ...]]:
        """States of all contacts, state by state."""
        return [tuple(c.state for c in mine) for mine in self._mine()]
