"""From a path to a model: look through the file, let MuJoCo compile it, turn the result into links."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import mujoco
import numpy as np

from brachiate.errors import ArgumentError, ModelError, ModelFileError, UnknownName
from brachiate.io import guard, mjcf, sdf, urdf
from brachiate.io.mujoco_model import model_of
from brachiate.io.notes import Notes
from brachiate.io.source import Source, compiled
from brachiate.model.model import Model

_READERS = {"mujoco": mjcf.source, "mujocoinclude": mjcf.source, "robot": urdf.source, "sdf": sdf.source}


def read(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    floating: bool | None = None,
    name: str | None = None,
    fix_inertia: bool = False,
    assets: Mapping[str, bytes] | None = None,
) -> Model:
    """Read a model file; see :func:`brachiate.io.read_model`."""
    path = Path(path)
    if path.suffix.lower() not in (".xml", ".urdf", ".sdf"):
        raise ModelFileError(f"{path}: {path.suffix or 'no suffix'!r} is no model format we read. Valid: .xml (MJCF or URDF), .urdf, .sdf.")
    data, assets, notes = guard.read_bytes(path), dict(assets or {}), Notes(str(path))
    root = guard.scan_all(data, path, assets).root
    if root not in _READERS:
        raise ModelFileError(f"{path}: its root element is <{root}>. Expected <mujoco> (MJCF), <robot> (URDF) or <sdf> (SDF).")
    try:
        source = _READERS[root](data, path, assets, notes, fix_inertia)
        if floating is not None:
            (_float if floating else _fasten)(source)
        model = model_of(compiled(source), source, name or source.name or path.stem)
    except ModelFileError:
        raise
    except (ModelError, ArgumentError, UnknownName) as error:
        raise ModelFileError(f"{path}: {error}{_hint(error)}") from None
    except (ArithmeticError, np.linalg.LinAlgError):
        raise ModelFileError(f"{path}: some of its numbers are too large to compute with. Are the units right?") from None
    notes.tell(strict)
    return model


def _hint(error: Exception) -> str:
    words = ("no solid has", "negative principal moment", "inertia but no mass")
    return " Read it with fix_inertia=True to take the nearest inertia that a solid has." if any(w in str(error) for w in words) else ""


def _float(source: Source) -> None:
    """Give the root a free joint, if it has none."""
    roots = source.spec.worldbody.bodies
    moving = [b for b in roots if b.joints or b.bodies or len(roots) == 1]
    if len(moving) != 1:
        raise ModelFileError(
            f"{source.path}: floating=True needs one root body to set free, this file has {len(moving)}: "
            f"{', '.join(b.name or '(no name)' for b in moving) or 'none'}."
        )
    root = moving[0]
    if any(j.type == mujoco.mjtJoint.mjJNT_FREE for j in root.joints):
        return
    if root.joints:
        raise ModelFileError(
            f"{source.path}: floating=True, but the root {root.name!r} already moves by the joint {root.joints[0].name!r}. "
            "Leave floating out."
        )
    taken = {j.name for j in source.spec.joints}
    root.add_freejoint(name="root" if "root" not in taken else f"{root.name}.root")
    _drop_keyframes(source)


def _fasten(source: Source) -> None:
    """Take the free joint of the root away, if it has one."""
    free = [j for b in source.spec.worldbody.bodies for j in b.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]
    for joint in free:
        source.spec.delete(joint)
    if free:
        _drop_keyframes(source)


def _drop_keyframes(source: Source) -> None:
    for key in list(source.spec.keys):
        source.notes.add("keyframes (left out: their numbers are for the root as the file has it)", key.name)
        source.spec.delete(key)
