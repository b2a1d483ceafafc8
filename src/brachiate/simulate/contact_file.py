"""Contacts of a recording in its file: plain arrays, one line per contact, and links by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.contact.arrays import CORNERS, METHODS
from brachiate.contact.solver.contact_law import CORNER, EDGE
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.errors import FileFormatError
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory
from brachiate.world.contact_records import RecordedContacts

_PREFIX = "contacts_"
#: Columns of the file by name: field of :class:`~brachiate.contact.stepping.contact_log.ContactSample`, shape, and range of integers.
_COLUMNS: dict[str, tuple[str, tuple[int, ...], tuple[int, int] | None]] = {
    "corners": ("corners", (), (1, CORNERS)),
    "area": ("normal_mode", (), (0, CORNER + CORNERS - 1)),
    "slip": ("tangential_mode", (), (0, 1)),
    "P": ("P", (3,), None),
    "R": ("R", (3, 3), None),
    "V": ("V", (CORNERS, 2), None),
    "wrench": ("wrench", (6,), None),
    "twist": ("twist", (6,), None),
}
_ROUND_OFF = 1e-6  # of contact axes


def history_to_arrays(history: ContactHistory) -> dict[str, Array]:
    """Contacts as arrays of a file, none if there were no contacts.

    ``contacts`` are links by name; ``contacts_pair`` has the resting link of each contact and the link that supports it. Lines
    ``contacts_at[n]`` to ``contacts_at[n + 1]`` are those of state n. Each has the point P of the patch [m], contact axes R as columns,
    ``corners`` corners V from P along them [m], and wrench [N, N·m] and twist [m/s, rad/s] along them; ``area`` is the active part (1 the
    whole patch, 2 + j the edge from corner j on, 10 + j corner j), ``slip`` 1 if it slips.
    """
    if not len(history):
        return {}
    names = sorted({link for pair in history.link_pairs for link in pair})
    index = {name: n for n, name in enumerate(names)}
    records = history.records
    pair = [(index[link], index[on]) for found in records if found is not None for on, link in (found[1][n] for n in found[0].pair)]
    lines = records.lines()
    content = {
        "at": np.cumsum([0, *records.counts()], dtype=np.int64),
        "pair": np.array(pair, np.int64).reshape(-1, 2),
        "residual": history.residual,
        "depth": history.penetration,
        "way": records.column("method").astype(np.int64),
        **{name: lines[field] for name, (field, _, _) in _COLUMNS.items()},
    }
    return {"contacts": np.array(names, dtype=str), **{_PREFIX + name: values for name, values in content.items()}}


def history_from_arrays(content: Mapping[str, Any], rows: int, model: Model, path: Path) -> ContactHistory | None:
    """Contacts of a file; older files, and runs without contacts, have none."""
    if "contacts" not in content:
        return None
    names = _names(content["contacts"], model, path)
    at = _checked(content, "at", (rows + 1,), (0, np.iinfo(np.int64).max), path)
    if at[0] != 0 or (np.diff(at) < 0).any():
        raise FileFormatError(f"{path}: contacts_at must be non-decreasing line numbers that start at 0.")
    count = int(at[-1])
    pair = _checked(content, "pair", (count, 2), (0, len(names) - 1), path)
    lines = {name: _checked(content, name, (count, *shape), limits, path) for name, (_, shape, limits) in _COLUMNS.items()}
    residual, penetration = (_checked(content, name, (rows,), None, path) for name in ("residual", "depth"))
    method = _checked(content, "way", (rows,), (0, len(METHODS) - 1), path)
    area, R = lines["area"], lines["R"]
    if (np.where(area >= CORNER, area - CORNER, np.maximum(area - EDGE, 0)) >= lines["corners"]).any():
        raise FileFormatError(f"{path}: contacts_area must be edges and corners that exist.")
    if (np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)) > _ROUND_OFF).any() or (np.linalg.det(R) < 0).any():
        raise FileFormatError(f"{path}: contacts_R must be orthonormal contact axes.")
    distinct, which = np.unique(pair, axis=0, return_inverse=True)
    pairs = [(names[on], names[link]) for link, on in distinct]
    columns = {"pair": which.reshape(-1)} | {field: lines[name] for name, (field, _, _) in _COLUMNS.items()}
    parts = [slice(at[n], at[n + 1]) for n in range(rows)]

    def record(n: int) -> RecordedContacts:
        scalars: dict[str, Any] = {"residual": float(residual[n]), "penetration": float(penetration[n]), "method": int(method[n])}
        return ContactSample(**{field: column[parts[n]] for field, column in columns.items()}, **scalars), pairs

    return ContactHistory(record(n) for n in range(rows))


def _names(array: Array, model: Model, path: Path) -> list[str]:
    names = [str(name) for name in array] if array.ndim == 1 and array.dtype.kind == "U" else []
    unknown = [name for name in names if name not in model.links]
    if not names or unknown or len(set(names)) < len(names):
        problem = f"{unknown[0]!r} is unknown" if unknown else "these are not"
        raise FileFormatError(f"{path}: contacts must be distinct link names of model {model.name!r}; {problem}.")
    return names


def _checked(content: Mapping[str, Any], name: str, shape: tuple[int, ...], limits: tuple[int, int] | None, path: Path) -> Array:
    """An array of the file with this shape: integers within limits, or finite numbers."""
    array = content.get(_PREFIX + name)
    kind = np.dtype(np.float64 if limits is None else np.int64)
    if array is None or array.shape != shape or array.dtype != kind:
        found = "missing" if array is None else f"{array.shape} {array.dtype}"
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be {shape} {kind}, but is {found}.")
    if limits is None and not np.isfinite(array).all():
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be finite numbers.")
    if limits is not None and ((array < limits[0]) | (array > limits[1])).any():
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be integers from {limits[0]} to {limits[1]}.")
    return array
