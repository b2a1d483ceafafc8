"""Assumption made where a file or a call leaves something open: the quantity, the value, the reason, the argument that overrides it."""

from __future__ import annotations

from typing import NamedTuple


class Assumption(NamedTuple):
    """Value assumed for a quantity that the input does not state.

    Args:
        quantity: What was assumed, such as ``"up axis"``.
        value: The value that was taken, with its unit.
        reason: Why this value.
        argument: Name of the argument that sets the value explicitly; empty if there is none.
    """

    quantity: str
    value: str
    reason: str
    argument: str = ""

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.quantity}: {self.value} ({self.reason})"
