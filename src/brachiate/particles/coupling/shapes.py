"""Contact of particles with the shapes of a world: settings, and the arrays that hold what is near."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import SPHERE
from brachiate.contact.collision.collision_shapes import colliding_shapes, collision_geometry, new_scratch
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.particles.coupling.arrays import (
    CONTACT_DAMPING,
    CONTACT_STIFFNESS,
    FRICTION,
    MARGIN,
    TANGENTIAL_DAMPING,
    TANGENTIAL_STIFFNESS,
    ShapeContacts,
    new_contacts,
)
from brachiate.particles.coupling.shape_contact import find_shape_contacts, keep_contacts
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array
from brachiate.world.world import World

DETECTION_MARGIN = 0.002  # [m] gaps below this are watched in a step, and larger ones of fast particles and links
STIFFNESS_FACTOR = 2.0  # default stiffness of contacts, in multiples of that of the stiffest link


class ShapeCollisions:
    """Contact of the particles of a system with the shapes of a world."""

    def __init__(self, world: World, system: ParticleSystem) -> None:
        self.world, self.system = world, system
        self.enabled = False
        self._numbers: dict[int, float] = {MARGIN: DETECTION_MARGIN}
        self._ignored: set[str] = set()
        self._model: Any = None
        self._shapes: ArrayHandle | None = None
        self._links: list[str] = []
        self.arrays: ShapeContacts = new_contacts(0, len(system), 0)

    def enable(self, friction: float, stiffness: float | None, damping_ratio: float) -> None:
        """See :meth:`ParticleCoupling.enable_contact`."""
        C, springs = self.system.arrays, self.system.link_arrays.stiffness
        if not (C.radius > 0.0).any():
            raise ArgumentError("No particle has a radius, so none can collide with shapes: give radius= [m] when particles are added.")
        if stiffness is None and not springs.any():
            raise ArgumentError("There are no links whose stiffness contacts could have: give stiffness= [N/m].")
        k = STIFFNESS_FACTOR * float(springs.max()) if stiffness is None else stiffness
        k = validation.number(k, "stiffness of contacts", above=0.0, maximum=ranges.MAX_STIFFNESS)
        mu = validation.number(friction, "friction", minimum=0.0, maximum=1e6)
        ratio = validation.number(damping_ratio, "damping_ratio", minimum=0.0, maximum=10.0)
        c = 2.0 * ratio * float(np.sqrt(k * C.mass[C.radius > 0.0].min()))
        self._numbers |= {CONTACT_STIFFNESS: k, CONTACT_DAMPING: c, FRICTION: mu, TANGENTIAL_STIFFNESS: 0.5 * k, TANGENTIAL_DAMPING: c}
        self.enabled, self._model = True, None

    def ignore(self, links: str | Iterable[str]) -> None:
        """See :meth:`ParticleCoupling.ignore_contact`."""
        names = [links] if isinstance(links, str) else list(links)
        for name in names:
            validation.lookup(self.world.model.links, name, "link", "this world")
        self._ignored |= set(names)
        self._mark_ignored()

    def _mark_ignored(self) -> None:
        for g, link in enumerate(self._links):
            self.arrays.ignored[g] = int(link in self._ignored)

    def refresh(self, exempt: Sequence[tuple[int, int]]) -> None:
        """Use the shapes and particles that there are now; ``exempt``: particles and the bodies they are attached to."""
        model = self.world.model
        if self.enabled and (self._model is not model or self._shapes is None or len(self.arrays.exempt) != len(self.system)):
            self._links = [part.link for part in colliding_shapes(model)]
            geometry = with_point(collision_geometry(model, pairs=False))
            scratch = new_scratch(geometry)
            self._shapes = ArrayHandle(geometry, scratch._replace(near_pair=np.zeros(len(geometry.kind), np.int64)))
            self._allocate(2 * len(self.system))
            self._model = model
        if len(self.arrays.exempt) != len(self.system):
            self._allocate(0)
        self.arrays.exempt[:] = -2
        for particle, body in exempt:
            self.arrays.exempt[particle] = body

    def _allocate(self, capacity: int) -> None:
        """Allocate arrays for so many contacts; what is known of the old ones is kept."""
        before = self.arrays
        self.arrays = new_contacts(capacity, len(self.system), len(self._links))
        for index, value in self._numbers.items():
            self.arrays.numbers[index] = value
        for name in ("pair", "bristle", "old_pair", "old_bristle"):
            n = min(capacity, len(getattr(before, name)))
            getattr(self.arrays, name)[:n] = getattr(before, name)[:n]
        self.arrays.count[0], self.arrays.old_count[0] = min(before.count[0], capacity), min(before.old_count[0], capacity)
        if len(before.exempt) == len(self.system):
            self.arrays.exempt[:] = before.exempt
        self._mark_ignored()

    def find(self, key: Any, system_key: Any, coupling_key: Any, dt: float) -> bool:
        """Find the contacts within reach of a step. Returns whether the arrays were too short and have been replaced."""
        if not self.enabled or self._shapes is None:
            return False
        if self.arrays.count[1] <= len(self.arrays.link):  # otherwise the old contacts are kept already
            keep_contacts(coupling_key)
        found = int(find_shape_contacts(key, self._shapes.key, system_key, coupling_key, dt))
        if found <= len(self.arrays.link):
            return False
        self._allocate(2 * found)
        self.arrays.count[1] = 2 * found + 1
        return True

    def save(self) -> tuple[Array, Array] | None:
        """Contacts and their bristles."""
        n = int(self.arrays.count[0])
        return (self.arrays.pair[:n].copy(), self.arrays.bristle[:n].copy()) if n else None

    def restore(self, state: tuple[Array, Array] | None) -> None:
        """Restore contacts and their bristles."""
        n = 0 if state is None else len(state[0])
        if n > len(self.arrays.link):
            self._allocate(n)
        self.arrays.count[0] = n
        if state is not None:
            self.arrays.pair[:n], self.arrays.bristle[:n] = state


def with_point(geometry: Any) -> Any:
    """The geometry with one more shape: a sphere without size, which stands for a particle."""
    more: dict[str, Array] = {
        "kind": np.array([SPHERE]), "body": np.array([-1]), "R": np.eye(3)[None], "p": np.zeros((1, 3)), "size": np.zeros((1, 3)),
        "bounding_radius": np.zeros(1), "grid_size": np.zeros((1, 2), np.int64),
    }  # fmt: skip
    fields = {name: np.concatenate([getattr(geometry, name), rows]) for name, rows in more.items()}
    for name in ("vertex_start", "face_start", "height_start"):
        starts = getattr(geometry, name)
        fields[name] = np.concatenate([starts, starts[-1:]])
    return geometry._replace(**fields)
