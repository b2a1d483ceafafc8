"""Convex relaxation of the contact problem, the last resort: maximal dissipation over friction cones at the corners always has a solution.

Minimize ½ wᵀGw + u0ᵀw, the remaining energy, over corner forces within their friction cones. The problem is convex (a cone
complementarity problem), so an accelerated projected gradient finds its solution [Mazhar 2015]. No corner approaches and energy never
grows; but a slipping contact also separates, at μ times its slip speed: the price of convexity.
"""

from __future__ import annotations

import math

from brachiate.compiled import by_address, kernel
from brachiate.contact.arrays import CORNERS, NUM_CONTACTS, NUM_ROWS, open_problem
from brachiate.contact.solver.contact_law import (
    ContactVector,
    contact_vector,
    corner_wrench,
    delassus_diagonal,
    put_contact_vector,
    update_velocities,
)
from brachiate.contact.solver.search_work import RELAXATION_SHARE, add_work, limit_work, product_work, search_exhausted
from brachiate.model.status import OK
from brachiate.spatial import Vec3, put_vec3, vec3

STATIONARITY_TOLERANCE = 1e-6  # [m/s]
MAX_ITERATIONS, MIN_ITERATIONS = 20000, 20  # at least so many, even if the step has no work left


@kernel
def force_slot(problem, which, p, j):
    """Row of the force at a corner: ``which`` is 0 for the present forces, 1 for the previous, 2 for the extrapolated ones."""
    return (which * problem.corners.shape[0] + p) * CORNERS + j


@kernel
def sum_corner_forces(problem, which):
    """Wrenches of the corner forces."""
    for p in range(problem.count[NUM_CONTACTS]):
        tangential, normal = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        for j in range(problem.corners[p]):
            f = vec3(problem.corner_force, force_slot(problem, which, p, j))
            tangential = tangential + Vec3(f.x, f.y, problem.V[p, j, 0] * f.y - problem.V[p, j, 1] * f.x)
            normal = normal + f.z * corner_wrench(problem, p, j)
        put_contact_vector(
            problem.w, problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p], ContactVector(tangential, normal)
        )


@kernel
def corner_velocity(problem, p, j, u):
    """Velocity of a corner."""
    return Vec3(
        u.tangential.x - u.tangential.z * problem.V[p, j, 1],
        u.tangential.y + u.tangential.z * problem.V[p, j, 0],
        corner_wrench(problem, p, j) @ u.normal,
    )


@kernel
def corner_compliance(problem, p, j):
    """Upper bound of the speed of a corner for a unit force there, apart from coupling between rows."""
    at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
    x, y = problem.V[p, j, 0], problem.V[p, j, 1]
    if rows == 1:
        return delassus_diagonal(problem, at)
    compliance = delassus_diagonal(problem, at) + delassus_diagonal(problem, at + 1) + delassus_diagonal(problem, at + 2)
    if rows == 5:
        return compliance + x * x * (delassus_diagonal(problem, at + 3) + delassus_diagonal(problem, at + 4))
    if rows == 6:
        return (
            compliance
            + y * y * delassus_diagonal(problem, at + 3)
            + x * x * delassus_diagonal(problem, at + 4)
            + (x * x + y * y) * delassus_diagonal(problem, at + 5)
        )
    return compliance


@kernel
def project_onto_cone(f, friction):
    """Projection of a force onto the friction cone."""
    tangential = math.sqrt(f.x * f.x + f.y * f.y)
    if friction * tangential <= -f.z:  # first: without friction a pulling force is in the polar cone, too
        return Vec3(0.0, 0.0, 0.0)
    if tangential <= friction * f.z:
        return f
    z = (f.z + friction * tangential) / (1.0 + friction * friction)
    return Vec3(friction * z / tangential * f.x, friction * z / tangential * f.y, z)


@kernel
def gradient_step(problem, stiffness):
    """Projected gradient step from the extrapolated forces. Returns whether the step length fits, the stationarity, whether to restart."""
    curvature = bound = stationarity = uphill = 0.0
    sum_corner_forces(problem, 2)
    update_velocities(problem)
    for r in range(problem.count[NUM_ROWS]):
        problem.best_w[r], problem.solution[r] = problem.w[r], problem.u[r]
    for p in range(problem.count[NUM_CONTACTS]):
        u = contact_vector(problem, problem.u, p)
        for j in range(problem.corners[p]):
            extrapolated, previous = (
                vec3(problem.corner_force, force_slot(problem, 2, p, j)),
                vec3(problem.corner_force, force_slot(problem, 1, p, j)),
            )
            compliance = corner_compliance(problem, p, j)
            v = corner_velocity(problem, p, j, u)
            f = project_onto_cone(extrapolated - (1.0 / (stiffness * compliance)) * v, problem.friction[p])
            put_vec3(problem.corner_force, force_slot(problem, 0, p, j), f)
            step = f - extrapolated
            bound += stiffness * compliance * (step @ step)
            uphill -= compliance * (step @ (f - previous))
            residual_force = extrapolated - project_onto_cone(extrapolated - (1.0 / compliance) * v, problem.friction[p])
            stationarity = max(stationarity, compliance * math.sqrt(residual_force @ residual_force))
    sum_corner_forces(problem, 0)
    update_velocities(problem)
    for r in range(problem.count[NUM_ROWS]):
        curvature += (problem.w[r] - problem.best_w[r]) * (problem.u[r] - problem.solution[r])
    return curvature <= bound * (1.0 + 1e-9) + 1e-300, stationarity, uphill > 0.0


@kernel
def extrapolate(problem, momentum):
    """Nesterov extrapolation: the present forces become the previous ones."""
    for p in range(problem.count[NUM_CONTACTS]):
        for j in range(problem.corners[p]):
            present, previous = (
                vec3(problem.corner_force, force_slot(problem, 0, p, j)),
                vec3(problem.corner_force, force_slot(problem, 1, p, j)),
            )
            put_vec3(problem.corner_force, force_slot(problem, 2, p, j), present + momentum * (present - previous))
            put_vec3(problem.corner_force, force_slot(problem, 1, p, j), present)


@kernel
def scale_to_min_energy(problem):
    """Scale the forces to the least energy, which is never more than there was. Returns whether all are finite."""
    gain = stiffness = 0.0
    for r in range(problem.count[NUM_ROWS]):
        gain -= problem.w[r] * problem.u0[r]
        stiffness += problem.w[r] * (problem.u[r] - problem.u0[r])
    scale = gain / stiffness if gain > 0.0 and stiffness > 0.0 else 0.0
    for r in range(problem.count[NUM_ROWS]):
        problem.w[r] = scale * problem.w[r] if scale > 0.0 else 0.0
    update_velocities(problem)
    return abs(gain) + abs(stiffness) < math.inf


@by_address
def convex_relaxation(key, problem_key, unused, again):
    """Forces w and velocities u of the convex problem; the residual is the stationarity error [m/s].

    ``again`` is 1 if the same problem, except for u0, was just solved here: its corner forces are the start.
    """
    (problem,) = open_problem(problem_key)
    limit_work(problem, RELAXATION_SHARE)
    if again:
        extrapolate(problem, 0.0)
    else:
        for i in range(problem.corner_force.shape[0]):
            problem.corner_force[i, 0] = problem.corner_force[i, 1] = problem.corner_force[i, 2] = 0.0
    stiffness, theta, error = 1.0, 1.0, math.inf
    for n in range(MAX_ITERATIONS):
        if n >= MIN_ITERATIONS and search_exhausted(problem):
            break
        add_work(problem, 2.0 * product_work(problem))
        fits, error, uphill = gradient_step(problem, stiffness)
        if not fits:
            stiffness *= 2.0
            continue
        if error <= STATIONARITY_TOLERANCE:
            break
        if uphill:
            theta = 1.0
        after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        extrapolate(problem, (theta - 1.0) / after)
        theta = after
    problem.residual[0] = error if scale_to_min_energy(problem) else math.inf
    return OK
