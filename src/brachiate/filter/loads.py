"""A load that is carried: a reference whose figure has it, and loads by words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from brachiate.errors import ArgumentError
from brachiate.figures.loads import loaded
from brachiate.filter.reference import Reference


def carrying(reference: Reference, load: Mapping[str, float]) -> Reference:
    """The same reference of a figure that carries a load: masses by link [kg]."""
    figure = loaded(reference.figure, load)
    return replace(reference, figure=figure, original=replace(reference.original, figure=figure))


def load_of(texts: Iterable[str]) -> dict[str, float]:
    """Loads by words: ``right_hand:5`` is 5 kg in the right hand."""
    load: dict[str, float] = {}
    for text in texts:
        link, _, mass = text.rpartition(":")
        try:
            load[link.strip()] = load.get(link.strip(), 0.0) + float(mass)
        except ValueError:
            raise ArgumentError(f"{text!r} is no load. Write link:mass, such as right_hand:5 (kg).") from None
    return load
