"""Ready-made figures and objects: functions that return a model.

Figures stand in their neutral posture on a ground at z = 0, with gravity along -z; the mechanisms of :mod:`brachiate.figures.mechanisms`
have gravity along -y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from brachiate.deprecation import module_getattr
from brachiate.figures.chains import arm2, chain, inchworm
from brachiate.figures.gait_model import gait23
from brachiate.figures.human import human16, human28, human40
from brachiate.figures.machines import fivebar, scissor_lift, stewart
from brachiate.figures.mechanisms import andrews, bricard, fourbar
from brachiate.figures.monkey import monkey16
from brachiate.figures.objects import bar, box, ground, plate, slope, stairs, swing, terrain
from brachiate.figures.payloads import with_payload
from brachiate.model.model import Model

#: Every figure and object by name. All can be called without arguments but ``chain``, which needs a number of links.
FIGURES: Mapping[str, Callable[..., Model]] = MappingProxyType({
    f.__name__: f
    for f in (
        human16, human28, human40, gait23, monkey16, arm2, chain, inchworm, bar, swing, plate, box, ground, slope,
        stairs, terrain, fourbar, andrews, bricard, fivebar, stewart, scissor_lift,
    )
})  # fmt: skip

#: Their names, in the order above.
names: tuple[str, ...] = tuple(FIGURES)

__getattr__ = module_getattr(__name__, {
    "loaded": ("brachiate.figures.with_payload", lambda: with_payload),
    "steps": ("brachiate.figures.stairs", lambda: stairs),
})  # fmt: skip

__all__ = [
    "FIGURES", "andrews", "arm2", "bar", "box", "bricard", "chain", "fivebar", "fourbar", "gait23", "ground", "human16", "human28",
    "human40", "inchworm", "monkey16", "names", "plate", "scissor_lift", "slope", "stairs", "stewart", "swing", "terrain", "with_payload",
]  # fmt: skip
