"""Recorded clips of DeepMimic, if PyBullet's data are installed; the package is located, not imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "pybullet_data"
FOLDER, PREFIX, SUFFIX = "data/motions", "humanoid3d_", ".txt"
HINT = "pip install pybullet brings DeepMimic's recorded clips, which are then listed here."


def deepmimic_clips() -> Mapping[str, Path]:
    """Files of the clips by name (``walk``, ``backflip``, ...), for ``load_motion``; empty if the package is not installed."""
    try:
        package = find_spec(PACKAGE)
    except (ImportError, ValueError):
        package = None
    folders = (package.submodule_search_locations or ()) if package is not None else ()
    files = sorted(path for folder in folders for path in (Path(folder) / FOLDER).glob(f"{PREFIX}*{SUFFIX}"))
    return {path.name.removeprefix(PREFIX).removesuffix(SUFFIX): path for path in files}
