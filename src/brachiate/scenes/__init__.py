"""Ready-made scenes: functions that return a :class:`Scene`, a world with its simulation and scheduled events.

``scenes.make("highbar").run()``, or on the command line ``brachiate play highbar``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from brachiate import validation
from brachiate.errors import UnknownName
from brachiate.scenes.blocks import box_slope, dominoes, rocking_block, stack
from brachiate.scenes.catch import catch_bar
from brachiate.scenes.directed import dropping_chain, reach_chain, sitting
from brachiate.scenes.directed_people import lift_barbell, reach_cup
from brachiate.scenes.falls import fall, stairs_tumble
from brachiate.scenes.filter_scenes import filter_kick, filter_push, filter_slope, filter_steps, filter_turn, filter_walk
from brachiate.scenes.flight import thrown
from brachiate.scenes.flying_trapeze import trapeze
from brachiate.scenes.high_bar import highbar
from brachiate.scenes.human_chain import chain_of_people
from brachiate.scenes.inchworms import inchworm, inchworm_race
from brachiate.scenes.machines import fivebar, scissor_lift, stewart
from brachiate.scenes.mechanisms import andrews, bricard, fourbar
from brachiate.scenes.monkey import monkey_swing
from brachiate.scenes.paper_arm import filter_arm
from brachiate.scenes.particle_scenes import ParticleScene, bridge, particle_link, particle_walker, rope_ring
from brachiate.scenes.playground_swing import swing
from brachiate.scenes.ropes_and_nets import net, rope_swing, strap_trapeze
from brachiate.scenes.scene import Scene, StructureChange
from brachiate.scenes.standing import stand
from brachiate.scenes.top_precession import spinning_top
from brachiate.show.draw import ViewSettings

#: Every scene by name: functions whose parameters all have defaults, ``seconds`` and ``dt`` among them,
#: and ``integrator`` for scenes without contact and filter.
SCENES: Mapping[str, Callable[..., Scene | ParticleScene]] = MappingProxyType({
    f.__name__.replace("_", "-"): f
    for f in (
        thrown, highbar, swing, monkey_swing, trapeze, chain_of_people, fourbar, bricard, andrews, fivebar, stewart,
        scissor_lift, fall, stairs_tumble, stand, catch_bar, dominoes, box_slope, rocking_block, stack, spinning_top,
        filter_arm, filter_walk, filter_kick, filter_slope, filter_steps, filter_turn, filter_push,
        sitting, reach_chain, dropping_chain, inchworm, inchworm_race, reach_cup, lift_barbell,
        particle_link, particle_walker, rope_ring, bridge, rope_swing, strap_trapeze, net,
    )
})  # fmt: skip


def make(name: str, **parameters: Any) -> Scene | ParticleScene:
    """Scene by name, with parameters: ``make("highbar", release=0.8)``."""
    function = validation.lookup(SCENES, name, "scene", "this package")
    known = inspect.signature(function).parameters
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName("parameter", parameter, known, f"scene {name!r}")
    return function(**parameters)


__all__ = ["ParticleScene", "StructureChange", "ViewSettings", "SCENES", "Scene", "make"]
