"""Compilation by Numba and LLVM. The only module that imports Numba.

Numba translates each function to LLVM's intermediate representation. Everything that an entry point calls is then linked into one
module, optimized once, and emitted as one object file, which needs nothing else (link-time optimization). Numba itself would optimize
and emit each inner function on its own, and again in each of its callers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as ll
import numba
import numpy as np
from llvmlite import ir
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_getattr_generic
from numba.core.registry import cpu_target
from numba.core.typing import templates as typing_templates
from numba.extending import intrinsic, models, overload, register_model
from numba.np.arrayobj import populate_array

from brachiate.compiled import marks
from brachiate.compiled.machine_code import target_machine
from brachiate.compiled.marks import ADDRESS_SIGNATURE, OPERATORS, Signature
from brachiate.compiled.mode import MODE
from brachiate.compiled.python_wrapper import PYTHON, add_python_wrapper
from brachiate.compiled.store import MachineCode
from brachiate.compiled.structs import array_fields

# No reordering or NaN assumptions: only multiply-add contraction, so results do not depend on how code was inlined.
_COMMON: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "boundscheck": MODE == "check",
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "_nrt": False,  # makes any allocation a compile error
}
_DISPATCHERS: list[Any] = []  # their types hold them weakly
_SCALARS = {"int64": types.int64, "float64": types.float64, "bool": types.boolean, "none": types.none}


def numba_type(name: str) -> Any:
    """Type of an argument, of its name in a signature."""
    if name in _SCALARS:
        return _SCALARS[name]
    dtype, _, axes = name.rstrip("]").partition("[")
    return types.Array(numba.from_dtype(np.dtype(dtype)), int(axes), "C")


def kernel_type(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Type of a kernel for type inference."""
    # Said also where it is false: Numba would pass it on from the function whose compilation asked for this one first.
    options = {**options, "forceinline": options.get("forceinline", False) and MODE == "fast"}  # unchecked code only: half the time
    dispatcher = numba.njit(**_COMMON, **options)(function)
    _DISPATCHERS.append(dispatcher)
    return types.Dispatcher(dispatcher)


# --- whole programs ---------------------------------------------------------------------------------


class _Library(JITCodeLibrary):
    """Intermediate representation of one function, and the libraries of those that it calls: neither optimized nor emitted here."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def link_callees(self) -> Any:
        """A module with the function and all that it calls."""
        self._ensure_finalized()
        module = self._final_module.clone()
        for library in reversed(list(self._callees({}))):  # callers first: linkonce functions are linked where they are referred to
            part = library._final_module.clone() if isinstance(library, _Library) else library._get_module_for_linking().clone()
            for function in part.functions:
                if not function.is_declaration and function.linkage == ll.Linkage.external:
                    function.linkage = "linkonce_odr"
            module.link_in(part)
        return module

    def _get_module_for_linking(self) -> Any:
        module = self.link_callees()
        for function in module.functions:
            if not function.is_declaration and function.linkage == ll.Linkage.external:
                function.linkage = "linkonce_odr"
        return module

    def _callees(self, found: dict[Any, None]) -> dict[Any, None]:
        for library in self._linking_libraries:
            if library not in found:
                if isinstance(library, _Library):
                    library._callees(found)
                found[library] = None
        return found


@contextlib.contextmanager
def _whole_program() -> Iterator[None]:
    """While Numba compiles, keep functions as intermediate representation."""
    context: Any = cpu_target.target_context
    codegen = context.codegen()
    before = codegen._library_class, context.get_executable
    codegen._library_class = _Library

    def get_executable(library: Any, fndesc: Any, env: Any) -> Any:
        return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname.split(".")[-1], "", 0, env, (library,))

    context.get_executable = get_executable
    try:
        yield
    finally:
        codegen._library_class = before[0]
        del context.get_executable


def compile_function(function: Callable[..., Any], signature: Signature) -> MachineCode:
    """Compile a function and all that it calls, for arguments of these types."""
    with global_compiler_lock, _whole_program():
        compiled = numba.njit(**_COMMON)(function)
        arguments = tuple(numba_type(name) for name in signature)
        compiled.compile(arguments)
        result = compiled.overloads[arguments]
        module = result.library.link_callees()
        wrapper = add_python_wrapper(module, function, signature, result)
        _check_symbols(module)
        machine = target_machine()
        _optimize(module, machine)
        return MachineCode(machine.emit_object(module), result.fndesc.llvm_func_name, wrapper)


def _check_symbols(module: Any) -> None:
    """Refuse functions that are neither defined nor those of LLVM, Python or the C library: they would be called at address 0."""
    for function in module.functions:
        known = function.name in PYTHON or function.name.startswith("llvm.") or ll.address_of_symbol(function.name)
        if function.is_declaration and not known:
            raise TypeError(f"{module.name} calls {function.name}, which is not compiled.")


def _optimize(module: Any, machine: Any) -> None:
    """Numba's two rounds of passes: inlining and cleaning up, then all, with superword-level vectorization (SLP)."""
    builder = ll.create_pass_builder(machine, ll.create_pipeline_tuning_options(speed_level=0))
    passes = builder.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    passes.run(module, builder)
    options = ll.create_pipeline_tuning_options(speed_level=3 if MODE == "fast" else 1)
    options.loop_vectorization = options.slp_vectorization = MODE == "fast"
    builder = ll.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()


# --- primitives -------------------------------------------------------------------------------------

_KEY = types.int64[::1]
_ADDRESS_TYPES = tuple(numba_type(name) for name in ADDRESS_SIGNATURE)


def address_caller() -> Any:
    """Type of a function that calls another one, whose address is in a cell of memory (``AddressCell``)."""

    @intrinsic
    def call(typing_context, address, key, other_key, x, n):
        def generate(context, builder, signature, arguments):
            convention = context.call_conv
            function_type = convention.get_function_type(types.int64, _ADDRESS_TYPES)
            function = builder.load(builder.inttoptr(arguments[0], function_type.as_pointer().as_pointer()))
            status, result = convention.call_function(builder, function, types.int64, _ADDRESS_TYPES, arguments[1:])
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return types.int64(types.int64, *_ADDRESS_TYPES), generate

    def call_address(address, key, other_key, x, n):
        return call(address, key, other_key, x, n)  # pyright: ignore[reportCallIssue]

    return kernel_type(call_address, {"forceinline": True})


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


def opener(*structs: type) -> Any:
    """Type of a function from a handle's key to its first structs."""
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

    def open_key(key):
        return open_structs(key)  # pyright: ignore[reportCallIssue]

    return kernel_type(open_key, {"forceinline": True})


# --- operators of value classes ---------------------------------------------------------------------


def _register_operators(cls: type) -> None:
    def is_mine(t: Any) -> bool:
        return isinstance(t, types.BaseNamedTuple) and t.instance_class is cls  # type: ignore[attr-defined]

    for name, symbol in OPERATORS.items():
        if name in cls.__dict__:
            overload(symbol, strict=False, jit_options={"forceinline": True})(_overload(name, cls.__dict__[name], is_mine))


def _overload(name: str, method: Callable[..., Any], is_mine: Callable[[Any], bool]) -> Callable[..., Any]:
    if name == "__rmul__":
        reversed_method = marks.kernel(method)

        def scaled(s, a):
            return (lambda s, a: reversed_method(a, s)) if isinstance(s, (types.Float, types.Integer)) and is_mine(a) else None

        return scaled

    def unary(a):
        return method if is_mine(a) else None

    def binary(a, b):
        # The right side of @ may be of another class (inertia @ motion); of + and - it is of the same class.
        return method if is_mine(a) and (is_mine(b) or name == "__matmul__") else None

    return unary if name == "__neg__" else binary


for _cls in marks.VALUE_CLASSES:
    _register_operators(_cls)
marks.register_operators.append(_register_operators)
