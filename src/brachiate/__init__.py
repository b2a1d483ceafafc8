"""brachiate: human figures and humanoid robots that move as a real body could."""

from __future__ import annotations

from brachiate.errors import BrachiateError
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import Data
from brachiate.model.joints import Compound, Cylindrical, Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal, cone
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Mesh, Plane, Shape, Sphere

__version__ = "0.1.0"

__all__ = [
    "BrachiateError", "Box", "Capsule", "Compound", "Cylinder", "Cylindrical", "Data", "Ellipsoid", "Fixed", "Free", "Hull",
    "Joint", "Mesh", "Model", "ModelBuilder", "Planar", "Plane", "Prismatic", "Revolute", "Shape", "Sphere", "Spherical",
    "Universal", "cone",
]  # fmt: skip
