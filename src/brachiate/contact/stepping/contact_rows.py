"""Contact areas as rows of the constraint set, and the coupled problem that follows from them.

An area is a virtual link [DF] IV: a bond of three, five or six rows along its own axes, behind all bonds that hold. Those are
eliminated: what is left is how contact rows answer to contact forces while everything that holds goes on holding.

Joints that come near a limit *stop* there by the same law: a stop is a pair of one row, its gap the room that is left.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, index, kernel, opener, outlined
from brachiate.constraints.arrays import ANY, LIMIT, ROWS, TOUCH, TOUCH_ROWS, TOUCHES, USED
from brachiate.constraints.limits import Limits, room
from brachiate.constraints.rows import cone_row, loop_limit
from brachiate.constraints.solve import solve_rows, spread, spread_of, times, times_of
from brachiate.constraints.sparsity import NEED_MORE, attach, no_touches
from brachiate.contact.arrays import PAIRS, STRIDE, Areas, Geometry, Problem, Scratch
from brachiate.contact.arrays import ROWS as ROWS_OF_ALL
from brachiate.contact.solver.contact_law import NEW, STICKS
from brachiate.dynamics.factor import down
from brachiate.kinematics import origin_of
from brachiate.model.arrays import OK
from brachiate.spatial import Vec3, norm, put_rotation, put_vec3, rotation, vec3, vec3_at

SLACK = 1e-4  # [m] inside each other by this much is not yet too much
CREEP_IN = 20.0  # [m/s²] twice gravity: what meets a surface no faster than this times the step rests, and does not bounce
NEAR = 0.01  # [rad or m] joints are stopped from this distance on to their limits, and farther if they are fast
QUICK, SLOW = 0.02, 0.1  # [rad or m in a step]; [rad/s or m/s]: what is slower is never corrected, unless it jumps
EXPECTED, MUCH = 0.005, 0.05  # of the largest velocity: what is expected may be off by so much where it matters, and elsewhere
STEADY = 0.5  # of its accelerations: contact that changes more from step to step is not steady
PUSHED_OUT, PUSHING = 0.2, 0.5  # of what is too much, in one step; [m/s] but no faster than this


class Touch(NamedTuple):
    """What contact keeps from step to step. Sizes: np pairs of shapes, na areas, n rows, nv velocities."""

    far: Ints  # (1,) address of the code that looks for areas
    margin: Floats  # (1,) [m] areas are looked for from this distance on, and farther for what is fast
    fresh: Ints  # (1,) 1 if nothing is known of the step before
    stopped: Ints  # (1,) whether joints stop at their limits
    ahead: Floats  # (nv,) accelerations that the next step is expected to begin with; those of floating roots as if their axes stood still
    contact: Floats  # (nv,) part of contact in the accelerations of the step before
    start: Floats  # (nv,) velocities at the start of the step, along the axes of its middle
    middle: Floats  # (nv,) velocities expected in its middle
    half: Floats  # (nv,) half of the difference of those after and before, where they jump there; else nothing
    parted: Floats  # (nv,) [N·m or N] torques that this difference takes: see step.py
    free: Floats  # (nv,) velocities at its end, were there no contact forces
    friction: Floats  # (np,) of sliding
    grip: Floats  # (np,) of sticking
    bounce: Floats  # (np,) restitution
    stiffness: Floats  # (np,) [N/m] of a soft surface, 0 for a hard one
    damping: Floats  # (np,) [N·s/m]
    spin: Floats  # (np,) factor of the length by which friction resists spinning
    step: Floats  # (1,) [s] length of the step before
    old_count: Ints  # (1,) areas of the step before, and then their names, where their rows are, states and impulses
    new_pair: Ints  # (na,) names of the pairs of this step
    new_feature: Ints  # (na,)
    new_corners: Ints  # (na,)
    old_pair: Ints  # (na,) which pair of shapes; -1 - n for limit n
    old_feature: Ints  # (na,)
    old_corners: Ints  # (na,)
    old_at: Ints  # (na,)
    old_area: Ints  # (na,)
    old_slip: Ints  # (na,)
    old_w: Floats  # (n,)
    noted: Ints  # (1,) whether somebody will ask for
    speed: Floats  # (n,) [m/s, rad/s] of its rows, in the middle of the step with the velocities of its end
    stop: Ints  # (na,) limit that a pair of the problem is, -1 for contact areas
    left: Floats  # (na,) [rad or m] room left before it
    depth: Floats  # (1,) [m] how deep shapes are inside each other at most
    # since the last sample of the log:
    deepest: Floats  # (1,) [m] the same
    worst: Floats  # (1,) [m/s] largest residual of the law
    way: Ints  # (1,) how forces were found, where that was hardest: a place of Problem.path


open_touch = opener(Geometry, Areas, Scratch, Problem, Touch, Limits)


@kernel
def rows_of(corners):
    """How many rows an area of so many corners has."""
    return 3 if corners == 1 else 5 if corners == 2 else 6


@kernel
def lay_area(T, W, B, Gm, A, a, i):
    """Make area a bond i; says whether it is between the same bodies as what was there before."""
    first, second = Gm.body[Gm.pair[A.pair[a], 0]], Gm.body[Gm.pair[A.pair[a], 1]]
    rows = rows_of(A.corners[a])
    same = B.kind[i] == TOUCH and B.first[i] == first and B.second[i] == second and B.rows[i] == rows
    B.kind[i], B.form[i], B.owner[i] = TOUCH, ANY, -1
    B.first[i], B.second[i], B.rows[i] = first, second, rows
    P, zero = vec3(A.P, a), Vec3(0.0, 0.0, 0.0)
    put_vec3(B.P_first, i, P - origin_of(T, W, first) if first >= 0 else zero)
    put_vec3(B.P_second, i, P - origin_of(T, W, second) if second >= 0 else zero)
    put_rotation(B.R_second, i, rotation(A.R, a))
    return same


@kernel
def lay_stop(B, L, n, i):
    """Make limit n bond i; says whether it is on the same coordinate as what was there before."""
    j = L.owner[n]
    same = B.kind[i] == L.kind[n] and B.coordinate[i] == L.coordinate[n] and B.owner[i] == j
    B.kind[i], B.form[i], B.owner[i], B.other[i] = L.kind[n], ANY, j, -1
    if j >= 0:
        same = same and B.first[i] == B.first[j] and B.second[i] == B.second[j]
        B.first[i], B.second[i] = B.first[j], B.second[j]
    B.coordinate[i], B.number[i], B.course[i, 0] = L.coordinate[n], L.number[n], L.bound[n]
    B.target[i, 0], B.target[i, 1], B.target[i, 2] = L.axis[n, 0], L.axis[n, 1], L.axis[n, 2]
    return same


@kernel
def approach(W, L, n):
    """How fast limit n may be coming nearer; a joint that closes a loop no faster than twice all others together."""
    if L.owner[n] >= 0:
        speed = 0.0
        for k in range(W.v.shape[0]):
            speed += 2.0 * abs(W.v[k])
        return speed
    k = L.coordinate[n]
    return max(-L.side[n] * W.v[k], 0.0) if L.kind[n] == LIMIT else norm(vec3_at(W.v, k))


@outlined
def lay(T, W, B, Gm, A, S, L, dt):
    """Make areas, and limits that are near, bonds behind those in use; numbers their rows anew only if they are other ones."""
    areas, first_place = A.count[0], B.kind.shape[0] - S.stop.shape[0]
    touches, same = 0, True
    for a in range(areas):
        i = first_place + touches
        same = lay_area(T, W, B, Gm, A, a, i) and same
        B.order[B.count[USED] + touches], S.stop[touches] = i, -1
        touches += 1
    for n in range(L.kind.shape[0] if S.stopped[0] else 0):
        left = room(W.q if L.owner[n] < 0 else B.q, L, n)
        if left < NEAR + 2.0 * dt * approach(W, L, n):
            if touches == S.stop.shape[0]:
                return NEED_MORE
            i = first_place + touches
            same = lay_stop(B, L, n, i) and same
            B.order[B.count[USED] + touches], S.stop[touches], S.left[touches] = i, n, left
            touches += 1
    status = OK
    if touches == 0:
        no_touches(B)
    elif not same or touches != B.count[TOUCHES]:
        status = attach(T, B, touches)
    if status == OK:
        for a in range(areas, touches):
            i = first_place + a
            if B.owner[i] >= 0:
                loop_limit(B, i)
            elif B.kind[i] != LIMIT:
                cone_row(W, B, i, B.row[i])
    return status


@kernel
def eliminate_holds(B, r):
    """What contact row r has in common with the rows that hold, freed of each other, in its part of G."""
    row = B.g_at[r] - B.meets[r]
    for s in range(B.meets[r], B.count[ROWS]):
        other, x = B.g_at[s] - B.meets[s], B.G[index(row + s)]
        for t in range(max(B.meets[r], B.meets[s]), s):
            x -= B.G[index(row + t)] * B.G[index(other + t)]
        B.G[index(row + s)] = x


@kernel
def condense(B, P):
    """P.G ← what contact rows answer to contact forces, the rows that hold being held: a Schur complement."""
    holds, rows = B.count[ROWS], B.count[TOUCH_ROWS] - B.count[ROWS]
    stride = (rows + 3) // 4 * 4
    P.count[ROWS_OF_ALL], P.count[STRIDE] = rows, stride
    if holds > 0:
        for r in range(holds, holds + rows):
            eliminate_holds(B, r)
    for i in range(rows):
        r = holds + i
        row, start = B.g_at[r] - B.meets[r], B.meets[r]
        for j in range(i + 1):
            s = holds + j
            x = 0.0
            if s >= start:
                x = B.G[index(row + s)]
                other = B.g_at[s] - B.meets[s]
                for t in range(max(start, B.meets[s]), holds):
                    x -= B.G[index(row + t)] * B.G[index(other + t)] * B.pivot[index(t)]
            P.G[index(i * stride + j)] = x
            P.G[index(j * stride + i)] = x
        for j in range(rows, stride):
            P.G[index(i * stride + j)] = 0.0


@kernel
def turn_row(P, r):
    """Count a row the other way round."""
    stride = P.count[STRIDE]
    for j in range(P.count[ROWS_OF_ALL]):
        if j != r:
            P.G[r * stride + j] = -P.G[r * stride + j]
            P.G[j * stride + r] = P.G[r * stride + j]
    P.u0[r], P.u[r] = -P.u0[r], -P.u[r]


@kernel
def lowest(A, a):
    """The smallest gap of an area."""
    least = 1e300
    for j in range(A.corners[a]):
        least = min(least, A.gap[a, 0] + A.gap[a, 1] * A.V[a, j, 0] + A.gap[a, 2] * A.V[a, j, 1])
    return least


@kernel
def add_gap(P, o, corners, g0, gx, gy, dt):
    """Let speeds into the gap be free as long as the gap lasts: u + φ/dt must not be negative, φ being affine."""
    P.u0[o + 2] += g0 / dt
    if corners == 2:
        P.u0[o + 3] -= gx / dt
    elif corners > 2:
        P.u0[o + 3] += gy / dt
        P.u0[o + 4] -= gx / dt


@kernel
def normal_speed(x, o, corners, px, py):
    """Speed along the normal of a corner, from packed rows."""
    if corners == 1:
        return x[o + 2]
    if corners == 2:
        return x[o + 2] - px * x[o + 3]
    return x[o + 2] + py * x[o + 3] - px * x[o + 4]


@kernel
def bounces(A, S, a, o, before, dt):
    """Whether an area closes within this step and is to rebound: some corner meets the surface faster than it could by resting."""
    if S.bounce[A.pair[a]] == 0.0:
        return False
    hit = False
    for j in range(A.corners[a]):
        x, y = A.V[a, j, 0], A.V[a, j, 1]
        gap = A.gap[a, 0] + A.gap[a, 1] * x + A.gap[a, 2] * y
        u = normal_speed(before, o, A.corners[a], x, y)
        hit = hit or (gap + dt * u < 0.0 and u < -CREEP_IN * dt)
    return hit


@kernel
def pose_problem(T, W, B, A, P, S, L, dt, again):
    """Fill the coupled problem: G, speeds without contact forces, gaps, friction; to start from, what the step before found.

    ``again``: what this step found already.
    """
    holds, used, touches = B.count[ROWS], B.count[USED], B.count[TOUCHES]
    P.count[PAIRS] = touches
    condense(B, P)
    times_of(T, B, used, used + touches, B.J, S.free, B.rhs)
    times_of(T, B, used, used + touches, B.J, S.start, B.goal)
    for r in range(P.count[ROWS_OF_ALL]):
        P.u0[r], P.u[r] = B.rhs[holds + r], B.goal[holds + r]
    S.depth[0] = 0.0
    o = 0
    for a in range(touches):
        P.at[a] = o
        if S.stop[a] < 0:
            pose_area(A, P, S, a, o, dt)
            if not again:
                remember_pair(P, S, a, A.pair[a], A.feature[a], A.corners[a], rows_of(A.corners[a]), dt)
            o += rows_of(A.corners[a])
        else:
            if L.side[S.stop[a]] < 0:
                turn_row(P, o)
            P.corners[a], P.V[a, 0, 0], P.V[a, 0, 1] = 1, 0.0, 0.0
            P.friction[a], P.grip[a], P.spin[a] = 0.0, 0.0, 0.0
            P.u0[o] += max(S.left[a], 0.0) / dt
            if not again:
                remember_pair(P, S, a, -1 - S.stop[a], 0, 0, 1, dt)
            o += 1
    P.at[touches] = o


@kernel
def pose_area(A, P, S, a, o, dt):
    """Corners, friction, gap and rebound of area a."""
    pair, corners = A.pair[a], A.corners[a]
    P.corners[a] = corners
    for j in range(corners):
        P.V[a, j, 0], P.V[a, j, 1] = A.V[a, j, 0], A.V[a, j, 1]
    P.friction[a], P.grip[a], P.spin[a] = S.friction[pair], S.grip[pair], S.spin[pair]
    least = lowest(A, a)
    if S.stiffness[pair] > 0.0:
        soften(A, P, S, a, o, least, dt)
        return
    S.depth[0] = max(S.depth[0], -least)
    if bounces(A, S, a, o, P.u, dt):
        e = S.bounce[pair]
        P.u0[o + 2] += e * P.u[o + 2]
        if corners >= 2:
            P.u0[o + 3] += e * P.u[o + 3]
        if corners > 2:
            P.u0[o + 4] += e * P.u[o + 4]
    else:  # what is inside each other already is not pushed out by speed, which would make it hop
        add_gap(P, o, corners, A.gap[a, 0] - min(least, 0.0), A.gap[a, 1], A.gap[a, 2], dt)


@kernel
def soften(A, P, S, a, o, least, dt):
    """Let area a give way as a bed of springs and dampers would, all of it at the end of the step: stable however stiff it is.

    A force w/dt = -k (φ + dt u) - c u is u + w / (dt (k dt + c)) = -k φ / (k dt + c), so the bed adds to the diagonal of G. Moments
    are those of the bed: it is as stiff under every corner.
    """
    pair, corners, stride = A.pair[a], A.corners[a], P.count[STRIDE]
    k, c = S.stiffness[pair], S.damping[pair]
    give = 1.0 / (dt * (k * dt + c))
    share = dt * k / (k * dt + c) if least < 0.0 else 1.0  # dampers begin where the springs do
    add_gap(P, o, corners, share * A.gap[a, 0], share * A.gap[a, 1], share * A.gap[a, 2], dt)
    P.G[(o + 2) * stride + o + 2] += give
    if corners == 1:
        return
    xx = yy = 0.0
    for j in range(corners):
        xx += A.V[a, j, 0] * A.V[a, j, 0] / corners
        yy += A.V[a, j, 1] * A.V[a, j, 1] / corners
    if corners == 2:
        P.G[(o + 3) * stride + o + 3] += give / xx
    else:
        P.G[(o + 3) * stride + o + 3] += give / yy
        P.G[(o + 4) * stride + o + 4] += give / xx


@kernel
def remember_pair(P, S, a, pair, feature, corners, rows, dt):
    """Start from the state and the impulse that the same pair had in the step before; keep its name for the next one."""
    P.area[a], P.slip[a] = NEW, STICKS
    for r in range(P.at[a], P.at[a] + rows):
        P.w[r] = 0.0
    S.new_pair[a], S.new_feature[a], S.new_corners[a] = pair, feature, corners
    for b in range(S.old_count[0]):
        if S.old_pair[b] == pair and S.old_feature[b] == feature and S.old_corners[b] == corners:
            P.area[a], P.slip[a] = S.old_area[b], S.old_slip[b]
            for r in range(rows):
                P.w[P.at[a] + r] = S.old_w[S.old_at[b] + r] * (dt / S.step[0])
            return


@kernel
def strength(S):
    """The largest acceleration that contact gave in the step before."""
    size = 0.0
    for k in range(S.contact.shape[0]):
        size = max(size, abs(S.contact[k]))
    return size


@kernel
def hits(S, z, dt):
    """Whether contact does something else than in the step before: something has hit something."""
    size, found = strength(S), False
    for k in range(z.shape[0]):
        found = found or abs(z[k] / dt - S.contact[k]) > STEADY * size
    return found


@kernel
def astray(S, z, dt, jumped):
    """Whether velocities in the middle are other ones than expected, and have jumped, or are quick, or are off by much."""
    most, off = 0.0, 0.0
    for k in range(z.shape[0]):
        most = max(most, abs(S.middle[k]))
        off = max(off, abs(0.5 * (S.start[k] + S.free[k] + z[k]) - S.middle[k]))
    return off > EXPECTED * most and (jumped or most * dt > QUICK or (most > SLOW and off > MUCH * most))


@kernel
def look_ahead(S, z, dt):
    """Accelerations to expect of the next step: those of this one with what contact does, where that is about what it did before.

    Where it is not, nothing is expected. Without contact, forces that it withstands would be expected to move light limbs at any
    speed.
    """
    size = strength(S)
    for k in range(z.shape[0]):
        now = z[k] / dt
        S.ahead[k] = S.ahead[k] + now if abs(now - S.contact[k]) <= STEADY * size else 0.0
        S.contact[k] = now


@kernel
def keep_pairs(P, S, dt):
    """Keep what was found for the next step."""
    m = P.count[PAIRS]
    S.old_count[0], S.step[0] = m, dt
    for a in range(m):
        S.old_pair[a], S.old_feature[a], S.old_corners[a] = S.new_pair[a], S.new_feature[a], S.new_corners[a]
        S.old_area[a], S.old_slip[a], S.old_at[a] = P.area[a], P.slip[a], P.at[a]
    for r in range(P.at[m]):
        S.old_w[r] = P.w[r]


@kernel
def note_speeds(T, W, B, S):
    """Keep how areas move against each other: not what the problem calls speeds, where gaps and rebounds are counted in."""
    holds, used = B.count[ROWS], B.count[USED]
    times_of(T, B, used, used + B.count[TOUCHES], B.J, W.v, B.goal)
    for r in range(B.count[TOUCH_ROWS] - holds):
        S.speed[r] = B.goal[holds + r]


@kernel
def pushed(T, W, B, P, S, L, out):
    """Out ← A⁻¹ Hᵀ w, everything that holds being held: what the contact forces do to velocities."""
    holds, used, touches = B.count[ROWS], B.count[USED], B.count[TOUCHES]
    for k in range(out.shape[0]):
        out[k] = 0.0
    for r in range(P.at[touches]):
        B.rhs[holds + r] = P.w[r]
    for a in range(touches):
        if S.stop[a] >= 0 and L.side[S.stop[a]] < 0:
            B.rhs[holds + P.at[a]] = -P.w[P.at[a]]
    spread_of(T, B, used, used + touches, B.Y, B.rhs, out)
    if holds > 0:
        times(T, B, B.Z, out, B.rhs)
        for r in range(holds):
            B.rhs[r] = -B.rhs[r]
        solve_rows(B, B.rhs)
        spread(T, B, B.Y, B.rhs, out)
    down(T, W, out)
