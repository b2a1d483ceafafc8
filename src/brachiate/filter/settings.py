"""Settings of the dynamics filter: gains, task weights, limits and timing, one set for all motions and bodies; settings files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.centroidal.settings import REFERENCE_HEIGHT, PlanSettings
from brachiate.centroidal.settings import RENAMED_SETTINGS as RENAMED_PLAN_SETTINGS
from brachiate.deprecation import renamed_arguments, renamed_attribute
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.io.atomic import write_text
from brachiate.io.file_access import as_path
from brachiate.io.json_text import read_json

FORMAT, FORMAT_1 = "brachiate settings 2", "brachiate settings 1"
PARTS = {FORMAT: ("format", "provenance", "settings"), FORMAT_1: ("format", "found", "settings")}  # keys of a settings file

#: Names of settings before version 0.2 (settings files of version 1) and what they are called now.
RENAMED_SETTINGS: dict[str, str] = {
    "foot_stiffness": "swing_foot_stiffness",
    "foot_damping": "swing_foot_damping",
    "stance_damping": "contact_damping",
    "centre_weight": "com_weight",
    "spin_weight": "angular_momentum_weight",
    "foot_weight": "swing_foot_weight",
    "foot_turn_weight": "swing_foot_orientation_weight",
    "roll_weight": "foot_roll_weight",
    "flat_weight": "flat_foot_weight",
    "closing_weight": "touchdown_weight",
    "stance_weight": "contact_weight",
    "pelvis_weight": "pelvis_orientation_weight",
    "place_weight": "pelvis_position_weight",
    "force_weight": "contact_force_weight",
    "cone": "friction_share",
    "inset": "support_margin",
    "ahead": "penetration_horizon",
    "limit_ahead": "joint_limit_horizon",
    "margin": "contact_detection_distance",
    "closing": "touchdown_time",
    "touchdown": "touchdown_speed",
    "look": "stance_lookahead",
    "late": "late_landing_speed",
    "early": "early_landing_time",
    "long_flight": "long_flight_duration",
    "rise": "flight_height_tolerance",
    "steer": "swing_retarget_time",
    "settle": "reference_shift_time",
    "rescue": "recovery_step_duration",
    "sharp": "stream_bandwidth",
    "listen": "startup_time",
    "blind": "extrapolation_time",
    "home": "foothold_decay",
    "replan": "replan_interval",
    "preview": "horizon",
}

# Exponent of the scale factor body height / REFERENCE_HEIGHT (dynamic similarity of pendulums): lengths scale with it, times with its root.
_POWERS = {
    "joint_stiffness": -1.0,
    "joint_damping": -0.5,
    "swing_foot_stiffness": -1.0,
    "swing_foot_damping": -0.5,
    "contact_damping": -0.5,
    "support_margin": 1.0,
    "contact_detection_distance": 1.0,
    "penetration_horizon": 0.5,
    "joint_limit_horizon": 0.5,
    "touchdown_time": 0.5,
    "touchdown_speed": 0.5,
    "swing_retarget_time": 0.5,
    "reference_shift_time": 0.5,
    "stance_lookahead": 0.5,
    "late_landing_speed": 0.5,
    "early_landing_time": 0.5,
    "long_flight_duration": 0.5,
    "recovery_step_duration": 0.5,
    "flight_height_tolerance": 1.0,
    "stream_bandwidth": -0.5,
    "startup_time": 0.5,
    "extrapolation_time": 0.5,
}


@dataclass(frozen=True)
class FilterSettings:
    """Gains, task weights, limits and timing of the filter; defaults are for a body height of 1.7 m and scale with height.

    PD gains of the tracking law (desired acceleration from a tracking error):
        joint_stiffness, joint_damping: [1/s²], [1/s] joints and pelvis orientation
        swing_foot_stiffness, swing_foot_damping: [1/s²], [1/s] swing feet
        contact_damping: [1/s] residual velocity of contact points in stance

    Weights of the whole-body QP (squared acceleration errors, relative to 1 for a joint):
        com_weight: CoM acceleration
        angular_momentum_weight: rate of the angular momentum
        swing_foot_weight, swing_foot_orientation_weight: swing foot position and orientation
        foot_roll_weight, flat_foot_weight: orientation of a stance foot on an edge: as planned, and while it should lie flat
        touchdown_weight: normal acceleration of a sole corner that should be in contact and is not yet
        contact_weight: acceleration of contact points
        pelvis_orientation_weight, pelvis_position_weight: pelvis; its position follows from the other tasks
        arm_weight: arm and neck joints
        contact_force_weight: [1/N²] contact forces, for a body mass of 65 kg

    Constraints of the whole-body QP:
        friction_share: share of the friction coefficient that contact forces may use
        support_margin: [m] distance of the center of pressure from the edges of the contact area
        penetration_horizon: [s] time within which no point may penetrate the ground
        joint_limit_horizon: [s] time within which joints must stay inside their limits
        contact_detection_distance: [m] distance from which the ground is seen

    Touchdown, lift-off and footsteps:
        touchdown_time: [s] time before touchdown in which a sole corner closes its gap and loses its tangential velocity
        touchdown_speed: [m/s] largest normal speed at touchdown
        stance_lookahead: [s] a touching corner bears load if the contact schedule has it in contact within this time
        late_landing_speed: [m/s] additional downward speed of a foot that is late
        early_landing_time: [s] how early a foot may land after a flight longer than ``long_flight_duration``
        long_flight_duration: [s] see there
        flight_height_tolerance: [m] CoM height error in such a flight beyond which the feet follow the CoM
        swing_retarget_time: [s] shortest time in which the swing trajectory moves to a new foothold
        reference_shift_time: [s] time constant with which the reference follows displaced footholds
        recovery_step_duration: [s] swing duration of a recovery (capture) step; 0 disables recovery steps

    Online filter:
        stream_bandwidth: [1/s] bandwidth of the causal smoothing of incoming frames
        startup_time: [s] time for which frames are only observed before the body starts
        extrapolation_time: [s] time for which plans extrapolate beyond the last known frame
        foothold_decay: share of the foothold displacement that remains after each step

    Centroidal MPC:
        replan_interval: [s] time between two plans
        horizon: [s] prediction horizon
        plan: tolerances and limits of the plan, see :class:`brachiate.centroidal.settings.PlanSettings`
    """

    joint_stiffness: float = 100.0
    joint_damping: float = 20.0
    swing_foot_stiffness: float = 400.0
    swing_foot_damping: float = 40.0
    contact_damping: float = 50.0
    com_weight: float = 3000.0
    angular_momentum_weight: float = 200.0
    swing_foot_weight: float = 100.0
    swing_foot_orientation_weight: float = 5.0
    foot_roll_weight: float = 5.0
    flat_foot_weight: float = 50.0
    touchdown_weight: float = 3000.0
    contact_weight: float = 1e5
    pelvis_orientation_weight: float = 5.0
    pelvis_position_weight: float = 0.01
    arm_weight: float = 0.5
    contact_force_weight: float = 1e-5
    friction_share: float = 0.9
    support_margin: float = 0.004
    penetration_horizon: float = 0.012
    joint_limit_horizon: float = 0.03
    contact_detection_distance: float = 0.03
    touchdown_time: float = 0.008
    touchdown_speed: float = 1.0
    stance_lookahead: float = 0.1
    late_landing_speed: float = 0.5
    early_landing_time: float = 0.15
    long_flight_duration: float = 0.3
    flight_height_tolerance: float = 0.06
    swing_retarget_time: float = 0.04
    reference_shift_time: float = 0.15
    recovery_step_duration: float = 0.25
    stream_bandwidth: float = 60.0
    startup_time: float = 0.1
    extrapolation_time: float = 0.15
    foothold_decay: float = 0.9
    replan_interval: float = 0.008
    horizon: float = 1.13
    plan: PlanSettings = field(default_factory=PlanSettings)

    def __post_init__(self) -> None:
        for setting in fields(self):
            if setting.name != "plan":
                bound = {"minimum": 0.0} if setting.name == "recovery_step_duration" else {"above": 0.0}
                validation.number(getattr(self, setting.name), setting.name, **bound)
        if not isinstance(self.plan, PlanSettings):
            raise ArgumentError(f"plan: expected PlanSettings, got {self.plan!r}.")
        if self.friction_share > 1.0:
            raise ArgumentError(f"friction_share must be at most 1, got {self.friction_share:g}: it is a share of the available friction.")

    def scaled(self, height: float) -> FilterSettings:
        """Return the settings for a body of this height [m]. Settings of the plan are scaled by the planner."""
        size = validation.number(height, "height", above=0.0) / REFERENCE_HEIGHT
        return replace(self, **{name: getattr(self, name) * math.pow(size, power) for name, power in _POWERS.items()})

    def save(self, path: str | PathLike[str], provenance: Mapping[str, Any] | None = None) -> None:
        """Write a JSON file of the values that differ from the defaults, and how they were obtained if ``provenance`` says it."""
        content = {"format": FORMAT, **({"provenance": dict(provenance)} if provenance else {}), "settings": changed_settings(self)}
        write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "the settings")


def _accept_renamed(cls: type[FilterSettings]) -> None:
    """Accept old names of settings as keyword arguments and attributes, with a DeprecationWarning."""
    init: Any = cls.__init__
    init.__name__ = cls.__name__  # for the warning
    cls.__init__ = renamed_arguments(**RENAMED_SETTINGS)(init)
    cls.save = renamed_arguments(found="provenance")(cls.save)
    for old, new in RENAMED_SETTINGS.items():
        setattr(cls, old, renamed_attribute(old, new))


_accept_renamed(FilterSettings)


def changed_settings(settings: FilterSettings | PlanSettings) -> dict[str, Any]:
    """Values that differ from the defaults, by name; those of the plan by name under ``plan``."""
    defaults = type(settings)()
    pairs = {setting.name: (getattr(settings, setting.name), getattr(defaults, setting.name)) for setting in fields(settings)}
    return {
        name: changed_settings(value) if isinstance(value, PlanSettings) else float(value)
        for name, (value, default) in pairs.items()
        if value != default
    }


def load_settings(path: str | PathLike[str]) -> FilterSettings:
    """Read a settings file as ``settings.save(path)`` writes it, of version 2 or 1; settings that it does not name have their defaults."""
    path = as_path(path, "a settings file")
    content = read_json(path, "a settings file", FileFormatError)
    version = content.get("format") if isinstance(content, dict) else None
    if not isinstance(version, str) or version not in PARTS:
        raise FileFormatError(f'{path} is not a settings file: expected "format": "{FORMAT}", found {validation.short_repr(version)}.')
    for name in content:
        validation.lookup(dict.fromkeys(PARTS[version]), name, "part", f"a settings file ({path})")
    old = version == FORMAT_1
    values = _values(content.get("settings", {}), FilterSettings, RENAMED_SETTINGS if old else {}, "", path)
    if "plan" in values:
        plan = _values(values["plan"], PlanSettings, RENAMED_PLAN_SETTINGS if old else {}, "plan.", path)
        values["plan"] = _construct(PlanSettings, plan, "plan.", path)
    return _construct(FilterSettings, values, "", path)


def _values(
    content: Any, kind: type[FilterSettings | PlanSettings], renamed: Mapping[str, str], prefix: str, path: Path
) -> dict[str, Any]:  # fmt: skip
    """Numbers by name, old names replaced; only ``plan`` is no number."""
    if not isinstance(content, dict):
        raise FileFormatError(
            f"{path}: {prefix[:-1] or 'settings'}: expected numbers by name, such as "
            f'{{"joint_stiffness": 200}}, got {validation.short_repr(content)}.'
        )
    names = [setting.name for setting in fields(kind)]
    values = {}
    for key, value in content.items():
        name = renamed.get(key, key)
        if name not in names:
            raise UnknownName("setting", prefix + name, [prefix + each for each in names], f"the {'plan' if prefix else 'filter'} ({path})")
        if name in values:
            raise FileFormatError(f"{path}: {prefix}{name} is given twice, the second time as {prefix}{key}.")
        if prefix + name != "plan" and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise FileFormatError(f"{path}: {prefix}{name}: expected a number, got {validation.short_repr(value)}.")
        values[name] = value
    return values


def _construct(kind: type[Any], values: dict[str, Any], prefix: str, path: Path) -> Any:
    try:
        return kind(**values)
    except ArgumentError as problem:  # its message begins with the name of the setting
        raise FileFormatError(f"{path}: {prefix}{problem}") from None
