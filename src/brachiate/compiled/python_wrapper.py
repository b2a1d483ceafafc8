"""Functions of the C interface of Python around compiled functions, in LLVM's intermediate representation.

A wrapper checks and unpacks the arguments (``METH_FASTCALL``), releases the interpreter lock, calls the function and packs the result. The
addresses of arrays are read from the head of NumPy's array objects, whose layout is part of its binary interface
(``PyArrayObject_fields``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as ll
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target
from numba.np.arrayobj import populate_array

from brachiate.compiled.array_layout import AXES, BYTE_ORDER, C_CONTIGUOUS, DATA, DIMENSIONS, FLAGS, ITEM_TYPE, TYPE, TYPE_NUMBER
from brachiate.compiled.marks import Signature

I8, I32, I64, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
POINTER = I8.as_pointer()
#: Python objects whose addresses wrappers need, and their symbols, which are defined where code is loaded. Not Python's own symbols:
#: Numba redefines some of them (``PyExc_TypeError``) in its process.
OBJECTS = {name: f"brachiate_{name}" for name in ("ndarray", "None", "TypeError", "raise_failure")}
#: Functions of Python that wrappers call: result, arguments.
PYTHON: dict[str, tuple[Any, list[Any]]] = {
    "PyLong_AsLongLong": (I64, [POINTER]),
    "PyLong_FromLongLong": (POINTER, [I64]),
    "PyFloat_AsDouble": (F64, [POINTER]),
    "PyFloat_FromDouble": (POINTER, [F64]),
    "PyBool_FromLong": (POINTER, [I64]),
    "PyObject_IsTrue": (I32, [POINTER]),
    "PyErr_Occurred": (POINTER, []),
    "PyErr_SetString": (ir.VoidType(), [POINTER, POINTER]),
    "PyEval_SaveThread": (POINTER, []),
    "PyEval_RestoreThread": (ir.VoidType(), [POINTER]),
    "PyObject_CallNoArgs": (POINTER, [POINTER]),
    "Py_IncRef": (ir.VoidType(), [POINTER]),
}


def add_python_wrapper(module: Any, function: Callable[..., Any], signature: Signature, result: Any) -> str:
    """Link the wrapper of a compiled function (Numba's ``result``) into its module. Returns the wrapper's name."""
    wrapper = _Wrapper(function, signature, result)
    part = ll.parse_assembly(str(wrapper.build()))
    part.verify()
    module.link_in(part)
    return wrapper.name


class _Wrapper:
    """Builder of one wrapper."""

    def __init__(self, function: Callable[..., Any], signature: Signature, result: Any) -> None:
        self.context: Any = cpu_target.target_context
        self.signature, self.result = signature, result
        self.title = function.__name__.strip("_")
        self.argument_names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.name = f"python.{function.__module__}.{function.__qualname__}"
        self.module = self.context.codegen()._create_empty_module(self.name)
        self.texts = 0

    def build(self) -> ir.Module:
        function = ir.Function(self.module, ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), I64]), self.name)
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        _, arguments, count = function.args
        expected = len(self.signature)
        wrong_count = self.builder.icmp_unsigned("!=", count, ir.Constant(I64, expected))
        self._fail_if(wrong_count, "TypeError", f"{self.title} takes {expected} arguments: {', '.join(self.argument_names)}")
        values = [self._unpack(n, self.builder.load(self.builder.gep(arguments, [ir.Constant(I64, n)]))) for n in range(expected)]
        self._return(self._call_function(values))
        return self.module

    # --- arguments ----------------------------------------------------------------------------------

    def _unpack(self, n: int, value: Any) -> Any:
        kind = self.signature[n]
        if kind == "int64":
            return self._number(value, "PyLong_AsLongLong", ir.Constant(I64, -1))
        if kind == "float64":
            return self._number(value, "PyFloat_AsDouble", ir.Constant(F64, -1.0))
        if kind == "bool":
            truth = self._python("PyObject_IsTrue", value)
            self._fail_if(self.builder.icmp_signed("<", truth, ir.Constant(I32, 0)))
            return self.builder.trunc(truth, ir.IntType(1))
        if kind == "none":
            is_none = self.builder.icmp_unsigned("==", value, self._object("None"))
            self._fail_if(self.builder.not_(is_none), "TypeError", f"{self.title}: {self.argument_names[n]} must be None")
            return self.context.get_dummy_value()
        return self._array(n, value)

    def _number(self, value: Any, convert: str, on_error: Any) -> Any:
        """Convert a number; the result -1 may mean that it is none."""
        builder, number = self.builder, self._python(convert, value)
        is_error = builder.icmp_signed if number.type == I64 else builder.fcmp_ordered
        with builder.if_then(is_error("==", number, on_error), likely=False):
            self._fail_if(builder.icmp_unsigned("!=", self._python("PyErr_Occurred"), POINTER(None)))
        return number

    def _array(self, n: int, value: Any) -> Any:
        builder = self.builder
        dtype, _, axes = self.signature[n].rstrip("]").partition("[")
        message = f"{self.title}: {self.argument_names[n]} must be a C-contiguous {dtype} array with {axes} axes"
        is_array = builder.icmp_unsigned("==", self._field(value, TYPE, POINTER), self._object("ndarray"))
        self._fail_if(builder.not_(is_array), "TypeError", message)
        fits = self._has_items(self._field(value, ITEM_TYPE, POINTER), np.dtype(dtype))
        fits = builder.and_(fits, builder.icmp_signed("==", self._field(value, AXES, I32), ir.Constant(I32, int(axes))))
        contiguous = builder.and_(self._field(value, FLAGS, I32), ir.Constant(I32, C_CONTIGUOUS))
        fits = builder.and_(fits, builder.icmp_signed("!=", contiguous, ir.Constant(I32, 0)))
        self._fail_if(builder.not_(fits), "TypeError", message)
        return self._array_value(self.result.signature.args[n], value)

    def _has_items(self, item_type: Any, dtype: np.dtype[Any]) -> Any:
        """Whether items are of a type: of any C type with its size, in native byte order."""
        builder = self.builder
        number = self._field(item_type, TYPE_NUMBER, I32)
        same = ir.Constant(ir.IntType(1), 0)
        for code in "?lqfd":
            if np.dtype(code) == dtype:
                same = builder.or_(same, builder.icmp_signed("==", number, ir.Constant(I32, np.dtype(code).num)))
        order = ir.Constant(I8, ord(dtype.byteorder))
        return builder.and_(same, builder.icmp_signed("==", self._field(item_type, BYTE_ORDER, I8), order))

    def _array_value(self, array_type: Any, value: Any) -> Any:
        """Numba's array. Strides follow from the shape, as arrays are contiguous."""
        builder, context = self.builder, self.context
        extents = self._field(value, DIMENSIONS, I64.as_pointer())
        shape = [builder.load(builder.gep(extents, [ir.Constant(I64, axis)])) for axis in range(array_type.ndim)]
        item = ir.Constant(I64, array_type.dtype.bitwidth // 8)
        strides, size = [], item
        for extent in reversed(shape):
            strides.insert(0, size)
            size = builder.mul(size, extent)
        array = context.make_array(array_type)(context, builder)
        pointer = builder.bitcast(self._field(value, DATA, POINTER), context.get_data_type(array_type.dtype).as_pointer())
        populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=item, meminfo=None)
        array.nitems = builder.udiv(size, item)
        return array._getvalue()

    def _field(self, value: Any, offset: int, kind: Any) -> Any:
        place = self.builder.gep(value, [ir.Constant(I64, offset)])
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()))

    # --- call and result ----------------------------------------------------------------------------

    def _call_function(self, values: list[Any]) -> Any:
        convention, descriptor = self.context.call_conv, self.result.fndesc
        function_type = convention.get_function_type(descriptor.restype, descriptor.argtypes)
        function = ir.Function(self.module, function_type, descriptor.llvm_func_name)
        thread = self._python("PyEval_SaveThread")
        status, returned = convention.call_function(
            self.builder, function, descriptor.restype, descriptor.argtypes, values, attrs=("noinline",)
        )
        self._python("PyEval_RestoreThread", thread)
        with self.builder.if_then(status.is_error, likely=False):
            self.builder.ret(self._python("PyObject_CallNoArgs", self._object("raise_failure")))
        return returned

    def _return(self, value: Any) -> None:
        self.builder.ret(self._pack(self.result.fndesc.restype, value))

    def _pack(self, kind: Any, value: Any) -> Any:
        builder = self.builder
        if isinstance(kind, types.NoneType):
            none = self._object("None")
            self._python("Py_IncRef", none)
            return none
        if isinstance(kind, types.Boolean):
            return self._python("PyBool_FromLong", builder.zext(value, I64))
        if isinstance(kind, types.Integer):
            wide = value if value.type == I64 else builder.sext(value, I64)
            return self._python("PyLong_FromLongLong", wide)
        if isinstance(kind, types.Float):
            return self._python("PyFloat_FromDouble", value)
        raise TypeError(f"{self.title} returns {kind}; entries return a number, a truth value or nothing.")

    # --- Python -------------------------------------------------------------------------------------

    def _python(self, name: str, *arguments: Any) -> Any:
        if name not in self.module.globals:
            result, kinds = PYTHON[name]
            ir.Function(self.module, ir.FunctionType(result, kinds), name)
        return self.builder.call(self.module.globals[name], arguments)

    def _object(self, name: str) -> Any:
        """Address of a Python object, one of :data:`OBJECTS`."""
        name = OBJECTS[name]
        if name not in self.module.globals:
            ir.GlobalVariable(self.module, I8, name)
        return self.module.globals[name]

    def _fail_if(self, condition: Any, error: str = "", message: str = "") -> None:
        """Return NULL, the error set here or already set."""
        with self.builder.if_then(condition, likely=False):
            if error:
                self._python("PyErr_SetString", self._object(error), self._text(message))
            self.builder.ret(POINTER(None))

    def _text(self, text: str) -> Any:
        data = bytearray(text.encode() + b"\0")
        constant = ir.Constant(ir.ArrayType(I8, len(data)), data)
        variable: Any = ir.GlobalVariable(self.module, constant.type, f"{self.name}.text{self.texts}")
        variable.initializer, variable.global_constant, variable.linkage = constant, True, "internal"
        self.texts += 1
        return self.builder.bitcast(variable, POINTER)
