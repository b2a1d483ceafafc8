"""Time step with contact: semi-implicit midpoint scheme in velocities and impulses.

One step moves the configuration to its midpoint, detects contacts there, solves constraints, contacts, impacts and joint limits as one
problem (Signorini-Coulomb law), and moves on with the new velocities. Between two midpoints the motion is unforced, so gaps that are
closed at the midpoint stay closed, and sliding, rolling and bouncing are reproduced exactly.
"""

from __future__ import annotations

import math

from brachiate.compiled import call_address, kernel, outlined
from brachiate.constraints.arrays import CONSTRAINTS, CONTACTS, DELASSUS, OPERATION, ROWS, open_constraints
from brachiate.constraints.constrained_dynamics import COMPLETE_STEP, PREPARE_STEP, weak_row_threshold
from brachiate.constraints.solve import multiply_constraint_rows, multiply_rows
from brachiate.contact.arrays import FOUND, KEPT, METHOD, SOLVE
from brachiate.contact.solver.search_work import DYNAMICS_WORK, add_work, step_exhausted
from brachiate.contact.stepping.contact_rows import (
    DETECT,
    PENETRATION_SLACK,
    assemble_contacts,
    build_problem,
    contact_velocity_change,
    open_contact,
    record_twists,
    store_solution,
)
from brachiate.contact.stepping.detection_margins import (
    COMMON_REACH,
    clear_pair_margins,
    drop_receding_patches,
    max_point_speed,
    set_pair_margins,
)
from brachiate.contact.stepping.position_correction import resolve_penetration
from brachiate.contact.stepping.velocity_prediction import (
    MAX_STEP_GROWTH,
    contact_changed,
    predict_acceleration,
    predict_mean_acceleration,
    prediction_failed,
)
from brachiate.dynamics.inverse import accumulate_forces, body_motion_and_force, damping_and_friction
from brachiate.kinematics import copy_to, zero_motion
from brachiate.manifold import integrate_unforced, is_floating_root
from brachiate.model.arrays import open_model
from brachiate.model.status import OK, TOO_MANY_CONTACTS
from brachiate.spatial import Vec3, cross, put_vec3_at, vec3_at

RESTITUTION_STEP = 0.125  # by which restitution is reduced where it would add energy
ENERGY_TOLERANCE = 1e-9  # of the energy of the impact: contact impulses are solved for to about this accuracy
MAX_PASSES = 4  # repetitions of a step with corrected midpoint velocities


@kernel
def add_transport_acceleration(T, v, scale, a):
    """a += scale · ω × v of floating roots, whose velocities v are seen from axes that rotate with them."""
    for e in range(T.kind.shape[0]):
        if is_floating_root(T, e):
            k = T.v_at[e]
            put_vec3_at(a, k, vec3_at(a, k) + scale * cross(vec3_at(v, k + 3), vec3_at(v, k)))


@outlined
def jump_bias_forces(T, W, contact):
    """contact.jump_bias ← extra Coriolis and centrifugal forces if velocities jump at the midpoint: mean of h(v⁻) and h(v⁺), minus h(mean).

    Half of the step has the velocities before the jump, half those after it. As h is quadratic, the difference is h of half their
    difference, contact.half_jump. Without it a fast spinning body would gain or lose energy.
    """
    gravity = Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    W.gravity[0] = W.gravity[1] = W.gravity[2] = 0.0
    for k in range(W.v.shape[0]):
        W.v[k] = contact.half_jump[k]
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, zero_motion())
    accumulate_forces(T, W, contact.jump_bias)
    W.gravity[0], W.gravity[1], W.gravity[2] = gravity


@kernel
def midpoint_dynamics(key, constraint_key, T, W, cons, contact, dt, passes):
    """Bias forces and mass-matrix factor at the midpoint, at the velocities contact.v_mid predicted there.

    Dampers and dry friction take the velocities of the start instead: the factor treats them implicitly, so they are stable however
    strong. ``passes`` > 0: the predicted velocities are the mean of known velocities before and after a jump.
    """
    for k in range(W.v.shape[0]):
        contact.half_jump[k] = 0.5 * dt * contact.predicted_acceleration[k] if passes else 0.0
    if passes:
        jump_bias_forces(T, W, contact)
    for k in range(W.v.shape[0]):
        W.v[k] = contact.v_start[k] + 0.5 * dt * contact.predicted_acceleration[k]
        contact.v_mid[k] = W.v[k]
    status = call_address(cons.functions[OPERATION], key, constraint_key, dt, PREPARE_STEP)
    if T.passive[0]:
        for k in range(W.v.shape[0]):
            W.bias[k] += damping_and_friction(T, k, contact.v_start[k]) - damping_and_friction(T, k, contact.v_mid[k])
    if passes:
        for k in range(W.v.shape[0]):
            W.bias[k] += contact.jump_bias[k]
    return status


@kernel
def free_velocity(key, constraint_key, T, W, cons, contact, dt, passes):
    """Accelerations without contact forces, constraints held, and from them the velocities contact.v_free at the end of the step."""
    nv = W.v.shape[0]
    for k in range(nv):
        W.v[k] = contact.v_start[k]
    call_address(cons.functions[DELASSUS], key, constraint_key, weak_row_threshold(W, cons), 1)
    if cons.count[ROWS] > 0:  # row velocities at the midpoint, for unforced motion: half of the transport term of the midpoint
        for k in range(nv):
            contact.v_free[k] = W.v[k]
        add_transport_acceleration(T, contact.v_mid, 0.5 * dt, contact.v_free)
        multiply_rows(T, cons, cons.J, contact.v_free, cons.velocity)
    status = call_address(cons.functions[OPERATION], key, constraint_key, dt, COMPLETE_STEP)
    for k in range(nv):
        contact.predicted_acceleration[k] = W.a[k]
    add_transport_acceleration(T, contact.v_mid, 1.0, contact.predicted_acceleration)
    if passes:
        add_transport_acceleration(T, contact.half_jump, 1.0, contact.predicted_acceleration)
    for k in range(nv):
        contact.v_free[k] = W.v[k] + dt * contact.predicted_acceleration[k]
    return status


@kernel
def begin_step(W, contact, dt):
    """Keep the velocities of the start; after a cold start nothing is known of a step before."""
    for k in range(W.v.shape[0]):
        contact.v_start[k] = W.v[k]
    if contact.cold_start[0] or dt > MAX_STEP_GROWTH * contact.last_dt[0]:
        # Accelerations at rest are no prediction: those of stiff dampers and loose limbs do not last for a step. Neither are those of a
        # much shorter step: an impact would go on for many times its duration
        for k in range(W.v.shape[0]):
            contact.predicted_acceleration[k], contact.contact_acceleration[k] = 0.0, 0.0
    if contact.cold_start[0]:
        contact.cold_start[0], contact.old_count[0], contact.stuck_travel[0] = 0, 0, 0.0


@kernel
def detect_contacts(key, contact_key, T, W, cons, geometry, patches, scratch, contact, limits):
    """Contact patches at the midpoint, within the reach of two steps, as rows of the constraint set. Returns a status."""
    time = 2.0 * contact.gap_time[0]
    reach = time * max_point_speed(T, W, geometry)
    if reach <= COMMON_REACH:
        call_address(contact.functions[DETECT], key, contact_key, contact.margin[0] + reach, 0)
    else:
        set_pair_margins(T, W, geometry, scratch, time)
        call_address(contact.functions[DETECT], key, contact_key, contact.margin[0], 0)
        clear_pair_margins(scratch)
    fits = patches.count[FOUND] <= patches.count[KEPT]
    if fits and (reach > COMMON_REACH or contact.fast_speed[0] < math.inf):
        drop_receding_patches(T, W, geometry, patches, contact.margin[0], time, contact.swept_time[0], contact.fast_speed[0])
    copy_to(contact.v_start, W.v)
    fits = fits and assemble_contacts(T, W, cons, geometry, patches, contact, limits) == OK
    return OK if fits else TOO_MANY_CONTACTS


@outlined
def adds_energy(T, W, cons, problem, contact, limits):
    """Whether contact impulses w add energy: wᵀ H v̄ > 0, v̄ being the mean of the velocities before and after the step.

    Overwrites W.v.
    """
    permanent, contacts, rows = cons.count[CONSTRAINTS], cons.count[CONTACTS], cons.count[ROWS]
    for k in range(W.v.shape[0]):
        W.v[k] = 0.5 * (contact.v_start[k] + contact.v_free[k] + cons.z[k])
    multiply_constraint_rows(T, cons, permanent, permanent + contacts, cons.J, W.v, cons.acceleration_target)
    for k in range(W.v.shape[0]):
        W.v[k] = contact.v_start[k]
    multiply_constraint_rows(T, cons, permanent, permanent + contacts, cons.J, W.v, cons.velocity)
    added = size = 0.0
    for a in range(contacts):
        sign = -1.0 if contact.limit_index[a] >= 0 and limits.side[contact.limit_index[a]] < 0 else 1.0
        for r in range(problem.row_start[a], problem.row_start[a + 1]):
            added += sign * problem.w[r] * cons.acceleration_target[rows + r]
            size += abs(problem.w[r] * cons.velocity[rows + r])
    return added > ENERGY_TOLERANCE * size


@kernel
def solve_contacts(key, problem_key, T, W, cons, patches, problem, contact, limits, dt, again):
    """Contact impulses, and the velocity change cons.z that they cause; zero if there are no contacts.

    ``again``: only the free velocities have changed since the problem was solved in this step.
    """
    if cons.count[CONTACTS] == 0:
        for k in range(W.v.shape[0]):
            cons.z[k] = 0.0
        return
    if not again:
        contact.restitution_scale[0] = 1.0
    while True:
        build_problem(T, cons, patches, problem, contact, limits, dt, again)
        call_address(problem.functions[SOLVE], key, problem_key, 0.0, again)
        contact_velocity_change(T, W, cons, problem, contact, limits, cons.z)
        if contact.rebounds[0] == 0 or contact.restitution_scale[0] == 0.0 or not adds_energy(T, W, cons, problem, contact, limits):
            return
        # Several impacts at once, or one with friction, may rebound with more energy than they had [Kane 1984]
        more = contact.restitution_scale[0] > 0.5 and not step_exhausted(problem)
        contact.restitution_scale[0] = contact.restitution_scale[0] - RESTITUTION_STEP if more else 0.0
        again = 1


@kernel
def end_velocity(T, W, cons, problem, contact, dt):
    """Velocities at the end of the step, mean accelerations and constraint forces, and what the next step starts from."""
    nv = W.v.shape[0]
    for k in range(nv):
        W.v[k] = contact.v_free[k]
    if cons.count[CONTACTS] == 0:
        contact.old_count[0], contact.last_dt[0] = 0, dt
        for k in range(nv):
            contact.contact_acceleration[k] = 0.0
        return
    contact.max_residual[0] = max(contact.max_residual[0], problem.residual[0])
    contact.max_penetration[0] = max(contact.max_penetration[0], contact.penetration[0])
    contact.hardest_method[0] = max(contact.hardest_method[0], problem.count[METHOD])
    store_solution(problem, contact, dt)
    predict_acceleration(contact, cons.z, dt)
    for k in range(nv):
        W.v[k] += cons.z[k]
        W.a[k] += cons.z[k] / dt
    if contact.twist_wanted[0]:
        record_twists(T, W, cons, contact)
    for r in range(cons.count[ROWS]):
        cons.force[r] += cons.rhs[r] / dt


@outlined
def contact_step(key, constraint_key, contact_key, problem_key, dt):
    """Advance the state (W.q, W.v) by dt under the torques W.tau, contact impulses included.

    Velocity-dependent forces need the velocities at the midpoint: these are predicted from the step before, and the step is repeated,
    at most MAX_PASSES times and while its budget of work lasts, if contact makes them jump or the prediction fails. Leaves the mean over
    the step of accelerations W.a and of constraint forces.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    geometry, patches, scratch, problem, contact, limits = open_contact(contact_key)
    cold = contact.cold_start[0] != 0
    integrate_unforced(T, W.q, W.v, 0.5 * dt)  # to the midpoint configuration
    begin_step(W, contact, dt)
    passes, jumped = 0, False
    while True:
        add_work(problem, DYNAMICS_WORK * W.v.shape[0])
        status = midpoint_dynamics(key, constraint_key, T, W, cons, contact, dt, passes)
        if status == OK and passes == 0:
            status = detect_contacts(key, contact_key, T, W, cons, geometry, patches, scratch, contact, limits)
        if status == OK:
            status = free_velocity(key, constraint_key, T, W, cons, contact, dt, passes)
        if status != OK:
            copy_to(contact.v_start, W.v)
            return status
        solve_contacts(key, problem_key, T, W, cons, patches, problem, contact, limits, dt, passes)
        if passes == 0:
            jumped = cold or contact_changed(contact, cons.z, dt)
        last = passes == MAX_PASSES or step_exhausted(problem)
        if last or not ((passes == 0 and jumped) or prediction_failed(contact, cons.z, dt, jumped)):
            break
        passes += 1
        predict_mean_acceleration(contact, cons.z, dt)
    end_velocity(T, W, cons, problem, contact, dt)
    if cons.count[CONTACTS] > 0 and contact.penetration[0] > PENETRATION_SLACK:
        status = resolve_penetration(key, problem_key, T, W, cons, patches, problem, contact, limits, dt)
    else:
        contact.stuck_travel[0] = 0.0
    integrate_unforced(T, W.q, W.v, 0.5 * dt)  # to the end of the step
    return status
