"""Data: the workspace of one model. Every number that is computed lives here, none in the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brachiate.compiled import Handle
from brachiate.doors import Array
from brachiate.errors import ArgumentError, StateError
from brachiate.model.model import Model
from brachiate.model.rooms import NOT_FINITE, SINGULAR, Work

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_PUSHES = 8


class Data:
    """State, results and scratch arrays of a model; ``data.key`` is what compiled entries take.

    ``data.q``, ``data.v``, ``data.a`` and ``data.tau`` are views: write to them in place.
    """

    def __init__(self, model: Model, gravity: ArrayLike = STANDARD_GRAVITY, pushes: int = _PUSHES) -> None:
        self.model = model
        tree = model.tree
        nb, nv, packed = len(tree.parent), model.nv, len(tree.above)
        f, i = np.zeros, lambda n: np.zeros(n, np.int64)
        self.work = Work(
            q=model.neutral.copy(), v=f(nv), a=f(nv), tau=f(nv), gravity=np.array(gravity, float), status=i(2),
            push_count=i(1), push_body=i(pushes), push_point=f((pushes, 3)), push_force=f((pushes, 6)), push_in_link=i(pushes),
            origin=f((nb, 3)), R=f((nb, 3, 3)), x=f((nb, 3)), S=f((nv, 6)), inertia=f((nb, 10)), composite=f((nb, 10)),
            V=f((nb, 6)), C=f((nb, 6)), A=f((nb, 6)), F=f((nb, 6)), bias=f(nv), L=f(packed), D=f(nv),
            c=f((nb, 3)), IA=f((nb, 21)), PA=f((nb, 6)), U=f((nv, 6)), u=f(nv), y=f(nv),
        )  # fmt: skip
        self.handle = Handle(tree, self.work)
        self.key = self.handle.key
        self.q, self.v, self.a, self.tau = self.work.q, self.work.v, self.work.a, self.work.tau

    def assign(self, **arrays: ArrayLike) -> None:
        """Copy arrays into the workspace (q, v, a, tau), refusing a wrong size with the right one."""
        for name, given in arrays.items():
            target: Array = getattr(self, name)
            if type(given) is not np.ndarray:
                given = _as_array(given, name)
            if given.shape != target.shape:
                raise ArgumentError(
                    f"{name}: expected {len(target)} numbers (one for each of the model's {_WHAT[name]}), got shape {given.shape}."
                )
            target[:] = given

    def check(self, status: int) -> None:
        """Turn a kernel's status into an error that names the coordinate."""
        if status == 0:
            return
        if status == NOT_FINITE:
            raise StateError(self._not_finite())
        if status == SINGULAR:
            raise StateError(
                f"The mass matrix is singular at coordinate {self.model.coordinates[int(self.work.status[1])]!r}: in this posture nothing resists it. "
                "Give the link some rotational inertia, or the joint an armature."
            )
        raise AssertionError(f"unknown status {status}")

    def _not_finite(self) -> str:
        for name in ("q", "v", "a", "tau"):
            bad = np.flatnonzero(~np.isfinite(getattr(self, name)))
            if len(bad):
                value = getattr(self, name)[bad[0]]
                return f"{name}[{bad[0]}] is {value} ({self._whose(name, int(bad[0]))}): every number must be finite."
        return "A quaternion in q is zero: it is no rotation. Start from model.neutral, or set joints by name."

    def _whose(self, name: str, number: int) -> str:
        if name == "q":
            joint = next(j for j, place in self.model.joints.items() if place.q.start <= number < place.q.stop)
            return f"joint {joint!r}"
        return f"coordinate {self.model.coordinates[number]!r}"


_WHAT = {"q": "configuration numbers", "v": "velocities", "a": "accelerations", "tau": "velocities"}


def _as_array(given: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: expected numbers, got {given!r}.") from None
