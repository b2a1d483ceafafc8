"""Layout of NumPy's array objects in memory, by which compiled code reads addresses and shapes of its arguments.

It is part of NumPy's binary interface (``PyArrayObject_fields``, ``PyArray_Descr``), behind the object head of CPython. Interpreters with
another head, such as free-threaded builds, are refused before the first call.
"""

from __future__ import annotations

import ctypes

import numpy as np

from brachiate.errors import SettingError

# Offsets in an array object [B]: object head (reference count, type), data, axes, dimensions, strides, base, type of items, flags.
TYPE, DATA, AXES, DIMENSIONS, ITEM_TYPE, FLAGS = 8, 16, 24, 32, 56, 64
C_CONTIGUOUS = 1
# Offsets in the type of items, which is another object in arrays that were unpickled: byte order, number of the type.
BYTE_ORDER, TYPE_NUMBER = 26, 28
SIZE = 72  # [B] of an array object at least


def check_layout() -> None:
    """Compare an array object in memory with what compiled code expects; a SettingError if they differ."""
    array = np.zeros((2, 3))
    if np.ndarray.__basicsize__ < SIZE or not _matches(array):
        raise SettingError(
            "The array objects of this build of Python and NumPy have a layout that compiled code does not know. Use a standard build of "
            "CPython, or set BRACHIATE_COMPILED=off, which is slow."
        )


def _matches(array: np.ndarray) -> bool:
    def read(kind: type, offset: int, base: int = id(array)) -> int:
        return kind.from_address(base + offset).value  # type: ignore[attr-defined]

    head = read(ctypes.c_void_p, TYPE) == id(np.ndarray) and read(ctypes.c_void_p, DATA) == array.ctypes.data
    if not (head and read(ctypes.c_int, AXES) == array.ndim and read(ctypes.c_void_p, ITEM_TYPE) == id(array.dtype)):
        return False
    shape = ctypes.cast(read(ctypes.c_void_p, DIMENSIONS), ctypes.POINTER(ctypes.c_ssize_t))
    number = read(ctypes.c_int, TYPE_NUMBER, id(array.dtype)), read(ctypes.c_char, BYTE_ORDER, id(array.dtype))
    contiguous = read(ctypes.c_int, FLAGS) & C_CONTIGUOUS != 0
    return tuple(shape[: array.ndim]) == array.shape and contiguous and number == (array.dtype.num, array.dtype.byteorder.encode())
