"""What the filter holds to, and how closely: one set of numbers for all motions and bodies."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.centroidal.settings import STATURE, PlanSettings
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.io.disk import write_text
from brachiate.io.json_text import read_json

FORMAT = "brachiate settings 1"

# How a setting grows with the body's size: lengths by its factor, times by the root of it, as those of a pendulum do.
_POWERS = {
    "joint_stiffness": -1.0,
    "joint_damping": -0.5,
    "foot_stiffness": -1.0,
    "foot_damping": -0.5,
    "stance_damping": -0.5,
    "inset": 1.0,
    "margin": 1.0,
    "ahead": 0.5,
    "limit_ahead": 0.5,
    "closing": 0.5,
    "touchdown": 0.5,
    "steer": 0.5,
    "settle": 0.5,
    "look": 0.5,
    "late": 0.5,
    "early": 0.5,
    "long_flight": 0.5,
    "rescue": 0.5,
    "rise": 1.0,
    "sharp": -0.5,
    "listen": 0.5,
    "blind": 0.5,
}


@dataclass(frozen=True)
class FilterSettings:
    """Gains, weights and limits; defaults are for a body of 1.7 m, and change with its height.

    How the reference is followed (a deviation makes an acceleration):
        joint_stiffness, joint_damping: [1/s²], [1/s] of joints and of the pelvis' orientation
        foot_stiffness, foot_damping: [1/s²], [1/s] of feet in the air
        stance_damping: [1/s] of what stands and is not at rest

    What an acceleration that is not as wished costs, beside 1 for a joint's:
        centre_weight: of the centre of mass
        spin_weight: of the body's turning as a whole
        foot_weight, foot_turn_weight: of a foot in the air
        roll_weight, flat_weight: of the orientation of a foot that stands on an edge: as it should, and while it should lie flat
        closing_weight: of a corner that should bear and does not yet
        stance_weight: of what stands
        pelvis_weight: of the pelvis' orientation; place_weight: of its place, which follows from all others
        arm_weight: of arms and neck
        force_weight: of a force on the ground, for a body of 65 kg [1/N²]

    What is kept:
        cone: of friction that is made use of
        inset: [m] pressure stays away from the edges of what bears
        ahead: [s] so far ahead nothing is in the ground
        limit_ahead: [s] so far ahead joints are within their limits
        margin: [m] from so far on the ground is seen

    When feet come and go:
        closing: [s] in which a corner that should bear comes down, from so long before its time on, and comes to rest along the ground;
            touchdown: [m/s] at most
        look: [s] a corner that touches bears if it will have to within this time
        late: [m/s] a foot that should stand and does not goes down faster by this
        early: [s] before its time a foot may stand after a flight longer than long_flight [s]
        rise: [m] of the centre of mass from the reference, in such a flight, from which on feet go with it
        steer: [s] in which the path of a foot takes on a new aim, at least; else it has until it lands
        settle: [s] in which the reference follows feet that stand elsewhere
        rescue: [s] for which a foot is in the air in a step that the reference does not have, made when nothing else catches the body;
            0: it makes none

    On line, where nothing or little is known of what comes:
        sharp: [1/s] how fast the reference is followed as it comes in
        listen: [s] for which it is before the body begins
        blind: [s] for which plans go on beyond what is known, as if the reference went on as it does
        home: part of where feet have got to, away from the reference, that is kept from step to step

    And:
        replan: [s] between plans
        preview: [s] of the reference that a plan knows
        plan: tolerances of the plan
    """

    joint_stiffness: float = 100.0
    joint_damping: float = 20.0
    foot_stiffness: float = 400.0
    foot_damping: float = 40.0
    stance_damping: float = 50.0
    centre_weight: float = 3000.0
    spin_weight: float = 200.0
    foot_weight: float = 100.0
    foot_turn_weight: float = 5.0
    roll_weight: float = 5.0
    flat_weight: float = 50.0
    closing_weight: float = 3000.0
    stance_weight: float = 1e5
    pelvis_weight: float = 5.0
    place_weight: float = 0.01
    arm_weight: float = 0.5
    force_weight: float = 1e-5
    cone: float = 0.9
    inset: float = 0.004
    ahead: float = 0.012
    limit_ahead: float = 0.03
    margin: float = 0.03
    closing: float = 0.008
    touchdown: float = 1.0
    look: float = 0.1
    late: float = 0.5
    early: float = 0.15
    long_flight: float = 0.3
    rise: float = 0.06
    steer: float = 0.04
    settle: float = 0.15
    rescue: float = 0.25
    sharp: float = 60.0
    listen: float = 0.1
    blind: float = 0.15
    home: float = 0.9
    replan: float = 0.008
    preview: float = 1.13
    plan: PlanSettings = field(default_factory=PlanSettings)

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name != "plan":
                validation.number(getattr(self, one.name), one.name, **({"least": 0.0} if one.name == "rescue" else {"above": 0.0}))
        if not isinstance(self.plan, PlanSettings):
            raise ArgumentError(f"plan: expected PlanSettings, got {self.plan!r}.")
        if self.cone > 1.0:
            raise ArgumentError(f"cone must be at most 1, got {self.cone:g}: more than all friction there is cannot be used.")

    def scaled(self, height: float) -> FilterSettings:
        """The same for a body of another height [m]. The plan's grow by themselves."""
        size = validation.number(height, "height", above=0.0) / STATURE
        return replace(self, **{name: getattr(self, name) * math.pow(size, power) for name, power in _POWERS.items()})

    def save(self, path: str | PathLike[str], found: Mapping[str, Any] | None = None) -> None:
        """Write a small JSON file with what differs from the defaults; ``found``: how these were found, for who reads it."""
        told = {"format": FORMAT, **({"found": dict(found)} if found else {}), "settings": changed(self)}
        write_text(Path(path), json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "the settings")


def changed(settings: FilterSettings | PlanSettings) -> dict[str, Any]:
    """What differs from the defaults, by name; the plan's by name under ``plan``."""
    own = type(settings)()
    pairs = {one.name: (getattr(settings, one.name), getattr(own, one.name)) for one in fields(settings)}
    return {
        name: changed(value) if isinstance(value, PlanSettings) else float(value)
        for name, (value, usual) in pairs.items()
        if value != usual
    }


def load_settings(path: str | PathLike[str]) -> FilterSettings:
    """Read a file of settings, as ``settings.save(path)`` writes it; what is not in it is as by default."""
    path = Path(path)
    content = read_json(path, "a file of settings", FileFormatError)
    form = content.get("format") if isinstance(content, dict) else None
    if form != FORMAT:
        raise FileFormatError(f'{path} is no file of settings: expected "format": "{FORMAT}", found {validation.shown(form)}.')
    for name in content:
        validation.named(dict.fromkeys(("format", "found", "settings")), name, "part", f"a file of settings ({path})")
    values = _values(content.get("settings", {}), FilterSettings, "", path)
    if "plan" in values:
        values["plan"] = _made(PlanSettings, _values(values["plan"], PlanSettings, "plan.", path), "plan.", path)
    return _made(FilterSettings, values, "", path)


def _values(given: Any, kind: type[FilterSettings | PlanSettings], prefix: str, path: Path) -> dict[str, Any]:
    """Numbers by name; all but the plan's must be some."""
    what = "settings" if not prefix else prefix[:-1]
    if not isinstance(given, dict):
        raise FileFormatError(
            f'{path}: {what}: expected numbers by name, such as {{"joint_stiffness": 200}}, got {validation.shown(given)}.'
        )
    names = [one.name for one in fields(kind)]
    for name, value in given.items():
        if name not in names:
            raise UnknownName("setting", prefix + name, [prefix + each for each in names], f"the {'plan' if prefix else 'filter'} ({path})")
        if prefix + name != "plan" and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise FileFormatError(f"{path}: {prefix}{name}: expected a number, got {validation.shown(value)}.")
    return given


def _made(kind: type[Any], values: dict[str, Any], prefix: str, path: Path) -> Any:
    try:
        return kind(**values)
    except ArgumentError as problem:  # which begins with the name
        raise FileFormatError(f"{path}: {prefix}{problem}") from None
