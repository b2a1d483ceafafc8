"""Machine code of entry points: found in the cache or in the package, or compiled; loaded into memory and called from Python.

Object files are loaded by LLVM (llvmlite), each by an engine of its own: symbols of one are never taken for those of another.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as ll
import numpy as np

from brachiate.compiled import store
from brachiate.compiled.array_layout import check_layout
from brachiate.compiled.marks import ADDRESS_SIGNATURE, Signature, entry_name, load_function
from brachiate.compiled.store import CodeName, MachineCode

METH_FASTCALL = 0x80
FAILED = 1  # status of a compiled function that raises

_failures: list[BaseException] = []


def raise_failure() -> None:
    """Raise what happened while a function was compiled on call; else the only error of compiled code itself, in the mode ``check``."""
    if _failures:
        raise _failures.pop()
    raise IndexError("index out of bounds in compiled code")


#: Objects of Python that wrappers compare with or raise (``python_wrapper``), as symbols.
OBJECTS = {
    "ndarray": np.ndarray, "None": None, "TypeError": TypeError, "raise_failure": raise_failure,
}  # fmt: skip


class MethodDef(ctypes.Structure):
    """Definition of a built-in function (``PyMethodDef``)."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class LoadedFunction(NamedTuple):
    """A function in memory."""

    call: Callable[..., Any]
    address: int


def find_or_compile(function: Callable[..., Any], signature: Signature) -> LoadedFunction:
    """Load the machine code of a function: from the cache, from the package, or compiled now."""
    name = CodeName(entry_name(function), signature)
    source = own_source(function)
    if source is None:  # typed at a prompt, or made within another function
        return load(compile_here(function, name), name.name)
    code = store.find(name, source)
    if code is None and not source:
        from brachiate.compiled.parallel import compile_all  # noqa: PLC0415

        compile_all([name])
        code = store.find(name)
    if code is None:
        code = compile_here(function, name)
        try:
            store.write(name, code, source)
        except OSError as error:
            store.say(f"{store.cache_folder(name.part)}: {error.strerror}; compiled code is not kept.")
    return load(code, name.name)


def compile_here(function: Callable[..., Any], name: CodeName) -> MachineCode:
    """Compile in this process."""
    store.say(f"compiling {function.__name__.strip('_').replace('_', ' ')} (once on this machine)")
    from brachiate.compiled.numba_backend import compile_function  # noqa: PLC0415

    return compile_function(function, name.signature)


def own_source(function: Callable[..., Any]) -> str | None:
    """Hash of the file of a function outside the package, empty for the package's own; None if its code cannot be kept."""
    if function.__module__.startswith(f"{store.PACKAGE.name}."):
        return ""
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if file is None or function.__closure__ is not None or "<locals>" in function.__qualname__:
        return None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


@functools.cache
def _initialize() -> None:
    check_layout()
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    for name, thing in OBJECTS.items():
        ll.add_symbol(f"brachiate_{name}", id(thing))


def target_machine() -> Any:
    """LLVM's description of the processor that code is made for: a new one, as an engine owns its own."""
    _initialize()
    target, processor = ll.Target.from_triple(ll.get_process_triple()), store.processor()
    return target.create_target_machine(cpu=processor.name, features=processor.features, **TARGET_OPTIONS)


#: As Numba has them: code anywhere in memory, relocated when it is loaded.
TARGET_OPTIONS: dict[str, Any] = {
    "opt": 3, "codemodel": "jitdefault", "reloc": "static" if ll.get_process_triple().startswith("x86") else "default", "jit": True,
}  # fmt: skip


def load(code: MachineCode, name: str) -> LoadedFunction:
    """Load object code into memory, where it stays until the process ends."""
    engine = ll.create_mcjit_compiler(ll.parse_assembly(""), target_machine())
    engine.add_object_file(ll.ObjectFileRef.from_data(code.data))
    engine.finalize_object()
    address, wrapper = engine.get_function_address(code.symbol), engine.get_function_address(code.wrapper)
    definition = MethodDef(name.rpartition(".")[2].encode(), wrapper, METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    engine.detach()
    return LoadedFunction(make(ctypes.addressof(definition), definition, None), address)  # its "self" is the definition, which it needs


# --- functions called by address --------------------------------------------------------------------

# Arguments as Numba passes them: result, exception; of a key: owner, parent, items, size of an item, data, extent, stride.
_KEY = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *_KEY, *_KEY, ctypes.c_double, ctypes.c_int64)


class AddressCell:
    """A cell with the address of a function, at first of one that loads it, so that rare functions are compiled only when called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._first = _FUNCTION(self._load_and_call)
        self._cell = ctypes.c_void_p(ctypes.cast(self._first, ctypes.c_void_p).value)
        self.address = ctypes.addressof(self._cell)

    def load(self) -> int:
        """Load the function before it is called; returns its own address."""
        self._cell.value = address = load_function(self.function, ADDRESS_SIGNATURE).address
        return address

    def _load_and_call(self, *arguments: Any) -> int:
        try:
            return _FUNCTION(self.load())(*arguments)
        except BaseException as error:  # it cannot pass through compiled code: raised when that has returned
            _failures.append(error)
            return FAILED
