"""The only file that knows how Python becomes machine code.

Numerical code in this package is plain Python over NumPy arrays, marked

- ``@kernel``: an inner function. Compiled code inlines it; it may not allocate.
- ``@entry``:  a door from Python into compiled code.
- ``@far``: a large piece that several doors call by its address (:func:`call_at`): compiled once, not once in each door.
- ``@operators``: a NamedTuple value class whose operators (``a + b``, ``R @ v``) work in both.

Arrays reach kernels in *rooms*: NamedTuples of arrays (``Tree``, ``Work``). Passing a NamedTuple of eighty arrays into
compiled code takes longer than a dynamics step, so an entry receives a :class:`Handle`'s ``key`` instead: one small
integer array of addresses and shapes, opened inside by :func:`opener`.

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


class Field(NamedTuple):
    """What kind of array a room's field is: its items, and the shape of one row, which compiled code takes as given."""

    dtype: str
    row: tuple[int, ...] = ()

    @property
    def ndim(self) -> int:
        """Number of axes: the rows, and those of one row."""
        return 1 + len(self.row)


Ints = Annotated[NDArray[np.int64], Field("int64")]
Floats = Annotated[NDArray[np.float64], Field("float64")]
Rows3 = Annotated[NDArray[np.float64], Field("float64", (3,))]
Rows6 = Annotated[NDArray[np.float64], Field("float64", (6,))]
Rows10 = Annotated[NDArray[np.float64], Field("float64", (10,))]
Rows21 = Annotated[NDArray[np.float64], Field("float64", (21,))]
Rows33 = Annotated[NDArray[np.float64], Field("float64", (3, 3))]
Rows82 = Annotated[NDArray[np.float64], Field("float64", (8, 2))]
IntRows2 = Annotated[NDArray[np.int64], Field("int64", (2,))]


@functools.cache
def fields_of(room: type) -> dict[str, Field]:
    """Field kinds of a room class, from its annotations, in order."""
    hints = get_type_hints(room, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in room._fields}  # type: ignore[attr-defined]


class Handle:
    """Rooms of arrays, and the key by which compiled code finds them.

    The key holds addresses, so the handle keeps the arrays alive and never replaces one. Whoever holds a key must hold
    its handle.
    """

    __slots__ = ("key", "rooms")

    def __init__(self, *rooms: NamedTuple) -> None:
        self.rooms = rooms
        numbers: list[int] = []
        for room in rooms:
            for (name, field), array in zip(fields_of(type(room)).items(), room, strict=True):
                right = (
                    isinstance(array, np.ndarray)
                    and array.dtype == field.dtype
                    and array.ndim == field.ndim
                    and array.shape[1:] == field.row
                    and array.flags.c_contiguous
                )
                if not right:
                    raise TypeError(f"{type(room).__name__}.{name} must be a C-contiguous {field.dtype} array of shape (n, *{field.row})")
                numbers += [array.ctypes.data, len(array)]
        #: What entries take as their first argument.
        self.key: Any = rooms if MODE == "off" else np.array(numbers, np.int64)

    def __reduce__(self) -> Any:
        """Copy and pickle the rooms; a copy's arrays are elsewhere, so it gets a key of its own."""
        return Handle, self.rooms


# Folders of this package that no compiled code is in, or takes anything from: editing them compiles nothing anew.
WITHOUT_KERNELS = (
    "anatomy", "cli", "clip", "evaluation", "figures", "io", "motion", "procedural", "retargeting", "scenes", "show", "world",
    "__init__.py", "assumptions.py", "deprecation.py", "intervals.py", "kinematics_batch.py", "progress.py", "rotations.py",
    "validation.py",
)  # fmt: skip
# Folders from which compiled code is taken by nobody but those after them: editing one compiles only it and those anew.
ON_TOP = ("contact_estimation", "centroidal", "filter")


def source_hash(part: str = "") -> str:
    """Hash of every source file that compiled code of a folder may come from: numba does not notice an edited callee in another file."""
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
    """The folder of all those."""
    base = os.environ.get("BRACHIATE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brachiate"


def cache_folder(part: str = "") -> Path:
    """Where compiled code of a folder is kept between runs: one place for each version of the sources and each mode."""
    return cache_root() / f"{source_hash(part)}-{MODE}"


def prune_cache(keep_days: float = 30.0) -> int:
    """Remove folders of other source versions that nothing has touched for a while. Returns how many."""
    mine = {cache_folder(part) for part in ("", *ON_TOP)}
    removed = 0
    if not cache_root().is_dir():
        return 0
    for folder in cache_root().iterdir():
        ours = folder.is_dir() and folder.name.endswith(tuple(f"-{mode}" for mode in MODES))
        if ours and folder not in mine and time.time() - folder.stat().st_mtime > keep_days * 86400:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


if MODE == "off":

    def kernel(function: F) -> F:  # type: ignore[reportRedeclaration]
        """Leave the function as it is: compiled code is switched off."""
        return function

    outlined = kernel

    _FUNCTIONS: list[Callable[..., int]] = []

    class far:  # type: ignore[reportRedeclaration]  # noqa: N801
        """A function whose address is its number; 0 is nobody's."""

        def __init__(self, function: Callable[..., int]) -> None:
            _FUNCTIONS.append(np.errstate(all="ignore")(function))
            self.address = len(_FUNCTIONS)

    def call_at(address: int, key: Any, held: Any, x: float, n: int) -> int:  # type: ignore[reportRedeclaration]
        """Call a :class:`far` function by its address."""
        return _FUNCTIONS[address - 1](key, held, x, n)

    def entry(function: F) -> F:  # type: ignore[reportRedeclaration]
        """Let arithmetic run on quietly past overflow and division by zero, as compiled code does."""
        return cast(F, np.errstate(all="ignore")(function))

    def index(i: int) -> int:  # type: ignore[reportRedeclaration]
        """Return the index as it is."""
        return i

    def operators(cls: C) -> C:  # type: ignore[reportRedeclaration]
        """Let NumPy scalars defer to the class's own operators."""
        cls.__array_ufunc__ = None
        return cls

    def opener(*rooms: type) -> Callable[[Any], tuple[Any, ...]]:
        """Return a function that turns a handle's key into its first rooms: here the key is the rooms."""
        return lambda key: key[: len(rooms)]

else:
    import numba
    from llvmlite import ir
    from numba.core import cgutils, event, types
    from numba.core.imputils import lower_getattr_generic
    from numba.core.registry import CPUDispatcher
    from numba.core.typing import templates as typing_templates
    from numba.extending import intrinsic, models, overload, register_model
    from numba.np.arrayobj import populate_array

    def _keeps(folder: Path) -> bool:
        """Whether compiled code can be kept there. Numba would fall back to a place that knows neither sources nor mode."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return True
        except OSError:
            print(f"brachiate: {folder} cannot be written, so everything is compiled anew in every run.", file=sys.stderr)
            return False

    @functools.cache
    def _cache_of(part: str) -> str:
        return str(cache_folder(part))

    # No NaN or reordering games: only multiply-add contraction, so results do not depend on how code was inlined.
    _COMMON: dict[str, Any] = {
        "cache": _keeps(cache_folder()),
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
        numba.config.CACHE_DIR = _cache_of(part if part in ON_TOP else "")  # type: ignore[attr-defined]
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before  # type: ignore[attr-defined]

    def _compile(function: F, **options: Any) -> F:
        settings: Any = {**_COMMON, **options}
        with _our_cache(function.__module__):
            try:
                return cast(F, numba.njit(**settings)(function))
            except RuntimeError:  # no file that it comes from: typed at a prompt
                settings["cache"] = False
                return cast(F, numba.njit(**settings)(function))

    class _Kernel(CPUDispatcher):
        """A kernel has no door of its own: called from Python, it runs as Python."""

        def __call__(self, *arguments: Any) -> Any:
            return self.py_func(*arguments)

    def kernel(function: F) -> F:
        """Mark an inner function: inlined into compiled callers, no allocation, not called from Python when hot."""
        compiled = _compile(function, forceinline=True, no_cpython_wrapper=True)
        compiled.__class__ = _Kernel
        return compiled

    def outlined(function: F) -> F:
        """Mark a kernel that stays a function of its own: large, called from several places, compiled once."""
        return _compile(function)

    def entry(function: F) -> F:
        """Mark a door from Python into compiled code. Its first argument is usually a handle's key."""
        compiled = _compile(function)
        _ENTRIES.append(compiled)
        return compiled

    _KEY = types.int64[::1]
    _FAR = (_KEY, _KEY, types.float64, types.int64)

    class far:  # noqa: N801
        """Mark a function ``(key, held, x: float, n: int) -> int`` that others call by its address.

        Compiled code that calls another function swallows it whole and is optimized with it, each caller anew: seconds, for
        a large one. Called by address it is compiled once. Addresses differ from run to run, so they are handed in as data.
        """

        def __init__(self, function: Callable[..., int]) -> None:
            self._compiled: Any = _compile(function)
            _ENTRIES.append(self._compiled)

        @functools.cached_property
        def address(self) -> int:
            """Where the machine code is; it is compiled when first asked for."""
            self._compiled.compile(_FAR)
            result = self._compiled.overloads[_FAR]
            return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

    @intrinsic
    def _call_at(typing_context, address, key, held, x, n):
        def generate(context, builder, signature, arguments):
            convention = context.call_conv
            function_type = convention.get_function_type(types.int64, _FAR)
            function = builder.inttoptr(arguments[0], function_type.as_pointer())
            status, result = convention.call_function(builder, function, types.int64, _FAR, arguments[1:])
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return types.int64(types.int64, *_FAR), generate

    @kernel
    def call_at(address, key, held, x, n):
        """Call a :class:`far` function by its address."""
        return _call_at(address, key, held, x, n)  # pyright: ignore[reportCallIssue]

    @kernel
    def index(i):
        """Say that an index is not negative: it is not counted from the end, so runs of places stay runs."""
        return np.uint64(i)

    _ENTRIES: list[Any] = []
    _OPERATORS = {
        "__add__": operator.add,
        "__sub__": operator.sub,
        "__neg__": operator.neg,
        "__matmul__": operator.matmul,
        "__rmul__": operator.mul,
    }

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
            # The right side of @ may be another class (inertia @ motion); of + and - it is the same class.
            return method if is_mine(a) and (is_mine(b) or name == "__matmul__") else None

        return unary if name == "__neg__" else binary

    class _Room(types.Type):
        """Compiled code's view of a room: a pointer into a handle's key, from which fields are read where used.

        A NamedTuple would do, but every kernel would then take some four hundred loose values: minutes of compilation.
        """

        def __init__(self, room: type) -> None:
            self.places: dict[str, tuple[int, tuple[int, ...], Any]] = {}
            for n, (name, field) in enumerate(fields_of(room).items()):
                self.places[name] = 2 * n, field.row, types.Array(getattr(types, field.dtype), field.ndim, "C")
            self.size = 2 * len(self.places)
            super().__init__(name=f"room({room.__module__}.{room.__name__})")

    @register_model(_Room)
    class _RoomModel(models.OpaqueModel):  # type: ignore[misc]
        pass

    @typing_templates.infer_getattr
    class _RoomAttributes(typing_templates.AttributeTemplate):
        key = _Room

        def generic_resolve(self, room: _Room, name: str) -> Any:
            return room.places[name][2] if name in room.places else None

    @lower_getattr_generic(_Room)
    def _lower_field(context, builder, room, value, name):
        """Build the array from its address and shape. The key never changes, so its loads may be kept."""
        at, row, array_type = room.places[name]
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

    def opener(*rooms: type) -> Callable[[Any], tuple[Any, ...]]:
        """Return a compiled function that turns a handle's key into its first rooms, without copying or counting."""
        room_types = [_Room(room) for room in rooms]

        @intrinsic
        def open_rooms(typing_context, key):
            result = types.Tuple(room_types)

            def generate(context, builder, signature, arguments):
                numbers = context.make_array(signature.args[0])(context, builder, arguments[0]).data
                starts = np.cumsum([0] + [room.size for room in room_types])
                pointers = [builder.gep(numbers, [ir.Constant(ir.IntType(64), int(at))]) for at in starts[:-1]]
                opaque = [builder.bitcast(p, context.get_value_type(t)) for p, t in zip(pointers, room_types, strict=True)]
                return context.make_tuple(builder, result, opaque)

            return result(key), generate

        @kernel
        def open_key(key):
            return open_rooms(key)  # pyright: ignore[reportCallIssue]

        return open_key

    class _Compiling(event.Listener):
        """While a door is compiled, once on a machine: say so in one line, and let runs of scalars become vectors."""

        def __init__(self, quiet: bool) -> None:
            self.quiet = quiet
            self.door: Any = None
            self.started = 0.0
            self.before = 0

        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if self.door is not None or dispatcher not in _ENTRIES:
                return
            self.door, self.started = dispatcher, time.perf_counter()
            self.before, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1  # type: ignore[attr-defined]
            if not self.quiet:
                words = dispatcher.py_func.__name__.strip("_").replace("_", " ")
                print(f"brachiate: compiling {words} (once on this machine) ...", end="", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            if event.data["dispatcher"] is not self.door:
                return
            self.door = None
            numba.config.SLP_VECTORIZE = self.before  # type: ignore[attr-defined]
            if not self.quiet:
                print(f" {time.perf_counter() - self.started:.1f} s", file=sys.stderr, flush=True)

    event.register("numba:compile", _Compiling(quiet=os.environ.get("BRACHIATE_QUIET") == "1"))
