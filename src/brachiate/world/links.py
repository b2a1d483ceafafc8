"""Links by parent, child and brother, loops by virtual links with a real one [SVC] 3; and the drawing of it all.

Nothing is kept here that the world does not say: a view looks at the world's structure when it is asked, so it stays true while
links are connected and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from brachiate import validation
from brachiate.constraints.arrays import NEW, REGULAR
from brachiate.errors import ArgumentError
from brachiate.model.joints import Joint
from brachiate.world.connections import Connection

if TYPE_CHECKING:
    from brachiate.world.world import World

_WIDTH = 110  # of the drawing, before a limb goes on in the next line
_ALIKE = 6  # links in a row with joints of one kind: of more only the ends are drawn


class _Structure(NamedTuple):
    """The pointers of every link, by name; None is the inertial frame."""

    parent: dict[str, str | None]
    children: dict[str | None, list[str]]
    connection: dict[str, Connection]  # of virtual links


class LinkView:
    """A link or virtual link of a world, with the four pointers of [SVC] 3. Views of one link are equal.

    A *virtual link* stands for a link where it is connected to another one: it hangs under the link that its connection goes
    ``to``, carried by the connection's joint, and ``real`` is the link it stands for. Cutting the connection removes it.
    """

    def __init__(self, world: World, name: str, connection: Connection | None = None) -> None:
        self._world, self._name, self._connection = world, name, connection

    def _structure(self) -> _Structure:
        structure = self._world.links.structure()
        there = structure.parent.keys() if self._connection is None else structure.connection.keys()
        if self._name not in there or structure.connection.get(self._name) is not self._connection:
            raise ArgumentError(f"{self._name!r} is there no more: its connection was cut.")
        return structure

    def _view(self, name: str | None) -> LinkView | None:
        return None if name is None else self._world.links[name]

    @property
    def name(self) -> str:
        """Its name; of a virtual link its connection's, marked as virtual."""
        return self._name

    @property
    def parent(self) -> LinkView | None:
        """The link it hangs under; None is the inertial frame."""
        return self._view(self._structure().parent[self._name])

    @property
    def child(self) -> LinkView | None:
        """The first link that hangs under it; the others are brothers of that one."""
        return next(iter(self.children), None)

    @property
    def brother(self) -> LinkView | None:
        """The next link under the same parent."""
        structure = self._structure()
        siblings = structure.children[structure.parent[self._name]]
        after = siblings.index(self._name) + 1
        return self._view(siblings[after]) if after < len(siblings) else None

    @property
    def children(self) -> tuple[LinkView, ...]:
        """Every link that hangs under it: links in the order of the model, then virtual ones in the order they were made."""
        return tuple(self._world.links[name] for name in self._structure().children.get(self._name, ()))

    @property
    def is_virtual(self) -> bool:
        """Whether it only stands for a link that hangs elsewhere."""
        return self._connection is not None

    @property
    def real(self) -> LinkView | None:
        """The link a virtual one stands for (None: the inertial frame); None for all others."""
        self._structure()
        return None if self._connection is None or self._connection.link == "world" else self._world.links[self._connection.link]

    @property
    def connection(self) -> Connection | None:
        """The connection a virtual link was made by."""
        return self._connection

    @property
    def joint(self) -> Joint:
        """The joint that carries it."""
        self._structure()
        return self._world.model.links[self._name].joint if self._connection is None else self._connection.joint

    def __eq__(self, other: object) -> bool:
        """Whether both are views of the same link of the same world."""
        if not isinstance(other, LinkView):
            return NotImplemented
        return (self._world, self._name, self._connection) == (other._world, other._name, other._connection)

    def __hash__(self) -> int:
        """Views of one link have one hash."""
        return hash((id(self._world), self._name))

    def __repr__(self) -> str:
        """Return the name, and where it hangs."""
        if self._connection is not None and not self._connection.alive:
            return f"<Link {self._name!r} (cut)>"
        parent = self._structure().parent[self._name] or "world"
        return f"<Link {self._name!r}: {described(self.joint)} to {parent}>"


class Links(Mapping[str, LinkView]):
    """Every link of a world by name, parents before children, then every virtual link: always as the world is now.

    The first one hangs from the inertial frame; from there ``child`` and ``brother`` lead to all others.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: tuple[object, _Structure] | None = None

    def structure(self) -> _Structure:
        """The pointers, made anew when the world's structure has changed."""
        model, connections = self._world.model, self._world.connections.values()
        made_of = (model, *connections)
        if self._known is None or self._known[0] != made_of:
            parent = {name: link.parent for name, link in model.links.items()}
            virtual: dict[str, Connection] = {}
            for connection in connections:
                name = f"{connection.name} (virtual)"
                while name in parent:
                    name += "′"
                parent[name] = None if connection.to == "world" else connection.to
                virtual[name] = connection
            children: dict[str | None, list[str]] = {}
            for name, above in parent.items():
                children.setdefault(above, []).append(name)
            self._known = made_of, _Structure(parent, children, virtual)
        return self._known[1]

    def __getitem__(self, name: str) -> LinkView:
        """Return one link by name."""
        structure = self.structure()
        validation.named(structure.parent, name, "link", "this world")
        return LinkView(self._world, name, structure.connection.get(name))

    def __contains__(self, name: object) -> bool:
        """Whether there is such a link."""
        return name in self.structure().parent

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self.structure().parent)

    def __len__(self) -> int:
        """How many links there are, virtual ones counted."""
        return len(self.structure().parent)

    def __repr__(self) -> str:
        """Return how many links there are."""
        virtual = len(self.structure().connection)
        return f"<Links: {len(self) - virtual} and {virtual} virtual>"


# --- drawing ------------------------------------------------------------------------------------


def described(joint: Joint) -> str:
    """A joint in words: its type and, if there are any, its freedoms."""
    return f"{joint.type} {joint.nv}" if joint.nv else joint.type


def degrees(dof: int) -> str:
    """Degrees of freedom in words."""
    return "1 degree of freedom" if dof == 1 else f"{dof} degrees of freedom"


def drawn(world: World) -> str:
    """Every figure as a tree of its links: one line for a limb, ``⇢`` for a virtual link."""
    held, connections = world.held, world.connections.values()
    if (held.decided() == NEW).any():  # nobody has looked yet which rows are redundant
        world.decide()
    rows = sum(int((held.room.state[held.rows_of(bond.place)] == REGULAR).sum()) for bond in world.bonds)
    variables, mobility = world.model.nv + sum(bond.joint.nv for bond in connections), world.model.nv - rows
    figures = "1 figure" if len(world.parts) == 1 else f"{len(world.parts)} figures"
    drawing = _Drawing(world, f"World of {figures}: {variables} joint variables, {degrees(mobility)}, t = {world.time:g} s")
    roots = drawing.structure.children.get(None, [])
    for figure, (model, _, _) in world.parts.items():
        own = [root for root in roots if root not in drawing.structure.connection and root.startswith(f"{figure}/")]
        drawing.group(figure if model.name == figure else f"{figure}: {model.name}", own, f"{figure}/")
    held = [root for root in roots if root in drawing.structure.connection]
    if held:
        drawing.group("world", held, "")
    return "\n".join(drawing.lines)


class _Drawing:
    """Lines of text, as they are drawn."""

    def __init__(self, world: World, title: str) -> None:
        self.model, self.structure, self.locks = world.model, world.links.structure(), world.locks
        self.lines = [title]

    def group(self, title: str, links: list[str], prefix: str) -> None:
        """Draw links under a title, and what hangs under them; ``prefix`` is left off their names."""
        self.lines.append(title)
        waiting = [(links, "")]
        while waiting:  # no recursion: a chain may be longer than Python's stack
            siblings, indent = waiting.pop()
            if siblings:
                first, *others = siblings
                limb = self.limb(first)
                under = indent + ("│  " if others else "   ")
                self.limb_lines(indent + ("├─ " if others else "└─ "), under, self.words(limb, prefix))
                waiting += [(others, indent), (self.structure.children.get(limb[-1], []), under)]

    def limb(self, link: str) -> list[str]:
        """A link and those below it, down to the first that carries several, a virtual one, or none."""
        limb = [link]
        while len(below := self.structure.children.get(limb[-1], [])) == 1 and below[0] not in self.structure.connection:
            limb += below
        return limb

    def limb_lines(self, start: str, under: str, words: list[str]) -> None:
        """Draw one limb: one line, or more if it is long."""
        line = start + words[0]
        for word in words[1:]:
            if len(line) + 3 + len(word) > max(_WIDTH, len(under) + _WIDTH // 2):
                self.lines.append(line)
                line = f"{under}─ {word}"
            else:
                line += f" ─ {word}"
        self.lines.append(line)

    def words(self, limb: list[str], prefix: str) -> list[str]:
        """The links of a limb in words; of many alike in a row only the first two and the last."""
        if limb[0] in self.structure.connection:
            return [self.joint(limb[0])]
        alike = groupby(((name.removeprefix(prefix), self.joint(name)) for name in limb), key=lambda pair: pair[1])
        words: list[str] = []
        for joint, pairs in alike:
            found = [f"{name} ({joint})" for name, _ in pairs]
            if len(found) > _ALIKE:
                found[2:-1] = [f"⋯ {len(found) - 3} more ({joint}) ⋯"]
            words += found
        return words

    def joint(self, name: str) -> str:
        """The joint of a link in words; of a virtual link all there is to say."""
        connection = self.structure.connection.get(name)
        if connection is not None:
            link, own = connection.link, connection.name
            named = "" if own in (link, f"{link} to {connection.to}") else f" ({own})"
            return f"⇢ {link} by {described(connection.joint)}{named}"
        link = self.model.links[name]
        place = self.model.joints.get(link.joint_name)
        own = {link.joint_name, *(self.model.coordinates[place.v] if place else ())}
        held = len(own & self.locks.keys())
        whole = link.joint_name in self.locks or held == link.joint.nv
        return described(link.joint) + ("" if not held else ", locked" if whole else f", {held} locked")
