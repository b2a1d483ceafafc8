"""A load that is carried: a reference whose figure has it; loads, and what is kept in its place, by words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from brachiate.errors import ArgumentError
from brachiate.figures.loads import loaded
from brachiate.filter.reference.reference import Reference


def carrying(reference: Reference, load: Mapping[str, float]) -> Reference:
    """The same reference of a figure that carries a load: masses by link [kg]."""
    figure = loaded(reference.figure, load)
    return replace(reference, figure=figure, original=replace(reference.original, figure=figure))


def load_of(texts: Iterable[str]) -> dict[str, float]:
    """Loads by words: ``right_hand:5`` is 5 kg in the right hand."""
    return _by_link(texts, "is no load. Write link:mass, such as right_hand:5 (kg).")


def keep_of(texts: Iterable[str]) -> dict[str, float]:
    """What is kept in its place, by words: ``right_hand:100`` counts a hundred times as much as a joint."""
    return _by_link(texts, "says nothing of what to keep. Write link:weight, such as right_hand:100 (a joint counts 1).")


def _by_link(texts: Iterable[str], wrong: str) -> dict[str, float]:
    """Numbers by link, added up."""
    found: dict[str, float] = {}
    for text in texts:
        link, _, number = text.rpartition(":")
        try:
            found[link.strip()] = found.get(link.strip(), 0.0) + float(number)
        except ValueError:
            raise ArgumentError(f"{text!r} {wrong}") from None
    return found
