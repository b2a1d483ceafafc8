"""Functions whose links and joints are named as in the motion's figure, as functions of a world that contains this figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brachiate.errors import BrachiateError
from brachiate.functions import State
from brachiate.functions.expressions import DEFERRED, Expression, Source, Vector
from brachiate.functions.tracing import Untraced, trace, untraced

if TYPE_CHECKING:
    from brachiate.world.world import World

Rename = Callable[[str], str]
_NAMED = ("joint", "joint_rate", "rotation_vector", "position", "axis", "orientation", "velocity", "angular_velocity")
_OF_NAMES = (
    "joint", "joint rate", "position", "axis", "velocity", "angular velocity", "quaternion scalar", "quaternion vector",
)  # fmt: skip


def in_world(name: str, function: Any, world: World, figure: str) -> Expression | Vector | Untraced:
    """Return a function of a task with names of the world: names without one of its figures are those of ``figure``."""

    def rename(part: str) -> str:
        return part if _is_known(world, part) else f"{figure}/{part}"

    if isinstance(function, Untraced):
        inner = function.function
        return untraced(lambda _: inner(FigureState(rename)))  # type: ignore[arg-type]
    found = trace(name, function, world)
    if isinstance(found, Expression):
        return renamed(found, rename)
    return Vector(*(renamed(component, rename) for component in found))


def _is_known(world: World, name: str) -> bool:
    """Whether a name is one of a link, site, joint or coordinate of the world."""
    model = world.model
    if name in model.joints or name in model.coordinate_index:
        return True
    try:
        world.frame(name)
    except BrachiateError:
        return False
    return True


class FigureState:
    """Argument of an untraced function: the quantities of :class:`~brachiate.functions.State`, by names of one figure."""

    def __init__(self, rename: Rename) -> None:
        self._rename, self._state = rename, State()

    def __getattr__(self, quantity: str) -> Any:
        """Return a quantity by name, or the time."""
        found = getattr(self._state, quantity)
        if quantity not in _NAMED:
            return found

        def of(name: str, *arguments: Any, frame: str | None = None, **options: Any) -> Any:
            in_frame = {} if frame is None else {"frame": self._rename(frame)}
            return found(self._rename(name), *arguments, **in_frame, **options)

        return of


def renamed(node: Expression, rename: Rename) -> Expression:
    """Copy of an expression with other names of links and joints. Equal parts stay one; without recursion, as sums may be long."""
    copies: dict[int, Expression] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        missing = [argument for argument in top.arguments if id(argument) not in copies]
        if missing:
            stack += missing
            continue
        stack.pop()
        if id(top) not in copies:
            copies[id(top)] = _copy(top, tuple(copies[id(argument)] for argument in top.arguments), rename)
    return copies[id(node)]


def _copy(node: Expression, arguments: tuple[Expression, ...], rename: Rename) -> Expression:
    source = node.source
    if node.op == DEFERRED:
        make = node.source
        source = lambda world: renamed(make(world), rename)  # noqa: E731
    elif isinstance(source, Source) and source.kind in _OF_NAMES:
        source = source._replace(name=rename(source.name))
    copy = Expression(node.op, arguments, node.number, source, value=node.value)
    if node.vector is not None:
        copy.vector = Vector(*(renamed(component, rename) for component in node.vector))
    copy.line = node.line
    return copy
