"""Contact records of a run: samples of the contact log in arrays that grow with it, some hundred bytes a contact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from brachiate.contact.arrays import CORNERS
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.growing_array import GrowingArray
from brachiate.validation import Array

#: A sample of the contact log, and the supporting and resting link of every pair of shapes.
RecordedContacts = tuple[ContactSample, Sequence[tuple[str, str]]]
UNKNOWN = -1  # number of contacts of a state before the first step

#: Columns with one line per contact: row shape and type. Corners are in a column of their own, as many as there are.
_LINES = {
    "pair": ((), np.int32),
    "corners": ((), np.int8),
    "normal_mode": ((), np.int8),
    "tangential_mode": ((), np.int8),
    "P": ((3,), np.float64),
    "R": ((3, 3), np.float64),
    "wrench": ((6,), np.float64),
    "twist": ((6,), np.float64),
}
#: One row per state; ``pairs`` tells which list of link pairs its contacts refer to.
_STATE = np.dtype(
    [
        ("count", np.int32),
        ("first_line", np.int64),
        ("first_corner", np.int64),
        ("pairs", np.int32),
        ("residual", np.float64),
        ("penetration", np.float64),
        ("method", np.int8),
    ]
)


class ContactRecords(Sequence["RecordedContacts | None"]):
    """Recorded contacts, one item per state: None where nothing is known, as before the first step.

    Items are made when they are asked for, with arrays of their own.
    """

    def __init__(self, records: Iterable[RecordedContacts | None] = ()) -> None:
        self._lines = {name: GrowingArray(row, kind) for name, (row, kind) in _LINES.items()}
        self._states = GrowingArray((), _STATE)
        self._corners = GrowingArray((2,), np.float64)
        self._link_pairs: list[Sequence[tuple[str, str]]] = []  # that differ
        self.extend(records)

    def extend(self, records: Iterable[RecordedContacts | None]) -> None:
        """Add the contacts of some states."""
        line, corner = len(self._lines["pair"]), len(self._corners)
        rows, touching = [], []
        for record in records:
            if record is None:
                rows.append((UNKNOWN, line, corner, 0, 0.0, 0.0, 0))
                continue
            sample, pairs = record
            if not self._link_pairs or self._link_pairs[-1] is not pairs:
                self._link_pairs.append(pairs)
            count, number = len(sample.pair), len(self._link_pairs) - 1
            rows.append((count, line, corner, number, sample.residual, sample.penetration, sample.method))
            if count:
                touching.append(sample)
                line, corner = line + count, corner + int(sample.corners.sum())
        self._states.extend(np.array(rows, _STATE))
        if touching:
            for name, column in self._lines.items():
                column.extend(np.concatenate([getattr(sample, name) for sample in touching]))
            corners, V = (np.concatenate([getattr(sample, name) for sample in touching]) for name in ("corners", "V"))
            self._corners.extend(V[np.arange(CORNERS) < corners[:, None]])

    def trim(self) -> None:
        """Give up the room to grow: no states will be added."""
        for array in (*self._lines.values(), self._states, self._corners):
            array.trim()

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, row: int) -> RecordedContacts | None: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[RecordedContacts | None]: ...
    def __getitem__(self, row: int | slice) -> RecordedContacts | Sequence[RecordedContacts | None] | None:
        """Return the contacts of a state, or of several."""
        if isinstance(row, slice):
            return [self[n] for n in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"state {row} of {len(self)}")
        count, line, corner, pairs, residual, penetration, method = self._states[row % len(self)]
        if count == UNKNOWN:
            return None
        lines = {name: column[line : line + count] for name, column in self._lines.items()}
        numbers = {name: lines[name].astype(np.int64) for name in ("pair", "corners", "normal_mode", "tangential_mode")}
        there = np.arange(CORNERS) < lines["corners"][:, None]  # which places have a corner
        V = np.zeros((count, CORNERS, 2))
        V[there] = self._corners[corner : corner + np.count_nonzero(there)]
        scalars = {"residual": float(residual), "penetration": float(penetration), "method": int(method)}
        vectors = {name: lines[name] for name in ("P", "R", "wrench", "twist")}
        return ContactSample(**numbers, **vectors, V=V, **scalars), self._link_pairs[pairs]

    def column(self, name: str) -> Array:
        """One number per state: ``residual``, ``penetration`` or ``method``."""
        return self._states[:][name]

    def lines(self) -> dict[str, Array]:
        """All contacts, fields as in :class:`~brachiate.contact.stepping.contact_log.ContactSample`, one line each."""
        found: dict[str, Array] = {name: column[:] for name, column in self._lines.items()}
        there = np.arange(CORNERS) < found["corners"][:, None]
        found["V"] = np.zeros((*there.shape, 2))
        found["V"][there] = self._corners[:]
        return {name: values if values.dtype == np.float64 else values.astype(np.int64) for name, values in found.items()}

    def line_column(self, name: str) -> Array:
        """One field of all contacts: ``P``, ``R``, ``wrench``, ``twist``, ..., one line each."""
        return self._lines[name][:]

    def line_states(self) -> Array:
        """State of every contact: (lines,)."""
        return np.repeat(np.arange(len(self)), self.counts())

    def line_links(self) -> tuple[list[tuple[str, str]], Array]:
        """Supporting and resting links that were in contact, and which of them each contact has: (lines,)."""
        states = self._states[:]
        which = np.stack((np.repeat(states["pairs"], self.counts()), self._lines["pair"][:]), axis=1)
        found, inverse = np.unique(which, axis=0, return_inverse=True)
        return [self._link_pairs[n][pair] for n, pair in found.tolist()], inverse

    def counts(self) -> Array:
        """Number of contacts of each state: (n,)."""
        return np.maximum(self._states[:]["count"], 0)

    @property
    def known(self) -> bool:
        """Whether the contacts of any state are known."""
        return bool(self._link_pairs)

    def link_pairs(self) -> set[tuple[str, str]]:
        """Supporting and resting links that were in contact."""
        pairs, count = max(map(len, self._link_pairs), default=1), self.counts()
        # One number for list and pair: distinct rows of a table would take several copies of it
        found = np.unique(np.repeat(self.column("pairs").astype(np.int64), count) * pairs + self._lines["pair"][:])
        return {self._link_pairs[n // pairs][n % pairs] for n in found.tolist()}
