"""Log of contacts, sample by sample: patches, modes and forces, stored in long arrays while compiled code runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle, Floats, Ints, Rows3, Rows6, Rows33, Rows82, array_fields, kernel, outlined, struct_opener
from brachiate.spatial import put_rotation, put_vec3, rotation, vec3

NUM_SAMPLES, NUM_LINES, NUM_STEPS = range(3)  # indices of ContactLogArrays.count


class ContactLogArrays(NamedTuple):
    """Contacts of samples, one line each. Sizes: ns samples, nl lines."""

    count: Ints  # (3,) samples, lines, steps made
    start: Ints  # (ns+1,) first line of a sample
    pair: Ints  # (nl,) which pair of shapes
    corners: Ints  # (nl,)
    normal_mode: Ints  # (nl,) which part of the patch is active: FACE ...
    tangential_mode: Ints  # (nl,) STICKING or SLIPPING
    P: Rows3  # (nl, 3) [m]
    R: Rows33  # (nl, 3, 3) contact axes as columns
    V: Rows82  # (nl, 8, 2) [m]
    wrench: Rows6  # (nl, 6) [N, N·m] on the second shape, contact axes, about P: the mean over the step before
    twist: Rows6  # (nl, 6) [m/s, rad/s] of the second shape against the first
    residual: Floats  # (ns,) [m/s] largest residual of the contact law since the sample before
    penetration: Floats  # (ns,) [m] largest penetration since then
    method: Ints  # (ns,) hardest method that was needed since then: METHOD_WARM_START ... UNSOLVED


open_log = struct_opener(ContactLogArrays)


@kernel
def put_unpacked(x, o, corners, out, n, scale, added):
    """Six components of a twist or wrench from packed rows; ``added`` to what is there."""
    for j in range(0 if added else 6):
        out[n, j] = 0.0
    for j in range(3):
        out[n, j] += scale * x[o + j]
    if corners == 2:
        out[n, 4], out[n, 5] = out[n, 4] + scale * x[o + 3], out[n, 5] + scale * x[o + 4]
    elif corners > 2:
        for j in range(3, 6):
            out[n, j] += scale * x[o + j]


@kernel
def has_capacity(patches, log):
    """Whether one more sample fits, with as many contacts as there can be in a step, or in two parts of it that have none in common."""
    return log.count[NUM_SAMPLES] < log.residual.shape[0] and log.count[NUM_LINES] + 2 * patches.pair.shape[0] <= log.pair.shape[0]


@kernel
def find_line(patches, log, a):
    """Line of the present sample with the same contact as patch a, else the next free line."""
    n = log.start[log.count[NUM_SAMPLES]]
    while n < log.count[NUM_LINES] and not (log.pair[n] == patches.pair[a] and log.corners[n] == patches.corners[a]):
        n += 1
    return n


@outlined
def log_contacts(patches, contact, log, share):
    """Add every patch of the last step, or part of a step, that carries a force to the present sample.

    ``share`` of a part in its step: forces are means over the step. A contact that is in several parts is one line, at its last place.
    """
    for a in range(contact.old_count[0]):
        o = contact.old_row_start[a]
        if contact.old_pair[a] < 0:  # joint limits come last
            break
        if not contact.old_w[o + 2] > 0.0:
            continue
        n = log.count[NUM_LINES] if share == 1.0 else find_line(patches, log, a)
        new = n == log.count[NUM_LINES]
        if n == log.pair.shape[0]:
            return
        log.pair[n], log.corners[n] = patches.pair[a], patches.corners[a]
        log.normal_mode[n], log.tangential_mode[n] = contact.old_normal_mode[a], contact.old_tangential_mode[a]
        put_vec3(log.P, n, vec3(patches.P, a))
        put_rotation(log.R, n, rotation(patches.R, a))
        for j in range(patches.corners[a]):
            log.V[n, j, 0], log.V[n, j, 1] = patches.V[a, j, 0], patches.V[a, j, 1]
        put_unpacked(contact.old_w, o, patches.corners[a], log.wrench, n, share / contact.last_dt[0], not new)
        put_unpacked(contact.twist, o, patches.corners[a], log.twist, n, 1.0, False)
        log.count[NUM_LINES] += new


@kernel
def finish_sample(contact, log):
    """Finish the present sample."""
    sample, n = log.count[NUM_SAMPLES], log.count[NUM_LINES]
    log.residual[sample], log.penetration[sample] = contact.max_residual[0], contact.max_penetration[0]
    log.method[sample] = contact.hardest_method[0]
    contact.max_residual[0], contact.max_penetration[0], contact.hardest_method[0] = 0.0, 0.0, 0
    log.count[NUM_SAMPLES], log.start[sample + 1] = sample + 1, n


class ContactSample(NamedTuple):
    """Contacts of one sample; fields as in :class:`ContactLogArrays`."""

    pair: np.ndarray
    corners: np.ndarray
    normal_mode: np.ndarray
    tangential_mode: np.ndarray
    P: np.ndarray
    R: np.ndarray
    V: np.ndarray
    wrench: np.ndarray
    twist: np.ndarray
    residual: float
    penetration: float
    method: int


class ContactLog:
    """Owner of the log arrays; ``log.key`` is what compiled entry points take."""

    def __init__(self, samples: int, lines: int) -> None:
        length = {"count": 3, "start": samples + 1, "residual": samples, "penetration": samples, "method": samples}
        fields = array_fields(ContactLogArrays).items()
        self.arrays = ContactLogArrays(**{name: np.zeros((length.get(name, lines), *f.row), f.dtype) for name, f in fields})
        self.handle = ArrayHandle(self.arrays)
        self._columns = [getattr(self.arrays, name) for name in ContactSample._fields[:-3]]

    def enlarged(self, lines: int) -> ContactLog:
        """A log with the same content and so many free lines."""
        log, mine = ContactLog(len(self.arrays.residual), int(self.arrays.count[NUM_LINES]) + lines), self.arrays
        for values, longer in zip(mine, log.arrays, strict=True):
            n = min(len(values), len(longer))
            longer[:n] = values[:n]
        return log

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self.handle.key

    def take_samples(self) -> list[ContactSample]:
        """Return the samples and empty the log."""
        log = self.arrays
        n, lines, _ = log.count.tolist()
        columns = [column[:lines].copy() for column in self._columns]
        ends = log.start[: n + 1].tolist() if n != 1 else []
        parts = [columns] if n == 1 else [[column[a:b] for column in columns] for a, b in pairwise(ends)]
        scalars = zip(log.residual[:n].tolist(), log.penetration[:n].tolist(), log.method[:n].tolist(), strict=True)
        log.count[:] = 0
        return [ContactSample._make((*part, *rest)) for part, rest in zip(parts, scalars, strict=True)]
