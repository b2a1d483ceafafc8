"""Surfaces of a world: whether its shapes touch, what they are made of, and which of them never meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from brachiate import validation
from brachiate.contact.collision.collision_shapes import geometry, parts_of
from brachiate.contact.stepping.contact_state import Touches
from brachiate.errors import ArgumentError
from brachiate.model.material import Material
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.contacts import Contacts

if TYPE_CHECKING:
    from brachiate.world.world import World


class Surfaces:
    """What :meth:`World.touch` sets up. Shapes have their own material, or the one given there; pairs of links may have another."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.on = False
        self.material = Material()
        #: What happens between two links, if that was said; None: they never meet. A change makes another one.
        self.between: Mapping[frozenset[str], Material | None] = {}
        self.touches: Touches | None = None
        #: Links that carry and rest, by pair of shapes.
        self.pairs: list[tuple[str, str]] = []

    def touch(
        self, one: str | None, other: str | None, material: Material | None, friction: float | None, restitution: float | None
    ) -> None:
        """See :meth:`World.touch`."""
        if material is None:
            material = Material(
                friction=self.material.friction if friction is None else friction,
                restitution=self.material.restitution if restitution is None else restitution,
            )
        elif friction is not None or restitution is not None:
            raise ArgumentError("touch: give a material, or friction and restitution, not both.")
        if not isinstance(material, Material):
            raise ArgumentError(f"touch expects a Material, such as Material(friction=0.5), got {material!r}.")
        if one is not None and other is not None:
            self._set_between(one, other, material)
        elif one is None and other is None:
            self.material = material
        else:
            raise ArgumentError("touch: name two links, or none for all that there are.")
        self.on = True
        self.rebuild()

    def pass_through(self, one: str | None, other: str | Iterable[str] | None) -> None:
        """See :meth:`World.pass_through`."""
        if one is not None and other is not None:
            for name in (other,) if isinstance(other, str) else other:
                self._set_between(one, name, None)
            self.exclude()
        elif one is None and other is None:
            self.on = False
            self.rebuild()
        else:
            raise ArgumentError("pass_through: name two links, or none for all that there are.")

    def meet(self, one: str, other: str) -> None:
        """See :meth:`World.meet`."""
        for name in (one, other):
            validation.named(self.world.model.links, name, "link", "this world")
        pair = frozenset((one, other))
        if pair in self.between and self.between[pair] is None:
            self.say({both: material for both, material in self.between.items() if both != pair})

    def say(self, between: Mapping[frozenset[str], Material | None]) -> None:
        """What happens between links from now on."""
        if between is self.between:
            return
        made_of, was_made_of = ({k: m for k, m in each.items() if m is not None} for each in (between, self.between))
        self.between = between
        if made_of == was_made_of:
            self.exclude()
        else:
            self.rebuild()

    def contacts(self) -> Contacts:
        """See :attr:`World.contacts`."""
        if self.touches is None:
            return Contacts(())
        return Contacts.of(self.touches.at_this_moment(self.world.time).lines, self.pairs)

    def take_hold(self) -> None:
        """Bring velocities onto all that holds by impulses, which what touches answers."""
        if self.touches is None:
            self.world.held.take_hold()
            return
        self.exclude()  # who is being connected does not touch any more
        self.touches.take_hold()

    def memory(self) -> tuple[Array, ...] | None:
        """What contact knows of the step before."""
        return None if self.touches is None else self.touches.memory()

    def recall(self, memory: tuple[Array, ...] | None) -> None:
        """Bring that back, if there is room for it, else begin anew."""
        if self.touches is not None:
            self.touches.recall(memory)

    def _set_between(self, one: str, other: str, material: Material | None) -> None:
        for name in (one, other):
            validation.named(self.world.model.links, name, "link", "this world")
        self.between = {**self.between, frozenset((one, other)): material}

    def rebuild(self) -> None:
        """Make everything anew for the world's present model; materials stay."""
        if not self.on:
            self.touches = None
            return
        model = self.world.model
        found = geometry(model)
        shapes = parts_of(model)
        self.pairs = [(shapes[a].link, shapes[b].link) for a, b in found.pair]
        materials = []
        for a, b in found.pair:
            own = [shapes[i].shape.material or self.material for i in (a, b)]
            chosen = self.between.get(frozenset((shapes[a].link, shapes[b].link)))
            materials.append(chosen or own[0].with_other(own[1]))
        self.touches = Touches(self.world.data, self.world.held, found, materials)
        self.exclude()

    def exclude(self) -> None:
        """Let bodies that are connected, and links that are told so, not touch."""
        if self.touches is None:
            return
        G = self.touches.geometry
        joined = {frozenset(map(self._whose, (bond.link, bond.to))) for bond in self.world.bonds if isinstance(bond, Connection)}
        for n, (one, other) in enumerate(self.pairs):
            never = self.between.get(frozenset((one, other)), self.material) is None
            G.pair_on[n] = not never and frozenset(map(self._whose, (one, other))) not in joined

    def _whose(self, link: str) -> str | int:
        """The body that a link belongs to; of what stands still, the link itself: holding a bar is not holding the floor."""
        body = self.world.model.placements[link].body if link in self.world.model.placements else -1
        return link if body < 0 else body


def copied(surfaces: Surfaces, world: World) -> Surfaces:
    """Return the same for another world."""
    other = Surfaces(world)
    other.on, other.material, other.between = surfaces.on, surfaces.material, surfaces.between
    return other
