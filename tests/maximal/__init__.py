"""Reference implementation of the dynamics of trees and closed chains in maximal coordinates: dense and simple, to test the package.

Nothing here is computed by the package; only model descriptions (links, joints, coordinate indices) are read from it.

The unknowns are six velocities for every link (of the origin of its frame, then angular; world axes) and the rates of every
joint. A joint of the tree and a connection that closes a loop are treated alike: a joint between a frame of a first link
(or the world) and a frame of a second link. Its elementary motions form a chain of frames that starts at the first frame and must
end at the second. Differentiated, with X the velocity transform to the end of the chain and S the motion subspace of the joint,

    X₂ V₂ − X₁ V₁ − S q̇ = 0,        X₂ A₂ − X₁ A₁ − S q̈ = γ,

which are six rows J x = γ for every joint. Their six multipliers are the wrench that the joint exerts on the second link: the
constraint force, and, by the equations of the rates, Sᵀλ = τ − armature · q̈, the joint torque. M x = f + Jᵀλ completes the system.
"""

from tests.maximal.joints import RANK, at_rest, chain_end, passive_forces
from tests.maximal.quantities import (
    Pose,
    accelerations,
    bodies,
    coordinates,
    determined,
    drifts,
    energy,
    gaps,
    impulse,
    losses,
    mobility,
    momentum,
    residuals,
)
from tests.maximal.rotations import axis_rotation, quaternion_of
from tests.maximal.system import Connection, InconsistentRows, System

__all__ = [
    "RANK", "Connection", "InconsistentRows", "Pose", "System", "accelerations", "at_rest", "axis_rotation", "bodies", "chain_end",
    "coordinates", "determined", "drifts", "energy", "gaps", "impulse", "losses", "mobility", "momentum", "passive_forces", "quaternion_of",
    "residuals",
]  # fmt: skip
