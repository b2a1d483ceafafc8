"""Functions of the motion of a world as expressions: scalars and vectors made of kinematic quantities by arithmetic.

An expression is a value of its own, without a world: names are resolved when an :class:`~brachiate.animation.space.AnimationSpace` is made.
Equal expressions are one node of its program (:mod:`brachiate.functions.program`).
"""

from __future__ import annotations

import linecache
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions import operations

_PACKAGE = str(Path(__file__).parent)


class Source(NamedTuple):
    """A kinematic quantity of a world that expressions are made of; see :data:`KINDS`."""

    kind: str
    name: str = ""  # link, joint, figure (empty: all figures)
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)  # point or axis in the link
    signal: Any = None  # of time

    def __str__(self) -> str:
        """Return the quantity in words."""
        return f"{self.kind} of {self.name or 'all figures'!r}" if self.kind not in ("time", "signal") else self.kind


class KindOfSource(NamedTuple):
    """How many numbers a source has, and what it depends on: 0 configurations, 1 velocities, 2 accelerations."""

    size: int
    depends_on: int


KINDS = {
    "joint": KindOfSource(1, 0),
    "position": KindOfSource(3, 0),
    "axis": KindOfSource(3, 0),
    "center of mass": KindOfSource(3, 0),
    "quaternion scalar": KindOfSource(1, 0),
    "quaternion vector": KindOfSource(3, 0),
    "signal": KindOfSource(1, 0),
    "joint rate": KindOfSource(1, 1),
    "velocity": KindOfSource(3, 1),
    "angular velocity": KindOfSource(3, 1),
    "momentum": KindOfSource(3, 1),
    "angular momentum": KindOfSource(3, 1),
    "kinetic energy": KindOfSource(1, 1),
    "momentum rate": KindOfSource(3, 2),
    "angular momentum rate": KindOfSource(3, 2),
}


class Expression:
    """A scalar function of the motion. ``+ - * / **`` and the functions of :mod:`brachiate.animation` make new ones.

    Attributes:
        op: Operation, or CONSTANT, COMPONENT of a source, or DEFERRED: made when the world is known.
        arguments: Expressions it is made of.
        number: Value of a constant; exponent of a power; component of a source.
        source: Source of a component; function of the world that makes a deferred one.
        line: File and line where it was written, for messages.
        value: Its value where it is known: of constants, and in functions that are run as Python (:func:`untraced`).
        vector: The vector whose norm it is, if it is one: where that vanishes, the norm has no derivative, but its vector has.
    """

    __slots__ = ("arguments", "line", "number", "op", "source", "value", "vector")

    def __init__(
        self,
        op: int,
        arguments: tuple[Expression, ...] = (),
        number: float = 0.0,
        source: Any = None,
        vector: Vector | None = None,
        value: float | None = None,
    ) -> None:
        self.op, self.arguments, self.number, self.source, self.vector = op, arguments, number, source, vector
        self.line = user_line() if op >= 0 else None
        self.value = number if op == CONSTANT else value
        if op >= 0 and all(argument.value is not None for argument in arguments):
            self.value = _value(op, arguments, number)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Functions of NumPy of expressions: ``np.sin(x)``, and arithmetic with NumPy's numbers."""
        if method != "__call__" or options or ufunc.__name__ not in _UFUNCS:
            return NotImplemented
        return _UFUNCS[ufunc.__name__](*inputs)

    def __add__(self, other: Any) -> Expression:
        """Return the sum."""
        return binary(operations.ADD, self, other)

    def __radd__(self, other: Any) -> Expression:
        return binary(operations.ADD, other, self)

    def __sub__(self, other: Any) -> Expression:
        """Return the difference."""
        return binary(operations.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Expression:
        return binary(operations.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Any:
        """Return the product; with a vector, the scaled vector."""
        return other * self if isinstance(other, Vector) else binary(operations.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Expression:
        return binary(operations.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Expression:
        """Return the quotient."""
        return binary(operations.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return binary(operations.DIVIDE, other, self)

    def __neg__(self) -> Expression:
        """Return the negative."""
        return unary(operations.NEGATE, self)

    def __pos__(self) -> Expression:
        """Return the expression itself."""
        return self

    def __abs__(self) -> Expression:
        """Return the absolute value."""
        return unary(operations.ABS, self)

    def __pow__(self, exponent: Any) -> Expression:
        """Return a power: by a number, or of a positive base by another expression."""
        if isinstance(exponent, Expression) and exponent.op != CONSTANT:
            return unary(operations.EXP, exponent * unary(operations.LOG, self))
        n = exponent.number if isinstance(exponent, Expression) else validation.number(exponent, "exponent")
        if self.op == CONSTANT:
            return _folded(operations.POWER, self, n=n)
        return self if n == 1.0 else Expression(operations.POWER, (self,), n)

    def __rpow__(self, base: Any) -> Expression:
        return expression(base) ** self

    # Branches and comparisons would be frozen into a traced function, so they are refused where values are not known.

    def __bool__(self) -> bool:
        """Whether the value is not zero, in functions that are run as Python."""
        return _known(self, "a branch") != 0.0

    def __lt__(self, other: Any) -> bool:
        """Compare values, in functions that are run as Python."""
        return _known(self - other, "a comparison") < 0.0

    def __gt__(self, other: Any) -> bool:
        return _known(self - other, "a comparison") > 0.0

    def __le__(self, other: Any) -> bool:
        return _known(self - other, "a comparison") <= 0.0

    def __ge__(self, other: Any) -> bool:
        return _known(self - other, "a comparison") >= 0.0

    def __float__(self) -> float:
        """Refuse: what is computed from a number, such as by ``math.sin``, has no derivative here."""
        raise _untraceable("a conversion to a number")

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        """Return the formula."""
        return formula(self)


CONSTANT, COMPONENT, DEFERRED = -1, -2, -3


class Vector:
    """A vector function of the motion: three expressions."""

    __array_ufunc__ = None  # NumPy's numbers and arrays defer to the operators here
    __slots__ = ("x", "y", "z")

    def __init__(self, x: Any, y: Any, z: Any) -> None:
        self.x, self.y, self.z = expression(x), expression(y), expression(z)

    def __iter__(self) -> Iterator[Expression]:
        """Iterate over the components."""
        return iter((self.x, self.y, self.z))

    def __len__(self) -> int:
        """Return 3."""
        return 3

    def __getitem__(self, component: int | str) -> Expression:
        """Return a component by number or by letter."""
        if component in ("x", "y", "z"):
            return getattr(self, str(component))
        if isinstance(component, (int, np.integer)) and -3 <= component < 3:
            return (self.x, self.y, self.z)[component]
        raise ArgumentError(f"A vector has the components 0, 1, 2 or 'x', 'y', 'z', not {component!r}.")

    def __add__(self, other: Any) -> Vector:
        """Return the sum."""
        return Vector(*(a + b for a, b in zip(self, vector(other), strict=True)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Vector:
        """Return the difference."""
        return Vector(*(a - b for a, b in zip(self, vector(other), strict=True)))

    def __rsub__(self, other: Any) -> Vector:
        return vector(other) - self

    def __mul__(self, scale: Any) -> Vector:
        """Return the vector scaled by a number or a scalar expression."""
        if isinstance(scale, Vector):
            raise ArgumentError("Two vectors have no product *: write an.dot(a, b) or an.cross(a, b).")
        return Vector(*(a * scale for a in self))

    __rmul__ = __mul__

    def __truediv__(self, scale: Any) -> Vector:
        """Return the vector divided by a number or a scalar expression."""
        return Vector(*(a / scale for a in self))

    def __neg__(self) -> Vector:
        """Return the negative."""
        return Vector(*(-a for a in self))

    def __matmul__(self, other: Any) -> Expression:
        """Return the dot product."""
        return dot(self, other)

    def __bool__(self) -> bool:
        """Refuse, as scalars do."""
        raise _untraceable("a branch")

    def __repr__(self) -> str:
        """Return the formulas of the components."""
        return f"({self.x!r}, {self.y!r}, {self.z!r})"


class UntraceableError(ArgumentError):
    """Function that does something with a value that cannot be recorded: a branch, a comparison, a conversion to a number."""


def _untraceable(what: str) -> UntraceableError:
    return UntraceableError(
        f"{place(user_line())}: {what} of a value cannot be traced. Use an.maximum, an.minimum, abs or an.smooth_maximum, the functions of "
        "brachiate.animation instead of those of math, or an.untraced(function), which runs the function as Python at every evaluation."
    )


def _known(node: Expression, what: str) -> float:
    if node.value is None:
        raise _untraceable(what)
    return node.value


def user_line() -> tuple[str, int]:
    """File and line of the innermost call outside this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def place(line: tuple[str, int] | None) -> str:
    """File, line and its text, for a message."""
    if line is None:
        return "a function"
    text = linecache.getline(*line).strip()
    return f"{Path(line[0]).name}:{line[1]}" + (f" ({text})" if text else "")


# --- making expressions -----------------------------------------------------------------------------


def constant(value: float) -> Expression:
    """Return a constant."""
    return Expression(CONSTANT, number=float(value))


def expression(value: Any) -> Expression:
    """Return a scalar expression from one, or from a number."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Vector):
        raise ArgumentError("Expected a scalar, got a vector: take a component such as .z, or an.norm(...).")
    return constant(validation.number(value, "constant of a function"))


def vector(value: Any) -> Vector:
    """Return a vector from one, or from three numbers or scalars."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) == 3:
        return Vector(*value)
    raise ArgumentError(f"Expected a vector, or three numbers, got {validation.short_repr(value)}.")


def components(source: Source) -> tuple[Expression, ...]:
    """Return the components of a source, with their values while a function is run as Python."""
    known = _source_values.get()
    values = [None] * KINDS[source.kind].size if known is None else np.atleast_1d(known[1](source)).tolist()
    return tuple(Expression(COMPONENT, number=float(c), source=source, value=value) for c, value in enumerate(values))


def deferred(make: Callable[[Any], Expression]) -> Expression:
    """Return an expression that is made when the world is known: from ``make(world)``."""
    known = _source_values.get()
    return Expression(DEFERRED, source=make) if known is None else make(known[0])


_source_values: ContextVar[tuple[Any, Callable[[Source], Any]] | None] = ContextVar("source_values", default=None)


def values_known() -> bool:
    """Whether a function is run as Python."""
    return _source_values.get() is not None


@contextmanager
def known_values(world: Any, values: Callable[[Source], Any]) -> Iterator[None]:
    """Let sources have values of a world, so that functions may branch on them."""
    token = _source_values.set((world, values))
    try:
        yield
    finally:
        _source_values.reset(token)


def unary(op: int, a: Any) -> Expression:
    """Return an operation of one argument, evaluated if that is a constant."""
    a = expression(a)
    return _folded(op, a) if a.op == CONSTANT else Expression(op, (a,))


def binary(op: int, a: Any, b: Any) -> Any:
    """Return an operation of two arguments, simplified if they are constants."""
    if isinstance(a, Vector) or isinstance(b, Vector):
        return NotImplemented
    a, b = expression(a), expression(b)
    known_a, known_b = a.op == CONSTANT, b.op == CONSTANT
    if known_a and known_b:
        return _folded(op, a, b)
    if known_b and (
        (b.number == 0.0 and op in (operations.ADD, operations.SUBTRACT))
        or (b.number == 1.0 and op in (operations.MULTIPLY, operations.DIVIDE))
    ):
        return a
    if known_a and ((a.number == 0.0 and op == operations.ADD) or (a.number == 1.0 and op == operations.MULTIPLY)):
        return b
    if (known_a and a.number == 0.0 and op in (operations.MULTIPLY, operations.DIVIDE)) or (
        known_b and b.number == 0.0 and op == operations.MULTIPLY
    ):
        return constant(0.0)
    return Expression(op, (a, b))


def _folded(op: int, a: Expression, b: Expression | None = None, n: float = 0.0) -> Expression:
    """Operation of constants: a constant."""
    arguments = (a,) if b is None else (a, b)
    value = _value(op, arguments, n)
    if not math.isfinite(value):
        values = " and ".join(f"{argument.number:g}" for argument in arguments)
        raise ArgumentError(f"{place(user_line())}: {operations.NAMES[op]} of {values} is not a number.")
    return constant(value)


def _value(op: int, arguments: tuple[Expression, ...], n: float) -> float:
    a, b = arguments[0].value or 0.0, (arguments[1].value or 0.0) if len(arguments) == 2 else 0.0
    return operations.differentiate(op, a, b, n, np.zeros(operations.PARTIALS), 0)


def dot(a: Any, b: Any) -> Expression:
    """Dot product of two vectors."""
    a, b = vector(a), vector(b)
    return a.x * b.x + a.y * b.y + a.z * b.z


def cross(a: Any, b: Any) -> Vector:
    """Cross product of two vectors."""
    a, b = vector(a), vector(b)
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def norm(a: Any) -> Expression:
    """Length of a vector. Held at zero, its three components are held."""
    a = vector(a)
    squared = dot(a, a)
    return squared**0.5 if squared.op == CONSTANT else Expression(operations.SQRT, (squared,), vector=a)


_SYMBOLS = {operations.ADD: "+", operations.SUBTRACT: "-", operations.MULTIPLY: "*", operations.DIVIDE: "/"}


def formula(node: Expression, depth: int = 6) -> str:
    """Return an expression as text, nested at most ``depth`` deep."""
    if node.op == CONSTANT:
        return f"{node.number:g}"
    if node.op == COMPONENT and node.source is not None:
        letter = f".{'xyz'[int(node.number)]}" if KINDS[node.source.kind].size == 3 else ""
        return f"{node.source.kind}({node.source.name}){letter}"
    if depth == 0:
        return "..."
    parts = [formula(argument, depth - 1) for argument in node.arguments]
    if node.op in _SYMBOLS:
        return f"({parts[0]} {_SYMBOLS[node.op]} {parts[1]})"
    if node.op == operations.POWER:
        return f"{parts[0]}**{node.number:g}"
    return f"-{parts[0]}" if node.op == operations.NEGATE else f"{operations.NAMES[node.op]}({', '.join(parts)})"


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: binary(operations.ADD, a, b),
    "subtract": lambda a, b: binary(operations.SUBTRACT, a, b),
    "multiply": lambda a, b: binary(operations.MULTIPLY, a, b),
    "divide": lambda a, b: binary(operations.DIVIDE, a, b),
    "power": lambda a, b: expression(a) ** b,
    "negative": lambda a: -a,
    "absolute": abs,
    "minimum": lambda a, b: binary(operations.MINIMUM, a, b),
    "maximum": lambda a, b: binary(operations.MAXIMUM, a, b),
    "arctan2": lambda a, b: binary(operations.ATAN2, a, b),
    "square": lambda a: a**2,
    **{
        name: (lambda a, op=op: unary(op, a))
        for name, op in {
            "sin": operations.SIN, "cos": operations.COS, "tan": operations.TAN, "exp": operations.EXP, "log": operations.LOG,
            "sqrt": operations.SQRT, "arcsin": operations.ASIN, "arccos": operations.ACOS, "arctan": operations.ATAN,
            "tanh": operations.TANH,
        }.items()
    },
}  # fmt: skip
