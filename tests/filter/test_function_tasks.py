"""Functions of the motion as tasks of the whole-body QP: laws, peers, targets that cannot be met, and invalid tasks."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.filter.qp_problems import Problem, check_daqp_agrees, check_kkt, fast_only, solved

import brachiate as br
from brachiate import animation as an
from brachiate import procedural
from brachiate.errors import ArgumentError, BrachiateError, StateError, UnknownName
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.deviations import TASK_MISSED
from brachiate.filter.results.result import FilterResult
from brachiate.filter.tasks.function_tasks import MAX_PULL
from brachiate.filter.tasks.task import parse_tasks
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.whole_body.qp import RAYS, ROWS, STRIDE

HAND = an.position("right_hand")
CUP = (0.42, -0.25, 1.15)
GAZE = an.angle(an.axis("head", "x"), an.direction("head", to=CUP))
GAZE_TOLERANCE = np.radians(0.1)


@cache
def standing(seconds: float = 1.4) -> Reference:
    squat, frames = procedural.sample_motion("squat"), round(seconds * 100) + 1
    motion = br.Motion(squat.figure, np.arange(frames) / 100.0, np.repeat(squat.q[:1], frames, axis=0), "stand")
    return br.make_reference(motion)


def filtered(tasks, **options) -> FilterResult:
    return br.filter_motion(standing(), tasks=tasks, mode="preview", **options)


@cache
def reached() -> FilterResult:
    """Reach for a cup and look at it."""
    return filtered({"cup": br.Task(HAND, an.reach(CUP, by=0.8)), "gaze": br.Task(GAZE, tolerance=GAZE_TOLERANCE)})


def test_targets_are_reached_and_held():
    result = reached()
    assert result.success
    cup, gaze = result.tasks["cup"], result.tasks["gaze"]
    assert cup.met
    assert gaze.met
    assert cup.names == ("cup.x", "cup.y", "cup.z")
    assert cup.max_error < 1e-3
    assert gaze.max_error < GAZE_TOLERANCE
    assert 0.5 < cup.reached < 0.8 < cup.times[-1]
    assert np.isfinite(cup.error).all()
    assert len(cup.times) == len(result.motion)
    assert np.abs(cup.value - cup.planned).max() < 2e-3  # also on the way
    assert cup.due.sum() == (cup.times >= 0.8 - 1e-9).sum()
    assert not [deviation for deviation in result.deviations if deviation.cause.startswith(TASK_MISSED)]
    assert {task["name"]: task["met"] for task in result.metrics()["tasks"]} == {"cup": True, "gaze": True}
    assert str(cup).startswith("cup: reached at 0.")


def test_newton_euler_holds_and_contact_forces_are_inside_their_cones():
    result = reached()
    assert max(result.root_residual()) < 1e-9 * 9.81 * result.motion.figure.mass
    history = result.recording.contacts
    for pair in history.pairs:
        if pair.endswith("floor/ground") or " on floor" in pair:
            force = history[pair].force
            assert (np.linalg.norm(force[:, :2], axis=1) <= result.motion.contacts.terrain.friction * force[:, 2] + 1e-6).all()


def test_a_motion_without_tasks_is_the_same():
    plain, empty = (br.filter_motion(standing(), mode="preview", tasks=tasks) for tasks in (None, {}))
    assert np.array_equal(plain.motion.q, empty.motion.q)
    assert not empty.tasks
    assert "tasks" not in empty.metrics()


def digest() -> str:
    """Hash of all states and torques of a run with tasks of every kind of target."""
    tasks = {
        "cup": br.Task(HAND, an.reach(CUP, by=0.5)),
        "gaze": br.Task(GAZE, tolerance=GAZE_TOLERANCE),
        "elbow": br.Task(an.joint("left_elbow"), lambda t: 0.4 + 0.2 * np.sin(3.0 * t)),
        "branch": br.Task(an.untraced(lambda s: s.position("left_hand").y * (1.0 if s.position("left_hand").y > 0.1 else 2.0)), 0.3),
    }
    push = br.Push("spine2", (100.0, 60.0, 0.0), start=0.3, duration=0.1)
    result = br.filter_motion(standing(0.8), tasks=tasks, mode="preview", pushes=[push])
    run, records = result.recording, [x for record in result.task_records.values() for x in (record.value, record.planned)]
    return hashlib.sha256(b"".join(x.tobytes() for x in (run.q, run.v, run.torque, *records))).hexdigest()


def test_results_are_the_same_bit_for_bit():
    # Fails if results depend on what memory contains that was not written, where it lies, or on an order of hashes.
    first = digest()
    garbage = [np.full(size, np.nan) for size in np.random.default_rng(0).integers(1, 4000, 3000)]
    del garbage[::2]  # freed memory between memory in use
    assert digest() == first
    other = {**os.environ, "PYTHONHASHSEED": "7", "MALLOC_PERTURB_": "165", "BRACHIATE_QUIET": "1"}  # what malloc returns is not zero
    code = "from tests.filter.test_function_tasks import digest; print(digest())"
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], env=other, cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.split()[-1] == first


class Steps:
    """Control steps of a tracker with tasks: QPs with their solutions."""

    def __init__(self, tasks, steps: int) -> None:
        self.world = simulation_world(standing())
        self.tracker = OfflineTracker(self.world, "man", standing(), plan_whole_clip=False, tasks=tasks)
        self.simulation = br.Simulation(self.world, standing().dt, project=False)
        self.problems, self.residuals, self.pulls = [], [], []
        for _ in range(steps):
            self.tracker.control()
            self._record()
            self.simulation.step()

    def _record(self) -> None:
        controller = self.tracker.controller
        P, ctl = controller.qp, controller.control
        rows, forces, n = int(P.counts[ROWS]), int(P.counts[RAYS]), len(P.weights)
        C = P.C.reshape(n, P.counts[STRIDE])[:, :rows].T.copy()
        D = np.where(P.has_forces[:rows, None] == 1, P.D.reshape(-1, len(P.active_rays))[:rows, :forces], 0.0)
        kind, compliance, rhs = (x[:rows].copy() for x in (P.kind, P.compliance, P.rhs))
        self.problems.append(Problem(P.weights.copy(), P.target.copy(), C, D, kind, compliance, rhs, float(P.force_weight[0])))
        m, first = ctl.function_count.tolist()
        missing = rhs[first : first + m] - C[first : first + m] @ P.a
        y = controller.function_multipliers()
        assert np.allclose(missing, y * compliance[first : first + m], rtol=1e-3, atol=1e-9)
        self.residuals.append(np.abs(missing).max())
        self.pulls.append(np.abs(y).max())


def test_rows_get_the_second_rates_they_ask_for():
    # Fails if anything else has a weight near that of a feasible task: 0.2 m/s² are half a millimeter at the default rate.
    steps = Steps({"cup": br.Task(HAND, an.reach(CUP, by=0.6))}, 300)
    assert max(steps.residuals) < 0.2
    assert max(steps.pulls) < MAX_PULL


@fast_only
def test_the_qp_with_tasks_agrees_with_daqp():
    steps = Steps({"cup": br.Task(HAND, an.reach(CUP, by=0.6)), "gaze": br.Task(GAZE, tolerance=GAZE_TOLERANCE)}, 200)
    for problem in steps.problems[::20]:
        P = solved(problem)
        check_kkt(problem, P)
        check_daqp_agrees(problem, P)


def test_rows_agree_with_animation_space():
    tasks = {"cup": br.Task(HAND, an.reach(CUP, by=0.6)), "energy": br.Task(an.kinetic_energy("man"), lambda t: 0.0, tolerance=5.0)}
    steps = Steps(tasks, 50)
    tracker, world = steps.tracker, steps.world
    before = world.save()
    tracker.control()
    ctl = tracker.controller.control
    space = an.AnimationSpace(world, {"cup": an.position("man/right_hand"), "energy": an.kinetic_energy("man")})
    assert world.time == before.time
    G = ctl.function_gradient.reshape(-1, world.model.nv)[: ctl.function_count[0]]
    assert np.allclose(G, space.gradient(), atol=1e-12)


def test_a_push_is_resisted():
    push = br.Push("spine2", (0.2 * standing().figure.mass / 0.1, 0.0, 0.0), start=0.9, duration=0.1)  # 0.2 m/s of the whole body
    tasks = {"cup": br.Task(HAND, an.reach(CUP, by=0.8), rate=40.0)}
    result = filtered(tasks, pushes=[push])
    assert result.success
    assert result.tasks["cup"].max_error < 0.02
    assert result.tasks["cup"].size[-1] < 1e-3


@pytest.mark.parametrize("target", [(1.5, -0.2, 1.2), (-1.0, 0.8, 0.6)])
def test_a_target_out_of_reach_does_not_fell_the_body(target):
    result = filtered({"cup": br.Task(HAND, an.reach(target, by=0.6))})
    assert result.success
    task = result.tasks["cup"]
    assert task.reached is None
    assert not task.met
    assert task.max_error > 0.1
    (missed,) = [deviation for deviation in result.deviations if deviation.cause.startswith(TASK_MISSED)]
    assert (missed.part, missed.unit) == ("cup", "tolerances")
    assert task.reason


def test_conflicting_tasks_are_named():
    result = filtered({"near": br.Task(HAND.x, 0.3), "far": br.Task(an.position("man/right_hand").x, an.reach(0.4, by=0.5))})
    assert result.success
    assert result.tasks["near"].reason.startswith("conflict with far")
    assert result.tasks["far"].reason.startswith("conflict with near")


def test_contact_of_the_figure_with_itself_is_named():
    # The hand is led into the thigh, which the QP does not know.
    result = filtered({"hand": br.Task(an.position("left_hand", frame="left_thigh"), an.reach((0.0, 0.02, -0.2), by=0.6))})
    assert result.success
    assert not result.tasks["hand"].met
    assert "touches left_thigh" in result.tasks["hand"].reason


def test_a_task_acts_in_its_interval_only():
    plain, result = filtered(None), filtered([br.Task(an.joint("right_elbow"), 1.0, start=0.3, stop=0.8, blend=0.3)])
    task = result.tasks["task1"]
    acts = np.isfinite(task.size)
    assert acts.sum() * standing().dt == pytest.approx(0.8, abs=0.01)
    assert task.times[acts][0] == pytest.approx(0.3, abs=0.003)
    assert task.met
    assert task.reached < 0.65
    first = int(0.3 / standing().dt)
    assert np.array_equal(result.motion.q[:first], plain.motion.q[:first])
    elbow = result.motion.figure.joints["right_elbow"].q.start
    assert result.motion.q[-1, elbow] < 0.5  # on its way back


def test_the_start_is_smooth():
    # Fails if the path does not begin with the value, rate and acceleration of the motion: 0.6 rad at k² = 400 are 240 rad/s².
    result = filtered([br.Task(an.joint("right_elbow"), 1.0, start=0.3)])
    v = result.recording.v[:, result.recording.model.joints["man/right_elbow"].v.start]
    assert np.abs(np.diff(v)).max() / standing().dt < 60.0


def test_targets_of_every_kind_and_names_of_both_kinds():
    tasks = {
        "keys": br.Task(an.joint("left_elbow"), an.keys({0.0: 0.2, 0.6: 0.9, 1.2: 0.5})),
        "moving": br.Task(an.joint("man/right_elbow"), lambda t: 0.4 + 0.2 * np.sin(3.0 * t)),
        "slow": br.Task(lambda s: s.velocity("head").z, 0.0, tolerance=0.01),
        "branch": br.Task(an.untraced(lambda s: s.position("left_hand").y * (1.0 if s.position("left_hand").y > 0.1 else 2.0)), 0.3),
    }
    result = filtered(tasks)
    assert result.success
    for task in result.tasks.values():
        assert task.met, str(task)


def test_both_hands_hold_a_tray_while_walking():
    walk = procedural.sample_motion("walk", seconds=1.6)
    hands = {
        "tray": br.Task(an.position("right_hand", frame="spine2"), an.reach((0.32, -0.15, 0.0), by=0.6)),
        "other hand": br.Task(an.position("left_hand", frame="spine2"), an.reach((0.32, 0.15, 0.0), by=0.6)),
        "level": br.Task(lambda s: (s.position("left_hand") - s.position("right_hand")).z, an.reach(0.0, by=0.6), weight=0.1),
    }
    result = br.filter_motion(walk, tasks=hands, payloads={"left_hand": 1.0, "right_hand": 1.0})
    assert result.success
    assert result.tasks["tray"].max_error < 2e-3
    assert result.tasks["other hand"].max_error < 2e-3


def test_tasks_of_the_online_filter():
    squat = procedural.sample_motion("squat", seconds=3.0).trim(0.0, 1.2)  # faster ones hop
    world = simulation_world(br.make_reference(squat))
    live = br.DynamicsFilter(world, "man", latency=0.0, tasks={"elbow": br.Task(an.joint("right_elbow"), an.reach(0.8, by=0.6))})
    step = None
    for frame in squat.resample(500.0).q:
        step = live.step(frame)
    assert step is not None
    assert step.failure is None
    assert np.abs(step.task_errors["elbow"]).max() < 1e-3
    result = br.filter_motion(squat, mode="online", tasks={"elbow": br.Task(an.joint("right_elbow"), an.reach(0.8, by=0.6))})
    assert result.tasks["elbow"].met


def test_a_function_that_fails_on_the_way_changes_nothing():
    steps = iter(range(10_000))

    def fails(s):
        return s.joint("right_elbow") if next(steps) < 40 else an.sqrt(s.joint("right_elbow") * 0.0 - 1.0)

    squat = procedural.sample_motion("squat", seconds=0.6)
    live = br.DynamicsFilter(
        simulation_world(br.make_reference(squat)), "man", latency=0.0, tasks={"odd": br.Task(an.untraced(fails), 0.3)}
    )
    frames, seen = iter(squat.resample(500.0).q), []

    def play():
        for frame in frames:
            seen.append(live.world.q.copy())
            live.step(frame)

    with pytest.raises(BrachiateError, match=r"Task 'odd' at 0\.\d+ s"):
        play()
    assert len(seen) > 60
    assert np.array_equal(live.world.q, seen[-1])


def test_invalid_tasks_raise_errors():
    for tasks, error, message in [
        (3, ArgumentError, "expected tasks by name, such as"),
        ({"cup": HAND}, ArgumentError, r"'cup': expected br\.Task\(function, target\)"),
        ({"cup": br.Task(an.position("right_hnd"), CUP)}, UnknownName, "'man/right_hnd'.* 'man/right_hand'"),
        ({"cup": br.Task(HAND, (1.0, 2.0))}, ArgumentError, "Task 'cup': target of 'cup'"),
        ({"cup": br.Task(HAND, np.nan)}, ArgumentError, "Task 'cup': its target at 0 s is not a finite number"),
        ({"cup": br.Task(HAND, an.reach(CUP, by=5.0))}, ArgumentError, "would reach its target by 5 s, but it acts from 0 s to 1.4"),
        ({"cup": br.Task(HAND, CUP, start=2.0)}, ArgumentError, "starts at 2 s and would never act: the motion lasts 1.4"),
        ({"cup": br.Task(HAND.x, an.keys({0.0: 0.1, 9.0: 0.2}))}, ArgumentError, "key value at 9 s, but the motion lasts from"),
        ({"cup": br.Task(HAND.x, lambda t: np.nan if t > 1.0 else 0.1)}, ArgumentError, "Task 'cup': its target at 1"),
        ({"cup": br.Task(an.distance("right_hand", "right_hand"), 0.1)}, (StateError, ArgumentError), "cup"),
        ({"cup": br.Task(an.position("floor/ground"), 0.1)}, BrachiateError, "cup"),
        ({"cup": br.Task(lambda s: s.position("head").z if s.position("head").z > 1 else 0.0)}, ArgumentError, "cannot be traced"),
    ]:
        with pytest.raises(error, match=message):
            filtered(tasks)
    for options, message in [
        ({"tolerance": 0.0}, "tolerance of a task"), ({"weight": np.inf}, "weight of a task"), ({"start": -1.0}, "start of a task"),
        ({"stop": 0.0}, "stop of a task must be after"), ({"rate": 1000.0}, "rate of a task"), ({"blend": 0.0}, "blend of a task"),
    ]:  # fmt: skip
        with pytest.raises(ArgumentError, match=message):
            br.Task(HAND, CUP, **options)
    with pytest.raises(ArgumentError, match="mode='paper' has no whole-body QP"):
        br.filter_motion(standing(), mode="paper", tasks={"cup": br.Task(HAND, CUP)})


def test_a_function_that_the_figure_does_not_move_is_refused():
    world = simulation_world(standing())
    world.add(br.figures.human28(), "other")
    with pytest.raises(ArgumentError, match=r"Task 'them': 'them' depends on no joint of 'man'\."):
        br.DynamicsFilter(world, "man", tasks={"them": br.Task(an.joint("other/left_elbow"), 0.3)})


def test_tasks_from_text():
    tasks = parse_tasks(["right_hand@1.0-2.0:0.4,-0.2,1.1", "head:0,0,1.6", "head@0.5:0,0,1.7"])
    assert list(tasks) == ["right_hand", "head", "head 2"]
    assert [(task.start, task.stop) for task in tasks.values()] == [(1.0, 2.0), (0.0, None), (0.5, None)]
    assert tasks["right_hand"].target == (0.4, -0.2, 1.1)
    for text in ("right_hand", "right_hand@1:0.4,0.2", "right_hand@a-b:1,2,3", ":1,2,3"):
        with pytest.raises(ArgumentError, match=r"is not a task\. Write link@start-stop:x,y,z"):
            parse_tasks([text])
