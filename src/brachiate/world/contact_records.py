"""Contact records of a run: samples of the contact log in arrays that grow with it, some hundred bytes a contact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from brachiate.contact.arrays import CORNERS
from brachiate.contact.solver.contact_law import CORNER, EDGE
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.growing_array import GrowingArray
from brachiate.validation import Array

#: A sample of the contact log, and the supporting and resting link of every pair of shapes.
RecordedContacts = tuple[ContactSample, Sequence[tuple[str, str]]]
UNKNOWN = -1  # number of contacts of a state before the first step

#: Columns with one line per contact: row shape and type. Corners and axes are in columns of their own: as many corners as there are, and
#: each orientation of the axes once for the states that are added together, as most contacts are with the ground.
_LINES = {
    "pair": ((), np.int32),
    "corners": ((), np.int8),
    "normal_mode": ((), np.int8),
    "tangential_mode": ((), np.int8),
    "orientation": ((), np.int32),
    "P": ((3,), np.float64),
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
        self._corners, self._orientations = GrowingArray((2,)), GrowingArray((3, 3))
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
            R, orientation = _distinct(np.concatenate([sample.R for sample in touching]))
            self._lines["orientation"].extend(orientation + len(self._orientations))
            self._orientations.extend(R)
            for name in self._lines.keys() - {"orientation"}:
                self._lines[name].extend(np.concatenate([getattr(sample, name) for sample in touching]))
            corners, V = (np.concatenate([getattr(sample, name) for sample in touching]) for name in ("corners", "V"))
            self._corners.extend(V[np.arange(CORNERS) < corners[:, None]])

    def trim(self) -> None:
        """Give up the room to grow: no states will be added."""
        for array in (*self._lines.values(), self._states, self._corners, self._orientations):
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
        vectors = {name: lines[name] for name in ("P", "wrench", "twist")}
        return ContactSample(**numbers, **vectors, R=self._orientations.rows(lines["orientation"]), V=V, **scalars), self._link_pairs[pairs]

    def column(self, name: str) -> Array:
        """One number per state: ``residual``, ``penetration`` or ``method``."""
        return self._states[:][name]

    def lines(self) -> dict[str, Array]:
        """All contacts, fields as in :class:`~brachiate.contact.stepping.contact_log.ContactSample`, one line each."""
        found: dict[str, Array] = {name: column[:] for name, column in self._lines.items()}
        found["R"] = self._orientations.rows(found.pop("orientation"))
        there = np.arange(CORNERS) < found["corners"][:, None]
        found["V"] = np.zeros((*there.shape, 2))
        found["V"][there] = self._corners[:]
        return {name: values if values.dtype == np.float64 else values.astype(np.int64) for name, values in found.items()}

    def line_column(self, name: str, which: Array) -> Array:
        """One field of some contacts: ``P``, ``R``, ``wrench``, ``twist``, ..., one line each; ``which``: their lines."""
        return self._orientations.rows(self._lines["orientation"].rows(which)) if name == "R" else self._lines[name].rows(which)

    def active_corners(self, which: Array) -> tuple[Array, Array]:
        """Corners of some contacts (m, 8, 3) [m], and which of them are active (m, 8): see :attr:`Contact.active_corners`."""
        corners, mode = (self._lines[name][:].astype(np.int64) for name in ("corners", "normal_mode"))
        first = (np.cumsum(corners) - corners)[which, None]
        corners, mode, place = corners[which, None], mode[which, None], np.arange(CORNERS)
        edge = mode - EDGE
        active = np.where(mode >= EDGE, (place == edge) | (place == (edge + 1) % corners), place < corners)
        active = np.where(mode >= CORNER, place == mode - CORNER, active)
        V = self._corners.rows(first + np.minimum(place, corners - 1))
        P, R = self.line_column("P", which), self.line_column("R", which)
        return P[:, None] + V @ R[:, :, :2].transpose(0, 2, 1), active

    def line_states(self) -> Array:
        """State of every contact: (lines,)."""
        return np.repeat(np.arange(len(self)), self.counts())

    def line_links(self) -> tuple[list[tuple[str, str]], Array]:
        """Supporting and resting links that were in contact, and which of them each contact has: (lines,)."""
        pairs, numbers = self._pair_numbers()
        found, inverse = np.unique(numbers, return_inverse=True)
        return [self._link_pairs[n // pairs][n % pairs] for n in found.tolist()], inverse

    def _pair_numbers(self) -> tuple[int, Array]:
        """Length of the longest list of link pairs, and list and pair of every contact as one number: a table would take several copies."""
        pairs = max(map(len, self._link_pairs), default=1)
        return pairs, np.repeat(self.column("pairs").astype(np.int64), self.counts()) * pairs + self._lines["pair"][:]

    def counts(self) -> Array:
        """Number of contacts of each state: (n,)."""
        return np.maximum(self._states[:]["count"], 0)

    @property
    def known(self) -> bool:
        """Whether the contacts of any state are known."""
        return bool(self._link_pairs)

    def link_pairs(self) -> set[tuple[str, str]]:
        """Supporting and resting links that were in contact."""
        pairs, numbers = self._pair_numbers()
        found = np.unique(numbers)
        return {self._link_pairs[n // pairs][n % pairs] for n in found.tolist()}


def _distinct(R: Array) -> tuple[Array, Array]:
    """Matrices that differ in any bit (k, 3, 3), and which of them each matrix (n, 3, 3) is: (n,)."""
    bits = np.ascontiguousarray(R).reshape(len(R), 9).view(np.dtype((np.void, 72)))[:, 0]
    _, first, which = np.unique(bits, return_index=True, return_inverse=True)
    return R[first], which
