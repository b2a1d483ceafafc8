"""Quantities of contact by name, so that a recording can look them up, plot them and list them: ``man/left_foot.reaction``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brachiate import dynamics
from brachiate.contact.published.states import TABLE_I
from brachiate.model.data import Data
from brachiate.show.plots import Strips
from brachiate.validation import Array
from brachiate.world.balance import members, zero_moment_point

if TYPE_CHECKING:
    from brachiate.simulate.recording import Recording

EVERYTHING = "contacts"  # what a plot calls all that touched
OVERVIEW = "contact"  # and what it calls the most telling quantities of one link or figure
STATE = "state"
#: Sticking is blue and slipping red, the paler the smaller the area; what lets go is left white.
_COLORS = {0: "#1f6f8b", 1: "#62a3b8", 2: "#c3b45c", 3: "#acd2dd", 4: "#b02a3c", 5: "#dc7783", 6: "#f1b9bf"}


class Quantity(NamedTuple):
    """Label of its axis, and how it is found for a link, figure or pair."""

    label: str
    of: Callable[[Recording, str], Array]


def zmp(run: Recording, figure: str) -> Array:
    """Zero-moment point of a figure (n, 3) [m], from how its momentum changed since the state before; NaN where it touched nothing.

    Its height is that of the areas it stood on.
    """
    data, flags = Data(run.model, run.gravity), members(run.model, figure)
    totals = [_totals(data, flags, q, v) for q, v in zip(run.q, run.v, strict=True)]
    found, touch = np.full((len(run), 3), np.nan), run.contacts[figure]
    for n in np.flatnonzero(np.isfinite(touch.cop[:, 2])):
        if n > 0:
            seconds = float(run.time[n] - run.time[n - 1])
            found[n] = zero_moment_point(totals[n - 1], totals[n], seconds, run.gravity, float(touch.height[n]))
    return found


def _totals(data: Data, flags: Array, q: Array, v: Array) -> dynamics.Totals:
    data.q[:], data.v[:] = q, v
    return dynamics.totals(data, flags)


QUANTITIES = {
    "reaction": Quantity("force [N]", lambda run, who: run.contacts[who].force),
    "free moment": Quantity("moment [N·m]", lambda run, who: run.contacts[who].free_moment),
    "cop": Quantity("place [m]", lambda run, who: run.contacts[who].cop),
    "slip": Quantity("slip [m/s]", lambda run, who: run.contacts[who].slip),
    "area": Quantity("area [m²]", lambda run, who: run.contacts[who].area),
    STATE: Quantity(STATE, lambda run, who: run.contacts[who].state),
    "zmp": Quantity("place [m]", zmp),
}


def find(run: Recording, name: str) -> tuple[Quantity, str] | None:
    """The quantity of that name, and whose it is; None if it is none of contact."""
    who, _, what = name.rpartition(".")
    if what not in QUANTITIES or who not in run.contacts or (what == "zmp" and who not in _moving(run)):
        return None
    return QUANTITIES[what], who


def names(run: Recording) -> Iterator[str]:
    """All there are."""
    for who in (*run.contacts, *run.contacts.pairs):
        yield from (name for what in QUANTITIES if find(run, name := f"{who}.{what}"))


def spelled_out(run: Recording, wanted: Iterable[str]) -> Iterator[str]:
    """The same names, short ones for several quantities replaced by these."""
    for name in wanted:
        who, _, what = name.rpartition(".")
        if name == EVERYTHING and len(run.contacts):
            yield from (part for figure in _moving(run) for part in _overview(run, figure))
        elif what == OVERVIEW and who in run.contacts:
            yield from _overview(run, who)
        else:
            yield name


def strips() -> Strips:
    """An empty panel for states."""
    return Strips({}, {n: (f"C{n}  {TABLE_I[n].words}", color) for n, color in _COLORS.items()})


def _overview(run: Recording, who: str) -> list[str]:
    parts = [link for link in run.model.links if link.startswith(who + "/") and link in run.contacts]
    return [f"{who}.reaction", f"{who}.cop", *(f"{part}.{STATE}" for part in parts or [who])]


def _moving(run: Recording) -> list[str]:
    """Figures that touched something, but for those that cannot move, in the order in which they were added."""
    figures = dict.fromkeys(name.partition("/")[0] for name in run.model.links)
    return [name for name in figures if name in run.contacts and members(run.model, name).any()]
