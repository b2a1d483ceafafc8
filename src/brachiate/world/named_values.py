"""Numbers with names: one for each coordinate of a world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import UnknownName
from brachiate.model.model import Model
from brachiate.validation import Array


class Named(np.ndarray):
    """An array with one number for each coordinate: ``torque["man/left_knee"]`` beside ``torque[12]``.

    A joint of several coordinates gives them all: ``torque["man/left_hip"]`` is three numbers.
    """

    model: Model | None
    connection: dict[str, Any]  #: force and moment at every connection, of accelerations of what is held

    def __new__(cls, values: ArrayLike, model: Model) -> Named:
        """Copy the values; the model knows their names."""
        named = np.array(values, float).view(cls)
        named.model = model
        return named

    def __array_finalize__(self, other: Any) -> None:
        self.model = getattr(other, "model", None)
        self.connection = getattr(other, "connection", {})

    def _place(self, key: Any) -> Any:
        return key if self.model is None or not isinstance(key, str) else coordinate_place(self.model, key)

    def __getitem__(self, key: Any) -> Any:
        """Return numbers by name, or as NumPy does."""
        found = super().__getitem__(self._place(key))
        return np.asarray(found) if isinstance(key, str) and isinstance(found, np.ndarray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set numbers by name, or as NumPy does."""
        super().__setitem__(self._place(key), value)

    def as_dict(self) -> dict[str, float]:
        """Every number by its coordinate's name."""
        names = self.model.coordinates if self.model is not None else ()
        return dict(zip(names, map(float, self), strict=True))


def coordinate_place(model: Model, name: str) -> int | slice:
    """Where a coordinate, or all coordinates of a joint, are among the velocities."""
    if name in model.coordinate_index:
        return model.coordinate_index[name]
    if name in model.joints:
        return model.joints[name].v
    valid = list(dict.fromkeys([*model.joints, *model.coordinates]))
    raise UnknownName("coordinate", name, valid, "this world")


def coordinate_values(model: Model, given: ArrayLike | Mapping[str, Any], what: str) -> Array:
    """Return one number for each coordinate, from an array or from values by name (the rest zero)."""
    if isinstance(given, Mapping):
        values = np.zeros(model.nv)
        for name, value in given.items():
            place = coordinate_place(model, name)
            size = () if isinstance(place, int) else (place.stop - place.start,)
            values[place] = validation.numbers(value, size, f"{what}[{name!r}]")
        given = values
    return validation.numbers(given, (model.nv,), what)
