"""Arrays with one value per coordinate of a world, indexed by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.deprecation import renamed_attribute
from brachiate.errors import UnknownName
from brachiate.figures.ranges import MAX_FORCE, within
from brachiate.model.model import Model
from brachiate.validation import Array


class NamedValues(np.ndarray):
    """Array with one value per coordinate (nv,), indexed by name or number: ``torque["man/left_knee"]`` or ``torque[12]``.

    The name of a joint with several coordinates gives all of them: ``torque["man/left_hip"]`` is three numbers.
    """

    model: Model | None
    connection_wrenches: dict[str, Any]  #: of accelerations under constraints: force and moment of every connection, by name

    def __new__(cls, values: ArrayLike, model: Model) -> NamedValues:
        """Copy the values; the model has their names."""
        named = np.array(values, float).view(cls)
        named.model = model
        return named

    def __array_finalize__(self, other: Any) -> None:
        self.model = getattr(other, "model", None)
        self.connection_wrenches = getattr(other, "connection_wrenches", {})

    connection = renamed_attribute("connection", "connection_wrenches")

    def _index(self, key: Any) -> Any:
        return key if self.model is None or not isinstance(key, str) else coordinate_indices(self.model, key)

    def __getitem__(self, key: Any) -> Any:
        """Return values by name, or as NumPy does."""
        found = super().__getitem__(self._index(key))
        return np.asarray(found) if isinstance(key, str) and isinstance(found, np.ndarray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set values by name, or as NumPy does."""
        super().__setitem__(self._index(key), value)

    def as_dict(self) -> dict[str, float]:
        """Every value by the name of its coordinate."""
        names = self.model.coordinates if self.model is not None else ()
        return dict(zip(names, map(float, self), strict=True))


def coordinate_indices(model: Model, name: str) -> int | slice:
    """Index of a coordinate, or slice of all coordinates of a joint, in the velocity vector."""
    if not isinstance(name, str):
        raise UnknownName("coordinate", validation.short_repr(name), list(model.joints), "this world")
    if name in model.coordinate_index:
        return model.coordinate_index[name]
    if name in model.joints:
        return model.joints[name].v
    valid = list(dict.fromkeys([*model.joints, *model.coordinates]))
    raise UnknownName("coordinate", name, valid, "this world")


def coordinate_values(model: Model, values: ArrayLike | Mapping[str, Any], what: str, largest: float = MAX_FORCE) -> Array:
    """One value per coordinate (nv,), from an array or from values by name (the others zero); ``largest`` is the largest magnitude."""
    if isinstance(values, Mapping):
        array = np.zeros(model.nv)
        for name, value in values.items():
            at = coordinate_indices(model, name)
            shape = () if isinstance(at, int) else (at.stop - at.start,)
            array[at] = validation.numbers(value, shape, f"{what}[{name!r}]")
        values = array
    return within(validation.numbers(values, (model.nv,), what), largest, what)
