"""Elementary operations of functions: their codes, and value and derivatives to second order.

One table for Python (values of constants) and compiled code (programs). An operation has one argument or two; :func:`differentiate`
writes the partial derivatives (∂f/∂a, ∂f/∂b, ∂²f/∂a², ∂²f/∂a∂b, ∂²f/∂b²).
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined

(
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    NEGATE,
    POWER,
    SIN,
    COS,
    TAN,
    EXP,
    LOG,
    SQRT,
    ABS,
    ASIN,
    ACOS,
    ATAN,
    ATAN2,
    TANH,
    MINIMUM,
    MAXIMUM,
    ANGLE_RATIO,
    IF_POSITIVE,
    LESSER,
    DETACH,
) = range(24)

#: Name of each operation, as users call it.
NAMES = (
    "addition", "subtraction", "multiplication", "division", "negation", "power", "sin", "cos", "tan", "exp", "log", "sqrt", "abs", "asin",
    "acos", "atan", "atan2", "tanh", "minimum", "maximum", "angle ratio", "if positive", "lesser", "detach",
)  # fmt: skip
#: Operations without second derivatives: they make no arcs in :mod:`brachiate.functions.program`.
LINEAR = (ADD, SUBTRACT, NEGATE, ABS, MINIMUM, MAXIMUM, IF_POSITIVE, LESSER, DETACH)
#: Operations that select: an argument that is not selected need not be differentiable, nor finite.
SELECTING = (MINIMUM, MAXIMUM, IF_POSITIVE, LESSER)
#: Number of arguments that are differentiated, of operations with others: conditions, and values that count as constant.
DIFFERENTIATED = {IF_POSITIVE: 1, DETACH: 0}
#: Second derivatives (aa, ab, bb) that can be nonzero, of the others.
CURVATURES = {
    MULTIPLY: (False, True, False),
    DIVIDE: (False, True, True),
    ATAN2: (True, True, True),
}  # fmt: skip
BINARY = (ADD, SUBTRACT, MULTIPLY, DIVIDE, ATAN2, MINIMUM, MAXIMUM, IF_POSITIVE, LESSER)

# Partial derivatives of a node in the array of all.
D_A, D_B, D_AA, D_AB, D_BB, PARTIALS = 0, 1, 2, 3, 4, 5


@outlined
def differentiate(op, a, b, number, d, k):
    """Value of an operation at (a, b), ``number`` the exponent of a power; its partial derivatives to d[k : k + PARTIALS].

    Where the operation or one of its derivatives does not exist, the result is not finite.
    """
    f = d_a = d_b = d_aa = d_ab = d_bb = 0.0
    if op == ADD:
        f, d_a, d_b = a + b, 1.0, 1.0
    elif op == SUBTRACT:
        f, d_a, d_b = a - b, 1.0, -1.0
    elif op == MULTIPLY:
        f, d_a, d_b, d_ab = a * b, b, a, 1.0
    elif op == DIVIDE:
        r = reciprocal(b)
        f = a * r
        d_a, d_b, d_ab, d_bb = r, -f * r, -r * r, 2.0 * f * r * r
    elif op == ATAN2:
        r = reciprocal(a * a + b * b)
        f, d_a, d_b = math.atan2(a, b), b * r, -a * r
        d_aa, d_ab, d_bb = 2.0 * d_a * d_b, (a * a - b * b) * r * r, -2.0 * d_a * d_b
    elif op in (MINIMUM, MAXIMUM):
        larger = side(a - b) if op == MAXIMUM else side(b - a)
        f = a if larger > 0.0 else b
        d_a, d_b = 0.5 + 0.5 * larger, 0.5 - 0.5 * larger
    elif op == IF_POSITIVE:  # a where b > 0, else zero
        d_a = 1.0 if b > 0.0 else 0.0
        f = a if b > 0.0 else 0.0
    elif op == LESSER:  # minimum of functions with equal gradients where they are equal: the first one there
        d_a = 1.0 if a <= b else 0.0
        d_b = 1.0 - d_a
        f = a if a <= b else b if b < a else math.nan
    elif op == DETACH:  # without derivatives
        f = a
    elif op == POWER:
        f, d_a, d_aa = power(a, number), derivative_of_power(a, number, 1), derivative_of_power(a, number, 2)
    else:
        f, d_a, d_aa = elementary_function(op, a)
    d[k + D_A], d[k + D_B], d[k + D_AA], d[k + D_AB], d[k + D_BB] = d_a, d_b, d_aa, d_ab, d_bb
    return f


@kernel
def elementary_function(op, a):
    """Function of one argument, with two derivatives."""
    f, d, dd = -a, -1.0, 0.0  # NEGATE
    if op == SIN:
        f, d, dd = math.sin(a), math.cos(a), -math.sin(a)
    elif op == COS:
        f, d, dd = math.cos(a), -math.sin(a), -math.cos(a)
    elif op == TAN:
        f = math.tan(a)
        d = 1.0 + f * f
        dd = 2.0 * f * d
    elif op == EXP:
        f = math.exp(a) if a < LARGEST_EXPONENT else math.inf
        d = dd = f
    elif op == LOG:
        f, d = math.log(a) if a > 0.0 else math.nan, reciprocal(a)
        dd = -d * d
    elif op == SQRT:
        f = math.sqrt(a) if a >= 0.0 else math.nan
        d = 0.5 * reciprocal(f)
        dd = -0.5 * d * reciprocal(a)
    elif op == ABS:
        f, d, dd = abs(a), side(a), 0.0
    elif op in (ASIN, ACOS):
        r = 1.0 - a * a
        d = 1.0 / math.sqrt(r) if r > 0.0 else math.nan
        f, dd = math.asin(a) if r >= 0.0 else math.nan, a * d * d * d
        if op == ACOS:
            f, d, dd = 0.5 * math.pi - f, -d, -dd
    elif op == ATAN:
        f, d = math.atan(a), 1.0 / (1.0 + a * a)
        dd = -2.0 * a * d * d
    elif op == TANH:
        f = math.tanh(a)
        d = 1.0 - f * f
        dd = -2.0 * f * d
    elif op == ANGLE_RATIO:
        f, d, dd = angle_ratio(a)
    return f, d, dd


@kernel
def angle_ratio(c):
    """θ/sin θ as a function of c = cos θ, with two derivatives: analytic at θ = 0, so rotation vectors are differentiable there.

    From (1 − c²) f' = c f − 1, and its derivative (1 − c²) f'' = f + 3 c f'. Near c = 1 these cancel, so a series in 1 − c serves there.
    """
    e = 1.0 - c
    if abs(e) < SERIES_RANGE:
        # The coefficients n!/(1·3·5···(2n + 1)) follow from the differential equation.
        f = d = dd = 0.0
        a = 1.0
        for n in range(SERIES_TERMS):
            a_1 = a * (n + 1) / (2 * n + 3)
            a_2 = a_1 * (n + 2) / (2 * n + 5)
            p = e**n
            f += a * p
            d -= (n + 1) * a_1 * p
            dd += (n + 1) * (n + 2) * a_2 * p
            a = a_1
        return f, d, dd
    s = e * (1.0 + c)
    if not s > 0.0:
        return math.nan, math.nan, math.nan
    f = math.acos(c) / math.sqrt(s)
    d = (c * f - 1.0) / s
    return f, d, (f + 3.0 * c * d) / s


SERIES_RANGE = 0.1  # of 1 - c; the series converges as (e/2)^n
SERIES_TERMS = 14
LARGEST_EXPONENT = 709.0  # of exp in double precision


@kernel
def reciprocal(x):
    """1/x, not a number at zero."""
    return 1.0 / x if x != 0.0 else math.nan


@kernel
def side(x):
    """Sign of x, not a number at zero: there a kink has no derivative."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else math.nan


@kernel
def power(a, n):
    """a to the power of n, not a number where it is not real or not finite."""
    if n == 2.0:
        return a * a
    if (a < 0.0 and n != math.floor(n)) or (a == 0.0 and n < 0.0):
        return math.nan
    return a**n


@kernel
def derivative_of_power(a, n, order):
    """First or second derivative of a to the power of n, not a number where there is none: of √a at zero."""
    factor = n if order == 1 else n * (n - 1.0)
    return factor * power(a, n - order) if factor != 0.0 else 0.0
