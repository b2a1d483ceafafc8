"""What touches, as pairs of the paper [DF] IV, V-C; and what happens when something hits the ground [DF] VI.

An area of :mod:`brachiate.contact` may stand off the ground at some corners. Those that touch make the pair: a face, a line or a point,
with a frame of its own as in [DF] fig. 3.
"""

from __future__ import annotations

import math

from brachiate.compiled import call_at, index, kernel
from brachiate.contact.arrays import PAIRS, ROWS, STRIDE
from brachiate.contact.published.trial_and_error import begin, try_states
from brachiate.contact.stepping.contact_rows import normal_speed, rows_of
from brachiate.contact.stepping.time_step import CROWDED, fastest
from brachiate.dynamics.mass import factored, solve
from brachiate.filter.paper.arrays import EDGES, FRICTION, HITS, PULL, STEP, WIDTH
from brachiate.filter.whole_body.state import at_zero, point_acceleration
from brachiate.kinematics import origin_of
from brachiate.model.arrays import OK
from brachiate.spatial import Rotation, Vec3, cross, motion, norm, put_rotation, put_vec3, rotation, vec3, velocity_at

TOUCHES = 1e-3  # [m] corners that will be nearer after the step touch
LEAVES = 0.05  # [m/s] unless they go away faster
HIT = 0.02  # [m/s] what comes faster hits
SHORT = 0.005  # [m] a line that is no longer is a point
SLIPS, TURNS = 0.02, 0.2  # [m/s], [rad/s] what moves slower is at rest: the paper says zero, which numbers never are


@kernel
def find_pairs(key, touch, T, W, Gm, A, S, P, F):
    """Look for areas, and make pairs of those that touch; motions of bodies are known."""
    dt = F.gain[STEP]
    call_at(S.far[0], key, touch, S.margin[0] + 2.0 * dt * fastest(T, W, Gm), 0)
    P.count[PAIRS] = P.count[ROWS] = 0
    if A.count[1] > A.count[0]:
        return CROWDED
    for a in range(A.count[0]):
        first, second = Gm.body[Gm.pair[A.pair[a], 0]], Gm.body[Gm.pair[A.pair[a], 1]]
        if first >= 0 and second >= 0:
            continue  # parts of the figure: the paper has contact with the environment only
        if P.count[PAIRS] == F.body.shape[0]:
            return CROWDED
        side = 1.0 if second >= 0 else -1.0
        add_pair(T, W, A, S, P, F, a, second if second >= 0 else first, side)
    return OK


@kernel
def add_pair(T, W, A, S, P, F, a, body, side):
    """Make a pair of those corners of area a that touch, if any do."""
    mask, corners, middle = touching_corners(T, W, A, F, a, body, side)
    if corners == 0:
        return
    i, R = P.count[PAIRS], rotation(A.R, a)
    ends, last = 0, middle
    x = R.x
    for j in range(A.corners[a]):
        if mask & (1 << j):
            p = vec3(A.P, a) + A.V[a, j, 0] * R.x + A.V[a, j, 1] * R.y
            if ends == 1 and corners == 2:
                x = p - last
            last, ends = p, ends + 1
    if corners == 2:
        long = norm(x)
        if long < SHORT:
            corners, x = 1, R.x
        else:
            x = (1.0 / long) * x
            put_corner(P, i, 0, -0.5 * long, 0.0)
            put_corner(P, i, 1, 0.5 * long, 0.0)
    if corners == 1:
        put_corner(P, i, 0, 0.0, 0.0)
    y = cross(R.z, x)
    if corners > 2:
        n = 0
        for j in range(A.corners[a]):
            if mask & (1 << j):
                d = vec3(A.P, a) + A.V[a, j, 0] * R.x + A.V[a, j, 1] * R.y - middle
                put_corner(P, i, n, d @ x, d @ y)
                n += 1
    put_pair(T, W, A, S, P, F, i, a, body, side, corners, middle, Rotation(x, y, R.z))


@kernel
def put_corner(P, i, j, x, y):
    """Write down a corner of a pair."""
    P.V[i, j, 0], P.V[i, j, 1] = x, y


@kernel
def touching_corners(T, W, A, F, a, body, side):
    """Which corners of an area touch, how many these are, and their middle."""
    R, mask, corners, middle = rotation(A.R, a), 0, 0, Vec3(0.0, 0.0, 0.0)
    for j in range(A.corners[a]):
        x, y = A.V[a, j, 0], A.V[a, j, 1]
        p = vec3(A.P, a) + x * R.x + y * R.y
        away = side * (R.z @ velocity_at(motion(W.V, body), p - origin_of(T, W, body)))
        gap = A.gap[a, 0] + A.gap[a, 1] * x + A.gap[a, 2] * y
        if gap + F.gain[STEP] * away < TOUCHES and away < LEAVES:
            mask |= 1 << j
            corners += 1
            middle = middle + p
    return mask, corners, (1.0 / max(corners, 1)) * middle


@kernel
def put_pair(T, W, A, S, P, F, i, a, body, side, corners, point, R):
    """Write down pair i: its frame, its friction, and its rows."""
    pair = A.pair[a]
    F.area[i], F.body[i], F.side[i] = a, body, side
    put_vec3(F.point, i, point)
    put_rotation(F.axes, i, R)
    Ra, d = rotation(A.R, a), point - vec3(A.P, a)
    slope = A.gap[a, 1] * Ra.x + A.gap[a, 2] * Ra.y
    F.gap[i, 0], F.gap[i, 1], F.gap[i, 2] = A.gap[a, 0] + slope @ d, slope @ R.x, slope @ R.y
    given = F.gain[FRICTION]
    P.friction[i] = S.friction[pair] if given < 0.0 else given
    P.grip[i] = S.grip[pair] if given < 0.0 else given
    P.spin[i], P.corners[i] = S.spin[pair], corners
    o = P.count[ROWS]
    P.at[i], P.at[i + 1] = o, o + rows_of(corners)
    P.count[PAIRS], P.count[ROWS] = i + 1, o + rows_of(corners)
    P.count[STRIDE] = P.u0.shape[0]
    put_rows(T, W, P, F, i)


@kernel
def put_rows(T, W, P, F, i):
    """H of pair i: velocity of the body against what it touches, along the pair's axes [DF] eq. 8, packed."""
    width, b, o, n = F.count[WIDTH], F.body[i], P.at[i], P.corners[i]
    for k in range(o * width, P.at[i + 1] * width):
        F.H[k] = 0.0
    R, s, r = rotation(F.axes, i), F.side[i], vec3(F.point, i) - origin_of(T, W, b)
    last = P.at[i + 1] - 1
    while b >= 0:
        for k in range(T.dof[b], T.dof[b + 1]):
            S = motion(W.S, k)
            v = velocity_at(S, r)
            F.H[o * width + k] = s * (R.x @ v)
            F.H[(o + 1) * width + k] = s * (R.y @ v)
            F.H[(o + 2) * width + k] = s * (R.z @ v)
            if n > 2:
                F.H[(o + 3) * width + k] = s * (R.x @ S.w)
            if n > 1:
                F.H[(last - 1) * width + k] = s * (R.y @ S.w)
                F.H[last * width + k] = s * (R.z @ S.w)
        b = T.parent[b]


@kernel
def times_rows(P, F, x, out):
    """Out ← H x."""
    width = F.count[WIDTH]
    for r in range(P.count[ROWS]):
        s = 0.0
        for k in range(x.shape[0]):
            s += F.H[index(r * width + k)] * x[index(k)]
        out[r] = s


@kernel
def put_accelerations(T, W, P, F):
    """F.drift ← Ḣ v; F.pull ← what brings back what has drifted, our addition: -2κ H v - κ² φ with κ a rate and φ the gap."""
    kappa = F.gain[PULL]
    times_rows(P, F, W.v, F.speed)
    for i in range(P.count[PAIRS]):
        b, o, last = F.body[i], P.at[i], P.at[i + 1] - 1
        R, s = rotation(F.axes, i), F.side[i]
        a, w = point_acceleration(W, b, vec3(F.point, i) - origin_of(T, W, b)), at_zero(W, b).w
        F.drift[o], F.drift[o + 1], F.drift[o + 2] = s * (R.x @ a), s * (R.y @ a), s * (R.z @ a)
        if P.corners[i] > 2:
            F.drift[o + 3] = s * (R.x @ w)
        if P.corners[i] > 1:
            F.drift[last - 1], F.drift[last] = s * (R.y @ w), s * (R.z @ w)
        for r in range(o, last + 1):
            F.pull[r] = -2.0 * kappa * F.speed[r]
        F.pull[o + 2] -= kappa * kappa * F.gap[i, 0]
        if P.corners[i] > 2:
            F.pull[o + 3] -= kappa * kappa * F.gap[i, 2]
        if P.corners[i] > 1:
            F.pull[last - 1] += kappa * kappa * F.gap[i, 1]


@kernel
def put_motion(P, X, F):
    """X.motion ← how pairs slip, rock and spin; what is slow is at rest."""
    for i in range(P.count[PAIRS]):
        o, n, last = P.at[i], P.corners[i], P.at[i + 1] - 1
        for c in range(6):
            X.motion[i, c] = 0.0
        if math.hypot(F.speed[o], F.speed[o + 1]) > SLIPS:
            X.motion[i, 0], X.motion[i, 1] = F.speed[o], F.speed[o + 1]
        if n > 2 and abs(F.speed[o + 3]) > TURNS:
            X.motion[i, 3] = F.speed[o + 3]
        if n > 1 and abs(F.speed[last - 1]) > TURNS:
            X.motion[i, 4] = F.speed[last - 1]
        if n > 1 and abs(F.speed[last]) > TURNS:
            X.motion[i, 5] = F.speed[last]


@kernel
def lowest_speed(P, i, speed):
    """Speed along the normal of that corner of a pair that goes down fastest, or up slowest."""
    least = 1e300
    for j in range(P.corners[i]):
        least = min(least, normal_speed(speed, P.at[i], P.corners[i], P.V[i, j, 0], P.V[i, j, 1]))
    return least


@kernel
def collide(T, W, P, X, F):
    """If something hits, change velocities so that all pairs come to rest as far as impulses can make them [DF] eq. 31-33, with e = 0."""
    times_rows(P, F, W.v, F.speed)
    hits = False
    for i in range(P.count[PAIRS]):
        hits = hits or lowest_speed(P, i, F.speed) < -HIT
    F.count[HITS] = 0
    for r in range(P.count[ROWS]):
        F.impulse[r] = 0.0
    if not hits:
        return OK
    status = factored(T, W)
    if status != OK:
        return status
    n, width, stride = W.v.shape[0], F.count[WIDTH], P.count[STRIDE]
    for r in range(P.count[ROWS]):
        for k in range(n):
            F.e[k] = F.H[r * width + k]
        solve(T, W, F.e)
        times_rows(P, F, F.e, P.u)
        for c in range(P.count[ROWS]):
            P.G[c * stride + r] = P.u[c]
        P.u0[r] = F.speed[r]
    put_motion(P, X, F)
    begin(P, X, True, F.count[EDGES])
    F.count[HITS] = try_states(P, X, F.count[EDGES])
    for k in range(n):
        F.e[k] = 0.0
        for r in range(P.count[ROWS]):
            F.e[k] += F.H[r * width + k] * P.w[r]
    solve(T, W, F.e)  # [DF] eq. 31 prints the other sign
    for k in range(n):
        W.v[k] += F.e[k]
    for r in range(P.count[ROWS]):
        F.impulse[r] = P.w[r]
    return OK
