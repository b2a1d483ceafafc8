"""Writing of motion files; the suffix of the file name selects the format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.clip.clip import Clip
from brachiate.clip.resample import resample_clip
from brachiate.errors import ArgumentError, MotionError
from brachiate.io.bvh import write_bvh
from brachiate.io.file_access import as_path
from brachiate.io.gltf import write_gltf
from brachiate.motion.archive import save_motion_archive
from brachiate.motion.edit import resample
from brachiate.motion.link_skeleton import link_clip, link_shapes, skeleton_shapes
from brachiate.motion.motion import Motion
from brachiate.motion.opensim_tables import write_motion_table
from brachiate.motion.robot_csv import write_csv
from brachiate.motion.tracker_export import write_tracker


def write_motion(motion: Motion, path: str | PathLike[str], *, rate: float | None = None, **options: Any) -> Path:
    """Write a motion in the format of the file's suffix.

    ======================  ==========================================================================================
    ``.bvh``                the skeleton the motion was made from, or one of the figure's links; for Blender and others
    ``.glb``, ``.gltf``     the same with the figure's shapes, for browsers and modeling tools
    ``.npz``                motion archive, with contacts and forces
    ``.tracker.npz``        joint and body states of a robot, for training of tracking policies: ``order=``, ``bodies=``
    ``.csv``                root and joints of a robot, in Unitree's order, with a names file beside it
    ``.mot``, ``.sto``      coordinates by name, as OpenSim tables
    ======================  ==========================================================================================

    Args:
        motion: The motion.
        path: The file.
        rate: Frame rate [Hz], resampled along the spline; by default that of the motion.
        options: Options of the format, see above.

    Returns:
        The path of the file.
    """
    path = as_path(path, "the file to write")
    suffix, write = _writer(path)
    known = [name for name in inspect.signature(write).parameters if name not in ("motion", "path", "rate")]
    for name in options:
        if name not in known:
            hint = f"It takes {', '.join(known)}." if known else "It takes none."
            raise ArgumentError(f"{name}= does not apply to a {suffix} file. {hint}")
    if not path.parent.is_dir():
        raise ArgumentError(f"{path}: there is no folder {path.parent}. Create it first, or choose another one.")
    write(motion, path, rate, **options)
    return path


def export_clip(motion: Motion, rate: float | None = None) -> Clip:
    """Return a motion as a clip: on the skeleton it was made from, or else on one of the figure's links."""
    clip = motion.to_clip() if motion.clip is not None else link_clip(motion)
    return clip if rate is None else resample_clip(clip, rate)


def check_format(path: str | PathLike[str]) -> None:
    """Refuse a file whose suffix names no format, before the work."""
    _writer(as_path(path, "the file to write"))


def _writer(path: Path) -> tuple[str, Callable[..., Any]]:
    name = path.name.lower()
    for suffix, write in _WRITERS.items():
        if name.endswith(suffix) and len(name) > len(suffix):
            return suffix, write
    raise ArgumentError(f"{path}: the suffix of the file name selects the format; valid: {', '.join(_WRITERS)}.")


def _bvh(motion: Motion, path: Path, rate: float | None) -> None:
    write_bvh(export_clip(motion, rate), path)


def _gltf(motion: Motion, path: Path, rate: float | None) -> None:
    shapes = skeleton_shapes(motion) if motion.clip is not None else link_shapes(motion)
    write_gltf(export_clip(motion, rate), path, bodies=shapes or None)


def _tracker(motion: Motion, path: Path, rate: float | None, order: str = "depth", bodies: Any = None) -> None:
    write_tracker(motion, path, order, rate, bodies)


def _npz(motion: Motion, path: Path, rate: float | None) -> None:
    save_motion_archive(_resampled(motion, rate), path)


def _csv(motion: Motion, path: Path, rate: float | None) -> None:
    write_csv(_resampled(motion, rate), path)


def _table(motion: Motion, path: Path, rate: float | None) -> None:
    write_motion_table(_resampled(motion, rate), path)


def _resampled(motion: Motion, rate: float | None) -> Motion:
    if rate is not None and len(motion) < 2:
        raise MotionError("A motion of one frame cannot be resampled.")
    return motion if rate is None else resample(motion, rate)


#: Writers by suffix; the first that matches is used.
_WRITERS: dict[str, Callable[..., Any]] = {
    ".tracker.npz": _tracker,
    ".npz": _npz,
    ".bvh": _bvh,
    ".glb": _gltf,
    ".gltf": _gltf,
    ".csv": _csv,
    ".mot": _table,
    ".sto": _table,
}
