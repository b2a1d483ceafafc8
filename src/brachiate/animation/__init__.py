"""Animation space [EGC]: bodies directed by any functions of their motion, with exact gradients and Hessians.

``from brachiate import animation as an``: functions (:mod:`~brachiate.animation.functions`) are values that compose by arithmetic; an
:class:`AnimationSpace` makes them the coordinates of a world.
"""

from __future__ import annotations

from brachiate.animation.direct import CLOSURES, Directed
from brachiate.animation.expressions import Expression, UntraceableError, Vector, cross, dot, norm, vector
from brachiate.animation.functions import (
    Signal,
    acos,
    angle,
    angular_momentum,
    angular_velocity,
    asin,
    atan,
    atan2,
    axis,
    center_of_mass,
    cos,
    direction,
    distance,
    distance_to_cylinder,
    distance_to_line,
    distance_to_plane,
    distance_to_sphere,
    energy,
    exp,
    in_frame,
    joint,
    joint_rate,
    kinetic_energy,
    log,
    maximum,
    minimum,
    momentum,
    orientation,
    position,
    potential_energy,
    rotation_vector,
    signal,
    sin,
    smooth_maximum,
    smooth_minimum,
    sqrt,
    tan,
    tanh,
    time,
    unit,
    velocity,
)
from brachiate.animation.plan import keys, reach
from brachiate.animation.space import AnimationSpace
from brachiate.animation.tracing import State, untraced

__all__ = [
    "AnimationSpace", "CLOSURES", "Directed", "Expression", "Signal", "State", "UntraceableError", "Vector", "acos", "angle",
    "angular_momentum", "angular_velocity", "asin", "atan", "atan2", "axis", "center_of_mass", "cos", "cross", "direction", "distance",
    "distance_to_cylinder", "distance_to_line",
    "distance_to_plane", "distance_to_sphere", "dot", "energy", "exp", "in_frame", "joint", "joint_rate", "keys", "kinetic_energy", "log",
    "maximum", "minimum", "momentum", "norm", "orientation", "position", "potential_energy", "reach", "rotation_vector", "signal", "sin",
    "smooth_maximum", "smooth_minimum", "sqrt", "tan", "tanh", "time", "unit", "untraced", "vector", "velocity",
]  # fmt: skip
