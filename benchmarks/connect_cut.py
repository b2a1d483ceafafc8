"""Structure changes: time to connect a hand of the monkey to the bar of the swing, and to cut the connection again.

Brachiate and Pinocchio also compute the connection impulse. The speed of the hand relative to the bar after it is reported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import convert
from brachiate.model.joints import Spherical
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.world import World
from loop_adapters import ReferenceSolution, State, consistent_start, pinocchio_constraint
from results import Row, time_row
from tree_adapters import PYTHON_CALL

ROUNDS, REPETITIONS = 25, 20  # rounds over all libraries; consecutive repetitions in a round, so that caches are warm
TOLERANCE = 1e-9  # [m/s or rad/s] of velocities after the impulse
TARGET = 100e-6  # [s] of connecting, and of cutting
HAND, BAR = "swing/monkey/right_grip", "swing/bar"


class ConnectAdapter(Protocol):
    """Connecting and cutting the hand by one library; :meth:`reset` restores the state of the free hand."""

    name: str
    method: str  # description
    has_impulse: bool  # whether it computes the connection impulse

    def reset(self) -> None:
        """Restore the state of the free hand."""
        ...

    def connect(self) -> None:
        """Connect the hand."""
        ...

    def cut(self) -> None:
        """Cut the connection."""
        ...

    def velocity(self) -> Array:
        """Present velocities, in brachiate's coordinates."""
        ...


def rows(released: Model, closed: Model) -> list[Row]:
    """Rows for a swing held by one hand (``released``) and by both (``closed``, whose last loop is the second hand)."""
    state, reference = consistent_start(released), ReferenceSolution(closed)
    expected = reference.after_impulse(state)
    own = Brachiate(released, state)
    adapters: list[ConnectAdapter] = [own]
    for make in (MuJoCoRecompiled, MuJoCoSwitched, Pinocchio):
        try:
            adapters.append(make(closed, state))
        except ImportError as problem:
            print(f"a peer is omitted: {problem}", file=sys.stderr)
    speeds = {adapter: _relative_speed(adapter, reference, state, expected) for adapter in adapters}
    times = _best_times([adapter for adapter, speed in speeds.items() if speed is not None])
    found = []
    for action in ("connect", "cut"):
        own_seconds = times[own][action]
        found += [_row(action, own_seconds, adapter, times[adapter][action], speeds) for adapter in times if adapter is not own]
        found.append(time_row(f"{action}, {PYTHON_CALL}", "monkey swing", own_seconds, "target", TARGET, brachiate_call=f"world.{action}"))
    return found


def _relative_speed(adapter: ConnectAdapter, reference: ReferenceSolution, state: State, expected: Array) -> float | None:
    """Speed of the hand relative to the bar after connecting [m/s]; None if an impulse was computed and is wrong."""
    adapter.reset()
    adapter.connect()
    v = adapter.velocity()
    adapter.cut()
    error = np.abs(v - expected).max()
    if adapter.has_impulse and not error < TOLERANCE:
        print(f"{adapter.name} omitted: velocities after connecting differ by {error:.1e}", file=sys.stderr)
        return None
    return float(np.linalg.norm((reference.jacobian(state.q) @ v)[-3:]))


def _best_times(adapters: list[ConnectAdapter]) -> dict[ConnectAdapter, dict[str, float]]:
    """Times of connecting and cutting [s], the minimum over all rounds."""
    best = {adapter: {"connect": np.inf, "cut": np.inf} for adapter in adapters}
    for _ in range(ROUNDS):
        for adapter in adapters:
            for _ in range(REPETITIONS):
                adapter.reset()
                for action, change in (("connect", adapter.connect), ("cut", adapter.cut)):
                    best[adapter][action] = min(best[adapter][action], _elapsed(change))
    return best


def _elapsed(change: Callable[[], None]) -> float:
    start = time.perf_counter()
    change()
    return time.perf_counter() - start


def _row(action: str, own_seconds: float, adapter: ConnectAdapter, seconds: float, speeds: dict[ConnectAdapter, float | None]) -> Row:
    own_speed, speed = next(iter(speeds.values())), speeds[adapter]
    note = f"{adapter.name}: {adapter.method}; relative speed of hand and bar afterwards {speed:.0e} m/s (brachiate {own_speed:.0e})"
    more: dict[str, Any] = {"brachiate_call": f"world.{action}", "peer_method": adapter.method, "note": note}
    if action == "connect":
        more |= {"brachiate_relative_speed_m_s": own_speed, "peer_relative_speed_m_s": speed}
    return time_row(f"{action}, {PYTHON_CALL}", "monkey swing", own_seconds, adapter.name, seconds, **more)


class Brachiate:
    """``World.connect``: locates the hand, adds the joint, detects redundant rows, applies the impulse, and reports."""

    name, method, has_impulse = "brachiate", "world.connect and world.cut", True

    def __init__(self, released: Model, state: State) -> None:
        self.world, self.state = World(), state
        self.world.add(released, "swing")

    def reset(self) -> None:
        """Restore the state of the free hand."""
        self.world.data.q[:], self.world.data.v[:] = self.state

    def connect(self) -> None:
        """Connect the hand."""
        self.connection = self.world.connect(HAND, BAR, Spherical())

    def cut(self) -> None:
        """Cut the connection."""
        self.world.cut(self.connection)

    def velocity(self) -> Array:
        """Present velocities, in brachiate's coordinates."""
        return self.world.data.v.copy()


class MuJoCo:
    """Base of both MuJoCo variants: no impulse, velocities stay unchanged. The point of the grip is given in advance."""

    has_impulse = False

    def __init__(self, closed: Model, state: State) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.source, self.table, self.state = mujoco, closed, convert.joint_table(closed), state
        self.spec = convert.to_mujoco(closed)
        impedance = mujoco.mjMAXIMP
        self.solver = {"solref": (2e-3, 1.0), "solimp": (impedance, impedance, 0.001, 0.5, 2.0)}
        convert.close_mujoco(self.spec, closed, **self.solver)
        self.model = self.spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(closed, self.table, state.q)
        self.v = convert.mujoco_basis(closed, self.table, state.q) @ state.v
        self.cut()

    def reset(self) -> None:
        """Restore the state of the free hand."""
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v

    def cut(self) -> None:
        """Cut the connection."""
        raise NotImplementedError

    def velocity(self) -> Array:
        """Present velocities, in brachiate's coordinates."""
        return convert.mujoco_basis(self.source, self.table, self.state.q).T @ self.data.qvel


class MuJoCoRecompiled(MuJoCo):
    """A new structure in MuJoCo: edit the spec, and recompile the model."""

    name = "MuJoCo, recompiled"
    method = "an equality constraint is added to or deleted from the MjSpec, then spec.recompile; no impulse"

    def connect(self) -> None:
        """Connect the hand."""
        last = len(self.source.loops) - 1
        self.spec.add_equality(
            name=f"loop{last}", type=self.mj.mjtEq.mjEQ_CONNECT, objtype=self.mj.mjtObj.mjOBJ_SITE,
            name1=f"loop{last}_0", name2=f"loop{last}_1", **self.solver,
        )  # fmt: skip
        self.model, self.data = self.spec.recompile(self.model, self.data)

    def cut(self) -> None:
        """Cut the connection."""
        self.spec.delete(self.spec.equalities[-1])
        self.model, self.data = self.spec.recompile(self.model, self.data)


class MuJoCoSwitched(MuJoCo):
    """An equality constraint that was declared in advance, activated and deactivated: the structure is fixed when compiling."""

    name = "MuJoCo, switched"
    method = "data.eq_active of an equality constraint declared in advance: no change of structure; no impulse"

    def connect(self) -> None:
        """Connect the hand."""
        self.data.eq_active[-1] = 1

    def cut(self) -> None:
        """Cut the connection."""
        self.data.eq_active[-1] = 0


class Pinocchio:
    """Pinocchio with a changing list of constraints. The point of the grip is given in advance."""

    name, has_impulse = "Pinocchio", True
    method = "a RigidConstraintModel is added or deleted, then initConstraintDynamics; impulseDynamics after connecting"

    def __init__(self, closed: Model, state: State) -> None:
        import pinocchio as pin  # noqa: PLC0415

        self.pin, self.source, self.table = pin, closed, convert.joint_table(closed)
        self.model = convert.to_pinocchio(closed)
        self.data = self.model.createData()
        self.constraints, self.constraint_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        *present, self.new = convert.pinocchio_loop_points(closed, self.table)
        for points in present:
            self._append(points)
        self.q, self.v = convert.to_pinocchio_q(closed, self.table, state.q), state.v[self.table.v_index]
        self.reset()

    def _append(self, points: convert.LoopPoints) -> None:
        constraint = pinocchio_constraint(self.model, points)
        self.constraints.append(constraint)
        self.constraint_data.append(constraint.createData())

    def reset(self) -> None:
        """Restore the state of the free hand."""
        self.current_v = self.v

    def connect(self) -> None:
        """Connect the hand."""
        pin, model, data, constraints, constraint_data = self.pin, self.model, self.data, self.constraints, self.constraint_data
        self._append(self.new)
        pin.initConstraintDynamics(model, data, constraints, constraint_data)
        pin.computeJointJacobians(model, data, self.q)
        for constraint, own_data in zip(constraints, constraint_data, strict=True):
            constraint.calc(model, data, own_data)
        # By the Jacobian: given the constraints, impulseDynamics ignores their second joints (Pinocchio 4.1).
        J = pin.getConstraintsJacobian(model, data, constraints, constraint_data)
        self.current_v = pin.impulseDynamics(model, data, self.q, self.v, J)

    def cut(self) -> None:
        """Cut the connection."""
        del self.constraints[-1], self.constraint_data[-1]
        self.pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)

    def velocity(self) -> Array:
        """Present velocities, in brachiate's coordinates."""
        result = np.empty(self.source.nv)
        result[self.table.v_index] = self.current_v
        return result
