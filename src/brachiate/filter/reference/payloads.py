"""Payloads of a reference, and texts of payloads and of tracked links for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from brachiate.errors import ArgumentError
from brachiate.figures.payloads import with_payload
from brachiate.filter.reference.reference import Reference


def add_payload(reference: Reference, masses: Mapping[str, float]) -> Reference:
    """Reference of the figure with payloads: masses by link [kg]."""
    return reference.of_figure(with_payload(reference.figure, masses))


def parse_payloads(texts: Iterable[str]) -> dict[str, float]:
    """Payloads by link [kg] from texts: ``right_hand:5`` is 5 kg in the right hand."""
    return _parse_link_values(texts, "is not a payload. Write link:mass, such as right_hand:5 (kg).")


def parse_tracked_links(texts: Iterable[str]) -> dict[str, float]:
    """Weights of tracked link positions from texts: ``right_hand:100`` weighs a hundred times as much as a joint."""
    return _parse_link_values(texts, "is not a tracked link. Write link:weight, such as right_hand:100 (a joint has weight 1).")


def _parse_link_values(texts: Iterable[str], error: str) -> dict[str, float]:
    """Sum of the numbers of each link."""
    values: dict[str, float] = {}
    for text in texts:
        link, _, number = text.rpartition(":")
        try:
            values[link.strip()] = values.get(link.strip(), 0.0) + float(number)
        except ValueError:
            raise ArgumentError(f"{text!r} {error}") from None
    return values
