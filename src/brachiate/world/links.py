"""Links with the pointers parent, child, brother and real [SVC] 3, virtual links of connections, and the drawing of the tree.

Views read the structure of the world when they are used, so they stay valid while links are connected and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from brachiate import validation
from brachiate.constraints.arrays import INDEPENDENT, UNCLASSIFIED
from brachiate.errors import ArgumentError
from brachiate.model.joints import Joint
from brachiate.world.connections import Connection

if TYPE_CHECKING:
    from brachiate.world.world import World

_WIDTH = 110  # characters per line of the drawing
_MAX_SIMILAR = 6  # longer runs of links with the same joint type are abbreviated


class _Structure(NamedTuple):
    """Pointers of every link by name; None is the inertial frame."""

    parent: dict[str, str | None]
    children: dict[str | None, list[str]]
    connection: dict[str, Connection]  # of virtual links


class LinkView:
    """Link or virtual link of a world, with the four pointers of [SVC] 3. Views of the same link are equal.

    A *virtual link* represents a connected link in the tree of the other one: its parent is the link that the connection goes
    ``to``, its joint that of the connection, and ``real`` the link that it represents. Cutting the connection removes it.
    """

    def __init__(self, world: World, name: str, connection: Connection | None = None) -> None:
        self._world, self._name, self._connection = world, name, connection

    def _structure(self) -> _Structure:
        structure = self._world.links.structure()
        names = structure.parent.keys() if self._connection is None else structure.connection.keys()
        if self._name not in names or structure.connection.get(self._name) is not self._connection:
            raise ArgumentError(f"{self._name!r} does not exist any more: its connection was cut.")
        return structure

    def _view(self, name: str | None) -> LinkView | None:
        return None if name is None else self._world.links[name]

    @property
    def name(self) -> str:
        """Name of the link; of a virtual link that of its connection, marked as virtual."""
        return self._name

    @property
    def parent(self) -> LinkView | None:
        """Parent link; None is the inertial frame."""
        return self._view(self._structure().parent[self._name])

    @property
    def child(self) -> LinkView | None:
        """First child link; the others are brothers of that one."""
        return next(iter(self.children), None)

    @property
    def brother(self) -> LinkView | None:
        """Next link with the same parent."""
        structure = self._structure()
        siblings = structure.children[structure.parent[self._name]]
        after = siblings.index(self._name) + 1
        return self._view(siblings[after]) if after < len(siblings) else None

    @property
    def children(self) -> tuple[LinkView, ...]:
        """Child links: links in the order of the model, then virtual ones in the order they were made."""
        return tuple(self._world.links[name] for name in self._structure().children.get(self._name, ()))

    @property
    def is_virtual(self) -> bool:
        """Whether it is a virtual link."""
        return self._connection is not None

    @property
    def real(self) -> LinkView | None:
        """Link that a virtual link represents (None: the inertial frame); None for all others."""
        self._structure()
        return None if self._connection is None or self._connection.link == "world" else self._world.links[self._connection.link]

    @property
    def connection(self) -> Connection | None:
        """Connection of a virtual link."""
        return self._connection

    @property
    def joint(self) -> Joint:
        """Joint to the parent link."""
        self._structure()
        return self._world.model.links[self._name].joint if self._connection is None else self._connection.joint

    def __eq__(self, other: object) -> bool:
        """Whether both are views of the same link of the same world."""
        if not isinstance(other, LinkView):
            return NotImplemented
        return (self._world, self._name, self._connection) == (other._world, other._name, other._connection)

    def __hash__(self) -> int:
        """Views of the same link have the same hash."""
        return hash((id(self._world), self._name))

    def __repr__(self) -> str:
        """Return the name, joint and parent."""
        if self._connection is not None and not self._connection.alive:
            return f"<Link {self._name!r} (cut)>"
        parent = self._structure().parent[self._name] or "world"
        return f"<Link {self._name!r}: {describe_joint(self.joint)} to {parent}>"


class Links(Mapping[str, LinkView]):
    """Every link of a world by name, parents before children, then every virtual link, as the world is now.

    The parent of the first one is the inertial frame; from there ``child`` and ``brother`` lead to all others.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._cached: tuple[object, _Structure] | None = None

    def structure(self) -> _Structure:
        """Pointers of all links, recomputed when the structure of the world has changed."""
        model, connections = self._world.model, self._world.connections.values()
        key = (model, *connections)
        if self._cached is None or self._cached[0] != key:
            parent = {name: link.parent for name, link in model.links.items()}
            virtual: dict[str, Connection] = {}
            for connection in connections:
                name = f"{connection.name} (virtual)"
                while name in parent:
                    name += "′"
                parent[name] = None if connection.to == "world" else connection.to
                virtual[name] = connection
            children: dict[str | None, list[str]] = {}
            for name, parent_name in parent.items():
                children.setdefault(parent_name, []).append(name)
            self._cached = key, _Structure(parent, children, virtual)
        return self._cached[1]

    def __getitem__(self, name: str) -> LinkView:
        """Return one link by name."""
        structure = self.structure()
        validation.lookup(structure.parent, name, "link", "this world")
        return LinkView(self._world, name, structure.connection.get(name))

    def __contains__(self, name: object) -> bool:
        """Whether there is such a link."""
        return name in self.structure().parent

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self.structure().parent)

    def __len__(self) -> int:
        """Number of links, virtual ones included."""
        return len(self.structure().parent)

    def __repr__(self) -> str:
        """Return the number of links and of virtual links."""
        virtual = len(self.structure().connection)
        return f"<Links: {len(self) - virtual} and {virtual} virtual>"


# --- drawing ------------------------------------------------------------------------------------


def describe_joint(joint: Joint) -> str:
    """Type of a joint and, if it has any, its degrees of freedom."""
    return f"{joint.type} {joint.nv}" if joint.nv else joint.type


def degrees_of_freedom(dof: int) -> str:
    """Number of degrees of freedom in words."""
    return "1 degree of freedom" if dof == 1 else f"{dof} degrees of freedom"


def draw_tree(world: World) -> str:
    """Drawing of every figure as a tree of its links: one line for each chain, ``⇢`` for a virtual link."""
    constraint_set, connections = world.constraint_set, world.connections.values()
    if (constraint_set.row_states() == UNCLASSIFIED).any():
        world.update_redundancy()
    state = constraint_set.arrays.state
    rows = sum(int((state[constraint_set.row_slice(c.index)] == INDEPENDENT).sum()) for c in world.constraints)
    variables, mobility = world.model.nv + sum(c.joint.nv for c in connections), world.model.nv - rows
    figures = "1 figure" if len(world.parts) == 1 else f"{len(world.parts)} figures"
    drawing = _Drawing(world, f"World of {figures}: {variables} joint variables, {degrees_of_freedom(mobility)}, t = {world.time:g} s")
    roots = drawing.structure.children.get(None, [])
    for figure, (model, _, _) in world.parts.items():
        own = [root for root in roots if root not in drawing.structure.connection and root.startswith(f"{figure}/")]
        drawing.group(figure if model.name == figure else f"{figure}: {model.name}", own, f"{figure}/")
    connected = [root for root in roots if root in drawing.structure.connection]
    if connected:
        drawing.group("world", connected, "")
    return "\n".join(drawing.lines)


class _Drawing:
    """Drawing of the tree of links, line by line."""

    def __init__(self, world: World, title: str) -> None:
        self.model, self.structure, self.locks = world.model, world.links.structure(), world.locks
        self.lines = [title]

    def group(self, title: str, links: list[str], prefix: str) -> None:
        """Draw links and their subtrees under a title; ``prefix`` is removed from their names."""
        self.lines.append(title)
        stack = [(links, "")]
        while stack:  # no recursion: a chain may be longer than Python's stack
            siblings, indent = stack.pop()
            if siblings:
                first, *others = siblings
                chain = self.chain(first)
                below = indent + ("│  " if others else "   ")
                self.chain_lines(indent + ("├─ " if others else "└─ "), below, self.labels(chain, prefix))
                stack += [(others, indent), (self.structure.children.get(chain[-1], []), below)]

    def chain(self, link: str) -> list[str]:
        """A link and its descendants, down to the first that has several children, a virtual one, or none."""
        chain = [link]
        while len(children := self.structure.children.get(chain[-1], [])) == 1 and children[0] not in self.structure.connection:
            chain += children
        return chain

    def chain_lines(self, start: str, below: str, labels: list[str]) -> None:
        """Draw one chain: one line, or more if it is long."""
        line = start + labels[0]
        for label in labels[1:]:
            if len(line) + 3 + len(label) > max(_WIDTH, len(below) + _WIDTH // 2):
                self.lines.append(line)
                line = f"{below}─ {label}"
            else:
                line += f" ─ {label}"
        self.lines.append(line)

    def labels(self, chain: list[str], prefix: str) -> list[str]:
        """Labels of the links of a chain; of many similar ones in a row only the first two and the last."""
        if chain[0] in self.structure.connection:
            return [self.joint_label(chain[0])]
        similar = groupby(((name.removeprefix(prefix), self.joint_label(name)) for name in chain), key=lambda pair: pair[1])
        labels: list[str] = []
        for joint, pairs in similar:
            found = [f"{name} ({joint})" for name, _ in pairs]
            if len(found) > _MAX_SIMILAR:
                found[2:-1] = [f"⋯ {len(found) - 3} more ({joint}) ⋯"]
            labels += found
        return labels

    def joint_label(self, name: str) -> str:
        """Description of the joint of a link; for a virtual link with the real link and the connection."""
        connection = self.structure.connection.get(name)
        if connection is not None:
            link, own = connection.link, connection.name
            named = "" if own in (link, f"{link} to {connection.to}") else f" ({own})"
            return f"⇢ {link} by {describe_joint(connection.joint)}{named}"
        link = self.model.links[name]
        joint = self.model.joints.get(link.joint_name)
        own = {link.joint_name, *(self.model.coordinates[joint.v] if joint else ())}
        locked = len(own & self.locks.keys())
        whole = link.joint_name in self.locks or locked == link.joint.nv
        return describe_joint(link.joint) + ("" if not locked else ", locked" if whole else f", {locked} locked")
