"""Foresight: what is known of the reference ahead, laid out as a plan wants it."""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.problem import FLIGHT, HELD, MOST, MOTORS, PATCHES, POINTS, STANDS
from brachiate.compiled import kernel
from brachiate.filter.footsteps.swing_foot import on_ground, place_of
from brachiate.filter.schedule.arrays import BEARING, BLIND, CORNERS, FREEZE, HOME, LYING, NEVER, REACH, set_bits
from brachiate.filter.whole_body.tasks import is_held
from brachiate.spatial import Vec3, put_vec3, vec3, vec3_at

DOWN = 0.04  # [s] it takes a foot that stands to come down with the rest of its sole
FEWEST = 3  # intervals of a plan, at the end of a reference
SHORTEST = 0.004  # [s] of an interval


@kernel
def place_nodes(S, G, k, lengths):
    """Nodes of the next plan, as far as frames are known; those nearest to where the body leaves the ground or comes down are moved there.

    The ground pushes until a foot leaves it, and no longer. Returns how many intervals there are.
    """
    left, end, N = max((S.frames[0] - 1 - k) * S.step[0], G.gain[BLIND]), 0.0, 0
    while lengths.shape[0] > N and (N < FEWEST or end + lengths[N] < left):
        end += lengths[N]
        N += 1
        G.nodes[N], G.free[N] = end, 1
    G.nodes[0] = 0.0
    for c in range(S.changes.shape[0]):
        change = (S.changes[c] - k) * S.step[0]
        if change <= 0.0 or change >= end:
            continue
        best, n = np.inf, 0
        for i in range(1, N + 1):
            far = abs(G.nodes[i] - change)
            if G.free[i] and far < best:
                best, n = far, i
        if n > 0 and G.nodes[n - 1] + SHORTEST <= change and (n == N or change <= G.nodes[n + 1] - SHORTEST):
            G.nodes[n], G.free[n] = change, 0
    return N


@kernel
def frame_at(S, k, t):
    """The frame nearest to a time after frame k."""
    return min(k + int(np.rint(t / S.step[0])), S.frames[0] - 1)


@kernel
def lay_out(T, W, K, S, G, O, k, N, feet):
    """The reference along the nodes, what bears in every interval, and landings. Returns how many of these there are."""
    l, last = G.stands.shape[0], S.frames[0] - 1
    up = on_ground(S, vec3_at(G.shift, 0)).z
    for j in range(N + 1):
        i = frame_at(S, k, G.nodes[j])
        put_vec3(O.centre, j, vec3(S.centre, i))
        put_vec3(O.velocity, j, vec3(S.speed, i))
        O.centre[j, 2] += up
        beyond = G.nodes[j] - (last - k) * S.step[0]
        if G.gain[BLIND] > 0.0 and beyond > 0.0:  # it goes on as it does
            put_vec3(O.centre, j, vec3(O.centre, j) + beyond * vec3(S.speed, last))
        O.slack[j] = S.slack[i]
        for leg in range(feet):
            O.weight[j, leg] = S.share[i * l + leg]
        for leg in range(feet, l):  # what cannot step stays where it has come to stand
            if G.stands[leg] and S.stance[i * l + leg] <= G.stance[leg]:
                put_vec3(O.centre, j, vec3(O.centre, j) + S.share[i * l + leg] * vec3(G.offset, leg))
    for j in range(N):
        O.h[j] = G.nodes[j + 1] - G.nodes[j]
        i = frame_at(S, k, G.nodes[j + 1] - 0.5 * O.h[j])
        lay_rates(S, O, k, j, G.nodes[j], G.nodes[j + 1])
        for x in range(3):
            for y in range(3):
                O.inertia[j, x, y] = S.inertia[i, x, y]
        lay_patches(T, W, K, S, G, O, k, i, j, feet)
        lay_strength(W, K, S, G, O, i, j, feet)
    return lay_landings(S, G, O, k, N, feet)


@kernel
def lay_rates(S, O, k, j, begin, end):
    """Mean rates of interval j: what the reference gains in it, where a single frame of a motion that swings would mislead."""
    first, last = frame_at(S, k, begin), frame_at(S, k, end)
    push, turning, total = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0.0
    for i in range(first, last + 1):
        part = 1.0 if first < i < last or first == last else 0.5  # ends are of two intervals
        push, turning, total = push + part * vec3(S.acceleration, i), turning + part * vec3(S.turning, i), total + part
    put_vec3(O.acceleration, j, (1.0 / total) * push)
    put_vec3(O.turning, j, (1.0 / total) * turning)


@kernel
def lay_patches(T, W, K, S, G, O, k, i, j, feet):
    """What bears in interval j, whose middle is frame i: first what does now, then what is known of the reference."""
    m, l = S.leg.shape[0], G.stands.shape[0]
    patch = 0
    for p in range(PATCHES):
        O.points[j, p], O.foot[j, p] = 0, -1
    for n in range(m):
        leg, bears = S.leg[n], S.bears[i * m + n]
        foot = leg if leg < feet else -1
        p = patch
        for other in range(patch):  # soles of a foot, and all that cannot step, are one patch where there are too many for one each
            if m > PATCHES and O.foot[j, other] == foot:
                p = other
        if p >= PATCHES:
            continue
        at = k * l + leg
        off = vec3(G.offset, leg) if foot >= 0 else Vec3(0.0, 0.0, 0.0)
        # If nobody knows when it will land, it may have
        lands = i < k + S.until[at] / S.step[0] if S.until[at] < NEVER else S.soon[k * m + n] > 0
        stays = G.stands[leg] and not S.on[at] and lands
        coming = G.stands[leg] and S.on[at] and (i - k) * S.step[0] < DOWN and K.stands[n] < set_bits(bears)
        count = before = O.points[j, p]
        if j == 0 or (bears == 0 and stays) or coming:
            if K.stands[n]:
                for c in range(min(G.bearing_count[n], POINTS - before)):
                    put_point(O, j, p, count, vec3(G.bearing, BEARING * n + c) - off)
                    count += 1
        elif bears > 0:
            here = S.stance[i * l + leg] <= G.stance[leg] and G.stands[leg]
            for c in range(S.corners[n]):
                if (bears >> c) & 1 and count < POINTS:
                    if here:
                        put_point(O, j, p, count, place_of(T, W, K, n, c) - off)
                    else:
                        put_point(O, j, p, count, vec3(S.places, CORNERS * (i * m + n) + c) + vec3(S.moved, i * l + leg))
                    count += 1
        if count > before:
            O.points[j, p], O.foot[j, p] = count, foot
            patch = max(patch, p + 1)
    patch = lay_lying(S, G, O, i, j, patch)
    O.how[j] = HELD if is_held(K, i, j == 0) else STANDS if patch > 0 else FLIGHT


@kernel
def lay_strength(W, K, S, G, O, i, j, feet):
    """What the motors of legs that stand can bring in interval j, whose middle is frame i."""
    if S.most.shape[0] == 0:
        return
    l, total, legs, one = G.stands.shape[0], 0.0, 0, -1
    for leg in range(l):
        if G.stands[leg] if j == 0 else S.on[i * l + leg]:
            total, legs, one = total + S.most[i * l + leg], legs + 1, leg
    lies = S.lie_count.shape[0] > 0 and S.lie_count[i] > 0
    if O.how[j] != STANDS or lies or legs == 0:
        total, legs = np.inf, 0
    g = -W.gravity[2]
    # In another posture it could bring more: it can always stand
    O.most[j] = max(min(total / K.mass[0] - g, MOST * g), 0.0)
    O.motors[j] = 0
    if legs == 1 and total < np.inf:
        lay_motors(S, O, i * l + one, j, one if one < feet else -1)


@kernel
def lay_motors(S, O, at, j, foot):
    """Motors of the only leg that stands in interval j."""
    O.motor_foot[j] = foot
    for x in range(2):
        O.motor_at[j, x] = S.spot[at, x] + S.moved[at, x]
    for n in range(MOTORS * at, MOTORS * (at + 1)):
        if S.motor[n, 5] < np.inf:
            for x in range(6):
                O.motor[j, O.motors[j], x] = S.motor[n, x]
            O.motors[j] += 1


@kernel
def lay_lying(S, G, O, i, j, patch):
    """What lies on the ground in interval j without a place of its own, as one more patch. Returns how many there are."""
    if S.lie_count.shape[0] == 0:
        return patch
    p = patch
    for other in range(patch):
        if O.foot[j, other] < 0:
            p = other
    count = G.lying_count[0] if j == 0 else S.lie_count[i]
    if p >= PATCHES or count == 0:
        return patch
    shift = on_ground(S, vec3_at(G.shift, 0))
    for c in range(min(count, POINTS - O.points[j, p])):
        put_point(O, j, p, O.points[j, p], vec3(G.lying, c) if j == 0 else vec3(S.lies, LYING * i + c) + shift)
        O.points[j, p] += 1
    return max(patch, p + 1)


@kernel
def put_point(O, j, patch, n, p):
    """Point n of a patch."""
    O.patch[j, patch, n, 0], O.patch[j, patch, n, 1], O.patch[j, patch, n, 2] = p.x, p.y, p.z


@kernel
def first_node(G, N, t):
    """The first node that is not before a time, N + 1 for none."""
    n = 0
    while n <= N and G.nodes[n] < t:
        n += 1
    return n


@kernel
def lay_landings(S, G, O, k, N, feet):
    """Landings among the nodes; a foot's new offset takes over in the middle of its swing. Returns how many."""
    l, dt = G.stands.shape[0], S.step[0]
    many, count = S.spans.shape[0] // max(l, 1), 0
    for row in range(O.landing_foot.shape[0]):
        O.landing_foot[row] = -1
    for leg in range(feet):
        before = -1
        for n in range(max(G.stance[leg] + 1, 0), S.span_count[leg]):
            start, end = S.spans[leg * many + n, 0], S.spans[leg * many + n, 1]
            ahead = (start - k) * dt
            if start < 0 or end <= k or ahead > G.nodes[N] or count >= O.landing_foot.shape[0]:
                continue
            lift = max(S.spans[leg * many + n - 1, 1], 0) if n > 0 else 0
            swing = ((lift + start) // 2 - k) * dt
            first = max(first_node(G, N, swing) if swing > 0.0 else 0, before + 1)
            touch = first_node(G, N, ahead - 1e-9) if ahead > 0.0 else 0
            if first >= N:
                continue
            before = first
            O.landing_foot[count], O.landing_from[count], O.landing_touch[count] = leg, first, max(touch, first)
            O.landing_time[count], O.landing_lasts[count] = max(ahead, 0.0), (end - start) * dt
            goal = vec3(G.offset, leg)
            if O.landing_time[count] < G.gain[FREEZE]:
                goal = vec3(G.path, leg)
            elif G.aimed[leg * many + n]:
                goal = vec3(G.aims, leg * many + n)
            O.landing_heading[count, 0], O.landing_heading[count, 1] = goal.x, goal.y
            put_room(S, O, count, leg * many + n, max(start, 0) * l + leg)
            G.key[count, 0], G.key[count, 1] = leg, n
            count += 1
    return count


@kernel
def put_room(S, O, row, stance, at):
    """How much room a landing has on its tread: what a plan of the whole has moved it by is gone."""
    moved = S.way[0] * S.moved[at, 0] + S.way[1] * S.moved[at, 1]
    O.landing_way[row, 0], O.landing_way[row, 1] = S.way[0], S.way[1]
    O.landing_least[row], O.landing_most[row] = S.room[stance, 0] - moved, S.room[stance, 1] - moved


@kernel
def capture(K, S, G, k, gravity):
    """How far the body is bound for from where the reference is: c + ċ/ω of the one against the other."""
    period = (max(S.centre[k, 2], 0.1) / gravity) ** 0.5
    x = K.com[0] - S.centre[k, 0] - G.shift[0] + period * (K.com[3] - S.speed[k, 0])
    y = K.com[1] - S.centre[k, 1] - G.shift[1] + period * (K.com[4] - S.speed[k, 1])
    far = (x * x + y * y) ** 0.5
    part = min(1.0, G.gain[REACH] / max(far, 1e-9))
    return part * x, part * y


@kernel
def aim_at(K, S, G, k, landing, count, gravity):
    """Let feet in the air go where the plan has them land; if it knows of no landing, to where the body can be caught."""
    l = G.stands.shape[0]
    many = S.spans.shape[0] // max(l, 1)
    for n in range(count):
        at = G.key[n, 0] * many + G.key[n, 1]
        G.aims[at, 0], G.aims[at, 1], G.aimed[at] = landing[n, 0], landing[n, 1], 1
    for leg in range(l):
        stance = S.coming[k * l + leg]
        at = leg * many + stance
        if stance > G.stance[leg] and stance < many and G.aimed[at]:
            G.aim[leg, 0], G.aim[leg, 1] = G.aims[at, 0], G.aims[at, 1]
        elif G.gain[BLIND] > 0.0 and not G.stands[leg]:
            x, y = capture(K, S, G, k, gravity)
            G.aim[leg, 0], G.aim[leg, 1] = G.gain[HOME] * G.shift[0] + x, G.gain[HOME] * G.shift[1] + y
