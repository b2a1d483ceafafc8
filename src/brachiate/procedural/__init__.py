"""Ready-made moves: functions that return a :class:`~brachiate.clip.clip.Clip` of a person who walks, turns, jumps, ...

``moves.make("walk", speed=1.5)``, or on the command line ``brachiate motions walk --out walk.bvh``. Moves are drawn by joint angles
and by where hands and feet hold on. They know nothing of forces, on purpose: making them possible is another one's task.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from brachiate import validation
from brachiate.clip.clip import Clip
from brachiate.errors import UnknownName
from brachiate.procedural.deepmimic import deepmimic_clips
from brachiate.procedural.hang import hang
from brachiate.procedural.jump import jump
from brachiate.procedural.kick import kick
from brachiate.procedural.person import Person
from brachiate.procedural.squat import squat
from brachiate.procedural.turn import turn
from brachiate.procedural.walk import walk

#: Every move by name: functions whose parameters all have defaults, ``seconds``, ``height`` and ``rate`` among them.
MOVES: Mapping[str, Callable[..., Clip]] = MappingProxyType({f.__name__: f for f in (walk, turn, jump, kick, squat, hang)})


def make(name: str, **options: Any) -> Clip:
    """Return a move by name, with other options than its own if wanted: ``make("walk", speed=1.5, step=0.75)``."""
    function = validation.named(MOVES, name, "move", "this package")
    known = inspect.signature(function).parameters
    for option in options:
        if option not in known:
            raise UnknownName("parameter", option, known, f"move {name!r}")
    return function(**options)


__all__ = ["MOVES", "Person", "deepmimic_clips", "hang", "jump", "kick", "make", "squat", "turn", "walk"]
