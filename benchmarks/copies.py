"""Copies of random worlds: ``python benchmarks/copies.py [--worlds N] [--seed S]``.

Worlds in any state (contact, loops, locks, prescribed motion, springs, limits that are reached) after random operations of
``benchmarks/stress.py`` are copied by copy, pickle and deepcopy, and saved and restored. All must move as the original does for 100 steps,
bit for bit. Exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np
from rich.progress import track

import brachiate as br
from stress import DT, WAYS, RandomWorld

OPERATIONS, STEPS = 25, 100


def random_world(seed: int) -> br.World:
    """A world after random operations; those that are refused change nothing."""
    made = RandomWorld(seed)
    for _ in range(OPERATIONS):
        table = made.operations()
        del table["duplicate"]
        weights = np.array([weight for weight, _ in table.values()])
        name = str(made.rng.choice(list(table), p=weights / weights.sum()))
        try:
            table[name][1]()
        except br.BrachiateError:
            continue
    return made.world


def advance(world: br.World) -> list[bytes]:
    """State after every step, up to the first one that is refused, and why it is."""
    simulation, states = br.Simulation(world, dt=DT), []
    for _ in range(STEPS):
        try:
            simulation.step()
        except br.BrachiateError as error:
            states.append(str(error).encode())
            break
        states.append(world.data.q.tobytes() + world.data.v.tobytes())
    return states


def features(world: br.World) -> list[str]:
    """What the state of a world contains."""
    return [
        name
        for name, present in {
            "contact": world.contact_settings.enabled,
            "connections": bool(world.connections),
            "springs": any(connection.compliance is not None for connection in world.connections.values()),
            "locks or prescribed": bool(world.locks),
            "limits reached": bool(world.constraint_set.active_limits),
        }.items()
        if present
    ]


def compare(seed: int, counts: Counter[str]) -> list[str]:
    """Ways of copying by which a world moves differently."""
    world = random_world(seed)
    counts.update(features(world))
    saved, copies = world.save(), {way: copy(world) for way, copy in WAYS.items()}
    reference = advance(world)
    counts["steps"] += len(reference)
    different = [way for way, other in copies.items() if advance(other) != reference]
    world.restore(saved)
    return different if advance(world) == reference else [*different, "restore"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    failures: dict[int, list[str]] = {}
    for seed in track(range(options.seed, options.seed + options.worlds), "worlds"):
        if different := compare(seed, counts):
            failures[seed] = different
    print(f"{options.worlds} worlds, of which with: {dict(counts)}")
    print(f"{len(failures)} differ: {dict(list(failures.items())[:20])}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
