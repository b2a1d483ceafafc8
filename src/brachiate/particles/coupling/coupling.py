"""Coupling of a particle system with the figures of a world: attachments, contact with shapes, and common steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError, StateError
from brachiate.kinematics import update_motion
from brachiate.model.status import OK
from brachiate.particles.arrays import FloorArrays, no_floor
from brachiate.particles.coupling.arrays import (
    ATTACHED,
    DAMPING_BOUND,
    LINKS,
    STIFFNESS_BOUND,
    last_contacts,
    new_attachments,
    new_links,
    new_particles,
)
from brachiate.particles.coupling.attachments import (
    DAMPING_RATIO,
    Attachment,
    AttachmentReport,
    attachment_report,
    checked_attachment,
    new_attachment,
)
from brachiate.particles.coupling.coupled_steps import run_coupled, update_bounds
from brachiate.particles.coupling.link_response import begin_rigid_step, end_rigid_step, update_links
from brachiate.particles.coupling.recording import CoupledRecording, coupled_recording
from brachiate.particles.coupling.shapes import ShapeCollisions
from brachiate.particles.floors import ParticleFloor
from brachiate.particles.recording import Samples, sample_of, structure_of
from brachiate.particles.stable_step import element_rates
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array
from brachiate.world.applied_forces import reserve_applied_forces, write_applied_forces
from brachiate.world.world import World

VIBRATION_SHARE = 0.25  # of the largest step that would be stable without damping: the fastest vibration has about twelve steps
STEP_SHARE = 0.5  # of the largest stable step: strong dampers come to rest in a step
MAX_TURN = 0.1  # [rad] of a link in a step or a part of it
MAX_STEPS = 20_000  # of particles in one step of the world
RATE_STEPS = 200  # steps of the world between updates of the stiffness by particle, which joints change as they move
#: Share of dt² times acceleration by which a constant force moves a link in a step.
SHARES = {"euler": 1.0}
IMPLICIT = ("euler", "contact")  # integrators that treat damping implicitly


class _State(NamedTuple):
    """Snapshot of the particles."""

    time: float
    arrays: tuple[Array, ...]
    bristles: Any


class ParticleCoupling:
    """Two-way coupling of a particle system with the links of a world: ``simulation.couple(coupling)``.

    A step of the world is made in two parts. First the particles make their own small steps, in which the coupled links move by their
    response to forces, G = J A⁻¹ Jᵀ with constraints and closed contacts held; then the world makes its step under the forces that the
    particles exerted. Impulses on links are equal and opposite to those on particles. The particles get the world's gravity.

    Args:
        world: The world.
        system: The particles; all ropes, nets and bags of a world are one system.
        floor: Floor for the particles, or None.
        dt: Largest step of the particles [s]; None: one that resolves all vibrations, with the inertia of the links as it is.
    """

    def __init__(self, world: World, system: ParticleSystem, floor: ParticleFloor | None = None, dt: float | None = None) -> None:
        if not isinstance(world, World):
            raise ArgumentError(f"world: expected a World, got {validation.short_repr(world)}.")
        if not isinstance(system, ParticleSystem):
            raise ArgumentError(f"system: expected a ParticleSystem, got {validation.short_repr(system)}.")
        if floor is not None and not isinstance(floor, ParticleFloor):
            raise ArgumentError(f"floor: expected br.particles.Floor, got {validation.short_repr(floor)}.")
        if not len(system):
            raise ArgumentError("This particle system has no particles: add some with add_particle or add_particles.")
        self.dt = None if dt is None else validation.number(dt, "dt", above=0.0, maximum=1.0)
        self.world, self.system, self.floor = world, system, floor
        self.floor_arrays: FloorArrays = no_floor() if floor is None else floor.to_arrays()
        system.gravity = world.gravity
        self._attachments: dict[str, Attachment] = {}
        self.collisions = ShapeCollisions(world, system)  #: contact of particles with shapes
        self._version: Any = None
        self._rows: list[tuple[Samples, Totals, dict[str, Array]]] | None = None
        self._first = self._since_rates = 0
        self._step = (0.0, "rk4")  # length of the present step of the world, and its integrator
        #: Number of steps of the particles in the last step of the world.
        self.substeps = 0

    @property
    def attachments(self) -> Mapping[str, Attachment]:
        """Every attachment by name, in the order they were made."""
        return MappingProxyType(self._attachments)

    # --- structure ----------------------------------------------------------------------------------

    def attach(
        self,
        particle: str,
        link: str,
        at: ArrayLike | None = None,
        *,
        stiffness: float | None = None,
        damping: float | None = None,
        name: str | None = None,
    ) -> Attachment:
        """Attach a particle to a link where it is now, by a spring-damper of length zero. On failure nothing has changed.

        Nothing moves, and velocities do not jump: the attachment takes up a relative velocity within some steps of the particles. Particles
        do not collide with the link they are attached to.

        Args:
            particle: Name of the particle.
            link: Link or site, or ``world``.
            at: Point in it (3,) [m], where the particle is; None: the point where it is.
            stiffness: [N/m]; None: that of the stiffest link at the particle, so that the rope ends in one more of its links.
            damping: [N·s/m]; None: that of this link, and at least a twentieth of the critical one with the inertia of the figure there.
                Vibrations of a rope without any damping may grow if they are faster than the steps of the world.
            name: Name of the attachment; None: ``particle to link``.
        """
        made = new_attachment(self, particle, link, at, stiffness, damping, name)
        self._attachments[made.name] = made
        self._version = None
        try:
            made.report = self._report(made, "attached")
            if damping is None:
                made.damping = max(made.damping, 2.0 * DAMPING_RATIO * float(np.sqrt(made.stiffness * made.report.effective_mass)))
                self._version = None
        except Exception:
            del self._attachments[made.name]
            self._version = None
            raise
        return made

    def cut(self, what: Attachment | str) -> AttachmentReport:
        """Cut an attachment; positions and velocities do not change."""
        attachment = checked_attachment(self, what)
        report = self._report(attachment, "cut")
        del self._attachments[attachment.name]
        attachment.alive, attachment.report = False, report
        self._version = None
        return report

    def enable_contact(self, friction: float = 0.5, stiffness: float | None = None, damping_ratio: float = 0.3) -> None:
        """Let particles that have a radius collide with all shapes of the world that can collide.

        Args:
            friction: Coefficient of Coulomb friction.
            stiffness: Of each contact [N/m]; None: twice that of the stiffest link.
            damping_ratio: Of a particle on a shape at rest.
        """
        self.collisions.enable(friction, stiffness, damping_ratio)
        self._version = None

    def ignore_contact(self, links: str | Iterable[str]) -> None:
        """Let particles pass through the shapes of a link, or of several ones."""
        self.collisions.ignore(links)

    # --- queries ------------------------------------------------------------------------------------

    def totals(self) -> Totals:
        """Mass, momentum and energy of the world and the particles together, springs of attachments included."""
        a, b = self.world.totals(), self.system.totals()
        mass = a.mass + b.mass
        center = (a.mass * a.center + b.mass * b.center) / mass
        spin = a.angular_momentum + b.angular_momentum
        for part in (a, b):
            spin = spin + np.cross(part.center - center, part.momentum)
        momentum = a.momentum + b.momentum
        elastic = sum(0.5 * attachment.stiffness * attachment.gap**2 for attachment in self._attachments.values())
        potential = a.potential + b.potential + elastic
        return Totals(mass, center, momentum / mass, momentum, spin, a.kinetic + b.kinetic, potential)

    def attachment_force(self, attachment: Attachment) -> Array:
        """Mean force of an attachment on its link in the last step (3,) [N]; zero before the first one."""
        if not attachment.alive or self._version is None or self._step[0] == 0.0:
            return np.zeros(3)
        return self._attached.impulse[list(self._attachments).index(attachment.name)] / self._step[0]

    def contact_force(self, link: str) -> Array:
        """Mean force of particles that touch a link (or the body it is fixed to) in the last step (3,) [N], without attachments."""
        body = self.world.placement(link).body
        if self._version is None or self._step[0] == 0.0:
            return np.zeros(3)
        contacts = self.collisions.arrays
        count = int(contacts.count[0])
        return contacts.impulse[:count][self._links.body[contacts.link[:count]] == body].sum(axis=0) / self._step[0]

    def largest_stable_step(self) -> float:
        """Largest stable step of the particles in the present posture, with the links they are attached to and touch [s]."""
        self._refresh()
        self._update_links(0.0, 1e-3)
        return self._stable_step()

    # --- steps: what Simulation.couple expects ------------------------------------------------------

    def count_parts(self, dt: float) -> int:
        """Number of parts of a step: the response of links is that of the posture at its start, so none may turn far in it."""
        update_motion(self.world.data)
        fastest = float(np.sqrt((self.world.data.work.V[:, :3] ** 2).sum(axis=1).max(initial=0.0)))
        return max(1, int(np.ceil(dt * fastest / MAX_TURN)))

    def begin_step(self, dt: float, integrator: str) -> None:
        """Advance the particles by dt, and apply to the links what they exert in this step.

        Raises:
            StateError: The step of the particles is not stable, or a state is not finite. The particles are as they were before.
        """
        self._refresh()
        before = self.save()
        self._step = (dt, integrator)
        self._update_links(dt if integrator in IMPLICIT else 0.0, dt)
        self.substeps = self._count_steps(dt)
        bad = run_coupled(self._system_handle.key, self._handle.key, dt, self.substeps)
        if bad >= 0:
            self.restore(before)
            raise StateError(
                f"The state of particle {self.system.particle_name(bad)!r} is not finite after {self.substeps} steps of "
                f"{dt / self.substeps:.3g} s. Are two linked particles at the same place, or is a force too large for its mass?"
            )
        self.system.time += dt
        begin_rigid_step(*self._keys(), self._first, dt, SHARES.get(integrator, 0.5))

    def end_step(self) -> None:
        """Take the forces of the particles from the links, after the step of the world."""
        dt, integrator = self._step
        self.world.constraint_set.arrays.time[0] = self.world.time + dt
        status = end_rigid_step(*self._keys(), self._first, dt, dt if integrator in IMPLICIT else 0.0)
        if status != OK:
            self.world.data.raise_status(status)

    def save(self) -> _State:
        """Snapshot of the particles."""
        return _State(self.system.time, tuple(array.copy() for array in self._state_arrays()), self.collisions.save())

    def restore(self, state: _State) -> None:
        """Restore a snapshot."""
        self.system.time = state.time
        for array, kept in zip(self._state_arrays(), state.arrays, strict=True):
            array[:] = kept
        self.collisions.restore(state.bristles)
        write_applied_forces(self.world)

    def _state_arrays(self) -> tuple[Array, ...]:
        C = self.system.arrays
        return C.x, C.v, C.impulse, self.floor_arrays.sinkage

    def begin_recording(self) -> None:
        """Begin a recording."""
        self._rows = []

    def record(self) -> None:
        """Record the present state."""
        if self._rows is not None:
            forces = {name: attachment.force for name, attachment in self._attachments.items()}
            self._rows.append((sample_of(self.system), self.totals(), forces))

    def take_recording(self) -> CoupledRecording:
        """Recording since :meth:`begin_recording`."""
        rows, self._rows = self._rows or [], None
        return coupled_recording(structure_of(self.system), rows)

    # --- arrays -------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Use the arrays that the world and the system have now."""
        world, system = self.world, self.system
        links = len(world.model.tree.parent) + 1
        reserve_applied_forces(world, len(world.applied_forces) + links)
        contact, rows = world.contact_settings.contact_state, len(world.constraint_set.arrays.state)
        parts = world.data, world.constraint_set, world.constraint_set.key, None if contact is None else contact.arrays, system.handle()
        if self._version is not None and all(a is b for a, b in zip((*parts, rows), self._version, strict=True)):
            return
        for attachment in list(self._attachments.values()):
            world.frame(attachment.link)  # raises an error if the link no longer exists
        self._links = new_links(links - 1, world.model.nv, rows + 8)
        self._attached = new_attachments(len(self._attachments))
        self._particles = new_particles(len(system))
        bodies: list[int] = []
        for n, attachment in enumerate(self._attachments.values()):
            frame, a = world.frame(attachment.link), self._attached
            if frame.body not in bodies:
                bodies.append(frame.body)
            a.particle[n], a.link[n] = system.particles[attachment.particle], bodies.index(frame.body)
            a.point[n] = frame.position + frame.rotation @ attachment.at
            a.stiffness[n], a.damping[n] = attachment.stiffness, attachment.damping
        self._links.body[: len(bodies)] = bodies
        for number, body in enumerate(bodies):
            if body >= 0:
                self._links.number[body] = number
        self._links.count[LINKS] = self._links.count[ATTACHED] = len(bodies)
        exempt = [(int(i), bodies[link]) for i, link in zip(self._attached.particle, self._attached.link, strict=True)]
        self.collisions.refresh(exempt)
        self._make_handles()
        self._since_rates = RATE_STEPS
        self._version = (*parts, rows)

    def _make_handles(self) -> None:
        state = self.world.contact_settings.contact_state
        contact = last_contacts(None if state is None else state.arrays)
        self._handle = ArrayHandle(self._links, self._attached, self.collisions.arrays, self._particles, contact)
        self._system_handle = self.system.handle(self.floor_arrays)

    def _keys(self) -> tuple[Any, Any, Any]:
        """Keys of data, constraints and coupling."""
        return self.world.data.key, self.world.constraint_set.key, self._handle.key

    def _update_links(self, implicit: float, dt: float) -> None:
        """Contacts with shapes within reach of a step, and motion and response of all links that are coupled now."""
        world = self.world
        while self.collisions.find(world.data.key, self._system_handle.key, self._handle.key, dt):
            self._make_handles()  # in longer arrays
        world.constraint_set.arrays.time[0] = world.time
        self._first = int(world.data.work.push_count[0])
        status = update_links(*self._keys(), implicit)
        if status != OK:
            world.data.raise_status(status)
        if self._since_rates >= RATE_STEPS:
            self._since_rates = 0
            self._particles.stiffness[:], self._particles.damping[:] = element_rates(self.system, self.floor_arrays)
        self._since_rates += 1
        update_bounds(self._system_handle.key, self._handle.key)

    def _stable_step(self) -> float:
        """Largest stable step [s]: a mode of stiffness κ and damping δ per mass is stable if h² κ + 2 h δ < 4."""
        stiffness, damping = self._links.bounds[STIFFNESS_BOUND], self._links.bounds[DAMPING_BOUND]
        root = damping + np.sqrt(damping * damping + 4.0 * stiffness)
        return float(4.0 / root) if root > 0.0 else np.inf

    def _count_steps(self, dt: float) -> int:
        """Number of steps of the particles in a step of the world."""
        stable = self._stable_step()
        vibration = 2.0 / np.sqrt(max(self._links.bounds[STIFFNESS_BOUND], 1e-300))
        wanted = min(STEP_SHARE * stable, VIBRATION_SHARE * vibration) if self.dt is None else self.dt
        if self.dt is not None and self.dt > stable and dt > stable:
            raise StateError(
                f"Steps of {self.dt:.3g} s of the particles are not stable with the links they act on: the largest stable step is "
                f"{stable:.3g} s in this posture. Use a shorter dt of the coupling (None chooses it), softer links and attachments, "
                "or heavier particles."
            )
        count = int(np.ceil(dt / wanted - 1e-9)) if np.isfinite(wanted) else 1
        if count > MAX_STEPS:
            raise StateError(
                f"A step of {dt:.3g} s would take {count} steps of the particles: the largest stable one is {stable:.3g} s. Use softer "
                "links, attachments and contacts, heavier particles, or a shorter step of the simulation."
            )
        return max(count, 1)

    def _report(self, attachment: Attachment, event: str) -> AttachmentReport:
        """Report of an attachment at the present state."""
        force = float(np.linalg.norm(attachment.force))
        self._refresh()
        self._update_links(0.0, 1e-3)
        n = list(self._attachments).index(attachment.name)
        i, link, count = int(self._attached.particle[n]), int(self._attached.link[n]), int(self._links.count[LINKS])
        world, C = self.world, self.system.arrays
        velocity = C.v[i] - world.velocity(attachment.link, attachment.at)[:3] if self._links.body[link] >= 0 else C.v[i]
        r = self._links.R[link] @ self._attached.point[n]
        P = np.hstack([np.eye(3), -np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])])
        own = slice(6 * link, 6 * link + 6)
        G = self._links.G[: 36 * count * count].reshape(6 * count, 6 * count)[own, own]
        return attachment_report(attachment, event, velocity, P @ G @ P.T, float(C.inverse_mass[i]), force)
