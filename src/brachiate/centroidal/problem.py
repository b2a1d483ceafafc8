"""Centroidal planning problem and its solution as structs of arrays, and validation of a problem."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brachiate.centroidal.settings import PlanSettings
from brachiate.compiled import ArrayField, Floats, Ints, Rows3, Rows33, kernel

FLIGHT, STANCE, GRIP = range(3)

MAX_PATCHES, MAX_PATCH_POINTS, MAX_FEET = 4, 8, 4  # contact patches of an interval, points of a patch, steppable feet
MAX_MOTORS = 8  # torque-limited joints of a leg
MAX_VERTICAL_ACCELERATION = 3.5  # [g] default upper bound

Rows2 = Annotated[NDArray[np.float64], ArrayField("float64", (2,))]
Rows4 = Annotated[NDArray[np.float64], ArrayField("float64", (MAX_FEET,))]
IntRows4 = Annotated[NDArray[np.int64], ArrayField("int64", (MAX_PATCHES,))]
PatchRows = Annotated[NDArray[np.float64], ArrayField("float64", (MAX_PATCHES, MAX_PATCH_POINTS, 3))]
MotorRows = Annotated[NDArray[np.float64], ArrayField("float64", (MAX_MOTORS, 6))]


class PlanProblem(NamedTuple):
    """Centroidal planning problem: N intervals between N + 1 nodes, L landings; world axes, z up.

    The *offset* of a foot is its horizontal displacement from where it stands in the reference. It is constant until the next landing of
    the foot. The offset of that landing takes effect at an interval between the middle of the swing phase (0 if that has passed) and the
    touchdown. Points of the contact patches of a foot are those of the reference, without the offset.
    """

    dt: Floats  # (N,) [s] lengths of intervals
    com: Rows3  # (N + 1, 3) [m] reference CoM at nodes
    com_velocity: Rows3  # (N + 1, 3) [m/s] its velocity
    com_acceleration: Rows3  # (N, 3) [m/s²] its acceleration at the middle of intervals
    angular_momentum_rate: Rows3  # (N, 3) [N·m] rate of the reference's angular momentum about the CoM at the middle of intervals
    inertia: Rows33  # (N, 3, 3) [kg·m²] locked inertia about the CoM at the middle of intervals
    contact_mode: Ints  # (N,) FLIGHT, STANCE on the patches, or GRIP: any contact force is possible
    patch_points: PatchRows  # (N, 4, 8, 3) [m] points of the contact patches in the reference
    patch_size: IntRows4  # (N, 4) number of points of a patch; 0: no patch
    patch_foot: IntRows4  # (N, 4) foot of a patch; -1: it does not move with a foot
    friction: Floats  # (N,) friction coefficient
    max_vertical_acceleration: Floats  # (N,) [m/s²] upper bound of the vertical CoM acceleration
    motor_count: Ints  # (N,) number of torque-limited joints of the single stance leg; 0: none, or several legs are in stance
    motor_rows: MotorRows  # (N, 8, 6) [m] moments of unit forces along x, y, z at motor_point; x, y of the joint axis; [N·m] torque limit
    motor_point: Rows2  # (N, 2) [m] point under the stance leg, in the reference
    motor_foot: Ints  # (N,) foot of the stance leg; -1: it does not move with a foot
    height_slack: Floats  # (N + 1,) [m] how far the CoM may rise above the reference until the leg is stretched; inf: no limit
    offset_share: Rows4  # (N + 1, 4) share of the offset of each foot by which the reference CoM is shifted
    landing_foot: Ints  # (L,) foot that lands; -1: no landing
    landing_start: Ints  # (L,) interval at which its new offset takes effect; N or later: beyond the horizon
    landing_touchdown: Ints  # (L,) interval at whose start it touches down
    landing_time: Floats  # (L,) [s] time to touchdown
    landing_duration: Floats  # (L,) [s] duration of the stance that follows
    landing_target: Rows2  # (L, 2) [m] offset planned before
    landing_direction: Rows2  # (L, 2) horizontal direction along which the foothold is bounded
    landing_min: Floats  # (L,) [m] lower bound of the offset along it; -inf: no limit
    landing_max: Floats  # (L,) [m] upper bound; inf: no limit
    reach_direction: Rows2  # (L, 2) direction from the body to the landing foot, along which the leg stretches
    reach_slack: Floats  # (L,) [m] by how much farther it can; inf: no limit


class PlanSolution(NamedTuple):
    """Solution of a planning problem, with working arrays. Sizes as in the problem."""

    com: Rows3  # (N + 1, 3) [m]
    com_velocity: Rows3  # (N + 1, 3) [m/s]
    orientation: Rows3  # (N + 1, 3) [rad] relative to the reference
    angular_velocity: Rows3  # (N + 1, 3) [rad/s] its rate
    vertical_acceleration: Floats  # (N,) [m/s²] z̈
    omega_squared: Floats  # (N,) [1/s²] c̈ = ω² (c - cmp); 0 in flight and with grips
    cmp: Rows2  # (N, 2) [m] centroidal moment pivot
    horizontal_acceleration: Rows2  # (N, 2) [m/s²] c̈ at the start of an interval
    cop: Rows3  # (N, 3) [m] center of pressure; the CoM where there is none
    angular_acceleration: Rows3  # (N, 3) [rad/s²] relative to the reference
    angular_momentum_rate: Rows3  # (N, 3) [N·m]
    landing_offset: Rows2  # (L, 2) [m] foothold offsets of landings
    node_time: Floats  # (N + 1,) [s] times of nodes, for the warm start of the next plan
    contact_mode: Ints  # (N,) for the warm start of the next plan
    interval_count: Ints  # (1,) intervals of this plan; 0: there is none yet
    error: Ints  # (2,) error code of an invalid problem, and the node, interval or landing it is about
    iterations: Ints  # (3,) Newton iterations of the vertical and of the horizontal plan, and support polygon updates
    initial_state: Floats  # (12 + 8,) c, ċ, θ, ω (3 each) and offsets of feet (4, 2) now
    assumed_offset: Rows2  # (4, 2) scratch: offsets for which the support polygon is linearized
    active_landing: Ints  # (4,) scratch: landing of each foot that takes effect in this interval, -1: none
    support_x: Floats  # (36,) scratch: points of the support
    support_y: Floats  # (36,)
    support_owner: Ints  # (36,) scratch: feet they move with
    edge_normal: Rows2  # (36, 2) scratch: outward normals of the edges of the support polygon
    edge_offset: Floats  # (36,) [m] scratch: their distance from the origin along the normal
    edge_owner: IntRows4  # (36, 4) scratch: feet with which the two ends of an edge move


class PlanParameters(NamedTuple):
    """Body and settings as arrays (1,) for the kernels; fields from the fourth on are those of :class:`PlanSettings`."""

    mass: Floats
    gravity: Floats
    feet: Ints
    com_position: Floats
    com_velocity: Floats
    orientation: Floats
    angular_velocity: Floats
    center_of_pressure: Floats
    angular_acceleration: Floats
    foothold_offset: Floats
    capture_point: Floats
    terminal_orientation: Floats
    terminal_lookahead: Floats
    com_height: Floats
    vertical_velocity: Floats
    vertical_acceleration: Floats
    reference_interval: Floats
    support_margin: Floats
    friction_share: Floats
    yaw_friction: Floats
    step_reach: Floats
    landing_freeze_time: Floats
    min_vertical_acceleration: Floats
    min_com_height: Floats
    support_softness: Floats
    friction_softness: Floats
    yaw_moment_softness: Floats
    vertical_acceleration_softness: Floats
    leg_length_softness: Floats
    leg_torque_softness: Floats


def allocate_problem(N: int, landings: int) -> PlanProblem:
    """Problem arrays for N intervals."""

    def real(*shape: int) -> NDArray[np.float64]:
        return np.zeros(shape)

    def integer(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    per_interval = (
        real(N, 3),
        real(N, 3),
        real(N, 3, 3),
        integer(N),
        real(N, MAX_PATCHES, MAX_PATCH_POINTS, 3),
        integer(N, MAX_PATCHES),
        integer(N, MAX_PATCHES),
    )
    motors = (integer(N), real(N, MAX_MOTORS, 6), real(N, 2), integer(N))
    limits = (real(N), real(N), *motors, real(N + 1), real(N + 1, MAX_FEET))
    footsteps = (integer(landings), integer(landings), integer(landings), real(landings), real(landings), real(landings, 2))
    bounds = (real(landings, 2), real(landings), real(landings), real(landings, 2), real(landings))
    return PlanProblem(real(N), real(N + 1, 3), real(N + 1, 3), *per_interval, *limits, *footsteps, *bounds)


def allocate_solution(N: int, landings: int) -> PlanSolution:
    """Solution arrays for N intervals."""
    rows3 = [np.zeros((n, 3)) for n in (N + 1, N + 1, N + 1, N + 1)]
    intervals = [np.zeros(N), np.zeros(N), np.zeros((N, 2)), np.zeros((N, 2)), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((N, 3))]
    kept = [np.zeros((landings, 2)), np.zeros(N + 1), *(np.zeros(n, np.int64) for n in (N, 1, 2, 3)), np.zeros(12 + 2 * MAX_FEET)]
    scratch = [np.zeros((MAX_FEET, 2)), np.zeros(MAX_FEET, np.int64), np.zeros(36), np.zeros(36), np.zeros(36, np.int64)]
    return PlanSolution(*[*rows3, *intervals, *kept, *scratch, np.zeros((36, 2)), np.zeros(36), np.zeros((36, 4), np.int64)])


def plan_parameters(settings: PlanSettings, mass: float, gravity: float, feet: int) -> PlanParameters:
    """Body and settings as arrays."""
    return PlanParameters(
        np.array([mass]), np.array([gravity]), np.array([feet]), *(np.array([getattr(settings, n)]) for n in PlanParameters._fields[3:])
    )


VALID, BAD_LENGTH, BAD_REFERENCE, BAD_INERTIA, BAD_PATCH, NO_SUPPORT, BAD_LIMIT, BAD_LANDING, DUPLICATE_LANDING, BAD_MOTOR = range(10)


@kernel
def row_finite(a, k):
    """Whether the three entries of a row are finite."""
    return np.isfinite(a[k, 0] + a[k, 1] + a[k, 2])


@kernel
def check_patches(params, problem, k):
    """Error code of the contact patches of an interval."""
    total = 0
    for j in range(MAX_PATCHES):
        n = problem.patch_size[k, j]
        if n < 0 or n > MAX_PATCH_POINTS or problem.patch_foot[k, j] < -1 or problem.patch_foot[k, j] >= params.feet[0]:
            return BAD_PATCH
        for i in range(n):
            if not np.isfinite(problem.patch_points[k, j, i, 0] + problem.patch_points[k, j, i, 1] + problem.patch_points[k, j, i, 2]):
                return BAD_PATCH
        total += n
    if problem.contact_mode[k] == STANCE and total == 0:
        return NO_SUPPORT
    return VALID


@kernel
def motors_valid(params, problem, k):
    """Whether the torque-limited joints of an interval are valid."""
    if problem.motor_count[k] == 0:
        return True
    if (
        problem.motor_count[k] < 0
        or problem.motor_count[k] > MAX_MOTORS
        or problem.motor_foot[k] < -1
        or problem.motor_foot[k] >= params.feet[0]
    ):
        return False
    total = problem.motor_point[k, 0] + problem.motor_point[k, 1]
    for n in range(problem.motor_count[k]):
        if not problem.motor_rows[k, n, 5] > 0.0:
            return False
        for i in range(6):
            total += problem.motor_rows[k, n, i]
    return np.isfinite(total)


@kernel
def is_positive_definite(I, k):
    """Whether an inertia matrix is symmetric and positive definite."""
    a, b, c, d, e, f = I[k, 0, 0], I[k, 1, 1], I[k, 2, 2], I[k, 0, 1], I[k, 0, 2], I[k, 1, 2]
    symmetric = abs(d - I[k, 1, 0]) + abs(e - I[k, 2, 0]) + abs(f - I[k, 2, 1]) <= 1e-6 * (a + b + c)
    return symmetric and a > 0.0 and a * b - d * d > 0.0 and a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e) > 0.0


@kernel
def check_problem(params, problem, sol, N):
    """Error code of a problem; sol.error[1] gets the node, interval or landing."""
    for k in range(N + 1):
        sol.error[1] = k
        if not (row_finite(problem.com, k) and row_finite(problem.com_velocity, k)):
            return BAD_REFERENCE
        if np.isnan(problem.height_slack[k]) or not np.isfinite(
            problem.offset_share[k, 0] + problem.offset_share[k, 1] + problem.offset_share[k, 2] + problem.offset_share[k, 3]
        ):
            return BAD_LIMIT
    for k in range(N):
        sol.error[1] = k
        if not 0.0 < problem.dt[k] < 1e3:
            return BAD_LENGTH
        if not (row_finite(problem.com_acceleration, k) and row_finite(problem.angular_momentum_rate, k)):
            return BAD_REFERENCE
        if not is_positive_definite(problem.inertia, k):
            return BAD_INERTIA
        error = check_patches(params, problem, k)
        if error != VALID:
            return error
        if problem.contact_mode[k] < FLIGHT or problem.contact_mode[k] > GRIP:
            return BAD_PATCH
        if not motors_valid(params, problem, k):
            return BAD_MOTOR
        if not (
            0.0 <= problem.friction[k] < 1e3
            and params.min_vertical_acceleration[0] * params.gravity[0] < problem.max_vertical_acceleration[k] < 1e6
        ):
            return BAD_LIMIT
    return check_landings(params, problem, sol)


@kernel
def check_landings(params, problem, sol):
    """Error code of the landings."""
    for n in range(problem.landing_foot.shape[0]):
        sol.error[1] = n
        if problem.landing_foot[n] >= 0:
            valid = np.isfinite(
                problem.landing_target[n, 0] + problem.landing_target[n, 1] + problem.reach_direction[n, 0] + problem.reach_direction[n, 1]
            )
            valid = (
                valid and problem.landing_duration[n] >= 0.0 and not (np.isnan(problem.landing_time[n]) or np.isnan(problem.reach_slack[n]))
            )
            if not valid or problem.landing_foot[n] >= params.feet[0]:
                return BAD_LANDING
            if not (
                problem.landing_min[n] <= problem.landing_max[n]
                and np.isfinite(problem.landing_direction[n, 0] + problem.landing_direction[n, 1])
            ):
                return BAD_LANDING
            if problem.landing_start[n] < 0 or problem.landing_touchdown[n] < problem.landing_start[n]:
                return BAD_LANDING
            for m in range(n):
                if problem.landing_foot[m] == problem.landing_foot[n] and problem.landing_start[m] == problem.landing_start[n]:
                    return DUPLICATE_LANDING
    return VALID
