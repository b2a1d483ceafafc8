"""Contact as the dynamics filter has it: trial and error over the states of every pair [DF] V, VI.

Every pair starts held in all directions it may be held in. Forces along the held directions follow from one linear system; the first
pair whose force no contact could exert changes its state by Table II, and all is solved anew until every force is possible. The same
finds forces from accelerations and impulses from velocities.

Letting go passes every check of forces, so trial and error always ends; nothing looks at the motion it ends with. ``P.residual`` does:
the largest speed (or acceleration) of a corner into the ground. With one pair it is mostly zero; with many it often is not, and the
simulator does not use this method. It is here by its name, to be compared with.

Deviations from the paper, each where it is coded: the sign of the centre of pressure (V-E 2), of the moment about it (eq. 26) and the
function p (eq. 23); the limit of twist (eq. 25); friction of what slips and spins (eq. 27); where C2 and C6 are held.
"""

from __future__ import annotations

import math

from brachiate.compiled import entry, kernel, outlined
from brachiate.contact.published.checks import first_failure, twist
from brachiate.contact.published.directions import find_forces, hold_directions
from brachiate.contact.published.states import ALLOWED, C0, C1, C2, C3, C4, C5, C6, C7, FACE, LINE, NEXT, POINT
from brachiate.contact.published.trial import SOLVES, kind_of, move_frame, open_trial, put_first_frame, wrench

# What moves slower is at rest [m/s, rad/s].
AT_REST = 1e-6


@kernel
def begin(P, X, collide, edges):
    """Put every pair into the fullest state it can be in.

    With ``collide`` this is the fullest of its kind whatever the motion: an impact may stop it [DF] VI. Else what slips is not held
    along the plane and what rocks is not held against rocking [DF] V-D; ``X.motion`` says so.
    """
    for i in range(P.count[0]):
        m = X.motion
        slips = not collide and (math.hypot(m[i, 0], m[i, 1]) > AT_REST or abs(m[i, 5]) > AT_REST)
        rocks = not collide and (abs(m[i, 4]) > AT_REST or (kind_of(P, i) == FACE and abs(m[i, 3]) > AT_REST))
        state = fullest(kind_of(P, i), slips, rocks, edges)
        X.state[i] = state
        put_first_frame(P, X, i, state, edges)
        if slips:
            slip_with_motion(X, i, X.frame[i, 0], X.frame[i, 1])


@kernel
def fullest(kind, slips, rocks, edges):
    """State of a kind of contact that holds most."""
    if kind == FACE and not rocks:
        return C4 if slips else C0
    if (kind == LINE and not rocks) or (kind == FACE and edges):
        return C5 if slips else C1
    if slips:
        return C6
    return C3 if kind == POINT or edges else C2


@outlined
def try_states(P, X, edges):
    """Find states and forces by trial and error, from the states there are. Returns how often was solved.

    ``edges`` goes to the edge or corner that the centre of pressure leaves over; without, to the spot where it leaves, as printed.
    """
    X.count[SOLVES] = 0
    for i in range(P.count[0]):
        X.tried[i] = 1 << X.state[i]
    while True:
        hold_directions(P, X)
        find_forces(P, X)
        X.count[SOLVES] += 1
        i, check = first_failure(P, X)
        if check == 0:
            break
        change(P, X, i, check, edges)
    look_at_motion(P)
    return X.count[SOLVES]


@kernel
def change(P, X, i, check, edges):
    """Put a pair into the next state of Table II that it has not been in."""
    now, state = X.state[i], C7
    table = 1 if edges else 0
    for n in range(NEXT.shape[3]):
        s = NEXT[table, now, check, n]
        if s >= 0 and ALLOWED[table, kind_of(P, i), s] == 1 and X.tried[i] & (1 << s) == 0:
            state = s
            break
    if now <= C3 and state >= C4:
        begin_to_slip(P, X, i)
    move_frame(P, X, i, state, edges)
    X.state[i] = state
    X.tried[i] |= 1 << state


@kernel
def begin_to_slip(P, X, i):
    """Slip as the pair moves; if it is at rest, against the force that should have held it [DF] eq. 21."""
    fx, fy, fz, nx, ny, _ = wrench(P, i)
    if max(math.hypot(X.motion[i, 0], X.motion[i, 1]), abs(X.motion[i, 5])) > AT_REST:
        inside = fz > 0.0 and X.frame[i, 5] > 0.0
        x, y = (-ny / fz, nx / fz) if inside else (X.frame[i, 0], X.frame[i, 1])
        slip_with_motion(X, i, x, y)
    else:
        long = X.frame[i, 5]
        X.slip[i, 0], X.slip[i, 1] = -fx, -fy
        # Against (f_x, f_y, n̂_z / l); eq. 21 leaves out the moment, and a pair that only spun would go on without friction.
        X.slip[i, 2] = -twist(P, i) / (long * long) if long > 0.0 else 0.0


@kernel
def slip_with_motion(X, i, x, y):
    """Slip as the pair moves at a point of its plane."""
    X.slip[i, 0] = X.motion[i, 0] - X.motion[i, 5] * y
    X.slip[i, 1] = X.motion[i, 1] + X.motion[i, 5] * x
    X.slip[i, 2] = X.motion[i, 5]


@kernel
def look_at_motion(P):
    """u = u0 + G w, and the check of motion that the paper does not have: how fast a corner goes into the ground."""
    stride, worst = P.count[2], 0.0
    for r in range(P.count[1]):
        s = P.u0[r]
        for c in range(P.count[1]):
            s += P.G[r * stride + c] * P.w[c]
        P.u[r] = s
    for i in range(P.count[0]):
        a = P.at[i]
        for j in range(P.corners[i]):
            about_x = P.u[a + 3] if P.corners[i] > 2 else 0.0
            about_y = P.u[P.at[i + 1] - 2] if P.corners[i] > 1 else 0.0
            worst = max(worst, -(P.u[a + 2] + P.V[i, j, 1] * about_x - P.V[i, j, 0] * about_y))
    P.residual[0] = worst


@entry
def solve_by_trial(key, start, collide, edges):
    """Try the states of a problem, from the fullest if ``start``, else from those the trial's room has. Returns how often was solved."""
    P, X = open_trial(key)
    if start:
        begin(P, X, collide, edges)
    return try_states(P, X, edges)
