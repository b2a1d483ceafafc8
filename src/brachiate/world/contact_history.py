"""What touched in a recording: contacts by moment, and what they add up to over time for a link, a figure, or a pair of links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from brachiate.contact.arrays import WAYS
from brachiate.contact.published.states import C7
from brachiate.contact.stepping.contact_log import Lines
from brachiate.errors import UnknownName
from brachiate.validation import Array
from brachiate.world.contacts import Contact, Contacts, Reaction

#: Lines of a log, and the links that carry and rest by pair of shapes.
Touched = tuple[Lines, Sequence[tuple[str, str]]]


class ContactHistory(Mapping[str, "LinkHistory"]):
    """Contacts of a recording: by moment (``contacts.at(row)``), by link or figure (``contacts["man/left_foot"].force``).

    A pair of links is one of ``pairs``: ``contacts["man/left_foot on floor/ground"]``.
    """

    def __init__(self, touched: Sequence[Touched | None]) -> None:
        self.touched = list(touched)  #: None where nothing is known: before the first step

    @classmethod
    def joined(cls, parts: Sequence[ContactHistory]) -> ContactHistory:
        """Those of runs that follow each other, each but the first without its first state, which is the last one before."""
        return cls([found for n, part in enumerate(parts) for found in (part.touched if n == 0 else part.touched[1:])])

    @cached_property
    def _samples(self) -> list[Contacts]:
        return [Contacts(()) if found is None else Contacts.of(*found) for found in self.touched]

    def at(self, row: int) -> Contacts:
        """What touched at one recorded moment."""
        return self._samples[row]

    @cached_property
    def met(self) -> set[tuple[str, str]]:
        """Links that carried and rested, without a look at how."""
        return {pairs[n] for lines, pairs in filter(None, self.touched) for n in set(lines.pair.tolist())}

    @cached_property
    def pairs(self) -> list[str]:
        """Links that touched each other: ``link on other``."""
        return sorted(f"{link} on {on}" for on, link in self.met)

    @cached_property
    def _names(self) -> list[str]:
        links = {name for pair in self.met for name in pair}
        return sorted(links | {name.partition("/")[0] for name in links})

    def __getitem__(self, name: str) -> LinkHistory:
        """Return what touched a link, or a figure, over time; or how the two links of a pair touched."""
        if name not in self:
            raise UnknownName("link or figure that touched something", name, [*self._names, *self.pairs], "this recording")
        return LinkHistory(self._samples, name)

    def __contains__(self, name: object) -> bool:
        """Whether a link or figure of that name touched something, or the two links of a pair each other."""
        return name in self._names or name in self.pairs

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many links and figures touched something."""
        return len(self._names)

    @property
    def residual(self) -> Array:
        """How far the law of contact was from being held (n,) [m/s]."""
        return np.array([0.0 if found is None else found[0].residual for found in self.touched])

    @property
    def depth(self) -> Array:
        """How deep shapes were inside each other at most (n,) [m]."""
        return np.array([0.0 if found is None else found[0].depth for found in self.touched])

    @property
    def way(self) -> list[str]:
        """How contact forces were found, where that was hardest: see :data:`brachiate.contact.arrays.WAYS`."""
        return [WAYS[0 if found is None else found[0].way] for found in self.touched]


class LinkHistory:
    """What touched one link, figure or pair of links, over time: one row for each recorded state."""

    def __init__(self, samples: Sequence[Contacts], name: str) -> None:
        self._samples, self._name = samples, name

    @cached_property
    def _mine(self) -> list[list[Contact]]:
        return [[c for c in sample if c.is_of(self._name)] for sample in self._samples]

    @cached_property
    def _reactions(self) -> list[Reaction]:
        return [Contacts(mine).reaction(self._name) for mine in self._mine]

    @property
    def force(self) -> Array:
        """Total force (n, 3) [N]."""
        return np.array([r.force for r in self._reactions])

    @property
    def moment(self) -> Array:
        """Total moment about the world's origin (n, 3) [N·m]."""
        return np.array([r.moment for r in self._reactions])

    @property
    def cop(self) -> Array:
        """Centre of pressure (n, 3) [m]; NaN in the air."""
        return np.array([r.cop for r in self._reactions])

    @property
    def free_moment(self) -> Array:
        """Moment about the vertical through the centre of pressure (n,) [N·m]."""
        return np.array([r.free_moment for r in self._reactions])

    @property
    def height(self) -> Array:
        """Height of the plane in which the centre of pressure is looked for (n,) [m]."""
        return np.array([r.height for r in self._reactions])

    @property
    def support(self) -> list[Array]:
        """Corners of the support polygon, moment by moment: each (k, 3) [m]."""
        return [r.support for r in self._reactions]

    @property
    def slip(self) -> Array:
        """Fastest slip of any area (n,) [m/s]."""
        return np.array([max((float(np.linalg.norm(c.slip)) for c in mine), default=0.0) for mine in self._mine])

    @property
    def area(self) -> Array:
        """Size of all areas together (n,) [m²]; points and segments have none."""
        return np.array([sum(c.size for c in mine) for mine in self._mine], float)

    @property
    def state(self) -> Array:
        """State of the area that bears most (n,): 0 ... 6 for C0 ... C6, and 7 where nothing touches."""
        most = [max(mine, key=lambda c: c.wrench[2], default=None) for mine in self._mine]
        return np.array([C7 if c is None else int(c.state[1]) for c in most])

    @property
    def states(self) -> list[tuple[str, ...]]:
        """States of its areas, moment by moment."""
        return [tuple(c.state for c in mine) for mine in self._mine]
