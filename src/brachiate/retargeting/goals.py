"""Goals of retargeting: functions of the target figure that follow targets, as further rows of the trajectory IK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import Landmarks
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.functions.evaluate import GRADIENTS
from brachiate.functions.expressions import Expression
from brachiate.functions.states import FunctionsOfStates, ModelState, States, values_of_states
from brachiate.functions.tracing import Untraced, trace
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.data import STANDARD_GRAVITY
from brachiate.model.flatten import Placement
from brachiate.model.joints import FLOAT
from brachiate.motion.motion import Motion
from brachiate.validation import Array

GOAL_WEIGHT = 60.0  # [1/unit of the function] as a hand in contact
LANDMARK = "landmark/"  # before a role: that landmark, in source and target


@dataclass(frozen=True)
class Goal:
    """Goal of retargeting: a function of the target figure, and what it should be.

    Functions name links and joints of the target figure, or landmarks of both: ``landmark/left_hand``, ``landmark/head``. Axes of landmarks
    are forward, left and up in upright stance.

    Args:
        function: Expression of :mod:`brachiate.animation`, or Python function ``lambda s: ...`` of the state. Functions of configurations.
        target: A number, or three for a vector; an array with one for each frame; or a function of time. None: what the source has.
        source: The function of the source that is the target, if it is another one.
        weight: [1/unit of the function]: 60 as hands in contact, 120 feet in contact, about 3 limb directions.
    """

    function: Any
    target: Any = None
    source: Any = None
    weight: float = GOAL_WEIGHT

    def __post_init__(self) -> None:
        weight = validation.number(self.weight, "weight of a goal", above=0.0, maximum=1e6)
        object.__setattr__(self, "weight", weight)
        if self.target is not None and self.source is not None:
            raise ArgumentError("A goal has either a target or a function of the source, not both.")


@dataclass(frozen=True)
class GoalRows:
    """Goals as rows of inverse kinematics, in f frames.

    Args:
        functions: Functions of the target figure (m).
        times: Of the frames (f,) [s].
        target: (f, m).
        weight: (m,) [1/unit].
    """

    functions: FunctionsOfStates
    times: Array
    target: Array
    weight: Array

    def frames(self, which: slice) -> GoalRows:
        """Goals of some of the frames."""
        return replace(self, times=self.times[which], target=self.target[which])

    def with_max_weight(self, max_weight: float) -> GoalRows:
        """The same goals with weights limited to this."""
        return replace(self, weight=np.minimum(self.weight, max_weight))

    def moved_by(self) -> Array:
        """Whether a velocity moves any of the functions (nv,)."""
        nv = self.functions.state.model.nv
        used = np.zeros(nv + 1, bool)
        used[self.functions.functions.supported] = True
        return used[:nv]

    def rows(self, q: Array, which: Array, dofs: Array) -> tuple[Array, Array]:
        """Weighted errors (f, m) and their Jacobians (f, m, n) at configurations of some frames, as the trajectory IK has its steps.

        Where a function has no derivative, as an angle of zero, which the first guess may have, it has no part in that step.
        """
        model = self.functions.state.model
        none = np.zeros((len(q), model.nv))
        found = self.functions.evaluate(States(self.times[which], q, none, none), GRADIENTS, strict=False)
        J = found.gradients
        for e in np.flatnonzero(model.tree.kind == FLOAT):  # translations are along axes of the parent there, of the child here
            k, at = model.tree.v_at[e], model.tree.q_at[e] + 3
            R = rotations.to_matrix(q[:, at : at + 4])
            J[:, :, k : k + 3] = J[:, :, k : k + 3] @ R.transpose(0, 2, 1)
        return self.weight * (found.u - self.target[which]), self.weight[:, None] * J[:, :, dofs]

    def errors(self, q: Array) -> dict[str, float]:
        """Largest distance of each function from its target, by name."""
        none = np.zeros((len(q), self.functions.state.model.nv))
        distance = self.functions.evaluate(States(self.times, q, none, none)).u - self.target
        f = self.functions.functions
        return {name: float(np.linalg.norm(distance[:, f.coordinates_of(name)], axis=1).max(initial=0.0)) for name in f.functions}


def goal_rows(goals: Mapping[str, Any], motion: Motion, source: Landmarks, target: Landmarks) -> GoalRows:
    """Goals of a motion, checked.

    Args:
        goals: By name: :class:`Goal`, or a function that is to be what it is in the source.
        motion: Motion of the source.
        source: Landmarks of its figure.
        target: Landmarks of the target figure.
    """
    if not isinstance(goals, Mapping) or not goals:
        raise ArgumentError(
            "goals: expected functions by name, such as {'grip': an.distance('landmark/left_hand', 'landmark/right_hand')}, got "
            f"{validation.short_repr(goals)}."
        )
    named = {str(name): goal if isinstance(goal, Goal) else Goal(goal) for name, goal in goals.items()}
    state = _state(target)
    functions = {name: _smooth(name, goal, state) for name, goal in named.items()}
    evaluated = FunctionsOfStates(state, functions)
    f, width = evaluated.functions, {}
    for name in f.functions:
        if f.depends_on(name) != "configurations":
            raise ArgumentError(f"Goal {name!r} depends on {f.depends_on(name)}: goals of retargeting are functions of configurations.")
        width[name] = len(f.coordinates_of(name))
    columns = [_target(name, goal, width[name], functions[name] is not goal.function, motion, source) for name, goal in named.items()]
    weight = np.concatenate([np.full(width[name], goal.weight) for name, goal in named.items()])
    return GoalRows(evaluated, motion.times, np.concatenate(columns, axis=1), weight)


def _state(marks: Landmarks) -> ModelState:
    """State of a figure whose landmarks are points, along the axes of its upright stance."""
    rest = BatchKinematics(marks.model).poses(marks.standing_q[None])
    places = {role: (body, np.zeros(3)) for role, body in marks.bodies.items()} | {
        role: (p.body, p.position) for role, p in marks.points.items()
    }
    points = {LANDMARK + role: Placement(body, rest.R[body, 0].T @ marks.axes, at) for role, (body, at) in places.items()}
    return ModelState(marks.model, np.array(STANDARD_GRAVITY), points)


def _smooth(name: str, goal: Goal, state: ModelState) -> Any:
    """The function; where a norm, distance or angle is to be zero, where it has no derivative, its vector."""
    if isinstance(goal.target, (int, float)) and goal.target == 0 and not isinstance(goal.function, Untraced):
        found = trace(name, goal.function, state)  # type: ignore[arg-type]
        if isinstance(found, Expression) and found.vector is not None:
            return found.vector
    return goal.function


def _target(name: str, goal: Goal, width: int, zero: bool, motion: Motion, source: Landmarks) -> Array:
    """Target of one goal in every frame (f, width)."""
    frames, what = len(motion), f"target of goal {name!r}"
    if zero:
        return np.zeros((frames, width))
    if goal.target is None:
        function = goal.function if goal.source is None else goal.source
        none = np.zeros((frames, motion.figure.nv))
        try:
            found = values_of_states(_state(source), {name: function}, States(motion.times, motion.q, none, none), 0)[name]
        except BrachiateError as error:
            error.args = (f"Goal {name!r}, of the source {motion.figure.name!r}: {error} Or give the goal a target or a source.",)
            raise
    elif callable(goal.target):
        found = np.array([validation.reals(goal.target(float(t)), what, f"{width} numbers") for t in motion.times], float)
    else:
        found = validation.reals(goal.target, what, f"{width} numbers, or as many for each frame").astype(float)
    expected = f"{what}: expected {'a number' if width == 1 else '3 numbers'}, or as many for each of the {frames} frames"
    if found.shape in ((), (3,)) and found.size == width:
        found = np.broadcast_to(found, (frames, width))
    if found.shape == (frames,) and width == 1:
        found = found[:, None]
    if found.shape != (frames, width):
        raise ArgumentError(f"{expected}, got shape {found.shape}.")
    if not np.isfinite(found).all():
        frame = int(np.argwhere(~np.isfinite(found))[0, 0])
        raise ArgumentError(f"{what}: not finite in frame {frame} ({motion.times[frame]:.4g} s).")
    return np.array(found)
