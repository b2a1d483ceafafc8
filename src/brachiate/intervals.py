"""Intervals of frames in which a flag holds."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array


def runs(flags: Array) -> list[tuple[int, int]]:
    """First frame, and the one after the last, of all runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(flags, int), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


# --- paths of feet --------------------------------------------------------------------------
