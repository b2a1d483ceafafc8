"""Any motion file in, with the body that goes with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.assumptions import Guess
from brachiate.errors import MotionError, MotionFileError
from brachiate.figures.gait import gait23
from brachiate.figures.skeletal import LEAN
from brachiate.io.clips import is_amass, read_clip
from brachiate.io.motion_text import read_bytes
from brachiate.io.opensim import Table, forces_of, read_table
from brachiate.model.model import Model
from brachiate.motion.archive import load_motion, read_csv
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.opensim_gait import gait_motion, is_gait
from brachiate.motion.opensim_tables import read_motion_table

GAIT, STATURE = "gait23", 1.75  # [m]
TABLES, MARKERS = (".mot", ".sto"), (".trc", ".c3d")


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

    BVH, AMC, DeepMimic and AMASS files bring a skeleton, and a body is built for it; so it is for OpenSim's tables (.mot, .sto) in the
    coordinates of gait models (``pelvis_tilt``, ``hip_flexion_r``, ...). Archives of ours, tables of robots (.csv) and other tables are
    motions of a figure that must be given.

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
    read_bytes(path, first=1)  # whether it is there at all
    _refuse_markers(path)
    of_a_figure = _reader_for_a_figure(path)
    gait = _gait(path)
    if gait is not None and (figure is None or figure.name == GAIT):
        chosen = reading.pop("frames", None)
        _only(reading, gait_motion, path)
        motion = _walker(gait, figure, mass, height, sex)
        motion = motion if chosen is None else motion.frames(chosen)
    elif of_a_figure is not None:
        if figure is None:
            _refuse_plates(path)
            raise MotionFileError(f"{path}: whose motion is it? The file does not say. Give the figure: figure=...")
        chosen = reading.pop("frames", None)
        motion = of_a_figure(path, figure, **_only(reading, of_a_figure, path))
        motion = motion if chosen is None else motion.frames(chosen)
    else:
        if figure is not None:
            raise MotionFileError(f"{path} brings a skeleton of its own, and a body is built for it. Leave the figure out.")
        motion = motion_of(read_clip(path, height=height, roles=roles, **reading), mass=mass, height=height, sex=sex, roles=roles)
    if not quiet:
        for guess in motion.guesses:
            print(f"{path.name}: {guess}", file=sys.stderr)
    return motion


def _refuse_markers(path: Path) -> None:
    """Refuse files of markers: they say where skin is, not how joints turn."""
    if path.suffix.lower() in MARKERS:
        raise MotionFileError(
            f"{path} has markers, not angles of joints, so no body can be moved by it. Solve for the angles first (OpenSim's inverse "
            "kinematics writes a .mot file), and give those; what is in it is told by 'brachiate info' and read by brachiate.io."
        )


def _refuse_plates(path: Path) -> None:
    """Refuse tables of force plates."""
    if path.suffix.lower() not in TABLES:
        return
    try:
        count = len(forces_of(read_table(path)))
    except MotionError:
        return
    raise MotionFileError(f"{path} has forces of {count} plates, and no motion. Give the table of angles that was recorded with it.")


def _gait(path: Path) -> Table | None:
    """The table of a gait model, if the file is one."""
    if path.suffix.lower() not in TABLES:
        return None
    table = read_table(path)
    return table if is_gait(table) else None


def _walker(table: Table, figure: Model | None, mass: float | None, height: float | None, sex: str) -> Motion:
    """Motion of a gait figure, built if it is not given."""
    guesses = []
    if figure is None:
        if height is None:
            height = STATURE
            guesses.append(Guess("height", f"{height:g} m", "the table does not say it", "height"))
        if mass is None:
            mass = LEAN * height * height
            guesses.append(Guess("mass", f"{mass:.0f} kg", f"a lean person of {height:g} m", "mass"))
        figure = gait23(height, mass, sex)
    motion = gait_motion(table, figure)
    return replace(motion, guesses=(*motion.guesses, *guesses))


def _only(reading: Mapping[str, Any], reader: Callable[..., Motion], path: Path) -> dict[str, Any]:
    """What a reader is told, which must be something it takes."""
    given = {key: value for key, value in reading.items() if value is not None}
    for key in given:
        if key not in inspect.signature(reader).parameters:
            raise MotionFileError(f"{path}: {key}= means nothing for this format. Leave it out.")
    return given


def _reader_for_a_figure(path: Path) -> Callable[..., Motion] | None:
    """What reads a file that is a motion of a figure; None for one that brings a skeleton."""
    kind = path.suffix.lower()
    if kind == ".npz" and path.is_file() and is_amass(path):
        return None
    return {".npz": load_motion, ".csv": read_csv, ".mot": read_motion_table, ".sto": read_motion_table}.get(kind)
