"""Ground reaction force estimation: contact forces inside friction cones that minimize the root residual of a given motion.

Inverse dynamics of a motion gives the external wrench w that must act on the floating base. It comes from *contact points*: supports,
whose force is in a friction cone, and grips, whose force is unrestricted. The wrench that they cannot provide is the root residual. It
corresponds to a rigid-body acceleration x of the whole figure, and is minimized in the metric of the composite inertia M, ½ xᵀMx. Each
contact point i resists x like a stiff damper, with its force projected on the cone by P:

    M x + Σ Bᵢ fᵢ = w,    fᵢ = P(kᵢ Bᵢᵀ x + f⁰ᵢ).

x is the minimizer of a strictly convex function of six unknowns a frame, found by Newton's method. Contact points are so stiff that M x
is the residual; their relative stiffness (``confidence``) distributes the load among redundant contacts. Minimal forces would leave out
internal forces between the feet, but legs act as struts: each point is biased by f⁰, which inclines its load towards the center of mass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Key, Rows3, Rows6, entry, kernel, struct_opener
from brachiate.dynamics.inverse import accumulate_forces, body_motion_and_force, passive_forces
from brachiate.kinematics import (
    body_accelerations,
    body_inertias,
    body_velocities,
    finite,
    forward_kinematics,
    joint_motion,
    valid_state,
)
from brachiate.model.arrays import Tree, Work
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW
from brachiate.spatial import (
    Force,
    Inertia,
    Sym3,
    Vec3,
    cross,
    force,
    inertia,
    motion,
    norm,
    point_inertia,
    put6,
    put_vec3,
    rotation,
    vec3,
    velocity_at,
)

NO_CONTACT, SUPPORT, GRIP = range(3)

STRUT_SHARE = 0.5  # of the slope of the line from a contact point to the CoM: half that of a pure strut
STIFFNESS = 1e6  # of contact points, as a multiple of the mass: the relative error of the residual is its inverse
STIFFNESS_CONTINUATION = (
    1e-5,
    1e-4,
    1e-3,
    1e-2,
    0.03,
    0.1,
    0.3,
    1.0,
)  # of that: continuation where the warm start from the previous frame fails
MAX_ITERATIONS, MAX_HALVINGS = 60, 30
GRADIENT_TOLERANCE = 1e-9  # of the required force
ARMIJO = 1e-4  # sufficient decrease of the line search (Armijo condition)


class GroundReactionArrays(NamedTuple):
    """Motion, contact points and estimated forces of some frames. Sizes: f frames, s contact points, nb bodies."""

    q: Floats  # (f nq,) configurations
    v: Floats  # (f nv,) velocities
    a: Floats  # (f nv,) accelerations
    point_body: Ints  # (s,) body of each contact point
    point_center: Rows3  # (s, 3) [m] sphere center, body axes
    point_radius: Floats  # (s,) [m]
    normal: Floats  # (3,) ground normal
    friction: Floats  # (1,) friction coefficient
    point_position: Rows3  # (f s, 3) [m] lowest point of each sphere
    point_velocity: Rows3  # (f s, 3) [m/s] its velocity
    body_position: Rows3  # (f nb, 3) [m] body origins
    body_acceleration: Rows3  # (f nb, 3) [m/s²] their accelerations
    contact_mode: Ints  # (f s,) NO_CONTACT, SUPPORT or GRIP
    confidence: Floats  # (f s,) relative stiffness, up to 1
    contact_force: Rows3  # (f s, 3) [N]
    tau: Floats  # (f nv,) [N·m or N] joint torques; at the root the residual, along its axes
    com: Rows3  # (f, 3) [m] center of mass
    required_wrench: Rows6  # (f, 6) external force [N], moment about the CoM [N·m] that the motion requires
    root_residual: Rows6  # (f, 6) part of it that contacts cannot provide
    external_body: Ints  # (e,) bodies on which known external forces act
    external_wrench: Rows6  # (f e, 6) force [N], moment about the world origin [N·m]
    frame_range: Ints  # (2,) frames to solve: from the first up to the second
    unconverged: Ints  # (1,) number of frames in which Newton's method did not converge, counted up
    active: Ints  # (s,) scratch: active contact points
    arm: Rows3  # (s, 3) [m] scratch: from the CoM
    bias_force: Rows3  # (s, 3) [N] scratch: f⁰, tangential bias of a support
    x: Floats  # (6,) residual acceleration, linear and angular, world axes; of the last frame that was solved
    g: Floats  # (6,) scratch: gradient
    d: Floats  # (6,) scratch: Newton step
    M: Floats  # (36,) scratch: composite inertia
    H: Floats  # (36,) scratch: Hessian


open_arrays = struct_opener(Tree, Work, GroundReactionArrays)


@kernel
def load_frame(grf, W, n):
    """Copy a frame into the workspace."""
    nq, nv = W.q.shape[0], W.v.shape[0]
    for i in range(nq):
        W.q[i] = grf.q[n * nq + i]
    for i in range(nv):
        W.v[i] = grf.v[n * nv + i]
        W.a[i] = grf.a[n * nv + i]


@kernel
def contact_point(grf, T, W, s):
    """Lowest point of a contact sphere along the ground normal, from the tree's origin."""
    i = grf.point_body[s]
    return (
        vec3(W.x, i)
        + rotation(W.R, i) @ vec3(grf.point_center, s)
        - grf.point_radius[s] * Vec3(grf.normal[0], grf.normal[1], grf.normal[2])
    )


@entry
def compute_point_kinematics(key: Key):
    """Positions and velocities of contact points, positions and accelerations of bodies, in every frame."""
    T, W, grf = open_arrays(key)
    bodies, points = T.parent.shape[0], grf.point_body.shape[0]
    for n in range(grf.com.shape[0]):
        load_frame(grf, W, n)
        if not (valid_state(T, W.q, W.v) and finite(W.a)):
            return NOT_FINITE
        forward_kinematics(T, W)
        body_velocities(T, W)
        body_accelerations(T, W)
        for i in range(bodies):
            r, V, A = vec3(W.x, i), motion(W.V, i), motion(W.A, i)
            put_vec3(grf.body_position, n * bodies + i, vec3(W.origin, T.root[i]) + r)
            put_vec3(grf.body_acceleration, n * bodies + i, velocity_at(A, r) + cross(V.w, velocity_at(V, r)))
        for s in range(points):
            r, i = contact_point(grf, T, W, s), grf.point_body[s]
            put_vec3(grf.point_position, n * points + s, vec3(W.origin, T.root[i]) + r)
            put_vec3(grf.point_velocity, n * points + s, velocity_at(motion(W.V, i), r))
    return OK


@kernel
def put_composite_inertia(M, I, c):
    """M ← composite rigid-body inertia about the center of mass c."""
    S = I.I + point_inertia(-I.m, c)
    for k in range(36):
        M[k] = 0.0
    M[0] = M[7] = M[14] = I.m
    M[21], M[28], M[35] = S.xx, S.yy, S.zz
    M[22] = M[27] = S.xy
    M[23] = M[33] = S.xz
    M[29] = M[34] = S.yz


@kernel
def project_on_cone(grf, mode, z):
    """Projection of z on the friction cone, and its region: 0 apex, 1 inside, 2 on the boundary."""
    if mode == GRIP:
        return z, 1
    n, mu = Vec3(grf.normal[0], grf.normal[1], grf.normal[2]), grf.friction[0]
    normal_part = z @ n
    tangential = z - normal_part * n
    t = norm(tangential)
    if t <= mu * normal_part:
        return z, 1
    if mu * t <= -normal_part:
        return Vec3(0.0, 0.0, 0.0), 0
    magnitude = (mu * t + normal_part) / (1.0 + mu * mu)
    return magnitude * n + (mu * magnitude / t) * tangential, 2


@kernel
def trial_force(grf, s, stiffness, base, x):
    """Force k Bᵀ x + f⁰ of a contact point before projection on its cone."""
    u = Vec3(x[0], x[1], x[2]) + cross(Vec3(x[3], x[4], x[5]), vec3(grf.arm, s))
    return stiffness * grf.confidence[base + s] * u + vec3(grf.bias_force, s)


@kernel
def objective(grf, stiffness, base, active_count, wrench, x):
    """Convex objective whose minimizer is the residual acceleration x."""
    total = 0.0
    for r in range(6):
        row = 0.0
        for c in range(6):
            row += grf.M[6 * r + c] * x[c]
        total += x[r] * (0.5 * row - wrench[r])
    for j in range(active_count):
        s = grf.active[j]
        f, _ = project_on_cone(grf, grf.contact_mode[base + s], trial_force(grf, s, stiffness, base, x))
        total += 0.5 * (f @ f) / (stiffness * grf.confidence[base + s])
    return total


@kernel
def add_outer(H, size, a, b):
    """H += size (a, b)(a, b)ᵀ."""
    row = (a.x, a.y, a.z, b.x, b.y, b.z)
    for r in range(6):
        for c in range(r + 1):
            H[6 * r + c] += size * row[r] * row[c]


@kernel
def add_isotropic(H, k, kd, kdd):
    """H += Hessian of contact points inside their cones, by the sums of k, k d and k d dᵀ."""
    for r in range(3):
        H[7 * r] += k
    H[19], H[20] = H[19] - kd.z, H[20] + kd.y
    H[24], H[26] = H[24] + kd.z, H[26] - kd.x
    H[30], H[31] = H[30] - kd.y, H[31] + kd.x
    H[21] += kdd.yy + kdd.zz
    H[28] += kdd.xx + kdd.zz
    H[35] += kdd.xx + kdd.yy
    H[27] -= kdd.xy
    H[33] -= kdd.xz
    H[34] -= kdd.yz


@kernel
def gradient_and_hessian(grf, stiffness, base, active_count, wrench):
    """Gradient g and Hessian H (lower triangle) of the objective at x. Returns the norm of the gradient."""
    n, mu = Vec3(grf.normal[0], grf.normal[1], grf.normal[2]), grf.friction[0]
    total, moment = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    sum_k, sum_kd, sum_kdd = 0.0, Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(36):
        grf.H[k] = grf.M[k]
    for j in range(active_count):
        s = grf.active[j]
        arm, k = vec3(grf.arm, s), stiffness * grf.confidence[base + s]
        z = trial_force(grf, s, stiffness, base, grf.x)
        f, region = project_on_cone(grf, grf.contact_mode[base + s], z)
        total, moment = total + f, moment + cross(arm, f)
        if region == 1:
            kd = k * arm
            sum_k, sum_kd = sum_k + k, sum_kd + kd
            sum_kdd = sum_kdd + Sym3(kd.x * arm.x, kd.x * arm.y, kd.x * arm.z, kd.y * arm.y, kd.y * arm.z, kd.z * arm.z)
        elif region == 2:
            normal_part = z @ n
            tangential = z - normal_part * n
            t = norm(tangential)
            e = (1.0 / t) * tangential
            ray, side = n + mu * e, cross(n, e)
            add_outer(grf.H, k / (1.0 + mu * mu), ray, cross(arm, ray))
            add_outer(grf.H, k * mu * (mu * t + normal_part) / ((1.0 + mu * mu) * t), side, cross(arm, side))
    add_isotropic(grf.H, sum_k, sum_kd, sum_kdd)
    size = 0.0
    for r in range(6):
        g = -wrench[r]
        for c in range(6):
            g += grf.M[6 * r + c] * grf.x[c]
        grf.g[r] = g
    grf.g[0], grf.g[1], grf.g[2] = grf.g[0] + total.x, grf.g[1] + total.y, grf.g[2] + total.z
    grf.g[3], grf.g[4], grf.g[5] = grf.g[3] + moment.x, grf.g[4] + moment.y, grf.g[5] + moment.z
    for r in range(6):
        size += grf.g[r] * grf.g[r]
    return math.sqrt(size)


@kernel
def newton_step(grf):
    """d = -H⁻¹ g by Cholesky factorization, in place."""
    H, d = grf.H, grf.d
    for r in range(6):
        for c in range(r + 1):
            x = H[6 * r + c]
            for k in range(c):
                x -= H[6 * r + k] * H[6 * c + k]
            if r == c:
                H[7 * r] = math.sqrt(max(x, 1e-300))
            else:
                H[6 * r + c] = x / H[7 * c]
    for r in range(6):
        x = -grf.g[r]
        for k in range(r):
            x -= H[6 * r + k] * d[k]
        d[r] = x / H[7 * r]
    for r in range(5, -1, -1):
        x = d[r]
        for k in range(r + 1, 6):
            x -= H[6 * k + r] * d[k]
        d[r] = x / H[7 * r]


@kernel
def minimize(grf, stiffness, base, active_count, wrench, scale):
    """Newton's method from x with backtracking line search. Returns whether it has converged."""
    for _ in range(MAX_ITERATIONS):
        size = gradient_and_hessian(grf, stiffness, base, active_count, wrench)
        if size <= GRADIENT_TOLERANCE * scale:
            return True
        newton_step(grf)
        value = objective(grf, stiffness, base, active_count, wrench, grf.x)
        expected_decrease = 0.0
        for r in range(6):
            expected_decrease += grf.g[r] * grf.d[r]
        fraction = 1.0
        for _ in range(MAX_HALVINGS):
            for r in range(6):
                grf.x[r] += fraction * grf.d[r]
            if objective(grf, stiffness, base, active_count, wrench, grf.x) <= value + ARMIJO * fraction * expected_decrease + 1e-15 * abs(
                value
            ):
                break
            for r in range(6):
                grf.x[r] -= fraction * grf.d[r]
            fraction *= 0.5
    return gradient_and_hessian(grf, stiffness, base, active_count, wrench) <= 1e3 * GRADIENT_TOLERANCE * scale


@kernel
def solve_frame(grf, wrench, base, active_count, mass):
    """Solve for x: warm start from the previous frame, else continuation in the stiffness."""
    scale = mass + norm(Vec3(wrench[0], wrench[1], wrench[2]))
    if minimize(grf, STIFFNESS * mass, base, active_count, wrench, scale):
        return True
    for r in range(6):
        grf.x[r] = 0.0
    converged = False
    for fraction in STIFFNESS_CONTINUATION:
        converged = minimize(grf, fraction * STIFFNESS * mass, base, active_count, wrench, scale)
    return converged


@kernel
def subtract_external_wrenches(grf, W, n, origin):
    """Subtract known external wrenches from the forces of bodies. Returns their sum."""
    total = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    count = grf.external_body.shape[0]
    for e in range(count):
        k, i = n * count + e, grf.external_body[e]
        f = Vec3(grf.external_wrench[k, 0], grf.external_wrench[k, 1], grf.external_wrench[k, 2])
        F = Force(Vec3(grf.external_wrench[k, 3], grf.external_wrench[k, 4], grf.external_wrench[k, 5]) - cross(origin, f), f)
        put6(W.F, i, force(W.F, i) - F)
        total = total + F
    return total


@kernel
def required_forces(grf, T, W, n):
    """Forces of bodies by inverse dynamics, without known external ones; required wrench and composite inertia. Returns mass and CoM."""
    forward_kinematics(T, W)
    body_inertias(T, W)
    total, composite = (
        Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)),
        Inertia(0.0, Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    )
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, joint_motion(T, W, i, W.a))
        total, composite = total + force(W.F, i), composite + inertia(W.inertia, i)
    origin, c = vec3(W.origin, 0), (1.0 / composite.m) * composite.h
    total = total - subtract_external_wrenches(grf, W, n, origin)
    put_composite_inertia(grf.M, composite, c)
    put_vec3(grf.com, n, origin + c)
    grf.required_wrench[n, 0], grf.required_wrench[n, 1], grf.required_wrench[n, 2] = total.f
    grf.required_wrench[n, 3], grf.required_wrench[n, 4], grf.required_wrench[n, 5] = total.n - cross(c, total.f)
    return composite.m, c


@kernel
def find_active_points(grf, T, W, base, c):
    """List the active contact points and their arms from the CoM. Returns how many."""
    active_count = 0
    for s in range(grf.point_body.shape[0]):
        put_vec3(grf.contact_force, base + s, Vec3(0.0, 0.0, 0.0))
        if grf.contact_mode[base + s] != NO_CONTACT and grf.confidence[base + s] > 0.0:
            grf.active[active_count] = s
            put_vec3(grf.arm, s, contact_point(grf, T, W, s) - c)
            put_vec3(grf.bias_force, s, Vec3(0.0, 0.0, 0.0))
            active_count += 1
    return active_count


@kernel
def set_strut_bias(grf, base, active_count, mass):
    """Bias supports towards the CoM, as legs are struts, in proportion to their normal loads."""
    n = Vec3(grf.normal[0], grf.normal[1], grf.normal[2])
    for j in range(active_count):
        s = grf.active[j]
        if grf.contact_mode[base + s] == SUPPORT:
            f, _ = project_on_cone(grf, SUPPORT, trial_force(grf, s, STIFFNESS * mass, base, grf.x))
            arm, load = vec3(grf.arm, s), f @ n
            height = -(arm @ n)
            tangential = (-1.0) * arm - height * n
            max_slope = 0.5 * grf.friction[0]
            tangent_slope = norm(tangential) * STRUT_SHARE / max(height, 1e-3)
            put_vec3(
                grf.bias_force, s, (load * STRUT_SHARE / max(height, 1e-3) * min(1.0, max_slope / max(tangent_slope, 1e-9))) * tangential
            )


@kernel
def joint_torques(T, W, a, tau):
    """Joint torques for the forces of bodies."""
    accumulate_forces(T, W, tau)
    for k in range(tau.shape[0]):
        tau[k] += T.armature[k] * a[k]
    passive_forces(T, W, tau)


@entry
def estimate_contact_forces(key: Key):
    """Contact forces, joint torques and root residual of the frames in frame_range, from x of the frame before. Returns a status."""
    T, W, grf = open_arrays(key)
    points, nv = grf.point_body.shape[0], W.v.shape[0]
    for n in range(max(grf.frame_range[0], 0), min(grf.frame_range[1], grf.com.shape[0])):
        load_frame(grf, W, n)
        if not (valid_state(T, W.q, W.v) and finite(W.a)):
            return NOT_FINITE
        mass, c = required_forces(grf, T, W, n)
        base = n * points
        active_count = find_active_points(grf, T, W, base, c)
        converged = solve_frame(grf, grf.required_wrench[n], base, active_count, mass)
        if active_count > 1:
            set_strut_bias(grf, base, active_count, mass)
            converged = solve_frame(grf, grf.required_wrench[n], base, active_count, mass)
        grf.unconverged[0] += int(not converged)
        for j in range(active_count):
            s = grf.active[j]
            f, _ = project_on_cone(grf, grf.contact_mode[base + s], trial_force(grf, s, STIFFNESS * mass, base, grf.x))
            put_vec3(grf.contact_force, base + s, f)
            put6(W.F, grf.point_body[s], force(W.F, grf.point_body[s]) - Force(cross(vec3(grf.arm, s) + c, f), f))
        for r in range(6):
            residual = 0.0
            for k in range(6):
                residual += grf.M[6 * r + k] * grf.x[k]
            grf.root_residual[n, r] = residual
        joint_torques(T, W, W.a, W.tau)
        for k in range(nv):
            grf.tau[n * nv + k] = W.tau[k]
    return OK if finite(grf.tau) else OVERFLOW
