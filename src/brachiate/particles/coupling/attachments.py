"""Attachments of particles to links: handles, reports and checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.particles.coupling.coupling import ParticleCoupling

MAX_GAP = 1e-6  # [m] between a particle and the point of a link it is attached to
#: Least damping ratio of attachments whose damping is not given. The response of links is constant within a step, so it is wrong by some ε
#: where they turn or have stiff joints; fast vibrations against the particles grow by about ε of their phase in a step unless damped.
DAMPING_RATIO = 0.05


@dataclass(frozen=True, eq=False)
class AttachmentReport:
    """Effect of attaching a particle to a link, or of cutting it."""

    event: str
    relative_speed: float  # [m/s] of the particle against the point of the link, which the attachment takes up within some steps
    effective_mass: float  # [kg] of particle and link together, in the direction in which both are lightest
    frequency: float  # [Hz] of their vibration against each other
    force: float  # [N] on the link in the last step

    def __str__(self) -> str:
        """Return the report in one line."""
        parts = [f"{self.relative_speed:.3g} m/s apart", f"effective mass {self.effective_mass:.3g} kg", f"{self.frequency:.3g} Hz"]
        return f"{self.event}: {', '.join([*parts, f'force {self.force:.3g} N'])}"


@dataclass(eq=False)
class Attachment:
    """Particle that is attached to a point of a link by a spring-damper of length zero. Compared by identity."""

    coupling: ParticleCoupling = field(repr=False)
    name: str
    particle: str
    link: str
    at: Array  # (3,) [m] in the link
    stiffness: float  # [N/m]
    damping: float  # [N·s/m]
    alive: bool = True
    report: AttachmentReport | None = field(default=None, repr=False)

    @property
    def force(self) -> Array:
        """Mean force on the link in the last step (3,) [N], world axes; its opposite acts on the particle."""
        return self.coupling.attachment_force(self)

    @property
    def gap(self) -> float:
        """Distance of the particle from the point of the link [m]: force over stiffness."""
        return float(np.linalg.norm(self.coupling.system[self.particle] - self.coupling.world.position(self.link, self.at)))


def new_attachment(
    coupling: ParticleCoupling,
    particle: str,
    link: str,
    at: ArrayLike | None,
    stiffness: float | None,
    damping: float | None,
    name: str | None,
) -> Attachment:
    """Checked attachment; nothing has changed."""
    system, world = coupling.system, coupling.world
    i = validation.lookup(system.particles, particle, "particle", "this particle system")
    frame = world.frame(link)
    pose = world.pose(link)
    x = system.arrays.x[i]
    if system.arrays.inverse_mass[i] == 0.0:
        raise ArgumentError(
            f"particle {particle!r} is held in place, so it cannot follow a link. Release it first: system.release({particle!r})."
        )
    taken = next((a for a in coupling.attachments.values() if a.particle == particle and world.frame(a.link).body == frame.body), None)
    if taken is not None:
        raise ArgumentError(
            f"particle {particle!r} is attached to {taken.link!r} already, as {taken.name!r}. Cut that first, or attach another one."
        )
    if at is None:
        point = pose.rotation.T @ (x - pose.position)
    else:
        point = ranges.vector(at, f"point of {link!r}")
        away = float(np.linalg.norm(pose.rotation @ point + pose.position - x))
        if away > MAX_GAP:
            raise ArgumentError(
                f"particle {particle!r} is {100 * away:.3g} cm away from that point of {link!r}. Move it there first (system.positions), "
                "or leave out at= to attach it where it is."
            )
    k, c = _compliance(coupling, i, particle, stiffness, damping)
    made = f"{particle} to {link}" if name is None else name
    if not isinstance(made, str) or not made:
        raise ArgumentError(f"{name!r} cannot name an attachment: a name is a non-empty text.")
    if made in coupling.attachments:
        raise ArgumentError(f"There is already an attachment {made!r}. Give this one another name.")
    return Attachment(coupling, made, particle, link, point, k, c)


def _compliance(coupling: ParticleCoupling, i: int, particle: str, stiffness: float | None, damping: float | None) -> tuple[float, float]:
    """Stiffness and damping: those given, or of the stiffest link at the particle; the damping may still grow."""
    links = coupling.system.link_arrays
    own = np.flatnonzero((links.ends == i).any(axis=1))
    largest = ranges.MAX_STIFFNESS
    if stiffness is None:
        if not len(own):
            raise ArgumentError(f"particle {particle!r} has no links whose stiffness the attachment could have: give stiffness= [N/m].")
        strongest = own[int(links.stiffness[own].argmax())]
        stiffness = float(links.stiffness[strongest])
        damping = float(links.damping[strongest]) if damping is None else damping
    k = validation.number(stiffness, "stiffness of an attachment", above=0.0, maximum=largest)
    return k, validation.number(0.0 if damping is None else damping, "damping of an attachment", minimum=0.0, maximum=largest)


def attachment_report(
    attachment: Attachment, event: str, velocity: Array, response: Array, inverse_mass: float, force: float
) -> AttachmentReport:
    """Report from the relative velocity (3,) and the response (3, 3) of the point of the link to forces [1/kg]."""
    lightest = float(np.linalg.eigvalsh(0.5 * (response + response.T))[-1]) + inverse_mass
    frequency = math.sqrt(attachment.stiffness * lightest) / (2.0 * math.pi)
    return AttachmentReport(f"{attachment.name!r} {event}", float(np.linalg.norm(velocity)), 1.0 / lightest, frequency, force)


def checked_attachment(coupling: ParticleCoupling, what: Any) -> Attachment:
    """The attachment, by handle or by name, that is to be cut."""
    found = validation.lookup(coupling.attachments, what, "attachment", "this coupling") if isinstance(what, str) else what
    if not isinstance(found, Attachment) or found.coupling is not coupling:
        raise ArgumentError(f"cut expects an attachment of this coupling, or its name, got {validation.short_repr(what)}.")
    if not found.alive:
        raise ArgumentError(f"{found.name!r} is cut already.")
    return found
