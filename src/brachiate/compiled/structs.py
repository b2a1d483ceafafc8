"""Structs of arrays, and the keys by which compiled code finds them."""

from __future__ import annotations

import functools
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from brachiate.compiled.mode import MODE


class ArrayField(NamedTuple):
    """Type of an array: its items, and the shape of one row, a constant in compiled code for the fields of structs."""

    dtype: str
    row: tuple[int, ...] = ()

    @property
    def ndim(self) -> int:
        """Number of axes: one for the rows, and those of a row."""
        return 1 + len(self.row)


Ints = Annotated[NDArray[np.int64], ArrayField("int64")]
Floats = Annotated[NDArray[np.float64], ArrayField("float64")]
Rows3 = Annotated[NDArray[np.float64], ArrayField("float64", (3,))]
Rows6 = Annotated[NDArray[np.float64], ArrayField("float64", (6,))]
Rows10 = Annotated[NDArray[np.float64], ArrayField("float64", (10,))]
Rows21 = Annotated[NDArray[np.float64], ArrayField("float64", (21,))]
Rows33 = Annotated[NDArray[np.float64], ArrayField("float64", (3, 3))]
Rows82 = Annotated[NDArray[np.float64], ArrayField("float64", (8, 2))]
IntRows2 = Annotated[NDArray[np.int64], ArrayField("int64", (2,))]
#: First arguments of entries: see :class:`ArrayHandle`.
Key = Ints
#: Arguments of entries: (m, n) arrays of any size.
Matrix = Annotated[NDArray[np.float64], ArrayField("float64", (-1,))]
#: (height, width, channels).
Image = Annotated[NDArray[np.float32], ArrayField("float32", (-1, -1))]


@functools.cache
def array_fields(struct: type) -> dict[str, ArrayField]:
    """Field types of a struct of arrays, from its annotations, in order."""
    hints = get_type_hints(struct, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in struct._fields}  # type: ignore[attr-defined]


class ArrayHandle:
    """Structs of arrays, and the key by which compiled code finds them.

    The key contains addresses, so the handle keeps the arrays alive and never replaces one. Keep the handle as long as its key.
    """

    __slots__ = ("key", "structs")

    def __init__(self, *structs: NamedTuple) -> None:
        self.structs = structs
        numbers: list[int] = []
        for struct in structs:
            for (name, field), array in zip(array_fields(type(struct)).items(), struct, strict=True):
                matches = isinstance(array, np.ndarray) and array.dtype == field.dtype and array.ndim == field.ndim
                if not (matches and array.shape[1:] == field.row and array.flags.c_contiguous):
                    raise TypeError(f"{type(struct).__name__}.{name} must be a C-contiguous {field.dtype} array of shape (n, *{field.row})")
                numbers += [array.ctypes.data, len(array)]
        #: First argument of entries.
        self.key: Any = structs if MODE == "off" else np.array(numbers, np.int64)

    def __reduce__(self) -> Any:
        """Copy and pickle the structs; the arrays of a copy have other addresses, so it gets its own key."""
        return ArrayHandle, self.structs
