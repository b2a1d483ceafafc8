"""Checks of contact forces: the four conditions of [DF] V-E."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C7, FRICTION, NORMAL, PRESSURE, TWIST
from brachiate.contact.published.trial import center_of_pressure_moment, pair_wrench

# Tolerance of the checks, relative to the largest force.
RELATIVE_SLACK = 1e-9


@kernel
def first_failure(problem, trial):
    """The first contact with an impossible force, and the check that fails; 0 if there is none."""
    largest = 0.0
    for r in range(problem.count[1]):
        largest = max(largest, abs(problem.w[r]))
    for i in range(problem.count[0]):
        check = failed_check(problem, trial, i, RELATIVE_SLACK * largest)
        if check != 0:
            return i, check
    return -1, 0


@kernel
def failed_check(problem, trial, i, slack):
    """The checks of [DF] V-E, for the constrained directions."""
    state = trial.state[i]
    if state == C7:
        return 0
    fx, fy, fz, _, _, _ = pair_wrench(problem, i)
    if not fz >= -slack:
        return NORMAL
    if state in (C0, C4) and not inside_face(problem, i, slack):
        return PRESSURE
    if state in (C1, C5) and abs(center_of_pressure_moment(problem, trial, i)) > trial.frame[i, 4] * fz + slack:
        return PRESSURE
    if state <= C3 and math.hypot(fx, fy) > problem.static_friction[i] * fz + slack:  # [DF] eq. 20
        return FRICTION
    if state <= C2 and abs(torsional_moment(problem, i)) > max_torsional_moment(problem, trial, i) + slack:
        return TWIST
    return 0


@kernel
def inside_face(problem, i, slack):
    """Whether the center of pressure is in a polygon, everything multiplied by f_z."""
    _, _, fz, nx, ny, _ = pair_wrench(problem, i)
    # (-n_y, n_x) / f_z as eq. 29 and 30 have it; section V-E prints it with the other sign.
    n = problem.corners[i]
    for j in range(n):
        k = (j + 1) % n
        dx, dy = problem.V[i, k, 0] - problem.V[i, j, 0], problem.V[i, k, 1] - problem.V[i, j, 1]
        if dx * (nx - problem.V[i, j, 1] * fz) - dy * (-ny - problem.V[i, j, 0] * fz) < -slack * math.hypot(dx, dy):
            return False
    return True


@kernel
def torsional_moment(problem, i):
    """n̂_z, the moment about the normal through the center of pressure: n_z - c_x f_y + c_y f_x, signs unlike [DF] eq. 26."""
    fx, fy, fz, nx, ny, nz = pair_wrench(problem, i)
    return nz + (ny * fy + nx * fx) / fz if fz > 0.0 else nz


@kernel
def max_torsional_moment(problem, trial, i):
    """Largest moment that sticking resists beside its tangential force.

    [DF] eq. 25 has (1 - k_f), with a kink at zero tangential force; force and moment together are in a ball, √(1 - k_f²). It prints μ_D for
    friction that its text calls static.
    """
    fx, fy, fz, _, _, _ = pair_wrench(problem, i)
    limit = problem.static_friction[i] * max(fz, 0.0)
    return trial.frame[i, 5] * math.sqrt(max(limit * limit - fx * fx - fy * fy, 0.0))
