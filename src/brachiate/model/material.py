"""Contact properties of surfaces."""

from __future__ import annotations

from dataclasses import dataclass

from brachiate import validation
from brachiate.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Material:
    """Friction, restitution and compliance of a surface, or of a pair of surfaces.

    Args:
        friction: Coefficient of kinetic friction.
        grip: Coefficient of static friction; by default the kinetic one.
        restitution: Ratio of separation speed to impact speed, from 0 to 1.
        stiffness: Of a compliant surface, per contact area [N/m]; by default it is rigid.
        damping: Of a compliant surface [N·s/m].
    """

    friction: float = 0.8
    grip: float | None = None
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0

    def __post_init__(self) -> None:
        friction = validation.number(self.friction, "friction of a material", minimum=0.0, maximum=1e3)
        grip = friction if self.grip is None else validation.number(self.grip, "grip of a material", minimum=0.0, maximum=1e3)
        if grip < friction:
            raise ArgumentError(f"grip of a material: the static coefficient must be at least the kinetic one, {friction:g}, got {grip:g}.")
        validation.number(self.restitution, "restitution of a material", minimum=0.0, maximum=1.0)
        if self.stiffness is not None:
            validation.number(self.stiffness, "stiffness of a material", above=0.0)
        validation.number(self.damping, "damping of a material", minimum=0.0)
        if self.damping and self.stiffness is None:
            raise ArgumentError("damping of a material: only a compliant surface has damping. Give it a stiffness too.")

    @property
    def sticking(self) -> float:
        """Coefficient of static friction."""
        return self.friction if self.grip is None else self.grip

    def with_other(self, other: Material) -> Material:
        """Return the material of a pair of surfaces: geometric mean of friction, larger restitution, sum of compliances."""
        soft = [m for m in (self, other) if m.stiffness is not None]
        return Material(
            friction=(self.friction * other.friction) ** 0.5,
            grip=(self.sticking * other.sticking) ** 0.5,
            restitution=max(self.restitution, other.restitution),
            stiffness=1.0 / sum(1.0 / m.stiffness for m in soft if m.stiffness) if soft else None,
            damping=max((m.damping for m in soft), default=0.0),
        )
