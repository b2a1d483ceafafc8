"""Closed loops against Pinocchio and MuJoCo: a monkey hanging by both hands from the bar of a swing, and long chains with five loops.

``python benchmarks/run.py loops [--quick] [--json FILE]``
"""

from __future__ import annotations

import sys

import numpy as np

import connect_cut
import native
from brachiate.model.model import Model
from brachiate.world.world import World
from loop_adapters import Problem, consistent_start
from loop_comparison import Conditions, compare
from mechanisms import chain_with_loops, monkey_swing_model
from results import Row, scaling_row, time_row
from timing import best_times, pin_to_one_core, time_calls
from tree_adapters import COMPILED_LOOP, PYTHON_CALL

DT, CHAIN_DT = 1e-3, 1e-4  # [s]
TOLERANCE = 1e-9  # of accelerations by two methods, relative to the largest
CHAIN_LENGTHS, QUICK_CHAIN_LENGTHS = (100, 300, 1000), (100,)  # links
CHAIN_SPEED = 0.1  # [rad/s]
CHAIN_LINK_STEPS = 20_000  # links × steps of the trajectory of which gap and drift are measured
# Tolerance of accelerations per links²: the mass matrix of a chain of 1000 has a condition number of 3e11 in joint coordinates.
CHAIN_ROUND_OFF = 2e-11
MAX_TIME_PER_LINK_RATIO = 1.5  # target: time per link of a chain of 1000 over that of a chain of 100


def rows(quick: bool = False) -> list[Row]:
    """All rows; ``quick``: only the shortest chain."""
    libraries, notes = native.load(("pinocchio_constrained", "mujoco"))
    for note in notes:
        print(note, file=sys.stderr)
    pin_to_one_core()
    swing = monkey_swing_model()
    return [
        *compare("monkey swing", Problem(swing, consistent_start(swing), DT), Conditions(), libraries, notes),
        *connect_cut.rows(monkey_swing_model(("left",)), swing),
        *unit_vector_rows(swing),
        *chain_rows(QUICK_CHAIN_LENGTHS if quick else CHAIN_LENGTHS, libraries, notes),
    ]


def unit_vector_rows(model: Model) -> list[Row]:
    """Accelerations by the default method against the published unit-vector method, if the results agree."""
    world = World()
    world.add(model, "mechanism")
    world.data.q[:], world.data.v[:] = consistent_start(model)
    calls = {method: lambda method=method: world.forward_dynamics(method=method) for method in ("fast", "unit-vector")}
    fast, published = (np.array(call()) for call in calls.values())
    difference = float(np.abs(fast - published).max() / np.abs(fast).max())
    if not difference < TOLERANCE:
        print(f"unit-vector method omitted: accelerations differ by {difference:.1e} of the largest", file=sys.stderr)
        return []
    times = best_times({method: time_calls(call) for method, call in calls.items()})
    passes = model.nv - 3 * len(model.loops) + 1
    note = f"unit-vector method, by brachiate: {passes} passes of inverse dynamics; accelerations differ by {difference:.0e} of the largest"
    more = {
        "brachiate_call": "forward_dynamics()", "peer_call": "forward_dynamics(method='unit-vector')",
        "relative_difference": difference, "note": note,
    }  # fmt: skip
    task = f"forward dynamics, {PYTHON_CALL}"
    return [time_row(task, "monkey swing", times["fast"], "unit-vector method", times["unit-vector"], **more)]


def chain_rows(lengths: tuple[int, ...], libraries: dict, notes: list[str]) -> list[Row]:
    """Steps of chains with five loops, and how the time per link grows from the shortest to the longest chain."""
    found = {n: _chain_rows(n, libraries, notes) for n in lengths}
    rows = [row for of_length in found.values() for row in of_length]
    shortest, longest = min(lengths), max(lengths)
    short, long = (_times_per_link(found[n]) for n in (shortest, longest))
    factors = {library: long[library] / short[library] for library in long if library in short}
    own = factors.pop("brachiate", None)
    if shortest == longest or not own:
        return rows
    peers = {f"target: {MAX_TIME_PER_LINK_RATIO:g}": MAX_TIME_PER_LINK_RATIO, **factors}
    task = f"time per link, chain {longest} / chain {shortest}"
    return rows + [scaling_row(task, "chain, 5 loops", own, peer, factor) for peer, factor in peers.items()]


def _chain_rows(n: int, libraries: dict, notes: list[str]) -> list[Row]:
    model = chain_with_loops(n)
    problem = Problem(model, consistent_start(model, CHAIN_SPEED), CHAIN_DT)
    conditions = Conditions(
        styles=(COMPILED_LOOP,), all_gains=False, steps=CHAIN_LINK_STEPS // n, timed_steps=None, round_off=CHAIN_ROUND_OFF * n**2
    )
    found = compare(f"chain {n}, 5 loops", problem, conditions, libraries, notes)
    return [row | {f"{side}_us_per_link": row[f"{side}_us"] and row[f"{side}_us"] / n for side in ("brachiate", "peer")} for row in found]


def _times_per_link(rows: list[Row]) -> dict[str, float]:
    """Time per link [µs], by library."""
    times = {"brachiate": rows[0]["brachiate_us_per_link"]} if rows else {}
    times |= {row["peer"]: row["peer_us_per_link"] for row in rows}
    return {library: time for library, time in times.items() if time}
