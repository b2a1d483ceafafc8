"""What surfaces are like to touch."""

from __future__ import annotations

from dataclasses import dataclass

from brachiate import validation
from brachiate.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Material:
    """Friction, rebound and softness of a surface, or of a pair of surfaces.

    Args:
        friction: Coefficient of friction while sliding.
        grip: Coefficient up to which a contact sticks; by default that of sliding.
        restitution: Part of the speed of impact with which surfaces part again, from 0 to 1.
        stiffness: Of a soft surface under one contact area [N/m]; by default it is hard.
        damping: Of a soft surface [N·s/m].
    """

    friction: float = 0.8
    grip: float | None = None
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0

    def __post_init__(self) -> None:
        friction = validation.number(self.friction, "friction of a material", least=0.0, most=1e3)
        grip = friction if self.grip is None else validation.number(self.grip, "grip of a material", least=0.0, most=1e3)
        if grip < friction:
            raise ArgumentError(f"grip of a material: what slides with friction {friction:g} cannot stick with less, got {grip:g}.")
        validation.number(self.restitution, "restitution of a material", least=0.0, most=1.0)
        if self.stiffness is not None:
            validation.number(self.stiffness, "stiffness of a material", above=0.0)
        validation.number(self.damping, "damping of a material", least=0.0)
        if self.damping and self.stiffness is None:
            raise ArgumentError("damping of a material: only a soft surface has one. Give it a stiffness too.")

    @property
    def sticking(self) -> float:
        """Coefficient up to which it sticks."""
        return self.friction if self.grip is None else self.grip

    def with_other(self, other: Material) -> Material:
        """Return what a pair of surfaces is like: friction is the geometric mean, the livelier one rebounds, softness adds up."""
        soft = [m for m in (self, other) if m.stiffness is not None]
        return Material(
            friction=(self.friction * other.friction) ** 0.5,
            grip=(self.sticking * other.sticking) ** 0.5,
            restitution=max(self.restitution, other.restitution),
            stiffness=1.0 / sum(1.0 / m.stiffness for m in soft if m.stiffness) if soft else None,
            damping=max((m.damping for m in soft), default=0.0),
        )
