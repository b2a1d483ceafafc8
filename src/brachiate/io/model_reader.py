"""Reader of model files: checks the XML, has MuJoCo compile it, and converts the compiled model."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import mujoco
import numpy as np

from brachiate.errors import ArgumentError, ModelError, ModelFileError, UnknownName
from brachiate.io import mjcf, sdf, urdf, xml_checks
from brachiate.io.file_access import as_path
from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_model import convert_model
from brachiate.io.mujoco_source import MujocoSource, compile_model
from brachiate.model.model import Model
from brachiate.validation import short_repr

_READERS = {"mujoco": mjcf.source, "mujocoinclude": mjcf.source, "robot": urdf.source, "sdf": sdf.source}


def read(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    floating_base: bool | None = None,
    name: str | None = None,
    fix_inertia: bool = False,
    assets: Mapping[str, bytes] | None = None,
    package_root: str | PathLike[str] | None = None,
) -> Model:
    """Read a model file; see :func:`brachiate.io.load_model`."""
    path = as_path(path, "a model file")
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"name: expected a text, got {short_repr(name)}.")
    _check_assets(assets)
    if path.suffix.lower() not in (".xml", ".urdf", ".sdf"):
        raise ModelFileError(
            f"{path}: {path.suffix or 'no suffix'!r} is not a supported model format. Valid: .xml (MJCF or URDF), .urdf, .sdf."
        )
    data, notes = xml_checks.read_bytes(path), ImportNotes(str(path))
    files = xml_checks.ModelFiles(data, path, dict(assets or {}), package_root)
    if files.root not in _READERS:
        raise ModelFileError(f"{path}: its root element is <{files.root}>. Expected <mujoco> (MJCF), <robot> (URDF) or <sdf> (SDF).")
    files.check()
    try:
        source = _READERS[files.root](data, files, notes, fix_inertia)
        if floating_base is not None:
            (_add_floating_base if floating_base else _remove_floating_base)(source)
        model = convert_model(compile_model(source), source, name or source.name or path.stem)
    except ModelFileError:
        raise
    except (ModelError, ArgumentError, UnknownName) as error:
        raise ModelFileError(f"{path}: {error}{_hint(error)}") from None
    except (ArithmeticError, np.linalg.LinAlgError):
        raise ModelFileError(f"{path}: some of its numbers are too large to compute with. Are the units right?") from None
    notes.report(strict)
    return model


def _check_assets(assets: Mapping[str, bytes] | None) -> None:
    right = assets is None or isinstance(assets, Mapping)
    if not right or not all(isinstance(k, str) and isinstance(v, bytes) for k, v in (assets or {}).items()):
        raise ArgumentError(f"assets: expected contents (bytes) by file name, got {short_repr(assets)}.")


def _hint(error: Exception) -> str:
    words = ("no solid has", "negative principal moment", "inertia but no mass")
    return " Load it with fix_inertia=True to take the nearest possible inertia." if any(w in str(error) for w in words) else ""


def _add_floating_base(source: MujocoSource) -> None:
    """Give the root body a free joint, if it has none."""
    roots = source.spec.worldbody.bodies
    moving = [b for b in roots if b.joints or b.bodies or len(roots) == 1]
    if len(moving) != 1:
        raise ModelFileError(
            f"{source.path}: floating_base=True needs one root body, this file has {len(moving)}: "
            f"{', '.join(b.name or '(no name)' for b in moving) or 'none'}."
        )
    root = moving[0]
    if any(j.type == mujoco.mjtJoint.mjJNT_FREE for j in root.joints):
        return
    if root.joints:
        raise ModelFileError(
            f"{source.path}: floating_base=True, but the root {root.name!r} already has the joint {root.joints[0].name!r}. "
            "Leave floating_base out."
        )
    taken = {j.name for j in source.spec.joints}
    root.add_freejoint(name="root" if "root" not in taken else f"{root.name}.root")
    _drop_keyframes(source)


def _remove_floating_base(source: MujocoSource) -> None:
    """Remove the free joint of the root body, if it has one."""
    free = [j for b in source.spec.worldbody.bodies for j in b.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]
    for joint in free:
        source.spec.delete(joint)
    if free:
        _drop_keyframes(source)


def _drop_keyframes(source: MujocoSource) -> None:
    for key in list(source.spec.keys):
        source.notes.add("keyframes (left out: they are for the root joint of the file)", key.name)
        source.spec.delete(key)
