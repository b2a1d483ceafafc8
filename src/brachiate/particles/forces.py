"""Internal forces of particle systems: links, joint torques and friction, planes of rotation [NSP] 2-3.

All of them conserve linear and angular momentum to round-off: forces of links are opposite and along the link, torques of joints have
their reaction at the middle particle, and forces of planes have neither a sum nor a moment.
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel, outlined
from brachiate.particles.arrays import PUBLISHED_PLANES
from brachiate.spatial import Vec3, cross, norm, put_vec3, vec3

STRAIGHT = 1e-9  # sine of the angle between arms below which they count as parallel
PLANE_UPDATES = 2  # Newton steps by which a normal follows its particles in a time step
DEGENERATE = 1e-12  # relative determinant of the moments of a plane's particles that are on a line


@kernel
def link_force(L, k, r, w, distance):
    """Force on the first end of link k; r and w: its position and velocity relative to the second end."""
    # [NSP] eq. 7, with K for the print's 2K: the derivative of ½KΔl², and a damper along the link.
    inverse = 1.0 / distance
    scale = L.stiffness[k] * (1.0 - L.length[k] * inverse) + L.damping[k] * (w @ r) * inverse * inverse
    if L.slack[k] != 0 and (scale < 0.0 or distance < L.length[k]):
        scale = 0.0
    return -scale * r


@kernel
def link_forces(L, x, v, first, last):
    """L.force of links first to last - 1 at positions x and velocities v."""
    for n in range(first, last):
        k = index(n)
        i, j = L.ends[k, 0], L.ends[k, 1]
        r = vec3(x, i) - vec3(x, j)
        put_vec3(L.force, k, link_force(L, k, r, vec3(v, i) - vec3(v, j), norm(r)))


@outlined
def joint_forces(J, P, x, v):
    """J.force, J.moment, J.angle and J.rate of all joints: torque, PD servo, friction and limits."""
    for n in range(J.particles.shape[0]):
        k = index(n)
        a, b, c = J.particles[k, 0], J.particles[k, 1], J.particles[k, 2]
        r1, r3 = vec3(x, a) - vec3(x, b), vec3(x, c) - vec3(x, b)
        w1, w3 = vec3(v, a) - vec3(v, b), vec3(v, c) - vec3(v, b)
        if J.plane[k] >= 0:
            planar_joint_force(J, k, vec3(P.normal, J.plane[k]), r1, r3, w1, w3)
        else:
            spherical_joint_force(J, k, r1, r3, w1, w3)


@kernel
def planar_joint_force(J, k, n, r1, r3, w1, w3):
    """Joint with an axis: the angle of the first arm from the continuation of the third one, about n."""
    p1, p3 = r1 - (n @ r1) * n, r3 - (n @ r3) * n  # in the plane
    across1, across3 = (1.0 / (p1 @ p1)) * cross(n, p1), (1.0 / (p3 @ p3)) * cross(n, p3)
    J.angle[k] = math.atan2(n @ cross(p1, p3), -(p1 @ p3))
    rate = across1 @ w1 - across3 @ w3  # θ̇ of [NSP] eq. 24, about the normal
    J.rate[k] = rate
    motor = J.torque[k] + J.proportional[k] * (J.target[k] - J.angle[k]) + J.derivative[k] * (J.target_rate[k] - rate)
    J.motor[k] = min(max(motor, -J.max_torque[k]), J.max_torque[k])
    torque = J.motor[k] - J.friction[k] * rate + limit_torque(J, k)  # [NSP] eq. 22
    f1, f3 = torque * across1, -torque * across3  # [NSP] eq. 21
    put_vec3(J.force, index(2) * k, f1)
    put_vec3(J.force, index(2) * k + index(1), f3)
    put_vec3(J.moment, k, cross(r1, f1) + cross(r3, f3))


@kernel
def spherical_joint_force(J, k, r1, r3, w1, w3):
    """Joint without an axis: the angle between the arms, which has friction and a limit but no torque."""
    n = cross(r1, r3)  # first × third: the first arm turns from the straight position about it, or about its negative
    size, l1, l3 = norm(n), r1 @ r1, r3 @ r3
    zero = Vec3(0.0, 0.0, 0.0)
    f1, f3 = zero, zero
    if size * size > STRAIGHT * STRAIGHT * l1 * l3:
        n = (1.0 / size) * n
        J.angle[k] = math.atan2(size, -(r1 @ r3))
        across1, across3 = (1.0 / l1) * cross(n, r1), (1.0 / l3) * cross(n, r3)
        rate = across1 @ w1 - across3 @ w3
        J.rate[k] = rate
        torque = limit_torque(J, k) - J.friction[k] * rate
        f1, f3 = torque * across1, -torque * across3
    else:  # parallel arms: every direction across them is as good
        J.angle[k] = 0.0 if r1 @ r3 < 0.0 else math.pi
        turn = (1.0 / l1) * cross(r1, w1) - (1.0 / l3) * cross(r3, w3)
        J.rate[k] = norm(turn)
        turn = J.friction[k] * turn
        f1, f3 = (-1.0 / l1) * cross(turn, r1), (1.0 / l3) * cross(turn, r3)
    put_vec3(J.force, index(2) * k, f1)
    put_vec3(J.force, index(2) * k + index(1), f3)


@kernel
def limit_torque(J, k):
    """Torque of a spring-damper beyond a limit of the angle."""
    excess = 0.0
    if J.angle[k] > J.upper[k]:
        excess = J.angle[k] - J.upper[k]
    elif J.angle[k] < J.lower[k]:
        excess = J.angle[k] - J.lower[k]
    if excess == 0.0:
        return 0.0
    torque = -J.limit_stiffness[k] * excess - J.limit_damping[k] * J.rate[k]
    return torque if torque * excess < 0.0 else 0.0  # a limit pushes back only


@outlined
def follow_normals(P, mass, x):
    """P.normal of all planes at positions x: Newton steps to the plane that fits the particles best, from the normal before."""
    for p in range(P.normal.shape[0]):
        first, last, n = P.start[p], P.start[p + 1], vec3(P.normal, p)
        total, center = 0.0, Vec3(0.0, 0.0, 0.0)
        for q in range(first, last):
            total, center = total + mass[P.member[q]], center + mass[P.member[q]] * vec3(x, P.member[q])
        center = (1.0 / total) * center
        for _ in range(PLANE_UPDATES):
            n = n - plane_slope(P, mass, x, center, n, first, last)[0]
            n = (1.0 / norm(n)) * n
        put_vec3(P.normal, p, n)


@outlined
def plane_forces(P, J, mass, x, v):
    """P.force of all planes.

    Deviations e of particles from the plane that fits best have Σ m e = 0 and Σ m e ρ = 0, ρ the place in the plane. So forces
    -m (ω² e + c ė) n have neither a sum nor a moment: they replace the projection of accelerations of [NSP] eq. 12, which has.
    """
    for p in range(P.normal.shape[0]):
        first, last = P.start[p], P.start[p + 1]
        n, total, center, drift = vec3(P.normal, p), 0.0, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        for q in range(first, last):
            i = P.member[q]
            total += mass[i]
            center, drift = center + mass[i] * vec3(x, i), drift + mass[i] * vec3(v, i)
        center, drift = (1.0 / total) * center, (1.0 / total) * drift
        tilt, moments = plane_slope(P, mass, x, center, n, first, last)
        spin, _ = plane_slope_rate(P, mass, x, v, center, drift, n, first, last)
        moment = Vec3(0.0, 0.0, 0.0)
        for q in range(P.joint_start[p], P.joint_start[p + 1]):
            moment = moment + vec3(J.moment, P.joint[q])
        balance = in_plane_solve(moments, n, -cross(n, moment))  # torques of arms that are not in the plane are passed on to all members
        sum_forces, sum_moments = 0.0, Vec3(0.0, 0.0, 0.0)
        for q in range(first, last):
            i = P.member[q]
            r, w = vec3(x, i) - center, vec3(v, i) - drift
            rho = r - (n @ r) * n
            f = -mass[i] * (P.stiffness[p] * (n @ r - tilt @ rho) + P.damping[p] * (n @ w - spin @ rho))
            P.force[q, 0] = f
            sum_forces, sum_moments = sum_forces + f, sum_moments + f * rho
        # What round-off of the center leaves of the sums, which the large stiffness makes visible, is taken away once more.
        balance = balance - in_plane_solve(moments, n, sum_moments)
        for q in range(first, last):
            i = P.member[q]
            r = vec3(x, i) - center
            put_vec3(P.force, q, (P.force[q, 0] + mass[i] * (balance @ (r - (n @ r) * n) - sum_forces / total)) * n)


@kernel
def plane_slope(P, mass, x, center, n, first, last):
    """Regression of n·r on ρ: slope in the plane, and the moments Σ m ρρᵀ as (xx, yy, zz, yz, xz, xy) in two vectors."""
    diagonal, mixed, right = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for q in range(first, last):
        i = P.member[q]
        r = vec3(x, i) - center
        height = n @ r
        rho = r - height * n
        diagonal, mixed, right = add_moment(mass[i], rho, height, diagonal, mixed, right)
    return in_plane_solve((diagonal, mixed), n, right), (diagonal, mixed)


@kernel
def plane_slope_rate(P, mass, x, v, center, drift, n, first, last):
    """Regression of n·w on ρ."""
    diagonal, mixed, right = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for q in range(first, last):
        i = P.member[q]
        r = vec3(x, i) - center
        rho = r - (n @ r) * n
        diagonal, mixed, right = add_moment(mass[i], rho, n @ (vec3(v, i) - drift), diagonal, mixed, right)
    return in_plane_solve((diagonal, mixed), n, right), (diagonal, mixed)


@kernel
def add_moment(m, rho, height, diagonal, mixed, right):
    """Add one particle to the normal equations of a regression."""
    diagonal = diagonal + m * Vec3(rho.x * rho.x, rho.y * rho.y, rho.z * rho.z)
    mixed = mixed + m * Vec3(rho.y * rho.z, rho.x * rho.z, rho.x * rho.y)
    return diagonal, mixed, right + (m * height) * rho


@kernel
def in_plane_solve(moments, n, right):
    """S⁻¹ b within the plane across n; of particles on a line, along it only."""
    diagonal, mixed = moments
    trace = diagonal.x + diagonal.y + diagonal.z
    if trace == 0.0:
        return Vec3(0.0, 0.0, 0.0)
    u = Vec3(0.0, n.z, -n.y) if abs(n.x) < 0.6 else Vec3(-n.z, 0.0, n.x)
    u = (1.0 / norm(u)) * u
    w = cross(n, u)
    Su, Sw = times_symmetric(diagonal, mixed, u), times_symmetric(diagonal, mixed, w)
    a, b, d = u @ Su, u @ Sw, w @ Sw
    f, g = u @ right, w @ right
    determinant = a * d - b * b
    if determinant > DEGENERATE * trace * trace:
        return (1.0 / determinant) * (((d * f - b * g) * u) + ((a * g - b * f) * w))
    line = (a * u + b * w) if a > d else (b * u + d * w)
    line = (1.0 / norm(line)) * line
    return ((line @ right) / trace) * line


@kernel
def times_symmetric(diagonal, mixed, u):
    """Product of a symmetric matrix and a vector."""
    return Vec3(
        diagonal.x * u.x + mixed.z * u.y + mixed.y * u.z,
        mixed.z * u.x + diagonal.y * u.y + mixed.x * u.z,
        mixed.y * u.x + mixed.x * u.y + diagonal.z * u.z,
    )


@kernel
def element_forces(C, L, J, P, x, v):
    """Forces of all elements of a system (C: particles) at positions x and velocities v."""
    link_forces(L, x, v, 0, L.ends.shape[0])
    if J.particles.shape[0] > 0:
        turn_forces(C, J, P, x, v)


@kernel
def turn_forces(C, J, P, x, v):
    """Forces of joints and planes."""
    if C.options[PUBLISHED_PLANES] != 0:
        joint_forces(J, P, x, v)
    else:
        follow_normals(P, C.mass, x)
        joint_forces(J, P, x, v)
        plane_forces(P, J, C.mass, x, v)


@kernel
def gathered_force(C, L, J, P, n):
    """Sum of the forces of the elements of particle n, in a fixed order."""
    f = Vec3(0.0, 0.0, 0.0)
    for q in range(L.start[n], L.start[n + index(1)]):
        k = L.incident[index(q)]
        f = f + vec3(L.force, k) if k >= 0 else f - vec3(L.force, -1 - k)
    if J.particles.shape[0] > 0:
        f = f + gathered_joint_force(C, J, P, n)
    return f


@outlined
def gathered_joint_force(C, J, P, n):
    """Sum of the forces of joints and planes on particle n."""
    f = Vec3(0.0, 0.0, 0.0)
    for q in range(J.start[n], J.start[n + index(1)]):
        k, role = J.incident[q] // 3, J.incident[q] % 3
        if role == 0:
            f = f + vec3(J.force, 2 * k)
        elif role == 2:
            f = f + vec3(J.force, 2 * k + 1)
        else:
            f = f - (vec3(J.force, 2 * k) + vec3(J.force, 2 * k + 1))
    if C.options[PUBLISHED_PLANES] == 0:
        for q in range(P.at[n], P.at[n + index(1)]):
            f = f + vec3(P.force, P.incident[q])
    return f


@outlined
def without_normal_parts(C, J, P, n, a):
    """Published planes: an acceleration without its part along the normals of the joints of particle n, [NSP] eq. 12."""
    if C.options[PUBLISHED_PLANES] != 0:
        for q in range(J.start[n], J.start[n + index(1)]):
            p = J.plane[J.incident[q] // 3]
            if p >= 0:
                normal = vec3(P.normal, p)
                a = a - (normal @ a) * normal
    return a
