"""One step of a world in which things touch: velocities at midpoint geometry, contact, collision and margin as one problem.

The middle of a step is where everything is looked at: between two middles the motion is one straight piece, so gaps closed there
stay closed, and sliding, rolling and bouncing come out exactly.
"""

from __future__ import annotations

from brachiate.compiled import call_at, kernel, outlined
from brachiate.constraints.arrays import HOLD, RELATE, ROWS, TOUCHES, open_bonds
from brachiate.constraints.constrained_dynamics import ARRIVE, GO_ON, weakness
from brachiate.constraints.solve import times
from brachiate.contact.arrays import PAIRS, PLANE, SOLVE, WAY
from brachiate.contact.solver.contact_law import NEW, STICKS
from brachiate.contact.stepping.contact_rows import (
    PUSHED_OUT,
    PUSHING,
    SLACK,
    add_gap,
    astray,
    hits,
    keep_pairs,
    lay,
    look_ahead,
    lowest,
    note_speeds,
    open_touch,
    pose_problem,
    pushed,
)
from brachiate.dynamics.inverse import braking, gather, move_body
from brachiate.kinematics import zero_motion
from brachiate.manifold import coast, floats_freely, integrate
from brachiate.model.arrays import OK, open_rooms
from brachiate.spatial import Vec3, cross, motion, norm, put_vec3_at, rotation, vec3, vec3_at, velocity_at

PASSES = 4  # at most so often velocities in the middle of a step are expected anew
CROWDED = 13  # status: more touches than there is room for; Areas.count says how many


@kernel
def fastest(T, W, Gm):
    """A speed that no point of any shape exceeds."""
    most = 0.0
    for g in range(Gm.kind.shape[0]):
        i = Gm.body[g]
        if i >= 0 and Gm.kind[g] < PLANE:
            V = motion(W.V, i)
            most = max(most, norm(velocity_at(V, vec3(W.x, i) + rotation(W.R, i) @ vec3(Gm.p, g))) + norm(V.w) * Gm.reach[g])
    return most


@kernel
def push_out(key, problem, T, W, B, A, P, S, L, dt):
    """Move what is too deep inside each other apart, by the least motion, without a trace in velocities."""
    for a in range(P.count[PAIRS]):
        o = P.at[a]
        for r in range(o, P.at[a + 1]):
            P.u0[r], P.w[r] = 0.0, 0.0
        P.friction[a], P.grip[a], P.area[a], P.slip[a] = 0.0, 0.0, NEW, STICKS
        if S.stop[a] >= 0:
            P.u0[o] = max(S.left[a], 0.0)
            continue
        least = lowest(A, a)
        deep = least < -SLACK and S.stiffness[A.pair[a]] == 0.0
        share = min(PUSHED_OUT, PUSHING * dt / -least) if deep else 1.0
        gap = share * (A.gap[a, 0] + (SLACK if deep else -min(least, 0.0)))
        add_gap(P, o, P.corners[a], gap, share * A.gap[a, 1], share * A.gap[a, 2], 1.0)
    call_at(P.far[SOLVE], key, problem, 0.0, 0)
    pushed(T, W, B, P, S, L, B.z)
    integrate(T, W.q, B.z, 1.0, W.q)


@kernel
def add_carried(T, v, part, a):
    """a += ``part`` of what is seen of the velocities v of floating roots from axes that turn with them: ω × v."""
    for e in range(T.kind.shape[0]):
        if floats_freely(T, e):
            k = T.v_at[e]
            put_vec3_at(a, k, vec3_at(a, k) + part * cross(vec3_at(v, k + 3), vec3_at(v, k)))


@outlined
def part(T, W, S):
    """Torques S.parted by which inertia asks for more, if velocities jump in the middle of a step, than their mean does.

    Half of the step goes with those before, half with those after. What is quadratic, as inertia is, has for both together as much as
    for the mean, and for half their difference S.half on top: what spins fast would gain or lose energy without it.
    """
    gravity = Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    W.gravity[0] = W.gravity[1] = W.gravity[2] = 0.0
    for k in range(W.v.shape[0]):
        W.v[k] = S.half[k]
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, zero_motion())
    gather(T, W, S.parted)
    W.gravity[0], W.gravity[1], W.gravity[2] = gravity


@kernel
def arrive(key, held, T, W, B, S, dt, jumps):
    """Forces and the factor in the middle of the step, with the velocities expected there: some forces grow with them.

    Dampers do not expect anything. The factor takes them as they are at the end of the step, however strong, if they start from
    its start. ``jumps``: expected velocities are known to be the mean of others before and after.
    """
    for k in range(W.v.shape[0]):
        S.half[k] = 0.5 * dt * S.ahead[k] if jumps else 0.0
    if jumps:
        part(T, W, S)
    for k in range(W.v.shape[0]):
        W.v[k] = S.start[k] + 0.5 * dt * S.ahead[k]
        S.middle[k] = W.v[k]
    status = call_at(B.far[HOLD], key, held, dt, ARRIVE)
    if T.passive[0]:
        for k in range(W.v.shape[0]):
            W.bias[k] += braking(T, k, S.start[k]) - braking(T, k, S.middle[k])
    if jumps:
        for k in range(W.v.shape[0]):
            W.bias[k] += S.parted[k]
    return status


@kernel
def go_on(key, held, T, W, B, S, dt, jumps):
    """Accelerations, and velocities S.free at the end of the step without contact forces, everything that holds being held."""
    nv = W.v.shape[0]
    for k in range(nv):
        W.v[k] = S.start[k]
    call_at(B.far[RELATE], key, held, weakness(W, B), 1)
    if B.count[ROWS] > 0:  # they were those of the middle, and going straight on is half as much bent as going along a screw
        for k in range(nv):
            S.free[k] = W.v[k]
        add_carried(T, S.middle, 0.5 * dt, S.free)
        times(T, B, B.J, S.free, B.speed)
    status = call_at(B.far[HOLD], key, held, dt, GO_ON)
    for k in range(nv):
        S.ahead[k] = W.a[k]
    add_carried(T, S.middle, 1.0, S.ahead)
    if jumps:
        add_carried(T, S.half, 1.0, S.ahead)
    for k in range(nv):
        S.free[k] = W.v[k] + dt * S.ahead[k]
    return status


@kernel
def meet(key, problem, T, W, B, A, P, S, L, dt, again):
    """Contact forces, and what they do to velocities, in B.z; ``again`` with other forces than those of contact in the same step."""
    pose_problem(T, W, B, A, P, S, L, dt, again)
    call_at(P.far[SOLVE], key, problem, 0.0, again)
    pushed(T, W, B, P, S, L, B.z)


@outlined
def touching_step(key, held, touch, problem, dt):
    """Advance the state (W.q, W.v) by dt under the torques W.tau, contact impulses included.

    Leaves accelerations W.a and the forces of what holds as they are on the average of the step.
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    Gm, A, _, P, S, L = open_touch(touch)
    nv, fresh = W.v.shape[0], S.fresh[0]
    coast(T, W.q, W.v, 0.5 * dt)
    for k in range(nv):
        S.start[k] = W.v[k]
    if fresh:
        for k in range(nv):  # what accelerates stiff dampers and dangling limbs now will not do so for long
            S.ahead[k], S.contact[k] = 0.0, 0.0
        S.fresh[0], S.old_count[0] = 0, 0
    found = passes = 0  # whether areas are; how often velocities in the middle were expected anew, as found with contact
    jumped = False
    while True:
        status = arrive(key, held, T, W, B, S, dt, passes)
        if status != OK:
            break
        if not found:
            call_at(S.far[0], key, touch, S.margin[0] + 2.0 * dt * fastest(T, W, Gm), 0)
            for k in range(nv):
                W.v[k] = S.start[k]
            if A.count[1] > A.count[0] or lay(T, W, B, Gm, A, S, L, dt) != OK:
                return CROWDED
            found = 1
        status = go_on(key, held, T, W, B, S, dt, passes)
        if status != OK:
            break
        if B.count[TOUCHES] > 0:
            meet(key, problem, T, W, B, A, P, S, L, dt, passes)
        else:
            for k in range(nv):
                B.z[k] = 0.0
        if passes == 0:
            jumped = fresh or hits(S, B.z, dt)
        if passes == PASSES or not ((passes == 0 and jumped) or astray(S, B.z, dt, jumped)):
            break
        passes += 1
        for k in range(nv):
            S.ahead[k] = (S.free[k] + B.z[k] - S.start[k]) / dt
    if status != OK:
        for k in range(nv):
            W.v[k] = S.start[k]
        return status
    for k in range(nv):
        W.v[k] = S.free[k]
    if B.count[TOUCHES] > 0:
        S.worst[0], S.deepest[0] = max(S.worst[0], P.residual[0]), max(S.deepest[0], S.depth[0])
        S.way[0] = max(S.way[0], P.count[WAY])
        keep_pairs(P, S, dt)
        look_ahead(S, B.z, dt)
        for k in range(nv):
            W.v[k] += B.z[k]
            W.a[k] += B.z[k] / dt
        if S.noted[0]:
            note_speeds(T, W, B, S)
        for r in range(B.count[ROWS]):
            B.force[r] += B.rhs[r] / dt
        if S.depth[0] > SLACK:
            push_out(key, problem, T, W, B, A, P, S, L, dt)
    else:
        S.old_count[0] = 0
        for k in range(nv):
            S.contact[k] = 0.0
    coast(T, W.q, W.v, 0.5 * dt)
    return OK
