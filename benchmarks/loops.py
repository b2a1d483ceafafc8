"""Closed loops against Pinocchio and MuJoCo: a monkey that hangs by both hands from the bar of a swing, and long chains."""

from __future__ import annotations

import sys

import numpy as np

import changes
import native
from brachiate.model.model import Model
from brachiate.world.world import World
from contestants import CALL, LOOP
from loop_peers import Problem, start
from loop_race import Terms, compare
from mechanisms import chain_with_loops, monkey_swing_model
from race import one_core, race, repeated
from rows import Row, growth_row, row

DT, CHAIN_DT = 1e-3, 1e-4  # [s]
SAME = 1e-9  # accelerations by two methods, relative to the largest
CHAINS, QUICK_CHAINS = (100, 300, 1000), (100,)
CHAIN_SPEED = 0.1  # [rad/s]
CHAIN_PATH = 20_000  # links times steps: the longer a chain, the shorter the path that is judged
# What round-off may do, times the square of the links: in joint coordinates the mass matrix of 1000 has a condition of 3e11.
CHAIN_ROUND_OFF = 2e-11
PER_LINK = 1.5  # how much longer a link of a chain of 1000 may take than one of a chain of 100


def rows(quick: bool = False) -> list[Row]:
    """All rows; quick: no long chains."""
    libraries, notes = native.load(("pinocchio_constrained", "mujoco"))
    for note in notes:
        print(note, file=sys.stderr)
    one_core()
    swing = monkey_swing_model()
    return [
        *compare("monkey swing", Problem(swing, start(swing), DT), Terms(), libraries, notes),
        *changes.rows(monkey_swing_model(("left",)), swing),
        *by_unit_vectors(swing),
        *chains(QUICK_CHAINS if quick else CHAINS, libraries, notes),
    ]


def by_unit_vectors(model: Model) -> list[Row]:
    """Our accelerations against the method as published, if they are the same."""
    world, state = World(), start(model)
    world.add(model, "it")
    world.data.q[:], world.data.v[:] = state
    ways = {method: lambda method=method: world.forward_dynamics(method=method) for method in ("fast", "unit-vector")}
    fast, published = (np.array(way()) for way in ways.values())
    difference = float(np.abs(fast - published).max() / np.abs(fast).max())
    if not difference < SAME:
        print(f"the unit vector method is left out: accelerations differ by {difference:.1e} of the largest", file=sys.stderr)
        return []
    times = race({name: repeated(way) for name, way in ways.items()})
    passes = model.nv - 3 * len(model.loops) + 1
    note = f"unit vectors: ours too, as published, {passes} passes of inverse dynamics; they differ by {difference:.0e} of the largest"
    more = {"ours_call": "forward_dynamics()", "peer_call": "the same, method='unit-vector'", "difference": difference, "note": note}
    return [row(f"accelerations, {CALL}", "monkey swing", times["fast"], "unit vectors", times["unit-vector"], **more)]


def chains(lengths: tuple[int, ...], libraries: dict, notes: list[str]) -> list[Row]:
    """Steps of chains with five loops; then how everyone's time per link grows from the shortest to the longest."""
    found = {n: _chain(n, libraries, notes) for n in lengths}
    few, many = min(lengths), max(lengths)
    short, long = (_per_link(found[n]) for n in (few, many))
    grown = {who: long[who] / short[who] for who in long if who in short}
    mine, all_rows = grown.pop("ours", None), [r for of_one in found.values() for r in of_one]
    if few == many or not mine:
        return all_rows
    peers = {f"target: {PER_LINK:g}": PER_LINK, **grown}
    return all_rows + [growth_row(f"time per link, {many} / {few}", "chain, 5 loops", mine, who, x) for who, x in peers.items()]


def _chain(n: int, libraries: dict, notes: list[str]) -> list[Row]:
    model = chain_with_loops(n)
    problem = Problem(model, start(model, CHAIN_SPEED), CHAIN_DT)
    terms = Terms(ways=(LOOP,), gains=False, steps=CHAIN_PATH // n, turn=None, round_off=CHAIN_ROUND_OFF * n**2)
    found = compare(f"chain {n}, 5 loops", problem, terms, libraries, notes)
    return [r | {f"{side}_us_per_link": r[f"{side}_us"] and r[f"{side}_us"] / n for side in ("ours", "peer")} for r in found]


def _per_link(found: list[Row]) -> dict[str, float]:
    """Time per link of everyone who was timed [µs]."""
    times = {"ours": found[0]["ours_us_per_link"]} if found else {}
    times |= {r["peer"]: r["peer_us_per_link"] for r in found}
    return {who: t for who, t in times.items() if t}
