"""Model source for MuJoCo's compiler, with the parts that MuJoCo cannot represent, and its compilation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco

from brachiate.errors import ModelFileError
from brachiate.io.import_notes import ImportNotes
from brachiate.io.inertial import Inertial

#: Exceptions of MuJoCo's parser and compiler.
MUJOCO_ERRORS = (ValueError, RuntimeError, TypeError, KeyError, MemoryError, mujoco.FatalError)


@dataclass
class Mimic:
    """Mimic joint of URDF."""

    joint: str
    of: str | None  # None: a constant
    multiplier: float
    offset: float


@dataclass
class MujocoSource:
    """Specification for MuJoCo's compiler, and what it cannot represent."""

    path: Path
    spec: Any  # mujoco.MjSpec
    notes: ImportNotes
    name: str = ""
    inertials: dict[str, Inertial] | None = None  # by link, instead of MuJoCo's
    mimics: list[Mimic] = field(default_factory=list)
    speeds: dict[str, float] = field(default_factory=dict)  # limits of motors, by joint [rad/s or m/s]
    loops: list[dict[str, Any]] = field(default_factory=list)  # arguments of ModelBuilder.loop
    without_broken_meshes: Callable[[], None] | None = None  # removes meshes that do not compile


def compiler_error(path: Path, error: BaseException) -> ModelFileError:
    """Return MuJoCo's message as one sentence, with the name of the file."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    message = "; ".join(lines[:3]) or type(error).__name__
    hint = ""
    if "A + B >= C" in message:
        hint = ". No solid has such principal moments; load it with fix_inertia=True to take the nearest possible ones"
    return ModelFileError(f"{path}: MuJoCo cannot read it: {message}{hint}.")


def compile_model(source: MujocoSource) -> Any:
    """Compile the model; if that fails and meshes that do not compile may be left out, leave them out and try again."""
    spec = source.spec
    # Textures are not used, and a missing one must not prevent loading.
    for material in spec.materials:
        material.textures = [""] * 10
    for texture in list(spec.textures):
        spec.delete(texture)
    for skin in list(spec.skins):
        source.notes.add("skins (left out)", skin.name)
        spec.delete(skin)
    spec.memory, spec.nuserdata = -1, 0  # no memory for a simulation
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE  # skips the simulation of muscle lengths
    try:
        return spec.compile()
    except MUJOCO_ERRORS as error:
        if source.without_broken_meshes is None:
            raise compiler_error(source.path, error) from None
        source.without_broken_meshes()
    try:
        return spec.compile()
    except MUJOCO_ERRORS as error:
        raise compiler_error(source.path, error) from None
