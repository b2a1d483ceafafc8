"""Tree dynamics against Pinocchio and MuJoCo: a human figure, the Unitree G1, and chains of 10, 100 and 1000 links.

``python benchmarks/run.py tree [--quick] [--json FILE]``
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import native
from brachiate import figures
from brachiate.model.model import Model
from results import Row, time_row
from timing import best_times, pin_to_one_core
from tree_adapters import (
    CALLING_STYLES,
    COMPILED_LOOP,
    FORWARD,
    PYTHON_CALL,
    STEP,
    TASKS,
    Brachiate,
    MuJoCo,
    Pinocchio,
    largest_difference,
    random_state,
)

TOLERANCE = 1e-9  # of a peer's results, relative to the largest entry; peers beyond are omitted
MAX_TIME_PER_LINK_RATIO = 1.5  # target: time per link of a chain of 1000 over that of a chain of 100
G1 = "share/example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"


def rows(quick: bool = False) -> list[Row]:
    libraries, notes = native.load()
    for note in notes:
        print(note, file=sys.stderr)
    pin_to_one_core()
    found: list[Row] = []
    for name, model in models():
        print(f"{name}: {len(model.tree.parent)} bodies, {model.nv} velocities", file=sys.stderr, flush=True)
        found += compare(name, model, libraries, notes)
    found.sort(key=lambda r: [f"{t}, {s}" for s in CALLING_STYLES for t in TASKS].index(r["task"]))
    found += time_per_link_rows(found) + loop_against_call_rows(found)
    return found


def models() -> Iterator[tuple[str, Model]]:
    yield "human28", figures.human28()
    robot = g1()
    if robot is not None:
        yield "G1", robot
    for n in (10, 100, 1000):
        yield f"chain {n}", figures.chain(n)


def g1() -> Model | None:
    """The Unitree G1 of example-robot-data, with a floating base; None if not installed."""
    from brachiate.io import load_model  # noqa: PLC0415

    try:
        path = Path(str(metadata.distribution("example-robot-data").locate_file("cmeel.prefix"))) / G1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_model(path, floating_base=True)
    except (metadata.PackageNotFoundError, OSError) as problem:
        print(f"G1 omitted: {problem}", file=sys.stderr)
        return None


def compare(name: str, model: Model, libraries: dict, notes: list[str]) -> list[Row]:
    """All tasks, calling styles and peers for one model, after a check that the results agree."""
    state = random_state(model)
    own = Brachiate(model, state)
    peers, found = [], []
    for peer in (Pinocchio, MuJoCo):
        try:
            peers.append(peer(model, state, libraries.get(peer.name.lower())))
        except ImportError as problem:
            print(f"{peer.name} omitted: {problem}", file=sys.stderr)
    for peer in list(peers):
        error, result = largest_difference(model, state, peer.results())
        if not error < TOLERANCE:
            print(f"{name}: {peer.name} omitted: {result} differs by {error:.1e} of the largest entry", file=sys.stderr)
            peers.remove(peer)
    for task in TASKS:
        for style in CALLING_STYLES:
            found += _task_rows(name, task, style, own, peers, notes)
    for peer in peers:
        peer.close()
    return found


def _task_rows(name: str, task: str, style: str, own: Brachiate, peers: list, notes: list[str]) -> list[Row]:
    runners = {("brachiate", call): run for call, run in own.runners(task, style).items()}
    for peer in peers:
        runners.update({(peer.name, call): run for call, run in peer.runners(task, style).items()})
    times = best_times(runners)
    libraries = {library for library, _ in times}
    fastest = {library: min((t, call) for (which, call), t in times.items() if which == library) for library in libraries}
    own_seconds, own_call = fastest["brachiate"]
    result = []
    for peer in peers:
        peer_seconds, call = fastest.get(peer.name, (None, None))
        more = {"brachiate_call": own_call, "peer_call": call}
        if call is None:
            more["note"] = (
                "Pinocchio's Data of 1000 joints allocates 32 GB for second-order derivatives: measured only in C++, without them."
            )
        if style == COMPILED_LOOP and not (call or "").startswith("C"):
            more["note"] = next((n for n in notes if n.startswith(peer.name.lower())), "")
        result.append(time_row(f"{task}, {style}", name, own_seconds, peer.name, peer_seconds, **more))
    return result


def time_per_link_rows(found: list[Row]) -> list[Row]:
    """Time per link of a chain of 1000 against a chain of 100: the algorithms are O(n), but caches are finite."""
    result = []
    for task in (FORWARD, STEP):
        times = {r["model"]: r["brachiate_us"] * 1e-6 for r in found if r["task"] == f"{task}, {COMPILED_LOOP}"}
        if {"chain 100", "chain 1000"} <= times.keys():
            name, target = f"{task}, {COMPILED_LOOP}: time per link", f"target: {MAX_TIME_PER_LINK_RATIO:g} × chain 100"
            limit = MAX_TIME_PER_LINK_RATIO * times["chain 100"] / 100
            result.append(time_row(name, "chain 1000", times["chain 1000"] / 1000, target, limit))
    return result


def loop_against_call_rows(found: list[Row]) -> list[Row]:
    """Compiled loops of brachiate against Python calls of the peers."""
    result = []
    for task in TASKS:
        own = {r["model"]: r["brachiate_us"] * 1e-6 for r in found if r["task"] == f"{task}, {COMPILED_LOOP}"}
        for r in found:
            if r["task"] == f"{task}, {PYTHON_CALL}" and r["peer_us"]:
                name = f"{task}, {COMPILED_LOOP} against {PYTHON_CALL} of the peer"
                result.append(time_row(name, r["model"], own[r["model"]], r["peer"], r["peer_us"] * 1e-6, peer_call=r["peer_call"]))
    return result
