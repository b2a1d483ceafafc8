"""Closed loops against Pinocchio and MuJoCo: a monkey that hangs by both hands from the bar of a swing."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

import native
from brachiate import figures
from brachiate.doors import Array
from brachiate.kinematics import link_poses
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import Data
from brachiate.model.joints import Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule
from brachiate.simulate.integrators import Integrator
from brachiate.world.world import World
from contestants import CALL, LOOP
from loop_peers import DT, Contestant, Judge, Runner, State, peers, start
from race import fresh, one_core, race, repeated, timed
from rows import Row, row

STEPS = 1000  # of the path that is judged
TURN = 200  # steps of one turn of the race, the same for all
ROPE, BAR = 1.5, 0.6  # [m]
ROPE_MASS, BAR_MASS = 0.5, 2.0  # [kg]
TIES = 5  # of a chain with loops
BEND = 0.5  # [rad] of its zigzag


class Result(NamedTuple):
    """What came out of one contestant: time of a step by its fastest call, largest gap and energy drift of its path."""

    seconds: float
    call: str
    gap: float  # [m]
    drift: float  # [J]


def rows(quick: bool = False) -> list[Row]:
    """Quick or not: there is nothing but timings and paths."""
    libraries, notes = native.load(("pinocchio_constrained", "mujoco"))
    for note in notes:
        print(note, file=sys.stderr)
    one_core()
    return compare("monkey swing", monkey_swing_model(), libraries, notes)


class Ours:
    """Brachiate: a world closes the loops of the model, and semi-implicit Euler steps it."""

    name, agree = "brachiate", 1e-9

    def __init__(self, model: Model, state: State) -> None:
        self.world, self.state = World(), state
        self.world.add(model, "it")
        self.integrator = Integrator(self.world.data, "euler", held=self.world.held)

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Put the state back."""
        self.world.data.q[:], self.world.data.v[:] = self.state

    def runners(self, way: str) -> dict[str, Runner]:
        """Ways to take so many steps from the start, by name."""
        advance = self.integrator.advance
        if way == LOOP:
            return {"advance(dt, n)": timed(lambda n: advance(DT, n, n), self.reset)}
        return {"advance(dt)": fresh(repeated(lambda: advance(DT)), self.reset)}

    def path(self, n: int) -> list[State]:
        """States before, between and after n steps from the start."""
        self.reset()
        Q, V = self.integrator.advance(DT, n)
        return [self.state, *(State(q, v) for q, v in zip(Q, V, strict=True))]

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start."""
        self.reset()
        return {"forward_dynamics": np.array(self.world.forward_dynamics())}


def compare(name: str, model: Model, libraries: dict, notes: list[str]) -> list[Row]:
    """Every peer in both ways of calling, after a check that all are asked the same question."""
    judge, state = Judge(model), start(model)
    print(f"{name}: {model.nv} velocities, {3 * len(model.loops)} rows, gap {judge.gap(state.q):.0e} m", file=sys.stderr, flush=True)
    entrants: list[Contestant] = []
    for make in peers(model, state, libraries):
        try:
            entrants.append(make())
        except ImportError as problem:
            print(f"a peer is left out: {problem}", file=sys.stderr)
    own = Ours(model, state)
    agreed = [c for c in [*entrants, own] if _agrees(judge, state, c)]
    verdicts = {}
    for contestant in agreed:
        if verdict := judge.verdict(contestant.path(STEPS)):
            verdicts[contestant] = verdict
        else:
            print(f"{contestant.name} is left out: it is unstable", file=sys.stderr)
    found = []
    for way in (LOOP, CALL):
        times = race({(c, label): run for c in verdicts for label, run in c.runners(way).items()}, TURN)
        results = {c: Result(*_fastest(times, c), *verdict) for c, verdict in verdicts.items() if c.runners(way)}
        found += [_row(f"step, {way}", name, results.get(own), c.name, r, notes) for c, r in results.items() if c is not own]
    for contestant in entrants:
        contestant.close()
    return found


def _agrees(judge: Judge, state: State, contestant: Contestant) -> bool:
    """Whether a contestant's accelerations at the start are right; say so if not."""
    for call, a in contestant.accelerations().items():
        error = judge.disagreement(state, a)
        if not error < contestant.agree:
            print(f"{contestant.name} is left out: {call} differs by {error:.1e} of the largest torque", file=sys.stderr)
            return False
    return True


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


def monkey_swing_model() -> Model:
    """Monkey on a swing of two stiff ropes and a bar: 31 velocities, 9 rows; all loops are closed in the pose ``reference``.

    The tree is ceiling, left rope, bar, right rope, each on the one before by a ball joint, and the monkey with its free root.
    Loops hold the right rope to the ceiling and both hands to the bar.
    """
    monkey = figures.monkey16()
    hang = monkey.poses["hang"]
    grips = {side: _where(monkey, hang, f"{side}_hand", monkey.sites[f"{side}_grip"].position) for side in ("left", "right")}
    middle = (grips["left"] + grips["right"]) / 2
    half = max(BAR / 2, 2 * abs(grips["left"] - middle)[1])  # the ropes are well outside of the hands
    up, across = np.array((0, 0, ROPE)), np.array((0, 2 * half, 0))
    left_end = middle + across / 2

    b = ModelBuilder("monkey swing")
    hung, stood, rod = (Capsule.between((0, 0, 0), to, 0.012) for to in (-up, up, -across))
    b.link("left_rope", joint=Spherical(effort=0.0), at=left_end + up, mass=ROPE_MASS, shapes=hung)
    b.link("bar", parent="left_rope", joint=Spherical(effort=0.0), at=-up, mass=BAR_MASS, shapes=rod)
    b.link("right_rope", parent="bar", joint=Spherical(effort=0.0), at=-across, mass=ROPE_MASS, shapes=stood)
    b.include("monkey", monkey)
    b.loop("right_top", Spherical(), "world", "right_rope", first_at=left_end - across + up, second_at=up)
    for side, grip in grips.items():
        at = monkey.sites[f"{side}_grip"].position
        b.loop(f"{side}_hold", Spherical(), "bar", f"monkey/{side}_hand", first_at=grip - left_end, second_at=at)
    b.pose("reference", {f"monkey/{name}": hang[joined.q] for name, joined in monkey.joints.items()})
    return b.build()


def chain_with_loops(n: int) -> Model:
    """Hanging chain of ``n`` hinges about y and x by turns, the ends of five of its links tied to the world: 15 rows.

    They are tied where they are in the pose ``reference``, a zigzag: a straight chain that is tied cannot move at all.
    """
    chain = figures.chain(n, joint="alternating")
    zigzag = {f"joint{i + 1}": BEND * (1 - i % 4) / (2 if i == 0 else 1) for i in range(0, n, 2)}
    q, end = chain.configuration(zigzag), chain.sites["end"].position
    b = ModelBuilder(f"chain {n} with loops")
    b.include("chain", chain)
    for k in range(1, TIES + 1):
        link = f"link{round(k * n / TIES)}"
        b.loop(f"tie{k}", Spherical(), "world", f"chain/{link}", first_at=_where(chain, q, link, end), second_at=end)
    b.pose("reference", {f"chain/{joint}": angle for joint, angle in zigzag.items()})
    return b.build()


def _where(model: Model, q: Array, link: str, at: Array) -> Array:
    """A point of a link in the world at a configuration."""
    data = Data(model)
    data.assign(q=q)
    rotation, position = link_poses(data)[link]
    return position + rotation @ at
