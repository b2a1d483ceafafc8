"""Compilation of numerical code to machine code.

Numerical code in this package is plain Python over NumPy arrays, marked

- ``@kernel``: an inner function. Compiled code inlines it; it may not allocate.
- ``@outlined``: a large inner function that is not inlined.
- ``@inlined``: a part of one function, inlined before type inference: it has no compilation of its own.
- ``@entry``: an entry point from Python into compiled code. Its annotations are the types of its arguments.
- ``@by_address``: a large function that several entries call by its address (:func:`call_address`): compiled once, not in each caller.
- ``@operators``: a NamedTuple value class whose operators (``a + b``, ``R @ v``) work in Python and in compiled code.

Kernels work on *structs of arrays*: NamedTuples such as ``Tree`` and ``Work``. Passing a NamedTuple of eighty arrays into
compiled code takes longer than a dynamics step, so an entry receives the ``key`` of an :class:`ArrayHandle` instead: one small
integer array of addresses and lengths, from which a function made by :func:`struct_opener` restores the structs.

Machine code comes from the user's cache, from the package if it was installed with it, or from Numba (:mod:`numba_backend`), which is
imported only to compile. :func:`prepare` compiles all that a job needs, in several processes.

``BRACHIATE_COMPILED`` chooses how code runs: ``fast`` (default), ``check`` (array bounds are checked), ``off`` (plain
Python: slow, for stepping through with a debugger).
"""

from brachiate.compiled.load_time import LOAD_TIME
from brachiate.compiled.mode import MODE, MODES
from brachiate.compiled.structs import (
    ArrayField,
    ArrayHandle,
    Floats,
    Image,
    IntRows2,
    Ints,
    Key,
    Matrix,
    Rows3,
    Rows6,
    Rows10,
    Rows21,
    Rows33,
    Rows82,
    array_fields,
)

if MODE == "off":
    from brachiate.compiled.uncompiled import (
        by_address,
        call_address,
        entry,
        index,
        inlined,
        kernel,
        operators,
        outlined,
        prepare,
        struct_opener,
    )
else:
    from brachiate.compiled.marks import (
        by_address,
        call_address,
        entry,
        index,
        inlined,
        kernel,
        operators,
        outlined,
        prepare,
        struct_opener,
    )

__all__ = [
    "LOAD_TIME", "MODE", "MODES", "ArrayField", "ArrayHandle", "Floats", "Image", "IntRows2", "Ints", "Key", "Matrix", "Rows10", "Rows21",
    "Rows3", "Rows33", "Rows6", "Rows82", "array_fields", "by_address", "call_address", "entry", "index", "inlined", "kernel", "operators",
    "outlined", "prepare", "struct_opener",
]  # fmt: skip
