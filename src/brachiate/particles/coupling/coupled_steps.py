"""Steps of particles together with the links they act on: leapfrog steps, many within one step of the rigid bodies.

Within a rigid step a link moves as its response says: V̇ = A + G w, with the wrenches w of all particles on all coupled links. So the
particles meet the inertia that the figure really has at that point, and their steps are as stable as if it were one of them: for elements
of stiffness K_e between particles and links, the largest eigenvalue of M⁻¹K is at most that of the particles with links at rest plus that
of the links with particles at rest, since both are positive semidefinite.
"""

from __future__ import annotations

from brachiate.compiled import Key, entry, index, kernel, outlined
from brachiate.particles.arrays import open_system
from brachiate.particles.coupling.arrays import (
    CONTACT_DAMPING,
    CONTACT_STIFFNESS,
    DAMPING_BOUND,
    FRICTION,
    LINKS,
    STIFFNESS_BOUND,
    TANGENTIAL_DAMPING,
    TANGENTIAL_STIFFNESS,
    open_coupling,
)
from brachiate.particles.explicit import advance, drift
from brachiate.particles.floor_contact import finite_states
from brachiate.particles.forces import element_forces
from brachiate.spatial import Vec3, compose, cross, exponential, norm, put_rotation, put_vec3, rotation, rotation_of, unrotate, vec3


@kernel
def linear(a, l):
    """First three numbers of row l."""
    return Vec3(a[l, 0], a[l, 1], a[l, 2])


@kernel
def angular(a, l):
    """Last three numbers of row l."""
    return Vec3(a[l, 3], a[l, 4], a[l, 5])


@kernel
def drift_links(links, dt):
    """Move the coupled links with their twists."""
    for l in range(links.count[LINKS]):
        if links.body[l] >= 0:
            put_vec3(links.y, l, vec3(links.y, l) + dt * linear(links.V, l))
            put_rotation(links.R, l, compose(rotation_of(exponential(dt * angular(links.V, l))), rotation(links.R, l)))


@kernel
def put_on_link(links, l, x, f):
    """Add a force at the point x to the wrench on link l."""
    n = cross(x - vec3(links.y, l), f)
    w = links.wrench
    w[l, 0], w[l, 1], w[l, 2] = linear(w, l) + f
    w[l, 3], w[l, 4], w[l, 5] = angular(w, l) + n


@kernel
def add_row(a, i, v):
    """Row i of a += v."""
    put_vec3(a, i, vec3(a, i) + v)


@kernel
def attachment_forces(C, links, attachments, h):
    """Forces of attachments on particles and, at the same place, on links."""
    for a in range(attachments.particle.shape[0]):
        i, l = index(attachments.particle[a]), index(attachments.link[a])
        x, y = vec3(C.x, i), vec3(links.y, l)
        p = y + rotation(links.R, l) @ vec3(attachments.point, a)
        u = linear(links.V, l) + cross(angular(links.V, l), p - y)
        f = attachments.stiffness[a] * (x - p) + attachments.damping[a] * (vec3(C.v, i) - u)
        add_row(C.external, i, -f)
        put_on_link(links, l, x, f)
        add_row(attachments.impulse, a, h * f)


@outlined
def contact_forces(C, links, contacts, h):
    """Forces of particles on shapes: a spring-damper along the normal that only pushes, and friction.

    Friction is that of a spring-damper (a bristle) which slips at the limit of Coulomb's law.
    """
    numbers = contacts.numbers
    for c in range(contacts.count[0]):
        i, l = index(contacts.pair[c, 0]), index(contacts.link[c])
        R, x, y = rotation(links.R, l), vec3(C.x, i), vec3(links.y, l)
        n, p = R @ vec3(contacts.normal, c), y + R @ vec3(contacts.point, c)
        gap = n @ (x - p) - C.radius[i]
        if gap >= 0.0:
            put_vec3(contacts.bristle, c, Vec3(0.0, 0.0, 0.0))
            continue
        slip = vec3(C.v, i) - linear(links.V, l) - cross(angular(links.V, l), x - y)
        rate = n @ slip
        push = max(-numbers[CONTACT_STIFFNESS] * gap - numbers[CONTACT_DAMPING] * rate, 0.0)
        slip = slip - rate * n
        bristle = R @ vec3(contacts.bristle, c)
        bristle = bristle - (n @ bristle) * n + h * slip
        stiffness = numbers[TANGENTIAL_STIFFNESS]
        drag = stiffness * bristle + numbers[TANGENTIAL_DAMPING] * slip
        size, limit = norm(drag), numbers[FRICTION] * push
        if size > limit:
            drag = (limit / size) * drag
            bristle = (1.0 / stiffness) * drag if stiffness > 0.0 else Vec3(0.0, 0.0, 0.0)
        put_vec3(contacts.bristle, c, unrotate(R, bristle))
        f = drag - push * n
        add_row(C.external, i, -f)
        put_on_link(links, l, x, f)
        add_row(contacts.impulse, c, h * f)


@kernel
def reset_external(C, attachments, contacts, particles):
    """Applied forces of coupled particles without those of the coupling."""
    for a in range(attachments.particle.shape[0]):
        i = index(attachments.particle[a])
        put_vec3(C.external, i, vec3(particles.external, i))
    for c in range(contacts.count[0]):
        i = index(contacts.pair[c, 0])
        put_vec3(C.external, i, vec3(particles.external, i))


@kernel
def advance_links(links, h, remaining, share):
    """Accelerate the coupled links, and sum up what they receive; ``remaining``: time until the end of the rigid step."""
    n = links.count[LINKS]
    width = 6 * n
    for l in range(n):
        y = vec3(links.y, l)
        f = linear(links.wrench, l)
        put_vec3(links.spin, l, vec3(links.spin, l) + h * (cross(y, f) + angular(links.wrench, l)))
        put_vec3(links.path, l, vec3(links.path, l) + share * y)
        for c in range(6):
            links.impulse[l, c] += h * links.wrench[l, c]
            links.delayed[l, c] += h * remaining * links.wrench[l, c]
        if links.body[l] < 0:
            continue
        for c in range(6):
            row, s = (6 * l + c) * width, 0.0
            for m in range(n):
                for d in range(6):
                    s += links.G[index(row + 6 * m + d)] * links.wrench[m, d]
            links.V[l, c] += h * (links.A[l, c] + s)


@entry
def run_coupled(key: Key, coupling_key: Key, dt: float, steps: int):
    """Advance particles by ``steps`` leapfrog steps of length dt / steps, with the links; returns a particle that is not finite, or -1.

    Leaves what the links received in links.impulse, links.delayed, links.spin and links.path; the links themselves are where the response
    predicts them.
    """
    C, L, J, P, F = open_system(key)
    links, attachments, contacts, particles, _ = open_coupling(coupling_key)
    n, h = C.x.shape[0], dt / steps
    for l in range(links.count[LINKS]):
        zero = Vec3(0.0, 0.0, 0.0)
        put_vec3(links.y, l, vec3(links.x, l))
        put_vec3(links.spin, l, zero)
        put_vec3(links.path, l, zero)
        for c in range(6):
            links.impulse[l, c] = links.delayed[l, c] = 0.0
    for a in range(attachments.particle.shape[0]):
        put_vec3(attachments.impulse, a, Vec3(0.0, 0.0, 0.0))
    for c in range(contacts.count[0]):
        put_vec3(contacts.impulse, c, Vec3(0.0, 0.0, 0.0))
    for i in range(n):
        put_vec3(particles.external, i, vec3(C.external, i))
    drift(C, 0.5 * h, 0, n)
    drift_links(links, 0.5 * h)
    for k in range(steps):
        for l in range(links.count[LINKS]):
            for c in range(6):
                links.wrench[l, c] = 0.0
        element_forces(C, L, J, P, C.x, C.v)
        attachment_forces(C, links, attachments, h)
        contact_forces(C, links, contacts, h)
        advance(C, L, J, P, F, h, 0, n)
        reset_external(C, attachments, contacts, particles)
        advance_links(links, h, dt - (k + 0.5) * h, 1.0 / steps)
        drift_links(links, h)
    drift(C, -0.5 * h, 0, n)
    return finite_states(C)


# --- stability ------------------------------------------------------------------------------------


@kernel
def add_element(C, links, particles, i, l, point, k, c):
    """Add an element between particle i and a point of link l, of stiffness k and damping c in every direction."""
    particles.added_stiffness[i] += k * C.inverse_mass[i]
    particles.added_damping[i] += c * C.inverse_mass[i]
    d = rotation(links.R, l) @ point
    add_point_matrix(links.stiffness, 36 * l, d, k)
    add_point_matrix(links.damping, 36 * l, d, c)


@kernel
def add_point_matrix(out, at, d, k):
    """Out += k PᵀP, where P = (1, -[d]×) times a twist is the velocity of a point at d."""
    for a in range(3):
        out[at + 7 * a] += k
    out[at + 4] += k * d.z
    out[at + 5] -= k * d.y
    out[at + 9] -= k * d.z
    out[at + 11] += k * d.x
    out[at + 15] += k * d.y
    out[at + 16] -= k * d.x
    out[at + 19] -= k * d.z
    out[at + 20] += k * d.y
    out[at + 24] += k * d.z
    out[at + 26] -= k * d.x
    out[at + 30] -= k * d.y
    out[at + 31] += k * d.x
    size = d @ d
    out[at + 21] += k * (size - d.x * d.x)
    out[at + 28] += k * (size - d.y * d.y)
    out[at + 35] += k * (size - d.z * d.z)
    out[at + 22] -= k * d.x * d.y
    out[at + 27] -= k * d.x * d.y
    out[at + 23] -= k * d.x * d.z
    out[at + 33] -= k * d.x * d.z
    out[at + 29] -= k * d.y * d.z
    out[at + 34] -= k * d.y * d.z


@kernel
def response_bound(links, elements):
    """Bound of the largest eigenvalue of G K, K the block diagonal sum of elements: √tr((G K)²)."""
    n = links.count[LINKS]
    width, total = 6 * n, 0.0
    for l in range(n):
        for a in range(6):
            for m in range(n):
                for b in range(6):
                    x = y = 0.0
                    for c in range(6):
                        x += links.G[index((6 * l + a) * width + 6 * m + c)] * elements[index(36 * m + 6 * c + b)]
                        y += links.G[index((6 * m + b) * width + 6 * l + c)] * elements[index(36 * l + 6 * c + a)]
                    total += x * y
    return max(total, 0.0) ** 0.5


@entry
def update_bounds(key: Key, coupling_key: Key):
    """links.bounds: bounds of stiffness and damping per mass of the system, its attachments and contacts, in the present posture."""
    C, _, _, _, _ = open_system(key)
    links, attachments, contacts, particles, _ = open_coupling(coupling_key)
    for l in range(36 * links.count[LINKS]):
        links.stiffness[l] = links.damping[l] = 0.0
    for a in range(attachments.particle.shape[0]):
        i = attachments.particle[a]
        particles.added_stiffness[i] = particles.added_damping[i] = 0.0
    for c in range(contacts.count[0]):
        i = contacts.pair[c, 0]
        particles.added_stiffness[i] = particles.added_damping[i] = 0.0
    for a in range(attachments.particle.shape[0]):
        i, l, point = attachments.particle[a], attachments.link[a], vec3(attachments.point, a)
        add_element(C, links, particles, i, l, point, attachments.stiffness[a], attachments.damping[a])
    k = max(contacts.numbers[CONTACT_STIFFNESS], contacts.numbers[TANGENTIAL_STIFFNESS])
    d = max(contacts.numbers[CONTACT_DAMPING], contacts.numbers[TANGENTIAL_DAMPING])
    for c in range(contacts.count[0]):
        add_element(C, links, particles, contacts.pair[c, 0], contacts.link[c], vec3(contacts.point, c), k, d)
    stiffness = damping = 0.0
    for i in range(C.mass.shape[0]):
        stiffness = max(stiffness, particles.stiffness[i])
        damping = max(damping, particles.damping[i])
    for a in range(attachments.particle.shape[0] + contacts.count[0]):
        attached = a < attachments.particle.shape[0]
        i = attachments.particle[a] if attached else contacts.pair[a - attachments.particle.shape[0], 0]
        stiffness = max(stiffness, particles.stiffness[i] + particles.added_stiffness[i])
        damping = max(damping, particles.damping[i] + particles.added_damping[i])
    links.bounds[STIFFNESS_BOUND] = stiffness + response_bound(links, links.stiffness)
    links.bounds[DAMPING_BOUND] = damping + response_bound(links, links.damping)
