"""Arrays with one row per frame of which a long reference needs only some at a time: pages without frames in use take no memory."""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import DTypeLike

from brachiate.validation import Array


class FrameArray:
    """Array of numbers, one row per frame, zero until written. Rows that are no longer used can be released.

    Frame numbers, and so the code that uses the array, do not depend on which rows are in use. Where the operating system cannot release
    pages, all rows stay.

    Args:
        count: Number of frames.
        row: Shape of a row.
        releasable: Whether rows will be released.
        dtype: Type of the numbers.
    """

    def __init__(self, count: int, row: tuple[int, ...], releasable: bool, dtype: DTypeLike = np.float64) -> None:
        self._map: mmap.mmap | None = None
        self._released = 0  # bytes
        size = np.dtype(dtype).itemsize * count * int(np.prod(row))
        if releasable and size and hasattr(mmap, "MADV_DONTNEED"):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
            self._map = mmap.mmap(-1, size, flags=flags)
            self.array: Array = np.frombuffer(self._map, dtype).reshape(count, *row)
        else:
            self.array = np.zeros((count, *row), dtype)

    def release(self, frame: int) -> None:
        """Give up the memory of the rows before a frame; they are undefined afterwards."""
        if self._map is None or frame <= 0:
            return
        end = min(frame * self.array[0].nbytes, self.array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > self._released:
            self._map.madvise(mmap.MADV_DONTNEED, self._released, end - self._released)
            self._released = end
