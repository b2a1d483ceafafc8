"""Checks of arguments that are motions or figures, with errors that say what was expected."""

from __future__ import annotations

from typing import Any

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.model.model import Model
from brachiate.motion.motion import Motion


def check_motion(value: Any, what: str = "motion") -> Motion:
    """Return the value if it is a motion."""
    if isinstance(value, Motion):
        return value
    raise ArgumentError(
        f"{what}: expected a motion, such as br.load_motion('walk.bvh') or br.sample_motion('walk'), got {validation.short_repr(value)}."
    )


def check_figure(value: Any, what: str = "figure") -> Model:
    """Return the value if it is a model."""
    if isinstance(value, Model):
        return value
    raise ArgumentError(
        f"{what}: expected a model, such as br.figures.human28() or br.load_model('robot.urdf', floating_base=True), "
        f"got {validation.short_repr(value)}."
    )
