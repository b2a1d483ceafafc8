"""The state of legs, as compiled code has it."""

from __future__ import annotations

import numpy as np

from brachiate.compiled import Handle, fields_of
from brachiate.filter.schedule.arrays import BEARING, FOOTING_GAINS, LYING, Ahead, Footing
from brachiate.filter.settings import FilterSettings


class Footwork:
    """The state of all legs, as compiled code has it.

    Args:
        ahead: What is known of the reference.
        settings: For this body.
        freeze: [s] a foot that lands within this goes where it is heading for.
        intervals: Of plans, at most.
        landings: Of plans, at most.
        blind: [s] for which plans go on beyond what is known; 0 if nothing comes after that.
    """

    def __init__(self, ahead: Ahead, settings: FilterSettings, freeze: float, intervals: int, landings: int, blind: float = 0.0) -> None:
        soles, legs = len(ahead.leg), len(ahead.span_count)
        each = ("stands", "stance", "settled", "offset", "path", "path_rate", "path_change", "left", "aim", "relieved")
        length = dict.fromkeys(each, legs)
        length |= dict.fromkeys(("aims", "aimed"), len(ahead.spans)) | {"bearing": BEARING * soles, "bearing_count": soles}
        length |= {"lying": LYING, "lying_count": 1}
        length |= {"gain": len(FOOTING_GAINS), "planned": 2, "nodes": intervals + 1, "free": intervals + 1, "key": landings, "off": 4}
        self.room = Footing(**{name: np.zeros((length.get(name, 3), *kind.row), kind.dtype) for name, kind in fields_of(Footing).items()})
        gains = {"FREEZE": freeze, "BLIND": blind, "HOME": settings.home, "REACH": settings.plan.reach}
        self.room.gain[:] = [gains[name] if name in gains else getattr(settings, name.lower()) for name in FOOTING_GAINS]
        self.handle = Handle(self.room)
        self.key = self.handle.key

    @property
    def standing(self) -> tuple[int, ...]:
        """What stands: when it changes, so does the plan."""
        return (*self.room.stance.tolist(), *self.room.stands.tolist())
