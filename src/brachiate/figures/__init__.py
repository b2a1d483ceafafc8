"""Ready-made figures and things: functions that return a model.

Everything stands, lies or hangs where it should in its neutral posture, on a ground at z = 0; but for ``bricard``, which falls along -y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from brachiate.figures.chains import arm2, chain, inchworm
from brachiate.figures.gait import gait23
from brachiate.figures.human import human16, human28, human40
from brachiate.figures.loads import loaded
from brachiate.figures.machines import fivebar, scissor_lift, stewart
from brachiate.figures.mechanisms import andrews, bricard, fourbar
from brachiate.figures.monkey import monkey16
from brachiate.figures.things import bar, box, ground, plate, slope, steps, swing, terrain
from brachiate.model.model import Model

#: Every figure and thing by name. All can be called without arguments but ``chain``, which needs a number of links.
FIGURES: Mapping[str, Callable[..., Model]] = MappingProxyType({
    f.__name__: f
    for f in (
        human16, human28, human40, gait23, monkey16, arm2, chain, inchworm, bar, swing, plate, box, ground, slope,
        steps, terrain, fourbar, andrews, bricard, fivebar, stewart, scissor_lift,
    )
})  # fmt: skip

#: Their names, in the order above.
names: tuple[str, ...] = tuple(FIGURES)

__all__ = [
    "FIGURES", "andrews", "arm2", "bar", "box", "bricard", "chain", "fivebar", "fourbar", "gait23", "ground", "human16", "human28",
    "human40", "inchworm", "loaded", "monkey16", "names", "plate", "scissor_lift", "slope", "steps", "stewart", "swing", "terrain",
]  # fmt: skip
