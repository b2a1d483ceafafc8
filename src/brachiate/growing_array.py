"""Growing array: rows of numbers that are added one by one or many at a time, without a copy of what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from brachiate.validation import Array

MIN_ROWS = 16
GROWTH, LARGE, LARGE_GROWTH = 1.25, 2**20, 1.02  # of large arrays [bytes], room that is not used yet counts
OWN_PAGES = 33 * 2**20  # [bytes] larger blocks than the C library takes from its heap: they have pages of their own


class GrowingArray:
    """Rows of one shape in a contiguous array with some room to grow.

    It grows in place where the operating system can move pages, as large arrays do on Linux, so there are never two copies. A large array
    gets pages of its own, which take memory when they are first written: on the heap, arrays that grow by turns would leave holes where
    they were before. What is read from it is a copy, which does not change when rows are added.

    Args:
        row: Shape of a row.
        dtype: Type of its numbers.
    """

    def __init__(self, row: Sequence[int] = (), dtype: DTypeLike = np.float64) -> None:
        self._array, self._length = np.zeros((0, *row), dtype), 0

    def __len__(self) -> int:
        return self._length

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle: without the room to grow."""
        return {"_array": self._array[: self._length].copy(), "_length": self._length}

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._array):
            return
        shape, size = self._array.shape[1:], rows * self._array.itemsize * int(np.prod(self._array.shape[1:]))
        if size >= LARGE and self._array.nbytes < OWN_PAGES:
            used, self._array = self._array[: self._length], np.empty((max(rows, OWN_PAGES * rows // size), *shape), self._array.dtype)
            self._array[: self._length] = used
        else:
            growth = GROWTH if size < LARGE else LARGE_GROWTH
            # Nothing else refers to the array, as only copies leave this class
            self._array.resize((max(rows, MIN_ROWS, int(growth * len(self._array))), *shape), refcheck=False)

    def append(self, row: ArrayLike) -> None:
        """Add a row."""
        self._reserve(self._length + 1)
        self._array[self._length] = row
        self._length += 1

    def extend(self, rows: ArrayLike) -> None:
        """Add several rows."""
        count = len(rows)  # type: ignore[arg-type]
        self._reserve(self._length + count)
        self._array[self._length : self._length + count] = rows
        self._length += count

    def __getitem__(self, rows: int | slice) -> Any:
        """Return a copy of a row, or of several."""
        if isinstance(rows, slice):
            return self._array[: self._length][rows].copy()
        return self._array[: self._length][rows].copy() if self._array.ndim > 1 else self._array[: self._length][rows].item()

    def rows(self, which: Array) -> Array:
        """Return a copy of the rows of some indices."""
        return self._array[: self._length][which]

    def trim(self) -> None:
        """Give up the room to grow."""
        self._array.resize((self._length, *self._array.shape[1:]), refcheck=False)

    def take(self) -> Array:
        """Return the array of all rows itself; this one is empty afterwards."""
        self.trim()
        array, self._array, self._length = self._array, np.zeros((0, *self._array.shape[1:]), self._array.dtype), 0
        return array
