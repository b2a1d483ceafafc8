"""Collision of particles with the shapes of links: broad phase by bounding spheres, and a plane for each near pair.

The closest point and the normal come from the collision code of shapes (GJK for convex shapes); both are fixed to the link for one rigid
step, in which particles and links move by millimeters.
"""

from __future__ import annotations

import math

from brachiate.compiled import Key, entry, index, kernel, outlined, struct_opener
from brachiate.contact.arrays import CAPSULE, HEIGHT_FIELD, NEAR, PLANE, CollisionGeometry, CollisionScratch
from brachiate.contact.collision.broad_phase import place_shape, shape_rotation
from brachiate.contact.collision.gjk import convex_distance
from brachiate.contact.collision.height_field import surface_under
from brachiate.contact.stepping.detection_margins import max_point_speed
from brachiate.kinematics import body_velocities, forward_kinematics, tree_origin
from brachiate.model.arrays import open_model
from brachiate.particles.arrays import open_system
from brachiate.particles.coupling.arrays import ATTACHED, LINKS, MARGIN, open_coupling
from brachiate.spatial import Rotation, Vec3, norm, put_vec3, rotation, unrotate, vec3

open_shapes = struct_opener(CollisionGeometry, CollisionScratch)


@kernel
def box_distance(x, low, high):
    """Distance of a point from a box along the axes of the world [m]."""
    dx = max(max(low.x - x.x, x.x - high.x), 0.0)
    dy = max(max(low.y - x.y, x.y - high.y), 0.0)
    dz = max(max(low.z - x.z, x.z - high.z), 0.0)
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@outlined
def point_distance(geometry, scratch, g, R, reach):
    """Whether a point is within reach of shape g; normal, closest point of the shape, and its gap.

    ``scratch.position`` of the last shape, a sphere without size, is the point.
    """
    kind, point = geometry.kind[g], geometry.kind.shape[0] - 1
    p, c = vec3(scratch.position, point), vec3(scratch.position, g)
    d = p - c
    if kind == PLANE:
        gap = R.z @ d
        return gap < reach, R.z, p - gap * R.z, gap
    if kind == HEIGHT_FIELD:
        over, n, gap = surface_under(geometry, g, unrotate(R, d))
        n = R @ n
        return over and gap < reach, n, p - gap * n if over else p, gap
    if kind <= CAPSULE:
        axis = geometry.size[g, 1] * R.z if kind == CAPSULE else Vec3(0.0, 0.0, 0.0)
        length2 = axis @ axis
        s = min(max(d @ axis / length2, -1.0), 1.0) if length2 > 0.0 else 0.0
        r = d - s * axis
        length = norm(r)
        n = (1.0 / length) * r if length > 1e-9 else R.x
        gap = length - geometry.size[g, 0]
        return gap < reach, n, c + s * axis + geometry.size[g, 0] * n, gap
    one = Rotation(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
    result, n, a, gap = convex_distance(geometry, scratch, g, point, R, c, one, p, reach)
    return result == NEAR and gap < reach, n, a, gap


@kernel
def use_link(links, body):
    """Coupled link of a body, which becomes one if it is not."""
    if body < 0:
        for l in range(links.count[LINKS]):
            if links.body[l] < 0:
                return l
    elif links.number[body] >= 0:
        return links.number[body]
    l = links.count[LINKS]
    links.body[l], links.count[LINKS] = body, l + 1
    if body >= 0:
        links.number[body] = l
    return l


@kernel
def add_contact(T, W, links, contacts, i, g, body, n, p):
    """Add a contact of particle i with shape g at p; its bristle is that of the step before, if it was there."""
    k = contacts.count[0]
    contacts.count[1] += 1
    if k == contacts.link.shape[0]:
        return
    contacts.count[0] = k + 1
    contacts.pair[k, 0], contacts.pair[k, 1], contacts.link[k] = i, g, use_link(links, body)
    if body >= 0:
        R = rotation(W.R, body)
        n, p = unrotate(R, n), unrotate(R, p - tree_origin(T, W, body) - vec3(W.x, body))
    put_vec3(contacts.normal, k, n)
    put_vec3(contacts.point, k, p)
    low, high = 0, contacts.old_count[0]
    while low < high:  # the old contacts are in ascending order
        m = (low + high) // 2
        a, b = contacts.old_pair[m, 0], contacts.old_pair[m, 1]
        if a < i or (a == i and b < g):
            low = m + 1
        else:
            high = m
    known = low < contacts.old_count[0] and contacts.old_pair[low, 0] == i and contacts.old_pair[low, 1] == g
    put_vec3(contacts.bristle, k, vec3(contacts.old_bristle, low) if known else Vec3(0.0, 0.0, 0.0))


@kernel
def keep_old_contacts(contacts):
    """Keep the contacts of the step before."""
    for k in range(contacts.count[0]):
        contacts.old_pair[k, 0], contacts.old_pair[k, 1] = contacts.pair[k, 0], contacts.pair[k, 1]
        put_vec3(contacts.old_bristle, k, vec3(contacts.bristle, k))
    contacts.old_count[0] = contacts.count[0]


@kernel
def particle_box(C):
    """Corners of a box around all particles, their radii included; largest speed."""
    low, high, speed2 = vec3(C.x, 0), vec3(C.x, 0), 0.0
    radius = 0.0
    for n in range(C.x.shape[0]):
        i = index(n)
        x, v = vec3(C.x, i), vec3(C.v, i)
        low = Vec3(min(low.x, x.x), min(low.y, x.y), min(low.z, x.z))
        high = Vec3(max(high.x, x.x), max(high.y, x.y), max(high.z, x.z))
        speed2, radius = max(speed2, v @ v), max(radius, C.radius[i])
    r = Vec3(radius, radius, radius)
    return low - r, high + r, math.sqrt(speed2)


@entry
def find_shape_contacts(key: Key, shapes_key: Key, system_key: Key, coupling_key: Key, dt: float):
    """Contacts of particles with shapes within reach of a step at the present poses, and the links they are on.

    Attached links stay coupled. Contacts are in the order of particles, then of shapes. Returns how many were found.
    """
    T, W = open_model(key)
    geometry, scratch = open_shapes(shapes_key)
    C, _, _, _, _ = open_system(system_key)
    links, _, contacts, _, _ = open_coupling(coupling_key)
    for l in range(links.count[ATTACHED], links.count[LINKS]):
        if links.body[l] >= 0:
            links.number[links.body[l]] = -1
    links.count[LINKS] = links.count[ATTACHED]
    contacts.count[0] = contacts.count[1] = 0
    forward_kinematics(T, W)
    body_velocities(T, W)
    speed = max_point_speed(T, W, geometry)
    low, high, fastest = particle_box(C)
    margin, last = contacts.numbers[MARGIN], geometry.kind.shape[0] - 1
    near = 0
    for g in range(last):
        scratch.near_pair[g] = 0
        place_shape(T, W, geometry, scratch, g)
        if contacts.ignored[g] == 0:
            reach = geometry.bounding_radius[g] + margin + dt * (fastest + speed)
            c = vec3(scratch.position, g)
            scratch.near_pair[g] = geometry.kind[g] >= PLANE or box_distance(c, low, high) < reach
            near += scratch.near_pair[g]
    if near == 0:
        return 0
    for n in range(C.x.shape[0]):
        i = index(n)
        x, v = vec3(C.x, i), vec3(C.v, i)
        if C.radius[i] <= 0.0:
            continue
        reach = C.radius[i] + margin + dt * (norm(v) + speed)
        for g in range(last):
            body = geometry.body[g]
            if scratch.near_pair[g] == 0 or body == contacts.exempt[i]:
                continue
            d = x - vec3(scratch.position, g)
            away = geometry.bounding_radius[g] + reach
            if geometry.kind[g] < PLANE and d @ d > away * away:
                continue
            put_vec3(scratch.position, last, x)
            R = shape_rotation(W, geometry, g)
            found, normal, p, _ = point_distance(geometry, scratch, g, R, reach)
            if found:
                add_contact(T, W, links, contacts, n, g, body, normal, p)
    return contacts.count[1]


@entry
def keep_contacts(coupling_key: Key):
    """Keep the contacts of the step before: their bristles."""
    _, _, contacts, _, _ = open_coupling(coupling_key)
    keep_old_contacts(contacts)
