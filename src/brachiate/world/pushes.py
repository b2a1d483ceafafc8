"""External forces and moments on links."""

from __future__ import annotations

from dataclasses import dataclass

from brachiate.validation import Array


@dataclass(frozen=True, eq=False)
class Push:
    """A constant force and moment on a link, at a point that stays in the link."""

    link: str
    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m]
    at: Array  # (3,) [m] in the link
    axes: str  # "world": the direction stays; "link": it turns with the link
