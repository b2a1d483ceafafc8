"""brachiate: physics for human motion. Check, retarget, filter and simulate human figures and humanoid robots."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brachiate.deprecation import module_getattr

if TYPE_CHECKING:
    from brachiate import animation, dynamics, errors, figures, kinematics, manifold, particles, procedural, scenes
    from brachiate.assumptions import Assumption
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
    from brachiate.filter.tasks.task import Task
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
    from brachiate.retargeting.goals import Goal
    from brachiate.retargeting.retarget import RetargetResult, retarget
    from brachiate.rollout.controls import JointTargets
    from brachiate.rollout.simulate_many import BatchSimulation, RolloutResult, simulate_many
    from brachiate.rollout.states import RolloutStates
    from brachiate.show.canvas import Camera
    from brachiate.show.draw import ViewSettings
    from brachiate.simulate.recording import Recording
    from brachiate.simulate.simulation import Simulation
    from brachiate.world.connections import Connection, ConnectionReport, SpringDamper
    from brachiate.world.figure import Figure
    from brachiate.world.world import World

__version__ = "0.2.0"

__all__ = [
    "ArgumentError", "AssemblyError", "Assumption", "BatchSimulation", "Box", "BrachiateError", "Camera", "Capsule", "CheckReport",
    "Compound", "Connection", "ConnectionReport", "ContactInterval", "ContactLabels", "Cylinder", "Cylindrical", "Data", "DynamicsFilter",
    "Ellipsoid", "Failure", "Figure", "FileFormatError", "FilterResult", "FilterSettings", "FilterStep", "Fixed", "Free", "Goal",
    "HeightField", "Hull", "Joint", "JointTargets", "Material", "Mesh", "Model", "ModelBuilder", "ModelError", "ModelFileError", "Motion",
    "MotionError", "MotionFileError", "OverconstrainedError", "Planar", "Plane", "Prismatic", "Push", "Recording", "Reference",
    "RetargetResult", "Revolute", "RolloutResult", "RolloutStates", "SettingError", "Shape", "Simulation", "Sphere", "Spherical",
    "SpringDamper", "Stairs", "StateError", "Task", "Terrain", "TuningResult", "Universal", "UnknownName", "ViewSettings", "Violation",
    "World", "WriteError", "animation", "check", "cone_limit", "dynamics", "errors", "figures", "filter_motion", "kinematics",
    "load_contact_labels", "load_model", "load_motion", "load_pushes", "load_settings", "make_reference", "manifold", "particles",
    "procedural", "retarget", "sample_motion", "scenes", "simulate_many", "tune",
]  # fmt: skip

#: Modules of the public names. They are imported when first used, so that a program pays only for what it uses.
_MODULES = {
    "brachiate.assumptions": "Assumption",
    "brachiate.errors": "ArgumentError AssemblyError BrachiateError FileFormatError ModelError ModelFileError MotionError MotionFileError "
    "OverconstrainedError SettingError StateError UnknownName WriteError",
    "brachiate.evaluation.check": "check",
    "brachiate.evaluation.report": "CheckReport Violation",
    "brachiate.filter.offline": "filter_motion",
    "brachiate.filter.online.dynamics_filter": "DynamicsFilter FilterStep",
    "brachiate.filter.reference.preprocess": "make_reference",
    "brachiate.filter.reference.reference": "Reference",
    "brachiate.filter.results.result": "FilterResult",
    "brachiate.filter.settings": "FilterSettings load_settings",
    "brachiate.filter.tasks.task": "Task",
    "brachiate.filter.tracking.disturbances": "Push load_pushes",
    "brachiate.filter.tracking.fall_detection": "Failure",
    "brachiate.filter.tuning": "TuningResult tune",
    "brachiate.io": "load_model",
    "brachiate.model.builder": "ModelBuilder",
    "brachiate.model.data": "Data",
    "brachiate.model.joints": "Compound Cylindrical Fixed Free Joint Planar Prismatic Revolute Spherical Universal cone_limit",
    "brachiate.model.material": "Material",
    "brachiate.model.model": "Model",
    "brachiate.model.shapes": "Box Capsule Cylinder Ellipsoid HeightField Hull Mesh Plane Shape Sphere",
    "brachiate.motion.contact_labels": "ContactInterval ContactLabels load_contact_labels",
    "brachiate.motion.motion": "Motion",
    "brachiate.motion.read": "load_motion",
    "brachiate.motion.terrain": "Stairs Terrain",
    "brachiate.procedural": "sample_motion",
    "brachiate.retargeting.goals": "Goal",
    "brachiate.retargeting.retarget": "RetargetResult retarget",
    "brachiate.rollout.controls": "JointTargets",
    "brachiate.rollout.simulate_many": "BatchSimulation RolloutResult simulate_many",
    "brachiate.rollout.states": "RolloutStates",
    "brachiate.show.canvas": "Camera",
    "brachiate.show.draw": "ViewSettings",
    "brachiate.simulate.recording": "Recording",
    "brachiate.simulate.simulation": "Simulation",
    "brachiate.world.connections": "Connection ConnectionReport SpringDamper",
    "brachiate.world.figure": "Figure",
    "brachiate.world.world": "World",
}
_LOCATIONS = {name: module for module, names in _MODULES.items() for name in names.split()}
_PACKAGES = ("animation", "dynamics", "errors", "figures", "kinematics", "manifold", "particles", "procedural", "scenes")


def _load(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"brachiate.{name}")
    value = globals()[name] = getattr(importlib.import_module(_LOCATIONS[name]), name)
    return value


_deprecated = module_getattr(
    "brachiate",
    {
        "Filtered": ("FilterResult", lambda: _load("FilterResult")),
        "Ground": ("Terrain", lambda: _load("Terrain")),
        "Label": ("ContactInterval", lambda: _load("ContactInterval")),
        "Labels": ("ContactLabels", lambda: _load("ContactLabels")),
        "Moment": ("FilterStep", lambda: _load("FilterStep")),
        "Report": ("CheckReport", lambda: _load("CheckReport")),
        "Shove": ("Push", lambda: _load("Push")),
        "Soft": ("SpringDamper", lambda: _load("SpringDamper")),
        "Steps": ("Stairs", lambda: _load("Stairs")),
        "Tuned": ("TuningResult", lambda: _load("TuningResult")),
        "clean": ("make_reference", lambda: _load("make_reference")),
        "cone": ("cone_limit", lambda: _load("cone_limit")),
        "load_labels": ("load_contact_labels", lambda: _load("load_contact_labels")),
        "moves": ("procedural, or sample_motion", lambda: _load("procedural")),
        "read_model": ("load_model", lambda: _load("load_model")),
        "read_motion": ("load_motion", lambda: _load("load_motion")),
    },
)


def __getattr__(name: str) -> Any:
    return _load(name) if name in _LOCATIONS or name in _PACKAGES else _deprecated(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
