"""Reduced unknowns of every contact for given modes: basis of its forces, and test directions of its velocities that must vanish.

The unknowns of a contact are the normal forces of its active part and, tangentially, the forces of a sticking contact, or the components
of sliding friction perpendicular to its direction; the component along it is μ times the normal force.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.contact.arrays import BLOCK_SIZE, BLOCK_STRIDE, FROZEN, NUM_CONTACTS
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    FACE,
    MIN_TORSION_LENGTH,
    OPEN,
    SLIPPING,
    ContactVector,
    contact_vector,
    corner_wrench,
    friction_at_center,
    full_mode,
    next_corner,
    put_contact_vector,
    slip_velocity,
    tangential_compliance,
    tangential_wrench,
    torsion_length,
)
from brachiate.spatial import Vec3, cross, four, norm

ZERO = Vec3(0.0, 0.0, 0.0)
DIFFERENCE_STEP = 1e-7  # [m] shift of the center of pressure for the gradient of the torsional length


@kernel
def block_start(p, c):
    """Start of column or row c in the block of contact p."""
    return BLOCK_SIZE * p + BLOCK_STRIDE * c


@kernel
def put_test(problem, p, r, a):
    """Test direction of equation r: a combination of the velocities of contact p."""
    at, rows = BLOCK_SIZE * p + r, problem.row_start[p + 1] - problem.row_start[p]
    problem.test[at], problem.test[at + BLOCK_STRIDE], problem.test[at + 2 * BLOCK_STRIDE] = a.tangential.x, a.tangential.y, a.normal.x
    if rows == 5:
        problem.test[at + 3 * BLOCK_STRIDE], problem.test[at + 4 * BLOCK_STRIDE] = a.normal.z, a.tangential.z
    elif rows == 6:
        problem.test[at + 3 * BLOCK_STRIDE], problem.test[at + 4 * BLOCK_STRIDE], problem.test[at + 5 * BLOCK_STRIDE] = (
            a.normal.y,
            a.normal.z,
            a.tangential.z,
        )


@kernel
def put_sticking_unknown(problem, p, c, a):
    """Unknown force of a sticking contact, and the same velocity as the test direction that must vanish."""
    put_contact_vector(problem.basis, block_start(p, c), problem.row_start[p + 1] - problem.row_start[p], a)
    put_test(problem, p, c, a)
    for r in range(BLOCK_STRIDE):
        problem.local_jacobian[block_start(p, c) + r] = 0.0


@kernel
def test_velocities(problem, p, x, at, low):
    """Four equations of contact p from equation ``low`` on, of the velocities in x from ``at`` on."""
    test, rows = BLOCK_SIZE * p + low, problem.row_start[p + 1] - problem.row_start[p]
    a = x[index(at)] * four(problem.test, test)
    for i in range(1, rows):
        a = a + x[index(at + i)] * four(problem.test, test + BLOCK_STRIDE * i)
    return a


@kernel
def normal_unknowns(problem, p):
    """Number of unknown normal forces."""
    return 0 if problem.normal_mode[p] == OPEN else 3 if problem.normal_mode[p] == FACE else 2 if problem.normal_mode[p] < CORNER else 1


@kernel
def normal_basis(problem, p, c):
    """Normal part of the wrench of unknown normal force c."""
    area = problem.normal_mode[p]
    if area == FACE:
        return Vec3(1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
    if area >= CORNER:
        return corner_wrench(problem, p, area - CORNER)
    return corner_wrench(problem, p, area - EDGE if c == 0 else next_corner(problem, p, area - EDGE))


@kernel
def sticking_unknowns(problem, p):
    """Basis and test directions of a sticking contact; returns the number of unknowns."""
    n = normal_unknowns(problem, p)
    for c in range(n):
        put_sticking_unknown(problem, p, c, ContactVector(ZERO, normal_basis(problem, p, c)))
    on_corner = problem.normal_mode[p] >= CORNER
    d = normal_basis(problem, p, 0) if on_corner else ZERO
    put_sticking_unknown(problem, p, n, ContactVector(Vec3(1.0, 0.0, -d.y), ZERO))
    put_sticking_unknown(problem, p, n + 1, ContactVector(Vec3(0.0, 1.0, -d.z), ZERO))
    if on_corner:
        return n + 2
    put_sticking_unknown(problem, p, n + 2, ContactVector(Vec3(0.0, 0.0, 1.0), ZERO))
    return n + 3


@kernel
def perpendicular_directions(h, torsional):
    """Two unit vectors perpendicular to h, or one if there is no torsional direction."""
    if not torsional:
        return Vec3(-h.y, h.x, 0.0), ZERO
    x, y, z = abs(h.x), abs(h.y), abs(h.z)
    axis = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0)
    one = cross(h, axis)
    one = (1.0 / norm(one)) * one
    return one, cross(h, one)


@kernel
def torsion_length_gradient(problem, p, x, y):
    """Gradient of the torsional length l with respect to the center of pressure."""
    l = problem.center[p, 2]
    return (torsion_length(problem, p, x + DIFFERENCE_STEP, y) - l) / DIFFERENCE_STEP, (
        torsion_length(problem, p, x, y + DIFFERENCE_STEP) - l
    ) / DIFFERENCE_STEP


@kernel
def slipping_unknowns(problem, p):
    """Basis and test directions of a slipping contact; returns the number of unknowns.

    Friction is f' = R a/|a| with a = f' - s'/g and R = μ times normal force. A normal force takes friction with it, against the slip; it
    also moves the center of pressure, so the moment of friction and the slip velocity change. Perpendicular to a,
    δs + g (|a|/R - 1) δf = -g |a|/R f: the right-hand side is left in ``solution``.
    """
    rows, n = problem.row_start[p + 1] - problem.row_start[p], normal_unknowns(problem, p)
    u, w = contact_vector(problem, problem.u, p), contact_vector(problem, problem.w, p)
    normal_force, limit, g = w.normal.x, problem.friction[p] * w.normal.x, tangential_compliance(problem, p)
    x, y, torsional = problem.center[p, 0], problem.center[p, 1], problem.center[p, 2] > MIN_TORSION_LENGTH
    f, s = friction_at_center(problem, p, w.tangential), slip_velocity(problem, p, u.tangential)
    slope_x, slope_y = torsion_length_gradient(problem, p, x, y) if torsional and n > 1 and not problem.count[FROZEN] else (0.0, 0.0)
    a = g * f - s
    size = norm(a)
    h = (1.0 / size) * a if size > 0.0 else Vec3(1.0, 0.0, 0.0)
    one, other = perpendicular_directions(h, torsional)
    ratio = size / (g * limit) if limit > 0.0 else 1.0
    has_friction = limit > 0.0
    perpendicular = 0 if not has_friction else 2 if torsional else 1
    for c in range(n):
        d = normal_basis(problem, p, c)
        cx, cy = -(d.z + x * d.x) / normal_force, (d.y - y * d.x) / normal_force
        length_change = slope_x * cx + slope_y * cy
        tangential = tangential_wrench(problem, p, (problem.friction[p] * d.x) * h)
        put_contact_vector(
            problem.basis, block_start(p, c), rows, ContactVector(tangential + Vec3(0.0, 0.0, cx * f.y - cy * f.x + length_change * f.z), d)
        )
        put_test(problem, p, c, ContactVector(ZERO, d))
        for r in range(n):
            problem.local_jacobian[block_start(p, r) + c] = 0.0
        drift = u.tangential.z * Vec3(-cy, cx, length_change)
        problem.local_jacobian[block_start(p, n) + c], problem.local_jacobian[block_start(p, n + 1) + c] = one @ drift, other @ drift
    for c in range(perpendicular):
        t = one if c == 0 else other
        side = ContactVector(tangential_wrench(problem, p, t), ZERO)
        put_contact_vector(problem.basis, block_start(p, n + c), rows, side)
        put_test(problem, p, n + c, side)
        for r in range(n + 2):
            problem.local_jacobian[block_start(p, r) + n + c] = 0.0
        problem.local_jacobian[block_start(p, n + c) + n + c] = g * max(ratio - 1.0, 0.0)
        problem.solution[problem.unknown_start[p] + n + c] = -g * max(ratio, 1.0) * (t @ f)
    return n + perpendicular


@kernel
def build_unknowns(problem):
    """Unknowns of all contacts at the present forces and velocities; returns their number."""
    unknowns = 0
    for p in range(problem.count[NUM_CONTACTS]):
        problem.unknown_start[p], problem.unreduced[p] = unknowns, 0
        if problem.normal_mode[p] == OPEN:
            continue
        if problem.tangential_mode[p] == SLIPPING:
            unknowns += slipping_unknowns(problem, p)
        elif problem.normal_mode[p] == full_mode(problem, p):
            problem.unreduced[p] = 1
            unknowns += problem.row_start[p + 1] - problem.row_start[p]
        else:
            unknowns += sticking_unknowns(problem, p)
    problem.unknown_start[problem.count[NUM_CONTACTS]] = unknowns
    return unknowns
