"""DeepMimic's recorded clips, if PyBullet's data are installed: found, not imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "pybullet_data"
FOLDER, START, ENDING = "data/motions", "humanoid3d_", ".txt"
HINT = "pip install pybullet brings DeepMimic's recorded clips, which are then listed here."


def deepmimic_clips() -> Mapping[str, Path]:
    """Their files by name (``walk``, ``backflip``, ...); none if the package is not there. Read them with ``read_motion``."""
    try:
        found = find_spec(PACKAGE)
    except (ImportError, ValueError):
        found = None
    places = (found.submodule_search_locations or ()) if found is not None else ()
    files = sorted(path for place in places for path in (Path(place) / FOLDER).glob(f"{START}*{ENDING}"))
    return {path.name.removeprefix(START).removesuffix(ENDING): path for path in files}
