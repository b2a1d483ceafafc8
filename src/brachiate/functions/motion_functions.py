"""Functions of the motion of a world, by names of links, joints and figures.

All return expressions (:mod:`brachiate.functions.expressions`) and compose by arithmetic. A point is the name of a link or site, a
vector, or three numbers in the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions import operations
from brachiate.functions.expressions import (
    Expression,
    Source,
    Vector,
    binary,
    components,
    cross,
    deferred,
    dot,
    expression,
    norm,
    unary,
    vector,
)
from brachiate.functions.polynomials import Polynomials, evaluate_polynomials
from brachiate.model.joints import BALL, FLOAT
from brachiate.validation import Array
from brachiate.world.balance import MIN_SUPPORT

if TYPE_CHECKING:
    from brachiate.world.world import World

# --- elementary functions ---------------------------------------------------------------------------


def sin(a: Any) -> Expression:
    """Sine."""
    return unary(operations.SIN, a)


def cos(a: Any) -> Expression:
    """Cosine."""
    return unary(operations.COS, a)


def tan(a: Any) -> Expression:
    """Tangent."""
    return unary(operations.TAN, a)


def exp(a: Any) -> Expression:
    """Exponential."""
    return unary(operations.EXP, a)


def log(a: Any) -> Expression:
    """Natural logarithm."""
    return unary(operations.LOG, a)


def sqrt(a: Any) -> Expression:
    """Square root; it has no derivative at zero."""
    return unary(operations.SQRT, a)


def asin(a: Any) -> Expression:
    """Arc sine; it has no derivative at ±1."""
    return unary(operations.ASIN, a)


def acos(a: Any) -> Expression:
    """Arc cosine; it has no derivative at ±1. For angles between directions see :func:`angle`."""
    return unary(operations.ACOS, a)


def atan(a: Any) -> Expression:
    """Arc tangent."""
    return unary(operations.ATAN, a)


def atan2(a: Any, b: Any) -> Expression:
    """Angle of the point (b, a) from the first axis."""
    return binary(operations.ATAN2, a, b)


def tanh(a: Any) -> Expression:
    """Hyperbolic tangent."""
    return unary(operations.TANH, a)


def minimum(a: Any, b: Any) -> Expression:
    """Smaller of two; it has no derivative where they are equal."""
    return binary(operations.MINIMUM, a, b)


def maximum(a: Any, b: Any) -> Expression:
    """Larger of two; it has no derivative where they are equal."""
    return binary(operations.MAXIMUM, a, b)


def smooth_maximum(a: Any, b: Any, width: float) -> Expression:
    """Larger of two, rounded where they differ by less than about ``width``; above it by width/2 where they are equal."""
    width = validation.number(width, "width of a smooth maximum", above=0.0)
    difference = expression(a) - b
    return 0.5 * (expression(a) + b + sqrt(difference * difference + width * width))


def smooth_minimum(a: Any, b: Any, width: float) -> Expression:
    """Smaller of two, rounded where they differ by less than about ``width``."""
    return -smooth_maximum(-expression(a), -expression(b), width)


def unit(a: Any) -> Vector:
    """Vector of the same direction and length one."""
    a = vector(a)
    return a / norm(a)


# --- joints, points and directions --------------------------------------------------------------------


def joint(name: str) -> Expression:
    """Joint variable of a coordinate that is one number [rad or m]: ``man/left_knee``."""
    return components(Source("joint", _name(name, "joint")))[0]


def joint_rate(name: str) -> Expression:
    """Velocity of a coordinate [rad/s or m/s]; any joint's: ``man/root.rz``."""
    return components(Source("joint rate", _name(name, "coordinate")))[0]


def rotation_vector(name: str) -> Vector:
    """Rotation of a spherical or free joint from its zero position, as axis times angle in child axes (3,) [rad], below half a turn."""
    (w,), v = components(Source("quaternion scalar", _name(name, "joint"))), Vector(*components(Source("quaternion vector", name)))
    return 2.0 * unary(operations.ANGLE_RATIO, w) * v


def position(link: str, at: ArrayLike = (0, 0, 0), frame: str | None = None) -> Vector:
    """Position of a point of a link or site [m]: in the world, or in the axes of another link (``frame``), from its origin."""
    point = Vector(*components(Source("position", _name(link, "link or site"), _triple(at, f"point of {link!r}"))))
    return point if frame is None else in_frame(frame, point - position(frame))


def axis(link: str, direction: str | ArrayLike = "z", frame: str | None = None) -> Vector:
    """Unit vector fixed in a link: ``x``, ``y``, ``z``, ``-x`` or three numbers; in the world, or in the axes of another link."""
    along = validation.axis(direction, f"axis of {link!r}")
    found = Vector(*components(Source("axis", _name(link, "link or site"), _triple(along, "axis"))))
    return found if frame is None else in_frame(frame, found)


def in_frame(frame: str, a: Any) -> Vector:
    """Components of a vector along the axes of a link."""
    return Vector(*(dot(axis(frame, letter), a) for letter in "xyz"))


def direction(link: str, to: Any, at: ArrayLike = (0, 0, 0)) -> Vector:
    """Unit vector from a point of a link to another point."""
    return unit(point(to) - position(link, at))


def orientation(link: str, target: ArrayLike | None = None, frame: str | None = None) -> Vector:
    """Rotation of a link from a target orientation, as axis times angle (3,) [rad], below half a turn.

    The target is a rotation matrix (3, 3) or a quaternion (w, x, y, z); by default the axes of ``frame``, or of the world. The vector is
    along the axes of ``frame``, or of the world.
    """
    matrix = validation.rotation_matrix(target, "target orientation")
    # Rows of R_target_link: components of the link's axes along those of the target.
    columns = [axis(link, letter, frame) for letter in "xyz"]
    rows = [[dot(tuple(matrix[:, i]), column) for column in columns] for i in range(3)]
    cosine = 0.5 * (rows[0][0] + rows[1][1] + rows[2][2] - 1.0)
    turn = Vector(rows[2][1] - rows[1][2], rows[0][2] - rows[2][0], rows[1][0] - rows[0][1])
    turn = turn * (0.5 * unary(operations.ANGLE_RATIO, cosine))
    return Vector(*(dot(tuple(matrix[i]), turn) for i in range(3)))


def angle(a: Any, b: Any) -> Expression:
    """Angle between two directions [rad], 0 to π. Held at zero, the three components of its rotation vector are held."""
    a, b = unit(a), unit(b)
    return norm(cross(a, b) * unary(operations.ANGLE_RATIO, dot(a, b)))


def point(where: Any) -> Vector:
    """Position of a link or site by name, or a vector, or three numbers in the world."""
    return position(where) if isinstance(where, str) else vector(where)


# --- distances ----------------------------------------------------------------------------------------


def distance(a: Any, b: Any) -> Expression:
    """Distance of two points [m]. Held at zero, the three components of their difference are held."""
    return norm(point(a) - point(b))


def distance_to_line(a: Any, origin: Any, along: Any) -> Expression:
    """Distance of a point from the line through ``origin`` in the direction ``along`` [m]."""
    return norm(cross(point(a) - point(origin), unit(along)))


def distance_to_plane(a: Any, origin: Any, normal: Any) -> Expression:
    """Signed distance of a point from the plane through ``origin``: positive on the side of ``normal`` [m]."""
    return dot(point(a) - point(origin), unit(normal))


def distance_to_sphere(a: Any, center: Any, radius: float) -> Expression:
    """Signed distance of a point from a sphere: negative inside [m]."""
    return distance(a, center) - validation.number(radius, "radius", minimum=0.0)


def distance_to_cylinder(a: Any, origin: Any, along: Any, radius: float) -> Expression:
    """Signed distance of a point from a cylinder without ends: negative inside [m]."""
    return distance_to_line(a, origin, along) - validation.number(radius, "radius", minimum=0.0)


# --- of whole figures -----------------------------------------------------------------------------------


def center_of_mass(figure: str | None = None) -> Vector:
    """Center of mass (CoM) of a figure, or of all [m]."""
    return Vector(*components(Source("center of mass", _figure(figure))))


def momentum(figure: str | None = None) -> Vector:
    """Linear momentum of a figure, or of all [N·s]."""
    return Vector(*components(Source("momentum", _figure(figure))))


def angular_momentum(figure: str | None = None) -> Vector:
    """Angular momentum of a figure about its CoM, or of all about theirs [N·m·s]."""
    return Vector(*components(Source("angular momentum", _figure(figure))))


def velocity(link: str, at: ArrayLike = (0, 0, 0), frame: str | None = None) -> Vector:
    """Velocity of a point of a link or site [m/s]; with ``frame`` relative to that link, in its axes."""
    found = Vector(*components(Source("velocity", _name(link, "link or site"), _triple(at, f"point of {link!r}"))))
    if frame is None:
        return found
    return in_frame(frame, found - velocity(frame) - cross(angular_velocity(frame), position(link, at) - position(frame)))


def angular_velocity(link: str, frame: str | None = None) -> Vector:
    """Angular velocity of a link [rad/s]; with ``frame`` relative to that link, in its axes."""
    found = Vector(*components(Source("angular velocity", _name(link, "link or site"))))
    return found if frame is None else in_frame(frame, found - angular_velocity(frame))


def kinetic_energy(figure: str | None = None) -> Expression:
    """Kinetic energy of a figure, or of all, rotors included [J]."""
    return components(Source("kinetic energy", _figure(figure)))[0]


def potential_energy(figure: str | None = None) -> Expression:
    """Potential energy of a figure, or of all, in gravity and in the springs of its joints [J]."""
    name = _figure(figure)
    return deferred(lambda world: _potential_energy(world, name))


def energy(figure: str | None = None) -> Expression:
    """Kinetic and potential energy of a figure, or of all [J]."""
    return kinetic_energy(figure) + potential_energy(figure)


# --- of accelerations -----------------------------------------------------------------------------------


def external_force(figure: str | None = None) -> Vector:
    """Force on a figure, or on all, from outside, without its weight [N]: rate of change of its momentum less gravity."""
    rate = components(Source("momentum rate", _figure(figure)))
    return Vector(*(force - _weight(figure, k) for k, force in enumerate(rate)))


def center_of_pressure(figure: str | None = None, height: Any = 0.0) -> Vector:
    """Center of pressure (CoP) of what carries a figure, or all, in the plane z = height [m]: its zero-moment point (ZMP).

    The point about which forces from outside have no horizontal moment, from the rate of change of momentum: no contact forces are needed.
    A function of accelerations, those of the world by default. It is not finite in the air: where the vertical force is below a thousandth
    of the weight.
    """
    force, turning = external_force(figure), components(Source("angular momentum rate", _figure(figure)))
    center, height = center_of_mass(figure), expression(height)
    name = _figure(figure)
    least = deferred(lambda world: expression(MIN_SUPPORT * world.totals(name or None).mass * float(np.linalg.norm(world.gravity))))
    vertical = binary(operations.IF_POSITIVE, force.z, force.z - least)
    lever = (center.z - height) / vertical
    return Vector(center.x - turning[1] / vertical - lever * force.x, center.y + turning[0] / vertical - lever * force.y, height)


def _weight(figure: str | None, component: int) -> Expression:
    name = _figure(figure)
    return deferred(lambda world: expression(float(world.totals(name or None).mass * world.gravity[component])))


def _potential_energy(world: World, figure: str) -> Expression:
    total = -world.totals(figure or None).mass * dot(tuple(world.gravity), center_of_mass(figure or None))
    tree = world.model.tree
    for name, place in world.model.joints.items():
        if figure and not name.startswith(figure + "/"):
            continue
        element = np.flatnonzero((tree.v_at >= place.v.start) & (tree.v_at < place.v.stop))
        for e in element:
            k, q = int(tree.v_at[e]), int(tree.q_at[e])
            if tree.kind[e] < BALL and tree.stiffness[k]:
                total = total + 0.5 * tree.stiffness[k] * (joint(world.model.coordinates[k]) - tree.rest[q]) ** 2
            elif tree.kind[e] == BALL and tree.stiffness[k : k + 3].any():
                w, v = components(Source("quaternion scalar", name))[0], components(Source("quaternion vector", name))
                r = tree.rest[q : q + 4]  # conjugate of rest times q
                scalar = r[0] * w + r[1] * v[0] + r[2] * v[1] + r[3] * v[2]
                rest = tuple(r[1:])
                turned = r[0] * Vector(*v) - w * Vector(*rest) - cross(rest, Vector(*v))
                for stiffness, c in zip(tree.stiffness[k : k + 3], 2.0 * unary(operations.ANGLE_RATIO, scalar) * turned, strict=True):
                    total = total + 0.5 * stiffness * c * c
    if (tree.kind == FLOAT).any() and tree.stiffness.any():
        floats = [int(tree.v_at[e]) for e in np.flatnonzero(tree.kind == FLOAT)]
        if any(tree.stiffness[k : k + 6].any() for k in floats):
            raise ArgumentError("potential_energy: springs of free joints are not part of it. Leave such a figure out.")
    return total


# --- time -----------------------------------------------------------------------------------------------


class Signal:
    """A function of time with its first two derivatives, such as a spline, for targets that move.

    Args:
        function: ``f(t)`` returning the value, or (value, first derivative, second derivative); or key values {time: value}, joined by a
        cubic
            spline at rest at both ends.
    """

    def __init__(self, function: Callable[[float], Any] | Mapping[float, float]) -> None:
        #: Knots (p,) [s] and coefficients (p, 6) by powers of the time since each, of key values.
        self.pieces: tuple[Array, Array] | None = None
        if isinstance(function, Mapping):
            self.pieces = spline_pieces(function)
            function = piecewise_polynomial(*self.pieces)
        if not callable(function):
            raise ArgumentError(f"A signal is a function of time, or key values by time, got {validation.short_repr(function)}.")
        self.function = function

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value and two derivatives at a time [s]."""
        found = np.asarray(self.function(t), float)
        if found.shape == (3,) and np.isfinite(found).all():
            return float(found[0]), float(found[1]), float(found[2])
        if found.shape != () or not np.isfinite(found):
            raise ArgumentError(
                f"The signal at {t:g} s: expected a number, or value and two derivatives, got {validation.short_repr(found)}."
            )
        h = _SIGNAL_STEP
        before, after = float(self.function(t - h)), float(self.function(t + h))
        return float(found), (after - before) / (2.0 * h), (after - 2.0 * float(found) + before) / (h * h)


_SIGNAL_STEP = 1e-4  # [s] of differences of signals that give no derivatives


def spline_pieces(keys: Mapping[float, float]) -> tuple[Array, Array]:
    """Cubic spline through values at times, at rest at both ends and constant beyond them: knots (p,), coefficients (p, 6)."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415

    times = sorted(keys)
    if len(times) < 2:
        raise ArgumentError("Key values: at least two times are needed.")
    values = [validation.number(keys[t], f"key value at {t} s") for t in times]
    spline = CubicSpline(times, values, bc_type="clamped")
    coefficients = np.zeros((len(times) + 1, 6))
    coefficients[0, 0], coefficients[-1, 0] = values[0], values[-1]
    coefficients[1:-1, :4] = spline.c[::-1].T
    # Constant before the first time and after the last one; at both, derivatives are those of the spline.
    return np.array([times[0] - 1.0, *times[:-1], np.nextafter(times[-1], np.inf)]), coefficients


def piecewise_polynomial(knots: Array, coefficients: Array) -> Callable[[float], Array]:
    """Value and two derivatives (3,) as a function of time."""
    pieces = Polynomials(np.array([0, len(knots)]), knots, coefficients.ravel(), np.zeros((1, 3)))

    def evaluate(t: float) -> Array:
        evaluate_polynomials(pieces, t)
        return pieces.value[0].copy()

    return evaluate


def time() -> Expression:
    """Time of the world [s]."""
    return _TIME


def signal(function: Callable[[float], Any] | Mapping[float, float] | Signal) -> Expression:
    """A given function of time as part of a function: see :class:`Signal`."""
    return components(Source("signal", signal=function if isinstance(function, Signal) else Signal(function)))[0]


_TIME = signal(lambda t: (t, 1.0, 0.0))


# --- arguments ------------------------------------------------------------------------------------------


def _name(name: Any, kind: str) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"Expected the name of a {kind}, got {validation.short_repr(name)}.")
    return name


def _figure(figure: str | None) -> str:
    return "" if figure is None else _name(figure, "figure")


def _triple(values: ArrayLike, what: str) -> tuple[float, float, float]:
    x, y, z = validation.vector(values, what).tolist()
    return x, y, z
