"""Controls of rollouts: torques, or joint targets with gains, checked and as arrays for compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.contact.stepping.step_control import StepControl
from brachiate.errors import ArgumentError
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.model import Model
from brachiate.rollout.control_law import ControlCommands, target_control, torque_control
from brachiate.validation import Array
from brachiate.world.named_values import coordinate_values

MAX_GAIN = 1e12


@dataclass(frozen=True, eq=False)
class JointTargets:
    """Targets of all joints, followed by PD control within the torque and speed limits of the motors.

    The torque of a coordinate is ``torque + stiffness (q ⊖ q_now) − damping v``; damping is implicit, so that any gains are stable.

    Args:
        q: Target configurations of the world, shape (n, k, nq) or one that NumPy broadcasts to it, such as (k, nq): for n rollouts, in k
            intervals of equal length. Values of free joints are not used.
        stiffness: One number for all joints, values by name (the others zero), or (nv,) [N·m/rad or N/m].
        damping: Likewise [N·m·s/rad or N·s/m].
        torque: Added to it (feedforward): shape (n, k, nv) or one that broadcasts to it [N·m or N].
        constant: Whether every step is repeated with the torques that were found, constant over the step: then these torques alone
            reproduce the motion to the bit. It takes up to twice as long.
    """

    q: ArrayLike
    stiffness: ArrayLike | Mapping[str, Any]
    damping: ArrayLike | Mapping[str, Any] = 0.0
    torque: ArrayLike | None = None
    constant: bool = False


class RolloutLaw(NamedTuple):
    """Control law of one thread."""

    handle: ArrayHandle
    rollout: Array  # (1,) which rollout is made: to be set before
    damped: bool  # whether motors add damping to joints


class Controls:
    """Checked controls of n rollouts of some steps; ``law(mean)`` is what compiled code takes.

    Args:
        model: Of the world.
        given: Joint targets, or torques of shape (n, k, nv) or one that broadcasts to it.
        n: Number of rollouts.
        steps: Steps of each; a multiple of the number of intervals k.
        every: Steps of a row of the result.
    """

    def __init__(self, model: Model, given: JointTargets | ArrayLike, n: int, steps: int, every: int) -> None:
        self.model, self.rows, self.every = model, steps // every, every
        self.targets, self.gains = None, np.zeros((2, model.nv))
        self.constant = isinstance(given, JointTargets) and bool(given.constant)
        torque: Any = given
        if isinstance(given, JointTargets):
            torque = given.torque
            self.targets = _commands(given.q, n, steps, model.nq, "joint targets q")
            _check_quaternions(model, self.targets)
            self.gains = np.array(
                [_gains(model, value, what) for value, what in ((given.stiffness, "stiffness"), (given.damping, "damping"))]
            )
        self.torques = None if torque is None else _commands(torque, n, steps, model.nv, "torques")
        if self.targets is None and self.torques is not None:
            np.clip(self.torques, -model.effort, model.effort, out=self.torques)
        elif self.targets is not None and self.torques is not None and self.torques.shape[1] != self.targets.shape[1]:
            self.targets, self.torques = _same_intervals(self.targets, self.torques, steps)
        commands = self.targets if self.targets is not None else self.torques
        assert commands is not None
        self.interval = steps // commands.shape[1]

    def law(self, mean: Array) -> RolloutLaw:
        """Control law for one thread, which writes mean torques into ``mean`` (n, rows, nv)."""
        nq, nv, commands = self.model.nq, self.model.nv, self.targets if self.targets is not None else self.torques
        assert commands is not None
        law = torque_control if self.targets is None else target_control
        arrays = ControlCommands(
            rollout=np.zeros(1, np.int64), interval=np.array([self.interval, commands.shape[1]]), every=np.array([self.every, self.rows]),
            torque=_flat(self.torques), target=_flat(self.targets), stiffness=self.gains[0], damping=self.gains[1],
            effort=self.model.effort, speed=self.model.speed, passive_damping=self.model.tree.damping,
            push=np.zeros(nv), state=np.zeros(nv, np.int64), constant=np.array([int(self.constant)]),
            repeats=np.zeros(1, np.int64), present=np.zeros(nq), error=np.zeros(nv), mean=mean.reshape(-1),
        )  # fmt: skip
        damped = bool(self.gains[1].any())
        checks = int(self.constant or (damped and bool(np.isfinite(self.model.effort).any())))
        control = StepControl(np.array([law.address]), np.array([checks]), np.zeros(0))
        return RolloutLaw(ArrayHandle(control, arrays), arrays.rollout, damped)


def _flat(commands: Array | None) -> Array:
    return np.zeros(0) if commands is None else np.ascontiguousarray(commands).reshape(-1)


def _commands(values: ArrayLike, n: int, steps: int, size: int, what: str) -> Array:
    """Commands (n, k, size) of finite numbers, k a divisor of the number of steps."""
    expected = f"({n}, k, {size}) or a shape that broadcasts to it, for {n} rollouts in k intervals"
    array = validation.reals(values, what, expected)
    if array.ndim == 0 or array.ndim > 3 or array.shape[-1] != size or (array.ndim == 3 and array.shape[0] not in (1, n)):
        raise ArgumentError(f"{what}: expected shape {expected}, got {array.shape}.")
    if not np.isfinite(array).all():
        i = tuple(int(index[0]) for index in np.nonzero(~np.isfinite(array)))
        raise ArgumentError(f"{what}: every number must be finite, got {array[i]} at {list(i)}.")
    k = array.shape[-2] if array.ndim > 1 else 1
    if k == 0 or steps % k:
        raise ArgumentError(
            f"{what}: {steps} steps cannot be divided into {k} equal intervals. Give a number of intervals that divides them."
        )
    return np.array(np.broadcast_to(array, (n, k, size)), float)


def _same_intervals(targets: Array, torques: Array, steps: int) -> tuple[Array, Array]:
    """Targets and feedforward torques with as many intervals as the finer of both, or one for each step."""
    k = max(targets.shape[1], torques.shape[1])
    k = k if k % targets.shape[1] == 0 and k % torques.shape[1] == 0 else steps
    return np.repeat(targets, k // targets.shape[1], axis=1), np.repeat(torques, k // torques.shape[1], axis=1)


def _check_quaternions(model: Model, targets: Array) -> None:
    """Refuse quaternions of length zero."""
    tree = model.tree
    for kind, at in zip(tree.kind.tolist(), tree.q_at.tolist(), strict=True):
        if kind == BALL and (np.square(targets[..., at : at + 4]).sum(axis=-1) <= 1e-24).any():
            joint = next(name for name, place in model.joints.items() if place.q.start <= at < place.q.stop)
            raise ArgumentError(f"joint targets q: a quaternion of {joint!r} is zero, which is not a rotation. Start from model.neutral.")


def _gains(model: Model, value: ArrayLike | Mapping[str, Any], what: str) -> Array:
    """Gains of all coordinates (nv,), zero for those of free joints."""
    if not isinstance(value, Mapping) and np.ndim(value) == 0:
        value = np.full(model.nv, validation.number(value, what, minimum=0.0, maximum=MAX_GAIN))
    gains = coordinate_values(model, value, what, MAX_GAIN).copy()
    if (gains < 0.0).any():
        raise ArgumentError(f"{what}: expected numbers of at least 0, got {gains.min():g} for {model.coordinates[int(gains.argmin())]!r}.")
    for kind, k in zip(model.tree.kind.tolist(), model.tree.v_at.tolist(), strict=True):
        if kind == FLOAT:
            gains[k : k + 6] = 0.0
    return gains
