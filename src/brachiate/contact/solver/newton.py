"""Newton's method for given contact modes: active contacts rest, sticking contacts do not slip, slipping contacts have sliding friction.

These are equations in the :mod:`.mode_unknowns`, linear except for slip directions and centers of pressure: a few Newton steps suffice.
Bodies with many contacts have forces that the equations do not determine, so every step is proximal: the diagonal is raised slightly, and
undetermined forces stay close to the previous ones.

The factor is kept from one solution to the next, and reused while modes and nearly everything else stay the same.
"""

from __future__ import annotations

from brachiate.compiled import by_address, call_address, kernel
from brachiate.contact.arrays import FACTORIZATIONS, NUM_CONTACTS, SELECT_MODES, STRIDE, open_problem
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    EXACT_RESIDUAL,
    OPEN,
    SLIPPING,
    STICKING,
    TARGET_RESIDUAL,
    ContactVector,
    contact_vector,
    corner_wrench,
    friction_at_center,
    normal_compliance,
    put_contact_vector,
    residual,
    tangential_wrench,
    update_center,
    update_velocities,
)
from brachiate.contact.solver.mode_unknowns import ZERO, block_start, build_unknowns, normal_basis, normal_unknowns, test_velocities
from brachiate.contact.solver.search_work import add_work, factor_work, product_work, search_exhausted
from brachiate.linalg.lu import lu_factor, lu_solve_transposed
from brachiate.model.status import OK
from brachiate.spatial import Vec3, four, norm, put_four

# Relative increase of the diagonal: with the loose one a kept factor can be reused and modes are found, the tight one needs fewer steps.
LOOSE_PROXIMAL, TIGHT_PROXIMAL = 1e-3, 1e-7
MAX_CONTRACTION = 0.1  # a step that leaves more of the residual had an old factor, or wrong modes
DIAGONAL_REGULARIZATION = 1e-12  # of the normal compliance, added to diagonals: some directions are immobile
DIVERGED = 1e6  # [m/s] residual


@kernel
def list_active_blocks(problem):
    """List the blocks of four rows in which some contact has unknowns; returns how many."""
    active, end = 0, 0
    for p in range(problem.count[NUM_CONTACTS]):
        if problem.normal_mode[p] != OPEN:
            for i in range(max(problem.row_start[p] // 4 * 4, end), problem.row_start[p + 1], 4):
                problem.active_blocks[active], end = i, i + 4
                active += 1
    return active


@kernel
def unknown_response(problem, p, c, active):
    """Velocities of active rows for unknown c of contact p."""
    stride, rows = problem.count[STRIDE], problem.row_start[p + 1] - problem.row_start[p]
    to, g, at = (problem.unknown_start[p] + c) * stride, problem.row_start[p] * stride, block_start(p, c)
    if problem.unreduced[p]:
        for n in range(active):
            i = problem.active_blocks[n]
            put_four(problem.response, to + i, four(problem.G, g + c * stride + i))
        return
    x, y, z = problem.basis[at], problem.basis[at + 1], problem.basis[at + 2]
    for n in range(active):
        i = problem.active_blocks[n]
        put_four(
            problem.response,
            to + i,
            x * four(problem.G, g + i) + y * four(problem.G, g + stride + i) + z * four(problem.G, g + 2 * stride + i),
        )
    if rows > 3:
        g += 3 * stride
        x, y, z = problem.basis[at + 3], problem.basis[at + 4], problem.basis[at + 5] if rows > 5 else 0.0
        last = 2 * stride if rows > 5 else 0
        for n in range(active):
            i = problem.active_blocks[n]
            more = x * four(problem.G, g + i) + y * four(problem.G, g + stride + i) + z * four(problem.G, g + last + i)
            put_four(problem.response, to + i, four(problem.response, to + i) + more)


@kernel
def put_equation_block(problem, q, row):
    """Derivative of the equations of contact q by an unknown, into its row of the matrix.

    Four at a time: values beyond the last equation of the contact are overwritten by the next contact.
    """
    source, to, count = row + problem.row_start[q], row + problem.unknown_start[q], problem.unknown_start[q + 1] - problem.unknown_start[q]
    for low in range(0, count, 4):
        put_four(
            problem.factor,
            to + low,
            four(problem.response, source + low) if problem.unreduced[q] else test_velocities(problem, q, problem.response, source, low),
        )


@kernel
def assemble_jacobian(problem, unknowns, proximal):
    """Transposed Jacobian of the equations: row c has the derivatives by unknown c. Padded to whole blocks of four."""
    stride, padded, active = problem.count[STRIDE], (unknowns + 3) // 4 * 4, list_active_blocks(problem)
    for p in range(problem.count[NUM_CONTACTS]):
        for c in range(problem.unknown_start[p + 1] - problem.unknown_start[p]):
            unknown_response(problem, p, c, active)
            row = (problem.unknown_start[p] + c) * stride
            for q in range(problem.count[NUM_CONTACTS]):
                put_equation_block(problem, q, row)
            if not problem.unreduced[p]:
                for r in range(problem.unknown_start[p + 1] - problem.unknown_start[p]):
                    problem.factor[row + problem.unknown_start[p] + r] += problem.local_jacobian[block_start(p, r) + c]
            diagonal = problem.factor[row + problem.unknown_start[p] + c]
            problem.factor[row + problem.unknown_start[p] + c] = (
                diagonal + proximal * diagonal + DIAGONAL_REGULARIZATION * normal_compliance(problem, p)
            )
            for r in range(unknowns, padded):
                problem.factor[row + r] = 0.0
    for c in range(unknowns, padded):
        for r in range(padded):
            problem.factor[c * stride + r] = 1.0 if r == c else 0.0


@kernel
def mode_key(problem, p):
    """One number for the modes of a contact."""
    return 256 * problem.corners[p] + 4 * problem.normal_mode[p] + problem.tangential_mode[p]


@kernel
def layout_key(problem, unknowns):
    """One number for the number of unknowns of a factor and its stride: with another one its rows are elsewhere."""
    return problem.count[STRIDE] * (problem.count[STRIDE] + 1) + unknowns


@kernel
def factor_is_current(problem, unknowns):
    """Whether the factor was made for these modes."""
    same = problem.factor_key[0] == layout_key(problem, unknowns)
    for p in range(problem.count[NUM_CONTACTS]):
        same = same and problem.factor_key[p + 1] == mode_key(problem, p)
    return same


@kernel
def store_factor_key(problem, unknowns):
    """Store for which modes the factor was made."""
    problem.factor_key[0] = layout_key(problem, unknowns)
    for p in range(problem.count[NUM_CONTACTS]):
        problem.factor_key[p + 1] = mode_key(problem, p)


@kernel
def put_residual(problem, unknowns):
    """solution ← negative residual of the equations."""
    for p in range(problem.count[NUM_CONTACTS]):
        count, at, first = problem.unknown_start[p + 1] - problem.unknown_start[p], problem.row_start[p], problem.unknown_start[p]
        if problem.unreduced[p]:
            for r in range(count):
                problem.solution[first + r] = -problem.u[at + r]
        elif count > 0:
            a = test_velocities(problem, p, problem.u, at, 0)
            resting = count if problem.tangential_mode[p] == STICKING else normal_unknowns(problem, p)
            problem.solution[first] = -a.a
            if resting > 1:
                problem.solution[first + 1] = -a.b
            if resting > 2:
                problem.solution[first + 2] = -a.c
            if resting > 3:
                problem.solution[first + 3] = -a.d
            if resting > 4:
                problem.solution[first + 4] = -test_velocities(problem, p, problem.u, at, 4).a
    for r in range(unknowns, (unknowns + 3) // 4 * 4):
        problem.solution[r] = 0.0


@kernel
def apply_solution(problem):
    """Add the forces of the unknowns; friction of slipping contacts is then scaled to its size."""
    for p in range(problem.count[NUM_CONTACTS]):
        at, rows, first = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p], problem.unknown_start[p]
        if problem.normal_mode[p] == OPEN:
            for r in range(rows):
                problem.w[at + r] = 0.0
        elif problem.unreduced[p]:
            for r in range(rows):
                problem.w[at + r] += problem.solution[first + r]
        else:
            for c in range(problem.unknown_start[p + 1] - first):
                for r in range(rows):
                    problem.w[at + r] += problem.basis[block_start(p, c) + r] * problem.solution[first + c]
            if problem.tangential_mode[p] == SLIPPING:
                project_friction(problem, p)


@kernel
def project_friction(problem, p):
    """Scale friction of a slipping contact to its size, at its present center of pressure."""
    w = contact_vector(problem, problem.w, p)
    normal_force, friction = w.normal.x, friction_at_center(problem, p, w.tangential)
    update_center(problem, p, w)
    size = norm(friction)
    limit = problem.friction[p] * max(normal_force, 0.0)
    f = (limit / size) * friction if size > 0.0 else ZERO
    put_contact_vector(
        problem.w,
        problem.row_start[p],
        problem.row_start[p + 1] - problem.row_start[p],
        ContactVector(tangential_wrench(problem, p, f), w.normal),
    )


@kernel
def project_onto_modes(problem):
    """Project forces onto the modes: centers of pressure onto edges and corners, friction of slipping contacts to its size."""
    for p in range(problem.count[NUM_CONTACTS]):
        at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
        w = contact_vector(problem, problem.w, p)
        normal_force, normal, tangential = w.normal.x, w.normal, w.tangential
        if problem.normal_mode[p] == OPEN:
            normal, tangential = ZERO, ZERO
        elif problem.normal_mode[p] >= CORNER:
            d = corner_wrench(problem, p, problem.normal_mode[p] - CORNER)
            normal, tangential = normal_force * d, Vec3(tangential.x, tangential.y, -d.z * tangential.y - d.y * tangential.x)
        elif problem.normal_mode[p] >= EDGE and problem.corners[p] > 2:
            d, e = normal_basis(problem, p, 0), normal_basis(problem, p, 1)
            x, y = d.z - e.z, e.y - d.y  # along the edge
            share = ((normal_force * d.z - normal.z) * x + (normal.y - normal_force * d.y) * y) / (x * x + y * y)
            normal = normal_force * d + share * (e - d)
        put_contact_vector(problem.w, at, rows, ContactVector(tangential, normal))
        if problem.normal_mode[p] != OPEN and problem.tangential_mode[p] == SLIPPING:
            project_friction(problem, p)


@kernel
def newton_step(problem, proximal):
    """One Newton step. Returns whether the factor was an old one."""
    unknowns = build_unknowns(problem)
    padded = (unknowns + 3) // 4 * 4
    old = factor_is_current(problem, unknowns)
    if not old:
        assemble_jacobian(problem, unknowns, proximal)
        lu_factor(problem.factor, problem.count[STRIDE], padded)
        store_factor_key(problem, unknowns)
        problem.counters[FACTORIZATIONS] += 1
        add_work(problem, factor_work(padded))
    add_work(problem, 2.0 * product_work(problem))
    put_residual(problem, unknowns)
    lu_solve_transposed(problem.factor, problem.count[STRIDE], padded, problem.solution)
    apply_solution(problem)
    return old


@by_address
def newton(key, problem_key, proximal, max_steps):
    """Newton steps from forces with a known residual until the law is satisfied, with fixed modes as long as that helps.

    ``proximal`` is the relative increase of the diagonal. If the search has no work left, there is one step.
    """
    (problem,) = open_problem(problem_key)
    last = problem.residual[0]
    project_onto_modes(problem)
    update_velocities(problem)
    for n in range(max_steps):
        if n > 0 and search_exhausted(problem):
            break
        old = newton_step(problem, proximal)
        error = residual(problem)
        problem.residual[0] = error
        if error <= EXACT_RESIDUAL or (error <= TARGET_RESIDUAL and not error < MAX_CONTRACTION * last):
            break
        if not error < DIVERGED:
            problem.factor_key[0] = -1
            break
        if error > MAX_CONTRACTION * last:
            problem.factor_key[0] = -1
            if not old and n + 1 < max_steps:
                call_address(problem.functions[SELECT_MODES], problem_key, problem_key, 0.0, 0)
        last = error
    return OK
