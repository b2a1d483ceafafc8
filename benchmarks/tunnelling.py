"""Fast bodies against thin sheets: ``python benchmarks/tunnelling.py [--count N] [--seed S] [--json FILE]``.

Balls, capsules, boxes, cylinders and hulls of 2 to 40 cm hit a sheet of 1 mm at 1 to 1000 m/s, at random angles, orientations and spins,
in steps of 2 ms. A body tunnels if its center crosses the sheet within its area, seen from the sheet, on the line between the states of two
steps; bodies that go past the edge, or slide over it, may come to be on the other side. Without gravity and rebound the energy may not
grow; the largest growth within a step is printed. Free tumbling at 100 rad/s, a fifth of a radian in a step, gains up to a percent in a
second by the error of integration. Exit code 1 if a body tunnels, a step is refused, or energy grows by more than MAX_GAIN in a step.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import track
from scipy.spatial.transform import Rotation

import brachiate as br

DT = 0.002  # [s]
THICKNESS = 0.001  # [m]
SPEEDS = (1.0, 1000.0)  # [m/s]
MAX_SPIN = 100.0  # [rad/s]
MAX_GAIN = 0.01  # of the energy at the start, in a step
SHAPES = ("ball", "capsule", "box", "cylinder", "hull")


def make_body(rng: np.random.Generator, kind: str) -> br.Model:
    """A body of random size, up to one to five in its proportions."""
    size = np.exp(rng.uniform(np.log(0.02), np.log(0.4)))
    a, b, c = size * rng.uniform(0.2, 1.0, 3)
    points = rng.uniform(-0.5, 0.5, (12, 3)) * (a, b, c)
    shapes = {
        "ball": lambda: br.Sphere(radius=size / 2),
        "capsule": lambda: br.Capsule(radius=a / 4, length=size),
        "box": lambda: br.Box(size=(a, b, c)),
        "cylinder": lambda: br.Cylinder(radius=a / 2, length=b),
        "hull": lambda: br.Hull(vertices=points - points.mean(axis=0)),
    }
    builder = br.ModelBuilder(kind)
    builder.link("body", joint=br.Free(), joint_name="root", mass=1000.0 * a * b * c + 0.001, shapes=shapes[kind]())
    return builder.build()


def make_sheet(rng: np.random.Generator, free: bool) -> tuple[br.Model, float]:
    """A square sheet, fixed or free, and half its width [m]."""
    half = float(rng.uniform(0.5, 2.0))
    builder = br.ModelBuilder("sheet")
    shape = br.Box(size=(2 * half, 2 * half, THICKNESS))
    if free:
        builder.link("sheet", joint=br.Free(), joint_name="root", mass=50.0, shapes=shape)
    else:
        builder.link("sheet", shapes=shape)
    return builder.build(), half


class Drop(NamedTuple):
    """Result of one drop."""

    kind: str
    speed: float  # [m/s]
    tunnels: bool
    slowest: float  # [s] step
    gain: float  # largest growth of energy in a step, relative to the start


def drop(seed: int) -> Drop:
    """Drop a body: shape, speed and sheet are random."""
    rng = np.random.default_rng(seed)
    kind, speed = str(rng.choice(SHAPES)), float(np.exp(rng.uniform(*np.log(SPEEDS))))
    world, free = br.World(gravity=(0, 0, 0)), bool(rng.random() < 0.2)
    sheet, half = make_sheet(rng, free)
    world.add(sheet, name="sheet")
    body = world.add(make_body(rng, kind), name="body")
    angle, turn = rng.uniform(0.0, np.radians(75.0)), rng.uniform(0.0, 2 * np.pi)
    velocity = speed * np.array([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), -np.cos(angle)])
    hit = np.array([*rng.uniform(-0.6 * half, 0.6 * half, 2), 0.0])
    start = hit - velocity / -velocity[2] * rng.uniform(0.4, 2.0 + 4.0 * DT * speed)
    R = Rotation.random(random_state=rng).as_matrix()
    body.place(start, R)
    spin = rng.normal(size=3)
    spin *= MAX_SPIN * rng.random() / np.linalg.norm(spin)
    world.v = {"body/root": [*(R.T @ velocity), *spin]}
    world.enable_contact(friction=float(rng.uniform(0.0, 1.0)))
    simulation, slowest, gain = br.Simulation(world, dt=DT), 0.0, 0.0
    before, initial = position_in(world, "body/body", "sheet/sheet"), world.totals().kinetic
    energy = initial
    for _ in range(int(np.linalg.norm(hit - start) / speed / DT) + 20):
        began = time.thread_time()
        simulation.step()
        slowest = max(slowest, time.thread_time() - began)
        last, energy = energy, world.totals().kinetic
        gain = max(gain, (energy - last) / initial)
        at = position_in(world, "body/body", "sheet/sheet")
        if crosses(before, at, half):
            return Drop(kind, speed, True, slowest, gain)
        before = at
    return Drop(kind, speed, False, slowest, gain)


def crosses(before: np.ndarray, after: np.ndarray, half: float) -> bool:
    """Whether the line from one position to another, in the frame of the sheet [m], crosses the sheet within its area."""
    if before[2] * after[2] > 0.0:
        return False
    share = before[2] / (before[2] - after[2]) if before[2] != after[2] else 0.0
    return bool((np.abs(before + share * (after - before))[:2] < half).all())


def position_in(world: br.World, link: str, other: str) -> np.ndarray:
    """Position of one link in the frame of another [m]."""
    a, b = world.pose(link), world.pose(other)
    return b.rotation.T @ (a.position - b.position)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="drops")
    parser.add_argument("--seed", type=int, default=0, help="of the first drop")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    drops: Counter[int] = Counter()
    passed: Counter[int] = Counter()
    seeds, refused, slowest, gains = [], [], 0.0, []
    drop(options.seed)  # compile
    for seed in track(range(options.seed, options.seed + options.count), "drops"):
        try:
            made = drop(seed)
        except br.StateError:
            refused.append(seed)
            continue
        decade = int(np.log10(made.speed))
        drops[decade] += 1
        passed[decade] += made.tunnels
        slowest = max(slowest, made.slowest)
        gains.append((made.gain, seed))
        if made.tunnels:
            seeds.append((seed, made.kind, round(made.speed, 1)))
    for decade in sorted(drops):
        print(f"{10**decade:5d} to {10 ** (decade + 1):5d} m/s: {passed[decade]} of {drops[decade]} tunnel")
    print(f"slowest step {1e3 * slowest:.1f} ms; refused {len(refused)}: {refused[:20]}; first that tunnel: {seeds[:20]}")
    gain, seed = max(gains, default=(0.0, -1))
    print(f"largest growth of energy in a step {100 * gain:.2g} % (seed {seed})")
    if options.json:
        options.json.write_text(
            json.dumps(
                {"drops": drops, "tunnel": passed, "seeds": seeds, "refused": refused, "slowest_step_s": slowest, "energy_gain": gain}
            )
        )
    sys.exit(1 if seeds or refused or gain > MAX_GAIN else 0)


if __name__ == "__main__":
    main()
