"""Contacts of a recording in its file: plain arrays, one line for each area, and links by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.contact.arrays import CORNERS, WAYS
from brachiate.contact.solver.contact_law import CORNER, EDGE
from brachiate.contact.stepping.contact_log import Lines
from brachiate.errors import FileFormatError
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory

_PREFIX = "contacts_"
#: What a line has, as in :class:`brachiate.contact.stepping.contact_log.Log`: its shape, and of whole numbers the least and the most.
_LINE: dict[str, tuple[tuple[int, ...], tuple[int, int] | None]] = {
    "corners": ((), (1, CORNERS)),
    "area": ((), (0, CORNER + CORNERS - 1)),
    "slip": ((), (0, 1)),
    "P": ((3,), None),
    "R": ((3, 3), None),
    "V": ((CORNERS, 2), None),
    "wrench": ((6,), None),
    "twist": ((6,), None),
}
_ROUND_OFF = 1e-6  # of contact axes


def arrays_of(history: ContactHistory) -> dict[str, Array]:
    """Contacts as arrays of a file, none if nothing touched.

    ``contacts`` are links by name; ``contacts_pair`` says which of them rests, and on which. Lines ``contacts_at[n]`` to
    ``contacts_at[n + 1]`` are those of state n. Each has the area's point P [m], contact axes R as columns, ``corners`` corners V from P
    along them [m], and wrench [N, N·m] and twist [m/s, rad/s] along them; ``area`` says what of it bears (1 all of it, 2 + j the edge
    from corner j on, 10 + j corner j), ``slip`` whether it slips.
    """
    if not len(history):
        return {}
    names = sorted({link for pair in history.met for link in pair})
    place = {name: n for n, name in enumerate(names)}
    known = [found for found in history.touched if found is not None]
    pair = [(place[link], place[on]) for lines, pairs in known for on, link in (pairs[n] for n in lines.pair)]
    counts = [0 if found is None else len(found[0].pair) for found in history.touched]
    content = {
        "at": np.cumsum([0, *counts], dtype=np.int64),
        "pair": np.array(pair, np.int64).reshape(-1, 2),
        "residual": history.residual,
        "depth": history.depth,
        "way": np.array([WAYS.index(way) for way in history.way], np.int64),
        **{name: np.concatenate([getattr(lines, name) for lines, _ in known]) for name in _LINE},
    }
    return {"contacts": np.array(names, dtype=str), **{_PREFIX + name: values for name, values in content.items()}}


def history_from(content: Mapping[str, Any], rows: int, model: Model, path: Path) -> ContactHistory | None:
    """The contacts in a file; files from before there were any, and of runs without any, have none."""
    if "contacts" not in content:
        return None
    names = _names(content["contacts"], model, path)
    at = _checked(content, "at", (rows + 1,), (0, np.iinfo(np.int64).max), path)
    if at[0] != 0 or (np.diff(at) < 0).any():
        raise FileFormatError(f"{path}: contacts_at must count lines, from 0 on.")
    count = int(at[-1])
    pair = _checked(content, "pair", (count, 2), (0, len(names) - 1), path)
    lines = {name: _checked(content, name, (count, *shape), limits, path) for name, (shape, limits) in _LINE.items()}
    residual, depth = (_checked(content, name, (rows,), None, path) for name in ("residual", "depth"))
    way = _checked(content, "way", (rows,), (0, len(WAYS) - 1), path)
    area, R = lines["area"], lines["R"]
    if (np.where(area >= CORNER, area - CORNER, np.maximum(area - EDGE, 0)) >= lines["corners"]).any():
        raise FileFormatError(f"{path}: contacts_area must name edges and corners that there are.")
    if (np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)) > _ROUND_OFF).any() or (np.linalg.det(R) < 0).any():
        raise FileFormatError(f"{path}: contacts_R must be contact axes, at right angles and of length one.")
    met, which = np.unique(pair, axis=0, return_inverse=True)
    pairs = [(names[on], names[link]) for link, on in met]
    columns = [which.reshape(-1), *(lines[name] for name in Lines._fields[1:-3])]
    parts = [slice(at[n], at[n + 1]) for n in range(rows)]
    touched = []
    for n, part in enumerate(parts):
        of_all = {"residual": float(residual[n]), "depth": float(depth[n]), "way": int(way[n])}
        touched.append((Lines(*(c[part] for c in columns), **of_all), pairs))
    return ContactHistory(touched)


def _names(given: Array, model: Model, path: Path) -> list[str]:
    names = [str(name) for name in given] if given.ndim == 1 and given.dtype.kind == "U" else []
    unknown = [name for name in names if name not in model.links]
    if not names or unknown or len(set(names)) < len(names):
        what = f"{unknown[0]!r} is none" if unknown else "these are not"
        raise FileFormatError(f"{path}: contacts must be names of links of model {model.name!r}, each once; {what}.")
    return names


def _checked(content: Mapping[str, Any], name: str, shape: tuple[int, ...], limits: tuple[int, int] | None, path: Path) -> Array:
    """An array of the file, if it has this shape: whole numbers within limits, or finite ones."""
    array = content.get(_PREFIX + name)
    kind = np.dtype(np.float64 if limits is None else np.int64)
    if array is None or array.shape != shape or array.dtype != kind:
        found = "missing" if array is None else f"{array.shape} {array.dtype}"
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be {shape} {kind}, but is {found}.")
    if limits is None and not np.isfinite(array).all():
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be finite numbers.")
    if limits is not None and ((array < limits[0]) | (array > limits[1])).any():
        raise FileFormatError(f"{path}: {_PREFIX}{name} must be whole numbers from {limits[0]} to {limits[1]}.")
    return array
