"""Contact settings of a world: whether contact is enabled, materials, and pairs of links whose contact is ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from brachiate import validation
from brachiate.compiled import prepare
from brachiate.contact.collision.collision_shapes import colliding_shapes, collision_geometry
from brachiate.contact.collision.pair_filter import contact_pair_friction
from brachiate.contact.stepping.contact_state import ContactMemory, ContactState
from brachiate.errors import ArgumentError
from brachiate.model.material import Material
from brachiate.world.connections import Connection
from brachiate.world.contacts import Contacts

if TYPE_CHECKING:
    from brachiate.world.world import World


class ContactSettings:
    """Contact as set up by :meth:`World.enable_contact`.

    A shape has its own material, or the default one given there; pairs of links may have another.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.enabled = False
        self.material = Material()
        #: Material between two links, where it was set; None: contact is ignored. Replaced as a whole at every change.
        self.pair_materials: Mapping[frozenset[str], Material | None] = {}
        self.contact_state: ContactState | None = None
        #: First (supporting) and second link of every pair of shapes.
        self.link_pairs: list[tuple[str, str]] = []

    def enable(
        self, link: str | None, other: str | None, material: Material | None, friction: float | None, restitution: float | None
    ) -> None:
        """See :meth:`World.enable_contact`."""
        if material is None:
            material = Material(
                friction=self.material.friction if friction is None else friction,
                restitution=self.material.restitution if restitution is None else restitution,
            )
        elif friction is not None or restitution is not None:
            raise ArgumentError("enable_contact: give a material, or friction and restitution, not both.")
        if not isinstance(material, Material):
            raise ArgumentError(f"enable_contact expects a Material, such as Material(friction=0.5), got {material!r}.")
        if link is not None and other is not None:
            self._set_pair_material(link, other, material)
        elif link is None and other is None:
            self.material = material
        else:
            raise ArgumentError("enable_contact: give two links, or none to enable contact everywhere.")
        prepare("contact")
        self.enabled = True
        self.rebuild()

    def ignore(self, link: str | None, other: str | Iterable[str] | None) -> None:
        """See :meth:`World.ignore_contact`; without links :meth:`World.disable_contact`."""
        if link is not None and other is not None:
            for name in [other] if isinstance(other, str) or not np.iterable(other) else other:
                self._set_pair_material(link, name, None)
            self.update_pairs()
        elif link is None and other is None:
            self.enabled = False
            self.rebuild()
        else:
            raise ArgumentError("ignore_contact: give two links; disable_contact() disables contact everywhere.")

    def allow(self, link: str, other: str) -> None:
        """See :meth:`World.allow_contact`."""
        for name in (link, other):
            validation.lookup(self.world.model.links, name, "link", "this world")
        pair = frozenset((link, other))
        if pair in self.pair_materials and self.pair_materials[pair] is None:
            self.set_pair_materials({both: material for both, material in self.pair_materials.items() if both != pair})

    def set_pair_materials(self, pair_materials: Mapping[frozenset[str], Material | None]) -> None:
        """Replace the materials of pairs of links; None: contact is ignored."""
        if pair_materials is self.pair_materials:
            return
        materials, previous = ({k: m for k, m in mapping.items() if m is not None} for mapping in (pair_materials, self.pair_materials))
        self.pair_materials = pair_materials
        if materials == previous:
            self.update_pairs()
        else:
            self.rebuild()

    def contacts(self) -> Contacts:
        """See :attr:`World.contacts`."""
        if self.contact_state is None:
            return Contacts(())
        return Contacts.from_sample(self.contact_state.evaluate_instant(self.world.time).sample, self.link_pairs)

    def apply_connection_impulse(self) -> None:
        """Project the velocity onto the constraints by an impulse that contacts respond to."""
        if self.contact_state is None:
            self.world.constraint_set.apply_connection_impulse()
            return
        self.update_pairs()  # links that are being connected do not collide
        self.contact_state.apply_connection_impulse()

    def save_memory(self) -> ContactMemory | None:
        """Warm start and predictions of the step before."""
        return None if self.contact_state is None else self.contact_state.save_memory()

    def restore_memory(self, memory: ContactMemory | None) -> None:
        """Restore that memory if it fits, else reset it."""
        if self.contact_state is not None:
            self.contact_state.restore_memory(memory)

    def _set_pair_material(self, link: str, other: str, material: Material | None) -> None:
        for name in (link, other):
            validation.lookup(self.world.model.links, name, "link", "this world")
        self.pair_materials = {**self.pair_materials, frozenset((link, other)): material}

    def rebuild(self) -> None:
        """Rebuild collision geometry and contact state for the present model of the world; materials stay."""
        if not self.enabled:
            self.contact_state = None
            return
        model = self.world.model
        geometry = collision_geometry(model)
        shapes = colliding_shapes(model)
        self.link_pairs = [(shapes[a].link, shapes[b].link) for a, b in geometry.pair]
        frictions = contact_pair_friction(model, [part.link for part in shapes], [part.shape for part in shapes])
        materials = []
        for a, b in geometry.pair:
            own = [shapes[i].shape.material or self.material for i in (a, b)]
            material = own[0].with_other(own[1])
            friction = frictions.get((int(min(a, b)), int(max(a, b))))
            if friction is not None:
                material = replace(material, friction=friction, grip=None)
            materials.append(self.pair_materials.get(frozenset((shapes[a].link, shapes[b].link))) or material)
        self.contact_state = ContactState(self.world.data, self.world.constraint_set, geometry, materials)
        self.update_pairs()

    def update_pairs(self) -> None:
        """Disable contact between connected bodies and between links whose contact is ignored."""
        if self.contact_state is None:
            return
        geometry = self.contact_state.geometry
        connections = [constraint for constraint in self.world.constraints if isinstance(constraint, Connection)]
        connected = {frozenset(map(self._rigid_body, (connection.link, connection.to))) for connection in connections}
        for n, (one, other) in enumerate(self.link_pairs):
            ignored = self.pair_materials.get(frozenset((one, other)), self.material) is None
            geometry.pair_enabled[n] = not ignored and frozenset(map(self._rigid_body, (one, other))) not in connected

    def _rigid_body(self, link: str) -> str | int:
        """Body of a link; the link itself if it is fixed: gripping a bar is not gripping the floor."""
        body = self.world.model.placements[link].body if link in self.world.model.placements else -1
        return link if body < 0 else body


def copy_settings(settings: ContactSettings, world: World) -> ContactSettings:
    """Return the same settings for another world."""
    copy = ContactSettings(world)
    copy.enabled, copy.material, copy.pair_materials = settings.enabled, settings.material, settings.pair_materials
    return copy
