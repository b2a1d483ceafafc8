"""MJCF: preparation for MuJoCo's compiler."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from brachiate.io.import_notes import ImportNotes
from brachiate.io.inertial import nearest_physical_inertia
from brachiate.io.mujoco_source import MUJOCO_ERRORS, MujocoSource, compiler_error
from brachiate.io.xml_checks import ModelFiles
from brachiate.validation import Array


def source(data: bytes, files: ModelFiles, notes: ImportNotes, fix_inertia: bool) -> MujocoSource:
    """Parse MJCF. A file on disk is parsed in place, so that MuJoCo finds its includes, which were checked."""
    path, assets = files.path, files.assets
    xml = {name: content for name, content in assets.items() if name.lower().endswith((".xml", ".mjcf"))}
    other = {name: content for name, content in assets.items() if name not in xml}
    try:
        if path.is_file():
            spec = mujoco.MjSpec.from_file(str(path), include=xml or None, assets=other or None)
        else:
            spec = mujoco.MjSpec.from_string(data.decode("utf-8", "replace"), include=xml or None, assets=other or None)
    except MUJOCO_ERRORS as error:
        raise compiler_error(path, error) from None
    if fix_inertia:
        _repair_inertias(spec, notes)
    return MujocoSource(path, spec, notes, name=spec.modelname if spec.modelname != "MuJoCo Model" else "")


def _repair_inertias(spec: Any, notes: ImportNotes) -> None:
    """Replace physically impossible inertias by the nearest possible ones, in the same axes."""
    for body in spec.bodies:
        if not body.explicitinertial:
            continue
        full = not np.isnan(body.fullinertia[0])
        nearest = nearest_physical_inertia(_symmetric(body.fullinertia) if full else np.diag(body.inertia))
        if nearest is None:
            continue
        notes.add("inertias (physically impossible; replaced by the nearest possible ones)", body.name)
        if full:
            body.fullinertia = nearest[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        else:
            body.inertia = np.diag(nearest)


def _symmetric(six: Array) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
