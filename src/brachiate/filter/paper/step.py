"""One step of the paper's filter: what touches, a collision if something hits, feedback, the optimizer, and on."""

from __future__ import annotations

from brachiate.compiled import entry, index, kernel
from brachiate.contact.arrays import PAIRS, ROWS
from brachiate.contact.published.trial import open_trial
from brachiate.contact.stepping.contact_rows import open_touch
from brachiate.contact.stepping.time_step import add_carried
from brachiate.dynamics.inverse import bias_forces, passive_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.filter.paper.arrays import HITS, STEP, WIDTH, open_solution
from brachiate.filter.paper.contact_pairs import collide, find_pairs, put_accelerations
from brachiate.filter.paper.feedback import lead_point
from brachiate.filter.paper.pseudoinverse import optimize
from brachiate.filter.whole_body.state import follow
from brachiate.kinematics import accelerations, ball_motions, body_inertias, finite, poses, sound, velocities
from brachiate.manifold import coast
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, open_rooms


@kernel
def equations(T, W, F):
    """A and b of [DF] eq. 13, pushes on links (f_ext of eq. 12) in b."""
    n, width = W.v.shape[0], F.count[WIDTH]
    poses(T, W)
    body_inertias(T, W)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    mass_matrix(T, W)
    for k in range(n * width):
        F.A[index(k)] = 0.0
    for k in range(n):
        F.b[k] = W.bias[k]
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            F.A[index(k * width + j)] = W.L[index(d)]
            F.A[index(j * width + k)] = W.L[index(d)]


@kernel
def go_on(T, W, F):
    """Integrate the accelerations, velocities first; floating roots go straight on while they turn."""
    dt = F.gain[STEP]
    for k in range(W.v.shape[0]):
        W.a[k], W.tau[k] = F.a[k], F.tau[k] * F.motor[k]
        F.e[k] = dt * F.a[k]
    add_carried(T, W.v, dt, F.e)
    for k in range(W.v.shape[0]):
        W.v[k] += F.e[k]
    coast(T, W.q, W.v, dt)


@entry
def touch_down(key, touch, trial, solution):
    """Find what touches at the state (W.q, W.v), and change W.v if something hits."""
    T, W = open_rooms(key)
    Gm, A, _, _, S, _ = open_touch(touch)
    P, X = open_trial(trial)
    (F,) = open_solution(solution)
    if not sound(T, W.q, W.v):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    velocities(T, W)
    ball_motions(T, W)
    status = find_pairs(key, touch, T, W, Gm, A, S, P, F)
    return collide(T, W, P, X, F) if status == OK else status


@entry
def filter_step(key, reference, trial, solution, touches):
    """Advance the state by one step towards the reference; ``touches``: whether what touches was looked for."""
    T, W = open_rooms(key)
    _, Wr = open_rooms(reference)
    P, X = open_trial(trial)
    (F,) = open_solution(solution)
    if not sound(T, W.q, W.v):
        return NOT_FINITE
    if not touches:
        P.count[PAIRS] = P.count[ROWS] = F.count[HITS] = 0
    poses(T, Wr)
    velocities(T, Wr)
    accelerations(T, Wr)
    equations(T, W, F)
    put_accelerations(T, W, P, F)
    follow(T, W, Wr, F)
    lead_point(T, W, Wr, F)
    optimize(P, X, F)
    if not (finite(F.a) and finite(F.tau)):
        return OVERFLOW
    go_on(T, W, F)
    return OK


@entry
def reference_is_sound(key, q, v, a):
    """Whether a reference can be followed: every number is finite, and quaternions are rotations."""
    T, _ = open_rooms(key)
    return sound(T, q, v) and finite(a)
