"""A snapshot of a world: everything that changes while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brachiate.validation import Array
from brachiate.world.pushes import Push


@dataclass(frozen=True, eq=False)
class State:
    """What :meth:`World.save` keeps and :meth:`World.restore` brings back."""

    coordinates: tuple[str, ...]  # names, to know whether a state belongs to a world
    time: float  # [s]
    q: Array
    v: Array
    torque: Array
    pushes: tuple[Push, ...]
    version: int  # of the structure: it counts connections made and cut
    parts: dict[str, Any]
    bonds: tuple[Any, ...]
    joints: dict[Any, tuple[Array, Array]]  # coordinates and motor torques of connections
    between: Mapping[frozenset[str], Any]  # links that never meet, or in another way than others
    touching: tuple[Array, ...] | None  # what contact knows of the step before
