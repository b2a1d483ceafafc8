"""Procedural sample motions: functions that return a :class:`~brachiate.clip.clip.Clip` of a person who walks, turns, jumps, ...

``sample_motion("walk", speed=1.5)`` returns a :class:`~brachiate.motion.motion.Motion`; on the command line, ``brachiate motions walk
--out walk.bvh`` writes a file. The motions are made of joint angles and of positions of hands and feet, without any dynamics: they are
kinematic input for :func:`brachiate.check` and :func:`brachiate.filter_motion`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from brachiate import validation
from brachiate.clip.clip import Clip
from brachiate.deprecation import module_getattr, warn_renamed
from brachiate.errors import ArgumentError, UnknownName
from brachiate.motion.motion import Motion
from brachiate.procedural.deepmimic import deepmimic_clips
from brachiate.procedural.hang import hang
from brachiate.procedural.jump import jump
from brachiate.procedural.kick import kick
from brachiate.procedural.person import Person
from brachiate.procedural.squat import squat
from brachiate.procedural.turn import turn
from brachiate.procedural.walk import walk

#: Every sample motion by name: functions whose parameters all have defaults, ``seconds``, ``height`` and ``rate`` among them.
SAMPLE_MOTIONS: Mapping[str, Callable[..., Clip]] = MappingProxyType({f.__name__: f for f in (walk, turn, jump, kick, squat, hang)})

_RENAMED_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "walk": {"step": "step_length"},
    "turn": {"step": "step_length", "blend": "turn_duration"},
    "jump": {"high": "jump_height", "far": "distance"},
    "kick": {"high": "kick_height"},
    "hang": {"bar": "bar_height"},
}


def sample_motion(
    name: str, *, mass: float | None = None, sex: str = "male", roles: Mapping[str, str] | None = None, **parameters: Any
) -> Motion:
    """Return a sample motion by name: ``sample_motion("walk", speed=1.5, step_length=0.75)``.

    Args:
        name: One of :data:`SAMPLE_MOTIONS`.
        mass: Mass of the person [kg]; by default that of a lean person of its height.
        sex: ``"male"`` or ``"female"``: selects the mass distribution.
        roles: Names of joints by anatomical role, if others than the skeleton's own names say.
        parameters: Parameters of the motion; all have ``seconds`` (duration), ``height`` (of the person [m]) and ``rate`` [Hz].

    Raises:
        UnknownName: There is no such motion, or it has no such parameter.
    """
    return Motion.from_clip(make_clip(name, **parameters), mass=mass, sex=sex, roles=roles)


def make_clip(name: str, **parameters: Any) -> Clip:
    """Return the clip of a sample motion: skeleton and joint rotations, without a body; see :func:`sample_motion`."""
    function = validation.lookup(SAMPLE_MOTIONS, name, "sample motion", "this package")
    known = inspect.signature(function).parameters
    for old, new in _RENAMED_PARAMETERS.get(name, {}).items():
        if old in parameters:
            if new in parameters:
                raise ArgumentError(f"{name}: {old!r} is the deprecated name of {new!r}; give only {new!r}.")
            warn_renamed(f"parameter {old!r} of {name}", repr(new))
            parameters[new] = parameters.pop(old)
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName("parameter", parameter, known, f"sample motion {name!r}")
    return function(**parameters)


__all__ = ["SAMPLE_MOTIONS", "Person", "deepmimic_clips", "hang", "jump", "kick", "make_clip", "sample_motion", "squat", "turn", "walk"]
__getattr__ = module_getattr(
    __name__, {"make": ("make_clip or sample_motion", lambda: make_clip), "MOVES": ("SAMPLE_MOTIONS", lambda: SAMPLE_MOTIONS)}
)
