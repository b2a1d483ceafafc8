"""Figures with payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from brachiate import validation
from brachiate.deprecation import renamed_arguments
from brachiate.model.model import Model

MAX_PAYLOAD = 1e4  # [kg]


@renamed_arguments(load="payload")
def with_payload(model: Model, payload: Mapping[str, float]) -> Model:
    """Model with point masses [kg] added at the centers of mass of some links, by name; shapes and motors are unchanged."""
    payload = validation.mapping(payload, "payload", "masses by link, such as {'right_hand': 5.0}")
    for name, mass in payload.items():
        validation.lookup(model.links, name, "link", f"model {model.name!r}")
        validation.number(mass, f"payload of {name!r}", minimum=0.0, maximum=MAX_PAYLOAD)
    links = [replace(link, mass=link.mass + float(payload.get(link.name, 0.0))) for link in model.links.values()]
    return Model(model.name, links, *model._parts()[1:])
