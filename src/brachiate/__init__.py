"""brachiate: human figures and humanoid robots that move as a real body could."""

from __future__ import annotations

from brachiate import dynamics, figures, kinematics, manifold, scenes
from brachiate.errors import BrachiateError
from brachiate.io import read_model
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import Data
from brachiate.model.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    cone,
)
from brachiate.model.material import Material
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Mesh, Plane, Shape, Sphere
from brachiate.motion.motion import Motion
from brachiate.motion.read import read_motion
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.world.bonds import Connection, Soft
from brachiate.world.world import World

__version__ = "0.1.0"

__all__ = [
    "Box", "BrachiateError", "Capsule", "Compound", "Connection", "Cylinder", "Cylindrical", "Data", "Ellipsoid", "Fixed", "Free",
    "HeightField", "Hull", "Joint", "Material", "Mesh", "Model", "ModelBuilder", "Motion", "Planar", "Plane", "Prismatic", "Recording",
    "Revolute", "Shape", "Simulation", "Soft", "Sphere", "Spherical", "Universal", "World", "cone", "dynamics", "figures", "kinematics",
    "manifold", "read_model", "read_motion", "scenes",
]  # fmt: skip
