"""Control law within a run: a compiled function that sets the torques of every step, called by its address."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle, Floats, Ints, kernel, outlined, struct_opener

# Second argument of the function; its last one is the number of the step in the run. Asked CHECK_STEP, a law whose torques depend on the
# velocity at the end of the step returns 1 if it has to be made again, with other torques.
BEFORE_STEP, CHECK_STEP, AFTER_STEP = 0.0, 1.0, 2.0


class StepControl(NamedTuple):
    """First struct of a control law, whose key is the second argument of its function; what it needs comes behind."""

    function: Ints  # (1,) address; 0: torques are constant
    checks: Ints  # (1,) whether steps are checked, and perhaps made again
    time: Floats  # (n + 1,) [s] of the states between n steps whose lengths differ by round-off, as in a recording; or empty: all equal


open_step_control = struct_opener(StepControl)
CONSTANT_TORQUES = ArrayHandle(StepControl(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0)))


@kernel
def exchange(values, kept, start, keep):
    """Copy values into ``kept`` from ``start`` on, or back. Returns where the next ones start."""
    n = values.shape[0]
    for j in range(n):
        if keep:
            kept[start + j] = values[j]
        else:
            values[j] = kept[start + j]
    return start + n


@outlined
def exchange_step_start(W, cons, scratch, contact, keep):
    """Keep all that a step changes and depends on, or bring it back."""
    n = exchange(W.q, contact.kept_values, 0, keep)
    n = exchange(W.v, contact.kept_values, n, keep)
    n = exchange(contact.predicted_acceleration, contact.kept_values, n, keep)
    n = exchange(contact.contact_acceleration, contact.kept_values, n, keep)
    n = exchange(contact.last_dt, contact.kept_values, n, keep)
    n = exchange(contact.stuck_depth, contact.kept_values, n, keep)
    n = exchange(contact.stuck_travel, contact.kept_values, n, keep)
    n = exchange(contact.max_penetration, contact.kept_values, n, keep)
    n = exchange(contact.max_residual, contact.kept_values, n, keep)
    n = exchange(contact.old_w, contact.kept_values, n, keep)
    exchange(cons.q, contact.kept_values, n, keep)
    n = exchange(contact.cold_start, contact.kept_numbers, 0, keep)
    n = exchange(contact.old_count, contact.kept_numbers, n, keep)
    n = exchange(contact.hardest_method, contact.kept_numbers, n, keep)
    n = exchange(contact.old_pair, contact.kept_numbers, n, keep)
    n = exchange(contact.old_feature, contact.kept_numbers, n, keep)
    n = exchange(contact.old_corners, contact.kept_numbers, n, keep)
    n = exchange(contact.old_row_start, contact.kept_numbers, n, keep)
    n = exchange(contact.old_normal_mode, contact.kept_numbers, n, keep)
    n = exchange(contact.old_tangential_mode, contact.kept_numbers, n, keep)
    exchange(scratch.last_face, contact.kept_numbers, n, keep)
