"""Structs of arrays of a coupling: links as the particles see them within a step, attachments, and contacts of particles with shapes.

Sizes: L coupled links (bodies of the model), n particles, a attachments, c contacts. Wrenches and twists of this package have the linear
part first, along world axes, about the *reference point* of a link: the origin of its body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows6, Rows33, struct_opener

#: Of ``CoupledLinks.count``: coupled links; those of them that have attachments, which come first; rows of closed contacts.
LINKS, ATTACHED, CONTACT_ROWS, COUNTS = range(4)
#: Of ``CoupledLinks.bounds``: bounds of the stiffness [1/s²] and of the damping [1/s] per mass of all elements together.
STIFFNESS_BOUND, DAMPING_BOUND, BOUNDS = range(3)
#: Largest number of rows of closed contacts that the response of links takes into account.
MAX_CONTACT_ROWS = 60


class CoupledLinks(NamedTuple):
    """Links that particles act on: their motion within a step, and their response to forces."""

    count: Ints  # (COUNTS,)
    body: Ints  # (L,) -1 for the inertial frame
    number: Ints  # (nb,) coupled link of a body, or -1
    x: Rows3  # (L, 3) [m] reference point at the start of the step
    y: Rows3  # (L, 3) [m] reference point now
    R: Rows33  # (L, 3, 3) orientation now
    V: Rows6  # (L, 6) [m/s, rad/s] twist now
    V_start: Rows6  # (L, 6) twist at the start of the rigid step, after its first impulse
    A: Rows6  # (L, 6) [m/s², rad/s²] accelerations without forces of particles
    G: Floats  # (6L·6L) response: accelerations of links by wrenches on them, constraints and closed contacts held
    wrench: Rows6  # (L, 6) [N, N·m] of the particles, now
    impulse: Rows6  # (L, 6) ∫w dt over the step [N·s, N·m·s]
    delayed: Rows6  # (L, 6) ∫(H - t) w dt
    spin: Rows3  # (L, 3) [N·m·s] angular impulse of the forces of particles about the world's origin
    path: Rows3  # (L, 3) [m] mean of the reference point over the step
    kick: Rows6  # (L, 6) impulse at the start of the rigid step; its opposite acts at the end
    stiffness: Floats  # (36L) sum of stiffness of the elements of a link, by twist
    damping: Floats  # (36L) sum of their damping
    bounds: Floats  # (BOUNDS,)
    force: Floats  # (nv,) work: generalized force, then velocity change
    rows: Floats  # (MAX_CONTACT_ROWS·nv) rows of closed contacts
    responses: Floats  # (MAX_CONTACT_ROWS·nv) velocity changes by their forces
    factor: Floats  # (MAX_CONTACT_ROWS²) Cholesky factor of their responses
    unit: Floats  # work: one number for each row of the constraint set with contacts
    reaction: Floats  # (MAX_CONTACT_ROWS) work


class Attachments(NamedTuple):
    """Spring-dampers of length zero between a particle and a point of a link."""

    particle: Ints  # (a,)
    link: Ints  # (a,) coupled link
    point: Rows3  # (a, 3) [m] in the body, from the reference point
    stiffness: Floats  # (a,) [N/m]
    damping: Floats  # (a,) [N·s/m]
    impulse: Rows3  # (a, 3) ∫ force on the link dt over the step [N·s]


class ShapeContacts(NamedTuple):
    """Particles near shapes: a plane fixed to the link, tangential to its shape, for the present step."""

    count: Ints  # (2,) contacts in use; contacts found, which may be more than fit
    pair: IntRows2  # (c, 2) particle and shape, ascending
    link: Ints  # (c,) coupled link
    point: Rows3  # (c, 3) [m] on the shape, in the body
    normal: Rows3  # (c, 3) outward, in the body
    bristle: Rows3  # (c, 3) [m] tangential elastic displacement, in the body
    impulse: Rows3  # (c, 3) ∫ force on the link dt over the step [N·s]
    old_pair: IntRows2  # (c, 2) contacts of the step before
    old_bristle: Rows3  # (c, 3)
    old_count: Ints  # (1,)
    ignored: Ints  # (shapes,) 1: particles pass through
    exempt: Ints  # (n,) body that a particle does not collide with, as it is attached to it; -2 if there is none
    numbers: Floats  # (CONTACT_NUMBERS,)


#: Of ``ShapeContacts.numbers``: stiffness [N/m], damping [N·s/m], coefficient of friction, tangential stiffness and damping, margin [m].
CONTACT_STIFFNESS, CONTACT_DAMPING, FRICTION, TANGENTIAL_STIFFNESS, TANGENTIAL_DAMPING, MARGIN, CONTACT_NUMBERS = range(7)


class CoupledParticles(NamedTuple):
    """Work arrays of particles."""

    external: Rows3  # (n, 3) [N] applied forces without those of the coupling
    stiffness: Floats  # (n,) [1/s²] bound of the elements of the system by particle
    damping: Floats  # (n,) [1/s]
    added_stiffness: Floats  # (n,) the same of attachments and contacts
    added_damping: Floats  # (n,)


class LastContacts(NamedTuple):
    """Contacts of the world in its last step: arrays of its ``ContactArrays``, or none; na contacts, n rows."""

    cold_start: Ints  # (1,) 1 if nothing is known of the last step
    old_count: Ints  # (1,)
    old_pair: Ints  # (na,)
    old_row_start: Ints  # (na,)
    old_tangential_mode: Ints  # (na,)
    old_w: Floats  # (n,)


open_coupling = struct_opener(CoupledLinks, Attachments, ShapeContacts, CoupledParticles, LastContacts)


def new_links(bodies: int, nv: int, rows: int) -> CoupledLinks:
    """Arrays for all bodies of a model, and so many rows of a constraint set with contacts."""
    L, f = bodies + 1, np.zeros
    three, six, m = lambda: f((L, 3)), lambda: f((L, 6)), MAX_CONTACT_ROWS
    return CoupledLinks(
        count=np.zeros(COUNTS, np.int64), body=np.zeros(L, np.int64), number=np.full(L, -1, np.int64), x=three(), y=three(), R=f((L, 3, 3)),
        V=six(), V_start=six(), A=six(), G=f(36 * L * L), wrench=six(), impulse=six(), delayed=six(), spin=three(), path=three(),
        kick=six(),
        stiffness=f(36 * L), damping=f(36 * L), bounds=f(BOUNDS), force=f(nv), rows=f(m * nv), responses=f(m * nv), factor=f(m * m),
        unit=f(rows), reaction=f(m),
    )  # fmt: skip


def new_attachments(count: int) -> Attachments:
    """Arrays of so many attachments."""
    i = lambda: np.zeros(count, np.int64)  # noqa: E731
    return Attachments(i(), i(), np.zeros((count, 3)), np.zeros(count), np.zeros(count), np.zeros((count, 3)))


def new_contacts(capacity: int, particles: int, shapes: int) -> ShapeContacts:
    """Arrays with room for so many contacts."""
    i, three = lambda k: np.zeros(k, np.int64), lambda: np.zeros((capacity, 3))
    pairs = lambda: np.zeros((capacity, 2), np.int64)  # noqa: E731
    return ShapeContacts(
        i(2), pairs(), i(capacity), three(), three(), three(), three(), pairs(), three(), i(1), i(shapes), np.full(particles, -2, np.int64),
        np.zeros(CONTACT_NUMBERS),
    )  # fmt: skip


def new_particles(count: int) -> CoupledParticles:
    """Work arrays of so many particles."""
    return CoupledParticles(np.zeros((count, 3)), *(np.zeros(count) for _ in range(4)))


def last_contacts(contact: Any) -> LastContacts:
    """The contacts of a world's last step, sharing its arrays; ``contact``: its ContactArrays, or None."""
    if contact is not None:
        return LastContacts(*(getattr(contact, name) for name in LastContacts._fields))
    i = lambda n: np.zeros(n, np.int64)  # noqa: E731
    return LastContacts(i(1), i(1), i(0), i(0), i(0), np.zeros(0))
