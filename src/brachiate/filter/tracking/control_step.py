"""One step of the filter, as doors into compiled code: look and lead, plan if it is time, decide, carry out.

Rooms come by their keys: of the world's data and the reference's, of contact, the program, control, what is known ahead, and footing.
"""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.planner import open_plan
from brachiate.compiled import call_at, entry, kernel
from brachiate.contact.stepping.contact_rows import open_touch
from brachiate.filter.footsteps.mpc_problem import aim_at, lay_out, place_nodes
from brachiate.filter.footsteps.swing_foot import begin, follow_plan, lead, note, note_bearing, on_ground, where_it_should_be
from brachiate.filter.schedule.arrays import open_ahead, open_footing
from brachiate.filter.whole_body.arrays import CROWDED, MARGIN, open_control
from brachiate.filter.whole_body.contact_constraints import stand
from brachiate.filter.whole_body.qp import RAYS, ROWS, first_guess, open_program, optimize
from brachiate.filter.whole_body.state import dynamics, follow, measure, solve3, turned_as_a_whole
from brachiate.filter.whole_body.tasks import (
    centre_rows,
    forget_limits,
    grasp,
    keep_point,
    lead_limb,
    limit_more,
    limit_motors,
    physics,
    spare_hands,
    torque,
)
from brachiate.kinematics import accelerations, body_inertias, finite, poses, sound, velocities
from brachiate.model.arrays import NOT_FINITE, OK, open_rooms
from brachiate.spatial import Vec3, cross, put_vec3_at, vec3, vec3_at

MOST_LEAN = 1.0  # [rad] that a plan is told of


@kernel
def take_frame(W, Wr, K, S, k):
    """The world with the figure as frame k has it."""
    nq, nv = K.q_at.shape[0], K.v_at.shape[0]
    for i in range(W.q.shape[0]):
        Wr.q[i] = W.q[i]
    for i in range(W.v.shape[0]):
        Wr.v[i] = Wr.a[i] = 0.0
    for i in range(nq):
        Wr.q[K.q_at[i]] = S.q[k * nq + i]
    for i in range(nv):
        Wr.v[K.v_at[i]], Wr.a[K.v_at[i]] = S.v[k * nv + i], S.a[k * nv + i]


@kernel
def look(T, W, Wr, K):
    """Everything that is to be known of the state and the reference."""
    if not (sound(T, W.q, W.v) and sound(T, Wr.q, Wr.v) and finite(Wr.a)):
        return NOT_FINITE
    poses(T, Wr)
    body_inertias(T, Wr)
    velocities(T, Wr)
    accelerations(T, Wr)
    dynamics(T, W, K)
    measure(T, W, Wr, K)
    follow(T, W, Wr, K)
    turned_as_a_whole(T, W, K)
    return OK


@entry
def start(key, reference, control, ahead, footing, k):
    """Look at frame k, where the body is to begin, and let feet stand as it has them."""
    T, W = open_rooms(key)
    _, Wr = open_rooms(reference)
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    take_frame(W, Wr, K, S, k)
    status = look(T, W, Wr, K)
    if status == OK:
        begin(T, W, K, S, G, k)
    return status


@entry
def look_and_lead(key, reference, control, ahead, footing, k):
    """Look at the state and frame k, and say of every foot what it is to do."""
    T, W = open_rooms(key)
    _, Wr = open_rooms(reference)
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    take_frame(W, Wr, K, S, k)
    status = look(T, W, Wr, K)
    if status == OK:
        lead(K, S, G, k)
        put_vec3_at(K.kept_offset, 0, on_ground(S, vec3_at(G.shift, 0)))
    return status


@entry
def foresee(key, control, ahead, footing, plan, k, lengths, feet):
    """Lay out what is known from frame k on, and where the body is, for a plan. Returns how many intervals it has."""
    T, W = open_rooms(key)
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    _, O, P, _, _ = open_plan(plan)
    N = place_nodes(S, G, k, lengths)
    G.planned[0], G.planned[1] = N, lay_out(T, W, K, S, G, O, k, N, feet)
    rate = solve3(S.inertia, k, vec3_at(K.momentum, 0) - vec3(S.spin, k))
    put_vec3_at(P.present, 9, rate)
    for i in range(3):
        P.present[i], P.present[3 + i] = K.com[i], K.com[3 + i]
        P.present[6 + i] = min(max(K.lean[i], -MOST_LEAN), MOST_LEAN) - S.turn[k, i]
    for leg in range(feet):
        P.present[12 + 2 * leg], P.present[13 + 2 * leg] = G.offset[leg, 0], G.offset[leg, 1]
    return N


@entry
def heed(control, ahead, footing, plan, k):
    """Let the body and its feet go as planned."""
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    Wp, _, P, _, _ = open_plan(plan)
    put_vec3_at(G.centre, 0, Vec3(P.along[0, 0], P.along[0, 1], P.up[0]))
    put_vec3_at(G.cmp, 0, Vec3(P.cmp[0, 0], P.cmp[0, 1], P.s[0]))
    put_vec3_at(G.turning, 0, vec3(P.turning, 0))
    aim_at(K, S, G, k, P.landing, G.planned[1], Wp.gravity[0])
    return OK


@kernel
def find_contacts(key, touch, T, W, K, P):
    """Areas near the figure, and what they bring."""
    Gm, A, _, _, S, _ = open_touch(touch)
    call_at(S.far[0], key, touch, K.gain[MARGIN], 0)
    P.count[ROWS] = P.count[RAYS] = 0
    for m in range(K.limb.shape[0]):
        K.stands[m] = K.touched[m] = 0
        K.height[m] = 1.0
    if A.count[1] > A.count[0]:
        return CROWDED
    for a in range(A.count[0]):
        first, second = Gm.body[Gm.pair[A.pair[a], 0]], Gm.body[Gm.pair[A.pair[a], 1]]
        one, other = first >= 0 and K.members[first] == 1, second >= 0 and K.members[second] == 1
        if one == other:
            continue
        if P.count[RAYS] + 32 > P.lives.shape[0] or P.count[ROWS] + 16 > P.kind.shape[0] // 2:
            return CROWDED
        stand(T, W, K, P, Gm, A, S, a)
    return OK


@entry
def decide(key, reference, touch, program, control, footing):
    """Accelerations and forces for the next step; the state has been looked at."""
    T, W = open_rooms(key)
    _, Wr = open_rooms(reference)
    (K,) = open_control(control)
    (P,) = open_program(program)
    (G,) = open_footing(footing)
    follow_plan(K, G)
    status = find_contacts(key, touch, T, W, K, P)
    if status != OK:
        return status
    for g in range(K.grip.shape[0]):
        if P.count[RAYS] + 6 > P.lives.shape[0]:
            return CROWDED
        grasp(T, W, Wr, K, P, g)
    spare_hands(W, K, P)
    centre_rows(K, P, W)
    physics(T, W, K, P)
    for m in range(K.limb.shape[0]):
        lead_limb(T, W, Wr, K, P, m)
    for n in range(K.kept.shape[0]):
        keep_point(T, W, Wr, K, P, n)
    for k in range(W.v.shape[0]):
        P.weight[k], P.wish[k] = K.weight[k], K.wanted[k]
    first_guess(P)
    limit_motors(K, P)
    status = optimize(P)
    while status == OK and limit_more(K, P):
        status = optimize(P)
    forget_limits(K, P)
    return status


@kernel
def enact(W, K, P):
    """Torques W.tau that bring what was decided, and what that does to the body as a whole."""
    n = W.v.shape[0]
    for k in range(n):
        K.a[k] = P.a[k]
        W.tau[k] = 0.0 if K.passive[k] else min(max(torque(K, P, k), -K.effort[k]), K.effort[k])
    force, moment, c = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), vec3_at(K.com, 0)
    for j in range(P.count[RAYS]):
        f = P.rho[j] * vec3(K.along, j)
        force, moment = force + f, moment + cross(vec3(K.at, j) - c, f)
    put_vec3_at(K.got, 0, (1.0 / K.mass[0]) * force + Vec3(W.gravity[0], W.gravity[1], W.gravity[2]))
    put_vec3_at(K.got, 3, moment)


@entry
def carry_out(key, touch, program, control, ahead, footing, k):
    """Torques of what was decided, what stands, and how far the pelvis is from where it should be."""
    T, W = open_rooms(key)
    (K,) = open_control(control)
    (P,) = open_program(program)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    Gm, A, _, _, _, _ = open_touch(touch)
    enact(W, K, P)
    note_bearing(K, P, Gm, A, G)
    note(T, W, K, S, G, k)
    here, at = where_it_should_be(S, G, k), k * K.q_at.shape[0]
    alike = 0.0
    for i in range(3):
        G.off[i] = W.q[K.q_at[i]] - S.q[at + i]
    for i in range(3, 7):
        alike += W.q[K.q_at[i]] * S.q[at + i]
    G.off[0], G.off[1], G.off[2] = G.off[0] - here.x, G.off[1] - here.y, G.off[2] - here.z
    G.off[3] = 2.0 * np.arccos(min(abs(alike), 1.0))
    return OK
