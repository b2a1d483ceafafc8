"""A model file on its way into MuJoCo's compiler, and the compiler's errors in our words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco

from brachiate.errors import ModelFileError
from brachiate.io.inertia import Inertial
from brachiate.io.notes import Notes

#: What MuJoCo's parser and compiler raise for files that are wrong.
TROUBLE = (ValueError, RuntimeError, TypeError, KeyError, MemoryError, mujoco.FatalError)


@dataclass
class Mimic:
    """A URDF joint that follows another."""

    joint: str
    of: str | None  # None: one that stands still
    multiplier: float
    offset: float


@dataclass
class Source:
    """What MuJoCo will compile, and what its compiler has no place for."""

    path: Path
    spec: Any  # mujoco.MjSpec
    notes: Notes
    name: str = ""
    inertials: dict[str, Inertial] | None = None  # by link, in place of MuJoCo's
    mimics: list[Mimic] = field(default_factory=list)
    speeds: dict[str, float] = field(default_factory=dict)  # of motors, by joint [rad/s or m/s]
    loops: list[dict[str, Any]] = field(default_factory=list)  # as the builder takes them
    without_broken_meshes: Callable[[], None] | None = None  # takes out what the compiler could not use


def refused(path: Path, error: BaseException) -> ModelFileError:
    """Put what MuJoCo said in one sentence, with the name of the file."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    said = "; ".join(lines[:3]) or type(error).__name__
    hint = ""
    if "A + B >= C" in said:
        hint = ". No solid has such principal moments; read it with fix_inertia=True to take the nearest ones that a solid has"
    return ModelFileError(f"{path}: MuJoCo cannot read it: {said}{hint}.")


def compiled(source: Source) -> Any:
    """Compile the model; where its meshes are to blame and may be left out, leave them out and try again."""
    spec = source.spec
    # Pictures are not for us, and a missing one is no reason to refuse a model.
    for material in spec.materials:
        material.textures = [""] * 10
    for texture in list(spec.textures):
        spec.delete(texture)
    for skin in list(spec.skins):
        source.notes.add("skins (left out)", skin.name)
        spec.delete(skin)
    spec.memory, spec.nuserdata = -1, 0  # room for a simulation that MuJoCo will not run
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE  # it would simulate muscles to see how long they get
    try:
        return spec.compile()
    except TROUBLE as error:
        if source.without_broken_meshes is None:
            raise refused(source.path, error) from None
        source.without_broken_meshes()
    try:
        return spec.compile()
    except TROUBLE as error:
        raise refused(source.path, error) from None
