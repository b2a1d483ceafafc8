"""Motions out: the format is what the name of the file ends in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.clip.clip import Clip
from brachiate.clip.resample import resampled_clip
from brachiate.errors import ArgumentError, MotionError
from brachiate.io.bvh import write_bvh
from brachiate.io.gltf import write_gltf
from brachiate.motion.archive import save_motion, write_csv
from brachiate.motion.edit import resampled
from brachiate.motion.link_skeleton import clip_of_links, shapes_of_joints, shapes_of_links
from brachiate.motion.motion import Motion, clip_of
from brachiate.motion.opensim_tables import write_motion_table
from brachiate.motion.tracker_export import write_tracker


def write_motion(motion: Motion, path: str | PathLike[str], *, rate: float | None = None, **options: Any) -> Path:
    """Write a motion in the format that the file's name ends in.

    ======================  ==========================================================================================
    ``.bvh``                the skeleton it came with, or one of the figure's links; seen by Blender and others
    ``.glb``, ``.gltf``     the same with the figure's shapes, for browsers and modellers
    ``.npz``                all of it, for us
    ``.tracker.npz``        joints, bodies and velocities of a robot, for trainers: ``order=``, ``bodies=``
    ``.csv``                root and joints of a robot, as Unitree's tables, with names in a file beside it
    ``.mot``, ``.sto``      coordinates by name, as OpenSim's tables
    ======================  ==========================================================================================

    Args:
        motion: What to write.
        path: The file.
        rate: Frames a second, along a smooth curve; by default those it has.
        options: What the format takes, see above.

    Returns:
        The path of the file.
    """
    path = Path(path)
    suffix, write = _writer(path)
    known = [name for name in inspect.signature(write).parameters if name not in ("motion", "path", "rate")]
    for name in options:
        if name not in known:
            told = f"It takes {', '.join(known)}." if known else "It takes none."
            raise ArgumentError(f"{name}= means nothing for a {suffix} file. {told}")
    if not path.parent.is_dir():
        raise ArgumentError(f"{path}: there is no folder {path.parent}. Make it first, or choose another one.")
    try:
        write(motion, path, rate, **options)
    except OSError as problem:
        raise ArgumentError(f"{path}: the motion cannot be written ({problem.strerror}). Choose another file.") from None
    return path


def clip_for(motion: Motion, rate: float | None = None) -> Clip:
    """A motion as a clip: of the skeleton it came with, or else of the figure's links."""
    clip = clip_of(motion) if motion.clip is not None else clip_of_links(motion)
    return clip if rate is None else resampled_clip(clip, rate)


def _writer(path: Path) -> tuple[str, Callable[..., Any]]:
    name = path.name.lower()
    for suffix, write in _WRITERS.items():
        if name.endswith(suffix) and len(name) > len(suffix):
            return suffix, write
    raise ArgumentError(f"{path}: what a motion is written as is told by how the file's name ends, in one of {', '.join(_WRITERS)}.")


def _bvh(motion: Motion, path: Path, rate: float | None) -> None:
    write_bvh(clip_for(motion, rate), path)


def _gltf(motion: Motion, path: Path, rate: float | None) -> None:
    shapes = shapes_of_joints(motion) if motion.clip is not None else shapes_of_links(motion)
    write_gltf(clip_for(motion, rate), path, bodies=shapes or None)


def _tracker(motion: Motion, path: Path, rate: float | None, order: str = "depth", bodies: Any = None) -> None:
    write_tracker(motion, path, order, rate, bodies)


def _npz(motion: Motion, path: Path, rate: float | None) -> None:
    save_motion(_at(motion, rate), path)


def _csv(motion: Motion, path: Path, rate: float | None) -> None:
    write_csv(_at(motion, rate), path)


def _table(motion: Motion, path: Path, rate: float | None) -> None:
    write_motion_table(_at(motion, rate), path)


def _at(motion: Motion, rate: float | None) -> Motion:
    if rate is not None and len(motion) < 2:
        raise MotionError("One frame cannot be resampled: it says nothing about any other time.")
    return motion if rate is None else resampled(motion, rate)


#: How motions are written, by how the file's name ends; the first that fits.
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
