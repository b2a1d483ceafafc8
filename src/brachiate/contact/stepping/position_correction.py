"""Positional correction of penetration: shapes are moved apart without changing velocities, as far as joints and connections allow.

A patch whose normal direction no admissible motion has is *held*: it is left as it is. Where joints hardly allow the motion, coordinates
move at most at MAX_CORRECTION_RATE, and if that does not make the penetration smaller, the step ends with CANNOT_SEPARATE.
"""

from __future__ import annotations

from brachiate.compiled import call_address, kernel, outlined
from brachiate.constraints.arrays import ROWS
from brachiate.contact.arrays import NUM_CONTACTS, SOLVE, STRIDE
from brachiate.contact.solver.contact_law import STICKING, UNKNOWN
from brachiate.contact.stepping.contact_rows import PENETRATION_SLACK, add_gap, contact_velocity_change, min_gap
from brachiate.manifold import integrate_configuration
from brachiate.model.status import CANNOT_SEPARATE, OK

CORRECTION_SHARE = 0.2  # of the penetration, corrected in one step
MAX_CORRECTION_SPEED = 0.5  # [m/s] of shapes
MAX_CORRECTION_RATE = 10.0  # [rad/s or m/s] of a coordinate
# Shapes are refused after a coordinate could have moved by MAX_TRAVEL [rad or m] at that rate while the depth shrank by less than this
# share. A radian in the knee shortens a straight leg by an eighth, ten centimeters.
MAX_TRAVEL, MIN_PROGRESS = 1.0, 0.25
MAX_HELD_DEPTH = 1e-3  # [m] that joints may hold: shapes of models overlap by fractions of a millimeter
MAX_RESIDUAL = 0.1  # of the largest correction: violation of the contact law above which shapes cannot all be separated
HELD_RESPONSE = 1e-12  # response along the normal, relative to a patch that is free: the square of a tilt of 1e-6


@kernel
def is_held(cons, patches, problem, a):
    """Whether no motion that joints and constraints allow separates the shapes of patch a: all normal responses vanish."""
    o, stride, corners = problem.row_start[a], problem.count[STRIDE], patches.corners[a]
    free = 0.0
    for r in range(cons.count[ROWS] + o, cons.count[ROWS] + o + 3):  # without constraints
        free = max(free, cons.G[cons.g_at[r] - cons.skyline_start[r] + r])
    response, lever2 = problem.G[(o + 2) * stride + o + 2], 0.0
    for j in range(corners):
        lever2 = max(lever2, patches.V[a, j, 0] * patches.V[a, j, 0] + patches.V[a, j, 1] * patches.V[a, j, 1])
    for r in range(o + 3, o + 3 if corners == 1 else o + 4 if corners == 2 else o + 5):
        response = max(response, lever2 * problem.G[r * stride + r])
    return not response > HELD_RESPONSE * free


@kernel
def set_correction_targets(cons, patches, problem, contact, dt):
    """Free displacements problem.u0 of all contacts, without friction. Returns deepest contact that is not held, depth, correction [m]."""
    deepest, depth, correction = -1, 0.0, 0.0
    for a in range(problem.count[NUM_CONTACTS]):
        o = problem.row_start[a]
        for r in range(o, problem.row_start[a + 1]):
            problem.u0[r], problem.w[r] = 0.0, 0.0
        problem.friction[a], problem.static_friction[a], problem.normal_mode[a], problem.tangential_mode[a] = 0.0, 0.0, UNKNOWN, STICKING
        if contact.limit_index[a] >= 0:
            problem.u0[o] = max(contact.limit_distance[a], 0.0)
            continue
        smallest = min_gap(patches, a)
        deep = smallest < -PENETRATION_SLACK and contact.stiffness[patches.pair[a]] == 0.0 and not is_held(cons, patches, problem, a)
        share = min(CORRECTION_SHARE, MAX_CORRECTION_SPEED * dt / -smallest) if deep else 1.0
        gap = share * (patches.gap[a, 0] + (PENETRATION_SLACK if deep else -min(smallest, 0.0)))
        add_gap(problem, o, problem.corners[a], gap, share * patches.gap[a, 1], share * patches.gap[a, 2], 1.0)
        if deep and -smallest > depth:
            deepest, depth = a, -smallest
        if deep:
            correction = max(correction, share * (-smallest - PENETRATION_SLACK))
    return deepest, depth, correction


@kernel
def note_progress(contact, pair, depth, stuck, travel):
    """Add up how far coordinates could have moved while shapes remain stuck. Returns a status."""
    if contact.stuck_travel[0] == 0.0 or depth < (1.0 - MIN_PROGRESS) * contact.stuck_depth[0]:
        contact.stuck_depth[0], contact.stuck_travel[0] = depth, 0.0
    contact.stuck_pair[0] = pair
    if stuck:
        contact.stuck_travel[0] += travel
    return CANNOT_SEPARATE if contact.stuck_travel[0] > MAX_TRAVEL and depth > MAX_HELD_DEPTH else OK


@outlined
def resolve_penetration(key, problem_key, T, W, cons, patches, problem, contact, limits, dt):
    """Separate shapes deeper than PENETRATION_SLACK by the smallest motion, without changing velocities. Returns a status."""
    deepest, depth, correction = set_correction_targets(cons, patches, problem, contact, dt)
    if deepest < 0:
        contact.stuck_travel[0] = 0.0
        return OK
    call_address(problem.functions[SOLVE], key, problem_key, 0.0, 0)
    contact_velocity_change(T, W, cons, problem, contact, limits, cons.z)
    largest, reach = 0.0, MAX_CORRECTION_RATE * dt
    for k in range(cons.z.shape[0]):
        largest = max(largest, abs(cons.z[k]))
    solved = problem.residual[0] <= MAX_RESIDUAL * correction
    # Large displacements that do not separate all shapes have no meaning; those that do are made in many steps
    if solved or largest <= reach:
        integrate_configuration(T, W.q, cons.z, min(1.0, reach / max(largest, 1e-300)), W.q)
    return note_progress(contact, patches.pair[deepest], depth, not solved or largest > reach, reach)
