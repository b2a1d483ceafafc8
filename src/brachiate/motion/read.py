"""Any motion file in, with the body that goes with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.errors import MotionFileError
from brachiate.io.clips import read_clip
from brachiate.model.model import Model
from brachiate.motion.files import load_motion, read_csv
from brachiate.motion.motion import Motion, motion_of


def read_motion(
    path: str | PathLike[str],
    figure: Model | None = None,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: str = "male",
    roles: Mapping[str, str] | None = None,
    quiet: bool = False,
    **reading: Any,
) -> Motion:
    """Read a motion, and say what was assumed about it.

    BVH, AMC and DeepMimic files bring a skeleton, and a body is built for it. Archives of ours and tables of robots (.csv) are motions
    of a figure that must be given.

    Args:
        path: The file.
        figure: Whose motion it is, for archives and tables.
        mass: Of the body that is built [kg]; by default that of a lean person of its height.
        height: Its stature [m]; by default from the length of the legs.
        sex: ``"male"`` or ``"female"``: whose proportions of mass.
        roles: Names of joints by role (``{"left_knee": "Bone12"}``), where names do not say it.
        quiet: Say nothing; ``motion.guesses`` has it all.
        reading: What files leave open: ``unit``, ``up``, ``rest_frame``, ``rate``, ``skeleton``, ``frames``; see
            :func:`brachiate.io.clips.read_clip`.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in (".npz", ".csv"):
        if figure is None:
            raise MotionFileError(f"{path}: whose motion is it? Give the figure: read_motion(path, figure).")
        motion = load_motion(path, figure) if kind == ".npz" else read_csv(path, figure, **reading)
    else:
        if figure is not None:
            raise MotionFileError(f"{path} brings a skeleton of its own, and a body is built for it. Leave the figure out.")
        motion = motion_of(read_clip(path, **reading), mass=mass, height=height, sex=sex, roles=roles)
    if not quiet:
        for guess in motion.guesses:
            print(f"{path.name}: {guess}", file=sys.stderr)
    return motion
