"""Loading of motion files of any supported format, with the figure they are motions of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.deprecation import warn_renamed
from brachiate.errors import ArgumentError, MotionError, MotionFileError
from brachiate.figures.gait_model import gait23
from brachiate.figures.skeleton_model import DEFAULT_BMI
from brachiate.io.clips import is_amass, read_clip
from brachiate.io.file_access import as_path
from brachiate.io.motion_text import read_bytes
from brachiate.io.opensim import Table, force_plates, read_table
from brachiate.model.anthropometry import HEIGHTS, MASSES, SEXES
from brachiate.model.model import Model
from brachiate.motion.archive import load_motion_archive
from brachiate.motion.arguments import check_figure
from brachiate.motion.motion import Motion
from brachiate.motion.opensim_gait import gait_motion, has_gait_coordinates
from brachiate.motion.opensim_tables import read_motion_table
from brachiate.motion.robot_csv import read_csv

GAIT_FIGURE, DEFAULT_HEIGHT = "gait23", 1.75  # [m]
TABLES, MARKERS = (".mot", ".sto"), (".trc", ".c3d")


def load_motion(
    path: str | PathLike[str],
    figure: Model | None = None,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: str = "male",
    roles: Mapping[str, str] | None = None,
    quiet: bool | None = None,
    **options: Any,
) -> Motion:
    """Load a motion file. What the file leaves open is assumed and listed in ``motion.assumptions``.

    BVH, AMC, DeepMimic and AMASS files contain a skeleton, and a body is built for it, as it is for OpenSim tables (.mot, .sto) in the
    coordinates of gait models (``pelvis_tilt``, ``hip_flexion_r``, ...). Motion archives (.npz), robot tables (.csv) and other tables
    contain no figure: give it.

    Args:
        path: The file.
        figure: Model of the figure that moves, for archives and tables.
        mass: Mass of the body that is built [kg], 5 to 300; by default that of a lean person of its height.
        height: Stature of the body that is built [m], 0.5 to 2.5; by default from the length of the legs.
        sex: ``"male"`` or ``"female"``: selects the mass distribution.
        roles: Names of joints by anatomical role (``{"left_knee": "Bone12"}``), where the joint names do not say it.
        quiet: Deprecated and without effect: nothing is printed.
        options: What files leave open: ``unit``, ``up``, ``rest_frame``, ``rate``, ``skeleton``, ``frames``; see
            :func:`brachiate.io.clips.read_clip`.

    Raises:
        MotionFileError: The file is missing, malformed, or of a format that needs or does not take a figure.
    """
    if quiet is not None:
        warn_renamed("argument 'quiet' of load_motion", "motion.assumptions (nothing is printed)")
    path = as_path(path, "a motion file")
    if figure is not None:
        check_figure(figure)
    _check_body(mass, height, sex, roles)
    read_bytes(path, first=1)  # fails if the file is missing
    _refuse_markers(path)
    reader = _reader_for_given_figure(path)
    gait_table = _read_gait_table(path)
    if gait_table is not None and (figure is None or figure.name == GAIT_FIGURE):
        frames = options.pop("frames", None)
        _checked_options(options, gait_motion, path)
        motion = _gait_motion(gait_table, figure, mass, height, sex)
        return motion if frames is None else motion.frames(frames)
    if reader is not None:
        if figure is None:
            _refuse_force_plates(path)
            raise MotionFileError(f"{path} does not say which figure moves. Give it: figure=...")
        frames = options.pop("frames", None)
        motion = reader(path, figure, **_checked_options(options, reader, path))
        return motion if frames is None else motion.frames(frames)
    if figure is not None:
        raise MotionFileError(f"{path} contains a skeleton, and a body is built for it. Leave the figure out.")
    clip = read_clip(path, height=height, roles=roles, **options)
    return Motion.from_clip(clip, mass=mass, height=height, sex=sex, roles=roles)


def _check_body(mass: float | None, height: float | None, sex: str, roles: Mapping[str, str] | None) -> None:
    """Refuse numbers that are not those of a person, whether the file needs them or not."""
    bounds = {"height": (height, HEIGHTS, "m"), "mass": (mass, MASSES, "kg")}
    for what, (value, (low, high), unit) in bounds.items():
        if value is not None:
            validation.number(value, f"{what} [{unit}]", minimum=low, maximum=high)
    validation.one_of(sex, SEXES, "sex")
    if roles is not None:
        for role, name in validation.mapping(roles, "roles", "names of joints by role, such as {'left_knee': 'Bone12'}").items():
            if not isinstance(name, str):
                raise ArgumentError(f"roles[{role!r}]: expected the name of a joint, got {validation.short_repr(name)}.")


def _refuse_markers(path: Path) -> None:
    """Refuse marker files: they contain points on the skin, not joint angles."""
    if path.suffix.lower() in MARKERS:
        raise MotionFileError(
            f"{path} contains markers, not joint angles, so no figure can be moved by it. Solve inverse kinematics first (OpenSim's writes "
            "a .mot file), and load the result; 'brachiate info' shows what the file contains, and brachiate.io reads it."
        )


def _refuse_force_plates(path: Path) -> None:
    """Refuse tables of force plates."""
    if path.suffix.lower() not in TABLES:
        return
    try:
        count = len(force_plates(read_table(path)))
    except MotionError:
        return
    raise MotionFileError(f"{path} contains forces of {count} force plates, and no motion. Load the table of angles recorded with it.")


def _read_gait_table(path: Path) -> Table | None:
    """Return the table if it has the coordinates of a gait model."""
    if path.suffix.lower() not in TABLES:
        return None
    table = read_table(path)
    return table if has_gait_coordinates(table) else None


def _gait_motion(table: Table, figure: Model | None, mass: float | None, height: float | None, sex: str) -> Motion:
    """Return the motion of a gait figure, which is built if it is not given."""
    assumptions = []
    if figure is None:
        if height is None:
            height = DEFAULT_HEIGHT
            assumptions.append(Assumption("height", f"{height:g} m", "the table does not state it", "height"))
        if mass is None:
            mass = DEFAULT_BMI * height * height
            assumptions.append(Assumption("mass", f"{mass:.0f} kg", f"a lean person of {height:g} m", "mass"))
        figure = gait23(height, mass, sex)
    motion = gait_motion(table, figure)
    return replace(motion, assumptions=(*motion.assumptions, *assumptions))


def _checked_options(options: Mapping[str, Any], reader: Callable[..., Motion], path: Path) -> dict[str, Any]:
    """Return the options that are set, each of which the reader must accept."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in inspect.signature(reader).parameters:
            raise MotionFileError(f"{path}: {name}= does not apply to this format. Leave it out.")
    return given


def _reader_for_given_figure(path: Path) -> Callable[..., Motion] | None:
    """Reader of a file that contains no skeleton; None for a file that does."""
    suffix = path.suffix.lower()
    if suffix == ".npz" and path.is_file() and is_amass(path):
        return None
    return {".npz": load_motion_archive, ".csv": read_csv, ".mot": read_motion_table, ".sto": read_motion_table}.get(suffix)
