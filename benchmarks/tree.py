"""Dynamics of trees against Pinocchio and MuJoCo: from chains of ten links to a thousand, a human, a robot."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import costs
import native
from brachiate import figures
from brachiate.model.model import Model
from contestants import CALL, FORWARD, LOOP, STEP, TASKS, WAYS, MuJoCo, Ours, Pinocchio, disagreement, random_state
from race import one_core, race
from rows import Row, row

AGREE = 1e-9  # relative to the largest entry; a peer that does not agree has not been asked the same question
PER_LINK = 1.5  # how much longer a link of a chain of 1000 may take than one of a chain of 100
G1 = "share/example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"


def rows(quick: bool = False) -> list[Row]:
    libraries, notes = native.load()
    for note in notes:
        print(note, file=sys.stderr)
    one_core()
    found: list[Row] = []
    for name, model in models():
        print(f"{name}: {len(model.tree.parent)} bodies, {model.nv} velocities", file=sys.stderr, flush=True)
        found += compare(name, model, libraries, notes)
    found.sort(key=lambda r: [f"{t}, {w}" for w in WAYS for t in TASKS].index(r["name"]))
    found += per_link(found) + across(found)
    if not quick:
        found += costs.rows()
    return found


def models() -> Iterator[tuple[str, Model]]:
    yield "human28", figures.human28()
    robot = g1()
    if robot is not None:
        yield "G1", robot
    for n in (10, 100, 1000):
        yield f"chain {n}", figures.chain(n)


def g1() -> Model | None:
    """The Unitree G1 of example-robot-data, floating."""
    from brachiate.io import load_model  # noqa: PLC0415

    try:
        path = Path(str(metadata.distribution("example-robot-data").locate_file("cmeel.prefix"))) / G1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_model(path, floating_base=True)
    except (metadata.PackageNotFoundError, OSError) as problem:
        print(f"G1 is left out: {problem}", file=sys.stderr)
        return None


def compare(name: str, model: Model, libraries: dict, notes: list[str]) -> list[Row]:
    """All tasks, ways and peers of one model, after a check that they compute the same."""
    state = random_state(model)
    own = Ours(model, state)
    peers, found = [], []
    for peer in (Pinocchio, MuJoCo):
        try:
            peers.append(peer(model, state, libraries.get(peer.name.lower())))
        except ImportError as problem:
            print(f"{peer.name} is left out: {problem}", file=sys.stderr)
    for peer in list(peers):
        error, where = disagreement(model, state, peer.results())
        if not error < AGREE:
            print(f"{name}: {peer.name} is left out: {where} differs by {error:.1e} of the largest entry", file=sys.stderr)
            peers.remove(peer)
    for task in TASKS:
        for way in WAYS:
            found += _contest(name, task, way, own, peers, notes)
    for peer in peers:
        peer.close()
    return found


def _contest(name: str, task: str, way: str, own: Ours, peers: list, notes: list[str]) -> list[Row]:
    entrants = {("ours", label): run for label, run in own.runners(task, way).items()}
    for peer in peers:
        entrants.update({(peer.name, label): run for label, run in peer.runners(task, way).items()})
    times = race(entrants)
    fastest = {who: min((t, label) for (w, label), t in times.items() if w == who) for who in {w for w, _ in times}}
    mine, label = fastest["ours"]
    result = []
    for peer in peers:
        theirs, call = fastest.get(peer.name, (None, None))
        more = {"ours_call": label, "peer_call": call}
        if call is None:
            more["note"] = (
                "Pinocchio's Data of 1000 joints takes 32 GB for second derivatives: not measured from Python, and without them in C++."
            )
        if way == LOOP and not call_is_native(call):
            more["note"] = next((n for n in notes if n.startswith(peer.name.lower())), "")
        result.append(row(f"{task}, {way}", name, mine, peer.name, theirs, **more))
    return result


def call_is_native(call: str | None) -> bool:
    return call is not None and call.startswith("C")


def per_link(found: list[Row]) -> list[Row]:
    """Time of a link in a chain of 1000 against one of 100: the algorithms are linear, the caches are not."""
    result = []
    for task in (FORWARD, STEP):
        times = {r["model"]: r["ours_us"] * 1e-6 for r in found if r["name"] == f"{task}, {LOOP}"}
        if {"chain 100", "chain 1000"} <= times.keys():
            name, target = f"{task}, {LOOP}: time per link", f"target: {PER_LINK:g} × chain 100"
            result.append(row(name, "chain 1000", times["chain 1000"] / 1000, target, PER_LINK * times["chain 100"] / 100))
    return result


def across(found: list[Row]) -> list[Row]:
    """Our compiled loop against the peer called from Python: what a user gains who moves a loop over to us."""
    result = []
    for task in TASKS:
        mine = {r["model"]: r["ours_us"] * 1e-6 for r in found if r["name"] == f"{task}, {LOOP}"}
        for r in found:
            if r["name"] == f"{task}, {CALL}" and r["peer_us"]:
                name = f"{task}, our {LOOP} against their {CALL}"
                result.append(row(name, r["model"], mine[r["model"]], r["peer"], r["peer_us"] * 1e-6, peer_call=r["peer_call"]))
    return result
