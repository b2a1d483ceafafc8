"""Figures that carry something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from brachiate import validation
from brachiate.model.model import Model

HEAVIEST = 1e4  # [kg]


def loaded(model: Model, load: Mapping[str, float]) -> Model:
    """The same model with a load on some of its links, by name [kg], each in the link's centre of mass; its shape and its motors stay."""
    load = validation.table(load, "load", "masses by link, such as {'right_hand': 5.0}")
    for name, mass in load.items():
        validation.named(model.links, name, "link", f"model {model.name!r}")
        validation.number(mass, f"load of {name!r}", least=0.0, most=HEAVIEST)
    links = [replace(link, mass=link.mass + float(load.get(link.name, 0.0))) for link in model.links.values()]
    return Model(model.name, links, *model._parts()[1:])
