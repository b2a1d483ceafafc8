"""Response of links to forces of particles: the inverse operational-space inertia G = J A⁻¹ Jᵀ, constraints and closed contacts held.

A generalized force f changes velocities by A⁻¹(f + Jcᵀλ), λ such that the rows Jc of constraints do not move: a sweep through the factor
of A, as in :mod:`brachiate.constraints`. Contacts that carried force in the last step are eliminated the same way, as rows K that stay
closed: the velocity change loses its part Z (K Z)⁻¹ K, where Z is the response to Kᵀ.
"""

from __future__ import annotations

from brachiate.compiled import Key, call_address, entry, kernel, outlined
from brachiate.constraints.arrays import CONSTRAINTS, CONTACTS, DELASSUS, OPERATION, ROWS, open_constraints
from brachiate.constraints.constrained_dynamics import PREPARE_STEP
from brachiate.constraints.solve import (
    add_transposed_constraint_product,
    add_transposed_product,
    multiply_rows,
    solve_rows,
)
from brachiate.contact.solver.contact_law import STICKING
from brachiate.dynamics.factor import backward_sweep, factor, forward_sweep
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE, bias_forces, passive_forces
from brachiate.kinematics import ball_motion_columns, body_accelerations, body_velocities, forward_kinematics, tree_origin
from brachiate.model.arrays import open_model
from brachiate.model.status import OK
from brachiate.particles.coupling.arrays import CONTACT_ROWS, LINKS, MAX_CONTACT_ROWS, open_coupling
from brachiate.spatial import Force, MotionVector, Vec3, cross, motion, put_rotation, put_vec3, rotation, vec3, velocity_at

ROUND_OFF = 1e-10  # of the largest diagonal: pivots of closed contacts below are redundant


@kernel
def factor_dynamics(key, constraint_key, T, W, implicit):
    """Poses, bias forces and the factor of A at the present state, with ``implicit`` times the damping; and of the constraint rows."""
    (cons,) = open_constraints(constraint_key)
    if cons.functions[OPERATION] == 0:  # there are no constraints and no contact
        forward_kinematics(T, W)
        bias_forces(T, W)
        passive_forces(T, W, W.bias)
        ball_motion_columns(T, W)
        if T.passive[0] and implicit > 0.0:
            for k in range(W.y.shape[0]):
                W.y[k] = T.damping[k] + T.friction[k] / (W.v[k] * W.v[k] + FRICTION_SPEED_SCALE * FRICTION_SPEED_SCALE) ** 0.5
        return factor(T, W, implicit if T.passive[0] else 0.0)
    status = call_address(cons.functions[OPERATION], key, constraint_key, implicit, PREPARE_STEP)
    call_address(cons.functions[DELASSUS], key, constraint_key, 0.0, 0)
    return status


@kernel
def constrained_response(constraint_key, T, W, y):
    """y ← A⁻¹(y + Jcᵀλ) with Jc y = 0: velocity change by a generalized impulse y, constraints held."""
    (cons,) = open_constraints(constraint_key)
    backward_sweep(T, W, y)
    if cons.count[ROWS] > 0:
        multiply_rows(T, cons, cons.Z, y, cons.rhs)
        for r in range(cons.count[ROWS]):
            cons.rhs[r] = -cons.rhs[r]
        solve_rows(cons, cons.rhs)
        add_transposed_product(T, cons, cons.Y, cons.rhs, y)
    forward_sweep(T, W, y)


@outlined
def response(constraint_key, T, W, links, y):
    """y ← velocity change by a generalized impulse y, constraints and closed contacts held."""
    constrained_response(constraint_key, T, W, y)
    hold_contacts(links, y)


@kernel
def hold_contacts(links, y):
    """Remove from y what moves the rows of closed contacts: y −= Z (K Z)⁻¹ K y."""
    m, nv = links.count[CONTACT_ROWS], y.shape[0]
    for r in range(m):
        s = 0.0
        for k in range(nv):
            s += links.rows[r * nv + k] * y[k]
        for t in range(r):
            s -= links.factor[r * MAX_CONTACT_ROWS + t] * links.reaction[t]
        d = links.factor[r * MAX_CONTACT_ROWS + r]
        links.reaction[r] = s / d if d > 0.0 else 0.0
    for r in range(m - 1, -1, -1):
        d, s = links.factor[r * MAX_CONTACT_ROWS + r], links.reaction[r]
        for t in range(r + 1, m):
            s -= links.factor[t * MAX_CONTACT_ROWS + r] * links.reaction[t]
        links.reaction[r] = s / d if d > 0.0 else 0.0
    for r in range(m):
        for k in range(nv):
            y[k] -= links.responses[r * nv + k] * links.reaction[r]


@kernel
def find_closed_rows(constraint_key, T, links, contact):
    """Rows of the contacts that carried force in the last step: all rows if they stuck, else those of normal motion."""
    links.count[CONTACT_ROWS] = 0
    (cons,) = open_constraints(constraint_key)
    contacts, permanent, nv = contact.old_count[0], cons.count[CONSTRAINTS], links.force.shape[0]
    if contacts != cons.count[CONTACTS] or contact.cold_start[0] != 0:
        return
    for a in range(contacts):
        i, limit, o = cons.order[permanent + a], contact.old_pair[a] < 0, contact.old_row_start[a]
        rows = cons.rows[i]
        if not contact.old_w[o if limit else o + 2] > 0.0:
            continue
        sticks = limit or contact.old_tangential_mode[a] == STICKING
        for r in range(rows):
            tangential = r < 2 or r == 5 or (rows == 5 and r == 4)
            m = links.count[CONTACT_ROWS]
            if (tangential and not sticks) or m == MAX_CONTACT_ROWS:
                continue
            for k in range(nv):
                links.force[k] = 0.0
            for q in range(cons.count[ROWS], cons.row[i] + rows):
                links.unit[q] = 0.0
            links.unit[cons.row[i] + r] = 1.0
            add_transposed_constraint_product(T, cons, permanent + a, permanent + a + 1, cons.J, links.unit, links.force)
            for k in range(nv):
                links.rows[m * nv + k] = links.force[k]
            links.count[CONTACT_ROWS] = m + 1


@outlined
def factor_contacts(constraint_key, T, W, links, contact):
    """Responses to forces of closed contacts, and the Cholesky factor of K Z; redundant rows are left out."""
    find_closed_rows(constraint_key, T, links, contact)
    m, nv, largest = links.count[CONTACT_ROWS], links.force.shape[0], 0.0
    for r in range(m):
        for k in range(nv):
            links.force[k] = links.rows[r * nv + k]
        constrained_response(constraint_key, T, W, links.force)
        for k in range(nv):
            links.responses[r * nv + k] = links.force[k]
        s = 0.0
        for k in range(nv):
            s += links.rows[r * nv + k] * links.force[k]
        largest = max(largest, s)
    for r in range(m):
        for t in range(r + 1):
            s = 0.0
            for k in range(nv):
                s += links.rows[r * nv + k] * links.responses[t * nv + k]
            for q in range(t):
                s -= links.factor[r * MAX_CONTACT_ROWS + q] * links.factor[t * MAX_CONTACT_ROWS + q]
            if t < r:
                d = links.factor[t * MAX_CONTACT_ROWS + t]
                links.factor[r * MAX_CONTACT_ROWS + t] = s / d if d > 0.0 else 0.0
            else:
                links.factor[r * MAX_CONTACT_ROWS + r] = s**0.5 if s > ROUND_OFF * largest else 0.0


@kernel
def add_generalized_force(T, W, i, about, f, n, y):
    """y += Jᵀ w for a wrench (f, n) on body i about a point from the tree's origin."""
    F = Force(n + cross(about, f), f)
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            y[k] += motion(W.S, k) @ F
        i = T.parent[i]


@kernel
def body_twist(T, W, i, about, y):
    """Twist of body i at a point from the tree's origin, by velocities y."""
    V = MotionVector(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            V = V + y[k] * motion(W.S, k)
        i = T.parent[i]
    return velocity_at(V, about), V.w


@kernel
def put_twist(a, l, v, w):
    """Store a twist as row l."""
    a[l, 0], a[l, 1], a[l, 2] = v
    a[l, 3], a[l, 4], a[l, 5] = w


@kernel
def place_links(T, W, links):
    """Poses and twists of coupled links at the present state; velocities of bodies are up to date."""
    for l in range(links.count[LINKS]):
        i, zero = links.body[l], Vec3(0.0, 0.0, 0.0)
        if i < 0:
            put_vec3(links.x, l, zero)
            put_twist(links.V, l, zero, zero)
            for a in range(3):
                for b in range(3):
                    links.R[l, a, b] = 1.0 if a == b else 0.0
            continue
        r = vec3(W.x, i)
        put_vec3(links.x, l, tree_origin(T, W, i) + r)
        put_rotation(links.R, l, rotation(W.R, i))
        V = motion(W.V, i)
        put_twist(links.V, l, velocity_at(V, r), V.w)


@outlined
def link_responses(constraint_key, T, W, links):
    """links.G: column by column, the twists of all coupled links by a unit wrench on one of them."""
    n, nv = links.count[LINKS], links.force.shape[0]
    width = 6 * n
    for l in range(n):
        for c in range(6):
            column = 6 * l + c
            for k in range(nv):
                links.force[k] = 0.0
            if links.body[l] >= 0:
                e = Vec3(1.0 if c % 3 == 0 else 0.0, 1.0 if c % 3 == 1 else 0.0, 1.0 if c % 3 == 2 else 0.0)
                zero = Vec3(0.0, 0.0, 0.0)
                f, moment = (e, zero) if c < 3 else (zero, e)
                add_generalized_force(T, W, links.body[l], vec3(W.x, links.body[l]), f, moment, links.force)
                response(constraint_key, T, W, links, links.force)
            for m in range(n):
                v, w = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
                if links.body[m] >= 0 and links.body[l] >= 0:
                    v, w = body_twist(T, W, links.body[m], vec3(W.x, links.body[m]), links.force)
                at = 6 * m * width + column
                links.G[at], links.G[at + width], links.G[at + 2 * width] = v
                links.G[at + 3 * width], links.G[at + 4 * width], links.G[at + 5 * width] = w


@outlined
def free_accelerations(constraint_key, T, W, links):
    """links.A: accelerations of coupled links without forces of particles, constraints and closed contacts held."""
    (cons,) = open_constraints(constraint_key)
    for k in range(W.a.shape[0]):
        W.a[k] = W.tau[k] - W.bias[k]
    backward_sweep(T, W, W.a)
    if cons.count[ROWS] > 0:
        multiply_rows(T, cons, cons.Z, W.a, cons.rhs)
        for r in range(cons.count[ROWS]):
            cons.rhs[r] = -cons.gamma[r] - cons.rhs[r]
        solve_rows(cons, cons.rhs)
        add_transposed_product(T, cons, cons.Y, cons.rhs, W.a)
    forward_sweep(T, W, W.a)
    hold_contacts(links, W.a)
    body_velocities(T, W)
    body_accelerations(T, W)
    for l in range(links.count[LINKS]):
        i = links.body[l]
        if i < 0:
            put_twist(links.A, l, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
            continue
        r, V, A = vec3(W.x, i), motion(W.V, i), motion(W.A, i)
        put_twist(links.A, l, velocity_at(A, r) + cross(V.w, velocity_at(V, r)), A.w)


@entry
def update_links(key: Key, constraint_key: Key, coupling_key: Key, implicit: float):
    """Poses, twists, free accelerations and responses of the coupled links at the present state; returns a status."""
    T, W = open_model(key)
    links, _, _, _, contact = open_coupling(coupling_key)
    status = factor_dynamics(key, constraint_key, T, W, implicit)
    if status != OK:
        return status
    factor_contacts(constraint_key, T, W, links, contact)
    link_responses(constraint_key, T, W, links)
    free_accelerations(constraint_key, T, W, links)
    place_links(T, W, links)
    return OK


@kernel
def kick_links(constraint_key, T, W, links, sign):
    """W.v += response to the impulses ``sign`` links.kick at the present poses."""
    nv, some = links.force.shape[0], False
    for k in range(nv):
        links.force[k] = 0.0
    for l in range(links.count[LINKS]):
        if links.body[l] >= 0:
            f = Vec3(links.kick[l, 0], links.kick[l, 1], links.kick[l, 2])
            n = Vec3(links.kick[l, 3], links.kick[l, 4], links.kick[l, 5])
            some = some or f @ f + n @ n > 0.0
            add_generalized_force(T, W, links.body[l], vec3(W.x, links.body[l]), sign * f, sign * n, links.force)
    if some:
        response(constraint_key, T, W, links, links.force)
        for k in range(nv):
            W.v[k] += links.force[k]


@entry
def begin_rigid_step(key: Key, constraint_key: Key, coupling_key: Key, first: int, dt: float, share: float):
    """Give the impulses of a step to the links: a mean wrench as applied forces ``first`` and following, and an impulse at the start.

    A constant force moves a link by ``share`` dt² times its acceleration, ½ if the integrator is at least of second order. The impulse at
    the start, taken back at the end, makes up for the distribution of the force within the step: both ends of the step, position and
    velocity, are those of the particles' steps, if the response is constant.
    """
    T, W = open_model(key)
    links, _, _, _, _ = open_coupling(coupling_key)
    for l in range(links.count[LINKS]):
        for c in range(6):
            links.kick[l, c] = links.delayed[l, c] / dt - share * links.impulse[l, c]
    kick_links(constraint_key, T, W, links, 1.0)
    body_velocities(T, W)
    place_links(T, W, links)
    n = first
    for l in range(links.count[LINKS]):
        for c in range(6):
            links.V_start[l, c] = links.V[l, c]
        if links.body[l] < 0:
            continue
        f = Vec3(links.impulse[l, 0], links.impulse[l, 1], links.impulse[l, 2])
        moment = vec3(links.spin, l) - cross(vec3(links.path, l), f)
        W.push_body[n], W.push_in_link[n] = links.body[l], 0
        put_vec3(W.push_point, n, Vec3(0.0, 0.0, 0.0))
        W.push_force[n, 0], W.push_force[n, 1], W.push_force[n, 2] = (1.0 / dt) * f
        W.push_force[n, 3], W.push_force[n, 4], W.push_force[n, 5] = (1.0 / dt) * moment
        n += 1
    W.push_count[0] = n


@entry
def end_rigid_step(key: Key, constraint_key: Key, coupling_key: Key, first: int, dt: float, implicit: float):
    """Take back the impulse of the start; its moment, and that of the mean force, are corrected for the motion of the reference point.

    So the angular impulse on the links about the world's origin is that on the particles to the accuracy of the integrator's motion.
    """
    T, W = open_model(key)
    links, _, _, _, contact = open_coupling(coupling_key)
    W.push_count[0] = first
    for l in range(links.count[LINKS]):
        put_vec3(links.y, l, vec3(links.x, l))
    status = factor_dynamics(key, constraint_key, T, W, implicit)
    if status != OK:
        return status
    factor_contacts(constraint_key, T, W, links, contact)
    body_velocities(T, W)
    place_links(T, W, links)
    for l in range(links.count[LINKS]):
        f = Vec3(links.impulse[l, 0], links.impulse[l, 1], links.impulse[l, 2])
        kick = Vec3(links.kick[l, 0], links.kick[l, 1], links.kick[l, 2])
        v = Vec3(links.V_start[l, 0], links.V_start[l, 1], links.V_start[l, 2])
        u = Vec3(links.V[l, 0], links.V[l, 1], links.V[l, 2])
        start, end = vec3(links.y, l), vec3(links.x, l)
        # Mean of the cubic Hermite interpolation between both states
        path = 0.5 * (start + end) + (dt / 12.0) * (v - u)
        moment = cross(start - end, kick) + cross(path - vec3(links.path, l), f)
        links.kick[l, 3], links.kick[l, 4], links.kick[l, 5] = Vec3(links.kick[l, 3], links.kick[l, 4], links.kick[l, 5]) + moment
    kick_links(constraint_key, T, W, links, -1.0)
    return OK
