"""Speed of the dynamics filter: control steps of a walk of human28 in every mode, and its whole-body QP against placo's.

``python benchmarks/run.py filter [--quick] [--json FILE]``

Methods of the filter are wrapped and timed from outside. Every walk is run several times, and the minimum over the runs counts for each
step, to exclude other load of the machine. Placo (whole-body inverse dynamics as a QP) gets the same body, states, contacts and tasks of
the same walk, alternating with brachiate: see placo_qp.py. The time of brachiate includes collision detection, the kinematics of the
reference, and an angular momentum task, which placo does not have.
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

import native
from brachiate import figures, procedural
from brachiate.filter.offline import TRACKING_MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.motion.motion import Motion
from brachiate.progress import ProgressBar
from brachiate.retargeting.retarget import retarget
from brachiate.validation import Array
from placo_states import WalkStates
from results import Row, time_row
from timing import pin_to_one_core

SPEED, STEP_LENGTH, SECONDS = 1.0, 0.6, 4.0  # [m/s], [m], [s] of the walk; the default speed exceeds the torque limits of human28
RUNS, QUICK_RUNS = 7, 3  # in every mode
PLACO = "placo==0.10.2"
MAX_MODEL_DIFFERENCE = 1e-9  # of joint torques in placo's model of the same body, relative to the largest

# Timed methods, by name of the part. Parts do not overlap, except that the solver is a part of the plan.
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
LABELS = {
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
ONLINE_TARGETS = {("step", "mean"): 100e-6, ("step", "p99"): 400e-6, ("plan", "mean"): 1e-3, ("plan", "p99"): 4e-3}  # [s]
PLACO_TARGET_RATIO = 3.0

CallTimes = dict[str, list[tuple[float, float]]]  # start and end of every call, by part [s]


def rows(quick: bool = False) -> list[Row]:
    pin_to_one_core()
    reference = reference_walk()
    with tempfile.TemporaryDirectory() as folder:
        placo = start_placo(reference, Path(folder))
        times, placo_times = best_times(reference, placo, QUICK_RUNS if quick else RUNS)
        if placo:
            placo.close()
    found = [row for mode in TRACKING_MODES for row in mode_rows(mode, times[mode], reference.dt)]
    return found + (placo.rows(times[placo.mode], placo_times) if placo else [])


def reference_walk() -> Reference:
    """The sample walk retargeted to human28."""
    clip = procedural.make_clip("walk", speed=SPEED, step_length=STEP_LENGTH, seconds=SECONDS)
    return make_reference(retarget(Motion.from_clip(clip), figures.human28()).motion)


def find_part(name: str) -> tuple[Any, str]:
    """Class and name of the method of a part."""
    module, _, path = PARTS[name].partition(":")
    owner, _, method = path.partition(".")
    try:
        cls = getattr(importlib.import_module(module), owner)
        getattr(cls, method)
    except (ImportError, AttributeError) as problem:
        raise SystemExit(f"{PARTS[name]} does not exist ({problem}): update PARTS of {Path(__file__).name}.") from None
    return cls, method


@contextmanager
def time_parts() -> Iterator[CallTimes]:
    """Record start and end of all calls of all parts."""
    call_times: CallTimes = {name: [] for name in PARTS}
    originals = []

    def timed(call: Callable[..., Any], record: Callable[[tuple[float, float]], None]) -> Callable[..., Any]:
        @functools.wraps(call)
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                record((start, time.perf_counter()))

        return run

    try:
        for name in PARTS:
            cls, method = find_part(name)
            originals.append((cls, method, getattr(cls, method)))
            setattr(cls, method, timed(getattr(cls, method), call_times[name].append))
        yield call_times
    finally:
        for cls, method, call in originals:
            setattr(cls, method, call)


class StepTimes:
    """Time of every control step and of every part in it [s]; over several runs the minimum. ``failure``: time and reason of a fall."""

    def __init__(self, call_times: CallTimes, failure: object = None) -> None:
        self.failure = failure
        starts = np.array([start for start, _ in call_times["control"]])
        if len(starts) < 2:
            raise SystemExit("Fewer than two control steps were recorded.")
        last = max(end for calls in call_times.values() for _, end in calls)
        self.parts = {"whole": np.diff(starts, append=last)}
        self.calls: dict[str, Array] = {}
        for name in PARTS:
            call_starts = np.array([start for start, _ in call_times[name]])
            seconds = np.array([end - start for start, end in call_times[name]])
            at = np.searchsorted(starts, call_starts, side="right") - 1  # -1: the plan of the whole clip, before the first step
            self.parts[name] = np.bincount(at[at >= 0], seconds[at >= 0], len(starts))
            self.calls[name] = np.bincount(at[at >= 0], minlength=len(starts))

    def minimum(self, other: StepTimes | None) -> StepTimes:
        """The minimum of two runs, step by step."""
        if other is not None:
            if len(other.parts["whole"]) != len(self.parts["whole"]):
                raise SystemExit("Two runs of the same walk have different numbers of control steps.")
            self.parts = {name: np.minimum(x, other.parts[name]) for name, x in self.parts.items()}
        return self

    def of(self, part: str) -> Array:
        """Times of all executions of a part, or of ``"step"``: control steps without planning [s]."""
        planning = self.parts["plan"] + self.parts["predict"]
        if part == "step":
            return self.parts["whole"] - planning
        calls, seconds = self.calls[part], planning if part == "plan" else self.parts[part]
        return seconds[calls > 0] / calls[calls > 0]


def best_times(reference: Reference, placo: PlacoProcess | None, runs: int) -> tuple[dict[str, StepTimes], dict[str, Array]]:
    """Minimum step times over all runs: of brachiate by mode, and of placo by contact model. Runs alternate."""
    times: dict[str, StepTimes] = {}
    placo_times: dict[str, Array] = {}
    for mode in TRACKING_MODES:
        filter_motion(reference, mode=mode, progress=False)  # compiles
    with ProgressBar("walking") as bar:
        for run in range(runs):
            for n, mode in enumerate(TRACKING_MODES):
                with time_parts() as call_times:
                    result = filter_motion(reference, mode=mode, progress=False)
                times[mode] = StepTimes(call_times, result.failure).minimum(times.get(mode))
                bar.show((run + n / len(TRACKING_MODES)) / runs)
            for contacts, seconds in (placo.times() if placo else {}).items():
                placo_times[contacts] = np.minimum(seconds, placo_times.get(contacts, seconds))
        bar.show(1.0)
    return times, placo_times


def mode_rows(mode: str, steps: StepTimes, dt: float) -> list[Row]:
    """Times of a mode against real time or, online, against targets."""
    found = []
    note = f"{mode}: {steps.failure}; only the steps before are timed" if steps.failure else ""
    if mode == "online" and not note:
        note = f"online: a frame is tracked when it arrives, so the body is one step behind it ({1000 * dt:g} ms)"
    for part, label in LABELS.items():
        seconds = steps.of(part)
        for statistic, value in STATISTICS.items() if len(seconds) else ():
            limit = ONLINE_TARGETS.get((part, statistic)) if mode == "online" else dt if part == "step" else None
            peer = ("target" if mode == "online" else "real time") if limit else "-"
            found.append(time_row(label, f"{mode}, {statistic}", value(seconds), peer, limit, count=len(seconds), note=note))
    return found


class PlacoProcess:
    """Placo in a process of its own (placo_qp.py), with the states of a walk."""

    mode = "preview" if "preview" in TRACKING_MODES else TRACKING_MODES[0]

    def __init__(self, python: Path, reference: Reference, folder: Path) -> None:
        self.states = WalkStates(reference)
        with self.states.record(*find_part("control")):
            filter_motion(reference, mode=self.mode, progress=False)
        self.states.write(folder)
        script = Path(__file__).with_name("placo_qp.py")
        self.process = subprocess.Popen([str(python), str(script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = self._read_line().items()
        self.solutions = {contacts: {name: np.array(x) for name, x in solution.items()} for contacts, solution in answer}
        difference = max(float(solution["torque_difference"].max()) for solution in self.solutions.values()) / self.states.max_torque
        if difference > MAX_MODEL_DIFFERENCE:
            self.close()
            raise native.MissingDependency(f"its equation of motion differs by {difference:.1e} of the largest torque")

    def _read_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise native.MissingDependency("its process ended without output")
        return json.loads(line)

    def times(self) -> dict[str, Array]:
        """Time of kinematics and QP in every state [s], by contact model."""
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return {contacts: np.array(seconds) for contacts, seconds in self._read_line().items()}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def rows(self, steps: StepTimes, placo_times: dict[str, Array]) -> list[Row]:
        """Times of state update and QP in the same states."""
        own_times = (steps.parts["state"] + steps.parts["qp"])[self.states.step]
        found = []
        for contacts, seconds in placo_times.items():
            solution = self.solutions[contacts]
            for support, in_support in self.states.supports.items():
                solved = in_support & solution["solved"]
                own, peer = own_times[solved], seconds[solved]
                more: dict[str, Any] = {"count": int(solved.sum()), "unsolved": int((in_support & ~solved).sum())}
                more |= {"brachiate_median_us": 1e6 * float(np.median(own)), "peer_median_us": 1e6 * float(np.median(peer))}
                more |= {"target_ratio": PLACO_TARGET_RATIO}
                more["note"] = f"{support}, {contacts}: {more['count']} states; {self.states.agreement(solution, solved)}"
                for statistic, value in STATISTICS.items():
                    model = f"{support}, {statistic}"
                    found.append(time_row("state and whole-body QP", model, value(own), f"placo, {contacts}", value(peer), **more))
        return found


def start_placo(reference: Reference, folder: Path) -> PlacoProcess | None:
    """Placo's process; None, with a message, if placo is not available."""
    try:
        return PlacoProcess(native.peer_python(PLACO, [PLACO], 600), reference, folder)
    except (native.MissingDependency, OSError, subprocess.SubprocessError) as problem:
        print(f"placo omitted: {problem}", file=sys.stderr)
        return None
