"""Falls of random figures: ``python benchmarks/falls.py --count 10000``.

Half of them are people of random size, half creatures of four to twelve links of random shape, with ball joints and hinges with limits.
They are thrown at an infinite plane or at a plate two centimeters thick, with random friction; people at slopes as well, as steep as
friction lets them rest on. Creatures would roll down.
Every step of 2 ms is checked: finite numbers, penetration, energy gain, the method of the contact solver and the residual of the contact
law; and at the end, whether everything is on the right side of the ground, and at rest.
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

DT = 0.002  # [s]
LONGEST = 600.0  # [s] limit; some figures creep against their dampers for minutes
RESTING, FOR = 5e-3, 0.5  # [rad/s, m/s] and [s]: a figure slower for so long is at rest
PLATE = 0.02  # [m]
WIDE, FAR = 200.0, 90.0  # [m] size of the plate; distance beyond which a figure rolls down the slope
SAFE, STEEPEST = 0.8, np.radians(20)  # largest ratio of slope to friction; [rad]
HELD, HARMLESS = 1e-6, 1e-4  # [m/s] tolerance of the contact law, and the largest residual of any step
FEW, SOME = 8, 14  # contacts: up to FEW no step may exceed the tolerance, up to SOME only a share of HARDLY
HARDLY = 1e-3  # of steps
SHOWN = 12  # seeds listed of each kind of failure
GAINED = 0.01  # largest energy gain, relative to the energy lost


@dataclass
class Law:
    """Residuals of the contact law in steps with some number of contacts."""

    steps: int = 0
    missed: int = 0  # steps in which it was not held
    harmed: int = 0  # and in which it was missed by much
    worst: float = 0.0  # [m/s]

    def see(self, residual: Array) -> None:
        """Count steps with these residuals."""
        self.add(Law(len(residual), int((residual > HELD).sum()), int((residual > HARMLESS).sum()), float(residual.max(initial=0.0))))

    def add(self, other: Law) -> None:
        """Add other counts."""
        self.steps, self.missed, self.harmed = self.steps + other.steps, self.missed + other.missed, self.harmed + other.harmed
        self.worst = max(self.worst, other.worst)


def laws() -> dict[str, Law]:
    """By number of contacts with a force. Those without make a problem no easier, and are not counted."""
    return {f"up to {FEW} contacts": Law(), f"up to {SOME}": Law(), "more": Law()}


@dataclass
class Fall:
    """Result of one fall."""

    seed: int
    figure: str = ""
    ground: str = ""
    seconds: float = 0.0
    failed: str = ""
    penetration: float = 0.0  # [m]
    residual: float = 0.0  # [m/s]
    gain: float = 0.0  # largest growth of energy, of all that was lost in the end
    through: bool = False
    rests: bool = False
    rolls: bool = False  # down a slope, to where the plate ends
    speed: float = 0.0  # [m/s, rad/s] at the end
    steps: int = 0
    contacts: int = 0  # largest number with a force
    methods: dict[str, int] = field(default_factory=dict)
    laws: dict[str, Law] = field(default_factory=laws)


def person(rng: np.random.Generator) -> Model:
    """A person of random size, with weak springs in the joints."""
    make = (figures.human16, figures.human28, figures.human28, figures.human40)[rng.integers(4)]
    model = make(height=rng.uniform(1.3, 2.0), mass=rng.uniform(35, 110), sex=str(rng.choice(("male", "female"))))
    return model.with_springs(rng.uniform(0, 10), "stand", rng.uniform(0.5, 4.0))


def creature(rng: np.random.Generator) -> Model:
    """A random tree of links of random shapes and directions."""
    links, size = int(rng.integers(4, 13)), rng.uniform(0.3, 1.5)
    parents = [None if i == 0 else int(rng.integers(max(i - 3, 0), i)) for i in range(links)]
    lengths = size * rng.uniform(0.2, 0.5, links)
    shapes = [any_shape(rng, length) for length in lengths]
    masses = np.array([1000 * shape.volume() * rng.uniform(0.3, 1.5) for shape in shapes])
    carried = masses.copy()  # by the joint of each, so that nothing swings for ever
    for i in range(links - 1, 0, -1):
        carried[parents[i]] += carried[i]
    b = ModelBuilder(f"creature{links}")
    for i, parent in enumerate(parents):
        damping = carried[i] * lengths[i] ** 1.5 * np.sqrt(9.81) * rng.uniform(0.05, 0.3)
        turn = rng.normal(size=4)
        held = {} if parent is None else {"parent": f"link{parent}", "at": (0, 0, lengths[parent]), "rotation": turn / np.linalg.norm(turn)}
        joint = Free() if parent is None else any_joint(rng, damping)
        b.link(f"link{i}", joint=joint, mass=float(masses[i]), shapes=shapes[i], **held)
    return b.build()


def any_shape(rng: np.random.Generator, length: float) -> Shape:
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


def any_joint(rng: np.random.Generator, damping: float) -> Revolute | Spherical:
    """A hinge or ball joint, mostly with limits."""
    if rng.random() < 0.5:
        limits = None if rng.random() < 0.3 else (-rng.uniform(0.0, 2.0), rng.uniform(0.0, 2.0))
        return Revolute(str(rng.choice(("x", "y"))), damping=damping, limits=limits)
    return Spherical(damping=damping)


def ground(rng: np.random.Generator, angle: float) -> tuple[Model, str]:
    """An infinite slope, or a plate."""
    degrees = float(np.degrees(angle))
    if rng.random() < 0.5:
        return figures.slope(degrees), f"slope {degrees:.0f}°"
    b = ModelBuilder("plate")
    turn = np.array([(np.cos(angle), 0, -np.sin(angle)), (0, 1, 0), (np.sin(angle), 0, np.cos(angle))])
    b.link("plate", shapes=Box(size=(WIDE, WIDE, PLATE), position=-PLATE / 2 * turn[:, 2], rotation=turn))
    return b.build(), f"plate {degrees:.0f}°"


def thrown(seed: int) -> tuple[World, Fall, Array]:
    """A world with a figure in the air, and the normal of the ground."""
    rng = np.random.default_rng(seed)
    model = person(rng) if seed % 2 else creature(rng)
    friction = float(rng.uniform(0.15, 1.2))
    angle = min(float(np.arctan(SAFE * friction * rng.uniform(0, 1))), STEEPEST) if seed % 2 else 0.0
    floor, kind = ground(rng, angle)
    world = World()
    world.add(floor, "floor")
    world.add(model, "one")
    q, v, x = world.q.copy(), rng.normal(size=world.model.nv) * rng.uniform(0.1, 3), rng.normal(size=4)
    q[3:7] = x / np.linalg.norm(x)
    q[:3] = 0.0
    world.q = q
    normal = np.array((-np.sin(angle), 0.0, np.cos(angle)))
    q[:3] = normal * (0.02 - lowest(world, normal) + rng.uniform(0, 1.0))
    v[:3] = rng.normal(size=3) * rng.uniform(0, 3)
    world.q, world.v = q, v
    world.enable_contact(friction=friction)
    return world, Fall(seed, model.name, f"{kind}, friction {friction:.2f}"), normal


def lowest(world: World, normal: Array) -> float:
    """Smallest coordinate of the figure along the normal."""
    least = np.inf
    for name, link in world.model.links.items():
        if name.startswith("one/"):
            R, p = world.pose(name)
            for shape in link.shapes:
                least = min(least, float(((p + shape.surface()[0].reshape(-1, 3) @ R.T) @ normal).min()))
    return least


def fall(seed: int) -> Fall:
    """Simulate one fall until rest."""
    world, result, normal = thrown(seed)
    simulation = Simulation(world, dt=DT)
    energies, slow, methods = [np.array([world.totals().energy])], 0, Counter[str]()
    while result.seconds < LONGEST and slow * DT < FOR:
        try:
            run = simulation.run(FOR, progress=False)
        except StateError as error:
            result.failed = str(error)
            return result
        result.seconds = world.time
        energies.append(run["energy"][1:])
        history = run.contacts
        loaded = np.array([len(found[0].pair) if found else 0 for found in history.records[1:]])
        see_law(result, loaded, history.residual[1:])
        result.penetration, result.residual = (
            max(result.penetration, history.penetration.max()),
            max(result.residual, history.residual.max()),
        )
        result.contacts = max(result.contacts, int(loaded.max()))
        methods.update(method for method, count in zip(history.method[1:], loaded, strict=True) if count)
        if np.linalg.norm(world.totals("one").center) > FAR:
            result.rolls = True
            break
        moving = abs(run.v[1:]).max(axis=1) > RESTING
        slow = len(moving) if not moving.any() else 0
    energy = np.concatenate(energies)
    lost = float(energy[0] - energy.min())
    result.gain = float((energy - np.minimum.accumulate(energy)).max() / lost) if lost > 0 else 0.0
    result.steps, result.methods, result.rests, result.speed = len(energy) - 1, dict(methods), slow > 0, float(abs(world.v).max())
    heights = [float(world.pose(name).position @ normal) for name in world.model.links if name.startswith("one/")]
    result.through = min(heights) < -PLATE / 2
    return result


def see_law(result: Fall, loaded: Array, residual: Array) -> None:
    """Count residuals by number of contacts with a force; steps with joint limits only count among the first."""
    few, some = loaded <= FEW, loaded <= SOME
    for law, those in zip(result.laws.values(), (few & ((loaded > 0) | (residual > 0.0)), some & ~few, ~some), strict=True):
        law.see(residual[those])


def falls(count: int, first: int, jobs: int) -> Iterator[Fall]:
    """All falls."""
    fall(first)  # compiles, once for everyone
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(fall, range(first, first + count), chunksize=4)


def show(found: list[Fall], seconds: float) -> bool:
    """Print the results. Returns whether all claims hold."""
    fell = [f for f in found if not f.failed]
    table = Table(title=f"{len(found)} random falls, {sum(f.steps for f in fell)} steps, {seconds:.0f} s")
    table.add_column("what")
    table.add_column("falls", justify="right")
    table.add_column("worst", justify="right")
    table.add_column("seeds", overflow="fold")
    penetration, gain, speed = (max((getattr(f, name) for f in some), default=0.0) for name, some in (
        ("penetration", fell), ("gain", fell), ("speed", [f for f in fell if not f.rests and not f.rolls])))  # fmt: skip
    wrong = {
        "failed": ([f for f in found if f.failed], ""),
        "went through the ground": ([f for f in fell if f.through], ""),
        "did not come to rest": ([f for f in fell if not f.rests and not f.rolls], f"{speed:.2g} m/s"),
        f"gained energy, {100 * GAINED:g} % of what was lost": ([f for f in fell if f.gain > GAINED], f"{100 * gain:.2g} %"),
    }
    told = {
        "rolled down a slope for 90 m": ([f for f in fell if f.rolls], ""),
        "penetration above 1 mm": ([f for f in fell if f.penetration > 1e-3], f"{1e3 * penetration:.2f} mm"),
    }
    for what, (those, worst) in (wrong | told).items():
        table.add_row(what, str(len(those)), worst, " ".join(str(f.seed) for f in those[:SHOWN]) + (" ..." if len(those) > SHOWN else ""))
    console = Console()
    console.print(table)
    show_methods(console, fell)
    return show_law(console, fell) and not any(those for those, _ in wrong.values())


def show_methods(console: Console, fell: list[Fall]) -> None:
    """Print the methods of the contact solver."""
    methods = Counter[str]()
    for f in fell:
        methods.update(f.methods)
    solved = sum(methods.values())
    table = Table(title=f"methods of the contact solver, {solved} steps with contact")
    table.add_column("method")
    table.add_column("steps", justify="right")
    table.add_column("share", justify="right")
    for method in METHODS:
        table.add_row(method, str(methods[method]), f"{methods[method] / max(solved, 1):.2g}")
    console.print(table)


def show_law(console: Console, fell: list[Fall]) -> bool:
    """Print the residuals of the contact law. Returns whether the claims hold."""
    total = laws()
    for f in fell:
        for name, law in f.laws.items():
            total[name].add(law)
    table = Table(title="residual of the contact law")
    for title in ("contacts", "steps", f"above {HELD:g} m/s", "share", f"above {HARMLESS:g} m/s", "worst"):
        table.add_column(title, justify="left" if title == "contacts" else "right")
    for name, law in total.items():
        table.add_row(
            name, str(law.steps), str(law.missed), f"{law.missed / max(law.steps, 1):.2g}", str(law.harmed), f"{law.worst:.1e} m/s"
        )
    console.print(table)
    few, some, _ = total.values()
    return few.missed == 0 and some.missed <= HARDLY * some.steps and not any(law.harmed for law in total.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="write every fall to this file, a line each, as they end")
    given = parser.parse_args()
    began = time.perf_counter()
    found = []
    with given.json.open("w") if given.json else nullcontext() as file:
        for f in track(falls(given.count, given.first, given.jobs), total=given.count, description="falling"):
            found.append(f)
            if file:
                print(json.dumps(asdict(f)), file=file, flush=True)
    sys.exit(0 if show(found, time.perf_counter() - began) else 1)


if __name__ == "__main__":
    main()
