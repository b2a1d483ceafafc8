"""brachiate: physics for human motion. Check, retarget, filter and simulate human figures and humanoid robots."""

from __future__ import annotations

from brachiate import dynamics, errors, figures, kinematics, manifold, procedural, scenes
from brachiate.assumptions import Assumption
from brachiate.deprecation import module_getattr
from brachiate.errors import (
    ArgumentError,
    AssemblyError,
    BrachiateError,
    FileFormatError,
    ModelError,
    ModelFileError,
    MotionError,
    MotionFileError,
    OverconstrainedError,
    SettingError,
    StateError,
    UnknownName,
    WriteError,
)
from brachiate.evaluation.check import check
from brachiate.evaluation.report import CheckReport, Violation
from brachiate.filter.offline import filter_motion
from brachiate.filter.online.dynamics_filter import DynamicsFilter, FilterStep
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.result import FilterResult
from brachiate.filter.settings import FilterSettings, load_settings
from brachiate.filter.tracking.disturbances import Push, load_pushes
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tuning import TuningResult, tune
from brachiate.io import load_model
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
    cone_limit,
)
from brachiate.model.material import Material
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Mesh, Plane, Shape, Sphere
from brachiate.motion.contact_labels import ContactInterval, ContactLabels, load_contact_labels
from brachiate.motion.motion import Motion
from brachiate.motion.read import load_motion
from brachiate.motion.terrain import Stairs, Terrain
from brachiate.procedural import sample_motion
from brachiate.retargeting.retarget import RetargetResult, retarget
from brachiate.show.canvas import Camera
from brachiate.show.draw import ViewSettings
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.world.connections import Connection, ConnectionReport, SpringDamper
from brachiate.world.figure import Figure
from brachiate.world.world import World

__version__ = "0.2.0"

__all__ = [
    "ArgumentError", "AssemblyError", "Assumption", "Box", "BrachiateError", "Camera", "Capsule", "CheckReport", "Compound",
    "Connection", "ConnectionReport", "ContactInterval", "ContactLabels", "Cylinder", "Cylindrical", "Data", "DynamicsFilter",
    "Ellipsoid", "Failure", "Figure", "FileFormatError", "FilterResult", "FilterSettings", "FilterStep", "Fixed", "Free", "HeightField",
    "Hull", "Joint", "Material", "Mesh", "Model", "ModelBuilder", "ModelError", "ModelFileError", "Motion", "MotionError",
    "MotionFileError", "OverconstrainedError", "Planar", "Plane", "Prismatic", "Push", "Recording", "Reference", "RetargetResult",
    "Revolute", "SettingError", "Shape", "Simulation", "Sphere", "Spherical", "SpringDamper", "Stairs", "StateError", "Terrain",
    "TuningResult", "Universal", "UnknownName", "ViewSettings", "Violation", "World", "WriteError", "check", "cone_limit", "dynamics",
    "errors", "figures", "filter_motion", "kinematics", "load_contact_labels", "load_model", "load_motion", "load_pushes", "load_settings",
    "make_reference", "manifold", "procedural", "retarget", "sample_motion", "scenes", "tune",
]  # fmt: skip

__getattr__ = module_getattr(
    "brachiate",
    {
        "Filtered": ("FilterResult", lambda: FilterResult),
        "Ground": ("Terrain", lambda: Terrain),
        "Label": ("ContactInterval", lambda: ContactInterval),
        "Labels": ("ContactLabels", lambda: ContactLabels),
        "Moment": ("FilterStep", lambda: FilterStep),
        "Report": ("CheckReport", lambda: CheckReport),
        "Shove": ("Push", lambda: Push),
        "Soft": ("SpringDamper", lambda: SpringDamper),
        "Steps": ("Stairs", lambda: Stairs),
        "Tuned": ("TuningResult", lambda: TuningResult),
        "clean": ("make_reference", lambda: make_reference),
        "cone": ("cone_limit", lambda: cone_limit),
        "load_labels": ("load_contact_labels", lambda: load_contact_labels),
        "moves": ("procedural, or sample_motion", lambda: procedural),
        "read_model": ("load_model", lambda: load_model),
        "read_motion": ("load_motion", lambda: load_motion),
    },
)
