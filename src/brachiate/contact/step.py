"""One step of a world in which things touch: velocities at midpoint geometry, contact, collision and margin as one problem.

The middle of a step is where everything is looked at: between two middles the motion is one straight piece, so gaps closed there
stay closed, and sliding, rolling and bouncing come out exactly.
"""

from __future__ import annotations

from brachiate.compiled import call_at, kernel, outlined
from brachiate.constraints.motion import ACCELERATE, ARRIVE, GO_ON, weakness
from brachiate.constraints.rooms import HOLD, RELATE, ROWS, TOUCHES, open_bonds
from brachiate.constraints.solve import times
from brachiate.constraints.structure import no_touches
from brachiate.contact.detect import detect
from brachiate.contact.solve import solve
from brachiate.contact.rooms import PLANE
from brachiate.contact.touch import PAIRS, PUSHED_OUT, SLACK, add_gap, keep_pairs, lay, lowest, open_touch, pose_problem, pushed
from brachiate.manifold import integrate
from brachiate.model.rooms import OK, open_rooms
from brachiate.spatial import motion, norm, rotation, vec3, velocity_at

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
def push_out(T, W, B, A, P, S, L):
    """Move what is too deep inside each other apart, by the least motion, without a trace in velocities."""
    for a in range(P.count[PAIRS]):
        o = P.at[a]
        for r in range(o, P.at[a + 1]):
            P.u0[r], P.w[r] = 0.0, 0.0
        P.friction[a], P.grip[a], P.area[a], P.slip[a] = 0.0, 0.0, -1, 0
        if S.stop[a] >= 0:
            P.u0[o] = max(S.left[a], 0.0)
            continue
        least = lowest(A, a)
        deep = least < -SLACK
        share = PUSHED_OUT if deep else 1.0
        add_gap(P, o, P.corners[a], share * (A.gap[a, 0] + (SLACK if deep else -min(least, 0.0))), share * A.gap[a, 1], share * A.gap[a, 2], 1.0)
    solve(P)
    pushed(T, W, B, P, S, L, B.z)
    integrate(T, W.q, B.z, 1.0, W.q)


@outlined
def touching_step(key, held, touch, dt):
    """Advance the state (W.q, W.v) by dt under the torques W.tau, contact impulses included."""
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    Gm, A, P, S, L = open_touch(touch)
    nv = W.v.shape[0]
    if S.fresh[0]:
        no_touches(B)
        status = call_at(B.far[HOLD], key, held, 0.0, ACCELERATE)
        if status != OK:
            return status
        for k in range(nv):
            S.smooth[k] = W.a[k]
        S.fresh[0], S.old_count[0] = 0, 0
    for k in range(nv):
        S.start[k] = W.v[k]
    integrate(T, W.q, W.v, 0.5 * dt, W.q)
    for k in range(nv):  # forces that grow with the square of velocities are those of the middle, too
        W.v[k] += 0.5 * dt * S.smooth[k]
    status = call_at(B.far[HOLD], key, held, dt, ARRIVE)
    margin = S.margin[0] + 2.0 * dt * fastest(T, W, Gm)
    for k in range(nv):
        W.v[k] = S.start[k]
    if status != OK:
        return status
    detect(T, W, Gm, A, margin)
    if A.count[1] > A.count[0] or lay(T, W, B, Gm, A, S, L, dt) != OK:
        return CROWDED
    call_at(B.far[RELATE], key, held, weakness(W, B), 1)
    if B.count[ROWS] > 0:  # they were those of the middle
        times(T, B, B.J, W.v, B.speed)
    status = call_at(B.far[HOLD], key, held, dt, GO_ON)
    if status != OK:
        return status
    for k in range(nv):
        S.smooth[k] = W.a[k]
        S.free[k] = W.v[k] + dt * W.a[k]
        W.v[k] = S.free[k]
    if B.count[TOUCHES] > 0:
        pose_problem(T, W, B, A, P, S, L, dt)
        solve(P)
        S.worst[0] = max(S.worst[0], P.residual[0])
        keep_pairs(P, S, dt)
        pushed(T, W, B, P, S, L, B.z)
        for k in range(nv):
            W.v[k] += B.z[k]
            W.a[k] = (W.v[k] - S.start[k]) / dt
        if S.depth[0] > SLACK:
            push_out(T, W, B, A, P, S, L)
    else:
        S.old_count[0] = 0
    integrate(T, W.q, W.v, 0.5 * dt, W.q)
    return OK
