"""Structure that changes: a hand of the monkey takes hold of the bar of the swing, and lets go, by turns.

Whoever can do it finds velocities that the new loop allows; what speed of the hand against the bar is left is measured.
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
from contestants import CALL
from loop_peers import Judge, State, pinocchio_loop, start
from rows import Row, row

ROUNDS, TURN = 25, 20  # turns of each, and times it connects and cuts in one: the caches are its own again after the first
AGREE = 1e-9  # [m/s or rad/s] of velocities after the impulse
GOAL = 100e-6  # [s] of connecting, and of cutting
HAND, BAR = "it/monkey/right_grip", "it/bar"


class Changer(Protocol):
    """What connects the hand and cuts it again; :meth:`reset` puts back the velocities of the released hand."""

    name: str
    does: str  # by which means
    impulse: bool  # whether velocities change as they must

    def reset(self) -> None:
        """Put the state of the released hand back."""
        ...

    def connect(self) -> None:
        """Let the hand take hold."""
        ...

    def cut(self) -> None:
        """Let the hand go."""
        ...

    def velocity(self) -> Array:
        """Velocities now, in our coordinates."""
        ...


def rows(released: Model, closed: Model) -> list[Row]:
    """Rows for a swing held by one hand and, with one more loop, which is its last, by both."""
    state, judge = start(released), Judge(closed)
    right = judge.after_impulse(state)
    entrants: list[Changer] = []
    for make in (Ours, Recompiled, Switched, Pinocchio):
        try:
            entrants.append(make(closed, state) if make is not Ours else Ours(released, state))
        except ImportError as problem:
            print(f"a peer is left out: {problem}", file=sys.stderr)
    left = {c: _speed_left(c, judge, state, right) for c in entrants}
    times = _alternate([c for c, speed in left.items() if speed is not None])
    found = []
    for what in ("connect", "cut"):
        mine = times[entrants[0]][what]
        found += [_row(what, mine, c, times[c][what], left) for c in times if c is not entrants[0]]
        found.append(row(f"{what}, {CALL}", "monkey swing", mine, "goal", GOAL, ours_call=f"world.{what}"))
    return found


def _speed_left(c: Changer, judge: Judge, state: State, right: Array) -> float | None:
    """Speed of the hand against the bar after connecting [m/s]; None if velocities are wrong that should not be."""
    c.reset()
    c.connect()
    v = c.velocity()
    c.cut()
    if c.impulse and not np.abs(v - right).max() < AGREE:
        print(f"{c.name} is left out: velocities after connecting differ by {np.abs(v - right).max():.1e}", file=sys.stderr)
        return None
    return float(np.linalg.norm((judge.jacobian(state.q) @ v)[-3:]))


def _alternate(entrants: list[Changer]) -> dict[Changer, dict[str, float]]:
    """Seconds of connecting and cutting, the best of many rounds in which all have their turn."""
    best = {c: {"connect": np.inf, "cut": np.inf} for c in entrants}
    for _ in range(ROUNDS):
        for c in entrants:
            for _ in range(TURN):
                c.reset()
                for what, change in (("connect", c.connect), ("cut", c.cut)):
                    best[c][what] = min(best[c][what], _seconds(change))
    return best


def _seconds(change: Callable[[], None]) -> float:
    begun = time.perf_counter()
    change()
    return time.perf_counter() - begun


def _row(what: str, mine: float, c: Changer, theirs: float, left: dict[Changer, float | None]) -> Row:
    ours = next(iter(left))
    note = f"{c.name}: {c.does}; {left[c]:.0e} m/s of the hand against the bar are left ({left[ours]:.0e} by ours)"
    more: dict[str, Any] = {"ours_speed_left": left[ours], "peer_speed_left": left[c]} if what == "connect" else {}
    return row(f"{what}, {CALL}", "monkey swing", mine, c.name, theirs, ours_call=f"world.{what}", peer_does=c.does, note=note, **more)


class Ours:
    """A world: finds where the hand is, adds the joint, looks for rows that say nothing new, gives the impulse, reports."""

    name, does, impulse = "brachiate", "world.connect and world.cut", True

    def __init__(self, released: Model, state: State) -> None:
        self.world, self.state = World(), state
        self.world.add(released, "it")

    def reset(self) -> None:
        """Put the state of the released hand back."""
        self.world.data.q[:], self.world.data.v[:] = self.state

    def connect(self) -> None:
        """Let the hand take hold."""
        self.made = self.world.connect(HAND, BAR, Spherical())

    def cut(self) -> None:
        """Let the hand go."""
        self.world.cut(self.made)

    def velocity(self) -> Array:
        """Velocities now, in our coordinates."""
        return self.world.data.v.copy()


class MuJoCo:
    """What both ways of MuJoCo have in common: no impulse, velocities stay as they are. Where the hand is to hold is known beforehand."""

    impulse = False

    def __init__(self, closed: Model, state: State) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.ours, self.plan, self.state = mujoco, closed, convert.joints(closed), state
        self.spec = convert.to_mujoco(closed)
        stiff = mujoco.mjMAXIMP
        self.solver = {"solref": (2e-3, 1.0), "solimp": (stiff, stiff, 0.001, 0.5, 2.0)}
        convert.close_mujoco(self.spec, closed, **self.solver)
        self.model = self.spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(closed, self.plan, state.q)
        self.v = convert.mujoco_basis(closed, self.plan, state.q) @ state.v
        self.cut()

    def reset(self) -> None:
        """Put the state of the released hand back."""
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v

    def cut(self) -> None:
        """Let the hand go."""
        raise NotImplementedError

    def velocity(self) -> Array:
        """Velocities now, in our coordinates."""
        return convert.mujoco_basis(self.ours, self.plan, self.state.q).T @ self.data.qvel


class Recompiled(MuJoCo):
    """MuJoCo's only way to a new structure: edit the spec, compile it again."""

    name, does = "MuJoCo, recompiled", "an equality is added to or deleted from the mjSpec, then spec.recompile; no impulse"

    def connect(self) -> None:
        """Let the hand take hold."""
        last = len(self.ours.loops) - 1
        self.spec.add_equality(
            name=f"loop{last}", type=self.mj.mjtEq.mjEQ_CONNECT, objtype=self.mj.mjtObj.mjOBJ_SITE,
            name1=f"loop{last}_0", name2=f"loop{last}_1", **self.solver,
        )  # fmt: skip
        self.model, self.data = self.spec.recompile(self.model, self.data)

    def cut(self) -> None:
        """Let the hand go."""
        self.spec.delete(self.spec.equalities[-1])
        self.model, self.data = self.spec.recompile(self.model, self.data)


class Switched(MuJoCo):
    """Not the same thing: who may hold what, and where, is fixed when the model is compiled."""

    name = "MuJoCo, switched"
    does = "one flag, data.eq_active, of an equality compiled in beforehand: not a change of structure; no impulse"

    def connect(self) -> None:
        """Let the hand take hold."""
        self.data.eq_active[-1] = 1

    def cut(self) -> None:
        """Let the hand go."""
        self.data.eq_active[-1] = 0


class Pinocchio:
    """Pinocchio's list of constraints, changed by hand. Where the hand is to hold is known beforehand."""

    name, impulse = "Pinocchio", True
    does = "a RigidConstraintModel and its data are made or deleted, then initConstraintDynamics; to connect, impulseDynamics with the rows"

    def __init__(self, closed: Model, state: State) -> None:
        import pinocchio as pin  # noqa: PLC0415

        self.pin, self.ours, self.plan = pin, closed, convert.joints(closed)
        self.model = convert.to_pinocchio(closed)
        self.data = self.model.createData()
        self.loops, self.work = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        *held, self.new = convert.pinocchio_ends(closed, self.plan)
        for ends in held:
            self._append(ends)
        self.q, self.v = convert.to_pinocchio_q(closed, self.plan, state.q), state.v[self.plan.v]
        self.reset()

    def _append(self, ends: convert.Ends) -> None:
        loop = pinocchio_loop(self.model, ends)
        self.loops.append(loop)
        self.work.append(loop.createData())

    def reset(self) -> None:
        """Put the state of the released hand back."""
        self.now = self.v

    def connect(self) -> None:
        """Let the hand take hold."""
        pin, model, data, loops, work = self.pin, self.model, self.data, self.loops, self.work
        self._append(self.new)
        pin.initConstraintDynamics(model, data, loops, work)
        pin.computeJointJacobians(model, data, self.q)
        for loop, its in zip(loops, work, strict=True):
            loop.calc(model, data, its)
        # From the rows: given the constraints themselves, it passes over their second joints (Pinocchio 4.1).
        self.now = pin.impulseDynamics(model, data, self.q, self.v, pin.getConstraintsJacobian(model, data, loops, work))

    def cut(self) -> None:
        """Let the hand go."""
        del self.loops[-1], self.work[-1]
        self.pin.initConstraintDynamics(self.model, self.data, self.loops, self.work)

    def velocity(self) -> Array:
        """Velocities now, in our coordinates."""
        result = np.empty(self.ours.nv)
        result[self.plan.v] = self.now
        return result
