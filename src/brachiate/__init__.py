"""brachiate: human figures and humanoid robots that move as a real body could."""

from __future__ import annotations

from brachiate import dynamics, figures, kinematics, manifold, procedural, scenes
from brachiate.errors import BrachiateError
from brachiate.evaluation.check import check
from brachiate.evaluation.report import Report
from brachiate.filter.offline import filter_motion
from brachiate.filter.online.dynamics_filter import DynamicsFilter, Moment
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.results.result import Filtered
from brachiate.filter.settings import FilterSettings, load_settings
from brachiate.filter.tracking.disturbances import Shove, load_pushes
from brachiate.filter.tuning import Tuned, tune
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
from brachiate.motion.contact_labels import Label, Labels, load_labels
from brachiate.motion.motion import Motion
from brachiate.motion.read import read_motion
from brachiate.motion.terrain import Ground, Steps
from brachiate.retargeting.retarget import retarget
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.world.connections import Connection, Soft
from brachiate.world.world import World

__version__ = "0.1.0"

__all__ = [
    "Box", "BrachiateError", "Capsule", "Compound", "Connection", "Cylinder", "Cylindrical", "Data", "DynamicsFilter", "Ellipsoid",
    "FilterSettings", "Filtered", "Fixed", "Free", "Ground", "HeightField", "Hull", "Joint", "Label", "Labels", "Material", "Mesh",
    "Model", "ModelBuilder", "Moment", "Motion", "Planar", "Plane", "Prismatic", "Recording", "Report", "Revolute", "Shape", "Shove",
    "Simulation", "Soft", "Sphere", "Spherical", "Steps", "Tuned", "Universal", "World", "check", "clean", "cone", "dynamics", "figures",
    "filter_motion", "kinematics", "load_labels", "load_pushes", "load_settings", "manifold", "procedural", "read_model", "read_motion",
    "retarget", "scenes", "tune",
]  # fmt: skip
