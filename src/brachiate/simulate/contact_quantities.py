"""Contact quantities by name, for lookup, plots and listing of a recording: ``man/left_foot.reaction``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brachiate import dynamics
from brachiate.contact.published.states import TABLE_I
from brachiate.model.data import Data
from brachiate.show.plots import StateStrips
from brachiate.validation import Array
from brachiate.world.balance import figure_bodies, zero_moment_point

if TYPE_CHECKING:
    from brachiate.simulate.recording import Recording

ALL_CONTACTS = "contacts"  # name in plots of the overviews of all figures
OVERVIEW = "contact"  # name in plots of the main quantities of one link or figure
STATE = "state"
#: Sticking is blue and slipping red, paler for smaller contacts; separation is white.
_COLORS = {0: "#1f6f8b", 1: "#62a3b8", 2: "#c3b45c", 3: "#acd2dd", 4: "#b02a3c", 5: "#dc7783", 6: "#f1b9bf"}


class Quantity(NamedTuple):
    """Axis label, and function of a recording and a link, figure or pair."""

    label: str
    compute: Callable[[Recording, str], Array]


def zmp(run: Recording, figure: str) -> Array:
    """Zero-moment point (ZMP) of a figure (n, 3) [m], from the change of its momentum since the state before; NaN without contact.

    Its height is that of the contacts.
    """
    data, flags = Data(run.model, run.gravity), figure_bodies(run.model, figure)
    totals = [_totals(data, flags, q, v) for q, v in zip(run.q, run.v, strict=True)]
    found, contacts = np.full((len(run), 3), np.nan), run.contacts[figure]
    for n in np.flatnonzero(np.isfinite(contacts.cop[:, 2])):
        if n > 0:
            seconds = float(run.time[n] - run.time[n - 1])
            found[n] = zero_moment_point(totals[n - 1], totals[n], seconds, run.gravity, float(contacts.height[n]))
    return found


def _totals(data: Data, flags: Array, q: Array, v: Array) -> dynamics.Totals:
    data.q[:], data.v[:] = q, v
    return dynamics.totals(data, flags)


QUANTITIES = {
    "reaction": Quantity("force [N]", lambda run, owner: run.contacts[owner].force),
    "free moment": Quantity("moment [N·m]", lambda run, owner: run.contacts[owner].free_moment),
    "cop": Quantity("place [m]", lambda run, owner: run.contacts[owner].cop),
    "slip": Quantity("slip [m/s]", lambda run, owner: run.contacts[owner].slip),
    "area": Quantity("area [m²]", lambda run, owner: run.contacts[owner].area),
    STATE: Quantity(STATE, lambda run, owner: run.contacts[owner].state),
    "zmp": Quantity("place [m]", zmp),
}


def find_quantity(run: Recording, name: str) -> tuple[Quantity, str] | None:
    """Quantity of that name, and the link, figure or pair it belongs to; None if it is not a contact quantity."""
    owner, _, what = name.rpartition(".")
    if what not in QUANTITIES or owner not in run.contacts or (what == "zmp" and owner not in _moving(run)):
        return None
    return QUANTITIES[what], owner


def quantity_names(run: Recording) -> Iterator[str]:
    """Names of all contact quantities."""
    for owner in (*run.contacts, *run.contacts.pairs):
        yield from (name for quantity in QUANTITIES if find_quantity(run, name := f"{owner}.{quantity}"))


def expand_names(run: Recording, wanted: Iterable[str]) -> Iterator[str]:
    """The names, with short names of several quantities expanded."""
    for name in wanted:
        owner, _, what = name.rpartition(".")
        if name == ALL_CONTACTS and len(run.contacts):
            yield from (part for figure in _moving(run) for part in _overview(run, figure))
        elif what == OVERVIEW and owner in run.contacts:
            yield from _overview(run, owner)
        else:
            yield name


def state_strips() -> StateStrips:
    """An empty panel for contact states."""
    return StateStrips({}, {n: (f"C{n}  {TABLE_I[n].words}", color) for n, color in _COLORS.items()})


def _overview(run: Recording, owner: str) -> list[str]:
    parts = [link for link in run.model.links if link.startswith(owner + "/") and link in run.contacts]
    return [f"{owner}.reaction", f"{owner}.cop", *(f"{part}.{STATE}" for part in parts or [owner])]


def _moving(run: Recording) -> list[str]:
    """Figures that had contacts and can move, in the order in which they were added."""
    figures = dict.fromkeys(name.partition("/")[0] for name in run.model.links)
    return [name for name in figures if name in run.contacts and figure_bodies(run.model, name).any()]
