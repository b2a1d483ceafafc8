"""Contact robustness in falls of random figures: ``python benchmarks/falls.py [--count 10000] [--jobs N] [--json FILE]``.

Half of the figures are people of random size, half random trees of four to twelve links of random shapes, with ball joints and hinges with
limits. They are thrown onto an infinite plane or a plate of two centimeters with random friction; people also onto slopes on which friction
can hold them.
Every step of 2 ms is checked for finite numbers, penetration, energy gain, the method of the contact solver and the residual of the contact
law; the final state for being above the ground and at rest. Exit code 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from brachiate import Capsule, Cylinder, Ellipsoid, Free, Model, ModelBuilder, Revolute, Simulation, Sphere, Spherical, World, figures
from brachiate.contact.arrays import METHODS
from brachiate.errors import StateError
from brachiate.model.shapes import Box, Shape
from brachiate.validation import Array
from results import make_console

DT = 0.002  # [s]
MAX_DURATION = 600.0  # [s]; some figures creep against their joint dampers for minutes
REST_SPEED, REST_DURATION = 5e-3, 0.5  # [rad/s, m/s] and [s]: a figure slower for so long is at rest
PLATE_THICKNESS, PLATE_SIZE = 0.02, 200.0  # [m]
MAX_DISTANCE = 90.0  # [m] from which a figure counts as rolling down the slope
MAX_SLOPE_OVER_FRICTION, MAX_SLOPE = 0.8, np.radians(20)  # [rad]
RESIDUAL_TOLERANCE, MAX_RESIDUAL = 1e-6, 1e-4  # [m/s] of the contact law: tolerance, and bound that no step may exceed
FEW_CONTACTS, SOME_CONTACTS = 8, 14  # up to FEW no step may exceed the tolerance, up to SOME a share of MAX_SHARE
MAX_SHARE = 1e-3  # of steps
MAX_PRINTED = 12  # seeds of each kind of failure
MAX_ENERGY_GAIN = 0.01  # relative to the energy lost


@dataclass
class ResidualCounts:
    """Residuals of the contact law, counted over steps."""

    steps: int = 0
    above_tolerance: int = 0
    above_bound: int = 0
    max_m_s: float = 0.0

    def count(self, residual: Array) -> None:
        """Add steps with these residuals [m/s]."""
        above, far_above = (int((residual > limit).sum()) for limit in (RESIDUAL_TOLERANCE, MAX_RESIDUAL))
        self.add(ResidualCounts(len(residual), above, far_above, float(residual.max(initial=0.0))))

    def add(self, other: ResidualCounts) -> None:
        """Add the counts of another fall."""
        self.steps += other.steps
        self.above_tolerance += other.above_tolerance
        self.above_bound += other.above_bound
        self.max_m_s = max(self.max_m_s, other.max_m_s)


def residuals_by_contacts() -> dict[str, ResidualCounts]:
    """Empty counts, by number of contacts with a force."""
    names = f"up to {FEW_CONTACTS} contacts", f"up to {SOME_CONTACTS} contacts", "more contacts"
    return {name: ResidualCounts() for name in names}


@dataclass
class Fall:
    """Result of one fall."""

    seed: int
    figure: str = ""
    ground: str = ""
    duration_s: float = 0.0
    error: str = ""  # message of a failed simulation
    penetration_max_m: float = 0.0
    residual_max_m_s: float = 0.0
    energy_gain: float = 0.0  # largest, relative to the energy lost in the end
    below_ground: bool = False
    at_rest: bool = False
    rolled_away: bool = False  # down a slope, to the end of the plate
    final_speed: float = 0.0  # [m/s, rad/s]
    steps: int = 0
    max_contacts: int = 0  # with a force
    solver_methods: dict[str, int] = field(default_factory=dict)
    residuals: dict[str, ResidualCounts] = field(default_factory=residuals_by_contacts)


def random_person(rng: np.random.Generator) -> Model:
    """A person of random size, with weak springs in the joints."""
    make = (figures.human16, figures.human28, figures.human28, figures.human40)[rng.integers(4)]
    model = make(height=rng.uniform(1.3, 2.0), mass=rng.uniform(35, 110), sex=str(rng.choice(("male", "female"))))
    return model.with_springs(rng.uniform(0, 10), "stand", rng.uniform(0.5, 4.0))


def random_tree(rng: np.random.Generator) -> Model:
    """A random tree of links of random shapes and directions."""
    links, size = int(rng.integers(4, 13)), rng.uniform(0.3, 1.5)
    parents = [None if i == 0 else int(rng.integers(max(i - 3, 0), i)) for i in range(links)]
    lengths = size * rng.uniform(0.2, 0.5, links)
    shapes = [random_shape(rng, length) for length in lengths]
    masses = np.array([1000 * shape.volume() * rng.uniform(0.3, 1.5) for shape in shapes])
    subtree_mass = masses.copy()  # scales the joint damping
    for i in range(links - 1, 0, -1):
        subtree_mass[parents[i]] += subtree_mass[i]
    b = ModelBuilder(f"tree{links}")
    for i, parent in enumerate(parents):
        damping = subtree_mass[i] * lengths[i] ** 1.5 * np.sqrt(9.81) * rng.uniform(0.05, 0.3)
        x = rng.normal(size=4)
        rotation = x / np.linalg.norm(x)
        placement = {} if parent is None else {"parent": f"link{parent}", "at": (0, 0, lengths[parent]), "rotation": rotation}
        joint = Free() if parent is None else random_joint(rng, damping)
        b.link(f"link{i}", joint=joint, mass=float(masses[i]), shapes=shapes[i], **placement)
    return b.build()


def random_shape(rng: np.random.Generator, length: float) -> Shape:
    """A random shape that begins at the origin and extends along z."""
    r, middle = length * rng.uniform(0.1, 0.4), (0, 0, length / 2)
    kind = int(rng.integers(5))
    if kind == 0:
        return Capsule(radius=r, length=length, position=middle)
    if kind == 1:
        return Box(size=(2 * r * rng.uniform(0.5, 1.5), 2 * r, length), position=middle)
    if kind == 2:
        return Cylinder(radius=r, length=length, position=middle)
    if kind == 3:
        return Ellipsoid(radii=(r, r * rng.uniform(0.7, 1.4), length / 2), position=middle)
    return Sphere(radius=length / 2, position=middle)


def random_joint(rng: np.random.Generator, damping: float) -> Revolute | Spherical:
    """A hinge or ball joint, mostly with limits."""
    if rng.random() < 0.5:
        limits = None if rng.random() < 0.3 else (-rng.uniform(0.0, 2.0), rng.uniform(0.0, 2.0))
        return Revolute(str(rng.choice(("x", "y"))), damping=damping, limits=limits)
    return Spherical(damping=damping)


def random_ground(rng: np.random.Generator, angle: float) -> tuple[Model, str]:
    """An infinite slope or a plate, and its description."""
    degrees = float(np.degrees(angle))
    if rng.random() < 0.5:
        return figures.slope(degrees), f"slope {degrees:.0f}°"
    b = ModelBuilder("plate")
    rotation = np.array([(np.cos(angle), 0, -np.sin(angle)), (0, 1, 0), (np.sin(angle), 0, np.cos(angle))])
    b.link(
        "plate",
        shapes=Box(size=(PLATE_SIZE, PLATE_SIZE, PLATE_THICKNESS), position=-PLATE_THICKNESS / 2 * rotation[:, 2], rotation=rotation),
    )
    return b.build(), f"plate {degrees:.0f}°"


def random_start(seed: int) -> tuple[World, Fall, Array]:
    """A world with a figure in the air, its empty result, and the normal of the ground."""
    rng = np.random.default_rng(seed)
    model = random_person(rng) if seed % 2 else random_tree(rng)
    friction = float(rng.uniform(0.15, 1.2))
    steepest = np.arctan(MAX_SLOPE_OVER_FRICTION * friction * rng.uniform(0, 1)) if seed % 2 else 0.0  # trees would roll down
    angle = min(float(steepest), MAX_SLOPE)
    floor, kind = random_ground(rng, angle)
    world = World()
    world.add(floor, "floor")
    world.add(model, "figure")
    q, v, x = world.q.copy(), rng.normal(size=world.model.nv) * rng.uniform(0.1, 3), rng.normal(size=4)
    q[3:7] = x / np.linalg.norm(x)
    q[:3] = 0.0
    world.q = q
    normal = np.array((-np.sin(angle), 0.0, np.cos(angle)))
    q[:3] = normal * (0.02 - lowest_point(world, normal) + rng.uniform(0, 1.0))
    v[:3] = rng.normal(size=3) * rng.uniform(0, 3)
    world.q, world.v = q, v
    world.enable_contact(friction=friction)
    return world, Fall(seed, model.name, f"{kind}, friction {friction:.2f}"), normal


def lowest_point(world: World, normal: Array) -> float:
    """Smallest coordinate of the figure along the normal [m]."""
    least = np.inf
    for name, link in world.model.links.items():
        if name.startswith("figure/"):
            R, p = world.pose(name)
            for shape in link.shapes:
                least = min(least, float(((p + shape.surface()[0].reshape(-1, 3) @ R.T) @ normal).min()))
    return least


def simulate_fall(seed: int) -> Fall:
    """Simulate one fall until rest."""
    world, result, normal = random_start(seed)
    simulation = Simulation(world, dt=DT)
    energies, slow_steps, methods = [np.array([world.totals().energy])], 0, Counter[str]()
    while result.duration_s < MAX_DURATION and slow_steps * DT < REST_DURATION:
        try:
            run = simulation.run(REST_DURATION, progress=False)
        except StateError as error:
            result.error = str(error)
            return result
        result.duration_s = world.time
        energies.append(run["energy"][1:])
        history = run.contacts
        loaded = np.array([len(found[0].pair) if found else 0 for found in history.records[1:]])
        count_residuals(result, loaded, history.residual[1:])
        result.penetration_max_m = max(result.penetration_max_m, history.penetration.max())
        result.residual_max_m_s = max(result.residual_max_m_s, history.residual.max())
        result.max_contacts = max(result.max_contacts, int(loaded.max()))
        methods.update(method for method, count in zip(history.method[1:], loaded, strict=True) if count)
        if np.linalg.norm(world.totals("figure").center) > MAX_DISTANCE:
            result.rolled_away = True
            break
        moving = abs(run.v[1:]).max(axis=1) > REST_SPEED
        slow_steps = len(moving) if not moving.any() else 0
    energy = np.concatenate(energies)
    lost = float(energy[0] - energy.min())
    result.energy_gain = float((energy - np.minimum.accumulate(energy)).max() / lost) if lost > 0 else 0.0
    result.steps, result.solver_methods = len(energy) - 1, dict(methods)
    result.at_rest, result.final_speed = slow_steps > 0, float(abs(world.v).max())
    heights = [float(world.pose(name).position @ normal) for name in world.model.links if name.startswith("figure/")]
    result.below_ground = min(heights) < -PLATE_THICKNESS / 2
    return result


def count_residuals(result: Fall, loaded: Array, residual: Array) -> None:
    """Count residuals by number of contacts with a force; steps with joint limits only are among the first."""
    few, some = loaded <= FEW_CONTACTS, loaded <= SOME_CONTACTS
    for counts, steps in zip(result.residuals.values(), (few & ((loaded > 0) | (residual > 0.0)), some & ~few, ~some), strict=True):
        counts.count(residual[steps])


def simulate_falls(count: int, first: int, jobs: int) -> Iterator[Fall]:
    """All falls, in a pool of processes."""
    simulate_fall(first)  # compiles, before the pool starts
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(simulate_fall, range(first, first + count), chunksize=4)


def print_results(found: list[Fall], seconds: float) -> bool:
    """Print the results. Returns whether all bounds hold."""
    valid = [f for f in found if not f.error]
    moving = [f for f in valid if not f.at_rest and not f.rolled_away]
    penetration = max((f.penetration_max_m for f in valid), default=0.0)
    gain, speed = max((f.energy_gain for f in valid), default=0.0), max((f.final_speed for f in moving), default=0.0)
    failures = {
        "simulation failed": ([f for f in found if f.error], ""),
        "below the ground at the end": ([f for f in valid if f.below_ground], ""),
        "not at rest at the end": (moving, f"{speed:.2g} m/s"),
        f"energy gain above {100 * MAX_ENERGY_GAIN:g} % of the energy lost": (
            [f for f in valid if f.energy_gain > MAX_ENERGY_GAIN],
            f"{100 * gain:.2g} %",
        ),
    }
    remarks = {
        f"rolled down a slope by {MAX_DISTANCE:g} m": ([f for f in valid if f.rolled_away], ""),
        "penetration above 1 mm": ([f for f in valid if f.penetration_max_m > 1e-3], f"{1e3 * penetration:.2f} mm"),
    }
    table = Table(title=f"{len(found)} random falls, {sum(f.steps for f in valid)} steps, {seconds:.0f} s")
    table.add_column("criterion")
    table.add_column("falls", justify="right")
    table.add_column("max", justify="right")
    table.add_column("seeds", overflow="fold")
    for criterion, (cases, largest) in (failures | remarks).items():
        seeds = " ".join(str(f.seed) for f in cases[:MAX_PRINTED]) + (" ..." if len(cases) > MAX_PRINTED else "")
        table.add_row(criterion, str(len(cases)), largest, seeds)
    console = make_console()
    console.print(table)
    print_solver_methods(console, valid)
    return print_residuals(console, valid) and not any(cases for cases, _ in failures.values())


def print_solver_methods(console: Console, found: list[Fall]) -> None:
    """Print how often each method of the contact solver was used."""
    methods = Counter[str]()
    for f in found:
        methods.update(f.solver_methods)
    steps = sum(methods.values())
    table = Table(title=f"methods of the contact solver, {steps} steps with contact")
    table.add_column("method")
    table.add_column("steps", justify="right")
    table.add_column("share", justify="right")
    for method in METHODS:
        table.add_row(method, str(methods[method]), f"{methods[method] / max(steps, 1):.2g}")
    console.print(table)


def print_residuals(console: Console, found: list[Fall]) -> bool:
    """Print the residuals of the contact law. Returns whether they are within bounds."""
    total = residuals_by_contacts()
    for f in found:
        for name, counts in f.residuals.items():
            total[name].add(counts)
    table = Table(title="residual of the contact law")
    for heading in ("contacts", "steps", f"above {RESIDUAL_TOLERANCE:g} m/s", "share", f"above {MAX_RESIDUAL:g} m/s", "max"):
        table.add_column(heading, justify="left" if heading == "contacts" else "right")
    for name, counts in total.items():
        share = f"{counts.above_tolerance / max(counts.steps, 1):.2g}"
        table.add_row(name, str(counts.steps), str(counts.above_tolerance), share, str(counts.above_bound), f"{counts.max_m_s:.1e} m/s")
    console.print(table)
    few, some, _ = total.values()
    within = few.above_tolerance == 0 and some.above_tolerance <= MAX_SHARE * some.steps
    return within and not any(counts.above_bound for counts in total.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="number of falls")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--json", type=Path, help="write every fall to this file, one JSON object per line")
    options = parser.parse_args()
    start = time.perf_counter()
    found = []
    with options.json.open("w") if options.json else nullcontext() as file:
        for f in track(simulate_falls(options.count, options.first, options.jobs), total=options.count, description="simulating"):
            found.append(f)
            if file:
                print(json.dumps(asdict(f)), file=file, flush=True)
    sys.exit(0 if print_results(found, time.perf_counter() - start) else 1)


if __name__ == "__main__":
    main()
