"""What touched, sample by sample: areas, states, forces, kept in long arrays while compiled code runs."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Handle, Ints, Rows3, Rows6, Rows33, Rows82, fields_of, kernel, opener
from brachiate.spatial import put_rotation, put_vec3, rotation, vec3

SAMPLES, LINES, STEPS = range(3)  # places in Log.count


class Log(NamedTuple):
    """Contact areas of samples, one line each. Sizes: ns samples, nl lines."""

    count: Ints  # (3,) samples, lines, and steps made
    start: Ints  # (ns+1,) first line of a sample
    pair: Ints  # (nl,) which pair of shapes
    corners: Ints  # (nl,)
    area: Ints  # (nl,) what of the area bears
    slip: Ints  # (nl,)
    P: Rows3  # (nl, 3) [m]
    R: Rows33  # (nl, 3, 3) contact axes as columns
    V: Rows82  # (nl, 8, 2) [m]
    wrench: Rows6  # (nl, 6) [N, N·m] on the second shape, contact axes, about P: the mean over the step before
    twist: Rows6  # (nl, 6) [m/s, rad/s] of the second shape against the first
    residual: Floats  # (ns,) [m/s] how far the law was from being held at most, since the sample before
    depth: Floats  # (ns,) [m] how deep shapes were inside each other at most
    way: Ints  # (ns,) how forces were found, where that was hardest: a place of Problem.path


open_log = opener(Log)


@kernel
def unpack(x, o, corners, out, n, scale):
    """Six numbers from packed rows."""
    for j in range(6):
        out[n, j] = 0.0
    for j in range(3):
        out[n, j] = scale * x[o + j]
    if corners == 2:
        out[n, 4], out[n, 5] = scale * x[o + 3], scale * x[o + 4]
    elif corners > 2:
        for j in range(3, 6):
            out[n, j] = scale * x[o + j]


@kernel
def has_room(A, L):
    """Whether one more sample fits, however much touches."""
    return L.count[SAMPLES] < L.residual.shape[0] and L.count[LINES] + A.pair.shape[0] <= L.pair.shape[0]


@kernel
def log_sample(A, S, L):
    """Add a sample: every area of the step just made that bears something."""
    sample, n = L.count[SAMPLES], L.count[LINES]
    for a in range(S.old_count[0]):
        o = S.old_at[a]
        if S.old_pair[a] < 0:  # joints that are stopped come last
            break
        if not S.old_w[o + 2] > 0.0:
            continue
        L.pair[n], L.corners[n], L.area[n], L.slip[n] = A.pair[a], A.corners[a], S.old_area[a], S.old_slip[a]
        put_vec3(L.P, n, vec3(A.P, a))
        put_rotation(L.R, n, rotation(A.R, a))
        for j in range(A.corners[a]):
            L.V[n, j, 0], L.V[n, j, 1] = A.V[a, j, 0], A.V[a, j, 1]
        unpack(S.old_w, o, A.corners[a], L.wrench, n, 1.0 / S.step[0])
        unpack(S.speed, o, A.corners[a], L.twist, n, 1.0)
        n += 1
    L.residual[sample], L.depth[sample], L.way[sample] = S.worst[0], S.deepest[0], S.way[0]
    S.worst[0], S.deepest[0], S.way[0] = 0.0, 0.0, 0
    L.count[SAMPLES], L.count[LINES], L.start[sample + 1] = sample + 1, n, n


class Lines(NamedTuple):
    """Contact areas of one sample; fields as in :class:`Log`."""

    pair: np.ndarray
    corners: np.ndarray
    area: np.ndarray
    slip: np.ndarray
    P: np.ndarray
    R: np.ndarray
    V: np.ndarray
    wrench: np.ndarray
    twist: np.ndarray
    residual: float
    depth: float
    way: int


class ContactLog:
    """Owns a log; ``log.key`` is what compiled entries take."""

    def __init__(self, samples: int, lines: int) -> None:
        length = {"count": 3, "start": samples + 1, "residual": samples, "depth": samples, "way": samples}
        self.room = Log(**{name: np.zeros((length.get(name, lines), *f.row), f.dtype) for name, f in fields_of(Log).items()})
        self.handle = Handle(self.room)
        self.key = self.handle.key

    def taken(self) -> list[Lines]:
        """Take the samples out: the log is empty then."""
        L = self.room
        n = int(L.count[SAMPLES])
        columns = [getattr(L, name)[: L.count[LINES]].copy() for name in Lines._fields[:-3]]
        ends = L.start[: n + 1].tolist()
        parts = [columns] if n == 1 else [[column[a:b] for column in columns] for a, b in pairwise(ends)]
        of_all = zip(L.residual[:n].tolist(), L.depth[:n].tolist(), L.way[:n].tolist(), strict=True)
        L.count[:] = 0
        return [Lines._make((*part, *rest)) for part, rest in zip(parts, of_all, strict=True)]
