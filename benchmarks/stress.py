"""Stress test of worlds: ``python benchmarks/stress.py [--operations N] [--seed S] [--json FILE]``.

Random operations on random worlds: add, connect, cut, lock, prescribe, release, contact, push, save, restore, copy, pickle, set velocities
up to 10⁴ rad/s and 10³ m/s, step. It counts operations and refusals, and audits: no exception other than ours, no step above 100 ms,
bounded memory, copies that move bit for bit as their originals do, momentum and energy of every structure change. Exit code 1 if an audit
fails; the seed of every failing world is printed.
"""

from __future__ import annotations

import argparse
import copy
import json
import pickle
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import brachiate as br

DT = 0.002  # [s]
OPERATIONS_PER_WORLD = 60
WARM_UP_WORLDS, WARM_UP_SEED = 25, 10**6
MAX_STEP_TIME = 0.1  # [s]
MAX_MEMORY_GROWTH = 500.0  # [MB]
MOMENTUM_TOLERANCE = 1e-10  # of mass · speed: conditioning of the mass matrix times round-off
ENERGY_TOLERANCE = 1e-9  # of the kinetic energy
WAYS = {"copy": lambda world: world.copy(), "pickle": lambda world: pickle.loads(pickle.dumps(world)), "deepcopy": copy.deepcopy}


class RandomWorld:
    """A world, and random operations on it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        gravity = (0.0, 0.0, -9.81) if self.rng.random() < 0.7 else (0.0, 0.0, 0.0)
        self.world, self.failures, self.slowest, self.added = br.World(gravity), [], 0.0, 0
        if self.rng.random() < 0.7:
            self.world.add(br.figures.ground(), name="floor")
        self.add()
        if self.rng.random() < 0.7:
            self.world.enable_contact(friction=float(self.rng.uniform(0.0, 1.0)))
        self.simulation = br.Simulation(self.world, dt=DT)
        self.saved = None

    def operations(self) -> dict[str, tuple[float, Callable[[], None]]]:
        """Weight and function of every operation, by name."""
        return {
            "step": (8.0, self.step), "velocity": (1.0, self.set_velocity), "posture": (0.5, self.set_posture), "add": (0.2, self.add),
            "connect": (2.0, self.connect), "cut": (1.0, self.cut), "lock": (1.0, self.lock), "prescribe": (1.0, self.prescribe),
            "release": (1.0, self.release), "contact": (0.3, self.switch_contact), "push": (0.5, self.push), "save": (0.5, self.save),
            "restore": (0.5, self.restore), "duplicate": (0.7, self.duplicate),
        }  # fmt: skip

    def _link(self) -> str:
        links = [name for name in self.world.model.links if not name.startswith("floor/")]
        return str(self.rng.choice(links))

    def _coordinate(self) -> str:
        names = [name for name, link in ((link.joint_name, link) for link in self.world.model.links.values()) if link.joint.nv == 1]
        return str(self.rng.choice(names)) if names else "none"

    def add(self) -> None:
        if self.added >= 3:
            return
        makers = (
            br.figures.human16,
            br.figures.human16,
            lambda: br.figures.box((0.2, 0.3, 0.1), 3.0),
            lambda: br.figures.box((0.1, 0.1, 0.1), 1.0),
        )
        model = makers[int(self.rng.integers(len(makers)))]()
        self.world.add(model, name=f"figure{self.added}", at=(*self.rng.uniform(-1.0, 1.0, 2), float(self.rng.uniform(0.0, 1.5))))
        self.added += 1

    def set_velocity(self) -> None:
        scale = 10.0 ** self.rng.uniform(-2.0, 4.0 if self.rng.random() < 0.1 else 1.0)
        v = self.rng.normal(size=self.world.model.nv) * (self.rng.random(self.world.model.nv) < 0.3)
        v = scale * v / max(np.abs(v).max(initial=0.0), 1e-12)
        for link in self.world.model.links.values():
            if isinstance(link.joint, br.Free):
                columns = self.world.model.joints[link.joint_name].v
                v[columns.start : columns.start + 3] = np.clip(v[columns.start : columns.start + 3], -1e3, 1e3)
        self.world.v = v

    def set_posture(self) -> None:
        self.world[self._coordinate()] = float(self.rng.uniform(-0.5, 0.5))

    def connect(self) -> None:
        joint = self.rng.choice([br.Fixed(), br.Revolute("y"), br.Spherical(), br.Prismatic("x")])
        compliance = br.SpringDamper(10 ** self.rng.uniform(1, 3), 10 ** self.rng.uniform(0, 1)) if self.rng.random() < 0.2 else None
        to = "world" if self.rng.random() < 0.2 else self._link()
        before = self.world.totals()
        connection = self.world.connect(self._link(), to, joint, compliance=compliance)
        self._audit_impulse(connection.report, to != "world" and not self.world.contact_settings.enabled, before)

    def _audit_impulse(self, report: br.ConnectionReport, free: bool, before: object) -> None:
        """Energy is lost, and momentum is kept unless something is connected to the ground or touches it."""
        kinetic, mass = before.kinetic, max(before.mass, 1e-9)
        scale = mass * np.sqrt(2.0 * kinetic / mass)
        if not self.world.locks and report.energy_lost < -ENERGY_TOLERANCE * max(kinetic, 1e-9):
            self.fail(f"{report.event}: energy gained {-report.energy_lost:.3g} of {kinetic:.3g} J")
        grounded = any("world" in (c.link, c.to) for c in self.world.connections.values()) or self.world.locks
        if free and not grounded and np.abs(report.momentum_change).max() > MOMENTUM_TOLERANCE * scale:
            self.fail(f"{report.event}: momentum changed by {np.abs(report.momentum_change).max():.3g} of {scale:.3g} kg·m/s")

    def cut(self) -> None:
        names = list(self.world.connections)
        if names:
            self.world.cut(self.world.connections[str(self.rng.choice(names))])

    def lock(self) -> None:
        before = self.world.totals()
        for lock in self.world.lock(self._coordinate()):
            self._audit_impulse(lock.report, False, before)

    def prescribe(self) -> None:
        name = self._coordinate()
        self.world.prescribe(name, [self.world.angle(name), float(self.rng.normal())], duration=0.1)

    def release(self) -> None:
        names = list(self.world.locks)
        if names:
            self.world.release(str(self.rng.choice(names)))

    def switch_contact(self) -> None:
        if self.world.contact_settings.enabled:
            self.world.disable_contact()
        else:
            self.world.enable_contact(friction=float(self.rng.uniform(0.0, 1.0)))

    def push(self) -> None:
        force = self.world.apply_force(self._link(), 100.0 * self.rng.normal(size=3))
        self.step()
        self.world.remove(force)

    def save(self) -> None:
        self.saved = self.world.save()

    def restore(self) -> None:
        if self.saved is not None:
            self.world.restore(self.saved)

    def step(self) -> None:
        began = time.thread_time()  # of this thread: other processes do not count
        self.simulation.step()
        self.slowest = max(self.slowest, time.thread_time() - began)

    def duplicate(self) -> None:
        """Continue with a copy; it must move as the original does."""
        way = str(self.rng.choice(list(WAYS)))
        other = WAYS[way](self.world)
        one, two = (br.Simulation(world, dt=DT) for world in (self.world, other))
        for _ in range(3):
            outcomes = []
            for simulation in (one, two):
                try:
                    simulation.step()
                    outcomes.append("")
                except br.BrachiateError as error:
                    outcomes.append(str(error))
            difference = np.abs(self.world.data.q - other.data.q).max()
            if outcomes[0] != outcomes[1] or difference != 0.0:
                self.fail(f"{way}: moves differently, by {difference:.3g} ({outcomes})")
                break
            if outcomes[0]:
                break
        self.world, self.simulation, self.saved = other, two, None

    def fail(self, text: str) -> None:
        self.failures.append(text)


def run_world(seed: int, operations: int, counts: Counter[str], refusals: Counter[str]) -> tuple[list[str], float]:
    """Run random operations on one world; returns the failures, and the time of the slowest step [s]."""
    state = RandomWorld(seed)
    for n in range(operations):
        table = state.operations()
        weights = np.array([weight for weight, _ in table.values()])
        name = str(state.rng.choice(list(table), p=weights / weights.sum()))
        counts[name] += 1
        try:
            table[name][1]()
        except br.BrachiateError as error:
            refusals[f"{name}: {type(error).__name__}: {str(error)[:60]}"] += 1
        except Exception as error:
            state.fail(f"operation {n} ({name}): {type(error).__name__}: {str(error)[:200]}")
            break
    return [f"seed {seed}: {text}" for text in state.failures], state.slowest


def memory() -> float:
    """Largest memory of the process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def stress(operations: int, seed: int) -> dict[str, object]:
    """Run worlds until there were this many operations; returns counts, refusals, failures, slowest step and memory."""
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    failures: list[str] = []
    for warm_up in range(WARM_UP_WORLDS):  # compiles what these worlds need: it is not timed
        run_world(WARM_UP_SEED + warm_up, OPERATIONS_PER_WORLD, Counter(), Counter())
    start, slowest = memory(), 0.0
    while counts.total() < operations:
        seed += 1
        found, longest = run_world(seed, OPERATIONS_PER_WORLD, counts, refusals)
        if longest > MAX_STEP_TIME:
            found.append(f"seed {seed}: a step took {1000 * longest:.0f} ms")
        failures += found
        slowest = max(slowest, longest)
    growth = memory() - start
    if growth > MAX_MEMORY_GROWTH:
        failures.append(f"memory grew by {growth:.0f} MB")
    return {
        "operations": dict(counts), "refusals": dict(refusals.most_common()), "failures": failures, "slowest_step_ms": 1000 * slowest,
        "memory_growth_MB": growth,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = stress(given.operations, given.seed)
    print(f"{sum(result['operations'].values())} operations, seeds from {given.seed + 1}: {result['operations']}")
    for text, count in list(result["refusals"].items())[:20]:
        print(f"  refused {count} times: {text}")
    print(f"slowest step {result['slowest_step_ms']:.1f} ms, memory +{result['memory_growth_MB']:.0f} MB")
    for text in result["failures"][:40]:
        print(text)
    print(f"{len(result['failures'])} failures")
    if given.json is not None:
        given.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
