"""Contact patches as rows of the constraint set, and the coupled contact problem in their Delassus matrix.

A patch is a virtual link [DF] IV: a constraint of three, five or six rows along its own axes, behind all permanent constraints. Those
are eliminated by a Schur complement, which leaves the response of contact rows to contact forces with the constraints held.

A joint near its limit is a contact of one row under the same law, its gap the distance to the limit.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, index, kernel, outlined, struct_opener
from brachiate.constraints.arrays import CONSTRAINTS, CONTACT, CONTACTS, GENERAL_JOINT, JOINT_LIMIT, ROWS, ROWS_WITH_CONTACTS
from brachiate.constraints.limit_rows import cone_row, loop_limit_row
from brachiate.constraints.limits import LimitArrays, distance_to_limit
from brachiate.constraints.solve import (
    add_transposed_constraint_product,
    add_transposed_product,
    multiply_constraint_rows,
    multiply_rows,
    solve_rows,
)
from brachiate.constraints.sparsity import ARRAYS_TOO_SHORT, append_contacts, clear_contacts
from brachiate.contact.arrays import NUM_CONTACTS, NUM_ROWS, STRIDE, CollisionGeometry, CollisionScratch, ContactPatches, ContactProblem
from brachiate.contact.solver.contact_law import STICKING, UNKNOWN
from brachiate.dynamics.factor import forward_sweep
from brachiate.kinematics import tree_origin
from brachiate.model.status import OK
from brachiate.spatial import Vec3, norm, put_rotation, put_vec3, rotation, vec3, vec3_at

PENETRATION_SLACK = 1e-4  # [m] penetration that is not corrected
REST_ACCELERATION = 20.0  # [m/s²] twice gravity: an approach slower than this times dt is resting contact, without rebound
LIMIT_ACTIVATION_DISTANCE = 0.01  # [rad or m] a limit is a contact from this distance on, and from farther for fast joints

DETECT = 0  # index of ContactArrays.functions


class ContactArrays(NamedTuple):
    """State of contact from step to step. Sizes: np pairs of shapes, na contacts, n rows, nq coordinates, nv velocities."""

    functions: Ints  # (1,) addresses of functions: DETECT
    margin: Floats  # (1,) [m] patches are detected up to this gap, and farther for fast shapes
    cold_start: Ints  # (1,) 1 if nothing is known of the step before
    limits_enabled: Ints  # (1,) whether joints stop at their limits
    divided: Ints  # (1,) whether steps with fast bodies are divided
    part: Floats  # (4,) of a divided step that is interrupted: PART_ELAPSED, zero for none, ... of run.py
    q_part: Floats  # (nq,) state at the start of the present part of it
    v_part: Floats  # (nv,)
    face_part: Ints  # (np,) and faces on which boxes of every pair were
    kept_values: Floats  # start of a step that may be made again: see step_control.py
    kept_numbers: Ints
    gap_time: Floats  # (1,) [s] from the midpoint to the next one: gaps must not close before
    swept_time: Floats  # (1,) [s] from the midpoint, within which fast shapes collide; zero in parts of a step without an impact
    fast_speed: Floats  # (1,) [m/s] above which shapes are fast; infinite if impacts were not searched for
    predicted_acceleration: Floats  # (nv,) accelerations predicted for the step; of floating roots as seen from fixed axes
    contact_acceleration: Floats  # (nv,) part of contact in the accelerations of the step before
    v_start: Floats  # (nv,) velocities at the start of the step, along the axes of its midpoint
    v_mid: Floats  # (nv,) velocities predicted at the midpoint
    half_jump: Floats  # (nv,) half of the velocity jump at the midpoint; zero without a jump
    jump_bias: Floats  # (nv,) [N·m or N] extra bias forces of this jump: see time_step.py
    v_free: Floats  # (nv,) velocities at the end of the step without contact forces
    friction: Floats  # (np,) kinetic friction coefficient
    static_friction: Floats  # (np,) static friction coefficient
    restitution: Floats  # (np,) coefficient of restitution
    restitution_scale: Floats  # (1,) of all of them in this step: below one where they would add energy
    rebounds: Ints  # (1,) number of patches that rebound in this step
    stiffness: Floats  # (np,) [N/m] of compliant contact; 0: rigid
    damping: Floats  # (np,) [N·s/m]
    torsion_scale: Floats  # (np,) factor of the torsional friction length
    last_dt: Floats  # (1,) [s] length of the step before
    old_count: Ints  # (1,) contacts of the step before; old_...: their identities, rows, modes and impulses
    new_pair: Ints  # (na,) identities of the contacts of this step
    new_feature: Ints  # (na,)
    new_corners: Ints  # (na,)
    old_pair: Ints  # (na,) pair of shapes; -1 - n for joint limit n
    old_feature: Ints  # (na,)
    old_corners: Ints  # (na,)
    old_row_start: Ints  # (na,)
    old_normal_mode: Ints  # (na,)
    old_tangential_mode: Ints  # (na,)
    old_w: Floats  # (n,)
    twist_wanted: Ints  # (1,) whether to record
    twist: Floats  # (n,) [m/s, rad/s] of contact rows, at the midpoint with the velocities of the end
    limit_index: Ints  # (na,) joint limit that a contact of the problem is, -1 for patches
    limit_distance: Floats  # (na,) [rad or m] distance to it
    penetration: Floats  # (1,) [m] largest penetration
    stuck_pair: Ints  # (1,) pair that penetrates most, of those that positional correction tries to separate
    stuck_depth: Floats  # (1,) [m] its depth when it was last seen to shrink
    stuck_travel: Floats  # (1,) [rad or m] that a coordinate could have moved by correction since then
    # since the last sample of the log
    max_penetration: Floats  # (1,) [m] largest penetration
    max_residual: Floats  # (1,) [m/s] largest residual of the contact law
    hardest_method: Ints  # (1,) hardest method that was needed: METHOD_WARM_START ... UNSOLVED


open_contact = struct_opener(CollisionGeometry, ContactPatches, CollisionScratch, ContactProblem, ContactArrays, LimitArrays)


@kernel
def patch_rows(corners):
    """Number of rows of a patch with so many corners: 3 of a point, 5 of a segment, 6 of a polygon."""
    return 3 if corners == 1 else 5 if corners == 2 else 6


@kernel
def put_patch(T, W, cons, geometry, patches, a, i):
    """Make patch a constraint i. Returns whether it is between the same bodies as the constraint stored there before."""
    first, second = geometry.body[geometry.pair[patches.pair[a], 0]], geometry.body[geometry.pair[patches.pair[a], 1]]
    rows = patch_rows(patches.corners[a])
    unchanged = cons.kind[i] == CONTACT and cons.first[i] == first and cons.second[i] == second and cons.rows[i] == rows
    cons.kind[i], cons.form[i], cons.owner[i] = CONTACT, GENERAL_JOINT, -1
    cons.first[i], cons.second[i], cons.rows[i] = first, second, rows
    P, zero = vec3(patches.P, a), Vec3(0.0, 0.0, 0.0)
    put_vec3(cons.P_first, i, P - tree_origin(T, W, first) if first >= 0 else zero)
    put_vec3(cons.P_second, i, P - tree_origin(T, W, second) if second >= 0 else zero)
    put_rotation(cons.R_second, i, rotation(patches.R, a))
    return unchanged


@kernel
def put_limit(cons, limits, n, i):
    """Make joint limit n constraint i. Returns whether it is on the same coordinate as the constraint stored there before."""
    j = limits.owner[n]
    unchanged = cons.kind[i] == limits.kind[n] and cons.v_index[i] == limits.v_index[n] and cons.owner[i] == j
    cons.kind[i], cons.form[i], cons.owner[i], cons.driver_v_index[i] = limits.kind[n], GENERAL_JOINT, j, -1
    if j >= 0:
        unchanged = unchanged and cons.first[i] == cons.first[j] and cons.second[i] == cons.second[j]
        cons.first[i], cons.second[i] = cons.first[j], cons.second[j]
    cons.v_index[i], cons.q_index[i], cons.polynomial[i, 0] = limits.v_index[n], limits.q_index[n], limits.bound[n]
    cons.target[i, 0], cons.target[i, 1], cons.target[i, 2] = limits.axis[n, 0], limits.axis[n, 1], limits.axis[n, 2]
    return unchanged


@kernel
def approach_speed(W, limits, n):
    """Upper bound of the speed at which limit n is approached; for a loop joint twice the sum of all other speeds."""
    if limits.owner[n] >= 0:
        speed = 0.0
        for k in range(W.v.shape[0]):
            speed += 2.0 * abs(W.v[k])
        return speed
    k = limits.v_index[n]
    return max(-limits.side[n] * W.v[k], 0.0) if limits.kind[n] == JOINT_LIMIT else norm(vec3_at(W.v, k))


@outlined
def assemble_contacts(T, W, cons, geometry, patches, contact, limits):
    """Append patches and nearby joint limits to the constraint set, behind the permanent constraints. Returns a status.

    Rows are renumbered only if the contacts differ from those of the step before.
    """
    patch_count, first_contact = patches.count[0], cons.kind.shape[0] - contact.limit_index.shape[0]
    contacts, unchanged = 0, True
    for a in range(patch_count):
        i = first_contact + contacts
        unchanged = put_patch(T, W, cons, geometry, patches, a, i) and unchanged
        cons.order[cons.count[CONSTRAINTS] + contacts], contact.limit_index[contacts] = i, -1
        contacts += 1
    for n in range(limits.kind.shape[0] if contact.limits_enabled[0] else 0):
        distance = distance_to_limit(W.q if limits.owner[n] < 0 else cons.q, limits, n)
        if distance < LIMIT_ACTIVATION_DISTANCE + 2.0 * contact.gap_time[0] * approach_speed(W, limits, n):
            if contacts == contact.limit_index.shape[0]:
                return ARRAYS_TOO_SHORT
            i = first_contact + contacts
            unchanged = put_limit(cons, limits, n, i) and unchanged
            cons.order[cons.count[CONSTRAINTS] + contacts], contact.limit_index[contacts], contact.limit_distance[contacts] = i, n, distance
            contacts += 1
    status = OK
    if contacts == 0:
        clear_contacts(cons)
    elif not unchanged or contacts != cons.count[CONTACTS]:
        status = append_contacts(T, cons, contacts)
    if status == OK:
        for a in range(patch_count, contacts):
            i = first_contact + a
            if cons.owner[i] >= 0:
                loop_limit_row(cons, i)
            elif cons.kind[i] != JOINT_LIMIT:
                cone_row(W, cons, i, cons.row[i])
    return status


@kernel
def eliminate_constraints(cons, r):
    """Eliminate permanent constraint rows from contact row r of the factored Delassus matrix cons.G."""
    row = cons.g_at[r] - cons.skyline_start[r]
    for s in range(cons.skyline_start[r], cons.count[ROWS]):
        other, x = cons.g_at[s] - cons.skyline_start[s], cons.G[index(row + s)]
        for t in range(max(cons.skyline_start[r], cons.skyline_start[s]), s):
            x -= cons.G[index(row + t)] * cons.G[index(other + t)]
        cons.G[index(row + s)] = x


@kernel
def condense_delassus(cons, problem):
    """problem.G ← Delassus matrix of the contact rows with permanent constraints held: a Schur complement."""
    constraint_rows, rows = cons.count[ROWS], cons.count[ROWS_WITH_CONTACTS] - cons.count[ROWS]
    stride = (rows + 3) // 4 * 4
    problem.count[NUM_ROWS], problem.count[STRIDE] = rows, stride
    if constraint_rows > 0:
        for r in range(constraint_rows, constraint_rows + rows):
            eliminate_constraints(cons, r)
    for i in range(rows):
        r = constraint_rows + i
        row, start = cons.g_at[r] - cons.skyline_start[r], cons.skyline_start[r]
        for j in range(i + 1):
            s = constraint_rows + j
            x = 0.0
            if s >= start:
                x = cons.G[index(row + s)]
                other = cons.g_at[s] - cons.skyline_start[s]
                for t in range(max(start, cons.skyline_start[s]), constraint_rows):
                    x -= cons.G[index(row + t)] * cons.G[index(other + t)] * cons.inverse_pivot[index(t)]
            problem.G[index(i * stride + j)] = x
            problem.G[index(j * stride + i)] = x
        for j in range(rows, stride):
            problem.G[index(i * stride + j)] = 0.0


@kernel
def negate_row(problem, r):
    """Reverse the direction of row r."""
    stride = problem.count[STRIDE]
    for j in range(problem.count[NUM_ROWS]):
        if j != r:
            problem.G[r * stride + j] = -problem.G[r * stride + j]
            problem.G[j * stride + r] = problem.G[r * stride + j]
    problem.u0[r], problem.u[r] = -problem.u0[r], -problem.u[r]


@kernel
def min_gap(patches, a):
    """Smallest gap of a patch [m]."""
    smallest = 1e300
    for j in range(patches.corners[a]):
        smallest = min(smallest, patches.gap[a, 0] + patches.gap[a, 1] * patches.V[a, j, 0] + patches.gap[a, 2] * patches.V[a, j, 1])
    return smallest


@kernel
def add_gap(problem, o, corners, g0, gx, gy, dt):
    """Add an affine gap φ to the free velocities as φ/dt: the law then demands u + φ/dt ≥ 0, no approach beyond the gap."""
    problem.u0[o + 2] += g0 / dt
    if corners == 2:
        problem.u0[o + 3] -= gx / dt
    elif corners > 2:
        problem.u0[o + 3] += gy / dt
        problem.u0[o + 4] -= gx / dt


@kernel
def normal_speed(x, o, corners, px, py):
    """Normal speed of a corner, from packed rows."""
    if corners == 1:
        return x[o + 2]
    if corners == 2:
        return x[o + 2] - px * x[o + 3]
    return x[o + 2] + py * x[o + 3] - px * x[o + 4]


@kernel
def rebounds(patches, contact, a, o, before):
    """Whether a patch closes before the next midpoint, fast enough to rebound: some corner approaches faster than resting contact could."""
    if contact.restitution[patches.pair[a]] == 0.0:
        return False
    found, time = False, contact.gap_time[0]
    for j in range(patches.corners[a]):
        x, y = patches.V[a, j, 0], patches.V[a, j, 1]
        gap = patches.gap[a, 0] + patches.gap[a, 1] * x + patches.gap[a, 2] * y
        u = normal_speed(before, o, patches.corners[a], x, y)
        found = found or (gap + time * u < 0.0 and u < -REST_ACCELERATION * time)
    return found


@kernel
def build_problem(T, cons, patches, problem, contact, limits, dt, again):
    """Fill the contact problem: Delassus matrix, free velocities, gaps, friction; warm start from the step before.

    ``again``: warm start from what this step has found already.
    """
    constraint_rows, permanent, contacts = cons.count[ROWS], cons.count[CONSTRAINTS], cons.count[CONTACTS]
    problem.count[NUM_CONTACTS] = contacts
    condense_delassus(cons, problem)
    multiply_constraint_rows(T, cons, permanent, permanent + contacts, cons.J, contact.v_free, cons.rhs)
    multiply_constraint_rows(T, cons, permanent, permanent + contacts, cons.J, contact.v_start, cons.acceleration_target)
    for r in range(problem.count[NUM_ROWS]):
        problem.u0[r], problem.u[r] = cons.rhs[constraint_rows + r], cons.acceleration_target[constraint_rows + r]
    contact.penetration[0], contact.rebounds[0] = 0.0, 0
    o = 0
    for a in range(contacts):
        problem.row_start[a] = o
        if contact.limit_index[a] < 0:
            build_patch_rows(patches, problem, contact, a, o, dt)
            if not again:
                warm_start(problem, contact, a, patches.pair[a], patches.feature[a], patches.corners[a], patch_rows(patches.corners[a]), dt)
            o += patch_rows(patches.corners[a])
        else:
            if limits.side[contact.limit_index[a]] < 0:
                negate_row(problem, o)
            problem.corners[a], problem.V[a, 0, 0], problem.V[a, 0, 1] = 1, 0.0, 0.0
            problem.friction[a], problem.static_friction[a], problem.torsion_scale[a] = 0.0, 0.0, 0.0
            problem.u0[o] += max(contact.limit_distance[a], 0.0) / contact.gap_time[0]
            if not again:
                warm_start(problem, contact, a, -1 - contact.limit_index[a], 0, 0, 1, dt)
            o += 1
    problem.row_start[contacts] = o


@kernel
def build_patch_rows(patches, problem, contact, a, o, dt):
    """Corners, friction, gap and restitution of patch a."""
    pair, corners = patches.pair[a], patches.corners[a]
    problem.corners[a] = corners
    for j in range(corners):
        problem.V[a, j, 0], problem.V[a, j, 1] = patches.V[a, j, 0], patches.V[a, j, 1]
    problem.friction[a], problem.static_friction[a], problem.torsion_scale[a] = (
        contact.friction[pair],
        contact.static_friction[pair],
        contact.torsion_scale[pair],
    )
    smallest = min_gap(patches, a)
    if contact.stiffness[pair] > 0.0:
        add_compliance(patches, problem, contact, a, o, smallest, dt)
        return
    contact.penetration[0] = max(contact.penetration[0], -smallest)
    if rebounds(patches, contact, a, o, problem.u):
        e = contact.restitution_scale[0] * contact.restitution[pair]
        contact.rebounds[0] += 1
        problem.u0[o + 2] += e * problem.u[o + 2]
        if corners >= 2:
            problem.u0[o + 3] += e * problem.u[o + 3]
        if corners > 2:
            problem.u0[o + 4] += e * problem.u[o + 4]
    else:  # penetration is not resolved by velocity, which would make bodies hop
        add_gap(problem, o, corners, patches.gap[a, 0] - min(smallest, 0.0), patches.gap[a, 1], patches.gap[a, 2], contact.gap_time[0])


@kernel
def add_compliance(patches, problem, contact, a, o, smallest, dt):
    """Compliant contact: patch a as a bed of springs and dampers, implicit in the end of the step and so stable at any stiffness.

    A force w/dt = -k (φ + dt u) - c u is u + w / (dt (k dt + c)) = -k φ / (k dt + c): the bed adds to the diagonal of G. Its moments are
    those of a bed that is equally stiff under every corner.
    """
    pair, corners, stride = patches.pair[a], patches.corners[a], problem.count[STRIDE]
    k, c = contact.stiffness[pair], contact.damping[pair]
    compliance = 1.0 / (dt * (k * dt + c))
    share = dt * k / (k * dt + c) if smallest < 0.0 else 1.0  # damping begins with the penetration
    add_gap(problem, o, corners, share * patches.gap[a, 0], share * patches.gap[a, 1], share * patches.gap[a, 2], dt)
    problem.G[(o + 2) * stride + o + 2] += compliance
    if corners == 1:
        return
    xx = yy = 0.0
    for j in range(corners):
        xx += patches.V[a, j, 0] * patches.V[a, j, 0] / corners
        yy += patches.V[a, j, 1] * patches.V[a, j, 1] / corners
    if corners == 2:
        problem.G[(o + 3) * stride + o + 3] += compliance / xx
    else:
        problem.G[(o + 3) * stride + o + 3] += compliance / yy
        problem.G[(o + 4) * stride + o + 4] += compliance / xx


@kernel
def warm_start(problem, contact, a, pair, feature, corners, rows, dt):
    """Initial modes and impulse of contact a: those of the same contact in the step before. Notes its identity for the next step."""
    problem.normal_mode[a], problem.tangential_mode[a] = UNKNOWN, STICKING
    for r in range(problem.row_start[a], problem.row_start[a] + rows):
        problem.w[r] = 0.0
    contact.new_pair[a], contact.new_feature[a], contact.new_corners[a] = pair, feature, corners
    for b in range(contact.old_count[0]):
        if contact.old_pair[b] == pair and contact.old_feature[b] == feature and contact.old_corners[b] == corners:
            problem.normal_mode[a], problem.tangential_mode[a] = contact.old_normal_mode[b], contact.old_tangential_mode[b]
            for r in range(rows):
                problem.w[problem.row_start[a] + r] = contact.old_w[contact.old_row_start[b] + r] * (dt / contact.last_dt[0])
            return


@kernel
def store_solution(problem, contact, dt):
    """Keep identities, modes and impulses of the contacts for the next step."""
    m = problem.count[NUM_CONTACTS]
    contact.old_count[0], contact.last_dt[0] = m, dt
    for a in range(m):
        contact.old_pair[a], contact.old_feature[a], contact.old_corners[a] = (
            contact.new_pair[a],
            contact.new_feature[a],
            contact.new_corners[a],
        )
        contact.old_normal_mode[a], contact.old_tangential_mode[a], contact.old_row_start[a] = (
            problem.normal_mode[a],
            problem.tangential_mode[a],
            problem.row_start[a],
        )
    for r in range(problem.row_start[m]):
        contact.old_w[r] = problem.w[r]


@kernel
def record_twists(T, W, cons, contact):
    """contact.twist ← relative velocities of the contacts; those of the problem include gaps and restitution."""
    constraint_rows, permanent = cons.count[ROWS], cons.count[CONSTRAINTS]
    multiply_constraint_rows(T, cons, permanent, permanent + cons.count[CONTACTS], cons.J, W.v, cons.acceleration_target)
    for r in range(cons.count[ROWS_WITH_CONTACTS] - constraint_rows):
        contact.twist[r] = cons.acceleration_target[constraint_rows + r]


@kernel
def contact_velocity_change(T, W, cons, problem, contact, limits, out):
    """out ← A⁻¹ Hᵀ w with constraints held: velocity change by the contact impulses w. Constraint impulses are left in cons.rhs."""
    constraint_rows, permanent, contacts = cons.count[ROWS], cons.count[CONSTRAINTS], cons.count[CONTACTS]
    for k in range(out.shape[0]):
        out[k] = 0.0
    for r in range(problem.row_start[contacts]):
        cons.rhs[constraint_rows + r] = problem.w[r]
    for a in range(contacts):
        if contact.limit_index[a] >= 0 and limits.side[contact.limit_index[a]] < 0:
            cons.rhs[constraint_rows + problem.row_start[a]] = -problem.w[problem.row_start[a]]
    add_transposed_constraint_product(T, cons, permanent, permanent + contacts, cons.Y, cons.rhs, out)
    if constraint_rows > 0:
        multiply_rows(T, cons, cons.Z, out, cons.rhs)
        for r in range(constraint_rows):
            cons.rhs[r] = -cons.rhs[r]
        solve_rows(cons, cons.rhs)
        add_transposed_product(T, cons, cons.Y, cons.rhs, out)
    forward_sweep(T, W, out)
