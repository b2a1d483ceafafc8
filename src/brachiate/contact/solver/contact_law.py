"""Contact law of one contact (Signorini condition and Coulomb friction on a patch), and its residual.

Normal part: (f_z, n_x, n_y) is a sum of non-negative normal forces at the corners; corners do not approach, and no separating corner
carries force (complementarity). Whether the face, an edge, a corner or nothing is active follows from that.

Tangential part, at the center of pressure c = (-n_y, n_x) / f_z: with f' = (f_x, f_y, m/l), where m is the moment about c, and the slip
velocity s' = (v_x - ω_z c_y, v_y + ω_z c_x, l ω_z), the contact either sticks, s' = 0 and |f'| ≤ μ_s f_z, or slips with maximal
dissipation: f' = -μ f_z s'/|s'|. The torsional length l(c) is ``torsion_scale`` times the mean distance of the corners from c; it
vanishes at a single corner. Static friction μ_s applies only to a contact that stuck before; otherwise μ_s = μ, plain Coulomb friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import kernel
from brachiate.contact.arrays import CORNERS, FROZEN, NUM_CONTACTS, NUM_ROWS, STRIDE
from brachiate.spatial import Vec3, four, norm, put_four

# Normal modes, the active part of a patch: nothing, the face, edge j (from corner j to the next) or corner j. A segment that is active
# as a whole is on its edge 0, a point on its corner 0.
UNKNOWN, OPEN, FACE, EDGE = -1, 0, 1, 2
CORNER = EDGE + CORNERS
STICKING, SLIPPING = 0, 1  # tangential modes

TOLERANCE = 1e-6  # [m/s] residual of an accepted solution
TARGET_RESIDUAL = 2e-7  # [m/s] of the solvers, which leaves room for the final projection onto friction cones
EXACT_RESIDUAL = 1e-12  # [m/s] reached wherever one or two more steps suffice
MIN_TORSION_LENGTH = 1e-6  # [m] below which friction has no moment
MIN_RELATIVE_COMPLIANCE = 1e-9  # of the normal compliance: lower bound of the tangential one
ON_EDGE_SINE = 1e-12  # sine of the angle between two corners, seen from a center on the edge between them


class ContactVector(NamedTuple):
    """A twist (v_x, v_y, ω_z), (v_z, ω_x, ω_y) or a wrench (f_x, f_y, n_z), (f_z, n_x, n_y): tangential and normal part."""

    tangential: Vec3
    normal: Vec3


@kernel
def contact_vector(problem, x, p):
    """Rows of contact p, split into tangential and normal part; zero where a segment or a point has no row."""
    at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
    if rows == 3:
        return ContactVector(Vec3(x[at], x[at + 1], 0.0), Vec3(x[at + 2], 0.0, 0.0))
    if rows == 1:
        return ContactVector(Vec3(0.0, 0.0, 0.0), Vec3(x[at], 0.0, 0.0))
    if rows == 5:
        return ContactVector(Vec3(x[at], x[at + 1], x[at + 4]), Vec3(x[at + 2], 0.0, x[at + 3]))
    return ContactVector(Vec3(x[at], x[at + 1], x[at + 5]), Vec3(x[at + 2], x[at + 3], x[at + 4]))


@kernel
def put_contact_vector(x, at, rows, a):
    """Store a twist or a wrench in packed rows."""
    if rows == 1:
        x[at] = a.normal.x
        return
    x[at], x[at + 1], x[at + 2] = a.tangential.x, a.tangential.y, a.normal.x
    if rows == 5:
        x[at + 3], x[at + 4] = a.normal.z, a.tangential.z
    elif rows == 6:
        x[at + 3], x[at + 4], x[at + 5] = a.normal.y, a.normal.z, a.tangential.z


@kernel
def corner_wrench(problem, p, j):
    """Wrench of a unit normal force at corner j; its product with the twist is the normal speed of that corner."""
    return Vec3(1.0, problem.V[p, j, 1], -problem.V[p, j, 0])


@kernel
def next_corner(problem, p, j):
    """Corner after corner j."""
    return j + 1 if j + 1 < problem.corners[p] else 0


@kernel
def full_mode(problem, p):
    """Normal mode in which the whole patch is active."""
    return FACE if problem.corners[p] >= 3 else EDGE if problem.corners[p] == 2 else CORNER


@kernel
def harmonic_length(r, q):
    """Torsional length at a point of an edge, at distances r and q from its ends, each weighted with the distance to the other."""
    return 2.0 * r * q / (r + q) if r + q > 0.0 else 0.0


@kernel
def torsion_length(problem, p, x, y):
    """l(c) = scale Σ λ_j |p_j - c| with mean-value weights λ [Floater 2003]; t is the tangent of half the angle of an edge seen from c."""
    k = problem.corners[p]
    if k == 1 or problem.torsion_scale[p] == 0.0:
        return 0.0
    if k == 2:
        r, q = x - problem.V[p, 0, 0], problem.V[p, 1, 0] - x
        return problem.torsion_scale[p] * harmonic_length(abs(r), abs(q)) if r * q > 0.0 else 0.0
    ax, ay = problem.V[p, k - 1, 0] - x, problem.V[p, k - 1, 1] - y
    a = math.sqrt(ax * ax + ay * ay)
    top = bottom = 0.0
    for j in range(k):
        bx, by = problem.V[p, j, 0] - x, problem.V[p, j, 1] - y
        b = math.sqrt(bx * bx + by * by)
        if a < MIN_TORSION_LENGTH or b < MIN_TORSION_LENGTH:
            return 0.0
        ab = a * b
        t = (ab - (ax * bx + ay * by)) / max(ax * by - ay * bx, ON_EDGE_SINE * ab + 1e-300)
        top += t
        bottom += t * (a + b) / ab
        ax, ay, a = bx, by, b
    return problem.torsion_scale[p] * 2.0 * top / bottom


@kernel
def distance_outside(problem, p, x, y):
    """Distance of the center of pressure (x, y) from the patch; 0 inside."""
    k, distance = problem.corners[p], 0.0
    if k == 2:
        return max(min(problem.V[p, 0, 0], problem.V[p, 1, 0]) - x, x - max(problem.V[p, 0, 0], problem.V[p, 1, 0]), 0.0)
    for j in range(k if k > 2 else 0):
        i = next_corner(problem, p, j)
        ex, ey = problem.V[p, i, 0] - problem.V[p, j, 0], problem.V[p, i, 1] - problem.V[p, j, 1]
        side = ex * (y - problem.V[p, j, 1]) - ey * (x - problem.V[p, j, 0])
        if side < 0.0:
            distance = max(distance, -side / math.sqrt(ex * ex + ey * ey))
    return distance


@kernel
def project_into_patch(problem, p, x, y):
    """Center of pressure projected onto the boundary of the patch, if it is slightly outside."""
    k = problem.corners[p]
    if k == 2:
        return min(max(x, min(problem.V[p, 0, 0], problem.V[p, 1, 0])), max(problem.V[p, 0, 0], problem.V[p, 1, 0])), y
    for _ in range(CORNERS):  # beyond a corner it is projected onto both edges in turn
        for j in range(k if k > 2 else 0):
            i = next_corner(problem, p, j)
            ex, ey = problem.V[p, i, 0] - problem.V[p, j, 0], problem.V[p, i, 1] - problem.V[p, j, 1]
            part = min(ex * (y - problem.V[p, j, 1]) - ey * (x - problem.V[p, j, 0]), 0.0) / (ex * ex + ey * ey)
            x, y = x + part * ey, y - part * ex
    return x, y


@kernel
def delassus_diagonal(problem, r):
    """Response of row r to its own force."""
    return problem.G[r * problem.count[STRIDE] + r]


@kernel
def normal_row(problem, p):
    """Row of the normal force of a contact: the third, or the only one of a joint limit."""
    return problem.row_start[p] + 2 if problem.row_start[p + 1] > problem.row_start[p] + 1 else problem.row_start[p]


@kernel
def normal_compliance(problem, p):
    """Normal speed for a unit normal force."""
    return delassus_diagonal(problem, normal_row(problem, p))


@kernel
def tangential_compliance(problem, p):
    """Mean tangential speed for a unit tangential force; not zero where nothing can slide."""
    if problem.row_start[p + 1] == problem.row_start[p] + 1:  # a joint limit
        return normal_compliance(problem, p)
    return 0.5 * (
        delassus_diagonal(problem, problem.row_start[p]) + delassus_diagonal(problem, problem.row_start[p] + 1)
    ) + MIN_RELATIVE_COMPLIANCE * normal_compliance(problem, p)


@kernel
def rotational_compliance(problem, p):
    """Speed for a unit moment: geometric mean of rotational and normal response."""
    largest = 0.0
    for r in range(problem.row_start[p] + 3, problem.row_start[p + 1]):
        largest = max(largest, delassus_diagonal(problem, r))
    return math.sqrt(largest * normal_compliance(problem, p))


@kernel
def update_center(problem, p, w):
    """Set the point where friction acts to the center of pressure, with its torsional length. Frozen centers stay."""
    if problem.corners[p] > 1 and not problem.count[FROZEN] and w.normal.x > 0.0:
        x, y = -w.normal.z / w.normal.x, w.normal.y / w.normal.x
        problem.center[p, 0], problem.center[p, 1], problem.center[p, 2] = x, y, torsion_length(problem, p, x, y)


@kernel
def slip_velocity(problem, p, u):
    """s': slip velocity at the center of pressure, from the tangential twist (v_x, v_y, ω_z)."""
    x, y, l = problem.center[p, 0], problem.center[p, 1], problem.center[p, 2]
    return Vec3(u.x - u.z * y, u.y + u.z * x, l * u.z if l > MIN_TORSION_LENGTH else 0.0)


@kernel
def moment_at_center(problem, p, w):
    """Normal moment about the center of pressure, of a tangential wrench (f_x, f_y, n_z)."""
    return w.z - problem.center[p, 0] * w.y + problem.center[p, 1] * w.x


@kernel
def friction_at_center(problem, p, w):
    """f': friction as a force at the center of pressure, from the tangential wrench."""
    l = problem.center[p, 2]
    return Vec3(w.x, w.y, moment_at_center(problem, p, w) / l if l > MIN_TORSION_LENGTH else 0.0)


@kernel
def tangential_wrench(problem, p, f):
    """Tangential wrench (f_x, f_y, n_z) of friction f' at the center of pressure."""
    return Vec3(f.x, f.y, problem.center[p, 2] * f.z + problem.center[p, 0] * f.y - problem.center[p, 1] * f.x)


@kernel
def clip_norm(a, limit):
    """The vector, scaled to the given norm if it is longer."""
    size = norm(a)
    return a if size <= limit else (limit / size) * a


@kernel
def clear_forces(problem, p):
    """Remove the forces of contact p, which does not push. Returns whether there were any."""
    found = False
    for r in range(problem.row_start[p], problem.row_start[p + 1]):
        found = found or problem.w[r] != 0.0
        problem.w[r] = 0.0
    return found


@kernel
def friction_violation(problem, p, f, s, normal_force):
    """Violation of the friction law by f' and s': its natural map, or for static friction cone and slip separately."""
    compliance = tangential_compliance(problem, p)
    if problem.static_allowed[p] and problem.tangential_mode[p] == STICKING and problem.static_friction[p] > problem.friction[p]:
        return max(norm(s), compliance * (norm(f) - problem.static_friction[p] * normal_force))
    return compliance * norm(f - clip_norm(f - (1.0 / compliance) * s, problem.friction[p] * normal_force))


@kernel
def contact_violation(problem, p):
    """Violation of the contact law by contact p, as a speed [m/s]."""
    u, w = contact_vector(problem, problem.u, p), contact_vector(problem, problem.w, p)
    normal_force, worst = w.normal.x, 0.0
    if not u.tangential @ u.tangential + u.normal @ u.normal < math.inf:
        return math.inf
    for j in range(problem.corners[p]):
        worst = max(worst, -(corner_wrench(problem, p, j) @ u.normal))
    if normal_force <= 0.0:
        turn = rotational_compliance(problem, p) * (abs(w.normal.y) + abs(w.normal.z) + abs(w.tangential.z))
        slide = tangential_compliance(problem, p) * (abs(w.tangential.x) + abs(w.tangential.y))
        return max(worst, -normal_force * normal_compliance(problem, p), turn, slide)
    update_center(problem, p, w)
    x, y = -w.normal.z / normal_force, w.normal.y / normal_force
    distance = distance_outside(problem, p, x, y)
    if distance > 0.0:
        worst = max(worst, distance * normal_force * rotational_compliance(problem, p))
    separating = u.normal.x + y * u.normal.y - x * u.normal.z
    worst = max(worst, min(abs(separating), normal_force * normal_compliance(problem, p)))
    if problem.center[p, 2] <= MIN_TORSION_LENGTH and problem.corners[p] > 1:
        worst = max(worst, abs(moment_at_center(problem, p, w.tangential)) * rotational_compliance(problem, p))
    return max(
        worst,
        friction_violation(problem, p, friction_at_center(problem, p, w.tangential), slip_velocity(problem, p, u.tangential), normal_force),
    )


@kernel
def update_velocities(problem):
    """u = u0 + G w, four rows at a time, skipping rows without force."""
    n, stride = problem.count[NUM_ROWS], problem.count[STRIDE]
    for i in range(0, n, 4):
        put_four(problem.u, i, four(problem.u0, i))
    for r in range(0, n - 3, 4):
        a, b, c, d = four(problem.w, r)
        if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
            continue
        at = r * stride
        for i in range(0, n, 4):
            first = four(problem.u, i) + a * four(problem.G, at + i) + b * four(problem.G, at + stride + i)
            put_four(problem.u, i, first + c * four(problem.G, at + 2 * stride + i) + d * four(problem.G, at + 3 * stride + i))
    for r in range(n // 4 * 4, n):
        add_row_response(problem, r, problem.w[r])


@kernel
def add_row_response(problem, r, f):
    """Add the response of all rows to a force f on row r."""
    at = r * problem.count[STRIDE]
    for i in range(0, problem.count[NUM_ROWS], 4):
        put_four(problem.u, i, four(problem.u, i) + f * four(problem.G, at + i))


@kernel
def residual(problem):
    """Largest violation of the contact law [m/s]; u is computed from the forces."""
    update_velocities(problem)
    worst = 0.0
    for p in range(problem.count[NUM_CONTACTS]):
        worst = max(worst, contact_violation(problem, p))
    return worst


def state_name(area: int, slip: int) -> str:
    """Name C0 ... C7 of the contact state [DF] V that constrains the same directions.

    C2 (rotation about a center of pressure on the boundary) does not occur: a patch rotates about an edge (C1, C5) or a corner (C3, C6).
    """
    if area == OPEN:
        return "C7"
    which = 0 if area == FACE else 1 if area < CORNER else 2
    return (("C0", "C1", "C3"), ("C4", "C5", "C6"))[slip][which]
