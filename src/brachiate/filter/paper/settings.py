"""Settings of the published filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brachiate import validation
from brachiate.deprecation import renamed_arguments

NECK = "neck"  #: joint of head and body: the point P of [DF] VII-D
#: Names of settings before version 0.2 and what they are called now.
RENAMED_SETTINGS = {
    "at": "point_offset",
    "sharing": "mobility",
    "robust": "sr_damping",
    "without_motor": "unactuated",
    "edges": "tilt_about_edges",
    "give": "contact_compliance",
    "pull": "stabilization_rate",
}


@dataclass(frozen=True)
class PaperSettings:
    """Settings of the published filter. Joints and coordinates have the figure's own names (``left_knee``, ``root.x``).

    Args:
        step: Length of a step [s].
        stiffness: K_P of every joint [1/s²], eq. 39.
        damping: K_D of every joint [1/s].
        point: Link or site of the point P, whose position and orientation are fed back as well. ``"neck"`` is the joint of head and body,
            or no point if the figure has neither such a link nor a head. None for no point.
        point_offset: P in the axes of this link [m].
        point_stiffness: K_PP [1/s²], eq. 40.
        point_damping: K_DP [1/s].
        mobility: Weights with which joints move for the point P, eq. 42: by name, others 1.
        weights: Weights of the squared acceleration errors of joints, eq. 45: by name, others 1. A joint with weight 0 is not tracked.
        sr_damping: Damping k of the singularity-robust inverse of eq. 45: weight of the squares of all unknowns relative to the errors.
        costs: Weights of eq. 43 of the squares of accelerations [(rad/s²)⁻²], contact forces [N⁻²] and torques [(N·m)⁻²].
        unactuated: Joints and coordinates without a motor. Default: floating bases, and those with an effort limit of zero.
        friction: Friction coefficient of all contacts. Default: that of the materials.
        tilt_about_edges: Whether a contact whose CoP leaves over an edge tilts about this edge; otherwise about one spot, as printed.
        contact_compliance: Relative compliance of contact rows, so that redundant or nearly contradictory rows, such as those of a foot and
            its toes, are tolerated. The paper's pseudoinverse relaxes the equations of motion as well. Below 1e-8 such rows may throw the
            body into the air.
        stabilization_rate: Rate [1/s] at which drift of contacts is corrected. The paper only mentions the possibility.
    """

    step: float = 0.002
    stiffness: float = 400.0
    damping: float = 40.0
    point: str | None = NECK
    point_offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    point_stiffness: float = 100.0
    point_damping: float = 20.0
    mobility: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    sr_damping: float = 1e-6
    costs: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unactuated: tuple[str, ...] | None = None
    friction: float | None = None
    tilt_about_edges: bool = False
    contact_compliance: float = 1e-6
    stabilization_rate: float = 25.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "point_stiffness", "point_damping", "stabilization_rate"):
            validation.number(getattr(self, name), name, minimum=0.0)
        validation.number(self.step, "step", above=0.0)
        validation.number(self.sr_damping, "sr_damping", above=0.0)
        validation.number(self.contact_compliance, "contact_compliance", above=0.0, maximum=1e-3)
        if self.friction is not None:
            validation.number(self.friction, "friction", minimum=0.0)
        validation.vector(self.point_offset, "point_offset")
        for cost in validation.numbers(self.costs, (3,), "costs"):
            validation.number(float(cost), "costs", above=0.0)
        for setting in ("weights", "mobility"):
            for name, value in validation.mapping(getattr(self, setting), setting, "numbers by the names of joints").items():
                validation.number(value, f"{setting} of {name!r}", minimum=0.0)


def _accept_renamed(cls: type[PaperSettings]) -> None:
    """Accept old names of settings as keyword arguments, with a DeprecationWarning."""
    init: Any = cls.__init__
    init.__name__ = cls.__name__  # for the warning
    cls.__init__ = renamed_arguments(**RENAMED_SETTINGS)(init)


_accept_renamed(PaperSettings)
