"""Douglas-Rachford splitting [Lions & Mercier 1979] of the contact problem into decoupled contacts and their coupling.

Gauss-Seidel sweeps converge slowly where forces act through many links, as in a row of dominoes or at joint limits. Here every contact
solves its law against a local model of all others, u = R (w - z), in closed form, as R does not couple friction with normal forces; then
one linear system with the factor of G + R updates the auxiliary variable z by the violation of u = u0 + G w. At a fixed point both hold.
Coulomb friction is not monotone, so convergence is not guaranteed, but observed.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import by_address, kernel, outlined
from brachiate.contact.arrays import DOUGLAS_RACHFORD_STEPS, NUM_CONTACTS, NUM_ROWS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import (
    OPEN,
    SLIPPING,
    ContactVector,
    contact_vector,
    put_contact_vector,
    tangential_wrench,
    update_center,
    update_velocities,
)
from brachiate.contact.solver.gauss_seidel import add_diagonal, local_delassus, solve_friction, solve_normal, solve_symmetric
from brachiate.contact.solver.search_work import add_work, factor_work, product_work
from brachiate.linalg.lu import lu_factor, lu_solve_transposed
from brachiate.model.status import OK
from brachiate.spatial import Sym3, Vec3, trace

OVER_RELAXATION = 1.5  # of the auxiliary variable, for R smaller than the contacts' own response
TANGENTIAL_REGULARIZATION, NORMAL_REGULARIZATION = 1e-9, 1e-12  # of the traces of R: some directions are immobile


class SplittingMetric(NamedTuple):
    """R of one contact: a multiple of its own block of G, normal and tangential part."""

    tangential: Sym3
    normal: Sym3


@kernel
def scale_symmetric(x, a):
    """A symmetric matrix times x."""
    return Sym3(x * a.xx, x * a.xy, x * a.xz, x * a.yy, x * a.yz, x * a.zz)


@kernel
def contact_metric(problem, p, share):
    """R of contact p."""
    G = local_delassus(problem, p)
    normal, tangential = scale_symmetric(share, G.normal), scale_symmetric(share, G.tangential)
    regularization = NORMAL_REGULARIZATION * trace(normal)
    return SplittingMetric(
        add_diagonal(tangential, TANGENTIAL_REGULARIZATION * trace(tangential) + regularization), add_diagonal(normal, regularization)
    )


@kernel
def apply_metric(R, a):
    """R times a wrench."""
    return ContactVector(R.tangential @ a.tangential, R.normal @ a.normal)


@kernel
def add_metric(problem, p, R):
    """Add R to the block of contact p of the matrix to be factored."""
    at, rows, stride = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p], problem.count[STRIDE]
    for c in range(rows):
        for r in range(rows):
            problem.solution[at + r] = 1.0 if r == c else 0.0
        put_contact_vector(problem.solution, at, rows, apply_metric(R, contact_vector(problem, problem.solution, p)))
        for r in range(rows):
            problem.factor[(at + c) * stride + at + r] += problem.solution[at + r]


@kernel
def factor_coupling(problem, share):
    """Factor G + R, padded to whole blocks of four; initial auxiliary variable from the present forces and velocities."""
    n, stride = problem.count[NUM_ROWS], problem.count[STRIDE]
    padded = (n + 3) // 4 * 4
    problem.factor_key[0] = -1
    for r in range(padded):
        for c in range(padded):
            problem.factor[r * stride + c] = problem.G[r * stride + c] if r < n and c < n else 1.0 if r == c else 0.0
    update_velocities(problem)
    for p in range(problem.count[NUM_CONTACTS]):
        R, u, w = contact_metric(problem, p, share), contact_vector(problem, problem.u, p), contact_vector(problem, problem.w, p)
        z = ContactVector(w.tangential - solve_symmetric(R.tangential, u.tangential), w.normal - solve_symmetric(R.normal, u.normal))
        put_contact_vector(problem.auxiliary, problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p], z)
        add_metric(problem, p, R)
    lu_factor(problem.factor, stride, padded)


@outlined
def solve_decoupled(problem, p, R, b):
    """Forces and modes of contact p that satisfy its law with u = b + R w."""
    normal_mode, normal = solve_normal(problem, p, R.normal, b.normal)
    tangential, tangential_mode = Vec3(0.0, 0.0, 0.0), SLIPPING
    if normal_mode != OPEN:
        update_center(problem, p, ContactVector(tangential, normal))
        f, tangential_mode = solve_friction(problem, p, R.tangential, b.tangential, normal.x)
        tangential = tangential_wrench(problem, p, f)
    problem.normal_mode[p], problem.tangential_mode[p] = normal_mode, tangential_mode
    put_contact_vector(problem.w, problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p], ContactVector(tangential, normal))


@kernel
def solve_from_auxiliary(problem, p, R):
    """Forces and modes of contact p against its local model."""
    z = contact_vector(problem, problem.auxiliary, p)
    solve_decoupled(problem, p, R, ContactVector(-(R.tangential @ z.tangential), -(R.normal @ z.normal)))


@kernel
def reflect(problem, p, R):
    """Forces and modes of contact p against its local model; R (2w - z), the right-hand side of the coupling, to ``solution``."""
    solve_from_auxiliary(problem, p, R)
    w, z = contact_vector(problem, problem.w, p), contact_vector(problem, problem.auxiliary, p)
    put_contact_vector(
        problem.solution,
        problem.row_start[p],
        problem.row_start[p + 1] - problem.row_start[p],
        apply_metric(R, ContactVector(2.0 * w.tangential - z.tangential, 2.0 * w.normal - z.normal)),
    )


@by_address
def douglas_rachford(key, problem_key, share, iterations):
    """Iterations with R the given multiple of the contacts' own response; forces and modes are those of the last one."""
    (problem,) = open_problem(problem_key)
    n, stride = problem.count[NUM_ROWS], problem.count[STRIDE]
    padded = (n + 3) // 4 * 4
    relaxation = OVER_RELAXATION if share < 1.0 else 1.0
    factor_coupling(problem, share)
    problem.counters[DOUGLAS_RACHFORD_STEPS] += iterations
    add_work(problem, factor_work(n) + iterations * product_work(problem))
    for _ in range(iterations):
        for p in range(problem.count[NUM_CONTACTS]):
            reflect(problem, p, contact_metric(problem, p, share))
        for r in range(padded):
            problem.solution[r] = problem.solution[r] - problem.u0[r] if r < n else 0.0
        lu_solve_transposed(problem.factor, stride, padded, problem.solution)
        for r in range(n):
            problem.auxiliary[r] += relaxation * (problem.solution[r] - problem.w[r])
    return OK


@by_address
def select_modes(key, problem_key, unused, unused_count):
    """Modes, and forces that have them, of every contact alone, as if all others responded like itself."""
    (problem,) = open_problem(problem_key)
    for p in range(problem.count[NUM_CONTACTS]):
        R, u, w = contact_metric(problem, p, 1.0), contact_vector(problem, problem.u, p), contact_vector(problem, problem.w, p)
        solve_decoupled(problem, p, R, ContactVector(u.tangential - R.tangential @ w.tangential, u.normal - R.normal @ w.normal))
    update_velocities(problem)
    return OK
