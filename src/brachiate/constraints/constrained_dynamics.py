"""Motion that keeps to what holds: accelerations, velocities after an impulse, configurations without drift."""

from __future__ import annotations

from brachiate.compiled import call_at, far, kernel, outlined
from brachiate.constraints.arrays import (
    ASLEEP,
    BEND,
    CROSS,
    DROPPED,
    LOOK,
    METRIC,
    NEW,
    REDUNDANT,
    REGULAR,
    RELATE,
    ROWS,
    SET_OUT,
    TURN_ON,
    USED,
    WEAK,
    open_bonds,
)
from brachiate.constraints.rows import biases, gammas
from brachiate.constraints.solve import solve_rows, spread, times
from brachiate.dynamics.factor import down, factor, up
from brachiate.dynamics.inverse import CREEP, external_forces, gather, move_body, passive_forces
from brachiate.kinematics import ball_motions, finite, poses, zero_motion
from brachiate.manifold import integrate
from brachiate.model.arrays import OK, SINGULAR, open_rooms

CLOSED = 1e-14  # [m or rad] a bond is as closed as round-off lets it be
AJAR = 1e-11  # [m or rad] redundant rows follow the others to well below this
OPEN = 10  # status: bonds cannot be closed from here
NEEDS_CROSSING = 11  # status: a singular posture is near, and the code for it is not there yet
BROKEN = 1e-8  # of the size of accelerations [m/s² or rad/s²]: round-off in rows that are truly redundant is far below
AT_REST = 1e-9  # [rad, m, rad/s or m/s] a coordinate this near to a limit, and this slow, rests at it
LETTING_GO = 8  # at most so many rounds of it
CORRECTIONS = 8  # at most so many corrections of position
NEARLY_LOST = 1e-6  # squared sine: rows closer than this to the others may be weak

# What `hold` may be asked for.
ACCELERATE, ACCELERATE_AND_DECIDE, STEP, SETTLE, TAKE_HOLD, INSPECT, ARRIVE, GO_ON = range(8)


@far
def metric(key, held, implicit, n):
    """Factor of the mass matrix at poses already known, with ``implicit`` times the damping W.y on its diagonal."""
    T, W = open_rooms(key)
    ball_motions(T, W)
    return factor(T, W, implicit)


@outlined
def motion_forces(T, W, B):
    """Torques W.bias at zero acceleration, those of springs, dampers and friction included, and γ of every row."""
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, zero_motion())
    external_forces(T, W)
    biases(T, W, B)
    gather(T, W, W.bias)
    passive_forces(T, W, W.bias)


@outlined
def forced(T, W, B):
    """Accelerations a = A⁻¹(τ − b + Jᵀλ) that bring J a to its goal, and the forces λ, once everything is related [CKC] 3.2."""
    for k in range(W.a.shape[0]):
        W.a[k] = W.tau[k] - W.bias[k]
    up(T, W, W.a)
    times(T, B, B.Z, W.a, B.rhs)
    for r in range(B.count[ROWS]):
        B.force[r] = B.goal[r] - B.rhs[r]
    solve_rows(B, B.force)
    spread(T, B, B.Y, B.force, W.a)
    down(T, W, W.a)


@kernel
def weakness(W, B):
    """How small a row must have become to be called weak: so small that the motion may carry it through zero in a few steps.

    Otherwise it says what it says, however small: at rest nothing is in doubt.
    """
    fastest = 0.0
    for k in range(W.v.shape[0]):
        fastest = max(fastest, abs(W.v[k]))
    reach = 3.0 * B.step[0] * fastest
    return min(NEARLY_LOST, reach * reach)


@kernel
def set_goals(B, dt):
    """What J a is to be: −γ. With dt > 0, what closes every row at the end of a semi-implicit step of that length.

    c(q ⊕ dt v⁺) = c + dt (J v⁺ − rate) + ½ dt² γ + O(dt³) with v⁺ = v + dt a: what is left of c and J v from the step
    before goes out with it, so nothing accumulates.
    """
    if dt == 0.0:
        for r in range(B.count[ROWS]):
            B.goal[r] = -B.gamma[r]
        return
    for r in range(B.count[ROWS]):
        B.goal[r] = -(0.5 * B.gamma[r] + (B.speed[r] - B.rate[r] + B.c[r] / dt) / dt)


@outlined
def betrayed(T, W, B):
    """Call rows weak that were thought redundant but would be broken by these accelerations: J a misses its goal."""
    size = 1.0
    for k in range(W.a.shape[0]):
        size = max(size, abs(W.a[k]))
    times(T, B, B.J, W.a, B.rhs)
    for r in range(B.count[ROWS]):
        if B.state[r] == REDUNDANT and abs(B.rhs[r] - B.goal[r]) > BROKEN * size:
            B.weak[B.count[WEAK]] = r
            B.count[WEAK] += 1
    return B.count[WEAK] > 0


@outlined
def sets_out_wrongly(T, W, B):
    """Call rows weak that were thought redundant, if these accelerations from rest would break them: γ(a) is beyond J a.

    Leaves γ, right-hand sides and forces of that question behind.
    """
    most = 0.0
    for k in range(W.a.shape[0]):
        most = max(most, abs(W.a[k]))
    if most == 0.0:
        return False
    for k in range(W.a.shape[0]):
        B.v_before[k] = W.v[k]
        W.v[k] = W.a[k] / most
    gammas(T, W, B)
    for r in range(B.count[ROWS]):
        B.rhs[r] = -B.gamma[r]
    push_back(T, W, B, B.z)
    times(T, B, B.J, B.z, B.rhs)
    for r in range(B.count[ROWS]):
        if B.state[r] == REDUNDANT and abs(B.rhs[r] + B.gamma[r]) > BROKEN:
            B.weak[B.count[WEAK]] = r
            B.count[WEAK] += 1
    for k in range(W.a.shape[0]):
        W.v[k] = B.v_before[k]
    return B.count[WEAK] > 0


@kernel
def at_rest(W):
    """Whether velocities are so small that what follows from their squares cannot be seen beside accelerations."""
    v = a = 0.0
    for k in range(W.a.shape[0]):
        v, a = max(v, abs(W.v[k])), max(a, abs(W.a[k]))
    return v * v < BROKEN * max(1.0, a)


@kernel
def let_go(B):
    """Let limits sleep that would have to pull: a limit can only push."""
    found = False
    for a in range(B.count[USED]):
        i = B.order[a]
        if B.side[i] and B.state[B.row[i]] == REGULAR and B.side[i] * B.force[B.row[i]] < 0.0:
            B.state[B.row[i]], B.sleeps[i] = ASLEEP, 1
            B.c[B.row[i]] += B.course[i, 0] - B.bound[i]
            B.course[i, 0] = B.bound[i]
            found = True
    return found


@kernel
def asleep(B):
    """Whether any limit sleeps."""
    found = False
    for a in range(B.count[USED]):
        found = found or (B.side[B.order[a]] != 0 and B.sleeps[B.order[a]] != 0)
    return found


@kernel
def rouse(B, i):
    """Let a limit push from where its coordinate is now, so that nothing snaps."""
    r = B.row[i]
    B.state[r], B.sleeps[i] = NEW, 0
    B.course[i, 0] += B.c[r]
    B.c[r] = 0.0


@kernel
def press_again(T, W, B):
    """Rouse limits that a coordinate rests at and these accelerations would push it through."""
    if not asleep(B):
        return False
    found = False
    times(T, B, B.J, W.a, B.rhs)
    for a in range(B.count[USED]):
        i = B.order[a]
        r, side = B.row[i], B.side[i]
        if side and B.state[r] == ASLEEP and side * B.c[r] < AT_REST and abs(B.speed[r]) < AT_REST and side * B.rhs[r] < 0.0:
            rouse(B, i)
            found = True
    return found


@kernel
def wake(B):
    """Rouse limits that have been passed."""
    found = False
    for a in range(B.count[USED]):
        i = B.order[a]
        r = B.row[i]
        if B.side[i] and B.state[r] == ASLEEP and B.side[i] * B.c[r] < 0.0:
            rouse(B, i)
            found = True
    return found


@kernel
def suspect(B):
    """Call redundant rows new that have come open while the others are closed: they had something to say."""
    for r in range(B.count[ROWS]):
        if B.state[r] == REDUNDANT and abs(B.c[r]) > AJAR:
            B.state[r] = NEW


@outlined
def push_back(T, W, B, out):
    """Out ← A⁻¹ Jᵀ G⁻¹ rhs: the least motion, in the mass metric, that changes J x by the right-hand sides."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for r in range(B.count[ROWS]):
        B.force[r] = B.rhs[r]
    solve_rows(B, B.force)
    spread(T, B, B.Y, B.force, out)
    down(T, W, out)


@kernel
def project_velocity(T, W, B):
    """v ← the nearest velocity that every row allows; the impulses that takes are left in B.force [SVC] 4.3."""
    times(T, B, B.J, W.v, B.rhs)
    for r in range(B.count[ROWS]):
        B.rhs[r] = B.rate[r] - B.rhs[r]
    push_back(T, W, B, B.z)
    for k in range(W.v.shape[0]):
        W.v[k] += B.z[k]


@kernel
def worst_rate(T, W, B):
    """How much of what the rows ask the velocities do not bring: nothing, unless redundant rows contradict each other."""
    most = 0.0
    times(T, B, B.J, W.v, B.rhs)
    for r in range(B.count[ROWS]):
        most = max(most, abs(B.rate[r] - B.rhs[r]))
    B.most[1] = most


@outlined
def project_position(key, held, T, W, B):
    """q ← the nearest configuration at which every bond is closed; directions are those of the last state while they do."""
    before = 1e300
    for n in range(CORRECTIONS):
        poses(T, W)
        ball_motions(T, W)  # rows will be made of them, and the mass matrix, which makes them too, is not made anew
        call_at(B.far[LOOK], key, held, 0.0, 0)
        most = 0.0
        for r in range(B.count[ROWS]):  # rows that are left out follow the others, or are led through a singular posture
            if B.pivot[r] > 0.0:
                most = max(most, abs(B.c[r]))
        if not most > CLOSED or (most < 1e-12 and not most < 0.5 * before):
            return OK
        if n > 0 and not most < 0.1 * before:  # the old directions do no longer
            call_at(B.far[RELATE], key, held, weakness(W, B), 0)
        before = most
        for r in range(B.count[ROWS]):
            B.rhs[r] = -B.c[r]
        push_back(T, W, B, B.z)
        integrate(T, W.q, B.z, 1.0, W.q)
    return OK if before < 1e-9 else OPEN


@far
def hold(key, held, implicit, what):
    """Whatever is done with a constraint set at the state (W.q, W.v), as one piece of code that all doors share.

    ACCELERATE: accelerations W.a under the torques W.tau, and the forces that hold; ``implicit`` as in forward.accelerate.
    ACCELERATE_AND_DECIDE: the same, and look anew which rows are redundant: only for states that are on the constraints.
    STEP: accelerations for a semi-implicit step of the length ``implicit``, at whose end every row is closed to third order.
    SETTLE: bring the state back onto the constraints, position first, then velocity; the factor of A may be a step old.
    Rows that are about to be lost are left out of SETTLE, and replaced in accelerations (:mod:`.singular`).
    TAKE_HOLD: the velocity boundary condition: impulses that bring v onto every row, everything made anew.
    INSPECT: residuals, rows and their γ only; nothing moves.
    ARRIVE and GO_ON: STEP in two parts, for who has more rows to relate in between, and relates them.
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    closing = implicit if what in (STEP, GO_ON) else 0.0
    decide, status, woken = int(what != ACCELERATE and what != INSPECT), OK, what == TAKE_HOLD
    if what == SETTLE:
        if asleep(B):
            poses(T, W)
            call_at(B.far[LOOK], key, held, 0.0, 0)
            woken = wake(B)
            if woken:  # an impulse is coming: the factor must be that of this posture, or momentum is not kept
                call_at(B.far[METRIC], key, held, 0.0, 0)
                call_at(B.far[RELATE], key, held, weakness(W, B), 1)
        status = project_position(key, held, T, W, B)
        suspect(B)
    elif what != GO_ON:
        poses(T, W)
        call_at(B.far[LOOK], key, held, 0.0, 0)
        if what <= STEP or what >= INSPECT:
            motion_forces(T, W, B)
        if T.passive[0] and implicit > 0.0:
            for k in range(W.y.shape[0]):
                v = W.v[k]
                W.y[k] = T.damping[k] + T.friction[k] / (v * v + CREEP * CREEP) ** 0.5
        status = call_at(B.far[METRIC], key, held, implicit if T.passive[0] else 0.0, 0)
    if what == ARRIVE:
        return status
    if what != GO_ON:
        call_at(B.far[RELATE], key, held, 0.0 if what == TAKE_HOLD else weakness(W, B), decide)
    if what == INSPECT:
        return status
    if what in (SETTLE, TAKE_HOLD):
        for k in range(W.v.shape[0]):
            B.v_before[k] = W.v[k]
        project_velocity(T, W, B)
        for _ in range(LETTING_GO if woken else 0):  # mere corrections say nothing about who pulls
            if not let_go(B):
                break
            call_at(B.far[RELATE], key, held, 0.0 if what == TAKE_HOLD else weakness(W, B), 1)
            for k in range(W.v.shape[0]):
                W.v[k] = B.v_before[k]
            project_velocity(T, W, B)
        if what == TAKE_HOLD:
            worst_rate(T, W, B)
        if status == OK and not finite(W.v):
            return SINGULAR
    else:
        set_goals(B, closing)
        forced(T, W, B)
        for _ in range(LETTING_GO if decide else 0):
            if not (let_go(B) or press_again(T, W, B)):
                break
            call_at(B.far[RELATE], key, held, weakness(W, B), 1)
            set_goals(B, closing)
            forced(T, W, B)
        if decide and B.count[DROPPED] and not B.count[WEAK]:
            # Rows thought redundant may not be: then the posture is singular, and only some of the ways on are open.
            resting = at_rest(W)
            found = sets_out_wrongly(T, W, B) if resting else betrayed(T, W, B)
            if found and B.far[CROSS] == 0:
                return NEEDS_CROSSING
            if found and not resting:
                call_at(B.far[CROSS], key, held, 0.0, BEND)
            if found or resting:
                motion_forces(T, W, B)
                set_goals(B, closing)
                forced(T, W, B)
            if found and resting:
                call_at(B.far[CROSS], key, held, 0.0, SET_OUT)
                return status
        if B.count[WEAK]:
            if B.far[CROSS] == 0:
                return NEEDS_CROSSING
            call_at(B.far[CROSS], key, held, 0.0, TURN_ON)
    return status
