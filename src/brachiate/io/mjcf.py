"""MJCF: what to do before MuJoCo's compiler sees it, which is little."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from brachiate.io import guard
from brachiate.io.inertia import nearest_physical
from brachiate.io.notes import Notes
from brachiate.io.source import TROUBLE, Source, refused
from brachiate.validation import Array


def source(data: bytes, path: Path, assets: Mapping[str, bytes], notes: Notes, fix_inertia: bool) -> Source:
    """Parse MJCF. A file on the disk is parsed there, so that MuJoCo finds what it includes."""
    xml = {name: content for name, content in assets.items() if name.lower().endswith((".xml", ".mjcf"))}
    other = {name: content for name, content in assets.items() if name not in xml}
    try:
        if path.is_file():
            spec = mujoco.MjSpec.from_file(str(path), include=xml or None, assets=other or None)
        else:
            spec = mujoco.MjSpec.from_string(data.decode("utf-8", "replace"), include=xml or None, assets=other or None)
    except TROUBLE as error:
        raise refused(path, error) from None
    for asset, folder in [(m, spec.meshdir) for m in spec.meshes] + [(h, spec.meshdir) for h in spec.hfields]:
        if asset.file and asset.file not in assets:
            guard.check_asset(path.parent / (folder or "") / asset.file)
    if fix_inertia:
        _repair(spec, notes)
    return Source(path, spec, notes, name=spec.modelname if spec.modelname != "MuJoCo Model" else "")


def _repair(spec: Any, notes: Notes) -> None:
    """Give bodies whose inertia no solid has the nearest that one has, in the same axes."""
    for body in spec.bodies:
        if not body.explicitinertial:
            continue
        full = not np.isnan(body.fullinertia[0])
        nearest = nearest_physical(_symmetric(body.fullinertia) if full else np.diag(body.inertia))
        if nearest is None:
            continue
        notes.add("inertias (no solid has them; the nearest that one has was taken)", body.name)
        if full:
            body.fullinertia = nearest[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        else:
            body.inertia = np.diag(nearest)


def _symmetric(six: Array) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
