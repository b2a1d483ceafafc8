"""Speed of the dynamics filter: control steps of a walk with 28 joint angles in every mode; and its whole-body QP against placo's.

Everything is timed from outside, by wrapping methods of the filter; every walk is run several times, and the fastest time of every step
counts, so that other load of the machine does not. Placo (whole-body inverse dynamics as a QP) gets the same body, states, contacts and
tasks, step by step along the same walk, alternating with ours: see placo_peer.py. Ours includes collision detection and the kinematics of
the reference, and an angular momentum task, which placo does not have.
"""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import native
from brachiate import figures, procedural
from brachiate.filter.offline import TRACKING_MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.motion.motion import Motion
from brachiate.progress import ProgressBar
from brachiate.retargeting.retarget import retarget
from brachiate.validation import Array
from placo_states import States
from race import one_core
from rows import Row, row

SPEED, STRIDE, SECONDS = 1.0, 0.6, 4.0  # [m/s], [m], [s] of a walk that human28 has the strength for; the default one is too fast for it
TURNS, FEW = 7, 3  # walks in every mode; quick
PLACO = "placo==0.10.2"
SAME = 1e-9  # of the largest load: by which two equations of motion may differ if they are of the same body

# What is timed, by class and method. Parts of a step do not overlap, but that the solver is a part of the plan.
PARTS = {
    "control": "brachiate.filter.tracking.tracker:MotionTracker.control",
    "plan": "brachiate.filter.tracking.centroidal_mpc:CentroidalMpc.plan",
    "predict": "brachiate.filter.online.reference_stream:ReferenceStream.predict",
    "solver": "brachiate.centroidal.planner:CentroidalPlanner.solve_in_place",
    "input": "brachiate.filter.online.reference_stream:ReferenceStream.take",
    "state": "brachiate.filter.tracking.whole_body_controller:WholeBodyController.update_state",
    "qp": "brachiate.filter.tracking.whole_body_controller:WholeBodyController.solve",
    "simulate": "brachiate.simulate.contact_integrator:ContactIntegrator.advance",
}
SHOWN = {
    "step": "step without the plan",
    "plan": "plan: problem and solution",
    "solver": "plan: solver",
    "predict": "plan: prediction of the reference",
    "input": "step: input frame",
    "state": "step: state and swing feet",
    "qp": "step: whole-body QP",
    "simulate": "step: simulation",
}
STATISTICS: dict[str, Callable[[Array], float]] = {
    "mean": lambda x: float(x.mean()),
    "p99": lambda x: float(np.percentile(x, 99)),
    "max": lambda x: float(x.max()),
}
GOALS = {("step", "mean"): 100e-6, ("step", "p99"): 400e-6, ("plan", "mean"): 1e-3, ("plan", "p99"): 4e-3}  # [s], of the mode online
GOAL = 3.0  # times as fast as placo

Spans = dict[str, list[tuple[float, float]]]  # [s] when each call of a part began and ended


def rows(quick: bool = False) -> list[Row]:
    one_core()
    reference = walk()
    with tempfile.TemporaryDirectory() as folder:
        peer = placo(reference, Path(folder))
        times, peers = race(reference, peer, FEW if quick else TURNS)
        if peer:
            peer.close()
    found = [line for mode in TRACKING_MODES for line in own_rows(mode, times[mode], reference.dt)]
    return found + (peer.rows(times[peer.mode], peers) if peer else [])


def walk() -> Reference:
    """A ready-made walk, as human28 walks it."""
    clip = procedural.make_clip("walk", speed=SPEED, step_length=STRIDE, seconds=SECONDS)
    return make_reference(retarget(Motion.from_clip(clip), figures.human28()).motion)


def found_part(name: str) -> tuple[Any, str]:
    """Class and method of a part."""
    module, _, path = PARTS[name].partition(":")
    owner, _, method = path.partition(".")
    try:
        place = getattr(importlib.import_module(module), owner)
        getattr(place, method)
    except (ImportError, AttributeError) as gone:
        raise SystemExit(
            f"{PARTS[name]} is not there any more ({gone}): say in PARTS of {Path(__file__).name} what does its work."
        ) from None
    return place, method


@contextmanager
def stopwatches() -> Iterator[Spans]:
    """Note when every part begins and ends."""
    spans: Spans = {name: [] for name in PARTS}
    before = []

    def watched(call: Callable[..., Any], note: Callable[[tuple[float, float]], None]) -> Callable[..., Any]:
        @functools.wraps(call)
        def run(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                note((start, time.perf_counter()))

        return run

    try:
        for name in PARTS:
            place, method = found_part(name)
            before.append((place, method, getattr(place, method)))
            setattr(place, method, watched(getattr(place, method), spans[name].append))
        yield spans
    finally:
        for place, method, call in before:
            setattr(place, method, call)


class Steps:
    """Seconds that every step took, and every part in it; of several walks the fastest. ``failure``: time and reason of a fall."""

    def __init__(self, spans: Spans, failure: object = None) -> None:
        self.failure = failure
        starts = np.array([start for start, _ in spans["control"]])
        if len(starts) < 2:
            raise SystemExit("The filter did not take two steps that could be timed.")
        last = max(end for calls in spans.values() for _, end in calls)
        self.parts = {"whole": np.diff(starts, append=last)}
        self.calls: dict[str, Array] = {}
        for name in PARTS:
            begun = np.array([start for start, _ in spans[name]])
            took = np.array([end - start for start, end in spans[name]])
            at = np.searchsorted(starts, begun, side="right") - 1  # before the first step: a plan of the whole clip
            self.parts[name] = np.bincount(at[at >= 0], took[at >= 0], len(starts))
            self.calls[name] = np.bincount(at[at >= 0], minlength=len(starts))

    def best(self, other: Steps | None) -> Steps:
        """The faster of both, step by step."""
        if other is not None:
            if len(other.parts["whole"]) != len(self.parts["whole"]):
                raise SystemExit("The same walk took another number of steps the second time: steps cannot be compared.")
            self.parts = {name: np.minimum(x, other.parts[name]) for name, x in self.parts.items()}
        return self

    def of(self, what: str) -> Array:
        """Seconds of each time that something was done."""
        planning = self.parts["plan"] + self.parts["predict"]
        if what == "step":
            return self.parts["whole"] - planning
        calls, seconds = self.calls[what], planning if what == "plan" else self.parts[what]
        return seconds[calls > 0] / calls[calls > 0]


def race(reference: Reference, peer: Peer | None, turns: int) -> tuple[dict[str, Steps], dict[str, Array]]:
    """The fastest times of every mode, and of the peer by kind of contacts, by turns."""
    times: dict[str, Steps] = {}
    peers: dict[str, Array] = {}
    for mode in TRACKING_MODES:
        filter_motion(reference, mode=mode, progress=False)  # compile
    with ProgressBar("walking") as bar:
        for turn in range(turns):
            for n, mode in enumerate(TRACKING_MODES):
                with stopwatches() as spans:
                    result = filter_motion(reference, mode=mode, progress=False)
                times[mode] = Steps(spans, result.failure).best(times.get(mode))
                bar.show((turn + n / len(TRACKING_MODES)) / turns)
            for contacts, x in (peer.times() if peer else {}).items():
                peers[contacts] = np.minimum(x, peers.get(contacts, x))
        bar.show(1.0)
    return times, peers


def own_rows(mode: str, steps: Steps, dt: float) -> list[Row]:
    """Times of a mode; a step is to be faster than real time, and one that is on line as fast as was set out."""
    found = []
    note = f"{mode}: {steps.failure}, so only what came before is timed" if steps.failure else ""
    if mode == "online" and not note:
        note = f"online: every frame is followed as it comes in, so the body is one step behind it, {1000 * dt:g} ms, by construction"
    for what, name in SHOWN.items():
        seconds = steps.of(what)
        for statistic, of in STATISTICS.items() if len(seconds) else ():
            goal = GOALS.get((what, statistic)) if mode == "online" else dt if what == "step" else None
            against = "goal" if mode == "online" else "real time"
            more = {"count": len(seconds), "note": note}
            found.append(row(name, f"{mode}, {statistic}", of(seconds), against if goal else "-", goal, **more))
    return found


class Peer:
    """Placo in a process of its own, with the states of a walk."""

    mode = "preview" if "preview" in TRACKING_MODES else TRACKING_MODES[0]

    def __init__(self, python: Path, reference: Reference, folder: Path) -> None:
        self.states = States(reference)
        with self.states.noted(*found_part("control")):
            filter_motion(reference, mode=self.mode, progress=False)
        self.states.write(folder)
        script = Path(__file__).with_name("placo_peer.py")
        self.process = subprocess.Popen([str(python), str(script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.results = {contacts: {name: np.array(x) for name, x in all.items()} for contacts, all in self._line().items()}
        worst = max(float(found["differs"].max()) for found in self.results.values()) / self.states.load
        if worst > SAME:
            self.close()
            raise native.Missing(f"its equation of motion differs from ours by {worst:.1e} of the largest load")

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise native.Missing("it ended without a word")
        return json.loads(line)

    def times(self) -> dict[str, Array]:
        """Seconds in every state, by kind of contacts."""
        assert self.process.stdin is not None
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        return {contacts: np.array(x) for contacts, x in self._line().items()}

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def rows(self, steps: Steps, peers: dict[str, Array]) -> list[Row]:
        """Both on the same states: looking at the state, and the optimization."""
        mine = (steps.parts["state"] + steps.parts["qp"])[self.states.step]
        found = []
        for contacts, theirs in peers.items():
            results = self.results[contacts]
            for support, these in self.states.supports.items():
                solved = these & results["solved"]
                more: dict[str, Any] = {"count": int(solved.sum()), "unsolved": int((these & ~solved).sum()), "goal": GOAL}
                more |= {"ours_median_us": 1e6 * float(np.median(mine[solved])), "peer_median_us": 1e6 * float(np.median(theirs[solved]))}
                more["note"] = f"{support}, {contacts}: {more['count']} states; {self.states.agreement(results, solved)}"
                for statistic, of in STATISTICS.items():
                    times = of(mine[solved]), f"placo, {contacts}", of(theirs[solved])
                    found.append(row("state and whole-body QP", f"{support}, {statistic}", *times, **more))
        return found


def placo(reference: Reference, folder: Path) -> Peer | None:
    """The peer; None, and a word, if it cannot be had."""
    try:
        return Peer(environment(), reference, folder)
    except (native.Missing, OSError, subprocess.SubprocessError) as problem:
        print(f"placo is left out: {problem}", file=sys.stderr)
        return None


def environment() -> Path:
    """Python of an environment with placo, made once: it needs another Pinocchio than ours."""
    folder = native.ENV / PLACO
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / "ready"
    if not done.exists():
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", PLACO]
        with Console(stderr=True).status(f"making an environment with {PLACO}, once (600 MB)"):
            for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], install):
                made = subprocess.run(command, capture_output=True, text=True, check=False)
                if made.returncode:
                    why = (made.stderr or made.stdout).strip().splitlines()
                    raise native.Missing(f"{' '.join(command[1:])}: {why[-1] if why else 'failed'}")
        done.touch()
    return python
