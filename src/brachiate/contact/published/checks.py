"""Whether a contact could exert a force: the four checks of [DF] V-E."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C7, FRICTION, NORMAL, PRESSURE, TWIST
from brachiate.contact.published.trial import pressure_along, wrench

# Forces are judged with this part of the largest as slack.
SLACK = 1e-9


@kernel
def first_failure(P, X):
    """The first pair with a force that cannot be, and which check says so; 0 if there is none."""
    large = 0.0
    for r in range(P.count[1]):
        large = max(large, abs(P.w[r]))
    for i in range(P.count[0]):
        check = failed_check(P, X, i, SLACK * large)
        if check != 0:
            return i, check
    return -1, 0


@kernel
def failed_check(P, X, i, slack):
    """The checks of [DF] V-E, for directions that are held."""
    state = X.state[i]
    if state == C7:
        return 0
    fx, fy, fz, _, _, _ = wrench(P, i)
    if not fz >= -slack:
        return NORMAL
    if state in (C0, C4) and not inside_face(P, i, slack):
        return PRESSURE
    if state in (C1, C5) and abs(pressure_along(P, X, i)) > X.frame[i, 4] * fz + slack:
        return PRESSURE
    if state <= C3 and math.hypot(fx, fy) > P.grip[i] * fz + slack:  # [DF] eq. 20
        return FRICTION
    if state <= C2 and abs(twist(P, i)) > most_twist(P, X, i) + slack:
        return TWIST
    return 0


@kernel
def inside_face(P, i, slack):
    """Whether the centre of pressure is in a polygon, everything times f_z."""
    _, _, fz, nx, ny, _ = wrench(P, i)
    # (-n_y, n_x) / f_z as eq. 29 and 30 have it; section V-E prints it with the other sign.
    n = P.corners[i]
    for j in range(n):
        k = (j + 1) % n
        dx, dy = P.V[i, k, 0] - P.V[i, j, 0], P.V[i, k, 1] - P.V[i, j, 1]
        if dx * (nx - P.V[i, j, 1] * fz) - dy * (-ny - P.V[i, j, 0] * fz) < -slack * math.hypot(dx, dy):
            return False
    return True


@kernel
def twist(P, i):
    """n̂_z, the moment about the normal through the centre of pressure: n_z - c_x f_y + c_y f_x, signs unlike [DF] eq. 26."""
    fx, fy, fz, nx, ny, nz = wrench(P, i)
    return nz + (ny * fy + nx * fx) / fz if fz > 0.0 else nz


@kernel
def most_twist(P, X, i):
    """Largest moment that sticking bears beside the friction there is.

    [DF] eq. 25 has (1 - k_f), which has a kink where there is no friction; force and moment together are in a ball, √(1 - k_f²). It
    prints μ_D for friction that its text calls static.
    """
    fx, fy, fz, _, _, _ = wrench(P, i)
    most = P.grip[i] * max(fz, 0.0)
    return X.frame[i, 5] * math.sqrt(max(most * most - fx * fx - fy * fy, 0.0))
