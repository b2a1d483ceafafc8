"""Control step of the dynamics filter, as entry points into compiled code.

:func:`update_state` (state, swing feet), :func:`build_mpc` and :func:`apply_plan` around the centroidal planner, :func:`solve_qp`
(whole-body QP) and :func:`apply_torques`. Structs of arrays come by their keys: model data of the world and of the reference, contact,
QP, controller, reference window, feet, plan and capture step.
"""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.planner import open_plan
from brachiate.compiled import Floats, Key, call_address, entry, kernel
from brachiate.contact.stepping.contact_rows import DETECT, open_contact
from brachiate.filter.footsteps.mpc_problem import build_problem, place_nodes, set_landing_targets
from brachiate.filter.footsteps.swing_foot import (
    init_feet,
    on_slope,
    record_contacts,
    record_support_points,
    reference_shift,
    set_planned_rates,
    update_phase,
)
from brachiate.filter.schedule.arrays import open_feet, open_window
from brachiate.filter.whole_body.arrays import DETECTION_MARGIN, open_control
from brachiate.filter.whole_body.contact_constraints import add_contact
from brachiate.filter.whole_body.loop_constraints import add_loops
from brachiate.filter.whole_body.principal_pivoting import minimize
from brachiate.filter.whole_body.qp import RAYS, ROWS, open_qp, warm_start
from brachiate.filter.whole_body.state import (
    compute_centroidal_state,
    compute_dynamics,
    compute_orientation_error,
    pd_accelerations,
    shift_by_functions,
)
from brachiate.filter.whole_body.tasks import (
    add_active_torque_limits,
    add_violated_torque_limits,
    centroidal_task,
    drop_inactive_torque_limits,
    floating_base_and_limits,
    function_tasks,
    grip_task,
    joint_torque,
    limit_grip_force,
    swing_foot_task,
    tracked_link_task,
)
from brachiate.kinematics import body_accelerations, body_inertias, body_velocities, finite, forward_kinematics, valid_state
from brachiate.linalg.symmetric3 import solve_symmetric3
from brachiate.model.arrays import open_model
from brachiate.model.status import NOT_FINITE, OK, TOO_MANY_CONTACTS
from brachiate.spatial import Vec3, cross, put_vec3_at, vec3, vec3_at

MAX_ORIENTATION_ERROR = 1.0  # [rad] initial orientation error of a plan at most


@kernel
def load_reference_frame(W, ref, ctl, window, k):
    """ref ← state of the world with the figure at frame k of the reference."""
    nq, nv = ctl.q_at.shape[0], ctl.v_at.shape[0]
    for i in range(W.q.shape[0]):
        ref.q[i] = W.q[i]
    for i in range(W.v.shape[0]):
        ref.v[i] = ref.a[i] = 0.0
    for i in range(nq):
        ref.q[ctl.q_at[i]] = window.q[k * nq + i]
    for i in range(nv):
        ref.v[ctl.v_at[i]], ref.a[ctl.v_at[i]] = window.v[k * nv + i], window.a[k * nv + i]


@kernel
def compute_state(T, W, ref, ctl):
    """Kinematics of the reference; dynamics, centroidal state and tracking errors of the figure."""
    if not (valid_state(T, W.q, W.v) and valid_state(T, ref.q, ref.v) and finite(ref.a)):
        return NOT_FINITE
    forward_kinematics(T, ref)
    body_inertias(T, ref)
    body_velocities(T, ref)
    body_accelerations(T, ref)
    compute_dynamics(T, W, ctl)
    compute_centroidal_state(T, W, ref, ctl)
    pd_accelerations(T, W, ref, ctl)
    compute_orientation_error(T, W, ctl)
    return OK


@entry
def init_tracking(data_key: Key, reference_key: Key, control_key: Key, window_key: Key, feet_key: Key, k: int):
    """Initialize state and feet at frame k, at which the figure starts."""
    T, W = open_model(data_key)
    _, ref = open_model(reference_key)
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    load_reference_frame(W, ref, ctl, window, k)
    status = compute_state(T, W, ref, ctl)
    if status == OK:
        init_feet(T, W, ctl, window, feet, k)
    return status


@entry
def update_state(data_key: Key, reference_key: Key, control_key: Key, window_key: Key, feet_key: Key, k: int):
    """Evaluate the state and frame k of the reference, and update stance and swing of the feet."""
    T, W = open_model(data_key)
    _, ref = open_model(reference_key)
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    load_reference_frame(W, ref, ctl, window, k)
    status = compute_state(T, W, ref, ctl)
    if status == OK:
        shift_by_functions(W, ref, ctl)
        update_phase(ctl, window, feet, k)
        put_vec3_at(ctl.tracked_offset, 0, on_slope(window, vec3_at(feet.reference_shift, 0)))
    return status


@entry
def build_mpc(data_key: Key, control_key: Key, window_key: Key, feet_key: Key, plan_key: Key, k: int, intervals: Floats, foot_count: int):
    """Set up the MPC problem from frame k on, with the present state as initial state. Returns the number of intervals."""
    T, W = open_model(data_key)
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    _, problem, plan, _, _ = open_plan(plan_key)
    N = place_nodes(window, feet, k, intervals)
    feet.plan_size[0], feet.plan_size[1] = N, build_problem(T, W, ctl, window, feet, problem, k, N, foot_count)
    rate = solve_symmetric3(window.locked_inertia, k, vec3_at(ctl.angular_momentum, 0) - vec3(window.angular_momentum, k))
    put_vec3_at(plan.initial_state, 9, rate)
    for i in range(3):
        plan.initial_state[i], plan.initial_state[3 + i] = ctl.com[i], ctl.com[3 + i]
        plan.initial_state[6 + i] = (
            min(max(ctl.orientation_error[i] - ctl.orientation_shift[i], -MAX_ORIENTATION_ERROR), MAX_ORIENTATION_ERROR)
            - window.orientation_offset[k, i]
        )
    plan.initial_state[2] -= ctl.com_shift[0]
    plan.initial_state[5] -= ctl.com_shift[1]
    for leg in range(foot_count):
        plan.initial_state[12 + 2 * leg], plan.initial_state[13 + 2 * leg] = feet.foothold_offset[leg, 0], feet.foothold_offset[leg, 1]
    return N


@entry
def apply_plan(control_key: Key, window_key: Key, feet_key: Key, plan_key: Key, k: int):
    """Take CoM acceleration, CMP, angular momentum rate and landing targets from the plan."""
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    parameters, _, plan, _, _ = open_plan(plan_key)
    put_vec3_at(
        feet.com_acceleration,
        0,
        Vec3(plan.horizontal_acceleration[0, 0], plan.horizontal_acceleration[0, 1], plan.vertical_acceleration[0]),
    )
    put_vec3_at(feet.cmp, 0, Vec3(plan.cmp[0, 0], plan.cmp[0, 1], plan.omega_squared[0]))
    put_vec3_at(feet.angular_momentum_rate, 0, vec3(plan.angular_momentum_rate, 0))
    set_landing_targets(ctl, window, feet, k, plan.landing_offset, feet.plan_size[1], parameters.gravity[0])
    return OK


@kernel
def add_contacts(data_key, contact_key, T, W, ctl, qp):
    """Detect the contact patches of the figure, and add their rows and rays to the QP."""
    geometry, patches, _, _, contact, _ = open_contact(contact_key)
    call_address(contact.functions[DETECT], data_key, contact_key, ctl.gain[DETECTION_MARGIN], 0)
    qp.counts[ROWS] = qp.counts[RAYS] = 0
    for m in range(ctl.contact_body.shape[0]):
        ctl.supporting_corners[m] = ctl.touching_corners[m] = 0
        ctl.clearance[m] = 1.0
    if patches.count[1] > patches.count[0]:
        return TOO_MANY_CONTACTS
    for a in range(patches.count[0]):
        first, second = geometry.body[geometry.pair[patches.pair[a], 0]], geometry.body[geometry.pair[patches.pair[a], 1]]
        own_first, own_second = first >= 0 and ctl.members[first] == 1, second >= 0 and ctl.members[second] == 1
        if own_first == own_second:  # not between the figure and something else
            continue
        if qp.counts[RAYS] + 32 > qp.active_rays.shape[0] or qp.counts[ROWS] + 16 > qp.kind.shape[0] // 2:
            return TOO_MANY_CONTACTS
        add_contact(T, W, ctl, qp, geometry, patches, contact, a)
    return OK


@entry
def solve_qp(data_key: Key, reference_key: Key, contact_key: Key, qp_key: Key, control_key: Key, feet_key: Key):
    """Assemble and solve the whole-body QP for the next step; :func:`update_state` has been called. Returns a status."""
    T, W = open_model(data_key)
    _, ref = open_model(reference_key)
    (ctl,) = open_control(control_key)
    (qp,) = open_qp(qp_key)
    (feet,) = open_feet(feet_key)
    set_planned_rates(ctl, feet)
    status = add_contacts(data_key, contact_key, T, W, ctl, qp)
    if status != OK:
        return status
    for g in range(ctl.grip_mode.shape[0]):
        if qp.counts[RAYS] + 6 > qp.active_rays.shape[0]:
            return TOO_MANY_CONTACTS
        grip_task(T, W, ref, ctl, qp, g)
    limit_grip_force(W, ctl, qp)
    if qp.counts[RAYS] + 2 * ctl.loop_count[0] > qp.active_rays.shape[0]:
        return TOO_MANY_CONTACTS
    add_loops(ctl, qp)
    centroidal_task(ctl, qp, W)
    floating_base_and_limits(T, W, ctl, qp)
    for m in range(ctl.contact_body.shape[0]):
        swing_foot_task(T, W, ref, ctl, qp, m)
    for n in range(ctl.tracked_body.shape[0]):
        tracked_link_task(T, W, ref, ctl, qp, n)
    function_tasks(ctl, qp)
    for k in range(W.v.shape[0]):
        qp.weights[k], qp.target[k] = ctl.joint_weight[k], ctl.desired[k]
    warm_start(qp)
    add_active_torque_limits(ctl, qp)
    status = minimize(qp)
    while status == OK and add_violated_torque_limits(ctl, qp):
        status = minimize(qp)
    drop_inactive_torque_limits(ctl, qp)
    return status


@kernel
def set_torques(W, ctl, qp):
    """W.tau ← joint torques of the QP solution; ctl.achieved ← its CoM acceleration and angular momentum rate."""
    n = W.v.shape[0]
    for k in range(n):
        ctl.a[k] = qp.a[k]
        W.tau[k] = 0.0 if ctl.unactuated[k] else min(max(joint_torque(ctl, qp, k), -ctl.effort[k]), ctl.effort[k])
    force, moment, c = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), vec3_at(ctl.com, 0)
    for j in range(qp.counts[RAYS]):
        f = qp.rho[j] * vec3(ctl.ray_direction, j)
        force, moment = force + f, moment + cross(vec3(ctl.ray_point, j) - c, f)
    put_vec3_at(ctl.achieved, 0, (1.0 / ctl.mass[0]) * force + Vec3(W.gravity[0], W.gravity[1], W.gravity[2]))
    put_vec3_at(ctl.achieved, 3, moment)


@entry
def apply_torques(data_key: Key, contact_key: Key, qp_key: Key, control_key: Key, window_key: Key, feet_key: Key, k: int):
    """Set the torques, record the contacts, and evaluate the deviation of the pelvis from the shifted reference."""
    T, W = open_model(data_key)
    (ctl,) = open_control(control_key)
    (qp,) = open_qp(qp_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    geometry, patches, _, _, _, _ = open_contact(contact_key)
    set_torques(W, ctl, qp)
    record_support_points(ctl, qp, geometry, patches, feet)
    record_contacts(T, W, ctl, window, feet, k)
    shift, at = reference_shift(window, feet, k), k * ctl.q_at.shape[0]
    cosine = 0.0
    for i in range(3):
        feet.root_error[i] = W.q[ctl.q_at[i]] - window.q[at + i]
    for i in range(3, 7):
        cosine += W.q[ctl.q_at[i]] * window.q[at + i]
    feet.root_error[0], feet.root_error[1], feet.root_error[2] = (
        feet.root_error[0] - shift.x,
        feet.root_error[1] - shift.y,
        feet.root_error[2] - shift.z,
    )
    feet.root_error[3] = 2.0 * np.arccos(min(abs(cosine), 1.0))
    return OK
