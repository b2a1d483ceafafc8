"""Simulation of many states of one world: ``simulate_many``, and ``BatchSimulation`` for many such calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import prepare
from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.errors import ArgumentError, StateError
from brachiate.figures.ranges import MAX_SPEED
from brachiate.progress import ProgressBar
from brachiate.rollout.controls import Controls, JointTargets
from brachiate.rollout.states import RolloutStates, StepMemory, load_state, step_memory
from brachiate.rollout.worker import Rollout, RolloutFailure, RolloutRows, Worker
from brachiate.simulate.initial_overlap import check_overlap
from brachiate.simulate.stable_step import check_stable_step
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

#: States to start from: a batch, snapshots that the world saved, or configurations and velocities, (n, nq) and (n, nv).
States = RolloutStates | Sequence[WorldState] | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class RolloutResult:
    """Result of n rollouts, with r rows each; rows of a rollout that failed are NaN.

    Args:
        time: Times of the rows (n, r) [s].
        q: Configurations (n, r, nq).
        v: Velocities (n, r, nv).
        torque: Motor torques (n, r, nv), mean over the steps since the row before [N·m or N].
        states: States after the last step, to go on from; of a rollout that failed the one it started from.
        failures: By the index of the rollout.
    """

    time: Array
    q: Array
    v: Array
    torque: Array
    states: RolloutStates
    failures: Mapping[int, RolloutFailure]
    _samples: list[list[ContactSample]]
    _link_pairs: Sequence[tuple[str, str]]

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self.q)

    def __repr__(self) -> str:
        """Return the numbers of rollouts, rows and failures."""
        return f"<RolloutResult: {len(self)} rollouts, {self.q.shape[1]} rows each, {len(self.failures)} failed>"

    def contacts(self, i: int) -> ContactHistory:
        """Contacts of rollout i by row: forces by link, figure or pair of links, as in a recording."""
        return ContactHistory([(sample, self._link_pairs) for sample in self.samples(i)])

    def samples(self, i: int) -> list[ContactSample]:
        """Samples of the contact log of rollout i, by row."""
        if not self._samples:
            raise ArgumentError("Contacts were not kept: run the rollouts with contacts=True.")
        if not 0 <= validation.integer(i, "i", minimum=0) < len(self):
            raise ArgumentError(f"i: expected the index of one of {len(self)} rollouts, got {i}.")
        if i in self.failures:
            raise StateError(f"There are no contacts of this rollout: {self.failures[i]}")
        return self._samples[i]


class BatchSimulation:
    """Simulation of many states of one world with contact, in several threads.

    Every thread steps a copy of the world; the world itself is not changed. Results do not depend on the number of threads, and
    are those of a :class:`Simulation` of each state alone, bit for bit.

    Args:
        world: World with contact; what is connected, locked and applied there holds in all rollouts.
        dt: Step length [s].
        threads: Number of threads; by default as many as there are cores for this process.
        limits: Whether joints stop at their limits.
        project: As in :class:`Simulation`: whether states are projected onto the constraints, and steps with fast bodies are divided.
    """

    def __init__(self, world: World, dt: float = 0.002, *, threads: int | None = None, limits: bool = True, project: bool = True) -> None:
        if not isinstance(world, World):
            raise ArgumentError(f"BatchSimulation expects a World, got {validation.short_repr(world)}.")
        if world.contact_settings.contact_state is None:
            raise StateError("Rollouts are of worlds with contact: call world.enable_contact() first.")
        self.dt = validation.number(dt, "dt", above=0.0, maximum=1e3)
        self.threads = _cores() if threads is None else validation.integer(threads, "threads", minimum=1, maximum=1024)
        check_stable_step(world, self.dt)
        prepare("rollout")
        self._world, self._version = world, world.structure_version
        self._workers = [Worker(world, limits=bool(limits), project=bool(project))]
        self._options = {"limits": bool(limits), "project": bool(project)}
        self.model = world.model  #: of the world; workers change the damping of their copies

    def states(self, states: Any) -> RolloutStates:
        """States to start from: of snapshots of the world, or of configurations (n, nq) and velocities (n, nv), at the world's time.

        Of configurations, shapes may overlap as little as at the start of a simulation.
        """
        if isinstance(states, RolloutStates):
            return self._checked(states)
        if isinstance(states, Sequence) and not isinstance(states, str) and len(states):
            if all(isinstance(state, WorldState) for state in states):
                return self._from_snapshots(states)
            if isinstance(states, tuple) and len(states) == 2:
                return self._from_arrays(*states)
        raise ArgumentError(
            "states: expected RolloutStates, a list of states that world.save() returned, or a pair of arrays (q, v), got "
            f"{validation.short_repr(states)}."
        )

    def _checked(self, states: RolloutStates) -> RolloutStates:
        if states.q.shape[1] != self.model.nq or states.v.shape[1] != self.model.nv or not len(states):
            raise ArgumentError(
                f"states: expected at least one state with {self.model.nv} coordinates, got {len(states)} with {states.v.shape[1]}: they "
                "are of another world."
            )
        return states

    def _from_snapshots(self, states: Sequence[Any]) -> RolloutStates:
        world, copy = self._world, self._workers[0].world
        memory: list[StepMemory] = []
        for i, state in enumerate(states):
            if state.version != self._version or any(constraint.world is not world for constraint in state.constraints):
                raise ArgumentError(f"states[{i}] was saved from another world, or before a structure change: all have one structure.")
            if state.applied_forces != copy.applied_forces:
                raise ArgumentError(f"states[{i}] has other applied forces than the world had when the batch was made.")
            copy.restore(state.for_copy(copy))
            memory.append(step_memory(copy))
        q, v, torque, time = (np.array([getattr(state, name) for state in states], float) for name in ("q", "v", "torque", "time"))
        return RolloutStates(q, v, torque, time, tuple(memory))

    def _from_arrays(self, q: ArrayLike, v: ArrayLike) -> RolloutStates:
        n, world = len(np.atleast_2d(np.asarray(q, object))), self._workers[0].world
        q = validation.numbers(q, (n, self.model.nq), "states: configurations q")
        v = validation.numbers(v, (n, self.model.nv), "states: velocities v")
        if np.abs(v).max(initial=0.0) > MAX_SPEED:
            raise ArgumentError(f"states: velocities v: at most {MAX_SPEED:g} m/s or rad/s, got {np.abs(v).max():g}.")
        rows = self._workers[0].initial_constraints
        torque = np.tile(np.asarray(self._world.data.tau), (n, 1))
        states = RolloutStates(q.copy(), v.copy(), torque, np.full(n, self._world.time), (StepMemory(None, rows),) * n)
        for i in range(n):
            load_state(world, states, i)
            try:
                check_overlap(world, start=True)
            except StateError as problem:
                raise StateError(f"states: state {i}: {problem}") from None
        return states

    def run(
        self,
        states: States,
        controls: JointTargets | ArrayLike | None,
        steps: int,
        *,
        every: int = 1,
        contacts: bool = False,
        progress: bool = False,
    ) -> RolloutResult:
        """Step every state; see :func:`simulate_many`."""
        start = self.states(states)
        n, steps = len(start), validation.integer(steps, "steps", minimum=1, maximum=1e9)
        every = validation.integer(every, "every", minimum=1)
        checked = None if controls is None else Controls(self.model, controls, n, steps, every)
        while len(self._workers) < min(self.threads, n):
            self._workers.append(Worker(self._world, **self._options))
        found: list[Any] = [None] * n
        # Threads fill them: the first to write to memory waits for it
        tables = RolloutRows(*(np.empty((n, steps // every, size)) for size in (self.model.nq, self.model.nv, self.model.nv)))
        numbers = count()
        with ProgressBar("simulating", progress) as bar:

            def work(worker: Worker) -> None:
                law = None if checked is None else checked.law(tables.torque)
                while (i := next(numbers)) < n:
                    rows = RolloutRows(*(table[i] for table in tables))
                    found[i] = worker.run(start, i, law, steps, every, self.dt, rows, contacts=contacts)
                    if worker is self._workers[0]:
                        bar.show(i / n)

            workers = self._workers[: min(self.threads, n)]
            if len(workers) == 1:
                work(workers[0])
            else:
                with ThreadPoolExecutor(len(workers) - 1) as pool:
                    others = [pool.submit(work, worker) for worker in workers[1:]]
                    work(workers[0])
                    for other in others:
                        other.result()
        return self._result(start, found, tables, steps, every, contacts)

    def _result(
        self, start: RolloutStates, found: list[Rollout | RolloutFailure], tables: RolloutRows, steps: int, every: int, contacts: bool
    ) -> RolloutResult:
        n, rows = len(found), steps // every
        end_q, end_v, end_torque, end_time = start.q.copy(), start.v.copy(), start.torque.copy(), start.time.copy()
        memory, samples, failures = list(start.memory), [[] for _ in range(n)], {}
        for i, one in enumerate(found):
            if isinstance(one, RolloutFailure):
                failures[i] = one
                continue
            end_q[i], end_v[i], end_time[i], memory[i] = one.end_q, one.end_v, start.time[i] + self.dt * steps, one.memory
            samples[i] = one.samples
        time = start.time[:, None] + self.dt * every * np.arange(1, rows + 1)
        states = RolloutStates(end_q, end_v, end_torque, end_time, tuple(memory))
        pairs = self._workers[0].world.contact_settings.link_pairs
        return RolloutResult(time, *tables, states, failures, samples if contacts else [], pairs)


def simulate_many(
    world: World,
    states: States,
    controls: JointTargets | ArrayLike | None,
    steps: int,
    dt: float = 0.002,
    *,
    every: int = 1,
    threads: int | None = None,
    contacts: bool = False,
    limits: bool = True,
    progress: bool = False,
) -> RolloutResult:
    """Simulate many states of one world with contact, each on its own, in compiled code and several threads.

    The result is that of a :class:`Simulation` of each state alone, bit for bit, whatever the number of threads. A rollout that fails
    is reported in ``result.failures``; the others go on.

    Args:
        world: World with contact, which is not changed: its structure, connections and applied forces hold for all states.
        states: The ``states`` of an earlier result, snapshots that ``world.save()`` returned, or a pair of arrays (q, v) of shapes
            (n, nq) and (n, nv). The first two have the memory of the step before, as warm starts of contact.
        controls: :class:`JointTargets`; or torques [N·m or N], shape (n, k, nv) or one that NumPy broadcasts to it, for k intervals of
            equal length; or None: the torques of the states, constant.
        steps: Number of steps.
        dt: Step length [s].
        every: Number of steps between rows of the result.
        threads: Number of threads; by default as many as there are cores for this process.
        contacts: Whether contacts are kept: ``result.contacts(i)``.
        limits: Whether joints stop at their limits.
        progress: Whether a progress bar is shown if it takes long.
    """
    simulation = BatchSimulation(world, dt, threads=threads, limits=limits)
    return simulation.run(states, controls, steps, every=every, contacts=contacts, progress=progress)


def _cores() -> int:
    """Number of cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
