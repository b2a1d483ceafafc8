"""Motion archive: a NumPy file (.npz) with configurations, names, units, contact labels and forces; it contains no code."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate.errors import FileFormatError
from brachiate.io.archive import read_archive, write_archive
from brachiate.model.model import Model
from brachiate.motion.contact_labels import parse_contact_labels
from brachiate.motion.motion import Motion
from brachiate.validation import Array

FORMAT = "brachiate motion 1"
UNITS = "s, m, rad; quaternions w x y z; free joints: position, quaternion; forces: N, then the point in m"


def save_motion_archive(motion: Motion, path: str | PathLike[str]) -> None:
    """Write a motion archive; ``.npz`` is appended to the path if it is missing."""
    model = motion.figure
    content = {
        "format": np.array(FORMAT),
        "units": np.array(UNITS),
        "name": np.array(motion.name),
        "figure": np.array(model.name),
        "captured": np.array(motion.captured),
        "coordinates": np.array(model.coordinates, dtype=str),
        "joints": np.array(list(model.joints), dtype=str),
        "joint_q": np.array([(j.q.start, j.q.stop) for j in model.joints.values()], np.int64).reshape(-1, 2),
        "times": motion.times,
        "q": motion.q,
        "contacts": np.array(motion.contacts.lines() if motion.contacts is not None else [], dtype=str),
        "force_parts": np.array(list(motion.forces), dtype=str),
        "forces": np.array(list(motion.forces.values()), float).reshape(len(motion.forces), len(motion), 6),
    }
    write_archive(path, content, "the motion")


def load_motion_archive(path: str | PathLike[str], figure: Model) -> Motion:
    """Read a motion archive of this figure.

    Raises:
        FileFormatError: It is a motion of another figure (the first coordinate that differs is named), or malformed.
    """
    content = read_archive(path, FORMAT, "a motion")
    missing = [name for name in ("coordinates", "times", "q") if name not in content]
    if missing:
        raise FileFormatError(f"{path} lacks {', '.join(missing)}.")
    coordinates = tuple(map(str, np.atleast_1d(content["coordinates"])))
    if coordinates != figure.coordinates:
        difference = next((f"{a!r} instead of {b!r}" for a, b in zip(coordinates, figure.coordinates, strict=False) if a != b), "others")
        raise FileFormatError(
            f"{path} has {len(coordinates)} coordinates, figure {figure.name!r} {len(figure.coordinates)}, and there is {difference}: "
            f"it is a motion of another figure ({content.get('figure', 'unknown')!s})."
        )
    for name, columns in (("times", None), ("q", figure.nq)):
        array = content[name]
        valid = array.ndim == (1 if columns is None else 2) and array.dtype == np.float64 and np.isfinite(array).all()
        if not valid or (columns is not None and array.shape != (len(content["times"]), columns)):
            raise FileFormatError(f"{path}: {name} is {array.shape} {array.dtype}; expected finite numbers for every frame.")
    lines = [str(line) for line in np.atleast_1d(content.get("contacts", np.zeros(0)))]
    return Motion(
        figure,
        content["times"],
        content["q"],
        str(content.get("name", Path(path).stem)),
        captured=bool(content.get("captured", False)),
        contacts=parse_contact_labels(lines, str(path)) if lines else None,
        forces=_forces(content, str(path)),
    )


def _forces(content: Mapping[str, Array], source: str) -> dict[str, Array]:
    parts = [str(part) for part in np.atleast_1d(content.get("force_parts", np.zeros(0)))]
    values = content.get("forces", np.zeros((0, len(content["times"]), 6)))
    if values.shape != (len(parts), len(content["times"]), 6) or values.dtype != np.float64 or not np.isfinite(values).all():
        raise FileFormatError(f"{source}: forces are {values.shape} {values.dtype}; expected six finite numbers for each part and frame.")
    return dict(zip(parts, values, strict=True))
