"""Workspace of one model: state, results and scratch arrays. The model itself is constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.errors import ArgumentError, StateError
from brachiate.model.arrays import Work
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.model import Model
from brachiate.model.status import (
    CANNOT_SEPARATE,
    LIMIT_PASSED,
    LOG_FULL,
    LOOP_OPEN,
    NOT_CONVERGED,
    NOT_FINITE,
    OVERFLOW,
    SINGULAR,
    TOO_MANY_CONTACTS,
)
from brachiate.validation import Array

# Messages of status codes that say nothing of a coordinate. Integrators handle some of them and should never raise these.
_STATUS_MESSAGES = {
    OVERFLOW: "The result is not finite: velocities, accelerations or torques are too large.",
    NOT_CONVERGED: "An iteration did not converge. Use a shorter step, or smaller forces.",
    LOOP_OPEN: "Loop constraints opened within the step and could not be closed again. Use a shorter step, or lower speeds.",
    LIMIT_PASSED: "A joint limit was passed within the step, and the joint could not be stopped there. Use a shorter step.",
    TOO_MANY_CONTACTS: "There are more contacts than can be solved together. Use simpler shapes, or ignore_contact for some pairs.",
    CANNOT_SEPARATE: "Shapes overlap, and joints or other shapes hold them there. Move them apart, or let them pass: ignore_contact.",
    LOG_FULL: "The contact log is full. Record fewer states in one run.",
}
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_PUSHES = 8


class Data:
    """State, results and scratch arrays of a model; ``data.key`` is the argument of compiled functions.

    ``data.q``, ``data.v``, ``data.a`` and ``data.tau`` are views: write to them in place.
    """

    def __init__(self, model: Model, gravity: ArrayLike = STANDARD_GRAVITY, pushes: int = _PUSHES) -> None:
        if not isinstance(model, Model):
            raise ArgumentError(f"Data is the workspace of a model, got {model!r}.")
        gravity = validation.vector(gravity, "gravity")
        pushes = int(validation.number(pushes, "pushes", minimum=0, maximum=1e6))
        self.model = model
        tree = model.tree
        nb, nv, packed = len(tree.parent), model.nv, len(tree.above)
        f, i = np.zeros, lambda n: np.zeros(n, np.int64)
        self.work = Work(
            q=model.neutral.copy(), v=f(nv), a=f(nv), tau=f(nv), gravity=gravity, status=i(2),
            push_count=i(1), push_body=i(pushes), push_point=f((pushes, 3)), push_force=f((pushes, 6)), push_in_link=i(pushes),
            origin=f((nb, 3)), R=f((nb, 3, 3)), x=f((nb, 3)), S=f((nv, 6)), inertia=f((nb, 10)), composite=f((nb, 10)),
            V=f((nb, 6)), C=f((nb, 6)), A=f((nb, 6)), F=f((nb, 6)), bias=f(nv), L=f(packed), D=f(nv),
            c=f((nb, 3)), IA=f((nb, 21)), PA=f((nb, 6)), U=f((nv, 6)), u=f(nv), y=f(nv),
        )  # fmt: skip
        self.handle = ArrayHandle(tree, self.work)
        self.key = self.handle.key
        self._state = (self.work.q, self.work.v, self.work.a, self.work.tau)
        self._shapes = {name: array.shape for name, array in zip(_CONTENT, self._state, strict=True)}

    @property
    def q(self) -> Array:
        """Configuration (nq,): write to it in place."""
        return self.work.q

    @property
    def v(self) -> Array:
        """Velocity (nv,): write to it in place."""
        return self.work.v

    @property
    def a(self) -> Array:
        """Acceleration (nv,): write to it in place."""
        return self.work.a

    @property
    def tau(self) -> Array:
        """Torques (nv,): write to them in place."""
        return self.work.tau

    def __reduce__(self) -> Any:
        """Copy and pickle the model and the values; addresses are only valid in this process."""
        return _restored, (self.model, tuple(self.work))

    def checked(self, name: str, values: ArrayLike) -> Array:
        """Return an argument (q, v, a, tau) as a contiguous float array; raise an error if its size is wrong."""
        expected = self._shapes[name]
        if type(values) is np.ndarray and values.shape == expected and values.dtype is _FLOAT and values.flags.carray:
            q, v, a, tau = self._state
            if values is q or values is v or values is a or values is tau:
                return values.copy()  # one of our arrays, perhaps passed as another argument: must not change while arguments are copied
            return values  # fast path of the usual case
        try:
            array = np.array(values, float) if not np.iscomplexobj(values) else None
        except (TypeError, ValueError):
            array = None
        if array is None:
            raise ArgumentError(f"{name}: expected numbers, got {values!r}.")
        if array.shape != expected:
            raise ArgumentError(
                f"{name}: expected {expected[0]} numbers (one for each of the model's {_CONTENT[name]}), got shape {array.shape}."
            )
        return array

    def assign(self, **arrays: ArrayLike) -> None:
        """Copy arrays into the workspace (q, v, a, tau); all of them, or none if one has a wrong size."""
        for name in arrays:
            validation.one_of(name, tuple(_CONTENT), "array to assign")
        checked = {name: self.checked(name, values) for name, values in arrays.items()}
        for name, values in checked.items():
            getattr(self, name)[:] = values

    def raise_status(self, status: int, **arguments: Array) -> NoReturn:
        """Raise the error of a kernel's status code, naming the coordinate; ``arguments``: those of the rejected call."""
        if status == NOT_FINITE:
            raise StateError(self._not_finite(arguments or {name: getattr(self, name) for name in _CONTENT}))
        if status == SINGULAR:
            raise StateError(
                f"The mass matrix is singular at coordinate {self.model.coordinates[int(self.work.status[1])]!r}: "
                "in this posture it has no inertia. Give the link some rotational inertia, or the joint an armature."
            )
        raise StateError(
            _STATUS_MESSAGES.get(status, f"The computation ended with status {status}, which has no description: please report it.")
        )

    def _not_finite(self, arrays: Mapping[str, Array]) -> str:
        for name, values in arrays.items():
            bad = np.flatnonzero(~np.isfinite(values))
            if len(bad):
                return f"{name}[{bad[0]}] is {values[bad[0]]} ({self._owner(name, int(bad[0]))}): every number must be finite."
        q, tree = arrays.get("q", self.q), self.model.tree
        starts = (int(at) + 3 * int(kind == FLOAT) for kind, at in zip(tree.kind, tree.q_at, strict=False) if kind >= BALL)
        if any(float(q[k : k + 4] @ q[k : k + 4]) <= 1e-24 for k in starts):
            return "A quaternion in q is zero, which is not a rotation. Start from model.neutral, or set joints by name."
        return "The state is finite, but what follows from it is not: velocities or forces are too large, or a step is too long for them."

    def _owner(self, name: str, number: int) -> str:
        if name == "q":
            joint = next(j for j, place in self.model.joints.items() if place.q.start <= number < place.q.stop)
            return f"joint {joint!r}"
        return f"coordinate {self.model.coordinates[number]!r}"


def _restored(model: Model, work: tuple[Array, ...]) -> Data:
    """Return a data from its values."""
    data = Data(model, pushes=len(Work(*work).push_body))
    for array, values in zip(data.work, work, strict=True):
        array[...] = values
    return data


_CONTENT = {"q": "configuration coordinates", "v": "velocities", "a": "accelerations", "tau": "velocities"}
_FLOAT = np.dtype(float)
