"""Rollouts of a human figure in contact against ``mujoco.rollout``: standing, and falling; same figure, shapes, springs and states.

Both step a batch of states for the same time, in one thread and in two, and return the state after every step. Times are per step of one
rollout: of one thread processor time, of two threads by the clock, for which the machine must have nothing else to do; processor time of
two threads tells what they cost each other on any machine. MuJoCo is set up as
for contact steps (``contact.py``), with a pool of threads that is kept, warm starts, and data per thread.

``python benchmarks/run.py many [--quick] [--json FILE]``
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import convert
from brachiate import BatchSimulation, JointTargets, RolloutStates, Simulation, World, figures
from brachiate.validation import Array
from contact import DT, FALL_SPEED, FRICTION, JOINT_SPRINGS, add_contact_to_mujoco
from results import Row, time_row

BATCH, STEPS, ROUNDS, QUICK_ROUNDS = 64, 100, 12, 4
FALL = 1.2  # [s] within which states of the fall are taken
NOISE = 0.05  # [rad/s or m/s] of the velocities of standing figures
CONES = ("elliptic", "pyramidal")
TARGET, THREADS_TARGET = 3.0, 1.8  # ratio of times per core; speed of two threads relative to one
NOTES = {
    "springs": f"springs: target ratio {TARGET:g} per core",
    "joint targets": "joint targets: motors in brachiate, springs and dampers in MuJoCo's joints",
}


class Case(NamedTuple):
    """A batch of states of a world."""

    name: str
    world: World
    states: RolloutStates


def rows(quick: bool = False) -> list[Row]:
    """All rows."""
    found = []
    for case in (standing(), falling()):
        runners = own_runners(case) | peer_runners(case)
        times, processor = best(runners, QUICK_ROUNDS if quick else ROUNDS)
        found += compare(case, times)
        found += processor_rows(case, processor)
    return found


def person(springs: tuple[float, float] | None) -> World:
    """human28 on the ground, with springs and dampers in its joints or without."""
    world, model = World(), figures.human28()
    world.add(figures.ground(), "floor")
    world.add(model if springs is None else model.with_springs(springs[0], "stand", springs[1]), "man").set_pose("stand")
    world.enable_contact(friction=FRICTION)
    return world


def standing() -> Case:
    """States near the equilibrium of a standing figure."""
    world = person(JOINT_SPRINGS["standing"])
    Simulation(world, dt=DT, limits=False).run(2.0)
    states = BatchSimulation(world, DT, limits=False).states([world.save()] * BATCH)
    states.v[:] += NOISE * np.random.default_rng(0).standard_normal(states.v.shape)
    return Case("standing", world, states)


def falling() -> Case:
    """States of a limp figure that falls, from the first step to the ground."""
    world, snapshots = person(JOINT_SPRINGS["lying"]), []
    world.v[0] = FALL_SPEED
    simulation = Simulation(world, dt=DT, limits=False)
    for _ in range(BATCH):
        simulation.run(FALL / BATCH)
        snapshots.append(world.save())
    return Case("falling", world, BatchSimulation(world, DT, limits=False).states(snapshots))


def own_runners(case: Case) -> dict[Any, Callable[[], object]]:
    """Runners of brachiate, by control and number of threads."""
    found: dict[Any, Callable[[], object]] = {}
    for threads in (1, 2):
        batch = BatchSimulation(case.world, DT, threads=threads, limits=False)
        found["springs", threads] = partial(batch.run, case.states, None, STEPS)
        bare = BatchSimulation(person(None), DT, threads=threads, limits=False)
        found["joint targets", threads] = partial(bare.run, case.states, motor_targets(case), STEPS)
    return found


def motor_targets(case: Case) -> JointTargets:
    """Joint targets that do what the springs and dampers of the figure do."""
    tree = case.world.model.tree
    return JointTargets(tree.rest, tree.stiffness, tree.damping)


def peer_runners(case: Case) -> dict[Any, Callable[[], object]]:
    """Runners of MuJoCo's rollouts, by friction cone and number of threads."""
    from mujoco import rollout  # noqa: PLC0415

    mujoco: Any = importlib.import_module("mujoco")
    found: dict[Any, Callable[[], object]] = {}
    model = case.world.model
    table = convert.joint_table(model)
    for cone in CONES:
        spec = convert.to_mujoco(model)
        spec.option.timestep, spec.option.cone = DT, getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
        add_contact_to_mujoco(spec, case.world)
        peer = spec.compile()
        data = [mujoco.MjData(peer) for _ in range(2)]
        states = zip(case.states.q, case.states.v, strict=True)
        initial = np.array([peer_state(mujoco, model, table, peer, data[0], q, v) for q, v in states])
        size = (BATCH, STEPS, initial.shape[1])
        for threads in (1, 2):
            pool = rollout.Rollout(nthread=0 if threads == 1 else threads)
            out = {"state": np.empty(size), "sensordata": np.empty((BATCH, STEPS, 0))}
            found[cone, threads] = partial(pool.rollout, peer, data[:threads], initial, nstep=STEPS, **out)
    return found


def peer_state(mujoco: Any, model: Any, table: Any, peer: Any, data: Any, q: Array, v: Array) -> Array:
    """State of MuJoCo: time, positions, velocities."""
    mujoco.mj_resetData(peer, data)
    data.qpos[:] = convert.to_mujoco_q(model, table, q)
    data.qvel[:] = convert.mujoco_basis(model, table, q) @ v
    state = np.empty(mujoco.mj_stateSize(peer, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(peer, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return state


def best(runners: dict[Any, Callable[[], object]], rounds: int) -> tuple[dict[Any, float], dict[Any, float]]:
    """Best time per step of each runner [s], in turn, those of one thread on one core; and the least processor time of all threads."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    times, processor = dict.fromkeys(runners, float("inf")), dict.fromkeys(runners, float("inf"))
    for _ in range(rounds):
        for name, run in runners.items():
            if cores:
                os.sched_setaffinity(0, cores[-1:] if name[1] == 1 else cores)
            start, used = time.perf_counter(), time.process_time()
            run()
            used, elapsed = time.process_time() - used, time.perf_counter() - start
            times[name] = min(times[name], (used if name[1] == 1 else elapsed) / (BATCH * STEPS))
            processor[name] = min(processor[name], used / (BATCH * STEPS))
    if cores:
        os.sched_setaffinity(0, cores)
    return times, processor


def processor_rows(case: Case, processor: dict[Any, float]) -> list[Row]:
    """Processor time of two threads against one: what they cost each other, whatever else the machine has to do."""
    return [
        time_row(
            "processor time, two threads against one", f"{case.name}, {control}", processor[control, 2], "one thread", processor[control, 1]
        )
        for control in NOTES
    ]


def compare(case: Case, times: dict[Any, float]) -> list[Row]:
    """Rows of a case: against MuJoCo with the same number of threads, and two threads against one."""
    found = []
    for control in ("springs", "joint targets"):
        for threads in (1, 2):
            for cone in CONES:
                own, peer = times[control, threads], times[cone, threads]
                more = {
                    "brachiate_steps_per_second": 1.0 / own,
                    "peer_steps_per_second": 1.0 / peer,
                    "threads": threads,
                    "note": NOTES[control],
                }
                task, name = f"rollouts, {threads} thread{'s'[: threads - 1]}", f"{case.name}, {control}"
                found.append(time_row(task, name, own, f"MuJoCo rollout, {cone}", peer, **more))
    for name, one in times.items():
        if name[1] == 1:
            two = times[name[0], 2]
            mine = name[0] in ("springs", "joint targets")
            what = f"{case.name}, {name[0]}" if mine else f"{case.name}, MuJoCo {name[0]}"
            found.append(time_row("two threads against one", what, two, "one thread", one, note=f"two threads: target {THREADS_TARGET:g}"))
            print(f"{what}: {1 / one:,.0f} steps/s in one thread, {1 / two:,.0f} in two: {one / two:.2f}x", file=sys.stderr)
    return found
