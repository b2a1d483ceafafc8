"""Compilation to machine code. This is the only file that uses Numba.

Numerical code in this package is plain Python over NumPy arrays, marked

- ``@kernel``: an inner function. Compiled code inlines it; it may not allocate.
- ``@outlined``: a large inner function that is not inlined.
- ``@inlined``: a part of one function, inlined before type inference: it has no compilation of its own.
- ``@entry``: an entry point from Python into compiled code.
- ``@by_address``: a large function that several entries call by its address (:func:`call_address`): compiled once, not in each caller.
- ``@operators``: a NamedTuple value class whose operators (``a + b``, ``R @ v``) work in Python and in compiled code.

Kernels work on *structs of arrays*: NamedTuples such as ``Tree`` and ``Work``. Passing a NamedTuple of eighty arrays into
compiled code takes longer than a dynamics step, so an entry receives the ``key`` of an :class:`ArrayHandle` instead: one small
integer array of addresses and lengths, from which a function made by :func:`struct_opener` restores the structs.

``BRACHIATE_COMPILED`` chooses how code runs: ``fast`` (default), ``check`` (array bounds are checked), ``off`` (plain
Python: slow, for stepping through with a debugger).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import operator
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from brachiate.errors import SettingError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

MODES = ("fast", "check", "off")
MODE: str = os.environ.get("BRACHIATE_COMPILED", "fast")
if MODE not in MODES:
    raise SettingError(f"BRACHIATE_COMPILED={MODE!r} is not a mode. Choose one of: {', '.join(MODES)}.")


class ArrayField(NamedTuple):
    """Type of an array field of a struct: its items, and the shape of one row, a constant in compiled code."""

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


# Folders and files without compiled code that no compiled code uses: editing them needs no recompilation.
WITHOUT_KERNELS = (
    "anatomy", "cli", "clip", "evaluation", "figures", "foot_locking", "io", "motion", "procedural", "retargeting", "scenes", "world",
    "__init__.py", "__main__.py", "assumptions.py", "growing_array.py", "kinematics_batch.py", "progress.py", "rotations.py",
)  # fmt: skip
# Folders whose compiled code only later ones of this list use: editing one recompiles only it and those.
ON_TOP = ("contact_estimation", "centroidal", "filter", "show")


def source_hash(part: str = "") -> str:
    """Hash of all source files that compiled code of a folder may come from: Numba does not detect an edited callee in another file."""
    root = Path(__file__).parent
    unused = WITHOUT_KERNELS + ON_TOP[ON_TOP.index(part) + 1 if part in ON_TOP else 0 :]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in unused:
            digest.update(str(place).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all caches of compiled code."""
    base = os.environ.get("BRACHIATE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brachiate"


def cache_folder(part: str = "") -> Path:
    """Cache of the compiled code of a folder: one for each version of the sources and each mode."""
    return cache_root() / f"{source_hash(part)}-{MODE}"


def prune_cache(keep_days: float = 30.0) -> int:
    """Remove caches of other source versions that were not used for ``keep_days``. Returns how many."""
    current = {cache_folder(part) for part in ("", *ON_TOP)}
    removed = 0
    if not cache_root().is_dir():
        return 0
    for folder in cache_root().iterdir():
        is_cache = folder.is_dir() and folder.name.endswith(tuple(f"-{mode}" for mode in MODES))
        if is_cache and folder not in current and time.time() - folder.stat().st_mtime > keep_days * 86400:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


if MODE == "off":

    def kernel(function: F) -> F:  # type: ignore[reportRedeclaration]
        """Return the function unchanged: compilation is off."""
        return function

    outlined = inlined = kernel

    _FUNCTIONS: list[Callable[..., int]] = []

    class by_address:  # type: ignore[reportRedeclaration]  # noqa: N801
        """A function whose address is its number, from 1; 0 is no function."""

        def __init__(self, function: Callable[..., int]) -> None:
            _FUNCTIONS.append(np.errstate(all="ignore")(function))
            self.address = len(_FUNCTIONS)

    def call_address(address: int, key: Any, other_key: Any, x: float, n: int) -> int:  # type: ignore[reportRedeclaration]
        """Call a :class:`by_address` function by its address."""
        return _FUNCTIONS[address - 1](key, other_key, x, n)

    def entry(function: F) -> F:  # type: ignore[reportRedeclaration]
        """Continue silently after overflow and division by zero, as compiled code does."""
        return cast(F, np.errstate(all="ignore")(function))

    def index(i: int) -> int:  # type: ignore[reportRedeclaration]
        """Return the index unchanged."""
        return i

    def operators(cls: C) -> C:  # type: ignore[reportRedeclaration]
        """Let NumPy scalars defer to the class's own operators."""
        cls.__array_ufunc__ = None
        return cls

    def struct_opener(*structs: type) -> Callable[[Any], tuple[Any, ...]]:
        """Return a function from a handle's key to its first structs: here the key is the structs."""
        return lambda key: key[: len(structs)]

else:
    import numba
    from llvmlite import ir
    from numba.core import cgutils, event, types
    from numba.core.imputils import lower_getattr_generic
    from numba.core.registry import CPUDispatcher
    from numba.core.typing import templates as typing_templates
    from numba.extending import intrinsic, models, overload, register_model
    from numba.np.arrayobj import populate_array

    def _is_writable(folder: Path) -> bool:
        """Whether compiled code can be cached there. Numba's fallback folder would not depend on sources and mode."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return True
        except OSError:
            print(f"brachiate: {folder} is not writable, so everything is compiled again in every run.", file=sys.stderr)
            return False

    @functools.cache
    def _cache_path(part: str) -> str:
        return str(cache_folder(part))

    # No reordering or NaN assumptions: only multiply-add contraction, so results do not depend on how code was inlined.
    _COMMON: dict[str, Any] = {
        "cache": _is_writable(cache_folder()),
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"contract"},
        "boundscheck": MODE == "check",
        "no_cfunc_wrapper": True,
        "_nrt": False,  # makes any allocation a compile error
    }

    @contextlib.contextmanager
    def _our_cache(module: str) -> Iterator[None]:
        part = module.removeprefix("brachiate.").partition(".")[0]
        before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        numba.config.CACHE_DIR = _cache_path(part if part in ON_TOP else "")  # type: ignore[attr-defined]
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before  # type: ignore[attr-defined]

    def _compile(function: F, **options: Any) -> F:
        settings: Any = {**_COMMON, **options}
        with _our_cache(function.__module__):
            try:
                return cast(F, numba.njit(**settings)(function))
            except RuntimeError:  # without a source file: typed at a prompt
                settings["cache"] = False
                return cast(F, numba.njit(**settings)(function))

    class _Kernel(CPUDispatcher):
        """A kernel without a Python wrapper: called from Python, it runs as Python."""

        def __call__(self, *arguments: Any) -> Any:
            return self.py_func(*arguments)

    def kernel(function: F) -> F:
        """Mark an inner function: inlined into compiled callers, no allocation, not called from Python when hot."""
        compiled = _compile(function, forceinline=True, no_cpython_wrapper=True)
        compiled.__class__ = _Kernel
        return compiled

    def outlined(function: F) -> F:
        """Mark a kernel that is not inlined: large, called from several places."""
        return _compile(function)

    def inlined(function: F) -> F:
        """Mark a part of one function: inlined before type inference, so it is not compiled on its own. For single callers."""
        compiled = _compile(function, inline="always", no_cpython_wrapper=True, cache=False)
        compiled.__class__ = _Kernel
        return compiled

    def entry(function: F) -> F:
        """Mark an entry point from Python into compiled code. Its first argument is usually a handle's key."""
        compiled = _compile(function)
        _ENTRIES.append(compiled)
        return compiled

    _KEY = types.int64[::1]
    _SIGNATURE = (_KEY, _KEY, types.float64, types.int64)

    class by_address:  # noqa: N801
        """Mark a function ``(key, other_key, x: float, n: int) -> int`` that others call by its address.

        A called function is linked into each caller and optimized with it again: seconds, for a large one. Called by address it is
        compiled once. Addresses differ from run to run, so they are passed as data.
        """

        def __init__(self, function: Callable[..., int]) -> None:
            self._compiled: Any = _compile(function)
            _ENTRIES.append(self._compiled)

        @functools.cached_property
        def address(self) -> int:
            """Address of the machine code; compiled at first access."""
            self._compiled.compile(_SIGNATURE)
            result = self._compiled.overloads[_SIGNATURE]
            return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

    @intrinsic
    def _call_address(typing_context, address, key, other_key, x, n):
        def generate(context, builder, signature, arguments):
            convention = context.call_conv
            function_type = convention.get_function_type(types.int64, _SIGNATURE)
            function = builder.inttoptr(arguments[0], function_type.as_pointer())
            status, result = convention.call_function(builder, function, types.int64, _SIGNATURE, arguments[1:])
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return types.int64(types.int64, *_SIGNATURE), generate

    @kernel
    def call_address(address, key, other_key, x, n):
        """Call a :class:`by_address` function by its address."""
        return _call_address(address, key, other_key, x, n)  # pyright: ignore[reportCallIssue]

    @kernel
    def index(i):
        """Declare an index non-negative: no wrap-around from the end, so consecutive accesses can be vectorized."""
        return np.uint64(i)

    _ENTRIES: list[Any] = []
    _OPERATORS = {
        "__add__": operator.add, "__sub__": operator.sub, "__neg__": operator.neg, "__matmul__": operator.matmul, "__rmul__": operator.mul,
    }  # fmt: skip

    def operators(cls: C) -> C:
        """Register the operators of a NamedTuple class for compiled code, from the same source as Python uses."""
        cls.__array_ufunc__ = None  # np.float64 * Vec3 defers to Vec3.__rmul__

        def is_mine(t: Any) -> bool:
            return isinstance(t, types.BaseNamedTuple) and t.instance_class is cls  # type: ignore[attr-defined]

        for name, symbol in _OPERATORS.items():
            if name in cls.__dict__:
                overload(symbol, strict=False, jit_options={"forceinline": True})(_overload(name, cls.__dict__[name], is_mine))
        return cls

    def _overload(name: str, method: Callable[..., Any], is_mine: Callable[[Any], bool]) -> Callable[..., Any]:
        if name == "__rmul__":
            reversed_method = kernel(method)

            def scaled(s, a):
                return (lambda s, a: reversed_method(a, s)) if isinstance(s, (types.Float, types.Integer)) and is_mine(a) else None

            return scaled

        def unary(a):
            return method if is_mine(a) else None

        def binary(a, b):
            # The right side of @ may be of another class (inertia @ motion); of + and - it is of the same class.
            return method if is_mine(a) and (is_mine(b) or name == "__matmul__") else None

        return unary if name == "__neg__" else binary

    class _StructType(types.Type):
        """Numba type of a struct of arrays: a pointer into a handle's key, from which fields are read where used.

        With a NamedTuple every kernel would take some four hundred separate values: minutes of compilation.
        """

        def __init__(self, struct: type) -> None:
            self.offsets: dict[str, tuple[int, tuple[int, ...], Any]] = {}
            for n, (name, field) in enumerate(array_fields(struct).items()):
                self.offsets[name] = 2 * n, field.row, types.Array(getattr(types, field.dtype), field.ndim, "C")
            self.size = 2 * len(self.offsets)
            super().__init__(name=f"struct({struct.__module__}.{struct.__name__})")

    @register_model(_StructType)
    class _StructModel(models.OpaqueModel):  # type: ignore[misc]
        pass

    @typing_templates.infer_getattr
    class _StructAttributes(typing_templates.AttributeTemplate):
        key = _StructType

        def generic_resolve(self, struct: _StructType, name: str) -> Any:
            return struct.offsets[name][2] if name in struct.offsets else None

    @lower_getattr_generic(_StructType)
    def _lower_field(context, builder, struct, value, name):
        """Build the array from its address and length. The key never changes, so its loads are invariant."""
        at, row, array_type = struct.offsets[name]
        numbers = builder.bitcast(value, ir.IntType(64).as_pointer())

        def load(k: int) -> Any:
            loaded = builder.load(builder.gep(numbers, [ir.Constant(ir.IntType(32), at + k)]))
            loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
            return loaded

        def constant(n: float) -> Any:
            return context.get_constant(types.intp, int(n))

        count = load(1)
        shape = [count, *(constant(extent) for extent in row)]
        strides = [constant(8 * np.prod(row[axis:])) for axis in range(len(row) + 1)]
        item = constant(8)
        array = context.make_array(array_type)(context, builder)
        pointer = builder.inttoptr(load(0), context.get_data_type(array_type.dtype).as_pointer())
        populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=item, meminfo=None)
        array.nitems = builder.mul(count, constant(np.prod(row)))
        return array._getvalue()

    def struct_opener(*structs: type) -> Callable[[Any], tuple[Any, ...]]:
        """Return a compiled function from a handle's key to its first structs, without copying or reference counting."""
        struct_types = [_StructType(struct) for struct in structs]

        @intrinsic
        def open_structs(typing_context, key):
            result = types.Tuple(struct_types)

            def generate(context, builder, signature, arguments):
                numbers = context.make_array(signature.args[0])(context, builder, arguments[0]).data
                starts = np.cumsum([0] + [struct.size for struct in struct_types])
                pointers = [builder.gep(numbers, [ir.Constant(ir.IntType(64), int(at))]) for at in starts[:-1]]
                opaque = [builder.bitcast(p, context.get_value_type(t)) for p, t in zip(pointers, struct_types, strict=True)]
                return context.make_tuple(builder, result, opaque)

            return result(key), generate

        @kernel
        def open_key(key):
            return open_structs(key)  # pyright: ignore[reportCallIssue]

        return open_key

    class _Compiling(event.Listener):
        """While an entry is compiled, once on a machine: report it in one line, and enable superword-level vectorization (SLP)."""

        def __init__(self, quiet: bool) -> None:
            self.quiet = quiet
            self.entry: Any = None
            self.started = 0.0
            self.before = 0

        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if self.entry is not None or dispatcher not in _ENTRIES:
                return
            self.entry, self.started = dispatcher, time.perf_counter()
            self.before, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1  # type: ignore[attr-defined]
            if not self.quiet:
                name = dispatcher.py_func.__name__.strip("_").replace("_", " ")
                print(f"brachiate: compiling {name} (once on this machine) ...", end="", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            if event.data["dispatcher"] is not self.entry:
                return
            self.entry = None
            numba.config.SLP_VECTORIZE = self.before  # type: ignore[attr-defined]
            if not self.quiet:
                print(f" {time.perf_counter() - self.started:.1f} s", file=sys.stderr, flush=True)

    event.register("numba:compile", _Compiling(quiet=os.environ.get("BRACHIATE_QUIET") == "1"))
