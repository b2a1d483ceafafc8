"""Programs of the evaluator: expressions of one world as flat arrays, equal parts once, second derivatives scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.functions import arrays, operations
from brachiate.functions.arrays import Program, Results
from brachiate.functions.expressions import COMPONENT, CONSTANT, DEFERRED, KINDS, Expression, Source
from brachiate.functions.motion_functions import Signal
from brachiate.functions.operations import D_A, D_AA, D_AB, D_B, D_BB, PARTIALS
from brachiate.model.arrays import Tree
from brachiate.model.joints import BALL, ELEMENT_NV, FLOAT
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World

_KINDS = {
    "joint": arrays.JOINT, "position": arrays.POINT, "axis": arrays.AXIS, "quaternion scalar": arrays.QUATERNION_SCALAR,
    "quaternion vector": arrays.QUATERNION_VECTOR, "signal": arrays.SIGNAL, "joint rate": arrays.JOINT_RATE, "velocity": arrays.VELOCITY,
    "angular velocity": arrays.ANGULAR_VELOCITY, "center of mass": arrays.CENTER, "momentum": arrays.MOMENTUM,
    "angular momentum": arrays.ANGULAR_MOMENTUM, "kinetic energy": arrays.KINETIC, "momentum rate": arrays.MOMENTUM_RATE,
    "angular momentum rate": arrays.ANGULAR_MOMENTUM_RATE,
}  # fmt: skip


_OF_LINKS = ("position", "axis", "velocity", "angular velocity")


def _fixed(world: World, source: Source, component: int) -> float:
    """Component of a source of a link that is fixed in the world."""
    frame = world.frame(source.name)
    if KINDS[source.kind].depends_on:
        return 0.0
    return float((frame.rotation @ source.point + (frame.position if source.kind == "position" else 0.0))[component])


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let errors name the function."""
    try:
        yield
    except BrachiateError as error:
        error.args = (f"Function {name!r}: {error}",)
        raise


@dataclass
class ResolvedSource:
    """A source of one world: body or coordinate by number, and the velocities it depends on."""

    source: Source
    kind: int
    body: int
    coordinate: int
    point: Array  # (3,)
    velocities: list[int]  # ascending


class CompiledFunctions:
    """Outputs of a world as a program, with its results; ``key`` is the argument of the evaluator.

    Args:
        world: World whose links, joints and figures the expressions name.
        outputs: Scalar expressions, by name.
        branching: Names of functions that are run as Python: in a state they may be constant.
    """

    def __init__(self, world: World, outputs: Sequence[tuple[str, Expression]], branching: Sequence[str] = ()) -> None:
        self.data = world.data
        graph = _Graph(world)
        for name, node in outputs:
            graph.add_output(name, node)
        graph.check_outputs(outputs, branching)
        self.signals = graph.signals
        #: Expression of each operation, for messages.
        self.nodes = [node for node, _, _ in graph.operations]
        self.program, sizes = graph.flatten()
        for n, (name, _) in enumerate(outputs):  # components that are constant are of the kind of their vector
            if graph.outputs[n][0] == "constant":
                vector = name.rpartition(".")[0]
                same = [m for m, (other, _) in enumerate(outputs) if other.rpartition(".")[0] == vector]
                self.program.depends_on[n] = self.program.depends_on[same].max()
        self.results = _results(world, graph, self.program, sizes)
        self.handle = ArrayHandle(world.model.tree, world.data.work, self.program, self.results)
        self.key = self.handle.key
        self.depends_on = self.program.depends_on

    def set_time(self, time: float) -> None:
        """Evaluate the functions of time."""
        for n, signal in enumerate(self.signals):
            self.results.signal[n] = signal(time)

    def culprit(self, output: int) -> Expression | None:
        """First operation of an output whose value or derivatives are not finite, among those that are selected in this state."""
        partial, first = self.results.partial, len(self.results.value) - len(self.nodes)
        program = self.program
        mine = program.reverse_operation[program.reverse[output] : program.reverse[output + 1]][::-1]
        live = self.results.live[first + mine] == 1
        for n in (*mine[live], *mine[~live]):
            if not np.isfinite([self.results.value[first + n], *partial[n * PARTIALS : (n + 1) * PARTIALS]]).all():
                return self.nodes[n]
        return None


class _Graph:
    """Expressions of several outputs with equal parts merged. Scalars are (kind, number): component, constant or operation."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sources: dict[Source, ResolvedSource] = {}
        self.signals: list[Signal] = []
        self.constants: dict[float, int] = {}
        self.operations: list[tuple[Expression, tuple, float]] = []
        self.outputs: list[tuple] = []
        self._known: dict[tuple, tuple] = {}
        self._nodes: dict[int, tuple] = {}
        self._made: dict[int, Expression] = {}  # from deferred expressions
        self._kept: list[Expression] = []  # their ids are keys above
        self._sets: dict[str, int] = {}
        self.members: list[Array] = []

    def add_output(self, name: str, node: Expression) -> None:
        """Add a function and all it is made of."""
        stack = [node]
        while stack:  # without recursion: sums may be long
            top = stack[-1]
            if id(top) in self._nodes:
                stack.pop()
                continue
            if top.op == DEFERRED and id(top) not in self._made:
                with _naming(name):
                    self._made[id(top)] = top.source(self.world)
            arguments = (self._made[id(top)],) if top.op == DEFERRED else top.arguments
            missing = [argument for argument in arguments if id(argument) not in self._nodes]
            if missing:
                stack += missing
                continue
            stack.pop()
            self._nodes[id(top)] = self._nodes[id(arguments[0])] if top.op == DEFERRED else self._scalar(name, top)
            self._kept.append(top)
        self.outputs.append(self._nodes[id(node)])

    def check_outputs(self, outputs: Sequence[tuple[str, Expression]], branching: Sequence[str]) -> None:
        """Raise an error for a function that is constant; single components of a vector, and functions that branch, may be."""
        moving = {name.rpartition(".")[0] for (name, _), item in zip(outputs, self.outputs, strict=True) if item[0] != "constant"} - {""}
        moving.update(branching)
        for (name, _), item in zip(outputs, self.outputs, strict=True):
            vector = name.rpartition(".")[0]
            if item[0] == "constant" and name not in moving and vector not in moving:
                number = next(value for value, n in self.constants.items() if n == item[1])
                raise ArgumentError(f"Function {name!r} is the constant {number:g}: it depends on nothing that moves.")

    def _scalar(self, name: str, node: Expression) -> tuple:
        if node.op == CONSTANT:
            return self._constant(node.number)
        if node.op == COMPONENT:
            source, c = node.source, int(node.number)
            with _naming(name):
                if source.kind in _OF_LINKS and self.world.frame(source.name).body < 0:
                    return self._constant(_fixed(self.world, source, c))
                if source not in self.sources:
                    self.sources[source] = self._resolve(source)
            return ("component", source, c)
        arguments = tuple(self._nodes[id(argument)] for argument in node.arguments)
        key = (node.op, arguments, node.number)
        if key not in self._known:
            self._known[key] = ("operation", len(self.operations))
            self.operations.append((node, arguments, node.number))
        return self._known[key]

    def _constant(self, value: float) -> tuple:
        return ("constant", self.constants.setdefault(value, len(self.constants)))

    # --- names ------------------------------------------------------------------------------------

    def _resolve(self, source: Source) -> ResolvedSource:
        world, kind = self.world, _KINDS[source.kind]
        tree, model = world.model.tree, world.model
        point = np.array(source.point)
        if kind == arrays.SIGNAL:
            self.signals.append(source.signal)
            return ResolvedSource(source, kind, len(self.signals) - 1, 0, point, [model.nv])
        if kind == arrays.JOINT:
            if source.name not in model.scalar_coordinates and (source.name in model.joints or source.name in model.coordinate_index):
                raise ArgumentError(f"{source.name!r} is not one number: use an.rotation_vector, an.orientation or an.position.")
            k = validation.lookup(model.coordinate_index, source.name, "joint with one coordinate", "this world")
            return ResolvedSource(source, kind, k, model.scalar_coordinates[source.name], point, [k])
        if kind == arrays.JOINT_RATE:
            k = validation.lookup(model.coordinate_index, source.name, "coordinate", "this world")
            return ResolvedSource(source, kind, k, 0, point, [k])
        if kind in (arrays.QUATERNION_SCALAR, arrays.QUATERNION_VECTOR):
            return self._resolve_quaternion(source, kind)
        if kind >= arrays.CENTER:
            return self._resolve_figure(source, kind)
        frame = world.frame(source.name)
        point = frame.rotation @ point + (0.0 if kind == arrays.AXIS else frame.position)
        last = int(tree.dof[frame.body + 1]) - 1
        chain = tree.above[tree.row[last] : tree.row[last] + tree.depth[last] + 1]
        return ResolvedSource(source, kind, frame.body, 0, point, [int(k) for k in chain])

    def _resolve_quaternion(self, source: Source, kind: int) -> ResolvedSource:
        model, tree = self.world.model, self.world.model.tree
        place = validation.lookup(model.joints, source.name, "joint", "this world")
        balls = [e for e in range(len(tree.kind)) if tree.kind[e] >= BALL and place.v.start <= tree.v_at[e] < place.v.stop]
        if len(balls) != 1:
            raise ArgumentError(f"{source.name!r} is not a spherical or free joint: it has no rotation vector.")
        offset = 3 if tree.kind[balls[0]] == FLOAT else 0
        first, q = int(tree.v_at[balls[0]]) + offset, int(tree.q_at[balls[0]]) + offset
        return ResolvedSource(source, kind, first, q, np.zeros(3), [first, first + 1, first + 2])

    def _resolve_figure(self, source: Source, kind: int) -> ResolvedSource:
        world, tree = self.world, self.world.model.tree
        if source.name not in self._sets:
            flags = world.bodies_of(source.name) if source.name else np.ones(len(tree.parent), np.int64)
            if not (np.asarray(flags) * tree.inertia[:, 0]).sum() > 0.0:
                raise ArgumentError(f"{source.name or 'This world'!r} has no mass that moves.")
            self._sets[source.name] = len(self._sets)
            self.members.append(np.asarray(flags, np.int64))
        flags = self.members[self._sets[source.name]].copy()
        for i in range(len(flags) - 1, -1, -1):  # bodies with a member at or below them
            if flags[i] and tree.parent[i] >= 0:
                flags[tree.parent[i]] = 1
        velocities = [k for k in range(world.model.nv) if flags[tree.body[k]]]
        return ResolvedSource(source, kind, self._sets[source.name], 0, np.zeros(3), velocities)

    # --- arrays -----------------------------------------------------------------------------------

    def flatten(self) -> tuple[Program, _Sizes]:
        """Arrays of the program."""
        resolved = sorted(self.sources.values(), key=lambda r: (r.kind, r.body))
        if resolved:  # whole figures last, set by set
            resolved = sorted(resolved, key=lambda r: (r.kind >= arrays.CENTER, r.body if r.kind >= arrays.CENTER else 0, r.kind))
        sizes = [KINDS[r.source.kind].size for r in resolved]
        scalar = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        column = np.concatenate([[0], np.cumsum([len(r.velocities) for r in resolved])]).astype(np.int64)
        number = {r.source: s for s, r in enumerate(resolved)}
        components, constants = int(scalar[-1]), len(self.constants)

        def index(item: tuple) -> int:
            if item[0] == "component":
                return int(scalar[number[item[1]]]) + item[2]
            return components + item[1] + (constants if item[0] == "operation" else 0)

        arguments = [tuple(index(item) for item in items) for _, items, _ in self.operations]
        schedule = _Schedule(self.operations, _differentiated(self.operations, arguments), components, constants)
        outputs = [index(item) for item in self.outputs]
        owner = np.repeat(np.arange(len(resolved)), sizes)
        lists = _OutputLists()
        for output in outputs:
            reached, mine = schedule.add(output)
            used = sorted({int(owner[a]) for a in reached})
            support = sorted({k for s in used for k in resolved[s].velocities})
            local = {}
            for s in used:
                for k in range(int(scalar[s]), int(scalar[s + 1])):
                    local[k] = len(local)
            lists.add(used, support, resolved, mine, local, owner)
            lists.depends_on.append(max((KINDS[resolved[s].source.kind].depends_on for s in used), default=0))
        ints = lambda values: np.array(values, np.int64)  # noqa: E731
        tree = self.world.model.tree
        program = Program(
            kind=ints([r.kind for r in resolved]), body=ints([r.body for r in resolved]), coordinate=ints([r.coordinate for r in resolved]),
            point=np.array([r.point for r in resolved]).reshape(-1, 3), scalar=scalar, column=column,
            velocity=ints([k for r in resolved for k in r.velocities]), members=ints(self.members).reshape(-1),
            element=element_starts(tree, self.world.model.nv),
            operation=ints([node.op for node, _, _ in self.operations]), first=ints([a[0] for a in arguments]),
            second=ints([a[-1] for a in arguments]), binary=ints([int(len(a) == 2) for a in schedule.arguments]),
            number=np.array([n for _, _, n in self.operations], float), output=ints(outputs), depends_on=ints(lists.depends_on),
            reverse=ints(schedule.reverse), reverse_operation=ints(schedule.reverse_operation),
            arc=ints(schedule.arc), step=ints(schedule.step), target=ints(schedule.target), origin=ints(schedule.origin),
            partial_a=ints(schedule.partial_a), partial_b=ints(schedule.partial_b), factor=np.array(schedule.factor, float),
            pair=ints(lists.pair), pair_arc=ints(lists.pair_arc), pair_a=ints(lists.pair_a), pair_b=ints(lists.pair_b),
            pair_scalar_a=ints(lists.pair_scalar_a), pair_scalar_b=ints(lists.pair_scalar_b),
            used=ints(lists.used), used_source=ints(lists.used_source),
            support=ints(lists.support), supported=ints(lists.supported),
        )  # fmt: skip
        return program, _Sizes(components, constants, lists.largest)


@dataclass
class _Sizes:
    components: int
    constants: int
    largest: tuple[int, int]  # of one output: numbers of gradients, numbers of the Hessian


def _differentiated(nodes: list[tuple[Expression, tuple, float]], arguments: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Arguments of operations without those that have no part in derivatives."""
    return [items[: operations.DIFFERENTIATED.get(node.op, 2)] for (node, _, _), items in zip(nodes, arguments, strict=True)]


class _OutputLists:
    """Per output: its sources, support and pairs of components with a second derivative."""

    def __init__(self) -> None:
        self.used, self.used_source, self.support, self.supported = [0], [], [0], []
        self.pair, self.pair_arc, self.pair_a, self.pair_b, self.pair_scalar_a, self.pair_scalar_b = [0], [], [], [], [], []
        self.depends_on: list[int] = []
        self.largest = (1, 1)

    def add(
        self,
        used: list[int],
        support: list[int],
        resolved: list[ResolvedSource],
        pairs: dict[tuple[int, int], int],
        local: dict[int, int],
        owner: Array,
    ) -> None:
        """Append one output."""
        self.used_source += used
        self.used.append(len(self.used_source))
        self.supported += support
        self.support.append(len(self.supported))
        for (a, b), arc in sorted(pairs.items()):
            self.pair_arc.append(arc)
            self.pair_a.append(local[a])
            self.pair_b.append(local[b])
            self.pair_scalar_a.append(a)
            self.pair_scalar_b.append(b)
        self.pair.append(len(self.pair_arc))
        size = len(support)
        self.largest = (max(self.largest[0], len(local) * size), max(self.largest[1], size * size))


class _Schedule:
    """Reverse order of operations, and the steps of edge pushing [Gower & Mello 2012], output by output.

    An arc is a second derivative of the output by a pair of scalars. From the last operation to the first, arcs that end at an operation
    are pushed to its arguments, and its own curvature makes new ones.
    """

    def __init__(
        self, nodes: list[tuple[Expression, tuple, float]], arguments: list[tuple[int, ...]], components: int, constants: int
    ) -> None:
        self.nodes, self.arguments = nodes, arguments
        self.components, self.first = components, components + constants
        self.one = PARTIALS * len(nodes)
        self.reverse, self.reverse_operation = [0], []
        self.arc, self.step = [0], [0]
        self.target, self.origin, self.partial_a, self.partial_b, self.factor = [], [], [], [], []

    def add(self, output: int) -> tuple[set[int], dict[tuple[int, int], int]]:
        """Schedule one output. Returns the components it depends on, and its arcs between components."""
        reached, stack = set(), [output]
        while stack:
            scalar = stack.pop()
            if scalar not in reached:
                reached.add(scalar)
                if scalar >= self.first:
                    stack += self.arguments[scalar - self.first]
        mine = sorted((scalar - self.first for scalar in reached if scalar >= self.first), reverse=True)
        self.reverse_operation += mine
        self.reverse.append(len(self.reverse_operation))
        self.arcs: dict[tuple[int, int], int] = {}
        self.neighbors: dict[int, set[int]] = {}
        self.count = self.arc[-1]
        for n in mine:
            self._push(n)
        self.arc.append(self.count)
        self.step.append(len(self.target))
        pairs = {pair: arc for pair, arc in self.arcs.items() if pair[0] < self.components and pair[1] < self.components}
        return {scalar for scalar in reached if scalar < self.components}, pairs

    def _push(self, n: int) -> None:
        i, base, op = self.first + n, n * PARTIALS, self.nodes[n][0].op
        slots = [(j, base + d) for j, d in zip(self.arguments[n], (D_A, D_B), strict=False) if not self._constant(j)]
        for p in sorted(self.neighbors.pop(i, ())):
            arc = self.arcs.pop((min(i, p), max(i, p)))
            if p == i:
                for s, (j, d) in enumerate(slots):
                    self._emit(j, j, arc, d, d, 1.0)
                    for k, e in slots[s + 1 :] if op not in operations.SELECTING else ():
                        self._emit(j, k, arc, d, e, 2.0 if j == k else 1.0)
            else:
                self.neighbors[p].discard(i)
                for j, d in slots:
                    self._emit(j, p, arc, d, self.one, 2.0 if j == p else 1.0)
        items = self.arguments[n]
        if op in operations.LINEAR or (op == operations.POWER and self.nodes[n][2] == 1.0):
            return
        aa, ab, bb = operations.CURVATURES.get(op, (True, False, False))
        a, b = items[0], items[-1]
        if aa and not self._constant(a):
            self._emit(a, a, -1 - n, base + D_AA, self.one, 1.0)
        if ab and not self._constant(a) and not self._constant(b):
            self._emit(a, b, -1 - n, base + D_AB, self.one, 2.0 if a == b else 1.0)
        if bb and not self._constant(b):
            self._emit(b, b, -1 - n, base + D_BB, self.one, 1.0)

    def _constant(self, scalar: int) -> bool:
        return self.components <= scalar < self.first

    def _emit(self, a: int, b: int, origin: int, d: int, e: int, factor: float) -> None:
        pair = (min(a, b), max(a, b))
        if pair not in self.arcs:
            self.arcs[pair] = self.count
            self.count += 1
            self.neighbors.setdefault(a, set()).add(b)
            self.neighbors.setdefault(b, set()).add(a)
        self.target.append(self.arcs[pair])
        self.origin.append(origin)
        self.partial_a.append(d)
        self.partial_b.append(e)
        self.factor.append(factor)


def element_starts(tree: Tree, nv: int) -> Array:
    """First velocity of the ball or floating motion of each velocity (nv + 1,); others, and time, are their own."""
    element = np.arange(nv + 1)
    for kind, k in zip(tree.kind, tree.v_at, strict=True):
        element[k : k + ELEMENT_NV[kind]] = k
    return element


def _results(world: World, graph: _Graph, program: Program, sizes: _Sizes) -> Results:
    scalars = sizes.components + sizes.constants + len(graph.operations)
    nb, nv = len(world.model.tree.parent), world.model.nv
    value = np.zeros(scalars)
    for number, n in graph.constants.items():
        value[sizes.components + n] = number
    partial = np.zeros(PARTIALS * len(graph.operations) + 1)
    partial[-1] = 1.0
    f = np.zeros
    return Results(
        value=value, rate=f(sizes.components), bias=f(sizes.components), gradient=f((len(program.velocity), 3)), partial=partial,
        adjoint=f(scalars), live=np.zeros(scalars, np.int64), arc=f(int(program.arc[-1])), composite=f((nb, 10)),
        signal=f((len(graph.signals), 3)), acceleration=f(nv), row=f(sizes.largest[0]), product=f(sizes.largest[0]),
        block=f(max(sizes.largest[1], nv + 1)), turned=f((nv, 3)), place=np.zeros(nv + 1, np.int64),
    )  # fmt: skip
