"""Comparison of steps of a mechanism with closed loops: time, loop gap and energy drift, after a check that accelerations agree."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from brachiate.errors import StateError
from brachiate.simulate.integrators import Integrator
from brachiate.validation import Array
from brachiate.world.world import World
from loop_adapters import LoopAdapter, Problem, ReferenceSolution, State, peer_factories
from results import Row, time_row
from timing import Runner, best_times, time_batch, time_calls, with_reset
from tree_adapters import COMPILED_LOOP, PYTHON_CALL


class Conditions(NamedTuple):
    """Conditions of a comparison."""

    styles: tuple[str, ...] = (COMPILED_LOOP, PYTHON_CALL)
    all_gains: bool = True  # also peers with other than recommended stabilization gains
    steps: int = 1000  # of the trajectory of which gap and drift are measured
    timed_steps: int | None = 1000  # per measurement; None: as many as fill a time slice
    round_off: float = 0.0  # least tolerance of accelerations, relative to the largest torque


class Result(NamedTuple):
    """Time of a step by the fastest call of an adapter, and largest gap and energy drift of its trajectory."""

    seconds: float
    call: str
    gap: float  # [m]
    drift: float  # [J]


class Brachiate:
    """Brachiate: a world with the loops of the model, and semi-implicit Euler."""

    name, tolerance = "brachiate", 1e-9

    def __init__(self, problem: Problem) -> None:
        self.world, (model, self.state, self.dt) = World(), problem
        self.world.add(model, "mechanism")
        self.integrator = Integrator(self.world.data, "euler", constraint_set=self.world.constraint_set)

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Restore the initial state."""
        self.world.data.q[:], self.world.data.v[:] = self.state

    def runners(self, style: str) -> dict[str, Runner]:
        """Runners of n steps from the start, by name of the call."""
        advance, dt = self.integrator.advance, self.dt
        if style == COMPILED_LOOP:
            return {"advance(dt, n)": time_batch(lambda n: advance(dt, n, n), self.reset)}
        return {"advance(dt)": with_reset(time_calls(lambda: advance(dt)), self.reset)}

    def trajectory(self, n: int) -> list[State]:
        """The start and the states after each of n steps."""
        self.reset()
        Q, V = self.integrator.advance(self.dt, n)
        return [self.state, *(State(q, v) for q, v in zip(Q, V, strict=True))]

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start."""
        self.reset()
        return {"forward_dynamics": np.array(self.world.forward_dynamics())}


def compare(name: str, problem: Problem, conditions: Conditions, libraries: dict, notes: list[str]) -> list[Row]:
    """Rows of all peers whose accelerations are correct, for every calling style."""
    model, state, _ = problem
    reference = ReferenceSolution(model)
    size = f"{model.nv} velocities, {3 * len(model.loops)} constraint rows, loop gap {reference.gap(state.q):.0e} m"
    print(f"{name}: {size}", file=sys.stderr, flush=True)
    peers: list[LoopAdapter] = []
    for make in peer_factories(problem, libraries, conditions.all_gains):
        try:
            peers.append(make())
        except ImportError as missing:
            print(f"a peer is omitted: {missing}", file=sys.stderr)
    own = Brachiate(problem)
    correct = [adapter for adapter in (*peers, own) if _is_correct(reference, state, adapter, conditions.round_off)]
    accuracy = {adapter: found for adapter in correct if (found := _gap_and_drift(reference, adapter, conditions.steps))}
    rows = []
    for style in conditions.styles:
        runners = {(adapter, call): run for adapter in accuracy for call, run in adapter.runners(style).items()}
        times = best_times(runners, conditions.timed_steps)
        results = {adapter: Result(*_fastest(times, adapter), *found) for adapter, found in accuracy.items() if adapter.runners(style)}
        rows += [_row(f"step, {style}", name, results.get(own), peer.name, results[peer], notes) for peer in peers if peer in results]
    for adapter in (*peers, own):
        adapter.close()
    return rows


def _is_correct(reference: ReferenceSolution, state: State, adapter: LoopAdapter, round_off: float) -> bool:
    """Whether the accelerations at the start are within tolerance; prints a message if not."""
    for call, a in adapter.accelerations().items():
        error = reference.acceleration_error(state, a)
        if not error < max(adapter.tolerance, round_off):
            print(f"{adapter.name} omitted: {call} differs by {error:.1e} of the largest torque", file=sys.stderr)
            return False
    return True


def _gap_and_drift(reference: ReferenceSolution, adapter: LoopAdapter, steps: int) -> tuple[float, float] | None:
    """Largest loop gap [m] and energy drift [J] of the trajectory; None, with a message, if it diverges."""
    try:
        found, reason = reference.gap_and_drift(adapter.trajectory(steps)), "unstable"
    except StateError as problem:
        found, reason = None, str(problem)
    if found is None:
        print(f"{adapter.name} omitted: {reason}", file=sys.stderr)
    return found


def _fastest(times: dict[tuple[LoopAdapter, str], float], adapter: LoopAdapter) -> tuple[float, str]:
    return min((seconds, call) for (which, call), seconds in times.items() if which is adapter)


def _row(task: str, model: str, own: Result | None, peer: str, other: Result, notes: list[str]) -> Row:
    more: dict[str, Any] = {}
    for side, result in (("brachiate", own), ("peer", other)):
        _, more[f"{side}_call"], more[f"{side}_loop_gap_m"], more[f"{side}_energy_drift_J"] = result or [None] * 4
    library = peer.partition(",")[0].lower()
    if task.endswith(COMPILED_LOOP) and not other.call.startswith("C"):
        more["note"] = next((note for note in notes if note.startswith(library)), "")
    return time_row(task, model, own.seconds if own else None, peer, other.seconds, **more)
