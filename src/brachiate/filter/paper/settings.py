"""Settings of the paper's filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from brachiate import validation

#: Where the head joins the body: the point P of [DF] VII-D.
NECK = "neck"


@dataclass(frozen=True)
class Settings:
    """How the filter follows its reference. Joints and coordinates go by the figure's own names (``left_knee``, ``root.x``).

    Args:
        step: Length of a step [s].
        stiffness: K_P of every joint [1/s²], eq. 39.
        damping: K_D of every joint [1/s].
        point: Link or site that has the point P, whose place and orientation are fed back as well; ``"neck"`` is where the head joins the
            body, or no point at all if the figure has neither such a link nor a head. None for none.
        at: P in the axes of that link [m].
        point_stiffness: K_PP [1/s²], eq. 40.
        point_damping: K_DP [1/s].
        sharing: How readily joints move for P's sake, the weights of eq. 42: by name, others 1.
        weights: Of the squared error of a joint's acceleration, eq. 45: by name, others 1. Zero lets it go where it must.
        robust: Damping k of the singularity-robust inverse of eq. 45: what the squares of all unknowns count beside those of the errors.
        costs: What the squares of accelerations [(rad/s²)⁻²], contact forces [N⁻²] and torques [(N·m)⁻²] count among each other: the
            weights of eq. 43.
        without_motor: Joints and coordinates that have none; by default free roots, and those with an effort of zero.
        friction: Of all contacts; by default that of what touches.
        edges: Whether contacts whose centre of pressure leaves over an edge turn about that edge; else about one spot, as printed.
        give: The part of their size by which contact rows give, so that two may say the same, or nearly contradict each other, as those
            of a foot and its toes do at times. The paper's pseudoinverse lets the equations of motion give, too. With less than 1e-8 such
            rows throw the body into the air at times.
        pull: Rate [1/s] at which what is held where it touches comes back to its place and to rest. The paper only says that it could.
    """

    step: float = 0.002
    stiffness: float = 400.0
    damping: float = 40.0
    point: str | None = NECK
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    point_stiffness: float = 100.0
    point_damping: float = 20.0
    sharing: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    robust: float = 1e-6
    costs: tuple[float, float, float] = (1.0, 1.0, 1.0)
    without_motor: tuple[str, ...] | None = None
    friction: float | None = None
    edges: bool = False
    give: float = 1e-6
    pull: float = 25.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "point_stiffness", "point_damping", "pull"):
            validation.number(getattr(self, name), name, least=0.0)
        validation.number(self.step, "step", above=0.0)
        validation.number(self.robust, "robust", above=0.0)
        validation.number(self.give, "give", above=0.0, most=1e-3)
        if self.friction is not None:
            validation.number(self.friction, "friction", least=0.0)
        validation.vector(self.at, "at")
        for cost in validation.numbers(self.costs, (3,), "costs"):
            validation.number(float(cost), "costs", above=0.0)
        for what in ("weights", "sharing"):
            for name, value in validation.table(getattr(self, what), what, "numbers by the names of joints").items():
                validation.number(value, f"{what} of {name!r}", least=0.0)
