"""Marks of compiled functions: kernels, entry points, functions called by address, and value classes with operators.

This module does not import Numba: functions are compiled by :mod:`brachiate.compiled.numba_backend`, when their machine code is
neither in the cache nor shipped with the package.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable
from itertools import product
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from brachiate.compiled.structs import ArrayField

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

#: Type of an argument in a signature: ``int64``, ``float64``, ``bool``, or an array with its number of axes, ``float64[2]``.
Signature = tuple[str, ...]
ADDRESS_SIGNATURE: Signature = ("int64[1]", "int64[1]", "float64", "int64")
SCALARS = {int: "int64", float: "float64", bool: "bool", type(None): "none"}


class Kernel:
    """A function that is compiled with its callers. Called from Python, it runs as Python."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        #: Read by Numba where ``inline="always"``: functions that are inlined before type inference.
        self.targetoptions = options

    def __call__(self, *arguments: Any) -> Any:
        """Run as Python."""
        return self.py_func(*arguments)

    def __reduce__(self) -> str:
        """Copy and pickle by name, as functions are."""
        return self.py_func.__qualname__

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """Type for Numba's type inference, which asks for it where a compiled function refers to this one."""
        from brachiate.compiled import numba_backend  # noqa: PLC0415

        return numba_backend.kernel_type(self.py_func, self.targetoptions)


class Primitive:
    """A function that exists only in compiled code, made by the backend: opens structs, calls addresses."""

    def __init__(self, maker: str, *arguments: Any) -> None:
        self.maker, self.arguments = maker, arguments

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: there is no such function in Python."""
        raise TypeError(f"{self.maker} is called only from compiled code.")

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from brachiate.compiled import numba_backend  # noqa: PLC0415

        return getattr(numba_backend, self.maker)(*self.arguments)


class Entry:
    """An entry point from Python into compiled code. Its machine code is loaded, or compiled, at the first call.

    The types of arguments are its annotations: ``int``, ``float``, ``bool``, or arrays such as ``Key``, ``Floats`` and ``Matrix``. Without
    annotations they are those of each call.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._call = self._first_call
        self._variants: dict[tuple[bool, ...], Callable[..., Any]] = {}
        ENTRIES[entry_name(function)] = self

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code."""
        return self._call(*arguments)

    def __reduce__(self) -> str:
        """Copy and pickle by name, as functions are."""
        return self.py_func.__qualname__

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from brachiate.compiled import numba_backend  # noqa: PLC0415

        return numba_backend.kernel_type(self.py_func, {})

    @functools.cached_property
    def signatures(self) -> list[Signature]:
        """Types of the arguments by annotations, one for each choice of those that may be None; empty without annotations."""
        return annotated_signatures(self.py_func)

    def _first_call(self, *arguments: Any) -> Any:
        variants = len(self.signatures)
        self._call = self.load(self.signatures[0]) if variants == 1 else self._call_variant if variants else self._call_by_type
        return self._call(*arguments)

    def _call_variant(self, *arguments: Any) -> Any:
        """Call the variant that was compiled for calls in which the same optional arguments are None."""
        none = tuple(argument is None for argument in arguments)
        if none not in self._variants:
            matching = [signature for signature in self.signatures if tuple(kind == "none" for kind in signature) == none]
            if not matching:
                raise TypeError(f"{self.py_func.__name__} takes arguments of types {self.signatures}")
            self._variants[none] = self.load(matching[0])
        return self._variants[none](*arguments)

    def _call_by_type(self, *arguments: Any) -> Any:
        return self.load(tuple(argument_type(argument) for argument in arguments))(*arguments)

    def load(self, signature: Signature) -> Callable[..., Any]:
        """The compiled function, as a built-in function of Python."""
        return load_function(self.py_func, signature).call


class by_address:  # noqa: N801
    """Mark a function ``(key, other_key, x: float, n: int) -> int`` that others call by its address.

    A called function is linked into each caller and optimized with it again: seconds, for a large one. Called by address it is
    compiled once. Addresses differ from run to run, so they are passed as data.
    """

    signatures = (ADDRESS_SIGNATURE,)

    def __init__(self, function: Callable[..., int]) -> None:
        functools.update_wrapper(cast(Any, self), function)
        self.py_func = function
        ENTRIES[entry_name(function)] = self

    @functools.cached_property
    def address(self) -> int:
        """Address of a cell with the address of the machine code, which is loaded, or compiled, when it is first called."""
        from brachiate.compiled.machine_code import AddressCell  # noqa: PLC0415

        self._cell = AddressCell(self.py_func)
        return self._cell.address


#: All entry points and functions called by address that were imported, by module and name.
ENTRIES: dict[str, Entry | by_address] = {}
_LOADED: dict[tuple[Any, Signature], Any] = {}
_LOCK = threading.RLock()


def load_function(function: Callable[..., Any], signature: Signature) -> Any:
    """Machine code of a function: loaded once, by one thread."""
    with _LOCK:
        if (function, signature) not in _LOADED:
            from brachiate.compiled.machine_code import find_or_compile  # noqa: PLC0415

            _LOADED[function, signature] = find_or_compile(function, signature)
        return _LOADED[function, signature]


def entry_name(function: Callable[..., Any]) -> str:
    """Module and name of a function."""
    return f"{function.__module__}.{function.__qualname__}"


def annotated_signatures(function: Callable[..., Any]) -> list[Signature]:
    """Types of the arguments of a function by its annotations, for each choice of those that may be None."""
    hints = get_type_hints(function, include_extras=True)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return list(product(*(_type_names(hints[name]) for name in names))) if hints else []


def _type_names(annotation: Any) -> list[str]:
    if annotation in SCALARS:
        return [SCALARS[annotation]]
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return [name for part in get_args(annotation) for name in _type_names(part)]
    field: ArrayField = annotation.__metadata__[0]
    return [f"{field.dtype}[{field.ndim}]"]


def argument_type(argument: Any) -> str:
    """Type of an argument of an entry without annotations."""
    if argument is None:
        return "none"
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{argument.ndim}]"
    if isinstance(argument, (bool, np.bool)):
        return "bool"
    return "int64" if isinstance(argument, (int, np.integer)) else "float64"


# --- the marks --------------------------------------------------------------------------------------


def kernel(function: F) -> F:
    """Mark an inner function: inlined into compiled callers, no allocation, not called from Python when hot."""
    return cast(F, Kernel(function, forceinline=True))


def outlined(function: F) -> F:
    """Mark a kernel that is not inlined: large, called from several places."""
    return cast(F, Kernel(function))


def inlined(function: F) -> F:
    """Mark a part of one function: inlined before type inference, so it is not compiled on its own. For single callers."""
    return cast(F, Kernel(function, inline="always"))


def entry(function: F) -> F:
    """Mark an entry point from Python into compiled code. Its first argument is usually a handle's key."""
    return cast(F, Entry(function))


call_address: Callable[[int, Any, Any, float, int], int] = Primitive("address_caller")


@kernel
def index(i):
    """Declare an index non-negative: no wrap-around from the end, so consecutive accesses can be vectorized."""
    return np.uint64(i)


def struct_opener(*structs: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return a compiled function from a handle's key to its first structs, without copying or reference counting."""
    return Primitive("opener", *structs)


OPERATORS = {
    "__add__": operator.add, "__sub__": operator.sub, "__neg__": operator.neg, "__matmul__": operator.matmul, "__rmul__": operator.mul,
}  # fmt: skip
#: Value classes whose operators the backend registers, and the function that does so, once it is imported.
VALUE_CLASSES: list[type] = []
register_operators: list[Callable[[type], None]] = []


def operators(cls: C) -> C:
    """Register the operators of a NamedTuple class for compiled code, from the same source as Python uses."""
    cls.__array_ufunc__ = None  # np.float64 * Vec3 defers to Vec3.__rmul__
    VALUE_CLASSES.append(cls)
    for register in register_operators:
        register(cls)
    return cls


_PREPARED: set[str] = set()


def prepare(*jobs: str) -> None:
    """Compile all that jobs need (names of :data:`brachiate.compiled.jobs.JOBS`) and that is not in the cache, in several processes."""
    if not _PREPARED.issuperset(jobs):
        _PREPARED.update(jobs)
        from brachiate.compiled.jobs import code_names  # noqa: PLC0415
        from brachiate.compiled.parallel import compile_all  # noqa: PLC0415

        compile_all(code_names(jobs))
