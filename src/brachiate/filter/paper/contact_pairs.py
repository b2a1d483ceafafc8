"""Contact pairs of the published filter [DF] IV, V-C, and collisions [DF] VI.

Some corners of a contact area of :mod:`brachiate.contact` may be off the ground. Those in contact make the pair: a face, a line or a point,
with its own frame as in [DF] fig. 3.
"""

from __future__ import annotations

import math

from brachiate.compiled import call_address, index, kernel
from brachiate.contact.arrays import NUM_CONTACTS, NUM_ROWS, STRIDE
from brachiate.contact.published.trial_and_error import initialize_states, solve_states
from brachiate.contact.stepping.contact_rows import DETECT, normal_speed, patch_rows
from brachiate.contact.stepping.time_step import max_point_speed
from brachiate.dynamics.mass import factor_mass_matrix, solve
from brachiate.filter.paper.arrays import FRICTION, NUM_COLLISION_SOLVES, STABILIZATION_RATE, TILT_ABOUT_EDGES, TIME_STEP, WIDTH
from brachiate.filter.whole_body.state import bias_acceleration, point_bias_acceleration
from brachiate.kinematics import tree_origin
from brachiate.model.status import OK, TOO_MANY_CONTACTS
from brachiate.spatial import Rotation, Vec3, cross, motion, norm, put_rotation, put_vec3, rotation, vec3, velocity_at

CONTACT_DISTANCE = 1e-3  # [m] corners nearer than this after the step are in contact
SEPARATION_SPEED = 0.05  # [m/s] unless they separate faster
IMPACT_SPEED = 0.02  # [m/s] approach speed from which a contact is a collision
LINE_MIN_LENGTH = 0.005  # [m] a shorter line is a point
SLIP_MIN_SPEED, ROTATION_MIN_SPEED = 0.02, 0.2  # [m/s], [rad/s] slower contacts are at rest; the paper has zero


@kernel
def find_pairs(data_key, contact_key, T, W, geometry, areas, contact, problem, sol):
    """Detect contact areas and make pairs of them; body velocities are up to date."""
    dt = sol.gain[TIME_STEP]
    call_address(contact.functions[DETECT], data_key, contact_key, contact.margin[0] + 2.0 * dt * max_point_speed(T, W, geometry), 0)
    problem.count[NUM_CONTACTS] = problem.count[NUM_ROWS] = 0
    if areas.count[1] > areas.count[0]:
        return TOO_MANY_CONTACTS
    for a in range(areas.count[0]):
        first, second = geometry.body[geometry.pair[areas.pair[a], 0]], geometry.body[geometry.pair[areas.pair[a], 1]]
        if first >= 0 and second >= 0:
            continue  # self-contact: the paper has contact with the environment only
        if problem.count[NUM_CONTACTS] == sol.body.shape[0]:
            return TOO_MANY_CONTACTS
        side = 1.0 if second >= 0 else -1.0
        add_pair(T, W, areas, contact, problem, sol, a, second if second >= 0 else first, side)
    return OK


@kernel
def add_pair(T, W, areas, contact, problem, sol, a, body, side):
    """Add a pair of those corners of area a that are in contact, if there are any."""
    mask, corners, center = find_contact_corners(T, W, areas, sol, a, body, side)
    if corners == 0:
        return
    i, R = problem.count[NUM_CONTACTS], rotation(areas.R, a)
    ends, last = 0, center
    x = R.x
    for j in range(areas.corners[a]):
        if mask & (1 << j):
            p = vec3(areas.P, a) + areas.V[a, j, 0] * R.x + areas.V[a, j, 1] * R.y
            if ends == 1 and corners == 2:
                x = p - last
            last, ends = p, ends + 1
    if corners == 2:
        length = norm(x)
        if length < LINE_MIN_LENGTH:
            corners, x = 1, R.x
        else:
            x = (1.0 / length) * x
            store_corner(problem, i, 0, -0.5 * length, 0.0)
            store_corner(problem, i, 1, 0.5 * length, 0.0)
    if corners == 1:
        store_corner(problem, i, 0, 0.0, 0.0)
    y = cross(R.z, x)
    if corners > 2:
        n = 0
        for j in range(areas.corners[a]):
            if mask & (1 << j):
                d = vec3(areas.P, a) + areas.V[a, j, 0] * R.x + areas.V[a, j, 1] * R.y - center
                store_corner(problem, i, n, d @ x, d @ y)
                n += 1
    store_pair(T, W, areas, contact, problem, sol, i, a, body, side, corners, center, Rotation(x, y, R.z))


@kernel
def store_corner(problem, i, j, x, y):
    """Store corner j of pair i."""
    problem.V[i, j, 0], problem.V[i, j, 1] = x, y


@kernel
def find_contact_corners(T, W, areas, sol, a, body, side):
    """Corners of an area in contact as a bit mask, their number, and their mean."""
    R, mask, corners, center = rotation(areas.R, a), 0, 0, Vec3(0.0, 0.0, 0.0)
    for j in range(areas.corners[a]):
        x, y = areas.V[a, j, 0], areas.V[a, j, 1]
        p = vec3(areas.P, a) + x * R.x + y * R.y
        separation = side * (R.z @ velocity_at(motion(W.V, body), p - tree_origin(T, W, body)))
        gap = areas.gap[a, 0] + areas.gap[a, 1] * x + areas.gap[a, 2] * y
        if gap + sol.gain[TIME_STEP] * separation < CONTACT_DISTANCE and separation < SEPARATION_SPEED:
            mask |= 1 << j
            corners += 1
            center = center + p
    return mask, corners, (1.0 / max(corners, 1)) * center


@kernel
def store_pair(T, W, areas, contact, problem, sol, i, a, body, side, corners, point, R):
    """Store pair i: frame, friction and rows."""
    pair = areas.pair[a]
    sol.area[i], sol.body[i], sol.side[i] = a, body, side
    put_vec3(sol.point, i, point)
    put_rotation(sol.axes, i, R)
    Ra, d = rotation(areas.R, a), point - vec3(areas.P, a)
    slope = areas.gap[a, 1] * Ra.x + areas.gap[a, 2] * Ra.y
    sol.gap[i, 0], sol.gap[i, 1], sol.gap[i, 2] = areas.gap[a, 0] + slope @ d, slope @ R.x, slope @ R.y
    friction = sol.gain[FRICTION]
    problem.friction[i] = contact.friction[pair] if friction < 0.0 else friction
    problem.static_friction[i] = contact.static_friction[pair] if friction < 0.0 else friction
    problem.torsion_scale[i], problem.corners[i] = contact.torsion_scale[pair], corners
    o = problem.count[NUM_ROWS]
    problem.row_start[i], problem.row_start[i + 1] = o, o + patch_rows(corners)
    problem.count[NUM_CONTACTS], problem.count[NUM_ROWS] = i + 1, o + patch_rows(corners)
    problem.count[STRIDE] = problem.u0.shape[0]
    store_rows(T, W, problem, sol, i)


@kernel
def store_rows(T, W, problem, sol, i):
    """H of pair i: relative velocity at the contact along the pair's axes [DF] eq. 8, packed."""
    width, b, o, n = sol.count[WIDTH], sol.body[i], problem.row_start[i], problem.corners[i]
    for k in range(o * width, problem.row_start[i + 1] * width):
        sol.H[k] = 0.0
    R, s, r = rotation(sol.axes, i), sol.side[i], vec3(sol.point, i) - tree_origin(T, W, b)
    last = problem.row_start[i + 1] - 1
    while b >= 0:
        for k in range(T.dof[b], T.dof[b + 1]):
            S = motion(W.S, k)
            v = velocity_at(S, r)
            sol.H[o * width + k] = s * (R.x @ v)
            sol.H[(o + 1) * width + k] = s * (R.y @ v)
            sol.H[(o + 2) * width + k] = s * (R.z @ v)
            if n > 2:
                sol.H[(o + 3) * width + k] = s * (R.x @ S.w)
            if n > 1:
                sol.H[(last - 1) * width + k] = s * (R.y @ S.w)
                sol.H[last * width + k] = s * (R.z @ S.w)
        b = T.parent[b]


@kernel
def multiply_rows(problem, sol, x, out):
    """Out ← H x."""
    width = sol.count[WIDTH]
    for r in range(problem.count[NUM_ROWS]):
        s = 0.0
        for k in range(x.shape[0]):
            s += sol.H[index(r * width + k)] * x[index(k)]
        out[r] = s


@kernel
def store_drift(T, W, problem, sol):
    """sol.drift ← Ḣ v; sol.stabilization ← -2κ H v - κ² φ with a rate κ and the gap φ, which corrects drift (not in the paper)."""
    kappa = sol.gain[STABILIZATION_RATE]
    multiply_rows(problem, sol, W.v, sol.relative_velocity)
    for i in range(problem.count[NUM_CONTACTS]):
        b, o, last = sol.body[i], problem.row_start[i], problem.row_start[i + 1] - 1
        R, s = rotation(sol.axes, i), sol.side[i]
        a, w = point_bias_acceleration(W, b, vec3(sol.point, i) - tree_origin(T, W, b)), bias_acceleration(W, b).w
        sol.drift[o], sol.drift[o + 1], sol.drift[o + 2] = s * (R.x @ a), s * (R.y @ a), s * (R.z @ a)
        if problem.corners[i] > 2:
            sol.drift[o + 3] = s * (R.x @ w)
        if problem.corners[i] > 1:
            sol.drift[last - 1], sol.drift[last] = s * (R.y @ w), s * (R.z @ w)
        for r in range(o, last + 1):
            sol.stabilization[r] = -2.0 * kappa * sol.relative_velocity[r]
        sol.stabilization[o + 2] -= kappa * kappa * sol.gap[i, 0]
        if problem.corners[i] > 2:
            sol.stabilization[o + 3] -= kappa * kappa * sol.gap[i, 2]
        if problem.corners[i] > 1:
            sol.stabilization[last - 1] += kappa * kappa * sol.gap[i, 1]


@kernel
def store_motion(problem, trial, sol):
    """trial.motion ← sliding, tilting and spinning velocities of pairs, zero below a threshold."""
    for i in range(problem.count[NUM_CONTACTS]):
        o, n, last = problem.row_start[i], problem.corners[i], problem.row_start[i + 1] - 1
        for c in range(6):
            trial.motion[i, c] = 0.0
        if math.hypot(sol.relative_velocity[o], sol.relative_velocity[o + 1]) > SLIP_MIN_SPEED:
            trial.motion[i, 0], trial.motion[i, 1] = sol.relative_velocity[o], sol.relative_velocity[o + 1]
        if n > 2 and abs(sol.relative_velocity[o + 3]) > ROTATION_MIN_SPEED:
            trial.motion[i, 3] = sol.relative_velocity[o + 3]
        if n > 1 and abs(sol.relative_velocity[last - 1]) > ROTATION_MIN_SPEED:
            trial.motion[i, 4] = sol.relative_velocity[last - 1]
        if n > 1 and abs(sol.relative_velocity[last]) > ROTATION_MIN_SPEED:
            trial.motion[i, 5] = sol.relative_velocity[last]


@kernel
def lowest_speed(problem, i, speed):
    """Smallest normal velocity over the corners of a pair."""
    lowest = 1e300
    for j in range(problem.corners[i]):
        lowest = min(lowest, normal_speed(speed, problem.row_start[i], problem.corners[i], problem.V[i, j, 0], problem.V[i, j, 1]))
    return lowest


@kernel
def resolve_collision(T, W, problem, trial, sol):
    """At a collision, change velocities by impulses that bring all pairs to rest as far as possible [DF] eq. 31-33, with restitution 0."""
    multiply_rows(problem, sol, W.v, sol.relative_velocity)
    impact = False
    for i in range(problem.count[NUM_CONTACTS]):
        impact = impact or lowest_speed(problem, i, sol.relative_velocity) < -IMPACT_SPEED
    sol.count[NUM_COLLISION_SOLVES] = 0
    for r in range(problem.count[NUM_ROWS]):
        sol.impulse[r] = 0.0
    if not impact:
        return OK
    status = factor_mass_matrix(T, W)
    if status != OK:
        return status
    n, width, stride = W.v.shape[0], sol.count[WIDTH], problem.count[STRIDE]
    for r in range(problem.count[NUM_ROWS]):
        for k in range(n):
            sol.error[k] = sol.H[r * width + k]
        solve(T, W, sol.error)
        multiply_rows(problem, sol, sol.error, problem.u)
        for c in range(problem.count[NUM_ROWS]):
            problem.G[c * stride + r] = problem.u[c]
        problem.u0[r] = sol.relative_velocity[r]
    store_motion(problem, trial, sol)
    initialize_states(problem, trial, True, sol.count[TILT_ABOUT_EDGES])
    sol.count[NUM_COLLISION_SOLVES] = solve_states(problem, trial, sol.count[TILT_ABOUT_EDGES])
    for k in range(n):
        sol.error[k] = 0.0
        for r in range(problem.count[NUM_ROWS]):
            sol.error[k] += sol.H[r * width + k] * problem.w[r]
    solve(T, W, sol.error)  # [DF] eq. 31 prints the other sign
    for k in range(n):
        W.v[k] += sol.error[k]
    for r in range(problem.count[NUM_ROWS]):
        sol.impulse[r] = problem.w[r]
    return OK
