"""The race of everyone who takes steps of a mechanism with closed loops, after a check that all are asked the same question."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from brachiate.errors import StateError
from brachiate.simulate.integrators import Integrator
from brachiate.validation import Array
from brachiate.world.world import World
from contestants import CALL, LOOP
from loop_peers import Contestant, Judge, Problem, State, peers
from race import Runner, fresh, race, repeated, timed
from rows import Row, row


class Terms(NamedTuple):
    """What a race is about."""

    ways: tuple[str, ...] = (LOOP, CALL)
    gains: bool = True  # also peers with other gains than the careful ones
    steps: int = 1000  # of the path that is judged
    turn: int | None = 1000  # steps of one turn, the same for all: the path that is judged; None: as many as take a while
    round_off: float = 0.0  # how far accelerations may be off for all, relative to the largest torque


class Result(NamedTuple):
    """What came out of one contestant: time of a step by its fastest call, largest gap and energy drift of its path."""

    seconds: float
    call: str
    gap: float  # [m]
    drift: float  # [J]


class Ours:
    """Brachiate: a world closes the loops of the model, and semi-implicit Euler steps it."""

    name, agree = "brachiate", 1e-9

    def __init__(self, problem: Problem) -> None:
        self.world, (model, self.state, self.dt) = World(), problem
        self.world.add(model, "it")
        self.integrator = Integrator(self.world.data, "euler", constraint_set=self.world.constraint_set)

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Put the state back."""
        self.world.data.q[:], self.world.data.v[:] = self.state

    def runners(self, way: str) -> dict[str, Runner]:
        """Ways to take so many steps from the start, by name."""
        advance, dt = self.integrator.advance, self.dt
        if way == LOOP:
            return {"advance(dt, n)": timed(lambda n: advance(dt, n, n), self.reset)}
        return {"advance(dt)": fresh(repeated(lambda: advance(dt)), self.reset)}

    def path(self, n: int) -> list[State]:
        """States before, between and after n steps from the start."""
        self.reset()
        Q, V = self.integrator.advance(self.dt, n)
        return [self.state, *(State(q, v) for q, v in zip(Q, V, strict=True))]

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start."""
        self.reset()
        return {"forward_dynamics": np.array(self.world.forward_dynamics())}


def compare(name: str, problem: Problem, terms: Terms, libraries: dict, notes: list[str]) -> list[Row]:
    """Everyone who is right against us, in every way of calling."""
    model, state, _ = problem
    judge = Judge(model)
    print(f"{name}: {model.nv} velocities, {3 * len(model.loops)} rows, gap {judge.gap(state.q):.0e} m", file=sys.stderr, flush=True)
    entrants: list[Contestant] = []
    for make in (*peers(problem, libraries, terms.gains), lambda: Ours(problem)):
        try:
            entrants.append(make())
        except ImportError as missing:
            print(f"a peer is left out: {missing}", file=sys.stderr)
    agreed = [c for c in entrants if _agrees(judge, state, c, terms.round_off)]
    verdicts = {c: verdict for c in agreed if (verdict := _verdict(judge, c, terms.steps))}
    found = []
    for way in terms.ways:
        times = race({(c, label): run for c in verdicts for label, run in c.runners(way).items()}, terms.turn)
        results = {c: Result(*_fastest(times, c), *verdict) for c, verdict in verdicts.items() if c.runners(way)}
        *others, own = (results.get(c) for c in entrants)
        found += [_row(f"step, {way}", name, own, c.name, r, notes) for c, r in zip(entrants, others) if r]
    for contestant in entrants:
        contestant.close()
    return found


def _agrees(judge: Judge, state: State, contestant: Contestant, round_off: float) -> bool:
    """Whether a contestant's accelerations at the start are right; say so if not."""
    for call, a in contestant.accelerations().items():
        error = judge.disagreement(state, a)
        if not error < max(contestant.agree, round_off):
            print(f"{contestant.name} is left out: {call} differs by {error:.1e} of the largest torque", file=sys.stderr)
            return False
    return True


def _verdict(judge: Judge, contestant: Contestant, steps: int) -> tuple[float, float] | None:
    """Largest gap and drift along a contestant's path; None, and a word, if there is none."""
    try:
        verdict, why = judge.verdict(contestant.path(steps)), "it is unstable"
    except StateError as problem:
        verdict, why = None, str(problem)
    if verdict is None:
        print(f"{contestant.name} is left out: {why}", file=sys.stderr)
    return verdict


def _fastest(times: dict[tuple[Contestant, str], float], contestant: Contestant) -> tuple[float, str]:
    return min((seconds, call) for (whose, call), seconds in times.items() if whose is contestant)


def _row(name: str, model: str, mine: Result | None, peer: str, theirs: Result, notes: list[str]) -> Row:
    more: dict[str, Any] = {}
    for whose, result in (("ours", mine), ("peer", theirs)):
        _, more[f"{whose}_call"], more[f"{whose}_residual_m"], more[f"{whose}_drift_j"] = result or [None] * 4
    library = peer.partition(",")[0].lower()
    if name.endswith(LOOP) and not theirs.call.startswith("C"):
        more["note"] = next((note for note in notes if note.startswith(library)), "")
    return row(name, model, mine.seconds if mine else None, peer, theirs.seconds, **more)
