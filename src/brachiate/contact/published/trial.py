"""Frame of a contact in a state of :mod:`.states`, in its contact plane [DF] V-C.

Face: at the patch's point P, along its axes. Line: in the middle of the segment, or of the active edge, x along it. One spot or a point:
there. Lengths are in the contact plane, from P, along the patch's axes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Rows3, Rows6, array_fields, kernel, struct_opener
from brachiate.contact.arrays import ContactProblem
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C6, C7, FACE, LINE, POINT

NUM_SOLVES, NUM_HELD = range(2)  # indices of TrialArrays.count


class TrialArrays(NamedTuple):
    """Work arrays of the trial-and-error method, beside a ``ContactProblem`` of m contacts. At most k = 6 m directions are constrained."""

    count: Ints  # (2,) number of solutions; number of constrained directions
    state: Ints  # (m,) C0 to C7; initially a guess
    tried: Ints  # (m,) bit mask of the states it has been in
    frame: Rows6  # (m, 6) origin (x, y), direction of its x axis (x, y), half length of its line [m], torsional length l [m]
    motion: Rows6  # (m, 6) present relative velocity at P, all six components; zero if at rest
    slip_velocity: Rows3  # (m, 3) v_x, v_y, ω_z at the active point; only the direction counts
    pair: Ints  # (k,) contact of a direction
    row: Rows6  # (k, 6) H_C: the direction in the pair's packed rows
    column: Rows6  # (k, 6) Ĥ_C: the wrench of a unit of its force, packed likewise
    response: Floats  # (k,) velocities of the rows for one column
    matrix: Floats  # (k·k,) H_C G Ĥ_Cᵀ
    force: Floats  # (k,) τ_C, forces along constrained directions
    order: Ints  # (k,) work array of the linear solver
    factor: Floats  # (k,) likewise


open_trial = struct_opener(ContactProblem, TrialArrays)


def new_trial(contacts: int) -> TrialArrays:
    """Return the arrays for so many contacts at most."""
    per_direction = dict.fromkeys(("pair", "row", "column", "response", "force", "order", "factor"), 6 * contacts)
    length = {"count": 2, "matrix": (6 * contacts) ** 2} | per_direction
    return TrialArrays(
        **{name: np.zeros((length.get(name, contacts), *field.row), field.dtype) for name, field in array_fields(TrialArrays).items()}
    )


@kernel
def contact_kind(problem, i):
    """FACE, LINE or POINT."""
    n = problem.corners[i]
    return POINT if n == 1 else LINE if n == 2 else FACE


@kernel
def pair_wrench(problem, i):
    """Force and moment of a contact about P, all six components."""
    a = problem.row_start[i]
    if problem.corners[i] == 1:
        return problem.w[a], problem.w[a + 1], problem.w[a + 2], 0.0, 0.0, 0.0
    if problem.corners[i] == 2:
        return problem.w[a], problem.w[a + 1], problem.w[a + 2], 0.0, problem.w[a + 3], problem.w[a + 4]
    return problem.w[a], problem.w[a + 1], problem.w[a + 2], problem.w[a + 3], problem.w[a + 4], problem.w[a + 5]


@kernel
def corner_mean(problem, i):
    """Mean of the corners."""
    x, y, n = 0.0, 0.0, problem.corners[i]
    for j in range(n):
        x, y = x + problem.V[i, j, 0], y + problem.V[i, j, 1]
    return x / n, y / n


@kernel
def mean_torsion_length(problem, i):
    """l of [DF] eq. 22, "the dimension of the contact area": mean distance of the corners from their mean, times torsion_scale."""
    x, y = corner_mean(problem, i)
    s, n = 0.0, problem.corners[i]
    for j in range(n):
        s += math.hypot(problem.V[i, j, 0] - x, problem.V[i, j, 1] - y)
    return problem.torsion_scale[i] * s / n


@kernel
def put_frame(trial, i, x, y, along_x, along_y, half, length):
    """Store the frame of a contact."""
    trial.frame[i, 0], trial.frame[i, 1], trial.frame[i, 2], trial.frame[i, 3] = x, y, along_x, along_y
    trial.frame[i, 4], trial.frame[i, 5] = half, length


@kernel
def place_on_edge(problem, trial, i, j):
    """Frame on the line from corner j to the next."""
    k = (j + 1) % problem.corners[i]
    x, y = problem.V[i, k, 0] - problem.V[i, j, 0], problem.V[i, k, 1] - problem.V[i, j, 1]
    length = math.hypot(x, y)
    x, y = (x / length, y / length) if length > 0.0 else (1.0, 0.0)
    middle_x, middle_y = 0.5 * (problem.V[i, j, 0] + problem.V[i, k, 0]), 0.5 * (problem.V[i, j, 1] + problem.V[i, k, 1])
    put_frame(trial, i, middle_x, middle_y, x, y, 0.5 * length, 0.5 * problem.torsion_scale[i] * length)


@kernel
def edge_in_direction(problem, i, x, y):
    """Edge, by its first corner, through which a ray from the mean of a polygon's corners leaves."""
    n = problem.corners[i]
    mx, my = corner_mean(problem, i)
    for j in range(n):
        k = (j + 1) % n
        before = (problem.V[i, j, 0] - mx) * y - (problem.V[i, j, 1] - my) * x
        after = x * (problem.V[i, k, 1] - my) - y * (problem.V[i, k, 0] - mx)
        if before >= 0.0 and after > 0.0:
            return j
    return 0


@kernel
def closest_point(problem, i, x, y):
    """Point of the patch closest to a point of the plane [DF] V-E 2."""
    n = problem.corners[i]
    inside, best, near_x, near_y = n > 2, math.inf, x, y
    for j in range(n if n > 2 else 1):
        k = (j + 1) % n
        a, b = problem.V[i, j, 0], problem.V[i, j, 1]
        dx, dy = problem.V[i, k, 0] - a, problem.V[i, k, 1] - b
        inside = inside and dx * (y - b) - dy * (x - a) >= 0.0
        length2 = dx * dx + dy * dy
        t = min(max(((x - a) * dx + (y - b) * dy) / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
        distance = math.hypot(a + t * dx - x, b + t * dy - y)
        if distance < best:
            best, near_x, near_y = distance, a + t * dx, b + t * dy
    return (x, y) if inside else (near_x, near_y)


@kernel
def place_at_center_of_pressure(problem, trial, i):
    """Frame at the center of pressure, or the closest point of the patch: C2 and C6 of a face or line as in the paper."""
    _, _, fz, nx, ny, _ = pair_wrench(problem, i)
    x, y = corner_mean(problem, i)  # a pulling force has no center of pressure; the paper does not say what to do
    if fz > 0.0:
        x, y = closest_point(problem, i, -ny / fz, nx / fz)
    put_frame(trial, i, x, y, 1.0, 0.0, 0.0, mean_torsion_length(problem, i))


@kernel
def place_at_end(trial, i, towards):
    """Frame at one end of the line."""
    s = trial.frame[i, 4] if towards > 0.0 else -trial.frame[i, 4]
    put_frame(trial, i, trial.frame[i, 0] + s * trial.frame[i, 2], trial.frame[i, 1] + s * trial.frame[i, 3], 1.0, 0.0, 0.0, 0.0)


@kernel
def center_of_pressure_moment(problem, trial, i):
    """f_z times the distance of the center of pressure from the middle of the active line."""
    _, _, fz, nx, ny, _ = pair_wrench(problem, i)
    return trial.frame[i, 2] * (-ny - trial.frame[i, 0] * fz) + trial.frame[i, 3] * (nx - trial.frame[i, 1] * fz)


@kernel
def place_on_face_or_line(problem, trial, i, state, x, y):
    """Frame of a face, of a segment, or of the edge in a direction from the mean of the corners."""
    if state in (C0, C4):
        put_frame(trial, i, 0.0, 0.0, 1.0, 0.0, 0.0, mean_torsion_length(problem, i))
    else:
        place_on_edge(problem, trial, i, 0 if contact_kind(problem, i) == LINE else edge_in_direction(problem, i, x, y))


@kernel
def move_frame(problem, trial, i, state, edges):
    """Move the frame of a contact that failed a check to where its next state is constrained."""
    now = trial.state[i]
    if state == C7:
        return
    if state in (C0, C1, C4, C5):
        if now not in (C1, C5):
            # Center of pressure from the corners' mean, times f_z: continuous when f_z changes sign.
            _, _, fz, nx, ny, _ = pair_wrench(problem, i)
            mx, my = corner_mean(problem, i)
            place_on_face_or_line(problem, trial, i, state, -ny - mx * fz, nx - my * fz)
    elif now in (C1, C5):
        if edges:
            place_at_end(trial, i, center_of_pressure_moment(problem, trial, i))
        else:
            place_at_center_of_pressure(problem, trial, i)
    elif now not in (C2, C3, C6):
        place_at_center_of_pressure(problem, trial, i)


@kernel
def initial_frame(problem, trial, i, state, edges):
    """Frame of the initial state of a contact, before any force is known."""
    # Direction in which a rocking patch goes down most, or rises least.
    down_x, down_y = trial.motion[i, 4], -trial.motion[i, 3]
    kind = contact_kind(problem, i)
    if kind == POINT:
        put_frame(trial, i, problem.V[i, 0, 0], problem.V[i, 0, 1], 1.0, 0.0, 0.0, 0.0)
    elif state not in (C2, C3, C6):
        place_on_face_or_line(problem, trial, i, state, down_x, down_y)
    elif edges and kind == LINE:
        place_on_edge(problem, trial, i, 0)
        place_at_end(trial, i, trial.frame[i, 2] * down_x + trial.frame[i, 3] * down_y)
    else:
        x, y = corner_mean(problem, i)
        put_frame(trial, i, x, y, 1.0, 0.0, 0.0, mean_torsion_length(problem, i))
